//! `turncoat plan`: campaigns, cut into shards for many machines.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Subcommand;
use serde_json::json;
use turncoat_core::scenario::Seed;
use turncoat_core::strategy::Space;
use turncoat_lab::plan::{Folder, Plan, digest_of};

use crate::commands::merge::list_refused;
use crate::commands::{detect, experiment, fuzz};
use crate::exit::Exit;
use crate::numbers::{self, counted};
use crate::setup::Engine;
use crate::stop::Stop;
use crate::task::Task;
use crate::{again, clock, files, out};

const NOTES: &str = "\
A plan splits the campaigns of `fuzz`, `experiment` or `suite run` into shards by the indices of their runs. Shards run \
anywhere, in any order, and twice if necessary:

  turncoat plan fuzz pbft --runs 2000000
  turncoat shard plan.json K --out results       for each K
  turncoat merge results --db campaign.db

The merged database is exactly what the single command would have written with --db. All three steps need the same program: \
a plan contains its SHA-256.

With --missing DIR it prints the shards of the plan in DIR that are still to run, one number on each line: those without a \
result, and those whose result cannot be used. Where a violation ends a campaign, the shards after it are not needed.

Example: turncoat plan experiment byzzfuzz-table-2 --runs 100000
         turncoat plan --missing results";

/// Split campaigns into shards for many machines
#[derive(clap::Args)]
#[command(after_help = NOTES, args_conflicts_with_subcommands = true, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,

    /// Print the shards of the plan in this folder that are still to run
    #[arg(long, value_name = "DIR")]
    missing: Option<PathBuf>,

    /// Print one line of JSON
    #[arg(long, requires = "missing")]
    json: bool,
}

#[derive(Subcommand)]
enum Command {
    /// The campaign of `turncoat fuzz`
    Fuzz(Box<Planned<fuzz::Subject>>),
    /// The campaigns of `turncoat experiment`
    Experiment(Planned<Seeded<experiment::Subject>>),
    /// The campaigns of `turncoat suite run`
    Suite(Planned<Seeded<detect::Subject>>),
}

#[derive(clap::Args)]
struct Planned<S: clap::Args> {
    #[command(flatten)]
    subject: S,

    #[command(flatten)]
    cut: Cut,
}

#[derive(clap::Args)]
#[group(skip)]
struct Seeded<S: clap::Args> {
    #[command(flatten)]
    subject: S,

    /// The random seed, decimal or 0x... [default: 0x5eed]
    #[arg(long, value_name = "SEED")]
    seed: Option<Seed>,
}

impl<S: clap::Args> Seeded<S> {
    fn seed(&self) -> Seed {
        Engine { seed: self.seed, jobs: None }.seed()
    }
}

/// How to cut, and where the plan goes.
#[derive(clap::Args)]
#[group(skip)]
struct Cut {
    /// The file of the plan
    #[arg(
        short = 'o',
        long = "out",
        value_name = "FILE",
        default_value = "plan.json",
        help_heading = "Plan"
    )]
    file: PathBuf,

    /// Runs of each shard: 1000, 10k [default: as many as one thread does in --shard-seconds]
    #[arg(long, value_name = "N", help_heading = "Plan", value_parser = numbers::at_least_one)]
    shard_runs: Option<u64>,

    /// About how long a shard takes on one thread of this machine, in seconds
    #[arg(long, value_name = "S", help_heading = "Plan", default_value_t = 60, value_parser = numbers::within::<u64>(1..=86_400))]
    shard_seconds: u64,

    /// Print one line of JSON
    #[arg(long = "json")]
    to_json: bool,
}

/// Campaigns so small are not cut unless somebody says so: they take less time than to find out how much they take.
const SMALL: u64 = 1000;

/// How long a campaign is tried out to see how fast it is.
const TRIAL: Duration = Duration::from_millis(200);

pub(crate) fn plan(args: &Args) -> Result<Exit> {
    match (&args.command, &args.missing) {
        (Some(Command::Fuzz(args)), _) => {
            let Planned { subject, cut } = &**args;
            if subject.campaign.db.is_some() {
                bail!("`--db` is not for plans: `{} merge DIR --db FILE` makes the store", again::program());
            }
            let Some((task, keys)) = subject.task(None)? else { return Ok(Exit::Clean) };
            if keys.time.is_some() {
                bail!("a plan needs a number of runs: give `--runs` instead of `--for`");
            }
            write(&[task], cut)
        }
        (Some(Command::Experiment(args)), _) => {
            write(&args.subject.subject.planned(args.subject.seed())?, &args.cut)
        }
        (Some(Command::Suite(args)), _) => {
            write(&args.subject.subject.tasks(args.subject.seed())?, &args.cut)
        }
        (None, Some(folder)) => missing(&Folder::open(folder)?, args.json),
        (None, None) => bail!("name the campaigns to plan, or give --missing"),
    }
}

