//! The report as a text: Markdown, or the tables for LaTeX.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::super::{Report, Row, Table, Versus, Wishes};
use super::grid::{Grid, latex_text, markdown_text};
use super::grids::{self, Metric};
use super::number::count;
use crate::words::shell_word;

/// The usual chance of a false alarm.
pub(super) const ALPHA: f64 = 0.05;

/// Kinds of violations shown for each table; the JSON has all.
const KINDS: usize = 10;

/// The report as Markdown.
pub fn markdown(report: &Report) -> String {
    let mut text = format!("# Report of {}\n\n{}\n", markdown_text(&report.store), summary(report));
    for table in &report.tables {
        let _ = writeln!(text, "\n## {}\n", markdown_text(&grids::title(table)));
        for sentence in &table.verdict {
            let _ = writeln!(text, "- {}", markdown_text(sentence));
        }
        for grid in tables_of(table) {
            let _ = write!(text, "\n{}:\n\n{}", markdown_text(&grid.caption), grid.markdown());
        }
        kinds(&mut text, table, &report.store);
    }
    if report.tables.is_empty() {
        return text;
    }
    let _ = writeln!(
        text,
        "\n## What this many runs can show\n\n{POWER}\n\n{}",
        grids::power(&report.power).markdown()
    );
    let _ = writeln!(text, "## Where the numbers come from\n\n{}", grids::campaigns(report).markdown());
    let commands = commands(report);
    if !commands.is_empty() {
        let _ = writeln!(text, "The runs were made by:\n\n    {}\n", commands.join("\n    "));
    }
    let _ = writeln!(text, "To print this page again:\n\n    {} --format md", again(report));
    text
}

/// The command that makes a report again, but for its format.
pub(super) fn again(report: &Report) -> String {
    let Wishes { baseline, target } = &report.wishes;
    let option = |name, value: &Option<String>| {
        value.as_deref().map_or_else(String::new, |value| format!(" --{name} {}", shell_word(value)))
    };
    format!(
        "turncoat report {}{}{}",
        shell_word(&report.store),
        option("baseline", baseline),
        option("target", target)
    )
}

/// Commands that are shown: a merged store has one for each shard.
const COMMANDS: usize = 8;

/// The commands that stored the runs, each once.
pub(super) fn commands(report: &Report) -> Vec<String> {
    let mut all: Vec<&String> = Vec::new();
    for command in report.campaigns.iter().flat_map(|source| &source.commands) {
        if !all.contains(&command) {
            all.push(command);
        }
    }
    let left = all.len().saturating_sub(COMMANDS);
    let more = (left > 0).then(|| format!("# and {left} more"));
    all.into_iter().take(COMMANDS).cloned().chain(more).collect()
}

/// For the table of power.
pub(super) const POWER: &str = "A difference of this size is detected with a probability of 80 %, by a test with a \
    false-alarm rate of 5 %. Smaller differences may exist and go undetected.";

/// How much there is, from which version and when.
pub(super) fn summary(report: &Report) -> String {
    let runs: u64 = report.campaigns.iter().map(|source| source.runs).sum();
    let many = if runs == 1 { "run" } else { "runs" };
    let size = match report.campaigns.len() {
        0 => return "The store has no runs.".to_owned(),
        1 => format!("{} {many} of one campaign", count(runs)),
        n => format!("{} {many} of {n} campaigns", count(runs)),
    };
    let versions: BTreeSet<&str> = report.campaigns.iter().map(|source| source.version.as_str()).collect();
    let versions = versions.into_iter().collect::<Vec<_>>().join(", ");
    let dates: BTreeSet<&str> = report.campaigns.iter().filter_map(|source| source.date.as_deref()).collect();
    let when = match (dates.first(), dates.last()) {
        (Some(first), Some(last)) if first == last => format!(", on {first}"),
        (Some(first), Some(last)) => format!(", from {first} to {last}"),
        _ => String::new(),
    };
    format!("{size}, by turncoat {versions}{when}.")
}

/// What a table shows, in the order in which one reads it.
fn tables_of(table: &Table) -> Vec<Grid> {
    let mut all = vec![grids::results(table)];
    all.extend(grids::published(table));
    if table.rows.len() > 1 {
        let metrics = [Metric::Success, Metric::RunsToFirst, Metric::StepsToFirst];
        all.extend(metrics.map(|metric| grids::compared(table, metric, ALPHA)));
    }
    all.extend(table.heat.iter().map(grids::heat));
    all.push(grids::faults(table));
    all
}

fn kinds(text: &mut String, table: &Table, store: &str) {
    if table.kinds.is_empty() {
        return;
    }
    let mut grid = Grid::new("", &["kind", "count", "first", "what it showed", "scenario"]);
    for kind in table.kinds.iter().take(KINDS) {
        let first = format!("run {} of {}", count(kind.run), kind.row);
        let scenario = format!("{}/{}", kind.campaign, kind.id);
        grid.rows.push(vec![kind.text.clone(), count(kind.count), first, kind.detail.clone(), scenario]);
    }
    let all = table.kinds.len();
    let shown = if all > KINDS { format!(", {KINDS} of {all}") } else { String::new() };
    let example = &table.kinds[0];
    let _ = write!(
        text,
        "\nKinds of violations{shown}. To see one: `turncoat report {store} --scenario {}/{} > found.toml`, then \
         `turncoat explain found.toml`:\n\n{}",
        example.campaign,
        example.id,
        grid.markdown()
    );
}

/// The tables for LaTeX, with the rules of the package booktabs.
pub fn latex(report: &Report) -> String {
    let mut text = format!("% {}\n", latex_text(&report.store));
    for table in &report.tables {
        for grid in tables_of(table) {
            text.push_str(&named(table, grid).latex());
        }
    }
    text
}

/// Every row against its baseline, as Markdown.
pub fn compared_markdown(report: &Report, metric: Metric, alpha: f64) -> String {
    let mut text = String::new();
    for table in compared(report) {
        let grid = named(table, grids::compared(table, metric, alpha));
        let _ = write!(text, "{}:\n\n{}\n", markdown_text(&grid.caption), grid.markdown());
        let refused = |row: &&Row| match metric {
            Metric::Success => row.versus == Versus::None,
            Metric::RunsToFirst | Metric::StepsToFirst => row.first_run.is_none(),
        };
        let refusals = table.rows.iter().filter(refused).filter_map(|row| row.refusal.as_ref());
        let mut refusals: Vec<&String> = refusals.collect();
        refusals.dedup();
        for why in refusals {
            let _ = write!(text, "Not compared: {}.\n\n", markdown_text(why));
        }
    }
    text
}

/// Every row against its baseline, for LaTeX.
pub fn compared_latex(report: &Report, metric: Metric, alpha: f64) -> String {
    let grid = |table| named(table, grids::compared(table, metric, alpha)).latex();
    compared(report).map(grid).collect()
}

/// The tables that have the baseline.
fn compared(report: &Report) -> impl Iterator<Item = &Table> {
    report.tables.iter().filter(|table| table.baseline.is_some())
}

/// A table of its own must say what it is about.
fn named(table: &Table, grid: Grid) -> Grid {
    Grid { caption: format!("{}. {}", grids::title(table), grid.caption), ..grid }
}
