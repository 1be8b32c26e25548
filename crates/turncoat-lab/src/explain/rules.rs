//! Decisions that should not have been made, values that nobody asked for, and what makes a node crash.

use turncoat_core::ids::{SeatName, Slot};
use turncoat_core::outcome::{Property, Violation};
use turncoat_core::part::Change;
use turncoat_core::record::{Falsehood, SentCopy};

use super::claim::{Claim, Line, each};
use super::read::{Decision, Run, received};
use crate::words::{and, capitalised};

impl Run {
    /// The decisions that a replica should not have made.
    pub(super) fn integrity(&self, violation: &Violation) -> Vec<Line> {
        let seats: Vec<SeatName> = self.recording.standings.iter().map(|standing| standing.seat).collect();
        let seats = seats.into_iter().filter(|seat| violation.nodes.contains(&seat.node));
        let decisions = self.decisions();
        let mut lines = Vec::new();
        for seat in seats {
            let own: Vec<&Decision> =
                decisions.iter().filter(|d| d.seat == seat && d.step <= violation.step).collect();
            let Some(last) = own.last() else { continue };
            match violation.rule {
                "order" => lines.extend(self.disorder(seat)),
                "twice" => {
                    let first = own.iter().find(|d| d.slot == last.slot).copied().unwrap_or(last);
                    lines.extend([self.decided(first), self.decided(last)]);
                    if let (Some(first), Some(last)) = (self.poll(first), self.poll(last)) {
                        lines.extend(self.in_common(&first, &last));
                    }
                    lines.extend(self.origin(&last.value, last.slot));
                }
                _ => {
                    let same = |d: &&&Decision| d.slot == last.slot || d.id == last.id;
                    lines.extend(own.iter().filter(same).map(|d| self.decided(d)));
                    lines.extend(self.origin(&last.value, last.slot));
                }
            }
        }
        lines
    }

    /// A slot that was decided before those before it, or after later ones.
    fn disorder(&self, seat: SeatName) -> Vec<Line> {
        let Some((decision, next)) = self.out_of_order(seat) else { return Vec::new() };
        let decisions = self.decisions();
        let mut lines = vec![self.decided(&decision)];
        let claim = |d: &Decision| {
            let Decision { seat, slot, id, step, .. } = *d;
            Claim::Decided { seat, slot, id, step, grounds: None }
        };
        let slot = self.slot(next);
        if decision.slot > next {
            let others: Vec<&Decision> = decisions
                .iter()
                .filter(|d| d.slot == next && d.step <= decision.step && d.seat != seat)
                .collect();
            let had = match others.first() {
                Some(first) => format!("{} had: {}.", and(others.iter().map(|d| d.seat)), first.value),
                None => "Nobody had.".to_owned(),
            };
            let text = format!("{seat} had not decided {slot}, which comes before it. {had}");
            let mut claims: Vec<Claim> = others.iter().map(|d| claim(d)).collect();
            claims.push(Claim::Undecided(seat, Some(next), decision.step));
            lines.push(Line::new(text, claims));
            let heard = self.heard(seat, Some(next), decision.step);
            lines.push(match heard.is_empty() {
                true => format!("About {slot} {seat} had heard nothing.").into(),
                false => {
                    Line::joined(heard, "; ").map(|heard| format!("About {slot} {seat} had heard: {heard}."))
                }
            });
            lines.extend(self.late_reasons());
        } else {
            let before = decisions
                .iter()
                .rfind(|d| d.seat == seat && d.slot.next() == next && d.step <= decision.step);
            lines.extend(before.map(|before| {
                let text =
                    format!("By then {seat} had decided {} (step {}).", self.slot(before.slot), before.step);
                Line::new(text, vec![claim(before)])
            }));
        }
        lines
    }

