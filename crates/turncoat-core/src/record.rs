//! What happened, for people: the events of a recorded run, the way of each message, and where everybody ended.

use std::fmt;

use serde::Serialize;

use crate::client::Request;
use crate::grounds::Grounds;
use crate::hash::Digest;
use crate::ids::{SeatName, Slot, Time};
use crate::message::RoundKey;
use crate::node::Vitals;
use crate::part::Change;
use crate::scenario::Scenario;
use crate::schedule::Action;

/// A recorded run.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// What happened, in order.
    pub events: Vec<Event>,
    /// The choices that lead there again, under the same adversary.
    pub script: Vec<Action>,
    /// The copies of messages, in the order in which they were sent.
    pub copies: Vec<SentCopy>,
    /// What clients have asked for, in order.
    pub requests: Vec<Request>,
    /// Everybody at the end, by seat.
    pub standings: Vec<Standing>,
    /// What the stances of liars brought about, in order.
    pub stances: Vec<Deviation>,
}

impl Recording {
    /// The most steps that are recorded: each takes about a kilobyte.
    pub const STEPS: u64 = 500_000;
}

impl Recording {
    /// The recorded run as a script, which needs neither the strategy nor the scheduler that led there.
    #[must_use]
    pub fn scripted(self, scenario: &Scenario) -> Scenario {
        scenario.scripted(self.script)
    }
}

/// A copy of a message, from its sender to one receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentCopy {
    /// The sender.
    pub src: SeatName,
    /// The receiver.
    pub dst: SeatName,
    /// The kind.
    pub kind: &'static str,
    /// Its number in scripts: which of its kind on its link it is. 0: it was never in flight.
    pub nth: u32,
    /// Whether such messages carry state into the next view.
    pub view_change: bool,
    /// The round, if the kind has one.
    pub round: Option<RoundKey>,
    /// The slot that it is about, if any.
    pub slot: Option<Slot>,
    /// Kind and fields, as the receiver reads them.
    pub text: String,
    /// The event in which it was sent; 0 is the start.
    pub sent: u64,
    /// How it differs from what the sender's code wrote.
    pub lie: Option<Falsehood>,
    /// Whether the network held it back.
    pub held: bool,
    /// What became of it.
    pub arrival: Arrival,
}

/// How a copy differs from what its sender's code wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Falsehood {
    /// These fields say something else.
    Changed(Vec<Change>),
    /// The code wrote no such message.
    MadeUp,
    /// It cannot be decoded.
    Garbage,
}

/// What became of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrival {
    /// It was still in flight at the end.
    Underway,
    /// It was handed over.
    Delivered {
        /// In this event.
        step: u64,
        /// Whether the receiver did or remembered something; true where that cannot be seen, or late in a long run.
        heeded: bool,
    },
    /// It was lost.
    Lost {
        /// In this event.
        step: u64,
        /// How.
        by: Loss,
    },
}

/// How a copy was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// On its way.
    Network,
    /// Its sender, a liar, did not send it.
    Withheld,
    /// Its receiver had stopped.
    Down,
}

/// Something that a liar did because of its stance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deviation {
    /// The number of the event that it belongs to; 0 is the start.
    pub step: u64,
    /// Who.
    pub seat: SeatName,
    /// What.
    pub how: How,
}

/// How a liar deviated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// From now on its code runs with these bug flags and those of the cluster, and with no others.
    Flags(Vec<String>),
    /// It took this lie of its own for what it said.
    Believed(String),
}

/// A node at the end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// Who.
    pub seat: SeatName,
    /// Whether it neither lies nor has lost its memory.
    pub correct: bool,
    /// Whether it has not stopped.
    pub alive: bool,
    /// What it knows and waits for.
    pub vitals: Vitals,
    /// Its armed timers, earliest first.
    pub timers: Vec<(String, Time)>,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The number of the event that it belongs to.
    pub step: u64,
    /// When.
    pub time: Time,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A message was handed over.
    Deliver {
        /// The sender.
        src: SeatName,
        /// The receiver.
        dst: SeatName,
        /// Kind and fields.
        text: String,
        /// Whether an adversary changed it.
        lie: bool,
    },
    /// A message was lost.
    Drop {
        /// The sender.
        src: SeatName,
        /// The receiver.
        dst: SeatName,
        /// Kind and fields.
        text: String,
    },
    /// A message is held back.
    Hold {
        /// The sender.
        src: SeatName,
        /// The receiver.
        dst: SeatName,
        /// Kind and fields.
        text: String,
    },
    /// A sender lied.
    Lie {
        /// The liar.
        src: SeatName,
        /// To whom.
        dst: SeatName,
        /// The mutation.
        name: String,
    },
    /// A timer fired.
    Fire {
        /// Whose.
        seat: SeatName,
        /// Which.
        timer: String,
    },
    /// A replica decided.
    Commit {
        /// Who.
        seat: SeatName,
        /// The slot.
        slot: Slot,
        /// The value.
        id: Digest,
        /// What it consists of; nothing: a no-op.
        requests: Vec<Request>,
        /// What it rests on.
        grounds: Grounds,
    },
    /// A client got its result.
    Complete {
        /// Who.
        seat: SeatName,
        /// The client's number of the request.
        ts: u32,
    },
    /// Something else, in words.
    Note {
        /// Who.
        seat: Option<SeatName>,
        /// The line.
        text: String,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>5} {:>6} ", self.step, self.time)?;
        match &self.what {
            What::Deliver { src, dst, text, lie } => {
                write!(f, "deliver {src}>{dst} {text}{}", if *lie { "   (lie)" } else { "" })
            }
            What::Drop { src, dst, text } => write!(f, "drop {src}>{dst} {text}"),
            What::Hold { src, dst, text } => write!(f, "hold {src}>{dst} {text}"),
            What::Lie { src, dst, name } => write!(f, "lie {src}>{dst} {name}"),
            What::Fire { seat, timer } => write!(f, "fire {seat} {timer}"),
            What::Commit { seat, slot, id, grounds, .. } => {
                write!(f, "commit {seat} slot={slot} value={id} {grounds}")
            }
            What::Complete { seat, ts } => write!(f, "complete {seat} request={ts}"),
            What::Note { seat: Some(seat), text } => write!(f, "note {seat} {text}"),
            What::Note { seat: None, text } => write!(f, "note {text}"),
        }
    }
}
