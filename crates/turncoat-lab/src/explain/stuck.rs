//! Why a run does not go on: what everybody waits for at the end.

use turncoat_core::ids::{NodeSet, SeatName, Slot};
use turncoat_core::node::{About, Waiting};
use turncoat_core::outcome::End;
use turncoat_core::record::{Arrival, Loss, SentCopy, Standing, What};

use super::claim::{Claim, Line};
use super::read::{Lap, Run};
use crate::words::{and, count};

/// As many requests as are named.
const FEW: usize = 4;

impl Run {
    /// When things stopped moving, and in what way they still do.
    pub(super) fn standstill(&self) -> Vec<Line> {
        let mut lines: Vec<Line> = Vec::new();
        let events = &self.recording.events;
        let calm = events
            .iter()
            .find(|event| matches!(&event.what, What::Note { seat: None, text } if text.contains("calm")));
        if let Some(calm) = calm {
            let text = format!(
                "From step {} on the network is calm: messages of correct nodes arrive within the bound that the network promises.",
                calm.step
            );
            lines.push(text.into());
        }
        let decided = self.decisions().into_iter().rfind(|d| self.is_correct(d.seat));
        let since = decided.as_ref().map_or(0, |last| last.step);
        lines.push(match &decided {
            Some(last) => Line::new(
                format!("The last decision of a correct replica was {}'s at step {}.", last.seat, last.step),
                vec![Claim::LastDecision(last.seat, last.step)],
            ),
            None => Line::new("No correct replica decided anything.", vec![Claim::NoDecision]),
        });
        let steps = self.outcome.steps;
        if self.outcome.end == End::Quiet {
            let text = format!(
                "After step {steps} nothing was left to happen: no message in flight, no timer armed."
            );
            lines.push(text.into());
            return lines;
        }
        let news = self.last_news();
        if news < steps / 2 {
            let text = format!(
                "After step {news} nobody said anything new: the same messages came again until step {steps}."
            );
            lines.push(text.into());
        } else if let Some((first, last)) = self.views_after(since).filter(|(first, last)| first < last) {
            let (first, last) = (self.view(first), self.view(last));
            let text = format!("Since then replicas went from {first} to {last} without deciding anything.");
            lines.push(text.into());
        }
        lines.extend(self.loops());
        lines
    }

    /// The part of the run that repeats forever, where that is proved.
    pub(super) fn loops(&self) -> Option<Line> {
        let Lap { from, to, views } = self.lap?;
        let later = match views {
            0 => String::new(),
            views => format!(", {} later each time", count(views as usize, "view", "views")),
        };
        let text = format!(
            "The run is in a loop: the state after step {to} is that after step {from}{later}, and nothing is decided in \
             between. So nothing ever will be."
        );
        Some(Line::new(text, vec![Claim::Loop(from, to)]))
    }

    /// The last event in which somebody sent what nobody had sent before.
    fn last_news(&self) -> u64 {
        let mut said = std::collections::BTreeSet::new();
        let new =
            self.recording.copies.iter().filter(|copy| said.insert((copy.src, copy.dst, copy.text.as_str())));
        new.map(|copy| copy.sent).max().unwrap_or_default()
    }

    /// What everybody waits for, a line each; those who fare alike together.
    pub(super) fn waiting(&self) -> Vec<Line> {
        let mut lines: Vec<(String, Vec<&Standing>)> = Vec::new();
        let taking_part = |standing: &&Standing| !standing.seat.node.is_client() || self.has_clients();
        let mut standings: Vec<&Standing> = self.recording.standings.iter().filter(taking_part).collect();
        standings.sort_by_key(|standing| !standing.seat.node.is_client());
        for standing in standings {
            let words = self.stands(standing);
            match lines.iter_mut().find(|(known, _)| *known == words) {
                Some((_, standings)) => standings.push(standing),
                None => lines.push((words, vec![standing])),
            }
        }
        let line = |(words, standings): &(String, Vec<&Standing>)| {
            let text = format!("{}: {words}.", and(standings.iter().map(|standing| standing.seat)));
            Line::new(text, standings.iter().flat_map(|standing| Self::standing(standing)).collect())
        };
        let mut lines: Vec<Line> = lines.iter().map(line).collect();
        lines.extend(self.laggards());
        lines
    }

