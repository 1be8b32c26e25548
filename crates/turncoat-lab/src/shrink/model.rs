//! What a smaller scenario must keep of the one that was given: the world in which it happened.
//!
//! A counterexample is worth something in the network, the cluster and under the assumptions that somebody asked about. So a
//! smaller one breaks no assumption that held, loses no more messages between correct nodes, brings no delays where there were
//! none, and keeps the settings that were given. And it is a counterexample to the same mistake: without a flag that the given
//! scenario needs, it shows nothing either.

use std::sync::Arc;

use toml::{Table, Value};
use turncoat_core::assume::Assumption;
use turncoat_core::fault::{Effect, Fault};
use turncoat_core::outcome::{Outcome, Violation};
use turncoat_core::runner::Entry;
use turncoat_core::scenario::{Adversary, ProtocolSpec, Scenario, SchedulerName};

use crate::suspects::flags;

/// The world of a scenario.
pub(super) struct Model {
    given: Scenario,
    /// The paths of keys that somebody has set.
    settings: Vec<String>,
    stream: bool,
    inside: bool,
    broken: Vec<Assumption>,
    lost: u32,
    /// The protocol without each of the flags that it takes.
    pub(super) fixed: Vec<Arc<ProtocolSpec>>,
}

impl Model {
    /// That of a scenario which came to this.
    pub(super) fn new(
        entry: &Entry,
        given: &Scenario,
        settings: &[String],
        outcome: &Outcome,
        violation: &Violation,
    ) -> Self {
        Self {
            given: given.clone(),
            settings: settings.to_vec(),
            stream: entry.stream,
            inside: violation.inside(),
            broken: outcome.breaches.iter().map(|breach| breach.assumption).collect(),
            lost: outcome.injected.lost,
            fixed: Vec::new(),
        }
    }

    /// The protocol of the scenario without each of its flags.
    pub(super) fn without_each_flag(&self, entry: &Entry) -> Vec<Arc<ProtocolSpec>> {
        let ProtocolSpec { name, config } = &*self.given.protocol;
        let flags = flags(&self.given.protocol).unwrap_or_else(|| entry.preset_flags());
        let without = |index| {
            let others = flags.iter().enumerate().filter(|(i, _)| *i != index);
            let mut config = config.clone();
            let others = others.map(|(_, flag)| Value::String(flag.clone())).collect();
            config.insert("flags".to_owned(), Value::Array(others));
            Arc::new(ProtocolSpec { name: name.clone(), config })
        };
        (0..flags.len()).map(without).collect()
    }

    /// Whether somebody has set a key.
    pub(super) fn is_set(&self, path: &str) -> bool {
        self.settings.iter().any(|set| set == path)
    }

    /// Whether a scenario is of this world, as far as it can be told without running it.
    pub(super) fn permits(&self, candidate: &Scenario) -> bool {
        let given = &self.given;
        let asks = candidate.workload.requests >= given.workload.requests.min(1);
        let clients = self.stream || candidate.cluster.clients >= given.cluster.clients.min(1);
        let channels = candidate.network.loss == given.network.loss;
        let trust = candidate.cluster.trust == given.cluster.trust;
        let disturbed = |scenario: &Scenario| {
            let usual = matches!(scenario.scheduler.name, SchedulerName::Timed | SchedulerName::Fifo);
            !usual || scenario.adversary.faults.iter().any(|fault| disturbs(fault, &scenario.adversary))
        };
        asks && clients
            && channels
            && trust
            && (disturbed(given) || !disturbed(candidate))
            && self.keeps_settings(candidate)
    }

    fn keeps_settings(&self, candidate: &Scenario) -> bool {
        if self.settings.is_empty() {
            return true;
        }
        let (given, candidate) = (self.given.to_table(), candidate.to_table());
        self.settings.iter().all(|path| at(&given, path) == at(&candidate, path))
    }

    /// Whether a run has kept to it, and the violation is one of the same sort.
    pub(super) fn kept(&self, outcome: &Outcome, violation: &Violation) -> bool {
        violation.inside() == self.inside
            && outcome.injected.lost <= self.lost
            && outcome.breaches.iter().all(|breach| self.broken.contains(&breach.assumption))
    }
}

/// Whether a fault is about messages of honest nodes: it loses, delays or repeats them.
fn disturbs(fault: &Fault, adversary: &Adversary) -> bool {
    let honest = |node| !adversary.byzantine.contains(node);
    match &fault.effect {
        Effect::Drop
        | Effect::Hold
        | Effect::Delay(_)
        | Effect::Duplicate(_)
        | Effect::Flip(_)
        | Effect::Garble(_) => {
            fault.when.from.is_empty() || fault.when.from.iter().any(|seat| honest(seat.node))
        }
        Effect::Partition(_) | Effect::Isolate(_) => true,
        Effect::Deaf(seats) => seats.iter().any(|seat| honest(seat.node)),
        Effect::Mutate(_)
        | Effect::Crash(_)
        | Effect::Restart(_)
        | Effect::Jump(_)
        | Effect::Fire(_)
        | Effect::Originate(_)
        | Effect::Persona(_)
        | Effect::Stance(_) => false,
    }
}

/// What a table says at a path.
fn at<'a>(table: &'a Table, path: &str) -> Option<&'a Value> {
    let (key, rest) = path.split_once('.').unwrap_or((path, ""));
    let value = table.get(key)?;
    if rest.is_empty() { Some(value) } else { at(value.as_table()?, rest) }
}
