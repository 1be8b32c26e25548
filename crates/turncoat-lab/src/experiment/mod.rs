//! Experiments: a published table as data, to be run again.
//!
//! An experiment is a grid of campaigns. Its rows are the rows of the table: a strategy with parameters, and what was
//! published for it. Its variants are what the rows are run on: first what the publication tested, then what it is to be
//! compared with, the correct protocol among them.
//!
//! Where a table is about liveness, its rows have checks ([`liveness`]), and its campaigns are sampled.

pub mod liveness;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Deserialize;
use toml::{Table, Value};
use turncoat_core::outcome::{Outcome, Property, Violation};
use turncoat_core::scenario::{SCHEMA, Scenario};

use crate::campaign::{Record, params};
use crate::stats::{Estimate, LEVEL, Rate, paired_difference};
use crate::summary::Summary;

/// A published table, and how to run it again.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Experiment {
    /// What the table shows.
    pub title: String,
    /// Runs of each campaign, where nobody wants another number.
    pub runs: u64,
    /// Runs of each campaign in the publication, if there is one.
    #[serde(default)]
    pub published_runs: u64,
    /// What is counted, in the order of the columns. Tables about liveness have columns of their own.
    #[serde(default)]
    columns: Vec<Column>,
    /// Tables about liveness: after how many hot rounds in a row a run is suspect.
    #[serde(default)]
    temperatures: Vec<u32>,
    /// The variant whose runs say how long a run may take: the correct protocol.
    #[serde(default)]
    bounds: Option<String>,
    /// What all scenarios share.
    #[serde(default)]
    scenario: Table,
    /// Parameters of strategies that several rows share.
    #[serde(default)]
    sets: BTreeMap<String, Table>,
    variants: Vec<Variant>,
    rows: Vec<Row>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Column {
    name: String,
    /// A property, a property and its rule (`integrity:twice`), or `any`.
    of: String,
}

/// What the rows are run on.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Variant {
    name: String,
    /// Keys of the scenario.
    scenario: Table,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    strategy: String,
    /// The names of sets, of which the last counts most.
    #[serde(default)]
    with: Vec<String>,
    #[serde(default)]
    set: Table,
    #[serde(default)]
    scenario: Table,
    /// The published counts, in the order of the columns as far as they were counted.
    #[serde(default)]
    published: Vec<u64>,
    /// The name of a row to which it is compared, run by run: all rows share their seeds.
    #[serde(default)]
    against: Option<String>,
    /// How its runs come under suspicion, each a line of a table about liveness.
    #[serde(default)]
    checks: Vec<liveness::Check>,
    /// How many views are looked at, if rounds are not views.
    #[serde(default)]
    views: Option<u32>,
    /// The published mean and standard deviation of the seconds that a run takes.
    #[serde(default)]
    seconds: Option<[f64; 2]>,
}

/// One campaign of the grid.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Which variant and which row, by name.
    pub variant: String,
    /// See `variant`.
    pub row: String,
    /// What all its runs share.
    pub base: Scenario,
    /// The name of the strategy.
    pub strategy: String,
    /// The strategy's parameters.
    pub params: Vec<(String, String)>,
    /// How many rounds of its runs are looked at, if it is about liveness.
    pub rounds: Option<u32>,
}

/// What a campaign of the grid came to.
#[derive(Clone, Debug)]
pub struct Ran {
    /// All its runs.
    pub summary: Summary,
    /// Of each column the runs that it counts.
    hits: Vec<Vec<u64>>,
}

