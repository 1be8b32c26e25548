//! The chart as plain data: lifelines, arrows from the event of sending to the event of receiving, and marks.
//!
//! Text, pictures and Mermaid are printed from this value and know nothing else.

use std::collections::BTreeSet;

use serde::Serialize;
use turncoat_core::grounds::Grounds;
use turncoat_core::ids::SeatName;
use turncoat_core::outcome::Property;
use turncoat_core::record::{Arrival, Falsehood, Loss, SentCopy, What};

use super::read::Run;
use super::values::Names;

/// A sequence chart of a run, or of a part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// Everybody, clients first, from left to right.
    pub lifelines: Vec<Lifeline>,
    /// Messages, in the order in which they were sent.
    pub arrows: Vec<Arrow>,
    /// What else happened, in order.
    pub marks: Vec<Mark>,
    /// What the names of values mean, by their numbers.
    pub values: Vec<String>,
    /// What was left out, in words.
    pub left_out: Option<String>,
}

/// Somebody who sends and receives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lifeline {
    /// Its name.
    pub name: SeatName,
    /// Whether it may lie.
    pub byzantine: bool,
}

/// A copy of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Arrow {
    /// The lifeline of the sender.
    pub from: usize,
    /// The lifeline of the receiver.
    pub to: usize,
    /// The event in which it was sent; 0 is the start.
    pub sent: u64,
    /// What became of it.
    pub arrival: Arrival,
    /// Kind and fields in short.
    pub label: String,
    /// Kind and fields in full.
    pub text: String,
    /// The values that it names, by their numbers.
    pub values: Vec<usize>,
    /// How it differs from what its sender's code wrote, in words.
    pub lie: Option<String>,
    /// Whether the network held it back.
    pub held: bool,
}

/// Something that happened to somebody, or to all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mark {
    /// To whom.
    pub lifeline: Option<usize>,
    /// In which event.
    pub step: u64,
    /// Which of the recorded events it is, if it is one.
    #[serde(skip)]
    pub event: Option<usize>,
    /// What it is.
    pub sign: Sign,
    /// In words.
    pub text: String,
}

/// The kinds of marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sign {
    /// A timer fired.
    Timer,
    /// A decision, of the value with this number if it is one that clients know.
    Decision(Option<usize>),
    /// A client has its result.
    Completion,
    /// A node stopped.
    Stop,
    /// A line of the protocol, or of the network.
    Note,
    /// A property is violated.
    Violation,
}

/// A message or a mark.
#[derive(Clone, Copy, Debug)]
pub enum Item<'a> {
    /// A message that arrived or was lost.
    Arrow(&'a Arrow),
    /// Something else.
    Mark(&'a Mark),
}

impl Arrow {
    /// The event in which it arrived, or was lost.
    pub const fn end(&self) -> Option<u64> {
        match self.arrival {
            Arrival::Underway => None,
            Arrival::Delivered { step, .. } | Arrival::Lost { step, .. } => Some(step),
        }
    }

    /// How it was lost, if it was.
    pub const fn lost(&self) -> Option<Loss> {
        match self.arrival {
            Arrival::Lost { by, .. } => Some(by),
            _ => None,
        }
    }

    /// What became of it beside being received, in words.
    pub const fn fate(&self) -> &'static str {
        match self.lost() {
            Some(Loss::Network) => " (lost)",
            Some(Loss::Withheld) => " (withheld)",
            Some(Loss::Down) => " (lost: its receiver is down)",
            None if self.held => " (held back)",
            None if self.ignored() => " (ignored)",
            None => "",
        }
    }

    /// Whether it was handed over and had no effect.
    pub const fn ignored(&self) -> bool {
        matches!(self.arrival, Arrival::Delivered { heeded: false, .. })
    }
}

