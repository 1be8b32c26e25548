//! The story: sections of sentences, in the order in which a reader asks.

use serde::Serialize;
use turncoat_core::ids::{NodeId, SeatName, Slot};
use turncoat_core::outcome::{Property, Violation};
use turncoat_core::part::Letter;
use turncoat_core::record::{Standing, What};

use super::chart::Chart;
use super::deviations::Deviations;
use super::read::Run;
use super::values::stands_in;
use super::words::{and, capitalised, wrapped};

/// The most columns of a line.
pub(super) const WIDTH: usize = 100;

/// A part of a story.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Section {
    /// What it is about.
    pub title: String,
    /// What there is to say, a paragraph each.
    pub lines: Vec<String>,
}

impl Section {
    fn new(title: &str, lines: Vec<String>) -> Self {
        Self { title: title.to_owned(), lines }
    }

    /// For the terminal.
    pub(super) fn print(&self) -> String {
        let lines = self.lines.iter().flat_map(|line| {
            let (lead, rest) = match line.strip_prefix("- ") {
                Some(rest) => ("  - ", rest),
                None => ("  ", line.as_str()),
            };
            let indent = " ".repeat(lead.len().max(4));
            let lines = wrapped(rest, WIDTH - indent.len());
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
            (Property::Agreement, Some(slot), &[one, two]) if in_slot(one).len() + in_slot(two).len() > 2 => {
                let words = |node| format!("{node} decided {}", in_slot(node).join(" and then "));
                format!("in slot {slot} {}, {}", words(one), words(two))
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
    pub(super) fn sections(
        &self,
        deviations: &Deviations,
        known: Option<&(String, String)>,
        chart: &Chart,
    ) -> Vec<Section> {
        let mut sections = vec![
            Section::new("In short", self.in_brief(deviations)),
            Section::new("The setting", self.setting(deviations, known)),
            Section::new(if self.lied_at_all() { "Who lied" } else { "Who is Byzantine" }, self.liars()),
            Section::new("Stops and clocks", self.mishaps()),
            Section::new("The network", self.network()),
            Section::new("What the replicas saw", self.saw()),
        ];
        sections.extend(self.reason());
        sections.retain(|section| !section.lines.is_empty());
        let said: String =
            sections.iter().flat_map(|section| &section.lines).map(|line| format!("{line}\n")).collect();
        sections.insert(1, Section::new("How to read this", self.notation(&said, chart)));
        sections
    }

    /// Who did what, and what came of it, in two or three sentences.
    fn in_brief(&self, deviations: &Deviations) -> Vec<String> {
        let mut lines = self.liars_in_short();
        if lines.is_empty() {
            lines.push("Nobody lied.".to_owned());
        }
        match self.violation.as_ref().map(|violation| violation.property) {
            Some(Property::Agreement) => {
                let why = self.conflicting().and_then(|(one, two)| self.in_short(&one, &two));
                lines.push(why.unwrap_or_else(|| self.outcome_in_short()));
            }
            Some(Property::Termination) => {
                lines.extend(self.clients_in_short());
                lines.extend(self.laggards_in_short());
            }
            Some(_) | None => {
                lines.push(self.outcome_in_short());
                lines.extend(self.late_reasons());
            }
        }
        lines.extend(deviations.flaw());
        vec![lines.join(" ")]
    }

    fn outcome_in_short(&self) -> String {
        match &self.violation {
            Some(violation) => format!("{}.", capitalised(&self.detail(violation))),
            None => "Nothing was violated.".to_owned(),
        }
    }

    fn notation(&self, said: &str, chart: &Chart) -> Vec<String> {
        let cluster = self.cluster();
        let clients = match cluster.clients {
            0 => String::new(),
            1 => ", c0 is the client".to_owned(),
            2 => ", c0 and c1 are the clients".to_owned(),
            n => format!(", c0 to c{} are the clients", n - 1),
        };
        let legend = self.names.legend_of(&format!("{said}{}", self.violated()));
        let mut lines = vec![format!(
            "p0 to p{} are the replicas{clients}. A step is one event: a message is handed over, or a timer fires. \
             A slot is a place in the log; a replica decides it when it executes a value there, which it should do once \
             and for good.{}",
            cluster.n - 1,
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
        lines.extend((!letters.is_empty()).then(|| format!("In messages {}.", letters.join("; "))));
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

    fn setting(&self, deviations: &Deviations, known: Option<&(String, String)>) -> Vec<String> {
        let cluster = self.cluster();
        let byzantine = self.scenario.adversary.byzantine;
        let liars = match byzantine.is_empty() {
            true => "nobody is".to_owned(),
            false => format!("{} {}", and(byzantine.iter()), if byzantine.len() == 1 { "is" } else { "are" }),
        };
        let mut lines = vec![format!(
            "Protocol {} with n = {} replicas, of which f = {} may be Byzantine; {liars}. A quorum is {} of {}.",
            self.scenario.protocol.name,
            cluster.n,
            cluster.f,
            self.quorum(),
            cluster.n
        )];
        if self.scenario.adversary.crash_on_garbage {
            lines.push(
                "By the scenario's key adversary.crash-on-garbage nodes crash on bytes that do not decode."
                    .to_owned(),
            );
        }
        if self.outcome.over_budget {
            lines.push("More replicas are faulty than the protocol promises to bear.".to_owned());
        }
        lines.extend(deviations.words());
        if let Some((bug, title)) = known {
            lines.push(format!("It looks like the known bug {bug}: {title}."));
        }
        let others = self.outcome.violations.iter().filter(|other| Some(*other) != self.violation.as_ref());
        let (now, later): (Vec<&Violation>, Vec<&Violation>) =
            others.partition(|v| v.step <= self.last_step());
        for (title, others) in [("Violated too", now), ("Violated later", later)] {
            let words = others.iter().map(|v| {
                let unasked =
                    if v.property == Property::Termination { self.unasked() } else { String::new() };
                format!("{} (step {}{unasked})", self.detail(v), v.step)
            });
            let words: Vec<String> = words.collect();
            lines.extend((!words.is_empty()).then(|| format!("{title}: {}.", words.join("; "))));
        }
        lines
    }

    /// Those whom the violation is about in detail, the others by their decisions.
    fn saw(&self) -> Vec<String> {
        let last = self.last_step();
        let violation = self.violation.as_ref();
        let slot = violation.and_then(|violation| violation.slot);
        let concerned =
            |seat: SeatName| violation.is_some_and(|v| v.slot.is_some() && v.nodes.contains(&seat.node));
        let decisions = self.decisions();
        let mut others: Vec<(String, Vec<String>)> = Vec::new();
        let mut lines = Vec::new();
        let replicas = self.recording.standings.iter().filter(|standing| !standing.seat.node.is_client());
        for Standing { seat, .. } in replicas {
            let who = if self.is_byzantine(*seat) { format!("{seat} (Byzantine)") } else { seat.to_string() };
            let log = self.log(*seat, last);
            if !concerned(*seat) {
                match others.iter_mut().find(|(known, _)| *known == log) {
                    Some((_, seats)) => seats.push(who),
                    None => others.push((log, vec![who])),
                }
                continue;
            }
            let slot_number = slot.unwrap_or(Slot(0));
            let mut own =
                decisions.iter().filter(|d| d.seat == *seat && Some(d.slot) == slot && d.step <= last);
            let decision = own.next_back();
            let until = decision.map_or(last, |decision| decision.step);
            let mut heard = self.heard(*seat, slot, until);
            let news = if heard.is_empty() { "nothing that names a round." } else { "(by step):" };
            lines.push(format!("{who} {log}. About slot {slot_number} it had heard {news}"));
            heard.extend(self.told(*seat, slot, until));
            lines.extend(heard.into_iter().map(|line| format!("- {line}")));
        }
        lines.extend(others.into_iter().map(|(log, seats)| format!("{} {log}.", and(seats))));
        lines
    }

    /// Why, in the words that fit the property.
    fn reason(&self) -> Vec<Section> {
        let Some(violation) = &self.violation else {
            return vec![Section::new(
                "At the end",
                [self.unanswered()].into_iter().chain(self.waiting()).collect(),
            )];
        };
        match violation.property {
            Property::Agreement => {
                let Some((one, two)) = self.conflicting() else { return Vec::new() };
                let lines = self.disagreement(&one, &two);
                vec![Section::new("Why they disagree", lines)]
            }
            Property::Termination => {
                let end = [self.unanswered()].into_iter().chain(self.waiting()).collect();
                vec![
                    Section::new("Where it stands still", self.standstill()),
                    Section::new("At the end", end),
                ]
            }
            Property::Integrity => vec![Section::new("Why", self.integrity(violation))],
            Property::Validity => vec![Section::new("Why", self.invented(violation))],
            Property::Crashed => vec![Section::new("Why", self.last_straw(violation))],
            Property::ClientAgreement | Property::Custom => {
                vec![Section::new("Why", self.last_straw(violation))]
            }
        }
    }
}
