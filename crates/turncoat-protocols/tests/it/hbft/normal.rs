//! Stories of agreement: PREPARE, COMMIT, replies, and clients that panic.

use super::stage::{attack, expect_view, idle, spec, stable, story, view};
use crate::stage::{ALL, NOTHING, completes, expect_logs, marked_by, witness};
use turncoat_protocols::hbft::Hbft;

/// Two clients with a request each.
const TWO: &str = "cluster.clients = 2";

/// No checkpoints but those that clients ask for.
const RARE: &str = "protocol.checkpoint = 100\nworkload.requests = 1";

#[test]
fn a_request_is_committed_by_all_in_two_steps() {
    // 1. Four replies of view 1, no timer, no view change.
    let mut s = story("workload.requests = 1");
    s.deliver_all();
    expect_logs(&s, &ALL, &["r1"]);
    assert!(idle(&s, "c0"));
    expect_view(&s, &ALL, 1);
    let outcome = completes(&mut s);
    assert!(!marked_by::<Hbft>(&outcome, "view-change") && !marked_by::<Hbft>(&outcome, "panic"));
}

#[test]
fn who_misses_a_prepare_accepts_what_two_commits_say() {
    // 2.
    let mut s = story("workload.requests = 1");
    s.lose("p1>p2 prepare").deliver_all();
    expect_logs(&s, &ALL, &["r1"]);
    assert!(marked_by::<Hbft>(&completes(&mut s), "adopt-commits"));
}

#[test]
fn commits_are_counted_in_any_order() {
    // 3. All accept r1 and r2 before the first COMMIT arrives.
    let early = |flags: &[&str]| {
        let mut s = attack(flags, &format!("{TWO}\nprotocol.checkpoint = 100\nlimits.time = 1000"));
        s.hold("*>* commit").deliver_all().heal().deliver_all();
        s
    };
    let mut s = early(&[]);
    expect_logs(&s, &ALL, &["r1", "r2"]);
    completes(&mut s);
    // The paper's window drops the COMMITs for r1.
    let s = early(&["paper-commit-window"]);
    assert!(ALL.iter().all(|who| s.log(who) == [(2, "r2".to_owned())]));
}

#[test]
fn a_later_prepare_waits_for_its_turn() {
    // r2 arrives before r1, which was number 1. Nothing is dropped, and there is no hole.
    let mut s = story(TWO);
    s.deliver("c0>p1 request").deliver("c1>p1 request").hold("*>p0 commit").hold("p1>p0 checkpoint-i");
    s.deliver("p1>p0 prepare #2");
    assert_eq!(spec(&s, "p0"), NOTHING);
    s.deliver("p1>p0 prepare #1");
    assert_eq!(spec(&s, "p0"), ["r1@1 v1", "r2@2 v1"]);
    completes(&mut s);
}

#[test]
fn a_client_with_some_replies_panics_and_a_checkpoint_answers() {
    // 10. Two replies arrive. The primary's checkpoint comes in time, and nobody wants another view.
    let mut s = story(RARE);
    s.hold("p1,p3>c0 reply").hold("p0>p2,p3 commit").deliver_all();
    expect_logs(&s, &["p0"], &["r1"]);
    expect_logs(&s, &["p2", "p3"], &NOTHING);
    s.timeout("c0", "client-retry-1").hold("p1>* checkpoint-i").deliver_all();
    assert!(s.sim().timers(turncoat_core::ids::Seat(2)).iter().any(|(timer, _)| timer == "panic"));
    s.heal().deliver_all();
    assert!(!s.sim().timers(turncoat_core::ids::Seat(2)).iter().any(|(timer, _)| timer == "panic"));
    assert_eq!(stable(&s, "p2"), (1, vec!["r1@1".to_owned()]));
    expect_view(&s, &ALL, 1);
    let outcome = completes(&mut s);
    assert!(marked_by::<Hbft>(&outcome, "panic") && !marked_by::<Hbft>(&outcome, "view-change"));
}