impl Chart {
    /// What happened, in order, with the number of the event: what was received in it, then what came of it.
    pub fn items(&self) -> Vec<(u64, Item<'_>)> {
        let arrows = self.arrows.iter().filter_map(|arrow| {
            let order = if arrow.lost().is_some() { 2 } else { 0 };
            Some((arrow.end()?, order, Item::Arrow(arrow)))
        });
        let marks = self.marks.iter().map(|mark| {
            let order = if mark.sign == Sign::Violation { 3 } else { 1 };
            (mark.step, order, Item::Mark(mark))
        });
        let mut items: Vec<(u64, u8, Item<'_>)> = arrows.chain(marks).collect();
        items.sort_by_key(|&(step, order, _)| (step, order));
        items.into_iter().map(|(step, _, item)| (step, item)).collect()
    }

    /// What the names of the values mean that it shows, with their numbers.
    pub fn legend(&self) -> Vec<(usize, &str)> {
        let decided = self.marks.iter().filter_map(|mark| match mark.sign {
            Sign::Decision(value) => value,
            _ => None,
        });
        let shown: BTreeSet<usize> =
            self.arrows.iter().flat_map(|arrow| arrow.values.iter().copied()).chain(decided).collect();
        shown.into_iter().filter_map(|i| Some((i, self.values.get(i)?.as_str()))).collect()
    }

    /// With messages in short.
    pub(super) fn labelled(mut self, names: &Names) -> Self {
        for arrow in &mut self.arrows {
            arrow.label = names.short(&arrow.text) + &arrow.label;
            let lie = arrow.lie.as_deref().unwrap_or_default();
            arrow.values = names.within(&format!("{} {lie}", arrow.text));
        }
        self
    }

    /// The chart of a whole run, without the labels of its messages.
    pub(super) fn of(run: &Run, title: String) -> Self {
        let mut seats: Vec<SeatName> = run.recording.standings.iter().map(|standing| standing.seat).collect();
        seats.sort_by_key(|seat| (!seat.node.is_client(), *seat));
        let place = |seat: SeatName| seats.iter().position(|&other| other == seat).unwrap_or_default();
        // What a second face puts off it takes up later.
        let kept = |copy: &SentCopy| match copy.arrival {
            Arrival::Delivered { heeded: false, step } if run.put_off(copy) => {
                Some(Arrival::Delivered { heeded: true, step })
            }
            _ => None,
        };
        let arrow = |copy: &SentCopy| Arrow {
            from: place(copy.src),
            to: place(copy.dst),
            sent: copy.sent,
            arrival: kept(copy).unwrap_or(copy.arrival),
            label: match copy.lie {
                Some(Falsehood::Garbage) => " (garbled)",
                _ if kept(copy).is_some() => " (kept for later)",
                _ => "",
            }
            .to_owned(),
            text: copy.text.clone(),
            values: Vec::new(),
            lie: run.lie(copy).filter(|_| copy.lie != Some(Falsehood::Garbage)),
            held: copy.held,
        };
        let arrows = run.recording.copies.iter().map(arrow).collect();
        let mut marks: Vec<Mark> = Vec::new();
        let mut decisions = run.decisions().into_iter();
        for (index, event) in run.recording.events.iter().enumerate() {
            let (seat, sign, text) = match &event.what {
                What::Fire { seat, timer } => (Some(*seat), Sign::Timer, format!("timer {timer}")),
                What::Commit { seat, slot, id, grounds, .. } => {
                    let voters = decisions.next().map(|decision| run.voters(&decision)).unwrap_or_default();
                    let voters: Vec<String> = voters.iter().map(SeatName::to_string).collect();
                    let (value, name) = (run.names.number(*id), run.names.value(*id));
                    let why = match grounds {
                        Grounds::Ancestor(of) => format!(" (with {})", run.names.value(*of)),
                        _ if voters.is_empty() => String::new(),
                        _ => format!(" {{{}}}", voters.join(",")),
                    };
                    let text = format!("decides {}: {name}{why}", run.slot(*slot));
                    (Some(*seat), Sign::Decision(value), text)
                }
                What::Complete { seat, ts } => {
                    (Some(*seat), Sign::Completion, format!("has its result for request {ts}"))
                }
                What::Note { seat: Some(seat), text } if text == "stops" => {
                    if run.crashes(*seat, event.step) {
                        continue;
                    }
                    (Some(*seat), Sign::Stop, text.clone())
                }
                What::Note { seat: Some(seat), text } if text.starts_with("crashed") => {
                    (Some(*seat), Sign::Stop, text.clone())
                }
                What::Note { seat, text } => (*seat, Sign::Note, text.clone()),
                What::Deliver { .. } | What::Drop { .. } | What::Hold { .. } | What::Lie { .. } => continue,
            };
            let (lifeline, step) = (seat.map(place), event.step);
            match marks.last_mut() {
                // What a node says in one event is one note.
                Some(last)
                    if sign == Sign::Note
                        && (last.sign, last.lifeline, last.step) == (sign, lifeline, step) =>
                {
                    last.text = format!("{}; {text}", last.text);
                }
                _ => marks.push(Mark { lifeline, step, event: Some(index), sign, text }),
            }
        }
        for late in run.too_late() {
            let at = marks.partition_point(|mark| mark.step < late.step);
            let (lifeline, text) = (Some(place(late.seat)), run.lacks(&late));
            marks.insert(at, Mark { lifeline, step: late.step, event: None, sign: Sign::Note, text });
        }
        if let Some(violation) = &run.violation {
            let text = match violation.property {
                Property::Crashed => "a correct node crashed".to_owned(),
                Property::Custom => format!("{} violated", violation.rule),
                property => format!("{property} violated"),
            };
            let at = marks.partition_point(|mark| mark.step <= violation.step);
            marks.insert(
                at,
                Mark { lifeline: None, step: violation.step, event: None, sign: Sign::Violation, text },
            );
        }
        let lifelines = seats.iter().map(|&name| Lifeline { name, byzantine: run.is_byzantine(name) });
        let values = run.names.legend();
        Self { title, lifelines: lifelines.collect(), arrows, marks, values, left_out: None }
    }
}
