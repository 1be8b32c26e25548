//! What a violation is put down to.
//!
//! A protocol with many flags violates many properties, and the flags say why: a violation shows the bug of the suite
//! whose flags, alone, still lead to it under the same scenario, while none of them can be left out. A row may have
//! no flags: nodes that crash on what does not decode are set up by the scenario, and so are trust lists that overlap too
//! little. Of several such rows, one that needs a lie goes first, where there was one.
//!
//! Where no row of the suite has such flags, the violation is put down to a smallest set of flags: the run is executed again with
//! fewer and fewer of them (delta debugging), until each one left is needed. Its name is that of its flags, `a + b`. What
//! also shows without any flag is the protocol's own, or due to the settings: [`NO_FLAG`].
//!
//! Under a scheduler that draws each event, a protocol that sends one message less takes another course from there on, and hardly
//! ever violates the same. So for violations of safety the course is kept: the run is recorded, and its script is executed with
//! fewer flags, also with those of the rows. Steps that do not exist then are skipped, and messages that only exist then come
//! after the script. Nothing is remembered from one run to the next, so that it does not matter which thread has which run.

use std::collections::BTreeMap;
use std::sync::Arc;

use toml::Value;
use turncoat_core::outcome::{Outcome, Property, Violation};
use turncoat_core::runner::{Entry, Runner};
use turncoat_core::scenario::{ProtocolSpec, Scenario, ScenarioError, Trust};

use crate::suite::{Bug, Find};

/// What a violation is put down to that no flag causes, and no row of the suite explains.
pub const NO_FLAG: &str = "no flag";

/// Runs with more steps are not recorded.
const LONG: u64 = 20_000;

/// Between the flags of a set.
const AND: &str = " + ";

/// Whether a violation is put down to a row of the suite, whose name this is.
pub fn is_known(name: &str) -> bool {
    name.contains('/')
}

/// The rows of the suite that violations of a campaign may show.
#[derive(Debug)]
pub struct Suspects {
    /// Fewest flags first.
    rows: Vec<Suspect>,
    /// The protocol with some of its flags, by their names: those of the rows.
    specs: BTreeMap<Vec<String>, Arc<ProtocolSpec>>,
    /// All flags that are on.
    present: Vec<String>,
    /// Whether violations that no row explains are put down to sets of flags.
    sets: bool,
    no_flag: Arc<str>,
}

#[derive(Debug)]
struct Suspect {
    id: Arc<str>,
    property: Property,
    rule: Option<String>,
    lies: bool,
    /// Whether its budget has process faults.
    lied: bool,
    crash_on_garbage: bool,
    trust: Trust,
    flags: Vec<String>,
}

impl Suspects {
    /// Those among `bugs` whose protocol is the campaign's, and whose flags are among the campaign's.
    pub fn new(entry: &Entry, base: &Scenario, bugs: &[Bug], find: &Find<'_>) -> Self {
        let mut present = flags(&base.protocol).unwrap_or_else(|| entry.preset_flags());
        present.sort();
        let mut suspects = Self {
            rows: Vec::new(),
            specs: BTreeMap::new(),
            present: Vec::new(),
            sets: true,
            no_flag: NO_FLAG.into(),
        };
        suspects.admit(base, Vec::new());
        for bug in bugs {
            let Ok(row) = find(&bug.witness.protocol.name) else { continue };
            let flags = bug.flags(&row);
            // What other parameters do is what a row without flags is about.
            let alike = |(key, value): (&String, &Value)| entry.config.get(key) == Some(value);
            let configured =
                !flags.is_empty() || row.preset.iter().filter(|(key, _)| *key != "flags").all(alike);
            let same = row.protocol == entry.protocol && configured;
            if !same || !flags.iter().all(|flag| present.contains(flag)) {
                continue;
            }
            for without in 0..flags.len() {
                suspects.admit(base, fewer(&flags, without));
            }
            suspects.admit(base, flags.clone());
            suspects.rows.push(Suspect {
                id: bug.id.as_str().into(),
                property: bug.facts.property,
                rule: bug.facts.rule.clone(),
                lies: bug.needs_lie(),
                lied: !bug.facts.budget.starts_with("0/"),
                crash_on_garbage: bug.witness.adversary.crash_on_garbage,
                trust: bug.witness.cluster.trust.clone(),
                flags,
            });
        }
        suspects.rows.sort_by_key(|row| (row.flags.len(), row.flags.is_empty() && !row.lied));
        suspects.present = present;
        suspects
    }

