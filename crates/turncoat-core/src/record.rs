//! What happened, for people: the events of a recorded run.

use std::fmt;
use std::sync::Arc;

use crate::hash::Digest;
use crate::ids::{NodeSet, SeatName, Slot, Time};
use crate::scenario::{Scenario, SchedulerName, SchedulerSpec};
use crate::schedule::Action;

/// A recorded run.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// What happened, in order.
    pub events: Vec<Event>,
    /// The choices that lead there again, under the same adversary.
    pub script: Vec<Action>,
}

impl Recording {
    /// The recorded run as a script, which needs neither the strategy nor the scheduler that led there.
    #[must_use]
    pub fn scripted(self, scenario: &Scenario) -> Scenario {
        let (name, script) = (SchedulerName::Script, self.script);
        let scheduler = SchedulerSpec { name, script, ..SchedulerSpec::clone(&scenario.scheduler) };
        Scenario { scheduler: Arc::new(scheduler), ..scenario.clone() }
    }
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
        /// The votes counted.
        voters: NodeSet,
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
            What::Commit { seat, slot, id, voters } => {
                write!(f, "commit {seat} slot={slot} value={id} votes={voters}")
            }
            What::Complete { seat, ts } => write!(f, "complete {seat} request={ts}"),
            What::Note { seat: Some(seat), text } => write!(f, "note {seat} {text}"),
            What::Note { seat: None, text } => write!(f, "note {text}"),
        }
    }
}
