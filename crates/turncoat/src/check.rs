//! Fuzzing a protocol in an ordinary `#[test]`.
//!
//! A [`Fuzzer`] generates scenarios and runs them until one violates a property. Then the test fails and prints what was
//! violated, how it came about, in words and as a chart, and how to replay it. The scenario is shrunk and saved in the
//! folder `turncoat-corpus` beside the crate's `Cargo.toml`, and the test runs it first from then on. Commit it: it is a
//! regression test.
//!
//! ```
//! use turncoat::{Property, check};
//! use turncoat_protocols::pbft::Pbft;
//!
//! // In each run of ByzzFuzz one replica lies in two rounds, and the network splits in one.
//! check::<Pbft>().strategy("byzzfuzz").set("c", 2).set("network.loss", "hold").runs(200).run();
//!
//! // A flag plants a bug, and the check shows that it would be found.
//! check::<Pbft>().flag("exec-out-of-order").runs(200).finds(Property::Integrity).run();
//! ```
//!
//! The same as an attribute, [`macro@crate::test`], which lists all keys. The function may return the scenario that all runs
//! start from:
//!
//! ```
//! # use turncoat_protocols::pbft::Pbft;
//! use turncoat::Scenario;
//!
//! #[turncoat::test(Pbft, strategy = "byzzfuzz", runs = 200, set(c = 2, "network.loss" = "hold"))]
//! fn replicas_agree() {}
//!
//! #[turncoat::test(Pbft, flag = "exec-out-of-order", finds = turncoat::Property::Integrity)]
//! fn order_matters() -> Scenario {
//!     Scenario::parse("schema = 1\nprotocol.name = 'pbft'\nworkload.requests = 3").expect("a scenario")
//! }
//! ```
//!
//! A key that does not exist does not compile:
//!
//! ```compile_fail
//! # use turncoat_protocols::pbft::Pbft;
//! #[turncoat::test(Pbft, stratgy = "byzzfuzz")]
//! fn replicas_agree() {}
//! ```
//!
//! The variable `TURNCOAT_RUNS` sets the number of runs of all checks: a small one while you write, a large one at night.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::thread::available_parallelism;

use turncoat_core::node::Protocol;
use turncoat_core::outcome::{Outcome, Property};
use turncoat_core::runner::Entry;
use turncoat_core::scenario::{Scenario, Seed};
use turncoat_lab::campaign::{self, BoxError, Campaign, Until};
use turncoat_lab::files;
use turncoat_lab::plain::plain;
use turncoat_lab::shrink::{Budget, Keep, shrink};
use turncoat_lab::summary::{Finding, Summary};
use turncoat_lab::words::count;

use crate::kept::Kept;
use crate::strategies;

/// Runs where nobody says how many.
const RUNS: u64 = 1_000;

/// Executions after which shrinking ends: a debug build takes its time.
const EXECUTIONS: u64 = 10_000;

/// Sets the number of runs of all checks.
const RUNS_VARIABLE: &str = "TURNCOAT_RUNS";

/// A check of protocol `P`: by default 1000 runs of the strategy `portfolio` on the default scenario.
pub fn check<P: Protocol>() -> Fuzzer {
    Fuzzer::of(Entry::of::<P>())
}

/// A campaign in a test, and its settings: see the [module](self).
#[derive(Clone)]
#[must_use = "it does nothing until it is `run`"]
pub struct Fuzzer {
    entry: Entry,
    base: Scenario,
    flags: Vec<String>,
    set: toml::Table,
    strategy: String,
    runs: u64,
    seed: Option<Seed>,
    finds: Option<Property>,
    corpus: Option<PathBuf>,
}

impl Fuzzer {
    /// A check of a variant of a protocol.
    pub fn of(entry: Entry) -> Self {
        Self {
            base: entry.scenario(),
            entry,
            flags: Vec::new(),
            set: toml::Table::new(),
            strategy: "portfolio".to_owned(),
            runs: RUNS,
            seed: None,
            finds: None,
            corpus: None,
        }
    }

