//! Stories of basic HotStuff: views that decide, views that do not, and replicas that lag.

use crate::chain;
use crate::chain::{
    expect_locks, expect_logs, expect_views, is_hot, log, qc, recorded, scenario, story, time_out, times,
};
use crate::stage::{ALL, BACKUPS, completes, ends, marked_by, run};
use turncoat_core::outcome::{End, Property};
use turncoat_core::story::Story;
use turncoat_protocols::hotstuff::basic::HotStuff;

type Told = Story<HotStuff>;

/// Replicas that do not wait for others when their timers fire.
const LOCAL: &str = "protocol.pacemaker = 'local'";

/// The phases of a view, from the proposal on, up to and including the message `last`.
fn phases(s: &mut Told, leader: &str, others: &str, last: &str) {
    for kind in ["prepare", "pre-commit", "commit", "decide"] {
        s.deliver(&format!("{leader}>{others} {kind}"));
        if kind == last {
            return;
        }
        s.deliver(&format!("{others}>{leader} vote"));
    }
}

/// A whole view, in which the others follow the leader.
fn decide(s: &mut Told, leader: &str, others: &str) {
    s.deliver(&format!("{others}>{leader} new-view"));
    phases(s, leader, others, "decide");
}

#[test]
fn every_view_decides_a_block() {
    let mut s = story("hotstuff", "workload.requests = 4");
    decide(&mut s, "p0", "p1,p2,p3");
    expect_logs(s.sim(), &ALL, &["p0#1"]);
    decide(&mut s, "p1", "p0,p2,p3");
    decide(&mut s, "p2", "p0,p1,p3");
    decide(&mut s, "p3", "p0,p1,p2");
    expect_logs(s.sim(), &ALL, &["p0#1", "p1#1", "p2#1", "p3#1"]);
    expect_views(s.sim(), &ALL, 5);
    expect_locks(s.sim(), &ALL.map(|who| (who, "p3#1@4")));
    let outcome = completes(&mut s);
    assert!(!marked_by::<HotStuff>(&outcome, "timeout"));
}

#[test]
fn a_view_takes_eight_message_delays_with_three_phases_and_six_with_two() {
    // p3 leads none of the first three views: it learns of decisions by DECIDE.
    for (protocol, per_view) in [("hotstuff", 8), ("hotstuff-two-phase", 6)] {
        let mut sim = recorded::<HotStuff>(&scenario(protocol, "network.latency = 1\nworkload.requests = 3"));
        assert_eq!(sim.run().end, End::Goal);
        assert_eq!(times(&sim, "p3"), [1, 2, 3].map(|view| view * per_view), "{protocol}");
    }
}

#[test]
fn a_crashed_leader_costs_one_timeout() {
    // p0 stops before it says anything. Two TIMEOUTs are enough for the third replica to join, and three for all to go on.
    let mut s = story("hotstuff", "workload.requests = 1");
    s.crash("p0");
    time_out(&mut s, &["p1", "p2"], 1);
    s.deliver("p1>p3 timeout");
    assert!(!s.in_flight("p3>p1 timeout"));
    s.deliver("p2>p3 timeout").deliver("p2,p3>p1 timeout");
    expect_views(s.sim(), &["p1"], 2);
    s.deliver("p1>p2,p3 timeout-cert");
    expect_views(s.sim(), &BACKUPS, 2);
    decide(&mut s, "p1", "p2,p3");
    expect_logs(s.sim(), &BACKUPS, &["p1#1"]);
    completes(&mut s);
}

