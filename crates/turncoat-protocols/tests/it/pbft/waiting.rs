//! What a replica of PBFT says it waits for is what it needs.

use std::sync::Arc;

use crate::stage::{scenario, story};
use turncoat_core::ids::Seat;
use turncoat_core::rng::run_seed;
use turncoat_core::scenario::{SchedulerName, Seed};
use turncoat_core::sim::Sim;
use turncoat_core::story::Story;
use turncoat_protocols::pbft::Pbft;

/// What somebody waits for: `3 commit of slot 1, has {p1}`.
fn waits(s: &Story<Pbft>, seat: u8) -> String {
    let vitals = s.sim().vitals(Seat(seat));
    let words =
        vitals.waiting.iter().map(|w| format!("{} {} of {}, has {}", w.need, w.kind, w.about, w.have));
    words.collect::<Vec<_>>().join("; ")
}

#[test]
fn a_backup_waits_for_votes_and_says_whose_it_has() {
    let mut s = story("workload.requests = 1");
    assert_eq!((waits(&s, 1), waits(&s, 4)), (String::new(), "2 reply of request 1, has {}".to_owned()));
    s.deliver("c0>p0 request").deliver("p0>p1 pre-prepare");
    assert_eq!(waits(&s, 0), "2 prepare of slot 1, has {}");
    assert_eq!(waits(&s, 1), "2 prepare of slot 1, has {p1}");
    s.deliver("p0>p2,p3 pre-prepare").deliver("p2>p1 prepare");
    assert_eq!(waits(&s, 1), "3 commit of slot 1, has {p1}");
    s.deliver("p1>p2 prepare").deliver("p2>p1 commit");
    assert_eq!(waits(&s, 1), "3 commit of slot 1, has {p1,p2}");
    s.deliver_all();
    assert!((0..5).all(|seat| waits(&s, seat).is_empty()));
}

#[test]
fn votes_without_a_proposal_are_a_reason_to_wait_for_it() {
    let mut s = story("workload.requests = 1");
    s.hold("p0>p3 pre-prepare").deliver_all();
    assert_eq!(waits(&s, 3), "1 pre-prepare of slot 1, has {}");
}

#[test]
fn who_has_given_up_a_view_waits_for_others_and_then_for_the_new_leader() {
    let mut s = story("workload = { requests = 1, target = 'all' }");
    s.deliver("c0>p1,p2,p3 request");
    s.timeout("p2", "request").timeout("p3", "request");
    assert_eq!(waits(&s, 3), "3 view-change of view 1, has {p3}");
    s.deliver("p2>p3 view-change").deliver("p3>p1 view-change").deliver("p2>p1 view-change");
    s.deliver("p1>p3 view-change");
    assert_eq!(waits(&s, 3), "1 new-view of view 1, has {}");
}

/// Whatever happens, nobody waits for what it has.
#[test]
fn nobody_waits_for_what_it_has() {
    let mut scenario = scenario("cluster.clients = 2\nworkload.requests = 6\nprotocol.checkpoint = 1");
    Arc::make_mut(&mut scenario.scheduler).name = SchedulerName::Async;
    let mut waited = 0;
    for i in 0..100 {
        scenario.seed = Seed(run_seed(29, i));
        let mut sim = Sim::<Pbft>::new();
        sim.reset(&scenario).expect("a scenario that can run");
        while sim.step() {
            for seat in (0..6).map(Seat) {
                for waiting in sim.vitals(seat).waiting {
                    waited += 1;
                    assert!(waiting.have.len() < waiting.need, "{}: {seat:?} {waiting:?}", scenario.seed);
                }
            }
        }
    }
    assert!(waited > 10_000, "{waited}");
}
