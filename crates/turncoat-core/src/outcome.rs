//! What came out of a run: a small value, the same bytes on any thread, machine, day.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::assume::Breach;
use crate::ids::{NodeId, Slot, Time};
use crate::logs::LogCheck;
use crate::message::Lie;

/// What a protocol promises.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Property {
    /// No two correct replicas decide different values in one slot.
    Agreement,
    /// No correct replica decides a slot twice, a request in two slots, or leaves a gap.
    Integrity,
    /// Every decided request was submitted by a client, or proposed by a replica where there are no clients.
    Validity,
    /// Every request of a correct client completes once the network is calm.
    Termination,
    /// No correct node crashes, whatever it receives.
    Crashed,
    /// No two clients hold results that contradict each other.
    ClientAgreement,
    /// An invariant of the protocol's own.
    Custom,
}

impl Property {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Agreement,
        Self::Integrity,
        Self::Validity,
        Self::Termination,
        Self::Crashed,
        Self::ClientAgreement,
        Self::Custom,
    ];

    /// Its name in files and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Agreement => "agreement",
            Self::Integrity => "integrity",
            Self::Validity => "validity",
            Self::Termination => "termination",
            Self::Crashed => "crashed",
            Self::ClientAgreement => "client-agreement",
            Self::Custom => "custom",
        }
    }

    /// What it says, in one line.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Agreement => "no two correct replicas decide different values in one slot",
            Self::Integrity => {
                "no correct replica decides a slot twice, a request in two slots, or leaves a gap"
            }
            Self::Validity => {
                "every decided request was submitted by a client, or proposed by a replica where there are no clients"
            }
            Self::Termination => {
                "every request of a correct client completes once the network is calm (without clients: every slot is decided)"
            }
            Self::Crashed => "no correct node crashes, whatever it receives",
            Self::ClientAgreement => {
                "no client holds a result that another client or a correct replica contradicts"
            }
            Self::Custom => "the protocol's own invariants",
        }
    }
}

impl Property {
    /// All of them, the worst to lose first.
    pub const WORST_FIRST: [Self; 7] = [
        Self::Agreement,
        Self::ClientAgreement,
        Self::Validity,
        Self::Integrity,
        Self::Crashed,
        Self::Custom,
        Self::Termination,
    ];

    /// Whether it says that nothing bad happens, not that something good does in the end.
    pub const fn is_safety(self) -> bool {
        !matches!(self, Self::Termination)
    }
}

impl FromStr for Property {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|property| property.name() == name);
        let known = || Self::ALL.map(Self::name).join(", ");
        found.ok_or_else(|| format!("no property `{name}`. There are: {}", known()))
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A property that did not hold.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize)]
pub struct Violation {
    /// Which.
    pub property: Property,
    /// Which rule of it: `twice`, `duplicate`, `order`, `deadlock`, `bounded`, a custom check's name, ...
    pub rule: &'static str,
    /// The nodes concerned.
    pub nodes: SmallVec<[NodeId; 2]>,
    /// The slot concerned.
    pub slot: Option<Slot>,
    /// The event at which it showed.
    pub step: u64,
    /// In plain words.
    pub detail: String,
    /// What had happened by then that the protocol assumes never to. Such a violation is outside of its promises.
    pub outside: Option<Box<Breach>>,
}

impl Violation {
    /// Whether the protocol promised that this does not happen.
    pub const fn inside(&self) -> bool {
        self.outside.is_none()
    }

    /// Whether it is what somebody else's rule says about logs; see [`LogCheck`].
    pub fn compares_logs(&self) -> bool {
        self.property == Property::Custom && self.rule.parse::<LogCheck>().is_ok()
    }

    /// What is wrong, in a few words: `agreement violated`, `a correct node crashed`, or the name of an invariant.
    pub fn headline(&self) -> String {
        match self.property {
            Property::Crashed => "a correct node crashed".to_owned(),
            Property::Custom => format!("invariant `{}` violated", self.rule),
            property => format!("{property} violated"),
        }
    }

    /// What happened, and why it does not count if it does not.
    pub fn words(&self) -> String {
        match &self.outside {
            None => self.detail.clone(),
            Some(breach) => format!("{}; but {breach}", self.detail),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at step {}: {}", self.headline(), self.step, self.words())
    }
}

/// Why a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// Its goal was reached and the network had nothing left to say.
    Goal,
    /// Nothing was left to happen.
    Quiet,
    /// The limit of this name was reached.
    Limit(&'static str),
    /// Somebody stopped it: a violation was enough, or a story is over.
    Stopped,
}

/// What the adversary did, counted in message copies.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Injected {
    /// Copies (and nodes) that a fault matched.
    pub faults: u32,
    /// Lost, omissions included.
    pub dropped: u32,
    /// Of those, messages between correct nodes that the network lost.
    pub lost: u32,
    /// Held back for a while.
    pub held: u32,
    /// Sent with other content than the sender's code wrote.
    pub mutated: u32,
    /// Of those, delivered and not ignored: the receiver's state changed, or it sent something.
    pub accepted: u32,
    /// Lies that had nothing to change, or that an honest sender does not tell.
    pub refused: u32,
    /// Copies that could not be decoded.
    pub garbage: u32,
}

/// What came out of a run.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Outcome {
    /// The first violation of each rule of each property, in the order in which they showed.
    pub violations: SmallVec<[Violation; 1]>,
    /// Why the run ended.
    pub end: End,
    /// Events: deliveries, timers, losses by the scheduler.
    pub steps: u64,
    /// Copies handed to another node.
    pub deliveries: u64,
    /// The clock at the end.
    pub time: Time,
    /// Requests completed, of those that correct clients had to submit.
    pub completed: u32,
    /// Decisions by correct replicas.
    pub commits: u32,
    /// Whether the calm phase was reached.
    pub calm: bool,
    /// Whether more replicas were faulty than the protocol promises to tolerate.
    pub over_budget: bool,
    /// What the protocol assumes and the run did not keep to.
    pub breaches: SmallVec<[Breach; 1]>,
    /// What the adversary did.
    pub injected: Injected,
    /// The lies that were told, each once with the kind of its message, in the order of their first telling; no more than
    /// [`Self::LIES_MAX`]. Flipped bits and messages made up have no name, and are not among them.
    pub lies: SmallVec<[(u8, Lie); 4]>,
    /// What the run exercised: bits by [`crate::node::Protocol::MARKS`].
    pub marks: u64,
    /// A hash of all events and decisions, in order: equal for equal runs. The content of messages and the states of
    /// nodes are in it only as far as they show in events: hashing them would cost more than running.
    pub fingerprint: u64,
    /// The first step of the script that could not be carried out.
    pub diverged: Option<u32>,
}

impl Outcome {
    /// How many different lies an outcome names.
    pub const LIES_MAX: usize = 16;

    /// The violations of what the protocol promised.
    pub fn inside(&self) -> impl Iterator<Item = &Violation> {
        self.violations.iter().filter(|violation| violation.inside())
    }

    /// The first violation of `property`, if any.
    pub fn violation(&self, property: Property) -> Option<&Violation> {
        self.violations.iter().find(|violation| violation.property == property)
    }
}
