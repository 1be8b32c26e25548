//! What runs: the options that `run` and `fuzz` share, and the scenario and strategy that they mean.
//!
//! They change a [`Start`]: a configuration, or a bug of the suite. Options are applied from the general to the
//! particular: the flags of the protocol, the size of the cluster, the other options, and last what `--set` says.

use std::sync::Arc;
use std::thread::available_parallelism;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use turncoat_core::assume::Assumption;
use turncoat_core::ids::{NodeId, Time};
use turncoat_core::rng::{Purpose, Rng};
use turncoat_core::runner::Entry;
use turncoat_core::scenario::{ClusterSpec, Goal, Latency, Scenario, Seed};
use turncoat_core::strategy::{Strategy, Universe};
use turncoat_lab::campaign::BoxError;
use turncoat_lab::suite::{Bug, Hunt};
use turncoat_strategies::StrategyError;

use crate::config::Config;
use crate::numbers::{self, counted};
use crate::out::Tone;
use crate::rows::Rows;
use crate::searcher::Searcher;
use crate::{again, out, registry};

/// The seed of those who give none: fixed, so that what one user sees on first contact, all do.
const SEED: Seed = Seed(0x5eed);

/// The most threads.
const JOBS: u16 = 1024;

/// Runs that are drawn to see what a strategy decides itself.
const DRAWS: u64 = 8;

/// Who draws the scenarios of a campaign when nobody says.
const STRATEGY: &str = "portfolio";

/// What the options change.
pub(crate) struct Start {
    entry: &'static Entry,
    base: Scenario,
    /// How to search where options do not say.
    hunt: Hunt,
    /// The size of the cluster, n and f, as far as it is given.
    size: [Option<usize>; 2],
}

impl Start {
    /// The protocol that a configuration names, and all else that it says.
    pub(crate) fn config(config: &Config) -> Result<Self> {
        let Some(name) = config.text("protocol.name") else {
            if let Some((path, _)) = config.of_scenario().find(|(path, _)| path.starts_with("protocol.")) {
                let key = path.trim_start_matches("protocol.");
                let unnamed = match registry::nearest(key, &["name"]) {
                    Some(_) => anyhow!("no key of [protocol] `{key}`: did you mean `name`?"),
                    None => anyhow!("`{key}` is a key of which protocol? Give its `name` too"),
                };
                return Err(unnamed).with_context(|| config.place(path));
            }
            let (program, first) =
                (again::program(), registry::protocols().next().map_or("pbft", |entry| entry.name));
            bail!(
                "no protocol: name one, as in `{program} fuzz {first}`, or in turncoat.toml under [protocol]"
            );
        };
        if Rows::embedded().bug(name).is_ok() {
            let program = again::program();
            bail!(
                "`{name}` is a known bug, not a protocol: `{program} replay {name}` runs it, and `{program} fuzz --bug {name}` searches for it"
            );
        }
        let entry = registry::protocol(name).with_context(|| config.place("protocol.name"))?;
        let mut base = entry.scenario();
        for (path, value) in config.of_scenario() {
            if let Some(key) = path.strip_prefix("protocol.") {
                fits(entry, key, value).with_context(|| config.place(path))?;
            }
            base = base.with(path, value.clone()).with_context(|| config.place(path))?;
        }
        let params = config.params()?;
        let hunt = Hunt {
            strategy: config.text("strategy.name").map(str::to_owned),
            set: params,
            ..Hunt::default()
        };
        let given = |path, value| config.has(path).then_some(value);
        let size = [given("cluster.n", base.cluster.n), given("cluster.f", base.cluster.f)];
        Ok(Self { entry, base, hunt, size })
    }

    /// A protocol, with defaults for all else.
    pub(crate) fn protocol(name: &str) -> Result<Self> {
        let entry = registry::protocol(name)?;
        Ok(Self { base: entry.scenario(), entry, hunt: Hunt::default(), size: [None; 2] })
    }

    /// All messages take this time, where options do not say.
    pub(crate) fn latency(&mut self, time: Time) {
        Arc::make_mut(&mut self.base.network).latency = Latency::Constant(time);
    }