impl Experiment {
    /// Reads a file's text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let experiment: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        for column in &experiment.columns {
            column.property()?;
        }
        experiment.cells()?;
        for row in &experiment.rows {
            if let Some(other) =
                row.against.as_ref().filter(|&name| experiment.rows.iter().all(|row| row.name != *name))
            {
                return Err(format!("{}: there is no row `{other}` to compare it to", row.name));
            }
        }
        experiment.check_bounds()?;
        Ok(experiment)
    }

    /// The campaigns, variant by variant.
    pub fn cells(&self) -> Result<Vec<Cell>, String> {
        let grid = self.variants.iter().flat_map(|variant| self.rows.iter().map(move |row| (variant, row)));
        grid.map(|(variant, row)| self.cell(variant, row)).collect()
    }

    fn cell(&self, variant: &Variant, row: &Row) -> Result<Cell, String> {
        let mut scenario = Table::from_iter([("schema".to_owned(), Value::from(i64::from(SCHEMA)))]);
        for more in [&self.scenario, &row.scenario, &variant.scenario] {
            merge(&mut scenario, more);
        }
        let named = |error| format!("{}, {}: {error}", variant.name, row.name);
        let mut set = Table::new();
        for name in &row.with {
            let known = || format!("no set `{name}`. There are: {:?}", self.sets.keys());
            merge(&mut set, self.sets.get(name).ok_or_else(known).map_err(named)?);
        }
        merge(&mut set, &row.set);
        let rounds = self.views_of(row, &set).map_err(named)?;
        Ok(Cell {
            variant: variant.name.clone(),
            row: row.name.clone(),
            base: Scenario::parse(&scenario.to_string()).map_err(|error| named(error.to_string()))?,
            strategy: row.strategy.clone(),
            params: params(&set),
            rounds,
        })
    }

    /// The tables in Markdown: what the cells came to, in their order.
    pub fn markdown(&self, results: &[Ran]) -> String {
        let mut text = String::new();
        for (i, (variant, results)) in self.variants.iter().zip(results.chunks(self.rows.len())).enumerate() {
            let ran: Vec<(&Row, &Ran)> = self.rows.iter().zip(results).collect();
            let runs = ran.first().map_or(0, |(_, ran)| ran.summary.runs);
            let _ = writeln!(text, "\n{}, violating runs of {runs}:\n", variant.name);
            let names = self.columns.iter().map(|column| column.name.as_str());
            table(
                &mut text,
                names.chain(["disturbed", "lies", "accepted"]),
                ran.iter().map(|(row, ran)| {
                    let Summary { disturbed, injected, .. } = &ran.summary;
                    let injected = [*disturbed, injected.mutated, injected.accepted];
                    let counts = self.counts(ran).map(|(_, count)| count).chain(injected);
                    (row.name.clone(), counts.map(|count| count.to_string()).collect())
                }),
            );
            self.write_differences(&mut text, &variant.name, &ran);
            if i == 0 && self.published_runs > 0 {
                let _ = writeln!(
                    text,
                    "\n{}, rates in %, ours and those published for {} runs:\n",
                    variant.name, self.published_runs
                );
                let published = |(row, _): &&(&Row, &Ran)| !row.published.is_empty();
                let most = ran.iter().map(|(row, _)| row.published.len()).max().unwrap_or(0);
                let names = self.columns.iter().take(most).map(|column| column.name.as_str());
                table(
                    &mut text,
                    names,
                    ran.iter().filter(published).map(|(row, ran)| (row.name.clone(), self.beside(row, ran))),
                );
            }
            if ran.iter().any(|(_, ran)| ran.summary.bugs.keys().any(|id| &**id != crate::suspects::OTHER)) {
                let _ = writeln!(text, "\n{}, violating runs by the bug behind them:\n", variant.name);
                table(
                    &mut text,
                    ["bugs"].into_iter(),
                    ran.iter().map(|(row, ran)| (row.name.clone(), vec![bugs(&ran.summary)])),
                );
            }
        }
        text
    }

    /// By how much the rates of rows differ from those of the rows to which they are compared, and all of them together.
    fn write_differences(&self, text: &mut String, variant: &str, ran: &[(&Row, &Ran)]) {
        let other = |row: &Row| ran.iter().find(|(other, _)| Some(&other.name) == row.against.as_ref());
        let pairs: Vec<(&str, &Ran, &Ran)> =
            ran.iter().filter_map(|(row, own)| Some((row.name.as_str(), *own, other(row)?.1))).collect();
        let Some((_, Ran { summary, .. }, _)) = pairs.first() else { return };
        let runs = summary.runs;
        let differences = |pairs: &[(&str, &Ran, &Ran)]| {
            let column = |column: usize| {
                let mut more: BTreeMap<u64, i64> = BTreeMap::new();
                for (_, own, other) in pairs {
                    own.hits[column].iter().for_each(|&run| *more.entry(run).or_default() += 1);
                    other.hits[column].iter().for_each(|&run| *more.entry(run).or_default() -= 1);
                }
                let more: Vec<i64> = more.into_values().filter(|&more| more != 0).collect();
                let Estimate { value, interval } = paired_difference(&more, runs, LEVEL);
                let points = 100.0 / pairs.len() as f64;
                let [value, low, high] = [value, interval.low, interval.high].map(|x| x * points);
                format!("{value:+.3} [{low:+.3}, {high:+.3}]")
            };
            (0..self.columns.len()).map(column).collect()
        };
        let _ =
            writeln!(text, "\n{variant}, differences of rates in points, run by run, with 95 % intervals:\n");
        let names = self.columns.iter().map(|column| column.name.as_str());
        let one = pairs.iter().map(|pair| (pair.0.to_owned(), differences(&[*pair])));
        table(text, names, one.chain([("all together".to_owned(), differences(&pairs))]));
    }

    /// Our rates of a row beside the published ones, each with its 95 % interval (Wilson). `!`: the intervals do not
    /// overlap. `~`: they do, though the published rate is outside of ours.
    fn beside(&self, row: &Row, ran: &Ran) -> Vec<String> {
        let beside = |(&then, (_, now)): (&u64, (&str, u64))| {
            let then = Rate::new(then.min(self.published_runs), self.published_runs);
            let now = Rate::new(now, ran.summary.runs);
            let (theirs, ours) = (then.interval(), now.interval());
            let mark = match () {
                () if theirs.high < ours.low || ours.high < theirs.low => " !",
                () if !(ours.low..=ours.high).contains(&then.estimate()) => " ~",
                () => "",
            };
            format!("{} / {}{mark}", percent(now), percent(then))
        };
        row.published.iter().zip(self.counts(ran)).map(beside).collect()
    }

    /// The counts of a cell by column.
    pub fn counts<'a>(&'a self, ran: &'a Ran) -> impl Iterator<Item = (&'a str, u64)> {
        let names = self.columns.iter().map(|column| column.name.as_str());
        names.zip(ran.hits.iter().map(|runs| runs.len() as u64))
    }

    /// The published counts of a row: what was counted, in how many runs, of how many. Only the first variant was published.
    pub fn published(&self, variant: &str, row: &str) -> Vec<(String, u64, u64)> {
        let first = self.variants.first().is_some_and(|first| first.name == variant);
        let row =
            self.rows.iter().find(|known| known.name == row).filter(|_| first && self.published_runs > 0);
        let counts = row.map_or(&[][..], |row| &row.published);
        let count = |(column, &hits): (&Column, _)| (column.of.clone(), hits, self.published_runs);
        self.columns.iter().zip(counts).map(count).collect()
    }

    /// What a campaign has come to before its first run.
    pub fn nothing(&self) -> Ran {
        Ran { summary: Summary::default(), hits: vec![Vec::new(); self.columns.len()] }
    }

    /// Takes down which columns count a run.
    pub fn see(&self, record: &Record, ran: &mut Ran) {
        for (column, runs) in self.columns.iter().zip(&mut ran.hits) {
            if column.counts(&record.outcome) {
                runs.push(record.index);
            }
        }
    }
}

