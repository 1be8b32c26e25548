//! Engines under turncoat: they run, what they reject is rejected, what they get wrong shows.
#![cfg(all(feature = "hbbft", feature = "malachite"))]

mod hbbft;
mod malachite;

use std::sync::atomic::AtomicBool;

use turncoat_core::runner::Entry;
use turncoat_core::scenario::{Scenario, Seed};
use turncoat_lab::campaign::{Campaign, Until};
use turncoat_lab::summary::Summary;

/// An engine, or a model.
fn entry(name: &str) -> Entry {
    let mut all = turncoat_targets::all().into_iter().chain(turncoat_protocols::all());
    all.find(|entry| entry.name == name).expect("a protocol")
}

fn set(base: &Scenario, path: &str, value: impl Into<toml::Value>) -> Scenario {
    base.with(path, value.into()).expect("a key")
}

/// A host with this mistake.
fn broken(base: &Scenario, flag: &str) -> Scenario {
    set(base, "protocol.flags", vec![toml::Value::from(flag)])
}

/// A campaign on an engine.
fn fuzz(
    name: &str,
    strategy: &str,
    params: &[(&str, &str)],
    runs: u64,
    change: impl Fn(Scenario) -> Scenario,
) -> Summary {
    campaign(name, strategy, params, runs, Until::Never, change)
}

/// A campaign on an engine that ends with the first violation, and whether there is one.
fn found(
    name: &str,
    strategy: &str,
    params: &[(&str, &str)],
    runs: u64,
    change: impl Fn(Scenario) -> Scenario,
) -> bool {
    campaign(name, strategy, params, runs, Until::First, change).violating > 0
}

fn campaign(
    name: &str,
    strategy: &str,
    params: &[(&str, &str)],
    runs: u64,
    until: Until<'_>,
    change: impl Fn(Scenario) -> Scenario,
) -> Summary {
    let (entry, stop) = (entry(name), AtomicBool::new(false));
    let base = change(entry.scenario());
    let params: Vec<_> = params.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    let campaign = Campaign {
        entry: &entry,
        base: &base,
        make: &|base| Ok(turncoat_strategies::make(strategy, base, &params, &(entry.mutations)())?),
        seed: Seed(7),
        runs: Some(runs),
        jobs: 2,
        until,
        stop: &stop,
        suspects: None,
    };
    campaign.run(&mut |_| {}).expect("a campaign")
}

/// In how many runs the engine has done this.
fn marks(name: &str, summary: &Summary, mark: &str) -> u64 {
    summary.marks.named(entry(name).marks).find(|(name, _)| *name == mark).expect("a mark").1
}
