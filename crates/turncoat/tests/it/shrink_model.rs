//! Shrinking never leaves the model: what is shrunk is a counterexample in the same world, to the same mistake.
//!
//! Over the witnesses of the suite, and over what campaigns find in its protocols. `TURNCOAT_TENTHS` says in how many of ten rows
//! campaigns look, and how long: 1 by default, 10 in `checks/shrink.sh`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use turncoat::core::outcome::Outcome;
use turncoat::core::runner::Entry;
use turncoat::core::scenario::ProtocolSpec;
use turncoat::core::sim::Moment;
use turncoat::lab::campaign::draw;
use turncoat::lab::shrink::{Budget, Keep, shrink};
use turncoat::{Property, Scenario, Seed, strategies};

use crate::explain::{entry, suite};

/// Short runs that a case may take to be shrunk: far from the end, where most can go wrong.
const EXECUTIONS: u64 = 300;

/// Runs of a campaign, ten times as many at full size, and how many of those that violate something are shrunk.
const RUNS: u64 = 60;
const FINDS: usize = 5;

/// The flags of a scenario, those of its preset included.
fn flags(entry: &Entry, scenario: &Scenario) -> Vec<String> {
    let own = scenario.protocol.config.get("flags").cloned();
    own.map_or_else(|| entry.preset_flags(), |flags| flags.try_into().expect("names"))
}

/// What comes of a scenario with these flags alone.
fn with_flags(entry: &Entry, scenario: &Scenario, flags: &[String]) -> Option<Outcome> {
    let mut config = scenario.protocol.config.clone();
    config
        .insert("flags".to_owned(), flags.iter().cloned().map(toml::Value::from).collect::<Vec<_>>().into());
    let protocol = Arc::new(ProtocolSpec { name: scenario.protocol.name.clone(), config });
    entry.runner().execute(&Scenario { protocol, ..scenario.clone() }).ok()
}

fn violates(outcome: Option<Outcome>, property: Property) -> bool {
    outcome.is_some_and(|outcome| outcome.violation(property).is_some())
}

/// Shrinks a scenario a little, and compares.
fn stays_in_its_world(what: &str, entry: &Entry, scenario: &Scenario) {
    let stop = AtomicBool::new(false);
    let budget = Budget { executions: EXECUTIONS, stop: &stop };
    let Ok(shrunk) = shrink(entry, scenario, Keep::Same, &[], budget) else {
        panic!("{what} violates nothing")
    };
    let (small, property) = (&shrunk.scenario, shrunk.violation.property);
    let why = format!("{what}\n{}", small.to_toml());
    // Up to the violation: what happens after it does not matter.
    let run = |scenario| {
        let mut shown =
            |moment: &dyn Moment| moment.violations().iter().any(|found| found.property == property);
        entry.runner().watch(scenario, &mut shown).expect("it runs")
    };
    let [before, after] = [scenario, small].map(run);
    let first = |outcome: &Outcome| outcome.violation(property).expect("it is violated").inside();
    assert_eq!(first(&before), first(&after), "{why}");
    assert!(after.injected.lost <= before.injected.lost, "more is lost: {why}");
    for breach in &after.breaches {
        assert!(before.breaches.iter().any(|known| known.assumption == breach.assumption), "{breach}: {why}");
    }
    assert!(small.workload.requests >= scenario.workload.requests.min(1), "{why}");
    assert_eq!(small.network.loss, scenario.network.loss, "{why}");
    assert_eq!(small.cluster.trust, scenario.cluster.trust, "{why}");
    assert!(small.adversary.byzantine.is_subset(scenario.adversary.byzantine), "{why}");
    // Whatever is wrong without a flag that the found one needs is another mistake.
    let flags = flags(entry, scenario);
    let fewer = (0..flags.len()).map(|leave| {
        let others = flags.iter().enumerate().filter(|(i, _)| *i != leave);
        others.map(|(_, flag)| flag.clone()).collect::<Vec<_>>()
    });
    for some in fewer.chain([Vec::new()]) {
        if some != flags && !violates(with_flags(entry, scenario, &some), property) {
            assert!(!violates(with_flags(entry, small, &some), property), "with {some:?} too: {why}");
        }
    }
}

#[test]
fn witnesses_of_the_suite() {
    for bug in suite() {
        let witness = Scenario { bug: None, expect: None, ..bug.witness.clone() };
        // Of several properties, the one that the row is about.
        let expect = turncoat::core::scenario::Expect {
            property: Some(bug.facts.property.name().to_owned()),
            fingerprint: Seed(0),
            lasso: None,
        };
        let witness = Scenario { expect: Some(expect), ..witness };
        stays_in_its_world(&bug.id, &entry(&witness.protocol.name), &witness);
    }
}

#[test]
fn what_campaigns_find() {
    #[expect(clippy::disallowed_methods, reason = "a test may be told how far to go")]
    let tenths: usize = std::env::var("TURNCOAT_TENTHS").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let (mut finds, mut protocols) = (0, BTreeSet::new());
    for (_, bug) in suite().into_iter().enumerate().filter(|(i, _)| i % 10 < tenths) {
        let base = bug.base().expect("a base");
        let entry = entry(&base.protocol.name);
        let mut strategy =
            strategies::make("portfolio", &base, &[], &(entry.mutations)()).expect("a strategy");
        let mut runner = entry.runner();
        let violating = (0..RUNS * tenths as u64).filter_map(|index| {
            let scenario = draw(&mut *strategy, Seed(0x5eed), index);
            let outcome = runner.execute(&scenario).expect("it runs");
            (!outcome.violations.is_empty()).then_some((index, scenario))
        });
        for (index, scenario) in violating.take(FINDS + tenths - 1) {
            stays_in_its_world(&format!("{}, run {index}", bug.id), &entry, &scenario);
            (finds, protocols) = (finds + 1, &protocols | &BTreeSet::from([entry.name]));
        }
    }
    eprintln!("{finds} finds of {} protocols", protocols.len());
    assert!(finds >= 15 && (tenths < 10 || finds >= 500 && protocols.len() >= 8), "{finds} of {protocols:?}");
}
