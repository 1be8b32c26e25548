//! The smallest scenario so far, and what it takes to find a smaller one.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use turncoat_core::outcome::{Outcome, Property, Violation};
use turncoat_core::record::Recording;
use turncoat_core::runner::{Entry, Runner};
use turncoat_core::scenario::{Expect, ProtocolSpec, Scenario, Seed};
use turncoat_core::sim::Moment;

use super::model::Model;
use super::rank::{self, Rank};
use super::{Budget, Keep, LONG, ShrinkError, Shrunk, Size, Step, Stopped};

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

    /// Whether a run has shown it by now.
    fn is_shown(self, moment: &dyn Moment) -> bool {
        moment.violations().iter().any(|found| self.ends(found))
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

/// The lowest limit on steps with which it is tried whether requests complete.
const LIMIT: u64 = 2000;

/// Faults that are easier to read than a script.
const FEW: usize = 8;

/// The most parts into which a list is cut.
const PARTS: usize = 300;

pub(super) struct Shrinker<'a> {
    pub(super) entry: &'a Entry,
    pub(super) runner: Box<dyn Runner>,
    target: Target,
    pub(super) model: Model,
    given: Scenario,
    pub(super) best: Scenario,
    pub(super) rank: Rank,
    pub(super) violation: Violation,
    /// A limit on steps that is low, and not so low that the present scenario does not show the violation.
    limit: Option<u64>,
    budget: Budget<'a>,
    pub(super) executions: u64,
    steps: Vec<Step>,
}

impl<'a> Shrinker<'a> {
    pub(super) fn new(
        entry: &'a Entry,
        scenario: &Scenario,
        keep: Keep,
        settings: &[String],
        budget: Budget<'a>,
    ) -> Result<Self, ShrinkError> {
        let mut runner = entry.runner();
        let target = Target::of(scenario, &runner.execute(scenario)?, keep)?;
        let outcome = runner.watch(scenario, &mut |moment| target.is_shown(moment))?;
        let violation = target.find(&outcome).ok_or(ShrinkError::Holds)?.clone();
        let best = Scenario { expect: None, bug: None, ..scenario.clone() };
        let model = Model::new(entry, &best, settings, &outcome, &violation);
        let (rank, given) = (Rank::of(&best), best.clone());
        let (executions, steps) = (2, Vec::new());
        let mut shrinker = Self {
            entry,
            runner,
            target,
            model,
            given,
            best,
            rank,
            violation,
            limit: None,
            budget,
            executions,
            steps,
        };
        let mut fixed = shrinker.model.without_each_flag(entry);
        fixed.retain(|protocol| !shrinker.shows(&shrinker.best.clone(), protocol));
        shrinker.model.fixed = fixed;
        Ok(shrinker)
    }

    /// Whether a scenario shows what it shows with another protocol, too.
    fn shows(&mut self, scenario: &Scenario, protocol: &Arc<ProtocolSpec>) -> bool {
        self.executions += 1;
        let scenario = Scenario { protocol: Arc::clone(protocol), ..scenario.clone() };
        let target = self.target;
        let outcome = self.runner.watch(&scenario, &mut |moment| target.is_shown(moment));
        // What cannot run shows nothing.
        outcome.is_ok_and(|outcome| {
            self.executions += outcome.steps / LONG;
            target.find(&outcome).is_some()
        })
    }

    /// Whether a scenario that shows the violation shows it for the same reasons.
    fn same_mistake(&mut self, scenario: &Scenario) -> bool {
        let fixed = self.model.fixed.clone();
        fixed.iter().all(|protocol| !self.shows(scenario, protocol))
    }

    /// All passes once; false if nothing came of it, or if the budget is used up. Big cuts come first: what they leave
    /// is quick to run.
    pub(super) fn round(&mut self) -> bool {
        let accepted = self.steps.len();
        self.lower_limit();
        for pass in [
            Self::drop_faults,
            Self::fewer_requests,
            Self::plain_scheduler,
            Self::few_faults,
            Self::late_messages,
            Self::script_choices,
            Self::make_explicit,
            Self::drop_faults,
            Self::shorten_script,
            Self::fewer_requests,
            Self::fewer_nodes,
            Self::narrow_faults,
            Self::lucky_seed,
            Self::drop_keys,
            Self::smaller_seed,
        ] {
            pass(self);
        }
        self.steps.len() > accepted && !self.over()
    }

    fn over(&self) -> bool {
        self.executions >= self.budget.executions || self.budget.stop.load(Relaxed)
    }

    pub(super) fn size(&self) -> Size {
        Size::of(&self.best, &self.violation)
    }

    /// Events within which a violation has to show: a scenario whose run is long is not small.
    fn soon(&self) -> u64 {
        self.violation.step.max(LONG)
    }

    /// Most candidates show nothing, and some of them take all the events that a scenario allows to do so. A lower limit
    /// finds that out sooner. The network is calm after half of it, so that a safety violation shows before.
    fn lower_limit(&mut self) {
        let liveness = self.violation.property == Property::Termination;
        let (mut limit, most) = match liveness {
            true => (LIMIT, self.violation.step),
            false => (2 * self.soon(), self.best.limits.steps.unwrap_or(20_000)),
        };
        self.limit = None;
        while self.limit.is_none() && limit < most {
            self.limit = self.show(&limited(&self.best, limit)).map(|_| limit);
            limit *= 2;
        }
    }

