//! The way of each message, written down while somebody watches.

use super::Sim;
use crate::ids::{Seat, SeatName};
use crate::message::Message;
use crate::net::{Content, Header};
use crate::node::Protocol;
use crate::part::{Change, Described, Part};
use crate::record::{Arrival, Falsehood, Loss, SentCopy, What};

impl<P: Protocol> Sim<P> {
    /// Writes down that a copy is sent, and returns its row. The `truth` is what its sender's code wrote, if it wrote
    /// anything.
    pub(super) fn record_copy(&mut self, header: &Header, truth: Option<u32>) -> u32 {
        if self.io.recording.is_none() {
            return 0;
        }
        let Header { src, dst, payload, kind, content, .. } = *header;
        let msg = self.slab.get(payload);
        let lie = match (content, truth) {
            (Content::Genuine, _) => None,
            (Content::Garbage, _) => Some(Falsehood::Garbage),
            (Content::Lie, None) => Some(Falsehood::MadeUp),
            (Content::Lie, Some(truth)) => Some(Falsehood::Changed(self.changes(truth, payload))),
        };
        let copy = SentCopy {
            src: self.io.seats.name(src),
            dst: self.io.seats.name(dst),
            kind: P::Msg::KINDS[usize::from(kind)],
            nth: 0,
            view_change: P::Msg::VIEW_CHANGE[usize::from(kind)],
            round: msg.round(),
            slot: msg.slot(),
            text: Described(msg).to_string(),
            sent: self.io.step,
            lie,
            held: false,
            arrival: Arrival::Underway,
        };
        let rows = self.io.recording.as_mut().map(|recording| &mut recording.copies);
        rows.map_or(0, |rows| {
            rows.push(copy);
            rows.len() as u32 - 1
        })
    }

    /// A row of the recording.
    pub(super) fn recorded(&mut self, row: u32) -> Option<&mut SentCopy> {
        self.io.recording.as_mut()?.copies.get_mut(row as usize)
    }

    /// The row of a copy in flight.
    pub(super) fn recorded_as(&mut self, id: u32) -> Option<&mut SentCopy> {
        let row = self.numbering.of.get(id as usize)?.row;
        self.recorded(row)
    }

    /// Writes down what became of a copy in flight.
    pub(super) fn record_arrival(&mut self, id: u32, arrival: Arrival) {
        if let Some(copy) = self.recorded_as(id) {
            copy.arrival = arrival;
        }
    }

    /// A copy in flight becomes two: the row of the second.
    pub(super) fn record_duplicate(&mut self, id: u32) -> u32 {
        let sent = self.io.step;
        let copy = self.recorded_as(id).map(|copy| SentCopy { sent, ..copy.clone() });
        match (copy, &mut self.io.recording) {
            (Some(copy), Some(recording)) => {
                recording.copies.push(copy);
                recording.copies.len() as u32 - 1
            }
            _ => 0,
        }
    }

    /// Writes down that a copy was never in flight.
    pub(super) fn record_loss(&mut self, row: u32, by: Loss) {
        let step = self.io.step;
        if let Some(copy) = self.recorded(row) {
            copy.arrival = Arrival::Lost { step, by };
        }
    }

    /// Writes down that the content of a copy in flight was exchanged.
    pub(super) fn record_lie(&mut self, id: u32, truth: u32, lie: u32) {
        if self.io.recording.is_none() {
            return;
        }
        let changes = self.changes(truth, lie);
        let msg = self.slab.get(lie);
        let (round, slot, text) = (msg.round(), msg.slot(), Described(msg).to_string());
        let Some(copy) = self.recorded_as(id) else { return };
        (copy.round, copy.slot, copy.text) = (round, slot, text);
        match &mut copy.lie {
            Some(Falsehood::Changed(before)) => merge(before, changes),
            Some(_) => {}
            None => copy.lie = Some(Falsehood::Changed(changes)),
        }
    }

    fn changes(&self, truth: u32, lie: u32) -> Vec<Change> {
        let mut changes = Vec::new();
        self.slab.get(truth).changes(self.slab.get(lie), "", &mut changes);
        changes
    }

    /// Records something about a message, if somebody wants to know.
    pub(super) fn record_message(
        &mut self,
        payload: u32,
        src: Seat,
        dst: Seat,
        what: impl FnOnce(SeatName, SeatName, String) -> What,
    ) {
        if self.io.recording.is_some() {
            let text = Described(self.slab.get(payload)).to_string();
            let what = what(self.io.seats.name(src), self.io.seats.name(dst), text);
            self.io.record(what);
        }
    }
}

/// A lie about a lie: the truth stays what it was.
fn merge(before: &mut Vec<Change>, changes: Vec<Change>) {
    for change in changes {
        match before.iter_mut().find(|known| known.field == change.field) {
            Some(known) => known.is = change.is,
            None => before.push(change),
        }
    }
    before.retain(|change| change.was != change.is);
}
