//! Shrinking: a smaller scenario that shows the same violation.
//!
//! A scenario is data, so a smaller one is made by leaving something out; whether it still shows the violation is
//! decided by running it. The passes propose, `rank` says what counts as smaller, and `Shrinker::attempt` alone
//! accepts. Proposals depend on the present scenario and on nothing else, and the passes go on until a whole round of
//! them changes nothing: so the result is a fixpoint, and shrinking it again changes nothing.
//!
//! No pass adds a Byzantine node, and the simulation refuses lies of honest ones: what a real adversary could play
//! before, a real adversary can play after. `model` says what else a smaller scenario has to keep.

use std::sync::atomic::AtomicBool;

use turncoat_core::outcome::{Property, Violation};
use turncoat_core::runner::Entry;
use turncoat_core::scenario::{Scenario, ScenarioError};

mod copies;
mod explicit;
mod faults;
mod few;
mod keys;
mod late;
mod model;
mod order;
mod rank;
mod shrinker;

use shrinker::Shrinker;

/// What has to stay violated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Keep {
    /// The same rule of the same property: the property that the scenario expects, or the first that it violates.
    #[default]
    Same,
    /// Some rule of some property.
    Any,
}

/// When to give up.
#[derive(Clone, Copy, Debug)]
pub struct Budget<'a> {
    /// After so many executions. One of more than [`LONG`] events counts as several.
    pub executions: u64,
    /// As soon as somebody sets it.
    pub stop: &'a AtomicBool,
}

/// Executions that are enough in practice, and over in seconds.
pub const EXECUTIONS: u64 = 60_000;

/// Events that an execution has before it counts as two.
pub const LONG: u64 = 500;

/// How large a scenario is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Size {
    /// Events up to the violation.
    pub events: u64,
    /// Faults.
    pub faults: usize,
    /// Lines of the script.
    pub actions: usize,
    /// Requests.
    pub requests: u32,
    /// Lines of its file, without comments, `[expect]` and empty ones.
    pub lines: usize,
}

impl Size {
    /// That of a scenario with what it violates.
    pub fn of(scenario: &Scenario, violation: &Violation) -> Self {
        Self {
            events: violation.step,
            faults: scenario.adversary.faults.len(),
            actions: scenario.scheduler.script.len(),
            requests: scenario.workload.requests,
            lines: rank::lines(scenario),
        }
    }
}

/// A reduction that was accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// What it cut.
    pub words: String,
    /// How many executions it took to get there.
    pub executions: u64,
}

/// Why shrinking stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stopped {
    /// Nothing more can be cut.
    Fixpoint,
    /// The budget is used up.
    Budget,
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The smallest scenario found, with what it shows in `expect`.
    pub scenario: Scenario,
    /// What it violates.
    pub violation: Violation,
    /// The fingerprint of its run.
    pub fingerprint: u64,
    /// How large the given scenario was.
    pub before: Size,
    /// How large it is now.
    pub after: Size,
    /// Executions, long ones counted several times.
    pub executions: u64,
    /// The reductions that were accepted, in order.
    pub steps: Vec<Step>,
    /// Why it stopped.
    pub stopped: Stopped,
}

/// A scenario that cannot be shrunk.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ShrinkError {
    /// It cannot run.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// Nothing is violated.
    #[error("it violates no property, so there is nothing to keep: give a scenario that does")]
    Holds,
    /// Something is violated, but not what the scenario expects.
    #[error("it violates {found} and no longer {expected}: `--keep any` accepts that")]
    Other {
        /// What it expects.
        expected: String,
        /// What it violates.
        found: Property,
    },
}

/// Makes a scenario smaller as long as it shows the violation. The keys of the scenario that are named in `settings`, by their
/// paths (`cluster.n`), stay as they are.
///
/// # Errors
/// If the scenario cannot run, or violates nothing that is to be kept.
pub fn shrink(
    entry: &Entry,
    scenario: &Scenario,
    keep: Keep,
    settings: &[String],
    budget: Budget<'_>,
) -> Result<Shrunk, ShrinkError> {
    let mut shrinker = Shrinker::new(entry, scenario, keep, settings, budget)?;
    let before = shrinker.size();
    while shrinker.round() {}
    shrinker.finish(before)
}

/// Whether a scenario is smaller than another, whatever they are expected to show.
pub fn smaller(scenario: &Scenario, than: &Scenario) -> bool {
    let bare = |scenario: &Scenario| Scenario { expect: None, tests: Vec::new(), ..scenario.clone() };
    let (scenario, than) = (bare(scenario), bare(than));
    rank::Rank::of(&scenario).below(&scenario, &rank::Rank::of(&than), &than)
}
