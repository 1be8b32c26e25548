//! A run as a whole.

use serde::Serialize;
use turncoat_core::ids::SeatName;
use turncoat_core::node::Cluster;
use turncoat_core::outcome::Violation;
use turncoat_core::part::Change;
use turncoat_core::record::{Arrival, Falsehood, Loss, SentCopy, What};
use turncoat_core::runner::Entry;
use turncoat_core::schedule::{Action, Coordinates};
use turncoat_lab::explain::Sign;

use super::Trouble;
use super::replayed::{Replayed, name, place};
use super::session::{Chosen, Session};
use super::split::Split;
use crate::numbers::counted;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Run {
    session: String,
    run: usize,
    title: String,
    protocol: &'static str,
    about: String,
    /// What a slot is called.
    slot: &'static str,
    cluster: Size,
    lifelines: Vec<Lifeline>,
    runs: Vec<Branch>,
    steps: Vec<Step>,
    arrows: Vec<Arrow>,
    marks: Vec<Mark>,
    splits: Vec<Split>,
    partitions: Vec<Split>,
    values: Vec<String>,
    violations: Vec<Violated>,
    read_only: bool,
}

#[derive(Serialize)]
struct Size {
    n: usize,
    f: usize,
    clients: usize,
    quorum: usize,
}

#[derive(Serialize)]
struct Lifeline {
    name: SeatName,
    client: bool,
    byzantine: bool,
}

#[derive(Serialize)]
struct Branch {
    name: String,
    from: Option<usize>,
    at: usize,
    choices: usize,
    violation: Option<String>,
}

#[derive(Serialize)]
struct Step {
    /// The event that it is, or comes after: its number in traces and explanations.
    number: u64,
    action: String,
    what: String,
    words: String,
    time: u64,
    lifeline: Option<usize>,
    arrow: Option<usize>,
}

#[derive(Serialize)]
struct Arrow {
    name: String,
    from: usize,
    to: usize,
    sent: usize,
    end: Option<usize>,
    fate: &'static str,
    heeded: bool,
    held: bool,
    kind: &'static str,
    view: Option<String>,
    slot: Option<u32>,
    label: String,
    text: String,
    values: Vec<usize>,
    lie: Option<Lie>,
}

#[derive(Serialize)]
struct Lie {
    words: String,
    changes: Vec<Change>,
}

#[derive(Serialize)]
struct Mark {
    lifeline: Option<usize>,
    at: usize,
    sign: &'static str,
    text: String,
    value: Option<usize>,
}

#[derive(Serialize)]
struct Violated {
    property: String,
    rule: &'static str,
    at: usize,
    detail: String,
    nodes: Vec<String>,
    slot: Option<u32>,
}

impl Replayed {
    fn steps(&self, actions: &[Action]) -> Vec<Step> {
        let step = |(i, action): (usize, &Action)| {
            let arrow = message(action).and_then(|message| self.row(message));
            let label = arrow.map_or("a message", |row| &self.board.chart.arrows[row].label);
            let line = action.to_string();
            Step {
                number: self.after[i + 1].steps,
                words: self.words(i + 1, action, label, arrow),
                what: line.split(' ').next().unwrap_or_default().to_owned(),
                action: line,
                time: self.after[i + 1].time,
                lifeline: place(action).map(|seat| self.lifeline(seat)),
                arrow,
            }
        };
        actions.iter().enumerate().map(step).collect()
    }

