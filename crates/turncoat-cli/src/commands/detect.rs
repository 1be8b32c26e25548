//! `turncoat suite run`: how often each strategy finds each known bug.

use anyhow::{Result, anyhow};
use clap::value_parser;
use serde_json::json;
use turncoat_core::scenario::Seed;
use turncoat_lab::plan::{Ends, Suspected};
use turncoat_lab::stats::Rate;
use turncoat_lab::suite::Bug;

use crate::exit::Exit;
use crate::rows::Rows;
use crate::searcher::Searcher;
use crate::series::{self, Series, Want};
use crate::task::{Label, Task};
use crate::{digest, out, registry};

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
    #[command(flatten)]
    subject: Subject,

    #[command(flatten)]
    series: series::Args,

    /// Print a digest of what the first runs of each campaign come to, and no table: it changes when the table may
    #[arg(long, conflicts_with = "json")]
    digest: bool,
}

/// Who searches for what.
#[derive(clap::Args)]
#[group(skip)]
pub(crate) struct Subject {
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
}

pub(crate) fn detect(args: &Args) -> Result<Exit> {
    let series::Args { engine, store, json } = &args.series;
    if args.digest {
        return digest::print(&args.subject.tasks(engine.seed())?).map(|()| Exit::Clean);
    }
    let (bugs, searchers) = (args.subject.bugs()?, args.subject.searchers()?);
    let mut tasks = args.subject.tasks(engine.seed())?.into_iter();
    let all = args.subject.runs.saturating_mul(tasks.len() as u64);
    let mut series = Series::open(engine, store.db.as_deref(), store.resume, all)?;
    if !json {
        let names: Vec<String> = searchers.iter().map(Searcher::label).collect();
        out::line(format_args!("| bug | property | {} |", names.join(" | ")))?;
        out::line(format_args!("|---|---|{}", "---|".repeat(names.len())))?;
    }
    for bug in &bugs {
        let mut cells = Vec::new();
        for (searcher, task) in searchers.iter().zip(&mut tasks) {
            let Some(summary) = series.run(&task, Want::Nothing, "the rows above are complete")? else {
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

impl Subject {
    /// The rows.
    fn bugs(&self) -> Result<Vec<Bug>> {
        let mut bugs = Rows::embedded().bugs(&self.ids)?;
        bugs.retain(|bug| self.tier.is_none_or(|tier| bug.facts.tier == tier));
        Ok(bugs)
    }

    fn searchers(&self) -> Result<Vec<Searcher>> {
        self.strategy.iter().map(|text| Searcher::parse(text)).collect()
    }

    /// The campaigns, row by row. All mistakes show here.
    pub(crate) fn tasks(&self, seed: Seed) -> Result<Vec<Task>> {
        let searchers = self.searchers()?;
        let mut tasks = Vec::new();
        for bug in self.bugs()? {
            for searcher in &searchers {
                let base = bug.base()?;
                searcher.make(&base).map_err(|error| anyhow!(error))?;
                tasks.push(Task {
                    settings: Vec::new(),
                    label: Label {
                        experiment: "suite".to_owned(),
                        variant: bug.id.clone(),
                        row: searcher.label(),
                        target: format!("bug:{}", bug.id),
                    },
                    entry: registry::protocol(&base.protocol.name)?,
                    base,
                    searcher: searcher.clone(),
                    seed,
                    runs: Some(self.runs),
                    until: Ends::Never,
                    suspects: Suspected::Bug(bug.id.clone()),
                });
            }
        }
        Ok(tasks)
    }
}
