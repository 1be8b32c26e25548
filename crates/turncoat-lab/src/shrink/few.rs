//! One or two faults instead of many.
//!
//! Cutting a long list down ends where no single cut is possible, often with more faults than it takes: each was drawn
//! for a run in which the others happened too. So the other way round as well: of all that happened to messages in the
//! run, one thing is tried alone, then two together, each for the whole run and under a plain scheduler.

use std::sync::Arc;

use turncoat_core::fault::{Effect, Fault, Mutate, When};
use turncoat_core::ids::{SeatName, Time};
use turncoat_core::outcome::Property;
use turncoat_core::record::What;
use turncoat_core::scenario::{SchedulerName, SchedulerSpec, Seed};
use turncoat_core::schedule::Action;

use super::explicit::one_row;
use super::{Shrinker, rank};

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
        let pairs = things
            .iter()
            .enumerate()
            .flat_map(|(i, one)| things[i + 1..].iter().map(move |other| (0, vec![one, other])));
        let most = self.executions + MOST;
        for (seed, faults) in alone.chain(pairs) {
            let mut candidate = self.best.clone();
            candidate.seed = Seed(seed);
            candidate.scheduler = Arc::new(SchedulerSpec::default());
            candidate.adversary.faults = faults.into_iter().cloned().collect();
            let count = candidate.adversary.faults.len();
            if self.executions > most || self.attempt(candidate, || format!("{count} faults do what all did"))
            {
                return;
            }
        }
    }

    /// What happened to messages in the run, as faults: each once, for the whole run.
    fn things(&mut self) -> Vec<Fault> {
        let (mut events, mut script) = self.record();
        // What happened last matters most, unless nothing happens any more.
        if !matches!(self.violation.property, Property::Termination) {
            events.reverse();
            script.reverse();
        }
        let lie_to = |dst: SeatName, lie| Fault {
            when: When { to: vec![dst], ..When::default() },
            effect: Effect::Mutate(lie),
        };
        let own = self.best.adversary.faults.iter().filter(|fault| !rank::drawn(fault)).cloned();
        let lies = events.iter().filter_map(|event| match &event.what {
            What::Lie { dst, name, .. } => Some(lie_to(*dst, Mutate::Named(name.clone()))),
            _ => None,
        });
        let values = script.iter().filter_map(|action| match action {
            Action::Mutate(message, name, seed @ 1..) => Some(lie_to(message.dst, one_row(name, *seed))),
            _ => None,
        });
        let losses = events.iter().filter_map(|event| match &event.what {
            What::Drop { src, dst, text } => Some(on_link(*src, *dst, text, Effect::Drop)),
            _ => None,
        });
        // A plain scheduler keeps the order in which messages were sent, more or less.
        let ordered = matches!(self.best.scheduler.name, SchedulerName::Timed | SchedulerName::Fifo);
        let late = events.iter().filter_map(|event| match &event.what {
            What::Deliver { src, dst, text, .. } if !ordered => {
                Some(on_link(*src, *dst, text, Effect::Delay(LATE)))
            }
            _ => None,
        });
        let mut things = Vec::new();
        first_of(own, &mut things);
        first_of(lies, &mut things);
        first_of(values, &mut things);
        first_of(losses, &mut things);
        first_of(late, &mut things);
        things
    }
}

/// Adds the first few that are not there yet.
fn first_of(some: impl Iterator<Item = Fault>, things: &mut Vec<Fault>) {
    let most = things.len() + OF_A_SORT;
    for thing in some {
        if things.len() < most && !things.contains(&thing) {
            things.push(thing);
        }
    }
}

/// A fault for all messages on a link that are of the kind of this one, whose text starts with it.
fn on_link(src: SeatName, dst: SeatName, text: &str, effect: Effect) -> Fault {
    let kind = text.split(' ').next().unwrap_or_default().into();
    Fault { when: When { from: vec![src], to: vec![dst], kind, ..When::default() }, effect }
}