    /// The scenario that all runs start from: cluster, workload, network, and so on.
    pub fn scenario(self, base: Scenario) -> Self {
        Self { base, ..self }
    }

    /// Switches on one of the protocol's flags, a planted bug. May be called repeatedly.
    pub fn flag(mut self, flag: &str) -> Self {
        self.flags.push(flag.to_owned());
        self
    }

    /// How scenarios are generated: `portfolio` by default.
    pub fn strategy(self, name: &str) -> Self {
        Self { strategy: name.to_owned(), ..self }
    }

    /// Sets a parameter of the strategy (`c`), or a key of the scenario by its path (`network.loss`).
    pub fn set(mut self, name: &str, value: impl Into<toml::Value>) -> Self {
        self.set.insert(name.to_owned(), value.into());
        self
    }

    /// The maximum number of runs: 1000 by default.
    pub fn runs(self, runs: u64) -> Self {
        Self { runs, ..self }
    }

    /// The random seed; by default that of the scenario.
    pub fn seed(self, seed: u64) -> Self {
        Self { seed: Some(Seed(seed)), ..self }
    }

    /// Expects a violation of this property: finding one is success, finding none failure. Nothing is kept.
    pub fn finds(self, property: Property) -> Self {
        Self { finds: Some(property), ..self }
    }

    /// The folder in which violations are saved; by default `turncoat-corpus` beside the crate's `Cargo.toml`.
    pub fn corpus(self, folder: impl Into<PathBuf>) -> Self {
        Self { corpus: Some(folder.into()), ..self }
    }

    /// Runs the campaign only, on all cores, until the first violation. The result does not depend on the number of cores.
    ///
    /// # Errors
    /// If a setting is wrong.
    pub fn search(&self) -> Result<Summary, BoxError> {
        let (base, params) = self.settings()?;
        let wanted = |_: u64, _: &Scenario, outcome: &Outcome| {
            self.finds.is_some_and(|property| outcome.violation(property).is_some())
        };
        let campaign = Campaign {
            entry: &self.entry,
            base: &base,
            make: &|base| Ok(strategies::make(&self.strategy, base, &params, &(self.entry.mutations)())?),
            seed: self.seed.unwrap_or(base.seed),
            runs: Some(self.runs),
            jobs: available_parallelism().map_or(1, usize::from),
            until: if self.finds.is_some() { Until::Shown(&wanted) } else { Until::First },
            stop: &AtomicBool::new(false),
            suspects: None,
        };
        Ok(campaign.run(&mut |_| {})?)
    }

    /// Runs the test: first what was found before, then the campaign.
    ///
    /// # Panics
    /// If a property is violated, if the expected one is not, or if a setting is wrong.
    #[track_caller]
    pub fn run(&self) {
        let mut notes = Vec::new();
        let verdict = self.verdict(&mut notes);
        notes.iter().for_each(|note| eprintln!("{}", plain(note)));
        if let Err(failure) = verdict {
            panic!("{}", plain(&failure));
        }
    }

    fn verdict(&self, notes: &mut Vec<String>) -> Result<(), String> {
        let wrong = |error: BoxError| format!("the check of {} cannot run: {error}", self.entry.name);
        let (base, _) = self.settings().map_err(wrong)?;
        let runs = runs(self, std::env::var_os(RUNS_VARIABLE)).map_err(wrong)?;
        let search = || self.clone().runs(runs).search().map_err(wrong);
        if let Some(property) = self.finds {
            return unmet(property, &search()?);
        }
        let kept = Kept::new(self.corpus.clone());
        let again = kept.run_again(&self.entry, &base, notes).map_err(|error| wrong(error.into()))?;
        if let Some((path, scenario)) = again {
            return Err(kept.failure(&self.entry, &scenario, Ok(path)));
        }
        let Some(finding) = search()?.earliest().cloned() else { return Ok(()) };
        let scenario = self.small(&finding);
        let origin = format!("found by the test {}, run {}", kept.test, finding.index);
        let path = kept.save(&self.entry, &scenario, origin);
        Err(kept.failure(&self.entry, &scenario, path))
    }

