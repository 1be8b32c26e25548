//! What runs: the options that `run` and `fuzz` share, and the scenario and strategy that they mean.
//!
//! Options are applied from the general to the particular: the protocol and its flags, the size of the
//! cluster, the other options, and last what `--set` says.

use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use clap::value_parser;
use turncoat_core::runner::Entry;
use turncoat_core::scenario::Scenario;
use turncoat_core::strategy::Strategy;
use turncoat_lab::campaign::BoxError;

use crate::registry;

/// The seed of those who give none: fixed, so that what one user sees on first contact, all do.
pub(crate) const SEED: &str = "0x5eed";

/// The protocol, the cluster, and everything else by its path.
#[derive(Args)]
pub(crate) struct Setup {
    /// A name from `turncoat list protocols`
    #[arg(value_name = "PROTO")]
    protocol: String,

    /// Which event is next: a name from `turncoat list schedulers`
    #[arg(long, value_name = "NAME", default_value = "timed")]
    scheduler: String,

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
    pub(crate) fn prepare(&self, strategy: &str) -> Result<Prepared> {
        let entry = registry::protocol(&self.protocol)?;
        let info = registry::strategy(strategy)?;
        let (paths, params) = self.assignments()?;
        for (name, _) in &params {
            if !info.params.iter().any(|param| param.name == name) {
                let known: Vec<&str> = info.params.iter().map(|param| param.name).collect();
                let what = format!("parameter of {}", info.name);
                return Err(registry::unknown(&what, name, &known));
            }
        }
        let base = self.scenario(&entry, &paths)?;
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

    fn scenario(&self, entry: &Entry, paths: &Assignments) -> Result<Scenario> {
        let mut base = Scenario::new(entry.name);
        let mut flags = entry.preset_flags();
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
        Arc::make_mut(&mut base.scheduler).name = registry::scheduler(&self.scheduler)?;
        let (n, f) = self.size(entry, &base);
        let cluster = Arc::make_mut(&mut base.cluster);
        (cluster.n, cluster.f) = (n, f);
        cluster.clients = self.clients.map_or(cluster.clients, usize::from);
        cluster.over_budget = self.over_budget;
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
            (None, None) => (bound(1).max(base.cluster.n), base.cluster.f),
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
}