    /// Runs a scenario up to the violation, with the lower limit first.
    pub(super) fn run(&mut self, scenario: &Scenario) -> Option<(Violation, Outcome)> {
        if let Some(limit) = self.limit {
            let shown = self.show(&limited(scenario, limit))?;
            // Limits make no difference to a run before it is calm.
            if !shown.1.calm {
                return Some(shown);
            }
        }
        self.show(scenario)
    }

    fn show(&mut self, scenario: &Scenario) -> Option<(Violation, Outcome)> {
        self.executions += 1;
        let target = self.target;
        let outcome = self.runner.watch(scenario, &mut |moment| target.is_shown(moment)).ok()?;
        self.executions += outcome.steps / LONG;
        let violation = target.find(&outcome)?.clone();
        let kept = self.model.kept(&outcome, &violation);
        (kept && violation.step <= self.soon()).then_some((violation, outcome))
    }

    /// What happens in the run, and the choices that lead there.
    pub(super) fn record(&mut self) -> Recording {
        let best = self.limit.map_or_else(|| self.best.clone(), |limit| limited(&self.best, limit));
        let Ok((outcome, recording)) = self.runner.record(&best) else { return Recording::default() };
        self.executions += 1 + outcome.steps / LONG;
        recording
    }

    /// Takes a candidate if it is smaller and shows the violation.
    pub(super) fn attempt(&mut self, candidate: Scenario, words: impl FnOnce() -> String) -> bool {
        let rank = Rank::of(&candidate);
        if self.over() || !rank.below(&candidate, &self.rank, &self.best) || !self.model.permits(&candidate) {
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
        if !self.same_mistake(&candidate) {
            return false;
        }
        self.go_on(candidate, rank, violation, words());
        true
    }

    fn go_on(&mut self, scenario: Scenario, rank: Rank, violation: Violation, words: String) {
        (self.best, self.rank, self.violation) = (scenario, rank, violation);
        self.steps.push(Step { words, executions: self.executions });
    }

    /// Takes a candidate that shows the violation and is smaller once its faults are cut, if few of them are left.
    pub(super) fn attempt_cut(&mut self, candidate: Scenario, words: String) -> bool {
        if !self.model.permits(&candidate) {
            return false;
        }
        let Some((violation, outcome)) = self.run(&candidate) else { return false };
        if self.over() || outcome.diverged.is_some() || !self.same_mistake(&candidate) {
            return false;
        }
        let back = (self.best.clone(), self.rank, self.violation.clone(), self.steps.len());
        let rank = Rank::of(&candidate);
        self.go_on(candidate, rank, violation, words);
        self.drop_faults();
        let few = self.best.adversary.faults.len() <= FEW;
        let smaller = few && self.rank.below(&self.best, &back.1, &back.0);
        if !smaller {
            self.steps.truncate(back.3);
            (self.best, self.rank, self.violation) = (back.0, back.1, back.2);
        }
        smaller
    }

    /// Tries to do without each part of a list: halves first, then smaller and smaller parts. A list that stays long is
    /// cut no finer than into [`PARTS`]: single steps of a long script would take their square.
    pub(super) fn cut_list(
        &mut self,
        len: fn(&Scenario) -> usize,
        cut: fn(&mut Scenario, Range<usize>),
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
    pub(super) fn finish(mut self, before: Size) -> Result<Shrunk, ShrinkError> {
        let stopped = if self.over() { Stopped::Budget } else { Stopped::Fixpoint };
        // Half-done, a scenario may be longer than before.
        let length = |scenario: &Scenario| {
            let events = scenario.adversary.faults.len() + scenario.scheduler.script.len();
            (rank::lines(scenario), events)
        };
        if stopped == Stopped::Budget && length(&self.given) < length(&self.best) {
            self.best = self.given.clone();
        }
        let mut outcome = self.runner.execute(&self.best)?;
        // What a script says after the violation may be impossible, and does not matter.
        while let Some(impossible) = outcome.diverged {
            let script = &mut Arc::make_mut(&mut self.best.scheduler).script;
            script.truncate(impossible as usize);
            outcome = self.runner.execute(&self.best)?;
        }
        let violation = self.target.find(&outcome).ok_or(ShrinkError::Holds)?.clone();
        let (property, fingerprint) = (Some(violation.property.name().to_owned()), outcome.fingerprint);
        let after = Size::of(&self.best, &violation);
        let expect = Some(Expect { property, fingerprint: Seed(fingerprint), lasso: None });
        let scenario = Scenario { expect, ..self.best };
        let (executions, steps) = (self.executions, self.steps);
        Ok(Shrunk { scenario, violation, fingerprint, before, after, executions, steps, stopped })
    }
}

/// The scenario with a limit on steps, unless its own is lower.
fn limited(scenario: &Scenario, steps: u64) -> Scenario {
    let mut limits = (*scenario.limits).clone();
    limits.steps = Some(limits.steps.map_or(steps, |own| own.min(steps)));
    Scenario { limits: Arc::new(limits), ..scenario.clone() }
}