    /// What is said of somebody at the end.
    fn standing(standing: &Standing) -> Vec<Claim> {
        let Standing { seat, vitals, alive, .. } = standing;
        let mut claims = Vec::new();
        if *alive {
            claims.extend(vitals.waiting.iter().map(|waiting| Claim::Waits(*seat, *waiting)));
            claims.extend((!seat.node.is_client()).then_some(Claim::InView(*seat, vitals.view)));
            claims.extend(vitals.locked.map(|locked| Claim::Locked(*seat, locked)));
        }
        claims
    }

    /// What those heard about their next slot who lag behind others.
    fn laggards(&self) -> Vec<Line> {
        let correct =
            self.recording.standings.iter().filter(|s| s.correct && s.alive && !s.seat.node.is_client());
        let last = correct.clone().map(|standing| standing.vitals.decided).max();
        let behind = correct.filter(|standing| Some(standing.vitals.decided) < last);
        let line = |Standing { seat, vitals, .. }: &Standing| {
            let next = vitals.decided.next();
            let heard = self.heard(*seat, Some(next), self.last_step());
            let more = if heard.len() > 2 { "; and more in later views" } else { "" };
            let heard = match heard.is_empty() {
                true => Line::from("nothing".to_owned()),
                false => Line::joined(heard.into_iter().take(2), "; "),
            };
            let (lost, claims) = match self.never_got(*seat, next) {
                Some(lost) => (format!(" {}", lost.text), lost.claims),
                None => (String::new(), Vec::new()),
            };
            let mut line = heard.map(|heard| {
                format!("- {seat} lags behind.{lost} About {} it heard {heard}{more}.", self.slot(next))
            });
            line.claims.extend(claims);
            line
        };
        behind.map(line).collect()
    }

    /// The first message about a slot that somebody never got, and why.
    fn never_got(&self, seat: SeatName, slot: Slot) -> Option<Line> {
        let about = |copy: &&SentCopy| copy.dst == seat && copy.slot == Some(slot) && copy.round.is_some();
        let mut copies = self.recording.copies.iter().filter(about);
        let (copy, how) = copies.find_map(|copy| match copy.arrival {
            Arrival::Lost { by: Loss::Withheld, .. } => Some((copy, "withheld")),
            Arrival::Lost { by: Loss::Network, .. } => Some((copy, "lost")),
            _ => None,
        })?;
        let again = |other: &&SentCopy| other.text == copy.text && other.src == copy.src;
        let came = self.recording.copies.iter().filter(about).filter(again);
        came.clone().all(|other| matches!(other.arrival, Arrival::Lost { .. })).then(|| {
            let lost = Box::new(copy.clone());
            let claim = if how == "lost" { Claim::Lost(lost) } else { Claim::Withheld(lost) };
            let text =
                format!("It never got {} from {}, which was {how}.", self.names.short(&copy.text), copy.src);
            Line::new(text, vec![claim])
        })
    }

    /// Those who lag behind others because a message never reached them, in a sentence each.
    pub(super) fn laggards_in_short(&self) -> Vec<Line> {
        let correct =
            || self.recording.standings.iter().filter(|s| s.correct && s.alive && !s.seat.node.is_client());
        let last = correct().map(|standing| standing.vitals.decided).max();
        let behind = correct().filter(|standing| Some(standing.vitals.decided) < last);
        let words = behind.filter_map(|Standing { seat, vitals, .. }| {
            let next = vitals.decided.next();
            let lost = self.never_got(*seat, next)?;
            let slot = self.slot(next);
            Some(lost.map(|lost| format!("{seat} has not decided {slot}: {}", lost.replacen("It", "it", 1))))
        });
        words.collect()
    }

