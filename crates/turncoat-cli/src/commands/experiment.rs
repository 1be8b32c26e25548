//! `turncoat experiment`: a published table, run again.

use anyhow::{Result, anyhow, bail};
use clap::value_parser;
use rust_embed::Embed;
use serde_json::{Map, Value, json};
use turncoat_core::scenario::Seed;
use turncoat_lab::campaign::{BoxError, Campaign, Until};
use turncoat_lab::experiment::{Cell, Experiment};
use turncoat_lab::summary::Summary;

use crate::clock::Stopwatch;
use crate::exit::Exit;
use crate::progress::Progress;
use crate::setup::Engine;
use crate::stop::Stop;
use crate::{out, registry};

/// The files of the experiments: an installed command has no repository.
#[derive(Embed)]
#[folder = "../../experiments"]
struct Experiments;

const NOTES: &str = "\
Prints tables in Markdown: the runs that violate each property, with what was published beside them; `!` marks a
published count whose rate differs from ours, in that the 95 % intervals of the two do not overlap. A violation is
what the tables count, so it is no failure: the exit code is 0.

Example: turncoat experiment byzzfuzz-table-2 --runs 1000";

/// Run a table of a paper again
#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub(crate) struct Args {
    /// A name from `turncoat list experiments`
    #[arg(value_name = "NAME")]
    name: String,

    /// Runs of each campaign [default: as many as the experiment says]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    runs: Option<u64>,

    #[command(flatten)]
    engine: Engine,

    /// JSON lines, one for each campaign
    #[arg(long)]
    json: bool,
}

/// The names of all experiments, each with its title.
pub(crate) fn all() -> Result<Vec<(String, String)>> {
    names().into_iter().map(|name| load(&name).map(|experiment| (name, experiment.title))).collect()
}

fn names() -> Vec<String> {
    let mut names: Vec<String> =
        Experiments::iter().filter_map(|path| Some(path.strip_suffix(".toml")?.to_owned())).collect();
    names.sort();
    names
}

fn load(name: &str) -> Result<Experiment> {
    let file = Experiments::get(&format!("{name}.toml")).ok_or_else(|| {
        let known = names();
        registry::unknown("experiment", name, &known.iter().map(String::as_str).collect::<Vec<_>>())
    })?;
    Experiment::parse(&String::from_utf8_lossy(&file.data))
        .map_err(|error| anyhow!("experiments/{name}.toml: {error}"))
}

pub(crate) fn experiment(args: &Args) -> Result<Exit> {
    let experiment = load(&args.name)?;
    let cells = experiment.cells().map_err(|error| anyhow!("experiments/{}.toml: {error}", args.name))?;
    let runs = args.runs.unwrap_or(experiment.runs);
    let stop = Stop::on_interrupt()?;
    let mut progress = Progress::new(Stopwatch::start(), Some(runs * cells.len() as u64));
    let mut results = Vec::new();
    let mut done = Summary::default();
    for cell in &cells {
        let summary = campaign(cell, args, runs, &stop, &mut |so_far| {
            let mut all = done.clone();
            all.append(so_far.clone());
            progress.show(&all);
        });
        let summary = match summary {
            Ok(summary) => summary,
            Err(error) => bail!("experiments/{}.toml: {}, {}: {error}", args.name, cell.variant, cell.row),
        };
        if stop.interrupted() {
            progress.clear();
            bail!("interrupted: a table with fewer runs in some rows would mislead");
        }
        done.append(summary.clone());
        results.push(summary);
    }
    progress.clear();
    if !args.json {
        out::line(experiment.markdown(&results).trim())?;
        return Ok(Exit::Clean);
    }
    for (cell, summary) in cells.iter().zip(&results) {
        let counts: Map<String, Value> =
            experiment.counts(summary).map(|(name, count)| (name.to_owned(), count.into())).collect();
        let row = json!({
            "variant": cell.variant, "row": cell.row, "runs": summary.runs, "violating": counts,
            "mutations": summary.injected.mutated, "accepted": summary.injected.accepted,
            "fingerprint": Seed(summary.fingerprint).to_string(),
        });
        out::json("cell", row)?;
    }
    Ok(Exit::Clean)
}

fn campaign(
    cell: &Cell,
    args: &Args,
    runs: u64,
    stop: &Stop,
    watch: &mut (dyn FnMut(&Summary) + Send),
) -> Result<Summary> {
    let entry = registry::protocol(&cell.base.protocol.name)?;
    let campaign = Campaign {
        entry: &entry,
        base: &cell.base,
        make: &|base| turncoat_strategies::make(&cell.strategy, base, &cell.params).map_err(BoxError::from),
        seed: args.engine.seed(),
        runs: Some(runs),
        jobs: args.engine.threads(),
        until: Until::Never,
        stop: stop.flag(),
        suspects: None,
    };
    Ok(campaign.run(watch)?)
}
