//! Attacks on numbers and certificates across views. Each needs the deviations that it names, and the correct protocol
//! survives the same schedule.

use crate::stage::{BACKUPS, NOTHING, attack, expect, expect_logs, proposals, voters, witness};
use turncoat_core::outcome::Property;

/// S9, with a window of one number. r1 is executed, h = 1, and p0 stops. The others have proposed nothing so far,
/// so each new leader in its turn proposes r2 as number 1, which nobody looks at any more. Reminded of r2, it
/// counts on to number 2, and that proposal is lost. No counter is ever set back: all are at the end of the window,
/// and nobody proposes anything again. Without the flag a new leader counts from h.
///
/// Without the losses the bug only costs time: each reminder moves the counter by one, until it is above h.
#[test]
fn each_new_leader_counts_on_from_its_own_last_proposal() {
    let settings = "protocol.checkpoint = 1\nprotocol.window = 1\ncluster.clients = 2";
    let mut s = attack(&["seq-not-synced"], settings);
    s.deliver("c0>p0 request").crash("p0").deliver_only("p0,p1,p2,p3>p1,p2,p3");
    expect_logs(&s, &BACKUPS, &["r1"]);
    expect(&s, &BACKUPS, "h", 1);
    s.timeout("c1", "client-retry-1").deliver("c1>p1,p2,p3 request");
    let turns = [("p1", "p2", ["p2", "p3"]), ("p2", "p1", ["p2", "p3"]), ("p3", "p1", ["p1", "p3"])];
    for (leader, backup, late) in turns {
        s.timeout(late[0], "request").timeout(late[1], "request").deliver_only("*>p1,p2,p3 view-change");
        let proposals = format!("{leader}>p1,p2,p3 pre-prepare");
        s.deliver(&format!("{leader}>p1,p2,p3 new-view")).deliver(&proposals);
        expect(&s, &[leader], "next_seq", 1);
        assert!(!s.in_flight("*>p1,p2,p3 prepare"));
        s.deliver(&format!("{backup}>{leader} request")).drop(&proposals);
        expect(&s, &[leader], "next_seq", 2);
    }
    // Nor does p3 send its proposal once more.
    s.timeout("p1", "request").timeout("p2", "request").deliver("p1,p2>p3 view-change");
    witness(&mut s, "pbft-java/seq-not-synced");
    expect(&s, &BACKUPS, "next_seq", 2);
}

/// S10. p0, p1 and p2 execute r1 as the first number, p3 hears nothing of it, and p0 stops. The first number equals
/// the low watermark, so no vote for view 1 has its certificate, and O is empty. p1 counts from its own last
/// proposal, of which there is none, and proposes r2 as the first number: p3 executes it. Without the flags r1 is
/// in the votes of p1 and p2, keeps its number, and r2 gets the next one.
#[test]
fn the_first_number_is_in_no_vote_and_is_given_away_again() {
    let mut s = attack(&["seq-not-synced", "seq-zero"], "cluster.clients = 2");
    s.deliver("c0>p0 request").deliver("p0>p1,p2 pre-prepare").deliver("*>p0,p1,p2 prepare");
    s.deliver("*>p1,p2 commit").crash("p0");
    expect_logs(&s, &["p1", "p2"], &["r1"]);
    s.timeout("c1", "client-retry-1").deliver("c1>p1,p2,p3 request");
    s.timeout("p2", "request").timeout("p3", "request").deliver("p2,p3>p1 view-change");
    assert_eq!(voters(&s, "p1"), BACKUPS);
    assert_eq!(proposals(&s, "p1"), NOTHING);
    s.deliver("p1>p2,p3 new-view").deliver("p1>p2,p3 pre-prepare");
    s.deliver("p2>p1,p3 prepare #2").deliver("p3>p1,p2 prepare").deliver("p1,p2>p3 commit #2");
    s.expect_log("p3", &["r2"]);
    witness(&mut s, "pbft-java/lost-certificate-agreement");
}

/// S11. Byzantine p0 proposes r1 to p1 and p2, and all COMMITs reach p1 alone: p1 executes r1. p0 then votes for
/// view 1 and conceals its certificate, and p3 never had one. p1's own would be the third vote, but the new leader
/// leaves its certificates out: O is empty. p1 proposes r2 as number 1, and p3 executes it. Without the flag
/// O = {r1@1}.
#[test]
fn a_new_leader_forgets_what_it_has_prepared_itself() {
    let mut s = attack(&["own-cert-lost"], "cluster.clients = 2\nadversary.byzantine = ['p0']");
    s.deliver("c0>p0 request").deliver("p0>p1,p2 pre-prepare").deliver("*>p0,p1,p2 prepare");
    s.deliver("p0,p2>p1 commit").expect_log("p1", &["r1"]);
    s.timeout("c1", "client-retry-1").deliver("c1>p1,p3 request").timeout("p3", "request");
    s.suspect("p0").mutate("p0>p1 view-change", "view-change.prepared.clear");
    s.deliver("p0,p3>p1 view-change");
    assert_eq!(voters(&s, "p1"), ["p0", "p1", "p3"]);
    assert_eq!(proposals(&s, "p1"), NOTHING);
    s.deliver("p1>p2,p3 new-view").deliver("p1>p2,p3 pre-prepare");
    s.deliver("p2>p1,p3 prepare #2").deliver("p3>p1,p2 prepare").deliver("p1,p2>p3 commit #2");
    s.expect_log("p3", &["r2"]);
    witness(&mut s, "pbft-java/own-certificate-lost");
}