    /// A choice in plain words.
    fn words(&self, at: usize, action: &Action, label: &str, arrow: Option<usize>) -> String {
        let copy = arrow.and_then(|row| self.recording.copies.get(row));
        let lie = if copy.is_some_and(|copy| copy.lie.is_some()) { ", a lie" } else { "" };
        match action {
            Action::Deliver(Coordinates { src, dst, .. }) => {
                let ignored =
                    matches!(copy.map(|copy| copy.arrival), Some(Arrival::Delivered { heeded: false, .. }));
                let ignored = if ignored { ", and ignores it" } else { "" };
                format!("{dst} receives {label} from {src}{lie}{ignored}")
            }
            Action::Drop(Coordinates { src, dst, .. }) => format!("{label} from {src} to {dst} is lost"),
            Action::Duplicate(Coordinates { src, dst, .. }) => {
                format!("{label} from {src} to {dst} is duplicated")
            }
            Action::Mutate(Coordinates { src, dst, .. }, name, _) => {
                format!("{src} lies to {dst} ({name}): {label}")
            }
            Action::Edit(Coordinates { src, dst, .. }, field, value) => {
                format!("{src} lies to {dst} ({field} set to {value}): {label}")
            }
            Action::Delay(Coordinates { src, dst, .. }, ticks) => {
                format!("{label} from {src} to {dst} takes {} longer", counted(*ticks, "tick"))
            }
            Action::Split(side) => format!("the network splits: {side} and the rest"),
            Action::Heal => "the network heals".to_owned(),
            Action::Fire(seat, _) => {
                let events = &self.recording.events[self.after[at - 1].events..self.after[at].events];
                let fired = events.iter().find_map(|event| match &event.what {
                    What::Fire { timer, .. } => Some(timer.as_str()),
                    _ => None,
                });
                format!("the timer {} of {seat} fires", fired.unwrap_or_default())
            }
            Action::Suspect(seat) => format!("{seat} (Byzantine) starts a view change"),
            Action::Crash(seat) => format!("{seat} stops"),
            Action::Restart(seat, true) => format!("{seat} restarts"),
            Action::Restart(seat, false) => format!("{seat} restarts without its memory"),
            Action::Wait => "what is scheduled for this moment happens".to_owned(),
            Action::Calm => "the network is calm from now on".to_owned(),
        }
    }

    fn arrows(&self, actions: &[Action], entry: &Entry) -> Vec<Arrow> {
        let mut ends: Vec<Option<usize>> = vec![None; self.recording.copies.len()];
        for (i, action) in actions.iter().enumerate() {
            let row = message(action).and_then(|message| self.row(message));
            let ends_it = match action {
                Action::Deliver(_) | Action::Drop(_) => true,
                Action::Mutate(..) => row.is_some_and(|row| fate(&self.recording.copies[row]) == "withheld"),
                _ => false,
            };
            if let Some(row) = row.filter(|_| ends_it) {
                ends[row] = Some(i + 1);
            }
        }
        let arrow = |(row, (copy, drawn)): (usize, (&SentCopy, &turncoat_lab::explain::Arrow))| {
            let sent = self.sent(row);
            let fate = fate(copy);
            let end = ends[row].or_else(|| (fate != "underway").then_some(sent));
            let changes = match &copy.lie {
                Some(Falsehood::Changed(changes)) => changes.clone(),
                _ => Vec::new(),
            };
            let lie = copy.lie.as_ref();
            Arrow {
                name: name(copy),
                from: drawn.from,
                to: drawn.to,
                sent,
                end,
                fate,
                heeded: !drawn.ignored(),
                held: copy.held,
                kind: copy.kind,
                view: copy.round.map(|round| (entry.view_name)(round.view)),
                slot: copy.slot.map(|slot| slot.0),
                label: drawn.label.clone(),
                text: copy.text.clone(),
                values: drawn.values.clone(),
                lie: lie.map(|_| Lie { words: drawn.lie.clone().unwrap_or_default(), changes }),
            }
        };
        self.recording.copies.iter().zip(&self.board.chart.arrows).enumerate().map(arrow).collect()
    }

