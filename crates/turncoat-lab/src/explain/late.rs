//! What came too late: votes in flight when a replica decided, and would have made it decide something else.

use std::collections::BTreeSet;

use turncoat_core::grounds::{Grounds, Subject};
use turncoat_core::ids::{NodeSet, SeatName, Slot};
use turncoat_core::outcome::Property;
use turncoat_core::record::{Arrival, Loss, SentCopy, What};
use turncoat_core::scenario::SchedulerName;

use super::claim::{Claim, Line, each};
use super::read::{Decision, Run, kind, received};
use crate::words::and;

/// Votes that a replica lacked when it decided, and that were in flight to it.
pub(super) struct Late<'a> {
    /// The replica, and when it decided.
    pub(super) seat: SeatName,
    pub(super) step: u64,
    votes: Vec<&'a SentCopy>,
    /// What they were for.
    value: String,
    slot: Slot,
}

/// Whose timer fired too early, which, when, and what was in flight.
type HastyTimer<'a> = (SeatName, &'a str, u64, Vec<&'a SentCopy>);

impl Run {
    /// Votes that came too late for those who decided as they should not have.
    pub(super) fn too_late(&self) -> Vec<Late<'_>> {
        let Some(violation) = &self.violation else { return Vec::new() };
        match (violation.property, violation.rule) {
            (Property::Agreement, _) => {
                let Some((one, two)) = self.conflicting() else { return Vec::new() };
                [self.missed(&one, &two), self.missed(&two, &one)].into_iter().flatten().collect()
            }
            (Property::Integrity, "order") => {
                let seat = violation.nodes.first().map(|&node| SeatName::from(node));
                let Some((wrong, missing)) = seat.and_then(|seat| self.out_of_order(seat)) else {
                    return Vec::new();
                };
                let decisions = self.decisions();
                let other = decisions.iter().find(|d| d.slot == missing && d.step <= violation.step);
                let other = other.filter(|_| wrong.slot > missing);
                other.and_then(|other| self.missed(&wrong, other)).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// The votes for another's decision that were still on their way to somebody who decided, if they would have been
    /// enough for it to decide the same.
    fn missed(&self, decision: &Decision, other: &Decision) -> Option<Late<'_>> {
        let Decision { seat, step, .. } = *decision;
        let before =
            |d: &Decision| d.seat == seat && d.slot == other.slot && d.id == other.id && d.step < step;
        if self.decisions().iter().any(before) {
            return None;
        }
        let Grounds::Votes(ballot) = other.grounds else { return None };
        if ballot.subject != Subject::Value || !ballot.by_quorum {
            return None;
        }
        let is_vote = |copy: &&SentCopy| {
            let view = copy.round.map(|key| key.view);
            let round = kind(copy).eq_ignore_ascii_case(ballot.kind)
                && ballot.view.is_none_or(|own| view == Some(own));
            round && Self::is_about(copy, Some(other.slot)) && self.named(copy) == [other.value.as_str()]
        };
        let copies = self.recording.copies.iter().filter(is_vote).filter(|copy| copy.sent < step);
        let has = copies.clone().filter(|copy| {
            copy.src == seat || (copy.dst == seat && received(copy).is_some_and(|arrived| arrived <= step))
        });
        let has: NodeSet = has.map(|copy| copy.src.node).collect();
        let votes =
            copies.filter(|copy| copy.dst == seat && !has.contains(copy.src.node) && is_late(copy, step));
        let votes: Vec<&SentCopy> = votes.collect();
        let all = votes.iter().map(|copy| copy.src.node).chain(has.iter()).collect::<NodeSet>().len();
        let needed = ballot.voters.len().min(self.quorum());
        let (value, slot) = (other.value.clone(), other.slot);
        (has.len() < needed && all >= needed).then_some(Late { seat, step, votes, value, slot })
    }

    /// What was late, a line each.
    pub(super) fn lateness(&self) -> Vec<Line> {
        let late = self.too_late();
        let (mut lines, mut timers) = (Vec::new(), self.hasty_timers());
        for Late { seat, step, votes, .. } in &late {
            // The same votes may be late for a timer first.
            let same = |(who, _, _, copies): &HastyTimer<'_>| {
                who == seat && copies.iter().all(|copy| votes.contains(copy))
            };
            let timer = timers.iter().position(same).map(|place| timers.remove(place));
            let fired = timer
                .as_ref()
                .map(|(seat, timer, fired, _)| Claim::Fired(*seat, (*timer).to_owned(), *fired));
            let timer = timer.map_or_else(String::new, |(_, timer, fired, _)| {
                format!(" Its timer {timer} had fired meanwhile, at step {fired}.")
            });
            let mut claims = each(votes.iter().copied(), |copy| Claim::Late(copy, *step));
            claims.extend(fired);
            let votes = self.sent_at(votes);
            let text = format!("{votes} had not reached {seat} when it decided at step {step}.{timer}");
            lines.push(Line::new(text, claims));
        }
        lines.extend(timers.into_iter().map(|(seat, timer, step, copies)| {
            let mut claims = each(copies.iter().copied(), |copy| Claim::Late(copy, step));
            claims.push(Claim::Fired(seat, timer.to_owned(), step));
            let copies = self.sent_at(&copies);
            let text = format!(
                "The timer {timer} of {seat} fired at step {step}, when {copies} had not reached it."
            );
            Line::new(text, claims)
        }));
        lines
    }

