//! `turncoat suite hunt`: who finds which known bug, and after how many runs.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use anyhow::Result;
use serde_json::{Map, Value, json};
use turncoat_core::outcome::Outcome;
use turncoat_core::scenario::{Scenario, SchedulerName, Seed};
use turncoat_lab::campaign::{Campaign, Until};
use turncoat_lab::suite::{Bug, others_show};

use crate::clock::Stopwatch;
use crate::digest::Digest;
use crate::exit::Exit;
use crate::progress::Progress;
use crate::records::Records;
use crate::rows::Rows;
use crate::searcher::Searcher;
use crate::setup::Engine;
use crate::stop::Stop;
use crate::{numbers, out, registry};

const NOTES: &str = "\
Each strategy runs on the protocol, cluster and workload of the bug until a run shows it. Without --strategy these are ByzzFuzz, \
naive and random with several parameters and schedulers. That run violates the bug's \
property, after a lie that had an effect if the bug needs one; the controls do not violate it under the same scenario, nor \
does the protocol without one of the bug's flags under the same schedule. Prints a table in Markdown: the index of that run, \
from 0, with `*` if only runs without such a lie violate the property; `-` if there is none; `x` if the controls violate it \
so often that a find would mean nothing. With --seeds, the median over so many campaigns, and how many of them found it. The \
exit code is always 0.

Example: turncoat suite hunt pbft-java/figure-2 --runs 10000
         turncoat suite hunt hotstuff --strategy portfolio:mix=wide,portfolio --seeds 5";

/// Print after how many runs each strategy finds each bug
#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub(crate) struct Args {
    /// Ids from `turncoat list bugs`, or the first part, as in pbft-java, for all that begin with it [default: all]
    #[arg(value_name = "ID")]
    ids: Vec<String>,

    /// At most so many runs of a strategy for one bug: 1000, 200k
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = numbers::at_least_one)]
    runs: u64,

    /// The strategies, each with the scheduler of the bug's campaigns
    #[arg(long, value_name = "NAME[:PARAMETER=VALUE],..", value_delimiter = ',')]
    strategy: Vec<String>,

    /// Campaigns of each strategy for one bug, with this many seeds in a row
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = numbers::within::<u64>(1..=1000))]
    seeds: u64,

    #[command(flatten)]
    engine: Engine,

    /// Print JSON lines, one for each row
    #[arg(long)]
    json: bool,

    /// Print a digest of the first runs of each campaign instead of a table; it changes if the table may have changed
    #[arg(long, conflicts_with = "json")]
    digest: bool,
}

/// Who searches.
struct Hunter {
    name: String,
    searcher: Searcher,
    /// That of the bug's campaigns, where there is none.
    scheduler: Option<SchedulerName>,
}

/// Who searches where nobody is named: its name, the strategy with parameters, the scheduler.
const HUNTERS: [(&str, &str, SchedulerName); 8] = [
    ("byzzfuzz c=1 d=1", "byzzfuzz:c=1:d=1", SchedulerName::Timed),
    ("byzzfuzz c=2 d=2", "byzzfuzz:c=2:d=2", SchedulerName::Timed),
    ("byzzfuzz c=2 d=2 any", "byzzfuzz:c=2:d=2:scope=any", SchedulerName::Timed),
    ("byzzfuzz c=2 d=2 async", "byzzfuzz:c=2:d=2", SchedulerName::Async),
    ("naive", "naive", SchedulerName::Timed),
    ("random", "random", SchedulerName::Async),
    ("random small", "random:scope=small", SchedulerName::Async),
    // Timers fire early, and much is lost.
    ("random hasty", "random:timeout=30:drop=60:mutate=0", SchedulerName::Async),
];

impl Args {
    fn hunters(&self) -> Result<Vec<Hunter>> {
        if self.strategy.is_empty() {
            let hunter = |(name, text, scheduler): (&str, _, _)| {
                let (name, searcher) = (name.to_owned(), Searcher::parse(text)?);
                Ok(Hunter { name, searcher, scheduler: Some(scheduler) })
            };
            return HUNTERS.into_iter().map(hunter).collect();
        }
        let hunter = |text: &String| {
            let searcher = Searcher::parse(text)?;
            Ok(Hunter { name: searcher.label(), searcher, scheduler: None })
        };
        self.strategy.iter().map(hunter).collect()
    }

    /// What the campaigns of a hunter come to: the find of the only one, or the median of many.
    fn median(&self, bug: &Bug, hunter: &Hunter, stop: &Stop) -> Result<String> {
        let mut found = Vec::new();
        for seed in 0..self.seeds {
            let seed = Seed(self.engine.seed().0.wrapping_add(seed));
            found.push(search(bug, hunter, self, seed, stop)?);
        }
        if let [only] = &found[..] {
            return Ok(only.to_string());
        }
        let index = |found: &Found| if let Found::Run(index) = found { *index } else { u64::MAX };
        found.sort_by_key(index);
        let hits = found.iter().filter(|found| matches!(found, Found::Run(_))).count();
        Ok(format!("{} ({hits}/{})", found[(found.len() - 1) / 2], self.seeds))
    }
}