    fn marks(&self) -> Vec<Mark> {
        let mark = |mark: &turncoat_lab::explain::Mark| {
            let at = match mark.event {
                Some(event) => self.after.partition_point(|after| after.events <= event),
                None => self.choice(mark.step),
            };
            let (sign, value) = match mark.sign {
                Sign::Timer => ("timer", None),
                Sign::Decision(value) => ("decision", value),
                Sign::Completion => ("completion", None),
                Sign::Stop => ("stop", None),
                Sign::Note => ("note", None),
                Sign::Violation => ("violation", None),
            };
            let at = at.min(self.after.len() - 1);
            Mark { lifeline: mark.lifeline, at, sign, text: mark.text.clone(), value }
        };
        let view = |(at, seat, view): &(usize, SeatName, String)| Mark {
            lifeline: Some(self.lifeline(*seat)),
            at: *at,
            sign: "view",
            text: view.clone(),
            value: None,
        };
        let mut marks: Vec<Mark> = self.board.chart.marks.iter().map(mark).collect();
        marks.extend(self.views.iter().map(view));
        marks.sort_by_key(|mark| mark.at);
        marks
    }

    fn violations(&self) -> Vec<Violated> {
        let violated = |(violation, detail): &(Violation, String)| Violated {
            property: violation.property.to_string(),
            rule: violation.rule,
            at: self.choice(violation.step),
            detail: detail.clone(),
            nodes: violation.nodes.iter().map(|node| node.to_string()).collect(),
            slot: violation.slot.map(|slot| slot.0),
        };
        self.board.violations.iter().map(violated).collect()
    }
}

/// A run to its last choice.
pub(super) fn run(session: &Session, id: &str, run: usize, read_only: bool) -> Result<Run, Trouble> {
    let choices = session.runs.get(run).map_or(0, |chosen| chosen.actions.len());
    let actions = session.chosen(run, choices)?;
    let replayed = session.replayed(run)?;
    let spec = &session.scenario.cluster;
    let (n, f, clients) = (spec.n, spec.f, spec.clients);
    let quorum = (session.entry.quorum)(&Cluster { n, f, clients, ..Cluster::default() });
    let branch = |chosen: &Chosen| Branch {
        name: chosen.name.clone(),
        from: chosen.from.map(|(run, _)| run),
        at: chosen.from.map_or(0, |(_, at)| at),
        choices: chosen.actions.len(),
        violation: chosen.violation.clone(),
    };
    let lifeline = |lifeline: &turncoat_lab::explain::Lifeline| Lifeline {
        name: lifeline.name,
        client: lifeline.name.node.is_client(),
        byzantine: lifeline.byzantine,
    };
    Ok(Run {
        session: id.to_owned(),
        run,
        title: session.title.clone(),
        protocol: session.entry.name,
        about: session.about.clone(),
        slot: session.entry.slot,
        cluster: Size { n, f, clients, quorum },
        lifelines: replayed.board.chart.lifelines.iter().map(lifeline).collect(),
        runs: session.runs.iter().map(branch).collect(),
        steps: replayed.steps(actions),
        arrows: replayed.arrows(actions, session.entry),
        marks: replayed.marks(),
        splits: replayed.splits(actions),
        partitions: replayed.partitions(&session.scenario.adversary.faults),
        values: replayed.board.chart.values.clone(),
        violations: replayed.violations(),
        read_only,
    })
}

/// The message that a choice is about.
fn message(action: &Action) -> Option<&Coordinates> {
    match action {
        Action::Deliver(message)
        | Action::Drop(message)
        | Action::Duplicate(message)
        | Action::Mutate(message, ..)
        | Action::Edit(message, ..)
        | Action::Delay(message, _) => Some(message),
        _ => None,
    }
}

/// What became of a copy.
fn fate(copy: &SentCopy) -> &'static str {
    match copy.arrival {
        Arrival::Underway => "underway",
        Arrival::Delivered { .. } => "delivered",
        Arrival::Lost { by: Loss::Network, .. } => "lost",
        Arrival::Lost { by: Loss::Withheld, .. } => "withheld",
        Arrival::Lost { by: Loss::Down, .. } => "down",
    }
}
