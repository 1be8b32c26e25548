//! What the adversary is asked about a message, and what it answers. [`Plan`](crate::plan::Plan) is the adversary.

use smallvec::SmallVec;

use crate::fault::RoundSource;
use crate::ids::{Seat, SeatSet, Slot, Time};
use crate::message::{Lie, RoundKey};
use crate::node::Vitals;
use crate::part::Scope;

/// A copy about to be sent, as adversaries see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    /// The sender.
    pub(crate) src: Seat,
    /// The receiver.
    pub(crate) dst: Seat,
    /// The kind of message.
    pub(crate) kind: u8,
    /// Its round, if it has one.
    pub(crate) key: Option<RoundKey>,
    /// The slot it is about.
    pub(crate) slot: Option<Slot>,
    /// The number of the sending: the same for all copies of one broadcast.
    pub(crate) sending: u32,
    /// The sender's round counter, this message included.
    pub(crate) sender_max: u32,
    /// The message's own number, or that of the sender's highest round where it has none.
    pub(crate) named: u32,
    /// Its view, counted from 1, or that of the sender's highest round where it has none.
    pub(crate) view: u32,
    /// The view of the sender's highest round, counted from 1.
    pub(crate) sender_view: u32,
    /// The highest round counter of all nodes.
    pub(crate) global: u32,
    /// Events so far.
    pub(crate) step: u64,
    /// The time.
    pub(crate) now: Time,
    /// Whether the calm phase has started.
    pub(crate) calm: bool,
    /// Whether the sender may lie.
    pub(crate) byzantine: bool,
}

/// What an adversary may look at beside the header of a copy.
pub(crate) trait Sight {
    /// The number at a place in the message, as its sender's code wrote it.
    fn number(&self, place: &[u8]) -> Option<u64>;
    /// What the node in a seat knows and waits for. The sender's is of after the running handler.
    fn vitals(&self, seat: Seat) -> Vitals;
}

/// What becomes of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Fate {
    /// It is sent.
    #[default]
    Send,
    /// It is lost.
    Drop,
    /// It is kept until its sender's round, by this source, exceeds this; at the latest until the calm phase.
    Hold(u64, RoundSource),
}

/// A lie to be told: resolved names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum LieSpec {
    /// This row of the kind's table, with values drawn by the seed.
    Row(Lie, u64),
    /// One of these rows, drawn by (kind, seed).
    Drawn {
        /// The seed.
        seed: u64,
        /// The scope.
        scope: Scope,
        /// The rows allowed, as an index for [`Plan::only`](crate::plan::Plan::only); all where there is none.
        only: Option<u16>,
    },
    /// A flipped bit, drawn by the seed.
    Flip(u64),
    /// Replaces a character of the JSON; the seed says which.
    Garble(u64),
}

/// The judgment of one copy.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdict {
    /// What becomes of it.
    pub(crate) fate: Fate,
    /// Ticks longer on the way.
    pub(crate) delay: Time,
    /// More copies of it.
    pub(crate) extra: u32,
    /// Lies in it, in order.
    pub(crate) lies: SmallVec<[LieSpec; 2]>,
    /// Things to do to nodes once the running handler is through: indices for
    /// [`Plan::deed`](crate::plan::Plan::deed).
    pub(crate) deeds: SmallVec<[u16; 2]>,
    /// Faults that matched.
    pub(crate) matched: u32,
}

impl Verdict {
    /// Ready for the next copy; keeps the memory.
    pub(crate) fn clear(&mut self) {
        let Self { fate, delay, extra, lies, deeds, matched } = self;
        (*fate, *delay, *extra, *matched) = (Fate::Send, Time(0), 0, 0);
        lies.clear();
        deeds.clear();
    }
}

/// Something done to a node.
#[derive(Clone, Debug)]
pub(crate) enum Deed {
    /// It stops.
    Crash(SeatSet),
    /// It goes on, with its state or without.
    Restart(SeatSet, bool),
    /// Its clock jumps.
    Jump(SeatSet, Time),
    /// Its next timer fires.
    Fire(SeatSet),
    /// The sender of the matching message, or without one the first of these, sends its first message of this kind
    /// again.
    Replay(SeatSet, u8, SeatSet),
    /// The sender of the matching message sends a made-up one of this kind, or of each kind that fits.
    Mint(Option<u8>, SeatSet),
    /// The persona with this number wakes up.
    Wake(u16),
}
