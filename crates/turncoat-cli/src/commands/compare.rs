//! `turncoat compare`: the rows of a store against one of them.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::ValueEnum;
use turncoat_lab::report::{self, Metric, Wishes};

use super::report::read;
use crate::exit::Exit;
use crate::out;

const NOTES: &str = "\
Prints a table for each experiment that has the row: how often or how soon the other rows found something, the odds ratio \
with its 95 % interval, the p-value (Fisher's test, or log-rank for how soon) before and after Holm's correction over the \
table, and A12, the probability that a row is quicker than the baseline. The formats csv and json have all numbers of all \
metrics, as in `turncoat report`.

Example: turncoat compare results.db --baseline random --metric runs-to-first";

/// Compare all rows of a results database with one of them
#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub(crate) struct Args {
    /// A database written by --db of another command
    #[arg(value_name = "DB")]
    store: PathBuf,

    /// The row to compare the others with
    #[arg(long, value_name = "ROW")]
    baseline: String,

    /// What counts as found: any, a property, property:rule or bug:ID [default: the target of the campaigns]
    #[arg(long, value_name = "TARGET")]
    target: Option<String>,

    /// What to compare
    #[arg(long, value_enum, value_name = "METRIC", default_value = "success")]
    metric: Measure,

    /// Significance level for corrected p-values
    #[arg(long, value_name = "P", default_value_t = 0.05)]
    alpha: f64,

    /// The output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "md")]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Measure {
    /// The share of runs that hit
    Success,
    /// Runs until the first hit
    RunsToFirst,
    /// Steps until the first hit
    StepsToFirst,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    /// Tables as text
    Md,
    /// Tables for a paper
    Latex,
    /// One line for each row, with all numbers
    Csv,
    /// Everything
    Json,
}

pub(crate) fn compare(args: &Args) -> Result<Exit> {
    if !(args.alpha > 0.0 && args.alpha < 1.0) {
        bail!("--alpha {}: give a number between 0 and 1", args.alpha);
    }
    let metric = match args.metric {
        Measure::Success => Metric::Success,
        Measure::RunsToFirst => Metric::RunsToFirst,
        Measure::StepsToFirst => Metric::StepsToFirst,
    };
    let wishes = Wishes { baseline: Some(args.baseline.clone()), target: args.target.clone() };
    let mut report = read(&args.store, &wishes)?;
    report.tables.retain(|table| table.baseline.is_some());
    let text = match args.format {
        Format::Md => report::compared_markdown(&report, metric, args.alpha),
        Format::Latex => report::compared_latex(&report, metric, args.alpha),
        Format::Csv => report::csv(&report),
        Format::Json => serde_json::to_string(&report)?,
    };
    match args.format {
        Format::Md => out::markdown(text.trim_end())?,
        Format::Latex | Format::Csv | Format::Json => out::exact(text.trim_end())?,
    }
    Ok(Exit::Clean)
}
