//! Decisions that should not have been made, values that nobody asked for, and what makes a node crash.

use turncoat_core::ids::{SeatName, Slot};
use turncoat_core::outcome::{Property, Violation};
use turncoat_core::part::Change;
use turncoat_core::record::{Falsehood, SentCopy};

use super::read::{Decision, Run, received};
use super::words::and;

impl Run {
    /// The decisions that a replica should not have made.
    pub(super) fn integrity(&self, violation: &Violation) -> Vec<String> {
        let seats: Vec<SeatName> = self.recording.standings.iter().map(|standing| standing.seat).collect();
        let seats = seats.into_iter().filter(|seat| violation.nodes.contains(&seat.node));
        let decisions = self.decisions();
        let mut lines = Vec::new();
        for seat in seats {
            let own: Vec<&Decision> =
                decisions.iter().filter(|d| d.seat == seat && d.step <= violation.step).collect();
            let Some(last) = own.last() else { continue };
            match violation.rule {
                "order" => {
                    lines.push(self.decided(last));
                    let missing = self.left_out(last);
                    let others: Vec<&Decision> =
                        decisions.iter().filter(|d| d.slot == missing && d.step <= violation.step).collect();
                    lines.push(format!(
                        "Slot {missing} comes before it, and {seat} had not decided that one. {}",
                        match others.first() {
                            Some(first) =>
                                format!("{} had: {}.", and(others.iter().map(|d| d.seat)), first.value),
                            None => "Nobody had.".to_owned(),
                        }
                    ));
                    let heard = self.heard(seat, Some(missing), violation.step);
                    match heard.is_empty() {
                        true => lines.push(format!("About slot {missing} {seat} had heard nothing.")),
                        false => lines
                            .push(format!("About slot {missing} {seat} had heard: {}.", heard.join("; "))),
                    }
                    lines.extend(self.late_reasons());
                }
                "twice" => {
                    let first = own.iter().find(|d| d.slot == last.slot).copied().unwrap_or(last);
                    lines.extend([self.decided(first), self.decided(last)]);
                    lines.extend(self.in_common(&self.ballot(first), &self.ballot(last)));
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

    /// The slot that somebody should have decided in the place of this decision.
    pub(super) fn left_out(&self, decision: &Decision) -> Slot {
        let decisions = self.decisions();
        let before = decisions.iter().rfind(|d| d.seat == decision.seat && d.step < decision.step);
        before.map_or(Slot(1), |before| before.slot.next())
    }

    /// Where a value came from that nobody had asked for.
    pub(super) fn invented(&self, violation: &Violation) -> Vec<String> {
        let decisions = self.decisions();
        let decided = decisions.iter().filter(|d| d.step == violation.step && Some(d.slot) == violation.slot);
        let mut lines = Vec::new();
        for decision in decided {
            lines.push(self.decided(decision));
            lines.extend(self.origin(&decision.value, decision.slot));
        }
        let asked: Vec<String> =
            self.recording.requests.iter().map(|request| self.names.request(request)).collect();
        lines.push(format!("Clients had asked for {} only.", and(asked)));
        lines
    }

    /// Who named a value for a slot first.
    fn origin(&self, value: &str, slot: Slot) -> Option<String> {
        let proposed = |copy: &&SentCopy| {
            copy.round.is_some() && Self::is_about(copy, Some(slot)) && self.named(copy).contains(&value)
        };
        let first = self.recording.copies.iter().find(proposed)?;
        let lie = self.lie(first).map(|lie| format!(", a lie: {lie}")).unwrap_or_default();
        Some(format!(
            "The first to name {value} for slot {slot} was {} at step {}: {}{lie}.",
            first.src,
            first.sent,
            self.names.short(&first.text)
        ))
    }

    /// What happened in the event of the violation.
    pub(super) fn last_straw(&self, violation: &Violation) -> Vec<String> {
        let last = self.recording.copies.iter().find(|copy| received(copy) == Some(violation.step));
        let straw = last.map(|copy| {
            let lie = match (&copy.lie, self.lie(copy)) {
                (Some(Falsehood::Garbage), _) => " It had been garbled on its way.".to_owned(),
                (_, Some(lie)) => format!(" It was a lie: {lie}."),
                (_, None) => String::new(),
            };
            let crashed = violation.property == Property::Crashed;
            let leads = copy
                .round
                .filter(|key| crashed && copy.view_change && self.leader(key.view) != copy.src.node);
            let leads = leads.map(|key| {
                format!(" View {} is led by {}, not by {}.", key.view, self.leader(key.view), copy.src)
            });
            format!(
                "At step {} {} received {} of {}.{lie}{}",
                violation.step,
                copy.dst,
                self.names.short(&copy.text),
                copy.src,
                leads.unwrap_or_default()
            )
        });
        let mut lines: Vec<String> = straw.into_iter().collect();
        let empty = |change: &&Change| change.is == "[]";
        let empty = match last.and_then(|copy| copy.lie.as_ref()) {
            Some(Falsehood::Changed(changes)) => changes.iter().find(empty),
            _ => None,
        };
        let empty = empty.map_or_else(String::new, |change| format!(" What is empty is {}.", change.field));
        lines.push(format!("Then {}.{empty}", self.detail(violation)));
        // Who receives the same next fares no better.
        let same = |copy: &&SentCopy| {
            last.is_some_and(|last| (copy.src, copy.sent, &copy.text) == (last.src, last.sent, &last.text))
                && received(copy).is_none_or(|step| step > violation.step)
        };
        let next: Vec<SeatName> = self.recording.copies.iter().filter(same).map(|copy| copy.dst).collect();
        lines
            .extend((!next.is_empty()).then(|| format!("The same message was on its way to {}.", and(next))));
        lines
    }
}
