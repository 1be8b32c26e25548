//! What runs: the options that `run` and `fuzz` share, and the scenario and strategy that they mean.
//!
//! They change a [`Start`]: a protocol, or a bug of the suite. Options are applied from the general to the
//! particular: the flags of the protocol, the size of the cluster, the other options, and last what `--set` says.

use std::sync::Arc;
use std::thread::available_parallelism;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use clap::value_parser;
use turncoat_core::runner::Entry;
use turncoat_core::scenario::{Scenario, Seed};
use turncoat_core::strategy::Strategy;
use turncoat_lab::campaign::BoxError;
use turncoat_lab::store::Description;
use turncoat_lab::suite::{Bug, Hunt};

use crate::registry;
use crate::shelf::{self, Label};

/// The seed of those who give none: fixed, so that what one user sees on first contact, all do.
pub(crate) const SEED: &str = "0x5eed";

/// Who draws the scenarios of a campaign when nobody says.
const STRATEGY: &str = "byzzfuzz";

/// What the options change.
pub(crate) struct Start {
    entry: Entry,
    base: Scenario,
    /// How to search where options do not say.
    hunt: Hunt,
}

impl Start {
    /// A protocol, with defaults for all else.
    pub(crate) fn protocol(name: &str) -> Result<Self> {
        let entry = registry::protocol(name)?;
        Ok(Self { base: Scenario::new(entry.name), entry, hunt: Hunt::default() })
    }

    /// A bug of the suite.
    pub(crate) fn bug(bug: &Bug) -> Result<Self> {
        let base = bug.base().with_context(|| bug.id.clone())?;
        Ok(Self { entry: registry::protocol(&base.protocol.name)?, base, hunt: bug.facts.hunt.clone() })
    }
}

/// What draws and runs a campaign: options that all commands with campaigns share.
#[derive(Args)]
pub(crate) struct Engine {
    /// Where all draws come from, decimal or 0x...: campaigns that differ in one parameter share them
    #[arg(long, value_name = "SEED", default_value = SEED)]
    pub(crate) seed: Seed,

    /// Threads; 0 for all cores
    #[arg(short, long, value_name = "N", default_value_t, value_parser = value_parser!(u16).range(..=1024))]
    jobs: u16,
}

impl Engine {
    /// The number of threads.
    pub(crate) fn threads(&self) -> usize {
        match self.jobs {
            0 => available_parallelism().map_or(1, usize::from),
            jobs => usize::from(jobs),
        }
    }
}

/// The cluster, and everything else by its path.
#[derive(Args)]
pub(crate) struct Setup {
    /// Which event is next: a name from `turncoat list schedulers` [default: timed]
    #[arg(long, value_name = "NAME")]
    scheduler: Option<String>,

    /// Replicas [default: 4, or as many as the protocol needs for F]
    #[arg(short, value_name = "N", help_heading = "Cluster", value_parser = value_parser!(u8).range(1..=64))]
    n: Option<u8>,

    /// Faulty replicas to bear [default: 1, or what N allows]
    #[arg(short, value_name = "F", help_heading = "Cluster", value_parser = value_parser!(u8).range(0..=64))]
    f: Option<u8>,

    /// Clients [default: 1]
    #[arg(long, value_name = "N", help_heading = "Cluster", value_parser = value_parser!(u8).range(0..=64))]
    clients: Option<u8>,

    /// Requests of all clients together [default: 2]
    #[arg(long, value_name = "N", help_heading = "Cluster")]
    requests: Option<u32>,

    /// Allow more faulty replicas than F: a positive control
    #[arg(long, help_heading = "Cluster")]
    over_budget: bool,

    /// Deviations of the protocol to switch on, from `turncoat list flags PROTO`
    #[arg(long, value_name = "FLAG,..", value_delimiter = ',')]
    with: Vec<String>,

    /// Deviations of a preset to switch off
    #[arg(long, value_name = "FLAG,..", value_delimiter = ',')]
    without: Vec<String>,

    /// A key of the scenario (`network.loss=hold`) or a parameter of the strategy (`c=2`)
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
}

/// A protocol and a strategy, ready to run.
pub(crate) struct Prepared {
    pub(crate) entry: Entry,
    /// The fixed part of all scenarios.
    pub(crate) base: Scenario,
    /// The name of the strategy.
    pub(crate) strategy: &'static str,
    params: Vec<(String, String)>,
}