    /// The base scenario, and the parameters of the strategy. All mistakes show here.
    fn settings(&self) -> Result<(Scenario, Vec<(String, String)>), BoxError> {
        let Self { entry, base, flags, set, strategy, .. } = self;
        if base.protocol.name != entry.name {
            return Err(format!("its scenario is one of {}", base.protocol.name).into());
        }
        let mut base = base.clone();
        if !flags.is_empty() {
            let given = base.protocol.config.get("flags").and_then(toml::Value::as_array);
            let given =
                given.cloned().unwrap_or_else(|| entry.preset_flags().into_iter().map(Into::into).collect());
            let all: Vec<toml::Value> =
                given.into_iter().chain(flags.iter().map(|flag| flag.as_str().into())).collect();
            base = base.with("protocol.flags", all.into())?;
        }
        let (keys, params): (toml::Table, toml::Table) =
            set.clone().into_iter().partition(|(name, _)| name.contains('.'));
        for (path, value) in keys {
            base = base.with(&path, value)?;
        }
        let params = campaign::params(&params);
        entry.runner().validate(&base)?;
        strategies::make(strategy, &base, &params, &(entry.mutations)())?;
        Ok((base, params))
    }

    /// What was found, shrunk if it can be.
    fn small(&self, Finding { scenario, violation, fingerprint, .. }: &Finding) -> Scenario {
        let scenario = files::expecting(scenario, Some(violation), *fingerprint);
        let settings: Vec<String> = self.set.keys().filter(|path| path.contains('.')).cloned().collect();
        let budget = Budget { executions: EXECUTIONS, stop: &AtomicBool::new(false) };
        let shrunk = shrink(&self.entry, &scenario, Keep::Same, &settings, budget);
        shrunk.map_or(scenario, |shrunk| shrunk.scenario)
    }
}

/// How many runs: as the variable says. Whoever expects a violation has no use for fewer.
fn runs(fuzzer: &Fuzzer, variable: Option<OsString>) -> Result<u64, BoxError> {
    let Some(text) = variable else { return Ok(fuzzer.runs) };
    let runs = text.to_str().and_then(|text| text.parse().ok());
    let runs = runs.ok_or_else(|| format!("{RUNS_VARIABLE}={}: not a whole number", text.display()))?;
    Ok(if fuzzer.finds.is_some() { fuzzer.runs.max(runs) } else { runs })
}

/// Whether what was expected was found.
fn unmet(property: Property, summary: &Summary) -> Result<(), String> {
    let others = summary.first.keys().map(|other| other.name()).collect::<Vec<_>>().join(", ");
    let found = if others.is_empty() { "none".to_owned() } else { format!("{others} alone") };
    let unmet = || {
        format!(
            "expected a violation of {property}, and found {found} in {}",
            count(summary.runs as usize, "run", "runs")
        )
    };
    if summary.first.contains_key(&property) { Ok(()) } else { Err(unmet()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_sets_the_runs_and_takes_none_from_those_who_expect() {
        let entry = || turncoat_protocols::all().swap_remove(0);
        let with =
            |fuzzer: &Fuzzer, text: &str| runs(fuzzer, Some(text.into())).map_err(|error| error.to_string());
        let plain = Fuzzer::of(entry()).runs(50);
        assert_eq!(
            (runs(&plain, None).ok(), with(&plain, "7"), with(&plain, "70")),
            (Some(50), Ok(7), Ok(70))
        );
        let expecting = plain.clone().finds(Property::Agreement);
        assert_eq!((with(&expecting, "7"), with(&expecting, "70")), (Ok(50), Ok(70)));
        assert_eq!(with(&plain, "many"), Err("TURNCOAT_RUNS=many: not a whole number".to_owned()));
    }
}
