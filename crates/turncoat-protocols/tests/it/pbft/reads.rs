//! Stories of the read-only optimisation, and of the stall that it brings without slot catch-up.

use crate::stage::{ALL, completes, ends, expect_logs, idle, marked, story};
use turncoat_core::outcome::{Outcome, Property};
use turncoat_core::record::What;
use turncoat_core::story::Story;
use turncoat_protocols::pbft::Pbft;

/// The results in the replies that a client was handed for its request `ts`, in order.
fn results(s: &Story<Pbft>, client: &str, ts: u32) -> Vec<String> {
    let field = |text: &str, name: &str| {
        text.split_whitespace().find_map(|word| word.strip_prefix(name)).unwrap_or_default().to_owned()
    };
    let result = |what: &What| match what {
        What::Deliver { dst, text, .. } if dst.to_string() == client && text.starts_with("reply") => {
            (field(text, "t=") == ts.to_string()).then(|| field(text, "r="))
        }
        _ => None,
    };
    s.sim().events().iter().filter_map(|event| result(&event.what)).collect()
}

#[test]
fn a_read_sees_the_write_before_it_and_is_not_ordered() {
    // One client writes and reads.
    let mut s = story("protocol.read-only = true\nworkload = { ops = ['+5', 'get'], read-only = [2] }");
    s.deliver_all();
    assert_eq!(results(&s, "c0", 2), ["5"; 4]);
    expect_logs(&s, &ALL, &["+5"]);
    assert_eq!(completes(&mut s).completed, 2);
    expect_logs(&s, &ALL, &["+5"]);
}

#[test]
fn a_replica_that_lags_does_not_make_a_read_miss_a_finished_write() {
    // p3 has not executed the write, and its old value is the first to come in. The others' count.
    let mut s = story("protocol.read-only = true\nworkload = { ops = ['+5', 'get'], read-only = [2] }");
    s.hold("*>p3 commit").hold("c0>p0,p1,p2 request").deliver("c0>p0 request").deliver_all();
    assert_eq!(results(&s, "c0", 2), ["0"]);
    s.deliver("c0>p0,p1,p2 request").deliver("p0,p1>c0 reply");
    assert!(!idle(&s, "c0"));
    s.deliver("p2>c0 reply");
    assert_eq!(results(&s, "c0", 2), ["0", "5", "5", "5"]);
    assert!(idle(&s, "c0"));
    s.heal();
    completes(&mut s);
}

#[test]
fn a_read_without_a_quorum_of_equal_answers_is_ordered() {
    // p3 lags and p0's answer is lost: 5, 5 and 0. The client asks again in order.
    let mut s = story("protocol.read-only = true\nworkload = { ops = ['+5', 'get'], read-only = [2] }");
    s.hold("*>p3 commit").hold("c0>p0,p1,p2 request").deliver("c0>p0 request").deliver_all();
    s.deliver("c0>p0,p1,p2 request").drop("p0>c0 reply").deliver("p1,p2>c0 reply");
    s.heal().timeout("c0", "client-retry-2").deliver_all();
    expect_logs(&s, &ALL, &["+5", "get"]);
    assert_eq!(results(&s, "c0", 3), ["5"; 4]);
    completes(&mut s);
}

/// Byzantine p0 leads p1 and p2 through the protocol, but says nothing to p3 and to the clients: one writes,
/// the other reads a while later. Two replicas have executed the write and answer; the third cannot.
fn starved(settings: &str) -> (Story<Pbft>, Outcome) {
    let mut s = story(&format!(
        "cluster.clients = 2\nworkload = {{ ops = ['+5', 'get'], read-only = [2], start = [0, 300] }}\n\
         adversary.byzantine = ['p0']\n\
         adversary.faults = [{{ from = ['p0'], to = ['p3', 'c0', 'c1'], drop = true }}]\n{settings}"
    ));
    s.deliver_all();
    s.expect_no_violation();
    expect_logs(&s, &["p1", "p2"], &["+5"]);
    s.expect_log("p3", &[]);
    let outcome = ends(&mut s);
    (s, outcome)
}

#[test]
fn slot_catch_up_ends_the_stall_of_the_read_only_optimisation() {
    // p3 fetches the proof that p1 and p2 hold, and is the third to answer.
    let (s, outcome) = starved("protocol.read-only = true");
    assert!(outcome.violations.is_empty(), "{:?}", outcome.violations);
    assert!(marked(&outcome, "slot-fetch"));
    assert_eq!(outcome.completed, 2);
    assert_eq!(s.log("p3")[0].1, "+5");
}

#[test]
fn without_slot_catch_up_the_read_only_optimisation_stalls() {
    // p1 and p2 have nothing to wait for, p3 alone suspects: no view change, no third answer.
    let (_, outcome) = starved("protocol = { read-only = true, slot-fetch = false }");
    assert!(outcome.violation(Property::Termination).is_some());
    assert_eq!((outcome.violations.len(), outcome.completed), (1, 0));
}

#[test]
fn without_slot_catch_up_and_without_the_optimisation_two_answers_do() {
    // The same attack on plain PBFT, where f+1 replies complete a request and reads are ordered.
    let mut s = story(
        "cluster.clients = 2\nprotocol.slot-fetch = false\nworkload.ops = ['+5', 'get']\n\
         adversary.byzantine = ['p0']\n\
         adversary.faults = [{ from = ['p0'], to = ['p3', 'c0', 'c1'], drop = true }]",
    );
    s.deliver_all();
    assert_eq!(completes(&mut s).completed, 2);
}
