//! The protocols of the HotStuff family in thousands of random orders.

use std::sync::Arc;

use crate::stage::{ALL, entry, scenario_of};
use turncoat_core::fault::{Effect, Fault, RoundSource, Span, When};
use turncoat_core::ids::NodeId;
use turncoat_core::outcome::{Outcome, Property};
use turncoat_core::rng::{Rng, run_seed};
use turncoat_core::scenario::{Scenario, SchedulerName, Seed};

/// All that bear any order of messages.
const CORRECT: [&str; 7] = [
    "hotstuff",
    "hotstuff-two-phase",
    "hotstuff-two-phase-fixed",
    "hotstuff-chained",
    "hotstuff-two-phase-chained",
    "hotstuff-two-phase-chained-fixed",
    "fast-hotstuff",
];

/// `checks/hotstuff-control.sh` has thousands of times as many.
const RUNS: u32 = 300;

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
fn runs_without_faults_violate_nothing_under_any_scheduler() {
    // `async` fires timers early, so that these runs change views, and lag, and catch up.
    for protocol in CORRECT {
        let mut calm = scenario(protocol, "workload.requests = 10");
        for name in SchedulerName::ALL {
            Arc::make_mut(&mut calm.scheduler).name = name;
            run(&calm, RUNS.into(), |scenario, outcome| {
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
fn runs_of_sync_hotstuff_with_messages_in_time_violate_nothing() {
    // Up to two of five replicas lie, in a fifth of what they say. No message is later than delta = 20.
    for liars in ["", "'p0'", "'p0', 'p1'", "'p1', 'p3'"] {
        let lies = match liars {
            "" => String::new(),
            liars => {
                format!("{{ from = [{liars}], permille = 200, mutate = {{ seed = 5, scope = 'any' }} }}")
            }
        };
        let settings = format!(
            "cluster = {{ n = 5, f = 2 }}\nworkload.requests = 10\nnetwork.latency = [1, 20]\n\
             adversary = {{ byzantine = [{liars}], faults = [{lies}] }}"
        );
        run(&scenario("sync-hotstuff", &settings), RUNS.into(), |Scenario { seed, .. }, outcome| {
            assert!(outcome.violations.is_empty(), "{liars} {seed}: {:?}", outcome.violations);
        });
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

/// Who leads each view, and who hears whom in it, drawn anew for each run; p0 runs twice.
fn twins(base: &Scenario, rng: &mut Rng) -> Scenario {
    const SEATS: [&str; 5] = ["p0.a", "p0.b", "p1", "p2", "p3"];
    let mut scenario = base.clone();
    let leaders = (1..=10).map(|_| NodeId::replica(rng.index(4)));
    Arc::make_mut(&mut scenario.cluster).leaders = leaders.collect();
    let round = |view: u64, rng: &mut Rng| {
        let mut blocks = [Vec::new(), Vec::new()];
        SEATS.iter().for_each(|seat| blocks[rng.index(2)].push(seat.parse().expect("a name")));
        let when = When { round: Some(Span::At(view)), source: RoundSource::View, ..When::default() };
        Fault { when, effect: Effect::Partition(blocks.into()) }
    };
    scenario.adversary.faults = (1..=10).map(|view| round(view, rng)).collect();
    scenario.seed = Seed(rng.bits());
    scenario
}

/// Runs of twins under random partitions, in which only progress may be missed; gives the decisions.
fn safe_twins(protocol: &str, settings: &str, runs: u32) -> u32 {
    let twins_of_p0 = "protocol.doublings = 0\nworkload.requests = 12\nnetwork.gst = { time = 4000 }\n\
                       adversary = { byzantine = ['p0'], twins = ['p0'] }";
    let base = scenario(protocol, &format!("{twins_of_p0}\n{settings}"));
    let mut runner = entry(protocol).runner();
    let mut rng = Rng::stream(23, 1);
    let mut commits = 0;
    for run in 0..runs {
        let scenario = twins(&base, &mut rng);
        let outcome = runner.execute(&scenario).expect("a scenario that can run");
        let safe = outcome.violations.iter().all(|found| found.property == Property::Termination);
        assert!(safe, "{protocol} {run}: {:?}\n{}", outcome.violations, scenario.to_toml());
        commits += outcome.commits;
    }
    commits
}

#[test]
fn twins_and_partitions_break_no_agreement() {
    // Two phases too are safe.
    for protocol in CORRECT {
        for pacemaker in ["local", "announced"] {
            let commits = safe_twins(protocol, &format!("protocol.pacemaker = '{pacemaker}'"), RUNS);
            assert!(commits > RUNS, "{protocol} {pacemaker}: {commits}");
        }
    }
}

/// Three checks that nothing depends on. A certificate of the view of the lock is for the locked block itself, and so
/// is one of the own view: its children extend the lock. And a certificate that comes late is as good as ever.
#[test]
fn some_deviations_are_harmless() {
    for flag in ["safe-node-any", "justify-view-unchecked", "accept-late-qc"] {
        for protocol in ["hotstuff", "hotstuff-two-phase"] {
            safe_twins(protocol, &format!("protocol.pacemaker = 'local'\nprotocol.flags = ['{flag}']"), RUNS);
        }
    }
}
