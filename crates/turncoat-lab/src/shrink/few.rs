//! One or two faults instead of many.
//!
//! Cutting a long list down ends where no single cut is possible, often with more faults than it takes: each was drawn
//! for a run in which the others happened too. So the other way round as well: of all that happened to messages in the
//! run, one thing is tried alone, then two together, each for the whole run and under a plain scheduler.

use std::sync::Arc;

use turncoat_core::fault::{Effect, Fault, Mutate, When};
use turncoat_core::ids::Time;
use turncoat_core::outcome::Property;
use turncoat_core::record::{Arrival, What};
use turncoat_core::scenario::{SchedulerSpec, Seed};

use super::copies::{Copies, Row};
use super::{Shrinker, rank};
use crate::words;

/// Things of each sort that are tried.
const OF_A_SORT: usize = 30;

/// Seeds with which one thing is tried; two are tried with the first of them.
const SEEDS: u64 = 8;

/// Executions after which the search is given up.
const MOST: u64 = 8000;

/// Late enough to come after what was sent later.
const LATE: Time = Time(1000);

impl Shrinker<'_> {
    pub(super) fn few_faults(&mut self) {
        if !self.rank.many() {
            return;
        }
        let things = self.things();
        let alone = (0..SEEDS).flat_map(|seed| things.iter().map(move |thing| (seed, vec![thing])));
        // Those of the first few things first.
        let pairs = things
            .iter()
            .enumerate()
            .flat_map(|(i, other)| things[..i].iter().map(move |one| (0, vec![one, other])));
        let most = self.executions + MOST;
        for (seed, faults) in alone.chain(pairs) {
            let mut candidate = self.best.clone();
            candidate.seed = Seed(seed);
            candidate.scheduler = Arc::new(SchedulerSpec::default());
            candidate.adversary.faults = faults.into_iter().cloned().collect();
            let count = candidate.adversary.faults.len();
            if self.executions > most
                || self.attempt(candidate, || {
                    format!("{} enough", words::count(count, "fault is", "faults are"))
                })
            {
                return;
            }
        }
    }

    /// What happened to messages in the run, as faults: each once, for the whole run.
    fn things(&mut self) -> Vec<Fault> {
        let step = self.violation.step;
        let mut recording = self.record();
        recording.events.retain(|event| event.step <= step);
        recording.copies.retain(|copy| copy.sent <= step);
        // What happened last matters most, unless nothing happens any more.
        let reversed = !matches!(self.violation.property, Property::Termination);
        if reversed {
            recording.events.reverse();
        }
        let mut rows = Copies::of(&recording).rows;
        if reversed {
            rows.reverse();
        }
        let own = self.best.adversary.faults.iter().filter(|fault| !rank::drawn(fault)).cloned();
        let lies = recording.events.iter().filter_map(|event| match &event.what {
            What::Lie { dst, name, .. } => Some(Fault {
                when: When { to: vec![*dst], ..When::default() },
                effect: Effect::Mutate(Mutate::Named(name.clone())),
            }),
            _ => None,
        });
        let lost = rows.iter().filter(|row| matches!(row.copy.arrival, Arrival::Lost { .. }));
        let losses = lost.map(|row| row.on_link(Effect::Drop));
        // A plain scheduler keeps the order in which messages were sent, more or less.
        let ordered = self.plain();
        let come =
            |row: &&Row<'_>| matches!(row.copy.arrival, Arrival::Delivered { step: at, .. } if at <= step);
        let late =
            rows.iter().filter(|row| !ordered && come(row)).map(|row| row.on_link(Effect::Delay(LATE)));
        let anywhere = |mut fault: Fault| {
            fault.when = When { kind: fault.when.kind, ..When::default() };
            fault
        };
        let sorts = [
            first_of(own),
            first_of(lies),
            first_of(losses.clone().map(anywhere)),
            first_of(losses),
            first_of(late.clone().map(anywhere)),
            first_of(late),
        ];
        // The first of each sort, the second of each sort, and so on.
        let ranked = (0..OF_A_SORT).flat_map(|i| sorts.iter().filter_map(move |sort| sort.get(i)));
        ranked.cloned().collect()
    }
}

/// The first few that differ.
fn first_of(some: impl Iterator<Item = Fault>) -> Vec<Fault> {
    let mut first = Vec::new();
    for thing in some {
        if first.len() < OF_A_SORT && !first.contains(&thing) {
            first.push(thing);
        }
    }
    first
}
