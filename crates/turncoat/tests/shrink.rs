//! Counterexamples made small, whatever strategy and scheduler they come from: they show the same, replay, and cannot be
//! made smaller; and nobody lies in them who could not lie before.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use turncoat::core::record::What;
use turncoat::core::rng::{Purpose, Rng, run_seed};
use turncoat::core::runner::Entry;
use turncoat::core::scenario::{SchedulerName, SchedulerSpec};
use turncoat::lab::shrink::{Budget, Keep, ShrinkError, Shrunk, Step, Stopped, shrink};
use turncoat::{NodeSet, Property, Scenario, Seed, strategies};

#[path = "../examples/bracha.rs"]
#[allow(dead_code, reason = "its `main`")]
mod bracha;

const BUDGET: u64 = 40_000;

fn small(entry: &Entry, scenario: &Scenario, keep: Keep, executions: u64) -> (Shrunk, Vec<Step>) {
    let stop = AtomicBool::new(false);
    let mut steps = Vec::new();
    let shrunk =
        shrink(entry, scenario, keep, Budget { executions, stop: &stop }, &mut |step| steps.push(step));
    (shrunk.expect("it violates something"), steps)
}

/// The first violating scenarios that a strategy draws.
fn violating(entry: &Entry, base: &Scenario, strategy: &str, wanted: usize) -> Vec<Scenario> {
    let mut runner = entry.runner();
    let mut strategy = strategies::make(strategy, base, &[]).expect("a strategy");
    let drawn = (0..2000).map(|index| {
        let seed = run_seed(7, index);
        let scenario = strategy.next(index, &mut Rng::new(seed, Purpose::Strategy));
        Scenario { seed: Seed(seed), ..scenario }
    });
    let violates = |scenario: &Scenario| {
        let outcome = runner.execute(scenario).expect("it runs");
        // Liveness takes long runs, and a debug build its time.
        outcome.violations.first().is_some_and(|first| first.property != Property::Termination)
    };
    drawn.filter(violates).take(wanted).collect()
}

fn java() -> Entry {
    turncoat_protocols::all().into_iter().find(|entry| entry.name == "pbft-java").expect("a protocol")
}

/// Every strategy, under two schedulers, on PBFT with all its bugs and on Bracha.
fn cases() -> Vec<(Entry, Scenario)> {
    let bracha = Entry::of::<bracha::Bracha>();
    let subjects =
        [(java(), Scenario::new("pbft-java")), (bracha, bracha::scenario(&["echo-f1", "deliver-f1"]))];
    let mut cases = Vec::new();
    for (entry, base) in subjects {
        for name in [SchedulerName::Timed, SchedulerName::Async] {
            let scheduler = Arc::new(SchedulerSpec { name, ..SchedulerSpec::default() });
            let base = Scenario { scheduler, ..base.clone() };
            for strategy in ["byzzfuzz", "naive", "random"] {
                let found = violating(&entry, &base, strategy, 2);
                cases.extend(found.into_iter().map(|scenario| (entry.clone(), scenario)));
            }
        }
    }
    assert!(cases.len() >= 12, "{}", cases.len());
    cases
}

#[test]
fn the_result_shows_the_same_rule_replays_and_is_a_fixpoint() {
    for (entry, scenario) in cases() {
        let before = entry.runner().execute(&scenario).expect("it runs").violations[0].clone();
        let (shrunk, steps) = small(&entry, &scenario, Keep::Same, BUDGET);
        let text = shrunk.scenario.to_toml();
        assert_eq!(shrunk.stopped, Stopped::Fixpoint, "{text}");
        assert!(!steps.is_empty(), "{text}");

        let read = Scenario::parse(&text).expect("a scenario");
        let outcome = entry.runner().execute(&read).expect("it runs");
        let shown = outcome.violation(before.property).expect("the same property");
        assert_eq!((shown.rule, outcome.diverged), (before.rule, None), "{text}");
        assert_eq!(read.expect.as_ref().expect("what it shows").fingerprint, Seed(outcome.fingerprint));

        let (again, steps) = small(&entry, &read, Keep::Same, BUDGET);
        assert_eq!((again.scenario.to_toml(), steps), (text, vec![]));
    }
}

#[test]
fn nobody_lies_who_could_not_lie_before() {
    for (entry, scenario) in cases() {
        let (shrunk, _) = small(&entry, &scenario, Keep::Same, BUDGET);
        let liars = shrunk.scenario.adversary.byzantine;
        assert!(liars.without(scenario.adversary.byzantine) == NodeSet::EMPTY);
        let (_, recording) = entry.runner().record(&shrunk.scenario).expect("it runs");
        for event in recording.events {
            if let What::Lie { src, .. } = event.what {
                assert!(liars.contains(src.node), "{src} lies in\n{}", shrunk.scenario.to_toml());
            }
        }
    }
}

#[test]
fn the_same_scenario_shrinks_to_the_same() {
    let (entry, scenario) = cases().pop().expect("a case");
    let one = small(&entry, &scenario, Keep::Same, BUDGET);
    let two = small(&entry, &scenario, Keep::Same, BUDGET);
    assert_eq!((one.0.scenario, one.1), (two.0.scenario, two.1));
}

#[test]
fn a_used_up_budget_leaves_what_there_is() {
    let (entry, scenario) = cases().swap_remove(0);
    let (shrunk, _) = small(&entry, &scenario, Keep::Same, 3);
    assert_eq!(shrunk.stopped, Stopped::Budget);
    let outcome = entry.runner().execute(&shrunk.scenario).expect("it runs");
    assert_eq!(outcome.fingerprint, shrunk.fingerprint);
    assert!(!outcome.violations.is_empty());
}

#[test]
fn any_violation_will_do_if_asked() {
    let (entry, scenario) = cases().swap_remove(0);
    let (same, _) = small(&entry, &scenario, Keep::Same, BUDGET);
    let (any, _) = small(&entry, &scenario, Keep::Any, BUDGET);
    assert!(any.after.faults + any.after.actions <= same.after.faults + same.after.actions);
}

#[test]
fn a_scenario_that_violates_nothing_is_refused() {
    let stop = AtomicBool::new(false);
    let budget = Budget { executions: BUDGET, stop: &stop };
    let error = shrink(&java(), &Scenario::new("pbft-java"), Keep::Same, budget, &mut |_| {});
    assert!(matches!(error, Err(ShrinkError::Holds)), "{error:?}");
}
