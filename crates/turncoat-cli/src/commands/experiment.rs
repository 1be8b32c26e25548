//! `turncoat experiment`: a published table, run again.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use rust_embed::Embed;
use serde_json::{Map, Value, json};
use turncoat_core::outcome::End;
use turncoat_core::scenario::Seed;
use turncoat_lab::campaign::Record;
use turncoat_lab::experiment::liveness::Watched;
use turncoat_lab::experiment::{Cell, Experiment};
use turncoat_lab::lasso::find;
use turncoat_lab::liveness::{Graph, Trace};
use turncoat_lab::plan::{Ends, Suspected};

use crate::clock::Stopwatch;
use crate::exit::Exit;
use crate::searcher::Searcher;
use crate::series::{self, Series, Want};
use crate::task::{Label, Task};
use crate::{digest, files, layout, numbers, out, registry};

/// The files of the experiments: an installed command has no repository.
#[derive(Embed)]
#[folder = "experiments"]
struct Experiments;

const NOTES: &str = "\
Prints tables in Markdown: the runs that violate each property (T termination, V validity, I integrity, A agreement), with \
the rules of integrity (twice, duplicate, order) apart; the rates with 95 % intervals, ours and the published ones; and the \
known bugs behind the violations. Where ours and the published rate differ by more than chance explains (Fisher's exact test), \
p follows; a last row compares the sums of all rows of a strategy. Violations are what the tables count, so the exit code is 0.

Tables about liveness show for each method the runs that it suspects, how many of those end without conflicting locks \
(false, as the paper counts), and how many decide after all once the network is whole (refuted). `~` marks real time.

You can write a table of your own: a file like those in the folder `experiments` of the repository, with variants, rows and \
the published rates.

Example: turncoat experiment byzzfuzz-table-2 --runs 1000 --db table.db
         turncoat experiment my-table.toml";

/// Run a published table again, or one of your own
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

/// Which table, and how often.
#[derive(clap::Args)]
#[group(skip)]
pub(crate) struct Subject {
    /// A name from `turncoat experiment list`, or a file
    #[arg(value_name = "NAME|FILE.toml")]
    name: String,

    /// Runs of each campaign: 1000, 10k [default: as the experiment says]
    #[arg(long, value_name = "N", value_parser = numbers::at_least_one)]
    runs: Option<u64>,

    /// Only this row, by its name in the table; may be given several times
    #[arg(long = "row", value_name = "ROW")]
    rows: Vec<String>,

    /// Do not ask which known bug is behind each violation, which takes more time than all else
    #[arg(long)]
    no_bugs: bool,
}

/// The names of all experiments, each with its title.
pub(crate) fn all() -> Result<Vec<(String, String)>> {
    names().into_iter().map(|name| load(&name).map(|(experiment, _)| (name, experiment.title))).collect()
}

/// What was published for a row of an experiment of ours: see [`Experiment::published`].
pub(crate) fn published(name: &str, variant: &str, row: &str) -> Vec<(String, u64, u64)> {
    let known = names().iter().any(|known| known == name);
    let loaded = known.then(|| load(name).ok()).flatten();
    loaded.map_or_else(Vec::new, |(experiment, _)| experiment.published(variant, row))
}

fn names() -> Vec<String> {
    let mut names: Vec<String> =
        Experiments::iter().filter_map(|path| Some(path.strip_suffix(".toml")?.to_owned())).collect();
    names.sort();
    names
}

/// An experiment, and where it comes from.
fn load(name: &str) -> Result<(Experiment, String)> {
    let (text, file) = if name.ends_with(".toml") {
        (files::text(Path::new(name))?, name.to_owned())
    } else {
        let file = Experiments::get(&format!("{name}.toml")).ok_or_else(|| {
            let known = names();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            registry::unlisted("experiment", name, &known, "experiment list")
        })?;
        (String::from_utf8_lossy(&file.data).into_owned(), format!("experiments/{name}.toml"))
    };
    let experiment = Experiment::parse(&text).map_err(|error| anyhow!("{file}: {error}"))?;
    Ok((experiment, file))
}

pub(crate) fn experiment(args: &Args) -> Result<Exit> {
    if args.subject.name == "list" {
        return list(args.series.json);
    }
    let Loaded { experiment, file, cells, runs } = args.subject.load()?;
    let series::Args { engine, store, json } = &args.series;
    let tasks = args.subject.tasks(engine.seed())?;
    if args.digest {
        return digest::print(&tasks).map(|()| Exit::Clean);
    }
    let mut series = Series::open(engine, store.db.as_deref(), store.resume, runs * cells.len() as u64)?;
    if experiment.is_about_liveness() {
        if store.db.is_some() {
            bail!("{NO_SAMPLES}: leave out `--db`");
        }
        let watched = watch(&cells, &tasks, &mut series).with_context(|| format!("{file} cannot be run"))?;
        let Some(watched) = watched else { return Ok(Exit::Interrupted) };
        series.finish();
        if *json {
            experiment.liveness_json(&watched).into_iter().try_for_each(|line| out::json("check", line))?;
        } else {
            out::markdown(experiment.liveness_markdown(&watched).trim())?;
        }
        return Ok(Exit::Clean);
    }
    let mut results = Vec::new();
    for (cell, task) in cells.iter().zip(&tasks) {
        let mut ran = experiment.nothing();
        let mut see = |record: &Record| experiment.see(record, &mut ran);
        let summary = series.run(task, Want::Runs(&mut see), OTHERS);
        let summary = summary.with_context(|| format!("{file}: {}, {}", cell.variant, cell.row))?;
        let Some(summary) = summary else { return Ok(Exit::Interrupted) };
        ran.summary = summary;
        results.push(ran);
    }
    series.finish();
    if !json {
        out::markdown(experiment.markdown(&results).trim())?;
        // For people: pages and pipes get the tables alone.
        if layout::width().is_some() {
            out::line(format_args!("\n{LEGEND}"))?;
        }
        return Ok(Exit::Clean);
    }
    for (cell, ran) in cells.iter().zip(&results) {
        let counts: Map<String, Value> =
            experiment.counts(ran).map(|(name, count)| (name.to_owned(), count.into())).collect();
        let summary = &ran.summary;
        let row = json!({
            "variant": cell.variant, "row": cell.row, "runs": summary.runs, "violating": counts,
            "bugs": summary.bugs, "disturbed": summary.disturbed,
            "mutations": summary.injected.mutated, "accepted": summary.injected.accepted,
            "fingerprint": Seed(summary.fingerprint).to_string(),
        });
        out::json("cell", row)?;
    }
    Ok(Exit::Clean)
}

