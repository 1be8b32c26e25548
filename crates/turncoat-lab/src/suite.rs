//! The suite: known bugs, one row each, and whether a row is right.
//!
//! A row is a scenario file with one more table, `[bug]`. The scenario, the *witness*, shows the bug; the table says
//! what it is, how to search for it, and which *controls*, protocols without the bug, survive the same scenario. So a
//! row can be checked: [`verify`] runs the witness and the controls.

use std::sync::Arc;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use turncoat_core::outcome::{Outcome, Property, Violation};
use turncoat_core::runner::Entry;
use turncoat_core::scenario::{
    Adversary, ProtocolSpec, Scenario, ScenarioError, SchedulerName, SchedulerSpec, Seed,
};
use turncoat_core::schedule::Action;

use crate::campaign::{BoxError, params};

/// A known bug: a row of the suite.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Bug {
    /// Its name, after its file: `protocol/name`.
    pub id: String,
    /// What is known about it.
    #[serde(flatten)]
    pub facts: Facts,
    /// The scenario that shows it.
    #[serde(skip)]
    pub witness: Scenario,
}

/// What is known about a bug: the table `[bug]`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Facts {
    /// What is wrong, in one line.
    pub title: String,
    /// What the witness violates.
    #[serde(deserialize_with = "property")]
    pub property: Property,
    /// By which rule of the property; any, where left out.
    pub rule: Option<String>,
    /// 1 for the bugs of the papers that turncoat measures itself against, 2 for real bugs found elsewhere, 3 for
    /// bugs that somebody has put in.
    pub tier: u8,
    /// What it takes: rounds with process faults / rounds with network faults / views.
    pub budget: String,
    /// Who reported it, and when.
    pub source: String,
    /// The name of the attack in the document of the protocol.
    pub story: Option<String>,
    /// What else one should know.
    pub note: Option<String>,
    /// The protocols that survive the witness.
    pub control: Vec<Control>,
    /// How to search for it.
    #[serde(default)]
    pub hunt: Hunt,
}

/// A protocol that survives the witness of a bug: a name, or a table with a name and other keys.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(from = "ControlForm")]
pub struct Control {
    /// The protocol, with the keys of its configuration that differ from the witness'.
    #[serde(flatten)]
    pub protocol: ProtocolSpec,
    /// Keys of the scenario that differ from the witness'.
    #[serde(skip_serializing_if = "toml::Table::is_empty")]
    pub set: toml::Table,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected the name of a protocol, or a table with `name` and other keys")]
enum ControlForm {
    Name(String),
    Table {
        #[serde(default)]
        set: toml::Table,
        #[serde(flatten)]
        protocol: ProtocolSpec,
    },
}

impl From<ControlForm> for Control {
    fn from(form: ControlForm) -> Self {
        match form {
            ControlForm::Name(name) => {
                let protocol = ProtocolSpec { name, ..ProtocolSpec::default() };
                Self { protocol, set: toml::Table::new() }
            }
            ControlForm::Table { set, protocol } => Self { protocol, set },
        }
    }
}

/// How to search for a bug; the usual defaults where nothing is said.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Hunt {
    /// Who draws the scenarios.
    pub strategy: Option<String>,
    /// Which event is next.
    pub scheduler: Option<SchedulerName>,
    /// Parameters of the strategy (`c = 1`), and keys of the scenario (`network.loss = "hold"`).
    pub set: toml::Table,
}

fn property<'de, D: Deserializer<'de>>(d: D) -> Result<Property, D::Error> {
    String::deserialize(d)?.parse().map_err(D::Error::custom)
}