impl Column {
    /// Which property it counts, if not any, and by which of its rules.
    fn property(&self) -> Result<Option<(Property, Option<&str>)>, String> {
        if self.of == "any" {
            return Ok(None);
        }
        let (name, rule) =
            self.of.split_once(':').map_or((self.of.as_str(), None), |(p, rule)| (p, Some(rule)));
        Ok(Some((name.parse().map_err(|error| format!("{error}, any"))?, rule)))
    }

    /// Whether it counts such a run.
    fn counts(&self, outcome: &Outcome) -> bool {
        match self.property() {
            Ok(Some((property, rule))) => {
                let wanted = |v: &Violation| v.property == property && rule.is_none_or(|rule| rule == v.rule);
                outcome.violations.iter().any(wanted)
            }
            _ => !outcome.violations.is_empty(),
        }
    }
}

/// A rate in %, with its interval; with more digits where more runs are behind it.
fn percent(rate: Rate) -> String {
    let interval = rate.interval();
    let digits = match rate.runs {
        0..1000 => 1,
        1000..100_000 => 2,
        _ => 3,
    };
    let [rate, low, high] = [rate.estimate(), interval.low, interval.high].map(|x| 100.0 * x);
    format!("{rate:.digits$} [{low:.digits$}, {high:.digits$}]")
}

/// How many runs show which bug, most first. The rows of a suite's protocol are known by their last name.
fn bugs(summary: &Summary) -> String {
    let mut bugs: Vec<(&str, u64)> = summary.bugs.iter().map(|(id, &runs)| (&**id, runs)).collect();
    bugs.sort_by_key(|&(id, runs)| (Reverse(runs), id));
    let bugs = bugs.iter().map(|(id, runs)| format!("{id} {runs}"));
    bugs.reduce(|all, next| format!("{all}, {next}")).unwrap_or_else(|| "-".to_owned())
}

/// A table in Markdown, whose first column has no name.
fn table<'a>(
    text: &mut String,
    head: impl Iterator<Item = &'a str>,
    rows: impl Iterator<Item = (String, Vec<String>)>,
) {
    let head: Vec<&str> = [""].into_iter().chain(head).collect();
    let _ = writeln!(text, "| {} |\n|{}", head.join(" | "), "---|".repeat(head.len()));
    for (name, cells) in rows {
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    }
}

/// Puts the keys of one table into another, table by table.
fn merge(into: &mut Table, from: &Table) {
    for (key, value) in from {
        match (into.get_mut(key), value) {
            (Some(Value::Table(into)), Value::Table(from)) => merge(into, from),
            _ => drop(into.insert(key.clone(), value.clone())),
        }
    }
}
