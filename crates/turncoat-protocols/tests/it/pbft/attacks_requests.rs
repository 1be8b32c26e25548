//! Attacks on how pbft-java treats requests: when their timers start, when they are dropped, in which order they are
//! executed; and on the proposals that its NEW-VIEW repeats. Each needs the deviation that it names, and the correct
//! protocol survives the same schedule.

use crate::stage::{
    ALL, BACKUPS, NOTHING, attack, changing, completes, ends, expect, expect_logs, left, marked, proposals,
    story, without_flags, witness,
};
use turncoat_core::assume::Assumption;
use turncoat_core::outcome::Property;
use turncoat_core::runner::execute;
use turncoat_protocols::pbft::Pbft;

/// The proposal of r1 is lost. p0 has started a timer with the REQUEST, it runs out, and p0 votes itself out of office,
/// before the client asks again. In the correct protocol a primary suspects nobody. Both get there in the end: the
/// client asks all.
#[test]
fn a_primary_gives_up_on_itself() {
    let settings = "workload = { requests = 1, timeout = 2000 }\nnetwork.latency = 10";
    let mut s = attack(&["timer-from-request"], settings);
    s.deliver("c0>p0 request").drop("p0>* pre-prepare");
    assert_eq!(left(&s, "p0", "request"), 500);
    s.timeout("p0", "request");
    expect(&s, &["p0"], "status", changing(1));
    completes(&mut s);

    let mut s = story(settings);
    s.deliver("c0>p0 request").drop("p0>* pre-prepare");
    let p0 = s.sim().seats().named("p0".parse().expect("a name")).expect("a node");
    let p0 = p0.iter().next().expect("a seat");
    assert!(s.sim().timers(p0).iter().all(|(name, _)| name != "request"));
    completes(&mut s);
}

/// Byzantine p0 hides r1 from p3, and keeps its COMMIT and the proof to itself. p1 and p2 have prepared, and lack one COMMIT. But they
/// know r1 from its PRE-PREPARE alone, which starts no timer; and the client asks only once. In the correct protocol
/// they suspect p0, p3 joins them, and view 1 executes r1.
#[test]
fn who_has_not_heard_the_request_itself_suspects_nobody() {
    let mut s = attack(
        &["timer-from-request"],
        "workload = { requests = 1, retries = 0 }\nadversary.byzantine = ['p0']\nadversary.faults = [\
         { from = ['p0'], to = ['p3'], kind = 'pre-prepare', mutate = 'pre-prepare.omit' },\
         { from = ['p0'], kind = ['commit', 'slot-proof'], drop = true }]",
    );
    let outcome = witness(&mut s, "pbft-java/timer-from-request");
    expect(&s, &BACKUPS, "status", "Normal");
    expect_logs(&s, &BACKUPS, &NOTHING);
    assert!(!marked(&outcome, "view-change"));
}

/// p0 stops; r1 has reached the others, and they vote for view 1. In this moment r2 comes, to all. They drop it, and its
/// client asks only once: view 1 executes r1 alone. The correct replicas keep r2 until the new view has a leader for
/// it.
#[test]
fn a_request_that_comes_between_two_views_is_dropped() {
    let mut s =
        attack(&["frozen-drops-requests"], "cluster.clients = 2\nworkload = { target = 'all', retries = 0 }");
    s.crash("p0").deliver("c0>p1,p2,p3 request");
    for who in BACKUPS {
        s.timeout(who, "request");
    }
    expect(&s, &BACKUPS, "status", changing(1));
    s.deliver("c1>p1,p2,p3 request");
    witness(&mut s, "pbft-java/frozen-drops-requests");
    expect(&s, &BACKUPS, "view", 1);
    expect_logs(&s, &BACKUPS, &["r1"]);
}