impl Facts {
    /// What no type says.
    fn check(&self) -> Result<(), SuiteError> {
        let scripted = self.hunt.scheduler == Some(SchedulerName::Script);
        let nameless = self.hunt.strategy.is_none() && !self.hunt.params().is_empty();
        let rules = [
            (self.title.lines().count() == 1, "`bug.title` must be one line"),
            ((1..=3).contains(&self.tier), "`bug.tier` must be 1, 2 or 3"),
            (
                !self.control.is_empty(),
                "`bug.control` must name at least one protocol that survives the witness",
            ),
            (!scripted, "`bug.hunt.scheduler` must be one that needs no script"),
            (!nameless, "`bug.hunt.set` has parameters of a strategy: `bug.hunt.strategy` says of which"),
        ];
        match rules.into_iter().find(|(holds, _)| !holds) {
            Some((_, rule)) => Err(SuiteError::Malformed(rule.to_owned())),
            None => Ok(()),
        }
    }
}

impl Hunt {
    /// The parameters of the strategy, as text.
    pub fn params(&self) -> Vec<(String, String)> {
        params(&self.set)
    }
}

/// The scenario with other values for the keys in the tables of `set`.
fn with_keys(scenario: Scenario, set: &toml::Table) -> Result<Scenario, ScenarioError> {
    let tables = set.iter().filter_map(|(section, value)| Some((section, value.as_table()?)));
    let mut keys = tables.flat_map(|(section, table)| {
        table.iter().map(move |(key, value)| (format!("{section}.{key}"), value.clone()))
    });
    keys.try_fold(scenario, |scenario, (path, value)| scenario.with(&path, value))
}

impl Bug {
    /// Reads a row: its id, and the text of its file.
    pub fn parse(id: &str, text: &str) -> Result<Self, SuiteError> {
        #[derive(Deserialize)]
        struct Row {
            bug: Facts,
        }
        let witness = Scenario::parse(text)?;
        if witness.bug.is_none() {
            return Err(SuiteError::Malformed("not a known bug: it has no table `[bug]`".to_owned()));
        }
        // From the text and not from the scenario: the error then names the line.
        let row = toml::from_str(text);
        let Row { bug: facts } =
            row.map_err(|error| SuiteError::Malformed(error.to_string().trim_end().to_owned()))?;
        facts.check()?;
        Ok(Self { id: id.to_owned(), facts, witness })
    }

    /// What a search starts from: the witness without what makes it one, which is its adversary, its script and its
    /// seed; and with what `[bug.hunt]` sets.
    pub fn base(&self) -> Result<Scenario, ScenarioError> {
        let name = self.facts.hunt.scheduler.unwrap_or_default();
        let Adversary { roundless_inherit, crash_on_garbage, .. } = self.witness.adversary;
        let base = Scenario {
            seed: Seed::default(),
            bug: None,
            scheduler: Arc::new(SchedulerSpec { name, ..SchedulerSpec::default() }),
            adversary: Adversary { roundless_inherit, crash_on_garbage, ..Adversary::default() },
            expect: None,
            ..self.witness.clone()
        };
        with_keys(base, &self.facts.hunt.set)
    }

    /// A scenario of the bug, such as its witness, on each control, with what to call it. Of the scenario's protocol the
    /// parameters stay, the flags do not; keys of the control go before both.
    pub fn controls(&self, scenario: &Scenario) -> Result<Vec<(String, Scenario)>, ScenarioError> {
        let on = |control: &Control| {
            let mut config = scenario.protocol.config.clone();
            config.remove("flags");
            config.extend(control.protocol.config.clone());
            let protocol = Arc::new(ProtocolSpec { name: control.protocol.name.clone(), config });
            let scenario = Scenario { protocol, ..scenario.clone() };
            Ok((called(control), with_keys(scenario, &control.set)?))
        };
        self.facts.control.iter().map(on).collect()
    }

    /// What it is, in a sentence for those who have not met it.
    pub fn in_words(&self) -> String {
        let Facts { title, property, .. } = &self.facts;
        format!("The bug {}: {title}. It breaks {property}: {}.", self.id, property.about())
    }

    /// The deviations that make it up: those that the witness names, or those of the variant that it runs. `row` is the
    /// protocol of the witness.
    pub fn flags(&self, row: &Entry) -> Vec<String> {
        crate::suspects::flags(&self.witness.protocol).unwrap_or_else(|| row.preset_flags())
    }

