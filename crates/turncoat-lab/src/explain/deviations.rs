//! Which of the protocol's deviations a violation needs, and where they act.

use std::sync::Arc;

use toml::Value;
use turncoat_core::outcome::Violation;
use turncoat_core::runner::Runner;
use turncoat_core::scenario::{ProtocolSpec, Scenario, ScenarioError};
use turncoat_core::sim::Moment;

use super::acts::Act;
use super::read::Run;
use crate::words::and;

/// How many events are compared first.
const SOON: u64 = 500;

/// The deviations of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Deviations {
    /// Those that are switched on.
    on: Vec<Deviation>,
    /// Whether something is violated.
    violated: bool,
    /// Whether the same scenario violates nothing without any.
    cured: bool,
}

#[derive(Clone, Debug)]
struct Deviation {
    name: String,
    about: &'static str,
    /// Whether it is one of those that suffice, and of which none can be left out.
    needed: bool,
    /// What it made each node do first, those first whom the violation is about.
    acts: Vec<Act>,
}

impl Deviations {
    /// Leaves out one flag after the other, as long as the same rule is violated; and each alone, to see what differs.
    pub(super) fn of(run: &Run, runner: &mut dyn Runner) -> Result<Self, ScenarioError> {
        let Run { entry, scenario, violation, .. } = run;
        let named = scenario.protocol.config.get("flags").and_then(Value::as_array);
        let names = |flags: &Vec<Value>| flags.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        let on: Vec<String> = named.map_or_else(|| entry.preset_flags(), names);
        let without = |name: &String, flags: &[String]| -> Vec<String> {
            flags.iter().filter(|other| *other != name).cloned().collect()
        };
        let mut needed = if violation.is_some() { on.clone() } else { Vec::new() };
        let mut cured = false;
        if let Some(violation) = violation {
            let same =
                |found: &Violation| (found.property, found.rule) == (violation.property, violation.rule);
            let mut shows = |flags: &[String]| -> Result<bool, ScenarioError> {
                let mut shown = |moment: &dyn Moment| moment.violations().iter().any(same);
                let outcome = runner.watch(&with(scenario, flags), &mut shown)?;
                Ok(outcome.violations.iter().any(same))
            };
            for name in &on {
                let fewer = without(name, &needed);
                if shows(&fewer)? {
                    needed = fewer;
                }
            }
            cured = !on.is_empty() && runner.execute(&with(scenario, &[]))?.violations.is_empty();
        }
        let scripted = run.recording.clone().scripted(scenario);
        let mut deviations = Vec::new();
        for name in &on {
            let fewer = without(name, &on);
            let (last, soon) = (run.last_step(), SOON.min(run.last_step()));
            let mut acts = Vec::new();
            // Most act soon, and a standstill is long. Timers that are not in the script fire without it.
            for (base, until, wanted) in
                [(&scripted, soon, true), (&scripted, last, true), (scenario, last, needed.contains(name))]
            {
                if acts.is_empty() && wanted && violation.is_some() {
                    let other = with(base, &fewer);
                    let (_, beginning) =
                        runner.record_until(&other, &mut |moment| moment.steps() >= until)?;
                    acts = run.acts(&beginning, until);
                }
            }
            let about = entry.flags.iter().find(|flag| flag.name() == *name).map_or("", |flag| flag.about);
            let needed = needed.contains(name);
            deviations.push(Deviation { name: name.clone(), about, needed, acts });
        }
        Ok(Self { on: deviations, violated: violation.is_some(), cured })
    }

    /// What is wrong with the protocol, if that is soon said.
    pub(super) fn flaw(&self) -> Option<String> {
        let needed: Vec<&str> = self.on.iter().filter(|d| d.needed).map(|d| d.about).collect();
        let bug = if needed.len() == 1 { "bug" } else { "bugs" };
        (1..=2).contains(&needed.len()).then(|| format!("The {bug}: {}.", needed.join("; ")))
    }

    /// What is switched on, what of it matters, and where.
    pub(super) fn words(&self) -> Vec<String> {
        let (needed, others): (Vec<&Deviation>, Vec<&Deviation>) = self.on.iter().partition(|d| d.needed);
        let on = match self.on.len() {
            0 => "No bug flags are enabled".to_owned(),
            1 => "One bug flag is enabled".to_owned(),
            on => format!("{on} bug flags are enabled"),
        };
        let share = match (needed.len(), others.len()) {
            (0, 1..) if self.violated => ", and the same property is violated without them",
            (1.., 1..) => "; these are enough to cause the same violation",
            _ => "",
        };
        let cure = match (self.cured, self.on.len()) {
            (true, 1) => "; without it the same scenario violates nothing",
            (true, _) => "; without them the same scenario violates nothing",
            _ => "",
        };
        let end = if needed.is_empty() { "." } else { ":" };
        let mut lines = vec![format!("{on}{share}{cure}{end}")];
        lines.extend(needed.iter().map(|Deviation { name, about, acts, .. }| match acts.split_first() {
            Some((first @ Act { step, how, .. }, rest)) => {
                format!("- {name}: {about}. It acts at step {step}: {how}.{}", also(first, rest))
            }
            None => format!("- {name}: {about}. No message or decision shows directly where it acts."),
        }));
        let (seen, unseen): (Vec<&Deviation>, Vec<&Deviation>) =
            others.into_iter().partition(|d| !d.acts.is_empty());
        let seen = seen.iter().filter_map(|d| {
            let first = d.acts.iter().map(|act| act.step).min()?;
            Some(format!("{} (from step {first} on: {})", d.name, d.about))
        });
        let seen: Vec<String> = seen.collect();
        lines.extend(
            (!seen.is_empty()).then(|| format!("Also active, though not needed for this: {}.", and(seen))),
        );
        let unseen: Vec<&str> = unseen.iter().map(|d| d.name.as_str()).collect();
        let idle = if self.violated { "Without visible effect up to here" } else { "They are" };
        lines.extend((!unseen.is_empty()).then(|| format!("{idle}: {}.", and(unseen))));
        lines
    }
}

/// Where else it acts in correct nodes: where it does the same, and where it does something else first.
fn also(first: &Act, rest: &[Act]) -> String {
    let others = rest.iter().filter(|act| act.correct || !first.correct);
    let (mut same, other): (Vec<&Act>, Vec<&Act>) = others.partition(|act| act.kind == first.kind);
    same.sort_by_key(|act| act.step);
    let mut words = String::new();
    if !same.is_empty() {
        let same = same.iter().map(|act| format!("{} (step {})", act.seat, act.step));
        words.push_str(&format!(" The same happens in {}.", and(same)));
    }
    if let Some(Act { step, how, .. }) = other.iter().min_by_key(|act| act.step) {
        words.push_str(&format!(" It also acts at step {step}: {how}."));
    }
    words
}

/// The scenario with these flags and no others.
fn with(scenario: &Scenario, flags: &[String]) -> Scenario {
    let ProtocolSpec { name, mut config } = ProtocolSpec::clone(&scenario.protocol);
    config.insert("flags".to_owned(), Value::Array(flags.iter().cloned().map(Value::String).collect()));
    Scenario { protocol: Arc::new(ProtocolSpec { name, config }), ..scenario.clone() }
}
