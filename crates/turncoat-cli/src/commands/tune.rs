//! `turncoat tune`: which parameters of a strategy find most.

use std::collections::BTreeMap;

use anyhow::{Context, Result, anyhow, bail};
use clap::ArgGroup;
use serde_json::json;
use turncoat_core::outcome::Property;
use turncoat_core::rng::run_seed;
use turncoat_core::scenario::Seed;
use turncoat_lab::plan::{Ends, Suspected};
use turncoat_lab::stats::Rate;
use turncoat_lab::tune::{Sweep, better_half, points, ranking, rungs};

use crate::digest::Digest;
use crate::exit::Exit;
use crate::rows::Rows;
use crate::searcher::Searcher;
use crate::series::{self, Series, Want};
use crate::setup::{Prepared, Setup, Start};
use crate::task::{Label, Task};
use crate::{numbers, out, registry};

const NOTES: &str = "\
Tries every combination of the values, N runs each, and prints them by rate with 95 % intervals (Wilson). The column \
`as good?` is the p-value of the difference to the best: Fisher's test, with Holm's correction for all combinations. The best \
is then run once more with fresh seeds, since the winner among many was also lucky.

With --halving all combinations get a few runs, then the better half twice as many, and so on until the last two have N. That \
is faster, but combinations that were dropped early have wide intervals.

JSON has the best combination first, and the winner with fresh seeds last.

Example: turncoat tune pbft-java --sweep c=0,1,2 --sweep d=0,1,2
         turncoat tune --bug pbft-java/figure-2 --sweep r=4,8,16 --halving";

/// Find the parameters with which a strategy finds most
#[derive(clap::Args)]
#[command(after_help = NOTES, group = ArgGroup::new("subject").args(["protocol", "bug"]).required(true))]
pub(crate) struct Args {
    /// A name from `turncoat list protocols`
    #[arg(value_name = "PROTO")]
    protocol: Option<String>,

    /// A known bug to search for, from `turncoat list bugs`
    #[arg(long, value_name = "ID")]
    bug: Option<String>,

    /// The strategy to tune: a name from `turncoat list strategies` [default: byzzfuzz]
    #[arg(long, value_name = "NAME")]
    strategy: Option<String>,

    /// The values to try for one of its parameters
    #[arg(long, value_name = "PARAMETER=VALUE,..", required = true)]
    sweep: Vec<String>,

    /// What counts as found: a property, or any [default: any; with --bug, its property]
    #[arg(long, value_name = "PROPERTY")]
    find: Option<String>,

    /// Runs of each combination: 1000, 20k
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = numbers::at_least_one)]
    runs: u64,

    /// Drop the worse half again and again
    #[arg(long)]
    halving: bool,

    #[command(flatten)]
    setup: Setup,

    #[command(flatten)]
    series: series::Args,

    /// Print a digest of the first runs of each combination instead of a table; it changes if the table may have changed
    #[arg(long, conflicts_with = "json")]
    digest: bool,
}

/// A combination, and how it did.
struct Tried {
    searcher: Searcher,
    rate: Rate,
    /// The p-value of its difference to the best; nothing for the best, and for those given up.
    p: Option<f64>,
}

/// What the runs of all combinations share.
struct Tuning<'a> {
    prepared: &'a Prepared,
    target: Option<Property>,
    series: Series,
}

pub(crate) fn tune(args: &Args) -> Result<Exit> {
    let bug = args.bug.as_ref().map(|id| Rows::embedded().bug(id)).transpose()?;
    let start = match &bug {
        Some(bug) => Start::bug(bug)?,
        None => Start::protocol(args.protocol.as_deref().unwrap_or_default())?,
    };
    let strategy = args.strategy.as_deref().or(start.hunter()).unwrap_or("byzzfuzz").to_owned();
    let prepared = args.setup.prepare(start, Some(&strategy))?;
    let target = match args.find.as_deref() {
        Some("any") => None,
        Some(name) => Some(registry::property(name).with_context(|| format!("`--find {name}`"))?),
        None => bug.as_ref().map(|bug| bug.facts.property),
    };
    let searchers: Vec<Searcher> =
        points(&sweep(args)?).iter().map(|point| prepared.searcher(point)).collect();
    // All mistakes show before anything runs.
    for searcher in &searchers {
        searcher.make(&prepared.base).map_err(|error| anyhow!(error))?;
    }
    if args.digest {
        let mut digest = Digest::default();
        for searcher in &searchers {
            digest.add(prepared.entry, &prepared.base, searcher, args.series.engine.seed())?;
        }
        return digest.print().map(|()| Exit::Clean);
    }
    let rungs = if args.halving { rungs(searchers.len(), args.runs) } else { vec![args.runs] };
    let series::Args { engine, store, json } = &args.series;
    // A combination that is not given up goes on.
    let resume = store.resume || (args.halving && store.db.is_some());
    let work = work(searchers.len(), &rungs, args.runs);
    let series = Series::open(engine, store.db.as_deref(), resume, work)?;
    let mut tuning = Tuning { prepared: &prepared, target, series };
    let mut left: Vec<usize> = (0..searchers.len()).collect();
    let mut rates: BTreeMap<usize, Rate> = BTreeMap::new();
    for (rung, &runs) in rungs.iter().enumerate() {
        if rung > 0 {
            left = better_half(&left.iter().map(|point| (*point, rates[point])).collect::<Vec<_>>());
        }
        for &point in &left {
            let Some(rate) = tuning.run(&searchers[point], runs, engine.seed())? else {
                return Ok(Exit::Interrupted);
            };
            rates.insert(point, rate);
        }
    }
    let order = ranking(&left.iter().map(|point| rates[point]).collect::<Vec<_>>());
    let finalists = order.into_iter().map(|(place, p)| (left[place], p));
    let mut given_up: Vec<usize> = (0..searchers.len()).filter(|point| !left.contains(point)).collect();
    given_up.sort_by(|a, b| rates[b].estimate().total_cmp(&rates[a].estimate()));
    let ranked = finalists.chain(given_up.into_iter().map(|point| (point, None)));
    let tried: Vec<Tried> = ranked
        .map(|(point, p)| Tried { searcher: searchers[point].clone(), rate: rates[&point], p })
        .collect();
    // Seeds that no combination has drawn from.
    let fresh = Seed(run_seed(engine.seed().0, u64::MAX));
    let Some(alone) = tuning.run(&tried[0].searcher, args.runs, fresh)? else { return Ok(Exit::Interrupted) };
    tuning.series.finish();
    if *json {
        print_json(&tried, alone)?;
    } else {
        print(&tried, alone)?;
    }
    Ok(Exit::Clean)
}

