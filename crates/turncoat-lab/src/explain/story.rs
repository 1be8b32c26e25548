//! The story: sections of sentences, in the order in which a reader asks.

use serde::Serialize;
use turncoat_core::ids::{NodeId, NodeSet, SeatName, Slot};
use turncoat_core::outcome::{Property, Violation};
use turncoat_core::part::Letter;
use turncoat_core::record::{Standing, What};

use super::chart::Chart;
use super::claim::{Claim, Line};
use super::deviations::Deviations;
use super::read::Run;
use super::values::stands_in;
use crate::words::{and, wrapped};

/// The most columns of a line.
pub(super) const WIDTH: usize = 100;

/// A part of a story.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Section {
    /// What it is about.
    pub title: String,
    /// Its paragraphs.
    pub lines: Vec<String>,
}

/// A part of a story, with what it claims.
#[derive(Clone, Debug)]
pub(super) struct Part {
    title: String,
    pub(super) lines: Vec<Line>,
}

impl Part {
    fn new(title: &str, lines: Vec<Line>) -> Self {
        Self { title: title.to_owned(), lines }
    }
}

impl From<Part> for Section {
    fn from(part: Part) -> Self {
        Self { title: part.title, lines: part.lines.into_iter().map(|line| line.text).collect() }
    }
}

impl Section {
    /// For the terminal.
    pub(super) fn print(&self, width: usize) -> String {
        let lines = self.lines.iter().flat_map(|line| {
            let (lead, rest) = match line.strip_prefix("- ") {
                Some(rest) => ("  - ", rest),
                None => ("  ", line.as_str()),
            };
            let indent = " ".repeat(lead.len().max(4));
            let lines = wrapped(rest, width - indent.len());
            lines.into_iter().enumerate().map(move |(i, line)| match i {
                0 => format!("{lead}{line}\n"),
                _ => format!("{indent}{line}\n"),
            })
        });
        format!("{}\n{}", self.title, lines.collect::<String>())
    }
}

impl Run {
    /// What was violated, in a line.
    pub(super) fn violated(&self) -> String {
        match &self.violation {
            Some(violation) => {
                let Violation { property, step, .. } = violation;
                let detail = self.detail(violation);
                match property {
                    Property::Crashed => {
                        format!(
                            "at step {step} {}",
                            detail.replacen(" crashed", ", a correct node, crashed", 1)
                        )
                    }
                    Property::Custom => {
                        format!("an invariant of the protocol is violated at step {step}: {detail}")
                    }
                    _ => format!("{property} is violated at step {step}: {detail}"),
                }
            }
            None => "nothing was violated".to_owned(),
        }
    }

    /// What is wrong, with the names of values, and all that somebody decided in the slot.
    pub(super) fn detail(&self, violation: &Violation) -> String {
        let decisions = self.decisions();
        let in_slot = |node: NodeId| -> Vec<&str> {
            let own = decisions.iter().filter(|d| d.seat.node == node && d.step <= violation.step);
            own.filter(|d| Some(d.slot) == violation.slot).map(|d| d.value.as_str()).collect()
        };
        match (violation.property, violation.slot, violation.nodes.as_slice()) {
            (Property::Agreement, Some(_), &[one, two]) if in_slot(one).len() + in_slot(two).len() > 2 => {
                let values = self.names.rename(&violation.detail);
                let before = |node| {
                    let values = in_slot(node);
                    let steps =
                        decisions.iter().filter(|d| d.seat.node == node && Some(d.slot) == violation.slot);
                    let steps: Vec<String> = steps
                        .filter(|d| d.step <= violation.step)
                        .map(|d| format!("{} (step {})", d.value, d.step))
                        .collect();
                    (values.len() > 1).then(|| format!("; {node} decided {}", steps.join(", then ")))
                };
                format!("{values}{}{}", before(one).unwrap_or_default(), before(two).unwrap_or_default())
            }
            (Property::Validity, Some(_), &[node]) => {
                let detail = self.names.rename(&violation.detail);
                match (
                    in_slot(node).pop(),
                    detail.split_once('`').and_then(|(lead, rest)| Some((lead, rest.split_once('`')?))),
                ) {
                    (Some(value), Some((lead, (op, rest)))) => format!("{lead}{value} (`{op}`){rest}"),
                    _ => detail,
                }
            }
            _ => self.names.rename(&violation.detail),
        }
    }

