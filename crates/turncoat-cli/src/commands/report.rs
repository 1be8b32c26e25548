//! `turncoat report`: what a store says, for people and for other programs.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;
use turncoat_lab::report::{self, Report, ReportError, Wishes};
use turncoat_lab::store::Store;

use super::experiment;
use crate::exit::Exit;
use crate::rows::Rows;
use crate::{files, out, registry};

const NOTES: &str = "\
Shows how often each row of each experiment found something, with intervals; compares the rows with a baseline; shows how \
much work it took, what the adversary did, and one run for each kind of violation. The HTML page is a single file that works \
offline.

Example: turncoat report results.db -o report.html
         turncoat report results.db --scenario 12/1 > found.toml";

/// Turn a results database into a page, text or tables
#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub(crate) struct Args {
    /// A database written by --db of another command
    #[arg(value_name = "DB")]
    store: PathBuf,

    /// Where to write [default: the terminal]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// The output format [default: by the name of FILE, else md]
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<Format>,

    /// The row to compare the others with [default: one called baseline, else random, else naive]
    #[arg(long, value_name = "ROW")]
    baseline: Option<String>,

    /// What counts as found: any, a property, property:rule or bug:ID [default: the target of the campaigns]
    #[arg(long, value_name = "TARGET")]
    target: Option<String>,

    /// Print the scenario of one kind of violation instead; the report has the numbers
    #[arg(long, value_name = "CAMPAIGN/ID", conflicts_with_all = ["output", "format", "baseline", "target"])]
    scenario: Option<KindId>,
}

/// How to print it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    /// One page with plots
    Html,
    /// Text and tables
    Md,
    /// One line for each row, with all numbers
    Csv,
    /// Tables for a paper
    Latex,
    /// Everything
    Json,
}

/// A kind of violations: a campaign, and the number of the kind there.
#[derive(Clone, Copy, Debug)]
struct KindId {
    campaign: i64,
    id: i64,
}

impl FromStr for KindId {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once('/').and_then(|(c, id)| Some((c.parse().ok()?, id.parse().ok()?)));
        let (campaign, id) = parts.ok_or("give two numbers, as in 12/1")?;
        Ok(Self { campaign, id })
    }
}

pub(crate) fn report(args: &Args) -> Result<Exit> {
    if let Some(kind) = args.scenario {
        let store = Store::open_read(&args.store)?;
        let KindId { campaign, id } = kind;
        let scenario = report::scenario(&store, campaign, id)?;
        let missing =
            || anyhow!("{}: no kind of violations {campaign}/{id}: the report lists them", name(&args.store));
        out::exact(scenario.ok_or_else(missing)?.trim_end())?;
        return Ok(Exit::Clean);
    }
    let format = args.format()?;
    let report = read(&args.store, &Wishes { baseline: args.baseline.clone(), target: args.target.clone() })?;
    let text = match format {
        Format::Html => report::html(&report)?,
        Format::Md => report::markdown(&report),
        Format::Csv => report::csv(&report),
        Format::Latex => report::latex(&report),
        Format::Json => serde_json::to_string(&report)?,
    };
    match &args.output {
        None if format == Format::Md => out::markdown(text.trim_end())?,
        None => out::exact(text.trim_end())?,
        Some(path) => {
            files::write_whole(path, &text).with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    Ok(Exit::Clean)
}

impl Args {
    fn format(&self) -> Result<Format> {
        let (None, Some(path)) = (self.format, &self.output) else {
            return Ok(self.format.unwrap_or(Format::Md));
        };
        Ok(match path.extension().and_then(|extension| extension.to_str()) {
            Some("html" | "htm") => Format::Html,
            Some("md") => Format::Md,
            Some("csv") => Format::Csv,
            Some("tex") => Format::Latex,
            Some("json") => Format::Json,
            _ => bail!(
                "{}: which format? Name it .html, .md, .csv, .tex or .json, or add --format",
                path.display()
            ),
        })
    }
}

/// Reads the report of a store.
pub(crate) fn read(store: &Path, wishes: &Wishes) -> Result<Report> {
    let report = Report::read(&Store::open_read(store)?, &name(store), wishes);
    let mut report = report.map_err(|error| match error {
        ReportError::NoBaseline { name, rows } => {
            registry::unknown("row", &name, &rows.iter().map(String::as_str).collect::<Vec<_>>())
        }
        error => error.into(),
    })?;
    let rows = Rows::embedded();
    report.introduce(|variant| rows.bug(variant).ok().map(|bug| bug.in_words()));
    report.publish(experiment::published);
    Ok(report)
}

fn name(store: &Path) -> String {
    store.display().to_string()
}