#[test]
fn what_a_quorum_has_prepared_is_reported_to_every_later_leader() {
    // p0, p1 and p2 have a prepareQC of view 1, and nobody is locked, when all timers fire. The leader of view 2 hears of
    // it from any two others, and goes on with that block.
    for reporters in ["p0,p2", "p0,p3", "p2,p3"] {
        let mut s = story("hotstuff", &format!("{LOCAL}\nworkload.requests = 2"));
        s.deliver("p1,p2,p3>p0 new-view").deliver("p0>p1,p2 prepare").deliver("p1,p2>p0 vote");
        s.deliver("p0>p1,p2 pre-commit");
        time_out(&mut s, &ALL, 1);
        expect_locks(s.sim(), &ALL.map(|who| (who, "genesis@0")));
        for who in ["p0", "p1", "p2"] {
            assert_eq!(qc(s.sim(), who, "prepare_qc"), ("p0#1".to_owned(), 1));
        }
        s.deliver(&format!("{reporters}>p1 new-view"));
        phases(&mut s, "p1", "p0,p2,p3", "prepare");
        // p3 has never seen the first block, and asks for it.
        s.deliver("p3>p1 fetch").deliver("p1>p3 block").deliver("p0,p2,p3>p1 vote");
        for kind in ["pre-commit", "commit"] {
            s.deliver(&format!("p1>p0,p2,p3 {kind}")).deliver("p0,p2,p3>p1 vote");
        }
        s.deliver("p1>p0,p2,p3 decide");
        expect_logs(s.sim(), &ALL, &["p0#1", "p1#1"]);
        completes(&mut s);
    }
}

#[test]
fn of_two_conflicting_locks_the_lower_one_gives_way() {
    // p0 alone is locked on its block. Then Byzantine p1 proposes on the first block, as if it had not heard of p0's
    // certificate: one of its faces sends the proposal, the other one believes it and collects the votes of p2 and p3,
    // who lock on it. The leader of view 3 hears of both locks. p0 accepts what conflicts with its lock, since the
    // certificate is of a later view.
    let mut s = story("hotstuff", &format!("{LOCAL}\nadversary = {{ byzantine = ['p1'], twins = ['p1'] }}"));
    s.deliver("p2,p3>p0 new-view");
    phases(&mut s, "p0", "p2,p3", "pre-commit");
    s.deliver("p2,p3>p0 vote").drop("p0>* commit").deliver("p0>p1.a prepare");
    time_out(&mut s, &["p0", "p1.a", "p1.b", "p2", "p3"], 1);
    s.deliver("p2,p3>p1.a new-view");
    assert_eq!(qc(s.sim(), "p2", "prepare_qc"), ("p0#1".to_owned(), 1));
    s.drop("p1.a>p0 prepare").mutate("p1.a>p2,p3,p1.b prepare", "prepare.justify=genesis+parent");
    s.deliver("p1.a>p2,p3,p1.b prepare").deliver("p2,p3>p1.b vote");
    for kind in ["pre-commit", "commit"] {
        s.deliver(&format!("p1.b>p2,p3 {kind}")).deliver("p2,p3>p1.b vote");
    }
    s.drop("p1.b>* decide");
    expect_locks(s.sim(), &[("p0", "p0#1@1"), ("p2", "p1.a#1@2"), ("p3", "p1.a#1@2")]);
    assert!(is_hot(s.sim(), &["p0", "p2", "p3"], 3));
    time_out(&mut s, &["p0", "p2", "p3"], 1);
    s.deliver("p0,p3>p2 new-view").deliver("p2>p0,p3 prepare").deliver("p0>p2 fetch").deliver("p2>p0 block");
    s.deliver("p0,p3>p2 vote");
    for kind in ["pre-commit", "commit"] {
        s.deliver(&format!("p2>p0,p3 {kind}")).deliver("p0,p3>p2 vote");
    }
    s.deliver("p2>p0,p3 decide");
    expect_logs(s.sim(), &["p0", "p2", "p3"], &["p1.a#1", "p2#1"]);
    assert!(marked_by::<HotStuff>(&completes(&mut s), "unlock"));
}

#[test]
fn who_was_cut_off_gets_the_blocks_in_between_and_decides_in_order() {
    // p3 hears nothing for five views. Then the decision of the sixth reaches it.
    let mut s = story("hotstuff", "cluster.leaders = ['p0', 'p0', 'p0', 'p0', 'p0', 'p0', 'p0']");
    for _ in 1..=6 {
        s.deliver("p1,p2>p0 new-view");
        phases(&mut s, "p0", "p1,p2", "decide");
    }
    s.deliver("p0>p3 decide #6");
    for height in (1..=6).rev() {
        expect_logs(s.sim(), &["p3"], &[]);
        s.deliver("p3>p0 fetch").deliver(&format!("p0>p3 block #{}", 7 - height));
    }
    expect_logs(s.sim(), &["p3"], &["p0#1", "p0#2", "p0#3", "p0#4", "p0#5", "p0#6"]);
    expect_views(s.sim(), &["p3"], 7);
    ends(&mut s);
    s.expect_no_violation();
}