    /// Only these rows: what none of them explains is not looked into.
    pub fn rows_alone(self) -> Self {
        Self { sets: false, ..self }
    }

    /// Makes the protocol with these flags: made once, it is read once.
    fn admit(&mut self, base: &Scenario, flags: Vec<String>) {
        let spec = Arc::new(with_flags(&base.protocol, &flags));
        self.specs.entry(flags).or_insert(spec);
    }

    /// What each violation of a run is put down to. What other rules say about logs, which comes last, has no bug of its own.
    pub fn name(
        &self,
        scenario: &Scenario,
        outcome: &Outcome,
        runner: &mut dyn Runner,
    ) -> Result<Vec<Arc<str>>, ScenarioError> {
        if outcome.violations.is_empty() {
            return Ok(Vec::new());
        }
        let mut drawn = Trials::of(scenario.clone());
        let mut course = None;
        let mut names = Vec::new();
        for violation in outcome.violations.iter().filter(|violation| !violation.compares_logs()) {
            let name = match self.row(&mut drawn, violation, outcome, runner)? {
                Some(row) => row,
                None if !self.sets || self.shows(&mut drawn, &[], violation, runner)? => {
                    Arc::clone(&self.no_flag)
                }
                None => {
                    if course.is_none() && outcome.steps <= LONG {
                        course = Some(Trials::of(runner.record(scenario)?.1.scripted(scenario)));
                    }
                    self.set(&mut drawn, course.as_mut(), violation, outcome, runner)?
                }
            };
            names.push(name);
        }
        Ok(names)
    }

    /// The row of the suite that such a run shows by a violation.
    fn row(
        &self,
        trials: &mut Trials,
        violation: &Violation,
        outcome: &Outcome,
        runner: &mut dyn Runner,
    ) -> Result<Option<Arc<str>>, ScenarioError> {
        let flawless = self.shows(trials, &[], violation, runner)?;
        for row in &self.rows {
            if row.flags.is_empty() == flawless
                && row.fits(violation, &trials.scenario, outcome)
                && self.shows(trials, &row.flags, violation, runner)?
                && !row.excessive(|flags| self.shows(trials, flags, violation, runner))?
            {
                return Ok(Some(Arc::clone(&row.id)));
            }
        }
        Ok(None)
    }

    /// What a violation is put down to that no row shows in the scenario as it was drawn: in the course that the run took, a row or a
    /// smallest set of flags; where the course says nothing, a smallest set in the scenario.
    fn set(
        &self,
        drawn: &mut Trials,
        course: Option<&mut Trials>,
        violation: &Violation,
        outcome: &Outcome,
        runner: &mut dyn Runner,
    ) -> Result<Arc<str>, ScenarioError> {
        let mut trials = drawn;
        // Whether something happens in time is not a matter of order alone.
        if let Some(course) = course.filter(|_| violation.property.is_safety())
            && self.shows(course, &self.present, violation, runner)?
            && !self.shows(course, &[], violation, runner)?
        {
            if let Some(row) = self.row(course, violation, outcome, runner)? {
                return Ok(row);
            }
            trials = course;
        }
        let set = smallest(&self.present, |flags| self.shows(trials, flags, violation, runner))?;
        Ok(set.join(AND).into())
    }

    /// Whether the scenario leads to such a violation with these flags.
    fn shows(
        &self,
        trials: &mut Trials,
        flags: &[String],
        violation: &Violation,
        runner: &mut dyn Runner,
    ) -> Result<bool, ScenarioError> {
        if !trials.outcomes.contains_key(flags) {
            let spec = self.specs.get(flags).cloned();
            let protocol = spec.unwrap_or_else(|| Arc::new(with_flags(&trials.scenario.protocol, flags)));
            let outcome = runner.execute(&Scenario { protocol, ..trials.scenario.clone() })?;
            trials.outcomes.insert(flags.to_vec(), outcome);
        }
        // Steps that a script delays for too long may lead out of what the protocol assumes.
        let same = |found: &Violation| {
            (found.property, found.rule) == (violation.property, violation.rule)
                && (found.inside() || !violation.inside())
        };
        Ok(trials.outcomes[flags].violations.iter().any(same))
    }
}

