//! Certificates: what an exhaustive campaign has excluded, and within which bounds.
//!
//! A certificate says that no plan of a [`Universe`] violates a property under the schedules named. It is made only of a campaign
//! that ran every plan under every schedule to its end, and it says nothing about larger plans, other faults or other schedules.

use serde::Serialize;
use sha2::{Digest, Sha256};
use turncoat_core::fault::Fault;
use turncoat_core::ids::NodeSet;
use turncoat_core::outcome::Property;
use turncoat_core::runner::Entry;
use turncoat_core::scenario::{Limits, Network, Scenario, SchedulerSpec, Seed};
use turncoat_core::strategy::Universe;

use crate::summary::Summary;

/// What an exhaustive campaign has excluded.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Certificate {
    /// The protocol.
    pub protocol: String,
    /// Its bug flags that are on.
    pub flags: Vec<String>,
    /// The keys of its configuration that are not defaults, but for flags.
    pub config: toml::Table,
    /// Replicas.
    pub n: usize,
    /// How many of them may be faulty.
    pub f: usize,
    /// Clients.
    pub clients: usize,
    /// Requests, or slots to decide.
    pub requests: u32,
    /// The properties judged in every run.
    pub safety: Vec<&'static str>,
    /// The runs in which termination was judged too: those that ended by themselves. The others ended at `limits.short` or
    /// `limits.views`.
    pub termination_judged: u64,
    /// Where runs end.
    pub limits: Limits,
    /// How messages travel.
    pub network: Network,
    /// The schedules. Every plan ran under each.
    pub schedules: Vec<Schedule>,
    /// Where the random choices of the runs come from: those of run `i` are a function of this and `i`.
    pub seed: Seed,
    /// The faults of the universe, by class.
    pub classes: Vec<Class>,
    /// The maximum number of faults in a plan.
    pub most: u32,
    /// The number of plans. A number of JSON is not always exact, so it is text.
    #[serde(serialize_with = "text")]
    pub plans: u128,
    /// The number of plans that ran: one of those that differ in the names of interchangeable replicas alone.
    #[serde(serialize_with = "text")]
    pub different: u128,
    /// The replicas that were assumed to be interchangeable.
    pub interchangeable: Vec<NodeSet>,
    /// Runs: different plans times schedules.
    pub runs: u64,
    /// Runs in which a property did not hold after an assumption of the protocol had been broken, by property and assumption. Such
    /// violations do not count.
    pub outside: Vec<(&'static str, &'static str, u64)>,
    /// Runs in which no correct replica decided anything.
    pub undecided: u64,
    /// The SHA-256 of the universe's text ([`text_of`]).
    pub universe: String,
    /// Equal for equal runs.
    pub fingerprint: Seed,
}

/// A schedule by name, and in full.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Schedule {
    /// What the strategy calls it.
    pub name: &'static str,
    /// What it is.
    pub scheduler: SchedulerSpec,
}

/// A class of faults.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Class {
    /// Its name.
    pub name: &'static str,
    /// How many faults it has.
    pub faults: usize,
}

/// Why a campaign gets no certificate.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Missing {
    /// A property was violated.
    #[error("{0} of the runs violated a property")]
    Violated(u64),
    /// Some plans did not run.
    #[error("{runs} of {all} runs were executed")]
    Incomplete {
        /// The runs.
        runs: u64,
        /// All runs that there are.
        all: String,
    },
    /// Runs ended before they could be judged.
    #[error("{runs} of the runs ended at the limit on {limit} before {} could be judged", they(*.runs))]
    Cut {
        /// How many.
        runs: u64,
        /// The limit.
        limit: &'static str,
    },
    /// Somebody stopped a run.
    #[error("{0} of the runs did not end by themselves: they were stopped")]
    Stopped(u64),
    /// Nobody decided anything.
    #[error("no correct replica decided anything in any run")]
    Undecided,
}

