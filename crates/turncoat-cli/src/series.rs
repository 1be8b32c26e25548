//! Many campaigns, one after another: what the commands share that compare strategies.

use std::path::Path;

use anyhow::Result;
use turncoat_lab::campaign::Record;
use turncoat_lab::summary::Summary;

use crate::campaign_store::{self, CampaignStore, See};
use crate::clock::Stopwatch;
use crate::out;
use crate::progress::Progress;
use crate::setup::Engine;
use crate::stop::Stop;
use crate::task::Task;

/// The options of such a command.
#[derive(clap::Args)]
// Its group would have the name of that of the command's own `Args`.
#[group(skip)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) engine: Engine,

    #[command(flatten)]
    pub(crate) store: campaign_store::Args,

    /// Print JSON lines instead of tables, one for each campaign
    #[arg(long)]
    pub(crate) json: bool,
}

/// What somebody wants of a campaign beside its sums.
pub(crate) enum Want<'a> {
    Nothing,
    /// Every run.
    Runs(&'a mut See<'a>),
    /// Every run with samples, which no file has.
    Samples(&'a mut (dyn FnMut(Record) + Send)),
}

/// The campaigns so far.
pub(crate) struct Series {
    jobs: usize,
    store: CampaignStore,
    stop: Stop,
    progress: Progress,
    done: Summary,
}

impl Series {
    /// Opens the file for the campaigns, if one is given, and expects so many runs in all.
    pub(crate) fn open(engine: &Engine, db: Option<&Path>, resume: bool, runs: u64) -> Result<Self> {
        Ok(Self {
            jobs: engine.threads(),
            store: CampaignStore::open(db, resume)?,
            stop: Stop::on_interrupt()?,
            progress: Progress::new(Stopwatch::start(), Some(runs)),
            done: Summary::default(),
        })
    }

    /// Runs a whole campaign, after what the file has of it, or, if somebody wants samples, from the start.
    /// Nothing if somebody interrupts, who is told what becomes of the others.
    pub(crate) fn run(&mut self, task: &Task, want: Want<'_>, others: &str) -> Result<Option<Summary>> {
        let Self { jobs, store, stop, progress, done } = self;
        let mut watch = |so_far: &Summary| {
            let mut all = done.clone();
            all.append(so_far.clone());
            progress.show(&all);
        };
        let describe = || task.describe();
        let summary = task.with(*jobs, stop, |campaign| match want {
            Want::Samples(keep) => {
                let mut keep = |record| {
                    keep(record);
                    true
                };
                Ok(campaign.run_sampled(&mut keep, &mut watch)?)
            }
            Want::Runs(see) => store.run(campaign, describe, Some(see), &mut watch),
            Want::Nothing => store.run(campaign, describe, None, &mut watch),
        })?;
        if stop.interrupted() {
            progress.clear();
            out::log(format_args!("interrupted: {others}"));
            store.advise(stop);
            return Ok(None);
        }
        done.append(summary.clone());
        Ok(Some(summary))
    }

    /// Prints something while the series goes on.
    pub(crate) fn print<T>(&self, print: impl FnOnce() -> T) -> T {
        self.progress.above(print)
    }

    /// Makes room for the results.
    pub(crate) fn finish(self) {
        self.progress.clear();
    }
}