    /// The whole story.
    pub(super) fn parts(
        &self,
        deviations: &Deviations,
        known: Option<&(String, String)>,
        chart: &Chart,
    ) -> Vec<Part> {
        let mut parts = vec![
            Part::new("In short", self.in_brief(deviations, known)),
            Part::new("The setting", self.setting(deviations)),
            Part::new(if self.lied_at_all() { "Who lied" } else { "Who is Byzantine" }, self.liars()),
            Part::new("Stops and clocks", self.mishaps().into_iter().map(Line::from).collect()),
            Part::new("The network", self.network()),
            Part::new("What the replicas saw", self.saw()),
        ];
        parts.extend(self.reason());
        parts.retain(|part| !part.lines.is_empty());
        let said: String =
            parts.iter().flat_map(|part| &part.lines).map(|line| format!("{}\n", line.text)).collect();
        let notation = self.notation(&said, chart).into_iter().map(Line::from).collect();
        parts.insert(1, Part::new("How to read this", notation));
        parts
    }

    /// What came of it and why, who lied to whom, and what is wrong with the protocol: a sentence or two each.
    pub(super) fn in_brief(&self, deviations: &Deviations, known: Option<&(String, String)>) -> Vec<Line> {
        let mut lines: Vec<Line> = Vec::new();
        match self.violation.as_ref().map(|violation| violation.property) {
            Some(Property::Agreement) => {
                lines.extend(self.conflicting().map(|(one, two)| self.in_short(&one, &two)));
            }
            Some(Property::Termination) => {
                let loops = self.loops();
                // Where a run goes in a circle, somebody waits for something new at each step.
                let waits = if loops.is_some() { Vec::new() } else { self.clients_in_short() };
                let why: Vec<Line> = loops.into_iter().chain(waits).chain(self.laggards_in_short()).collect();
                lines.extend((!why.is_empty()).then(|| Line::joined(why, " ")));
            }
            Some(_) => {
                let late = self.late_reasons();
                lines.extend((!late.is_empty()).then(|| Line::joined(late, " ")));
            }
            None => lines.push("Nothing was violated.".to_owned().into()),
        }
        let liars = self.liars_in_short();
        match liars.is_empty() {
            true => lines.push("Nobody is Byzantine.".to_owned().into()),
            false => lines.push(Line::joined(liars, " ")),
        }
        lines.extend(self.lists());
        lines.extend(deviations.flaw().map(Line::from));
        lines.extend(known.map(|(bug, title)| Line::from(format!("Matches known bug {bug}: {title}."))));
        lines
    }

    /// Who trusts whom, where not all trust all.
    fn lists(&self) -> Option<Line> {
        if !self.has_lists() {
            return None;
        }
        let mut lists: Vec<(NodeSet, Vec<NodeId>)> = Vec::new();
        let trust = self.cluster().trust;
        for (i, list) in trust.iter().enumerate() {
            match lists.iter_mut().find(|(known, _)| known == list) {
                Some((_, nodes)) => nodes.push(NodeId::replica(i)),
                None => lists.push((*list, vec![NodeId::replica(i)])),
            }
        }
        let words = lists.iter().map(|(list, nodes)| {
            format!("{} trust{} {}", and(nodes), if nodes.len() == 1 { "s" } else { "" }, and(list.iter()))
        });
        let text = format!("Trust lists: {}.", words.collect::<Vec<_>>().join("; "));
        let claims = trust.iter().enumerate().map(|(i, list)| Claim::Trusts(NodeId::replica(i), *list));
        Some(Line::new(text, claims.collect()))
    }

