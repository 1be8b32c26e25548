//! Stories of checkpoints: watermarks, garbage collection, state transfer, replicas that lag behind.

use crate::stage::{
    ALL, BACKUPS, changing, completes, expect, expect_logs, idle, marked, ops, story, tell, voters,
};
use turncoat_core::ids::{Seat, Slot};
use turncoat_core::story::Story;
use turncoat_protocols::pbft::Pbft;

#[test]
fn a_replica_that_was_cut_off_has_the_history_and_the_replies_of_the_checkpoint() {
    // p3 hears nothing during nine requests. Then the CHECKPOINTs for 8 reach it, and it fetches the history.
    // The client of the last request in it has not got its replies: p3 answers from the transferred table.
    let mut s = story("cluster.clients = 9\nworkload.requests = 9");
    s.hold("*>p3 checkpoint").hold("*>c7 reply").lose("*>p3").deliver_all().heal();
    expect_logs(&s, &["p0", "p1", "p2"], &ops(9));
    s.expect_log("p3", &[]);
    s.deliver("*>p3 checkpoint").deliver("p3>p1 fetch").deliver("p1>p3 state");
    expect_logs(&s, &["p3"], &ops(8));
    expect(&s, &ALL, "h", 8);
    expect(&s, &["p3"], "fetching", serde_json::Value::Null);

    s.drop("p0,p1>c7 reply").timeout("c7", "client-retry-1").deliver("c7>p3 request");
    s.deliver("p2,p3>c7 reply");
    assert!(idle(&s, "c7"));
    let outcome = completes(&mut s);
    assert!(marked(&outcome, "state-transfer") && !marked(&outcome, "view-change"));
}

#[test]
fn f_plus_1_checkpoints_above_the_window_are_reason_enough_to_fetch() {
    // p3 has missed twelve requests and hears two CHECKPOINTs for 12, above its window. The answer comes from
    // one who has no more than these two itself; with p3's own CHECKPOINT the number is stable there at once.
    let mut s = story("cluster.clients = 12\nworkload = { requests = 12, goal = 'committed' }");
    s.hold("c8,c9,c10,c11>p0 request").lose("*>p3").deliver_all();
    expect(&s, &["p0", "p1", "p2"], "h", 8);
    s.heal().hold("*>* checkpoint").lose("*>p3 pre-prepare,prepare,commit").deliver_all();
    expect_logs(&s, &["p0", "p1", "p2"], &ops(12));
    s.deliver("p1>p0 checkpoint");
    expect(&s, &["p0"], "h", 8);

    s.deliver("p0>p3 checkpoint");
    expect(&s, &["p3"], "fetching", serde_json::Value::Null);
    s.deliver("p1>p3 checkpoint");
    expect(&s, &["p3"], "fetching", 12);
    s.deliver("p3>p0 fetch").deliver("p0>p3 state");
    expect_logs(&s, &["p3"], &ops(12));
    expect(&s, &["p3"], "h", 12);
    s.heal();
    completes(&mut s);
}

/// p3 has missed four requests, has heard of the checkpoint, and asks for the history.
fn p3_fetches() -> Story<Pbft> {
    let mut s = story(
        "cluster.clients = 4\nworkload = { requests = 4, goal = 'committed' }\nadversary.byzantine = ['p0']",
    );
    s.hold("*>p3 checkpoint").lose("*>p3").deliver_all().heal();
    s.deliver("*>p3 checkpoint").deliver("p3>* fetch");
    s
}

#[test]
fn a_false_history_is_ignored_and_the_next_one_is_taken() {
    // p0's STATE is altered, or too few vouch for it. p3 stays as it is, and takes p1's.
    for lies in [
        &["state.entries.first.op~"][..],
        &["state.entries.first.ts+1"],
        &["state.entries.last=none"],
        &["state.entries.drop-last"],
        &["state.entries.repeat-last"],
        &["state.after+1"],
        &["state.after+1", "state.entries.drop-first"],
        &["state.proof.forge"],
        &["state.proof.drop-signer", "state.proof.drop-signer"],
        &["state.proof.drop-signer", "state.proof.drop-signer", "state.proof.repeat-signer"],
    ] {
        let mut s = p3_fetches();
        tell(&mut s, "p0>p3 state", lies);
        let before = s.state("p3");
        s.deliver("p0>p3 state");
        assert_eq!(s.state("p3"), before, "{lies:?}");
        s.deliver("p1>p3 state");
        expect_logs(&s, &["p3"], &ops(4));
        expect(&s, &["p3"], "h", 4);
        assert_eq!(completes(&mut s).injected.accepted, 0, "{lies:?}");
    }
}

