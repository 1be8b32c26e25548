//! How a later view takes another value than the one decided before.

use turncoat_core::ids::{NodeId, SeatName, Slot, View};
use turncoat_core::record::SentCopy;

use super::claim::{Claim, Line, each};
use super::read::{Poll, Run, received};
use crate::words::{and, capitalised};

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
    pub(super) fn succession(&self, one: &Poll<'_>, two: &Poll<'_>) -> Option<Succession<'_>> {
        let (first, second) = (one.ballot.view?, two.ballot.view?);
        if first == second {
            return None;
        }
        let (early, late, view) = if first < second { (one, two, second) } else { (two, one, first) };
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
    pub(super) fn later_view(&self, succession: &Succession<'_>) -> Vec<Line> {
        let Succession { old, new, view, slot, proposal, told } = succession;
        let sender = proposal.src;
        let message = self.names.short(&proposal.text);
        let leads = self.leads(sender.node, *view);
        let named = self.view(*view);
        let mut lines = vec![Line::new(
            format!("{new} entered {named} through {sender}, {leads}: step {}, {message}.", proposal.sent),
            each([*proposal], Claim::Sent),
        )];
        if let Some(kind) = told.first().map(|copy| copy.kind.to_uppercase()) {
            let words = told.iter().map(|copy| {
                let claims = self.names.claims(&copy.text).into_iter().map(|(value, view)| match view {
                    Some(view) => format!("{value} of {}", self.view(View(view))),
                    None => value.to_owned(),
                });
                let named = match claims.collect::<Vec<_>>() {
                    claims if claims.is_empty() => "names no value".to_owned(),
                    claims => format!("names {}", and(claims)),
                };
                let lie = if copy.lie.is_some() { ", a lie," } else { "" };
                format!("that from {}{lie} {named}", copy.src)
            });
            let words: Vec<String> = words.collect();
            let known = told.iter().any(|copy| self.named(copy).contains(&old.as_str()));
            let text = format!(
                "A new leader learns from {kind}s what may have been decided before. {sender} relied on these: {}.{}{}",
                words.join("; "),
                if known { String::new() } else { format!(" None of them mentions {old}.") },
                match self.higher(succession) {
                    Some((copy, claimed, _)) => {
                        let begun = if claimed < view.0 {
                            String::new()
                        } else {
                            format!(" The claim cannot be true: {} had not begun.", self.view(View(claimed)))
                        };
                        let claimed = self.view(View(claimed));
                        format!(
                            " That from {} claims {new} for {claimed}, which is later than any claim for {old}.{begun}",
                            copy.src
                        )
                    }
                    None => String::new(),
                }
            );
            lines.push(Line::new(text, each(told.iter().copied(), Claim::Sent)));
        }
        let decisions = self.decisions();
        let own = decisions
            .iter()
            .find(|d| d.seat == sender && d.slot == *slot && d.value == *old && d.step < proposal.sent);
        lines.extend(own.filter(|_| self.is_correct(sender)).map(|own| {
            let claim =
                Claim::Decided { seat: sender, slot: *slot, id: own.id, step: own.step, grounds: None };
            let within = self.within(*slot);
            Line::new(
                format!("{sender} had itself decided {old} {within}, at step {}.", own.step),
                vec![claim],
            )
        }));
        lines
    }

    /// `its leader`, or who is.
    pub(super) fn leads(&self, node: NodeId, view: View) -> String {
        match self.leader(view) {
            leader if leader == node => "its leader".to_owned(),
            leader => format!("which does not lead it: {leader} does"),
        }
    }

    /// Who claimed the new value for a higher view than anybody did the old one, for which, and the other's.
    fn higher<'a>(&self, succession: &Succession<'a>) -> Option<(&'a SentCopy, u32, u32)> {
        let Succession { old, new, told, .. } = succession;
        let claims = told.iter().flat_map(|copy| {
            self.names
                .claims(&copy.text)
                .into_iter()
                .filter_map(move |(value, view)| Some((*copy, value, view?)))
        });
        let best = |value: &str| claims.clone().filter(|claim| claim.1 == value).max_by_key(|claim| claim.2);
        let (old, (copy, _, view)) = (best(old)?, best(new)?);
        (view > old.2).then_some((copy, view, old.2))
    }

    /// The same in a sentence.
    pub(super) fn view_in_short(&self, succession: &Succession<'_>) -> Line {
        let Succession { old, new, view, slot, proposal, told } = succession;
        let tells = told.iter().filter(|copy| self.named(copy).contains(&old.as_str()));
        let tells: Vec<SeatName> = tells.map(|copy| copy.src).collect();
        let kind = told.first().map_or_else(String::new, |copy| copy.kind.to_uppercase());
        let why = match (told.is_empty(), tells.is_empty(), self.higher(succession)) {
            (true, ..) => String::new(),
            (_, true, _) => format!(": none of the {kind}s that it relied on mentions {old}"),
            (.., Some((copy, view, lower))) => {
                let lie = if copy.lie.is_some() { ", a lie," } else { "" };
                format!(
                    ": the {kind} from {}{lie} claims {new} for {}, the others claim {old} for {} only",
                    copy.src,
                    self.view(View(view)),
                    self.view(View(lower))
                )
            }
            _ => format!(", although it had {kind}s from {} that mention {old}", and(&tells)),
        };
        let leader = proposal.src;
        let (within, view) = (self.within(*slot), self.during(*view));
        let claims = each(told.iter().copied().chain([*proposal]), Claim::Sent);
        let view = capitalised(&view);
        Line::new(format!("{old} was decided {within}. {view} {leader} proposed {new} there{why}."), claims)
    }
}