#[test]
fn two_crashed_leaders_in_a_row_cost_two_timeouts() {
    // n = 7, f = 2. The first two leaders are gone from the start.
    let crashes = "adversary.faults = [{ time = 0, crash = 'p0' }, { time = 0, crash = 'p1' }]";
    let settings =
        format!("cluster = {{ n = 7, f = 2 }}\nworkload.requests = 3\nnetwork.latency = 10\n{crashes}");
    let mut sim = recorded::<HotStuff>(&scenario("hotstuff", &settings));
    assert_eq!(sim.run().end, End::Goal);
    assert_eq!(log(&sim, "p6"), ["p2#1", "p3#1", "p4#1"]);
    // One timeout of ten deltas, the next one twice as long, then eight steps of half a delta.
    let (timeouts, steps) = (200 + 400, 8 * 10);
    assert!(times(&sim, "p6")[0] <= timeouts + steps + 4 * 20, "{:?}", times(&sim, "p6"));
}

#[test]
fn who_announces_its_timeout_waits_for_nobody_and_brings_those_along_who_lag() {
    // p0 says nothing, and its view takes ten deltas. p3 does not hear p1, and p2 does not hear p3.
    let mut s: Told = story("hotstuff", "protocol.pacemaker = 'announced'\nworkload.requests = 1");
    s.crash("p0");
    s.timeout("p1", "view").timeout("p2", "view");
    expect_views(s.sim(), &["p1", "p2"], 2);
    expect_views(s.sim(), &["p3"], 1);
    // One TIMEOUT may be a liar's; two are at least one correct replica's.
    s.deliver("p1>p3 timeout");
    expect_views(s.sim(), &["p3"], 1);
    s.deliver("p2>p3 timeout");
    expect_views(s.sim(), &["p3"], 2);
    assert!(s.in_flight("p3>p1 timeout"));
    completes(&mut s);
}

#[test]
fn who_is_five_views_behind_is_with_the_others_two_deltas_after_it_is_heard() {
    // p3 is cut off, and no proposal is heard: the others give up view after view. Then all is well again. p3 says
    // TIMEOUT every ten deltas; the next one is answered.
    let settings = "network = { latency = 5, gst = { time = 12700 }, bound = 20 }\nadversary.faults = [\
                    { kind = 'prepare', drop = true }, { isolate = ['p3'] }]";
    let mut sim = recorded::<HotStuff>(&scenario("hotstuff", settings));
    while sim.time().0 < 12_700 && sim.step() {}
    assert_eq!(chain::view(&sim, "p3"), 1);
    let others = chain::view(&sim, "p0");
    assert!(others >= 6, "{others}");
    while chain::view(&sim, "p3") < others && sim.step() {}
    assert!(sim.time().0 <= 12_800 + 2 * 20, "{}", sim.time());
    assert_eq!(sim.run().end, End::Goal);
}

#[test]
fn the_same_seed_is_the_same_run() {
    for protocol in ["hotstuff", "hotstuff-chained", "fast-hotstuff", "sync-hotstuff"] {
        let mut scenario = scenario(protocol, "workload.requests = 5\nnetwork.latency = [1, 20]\nseed = 7");
        let (first, again) = (run(&scenario), run(&scenario));
        assert_eq!(first, again);
        scenario.seed.0 = 8;
        assert_ne!(run(&scenario).fingerprint, first.fingerprint);
        assert!(first.violation(Property::Agreement).is_none());
    }
}

/// Whoever wants to wait forever may say so.
#[test]
fn a_delta_may_reach_to_the_end_of_time() {
    for name in ["hotstuff", "hotstuff-chained", "fast-hotstuff", "sync-hotstuff"] {
        let protocol = [("name".to_owned(), name.into()), ("delta".to_owned(), i64::MAX.into())];
        let n = if name == "sync-hotstuff" { 3 } else { 4 };
        let settings = format!("cluster.n = {n}\nworkload.every = 9223372036854775807\nlimits.steps = 2000");
        crate::stage::run(&crate::stage::scenario_of(protocol.into_iter().collect(), &settings));
    }
}
