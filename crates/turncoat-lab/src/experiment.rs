//! Experiments: a published table as data, to be run again.
//!
//! An experiment is a grid of campaigns. Its rows are the rows of the table: a strategy with parameters, and what was
//! published for it. Its variants are what the rows are run on: first what the publication tested, then what it is to be
//! compared with, the correct protocol among them.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Deserialize;
use toml::{Table, Value};
use turncoat_core::outcome::Property;
use turncoat_core::scenario::{SCHEMA, Scenario};

use crate::campaign::params;
use crate::stats::Rate;
use crate::summary::Summary;

/// A published table, and how to run it again.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Experiment {
    /// What the table shows.
    pub title: String,
    /// Runs of each campaign, where nobody wants another number.
    pub runs: u64,
    /// Runs of each campaign in the publication.
    pub published_runs: u64,
    /// What is counted, in the order of the columns.
    columns: Vec<Column>,
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
}

impl Experiment {
    /// Reads a file's text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let experiment: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        for column in &experiment.columns {
            column.count(&Summary::default())?;
        }
        experiment.cells()?;
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
        Ok(Cell {
            variant: variant.name.clone(),
            row: row.name.clone(),
            base: Scenario::parse(&scenario.to_string()).map_err(|error| named(error.to_string()))?,
            strategy: row.strategy.clone(),
            params: params(&set),
        })
    }

    /// The tables in Markdown: what the cells came to, in their order, with what was published beside the first variant.
    /// An exclamation mark: the 95 % intervals of the published rate and of ours do not overlap.
    pub fn markdown(&self, results: &[Summary]) -> String {
        let mut text = String::new();
        for (variant, results) in self.variants.iter().zip(results.chunks(self.rows.len())) {
            let first = variant.name == self.variants[0].name;
            let runs = results.first().map_or(0, |summary| summary.runs);
            let mut head = vec![String::new()];
            head.extend(self.columns.iter().map(|column| column.name.clone()));
            head.extend(["lies".to_owned(), "accepted".to_owned()]);
            head.extend(first.then(|| format!("published, of {}", self.published_runs)));
            let _ = writeln!(text, "\n{}, violating runs of {runs}:\n", variant.name);
            let _ = writeln!(text, "| {} |\n|{}", head.join(" | "), "---|".repeat(head.len()));
            for (row, summary) in self.rows.iter().zip(results) {
                let mut cells = vec![row.name.clone()];
                cells.extend(self.counts(summary).map(|(_, count)| count.to_string()));
                cells.extend([summary.injected.mutated, summary.injected.accepted].map(|n| n.to_string()));
                cells.extend(first.then(|| self.published(row, summary)));
                let _ = writeln!(text, "| {} |", cells.join(" | "));
            }
        }
        text
    }

    /// What was published for a row, column by column as far as it was counted.
    fn published(&self, row: &Row, summary: &Summary) -> String {
        let beside = |(&then, (name, now)): (&u64, (&str, u64))| {
            let then_rate = Rate::new(then.min(self.published_runs), self.published_runs).interval();
            let now_rate = Rate::new(now, summary.runs).interval();
            let apart = then_rate.high < now_rate.low || now_rate.high < then_rate.low;
            format!("{name} {then}{}", if apart { "!" } else { "" })
        };
        let cells: Vec<String> = row.published.iter().zip(self.counts(summary)).map(beside).collect();
        if cells.is_empty() { "-".to_owned() } else { cells.join(", ") }
    }

    /// The counts of a cell by column.
    pub fn counts<'a>(&'a self, summary: &'a Summary) -> impl Iterator<Item = (&'a str, u64)> {
        self.columns.iter().map(|column| (column.name.as_str(), column.count(summary).unwrap_or_default()))
    }
}

impl Column {
    fn count(&self, summary: &Summary) -> Result<u64, String> {
        if self.of == "any" {
            return Ok(summary.violating);
        }
        let (name, rule) =
            self.of.split_once(':').map_or((self.of.as_str(), None), |(p, rule)| (p, Some(rule)));
        let property: Property = name.parse().map_err(|error| format!("{error}, any"))?;
        Ok(match rule {
            None => summary.violations.get(&property).copied().unwrap_or_default(),
            Some(rule) => {
                let broken = summary.rules.iter().find(|((p, r), _)| (*p, *r) == (property, rule));
                broken.map_or(0, |(_, &count)| count)
            }
        })
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
