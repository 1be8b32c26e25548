//! What happens to this message? The [`Adversary`] trait, and what it is asked and answers.

use smallvec::SmallVec;

use crate::fault::RoundSource;
use crate::ids::{Seat, SeatSet, Slot, Time};
use crate::message::{Lie, RoundKey};
use crate::node::Vitals;
use crate::part::Scope;

/// A copy about to be sent, as adversaries see it.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// The sender.
    pub src: Seat,
    /// The receiver.
    pub dst: Seat,
    /// The kind of message.
    pub kind: u8,
    /// Its round, if it has one.
    pub key: Option<RoundKey>,
    /// The slot it is about.
    pub slot: Option<Slot>,
    /// The number of the sending: the same for all copies of one broadcast.
    pub sending: u32,
    /// The sender's round counter, this message included.
    pub sender_max: u32,
    /// The message's own number, or that of the sender's highest round where it has none.
    pub named: u32,
    /// Its view, counted from 1, or that of the sender's highest round where it has none.
    pub view: u32,
    /// The view of the sender's highest round, counted from 1.
    pub sender_view: u32,
    /// The highest round counter of all nodes.
    pub global: u32,
    /// Events so far.
    pub step: u64,
    /// The time.
    pub now: Time,
    /// Whether the calm phase has started.
    pub calm: bool,
    /// Whether the sender may lie.
    pub byzantine: bool,
}

/// What an adversary may look at beside the header of a copy.
pub trait Sight {
    /// The number at a place in the message, as its sender's code wrote it.
    fn number(&self, place: &[u8]) -> Option<u64>;
    /// What the node in a seat knows and waits for. The sender's is of after the running handler.
    fn vitals(&self, seat: Seat) -> Vitals;
}

/// What becomes of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Fate {
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
pub enum LieSpec {
    /// This row of the kind's table, with values drawn by the seed.
    Row(Lie, u64),
    /// One of these rows, drawn by (kind, seed).
    Drawn {
        /// The seed.
        seed: u64,
        /// The scope.
        scope: Scope,
        /// The rows allowed, as an index for [`Adversary::only`]; all where there is none.
        only: Option<u16>,
    },
    /// A flipped bit, drawn by the seed.
    Flip(u64),
    /// Replaces a character of the JSON; the seed says which.
    Garble(u64),
}

/// The judgment of one copy.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// What becomes of it.
    pub fate: Fate,
    /// Ticks longer on the way.
    pub delay: Time,
    /// More copies of it.
    pub extra: u32,
    /// Lies in it, in order.
    pub lies: SmallVec<[LieSpec; 2]>,
    /// Things to do to nodes once the running handler is through: indices for [`Adversary::deed`].
    pub deeds: SmallVec<[u16; 2]>,
    /// Faults that matched.
    pub matched: u32,
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
pub enum Deed {
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

/// What happens to this message?
pub trait Adversary {
    /// Judges a copy when it is sent.
    fn judge(&mut self, copy: &Sent, sight: &dyn Sight, verdict: &mut Verdict);
    /// Judges a copy when it is about to be delivered: `Send` or `Drop`. Only called if `online`.
    fn at_delivery(&mut self, _copy: &Sent) -> Fate {
        Fate::Send
    }
    /// Whether it wants to judge deliveries too.
    fn online(&self) -> bool {
        false
    }
    /// The deed of an index.
    fn deed(&self, index: u16) -> Deed;
    /// The deeds that no message triggers, each with the step and the time for which it is scheduled.
    fn scheduled(&self) -> &[(u64, Time, u16)] {
        &[]
    }
    /// Takes one of them.
    fn take_scheduled(&mut self, _index: u16) {}
    /// The rows that a restricted draw may take.
    fn only(&self, _list: u16, _kind: u8) -> &[Lie] {
        &[]
    }
    /// Whether from now on it judges every copy by its sender, receiver and kind alone, and by its view up to multiples of
    /// `period`, where `now` is what a copy of whoever is furthest behind would be. It has no memory then.
    fn is_steady(&self, _now: &Sent, _period: u64) -> bool {
        false
    }
}
