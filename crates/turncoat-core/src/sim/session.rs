//! A simulation in somebody's hands: see [`crate::session`].

use serde_json::Value;

use super::{Rejected, Sim};
use crate::ids::{NodeSet, Seat, Time, View};
use crate::node::Protocol;
use crate::outcome::{Outcome, Violation};
use crate::part::{Described, Mutation, Part};
use crate::record::{Recording, Standing};
use crate::schedule::{Action, Coordinates};
use crate::session::{Flying, Lies, NamedLie, Session};

impl<P: Protocol> Sim<P> {
    /// What can be done to a message in flight.
    fn lies_about(&self, message: &Coordinates) -> Result<Lies, Rejected> {
        let header = self.find(message)?;
        let truth = self.slab.get(header.payload);
        let named = |(row, mutation): (usize, &Mutation)| {
            let lie = self.mutated(header.src, header.payload, (header.kind, row as u16), 0)?;
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
    fn states(&self) -> Vec<Option<Value>> {
        self.all_seats().map(|seat| Some(self.state(seat)?.json())).collect()
    }
    fn flying(&self) -> Vec<Flying> {
        self.in_flight()
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