    fn notation(&self, said: &str, chart: &Chart) -> Vec<String> {
        let cluster = self.cluster();
        let clients = match cluster.clients {
            _ if !self.has_clients() => String::new(),
            0 => String::new(),
            1 => "; c0 is the client".to_owned(),
            2 => "; c0 and c1 are the clients".to_owned(),
            n => format!("; c0 to c{} are the clients", n - 1),
        };
        let legend = self.names.legend_of(&format!("{said}{}", self.violated()));
        let lies = match self.lied_at_all() {
            true => " A lie has the step in which it was sent; the chart shows messages where they arrive.",
            false => "",
        };
        let mut lines = vec![format!(
            "p0 to p{} are the replicas{clients}. A step is one event: a message is delivered, or a timer fires.{lies} A {} is \
             a place in the log; a replica decides it when it executes a value there, which it should do once and for \
             all.{}",
            cluster.n - 1,
            self.entry.slot,
            match (legend.is_empty(), legend.iter().any(|line| line.contains("(digest "))) {
                (true, _) => "",
                (_, true) => " A value's name stands for the request, and for its digest:",
                (_, false) => " Values have short names:",
            }
        )];
        lines.extend(legend.into_iter().map(|line| format!("- {line}")));
        lines.extend(self.blocks(said).into_iter().map(|line| format!("- {line}")));
        let labels: String = chart.arrows.iter().map(|arrow| format!("{}\n", arrow.label)).collect();
        let mut letters: Vec<Letter> = Vec::new();
        for (letter, means) in (self.entry.letters)() {
            let used = |text: &str| [' ', '(', '['].iter().any(|c| text.contains(&format!("{c}{letter}=")));
            if !letters.iter().any(|(known, _)| *known == letter) && (used(said) || used(&labels)) {
                letters.push((letter, means));
            }
        }
        let letters: Vec<String> =
            letters.iter().map(|(letter, means)| format!("{letter} is {means}")).collect();
        lines.extend((!letters.is_empty()).then(|| format!("In messages, {}.", letters.join("; "))));
        lines
    }