    /// Who is to search, where options do not say.
    pub(crate) fn hunter(&self) -> Option<&str> {
        self.hunt.strategy.as_deref()
    }

    /// A bug of the suite.
    pub(crate) fn bug(bug: &Bug) -> Result<Self> {
        let base = bug.base().with_context(|| bug.id.clone())?;
        let entry = registry::protocol(&base.protocol.name)?;
        Ok(Self { entry, base, hunt: bug.facts.hunt.clone(), size: [None; 2] })
    }
}

/// Whether a protocol's configuration has a key, and the value means something.
fn fits(entry: &Entry, key: &str, value: &toml::Value) -> Result<()> {
    if !entry.config.contains_key(key) {
        let known: Vec<&str> = entry.config.keys().map(String::as_str).collect();
        return Err(registry::unknown(&format!("key of {}", entry.name), key, &known));
    }
    let mut config = entry.preset.clone();
    config.insert(key.to_owned(), value.clone());
    if (entry.bound)(&config, 1).is_none() {
        // It reads the configuration first, so that is what it complains about.
        let alone = Scenario::new(entry.name).with(&format!("protocol.{key}"), value.clone())?;
        entry.runner().validate(&alone).with_context(|| format!("`{key}`"))?;
    }
    Ok(())
}

/// What draws and runs a campaign: options that all commands with campaigns share.
#[derive(Args, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Engine {
    /// The random seed, decimal or 0x... [default: 0x5eed]
    #[arg(long, value_name = "SEED")]
    pub(crate) seed: Option<Seed>,

    /// Threads; 0 for all cores [default: 0]
    #[arg(short, long, value_name = "N", value_parser = numbers::within::<u16>(0..=JOBS.into()))]
    #[serde(deserialize_with = "jobs")]
    pub(crate) jobs: Option<u16>,
}

/// A file may say no more than the command line.
fn jobs<'de, D: Deserializer<'de>>(d: D) -> Result<Option<u16>, D::Error> {
    let jobs = i64::deserialize(d)?;
    let wrong = || D::Error::custom(format!("give a whole number from 0 to {JOBS}"));
    u16::try_from(jobs).ok().filter(|&jobs| jobs <= JOBS).map(Some).ok_or_else(wrong)
}

impl Engine {
    /// The seed.
    pub(crate) fn seed(&self) -> Seed {
        self.seed.unwrap_or(SEED)
    }

    /// The number of threads.
    pub(crate) fn threads(&self) -> usize {
        match self.jobs.unwrap_or_default() {
            0 => available_parallelism().map_or(1, usize::from),
            jobs => usize::from(jobs),
        }
    }
}

/// The cluster, and everything else by its path.
#[derive(Args, Clone, Default)]
pub(crate) struct Setup {
    /// How the next event is chosen: a name from `turncoat list schedulers` [default: timed]
    #[arg(long, value_name = "NAME")]
    scheduler: Option<String>,

    /// Replicas [default: as many as the protocol needs for F, at least 4]
    #[arg(short, value_name = "N", help_heading = "Cluster", value_parser = numbers::within::<u8>(1..=64))]
    n: Option<u8>,

    /// Faulty replicas to tolerate [default: 1, or the most that the protocol tolerates with N replicas]
    #[arg(short, value_name = "F", help_heading = "Cluster", value_parser = numbers::within::<u8>(0..=64))]
    f: Option<u8>,

    /// Clients [default: 1]
    #[arg(long, value_name = "N", help_heading = "Cluster", value_parser = numbers::within::<u8>(0..=64))]
    clients: Option<u8>,

    /// Requests, of all clients together [default: 2]
    #[arg(long, value_name = "N", help_heading = "Cluster", value_parser = numbers::within::<u32>(0..=u32::MAX.into()))]
    requests: Option<u32>,

    /// Allow more than F faulty replicas; violations are then reported as outside the protocol's assumptions
    #[arg(long, help_heading = "Cluster")]
    over_budget: bool,

    /// Break an assumption of the protocol on purpose: channels, synchrony or requests; see `turncoat list assumptions PROTO`
    #[arg(long, value_name = "ASSUMPTION,..", value_delimiter = ',')]
    beyond: Vec<Assumption>,

