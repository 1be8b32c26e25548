//! Why a run does not go on: what everybody waits for at the end.

use turncoat_core::ids::{NodeSet, SeatName};
use turncoat_core::node::{About, Waiting};
use turncoat_core::outcome::End;
use turncoat_core::record::{Arrival, Loss, SentCopy, Standing, What};

use super::read::Run;
use super::words::{and, count};

impl Run {
    /// When things stopped moving, and in what way they still do.
    pub(super) fn standstill(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let events = &self.recording.events;
        let calm = events
            .iter()
            .find(|event| matches!(&event.what, What::Note { seat: None, text } if text.contains("calm")));
        if let Some(calm) = calm {
            lines.push(format!("From step {} on the network lost and delayed nothing any more.", calm.step));
        }
        let decided = self.decisions().into_iter().filter(|d| self.is_correct(d.seat)).next_back();
        let since = decided.as_ref().map_or(0, |last| last.step);
        lines.push(match &decided {
            Some(last) => {
                format!("The last decision of a correct replica was {}'s at step {}.", last.seat, last.step)
            }
            None => "No correct replica decided anything.".to_owned(),
        });
        let steps = self.outcome.steps;
        if self.outcome.end == End::Quiet {
            lines.push(format!(
                "After step {steps} nothing was left to happen: no message under way, no timer armed."
            ));
            return lines;
        }
        let news = self.last_news();
        if news < steps / 2 {
            lines.push(format!(
                "After step {news} nobody said anything new: the same messages came again until step {steps}."
            ));
        } else if let Some((first, last)) = self.views_after(since).filter(|(first, last)| first < last) {
            lines.push(format!(
                "Since then replicas went from view {first} to view {last}, and decided nothing."
            ));
        }
        lines
    }

    /// The last event in which somebody sent what nobody had sent before.
    fn last_news(&self) -> u64 {
        let mut said = std::collections::BTreeSet::new();
        let new =
            self.recording.copies.iter().filter(|copy| said.insert((copy.src, copy.dst, copy.text.as_str())));
        new.map(|copy| copy.sent).max().unwrap_or_default()
    }

    /// What everybody waits for, a line each; those who fare alike together.
    pub(super) fn waiting(&self) -> Vec<String> {
        let mut lines: Vec<(String, Vec<SeatName>)> = Vec::new();
        for standing in &self.recording.standings {
            let words = self.stands(standing);
            match lines.iter_mut().find(|(known, _)| *known == words) {
                Some((_, seats)) => seats.push(standing.seat),
                None => lines.push((words, vec![standing.seat])),
            }
        }
        lines.iter().map(|(words, seats)| format!("{}: {words}.", and(seats))).collect()
    }

    fn stands(&self, standing: &Standing) -> String {
        let Standing { seat, vitals, timers, alive, .. } = standing;
        if !alive {
            return "stopped".to_owned();
        }
        let mut words = Vec::new();
        if self.is_byzantine(*seat) {
            words.push("Byzantine".to_owned());
        }
        if !seat.node.is_client() {
            let between = if vitals.changing_view { ", which it has given up" } else { "" };
            words.push(format!("in view {}{between}", vitals.view));
            words.push(match vitals.decided.0 {
                0 => "nothing decided".to_owned(),
                last => format!("decided up to slot {last}"),
            });
        }
        words.extend(vitals.waiting.iter().map(|waiting| self.waits(*seat, waiting)));
        if vitals.waiting.is_empty() {
            words.push("waits for nothing".to_owned());
        }
        if !timers.is_empty() {
            words.push(format!("armed: {}", and(timers.iter().map(|(timer, _)| timer))));
        }
        words.join("; ")
    }

    /// `waits for 3 REPLYs about request 1 and has 2, of p1 and p2; p0 withheld its own`.
    fn waits(&self, seat: SeatName, waiting: &Waiting) -> String {
        let Waiting { kind, about, have, need } = *waiting;
        let kinds = format!("{}{}", kind.to_uppercase(), if need == 1 { "" } else { "s" });
        let needs = format!("waits for {need} {kinds} about {about}");
        let has = match have.len() {
            0 => " and has none".to_owned(),
            got => format!(" and has {got}, of {}", and(have.iter())),
        };
        format!("{needs}{has}{}", self.missing(seat, kind, about, have))
    }

    /// What became of the messages that somebody waits for.
    fn missing(&self, seat: SeatName, kind: &str, about: About, have: NodeSet) -> String {
        let wanted = |copy: &&SentCopy| {
            let same = match about {
                About::Slot(slot) => copy.slot == Some(slot),
                About::View(view) => copy.round.is_some_and(|key| key.view == view),
                About::Request(_) => true,
            };
            copy.dst == seat && copy.kind == kind && same && !have.contains(copy.src.node)
        };
        let copies: Vec<&SentCopy> = self.recording.copies.iter().filter(wanted).collect();
        let by = |loss: Loss| {
            let lost =
                copies.iter().filter(|copy| matches!(copy.arrival, Arrival::Lost { by, .. } if by == loss));
            and(lost.map(|copy| copy.src))
        };
        let mut words = String::new();
        for (loss, what) in [(Loss::Withheld, "was withheld"), (Loss::Network, "was lost")] {
            let senders = by(loss);
            if senders != "nobody" {
                words.push_str(&format!(" (that of {senders} {what})"));
            }
        }
        words
    }

    /// Requests without a result.
    pub(super) fn unanswered(&self) -> String {
        let done = |client, number| {
            self.recording.events.iter().any(|event| {
                matches!(event.what, What::Complete { seat, ts } if seat.node == client && ts == number)
            })
        };
        let open = self.recording.requests.iter().filter(|request| !done(request.client, request.ts));
        let open: Vec<String> = open
            .map(|request| {
                format!("{} (request {} of {})", self.names.request(request), request.ts, request.client)
            })
            .collect();
        let unasked = self.scenario.workload.requests as usize;
        let unasked = unasked.saturating_sub(self.recording.requests.len());
        let later = if unasked > 0 {
            format!("; {} never sent", count(unasked, "request was", "requests were"))
        } else {
            String::new()
        };
        match open.len() {
            0 => format!("No request is unanswered{later}."),
            _ => format!("Without a result: {}{later}.", and(open)),
        }
    }
}
