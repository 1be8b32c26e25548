//! Stories of the normal case: answers, certificates, holes, checkpoints. Numbers are those of the scenarios of the
//! protocol's document.

use super::stage::{committed, expect_spec, expect_view, idle, marked, max_cc, story};
use crate::stage::{ALL, completes};

const CORRECT: [&str; 3] = ["p0", "p1", "p2"];

#[test]
fn with_all_answers_equal_a_request_takes_three_steps() {
    // 1.
    let mut s = story("workload.requests = 1");
    s.deliver("c0>p0 request").deliver("p0>* order-req").deliver("*>c0 spec-response");
    assert!(idle(&s, "c0") && !s.in_flight("*>* *"));
    expect_spec(&s, &ALL, &["r1"]);
    // For the replicas nothing is final.
    assert_eq!(ALL.map(|who| committed(&s, who)), [0; 4]);
    assert!(s.noted("executes r1 in slot 1, speculatively"));
    let outcome = completes(&mut s);
    assert!(!marked(&outcome, "commit") && !marked(&outcome, "view-change"));
}

#[test]
fn with_one_replica_silent_the_client_shows_a_certificate() {
    // 2.
    let mut s = story("workload.requests = 1");
    s.crash("p3").deliver_all();
    assert!(!idle(&s, "c0"));
    s.timeout("c0", "client-retry-1").deliver("c0>* commit");
    assert_eq!(CORRECT.map(|who| max_cc(&s, who)), [Some((1, 1)); 3]);
    s.deliver("p0,p1>c0 local-commit");
    assert!(!idle(&s, "c0"));
    s.deliver("p2>c0 local-commit");
    assert!(idle(&s, "c0"));
    completes(&mut s);
}

#[test]
fn a_hole_is_filled_by_the_primary() {
    // 3.
    let mut s = story("cluster.clients = 2\nworkload = { requests = 2, goal = 'none' }");
    s.deliver("c0>p0 request").drop("p0>p3 order-req").deliver("c1>p0 request").deliver("p0>* order-req");
    let hole = s.json("p3")["hole"].clone();
    assert_eq!((&hole["from"], &hole["to"]), (&1.into(), &2.into()));
    expect_spec(&s, &["p3"], &[]);
    s.deliver("p3>p0 fill-hole").deliver("p0>p3 fill-hole-reply");
    expect_spec(&s, &ALL, &["r1", "r2"]);
    s.deliver_all().expect_no_violation();
    assert!(idle(&s, "c0") && idle(&s, "c1") && s.json("p3")["hole"].is_null());
}

#[test]
fn a_hole_is_filled_by_others_if_the_primary_does_not() {
    // 4. Nobody hates the primary for it.
    let mut s = story("cluster.clients = 2\nworkload = { requests = 2, goal = 'none' }");
    s.deliver("c0>p0 request").drop("p0>p3 order-req").deliver("c1>p0 request").deliver("p0>* order-req");
    s.drop("p3>p0 fill-hole").timeout("p3", "fill-hole").deliver("p3>p1,p2 fill-hole");
    s.deliver("p1>p3 fill-hole-reply");
    expect_spec(&s, &ALL, &["r1", "r2"]);
    s.deliver_all();
    assert!(idle(&s, "c0") && idle(&s, "c1"));
    assert!(!s.noted("hates"));
    expect_view(&s, &ALL, 1);
}

#[test]
fn a_hole_that_nobody_fills_is_the_primarys_fault() {
    let mut s = story("cluster.clients = 2\nworkload = { requests = 2, goal = 'none' }");
    s.deliver("c0>p0 request").drop("p0>p3 order-req").deliver("c1>p0 request").deliver("p0>* order-req");
    s.drop("p3>p0 fill-hole").timeout("p3", "fill-hole").drop("p3>* fill-hole").timeout("p3", "fill-hole");
    assert!(s.in_flight("p3>p0 ihtp"));
}

