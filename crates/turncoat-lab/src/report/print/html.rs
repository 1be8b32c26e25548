//! The report as one page that needs nothing else: text, tables, data and the code that draws the plots.

use minijinja::Environment;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use serde::Serialize;

use super::super::{Kind, Report, ReportError, Row, Share, Table, Versus};
use super::grid::Grid;
use super::grids::{self, Metric};
use super::markdown::{ALPHA, POWER, again, commands, summary};
use super::number::{count, percent};

const TEMPLATE: &str = include_str!("../page/report.html");
const STYLE: &str = include_str!("../page/report.css");
const SCRIPT: &str = include_str!("../page/report.js");
/// The libraries, each after its licence.
const LIBRARIES: [(&str, &str); 2] = [
    (include_str!("../page/vendor/d3.LICENSE"), include_str!("../page/vendor/d3.min.js")),
    (include_str!("../page/vendor/plot.LICENSE"), include_str!("../page/vendor/plot.umd.min.js")),
];

/// Kinds of violations shown for each table; the JSON has all.
const KINDS: usize = 30;

/// Tables of an experiment that are shown unfolded.
const OPEN: usize = 6;

/// All that the template shows.
#[derive(Serialize)]
struct Page<'a> {
    store: &'a str,
    summary: String,
    commands: Vec<String>,
    again: String,
    chapters: Vec<Chapter<'a>>,
    power: Grid,
    power_text: &'a str,
    campaigns: Grid,
    style: &'a str,
    script: &'a str,
    libraries: [(&'a str, &'a str); 2],
    data: String,
}

/// An experiment.
#[derive(Serialize)]
struct Chapter<'a> {
    experiment: &'a str,
    matrix: Matrix,
    tables: Vec<Section<'a>>,
    open: bool,
}

/// An experiment on a variant.
#[derive(Serialize)]
struct Section<'a> {
    /// Its place in the report.
    index: usize,
    variant: &'a str,
    sentences: &'a [String],
    found: bool,
    compared: bool,
    results: Grid,
    published: Option<Grid>,
    rates: Grid,
    runs: Grid,
    steps: Grid,
    survival: bool,
    heat: Vec<Grid>,
    faults: Grid,
    kinds: &'a [Kind],
    kinds_left: usize,
}

/// Who found what how often, as a table with bars. The longer side goes down.
#[derive(Serialize)]
struct Matrix {
    corner: &'static str,
    head: Vec<String>,
    rows: Vec<(String, Vec<Option<Cell>>)>,
    /// The ticks of the bars, in per cent.
    ticks: Vec<String>,
}

#[derive(Clone, Serialize)]
struct Cell {
    short: String,
    long: String,
    /// Where the bar begins and ends, and where the rate is, in per cent of the width.
    low: f64,
    high: f64,
    at: Option<f64>,
    /// How it compares with the baseline: `more`, `less`, `baseline`, or nothing.
    versus: &'static str,
}

/// The report as a page.
pub fn html(report: &Report) -> Result<String, ReportError> {
    let mut environment = Environment::new();
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.add_filter("count", count);
    environment.add_template("report.html", TEMPLATE)?;
    let page = Page {
        store: &report.store,
        summary: summary(report),
        commands: commands(report),
        again: again(report),
        chapters: chapters(report),
        power: grids::power(&report.power),
        power_text: POWER,
        campaigns: grids::campaigns(report),
        style: STYLE,
        script: SCRIPT,
        libraries: LIBRARIES,
        data: data(report),
    };
    Ok(environment.get_template("report.html")?.render(Serde(page))?)
}

/// What the plots need, as JSON that cannot end its element.
fn data(report: &Report) -> String {
    let mut plots = report.clone();
    plots.campaigns.clear();
    plots.tables.iter_mut().for_each(|table| table.kinds.clear());
    let json = serde_json::to_string(&plots).unwrap_or_default();
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

fn chapters(report: &Report) -> Vec<Chapter<'_>> {
    let mut chapters: Vec<(&str, Vec<usize>)> = Vec::new();
    for (index, table) in report.tables.iter().enumerate() {
        match chapters.iter_mut().find(|(experiment, _)| *experiment == table.experiment) {
            Some((_, tables)) => tables.push(index),
            None => chapters.push((&table.experiment, vec![index])),
        }
    }
    let chapter = |(experiment, indices): (_, Vec<usize>)| {
        let tables: Vec<&Table> = indices.iter().map(|&index| &report.tables[index]).collect();
        let sections = indices.iter().map(|&index| section(index, &report.tables[index]));
        Chapter {
            experiment,
            matrix: matrix(&tables),
            tables: sections.collect(),
            open: tables.len() <= OPEN,
        }
    };
    chapters.into_iter().map(chapter).collect()
}

