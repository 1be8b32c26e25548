//! Which known bug a violation shows.
//!
//! A protocol with many flags violates many properties, and the flags say why: a violation shows the bug of the suite
//! whose flags, alone, still lead to it under the same scenario, while none of them can be left out. Where no row of the
//! suite has such flags, it shows some `other` bug: a mix of flags that nobody has named, or none at all. A row may have
//! no flags: nodes that crash on what does not decode are set up by the scenario, and so are trust lists that overlap too
//! little. Of several such rows, one that needs a lie goes first, where there was one.

use std::collections::BTreeMap;
use std::sync::Arc;

use toml::Value;
use turncoat_core::outcome::{Outcome, Property, Violation};
use turncoat_core::runner::{Entry, Runner};
use turncoat_core::scenario::{ProtocolSpec, Scenario, ScenarioError, Trust};

use crate::suite::{Bug, Find};

/// What a violation shows that no row of the suite explains.
pub const OTHER: &str = "other";

/// The rows of the suite that violations of a campaign may show.
#[derive(Debug)]
pub struct Suspects {
    /// Fewest flags first.
    rows: Vec<Suspect>,
    /// The protocol with some of its flags, by their names.
    specs: BTreeMap<Vec<String>, Arc<ProtocolSpec>>,
    other: Arc<str>,
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
        let present = flags(&base.protocol).unwrap_or_else(|| entry.preset_flags());
        let mut suspects = Self { rows: Vec::new(), specs: BTreeMap::new(), other: OTHER.into() };
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
        suspects
    }

    /// Makes the protocol with these flags: made once, it is read once.
    fn admit(&mut self, base: &Scenario, flags: Vec<String>) {
        let mut config = base.protocol.config.clone();
        config.insert("flags".to_owned(), Value::Array(flags.iter().cloned().map(Value::String).collect()));
        let spec = ProtocolSpec { name: base.protocol.name.clone(), config };
        self.specs.entry(flags).or_insert_with(|| Arc::new(spec));
    }

    /// The bug that each violation of a run shows.
    pub fn name(
        &self,
        scenario: &Scenario,
        outcome: &Outcome,
        runner: &mut dyn Runner,
    ) -> Result<Vec<Arc<str>>, ScenarioError> {
        // What the run comes to with some of the flags.
        let mut outcomes: BTreeMap<&[String], Outcome> = BTreeMap::new();
        let mut shows = |flags: &[String], violation: &Violation| -> Result<bool, ScenarioError> {
            let Some((flags, spec)) = self.specs.get_key_value(flags) else { return Ok(false) };
            if !outcomes.contains_key(&**flags) {
                let scenario = Scenario { protocol: Arc::clone(spec), ..scenario.clone() };
                outcomes.insert(flags, runner.execute(&scenario)?);
            }
            let found = &outcomes[&**flags].violations;
            Ok(found.iter().any(|found| (found.property, found.rule) == (violation.property, violation.rule)))
        };
        let mut names = Vec::new();
        for violation in &outcome.violations {
            let mut name = &self.other;
            let flawless = shows(&[], violation)?;
            for row in self.rows.iter().filter(|row| row.fits(violation, scenario, outcome)) {
                if row.flags.is_empty() == flawless
                    && shows(&row.flags, violation)?
                    && !row.excessive(|flags| shows(flags, violation))?
                {
                    name = &row.id;
                    break;
                }
            }
            names.push(Arc::clone(name));
        }
        Ok(names)
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

/// The flags that a scenario names.
pub(crate) fn flags(protocol: &ProtocolSpec) -> Option<Vec<String>> {
    protocol.config.get("flags")?.clone().try_into().ok()
}
