//! Adversaries that choose while a run goes on: they look at it, and say which event or fault is next.
//!
//! An online adversary is asked before each event until it has had enough, or the network calms down: at `network.gst`, or
//! halfway to the limit on steps where the scenario names no such moment. It answers with a step of a script, so it can do what a
//! script or a person can, and no more: only Byzantine nodes lie, at most f replicas stop, and assumptions are judged as always. What it
//! chose is a script, and the scenario with that script shows the same run without it. So a find needs no adversary any more.
//!
//! What is scheduled for a moment (`step` and `time` of faults, `network.turn`) happens by itself once the clock is there. A
//! network that is calm from the start leaves nothing to choose.
//!
//! ```
//! use turncoat_core::online::{OnlineAdversary, Position};
//! use turncoat_core::rng::Rng;
//! use turncoat_core::schedule::Action;
//!
//! /// Delivers the newest message first, a hundred times.
//! struct NewestFirst(u32);
//!
//! impl OnlineAdversary for NewestFirst {
//!     fn next(&mut self, position: &dyn Position, _: &mut Rng) -> Option<Action> {
//!         self.0 = self.0.checked_sub(1)?;
//!         let newest = position.messages().pop();
//!         let timer = || position.timers().into_iter().next();
//!         newest.map(|message| message.deliver()).or_else(|| Some(timer()?.fire()))
//!     }
//! }
//! ```

use crate::ids::{NodeSet, SeatName, Slot, Time, View};
use crate::message::MutationTable;
use crate::node::{Cluster, Vitals};
use crate::rng::Rng;
use crate::schedule::{Action, Coordinates};

/// Chooses what happens next in a run. One for each run.
pub trait OnlineAdversary {
    /// What happens next; none, or [`Action::Calm`]: the network calms down, and the run goes on by itself.
    ///
    /// Draws come from `rng`, which is the run's own. A lie that leaves its message as it is does not happen: the adversary
    /// is asked again. Any other choice that cannot be made ends the run with an error.
    fn next(&mut self, position: &dyn Position, rng: &mut Rng) -> Option<Action>;
}

/// A run at the moment of a choice. At least one message is in flight, or one timer is armed.
pub trait Position {
    /// Events so far.
    fn steps(&self) -> u64;
    /// The clock.
    fn time(&self) -> Time;
    /// The members.
    fn cluster(&self) -> &Cluster;
    /// Those who may lie.
    fn byzantine(&self) -> NodeSet;
    /// Those who lie, stop or have stopped: a replica more may stop while they are fewer than f.
    fn faulty(&self) -> NodeSet;
    /// The lies that there are, by kind of message.
    fn lies(&self) -> &MutationTable;
    /// The messages in flight, in the order in which they were sent.
    fn messages(&self) -> Vec<Envelope>;
    /// The armed timers of all seats, earliest first.
    fn timers(&self) -> Vec<Alarm>;
    /// What the node in a seat knows and waits for; none: there is no such seat.
    fn vitals(&self, seat: SeatName) -> Option<Vitals>;
}

/// A copy of a message in flight, without its content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Envelope {
    /// Who sent it.
    pub src: SeatName,
    /// Who gets it.
    pub dst: SeatName,
    /// Its kind.
    pub kind: &'static str,
    /// Its number among those of its kind on its link, from 1.
    pub nth: u32,
    /// The view that it is about, if it names one.
    pub view: Option<View>,
    /// The slot that it is about, if it names one.
    pub slot: Option<Slot>,
    /// When it arrives, by the clock.
    pub arrives: Time,
    /// Whether a client sent it.
    pub from_client: bool,
    /// Whether its sender has lied in it.
    pub lie: bool,
}

impl Envelope {
    /// Its name in scripts.
    pub fn name(&self) -> Coordinates {
        Coordinates { src: self.src, dst: self.dst, kind: self.kind.to_owned(), nth: self.nth }
    }

    /// It arrives.
    pub fn deliver(&self) -> Action {
        Action::Deliver(self.name())
    }

    /// The network loses it, or holds it back where it loses nothing (`network.loss`).
    pub fn drop(&self) -> Action {
        Action::Drop(self.name())
    }

    /// Its sender lies in it: a name of the mutation table, and the seed of values that are drawn. It is still to be delivered.
    pub fn lie(&self, name: &str, seed: u64) -> Action {
        Action::Mutate(self.name(), name.to_owned(), seed)
    }
}

/// An armed timer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alarm {
    /// Whose it is.
    pub seat: SeatName,
    /// Its name.
    pub timer: String,
    /// When it fires, by the clock.
    pub at: Time,
}

impl Alarm {
    /// It fires, due or not.
    pub fn fire(&self) -> Action {
        Action::Fire(self.seat, Some(self.timer.clone()))
    }
}
