//! Two implementations of one protocol on the same scenario: do they decide the same?
//!
//! Both run with the same cluster, workload, network, faults and seed. As long as they send the same messages, the same happens to
//! them. So messages should take a constant time: where latencies are drawn, one message more in one of them shifts all draws
//! that follow, and decisions may differ for that reason alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use turncoat_core::ids::{NodeId, SeatName, Slot, Time};
use turncoat_core::message::RoundKey;
use turncoat_core::outcome::{End, Outcome, Property};
use turncoat_core::record::{Recording, What};
use turncoat_core::runner::Entry;
use turncoat_core::scenario::{Scenario, ScenarioError};

/// How two runs of one scenario differ, the worst first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// One of them violates a property of safety that the other one keeps.
    Safety,
    /// In some slot a correct replica decides something else.
    Values,
    /// One of them comes to its end, the other one does not.
    Progress,
    /// They do not differ in any of these.
    Same,
}

impl Verdict {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Same, Self::Values, Self::Progress, Self::Safety];

    /// Its name in files and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Safety => "safety",
            Self::Values => "values",
            Self::Progress => "progress",
            Self::Same => "same",
        }
    }

    /// In words.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Safety => "one of them breaks a promise that the other one keeps",
            Self::Values => "some replica decides another value",
            Self::Progress => "one of them terminates, and the other does not",
            Self::Same => "every replica decides the same",
        }
    }
}

/// What a replica says in one of the runs, and never in the other.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Parting {
    /// When.
    pub time: Time,
    /// Who.
    pub who: SeatName,
    /// The kind of message.
    pub kind: &'static str,
    /// Its round.
    pub round: RoundKey,
    /// Whether the first of the two says it.
    pub first: bool,
}

/// Two runs of one scenario.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// How they differ.
    pub verdict: Verdict,
    /// Where they part: the first thing that a correct replica says in one of them alone, of kinds that both have.
    pub parting: Option<Parting>,
    /// What came out.
    pub outcomes: [Outcome; 2],
}

/// The scenario for another implementation: it gets those keys of the protocol's table that it knows by name. What is broken in one
/// on purpose (`flags`) is not broken in the other.
pub fn scenario_for(other: &Entry, entry: &Entry, scenario: &Scenario) -> Scenario {
    let mut config = entry.preset.clone();
    config.extend(scenario.protocol.config.clone());
    config.retain(|key, _| key != "flags" && other.config.contains_key(key));
    let mut scenario = Scenario { expect: None, bug: None, ..scenario.clone() };
    let protocol = Arc::make_mut(&mut scenario.protocol);
    (protocol.name, protocol.config) = (other.name.to_owned(), config);
    scenario
}

/// Runs both.
///
/// # Errors
/// If one of them cannot run: a fault may name a message that it does not have.
pub fn compare(entries: [&Entry; 2], scenarios: [&Scenario; 2]) -> Result<Comparison, ScenarioError> {
    let [first, second] = entries;
    let kinds: BTreeSet<&str> =
        first.kinds.iter().copied().filter(|kind| second.kinds.contains(kind)).collect();
    let a = Side::of(first, scenarios[0], &kinds)?;
    let b = Side::of(second, scenarios[1], &kinds)?;
    let verdict = if a.broken() != b.broken() {
        Verdict::Safety
    } else if a.decided.iter().any(|(key, value)| b.decided.get(key).is_some_and(|other| other != value)) {
        Verdict::Values
    } else if (a.outcome.end == End::Goal) != (b.outcome.end == End::Goal) {
        Verdict::Progress
    } else {
        Verdict::Same
    };
    let parting = a.alone(&b, true).into_iter().chain(b.alone(&a, false)).min();
    Ok(Comparison { verdict, parting, outcomes: [a.outcome, b.outcome] })
}

/// One of the two runs.
struct Side {
    outcome: Outcome,
    /// What correct replicas have decided: the requests, by client and number. Ids of values are an implementation's own.
    decided: BTreeMap<(SeatName, Slot), Vec<(NodeId, u32)>>,
    /// When correct replicas said something for the first time.
    said: BTreeMap<(SeatName, &'static str, RoundKey), Time>,
}

impl Side {
    fn of(entry: &Entry, scenario: &Scenario, kinds: &BTreeSet<&str>) -> Result<Self, ScenarioError> {
        let (outcome, Recording { events, copies, standings, .. }) = entry.runner().record(scenario)?;
        let correct: BTreeSet<SeatName> =
            standings.iter().filter(|standing| standing.correct).map(|standing| standing.seat).collect();
        let times: BTreeMap<u64, Time> = events.iter().map(|event| (event.step, event.time)).collect();
        let (mut decided, mut said) = (BTreeMap::new(), BTreeMap::new());
        for event in events {
            if let What::Commit { seat, slot, requests, .. } = event.what
                && correct.contains(&seat)
            {
                decided.entry((seat, slot)).or_insert(requests.iter().map(|it| it.id()).collect());
            }
        }
        for copy in copies {
            if let Some(round) = copy.round
                && correct.contains(&copy.src)
                && kinds.contains(copy.kind)
            {
                let time = times.get(&copy.sent).copied().unwrap_or_default();
                said.entry((copy.src, copy.kind, round)).or_insert(time);
            }
        }
        Ok(Self { outcome, decided, said })
    }

    /// The promises that were broken, but for that of an end.
    fn broken(&self) -> BTreeSet<Property> {
        let properties = self.outcome.violations.iter().map(|violation| violation.property);
        properties.filter(|&property| property != Property::Termination).collect()
    }

    /// The first thing that is said here alone, while the other one was not over.
    fn alone(&self, other: &Self, first: bool) -> Option<Parting> {
        let alone = self
            .said
            .iter()
            .filter(|&(key, &time)| time <= other.outcome.time && !other.said.contains_key(key));
        let parting =
            |(&(who, kind, round), &time): (&(_, _, _), &_)| Parting { time, who, kind, round, first };
        alone.map(parting).min()
    }
}
