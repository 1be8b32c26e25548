//! `turncoat fuzz`: a campaign, until something is found or the budget is used up.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use clap::ArgGroup;
use turncoat_core::outcome::{Outcome, Property};
use turncoat_core::scenario::Scenario;
use turncoat_lab::campaign::{Campaign, Until};
use turncoat_lab::summary::Summary;

use crate::campaign::{Keys, When};
use crate::clock::Stopwatch;
use crate::config::{Config, Given, Source};
use crate::exit::Exit;
use crate::progress::Progress;
use crate::rows::Rows;
use crate::setup::{Setup, Start};
use crate::stop::Stop;
use crate::tally::Tally;
use crate::{files, out, registry};

const NOTES: &str = "\
The result depends on the options and the seed, never on the number of threads. The default seed is fixed, so
that first contact is reproducible. The first violation of each property is saved under turncoat-corpus/, and
`turncoat replay` repeats it.

With --bug the protocol, its flags, the cluster and the workload are those of the bug's witness, and strategy,
scheduler and parameters those that its row names, as far as the options do not say otherwise.

What no option says, variables of the environment (TURNCOAT_PROTOCOL, TURNCOAT_STRATEGY, TURNCOAT_SEED, ...) and a
file turncoat.toml may; --print-config shows what comes of it.

Example: turncoat fuzz pbft --strategy byzzfuzz --set c=2 --for 1m --until never
         turncoat fuzz --bug pbft-java/figure-2";

/// Run many scenarios of a strategy, and save what breaks the protocol
#[derive(clap::Args)]
#[command(after_help = NOTES, group = ArgGroup::new("subject").args(["protocol", "bug"]))]
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

    #[command(flatten)]
    campaign: Keys,

    /// JSON lines; the last one is the summary
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    source: Source,
}

pub(crate) fn fuzz(args: &Args) -> Result<Exit> {
    let bug = args.bug.as_ref().map(|id| Rows::embedded().bug(id)).transpose()?;
    let given = Given {
        protocol: args.protocol.as_deref(),
        strategy: args.strategy.as_deref(),
        campaign: &args.campaign,
        bug: args.bug.as_deref(),
    };
    let config = Config::load(&args.source, &given)?;
    let start = bug.as_ref().map_or_else(|| Start::config(&config), Start::bug)?;
    let prepared = args.setup.prepare(start, config.text("strategy.name"))?;
    if args.source.print_config {
        config.print(&given, &args.setup, &prepared)?;
        return Ok(Exit::Clean);
    }
    let keys = config.campaign()?.or_default();
    let (seed, jobs) = (keys.engine.seed(), keys.engine.threads());
    let stop = Stop::on_interrupt()?;
    // Whoever searches for a bug is not content with another one.
    let shown = |_: u64, _: &Scenario, outcome: &Outcome| bug.as_ref().is_some_and(|bug| bug.shows(outcome));
    let campaign = Campaign {
        entry: &prepared.entry,
        base: &prepared.base,
        make: &|base| prepared.make(base),
        seed,
        runs: keys.runs,
        jobs,
        until: match keys.until.unwrap_or_default() {
            When::First if bug.is_some() => Until::Shown(&shown),
            When::First => Until::First,
            When::Never => Until::Never,
        },
        stop: stop.flag(),
    };
    let clock = Stopwatch::start();
    if let Some(time) = keys.time {
        stop.after(time);
    }
    let mut progress = Progress::new(clock, campaign.runs);
    let mut found_at = BTreeMap::new();
    let summary = campaign.run(&mut |so_far| {
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
        seed,
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
    Ok(conclude(&tally))
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