    /// What was decided under another name than that of a request.
    fn blocks(&self, said: &str) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for event in &self.recording.events {
            let What::Commit { id, requests, .. } = &event.what else { continue };
            let name = self.names.value(*id);
            let holds = requests.iter().map(|request| self.names.request(request));
            let line = format!("{name} = a block with {}", and(holds));
            if self.names.number(*id).is_none()
                && !requests.is_empty()
                && stands_in(said, &name)
                && !lines.contains(&line)
            {
                lines.push(line);
            }
        }
        lines
    }

    fn setting(&self, deviations: &Deviations) -> Vec<Line> {
        let cluster = self.cluster();
        let byzantine = self.scenario.adversary.byzantine;
        let liars = match byzantine.is_empty() {
            true => "nobody is".to_owned(),
            false => format!("{} {}", and(byzantine.iter()), if byzantine.len() == 1 { "is" } else { "are" }),
        };
        // How many votes it takes is said of decisions that go by it.
        let by_quorum =
            self.decisions().iter().any(|d| d.grounds.ballot().is_some_and(|votes| votes.by_quorum));
        let quorum = match by_quorum && !self.has_lists() {
            true => format!(" A quorum is {} of {}.", self.quorum(), cluster.n),
            false => String::new(),
        };
        let mut lines = vec![format!(
            "Protocol {} with n = {} replicas, of which f = {} may be Byzantine; {liars}.{quorum}",
            self.scenario.protocol.name, cluster.n, cluster.f,
        )];
        if self.scenario.adversary.crash_on_garbage {
            lines.push(
                "The scenario sets adversary.crash-on-garbage: nodes crash on bytes that do not decode."
                    .to_owned(),
            );
        }
        if self.outcome.over_budget {
            lines.push("More replicas are faulty than the protocol promises to tolerate.".to_owned());
        }
        lines.extend(self.preset());
        lines.extend(deviations.words());
        let others = self.outcome.violations.iter().filter(|other| Some(*other) != self.violation.as_ref());
        let (now, later): (Vec<&Violation>, Vec<&Violation>) =
            others.partition(|v| v.step <= self.last_step());
        for (title, others) in [("Also violated", now), ("Violated later", later)] {
            let words = others.iter().map(|v| {
                let unasked =
                    if v.property == Property::Termination { self.unasked() } else { String::new() };
                format!("{} (step {}{unasked})", self.detail(v), v.step)
            });
            let words: Vec<String> = words.collect();
            lines.extend((!words.is_empty()).then(|| format!("{title}: {}.", words.join("; "))));
        }
        lines.into_iter().map(Line::from).collect()
    }

    /// What a preset changes beside flags.
    fn preset(&self) -> Option<String> {
        let keys = self.entry.preset.iter().filter(|(key, _)| *key != "flags");
        let keys: Vec<String> = keys.map(|(key, value)| format!("{key} = {value}")).collect();
        let (name, protocol) = (self.entry.name, self.entry.protocol);
        (!keys.is_empty()).then(|| format!("The preset {name} is {protocol} with {}.", and(keys)))
    }

    /// Those whom the violation is about in detail, the others by their decisions.
    fn saw(&self) -> Vec<Line> {
        let last = self.last_step();
        let violation = self.violation.as_ref();
        let slot = violation.and_then(|violation| violation.slot);
        let concerned =
            |seat: SeatName| violation.is_some_and(|v| v.slot.is_some() && v.nodes.contains(&seat.node));
        let decisions = self.decisions();
        let mut others: Vec<(Line, Vec<String>)> = Vec::new();
        let mut lines: Vec<Line> = Vec::new();
        let replicas = self.recording.standings.iter().filter(|standing| !standing.seat.node.is_client());
        for Standing { seat, .. } in replicas {
            let who = if self.is_byzantine(*seat) { format!("{seat} (Byzantine)") } else { seat.to_string() };
            let log = self.log(*seat, last);
            if !concerned(*seat) {
                match others.iter_mut().find(|(known, _)| known.text == log.text) {
                    Some((known, seats)) => {
                        known.claims.extend(log.claims);
                        seats.push(who);
                    }
                    None => others.push((log, vec![who])),
                }
                continue;
            }
            let about = self.slot(slot.unwrap_or(Slot(0)));
            let mut own =
                decisions.iter().filter(|d| d.seat == *seat && Some(d.slot) == slot && d.step <= last);
            let decision = own.next_back();
            let until = decision.map_or(last, |decision| decision.step);
            let mut heard = self.heard(*seat, slot, until);
            let news = if heard.is_empty() { "nothing that names a round." } else { "(by step):" };
            lines.push(log.map(|log| format!("{who} {log}. About {about} it had heard {news}")));
            heard.extend(self.told(*seat, slot, until));
            lines.extend(heard.into_iter().map(|line| line.map(|line| format!("- {line}"))));
        }
        lines.extend(others.into_iter().map(|(log, seats)| log.map(|log| format!("{} {log}.", and(seats)))));
        lines
    }

    /// Why, in the words that fit the property.
    fn reason(&self) -> Vec<Part> {
        let Some(violation) = &self.violation else {
            return vec![Part::new(
                "At the end",
                self.unanswered().into_iter().chain(self.waiting()).collect(),
            )];
        };
        match violation.property {
            Property::Agreement => {
                let Some((one, two)) = self.conflicting() else { return Vec::new() };
                let lines = self.disagreement(&one, &two);
                vec![Part::new("Why they disagree", lines)]
            }
            Property::Termination => {
                let end = self.unanswered().into_iter().chain(self.waiting()).collect();
                vec![Part::new("Where progress stops", self.standstill()), Part::new("At the end", end)]
            }
            Property::Integrity => vec![Part::new("Why", self.integrity(violation))],
            Property::Validity => vec![Part::new("Why", self.invented(violation))],
            Property::Crashed => vec![Part::new("Why", self.last_straw(violation))],
            Property::ClientAgreement | Property::Custom => {
                vec![Part::new("Why", self.last_straw(violation))]
            }
        }
    }
}