#[test]
fn a_silent_replica_costs_a_panic_and_no_view_change() {
    // 16. Without p3 there are never four COMMITs, nor four replies.
    let mut s = story(RARE);
    s.crash("p3").deliver_all();
    expect_logs(&s, &["p0", "p1", "p2"], &NOTHING);
    s.timeout("c0", "client-retry-1").deliver_all();
    expect_logs(&s, &["p0", "p1", "p2"], &["r1"]);
    assert!(idle(&s, "c0"));
    expect_view(&s, &["p0", "p1", "p2"], 1);
    completes(&mut s);
}

#[test]
fn commits_that_contradict_the_prepare_end_the_view() {
    // 12. Byzantine p1 proposes r2 to p2, r1 to the others.
    let mut s = story(&format!("{TWO}\nadversary.byzantine = ['p1']"));
    s.deliver("c0>p1 request").mutate("p1>p2 prepare", "prepare.request=other+digest");
    s.deliver("p1>* prepare").deliver("p0>p2 commit");
    assert_eq!((spec(&s, "p2"), view(&s, "p2")), (vec!["r2@1 v1".to_owned()], (1, None)));
    s.deliver("p3>p2 commit");
    assert_eq!(view(&s, "p2"), (1, Some(2)));
    completes(&mut s);
}

#[test]
fn a_second_commit_of_one_sender_counts_for_nothing() {
    // 15. p0 gets the COMMITs of p1 and p2, twice each.
    let mut s = story("workload.requests = 1");
    s.hold("p3>p0 commit").hold("c0>* request #2").deliver("c0>p1 request").deliver("p1>* prepare");
    s.duplicate("p1,p2>p0 commit").deliver_all();
    s.expect_log("p0", &[]).expect_log("p2", &["r1"]);
    completes(&mut s);
}

#[test]
fn a_request_that_stands_in_another_slot_is_refused() {
    // R1. Byzantine p1 proposes r1 as number 1 and again as number 2.
    let mut s = story(&format!("{TWO}\nprotocol.checkpoint = 100\nadversary.byzantine = ['p1']"));
    s.deliver("c0>p1 request").deliver("c1>p1 request");
    s.mutate("p1>p0 prepare #2", "prepare.request=other+digest").deliver("p1>p0 prepare");
    assert_eq!((spec(&s, "p0"), view(&s, "p0")), (vec!["r1@1 v1".to_owned()], (1, Some(2))));
    completes(&mut s);
}

#[test]
fn with_almost_mac_one_commit_is_enough() {
    // One COMMIT carries the PREPARE that p2 has missed; another contradicts what p3 was told.
    let settings = format!("{TWO}\nprotocol.almost-mac = true\nadversary.byzantine = ['p1']");
    let mut s = story(&settings);
    s.deliver("c0>p1 request").mutate("p1>p3 prepare", "prepare.request=other+digest");
    s.deliver("p1>p0,p3 prepare").deliver("p0>p2 commit");
    assert_eq!(spec(&s, "p2"), ["r1@1 v1"]);
    assert_eq!((spec(&s, "p3"), view(&s, "p3")), (vec!["r2@1 v1".to_owned()], (1, None)));
    s.deliver("p0>p3 commit");
    assert_eq!(view(&s, "p3"), (1, Some(2)));
    completes(&mut s);

    let mut s = story("workload.requests = 3\nprotocol.almost-mac = true");
    s.deliver_all();
    expect_logs(&s, &ALL, &["r1", "r2", "r3"]);
    completes(&mut s);
}

#[test]
fn a_panic_without_the_request_helps_nobody_who_has_lost_it() {
    // p1 and p3 have replied to r1 when the others leave view 1 without it. From then on the client panics, and only
    // panics.
    let lost = |flags: &[&str]| {
        let mut s = attack(flags, RARE);
        s.lose("p1>p0,p2 prepare").lose("p1,p3>p0,p2 commit").lose("p3>* view-change").deliver_all();
        s.timeout("p0", "request-c0-1").timeout("p2", "request-c0-1").deliver_all();
        expect_view(&s, &ALL, 2);
        assert_eq!(stable(&s, "p3"), (1, vec!["null@1".to_owned()]));
        s
    };
    completes(&mut lost(&[]));
    witness(&mut lost(&["panic-without-request"]), "hbft/panic-without-request");
}