#[test]
fn a_history_that_does_not_come_is_asked_for_again() {
    // The only answer that reaches p3 is false.
    let mut s = p3_fetches();
    s.mutate("p0>p3 state", "state.entries.first=none").drop("p1,p2>p3 state").deliver("p0>p3 state");
    expect(&s, &["p3"], "fetching", 4);
    s.timeout("p3", "retransmit").deliver("p3>p2 fetch").deliver("p2>p3 state");
    expect_logs(&s, &["p3"], &ops(4));
    completes(&mut s);
}

#[test]
fn a_proposal_outside_the_window_is_ignored() {
    // The window is 5..=12. p0's next proposal reaches p1 with a number at h, below h, or above H.
    for lies in [&["pre-prepare.seq-1"; 1][..], &["pre-prepare.seq-1"; 2], &["pre-prepare.seq+1"; 8]] {
        let mut s = story(
            "cluster.clients = 5\nadversary.byzantine = ['p0']\n\
             workload = { requests = 5, goal = 'committed' }",
        );
        s.hold("c4>p0 request").deliver_all().heal();
        expect(&s, &ALL, "h", 4);
        s.deliver("c4>p0 request");
        tell(&mut s, "p0>p1 pre-prepare", lies);
        let before = s.state("p1");
        s.deliver("p0>p1 pre-prepare");
        assert_eq!(s.state("p1"), before, "{lies:?}");
        assert!(!s.in_flight("p1>* prepare"));
        assert_eq!(completes(&mut s).injected.accepted, 0, "{lies:?}");
        expect_logs(&s, &BACKUPS, &ops(5));
    }
}

#[test]
fn the_last_number_of_the_window_is_inside() {
    // The limit itself: with 8 requests under way H is in use, and all of them are prepared.
    let mut s = story("cluster.clients = 8\nworkload.requests = 8");
    s.hold("*>* commit").deliver_all();
    for who in ALL {
        let window = s.json(who)["window"]["entries"].clone();
        let window = window.as_array().expect("a window");
        assert!(window.len() == 8 && window.iter().all(|entry| entry["prepared"].is_object()), "{who}");
    }
    s.heal();
    completes(&mut s);
}

#[test]
fn a_leader_with_a_full_window_waits_for_the_checkpoint() {
    // Nine requests at once, a window of eight. The ninth gets its number when the checkpoint at 4 is stable.
    let mut s = story("cluster.clients = 9\nworkload.requests = 9");
    s.hold("*>* prepare").deliver_all();
    expect(&s, &["p0"], "next_seq", 8);
    let waiting = s.json("p0")["clients"]["pending"]
        .as_array()
        .unwrap()
        .iter()
        .any(|request| request["signer"] == "c8");
    assert!(!s.in_flight("p0>* pre-prepare") && waiting);
    s.release("*>* prepare").hold("*>* checkpoint").deliver_all();
    expect_logs(&s, &ALL, &ops(8));
    expect(&s, &["p0"], "next_seq", 8);
    s.heal().deliver_all();
    expect_logs(&s, &ALL, &ops(9));
    expect(&s, &ALL, "h", 8);
    completes(&mut s);
}

#[test]
fn old_checkpoints_do_not_move_the_window_back() {
    // p3's CHECKPOINT for 4 comes to p1 late, and twice: h is 8 by then.
    let mut s = story("cluster.clients = 8\nworkload.requests = 8");
    s.hold("c4,c5,c6,c7>p0 request").hold("p3>p1 checkpoint").deliver_all();
    expect(&s, &ALL, "h", 4);
    s.duplicate("p3>p1 checkpoint").release("c4,c5,c6,c7>p0 request");
    s.deliver_all();
    expect(&s, &ALL, "h", 8);
    let before = s.state("p1");
    s.deliver("p3>p1 checkpoint");
    assert_eq!(s.state("p1"), before);
    s.heal();
    completes(&mut s);
}

#[test]
fn three_checkpoints_of_one_sender_are_one() {
    // p3 is Byzantine: three copies of its CHECKPOINT reach p1, which has heard of no other. The second time
    // they claim 16, far above the window: one liar is no reason to fetch anything.
    for lift in [0, 12] {
        let mut s = story(
            "cluster.clients = 4\nadversary.byzantine = ['p3']\n\
             workload = { requests = 4, goal = 'committed' }\n\
             adversary.faults = [{ from = ['p3'], to = ['p1'], kind = 'checkpoint', duplicate = 2 }]",
        );
        s.hold("*>* checkpoint").deliver_all();
        tell(&mut s, "p3>p1 checkpoint", &["checkpoint.seq+1"].repeat(lift));
        s.deliver("p3>p1 checkpoint");
        expect(&s, &["p1"], "h", 0);
        expect(&s, &["p1"], "fetching", serde_json::Value::Null);
        s.heal();
        completes(&mut s);
    }
}

