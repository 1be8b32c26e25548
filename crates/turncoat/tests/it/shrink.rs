//! Counterexamples made small, whatever strategy and scheduler they come from: they show the same, replay, and cannot be
//! made smaller; and nobody lies in them who could not lie before.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use turncoat::core::record::What;
use turncoat::core::rng::{Purpose, Rng, run_seed};
use turncoat::core::runner::Entry;
use turncoat::core::scenario::{SchedulerName, SchedulerSpec};
use turncoat::lab::shrink::{self, Budget, EXECUTIONS, Keep, ShrinkError, Shrunk, Stopped, shrink};
use turncoat::{NodeSet, Property, Scenario, Seed, strategies};

use crate::bracha;

fn small(entry: &Entry, scenario: &Scenario, keep: Keep, executions: u64) -> Shrunk {
    let stop = AtomicBool::new(false);
    let shrunk = shrink(entry, scenario, keep, &[], Budget { executions, stop: &stop });
    shrunk.expect("it violates something")
}

/// The first violating scenarios that a strategy draws.
fn violating(entry: &Entry, base: &Scenario, strategy: &str, wanted: usize) -> Vec<Scenario> {
    let mut runner = entry.runner();
    let mut strategy = strategies::make(strategy, base, &[], &(entry.mutations)()).expect("a strategy");
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
        let shrunk = small(&entry, &scenario, Keep::Same, EXECUTIONS);
        let text = shrunk.scenario.to_toml();
        assert_eq!(shrunk.stopped, Stopped::Fixpoint, "{text}");
        assert!(!shrunk.steps.is_empty(), "{text}");

        let read = Scenario::parse(&text).expect("a scenario");
        let outcome = entry.runner().execute(&read).expect("it runs");
        let shown = outcome.violation(before.property).expect("the same property");
        assert_eq!((shown.rule, outcome.diverged), (before.rule, None), "{text}");
        assert_eq!(read.expect.as_ref().expect("what it shows").fingerprint, Seed(outcome.fingerprint));

        let again = small(&entry, &read, Keep::Same, EXECUTIONS);
        assert_eq!((again.scenario.to_toml(), again.steps), (text, vec![]));
    }
}

#[test]
fn nobody_lies_who_could_not_lie_before() {
    for (entry, scenario) in cases() {
        let shrunk = small(&entry, &scenario, Keep::Same, EXECUTIONS);
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
    let one = small(&entry, &scenario, Keep::Same, EXECUTIONS);
    let two = small(&entry, &scenario, Keep::Same, EXECUTIONS);
    assert_eq!((one.scenario, one.steps), (two.scenario, two.steps));
}

fn pbft(flag: &str, rest: &str) -> (Entry, Scenario) {
    let entry = turncoat_protocols::all().into_iter().find(|entry| entry.name == "pbft").expect("a protocol");
    let head = format!("schema = 1\nprotocol = {{ name = \"pbft\", flags = [\"{flag}\"] }}\n");
    (entry, Scenario::parse(&format!("{head}{rest}")).expect("a scenario"))
}

/// A client that asks twice, before the primary has heard of it; the primary lies when it proposes the second time.
#[test]
fn a_script_becomes_a_few_faults() {
    let (entry, scenario) = pbft(
        "slot-ignores-digest",
        r#"
        adversary.byzantine = ["p0"]
        [scheduler]
        name = "script"
        script = [
            "fire c0",
            "deliver c0>p2 request #1",
            "deliver p2>p0 request #1",
            "deliver c0>p0 request #2",
            "mutate p0>p2 pre-prepare #2 pre-prepare.seq+1",
        ]"#,
    );
    let shrunk = small(&entry, &scenario, Keep::Same, EXECUTIONS);
    let text = shrunk.scenario.to_toml();
    assert_eq!(shrunk.scenario.scheduler.name, SchedulerName::Timed, "{text}");
    assert!(shrunk.after.faults <= 3, "{text}");
}

/// Most candidates of a liveness violation are found to be live long before the limit on steps.
#[test]
fn a_run_that_does_not_end_is_not_run_to_its_limit_each_time() {
    let scheduler = "scheduler = { name = \"async\", drop = 25 }\nseed = 1\n";
    let (entry, scenario) = pbft("no-buffer-no-rtx", scheduler);
    let shrunk = small(&entry, &scenario, Keep::Same, EXECUTIONS);
    assert_eq!(shrunk.violation.property, Property::Termination);
    let limit = shrunk.after.events / shrink::LONG;
    assert!(shrunk.executions < 100 * limit, "{} executions", shrunk.executions);
    assert_eq!((shrunk.after.faults, shrunk.after.requests), (1, 1), "{}", shrunk.scenario.to_toml());
}

#[test]
fn a_used_up_budget_leaves_what_there_is() {
    let (entry, scenario) = cases().swap_remove(0);
    let shrunk = small(&entry, &scenario, Keep::Same, 3);
    assert_eq!(shrunk.stopped, Stopped::Budget);
    let outcome = entry.runner().execute(&shrunk.scenario).expect("it runs");
    assert_eq!(outcome.fingerprint, shrunk.fingerprint);
    assert!(!outcome.violations.is_empty());
}

#[test]
fn any_violation_will_do_if_asked() {
    let (entry, scenario) = cases().swap_remove(0);
    let same = small(&entry, &scenario, Keep::Same, EXECUTIONS);
    let any = small(&entry, &scenario, Keep::Any, EXECUTIONS);
    assert!(any.after.faults + any.after.actions <= same.after.faults + same.after.actions);
}

#[test]
fn a_scenario_that_violates_nothing_is_refused() {
    let stop = AtomicBool::new(false);
    let budget = Budget { executions: EXECUTIONS, stop: &stop };
    let error = shrink(&java(), &Scenario::new("pbft-java"), Keep::Same, &[], budget);
    assert!(matches!(error, Err(ShrinkError::Holds)), "{error:?}");
}
