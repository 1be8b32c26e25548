//! A run made again, choice by choice: what others show of it is read from here.

use std::collections::BTreeMap;

use turncoat_core::ids::SeatName;
use turncoat_core::outcome::{End, Property};
use turncoat_core::record::{Recording, SentCopy};
use turncoat_core::schedule::{Action, Coordinates};
use turncoat_core::session::Session as Hand;
use turncoat_lab::explain::{Board, Decided};

use super::Trouble;
use super::session::Session;

/// A run made again, choice by choice.
pub(super) struct Replayed {
    pub(super) board: Board,
    pub(super) recording: Recording,
    pub(super) lifelines: Vec<SeatName>,
    /// Why it ends with its last choice, if it does.
    pub(super) over: Option<String>,
    /// The messages that were in flight by their names, each with its row.
    named: BTreeMap<String, usize>,
    /// What was so after each choice; the first is the start.
    pub(super) after: Vec<After>,
    /// When replicas came into other views: the choice, the lifeline, the view's name.
    pub(super) views: Vec<(usize, SeatName, String)>,
}

pub(super) struct After {
    pub(super) steps: u64,
    pub(super) events: usize,
    pub(super) copies: usize,
    pub(super) time: u64,
}

impl Replayed {
    /// Makes all choices of a run.
    pub(super) fn of(session: &Session, run: usize) -> Result<Self, Trouble> {
        let choices = session.runs.get(run).map_or(0, |chosen| chosen.actions.len());
        let mut hand = session.begin(true)?;
        let seats: Vec<SeatName> = hand.standings().iter().map(|standing| standing.seat).collect();
        let now = |hand: &dyn Hand| {
            let (events, copies) = hand.recorded();
            After { steps: hand.steps(), events, copies, time: hand.time().0 }
        };
        let mut seen: Vec<_> = (0..seats.len()).map(|seat| hand.view(seat)).collect();
        let (mut after, mut views) = (vec![now(&*hand)], Vec::new());
        for (i, action) in session.chosen(run, choices)?.iter().enumerate() {
            hand.apply(action).map_err(|error| Trouble::Refused(format!("`{action}`: {error}")))?;
            after.push(now(&*hand));
            for (seat, known) in seen.iter_mut().enumerate() {
                // Only who did something can have changed.
                if place(action).is_none_or(|who| who.node == seats[seat].node) {
                    let view = hand.view(seat);
                    if view != *known {
                        views.extend(view.map(|view| (i + 1, seats[seat], (session.entry.view_name)(view))));
                        *known = view;
                    }
                }
            }
        }
        let ended = hand.is_over();
        let (outcome, recording) = hand.stop();
        let over = ended.then(|| match outcome.end {
            End::Goal => "the goal is reached".to_owned(),
            End::Limit(name) => format!("the limit on {name} is reached"),
            End::Quiet | End::Stopped => "nothing is left to happen".to_owned(),
        });
        let board = Board::of(session.entry, &session.scenario, outcome, recording.clone());
        let lifelines = board.chart.lifelines.iter().map(|lifeline| lifeline.name).collect();
        let under_way = recording.copies.iter().enumerate().filter(|(_, copy)| copy.nth > 0);
        let named = under_way.map(|(row, copy)| (name(copy), row)).collect();
        Ok(Self { board, recording, lifelines, over, named, after, views })
    }

    pub(super) fn lifeline(&self, seat: SeatName) -> usize {
        self.lifelines.iter().position(|&other| other == seat).unwrap_or_default()
    }

    /// The choice in which an event happened.
    pub(super) fn choice(&self, step: u64) -> usize {
        self.after.partition_point(|after| after.steps < step).min(self.after.len() - 1)
    }

    /// The choice in which a message was sent.
    pub(super) fn sent(&self, row: usize) -> usize {
        self.after.partition_point(|after| after.copies <= row).min(self.after.len() - 1)
    }

    /// The row of a message that was in flight.
    pub(super) fn row(&self, message: &Coordinates) -> Option<usize> {
        self.named.get(&message.to_string()).copied()
    }

    /// The decisions up to a place, each with the choice in which it was made.
    pub(super) fn decisions(&self, at: usize) -> impl Iterator<Item = (usize, &Decided)> {
        let decisions = self.board.decisions.iter().map(|decided| (self.choice(decided.step), decided));
        decisions.filter(move |(choice, _)| *choice <= at)
    }

    /// What is violated up to a place, in words.
    pub(super) fn violated(&self, at: usize, property: Property) -> Option<&str> {
        let mut violations = self.board.violations.iter();
        let found = violations
            .find(|(violation, _)| violation.property == property && self.choice(violation.step) <= at);
        found.map(|(_, detail)| detail.as_str())
    }
}

/// A copy's name, as in choices.
pub(super) fn name(copy: &SentCopy) -> String {
    let SentCopy { src, dst, nth, .. } = *copy;
    Coordinates { src, dst, kind: copy.kind.to_owned(), nth }.to_string()
}

/// Where a choice happens, if in one place.
pub(super) fn place(action: &Action) -> Option<SeatName> {
    match action {
        Action::Fire(seat, _) | Action::Suspect(seat) | Action::Crash(seat) | Action::Restart(seat, _) => {
            Some(*seat)
        }
        Action::Deliver(message) | Action::Drop(message) => Some(message.dst),
        _ => None,
    }
}