    /// The first decision of somebody that was not of its next slot, and the slot that was next.
    pub(super) fn out_of_order(&self, seat: SeatName) -> Option<(Decision, Slot)> {
        let mut last: Option<Slot> = None;
        self.decisions().into_iter().filter(|d| d.seat == seat).find_map(|decision| {
            let slot = decision.slot;
            let next = last.replace(slot).map_or(slot.min(Slot(1)), Slot::next);
            (slot != next).then_some((decision, next))
        })
    }

    /// Where a value came from that nobody had asked for.
    pub(super) fn invented(&self, violation: &Violation) -> Vec<Line> {
        let decisions = self.decisions();
        let decided = decisions.iter().filter(|d| d.step == violation.step && Some(d.slot) == violation.slot);
        let mut lines = Vec::new();
        for decision in decided {
            lines.push(self.decided(decision));
            lines.extend(self.origin(&decision.value, decision.slot));
        }
        let asked: Vec<String> =
            self.recording.requests.iter().map(|request| self.names.request(request)).collect();
        if asked.is_empty() {
            lines.push("Nothing had been requested.".to_owned().into());
        } else {
            lines.push(format!("Only {} had been requested.", and(asked)).into());
        }
        lines
    }

    /// Who named a value for a slot first.
    fn origin(&self, value: &str, slot: Slot) -> Option<Line> {
        let proposed = |copy: &&SentCopy| {
            copy.round.is_some() && Self::is_about(copy, Some(slot)) && self.named(copy).contains(&value)
        };
        let first = self.recording.copies.iter().find(proposed)?;
        let lie = self.lie(first).map(|lie| format!(", a lie: {lie}")).unwrap_or_default();
        let text = format!(
            "The first to name {value} for {} was {} at step {}: {}{lie}.",
            self.slot(slot),
            first.src,
            first.sent,
            self.names.short(&first.text)
        );
        Some(Line::new(text, each([first], Claim::Sent)))
    }

    /// What happened in the event of the violation.
    pub(super) fn last_straw(&self, violation: &Violation) -> Vec<Line> {
        let last = self.recording.copies.iter().find(|copy| received(copy) == Some(violation.step));
        let straw = last.map(|copy| {
            let lie = match (&copy.lie, self.lie(copy)) {
                (Some(Falsehood::Garbage), _) => " It had been garbled in transit.".to_owned(),
                (_, Some(lie)) => format!(" It was a lie: {lie}."),
                (_, None) => String::new(),
            };
            let crashed = violation.property == Property::Crashed;
            let leads = copy
                .round
                .filter(|key| crashed && copy.view_change && self.leader(key.view) != copy.src.node);
            let leads = leads.map(|key| {
                let view = capitalised(&self.view(key.view));
                format!(" {view} is led by {}, not by {}.", self.leader(key.view), copy.src)
            });
            let text = format!(
                "At step {} {} received {} from {}.{lie}{}",
                violation.step,
                copy.dst,
                self.names.short(&copy.text),
                copy.src,
                leads.unwrap_or_default()
            );
            Line::new(text, each([copy], |copy| Claim::Received(copy, violation.step)))
        });
        let mut lines: Vec<Line> = straw.into_iter().collect();
        let empty = |change: &&Change| change.is == "[]";
        let empty = match last.and_then(|copy| copy.lie.as_ref()) {
            Some(Falsehood::Changed(changes)) => changes.iter().find(empty),
            _ => None,
        };
        let empty = empty.map_or_else(String::new, |change| format!(" The empty field is {}.", change.field));
        lines.push(format!("Then {}.{empty}", self.detail(violation)).into());
        // Who receives the same next fares no better.
        let same = |copy: &&SentCopy| {
            last.is_some_and(|last| (copy.src, copy.sent, &copy.text) == (last.src, last.sent, &last.text))
                && received(copy).is_none_or(|step| step > violation.step)
        };
        let next: Vec<&SentCopy> = self.recording.copies.iter().filter(same).collect();
        lines.extend((!next.is_empty()).then(|| {
            let text =
                format!("The same message was in flight to {}.", and(next.iter().map(|copy| copy.dst)));
            Line::new(text, each(next.iter().copied(), Claim::Sent))
        }));
        lines
    }
}