/// The parameters to try, with their values.
fn sweep(args: &Args) -> Result<Sweep> {
    let mut sweep = Sweep::new();
    for text in &args.sweep {
        let Some((name, values)) = text.split_once('=') else {
            bail!("`--sweep {text}`: expected PARAMETER=VALUE,.. as in `c=0,1,2`");
        };
        if sweep.iter().any(|(known, _)| known == name) {
            bail!("`--sweep {text}`: `{name}` is given twice; give all its values at once");
        }
        sweep.push((name.to_owned(), values.split(',').map(str::to_owned).collect()));
    }
    Ok(sweep)
}

/// How many runs it takes: those of each rung, as far as they are new, and those of the winner.
fn work(points: usize, rungs: &[u64], runs: u64) -> u64 {
    let (mut left, mut before, mut all) = (points as u64, 0, runs);
    for &rung in rungs {
        all += left * (rung - before);
        (left, before) = (left.div_ceil(2), rung);
    }
    all
}

impl Tuning<'_> {
    /// The rate of a combination; nothing if somebody interrupts.
    fn run(&mut self, searcher: &Searcher, runs: u64, seed: Seed) -> Result<Option<Rate>> {
        let Prepared { entry, base, .. } = self.prepared;
        let label = Label {
            experiment: "tune".to_owned(),
            variant: entry.name.to_owned(),
            row: searcher.label(),
            target: self.target.map_or_else(|| "any".to_owned(), |property| property.to_string()),
        };
        let task = Task {
            settings: Vec::new(),
            label,
            entry,
            base: base.clone(),
            searcher: searcher.clone(),
            seed,
            runs: Some(runs),
            until: Ends::Never,
            suspects: Suspected::Nobody,
        };
        let others = "rates of different numbers of runs would mislead, so none are printed";
        let Some(summary) = self.series.run(&task, Want::Nothing, others)? else {
            return Ok(None);
        };
        let found = match &self.target {
            None => summary.violating,
            Some(property) => summary.runs_with(*property),
        };
        Ok(Some(Rate::new(found, summary.runs)))
    }
}

fn print_json(tried: &[Tried], alone: Rate) -> Result<()> {
    let body = |searcher: &Searcher, rate: Rate, p: Option<f64>| {
        let interval = rate.interval();
        json!({
            "searcher": searcher.label(), "found": rate.hits, "runs": rate.runs,
            "low": interval.low, "high": interval.high, "p": p,
        })
    };
    for Tried { searcher, rate, p } in tried {
        out::json("point", body(searcher, *rate, *p))?;
    }
    Ok(out::json("best", body(&tried[0].searcher, alone, None))?)
}

fn print(tried: &[Tried], alone: Rate) -> Result<()> {
    let mut table = "| | found | runs | rate, 95 % interval | as good? |\n|---|---|---|---|---|".to_owned();
    for (place, Tried { searcher, rate, p }) in tried.iter().enumerate() {
        let as_good = match p {
            None if place == 0 => "the best".to_owned(),
            None => "dropped".to_owned(),
            Some(p) if *p < 0.001 => "p < 0.001".to_owned(),
            Some(p) => format!("p = {p:.3}"),
        };
        let (label, found, runs) = (searcher.label(), rate.hits, rate.runs);
        table += &format!("\n| {label} | {found} | {runs} | {rate} | {as_good} |");
    }
    let (label, found, runs) = (tried[0].searcher.label(), alone.hits, alone.runs);
    Ok(out::markdown(&format!("{table}\n\n{label} with fresh seeds: {found} of {runs}, {alone}"))?)
}
