//! A campaign before it runs, all of it in words: for this process, or for another one ([`Planned`]).

use anyhow::{Result, anyhow};
use turncoat_core::outcome::Outcome;
use turncoat_core::runner::Entry;
use turncoat_core::scenario::{Scenario, Seed};
use turncoat_lab::campaign::{Campaign, Until};
use turncoat_lab::plan::{Ends, Planned, Suspected};
use turncoat_lab::store::Description;
use turncoat_lab::suite::{Bug, others_show};
use turncoat_lab::suspects::Suspects;

use crate::registry;
use crate::rows::Rows;
use crate::searcher::Searcher;
use crate::stop::Stop;

/// One strategy against one protocol.
pub(crate) struct Task {
    pub(crate) label: Label,
    pub(crate) entry: &'static Entry,
    /// The fixed part of all scenarios.
    pub(crate) base: Scenario,
    /// The keys of it that somebody has set, which shrinking leaves as they are.
    pub(crate) settings: Vec<String>,
    pub(crate) searcher: Searcher,
    pub(crate) seed: Seed,
    pub(crate) runs: Option<u64>,
    pub(crate) until: Ends,
    pub(crate) suspects: Suspected,
}

/// A campaign's place in a table: see [`Description`].
pub(crate) struct Label {
    pub(crate) experiment: String,
    pub(crate) variant: String,
    pub(crate) row: String,
    pub(crate) target: String,
}

impl Task {
    /// Makes the campaign, and does something with it.
    pub(crate) fn with<T>(
        &self,
        jobs: usize,
        stop: &Stop,
        work: impl FnOnce(&Campaign<'_>) -> Result<T>,
    ) -> Result<T> {
        let Self { entry, base, searcher, seed, runs, .. } = self;
        let suspects = self.suspects()?;
        let bug = match &self.until {
            Ends::Bug(id) => Some(Rows::embedded().bug(id)?),
            _ => None,
        };
        // What controls violate as well under the same scenario is not the bug.
        let shows_bug = |bug: &Bug, scenario: &Scenario, outcome: &Outcome| {
            bug.shows(outcome) && !others_show(bug, scenario, &registry::find).unwrap_or(true)
        };
        let shown = |_: u64, scenario: &Scenario, outcome: &Outcome| match &self.until {
            Ends::Property(property) => outcome.violation(*property).is_some(),
            _ => bug.as_ref().is_some_and(|bug| shows_bug(bug, scenario, outcome)),
        };
        work(&Campaign {
            entry,
            base,
            make: &|base| searcher.make(base),
            seed: *seed,
            runs: *runs,
            jobs,
            until: match self.until {
                Ends::Never => Until::Never,
                Ends::First => Until::First,
                Ends::Safety => Until::Safety,
                Ends::Property(_) | Ends::Bug(_) => Until::Shown(&shown),
            },
            stop: stop.flag(),
            suspects: suspects.as_ref(),
        })
    }

    fn suspects(&self) -> Result<Option<Suspects>> {
        let rows = Rows::embedded();
        Ok(match &self.suspects {
            Suspected::Nobody => None,
            Suspected::All => Some(rows.suspects(self.entry, &self.base)?),
            Suspected::Bug(id) => {
                Some(Suspects::new(self.entry, &self.base, &[rows.bug(id)?], &registry::find).rows_alone())
            }
        })
    }

    /// What a store says about the campaign.
    pub(crate) fn describe(&self) -> Result<Description> {
        let Label { experiment, variant, row, target } = &self.label;
        let Searcher { strategy, params } = &self.searcher;
        Ok(Description {
            experiment: experiment.clone(),
            variant: variant.clone(),
            row: row.clone(),
            target: target.clone(),
            protocol: self.entry.name.to_owned(),
            strategy: (*strategy).to_owned(),
            // The last value of a parameter counts.
            params: params.iter().cloned().collect(),
            base: self.base.to_toml(),
            seed: self.seed,
            learns: self.searcher.make(&self.base).map_err(|error| anyhow!(error))?.learns(),
            wanted: self.runs,
            marks: self.entry.marks.iter().map(|&mark| mark.to_owned()).collect(),
        })
    }

    /// For another process.
    pub(crate) fn planned(&self) -> Result<Planned> {
        let (until, suspects) = (self.until.clone(), self.suspects.clone());
        Ok(Planned { campaign: self.describe()?, until, suspects })
    }

    /// From another process.
    pub(crate) fn of(planned: &Planned) -> Result<Self> {
        let Planned { campaign, until, suspects } = planned.clone();
        let Description { experiment, variant, row, target, .. } = campaign;
        let params = campaign.params.into_iter().collect();
        Ok(Self {
            label: Label { experiment, variant, row, target },
            entry: registry::protocol(&campaign.protocol)?,
            base: Scenario::parse(&campaign.base)?,
            settings: Vec::new(),
            searcher: Searcher { strategy: registry::strategy(&campaign.strategy)?.name, params },
            seed: campaign.seed,
            runs: campaign.wanted,
            until,
            suspects,
        })
    }
}
