//! PBFT in thousands of random orders, mostly without faults.

use std::sync::Arc;

use crate::stage::{ALL, scenario};
use turncoat_core::hash::Digest;
use turncoat_core::ids::{Seat, Slot};
use turncoat_core::outcome::Outcome;
use turncoat_core::rng::run_seed;
use turncoat_core::runner::Runner;
use turncoat_core::scenario::{Scenario, SchedulerName, Seed};
use turncoat_core::sim::Sim;
use turncoat_protocols::pbft::Pbft;

/// Runs a scenario under many seeds; nothing is violated. `look` sees the end of each run.
fn run(scenario: &Scenario, runs: u64, mut look: impl FnMut(&Sim<Pbft>, &Outcome)) {
    let mut sim = Sim::<Pbft>::new();
    let mut scenario = scenario.clone();
    for i in 0..runs {
        scenario.seed = Seed(run_seed(23, i));
        let outcome = sim.execute(&scenario).expect("a scenario that can run");
        let seed = scenario.seed;
        assert!(
            outcome.violations.is_empty(),
            "{seed} {:?}: {:?}",
            scenario.scheduler.name,
            outcome.violations
        );
        look(&sim, &outcome);
    }
}

#[test]
fn a_thousand_delivery_orders_without_loss_have_one_result() {
    // Any message may overtake any other; timers wait until none is left. One client has its requests
    // executed in the order in which it asks, whatever happens; the second time without the first leader.
    let calm =
        "workload = { requests = 5, goal = 'committed' }\nscheduler = { name = 'async', timers = 'idle' }";
    let crash = "adversary.faults = [{ time = 0, crash = 'p0' }]";
    for (settings, first) in [(calm.to_owned(), 0), (format!("{calm}\n{crash}"), 1)] {
        run(&scenario(&settings), 1000, |sim, _| {
            let expected: Vec<Digest> = sim.ledger().submitted().iter().map(|r| r.digest()).collect();
            assert_eq!(expected.len(), 5);
            for seat in (first..4).map(Seat) {
                let log: Vec<Option<Digest>> = (1..=6).map(|n| sim.ledger().decided(seat, Slot(n))).collect();
                let executed = log.iter().flatten().filter(|&&id| id != Digest::NULL);
                assert!(executed.eq(&expected), "{log:?}");
            }
        });
    }
}

#[test]
fn two_thousand_runs_without_faults_violate_nothing_under_any_scheduler() {
    // `async` fires timers early, so that these runs change views, and lag, and catch up.
    let mut calm = scenario("cluster.clients = 2\nworkload.requests = 10");
    for name in SchedulerName::ALL {
        Arc::make_mut(&mut calm.scheduler).name = name;
        run(&calm, 2000, |_, _| {});
    }
}

#[test]
fn one_liar_and_random_losses_violate_nothing() {
    // Before the calm phase some of the liar's messages are changed, some of all messages are lost, timers
    // fire early. The scheduler draws the lies from the whole table.
    for (liar, scope) in ALL.into_iter().flat_map(|liar| [(liar, "small"), (liar, "any")]) {
        let settings = format!(
            "cluster.clients = 2\nworkload.requests = 10\nadversary.byzantine = ['{liar}']\n\
             scheduler = {{ name = 'async', mutate = 20, drop = 3, scope = '{scope}' }}"
        );
        let mut accepted = 0;
        run(&scenario(&settings), 500, |_, outcome| accepted += outcome.injected.accepted);
        assert!(accepted > 500, "{liar} {scope}: the lies are not worth the name");
    }
}
