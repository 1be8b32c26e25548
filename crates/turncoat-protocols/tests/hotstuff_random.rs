//! The protocols of the HotStuff family in thousands of random orders.

mod stage;

use std::sync::Arc;

use stage::{ALL, entry, scenario_of};
use turncoat_core::outcome::{Outcome, Property};
use turncoat_core::rng::run_seed;
use turncoat_core::scenario::{Scenario, SchedulerName, Seed};

const CORRECT: [&str; 5] =
    ["hotstuff", "hotstuff-two-phase", "hotstuff-two-phase-fixed", "hotstuff-chained", "fast-hotstuff"];

fn scenario(protocol: &str, settings: &str) -> Scenario {
    scenario_of(toml::Table::from_iter([("name".to_owned(), protocol.into())]), settings)
}

/// Runs a scenario under many seeds. `look` sees the outcome of each run.
fn run(scenario: &Scenario, runs: u64, mut look: impl FnMut(&Scenario, &Outcome)) {
    let mut runner = entry(&scenario.protocol.name).runner();
    let mut scenario = scenario.clone();
    for i in 0..runs {
        scenario.seed = Seed(run_seed(23, i));
        let outcome = runner.execute(&scenario).expect("a scenario that can run");
        look(&scenario, &outcome);
    }
}

#[test]
fn a_thousand_runs_without_faults_violate_nothing_under_any_scheduler() {
    // `async` fires timers early, so that these runs change views, and lag, and catch up.
    for protocol in CORRECT {
        let mut calm = scenario(protocol, "workload.requests = 10");
        for name in SchedulerName::ALL {
            Arc::make_mut(&mut calm.scheduler).name = name;
            run(&calm, 1000, |scenario, outcome| {
                let Scenario { seed, scheduler, .. } = scenario;
                let name = scheduler.name;
                assert!(
                    outcome.violations.is_empty(),
                    "{protocol} {seed} {name:?}: {:?}",
                    outcome.violations
                );
            });
        }
    }
}

#[test]
fn one_liar_and_random_losses_break_no_agreement() {
    // Before the calm phase some of the liar's messages are changed, some of all messages are lost, timers fire early.
    for (protocol, scope) in CORRECT.into_iter().flat_map(|name| [(name, "small"), (name, "any")]) {
        for liar in ALL {
            let settings = format!(
                "workload.requests = 10\nadversary.byzantine = ['{liar}']\n\
                 scheduler = {{ name = 'async', mutate = 20, drop = 3, scope = '{scope}' }}"
            );
            let mut accepted = 0;
            run(&scenario(protocol, &settings), 250, |Scenario { seed, .. }, outcome| {
                let safe = outcome.violations.iter().all(|found| found.property == Property::Termination);
                assert!(safe, "{protocol} {scope} {liar} {seed}: {:?}", outcome.violations);
                accepted += outcome.injected.accepted;
            });
            assert!(accepted > 250, "{protocol} {scope} {liar}: the lies are not worth the name");
        }
    }
}