    /// What clients wait for in the end; without clients, what replicas do.
    pub(super) fn clients_in_short(&self) -> Vec<Line> {
        let waiting = |clients: bool| {
            let mut lines: Vec<(String, Vec<SeatName>, Vec<Claim>)> = Vec::new();
            let standings = self.recording.standings.iter();
            for standing in standings.filter(|s| s.correct && s.alive && s.seat.node.is_client() == clients) {
                for waiting in &standing.vitals.waiting {
                    let words = self.waits(standing.seat, waiting);
                    let claim = Claim::Waits(standing.seat, *waiting);
                    match lines.iter_mut().find(|(known, ..)| *known == words) {
                        Some((_, seats, claims)) => {
                            seats.push(standing.seat);
                            claims.push(claim);
                        }
                        None => lines.push((words, vec![standing.seat], vec![claim])),
                    }
                }
            }
            let line = |(words, seats, claims): (String, Vec<SeatName>, Vec<Claim>)| {
                let waits = if seats.len() == 1 { "is" } else { "are" };
                Line::new(format!("At the end {} {waits} waiting for {words}.", and(&seats)), claims)
            };
            lines.into_iter().map(line).collect::<Vec<_>>()
        };
        let clients = waiting(true);
        if clients.is_empty() { waiting(false) } else { clients }
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
            words.push(match vitals.changing_view {
                true => format!("has given up {}", self.view(vitals.view)),
                false => self.during(vitals.view),
            });
            // Not every replica says how far it is.
            let slots = self.decisions().iter().filter(|d| d.seat == *seat).count();
            words.push(match vitals.decided.0 {
                0 if slots == 0 => "nothing decided".to_owned(),
                0 => count(slots, "slot decided", "slots decided"),
                _ => format!("decided up to {}", self.slot(vitals.decided)),
            });
            words.extend(vitals.locked.map(|locked| format!("locked on {}", self.names.value(locked))));
        }
        let waiting =
            vitals.waiting.iter().map(|waiting| format!("waiting for {}", self.waits(*seat, waiting)));
        words.extend(waiting);
        if vitals.waiting.is_empty() {
            words.push("waiting for no message".to_owned());
        }
        if !timers.is_empty() {
            words.push(format!("armed timers: {}", and(timers.iter().map(|(timer, _)| timer))));
        }
        words.join("; ")
    }

    /// `3 REPLYs about request 1 (has 2, from p1 and p2)`.
    fn waits(&self, seat: SeatName, waiting: &Waiting) -> String {
        let Waiting { kind, about, have, need } = *waiting;
        let kinds = format!("{}{}", kind.to_uppercase(), if need == 1 { "" } else { "s" });
        let about_words = match about {
            About::Slot(slot) => self.slot(slot),
            About::View(view) => self.view(view),
            About::Request(_) => about.to_string(),
        };
        let needs = format!("{need} {kinds} about {about_words}");
        let has = match have.len() {
            0 => "has none".to_owned(),
            got => format!("has {got}, from {}", and(have.iter())),
        };
        format!("{needs} ({has}{})", self.missing(seat, kind, about, have))
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
        for (loss, what) in [(Loss::Withheld, "withheld"), (Loss::Network, "lost")] {
            let senders = by(loss);
            if senders != "nobody" {
                let was = if senders.contains(" and ") { "those of {} were" } else { "that of {} was" };
                words.push_str(&format!("; {} {what}", was.replace("{}", &senders)));
            }
        }
        words
    }

    /// How many requests clients did not get to.
    pub(super) fn unasked(&self) -> String {
        let unasked = if self.has_clients() { self.scenario.workload.requests as usize } else { 0 };
        match unasked.saturating_sub(self.recording.requests.len()) {
            0 => String::new(),
            unasked => format!("; {} never sent", count(unasked, "request was", "requests were")),
        }
    }

    /// Whether clients take part.
    pub(super) fn has_clients(&self) -> bool {
        let mut copies = self.recording.copies.iter();
        copies.any(|copy| copy.src.node.is_client() || copy.dst.node.is_client())
    }

    /// Requests of clients without a result.
    pub(super) fn unanswered(&self) -> Option<Line> {
        self.has_clients().then(|| self.open_requests().into())
    }

    fn open_requests(&self) -> String {
        let done = |client, number| {
            self.recording.events.iter().any(|event| {
                matches!(event.what, What::Complete { seat, ts } if seat.node == client && ts == number)
            })
        };
        let requests = self.recording.requests.iter().filter(|request| request.client.is_client());
        let open = requests.filter(|request| !done(request.client, request.ts));
        let left = open.clone().count().saturating_sub(FEW);
        let open: Vec<String> = open
            .take(FEW)
            .map(|request| format!("{} ({})", self.names.request(request), request.name()))
            .collect();
        let later = self.unasked();
        match open.len() {
            0 => format!("No request is unanswered{later}."),
            _ if left > 0 => format!("Requests without a result: {}; {left} more{later}.", and(open)),
            _ => format!("Requests without a result: {}{later}.", and(open)),
        }
    }
}
