//! `turncoat shard`: runs one shard of a plan.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::json;
use turncoat_lab::campaign::Record;
use turncoat_lab::plan::{self, Folder, Results};

use crate::clock::Stopwatch;
use crate::commands::plan::own;
use crate::exit::Exit;
use crate::numbers::{self, counted};
use crate::out;
use crate::progress::Progress;
use crate::setup::Engine;
use crate::stop::Stop;
use crate::task::Task;

const NOTES: &str = "\
Writes one file to the folder, either completely or not at all. Its name has the number of the shard and a digest of its \
content, so running a shard twice gives the same file. The folder gets a copy of the plan, for `turncoat merge` and \
`turncoat plan --missing`. Machines can share the folder, or each can have its own and you collect the files later.

Exits with 0 if nothing was found, and 1 if a run violates a property.

Example: turncoat shard plan.json 0 --out results";

/// Run one shard of a plan
#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub(crate) struct Args {
    /// The file of `turncoat plan`
    #[arg(value_name = "PLAN")]
    plan: PathBuf,

    /// The number of the shard, from 0
    #[arg(value_name = "K", value_parser = numbers::within::<usize>(0..=999_999))]
    shard: usize,

    /// The folder for the results
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,

    /// Threads; 0 for all cores
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = numbers::within::<u16>(0..=1024))]
    jobs: u16,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn shard(args: &Args) -> Result<Exit> {
    let plan = plan::read(&args.plan)?;
    let name = args.plan.display();
    let Some(&part) = plan.shards.get(args.shard) else {
        match plan.shards.len() {
            0 => bail!("{name} has no shards"),
            all => bail!("{name} has no shard {}: they are numbered from 0 to {}", args.shard, all - 1),
        }
    };
    own(&plan, &name.to_string())?;
    let folder = Folder::create(&args.out, plan)?;
    let task = Task::of(&folder.plan.campaigns[part.campaign]).with_context(|| name.to_string())?;
    let jobs = Engine { seed: None, jobs: Some(args.jobs) }.threads();
    let (stop, clock) = (Stop::on_interrupt()?, Stopwatch::start());
    let mut results = Results::new((task.entry.mutations)());
    let mut ended = false;
    let mut progress = Progress::new(clock, Some(part.to - part.from));
    let summary = task.with(jobs, &stop, |campaign| {
        let mut keep = |record: Record| {
            results.add(&record);
            let scenario = record.scenario.as_ref();
            ended = scenario.is_some_and(|it| campaign.ends_with(record.index, it, &record.outcome));
            true
        };
        Ok(campaign.run_part(part.runs(), &mut keep, &mut |so_far| progress.show(so_far))?)
    });
    progress.clear();
    let summary = summary?;
    if stop.interrupted() {
        out::log("interrupted: a shard is written only when it is complete, so nothing is written");
        return Ok(Exit::Interrupted);
    }
    let spell = clock.spell(jobs);
    let file = results
        .publish(&args.out, &folder.plan, args.shard, ended, &spell)
        .with_context(|| format!("cannot write to {}", args.out.display()))?;
    let (runs, violating) = (summary.runs, summary.violating);
    if args.json {
        let facts = json!({ "shard": args.shard, "file": file, "runs": runs, "violating": violating, "ended": ended });
        out::json("shard", facts)?;
    } else {
        out::line(format_args!("{}: {}, {violating} violating", file.display(), counted(runs, "run")))?;
    }
    Ok(if violating > 0 { Exit::Violation } else { Exit::Clean })
}
