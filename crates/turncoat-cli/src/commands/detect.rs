//! `turncoat suite run`: how often each strategy finds each known bug.

use anyhow::{Result, anyhow};
use serde_json::json;
use turncoat_core::scenario::Seed;
use turncoat_lab::plan::{Ends, Suspected};
use turncoat_lab::stats::Rate;
use turncoat_lab::suite::Bug;

use crate::exit::Exit;
use crate::records::Records;
use crate::rows::Rows;
use crate::searcher::Searcher;
use crate::series::{self, Series, Want};
use crate::task::{Label, Task};
use crate::{digest, numbers, out, registry};

const NOTES: &str = "\
Each strategy runs N times on the protocol, cluster, workload and scheduler of each bug. A run finds the bug if it violates \
the bug's property and would not do so without the bug's flags. Prints a table in Markdown: the rate in % with its 95 % \
interval (Wilson), or an upper bound for bugs that were never found. The exit code is always 0.

A strategy is a name with parameters: byzzfuzz:c=2:d=2.

Example: turncoat suite run --strategy byzzfuzz,byzzfuzz:c=2,random";

/// Run strategies on all bugs and print how often each finds which
#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub(crate) struct Args {
    #[command(flatten)]
    subject: Subject,

    #[command(flatten)]
    series: series::Args,

    /// Print a digest of the first runs of each campaign instead of a table; it changes if the table may have changed
    #[arg(long, conflicts_with = "json")]
    digest: bool,
}

/// Who searches for what.
#[derive(clap::Args)]
#[group(skip)]
pub(crate) struct Subject {
    /// Ids from `turncoat list bugs`, or the first part, as in pbft-java, for all that begin with it [default: all]
    #[arg(value_name = "ID")]
    ids: Vec<String>,

    /// Only bugs of this tier: 1, published with the tools that found them; 2, real bugs found elsewhere; 3, seeded
    #[arg(long, value_name = "TIER", value_parser = numbers::within::<u8>(1..=3))]
    tier: Option<u8>,

    /// The strategies
    #[arg(
        long,
        value_name = "NAME[:PARAMETER=VALUE],..",
        value_delimiter = ',',
        default_value = "byzzfuzz,random:scope=small,twins,two-faced,portfolio"
    )]
    strategy: Vec<String>,

    /// Runs of each strategy on each bug: 1000, 10k
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = numbers::at_least_one)]
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
    let names: Vec<String> = searchers.iter().map(Searcher::label).collect();
    let records = Records::new(&["bug", "property"], &names);
    if !json {
        records.header()?;
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
            let name = [format!("`{}`", bug.id), bug.facts.property.to_string()];
            series.print(|| records.row(&name, &cells))?;
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
