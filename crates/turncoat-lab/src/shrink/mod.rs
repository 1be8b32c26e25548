//! Shrinking: a smaller scenario that shows the same violation.
//!
//! A scenario is data, so a smaller one is made by leaving something out; whether it still shows the violation is
//! decided by running it. The passes propose, `rank` says what counts as smaller, and `Shrinker::attempt` alone
//! accepts. Proposals depend on the present scenario and on nothing else, and the passes go on until a whole round of
//! them changes nothing: so the result is a fixpoint, and shrinking it again changes nothing.
//!
//! No pass adds a Byzantine node, and the simulation refuses lies of honest ones: what a real adversary could play
//! before, a real adversary can play after.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use turncoat_core::outcome::{Outcome, Property, Violation};
use turncoat_core::runner::{Entry, Runner};
use turncoat_core::scenario::{Expect, Scenario, ScenarioError, Seed};

mod explicit;
mod faults;
mod few;
mod keys;
mod order;
mod rank;

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
    #[error("it violates {found}, and no longer {expected}: `--keep any` is content with that")]
    Other {
        /// What it expects.
        expected: String,
        /// What it violates.
        found: Property,
    },
}

/// Makes a scenario smaller as long as it shows the violation. Each accepted reduction is told to `watch`.
///
/// # Errors
/// If the scenario cannot run, or violates nothing that is to be kept.
pub fn shrink(
    entry: &Entry,
    scenario: &Scenario,
    keep: Keep,
    budget: Budget<'_>,
    watch: &mut dyn FnMut(Step),
) -> Result<Shrunk, ShrinkError> {
    let mut runner = entry.runner();
    let outcome = runner.execute(scenario)?;
    let target = Target::of(scenario, &outcome, keep)?;
    let violation = target.find(&outcome).ok_or(ShrinkError::Holds)?.clone();
    let before = Size::of(scenario, &violation);
    let best = Scenario { expect: None, bug: None, ..scenario.clone() };
    let rank = rank::Rank::of(&best);
    let mut shrinker =
        Shrinker { entry, runner, target, best, rank, violation, budget, executions: 1, accepted: 0, watch };
    loop {
        let accepted = shrinker.accepted;
        shrinker.round();
        if shrinker.accepted == accepted || shrinker.over() {
            break;
        }
    }
    let stopped = if shrinker.over() { Stopped::Budget } else { Stopped::Fixpoint };
    shrinker.finish(before, stopped)
}

/// Whether a scenario is smaller than another, whatever they are expected to show.
pub fn smaller(scenario: &Scenario, than: &Scenario) -> bool {
    let bare = |scenario: &Scenario| Scenario { expect: None, tests: Vec::new(), ..scenario.clone() };
    let (scenario, than) = (bare(scenario), bare(than));
    rank::Rank::of(&scenario).below(&scenario, &rank::Rank::of(&than), &than)
}

/// What a candidate must show.
#[derive(Clone, Copy)]
enum Target {
    Rule(Property, &'static str),
    Any,
}

impl Target {
    fn of(scenario: &Scenario, outcome: &Outcome, keep: Keep) -> Result<Self, ShrinkError> {
        let first = outcome.violations.first().ok_or(ShrinkError::Holds)?;
        if keep == Keep::Any {
            return Ok(Self::Any);
        }
        let expected = scenario.expect.as_ref().and_then(|expect| expect.property.as_ref());
        let violation = match expected {
            None => first,
            Some(name) => outcome
                .violations
                .iter()
                .find(|violation| violation.property.name() == name)
                .ok_or_else(|| ShrinkError::Other { expected: name.clone(), found: first.property })?,
        };
        Ok(Self::Rule(violation.property, violation.rule))
    }

    /// Whether a run has shown what it shows.
    fn ends(self, violation: &Violation) -> bool {
        match self {
            Self::Rule(property, _) => violation.property == property,
            Self::Any => true,
        }
    }

