//! What the network did: splits, losses, delays; and who stopped.

use turncoat_core::fault::{Effect, Fault, RoundSource, Span, WhenVitals, Whose};
use turncoat_core::ids::SeatName;
use turncoat_core::record::{Arrival, Falsehood, Loss, What};

use super::blame::{Group, LINES, more};
use super::claim::{Claim, Line, each};
use super::read::{Run, received};
use crate::words::{and, count};

impl Run {
    /// What the network did up to the violation, a line each.
    pub(super) fn network(&self) -> Vec<Line> {
        let last = self.last_step();
        let mut lines: Vec<Line> = self.splits().into_iter().map(Line::from).collect();
        let lost = self.groups(|copy| match copy.arrival {
            Arrival::Lost { step, by } => step <= last && by == Loss::Network,
            _ => false,
        });
        if !lines.is_empty() && lost.len() > LINES / 2 {
            let all: usize = lost.iter().map(Vec::len).sum();
            let of = and(lost.iter().flatten().map(|copy| copy.src));
            let text =
                format!("{all} messages from {of} were lost, the first sent at step {}.", lost[0][0].sent);
            lines.push(Line::new(text, each(lost.iter().flatten().copied(), Claim::Lost)));
        } else {
            lines.extend(lost.iter().take(LINES).map(|group| self.fared(group, "was lost", Claim::Lost)));
            lines.extend(more(&lost, "lost message", "lost messages").map(Line::from));
        }
        let garbled = self.groups(|copy| copy.lie == Some(Falsehood::Garbage));
        let garble = |group: &Group<'_>| self.fared(group, "was garbled in transit", Claim::Delayed);
        lines.extend(garbled.iter().take(LINES).map(garble));
        let held = self.groups(|copy| copy.held);
        let hold = |group: &Group<'_>| self.fared(group, &until(group, last), Claim::Delayed);
        lines.extend(held.iter().take(LINES).map(hold));
        lines.extend(more(&held, "message held back", "messages held back").map(Line::from));
        let late = self.lateness();
        let conditions = self.conditions();
        if lines.is_empty() {
            let alone = self.scenario.adversary.byzantine.is_empty() && self.mishaps().is_empty();
            lines.push(
                match (late.is_empty(), alone) {
                    (true, true) => {
                        "Nothing was lost, garbled or held back, and nobody lied. Only the order of events matters."
                    }
                    (true, false) => "Nothing was lost, garbled or held back.",
                    (false, _) => "Nothing was lost or garbled, but messages were late:",
                }
                .to_owned()
                .into(),
            );
        }
        lines.extend(late.into_iter().map(|line| line.map(|line| format!("- {line}"))));
        lines.extend(conditions.into_iter().map(Line::from));
        lines
    }

    /// Which messages faults met, where that depends on what the messages say or what nodes know.
    fn conditions(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for Fault { when, effect } in &self.scenario.adversary.faults {
            let says = when.field.iter().map(|(name, &span)| format!("{name} is {}", number(span)));
            let says = says.reduce(|all, next| format!("{all} and {next}"));
            let says = says.map(|says| format!("only messages whose {says}"));
            let known = when.vitals.iter().map(condition).reduce(|all, next| format!("{all} and {next}"));
            let known = known.map(|known| format!("only while {known}"));
            let both: Vec<String> = [says, known].into_iter().flatten().collect();
            if !both.is_empty() {
                lines.push(format!("A fault (`{}`) met {}.", effect.name(), both.join(", and ")));
            }
        }
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
                Effect::Delay(ticks) => {
                    let who =
                        |list: &[SeatName]| if list.is_empty() { "anybody".to_owned() } else { and(list) };
                    let kinds = if when.kind.0.is_empty() {
                        "messages".to_owned()
                    } else {
                        and(when.kind.0.iter().map(|kind| format!("{}s", kind.to_uppercase())))
                    };
                    let (from, to) = (who(&when.from), who(&when.to));
                    format!(
                        "{round} delayed {kinds} from {from} to {to} by {}.",
                        count(ticks.0 as usize, "tick", "ticks")
                    )
                }
                _ => continue,
            });
        }
        if lines.iter().any(|line| line.starts_with("In round")) {
            let by_view =
                |fault: &Fault| matches!(fault.when.source, RoundSource::View | RoundSource::SenderView);
            let views = self.entry.phases == 0 || self.scenario.adversary.faults.iter().any(by_view);
            let by_slot = |fault: &Fault| fault.when.source == RoundSource::Slot;
            let slots = self.scenario.adversary.faults.iter().any(by_slot);
            let rounds = match (slots, views) {
                (true, _) => "(A round is a slot, by the number that the message names.)",
                (false, true) => "(A round is a view.)",
                (false, false) => {
                    "(A round is a phase of a slot. A node's round counter grows with each phase that it reaches, and by one \
                     with each new view.)"
                }
            };
            lines.push(rounds.to_owned());
        }
        lines
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

/// The numbers of a span.
fn number(span: Span) -> String {
    let step = if span.step() > 1 { format!(" by steps of {}", span.step()) } else { String::new() };
    match (span.first(), span.last()) {
        (first, last) if first == last => first.to_string(),
        (first, _) if span.endless() => format!("{first} or more{step}"),
        (first, last) => format!("{first} to {last}{step}"),
    }
}

/// What a node has to know or wait for, in words.
fn condition(vitals: &WhenVitals) -> String {
    let WhenVitals { of, view, decided, changing_view, prepared, locked, waiting } = vitals;
    let who = match of {
        Whose::Sender => "the sender".to_owned(),
        Whose::Receiver => "the receiver".to_owned(),
        Whose::Node(node) => node.to_string(),
    };
    let is = |wanted: &Option<bool>, yes: &str, no: &str| {
        wanted.map(|wanted| if wanted { yes } else { no }.to_owned())
    };
    let kinds = and(waiting.0.iter().map(|kind| format!("{}s", kind.to_uppercase())));
    let facts = [
        view.map(|span| format!("was in view {}", number(span))),
        decided.map(|span| format!("had last decided {}", number(span))),
        is(changing_view, "was changing its view", "was in a view"),
        is(prepared, "had prepared a value", "had prepared nothing"),
        is(locked, "was locked", "was not locked"),
        (!waiting.is_empty()).then(|| format!("waited for {kinds}")),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    if facts.is_empty() { format!("{who} was there") } else { format!("{who} {}", and(facts)) }
}