#[test]
fn a_request_that_comes_again_is_answered_again_and_not_executed() {
    // 16. A replica that has no certificate for it waits for one; later it answers with a LOCAL-COMMIT.
    let mut s = story("workload.requests = 1");
    s.lose("*>c0 spec-response").deliver_all().heal();
    s.timeout("c0", "client-retry-1").deliver("c0>* request");
    expect_spec(&s, &ALL, &["r1"]);
    assert_eq!(s.json("p1")["watched"]["c0"], 1);
    assert!(s.json("p0")["watched"].as_object().is_some_and(serde_json::Map::is_empty));
    s.deliver("p0,p1,p2>c0 spec-response");
    // As it has sent the request again, the certificate goes out at once; nobody waits any longer.
    s.deliver("c0>* commit");
    assert_eq!(ALL.map(|who| max_cc(&s, who)), [Some((1, 1)); 4]);
    assert!(s.json("p1")["watched"].as_object().is_some_and(serde_json::Map::is_empty));
    s.drop("*>c0 local-commit").timeout("c0", "client-retry-1").deliver("c0>* commit");
    s.drop("*>c0 local-commit").timeout("c0", "local-commit-1").drop("c0>* commit").deliver("c0>* request");
    assert!(s.in_flight("p1>c0 spec-response") && s.in_flight("p1>c0 local-commit"));
    expect_spec(&s, &ALL, &["r1"]);
    completes(&mut s);
    expect_spec(&s, &ALL, &["r1"]);
}

#[test]
fn a_checkpoint_makes_final_what_was_speculation() {
    // 12, first half. The orders up to 4 are forgotten; the requests are not.
    let mut s = story("cluster.clients = 5\nworkload = { requests = 5, goal = 'none' }");
    s.deliver_all();
    expect_spec(&s, &ALL, &["r1", "r2", "r3", "r4", "r5"]);
    for who in ALL {
        assert_eq!(committed(&s, who), 4);
        let orders = |i: usize| s.json(who)["log"]["entries"][i]["order"].is_null();
        assert_eq!([0, 3, 4].map(orders), [true, true, false]);
        let log: Vec<u32> = s.log(who).into_iter().map(|(slot, _)| slot).collect();
        assert_eq!(log, [1, 2, 3, 4]);
    }
    s.expect_no_violation();
}

#[test]
fn numbers_do_not_run_ahead_of_the_checkpoint_by_more_than_two_intervals() {
    let mut s = story("cluster.clients = 10\nworkload = { requests = 10, goal = 'none' }");
    s.hold("*>* checkpoint").deliver_all();
    assert_eq!(s.json("p0")["log"]["entries"].as_array().map(Vec::len), Some(8));
    s.heal().deliver_all();
    assert_eq!(s.json("p3")["log"]["entries"].as_array().map(Vec::len), Some(10));
    assert_eq!(ALL.map(|who| committed(&s, who)), [8; 4]);
}

#[test]
fn a_diverging_log_is_replaced_by_the_stable_one() {
    // 22. Byzantine p0 orders r2 as the first request for p3 alone. Checkpoints go on without p3.
    let mut s = story(
        "cluster.clients = 4\nadversary.byzantine = ['p0']\nworkload = { requests = 4, goal = 'none' }",
    );
    s.deliver("c0>p0 request").drop("p0>p3 order-req").deliver("c1>p0 request");
    s.mutate("p0>p3 order-req", "order-req.seq-1+history=first").deliver("p0>* order-req");
    expect_spec(&s, &["p3"], &["r2"]);
    s.hold("*>p3 *").deliver("c2>p0 request").deliver("c3>p0 request").deliver_only("p0>p1,p2 order-req");
    s.deliver_only("*>p0,p1,p2 spec-response,checkpoint");
    assert_eq!(["p0", "p1", "p2"].map(|who| committed(&s, who)), [4; 3]);
    s.heal().deliver("*>p3 checkpoint");
    assert!(s.in_flight("p3>p1 fetch"));
    expect_spec(&s, &["p3"], &["r2"]);
    s.deliver("p3>p1 fetch").deliver("p1>p3 state");
    expect_spec(&s, &ALL, &["r1", "r2", "r3", "r4"]);
    let log: Vec<u32> = s.log("p3").into_iter().map(|(slot, _)| slot).collect();
    assert_eq!(log, [1, 2, 3, 4]);
    s.expect_no_violation();
}
