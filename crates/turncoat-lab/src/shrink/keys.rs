//! Fewer requests, clients, replicas and liars; keys that do not matter; a smaller seed.

use std::sync::Arc;

use toml::Value;
use turncoat_core::ids::NodeId;
use turncoat_core::scenario::{Scenario, Seed};

use super::Shrinker;
use crate::words::count;

/// Seeds that are tried instead of a larger one.
pub(super) const SEEDS: u64 = 64;

/// Keys that other passes see to, or that say what the scenario is about.
const KEPT: [&str; 11] = [
    "cluster.n",
    "cluster.f",
    "cluster.clients",
    "cluster.trust",
    "network.loss",
    "workload.requests",
    "scheduler.name",
    "scheduler.script",
    "adversary.byzantine",
    "adversary.faults",
    "protocol.name",
];

impl Shrinker<'_> {
    pub(super) fn fewer_requests(&mut self) {
        let requests = self.best.workload.requests;
        for fewer in 1..requests.min(8) {
            let mut candidate = self.best.clone();
            Arc::make_mut(&mut candidate.workload).requests = fewer;
            if self.attempt(candidate, || {
                format!("{} instead of {requests}", count(fewer as usize, "request", "requests"))
            }) {
                return;
            }
        }
    }

    pub(super) fn fewer_nodes(&mut self) {
        let clients = self.best.cluster.clients;
        for fewer in 0..clients.min(4) {
            let mut candidate = self.best.clone();
            Arc::make_mut(&mut candidate.cluster).clients = fewer;
            if self
                .attempt(candidate, || format!("{} instead of {clients}", count(fewer, "client", "clients")))
            {
                break;
            }
        }
        for f in [1, self.best.cluster.f] {
            let Some(n) = (self.entry.bound)(&self.config(), f) else { continue };
            let mut candidate = self.best.clone();
            let cluster = Arc::make_mut(&mut candidate.cluster);
            let before = cluster.n;
            (cluster.n, cluster.f) = (n.max(1), f.min(cluster.f));
            self.attempt(candidate, || format!("{} instead of {before}", count(n, "replica", "replicas")));
        }
        let adversary = &self.best.adversary;
        let faulty: Vec<NodeId> = adversary.byzantine.or(adversary.twins).iter().collect();
        for node in faulty {
            let mut candidate = self.best.clone();
            candidate.adversary.twins.remove(node);
            if self.attempt(candidate.clone(), || format!("{node} has no twin")) {
                continue;
            }
            candidate.adversary.byzantine.remove(node);
            self.attempt(candidate, || format!("{node} is honest"));
        }
    }

    /// The protocol's configuration, the preset's keys included.
    fn config(&self) -> toml::Table {
        let mut config = self.entry.preset.clone();
        config.extend(self.best.protocol.config.clone());
        config
    }

    /// Puts each key back to its default. Flags stay: they say which protocol it is.
    pub(super) fn drop_keys(&mut self) {
        let default = Scenario::new("").to_table();
        let table = self.best.to_table();
        let sections = table.iter().filter_map(|(name, value)| Some((name, value.as_table()?)));
        for (section, keys) in sections {
            for (key, value) in keys {
                let path = format!("{section}.{key}");
                let usual = default.get(section).and_then(|section| section.get(key));
                let flags = section == "protocol" && key == "flags";
                let kept = flags || KEPT.contains(&path.as_str()) || self.model.is_set(&path);
                if kept || usual == Some(value) {
                    continue;
                }
                let Some(candidate) = without(&self.best, section, key, usual) else { continue };
                self.attempt(candidate, || format!("{path} does not matter"));
            }
        }
    }

    pub(super) fn smaller_seed(&mut self) {
        let seed = self.best.seed;
        for smaller in (0..seed.0.min(SEEDS)).map(Seed) {
            let candidate = Scenario { seed: smaller, ..self.best.clone() };
            if self.attempt(candidate, || format!("seed {} instead of {seed}", smaller.0)) {
                return;
            }
        }
    }
}

/// The scenario with a key as it is by default, if that is a scenario.
fn without(scenario: &Scenario, section: &str, key: &str, usual: Option<&Value>) -> Option<Scenario> {
    let mut table = scenario.to_table();
    let keys = table.get_mut(section)?.as_table_mut()?;
    match usual {
        Some(usual) => drop(keys.insert(key.to_owned(), usual.clone())),
        None => drop(keys.remove(key)),
    }
    Value::Table(table).try_into().ok()
}
