//! Which of the protocol's deviations a violation needs.

use std::sync::Arc;

use toml::Value;
use turncoat_core::outcome::Violation;
use turncoat_core::runner::{Entry, Runner};
use turncoat_core::scenario::{ProtocolSpec, Scenario, ScenarioError};

/// The deviations of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Deviations {
    /// How many are switched on.
    pub(super) on: usize,
    /// Those that suffice, and of which none can be left out, with what they do; all of them, if nothing is violated.
    pub(super) needed: Vec<String>,
    /// Whether the same scenario violates nothing without any.
    pub(super) cured: bool,
}

impl Deviations {
    /// Leaves out one flag after the other, as long as the same rule is violated.
    pub(super) fn of(
        entry: &Entry,
        scenario: &Scenario,
        violation: Option<&Violation>,
        runner: &mut dyn Runner,
    ) -> Result<Self, ScenarioError> {
        let named = scenario.protocol.config.get("flags").and_then(Value::as_array);
        let names = |flags: &Vec<Value>| flags.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        let on: Vec<String> = named.map_or_else(|| entry.preset_flags(), names);
        let mut needed = on.clone();
        let mut cured = false;
        if let Some(violation) = violation {
            let mut shows = |flags: &[String]| -> Result<bool, ScenarioError> {
                let outcome = runner.execute(&with(scenario, flags))?;
                let same =
                    |found: &Violation| (found.property, found.rule) == (violation.property, violation.rule);
                Ok(outcome.violations.iter().any(same))
            };
            for name in &on {
                let fewer: Vec<String> = needed.iter().filter(|other| *other != name).cloned().collect();
                if on.len() > 1 && shows(&fewer)? {
                    needed = fewer;
                }
            }
            cured = !on.is_empty() && runner.execute(&with(scenario, &[]))?.violations.is_empty();
        }
        let words = |name: String| match entry.flags.iter().find(|flag| flag.name() == name) {
            Some(flag) => format!("{name}: {}", flag.about),
            None => name,
        };
        Ok(Self { on: on.len(), needed: needed.into_iter().map(words).collect(), cured })
    }

    /// What is switched on, and what of it matters.
    pub(super) fn words(&self, violated: bool) -> Vec<String> {
        let Self { on, needed, cured } = self;
        let some = "deviations from the correct protocol are switched on";
        let head = match (*on, needed.len()) {
            (0, _) => "The protocol is as it should be: no deviation is switched on".to_owned(),
            (1, _) => "One deviation from the correct protocol is switched on".to_owned(),
            (on, 0) => format!("{on} {some}, and none of them is needed for this"),
            (on, few) if few < on => format!("{on} {some}, of which these alone violate the same rule"),
            (on, _) => format!("{on} {some}"),
        };
        let cure = if *cured { "; in the correct protocol the same scenario violates nothing" } else { "" };
        let end = if needed.is_empty() || !violated { "." } else { ":" };
        let flags = needed.iter().filter(|_| violated).map(|flag| format!("- {flag}"));
        [format!("{head}{cure}{end}")].into_iter().chain(flags).collect()
    }
}

/// The scenario with these flags and no others.
fn with(scenario: &Scenario, flags: &[String]) -> Scenario {
    let ProtocolSpec { name, mut config } = ProtocolSpec::clone(&scenario.protocol);
    config.insert("flags".to_owned(), Value::Array(flags.iter().cloned().map(Value::String).collect()));
    Scenario { protocol: Arc::new(ProtocolSpec { name, config }), ..scenario.clone() }
}