impl Setup {
    /// What the options mean, with this strategy. All mistakes show here, before anything runs.
    pub(crate) fn prepare(&self, start: Start, strategy: Option<&str>) -> Result<Prepared> {
        let Start { entry, base, hunt } = start;
        let hunter = hunt.strategy.as_deref();
        let info = registry::strategy(strategy.or(hunter).unwrap_or(STRATEGY))?;
        let (paths, given) = self.assignments()?;
        // Another strategy has other parameters.
        let hunted = if hunter == Some(info.name) { hunt.params() } else { Vec::new() };
        let params = [hunted, given].concat();
        for (name, _) in &params {
            if !info.params.iter().any(|param| param.name == name) {
                let known: Vec<&str> = info.params.iter().map(|param| param.name).collect();
                let what = format!("parameter of {}", info.name);
                return Err(registry::unknown(&what, name, &known));
            }
        }
        let base = self.scenario(&entry, base, &paths)?;
        let prepared = Prepared { entry, base, strategy: info.name, params };
        prepared.entry.runner().validate(&prepared.base)?;
        prepared.make(&prepared.base).map_err(|error| anyhow!(error))?;
        Ok(prepared)
    }

    /// What `--set` says: keys of the scenario, and parameters of the strategy.
    fn assignments(&self) -> Result<(Assignments, Assignments)> {
        let split = |text: &String| match text.split_once('=') {
            Some((path, value)) => Ok((path.trim().to_owned(), value.trim().to_owned())),
            None => bail!("`--set {text}`: expected PATH=VALUE, as in `network.loss=hold` or `c=2`"),
        };
        let all = self.set.iter().map(split).collect::<Result<Assignments>>()?;
        Ok(all.into_iter().partition(|(path, _)| path.contains('.')))
    }

    fn scenario(&self, entry: &Entry, mut base: Scenario, paths: &Assignments) -> Result<Scenario> {
        let mut flags: Vec<String> = match base.protocol.config.get("flags") {
            Some(flags) => flags.clone().try_into().context("protocol.flags")?,
            None => entry.preset_flags(),
        };
        for flag in self.with.iter().chain(&self.without) {
            registry::flag(entry, flag)?;
        }
        if !self.with.is_empty() || !self.without.is_empty() {
            flags.extend(self.with.iter().filter(|flag| !flags.contains(flag)).cloned().collect::<Vec<_>>());
            flags.retain(|flag| !self.without.contains(flag));
            base = base.with("protocol.flags", flags.into())?;
        }
        let (protocol, rest): (Vec<_>, Vec<_>) =
            paths.iter().partition(|(path, _)| path.starts_with("protocol."));
        base = protocol.into_iter().try_fold(base, |base, set| assign(&base, set))?;
        if let Some(scheduler) = &self.scheduler {
            Arc::make_mut(&mut base.scheduler).name = registry::scheduler(scheduler)?;
        }
        let (n, f) = self.size(entry, &base);
        let cluster = Arc::make_mut(&mut base.cluster);
        (cluster.n, cluster.f) = (n, f);
        cluster.clients = self.clients.map_or(cluster.clients, usize::from);
        cluster.over_budget |= self.over_budget;
        if let Some(requests) = self.requests {
            Arc::make_mut(&mut base.workload).requests = requests;
        }
        rest.into_iter().try_fold(base, |base, set| assign(&base, set))
    }

    /// The size of the cluster, n and f: what is not given follows from what is.
    fn size(&self, entry: &Entry, base: &Scenario) -> (usize, usize) {
        let mut config = entry.preset.clone();
        config.extend(base.protocol.config.clone());
        // A configuration without a bound is not right: the runner will say why.
        let bound = |f| (entry.bound)(&config, f).unwrap_or_default();
        match (self.n.map(usize::from), self.f.map(usize::from)) {
            (Some(n), Some(f)) => (n, f),
            (Some(n), None) => (n, usize::from(bound(1) <= n)),
            (None, Some(f)) => (bound(f), f),
            (None, None) => (bound(base.cluster.f).max(base.cluster.n), base.cluster.f),
        }
    }
}

