//! Looking into a simulation, without touching it.

use super::{AnyNode, Rejected, Sim, timer_name};
use crate::check::{Check, Ledger};
use crate::ids::{NodeSet, Seat, Time, View};
use crate::message::MutationTable;
use crate::net::Header;
use crate::node::{Cluster, Protocol, State, Vitals};
use crate::outcome::{End, Outcome, Violation};
use crate::part::{Described, Mutation, Part};
use crate::record::{Event, Recording, Standing};
use crate::schedule::{Action, Coordinates};
use crate::seats::Seats;
use crate::session::{Flying, Lies, NamedLie, Session};

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

    /// The messages in flight, in the order in which they were sent, with their names and content. Names are
    /// kept in recorded and scripted runs.
    pub fn in_flight(&self) -> Vec<(Coordinates, String)> {
        let mut headers = Vec::new();
        self.queue.visit(&mut |header| headers.push(*header));
        headers.sort_by_key(|header| header.id);
        let text = |header: &Header| Described(self.slab.get(header.payload)).to_string();
        headers.iter().map(|header| (self.coordinates(header), text(header))).collect()
    }

    /// The messages in flight, in the order in which they were sent, in a recorded or scripted run.
    fn under_way(&self) -> Vec<Flying> {
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

    /// What can be done to a message in flight.
    fn lies_about(&self, message: &Coordinates) -> Result<Lies, Rejected> {
        let header = self.find(message)?;
        let truth = self.slab.get(header.payload);
        let named = |(row, mutation): (usize, &Mutation)| {
            let lie = self.mutated(header.src, header.payload, row as u16, 0)?;
            let mut changes = Vec::new();
            truth.changes(&lie, "", &mut changes);
            let (name, text) = (mutation.name.clone(), Described(&lie).to_string());
            Some(NamedLie { name, scope: mutation.scope, changes, text })
        };
        let mut fields = Vec::new();
        truth.fields("", &mut fields);
        Ok(Lies {
            sender: self.io.seats.name(header.src),
            text: Described(truth).to_string(),
            fields,
            named: self.table.rows(header.kind).iter().enumerate().filter_map(named).collect(),
        })
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

    fn all_seats(&self) -> impl Iterator<Item = Seat> + use<P> {
        (0..self.nodes.len()).map(|index| Seat(index as u8))
    }

    fn standing(&self, seat: Seat) -> Standing {
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

impl<P: Protocol> Session for Sim<P> {
    fn apply(&mut self, action: &Action) -> Result<(), Rejected> {
        Self::apply(self, action)
    }
    fn go_on(&mut self) -> bool {
        Self::go_on(self)
    }
    fn next(&self) -> Option<Action> {
        self.next_choice()
    }
    fn script(&self) -> &[Action] {
        Self::script(self)
    }
    fn steps(&self) -> u64 {
        self.io.step
    }
    fn time(&self) -> Time {
        self.io.time
    }
    fn is_calm(&self) -> bool {
        self.calm
    }
    fn is_over(&mut self) -> bool {
        self.has_come_to_its_end()
    }
    fn violations(&self) -> &[Violation] {
        Self::violations(self)
    }
    fn commits(&self) -> u32 {
        self.io.ledger.commits()
    }
    fn recorded(&self) -> (usize, usize) {
        self.io
            .recording
            .as_ref()
            .map_or((0, 0), |recording| (recording.events.len(), recording.copies.len()))
    }
    fn view(&self, seat: usize) -> Option<View> {
        let seat = Seat(seat as u8);
        self.replica(seat).map(|_| self.vitals(seat).view)
    }
    fn standings(&self) -> Vec<Standing> {
        self.all_seats().map(|seat| self.standing(seat)).collect()
    }
    fn states(&self) -> Vec<Option<serde_json::Value>> {
        self.all_seats().map(|seat| Some(self.state(seat)?.json())).collect()
    }
    fn flying(&self) -> Vec<Flying> {
        self.under_way()
    }
    fn faulty(&self) -> (NodeSet, bool) {
        (self.faulty, self.over_budget)
    }
    fn lies(&self, message: &Coordinates) -> Result<Lies, Rejected> {
        self.lies_about(message)
    }
    fn stop(&mut self) -> (Outcome, Recording) {
        let outcome = Self::stop(self);
        (outcome, self.recording())
    }
}
