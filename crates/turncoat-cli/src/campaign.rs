//! `[campaign]`: the seed of a campaign, and when it is over.
//!
//! A field of [`Keys`] is an option of `fuzz`, a key of `turncoat.toml` and a variable of the environment, all with
//! the same name: adding one adds all three.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Command, ValueEnum};
use serde::{Deserialize, Serialize};
use turncoat_core::scenario::Scenario;
use turncoat_strategies::Param;

use crate::setup::Engine;
use crate::{clock, numbers};

/// Runs when neither a number nor a time is given.
const RUNS: u64 = 10_000;

/// What is given of them.
#[derive(Args, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Keys {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) engine: Engine,

    /// How many runs: 5000, 10k, 2M, 1e6 [default: 10k, or no limit with --for; with --strategy enumerate all there are]
    #[arg(long, value_name = "N", help_heading = "Budget", value_parser = numbers::count)]
    #[serde(with = "numbers::as_count")]
    pub(crate) runs: Option<u64>,

    /// How long: 500ms, 10s, 5min, 1h30m
    #[arg(long = "for", value_name = "TIME", help_heading = "Budget", value_parser = clock::duration)]
    #[serde(rename = "for", with = "clock::as_text")]
    pub(crate) time: Option<Duration>,

    /// Which violation ends the campaign early; with --bug or --expect, the first of that property does [default: safety]
    #[arg(long, value_name = "WHEN", help_heading = "Budget")]
    pub(crate) until: Option<When>,

    /// What to look for [default: both, with what --until says]
    #[arg(long, value_name = "WHAT", help_heading = "Budget")]
    pub(crate) hunt: Option<Hunt>,

    /// Store every run in this SQLite database, for `turncoat report`
    #[arg(long, value_name = "FILE", help_heading = "Store")]
    pub(crate) db: Option<PathBuf>,
}

/// Which violation ends a campaign.
#[derive(Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum When {
    /// The first violation of safety; runs that do not terminate are only counted
    #[default]
    Safety,
    /// The first violation of any property
    First,
    /// None: execute all runs
    Never,
}

/// What a campaign looks for.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Hunt {
    /// Violations of safety alone: all runs are short, many times as many in the same time
    Safety,
    /// Violations of termination alone: no run is short, and the first that never terminates ends the campaign
    Liveness,
}

/// Events of a short run in a cluster of four; what a decision costs grows with the square of the number of replicas.
const SHORT: u64 = 1500;

impl Hunt {
    /// Changes what all scenarios share.
    pub(crate) fn prepare(self, base: &mut Scenario) {
        if self == Self::Safety {
            let pairs = (base.cluster.n * base.cluster.n) as u64;
            Arc::make_mut(&mut base.limits).short.get_or_insert(SHORT * pairs.max(16) / 16);
        }
    }

    /// Parameters for strategies that cut some runs short on their own.
    pub(crate) fn params(self, known: &[Param]) -> Vec<(String, String)> {
        let short = self == Self::Liveness && known.iter().any(|param| param.name == "short");
        short.then(|| ("short".to_owned(), "0".to_owned())).into_iter().collect()
    }
}

impl Keys {
    /// Their names.
    pub(crate) fn names() -> Vec<String> {
        let options = Self::augment_args(Command::new("campaign"));
        options.get_arguments().filter_map(|option| option.get_long().map(str::to_owned)).collect()
    }

    /// With the defaults of those that are not given: of a strategy that runs everything it has, all runs.
    pub(crate) fn or_default(self, exhaustive: bool) -> Self {
        Self {
            engine: Engine {
                seed: Some(self.engine.seed()),
                jobs: Some(self.engine.jobs.unwrap_or_default()),
            },
            runs: self.runs.or((self.time.is_none() && !exhaustive).then_some(RUNS)),
            until: Some(self.until.unwrap_or_default()),
            ..self
        }
    }
}