    /// The violation, which has to be the first of its property: a file names the property alone.
    fn find(self, outcome: &Outcome) -> Option<&Violation> {
        let first = outcome.violations.iter().find(|violation| self.ends(violation))?;
        match self {
            Self::Rule(_, rule) => (first.rule == rule).then_some(first),
            Self::Any => Some(first),
        }
    }
}

/// The most parts into which a list is cut.
const PARTS: usize = 300;

/// The smallest scenario so far, and what it takes to find a smaller one.
struct Shrinker<'a> {
    entry: &'a Entry,
    runner: Box<dyn Runner>,
    target: Target,
    best: Scenario,
    rank: rank::Rank,
    violation: Violation,
    budget: Budget<'a>,
    executions: u64,
    accepted: u64,
    watch: &'a mut dyn FnMut(Step),
}

impl Shrinker<'_> {
    /// All passes once. Big cuts come first: what they leave is quick to run.
    fn round(&mut self) {
        self.drop_faults();
        self.fewer_requests();
        self.plain_scheduler();
        self.few_faults();
        self.script_choices();
        self.make_explicit();
        self.drop_faults();
        self.shorten_script();
        self.fewer_requests();
        self.fewer_nodes();
        self.narrow_faults();
        self.drop_keys();
        self.smaller_seed();
    }

    fn over(&self) -> bool {
        self.executions >= self.budget.executions || self.budget.stop.load(Relaxed)
    }

    /// Runs a scenario up to the violation.
    fn run(&mut self, scenario: &Scenario) -> Option<(Violation, Outcome)> {
        self.executions += 1;
        let target = self.target;
        let outcome = self.runner.execute_until(scenario, &|violation| target.ends(violation)).ok()?;
        self.executions += outcome.steps / LONG;
        Some((target.find(&outcome)?.clone(), outcome))
    }

    /// Takes a candidate if it is smaller and shows the violation.
    fn attempt(&mut self, candidate: Scenario, words: impl FnOnce() -> String) -> bool {
        let rank = rank::Rank::of(&candidate);
        if self.over() || !rank.below(&candidate, &self.rank, &self.best) {
            return false;
        }
        let Some((violation, outcome)) = self.run(&candidate) else { return false };
        if outcome.diverged.is_some() {
            // Left out with it: lines of the script that cannot be carried out without what was cut.
            return match self.carried_out(&candidate) {
                Some(possible) => self.attempt(possible, words),
                None => false,
            };
        }
        (self.best, self.rank, self.violation) = (candidate, rank, violation);
        self.accepted += 1;
        (self.watch)(Step { words: words(), executions: self.executions });
        true
    }

    /// Tries to do without each part of a list: halves first, then smaller and smaller parts. A list that stays long is
    /// cut no finer than into [`PARTS`]: single steps of a long script would take their square.
    fn cut_list(
        &mut self,
        len: fn(&Scenario) -> usize,
        cut: fn(&mut Scenario, std::ops::Range<usize>),
        name: &str,
    ) {
        let mut size = len(&self.best);
        while size > len(&self.best) / PARTS {
            let mut end = len(&self.best);
            while end > 0 {
                let start = end.saturating_sub(size);
                let mut candidate = self.best.clone();
                cut(&mut candidate, start..end);
                let before = len(&self.best);
                self.attempt(candidate, || format!("without {} of {before} {name}", end - start));
                // Repairs may have cut more than was asked for.
                end = start.min(len(&self.best));
            }
            size /= 2;
        }
    }

    /// Runs the result to its end, and says what it is.
    fn finish(mut self, before: Size, stopped: Stopped) -> Result<Shrunk, ShrinkError> {
        let mut outcome = self.runner.execute(&self.best)?;
        // What a script says after the violation may be impossible, and does not matter.
        while let Some(impossible) = outcome.diverged {
            let script = &mut std::sync::Arc::make_mut(&mut self.best.scheduler).script;
            script.truncate(impossible as usize);
            outcome = self.runner.execute(&self.best)?;
        }
        let violation = self.target.find(&outcome).ok_or(ShrinkError::Holds)?.clone();
        let (property, fingerprint) = (Some(violation.property.name().to_owned()), outcome.fingerprint);
        let after = Size::of(&self.best, &violation);
        let expect = Some(Expect { property, fingerprint: Seed(fingerprint) });
        let scenario = Scenario { expect, ..self.best };
        Ok(Shrunk { scenario, violation, fingerprint, before, after, executions: self.executions, stopped })
    }
}
