//! What a protocol assumes of the world around it, and whether a run kept to it.
//!
//! A protocol promises its properties in some world: with at most f faulty replicas, over channels of some kind. It says which
//! ([`Assumptions`]). Whatever happens in a run that leaves this world goes through `World::note`, and at the end of the run
//! `World::judge` says of each violation whether it came *after* the protocol's world had been left: such a violation is
//! outside of what was promised, and no bug.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::ids::{NodeSet, Time};
use crate::outcome::{Property, Violation};

/// What a protocol assumes, apart from [`Protocol::bound`](crate::node::Protocol::bound), which says how many replicas may be
/// faulty.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Assumptions {
    /// What becomes of messages between correct nodes.
    pub channels: Channels,
    /// Whether a correct client waits for the result of its request before it sends the next one.
    pub one_request: bool,
    /// Whether all clients are correct.
    pub honest_clients: bool,
    /// How much the trust lists of replicas have to overlap, where the protocol has such lists.
    pub overlap: Option<Overlap>,
}

/// What becomes of messages between correct nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Channels {
    /// They may be lost until the network stabilises: the protocol retransmits what matters.
    FairLossy,
    /// They all arrive, however late.
    #[default]
    Reliable,
    /// They all arrive within so many ticks, from the start.
    Synchronous(Time),
}

/// How much any two trust lists have to overlap, in percent of the longer one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Overlap {
    /// For all properties but termination.
    pub safety: u8,
    /// For termination.
    pub progress: u8,
}

/// One thing that is assumed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Assumption {
    /// At most f replicas are faulty.
    Budget,
    /// See [`Assumptions::channels`].
    Channels,
    /// Messages and clocks are on time ([`Channels::Synchronous`]).
    Synchrony,
    /// See [`Assumptions::one_request`].
    Requests,
    /// See [`Assumptions::honest_clients`].
    Clients,
    /// See [`Assumptions::overlap`].
    Trust,
}

impl Assumption {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Budget, Self::Channels, Self::Synchrony, Self::Requests, Self::Clients, Self::Trust];

    /// Its name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Budget => "budget",
            Self::Channels => "channels",
            Self::Synchrony => "synchrony",
            Self::Requests => "requests",
            Self::Clients => "clients",
            Self::Trust => "trust",
        }
    }

    /// Whether a property rests on it. Without reliable channels or patient clients a protocol may stop; it stays safe.
    const fn carries(self, property: Property) -> bool {
        match self {
            Self::Channels | Self::Requests => matches!(property, Property::Termination),
            Self::Budget | Self::Synchrony | Self::Clients | Self::Trust => true,
        }
    }
}

impl fmt::Display for Assumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Assumption {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|assumption| assumption.name() == name);
        found.ok_or_else(|| {
            format!("no assumption `{name}`; there are: {}", Self::ALL.map(Self::name).join(", "))
        })
    }
}

impl Assumptions {
    /// Messages may be lost until the network stabilises; anything else as by default.
    pub const FAIR_LOSSY: Self =
        Self { channels: Channels::FairLossy, one_request: false, honest_clients: false, overlap: None };

    /// Each of them with a sentence that says it; those about clients only where there are `clients`.
    pub fn sentences(&self, clients: bool) -> Vec<(Assumption, String)> {
        let channels = match self.channels {
            Channels::FairLossy => (
                Assumption::Channels,
                "Messages may be lost until the network stabilises; the protocol retransmits what matters."
                    .to_owned(),
            ),
            Channels::Reliable => (
                Assumption::Channels,
                "Messages between correct nodes are never lost; they may arrive arbitrarily late.".to_owned(),
            ),
            Channels::Synchronous(bound) => (
                Assumption::Synchrony,
                format!("Messages between correct nodes arrive within {bound} ticks, from the start."),
            ),
        };
        let requests = match self.one_request {
            false => "A client may have several requests outstanding.",
            true => "A client waits for the result of its request before it sends the next one.",
        };
        let honest = if self.honest_clients { "Clients are correct." } else { "Clients may lie." };
        let overlap = self.overlap.map(|Overlap { safety, progress }| {
            let text = format!(
                "Any two trust lists overlap by at least {safety} % (for safety) and {progress} % (for progress)."
            );
            (Assumption::Trust, text)
        });
        let about = [(Assumption::Requests, requests), (Assumption::Clients, honest)];
        let about =
            about.into_iter().filter(|_| clients).map(|(assumption, text)| (assumption, text.to_owned()));
        [channels].into_iter().chain(about).chain(overlap).collect()
    }

    /// The longest that a message between correct nodes may take, where there is a limit from the start.
    pub(crate) const fn bound(&self) -> Option<Time> {
        match self.channels {
            Channels::Synchronous(bound) => Some(bound),
            Channels::FairLossy | Channels::Reliable => None,
        }
    }
}

/// How a run left the world of its protocol: what it broke, how often, and by which event first.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize)]
pub struct Breach {
    /// What was assumed.
    pub assumption: Assumption,
    /// How often it was broken: messages, requests, nodes, pairs of lists.
    pub count: u32,
    /// The event that broke it first; 0 is the start.
    pub step: u64,
    /// That event, in words.
    pub event: String,
    /// Whether only progress rests on it here.
    #[serde(skip)]
    progress_only: bool,
}

