//! Stories of checkpoints in three phases.

use super::stage::{arrived, expect_view, spec, stable, story, view};
use crate::stage::{ALL, NOTHING, completes, expect_logs, tell};

/// Two clients with a request each: the checkpoint comes with the second.
const TWO: &str = "cluster.clients = 2";

fn at_two() -> (u64, Vec<String>) {
    (2, vec!["r1@1".to_owned(), "r2@2".to_owned()])
}

#[test]
fn every_second_slot_makes_the_history_stable() {
    // 4.
    let mut s = story(TWO);
    s.deliver_all();
    for who in ALL {
        assert_eq!((stable(&s, who), spec(&s, who)), (at_two(), vec![]), "{who}");
        assert_eq!((arrived(&s, who, "checkpoint-ii"), arrived(&s, who, "checkpoint-iii")), (3, 3), "{who}");
    }
    completes(&mut s);
}

#[test]
fn who_misses_a_slot_commits_it_with_the_checkpoint() {
    // 5. p3 hears nothing of r2 but CHECKPOINT-II and -III.
    let mut s = story(TWO);
    s.hold("c1>p3 request").deliver("c0>p1 request").deliver_all();
    s.expect_log("p3", &["r1", "r2"]);
    let mut s = story(TWO);
    s.deliver("c0>p1 request").deliver("p1>* prepare").deliver("*>* commit").hold("c1>p3 request");
    s.hold("p1>p3 prepare").hold("*>p3 commit").hold("p1>p3 checkpoint-i").hold("*>p3 checkpoint-iii");
    s.deliver_all();
    s.expect_log("p3", &["r1"]);
    assert_eq!(spec(&s, "p3"), ["r1@1 v1", "r2@2 v1"], "CER1 fills slots and commits nothing");
    s.release("*>p3 checkpoint-iii").deliver_all();
    s.expect_log("p3", &["r1", "r2"]);
    assert!(s.in_flight("p3>c1 reply") || arrived(&s, "p3", "reply") >= 2);
    completes(&mut s);
}

#[test]
fn a_backup_takes_missing_slots_from_the_primary_and_may_be_further_itself() {
    // R3. p0 gets the history before any PREPARE; p2 has accepted r3 already.
    let mut s = story("cluster.clients = 3\nworkload.requests = 3");
    s.hold("p1>p0 prepare").hold("*>p0 commit").hold("p1>p2 checkpoint-i").hold("*>* checkpoint-ii");
    s.deliver_all();
    assert_eq!(spec(&s, "p0"), ["r1@1 v1", "r2@2 v1"]);
    assert_eq!(spec(&s, "p2").last().map(String::as_str), Some("r3@3 v1"));
    s.heal().deliver_all();
    expect_logs(&s, &ALL, &["r1", "r2", "r3"]);
    expect_view(&s, &ALL, 1);
    completes(&mut s);
}

#[test]
fn a_checkpoint_of_another_history_ends_the_view() {
    // 11. Byzantine p1 lies to p0 about the history. p0 then takes part in nothing.
    for lies in [
        &["checkpoint-i.history.drop-last"][..],
        &["checkpoint-i.history.drop-first"],
        &["checkpoint-i.history.last.seq+1"],
        &["checkpoint-i.history.first.request=earlier"],
        &["checkpoint-i.seq+1"],
        &["checkpoint-i.history.last.request=none"],
    ] {
        let mut s = story("cluster.clients = 3\nworkload.requests = 3\nadversary.byzantine = ['p1']");
        s.hold("c2>* request").hold("p1>p0 checkpoint-i").deliver_all();
        tell(&mut s, "p1>p0 checkpoint-i", lies);
        s.hold("p0>* view-change").deliver("p1>p0 checkpoint-i");
        assert_eq!(view(&s, "p0"), (1, Some(2)), "{lies:?}");
        let before = spec(&s, "p0");
        s.release("c2>* request").deliver_all();
        assert_eq!(spec(&s, "p0"), before, "{lies:?}");
        s.heal();
        completes(&mut s);
    }
}

#[test]
fn who_wants_a_new_view_votes_for_no_checkpoint_and_yet_learns_what_is_decided() {
    // 19. p0 has voted for view 2 when the checkpoint of view 1 goes through.
    let mut s = story(TWO);
    s.hold("p1>p0 checkpoint-i").hold("*>p0 checkpoint-ii").hold("*>p0 checkpoint-iii").hold("*>p0 commit");
    s.deliver_all();
    s.timeout("p0", "checkpoint-2").hold("p0>* view-change");
    s.release("p1>p0 checkpoint-i").release("*>p0 checkpoint-ii").deliver_all();
    assert_eq!((view(&s, "p0"), arrived(&s, "p0", "checkpoint-iii")), ((1, Some(2)), 0));
    s.expect_log("p0", &[]);
    s.release("*>p0 checkpoint-iii").deliver_all();
    s.expect_log("p0", &["r1", "r2"]);
    assert_eq!(view(&s, "p0"), (1, Some(2)));
    completes(&mut s);
}

#[test]
fn one_checkpoint_of_a_panic_is_enough() {
    // Both clients panic for slots that one checkpoint covers.
    let mut s = story(&format!("{TWO}\nprotocol.checkpoint = 100"));
    s.crash("p3").deliver_all();
    s.timeout("c0", "client-retry-1").timeout("c1", "client-retry-1").deliver_all();
    expect_logs(&s, &["p0", "p1", "p2"], &["r1", "r2"]);
    assert_eq!(arrived(&s, "p1", "checkpoint-i"), 2, "to p0 and p2");
    completes(&mut s);
    assert_eq!(spec(&s, "p0"), NOTHING);
}
