//! How a later view takes another value than the one decided before.

use turncoat_core::ids::{SeatName, Slot, View};
use turncoat_core::record::SentCopy;

use super::read::{Ballot, Run, received};
use super::words::and;

/// How a later view took another value than the one decided before.
pub(super) struct Succession<'a> {
    old: String,
    new: String,
    view: View,
    slot: Slot,
    /// The first message of the view that names the new value.
    proposal: &'a SentCopy,
    /// What its sender had been told about earlier views when it started this one.
    told: Vec<&'a SentCopy>,
}

impl Run {
    /// How a value came into a later view than the one in which another was decided.
    pub(super) fn succession(&self, one: &Ballot<'_>, two: &Ballot<'_>) -> Option<Succession<'_>> {
        let (early, late) = if one.view <= two.view { (one, two) } else { (two, one) };
        if early.view == late.view {
            return None;
        }
        let view = late.view;
        let (old, new) = (early.decision.value.clone(), late.decision.value.clone());
        let in_view = |copy: &&SentCopy| copy.round.is_some_and(|key| key.view == view);
        let copies = || self.recording.copies.iter().filter(in_view);
        // Votes for the view, not the message with which its leader starts it.
        let phases =
            copies().filter(|copy| copy.view_change).filter_map(|copy| copy.round.map(|key| key.phase));
        let lowest = phases.min();
        let votes = |copy: &&SentCopy| copy.view_change && copy.round.map(|key| key.phase) == lowest;
        let names_new = |copy: &&SentCopy| self.named(copy).contains(&new.as_str());
        let proposal = copies().find(|copy| !votes(copy) && names_new(copy))?;
        let leader = proposal.src;
        let start = copies().find(|copy| copy.src == leader && copy.view_change && !votes(copy));
        let start = start.map_or(proposal.sent, |start| start.sent.min(proposal.sent));
        let mut told: Vec<&SentCopy> = Vec::new();
        for copy in copies().filter(votes) {
            let heard = copy.dst == leader && received(copy).is_some_and(|step| step <= start);
            let own = copy.src == leader && copy.sent <= start;
            if (heard || own) && !told.iter().any(|known| known.src == copy.src) {
                told.push(copy);
            }
        }
        Some(Succession { old, new, view, slot: late.decision.slot, proposal, told })
    }

    /// The same in sentences.
    pub(super) fn later_view(&self, succession: &Succession<'_>) -> Vec<String> {
        let Succession { old, new, view, proposal, told, .. } = succession;
        let leader = proposal.src;
        let message = self.names.short(&proposal.text);
        let mut lines =
            vec![format!("{new} came into view {view} by {leader}: step {}, {message}.", proposal.sent)];
        if let Some(kind) = told.first().map(|copy| copy.kind.to_uppercase()) {
            let words = told.iter().map(|copy| {
                let named = match self.named(copy).as_slice() {
                    [] => "names no value".to_owned(),
                    named => format!("names {}", named.join(" and ")),
                };
                let lie = if copy.lie.is_some() { ", a lie," } else { "" };
                format!("that of {}{lie} {named}", copy.src)
            });
            let words: Vec<String> = words.collect();
            let known = told.iter().any(|copy| self.named(copy).contains(&old.as_str()));
            lines.push(format!(
                "From {kind}s a new leader learns what may have been decided before. {leader} went by these: {}.{}",
                words.join("; "),
                if known { String::new() } else { format!(" None of them tells of {old}.") }
            ));
        }
        lines
    }

    /// The same in a sentence.
    pub(super) fn view_in_short(&self, succession: &Succession<'_>) -> String {
        let Succession { old, new, view, slot, proposal, told } = succession;
        let tells = told.iter().filter(|copy| self.named(copy).contains(&old.as_str()));
        let tells: Vec<SeatName> = tells.map(|copy| copy.src).collect();
        let kind = told.first().map_or_else(String::new, |copy| copy.kind.to_uppercase());
        let why = match (told.is_empty(), tells.is_empty()) {
            (true, _) => String::new(),
            (_, true) => format!(": none of the {kind}s that it went by tells of {old}"),
            _ => format!(", though it had {kind}s of {} that tell of {old}", and(&tells)),
        };
        let leader = proposal.src;
        format!("{old} was decided in slot {slot}; in view {view} {leader} proposed {new} there{why}.")
    }
}
