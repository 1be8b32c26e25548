//! A run at a place: who knows what, what is in flight, what was decided, and what could be done.

use std::collections::BTreeMap;

use serde::Serialize;
use turncoat_core::node::{About, Vitals, Waiting};
use turncoat_core::outcome::Property;
use turncoat_core::part::{Change, Scope};
use turncoat_core::record::Standing;
use turncoat_core::runner::Entry;
use turncoat_core::schedule::{Action, Coordinates};
use turncoat_lab::explain::{Explanation, Section};

use super::Trouble;
use super::replayed::Replayed;
use super::session::Session;
use super::state::{Column, StateTable};

#[derive(Serialize)]
pub(super) struct Moment {
    at: usize,
    time: u64,
    calm: bool,
    over: Option<String>,
    suggested: Option<String>,
    seats: Vec<Seat>,
    flying: Vec<Flying>,
    budget: Budget,
    state: StateTable,
    logs: Logs,
    checks: Vec<Check>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Seat {
    alive: bool,
    correct: bool,
    view: Option<String>,
    changing_view: bool,
    timers: Vec<Timer>,
    waiting: Vec<String>,
}

#[derive(Serialize)]
struct Timer {
    name: String,
    at: u64,
}

#[derive(Serialize)]
struct Flying {
    name: String,
    arrow: usize,
    from: usize,
    to: usize,
    kind: String,
    text: String,
    label: String,
    arrives: u64,
    liar: bool,
}

#[derive(Serialize)]
struct Budget {
    liars: Vec<String>,
    stopped: Vec<String>,
    f: usize,
    over: bool,
}

#[derive(Serialize)]
struct Logs {
    columns: Vec<usize>,
    slots: Vec<Row>,
    arithmetic: Vec<String>,
}

#[derive(Serialize)]
struct Row {
    slot: u32,
    cells: Vec<Option<Decision>>,
    conflict: bool,
}

#[derive(Clone, Serialize)]
struct Decision {
    name: String,
    value: Option<usize>,
    requests: Vec<String>,
    voters: Vec<String>,
    at: usize,
}

#[derive(Serialize)]
struct Check {
    property: &'static str,
    states: &'static str,
    open: bool,
    violated: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Lies {
    message: String,
    text: String,
    sender: String,
    honest: bool,
    budget: bool,
    fields: Vec<Field>,
    lies: Vec<NamedLie>,
}

#[derive(Serialize)]
struct Field {
    field: String,
    value: String,
}

#[derive(Serialize)]
struct NamedLie {
    name: String,
    scope: Scope,
    changes: Vec<Change>,
    text: String,
}

#[derive(Serialize)]
pub(super) struct Story {
    violated: Option<String>,
    sections: Vec<Section>,
}

/// A run at a place.
pub(super) fn moment(session: &Session, run: usize, at: usize) -> Result<Moment, Trouble> {
    let chosen = session.chosen(run, at)?;
    let mut hand = session.replay(run, at.saturating_sub(1), false)?;
    let before = if at > 0 { hand.states() } else { Vec::new() };
    if let Some(last) = chosen.last() {
        hand.apply(last).map_err(|error| Trouble::Refused(format!("`{last}`: {error}")))?;
    }
    let replayed = session.replayed(run)?;
    let (standings, after) = (hand.standings(), hand.states());
    let liars = session.scenario.adversary.byzantine;
    let mut before = before.into_iter();
    let mut columns = Vec::new();
    for (standing, after) in standings.iter().zip(after) {
        let before = if at > 0 { before.next().flatten() } else { after.clone() };
        if !standing.seat.node.is_client() {
            let (lifeline, correct) = (replayed.lifeline(standing.seat), standing.correct);
            columns.push(Column { lifeline, correct, before, after });
        }
    }
    columns.sort_by_key(|column| column.lifeline);
    let mut by_lifeline: Vec<&Standing> = standings.iter().collect();
    by_lifeline.sort_by_key(|standing| replayed.lifeline(standing.seat));
    let flying = hand.flying().into_iter().map(|flying| {
        let Coordinates { src, dst, kind, .. } = &flying.name;
        let arrow = replayed.row(&flying.name).unwrap_or_default();
        let drawn = replayed.board.chart.arrows.get(arrow);
        Flying {
            arrow,
            from: replayed.lifeline(*src),
            to: replayed.lifeline(*dst),
            kind: kind.clone(),
            // It may say something else later.
            label: drawn
                .filter(|arrow| arrow.text == flying.text)
                .map_or_else(|| flying.text.clone(), |arrow| arrow.label.clone()),
            text: flying.text,
            arrives: flying.arrives.0,
            liar: liars.contains(src.node),
            name: flying.name.to_string(),
        }
    });
    let (faulty, over) = hand.faulty();
    let names = |nodes: turncoat_core::ids::NodeSet| nodes.iter().map(|node| node.to_string()).collect();
    let ended = replayed.over.clone().filter(|_| at + 1 == replayed.after.len());
    let suggested = hand.next().filter(|_| ended.is_none());
    Ok(Moment {
        at,
        time: hand.time().0,
        calm: hand.is_calm(),
        over: ended.or_else(|| suggested.is_none().then(|| "nothing is left to happen".to_owned())),
        suggested: suggested.map(|action| action.to_string()),
        seats: by_lifeline.iter().map(|standing| seat(standing, session.entry)).collect(),
        flying: flying.collect(),
        budget: Budget {
            liars: names(liars),
            stopped: names(faulty.without(liars)),
            f: session.scenario.cluster.f,
            over,
        },
        state: StateTable::of(&columns),
        logs: logs(&replayed, at, &standings),
        checks: checks(&replayed, at),
    })
}

fn seat(standing: &Standing, entry: &Entry) -> Seat {
    let Vitals { view, changing_view, waiting, .. } = &standing.vitals;
    let words = |Waiting { kind, about, have, need }: &Waiting| {
        let about = match *about {
            About::Slot(slot) => format!("{} {slot}", entry.slot),
            About::View(view) => (entry.view_name)(view),
            About::Request(_) => about.to_string(),
        };
        format!("{kind} for {about}: has {} of {need} {have}", have.len())
    };
    Seat {
        alive: standing.alive,
        correct: standing.correct,
        view: (!standing.seat.node.is_client()).then(|| (entry.view_name)(*view)),
        changing_view: *changing_view,
        timers: standing.timers.iter().map(|(name, at)| Timer { name: name.clone(), at: at.0 }).collect(),
        waiting: waiting.iter().map(words).collect(),
    }
}

fn logs(replayed: &Replayed, at: usize, standings: &[Standing]) -> Logs {
    let mut columns: Vec<(usize, bool)> = standings
        .iter()
        .filter(|standing| !standing.seat.node.is_client())
        .map(|standing| (replayed.lifeline(standing.seat), standing.correct))
        .collect();
    columns.sort_unstable();
    let mut slots: BTreeMap<u32, Vec<Option<Decision>>> = BTreeMap::new();
    for (at, decided) in replayed.decisions(at) {
        let lifeline = replayed.lifeline(decided.seat);
        let Some(column) = columns.iter().position(|&(other, _)| other == lifeline) else { continue };
        let cells = slots.entry(decided.slot).or_insert_with(|| vec![None; columns.len()]);
        cells[column] = Some(Decision {
            name: decided.name.clone(),
            value: decided.value,
            requests: decided.requests.clone(),
            voters: decided.voters.iter().map(|voter| voter.to_string()).collect(),
            at,
        });
    }
    let row = |(slot, cells): (u32, Vec<Option<Decision>>)| {
        let correct = cells.iter().zip(&columns).filter(|(_, (_, correct))| *correct);
        let mut names = correct.filter_map(|(cell, _)| Some(&cell.as_ref()?.name));
        let first = names.next();
        let conflict = names.any(|name| Some(name) != first);
        Row { slot, cells, conflict }
    };
    let known = replayed.violated(at, Property::Agreement).is_some();
    let arithmetic = replayed.board.arithmetic.iter().filter(|_| known);
    Logs {
        slots: slots.into_iter().map(row).collect(),
        columns: columns.iter().map(|&(lifeline, _)| lifeline).collect(),
        arithmetic: arithmetic.cloned().collect(),
    }
}

fn checks(replayed: &Replayed, at: usize) -> Vec<Check> {
    let over = replayed.over.is_some() && at + 1 == replayed.after.len();
    let check = |property: Property| Check {
        property: property.name(),
        states: property.about(),
        open: property == Property::Termination && !over,
        violated: replayed.violated(at, property).map(str::to_owned),
    };
    Property::ALL.into_iter().map(check).collect()
}

/// What can be done to a message.
pub(super) fn lies(session: &Session, run: usize, at: usize, message: &str) -> Result<Lies, Trouble> {
    let Ok(Action::Deliver(name)) = format!("deliver {message}").parse() else {
        return Err(Trouble::Bad(format!("`{message}` is not a message: expected `p0>p3 KIND #N`")));
    };
    let hand = session.replay(run, at, false)?;
    let lies = hand.lies(&name).map_err(|error| Trouble::Missing(error.to_string()))?;
    let honest = !session.scenario.adversary.byzantine.contains(lies.sender.node);
    let (faulty, _) = hand.faulty();
    let cluster = &session.scenario.cluster;
    let room = faulty.len() < cluster.f || cluster.over_budget || faulty.contains(lies.sender.node);
    Ok(Lies {
        message: message.to_owned(),
        text: lies.text,
        sender: lies.sender.to_string(),
        honest,
        budget: honest && room && !lies.sender.node.is_client(),
        fields: lies.fields.into_iter().map(|(field, value)| Field { field, value }).collect(),
        lies: lies
            .named
            .into_iter()
            .map(|lie| NamedLie { name: lie.name, scope: lie.scope, changes: lie.changes, text: lie.text })
            .collect(),
    })
}

/// What happened up to a place, and once the network is calm, in plain words.
pub(super) fn story(session: &Session, run: usize, at: usize) -> Result<Story, Trouble> {
    let scenario = session.scenario.scripted(session.chosen(run, at)?.to_vec());
    let explanation = Explanation::of(session.entry, &scenario);
    let explanation = explanation.map_err(|error| Trouble::Refused(error.to_string()))?;
    let violated = explanation.violation().map(|_| explanation.violated());
    Ok(Story { violated, sections: explanation.sections() })
}
