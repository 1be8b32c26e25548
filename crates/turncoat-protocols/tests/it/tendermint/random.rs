//! Tendermint in thousands of random orders.

use std::sync::Arc;

use super::stage::{did, scenario};
use crate::stage::{ALL, entry};
use turncoat_core::fault::{Effect, Fault, RoundSource, Span, When};
use turncoat_core::outcome::{Outcome, Property};
use turncoat_core::rng::{Rng, run_seed};
use turncoat_core::scenario::{Scenario, SchedulerName, Seed};

/// Runs a scenario under many seeds.
fn run(scenario: &Scenario, runs: u64, mut look: impl FnMut(Seed, &Outcome)) {
    let mut runner = entry(&scenario.protocol.name).runner();
    let mut scenario = scenario.clone();
    for i in 0..runs {
        scenario.seed = Seed(run_seed(23, i));
        let outcome = runner.execute(&scenario).expect("a scenario that can run");
        look(scenario.seed, &outcome);
    }
}

/// Nothing is violated.
fn fine(seed: Seed, outcome: &Outcome) {
    assert!(outcome.violations.is_empty(), "{seed} {:?}", outcome.violations);
}

#[test]
fn a_thousand_runs_without_faults_violate_nothing_under_any_scheduler() {
    // 2. The last time timers are impatient: epochs change all the time.
    for protocol in ["tendermint", "tendermint-0.34"] {
        let mut calm = scenario(protocol, "workload.requests = 6");
        for name in SchedulerName::ALL {
            Arc::make_mut(&mut calm.scheduler).name = name;
            run(&calm, 1000, fine);
        }
        Arc::make_mut(&mut calm.scheduler).timeout = 30;
        let mut late = 0;
        run(&calm, 1000, |seed, outcome| {
            fine(seed, outcome);
            late += u32::from(did(outcome, "late-decision"));
        });
        assert!(late > 10, "{protocol}: {late}");
    }
}

#[test]
fn one_liar_and_losses_violate_nothing() {
    for (liar, scope) in ALL.into_iter().flat_map(|liar| [(liar, "small"), (liar, "any")]) {
        let settings = format!(
            "workload.requests = 6\nadversary.byzantine = ['{liar}']\n\
             scheduler = {{ name = 'async', mutate = 40, drop = 3, timeout = 10, scope = '{scope}' }}"
        );
        let mut accepted = 0;
        run(&scenario("tendermint", &settings), 100, |seed, outcome| {
            fine(seed, outcome);
            accepted += outcome.injected.accepted;
        });
        assert!(accepted > 100, "{liar} {scope}: the lies are not worth the name");
    }
}

#[test]
fn a_liar_that_never_stops_does_not_stop_the_others() {
    // In a fifth of all that it says, for ever, it lies; or it says nothing more.
    for (liar, lie) in ALL
        .into_iter()
        .flat_map(|liar| [(liar, "mutate = { seed = 5, scope = 'any' }"), (liar, "drop = true")])
    {
        for permille in [200, 1000] {
            let settings = format!(
                "workload.requests = 10\n[adversary]\nbyzantine = ['{liar}']\n\
                 faults = [{{ from = ['{liar}'], permille = {permille}, {lie} }}]"
            );
            run(&scenario("tendermint", &settings), 50, fine);
        }
    }
}

#[test]
fn validators_that_forget_their_locks_disagree() {
    // 11. A liar whose votes and proposals differ from one to the other, in runs with impatient timers.
    let settings = |flags: &str| {
        format!(
            "protocol.flags = [{flags}]\nworkload.requests = 3\nadversary.byzantine = ['p2']\n\
             scheduler = {{ name = 'async', mutate = 60, timeout = 60, scope = 'small' }}"
        )
    };
    let (mut forks, mut broken) = (0, 0);
    run(&scenario("tendermint", &settings("'forget-lock'")), 4000, |_, outcome| {
        forks += u32::from(outcome.violation(Property::Agreement).is_some());
        broken += u32::from(outcome.violation(Property::Custom).is_some());
    });
    assert!(forks > 0 && broken >= forks, "{forks} {broken}");
    run(&scenario("tendermint", &settings("")), 1000, fine);
}

#[test]
fn twins_of_a_proposer_break_no_agreement() {
    // 18. p1 runs twice. In each of the first three epochs everybody is on one of two sides.
    const SEATS: [&str; 5] = ["p1.a", "p1.b", "p0", "p2", "p3"];
    let settings = "workload.requests = 3\nadversary = { byzantine = ['p1'], twins = ['p1'] }\n\
                    cluster.leaders = ['p1', 'p1', 'p1']\nnetwork.gst = { time = 3000 }";
    let mut scenario = scenario("tendermint", settings);
    let mut runner = entry("tendermint").runner();
    let mut rng = Rng::stream(23, 1);
    for _ in 0..1000 {
        let mut round = |view: u64| {
            let mut blocks = [Vec::new(), Vec::new()];
            SEATS.iter().for_each(|seat| blocks[rng.index(2)].push(seat.parse().expect("a name")));
            let when = When { round: Some(Span::At(view)), source: RoundSource::View, ..When::default() };
            Fault { when, effect: Effect::Partition(blocks.into()) }
        };
        scenario.adversary.faults = (1..=3).map(&mut round).collect();
        scenario.seed = Seed(rng.bits());
        fine(scenario.seed, &runner.execute(&scenario).expect("a scenario that can run"));
    }
}
