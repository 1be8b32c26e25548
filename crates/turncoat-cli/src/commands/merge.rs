//! `turncoat merge`: the results of shards become a store.

use std::path::PathBuf;

use anyhow::Result;
use serde_json::json;
use turncoat_lab::plan::{self, Folder, MergeError, Merged, Planned, Refused};
use turncoat_lab::store::Store;

use crate::commands::plan::own;
use crate::exit::Exit;
use crate::numbers::counted;
use crate::stop::Stop;
use crate::task::Task;
use crate::{again, out};

const NOTES: &str = "\
Adds results in the order of the plan, up to the first missing shard. Results that the database has already are not added \
again, so you can merge as often as you like, while shards still run or after a merge that was killed. The database is exactly \
what a single process would have written, except for the time it took.

A file that is damaged, truncated, or from another plan or program is named and not used; its shard counts as missing, and the \
exit code is 2. Two different results of one shard mean that a run is not deterministic: the exit code is 3, and nothing is \
added.

Example: turncoat merge results --db campaign.db && turncoat report campaign.db";

/// Merge the results of shards into a database
#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub(crate) struct Args {
    /// The folder with the results
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// The SQLite database; created if it does not exist
    #[arg(long, value_name = "FILE")]
    db: PathBuf,

    /// Execute one run in a hundred again on this machine before adding it
    #[arg(long)]
    verify: bool,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// One run in so many is executed again, not the same as those that a campaign repeats itself.
const AGAIN: u64 = 100;

pub(crate) fn merge(args: &Args) -> Result<Exit> {
    let folder = Folder::open(&args.folder)?;
    own(&folder.plan, &args.folder.join("plan.json").display().to_string())?;
    let mut store = Store::open(&args.db)?;
    let mut verified = 0;
    let mut check = |planned: &Planned, runs: &mut dyn Iterator<Item = (u64, u64)>| {
        if args.verify && !planned.campaign.learns {
            verified += verify(planned, runs)?;
        }
        Ok(())
    };
    let Merged { runs, new, missing, refused } = plan::merge(&folder, &mut store, &mut check)?;
    list_refused(&refused);
    let shards = folder.plan.shards.len();
    if args.json {
        let refused: Vec<_> = refused.iter().map(|refused| &refused.path).collect();
        let facts = json!({
            "db": args.db, "runs": runs, "shards": shards, "new": new, "verified": verified, "missing": missing,
            "refused": refused,
        });
        out::json("merge", facts)?;
    } else {
        let db = args.db.display();
        out::line(format_args!("{db}: {}, {} added", counted(runs, "run"), counted(new as u64, "shard")))?;
        if args.verify {
            out::line(format_args!(
                "verified: {} executed again with the same result",
                counted(verified, "run")
            ))?;
        }
        if !missing.is_empty() {
            let (program, folder) = (again::program(), args.folder.display());
            let some = counted(missing.len() as u64, "shard");
            out::line(format_args!("{some} still to run: {program} plan --missing {folder}"))?;
        }
    }
    Ok(if refused.is_empty() { Exit::Clean } else { Exit::BadInput })
}

/// Executes some runs again, and says how many.
fn verify(planned: &Planned, runs: &mut dyn Iterator<Item = (u64, u64)>) -> Result<u64, MergeError> {
    let unusable = |error: anyhow::Error| MergeError::Plan(format!("{error:#}"));
    let task = Task::of(planned).map_err(unusable)?;
    let mut verified = 0;
    let repeated = task.with(1, &Stop::default(), |campaign| {
        for (index, fingerprint) in runs.filter(|(index, _)| index % AGAIN == AGAIN / 2) {
            if let Err(error) = campaign.repeat_stored(index, fingerprint) {
                return Ok(Err(error));
            }
            verified += 1;
        }
        Ok(Ok(()))
    });
    repeated.map_err(unusable)??;
    Ok(verified)
}

/// Says which files cannot be used, and why.
pub(crate) fn list_refused(refused: &[Refused]) {
    for Refused { path, damage } in refused {
        out::log(format_args!("not used: {}: {damage}", path.display()));
    }
}