    /// Bug flags of the protocol to turn on, from `turncoat list flags PROTO`
    #[arg(long, value_name = "FLAG,..", value_delimiter = ',')]
    with: Vec<String>,

    /// Bug flags of a preset to turn off
    #[arg(long, value_name = "FLAG,..", value_delimiter = ',')]
    without: Vec<String>,

    /// Set a key of the scenario (network.loss=hold) or a parameter of the strategy (c=2)
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
}

/// A protocol and a strategy, ready to run.
pub(crate) struct Prepared {
    pub(crate) entry: &'static Entry,
    /// The fixed part of all scenarios.
    pub(crate) base: Scenario,
    /// The name of the strategy.
    pub(crate) strategy: &'static str,
    params: Vec<(String, String)>,
    /// Whether the options break the assumption that clients have one request outstanding, on purpose.
    crowded: bool,
}

impl Setup {
    /// As if these options were given.
    pub(crate) fn of(
        [n, f, clients]: [Option<u8>; 3],
        requests: Option<u32>,
        set: impl Iterator<Item = (String, String)>,
    ) -> Self {
        let set = set.map(|(path, value)| format!("{path}={value}")).collect();
        Self { n, f, clients, requests, set, ..Self::default() }
    }

    /// What the options mean, with this strategy. All mistakes show here, before anything runs.
    pub(crate) fn prepare(&self, start: Start, strategy: Option<&str>) -> Result<Prepared> {
        let Start { entry, base, hunt, size } = start;
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
                let owners = registry::strategies_with(name);
                return Err(match owners.is_empty() {
                    true => registry::unlisted(&what, name, &known, "list strategies"),
                    false => anyhow!("no {what} `{name}`: only --strategy {} has it", owners.join(" or ")),
                });
            }
        }
        let base = self.scenario(entry, base, size, &paths)?;
        let crowded = self.beyond.contains(&Assumption::Requests);
        let prepared = Prepared { entry, base, strategy: info.name, params, crowded };
        prepared.entry.runner().validate(&prepared.base)?;
        prepared.asks_for_something()?;
        prepared.heeds(&paths)?;
        Ok(prepared)
    }

    /// What `--set` says: keys of the scenario, and parameters of the strategy.
    fn assignments(&self) -> Result<(Assignments, Assignments)> {
        let split = |text: &String| match text.split_once('=') {
            Some((path, value)) if !path.trim().is_empty() => {
                Ok((path.trim().to_owned(), value.trim().to_owned()))
            }
            _ => bail!("`--set {text}`: expected PATH=VALUE, as in `network.loss=hold` or `c=2`"),
        };
        let all = self.set.iter().map(split).collect::<Result<Assignments>>()?;
        Ok(all.into_iter().partition(|(path, _)| path.contains('.')))
    }

    /// The keys that the options set, each with its option.
    pub(crate) fn origins(&self) -> Vec<(String, &'static str)> {
        let options = [
            ("cluster.n", "-n", self.n.is_some()),
            ("cluster.f", "-f", self.f.is_some()),
            ("cluster.clients", "--clients", self.clients.is_some()),
            ("cluster.over-budget", "--over-budget", self.over_budget),
            ("workload.requests", "--requests", self.requests.is_some()),
            ("scheduler.name", "--scheduler", self.scheduler.is_some()),
            ("protocol.flags", "--with", !self.with.is_empty()),
            ("protocol.flags", "--without", !self.without.is_empty()),
        ];
        let given = options.into_iter().filter(|&(.., given)| given);
        let set = self.set.iter().map(|text| {
            let path = text.split('=').next().unwrap_or_default().trim();
            match path.split('.').collect::<Vec<_>>()[..] {
                [table, key, ..] => (format!("{table}.{key}"), "--set"),
                _ => (format!("strategy.{path}"), "--set"),
            }
        });
        given.map(|(path, option, _)| (path.to_owned(), option)).chain(set).collect()
    }

    /// The keys of the scenario that options and configuration set, but for numbers of requests and clients, of which fewer are
    /// as good.
    pub(crate) fn settings(&self, config: &Config) -> Vec<String> {
        let options = self.origins().into_iter().map(|(path, _)| path);
        let configured = config.of_scenario().map(|(path, _)| path.to_owned());
        let mut settings: Vec<String> = options.chain(configured).collect();
        if self.n.is_some() {
            settings.push("cluster.f".to_owned());
        }
        let fewer = ["workload.requests", "cluster.clients", "protocol.flags"];
        settings.retain(|path| !path.starts_with("strategy.") && !fewer.contains(&path.as_str()));
        settings.sort();
        settings.dedup();
        settings
    }

    fn scenario(
        &self,
        entry: &Entry,
        mut base: Scenario,
        size: [Option<usize>; 2],
        paths: &Assignments,
    ) -> Result<Scenario> {
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
        for &assumption in &self.beyond {
            base = entry.beyond(base, assumption)?;
        }
        if let Some(scheduler) = &self.scheduler {
            Arc::make_mut(&mut base.scheduler).name = registry::scheduler(scheduler)?;
        }
        let (n, f) = self.size(entry, &base, size);
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
    fn size(&self, entry: &Entry, base: &Scenario, [n, f]: [Option<usize>; 2]) -> (usize, usize) {
        let mut config = entry.preset.clone();
        config.extend(base.protocol.config.clone());
        // A configuration without a bound is not right: the runner will say why.
        let bound = |f| (entry.bound)(&config, f).unwrap_or_default();
        match (self.n.map(usize::from).or(n), self.f.map(usize::from).or(f)) {
            (Some(n), Some(f)) => (n, f),
            // A cluster of billions is refused later, and nobody counts up to there.
            (Some(n), None) => {
                (n, (1..=n.min(NodeId::MAX)).take_while(|&f| bound(f) <= n).last().unwrap_or(0))
            }
            (None, Some(f)) => (bound(f).max(ClusterSpec::default().n), f),
            (None, None) => (bound(base.cluster.f).max(base.cluster.n), base.cluster.f),
        }
    }
}

