//! The copies of messages in a recorded run, as faults name them.

use std::collections::BTreeMap;

use turncoat_core::fault::{Effect, Fault, Names, Span, When};
use turncoat_core::record::{Arrival, Falsehood, Recording, SentCopy};

/// All copies, in the order in which they were sent.
pub(super) struct Copies<'a> {
    pub(super) rows: Vec<Row<'a>>,
    arrivals: BTreeMap<u64, usize>,
}

/// A copy, and which of its sender's messages of its kind it is, counted as faults count.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    pub(super) copy: &'a SentCopy,
    nth: u64,
}

impl<'a> Copies<'a> {
    pub(super) fn of(recording: &'a Recording) -> Self {
        let (mut rows, mut arrivals, mut seen) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        for copy in &recording.copies {
            // Without a round every message counts; the copies of a broadcast are one.
            let ident = match copy.round {
                Some(key) => (Some(key), 0, ""),
                None => (None, copy.sent, copy.text.as_str()),
            };
            let seen: &mut Vec<_> = seen.entry((copy.src, copy.kind)).or_default();
            let known = seen.iter().position(|other| *other == ident);
            let nth = known.unwrap_or(seen.len()) as u64 + 1;
            // What a liar makes up is not counted.
            if known.is_none() && copy.lie != Some(Falsehood::MadeUp) {
                seen.push(ident);
            }
            if let Arrival::Delivered { step, .. } | Arrival::Lost { step, .. } = copy.arrival
                && step > copy.sent
            {
                arrivals.insert(step, rows.len());
            }
            rows.push(Row { copy, nth });
        }
        Self { rows, arrivals }
    }

    /// The copy that was handed over, or lost on its way, in an event.
    pub(super) fn arrived(&self, step: u64) -> Option<Row<'a>> {
        self.arrivals.get(&step).map(|&row| self.rows[row])
    }
}

impl Row<'_> {
    /// Whether it was never in flight.
    pub(super) const fn lost_at_once(&self) -> bool {
        matches!(self.copy.arrival, Arrival::Lost { step, .. } if step == self.copy.sent)
    }

    /// A fault for all messages of its kind on its link.
    pub(super) fn on_link(&self, effect: Effect) -> Fault {
        let SentCopy { src, dst, kind, .. } = *self.copy;
        // A lie says itself which kind it is about.
        let kind = if matches!(effect, Effect::Mutate(_)) { Names::default() } else { kind.into() };
        Fault { when: When { from: vec![src], to: vec![dst], kind, ..When::default() }, effect }
    }

    /// A fault for this message, by its number.
    pub(super) fn numbered(&self, effect: Effect) -> Fault {
        let mut fault = self.on_link(effect);
        fault.when.nth = Some(Span::At(self.nth));
        fault
    }
}
