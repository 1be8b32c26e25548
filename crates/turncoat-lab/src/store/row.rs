//! A run as it is kept: numbers, and words by their numbers.
//!
//! Runs become rows here and nowhere else, whether a database takes them or the file of a shard. Words and kinds of violations
//! are numbered in the order in which they come up, so that rows that are put together in the order of their runs come to the
//! same numbers, whoever made them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use turncoat_core::message::MutationTable;
use turncoat_core::outcome::{End, Injected};

use crate::campaign::Record;
use crate::signature::{Kinds, Traits};

/// A run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    /// A word.
    pub(crate) end: u32,
    pub(crate) calm: bool,
    pub(crate) over_budget: bool,
    pub(crate) steps: u64,
    pub(crate) deliveries: u64,
    pub(crate) commits: u32,
    pub(crate) completed: u32,
    pub(crate) injected: Injected,
    pub(crate) marks: u64,
    #[serde(with = "postcard::fixint::le")]
    pub(crate) fingerprint: u64,
    pub(crate) found: Vec<Found>,
}

/// What did not hold in it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Found {
    /// Words.
    pub(crate) property: u32,
    pub(crate) rule: u32,
    pub(crate) bug: Option<u32>,
    pub(crate) outside: Option<u32>,
    pub(crate) kind: u32,
    pub(crate) step: u64,
}

/// What the numbers in rows mean.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Glossary {
    pub(crate) words: Vec<String>,
    pub(crate) kinds: Vec<Kind>,
}

/// A kind of violations, with the first run that shows it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Kind {
    pub(crate) text: String,
    pub(crate) run: u64,
    pub(crate) detail: String,
    pub(crate) scenario: String,
}

/// Writes the runs of a campaign as rows.
#[derive(Debug)]
pub(crate) struct Scribe {
    table: MutationTable,
    kinds: Kinds,
    numbers: BTreeMap<String, u32>,
    pub(crate) glossary: Glossary,
}

impl Scribe {
    /// The mutation table is that of the campaign's protocol.
    pub(crate) fn new(table: MutationTable) -> Self {
        Self { table, kinds: Kinds::default(), numbers: BTreeMap::new(), glossary: Glossary::default() }
    }

    pub(crate) fn row(&mut self, record: &Record) -> Row {
        let outcome = &record.outcome;
        let end = match outcome.end {
            End::Goal => self.word("goal"),
            End::Quiet => self.word("quiet"),
            End::Stopped => self.word("stopped"),
            End::Limit(name) => self.word(&format!("limit on {name}")),
        };
        Row {
            end,
            calm: outcome.calm,
            over_budget: outcome.over_budget,
            steps: outcome.steps,
            deliveries: outcome.deliveries,
            commits: outcome.commits,
            completed: outcome.completed,
            injected: outcome.injected,
            marks: outcome.marks,
            fingerprint: outcome.fingerprint,
            found: self.found(record),
        }
    }

    fn found(&mut self, record: &Record) -> Vec<Found> {
        let Record { index, outcome, scenario, bugs, .. } = record;
        let Some(scenario) = scenario else { return Vec::new() };
        let mut all = Vec::new();
        for (nth, violation) in outcome.violations.iter().enumerate() {
            let (kind, new) = self.kinds.number(Traits::of(violation, scenario, outcome), &self.table);
            self.glossary.kinds.extend(new.map(|text| Kind {
                text,
                run: *index,
                detail: violation.words(),
                scenario: scenario.to_toml(),
            }));
            all.push(Found {
                bug: bugs.get(nth).map(|bug| self.word(bug)),
                property: self.word(violation.property.name()),
                rule: self.word(violation.rule),
                outside: violation.outside.as_ref().map(|breach| self.word(breach.assumption.name())),
                kind,
                step: violation.step,
            });
        }
        all
    }

    /// The number of a word.
    fn word(&mut self, word: &str) -> u32 {
        if let Some(&number) = self.numbers.get(word) {
            return number;
        }
        let number = self.glossary.words.len() as u32;
        self.numbers.insert(word.to_owned(), number);
        self.glossary.words.push(word.to_owned());
        number
    }
}