impl Breach {
    /// One of which no more than this was kept.
    pub const fn stored(assumption: Assumption) -> Self {
        Self { assumption, count: 1, step: 0, event: String::new(), progress_only: false }
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { assumption, count, event, .. } = self;
        let (one, many) = match assumption {
            Assumption::Budget => return f.write_str(event),
            Assumption::Channels => {
                ("message between correct nodes was lost", "messages between correct nodes were lost")
            }
            Assumption::Synchrony => ("timing fault hit correct nodes", "timing faults hit correct nodes"),
            Assumption::Requests => (
                "request was sent while its client still waited for another",
                "requests were sent while their clients still waited for others",
            ),
            Assumption::Clients => ("client is Byzantine", "clients are Byzantine"),
            Assumption::Trust => {
                ("pair of trust lists overlaps too little", "pairs of trust lists overlap too little")
            }
        };
        let what = if *count == 1 { one } else { many };
        write!(f, "{count} {what}, which the protocol assumes never happens (first: {event})")
    }
}

/// Whether one run keeps to what its protocol assumes.
#[derive(Default)]
pub(crate) struct World {
    assumed: Assumptions,
    breaches: SmallVec<[Breach; 1]>,
    /// When each message in flight was sent, by its id: where delays are assumed to be bounded, and may not be.
    sent: Vec<Time>,
    timed: bool,
}

impl World {
    /// At the start of a run. Delays are measured only where they are assumed to be bounded and the network is `free` to exceed
    /// the bound.
    pub(crate) fn reset(&mut self, assumed: Assumptions, free: bool) {
        self.timed = free && assumed.bound().is_some();
        self.assumed = assumed;
        self.breaches.clear();
        self.sent.clear();
    }

    pub(crate) const fn assumed(&self) -> &Assumptions {
        &self.assumed
    }

    /// Whether delays are measured.
    pub(crate) const fn timed(&self) -> bool {
        self.timed
    }

    /// Something happened that the protocol assumes not to.
    #[cold]
    pub(crate) fn note(&mut self, assumption: Assumption, step: u64, event: impl FnOnce() -> String) {
        self.add(assumption, 1, step, false, event);
    }

    fn add(
        &mut self,
        assumption: Assumption,
        count: u32,
        step: u64,
        progress_only: bool,
        event: impl FnOnce() -> String,
    ) {
        let same =
            |breach: &&mut Breach| breach.assumption == assumption && breach.progress_only == progress_only;
        match self.breaches.iter_mut().find(same) {
            Some(breach) => breach.count = breach.count.saturating_add(count),
            None => {
                self.breaches.push(Breach { assumption, count, step, event: event(), progress_only });
            }
        }
    }

    /// So many messages between correct nodes are gone.
    pub(crate) fn lost(&mut self, count: u32, calm: bool, step: u64, event: impl FnOnce() -> String) {
        let assumption = match self.assumed.channels {
            Channels::FairLossy if !calm => return,
            Channels::FairLossy | Channels::Reliable => Assumption::Channels,
            Channels::Synchronous(_) => Assumption::Synchrony,
        };
        self.add(assumption, count, step, false, event);
    }

    /// A copy is on its way from `now` on.
    pub(crate) fn sends(&mut self, id: u32, now: Time) {
        self.sent.resize(id as usize + 1, now);
    }

    /// For how long a copy has been on its way, if that is longer than assumed.
    pub(crate) fn overdue(&self, id: u32, now: Time) -> Option<Time> {
        let sent = *self.sent.get(id as usize)?;
        let took = Time(now.0.saturating_sub(sent.0));
        (took > self.assumed.bound()?).then_some(took)
    }

    /// Whether what is due at one time and happens at another is later than assumed.
    pub(crate) fn is_late(&self, due: Time, now: Time) -> bool {
        self.assumed.bound().is_some_and(|bound| now > due + bound)
    }

    /// The trust lists of a run.
    pub(crate) fn trusts(&mut self, lists: &[NodeSet]) {
        let Some(Overlap { safety, progress }) = self.assumed.overlap else { return };
        for (i, &one) in lists.iter().enumerate() {
            for (j, &two) in lists.iter().enumerate().skip(i + 1) {
                let longer = one.len().max(two.len()).max(1);
                let percent = 100 * one.and(two).len() / longer;
                let event = || format!("those of p{i} and p{j} by {percent} %");
                if percent < usize::from(safety) {
                    self.add(Assumption::Trust, 1, 0, false, event);
                } else if percent < usize::from(progress) {
                    self.add(Assumption::Trust, 1, 0, true, event);
                }
            }
        }
    }

    pub(crate) fn breaches(&self) -> &SmallVec<[Breach; 1]> {
        &self.breaches
    }

    /// Says of each violation whether what was promised had been assumed in vain by then. Termination is judged at the end, so
    /// that all that happened counts.
    pub(crate) fn judge(&self, violations: &mut [Violation]) {
        for violation in violations {
            let excuses = |breach: &&Breach| {
                let liveness = violation.property == Property::Termination;
                breach.assumption.carries(violation.property)
                    && (liveness || (breach.step <= violation.step && !breach.progress_only))
            };
            violation.outside = self.breaches.iter().find(excuses).cloned().map(Box::new);
        }
    }
}