/// S12. Nobody lies; messages are late. In view 0 only p3 prepares r1. View 1 starts without p3's vote: p1 executes
/// r2 as number 1, with the votes of p0 and p2. The votes of p1, p2 and p3 for view 2 hold both certificates. p3's
/// stands last in the list, so r1 wins, and p3 executes it as number 1. Without the flag the certificate of view 1
/// wins.
#[test]
fn an_old_certificate_beats_a_new_one() {
    let mut s = attack(&["cert-view-ignored"], "cluster.clients = 2");
    // View 0.
    s.deliver("c0>p0 request").deliver("p0>p2,p3 pre-prepare").deliver("p2>p3 prepare");
    // View 1.
    s.timeout("c1", "client-retry-1").deliver("c1>p1 request");
    s.timeout("p2", "request").timeout("p3", "request").deliver("p2,p3>p0 view-change");
    s.deliver("p0,p2>p1 view-change");
    assert_eq!(proposals(&s, "p1"), NOTHING);
    s.deliver("p1>p0,p2 new-view").deliver("p1>p0,p2 pre-prepare");
    s.deliver("p0>p1,p2 prepare").deliver("p2>p0,p1 prepare #2").deliver("p0,p2>p1 commit");
    s.expect_log("p1", &["r2"]);
    // View 2.
    s.deliver("p0,p2>p3 view-change").timeout("p3", "view-change").timeout("p2", "request");
    s.deliver("p2,p3>p1 view-change #2").deliver("p1,p3>p2 view-change #2");
    assert_eq!(voters(&s, "p2"), BACKUPS);
    assert_eq!(proposals(&s, "p2"), ["r1@1"]);
    s.deliver("p2>p1,p3 new-view").deliver("p1>p2,p3 prepare").deliver("p3>p1,p2 prepare #2");
    s.deliver("p1,p2>p3 commit #2").expect_log("p3", &["r1"]);
    witness(&mut s, "pbft-java/certificate-view-ignored");
}

/// S13 (a). p2 loses patience. Byzantine p3 joins it with a vote that claims a checkpoint in the billions, without
/// proof, and falls silent. p1 takes the claim for the end of O, and the lowest checkpoint for its start: it breaks
/// down under so many null requests, and p0 and p2 are too few to go on. Without the flags p3's vote is ignored,
/// and those of p0, p1 and p2 start view 1. Neither flag does this alone: an unchecked claim that is also the start
/// of O leaves O empty.
#[test]
fn one_vote_makes_a_new_leader_propose_more_than_it_has_room_for() {
    let mut s = attack(&["min-s-minimum", "vc-unchecked"], "adversary.byzantine = ['p3']");
    s.deliver("c0>p0 request").deliver("p0>p2 pre-prepare").timeout("p2", "request").suspect("p3");
    s.mutate("p3>p1 view-change", "view-change.h=any").crash("p3").deliver("p2,p3>p1 view-change");
    s.expect_violation(Property::Crashed);
    witness(&mut s, "pbft-java/min-s-inflated");
}

/// S13 (b), with a window of one number. p3 hears nothing of r1, which the others execute: their window is now
/// number 2, and p3's is number 1. p0 stops. O starts at the lowest checkpoint of the votes, which is p3's: view 1
/// gives p3 a null request as number 1, which p1 and p2 do not look at any more, and no proof of their checkpoint.
/// p1 proposes r2 as number 2, which p3 does not look at yet. So it goes in all later views. Without the flag the
/// new view starts at the highest checkpoint, with its proof, and p3 fetches r1.
#[test]
fn a_new_view_leaves_a_laggard_behind_and_cannot_do_without_it() {
    let settings = "protocol.checkpoint = 1\nprotocol.window = 1\ncluster.clients = 2";
    let mut s = attack(&["min-s-minimum"], settings);
    s.deliver("c0>p0 request").lose("*>p3").deliver_only("p0,p1,p2>p0,p1,p2,p3").crash("p0").heal();
    expect_logs(&s, &["p1", "p2"], &["r1"]);
    expect(&s, &["p1", "p2"], "h", 1);
    s.timeout("c1", "client-retry-1").deliver("c1>p1,p2,p3 request");
    s.timeout("p2", "request").timeout("p3", "request").deliver("p2,p3>p1 view-change");
    assert_eq!(proposals(&s, "p1"), ["null@1"]);
    s.deliver("p1>p2,p3 new-view").deliver("p1>p2,p3 pre-prepare");
    expect(&s, &["p1", "p2"], "h", 1);
    expect(&s, &["p3"], "h", 0);
    witness(&mut s, "pbft-java/min-s-minimum");
    s.expect_log("p3", &[]);
}
