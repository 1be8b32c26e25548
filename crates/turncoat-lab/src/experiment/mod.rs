//! Experiments: a published table as data, to be run again.
//!
//! An experiment is a grid of campaigns. Its rows are the rows of the table: a strategy with parameters, and what was
//! published for it. Its variants are what the rows are run on: first what the publication tested, then what it is to be
//! compared with, the correct protocol among them.
//!
//! Where a table is about liveness, its rows have checks ([`liveness`]), and its campaigns are sampled.

pub mod liveness;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

use serde::Deserialize;
use toml::{Table, Value};
use turncoat_core::logs::LogCheck;
use turncoat_core::outcome::{Property, Violation};
use turncoat_core::scenario::{SCHEMA, Scenario};

use crate::campaign::{Record, params};
use crate::liveness::Hot;
use crate::number::p_value;
use crate::stats::{Estimate, LEVEL, Rate, fisher, paired_difference};
use crate::summary::Summary;
use crate::suspects::is_known;

/// Sets of flags that a cell of a table lists.
const SETS: usize = 4;

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
    /// The variant of which the rounds say how long a run may take.
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
    /// A property, a property and its rule (`integrity:twice`), a way to compare logs (`agreement-by-slot`), or `any`.
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
    /// Which locks count in a hot state.
    #[serde(default)]
    hot: Hot,
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
    /// And which locks count in a hot state.
    pub hot: Hot,
}

/// What a campaign of the grid came to.
#[derive(Clone, Debug)]
pub struct Ran {
    /// All its runs.
    pub summary: Summary,
    /// Of each column the runs that it counts.
    hits: Vec<Vec<u64>>,
    /// Of each column how many of these runs show which bug, or need which flags.
    bugs: Vec<BTreeMap<Arc<str>, u64>>,
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

    /// The names of its rows.
    pub fn rows(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().map(|row| row.name.as_str())
    }

    /// Leaves out all rows but these.
    pub fn keep_rows(&mut self, names: &[String]) {
        self.rows.retain(|row| names.contains(&row.name));
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
        let base = Scenario::parse(&scenario.to_string()).map_err(|error| named(error.to_string()))?;
        let rounds = self.views_of(row, &set).map_err(named)?;
        Ok(Cell {
            variant: variant.name.clone(),
            row: row.name.clone(),
            base: Scenario { checks: self.columns.iter().filter_map(Column::check).collect(), ..base },
            strategy: row.strategy.clone(),
            params: params(&set),
            rounds,
            hot: row.hot,
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
                let rows = ran.iter().filter(published);
                let rows = rows.map(|(row, ran)| (row.name.clone(), self.beside(row, ran)));
                table(&mut text, names, rows.chain(self.pooled(&ran)));
            }
            self.write_bugs(&mut text, &variant.name, &ran);
        }
        text
    }