/// Nobody fails: the network is slow, and agreement takes three messages one after another, 1,800 ticks. Patience ends after 500,
/// in every view anew. The correct protocol doubles it from view to view until it lasts.
#[test]
fn a_timeout_that_never_grows_is_too_short_for_ever() {
    let mut s = attack(&["timeouts-reset"], "workload.requests = 1\nnetwork.latency = 600");
    let outcome = witness(&mut s, "pbft-java/timeouts-reset");
    assert_eq!(outcome.commits, 0);
    assert!(s.json("p1")["view"].as_u64() > Some(20));
}

/// A client sends r2 before it has the result of r1, and r2 overtakes it. r2 is executed; then comes r1. pbft-java
/// orders it, and both complete. That is no violation, and needs no assumption about clients. The correct protocol
/// takes r1 for something long past and never executes it; but it assumes that clients wait.
#[test]
fn an_older_request_is_ordered_after_a_later_one() {
    let settings = "workload = { requests = 2, every = 100, goal = 'committed' }";
    let mut s = attack(&["orders-old-requests"], settings);
    s.hold("c0>p0 request").timeout("c0", "client-next").deliver("c0>p0 request #2").deliver_all();
    expect_logs(&s, &ALL, &["r2"]);
    s.release("c0>p0 request").deliver_all();
    expect_logs(&s, &ALL, &["r2", "r1"]);
    assert!(completes(&mut s).breaches.is_empty());

    let control = execute::<Pbft>(&without_flags(&s.scenario())).expect("the same story");
    let violation = control.violation(Property::Termination).expect("r1 is never executed");
    let outside = violation.outside.as_deref().map(|breach| breach.assumption);
    assert_eq!(outside, Some(Assumption::Requests));
}

/// Nobody lies. r1 is prepared in view 0, the COMMITs are lost, and p0 stops. View 1 repeats its PRE-PREPARE, with view 0
/// in it, and votes for it in view 1; again the COMMITs are lost. Now the certificates consist of a proposal of view 0
/// and votes of view 1, so that nobody believes the VIEW-CHANGEs to view 2, and nobody ever leaves view 1. In the
/// correct protocol proposal and votes are of one view, and view 2 executes r1.
#[test]
fn a_proposal_that_keeps_its_old_view_makes_certificates_that_prove_nothing() {
    let mut s = attack(&["old-views-kept"], "workload.requests = 1");
    s.deliver("c0>p0 request").deliver("p0>* pre-prepare").deliver("*>* prepare");
    s.drop("*>* commit").crash("p0");
    s.timeout("p2", "request").timeout("p3", "request");
    s.deliver("p2,p3>p1 view-change").deliver("p1>p2,p3 new-view");
    assert_eq!(proposals(&s, "p1"), ["r1@1"]);
    s.deliver("*>p1,p2,p3 prepare").drop("*>* commit");
    for who in BACKUPS {
        let cert = &s.json(who)["window"]["entries"][0]["prepared"];
        assert_eq!(
            (cert["pre_prepare"]["body"]["view"].as_u64(), cert["votes"]["body"]["view"].as_u64()),
            (Some(0), Some(1))
        );
    }
    s.timeout("p2", "request").timeout("p3", "request");
    witness(&mut s, "pbft-java/old-views-kept");
    expect(&s, &["p2", "p3"], "status", changing(2));
    expect_logs(&s, &BACKUPS, &NOTHING);
}

/// The client of ByzzFuzz's harness looks for late requests only when it has sent its last one, after two seconds.
#[test]
fn a_client_may_begin_to_ask_again_at_a_time_of_its_own() {
    let settings =
        "workload = { requests = 2, every = 1000, timeout = 1500, retry-from = 2000 }\nnetwork.latency = 10";
    let mut s = attack(&["orders-old-requests"], settings);
    assert_eq!(left(&s, "c0", "client-retry-1"), 2000);
    s.crash("p0").timeout("c0", "client-next");
    assert_eq!((left(&s, "c0", "client-retry-1"), left(&s, "c0", "client-retry-2")), (1000, 1500));
    s.timeout("c0", "client-retry-1");
    assert_eq!((left(&s, "c0", "client-retry-1"), left(&s, "c0", "client-retry-2")), (1500, 500));
    ends(&mut s);
}
