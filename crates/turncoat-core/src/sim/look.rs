//! Looking into a simulation, without touching it.

use super::{AnyNode, Sim, timer_name};
use crate::check::{Check, Ledger};
use crate::ids::{Seat, Time};
use crate::message::MutationTable;
use crate::net::Header;
use crate::node::{Cluster, Protocol, State, Vitals};
use crate::outcome::{End, Violation};
use crate::part::Described;
use crate::record::{Event, Recording, Standing};
use crate::schedule::Action;
use crate::seats::Seats;
use crate::session::Flying;

impl<P: Protocol> Sim<P> {
    /// The seats.
    pub const fn seats(&self) -> &Seats {
        &self.io.seats
    }

    /// The members.
    pub const fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The mutation table of the protocol's messages.
    pub const fn table(&self) -> &MutationTable {
        &self.table
    }

    /// Decisions, submissions, violations so far.
    pub const fn ledger(&self) -> &Ledger {
        &self.io.ledger
    }

    /// The violations so far.
    pub fn violations(&self) -> &[Violation] {
        self.io.ledger.violations()
    }

    /// The clock.
    pub const fn time(&self) -> Time {
        self.io.time
    }

    /// Why the run has ended, if it has. Checks are judged once more then.
    pub const fn end_reason(&self) -> Option<End> {
        self.end
    }

    /// Whether the calm phase has started.
    pub const fn is_calm(&self) -> bool {
        self.calm
    }

    /// Whether a seat belongs to a node that neither lies nor has lost its memory.
    pub const fn is_correct(&self, seat: Seat) -> bool {
        self.io.ledger.correct().contains(seat)
    }

    /// Whether a seat has not stopped.
    pub const fn is_alive(&self, seat: Seat) -> bool {
        self.alive.contains(seat)
    }

    /// The replica in a seat.
    pub fn replica(&self, seat: Seat) -> Option<&P::Replica> {
        match self.nodes.get(seat.index())? {
            AnyNode::Replica(node) => Some(node),
            AnyNode::Client(_) => None,
        }
    }

    /// The state of the node in a seat, where it can be shown.
    pub fn state(&self, seat: Seat) -> Option<&dyn State> {
        self.nodes.get(seat.index())?.state()
    }

    /// What the node in a seat knows and waits for.
    pub fn vitals(&self, seat: Seat) -> Vitals {
        self.nodes[seat.index()].vitals(&self.cluster)
    }

    /// The messages in flight, in the order in which they were sent. Names are kept in recorded and scripted runs.
    pub fn in_flight(&self) -> Vec<Flying> {
        let mut headers = Vec::new();
        self.queue.visit(&mut |header| headers.push(*header));
        headers.sort_by_key(|header| header.id);
        let flying = |header: &Header| Flying {
            name: self.coordinates(header),
            text: Described(self.slab.get(header.payload)).to_string(),
            arrives: header.at,
        };
        headers.iter().map(flying).collect()
    }

    /// The armed timers of a seat, earliest first.
    pub fn timers(&self, seat: Seat) -> Vec<(String, Time)> {
        let mut timers: Vec<(P::Timer, Time)> = self.io.timers.of(seat).collect();
        timers.sort_by_key(|&(timer, at)| (at, timer));
        timers.into_iter().map(|(timer, at)| (timer_name(&timer), at)).collect()
    }

    /// What happened so far, in a recorded run.
    pub fn events(&self) -> &[Event] {
        self.io.recording.as_ref().map_or(&[], |recording| &recording.events)
    }

    /// The actions that led here, in a recorded run.
    pub fn script(&self) -> &[Action] {
        self.io.recording.as_ref().map_or(&[], |recording| &recording.script)
    }

    /// What was recorded.
    pub fn recording(&mut self) -> Recording {
        let Some(mut recording) = self.io.recording.take() else { return Recording::default() };
        recording.requests = self.io.ledger.submitted().iter().map(|request| **request).collect();
        recording.standings = self.all_seats().map(|seat| self.standing(seat)).collect();
        recording
    }

    pub(super) fn all_seats(&self) -> impl Iterator<Item = Seat> + use<P> {
        (0..self.nodes.len()).map(|index| Seat(index as u8))
    }

    pub(super) fn standing(&self, seat: Seat) -> Standing {
        Standing {
            seat: self.io.seats.name(seat),
            correct: self.is_correct(seat),
            alive: self.is_alive(seat),
            vitals: self.vitals(seat),
            timers: self.timers(seat),
        }
    }

    /// Adds an invariant to those of the protocol.
    pub fn add_check(&mut self, check: Check<P>) {
        self.checks.push(check);
    }
}
