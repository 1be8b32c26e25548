//! The engine of malachite under turncoat: it runs, what it rejects is rejected, what it gets wrong shows.
#![cfg(feature = "malachite")]

use std::sync::atomic::AtomicBool;

use turncoat_core::outcome::Property;
use turncoat_core::runner::Entry;
use turncoat_core::scenario::{Scenario, Seed};
use turncoat_lab::campaign::{Campaign, Until};
use turncoat_lab::summary::Summary;

const FORK: &str = include_str!("../findings/malachite-0.5.0-two-proposals.toml");

fn entry(name: &str) -> Entry {
    turncoat_targets::all().into_iter().find(|entry| entry.name == name).expect("an engine")
}

/// With a host that hands over the first proposal of each epoch alone.
fn guarded(base: &Scenario) -> Scenario {
    base.with("protocol.one-proposal", true.into()).expect("a key")
}

/// A campaign on a variant of the engine.
fn fuzz(
    name: &str,
    strategy: &str,
    params: &[(&str, &str)],
    runs: u64,
    change: impl Fn(Scenario) -> Scenario,
) -> Summary {
    let (entry, stop) = (entry(name), AtomicBool::new(false));
    let base = change(entry.scenario());
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

fn marks(entry: &str, summary: &Summary, mark: &str) -> u64 {
    let entry = self::entry(entry);
    summary.marks.named(entry.marks).find(|(name, _)| *name == mark).expect("a mark").1
}

#[test]
fn it_decides_one_value_after_another() {
    let summary =
        fuzz("malachite", "none", &[], 100, |base| base.with("workload.requests", 5.into()).expect("a key"));
    assert_eq!((summary.violating, summary.ends.goal), (0, 100));
    assert!(summary.commits >= 100 * 4 * 5);
}

#[test]
fn lies_are_told_and_what_is_signed_with_the_wrong_key_is_rejected() {
    let summary = fuzz("malachite", "byzzfuzz", &[("c", "2"), ("d", "1")], 1000, |base| guarded(&base));
    assert_eq!(summary.violations.keys().collect::<Vec<_>>(), [&Property::Agreement; 0]);
    assert!(summary.injected.accepted > 0 && summary.injected.accepted < summary.injected.mutated);
    assert!(marks("malachite", &summary, "bad-signature") > 0);
    assert!(marks("malachite", &summary, "next-epoch") > 0 && marks("malachite", &summary, "sync") > 0);
}

#[test]
fn two_proposals_of_one_epoch_lead_to_two_decisions() {
    let scenario = Scenario::parse(FORK).expect("a scenario");
    let outcome = entry("malachite").runner().execute(&scenario).expect("it runs");
    let violation = outcome.violation(Property::Agreement).expect("a fork");
    assert_eq!(violation.slot.map(|slot| slot.0), Some(1));
    // The same schedule, with a host that keeps the second proposal from the engine.
    assert!(entry("malachite").runner().execute(&guarded(&scenario)).expect("it runs").violations.is_empty());
}

#[test]
fn a_host_that_takes_any_signature_is_caught() {
    let any = |base: Scenario| {
        guarded(&base)
            .with("protocol.flags", vec![toml::Value::from("accept-any-signature")].into())
            .expect("a flag")
    };
    let summary = fuzz("malachite", "portfolio", &[], 3000, any);
    assert!(summary.violating > 0);
}

#[test]
fn without_relay_and_sync_a_laggard_stays_behind() {
    let summary = fuzz("malachite-bare", "byzzfuzz", &[("c", "0"), ("d", "1")], 100, |base| base);
    assert!(summary.violations.contains_key(&Property::Termination));
    assert!(!summary.violations.contains_key(&Property::Agreement));
}