/// What became of a search.
enum Found {
    /// The first run that shows the bug.
    Run(u64),
    /// The first run that violates the same without a lie, where none shows the bug.
    Unlied(u64),
    /// No run does.
    Nothing,
    /// The controls violate the same too often to tell.
    Excused,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(index) => write!(f, "{index}"),
            Self::Unlied(index) => write!(f, "{index}*"),
            Self::Nothing => f.write_str("-"),
            Self::Excused => f.write_str("x"),
        }
    }
}

pub(crate) fn hunt(args: &Args) -> Result<Exit> {
    let bugs = Rows::embedded().bugs(&args.ids)?;
    let hunters = args.hunters()?;
    if args.digest {
        return digest(&bugs, &hunters, args.engine.seed()).map(|()| Exit::Clean);
    }
    let stop = Stop::on_interrupt()?;
    let names: Vec<&str> = hunters.iter().map(|hunter| hunter.name.as_str()).collect();
    let records = Records::new(&["bug", "property"], &names);
    if !args.json {
        records.header()?;
    }
    for bug in &bugs {
        let mut found = Vec::new();
        for hunter in &hunters {
            found.push(args.median(bug, hunter, &stop)?);
            if stop.interrupted() {
                out::log("interrupted: the rows above are complete");
                return Ok(Exit::Interrupted);
            }
        }
        let (id, property) = (&bug.id, bug.facts.property);
        if args.json {
            let found: Map<String, Value> =
                names.iter().zip(found).map(|(name, found)| (name.to_string(), found.into())).collect();
            out::json("row", json!({ "id": id, "property": property, "runs": args.runs, "found": found }))?;
        } else {
            records.row(&[format!("`{id}`"), property.to_string()], &found)?;
        }
    }
    Ok(Exit::Clean)
}

/// Prints the digest of all searches.
fn digest(bugs: &[Bug], hunters: &[Hunter], seed: Seed) -> Result<()> {
    let mut digest = Digest::default();
    for bug in bugs {
        for hunter in hunters {
            let base = hunter.base(bug)?;
            digest.add(registry::protocol(&base.protocol.name)?, &base, &hunter.searcher, seed)?;
        }
    }
    digest.print()
}

impl Hunter {
    /// What all its runs share.
    fn base(&self, bug: &Bug) -> Result<Scenario> {
        let mut base = bug.base()?;
        if let Some(scheduler) = self.scheduler {
            Arc::make_mut(&mut base.scheduler).name = scheduler;
        }
        Ok(base)
    }
}

/// Runs on a control before a search, and how many of them may violate what the bug violates.
const TRIAL: (u64, u64) = (200, 10);

fn search(bug: &Bug, hunter: &Hunter, args: &Args, seed: Seed, stop: &Stop) -> Result<Found> {
    let base = hunter.base(bug)?;
    let (trials, most) = TRIAL;
    for (_, control) in bug.controls(&base)? {
        let harmed = AtomicU64::new(0);
        run(&control, hunter, args, seed, trials, stop, &|_, _, outcome| {
            harmed.fetch_add(u64::from(bug.shows(outcome)), Ordering::Relaxed);
            false
        })?;
        if harmed.into_inner() > most {
            return Ok(Found::Excused);
        }
    }
    let (found, unlied) = (AtomicBool::new(false), AtomicU64::new(u64::MAX));
    let runs = run(&base, hunter, args, seed, args.runs, stop, &|index, scenario, outcome| {
        let caused = bug.caused(outcome);
        let new = bug.shows(outcome) && (caused || index < unlied.load(Ordering::Relaxed));
        if !new || others_show(bug, scenario, &registry::find).unwrap_or(true) {
            return false;
        }
        match caused {
            true => found.store(true, Ordering::Relaxed),
            false => drop(unlied.fetch_min(index, Ordering::Relaxed)),
        }
        caused
    })?;
    // The campaign ends with the lowest index that shows it, whichever thread was first.
    Ok(match (found.into_inner(), unlied.into_inner()) {
        (true, _) => Found::Run(runs - 1),
        (false, u64::MAX) => Found::Nothing,
        (false, index) => Found::Unlied(index),
    })
}

/// Lets a hunter run until something is shown; says after how many runs it was over.
fn run(
    base: &Scenario,
    hunter: &Hunter,
    args: &Args,
    seed: Seed,
    runs: u64,
    stop: &Stop,
    shown: &(dyn Fn(u64, &Scenario, &Outcome) -> bool + Sync),
) -> Result<u64> {
    let campaign = Campaign {
        entry: registry::protocol(&base.protocol.name)?,
        base,
        make: &|base| hunter.searcher.make(base),
        seed,
        runs: Some(runs),
        jobs: args.engine.threads(),
        until: Until::Shown(shown),
        stop: stop.flag(),
        suspects: None,
    };
    let mut progress = Progress::new(Stopwatch::start(), Some(runs));
    let summary = campaign.run(&mut |so_far| progress.show(so_far));
    progress.clear();
    Ok(summary?.runs)
}
