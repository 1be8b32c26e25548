//! Where campaigns are kept: in a file, if somebody gives one.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use turncoat_lab::campaign::{Campaign, Record};
use turncoat_lab::store::{Description, Store, resume};
use turncoat_lab::summary::Summary;

use crate::clock::Stopwatch;
use crate::numbers::counted;
use crate::stop::Stop;
use crate::{again, out};

/// The options about the file, for commands whose campaigns are not of `turncoat.toml`.
#[derive(clap::Args)]
// Its group would have the name of that of the command's own `Args`.
#[group(skip)]
pub(crate) struct Args {
    /// Store every run in this SQLite database, for `turncoat report`
    #[arg(long, value_name = "FILE", help_heading = "Store")]
    pub(crate) db: Option<PathBuf>,

    /// Continue a campaign that the database has already
    #[arg(long, help_heading = "Store")]
    pub(crate) resume: bool,
}

/// Whoever wants to see the runs of a campaign.
pub(crate) type See<'a> = dyn FnMut(&Record) + Send + 'a;

/// A file for campaigns, or none.
pub(crate) struct CampaignStore {
    db: Option<PathBuf>,
    resume: bool,
    store: Option<Store>,
}

impl CampaignStore {
    /// Opens the file, if one is given. Whatever is wrong with it shows here, before anything runs.
    pub(crate) fn open(db: Option<&Path>, resume: bool) -> Result<Self> {
        if db.is_none() && resume {
            bail!("`--resume` continues a campaign in a database: give it with `--db FILE`");
        }
        Ok(Self { db: db.map(Path::to_owned), resume, store: db.map(Store::open).transpose()? })
    }

    /// Runs a campaign, or what is left of it, and keeps its runs, each of which `see` is shown if it is there.
    pub(crate) fn run(
        &mut self,
        campaign: &Campaign<'_>,
        description: impl FnOnce() -> Result<Description>,
        mut see: Option<&mut See<'_>>,
        watch: &mut (dyn FnMut(&Summary) + Send),
    ) -> Result<Summary> {
        let Some(mut store) = self.store.take() else {
            let Some(see) = see else { return Ok(campaign.run(watch)?) };
            let mut keep = |record| {
                see(&record);
                true
            };
            return Ok(campaign.go_on(Summary::default(), Some(&mut keep), watch)?);
        };
        let place = store.place(&description()?)?;
        if place.stored > 0 && !self.resume {
            let file = self.db.clone().unwrap_or_default();
            bail!(
                "{} has {} of this campaign already: continue with --resume, or give another file",
                file.display(),
                counted(place.stored, "run")
            );
        }
        let mut show = |record: &Record| {
            if let Some(see) = &mut see {
                see(record);
            }
        };
        let (so_far, over) = resume(&store, place, campaign, &mut show)?;
        if over || campaign.runs.is_some_and(|runs| runs <= so_far.runs) {
            self.store = Some(store);
            return Ok(so_far);
        }
        let clock = Stopwatch::start();
        let writer = store.writer(place, (campaign.entry.mutations)());
        let mut keep = |record| {
            show(&record);
            writer.keep(record)
        };
        let summary = campaign.go_on(so_far, Some(&mut keep), watch);
        let store = writer.finish()?;
        let summary = summary?;
        store.spell(place, summary.runs - place.stored, &clock.spell(campaign.jobs))?;
        self.store = Some(store);
        Ok(summary)
    }

    /// Says how to go on, if somebody interrupted what is kept.
    pub(crate) fn advise(&self, stop: &Stop) {
        if stop.interrupted() && self.db.is_some() {
            out::log("all runs so far are stored; to continue:");
            out::log(again::with("--resume"));
        }
    }
}
