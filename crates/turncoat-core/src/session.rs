//! A run in somebody's hands: choice by choice, without types. What the explorer is made of.

use serde_json::Value;

use crate::ids::{NodeSet, SeatName, Time, View};
use crate::outcome::{Outcome, Violation};
use crate::part::{Change, Scope};
use crate::record::{Recording, Standing};
use crate::schedule::{Action, Coordinates};
use crate::sim::Rejected;

/// A run that goes on by choices alone. Its scenario's own choices are not made: see [`crate::runner::Entry::session`].
pub trait Session {
    /// Makes a choice.
    ///
    /// # Errors
    /// If it cannot be made; nothing has happened then.
    fn apply(&mut self, action: &Action) -> Result<(), Rejected>;
    /// Lets the next event by time happen; false if there is none.
    fn go_on(&mut self) -> bool;
    /// What [`Session::go_on`] would choose, as far as it can be told before.
    fn next(&self) -> Option<Action>;
    /// The choices so far, those of [`Session::go_on`] included; none if nobody records.
    fn script(&self) -> &[Action];
    /// Events so far.
    fn steps(&self) -> u64;
    /// The clock.
    fn time(&self) -> Time;
    /// Whether the network is calm.
    fn is_calm(&self) -> bool;
    /// Whether the run ends here: the network is calm, and the goal or a limit is reached, or nothing is left to happen.
    fn is_over(&mut self) -> bool;
    /// What is violated so far, in order.
    fn violations(&self) -> &[Violation];
    /// Decisions of correct replicas so far.
    fn commits(&self) -> u32;
    /// How many events and copies of messages are recorded so far.
    fn recorded(&self) -> (usize, usize);
    /// The view of the replica in a seat, by its number; none: it is a client.
    fn view(&self, seat: usize) -> Option<View>;
    /// Everybody, by seat.
    fn standings(&self) -> Vec<Standing>;
    /// The states of everybody, by seat, where they can be shown.
    fn states(&self) -> Vec<Option<Value>>;
    /// The messages in flight, in the order in which they were sent.
    fn flying(&self) -> Vec<Flying>;
    /// The replicas that lie, stop or have stopped, and whether they are too many.
    fn faulty(&self) -> (NodeSet, bool);
    /// What can be done to a message in flight, whoever sent it.
    ///
    /// # Errors
    /// If there is no such message.
    fn lies(&self, message: &Coordinates) -> Result<Lies, Rejected>;
    /// Ends it here: what came out, and what happened.
    fn stop(&mut self) -> (Outcome, Recording);
}

/// A message in flight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flying {
    /// Its name.
    pub name: Coordinates,
    /// Kind and fields.
    pub text: String,
    /// When it arrives, by the clock.
    pub arrives: Time,
}

/// What can be done to a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lies {
    /// Its sender.
    pub sender: SeatName,
    /// Kind and fields.
    pub text: String,
    /// Its fields, each with what it says.
    pub fields: Vec<(String, String)>,
    /// The named lies that change something.
    pub named: Vec<NamedLie>,
}

/// A named lie, and what would come of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedLie {
    /// Its name.
    pub name: String,
    /// How far it goes.
    pub scope: Scope,
    /// The fields that it changes.
    pub changes: Vec<Change>,
    /// What the message would say.
    pub text: String,
}