    /// Why somebody did not decide what others did.
    pub(super) fn late_reasons(&self) -> Vec<Line> {
        let late = self.too_late();
        let words = late.iter().map(|Late { seat, step, votes, value, slot }| {
            let kind = votes[0].kind.to_uppercase();
            let senders: BTreeSet<SeatName> = votes.iter().map(|copy| copy.src).collect();
            let senders = and(senders);
            let within = self.within(*slot);
            Line::new(
                format!(
                    "{seat} had not yet decided {value} {within}: the {kind}s from {senders} that would have let it were \
                     late."
                ),
                each(votes.iter().copied(), |copy| Claim::Late(copy, *step)),
            )
        });
        words.collect()
    }

    /// What a replica lacks when it decides, in short.
    pub(super) fn lacks(&self, late: &Late<'_>) -> String {
        let senders = and(late.votes.iter().map(|copy| copy.src));
        format!("still lacks {} from {senders} (in flight)", self.names.short(&late.votes[0].text))
    }

    /// Timers of correct replicas that a script lets fire though messages are in flight to them, in which they give up a
    /// view.
    fn hasty_timers(&self) -> Vec<HastyTimer<'_>> {
        let scripted = self.scenario.scheduler.name == SchedulerName::Script;
        let safety = self.violation.as_ref().is_some_and(|v| v.property != Property::Termination);
        let events =
            self.recording.events.iter().filter(|event| scripted && safety && event.step <= self.last_step());
        let timers = events.filter_map(|event| {
            let What::Fire { seat, timer } = &event.what else { return None };
            let copies = self.recording.copies.iter();
            let gives_up =
                copies.clone().any(|copy| (copy.src, copy.sent) == (*seat, event.step) && copy.view_change);
            if !gives_up || self.is_byzantine(*seat) {
                return None;
            }
            let votes =
                copies.filter(|copy| copy.dst == *seat && copy.sent < event.step && copy.slot.is_some());
            let votes: Vec<&SentCopy> = votes.filter(|copy| is_late(copy, event.step)).collect();
            (!votes.is_empty()).then_some((*seat, timer.as_str(), event.step, votes))
        });
        timers.collect()
    }

    /// `COMMIT v=0 n=1 A from p3 (sent at step 11) and p0 (12)`.
    fn sent_at(&self, copies: &[&SentCopy]) -> String {
        let mut groups: Vec<(&str, Vec<&SentCopy>)> = Vec::new();
        for &copy in copies {
            match groups.iter_mut().find(|(text, _)| *text == copy.text) {
                Some((_, copies)) => copies.push(copy),
                None => groups.push((&copy.text, vec![copy])),
            }
        }
        let words = groups.iter().enumerate().map(|(i, (text, copies))| {
            let senders = copies.iter().enumerate().map(|(j, copy)| match i + j {
                0 => format!("{} (sent at step {})", copy.src, copy.sent),
                _ => format!("{} ({})", copy.src, copy.sent),
            });
            format!("{} from {}", self.names.short(text), and(senders))
        });
        and(words)
    }
}

/// Whether a message reached its receiver after a step or never, though it was not lost on its way.
fn is_late(copy: &SentCopy, step: u64) -> bool {
    match copy.arrival {
        Arrival::Lost { by: Loss::Down, step: end } => end > step,
        Arrival::Lost { .. } => false,
        _ => received(copy).is_none_or(|arrived| arrived > step),
    }
}