fn write(tasks: &[Task], cut: &Cut) -> Result<Exit> {
    let stop = Stop::on_interrupt()?;
    let mut plan = Plan::new(program()?);
    let mut runs = 0;
    for task in tasks {
        let planned = task.planned()?;
        let (all, most) = task.with(1, &stop, |campaign| {
            let space = campaign.space()?.and_then(Space::runs);
            let all = campaign.runs.into_iter().chain(space).min().unwrap_or_default();
            let most = match cut.shard_runs {
                Some(most) => Some(most),
                None if all <= SMALL || planned.campaign.learns => None,
                None => Some(rounded(speed(task, all, &stop)? * cut.shard_seconds as f64)),
            };
            Ok((all, most))
        })?;
        if stop.interrupted() {
            out::log("interrupted: no plan is written");
            return Ok(Exit::Interrupted);
        }
        runs += all;
        plan.add(planned, all, most)?;
    }
    let file = cut.file.display();
    files::write_whole(&cut.file, plan.to_json() + "\n").with_context(|| format!("cannot write {file}"))?;
    let (campaigns, shards, id) = (plan.campaigns.len(), plan.shards.len(), plan.id());
    if cut.to_json {
        let facts =
            json!({ "plan": cut.file, "id": id, "campaigns": campaigns, "shards": shards, "runs": runs });
        out::json("plan", facts)?;
    } else {
        let (program, last) = (again::program(), shards.saturating_sub(1));
        let (campaigns, runs) = (counted(campaigns as u64, "campaign"), counted(runs, "run"));
        out::line(format_args!("{file}: {campaigns}, {runs}, shards 0 to {last}"))?;
        out::line(format_args!("to run one: {program} shard {file} K --out DIR"))?;
        out::line(format_args!("at the end: {program} merge DIR --db FILE"))?;
    }
    Ok(if runs == 0 { Exit::NothingRan } else { Exit::Clean })
}

/// How many runs of a campaign one thread does in a second, here.
fn speed(task: &Task, runs: u64, stop: &Stop) -> Result<f64> {
    let clock = clock::Stopwatch::start();
    let done = task.with(1, &stop.next_within(TRIAL), |campaign| {
        Ok(campaign.run_part(0..runs, &mut |_| true, &mut |_| {})?.runs)
    })?;
    Ok(done as f64 / clock.seconds().max(1e-3))
}

/// With two digits that say something, for people.
fn rounded(runs: f64) -> u64 {
    let runs = runs.max(1.0);
    let unit = 10f64.powf(runs.log10().floor() - 1.0).max(1.0);
    ((runs / unit).round() * unit) as u64
}

/// The SHA-256 of this program.
pub(crate) fn program() -> Result<String> {
    env::current_exe().and_then(|path| digest_of(&path)).context("cannot read this program's own file")
}

/// Refuses a plan that another program made.
pub(crate) fn own(plan: &Plan, name: &str) -> Result<()> {
    let ours = program()?;
    if ours != plan.program {
        bail!(
            "{name} was made by another program, whose SHA-256 begins with {:.12}; this one's begins with {ours:.12}. \
             Results of two programs cannot be merged: use that program, or make a new plan with this one",
            plan.program
        );
    }
    Ok(())
}

fn missing(folder: &Folder, json: bool) -> Result<Exit> {
    let (missing, refused) = folder.missing()?;
    list_refused(&refused);
    if json {
        let refused: Vec<_> = refused.iter().map(|refused| &refused.path).collect();
        let facts = json!({ "missing": missing, "shards": folder.plan.shards.len(), "refused": refused });
        out::json("missing", facts)?;
    } else {
        missing.iter().try_for_each(out::line)?;
    }
    Ok(Exit::Clean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_shards_are_round() {
        let sizes = [0.2, 7.4, 123.0, 98_765.4, 1_234_567.0].map(rounded);
        assert_eq!(sizes, [1, 7, 120, 99_000, 1_200_000]);
    }
}
