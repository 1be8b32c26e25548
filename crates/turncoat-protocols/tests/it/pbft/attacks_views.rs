//! Attacks on view changes whose messages nobody checks. Each needs the deviation that it names, and the correct
//! protocol survives the same schedule.

use crate::stage::{BACKUPS, NOTHING, attack, changing, expect, expect_logs, proposals, voters, witness};
use turncoat_core::outcome::Property;

/// S14. p0 and p1 execute r1 with the votes of Byzantine p3; no COMMIT reaches p2, which turns to view 1. So does p3,
/// with a certificate for r2 that nobody has given, of a view so high that it beats the true ones. p1 believes it:
/// the new view proposes r2 in the place of r1, and p2 executes it. The correct p1 ignores p3's vote, and p2's alone
/// moves nobody.
#[test]
fn a_made_up_certificate_beats_the_true_ones() {
    let mut s = attack(&["vc-unchecked"], "cluster.clients = 2\nadversary.byzantine = ['p3']");
    s.hold("c1>p0 request").hold("*>p2 commit").deliver_all();
    expect_logs(&s, &["p0", "p1"], &["r1"]);
    s.timeout("p2", "request").suspect("p3").mutate("p3>p1 view-change", "view-change.prepared=invented");
    s.deliver("p2,p3>p1 view-change");
    assert_eq!(voters(&s, "p1"), BACKUPS);
    assert_eq!(proposals(&s, "p1"), ["r2@1"]);
    s.deliver("p1>p2,p3 new-view").deliver("p2,p3>p1,p2,p3 prepare").deliver("p1,p3>p2 commit #2");
    s.expect_log("p2", &["r2"]);
    witness(&mut s, "pbft-java/forged-certificate");
}

/// S15. p0 and p2 execute r1; no COMMIT reaches p3, which turns to view 1. Byzantine p1 votes with it, p2 joins them,
/// and p1 leads the view. The votes say that r1 is prepared; its NEW-VIEW proposes r2. Nobody compares the two, all
/// vote for r2, and p3 executes it. The correct replicas ignore the NEW-VIEW, and view 2 goes on with r1.
#[test]
fn a_new_view_need_not_follow_from_its_votes() {
    let mut s = attack(&["nv-unchecked"], "cluster.clients = 2\nadversary.byzantine = ['p1']");
    s.hold("c1>p0 request").hold("*>p3 commit").deliver_all();
    expect_logs(&s, &["p0", "p2"], &["r1"]);
    s.timeout("p3", "request").suspect("p1").deliver("p1,p3>p2 view-change").deliver("p2,p3>p1 view-change");
    assert_eq!(proposals(&s, "p1"), ["r1@1"]);
    s.mutate("p1>* new-view", "new-view.pre-prepares.first=other+digest").deliver("p1>* new-view");
    for who in ["p0", "p2", "p3"] {
        assert_eq!(proposals(&s, who), ["r2@1"]);
    }
    s.deliver("*>* prepare").deliver("p0,p2>p3 commit #2");
    s.expect_log("p3", &["r2"]);
    witness(&mut s, "pbft-java/new-view");
}

/// S15 with V empty. p3 is impatient, Byzantine p1 votes with it, and leads view 1. Its NEW-VIEW has no votes: who
/// looks at the first of them crashes. The correct replicas ignore it, and view 2 does the work.
#[test]
fn a_new_view_without_votes_crashes_all_who_receive_it() {
    let mut s = attack(&["nv-unchecked"], "adversary.byzantine = ['p1']");
    s.deliver("c0>p0 request").deliver("p0>* pre-prepare");
    s.timeout("p3", "request").suspect("p1").deliver("p1,p3>p2 view-change").deliver("p2,p3>p1 view-change");
    s.mutate("p1>* new-view", "new-view.votes.clear").deliver("p1>* new-view");
    s.expect_violation(Property::Crashed);
    let outcome = witness(&mut s, "pbft-java/new-view-empty");
    assert!(outcome.violation(Property::Termination).is_some());
}

/// S15(b). p0 and p2 execute r1; the COMMITs to p3 are lost, and it turns to view 1. Byzantine p1 votes with it, and
/// sends the NEW-VIEW under the number of the next view, which it does not lead; then it stops. All reject it, but
/// not before they have deleted their logs. So view 2 starts without certificates, and nobody votes for number 1
/// again: p0 and p2 have executed it, p3 has forgotten that others have. p3 waits for ever, alone. (All else that is
/// lost in this way comes back with the next timeout, as long as two correct replicas miss it: f+1 start a view
/// change.) The correct replicas still have their certificates: view 2 proposes r1 again.
#[test]
fn a_new_view_that_is_rejected_has_deleted_the_certificates() {
    let settings = "workload = { requests = 1, goal = 'committed' }\nadversary.byzantine = ['p1']";
    let mut s = attack(&["nv-unchecked"], settings);
    let correct = ["p0", "p2", "p3"];
    s.lose("*>p3 commit").deliver_all();
    expect_logs(&s, &["p0", "p2"], &["r1"]);
    s.timeout("p3", "request").suspect("p1").deliver("p1,p3>p0,p2,p3 view-change");
    s.deliver("p2,p3>p1 view-change");
    assert_eq!(proposals(&s, "p1"), ["r1@1"]);
    s.mutate("p1>* new-view", "new-view.view+1").deliver("p1>* new-view").crash("p1");
    expect(&s, &correct, "view", 0);
    expect(&s, &correct, "status", changing(1));
    for who in correct {
        assert!(s.json(who)["window"]["entries"][0]["prepared"].is_null(), "{who}");
    }
    witness(&mut s, "pbft-java/lost-certificate-termination");
    expect(&s, &correct, "view", 2);
    assert_eq!(proposals(&s, "p3"), NOTHING);
    expect_logs(&s, &["p0", "p2"], &["r1"]);
    expect_logs(&s, &["p3"], &NOTHING);
}