fn section(index: usize, table: &Table) -> Section<'_> {
    let found = table.rows.iter().any(|row| row.hits > 0);
    Section {
        index,
        variant: &table.variant,
        sentences: &table.verdict,
        found,
        compared: table.rows.iter().any(|row| matches!(row.versus, Versus::Rates { .. })),
        results: grids::results(table),
        published: grids::published(table),
        rates: grids::compared(table, Metric::Success, ALPHA),
        runs: grids::compared(table, Metric::RunsToFirst, ALPHA),
        steps: grids::compared(table, Metric::StepsToFirst, ALPHA),
        survival: found && table.rows.iter().any(|row| row.first_run.is_some()),
        heat: if found { table.heat.iter().map(grids::heat).collect() } else { Vec::new() },
        faults: grids::faults(table),
        kinds: &table.kinds[..table.kinds.len().min(KINDS)],
        kinds_left: table.kinds.len().saturating_sub(KINDS),
    }
}

fn matrix(tables: &[&Table]) -> Matrix {
    let mut names: Vec<&str> = Vec::new();
    for row in tables.iter().flat_map(|table| &table.rows) {
        if !names.contains(&row.name.as_str()) {
            names.push(&row.name);
        }
    }
    let rows = tables.iter().flat_map(|table| &table.rows);
    let scale = Scale::of(rows.map(|row| row.success));
    let cell =
        |name: &str, table: &Table| table.rows.iter().find(|row| row.name == name).map(|row| scale.cell(row));
    let variants: Vec<String> = tables.iter().map(|table| table.variant.clone()).collect();
    let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    let by_name = |name: &String| (name.clone(), tables.iter().map(|table| cell(name, table)).collect());
    let by_variant =
        |table: &&Table| (table.variant.clone(), names.iter().map(|name| cell(name, table)).collect());
    let ticks = scale.ticks();
    match names.len() >= variants.len() {
        true => Matrix { corner: "row", rows: names.iter().map(by_name).collect(), head: variants, ticks },
        false => Matrix { corner: "bug", rows: tables.iter().map(by_variant).collect(), head: names, ticks },
    }
}

/// A logarithmic scale from a power of ten up to 1.
struct Scale {
    decades: f64,
}

impl Scale {
    fn of(shares: impl Iterator<Item = Share>) -> Self {
        let rate = |share: Share| match share.hits {
            0 => share.interval.map_or(1.0, |interval| interval.high),
            hits => hits as f64 / share.of as f64,
        };
        let least = shares.map(rate).fold(0.01, f64::min);
        // With some room to the left of the least.
        Self { decades: (0.15 - least.log10()).ceil().clamp(2.0, 6.0) }
    }

    fn place(&self, rate: f64) -> f64 {
        100.0 * (1.0 + rate.log10() / self.decades).clamp(0.0, 1.0)
    }

    fn ticks(&self) -> Vec<String> {
        let decades = self.decades as usize;
        let tick =
            |decade: usize| format!("{:.*}", decade.saturating_sub(2), 100.0 * 0.1_f64.powi(decade as i32));
        (0..=decades).rev().map(tick).collect()
    }

    fn cell(&self, row: &Row) -> Cell {
        let Share { hits, of, interval } = row.success;
        let interval = interval.filter(|_| of > 0);
        Cell {
            short: percent::short(row.success),
            long: percent::cell(row.success),
            low: interval.map_or(0.0, |interval| self.place(interval.low)),
            high: interval.map_or(0.0, |interval| self.place(interval.high)),
            at: interval.filter(|_| hits > 0).map(|_| self.place(hits as f64 / of as f64)),
            versus: match &row.versus {
                Versus::Baseline => "baseline",
                Versus::Rates { holm, odds_ratio, .. } if *holm <= ALPHA => {
                    if odds_ratio.value > 1.0 {
                        "more"
                    } else {
                        "less"
                    }
                }
                Versus::Rates { .. } | Versus::None => "",
            },
        }
    }
}
