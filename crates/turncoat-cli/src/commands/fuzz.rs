//! `turncoat fuzz`: a campaign, until something is found or the budget is used up.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::{ArgGroup, ValueEnum};
use turncoat_core::outcome::{Outcome, Property};
use turncoat_core::scenario::Scenario;
use turncoat_lab::campaign::{Campaign, Until};
use turncoat_lab::summary::Summary;

use crate::clock::{self, Stopwatch};
use crate::exit::Exit;
use crate::progress::Progress;
use crate::rows::Rows;
use crate::setup::{Engine, Setup, Start};
use crate::shelf::{self, Shelf};
use crate::stop::Stop;
use crate::tally::Tally;
use crate::{files, out, registry};

/// Runs when neither a number nor a time is given.
const RUNS: u64 = 10_000;

const NOTES: &str = "\
The result depends on the options and the seed, never on the number of threads. The default seed is fixed, so
that first contact is reproducible. The first violation of each property is saved under turncoat-corpus/, and
`turncoat replay` repeats it.

With --bug the protocol, its flags, the cluster and the workload are those of the bug's witness, and strategy,
scheduler and parameters those that its row names, as far as the options do not say otherwise.

Example: turncoat fuzz pbft --strategy byzzfuzz --set c=2 --for 1m --until never
         turncoat fuzz --bug pbft-java/figure-2";

/// Run many scenarios of a strategy, and save what breaks the protocol
#[derive(clap::Args)]
#[command(after_help = NOTES, group = ArgGroup::new("subject").args(["protocol", "bug"]).required(true))]
pub(crate) struct Args {
    /// A name from `turncoat list protocols`
    #[arg(value_name = "PROTO")]
    protocol: Option<String>,

    /// A known bug to search for: a name from `turncoat list bugs`
    #[arg(long, value_name = "ID")]
    bug: Option<String>,

    #[command(flatten)]
    setup: Setup,

    /// Who draws the scenarios: a name from `turncoat list strategies` [default: byzzfuzz]
    #[arg(long, value_name = "NAME")]
    strategy: Option<String>,

    /// How many runs [default: 10000, without end if --for is given]
    #[arg(long, value_name = "N", help_heading = "Budget")]
    runs: Option<u64>,

    /// How long: 500ms, 10s, 5m, 1h
    #[arg(long = "for", value_name = "TIME", help_heading = "Budget", value_parser = clock::duration)]
    time: Option<Duration>,

    /// Whether a violation ends the campaign; with --bug, one of the bug's property
    #[arg(long, value_name = "WHEN", help_heading = "Budget", default_value = "first")]
    until: When,

    #[command(flatten)]
    engine: Engine,

    #[command(flatten)]
    shelf: shelf::Args,

    /// Name the known bug behind each violation, for the store; it takes a dozen runs for each
    #[arg(long, requires = "db", help_heading = "Store")]
    identify: bool,

    /// JSON lines; the last one is the summary
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum When {
    First,
    Never,
}

pub(crate) fn fuzz(args: &Args) -> Result<Exit> {
    let bug = args.bug.as_ref().map(|id| Rows::embedded().bug(id)).transpose()?;
    let start = match &bug {
        Some(bug) => Start::bug(bug)?,
        None => Start::protocol(args.protocol.as_deref().unwrap_or_default())?,
    };
    let prepared = args.setup.prepare(start, args.strategy.as_deref())?;
    let mut shelf = Shelf::open(&args.shelf)?;
    let suspects =
        args.identify.then(|| Rows::embedded().suspects(&prepared.entry, &prepared.base)).transpose()?;
    let stop = Stop::on_interrupt()?;
    let jobs = args.engine.threads();
    // Whoever searches for a bug is not content with another one.
    let shown = |_: u64, _: &Scenario, outcome: &Outcome| bug.as_ref().is_some_and(|bug| bug.shows(outcome));
    let campaign = Campaign {
        entry: &prepared.entry,
        base: &prepared.base,
        make: &|base| prepared.make(base),
        seed: args.engine.seed,
        runs: args.runs.or(args.time.is_none().then_some(RUNS)),
        jobs,
        until: match args.until {
            When::First if bug.is_some() => Until::Shown(&shown),
            When::First => Until::First,
            When::Never => Until::Never,
        },
        stop: stop.flag(),
        suspects: suspects.as_ref(),
    };
    let clock = Stopwatch::start();
    if let Some(time) = args.time {
        stop.after(time);
    }
    let mut progress = Progress::new(clock, campaign.runs);
    let mut found_at = BTreeMap::new();
    let target = bug.as_ref().map_or_else(|| "any".to_owned(), |bug| bug.facts.property.to_string());
    let describe = || prepared.describe("fuzz", target, args.engine.seed, campaign.runs);
    let summary = shelf.run(&campaign, describe, &mut |so_far| {
        for &property in so_far.first.keys() {
            found_at.entry(property).or_insert_with(|| clock.seconds());
        }
        progress.show(so_far);
    });
    let seconds = clock.seconds();
    progress.clear();
    let summary = summary?;
    // A strategy may have a scheduler of its own.
    let scheduler =
        campaign.scenario_of(0).map_or(prepared.base.scheduler.name, |first| first.scheduler.name);
    let tally = Tally {
        entry: &prepared.entry,
        strategy: prepared.strategy,
        scheduler: registry::name_of(scheduler),
        seed: args.engine.seed,
        jobs,
        seconds,
        interrupted: stop.interrupted(),
        files: save(&summary),
        summary,
        found_at,
    };
    if args.json {
        tally.json()?;
    } else {
        tally.print()?;
    }
    let exit = conclude(&tally);
    shelf.advise(&stop);
    Ok(exit)
}

/// Saves the first violation of each property. What cannot be saved was found nevertheless.
fn save(summary: &Summary) -> BTreeMap<Property, PathBuf> {
    let mut files = BTreeMap::new();
    for (&property, finding) in &summary.first {
        match files::save(finding) {
            Ok(path) => {
                files.insert(property, path);
            }
            Err(error) => out::log(format_args!("warning: {error:#}")),
        }
    }
    files
}

/// Says what to do next, and how it ended.
fn conclude(tally: &Tally<'_>) -> Exit {
    let earliest = tally.summary.earliest();
    if let Some(file) = earliest.and_then(|finding| tally.files.get(&finding.violation.property)) {
        out::log("the first violation again:");
        out::log(format_args!("turncoat replay {}", file.display()));
    }
    match (tally.interrupted, tally.summary.runs, earliest) {
        (true, _, _) => Exit::Interrupted,
        (false, 0, _) => {
            out::log("nothing ran");
            Exit::NothingRan
        }
        (false, _, Some(_)) => Exit::Violation,
        (false, _, None) => Exit::Clean,
    }
}