/// A scenario, and what it comes to with some of the flags.
struct Trials {
    scenario: Scenario,
    outcomes: BTreeMap<Vec<String>, Outcome>,
}

impl Trials {
    fn of(scenario: Scenario) -> Self {
        Self { scenario, outcomes: BTreeMap::new() }
    }
}

/// A set of flags that still leads to a violation, as all of them do, and none of which can be left out. Halves are left out first,
/// then smaller parts.
fn smallest(
    all: &[String],
    mut shows: impl FnMut(&[String]) -> Result<bool, ScenarioError>,
) -> Result<Vec<String>, ScenarioError> {
    let mut left = all.to_vec();
    let mut size = left.len().div_ceil(2).max(1);
    loop {
        let (mut at, before) = (0, left.len());
        while at < left.len() {
            let end = left.len().min(at + size);
            let fewer = [&left[..at], &left[end..]].concat();
            if shows(&fewer)? {
                left = fewer;
            } else {
                at = end;
            }
        }
        match size {
            1 if left.len() == before => return Ok(left),
            _ => size = size.div_ceil(2),
        }
    }
}

impl Suspect {
    /// Whether the row is about such a violation.
    fn fits(&self, violation: &Violation, scenario: &Scenario, outcome: &Outcome) -> bool {
        let lied = outcome.injected.accepted > 0;
        let set_up = !self.flags.is_empty() || (self.trust == scenario.cluster.trust && (lied || !self.lied));
        self.property == violation.property
            && set_up
            && (!self.crash_on_garbage || scenario.adversary.crash_on_garbage)
            && self.rule.as_ref().is_none_or(|rule| rule == violation.rule)
            && (!self.lies || lied)
    }

    /// Whether one of its flags can be left out.
    fn excessive(
        &self,
        mut shows: impl FnMut(&[String]) -> Result<bool, ScenarioError>,
    ) -> Result<bool, ScenarioError> {
        if self.flags.len() < 2 {
            return Ok(false);
        }
        for without in 0..self.flags.len() {
            if shows(&fewer(&self.flags, without))? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn fewer(flags: &[String], without: usize) -> Vec<String> {
    let mut fewer = flags.to_vec();
    fewer.remove(without);
    fewer
}

/// The protocol with these flags and no others.
fn with_flags(protocol: &ProtocolSpec, flags: &[String]) -> ProtocolSpec {
    let mut config = protocol.config.clone();
    config.insert("flags".to_owned(), Value::Array(flags.iter().cloned().map(Value::String).collect()));
    ProtocolSpec { name: protocol.name.clone(), config }
}

/// The flags that a scenario names.
pub(crate) fn flags(protocol: &ProtocolSpec) -> Option<Vec<String>> {
    protocol.config.get("flags")?.clone().try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of seven flags if those in `needed` lead to the violation, and how often it was tried.
    fn left(needed: &[&str]) -> (Vec<String>, u32) {
        let all: Vec<String> = ["a", "b", "c", "d", "e", "f", "g"].map(str::to_owned).to_vec();
        let mut tried = 0;
        let shows = |flags: &[String]| {
            tried += 1;
            Ok(needed.iter().all(|&flag| flags.iter().any(|other| other == flag)))
        };
        (smallest(&all, shows).expect("no scenario is impossible"), tried)
    }

    #[test]
    fn each_flag_that_is_left_is_needed() {
        for needed in
            [&["a"][..], &["d"], &["g"], &["a", "g"], &["b", "c", "f"], &["a", "b", "c", "d", "e", "f", "g"]]
        {
            let (flags, tried) = left(needed);
            assert_eq!(flags, needed);
            assert!(tried <= 24, "{tried} runs for {needed:?}");
        }
    }

    #[test]
    fn of_two_ways_one_is_left() {
        // Either of two flags is enough.
        let all = ["a", "b"].map(str::to_owned);
        assert_eq!(smallest(&all, |flags| Ok(!flags.is_empty())).expect("possible"), ["b"]);
    }
}
