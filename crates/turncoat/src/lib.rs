//! turncoat finds Byzantine bugs in consensus protocols by deterministic simulation.
//!
//! This crate is the author's door: what one needs to write a protocol and to test it, under one name. The
//! example `bracha` is a whole protocol with its fuzzer, in a hundred lines; start there.
//!
//! | you write | with |
//! |---|---|
//! | messages | [`Message`], [`Part`], [`Signed`], [`Cert`] |
//! | replicas | [`Protocol`], [`Node`], [`Context`], [`Votes`], [`Ballots`]; with leaders [`ViewVotes`], [`Patience`] |
//! | a replicated service | [`Clients`], [`History`], [`Checkpoints`], [`Window`] |
//! | clients | [`QuorumClient`], [`Service`], or [`NoClient`] |
//! | tests | [`Scenario`], [`Story`], [`execute`], [`fuzz`] |
//! | the command with your protocol in it | `registry!`, with the feature `cli` |
#![forbid(unsafe_code)]

use std::sync::atomic::AtomicBool;
use std::thread::available_parallelism;

use turncoat_lab::campaign::{Campaign, CampaignError, Until};
use turncoat_lab::summary::Summary;

pub use turncoat_core as core;
pub use turncoat_lab as lab;
pub use turncoat_strategies as strategies;

#[cfg(feature = "cli")]
pub use turncoat_cli::registry;

pub use turncoat_core::message::MutationTable;
pub use turncoat_core::outcome::{End, Outcome, Property, Violation};
pub use turncoat_core::prelude::*;
pub use turncoat_core::runner::{Runner, execute};
pub use turncoat_core::scenario::{Scenario, Seed};
pub use turncoat_core::sim::Sim;
pub use turncoat_core::story::Story;

/// Fuzzes protocol `P` until the first violation: `runs` runs at the most, on all cores, scenarios by `strategy`.
///
/// The summary is the same whatever the number of cores. `params` are the strategy's, by name.
///
/// # Errors
/// If the base scenario cannot run, or the strategy does not know itself or a parameter.
pub fn fuzz<P: Protocol>(
    base: &Scenario,
    strategy: &str,
    params: &[(&str, &str)],
    runs: u64,
) -> Result<Summary, CampaignError> {
    let params: Vec<(String, String)> =
        params.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    let campaign = Campaign {
        entry: &Entry::of::<P>(),
        base,
        make: &|base| Ok(strategies::make(strategy, base, &params)?),
        seed: base.seed,
        runs: Some(runs),
        jobs: available_parallelism().map_or(1, std::num::NonZero::get),
        until: Until::First,
        stop: &AtomicBool::new(false),
        suspects: None,
    };
    campaign.run(&mut |_| {})
}