/// Paths or names with their values, as text.
type Assignments = Vec<(String, String)>;

/// The scenario with one of its keys set. Text that is no TOML value is a string.
fn assign(base: &Scenario, (path, text): &(String, String)) -> Result<Scenario> {
    if path == "protocol.name" {
        bail!("`--set protocol.name`: the protocol is the first argument, `{}`", base.protocol.name);
    }
    let value = text.parse().unwrap_or_else(|_| toml::Value::String(text.clone()));
    base.with(path, value).with_context(|| format!("`--set {path}={text}`"))
}

impl Prepared {
    /// The strategy, for campaigns and single runs alike.
    pub(crate) fn make(&self, base: &Scenario) -> Result<Box<dyn Strategy + Send>, BoxError> {
        turncoat_strategies::make(self.strategy, base, &self.params).map_err(BoxError::from)
    }

    /// What a store says about a campaign, which belongs to no table.
    pub(crate) fn describe(
        &self,
        experiment: &str,
        target: String,
        seed: Seed,
        wanted: Option<u64>,
    ) -> Result<Description> {
        let set = self.params.iter().map(|(name, value)| format!(" {name}={value}"));
        let label = Label {
            experiment: experiment.to_owned(),
            variant: self.entry.name.to_owned(),
            row: set.fold(self.strategy.to_owned(), |row, set| row + &set),
            target,
        };
        let strategy = self.make(&self.base).map_err(|error| anyhow!(error))?;
        let strategy = (self.strategy, &*strategy as &dyn Strategy);
        Ok(shelf::describe(label, &self.entry, &self.base, strategy, &self.params, seed, wanted))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    const ROW: &str = r#"
        schema = 1
        seed = 9
        [bug]
        title = "nothing"
        property = "agreement"
        tier = 3
        budget = "1/0/1"
        source = "nobody"
        control = ["pbft"]
        [bug.hunt]
        strategy = "byzzfuzz"
        scheduler = "sync"
        set = { c = 2, d = 0, workload.requests = 6 }
        [protocol]
        name = "pbft-classic"
        checkpoint = 2
        [cluster]
        n = 5
        clients = 2
        [adversary]
        byzantine = ["p0"]
    "#;

    #[derive(Parser)]
    struct Options {
        #[command(flatten)]
        setup: Setup,
    }

    fn hunt(options: &str, strategy: Option<&str>) -> Prepared {
        let Options { setup } = Options::parse_from(["test"].into_iter().chain(options.split_whitespace()));
        let start = Start::bug(&Bug::parse("pbft/nothing", ROW).unwrap()).unwrap();
        setup.prepare(start, strategy).unwrap()
    }

    #[test]
    fn a_hunt_is_as_the_row_says() {
        let Prepared { entry, base, strategy, params } = hunt("", None);
        assert_eq!((entry.name, strategy), ("pbft-classic", "byzzfuzz"));
        assert_eq!(params, [("c".to_owned(), "2".to_owned()), ("d".to_owned(), "0".to_owned())]);
        assert_eq!((base.cluster.n, base.cluster.clients, base.workload.requests), (5, 2, 6));
        assert_eq!(registry::name_of(base.scheduler.name), "sync");
        assert_eq!(base.protocol.config["checkpoint"].as_integer(), Some(2));
        assert!(base.adversary.byzantine.is_empty());
    }

    #[test]
    fn options_go_before_the_row() {
        let options = "-n 7 --requests 3 --scheduler async --set protocol.checkpoint=8 --set c=1";
        let Prepared { base, params, .. } = hunt(options, None);
        assert_eq!((base.cluster.n, base.workload.requests), (7, 3));
        assert_eq!(registry::name_of(base.scheduler.name), "async");
        assert_eq!(base.protocol.config["checkpoint"].as_integer(), Some(8));
        // The last value of a parameter counts.
        assert_eq!(params.last(), Some(&("c".to_owned(), "1".to_owned())));
    }

    #[test]
    fn another_strategy_has_none_of_the_parameters_of_the_row() {
        assert_eq!(hunt("--set drop=0", Some("random")).params, [("drop".to_owned(), "0".to_owned())]);
        assert_eq!(hunt("", Some("byzzfuzz")).params.len(), 2);
    }
}
