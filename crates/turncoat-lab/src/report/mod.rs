//! What a finished store says: rates with intervals, comparisons with a baseline, work until the first find.
//!
//! [`Report::read`] goes through a store once, and gives one plain value that all formats print. Numbers are
//! rounded when they are printed, and nowhere else.
//!
//! A *table* is an experiment on a variant; its *rows* are those who searched, each one campaign, or several
//! that differ by their seed alone. What counts as an observation is asked of [`Unit`](crate::stats::Unit):
//! the run, or the whole campaign where a strategy learns. Rows of one seed share some draws; the tests take
//! runs of different rows for independent all the same.

mod compare;
mod faults;
mod heat;
mod kinds;
mod power;
mod print;
mod read;
mod tables;
mod trials;
mod verdict;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use self::compare::Versus;
pub use self::faults::{BINS, Faults};
pub use self::heat::{Heat, HeatCell};
pub use self::kinds::{Kind, scenario};
pub use self::power::Power;
pub use self::print::{Metric, compared_latex, compared_markdown, csv, html, latex, markdown};
pub use self::read::ReportError;
pub use self::trials::{First, Point};
use crate::stats::Interval;

/// The version of the format.
pub const SCHEMA: &str = "turncoat.report/1";

/// All that a report says.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// The file of the store, as it was given.
    pub store: String,
    /// What was asked for.
    #[serde(default)]
    pub wishes: Wishes,
    /// The experiments on their variants, in the order in which they were run.
    pub tables: Vec<Table>,
    /// Which differences so many runs can show.
    pub power: Vec<Power>,
    /// Where the numbers are from.
    pub campaigns: Vec<Source>,
}

/// What a reader wants to know, where the store's own choice is not the one.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Wishes {
    /// The row that the others are compared with. Else it is the first that is called a baseline, else the first
    /// of the strategy `random`, else of `naive`, else the first of all.
    pub baseline: Option<String>,
    /// What counts as success: see [`Table::target`]. Else it is what each campaign was run for.
    pub target: Option<String>,
}

/// An experiment on a variant: who searched there, and what came of it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Table {
    /// `fuzz`, `tune`, `suite`, or the name of an experiment.
    pub experiment: String,
    /// What was run on: a protocol, a variant of a table, the id of a bug.
    pub variant: String,
    /// What counts as success: `any`, a property, `property:rule`, or `bug:ID`.
    pub target: String,
    /// The row that the others are compared with; none where it is not in this table.
    pub baseline: Option<String>,
    /// How the two best rows compare, if there are two.
    #[serde(default)]
    pub best: Option<BestTwo>,
    /// What it comes to, in sentences.
    pub verdict: Vec<String>,
    /// Who searched.
    pub rows: Vec<Row>,
    /// Rates by two parameters of a strategy.
    pub heat: Vec<Heat>,
    /// The kinds of violations, the most frequent first.
    pub kinds: Vec<Kind>,
}

/// Who searched: a strategy with parameters, over all its seeds.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Row {
    /// Its name, unique in the table.
    pub name: String,
    /// The preset of the protocol.
    pub protocol: String,
    /// The strategy.
    pub strategy: String,
    /// Its parameters.
    pub params: BTreeMap<String, String>,
    /// Whether it learns from its runs, so that they depend on each other.
    pub learns: bool,
    /// Campaigns.
    pub campaigns: u64,
    /// Runs of all campaigns.
    pub runs: u64,
    /// Campaigns that ended before the runs that were asked for. If a find ended them, rates are too high.
    pub early: u64,
    /// Runs that hit the target. If the row learns, that is not a rate.
    pub hits: u64,
    /// How often the target was hit, in runs, or in campaigns where the row learns.
    pub success: Share,
    /// Runs that violate each property, apart from those outside of what the protocol assumes.
    pub properties: BTreeMap<String, Share>,
    /// Runs that show each known bug; `other` are violations that are none of the bugs looked for.
    pub bugs: BTreeMap<String, Share>,
    /// The published rates of an experiment, by what was counted: a property, `property:rule`, or `any`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub published: BTreeMap<String, Share>,
    /// What the adversary did.
    pub faults: Faults,
    /// Events of all runs.
    pub steps: u64,
    /// Wall-clock seconds; 0 if unknown.
    pub seconds: f64,
    /// How it compares with the baseline.
    pub versus: Versus,
    /// Runs until the first hit; none where it cannot be said.
    pub first_run: Option<First>,
    /// Steps until the first hit.
    pub first_step: Option<First>,
    /// Why there is no comparison, or no work until the first hit.
    pub refusal: Option<String>,
}

/// The row that finds most, and the best alternative to it. Rows without an adversary do not count.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BestTwo {
    /// The best row.
    pub best: String,
    /// The second best.
    pub second: String,
    /// Fisher's test of the difference; none where the two cannot be compared.
    pub p: Option<f64>,
}

/// So many of so many.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Share {
    /// How many.
    pub hits: u64,
    /// Of how many.
    pub of: u64,
    /// The 95 % Wilson interval; none where the observations depend on each other.
    pub interval: Option<Interval>,
}

/// A campaign of the store.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Source {
    /// Its number in the store.
    pub id: i64,
    /// A hash of all that determines its runs.
    pub key: String,
    /// The seed.
    pub seed: String,
    /// The experiment.
    pub experiment: String,
    /// The variant.
    pub variant: String,
    /// The row.
    pub row: String,
    /// Runs in the store.
    pub runs: u64,
    /// Runs asked for; none if the budget was one of time.
    pub wanted: Option<u64>,
    /// The version of turncoat.
    pub version: String,
    /// The day on which its last run was stored, in UTC; none if an older turncoat did not note it.
    #[serde(default)]
    pub date: Option<String>,
    /// The commands that stored its runs, each once.
    #[serde(default)]
    pub commands: Vec<String>,
}

impl Report {
    /// Puts what somebody knows of a variant, such as a bug of the suite, before the sentences of its table.
    pub fn introduce(&mut self, known: impl Fn(&str) -> Option<String>) {
        for table in &mut self.tables {
            table.verdict.splice(..0, known(&table.variant));
        }
    }
}

impl Report {
    /// Adds the published rates of rows, by experiment, variant and row: see [`Row::published`].
    pub fn publish(&mut self, known: impl Fn(&str, &str, &str) -> Vec<(String, u64, u64)>) {
        for table in &mut self.tables {
            for row in &mut table.rows {
                let rates = known(&table.experiment, &table.variant, &row.name).into_iter();
                row.published.extend(rates.map(|(of, hits, runs)| (of, Share::independent(hits, runs))));
            }
        }
    }
}

impl Share {
    /// Of observations that do not depend on each other.
    pub(crate) fn independent(hits: u64, of: u64) -> Self {
        Self { hits, of, interval: Some(crate::stats::Rate::new(hits, of).interval()) }
    }

    /// Of observations that do.
    pub(crate) fn dependent(hits: u64, of: u64) -> Self {
        Self { hits, of, interval: None }
    }
}
