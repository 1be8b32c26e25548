//! Stories of the normal case: requests, votes and replies that are lost, repeated or out of order.

use crate::stage::{ALL, BACKUPS, completes, expect, expect_logs, idle, marked, ops, story};

#[test]
fn ten_requests_of_two_clients_are_executed_in_one_order_in_the_first_view() {
    // Nothing goes wrong. Ten requests are two checkpoints and a half.
    let mut s = story("cluster.clients = 2\nworkload.requests = 10");
    s.deliver_all();
    expect_logs(&s, &ALL, &ops(10));
    expect(&s, &ALL, "h", 8);
    expect(&s, &ALL, "view", 0);
    let outcome = completes(&mut s);
    assert_eq!(outcome.completed, 10);
    assert!(marked(&outcome, "stable-checkpoint") && !marked(&outcome, "view-change"));
}

#[test]
fn what_is_sent_five_times_and_arrives_twice_is_executed_once() {
    // The network delivers every message twice, and an impatient client sends each request five times more.
    let mut s = story("adversary.faults = [{ duplicate = 1 }]");
    for retry in ["client-retry-1", "client-retry-2"] {
        for _ in 0..5 {
            s.timeout("c0", retry);
        }
        s.hold("*>c0 reply").deliver_all().release("*>c0 reply").deliver("*>c0 reply");
    }
    expect_logs(&s, &ALL, &["r1", "r2"]);
    expect(&s, &ALL, "view", 0);
    completes(&mut s);
    expect_logs(&s, &ALL, &["r1", "r2"]);
}

#[test]
fn votes_that_overtake_the_proposal_count() {
    // p3 has all votes for r1, and the client its replies from the others, before p3 sees the proposal.
    let mut s = story("workload.requests = 1");
    s.hold("p0>p3 pre-prepare").deliver_all();
    s.expect_log("p3", &[]);
    assert!(idle(&s, "c0"));
    s.deliver("p0>p3 pre-prepare").expect_log("p3", &["r1"]);
    completes(&mut s);
}

#[test]
fn lost_replies_are_sent_again_and_nothing_is_executed_again() {
    // All replies to r1 are lost once. With K = 1 the checkpoint has passed r1 when the client asks again.
    for (k, h) in [(4, 0), (1, 1)] {
        let mut s = story(&format!("protocol.checkpoint = {k}\nworkload.start = [0, 5000]"));
        s.lose("*>c0 reply").deliver_all().heal();
        expect_logs(&s, &ALL, &["r1"]);
        expect(&s, &ALL, "h", h);
        s.timeout("c0", "client-retry-1").deliver_all();
        assert!(idle(&s, "c0"));
        expect_logs(&s, &ALL, &["r1"]);
        let outcome = completes(&mut s);
        expect_logs(&s, &ALL, &["r1", "r2"]);
        assert!(!marked(&outcome, "view-change"));
    }
}

/// c0 is Byzantine and asks for `x1`; c1 asks for `y1`. Requests go to all replicas.
const TWO_FACED_CLIENT: &str = "cluster.clients = 2\nadversary.byzantine = ['c0']\n\
                                workload = { ops = ['x1', 'y1'], target = 'all' }";

#[test]
fn of_two_operations_under_one_number_all_replicas_execute_the_same() {
    // A Byzantine client signs two operations under one number and sends them to different replicas. What the
    // leader gets first is executed; the other client does not notice.
    for (misled, executed) in [("c0>p2,p3 request", "x1"), ("c0>p0 request", "x2")] {
        let mut s = story(TWO_FACED_CLIENT);
        s.mutate(misled, "request.op~").deliver_all();
        for who in ALL {
            let log = s.json(who)["history"]["log"].clone();
            assert_eq!((&log[0]["op"], &log[1]["op"]), (&executed.into(), &"y1".into()), "the log of {who}");
            assert_eq!(log.as_array().map(Vec::len), Some(2));
        }
        expect(&s, &ALL, "pending", serde_json::json!([]));
        expect(&s, &ALL, "view", 0);
        assert_eq!(completes(&mut s).completed, 1);
    }
}

#[test]
fn the_next_leader_does_not_order_the_other_operation_either() {
    // p1 holds the Byzantine client's other operation. The others have prepared the first one when p0 stops
    // and p1 takes over.
    let mut s = story(TWO_FACED_CLIENT);
    s.mutate("c0>p1 request", "request.op~").deliver("c0>* request");
    s.deliver("p0>* pre-prepare").deliver("*>* prepare").drop("*>* commit").crash("p0");
    s.deliver("c1>* request").timeout("p2", "request").timeout("p3", "request").deliver_all();
    expect(&s, &BACKUPS, "view", 1);
    expect_logs(&s, &BACKUPS, &["x1", "y1"]);
    completes(&mut s);
    expect_logs(&s, &BACKUPS, &["x1", "y1"]);
}