impl Certificate {
    /// The certificate of a campaign. `first` is the scenario of its first run.
    ///
    /// # Errors
    /// If it does not deserve one.
    pub fn new(
        entry: &Entry,
        universe: &Universe,
        first: &Scenario,
        seed: Seed,
        summary: &Summary,
    ) -> Result<Self, Missing> {
        if summary.violating > 0 {
            return Err(Missing::Violated(summary.violating));
        }
        let all = universe.different.checked_mul(universe.schedules.len() as u128);
        if all != Some(summary.runs.into()) {
            let all = all.map_or_else(|| "more than 2^128".to_owned(), |all| all.to_string());
            return Err(Missing::Incomplete { runs: summary.runs, all });
        }
        let ends = &summary.ends;
        // Runs that were meant to end there are judged for safety.
        let meant = |limit: &str| matches!(limit, "short" | "views");
        if let Some((limit, &runs)) = ends.limits.iter().find(|(limit, _)| !meant(limit)) {
            return Err(Missing::Cut { runs, limit });
        }
        if ends.stopped > 0 {
            return Err(Missing::Stopped(ends.stopped));
        }
        if summary.undecided == summary.runs {
            return Err(Missing::Undecided);
        }
        let mut config = entry.preset.clone();
        config.extend(first.protocol.config.clone());
        let flags = config.remove("flags").and_then(|flags| flags.try_into().ok()).unwrap_or_default();
        config.retain(|key, value| entry.config.get(key) != Some(value));
        let safety = Property::ALL.into_iter().filter(|property| property.is_safety());
        let outside = summary.outside.iter();
        let classes = universe.classes.iter();
        let schedules = universe.schedules.iter().cloned();
        Ok(Self {
            protocol: entry.name.to_owned(),
            flags,
            config,
            n: first.cluster.n,
            f: first.cluster.f,
            clients: first.cluster.clients,
            requests: first.workload.requests,
            safety: safety.map(Property::name).collect(),
            termination_judged: ends.goal + ends.quiet,
            limits: Limits::clone(&first.limits),
            network: Network::clone(&first.network),
            schedules: schedules.map(|(name, scheduler)| Schedule { name, scheduler }).collect(),
            seed,
            classes: classes.map(|class| Class { name: class.name, faults: class.faults.len() }).collect(),
            most: universe.most,
            plans: universe.plans,
            different: universe.different,
            interchangeable: universe.alike.clone(),
            runs: summary.runs,
            outside: outside
                .map(|(&(property, breach), &runs)| (property.name(), breach.name(), runs))
                .collect(),
            undecided: summary.undecided,
            universe: digest(&text_of(universe)),
            fingerprint: Seed(summary.fingerprint),
        })
    }
}

/// A universe as text: a line for each fault. Two universes with the same text have the same plans.
pub fn text_of(universe: &Universe) -> String {
    let mut text = format!("# at most {} of these faults, in this order\n", universe.most);
    for set in &universe.alike {
        text += &format!("# interchangeable: {set}\n");
    }
    for class in &universe.classes {
        text += &format!("\n# {} ({}): {}\n", class.name, class.faults.len(), class.about);
        for fault in &class.faults {
            text += &(line(fault) + "\n");
        }
    }
    text
}

/// A fault as an inline table of TOML.
fn line(fault: &Fault) -> String {
    toml::Value::try_from(fault).map_or_else(|error| error.to_string(), |table| table.to_string())
}

/// The SHA-256 of a text.
pub fn digest(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

const fn they(runs: u64) -> &'static str {
    if runs == 1 { "it" } else { "they" }
}

fn text<S: serde::Serializer>(number: &u128, s: S) -> Result<S::Ok, S::Error> {
    s.collect_str(number)
}

#[cfg(test)]
mod tests {
    use turncoat_core::fault::{Effect, When};
    use turncoat_core::strategy::FaultClass;

    use super::*;

    #[test]
    fn the_text_of_a_universe_has_a_line_for_each_fault() {
        let isolated = |name: &str| {
            let effect = Effect::Isolate(vec![name.parse().expect("a node")]);
            Fault { when: When::default(), effect }
        };
        let faults = ["p0", "p1"].map(isolated).to_vec();
        let universe = Universe {
            classes: vec![FaultClass { name: "cuts", about: "a replica is cut off", faults }],
            most: 2,
            plans: 4,
            different: 4,
            alike: Vec::new(),
            schedules: Vec::new(),
        };
        let lines = [
            "# at most 2 of these faults, in this order",
            "",
            "# cuts (2): a replica is cut off",
            "{ isolate = [\"p0\"] }",
            "{ isolate = [\"p1\"] }",
            "",
        ];
        assert_eq!(text_of(&universe), lines.join("\n"));
    }

    #[test]
    fn a_digest_is_a_sha_256() {
        assert_eq!(digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