/// What a table says at a path.
fn at<'a>(table: &'a toml::Table, path: &str) -> Option<&'a toml::Value> {
    let (key, rest) = path.split_once('.').unwrap_or((path, ""));
    let value = table.get(key)?;
    if rest.is_empty() { Some(value) } else { at(value.as_table()?, rest) }
}

/// Paths or names with their values, as text.
type Assignments = Vec<(String, String)>;

/// The scenario with one of its keys set.
fn assign(base: &Scenario, (path, text): &(String, String)) -> Result<Scenario> {
    if path == "protocol.name" {
        bail!("`--set protocol.name`: the protocol is the first argument, `{}`", base.protocol.name);
    }
    base.with(path, value(text)).with_context(|| format!("`--set {path}={text}`"))
}

impl Prepared {
    /// The strategy, for campaigns and single runs alike.
    pub(crate) fn make(&self, base: &Scenario) -> Result<Box<dyn Strategy + Send>, BoxError> {
        let lies = (self.entry.mutations)();
        turncoat_strategies::make(self.strategy, base, &self.params, &lies).map_err(BoxError::from)
    }

    /// The faults whose plans the strategy runs, if it runs all of them.
    pub(crate) fn universe(&self) -> Result<Option<Universe>> {
        Ok(self.make(&self.base).map_err(|error| self.unfit(error))?.universe())
    }

    /// Warns of clients that do not wait for their results, where the protocol counts on that.
    pub(crate) fn warn(&self) {
        let (workload, clients) = (&self.base.workload, self.base.cluster.clients);
        let (requests, name) = (workload.requests, self.entry.name);
        let Some(every) = workload.every else { return };
        if self.crowded || clients >= requests as usize || !self.entry.assumptions(&self.base).one_request {
            return;
        }
        let text = format!(
            "workload.every = {every}: a client sends its next request before it has the result of the last one, and {name} \
             assumes that it waits. Violations of termination then count as outside the assumptions; with `--clients \
             {requests}` each client has one request"
        );
        out::complain(Tone::Warning, "warning", text);
    }

