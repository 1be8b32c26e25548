//! The engine of hbbft under turncoat: it runs, what it rejects is rejected, what it gets wrong shows.
#![cfg(feature = "hbbft")]

use std::sync::atomic::AtomicBool;

use turncoat_core::outcome::Property;
use turncoat_core::runner::Entry;
use turncoat_core::scenario::{Scenario, Seed};
use turncoat_lab::campaign::{Campaign, Until};
use turncoat_lab::summary::Summary;

const NO_CIPHERTEXT: &str = include_str!("../findings/hbbft-0.1.1-no-ciphertext.toml");
const SILENT: &str = include_str!("../findings/hbbft-0.1.1-decided-and-silent.toml");

fn entry(name: &str) -> Entry {
    turncoat_targets::all().into_iter().find(|entry| entry.name == name).expect("an engine")
}

/// A campaign on a variant of the engine, with some keys of the scenario set.
fn fuzz(
    name: &str,
    strategy: &str,
    params: &[(&str, &str)],
    runs: u64,
    keys: &[(&str, toml::Value)],
) -> Summary {
    let (entry, stop) = (entry(name), AtomicBool::new(false));
    let base = keys
        .iter()
        .fold(entry.scenario(), |base, (key, value)| base.with(key, value.clone()).expect("a key"));
    let params: Vec<_> = params.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    let campaign = Campaign {
        entry: &entry,
        base: &base,
        make: &|base| Ok(turncoat_strategies::make(strategy, base, &params)?),
        seed: Seed(7),
        runs: Some(runs),
        jobs: 2,
        until: Until::Never,
        stop: &stop,
        suspects: None,
    };
    campaign.run(&mut |_| {}).expect("a campaign")
}

fn flag(name: &str) -> (&'static str, toml::Value) {
    ("protocol.flags", vec![toml::Value::from(name)].into())
}

fn marks(summary: &Summary, mark: &str) -> u64 {
    summary.marks.named(entry("hbbft").marks).find(|(name, _)| *name == mark).expect("a mark").1
}

#[test]
fn it_decides_one_batch_after_another() {
    for name in ["hbbft", "hbbft-plain"] {
        let keys = [("workload.requests", 5.into()), ("protocol.judge-reports", true.into())];
        let summary = fuzz(name, "none", &[], 50, &keys);
        assert_eq!((summary.violating, summary.ends.goal), (0, 50));
        assert!(summary.commits >= 50 * 4 * 5);
    }
}

#[test]
fn a_run_is_a_function_of_its_scenario() {
    let fingerprint = || fuzz("hbbft", "two-faced", &[], 20, &[]).fingerprint;
    assert_eq!(fingerprint(), fingerprint());
}

#[test]
fn lies_are_told_and_reported_and_nobody_else_is() {
    let keys = [("protocol.judge-reports", true.into())];
    let summary = fuzz("hbbft-plain", "byzzfuzz", &[("c", "3"), ("d", "1")], 400, &keys);
    assert_eq!(summary.violations.keys().collect::<Vec<_>>(), [&Property::Agreement; 0]);
    assert!(summary.injected.accepted > 0 && summary.injected.accepted < summary.injected.mutated);
    assert!(marks(&summary, "fault-proof") > 0 && marks(&summary, "wrong-sender") > 0);
    // Who is reported is heard no more, and the others do without it.
    let keys = [("protocol.block", true.into())];
    let summary = fuzz("hbbft-plain", "byzzfuzz", &[("c", "3"), ("d", "1")], 400, &keys);
    assert_eq!((summary.violating, summary.ends.goal), (0, 400));
    assert!(marks(&summary, "blocked") > 0);
}

#[test]
fn a_contribution_that_is_no_ciphertext_stops_all() {
    let scenario = Scenario::parse(NO_CIPHERTEXT).expect("a scenario");
    let outcome = entry("hbbft").runner().execute(&scenario).expect("it runs");
    assert!(outcome.violation(Property::Termination).is_some());
    // Where it is not to be one, it is left out.
    let plain = scenario.with("protocol.encryption", "never".into()).expect("a key");
    assert!(entry("hbbft").runner().execute(&plain).expect("it runs").violations.is_empty());
}

#[test]
fn who_has_decided_says_no_more_and_others_wait_for_it() {
    let scenario = Scenario::parse(SILENT).expect("a scenario");
    let outcome = entry("hbbft").runner().execute(&scenario).expect("it runs");
    assert!(outcome.violation(Property::Termination).is_some());
}

#[test]
fn what_a_host_gets_wrong_is_caught() {
    let params = [("c", "3"), ("d", "1"), ("r", "11")];
    for name in ["accept-any-sender", "validator-left-out"] {
        let summary = fuzz("hbbft-plain", "byzzfuzz", &params, 400, &[flag(name)]);
        assert!(summary.violating > 0, "{name}");
    }
    let forged = [("c", "1"), ("d", "0"), ("r", "2"), ("only", "value.contribution=forged")];
    let any = fuzz("hbbft-plain", "byzzfuzz", &forged, 100, &[flag("accept-any-signature")]);
    assert!(any.violations.contains_key(&Property::Validity));
    assert_eq!(fuzz("hbbft-plain", "byzzfuzz", &forged, 100, &[]).violating, 0);
    let control = fuzz("hbbft-plain", "byzzfuzz", &params, 400, &[]);
    assert_eq!((control.violating, control.ends.goal), (0, 400));
}