/// What the columns of most tables mean.
const LEGEND: &str = "T termination, V validity, I integrity, A agreement; twice, duplicate and order are rules of integrity. \
                      `turncoat experiment --help` explains the rest.";

/// What somebody who interrupts is told.
const OTHERS: &str = "a table with fewer runs in some rows would mislead, so none is printed";

/// Why tables about liveness have no file.
const NO_SAMPLES: &str = "what its runs look like at the ends of their rounds is not kept in a file";

/// An experiment, and where it comes from.
struct Loaded {
    experiment: Experiment,
    file: String,
    cells: Vec<Cell>,
    /// Of each campaign.
    runs: u64,
}

impl Subject {
    fn load(&self) -> Result<Loaded> {
        let (mut experiment, file) = load(&self.name)?;
        let known: Vec<&str> = experiment.rows().collect();
        if let Some(row) = self.rows.iter().find(|row| !known.contains(&row.as_str())) {
            let nearest = registry::nearest(row, &known).map(|near| format!("; did you mean `{near}`?"));
            bail!(
                "{file} has no row `{row}`{}",
                nearest.unwrap_or_else(|| format!(": it has {}", known.join("; ")))
            );
        }
        if !self.rows.is_empty() {
            experiment.keep_rows(&self.rows);
        }
        let cells = experiment.cells().map_err(|error| anyhow!("{file}: {error}"))?;
        Ok(Loaded { runs: self.runs.unwrap_or(experiment.runs), experiment, file, cells })
    }

    /// The campaigns, cell by cell.
    fn tasks(&self, seed: Seed) -> Result<Vec<Task>> {
        let Loaded { experiment, file, cells, runs } = self.load()?;
        let asked = !self.no_bugs && !experiment.is_about_liveness();
        let task = |cell: Cell| {
            let strategy = registry::strategy(&cell.strategy)
                .with_context(|| format!("{file}: {}, {}", cell.variant, cell.row))?;
            Ok(Task {
                settings: Vec::new(),
                label: Label {
                    experiment: self.name.clone(),
                    variant: cell.variant,
                    row: cell.row,
                    target: "any".to_owned(),
                },
                entry: registry::protocol(&cell.base.protocol.name)?,
                base: cell.base,
                searcher: Searcher { strategy: strategy.name, params: cell.params },
                seed,
                runs: Some(runs),
                until: Ends::Never,
                suspects: if asked { Suspected::All } else { Suspected::Nobody },
            })
        };
        cells.into_iter().map(task).collect()
    }

    /// The campaigns for a plan.
    pub(crate) fn planned(&self, seed: Seed) -> Result<Vec<Task>> {
        if self.load()?.experiment.is_about_liveness() {
            bail!("{}: {NO_SAMPLES}, so that others could not hand it over", self.name);
        }
        self.tasks(seed)
    }
}

/// Prints the names of all experiments.
fn list(json: bool) -> Result<Exit> {
    let all = all()?;
    if json {
        let all = all.iter().map(|(name, title)| json!({ "name": name, "about": title })).collect::<Vec<_>>();
        return Ok(out::json("list", json!({ "experiments": all })).map(|()| Exit::Clean)?);
    }
    let width = all.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, title) in all {
        out::hung(format_args!("{name:width$}  "), title)?;
    }
    Ok(Exit::Clean)
}

/// Runs all cells of a table about liveness; nothing if somebody interrupts.
fn watch(cells: &[Cell], tasks: &[Task], series: &mut Series) -> Result<Option<Vec<Watched>>> {
    let mut results = Vec::new();
    for (cell, task) in cells.iter().zip(tasks) {
        let (clock, rounds) = (Stopwatch::start(), cell.rounds.unwrap_or_default());
        let (mut traces, mut undecided) = (Vec::new(), Vec::new());
        let mut keep = |record: Record| {
            undecided.extend(record.scenario.clone().filter(|_| record.outcome.end != End::Goal));
            traces.push(Trace::new(record, rounds, cell.hot));
        };
        let Some(summary) = series.run(task, Want::Samples(&mut keep), OTHERS)? else { return Ok(None) };
        let (seconds, clock) = (clock.seconds(), Stopwatch::start());
        let lassos = Graph::of(&traces).lassos();
        let lasso_seconds = clock.seconds();
        let mut proved = 0;
        for scenario in &undecided {
            proved += u64::from(find(task.entry, scenario)?.never_terminates());
        }
        results.push(Watched { summary, traces, lassos, proved, seconds, lasso_seconds });
    }
    Ok(Some(results))
}