    /// Whether clients ask for anything, or replicas have something to decide: a run of nothing tests nothing.
    fn asks_for_something(&self) -> Result<()> {
        let (entry, base) = (&self.entry, &self.base);
        if base.workload.goal == Goal::None {
            return Ok(());
        }
        if base.workload.requests == 0 && (entry.stream || entry.clients) {
            bail!("nothing to decide: `--requests` is at least 1");
        }
        if base.cluster.clients == 0 && entry.clients {
            bail!("{} needs a client: `--clients` is at least 1", entry.name);
        }
        Ok(())
    }

    /// Whether the strategy leaves what `--set` says of the adversary and the scheduler as it is.
    fn heeds(&self, paths: &Assignments) -> Result<()> {
        let mut strategy = self.make(&self.base).map_err(|error| self.unfit(error))?;
        let draw = |i| strategy.next(i, &mut Rng::new(i, Purpose::Strategy)).to_table();
        let (given, drawn) = (self.base.to_table(), (0..DRAWS).map(draw).collect::<Vec<_>>());
        for (path, text) in paths {
            let drawn_too = path.starts_with("adversary.") || path.starts_with("scheduler.");
            if drawn_too && drawn.iter().any(|drawn| at(drawn, path) != at(&given, path)) {
                bail!(
                    "`--set {path}={text}`: {0} decides on `{path}` itself, in each run. Leave it out, or use `--strategy \
                     none`, which runs a scenario as it is; `list strategies` shows what you can set instead",
                    self.strategy
                );
            }
        }
        Ok(())
    }

    /// Why the strategy cannot be made, in words of the cluster if that is why.
    fn unfit(&self, error: BoxError) -> anyhow::Error {
        if !matches!(error.downcast_ref(), Some(StrategyError::NobodyMayLie { .. })) {
            return anyhow!(error);
        }
        let (name, n) = (self.entry.name, self.base.cluster.n);
        let mut config = self.entry.preset.clone();
        config.extend(self.base.protocol.config.clone());
        match (self.entry.bound)(&config, 1) {
            Some(bound) if bound > n => {
                anyhow!(
                    "{name} with {} tolerates no fault: use n >= {bound}, or --over-budget",
                    counted(n as u64, "replica")
                )
            }
            _ => anyhow!(
                "{} needs a Byzantine replica, and f = 0: use f >= 1, or --over-budget",
                self.strategy
            ),
        }
    }

    /// The strategy with some parameters more.
    pub(crate) fn searcher(&self, more: &[(String, String)]) -> Searcher {
        Searcher { strategy: self.strategy, params: [&self.params, more].concat() }
    }

    /// All of it as the tables of a configuration, defaults included.
    pub(crate) fn tables(&self) -> Result<toml::Table> {
        let mut tables = self.base.to_table();
        tables.retain(|_, value| value.is_table());
        let mut protocol = toml::Table::from_iter([("name".to_owned(), self.entry.name.into())]);
        protocol.extend(self.entry.config.clone());
        protocol.extend(self.base.protocol.config.clone());
        tables.insert("protocol".to_owned(), protocol.into());
        let mut strategy = toml::Table::from_iter([("name".to_owned(), self.strategy.into())]);
        let defaults = registry::strategy(self.strategy)?.params.iter();
        let defaults = defaults.map(|param| (param.name.to_owned(), param.default.to_owned()));
        strategy.extend(defaults.chain(self.params.clone()).map(|(name, text)| (name, value(&text))));
        tables.insert("strategy".to_owned(), strategy.into());
        Ok(tables)
    }

    /// What they would be without options and configuration.
    pub(crate) fn defaults(&self) -> Result<toml::Table> {
        let base = Scenario::new(self.entry.name);
        Self { entry: self.entry, base, strategy: self.strategy, params: Vec::new(), crowded: true }.tables()
    }
}

/// Text as a value: what is no TOML is a string.
pub(crate) fn value(text: &str) -> toml::Value {
    text.parse().unwrap_or_else(|_| toml::Value::String(text.to_owned()))
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
        let Prepared { entry, base, strategy, params, .. } = hunt("", None);
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
