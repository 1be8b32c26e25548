//! `turncoat suite run`: how often each strategy finds each known bug.

use std::slice;

use anyhow::{Result, anyhow};
use clap::value_parser;
use serde_json::json;
use turncoat_core::scenario::Seed;
use turncoat_lab::stats::Rate;
use turncoat_lab::suite::Bug;
use turncoat_lab::summary::Summary;
use turncoat_lab::suspects::Suspects;

use crate::exit::Exit;
use crate::rows::Rows;
use crate::searcher::Searcher;
use crate::series::{self, Search, Series, Want};
use crate::shelf::Label;
use crate::{out, registry};

const NOTES: &str = "\
Each strategy runs N times on the protocol, cluster, workload and scheduler of each row. A run finds the bug if it
violates what the row says, and would not without one of the row's flags. Prints a table in Markdown: the rate in % with
its 95 % interval (Wilson); of what was never found, the highest rate that it may still have. The exit code is 0 in any
case.

A strategy is a name with parameters: byzzfuzz:c=2:d=2.

Example: turncoat suite run --strategy byzzfuzz,byzzfuzz:c=2:d=2,random --runs 10000 --db suite.db";

/// Run strategies on all bugs, and print how often each finds which
#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub(crate) struct Args {
    /// Names from `turncoat list bugs`, or `pbft-java` for all that begin so; all of them where left out
    #[arg(value_name = "ID")]
    ids: Vec<String>,

    /// Only bugs of this tier: 1, published with the tools that looked for them; 2, real ones found elsewhere; 3, seeded
    #[arg(long, value_name = "TIER", value_parser = value_parser!(u8).range(1..=3))]
    tier: Option<u8>,

    /// Who searches
    #[arg(
        long,
        value_name = "NAME[:PARAMETER=VALUE],..",
        value_delimiter = ',',
        default_value = "byzzfuzz,random:scope=small,twins,two-faced,portfolio"
    )]
    strategy: Vec<String>,

    /// Runs of each strategy on each bug
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = value_parser!(u64).range(1..=i64::MAX as u64))]
    runs: u64,

    #[command(flatten)]
    series: series::Args,
}

pub(crate) fn detect(args: &Args) -> Result<Exit> {
    let mut bugs = Rows::embedded().bugs(&args.ids)?;
    bugs.retain(|bug| args.tier.is_none_or(|tier| bug.facts.tier == tier));
    let searchers = args.strategy.iter().map(|text| Searcher::parse(text)).collect::<Result<Vec<_>>>()?;
    // All mistakes show before anything runs.
    for bug in &bugs {
        let base = bug.base()?;
        searchers
            .iter()
            .try_for_each(|searcher| searcher.make(&base).map(drop))
            .map_err(|error| anyhow!(error))?;
    }
    let all = args.runs.saturating_mul((bugs.len() * searchers.len()) as u64);
    let series::Args { engine, shelf, json } = &args.series;
    let mut series = Series::open(engine, shelf.db.as_deref(), shelf.resume, all)?;
    if !json {
        let names: Vec<String> = searchers.iter().map(Searcher::label).collect();
        out::line(format_args!("| bug | property | {} |", names.join(" | ")))?;
        out::line(format_args!("|---|---|{}", "---|".repeat(names.len())))?;
    }
    for bug in &bugs {
        let mut cells = Vec::new();
        for searcher in &searchers {
            let Some(summary) = search(bug, searcher, args.runs, engine.seed(), &mut series)? else {
                return Ok(Exit::Interrupted);
            };
            let found = summary.bugs.get(bug.id.as_str()).copied().unwrap_or(0);
            let runs = summary.runs;
            let rate = Rate::new(found, runs);
            if *json {
                let (strategy, interval) = (searcher.label(), rate.interval());
                let cell = json!({
                    "id": bug.id, "property": bug.facts.property, "strategy": strategy, "runs": runs, "found": found,
                    "low": interval.low, "high": interval.high,
                });
                series.print(|| out::json("cell", cell))?;
            }
            cells.push(rate.to_string());
        }
        if !json {
            let line = format!("| `{}` | {} | {} |", bug.id, bug.facts.property, cells.join(" | "));
            series.print(|| out::line(line))?;
        }
    }
    series.finish();
    Ok(Exit::Clean)
}

/// Searches for a bug; nothing if somebody interrupts.
fn search(
    bug: &Bug,
    searcher: &Searcher,
    runs: u64,
    seed: Seed,
    series: &mut Series,
) -> Result<Option<Summary>> {
    let base = bug.base()?;
    let entry = registry::protocol(&base.protocol.name)?;
    let find = |name: &str| Ok(registry::protocol(name)?);
    let suspects = Suspects::new(&entry, &base, slice::from_ref(bug), &find);
    let label = Label {
        experiment: "suite".to_owned(),
        variant: bug.id.clone(),
        row: searcher.label(),
        target: format!("bug:{}", bug.id),
    };
    let search = Search { entry: &entry, base: &base, runs, seed, suspects: Some(&suspects) };
    series.run(searcher, &search, label, Want::Nothing, "the rows above are complete")
}
