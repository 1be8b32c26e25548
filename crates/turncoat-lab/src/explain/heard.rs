//! What each replica heard about a slot, and decided.

use turncoat_core::ids::{SeatName, Slot, View};
use turncoat_core::record::{Arrival, SentCopy};

use super::read::{Decision, Run, received};
use super::words::and;

/// Messages that say the same, by different senders.
struct Heard<'a> {
    view: Option<View>,
    kind: &'static str,
    values: Vec<&'a str>,
    lie: bool,
    copies: Vec<&'a SentCopy>,
}

impl Run {
    /// The decisions of a replica up to a step: `A in slot 1 (step 19), B in slot 2 (step 43)`.
    pub(super) fn log(&self, seat: SeatName, until: u64) -> String {
        let decisions = self.decisions();
        let own: Vec<_> = decisions.iter().filter(|d| d.seat == seat && d.step <= until).collect();
        let words = |d: &&Decision| format!("{} in slot {} (step {})", d.value, d.slot, d.step);
        match own.len() {
            0 => "decided nothing".to_owned(),
            1..=4 => format!("decided {}", and(own.iter().map(words))),
            many => format!("decided {many} slots, {} last", own.last().map(words).unwrap_or_default()),
        }
    }

    /// What a replica heard about a slot up to a step, a line for each view.
    pub(super) fn heard(&self, seat: SeatName, slot: Option<Slot>, until: u64) -> Vec<String> {
        let mut groups: Vec<Heard<'_>> = Vec::new();
        for copy in self.received(seat, until) {
            let round = copy.round.filter(|_| Self::is_about(copy, slot));
            let (Some(key), false) = (round, copy.src.node.is_client()) else { continue };
            let (view, lie) = (Some(key.view), copy.lie.is_some());
            let values = self.named(copy);
            let same =
                |g: &&mut Heard<'_>| (g.view, g.kind, &g.values, g.lie) == (view, copy.kind, &values, lie);
            match groups.iter_mut().find(same) {
                Some(group) => group.copies.push(copy),
                None => groups.push(Heard { view, kind: copy.kind, values, lie, copies: vec![copy] }),
            }
        }
        let mut views: Vec<Option<View>> = groups.iter().map(|group| group.view).collect();
        views.sort_unstable();
        views.dedup();
        let lines = views.iter().map(|view| {
            let of_view = groups.iter().filter(|group| group.view == *view);
            let words: Vec<String> = of_view.map(|group| self.group(group)).collect();
            match views.len() > 1 {
                true => format!("in view {}: {}", view.unwrap_or_default(), words.join(", ")),
                false => words.join(", "),
            }
        });
        lines.collect()
    }

    /// What a replica told others about a slot up to a step.
    pub(super) fn told(&self, seat: SeatName, slot: Option<Slot>, until: u64) -> Option<String> {
        let mut words: Vec<String> = Vec::new();
        let sent = self.recording.copies.iter().filter(|copy| copy.src == seat && copy.sent <= until);
        for copy in sent.filter(|copy| !copy.dst.node.is_client() && Self::is_about(copy, slot)) {
            let named = self.named(copy);
            let (Some(_), [value]) = (copy.round, named.as_slice()) else { continue };
            let said = format!("{} {value}", copy.kind.to_uppercase());
            if !words.iter().any(|known| known.starts_with(&format!("{said} "))) {
                words.push(format!("{said} (step {})", copy.sent));
            }
        }
        (!words.is_empty()).then(|| format!("and it said: {}", words.join(", ")))
    }

    fn group(&self, group: &Heard<'_>) -> String {
        let Heard { kind, values, lie, copies, .. } = group;
        let kind = kind.to_uppercase();
        let values = if values.is_empty() { String::new() } else { format!(" {}", values.join("/")) };
        let senders = and(copies.iter().map(|copy| copy.src));
        let step = received(copies[0]).unwrap_or_default();
        let lie = if *lie { ", a lie" } else { "" };
        format!("{kind}{values} of {senders} (step {step}{lie})")
    }

    /// What was sent to a replica for another value than the one it decided, and had not reached it by then.
    pub(super) fn unheard(&self, decision: &Decision) -> Option<String> {
        let Decision { seat, slot, step: until, value, .. } = decision;
        let (seat, slot, until) = (*seat, Some(*slot), *until);
        let late = |copy: &&SentCopy| match copy.arrival {
            Arrival::Delivered { step, .. } => step > until,
            Arrival::Underway => true,
            Arrival::Lost { .. } => false,
        };
        let votes = self.recording.copies.iter().filter(|copy| {
            let about = copy.slot.is_some() && Self::is_about(copy, slot);
            let other = matches!(self.named(copy).as_slice(), [named] if named != value);
            copy.dst == seat && copy.sent < until && copy.round.is_some() && about && other
        });
        let mut groups: Vec<(String, Vec<SeatName>)> = Vec::new();
        for copy in votes.filter(late) {
            let text = self.names.short(&copy.text);
            match groups.iter_mut().find(|(known, _)| *known == text) {
                Some((_, senders)) => senders.push(copy.src),
                None => groups.push((text, vec![copy.src])),
            }
        }
        let words: Vec<String> =
            groups.iter().map(|(text, senders)| format!("{text} of {}", and(senders))).collect();
        (!words.is_empty()).then(|| format!("still on the way to it: {}", words.join(", ")))
    }
}