#[test]
fn a_lone_suspect_does_not_change_the_view_and_follows_by_checkpoints() {
    // Only p3's timer fires: it votes for view 1 and is frozen. The others go on without it, and it follows
    // by checkpoints. When p0 stops, p3's old vote helps to leave view 0.
    let mut s = story("workload = { requests = 9, start = [0, 0, 0, 0, 0, 0, 0, 0, 90000] }");
    s.deliver("c0>p0 request").deliver("p0>p3 pre-prepare").timeout("p3", "request").deliver_all();
    expect(&s, &ALL, "view", 0);
    expect(&s, &["p0", "p1", "p2"], "status", "Normal");
    expect(&s, &["p3"], "status", changing(1));
    expect_logs(&s, &ALL, &ops(8));
    expect(&s, &ALL, "h", 8);

    s.crash("p0").timeout("c0", "client-next").timeout("c0", "client-retry-9").deliver_all();
    s.timeout("p1", "request").deliver_all();
    expect(&s, &BACKUPS, "view", 1);
    expect(&s, &BACKUPS, "status", "Normal");
    assert_eq!(voters(&s, "p2"), ["p1", "p2", "p3"]);
    expect_logs(&s, &BACKUPS, &ops(9));
    completes(&mut s);
}

/// p3 has missed four requests and the CHECKPOINTs, and p0 stops. The votes of p1 and p2 prove the checkpoint
/// at 4, so the new view starts there.
fn p3_enters_a_view_above_its_history() -> Story<Pbft> {
    let mut s = story("cluster.clients = 5\nworkload = { requests = 5, goal = 'committed' }");
    s.hold("c4>p0 request").lose("*>p3").deliver_all().heal();
    expect(&s, &["p1", "p2"], "h", 4);
    s.crash("p0").timeout("c4", "client-retry-1").deliver_all();
    s.timeout("p1", "request").timeout("p3", "request").deliver("p1,p3>p2 view-change");
    s.deliver("p2,p3>p1 view-change").deliver("p1>p3 new-view");
    s
}

#[test]
fn a_laggard_adopts_the_checkpoint_that_the_votes_for_a_view_prove() {
    // p3's window moves at once, and the history follows.
    let mut s = p3_enters_a_view_above_its_history();
    assert_eq!(voters(&s, "p3"), ["p1", "p2", "p3"]);
    expect(&s, &["p3"], "view", 1);
    expect(&s, &["p3"], "h", 4);
    expect(&s, &["p3"], "fetching", 4);
    s.expect_log("p3", &[]);
    s.deliver_all();
    expect_logs(&s, &BACKUPS, &ops(5));
    completes(&mut s);
}

#[test]
fn a_laggard_can_be_looked_at_while_its_history_is_missing() {
    // Explanations and liveness checks read the vitals of any replica at any time.
    let s = p3_enters_a_view_above_its_history();
    assert_eq!(s.sim().vitals(Seat(3)).decided, Slot(0));
}

#[test]
fn above_the_window_only_the_newest_checkpoint_of_a_sender_is_kept() {
    // Byzantine p3 claims 16 and then 12, or 12 and then 16; p1's window ends at 8.
    for claims in [[16, 12], [12, 16]] {
        let mut s = story("cluster.clients = 8\nworkload.requests = 8\nadversary.byzantine = ['p3']");
        s.hold("*>p1 checkpoint").hold("c4,c5,c6,c7>p0 request").deliver_all();
        for (honest, claim) in [4, 8].into_iter().zip(claims) {
            tell(&mut s, "p3>p1 checkpoint", &["checkpoint.seq+1"].repeat(claim - honest));
            s.deliver("p3>p1 checkpoint");
            s.heal().hold("*>p1 checkpoint").deliver_all();
        }
        expect(&s, &["p1"], "h", 0);
        let kept = s.json("p1")["checkpoints"]["votes"]["p3"].clone();
        let kept: Vec<_> = kept.as_array().unwrap().iter().map(|vote| vote["body"]["seq"].clone()).collect();
        assert_eq!(kept, [16]);
        s.heal();
        completes(&mut s);
    }
}
