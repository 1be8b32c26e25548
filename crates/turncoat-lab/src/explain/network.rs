//! What the network did: splits, losses, delays; and who stopped.

use turncoat_core::fault::{Effect, Fault, RoundSource};
use turncoat_core::ids::{SeatName, Slot};
use turncoat_core::record::{Arrival, Falsehood, Loss, SentCopy, What};

use super::blame::{Group, LINES, more};
use super::read::{Decision, Run, received};
use super::words::and;

impl Run {
    /// What the network did up to the violation, a line each.
    pub(super) fn network(&self) -> Vec<String> {
        let last = self.last_step();
        let mut lines = self.splits();
        let lost = self.groups(|copy| match copy.arrival {
            Arrival::Lost { step, by } => step <= last && by == Loss::Network,
            _ => false,
        });
        if !lines.is_empty() && lost.len() > LINES / 2 {
            let all: usize = lost.iter().map(Vec::len).sum();
            lines.push(format!("So {all} messages were lost, the first at step {}.", lost[0][0].sent));
        } else {
            lines.extend(lost.iter().take(LINES).map(|group| self.fared(group, "was lost")));
            lines.extend(more(&lost, "messages lost"));
        }
        let garbled = self.groups(|copy| copy.lie == Some(Falsehood::Garbage));
        lines.extend(garbled.iter().take(LINES).map(|group| self.fared(group, "was garbled on its way")));
        let held = self.groups(|copy| copy.held);
        lines.extend(held.iter().take(LINES).map(|group| self.fared(group, &until(group, last))));
        lines.extend(more(&held, "messages held back"));
        let late = self.late();
        if lines.is_empty() {
            let alone = self.scenario.adversary.byzantine.is_empty() && self.mishaps().is_empty();
            let order = if alone { ", and nobody lied: all that matters is the order of events" } else { "" };
            lines.push(format!("Nothing was lost, garbled or held back{order}."));
        }
        lines.extend(late);
        lines
    }

    /// Who was cut off from whom.
    fn splits(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for Fault { when, effect } in &self.scenario.adversary.faults {
            let round = when.round.map(|span| match span.first() == span.last() {
                true => format!("In round {} the network", span.first()),
                false => format!("In rounds {} to {} the network", span.first(), span.last()),
            });
            let round = round.unwrap_or_else(|| "The network".to_owned());
            lines.push(match effect {
                Effect::Partition(blocks) => {
                    let blocks: Vec<String> = blocks.iter().map(and).collect();
                    format!("{round} was split: {}.", blocks.join(" | "))
                }
                Effect::Isolate(nodes) => format!("{round} cut off {} from all others.", and(nodes)),
                _ => continue,
            });
        }
        if lines.iter().any(|line| line.starts_with("In round")) {
            let by_view =
                |fault: &Fault| matches!(fault.when.source, RoundSource::View | RoundSource::SenderView);
            let views = self.entry.phases == 0 || self.scenario.adversary.faults.iter().any(by_view);
            let round = if views { "view" } else { "phase of a slot; a view change is one more" };
            lines.push(format!("(A round is a {round}.)"));
        }
        lines
    }

    /// What was on its way to those who decided, and might have made them decide otherwise.
    fn late(&self) -> Vec<String> {
        let Some(violation) = &self.violation else { return Vec::new() };
        let decisions = self.decisions();
        let concerned = decisions.iter().filter(|d| {
            let of_slot = Some(d.slot) == violation.slot && d.step <= violation.step;
            of_slot && violation.nodes.contains(&d.seat.node) && self.is_correct(d.seat)
        });
        let lines = concerned.filter_map(|decision| match violation.rule {
            "order" => self.under_way(decision, self.left_out(decision), |_| true),
            _ => self.under_way(
                decision,
                decision.slot,
                |named| matches!(named, [other] if *other != decision.value),
            ),
        });
        lines.collect()
    }

    /// Messages about a slot that were sent to a replica before it decided, and reached it later or never.
    fn under_way(&self, decision: &Decision, slot: Slot, wanted: impl Fn(&[&str]) -> bool) -> Option<String> {
        let Decision { seat, step, .. } = decision;
        let late = |copy: &SentCopy| match copy.arrival {
            Arrival::Lost { .. } => false,
            _ => received(copy).is_none_or(|arrived| arrived > *step),
        };
        let votes = self.recording.copies.iter().filter(|copy| {
            let about = copy.slot == Some(slot) && copy.round.is_some() && wanted(&self.named(copy));
            copy.dst == *seat && copy.sent < *step && about && late(copy)
        });
        let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
        for copy in votes {
            let sender = format!("{} (sent at step {})", copy.src, copy.sent);
            match groups.iter_mut().find(|(text, _)| *text == copy.text) {
                Some((_, senders)) => senders.push(sender),
                None => groups.push((&copy.text, vec![sender])),
            }
        }
        let words =
            groups.iter().map(|(text, senders)| format!("{} of {}", self.names.short(text), and(senders)));
        let words: Vec<String> = words.collect();
        (!words.is_empty()).then(|| {
            format!("Still on the way to {seat} when it decided, at step {step}: {}.", words.join("; "))
        })
    }

    /// Nodes that stop, go on, or lose their time, unless they crash of what they received.
    pub(super) fn mishaps(&self) -> Vec<String> {
        let mut notes: Vec<(SeatName, &str, u64, usize)> = Vec::new();
        for event in self.recording.events.iter().filter(|event| event.step <= self.last_step()) {
            let What::Note { seat: Some(seat), text } = &event.what else { continue };
            let stops = text == "stops" && !self.crashes(*seat, event.step);
            if !stops && !text.starts_with("restarts") && !text.starts_with("its clock") {
                continue;
            }
            match notes.iter_mut().find(|(who, what, ..)| (*who, *what) == (*seat, text.as_str())) {
                Some((.., times)) => *times += 1,
                None => notes.push((*seat, text, event.step, 1)),
            }
        }
        let line = |(seat, text, step, times): &(SeatName, &str, u64, usize)| {
            let deed = match text.strip_prefix("its ") {
                Some(clock) => format!("{seat}'s {clock}"),
                None => format!("{seat} {text}"),
            };
            let often = if *times > 1 { format!(", and {times} times in all") } else { String::new() };
            format!("Step {step}{often}: {deed}.")
        };
        notes.iter().map(line).collect()
    }

    /// Whether somebody crashes in an event.
    pub(super) fn crashes(&self, node: SeatName, step: u64) -> bool {
        self.recording.events.iter().any(|event| match &event.what {
            What::Note { seat, text } => {
                event.step == step && *seat == Some(node) && text.starts_with("crashed")
            }
            _ => false,
        })
    }
}

/// How long messages were held back.
fn until(group: &Group<'_>, last: u64) -> String {
    match group.iter().filter_map(|copy| received(copy)).filter(|step| *step <= last).max() {
        Some(step) => format!("was held back until step {step}"),
        None => "was held back".to_owned(),
    }
}