/// S16. Nobody lies. The proposal of r1 is lost to all, r2 is prepared as number 2, the COMMITs are lost, and p0
/// stops. View 1 fills the gap with null, which its backups do not vote for; so does every later view. Number 1 is
/// never decided, and what is decided behind it never executed. In the correct protocol null is agreed on like a
/// request.
#[test]
fn a_gap_that_backups_do_not_vote_for_stays_a_gap() {
    let mut s = attack(&["nulls-skipped"], "cluster.clients = 2");
    s.deliver("c0>p0 request").drop("p0>* pre-prepare").deliver("c1>p0 request");
    s.deliver("p0>* pre-prepare").deliver("*>* prepare").drop("*>* commit").crash("p0");
    s.timeout("p1", "request").timeout("p2", "request").deliver_all();
    assert_eq!(proposals(&s, "p1"), ["null@1", "r2@2"]);
    for who in BACKUPS {
        assert!(s.json(who)["window"]["entries"][0]["committed"].is_null(), "{who}");
        assert!(s.json(who)["window"]["entries"][1]["committed"].is_object(), "{who}");
    }
    witness(&mut s, "pbft-java/nulls-skipped");
    expect_logs(&s, &BACKUPS, &NOTHING);
}

/// S17. Byzantine p0 proposes r1 and adds its COMMIT; the PREPAREs are on the way when p3 turns to view 1. p0 votes
/// for view 2, so p1 and p2 have f+1 reasons to join p3, with empty hands. (A vote of p0 for view 1 would be the
/// third for p1, which would start the view at once.) They go on in view 0: the PREPAREs arrive, and p2 executes r1.
/// Then p2's vote of before reaches p1, whose view 1 knows of no certificate and gives the first number to r2. p3
/// executes that. In the correct protocol the PREPAREs come too late to count.
#[test]
fn who_joins_a_view_change_commits_in_the_old_view_what_its_vote_does_not_mention() {
    let mut s = attack(
        &["join-does-not-freeze"],
        "cluster.clients = 2\nworkload.target = 'all'\nadversary.byzantine = ['p0']\nadversary.faults = [\
         { from = ['p0'], kind = 'pre-prepare', originate = { mint = 'commit', to = ['p2'] } }]",
    );
    s.deliver("c1>p1 request").deliver("c0>p0 request").deliver("p0>* pre-prepare");
    s.timeout("p3", "request").suspect("p0").mutate("p0>p1,p2 view-change", "view-change.view+1");
    s.deliver("p0,p3>p1,p2 view-change");
    expect(&s, &["p1", "p2"], "target", 1);
    expect(&s, &["p1", "p2"], "status", "Normal");
    s.deliver("*>p1,p2 prepare").deliver("p0,p1>p2 commit");
    s.expect_log("p2", &["r1"]);
    s.deliver("p2>p1 view-change");
    assert_eq!(voters(&s, "p1"), BACKUPS);
    assert_eq!(proposals(&s, "p1"), NOTHING);
    s.deliver("p1>p2,p3 new-view").deliver("p1>p2,p3 pre-prepare #1");
    s.deliver("p2,p3>p1,p2,p3 prepare").deliver("p1,p2>p3 commit #2");
    s.expect_log("p3", &["r2"]);
    witness(&mut s, "pbft-java/join-does-not-freeze");
}

/// S18. Byzantine p3 votes for views 2 and 3. Two votes, so all join it in view 2. From then on one more is enough:
/// as soon as p3 has a proposal of view v before it, its clock runs out (a jump), and it votes not for view v+1 but
/// for v+2. With its vote for v+1 of the view before these are two again, and they arrive before the COMMITs do.
/// Where p3 leads it says nothing. No view decides anything. In the correct protocol p3 is one voter, and moves
/// nobody.
#[test]
fn one_voter_deposes_every_leader() {
    let mut s = attack(
        &["join-counts-votes"],
        "workload.requests = 1\nnetwork.latency = 10\nadversary.byzantine = ['p3']\nadversary.faults = [\
         { from = ['p3'], mutate = 'view-change.view+1' }, { from = ['p3'], mutate = 'new-view.omit' },\
         { from = ['p3'], kind = 'prepare', times = 1000000, jump = { node = 'p3', by = 1000000000 } }]",
    );
    s.suspect("p3").suspect("p3").deliver("p3>* view-change");
    expect(&s, &["p0", "p1", "p2"], "status", changing(2));
    let outcome = witness(&mut s, "pbft-java/join-counts-votes");
    assert_eq!(outcome.commits, 0);
    assert!(s.json("p0")["view"].as_u64() > Some(20));
}
