//! Zyzzyva in thousands of random orders, with and without a liar.

use std::sync::Arc;

use crate::stage::{ALL, scenario_of};
use turncoat_core::outcome::Outcome;
use turncoat_core::rng::run_seed;
use turncoat_core::runner::Runner;
use turncoat_core::scenario::{Scenario, SchedulerName, Seed};
use turncoat_core::sim::Sim;
use turncoat_protocols::zyzzyva::Zyzzyva;

fn scenario(settings: &str) -> Scenario {
    scenario_of(toml::toml! { name = "zyzzyva" checkpoint = 2 }, settings)
}

/// Runs a scenario under many seeds; nothing is violated. `look` sees the end of each run.
fn run(scenario: &Scenario, runs: u64, mut look: impl FnMut(&Outcome)) {
    let mut sim = Sim::<Zyzzyva>::new();
    let mut scenario = scenario.clone();
    for i in 0..runs {
        scenario.seed = Seed(run_seed(29, i));
        let outcome = sim.execute(&scenario).expect("a scenario that can run");
        assert!(outcome.violations.is_empty(), "{}: {:?}", scenario.seed, outcome.violations);
        look(&outcome);
    }
}

#[test]
fn runs_without_faults_violate_nothing_under_any_scheduler() {
    // `async` fires timers early, so that these runs change views, roll back, and catch up.
    let mut calm = scenario("cluster.clients = 2\nworkload.requests = 10");
    for name in SchedulerName::ALL {
        Arc::make_mut(&mut calm.scheduler).name = name;
        run(&calm, 1000, |_| {});
    }
}

#[test]
fn one_liar_and_late_messages_violate_nothing() {
    for (liar, scope) in ALL.into_iter().flat_map(|liar| [(liar, "small"), (liar, "any")]) {
        let settings = format!(
            "cluster.clients = 2\nworkload.requests = 6\nadversary.byzantine = ['{liar}']\nnetwork.loss = 'hold'\n\
             scheduler = {{ name = 'async', mutate = 20, drop = 3, scope = '{scope}' }}"
        );
        let mut accepted = 0;
        run(&scenario(&settings), 300, |outcome| accepted += outcome.injected.accepted);
        assert!(accepted > 100, "{liar} {scope}: the lies are not worth the name");
    }
}