    /// Whether a protocol has the bug, in scenarios like `base`: its flags are switched on, or the protocol is a variant like that of
    /// the witness, and no control. `row` is the protocol of the witness.
    pub fn is_of(&self, row: &Entry, entry: &Entry, base: &Scenario) -> bool {
        let needed = self.flags(row);
        let present = crate::suspects::flags(&base.protocol).unwrap_or_else(|| entry.preset_flags());
        if row.protocol != entry.protocol || !needed.iter().all(|flag| present.contains(flag)) {
            return false;
        }
        if !needed.is_empty() {
            return true;
        }
        let alike = |(key, value): (&String, &toml::Value)| entry.config.get(key) == Some(value);
        let variant = row.preset.iter().filter(|(key, _)| *key != "flags").all(alike);
        let controls = &self.facts.control;
        let control =
            controls.iter().any(|control| control.set.is_empty() && control.protocol.name == entry.name);
        // Where each control is the protocol itself in another setting, the setting has the bug.
        let itself = |control: &Control| control.protocol.name == self.witness.protocol.name;
        let setting = controls.iter().all(|control| !control.set.is_empty() && itself(control));
        let crash_on_garbage = |scenario: &Scenario| scenario.adversary.crash_on_garbage;
        let same = self.witness.cluster.trust == base.cluster.trust
            && crash_on_garbage(&self.witness) == crash_on_garbage(base);
        variant && !control && (same || !setting)
    }

    /// Whether a run violates what the bug violates.
    pub fn shows(&self, outcome: &Outcome) -> bool {
        let Facts { property, rule, .. } = &self.facts;
        let same_rule = |found: &Violation| rule.as_ref().is_none_or(|rule| rule == found.rule);
        outcome.violations.iter().any(|found| found.property == *property && same_rule(found))
    }

    /// Whether a run may be an instance of the bug: if its budget has lies, a lie must have had an effect. What shows only
    /// in the end may come of silence alone, or of a crash.
    pub fn caused(&self, outcome: &Outcome) -> bool {
        !self.needs_lie() || outcome.injected.accepted > 0
    }

    /// Whether it takes a lie that has an effect.
    pub fn needs_lie(&self) -> bool {
        let silence = matches!(self.facts.property, Property::Termination | Property::Crashed);
        !self.facts.budget.starts_with("0/") && !silence
    }

    /// A scenario of the bug without one of its flags, for each of them if there are several. What such a scenario
    /// violates is another bug.
    pub fn lesser(&self, scenario: &Scenario) -> Result<Vec<Scenario>, ScenarioError> {
        let flags = scenario.protocol.config.get("flags").and_then(toml::Value::as_array);
        let flags = flags.filter(|flags| flags.len() > 1).cloned().unwrap_or_default();
        let without = |index| {
            let mut fewer = flags.clone();
            fewer.remove(index);
            scenario.with("protocol.flags", toml::Value::Array(fewer))
        };
        (0..flags.len()).map(without).collect()
    }

    /// What the run of the witness does not show, or could not do.
    fn judge(&self, outcome: &Outcome) -> Vec<Wrong> {
        let Facts { property, rule, .. } = &self.facts;
        let mut wrong = Vec::new();
        if !self.shows(outcome) {
            let expected = match rule {
                Some(rule) => format!("{property} ({rule})"),
                None => property.to_string(),
            };
            let found = outcome.violations.iter().map(|found| format!("{} ({})", found.property, found.rule));
            let found = found.reduce(|all, next| format!("{all}, {next}"));
            wrong.push(Wrong::Witness { expected, found: found.unwrap_or_else(|| "nothing".to_owned()) });
        }
        if let Some(index) = outcome.diverged {
            let action = self.witness.scheduler.script.get(index as usize);
            let action = action.map(ToString::to_string).unwrap_or_default();
            wrong.push(Wrong::Diverged { step: index + 1, action });
        }
        wrong
    }
}