    /// What the runs of each column are put down to, where that was asked: a table of the rows and columns that have any.
    fn write_bugs(&self, text: &mut String, variant: &str, ran: &[(&Row, &Ran)]) {
        let ran: Vec<_> =
            ran.iter().filter(|(_, ran)| ran.bugs.iter().any(|bugs| !bugs.is_empty())).collect();
        if ran.is_empty() {
            return;
        }
        let _ = writeln!(text, "\n{variant}, violating runs by the known bug or the flags behind them:\n");
        let shown = |&column: &usize| ran.iter().any(|(_, ran)| !ran.bugs[column].is_empty());
        let columns: Vec<usize> = (0..self.columns.len()).filter(shown).collect();
        let cells = |ran: &Ran| columns.iter().map(|&column| bugs(&ran.bugs[column])).collect();
        table(
            text,
            columns.iter().map(|&column| self.columns[column].name.as_str()),
            ran.iter().map(|(row, ran)| (row.name.clone(), cells(ran))),
        );
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

    /// Our rates of a row beside the published ones.
    fn beside(&self, row: &Row, ran: &Ran) -> Vec<String> {
        let counts = self.counts(ran).map(|(_, now)| Rate::new(now, ran.summary.runs));
        let then =
            row.published.iter().map(|&then| Rate::new(then.min(self.published_runs), self.published_runs));
        counts.zip(then).map(|(ours, theirs)| beside(ours, theirs)).collect()
    }

    /// The same of all rows of a strategy together: small differences that have one direction show here. Each row has as many
    /// runs as the others, in both tables, so the sums compare like with like.
    fn pooled(&self, ran: &[(&Row, &Ran)]) -> Vec<(String, Vec<String>)> {
        let mut strategies: BTreeMap<&str, (usize, Vec<[Rate; 2]>)> = BTreeMap::new();
        for (row, ran) in ran.iter().filter(|(row, _)| !row.published.is_empty()) {
            let (rows, columns) = strategies.entry(&row.strategy).or_default();
            *rows += 1;
            columns.resize(columns.len().max(row.published.len()), <[Rate; 2]>::default());
            for ([ours, theirs], ((_, now), &then)) in
                columns.iter_mut().zip(self.counts(ran).zip(&row.published))
            {
                *ours = Rate::new(ours.hits + now, ours.runs + ran.summary.runs);
                let then = then.min(self.published_runs);
                *theirs = Rate::new(theirs.hits + then, theirs.runs + self.published_runs);
            }
        }
        let many = strategies.into_iter().filter(|(_, (rows, _))| *rows > 1);
        let line = |(strategy, (rows, columns)): (_, (_, Vec<[Rate; 2]>))| {
            let cells = columns.into_iter().map(|[ours, theirs]| beside(ours, theirs));
            (format!("the {rows} rows of {strategy} together"), cells.collect())
        };
        many.map(line).collect()
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
        let columns = self.columns.len();
        Ran {
            summary: Summary::default(),
            hits: vec![Vec::new(); columns],
            bugs: vec![BTreeMap::new(); columns],
        }
    }

    /// Takes down which columns count a run, and what it is put down to there.
    pub fn see(&self, record: &Record, ran: &mut Ran) {
        let violations = &record.outcome.violations;
        for ((column, runs), bugs) in self.columns.iter().zip(&mut ran.hits).zip(&mut ran.bugs) {
            if violations.iter().any(|violation| column.is_about(violation)) {
                runs.push(record.index);
            }
            let named =
                violations.iter().zip(&record.bugs).filter(|(violation, _)| column.is_about(violation));
            let names: BTreeSet<&Arc<str>> = named.map(|(_, bug)| bug).collect();
            for name in names {
                *bugs.entry(Arc::clone(name)).or_default() += 1;
            }
        }
    }
}

impl Column {
    /// How logs are compared for it, if they are.
    fn check(&self) -> Option<LogCheck> {
        self.of.parse().ok()
    }

    /// Which property it counts, if not any, and by which of its rules.
    fn property(&self) -> Result<Option<(Property, Option<&str>)>, String> {
        if self.of == "any" {
            return Ok(None);
        }
        if let Some(check) = self.check() {
            return Ok(Some((Property::Custom, Some(check.name()))));
        }
        let (name, rule) =
            self.of.split_once(':').map_or((self.of.as_str(), None), |(p, rule)| (p, Some(rule)));
        let checks = || LogCheck::ALL.map(LogCheck::name).join(", ");
        Ok(Some((name.parse().map_err(|error| format!("{error}, {}, any", checks()))?, rule)))
    }

    /// Whether it counts runs with such a violation.
    fn is_about(&self, violation: &Violation) -> bool {
        match self.property() {
            Ok(Some((property, rule))) => {
                property == violation.property && rule.is_none_or(|rule| rule == violation.rule)
            }
            // What somebody else would count is no violation of ours.
            _ => !violation.compares_logs(),
        }
    }
}

/// Our rate beside the published one, each with its 95 % interval (Wilson); and what Fisher's exact test says, if so large a
/// difference comes by chance in less than 1 of 20 cells.
fn beside(ours: Rate, theirs: Rate) -> String {
    let p = fisher(ours, theirs);
    let p = match p < 0.05 {
        true => format!(", p {}", p_value::related(p)),
        false => String::new(),
    };
    format!("{} / {}{p}", percent(ours), percent(theirs))
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

/// How many runs show which bug, most first; and how many need which sets of flags, of which only the most frequent are listed.
fn bugs(bugs: &BTreeMap<Arc<str>, u64>) -> String {
    let mut bugs: Vec<(&str, u64)> = bugs.iter().map(|(id, &runs)| (&**id, runs)).collect();
    bugs.sort_by_key(|&(id, runs)| (Reverse(runs), id));
    let (known, sets): (Vec<_>, Vec<_>) = bugs.into_iter().partition(|(id, _)| is_known(id));
    let (often, seldom) = sets.split_at(sets.len().min(SETS));
    let mut cells: Vec<String> = known.iter().chain(often).map(|(id, runs)| format!("{id} {runs}")).collect();
    match seldom.iter().map(|(_, runs)| runs).sum::<u64>() {
        0 if cells.is_empty() => "-".to_owned(),
        0 => cells.join(", "),
        runs => {
            cells.push(format!("{} other sets {runs}", seldom.len()));
            cells.join(", ")
        }
    }
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