/// A control in words: its name, and what it sets.
fn called(control: &Control) -> String {
    let keys =
        control.protocol.config.iter().chain(&control.set).map(|(key, value)| format!("{key} = {value}"));
    let name = &control.protocol.name;
    match keys.reduce(|all, next| format!("{all}, {next}")) {
        Some(keys) => format!("{name} with {keys}"),
        None => name.clone(),
    }
}

/// What is not as a row says.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Wrong {
    /// The witness does not show the bug.
    #[error("the witness should violate {expected}, but violates {found}")]
    Witness {
        /// The property of the row, with its rule.
        expected: String,
        /// The properties violated.
        found: String,
    },
    /// The witness is another run than the one that was written down.
    #[error("step {step} of the script (`{action}`) could not be carried out")]
    Diverged {
        /// The first such step, from 1.
        step: u32,
        /// What it says.
        action: String,
    },
    /// A protocol without the bug does not survive the witness.
    #[error("the control {control} should survive the witness: {violation}")]
    Control {
        /// Which control.
        control: String,
        /// Its first violation.
        violation: Violation,
    },
}

/// Whether a control violates what the bug violates under a scenario, or the protocol without one of the bug's flags
/// under the same schedule: then the run shows nothing, or another bug. A control whose messages are others, and do not allow the
/// lies of the scenario, does not violate it.
pub fn others_show(bug: &Bug, scenario: &Scenario, find: &Find<'_>) -> Result<bool, BoxError> {
    let shows = |scenario: &Scenario| -> Result<bool, BoxError> {
        let outcome = find(&scenario.protocol.name)?.runner().execute(scenario);
        Ok(outcome.is_ok_and(|outcome| bug.shows(&outcome)))
    };
    for (_, control) in bug.controls(scenario)? {
        if shows(&control)? {
            return Ok(true);
        }
    }
    let lesser = bug.lesser(scenario)?;
    if lesser.is_empty() {
        return Ok(false);
    }
    // Another protocol draws other events from the same seed: the schedule is what this one drew, until all is calm.
    let (_, mut recording) = find(&scenario.protocol.name)?.runner().record(scenario)?;
    let calm = recording.script.iter().position(|action| *action == Action::Calm);
    recording.script.truncate(calm.unwrap_or(recording.script.len()));
    for lesser in bug.lesser(&recording.scripted(scenario))?.iter().chain(&lesser) {
        if shows(lesser)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A row that cannot be used, and what would be right.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// It is no scenario.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// Its table `[bug]` is missing, or has a key or value that means nothing.
    #[error("{0}")]
    Malformed(String),
    /// It reads well and cannot run.
    #[error("{what}: {error}")]
    Unfit {
        /// Which of its runs.
        what: String,
        /// Why not.
        error: BoxError,
    },
}

/// Finds a protocol by its name.
pub type Find<'a> = dyn Fn(&str) -> Result<Entry, BoxError> + 'a;

/// Runs the witness of a bug, on the protocol that has it and on each control. Gives what is not as the row says:
/// nothing, if all is.
///
/// The witness must violate the bug's property and carry out its whole script. A control must violate nothing at all;
/// steps of the script that cannot happen there are left out.
pub fn verify(bug: &Bug, find: &Find<'_>) -> Result<Vec<Wrong>, SuiteError> {
    let unfit = |what: &str| {
        let what = what.to_owned();
        |error| SuiteError::Unfit { what, error }
    };
    let run = |scenario: &Scenario| -> Result<Outcome, BoxError> {
        Ok(find(&scenario.protocol.name)?.runner().execute(scenario)?)
    };
    let search = || -> Result<(), BoxError> {
        let base = bug.base()?;
        Ok(find(&base.protocol.name)?.runner().validate(&base)?)
    };
    let mut wrong = bug.judge(&run(&bug.witness).map_err(unfit("the witness"))?);
    for (control, scenario) in bug.controls(&bug.witness)? {
        let outcome = run(&scenario).map_err(unfit(&format!("the control {control}")))?;
        let first = outcome.violations.into_iter().next();
        wrong.extend(first.map(|violation| Wrong::Control { control, violation }));
    }
    search().map_err(unfit("the hunt"))?;
    Ok(wrong)
}
