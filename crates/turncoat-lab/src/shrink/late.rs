//! Order without a script: what comes late, as faults under the scheduler `timed`.
//!
//! A recorded run is timed anew. Every message takes the same time, and is late by as much as it takes to arrive after
//! what its receiver heard before it; a timer that fires at a moment is a fault as well. Most messages are not late, and
//! of those that are, most need not be.

use std::collections::BTreeMap;
use std::sync::Arc;

use turncoat_core::fault::{Effect, Fault, Span, When};
use turncoat_core::ids::{SeatName, Time};
use turncoat_core::record::Recording;
use turncoat_core::scenario::{Latency, Scenario};
use turncoat_core::schedule::{Action, Coordinates};

use super::Shrinker;
use super::copies::{Copies, Row};
use super::explicit::one_row;
use super::order::{choices, up_to};
use crate::words;

/// Ticks that every message takes.
const TICKS: u64 = 10;

/// More faults than this are no help.
const MOST: usize = 400;

/// How messages are named, from the roughest way to the most exact.
#[derive(Clone, Copy, PartialEq)]
enum Named {
    /// Late ones by their link and kind, if they are later than others are on the way.
    Links,
    /// By their number.
    Numbers,
    /// By the time at which they were sent.
    Moments,
}

/// What was done to a message that was sent at a time.
struct Meddling<'a> {
    message: Row<'a>,
    sent: u64,
    effect: Effect,
}

impl Shrinker<'_> {
    /// Away from a random scheduler and from a script: what they did to messages are faults, and so is what came late, if
    /// the order matters.
    pub(super) fn late_messages(&mut self) {
        if self.plain() {
            return;
        }
        let recording = self.record();
        let copies = Copies::of(&recording);
        let end = choices(up_to(&recording.script, self.violation.step)).map(|(step, _)| step).max();
        let end = end.unwrap_or_default();
        let (meddlings, _) = timed_anew(&recording, &copies, end);
        let done = meddlings.iter().filter(|meddling| !matches!(meddling.effect, Effect::Delay(_)));
        let candidate = self.with_faults(done.filter_map(|meddling| Named::Numbers.fault(meddling)));
        let some = candidate.adversary.faults.len() > self.best.adversary.faults.len();
        if some && self.without_chance(&candidate) {
            return;
        }
        for end in [end, self.violation.step] {
            let (meddlings, fires) = timed_anew(&recording, &copies, end);
            for named in [Named::Links, Named::Numbers, Named::Moments] {
                let faults = meddlings.iter().filter_map(|meddling| named.fault(meddling));
                let mut candidate = self.with_faults(faults.chain(fires.iter().cloned()));
                Arc::make_mut(&mut candidate.network).latency = Latency::Constant(Time(TICKS));
                let count = candidate.adversary.faults.len();
                let words = format!("{} instead of a script", words::count(count, "fault", "faults"));
                if count <= MOST && self.attempt_cut(candidate, words) {
                    return;
                }
            }
        }
    }

    /// The scenario with more faults, under a plain scheduler.
    fn with_faults(&self, more: impl Iterator<Item = Fault>) -> Scenario {
        let mut candidate = Scenario { scheduler: Arc::default(), ..self.best.clone() };
        for fault in more {
            if !candidate.adversary.faults.contains(&fault) {
                candidate.adversary.faults.push(fault);
            }
        }
        candidate
    }
}

/// What happens up to an event if all messages take the same time: what is done to messages, and the timers.
fn timed_anew<'a>(recording: &Recording, copies: &Copies<'a>, end: u64) -> (Vec<Meddling<'a>>, Vec<Fault>) {
    let lies: Vec<_> = recording.script.iter().filter_map(lie).collect();
    let mut times: BTreeMap<u64, u64> = BTreeMap::from([(0, 0)]);
    let mut last: BTreeMap<SeatName, u64> = BTreeMap::new();
    let (mut meddlings, mut fires) = (Vec::new(), Vec::new());
    for (step, action) in choices(&recording.script) {
        if let Action::Fire(seat, _) = action {
            if step <= end {
                let time = last.get(seat).copied().unwrap_or_default() + 1;
                last.insert(*seat, time);
                times.insert(step, time);
                let when = When { time: Some(Span::At(time)), ..When::default() };
                fires.push(Fault { when, effect: Effect::Fire(*seat) });
            }
            continue;
        }
        let Some(message) = copies.arrived(step) else { continue };
        // Sent after the end: nothing has to be said about it.
        let Some(&sent) = times.get(&message.copy.sent) else { continue };
        let mut meddle = |effect| meddlings.push(Meddling { message, sent, effect });
        let Action::Deliver(coordinates) = action else {
            meddle(Effect::Drop);
            continue;
        };
        let lie = lies.iter().find(|(changed, _)| *changed == coordinates);
        lie.into_iter().for_each(|(_, lie)| meddle(lie.clone()));
        let natural = sent + TICKS;
        let before = last.entry(message.copy.dst).or_default();
        let time = natural.max(*before + 1);
        match time - natural {
            0 => {}
            delay if step <= end => meddle(Effect::Delay(Time(delay))),
            // Any time after the end will do.
            delay => meddle(Effect::Delay(Time(rounded(delay)))),
        }
        if step <= end {
            *before = time;
            times.insert(step, time);
        }
    }
    (meddlings, fires)
}

/// The lie that a scheduler tells in a message on its way.
fn lie(action: &Action) -> Option<(&Coordinates, Effect)> {
    match action {
        Action::Mutate(message, name, seed) => Some((message, Effect::Mutate(one_row(name, *seed)))),
        _ => None,
    }
}

impl Named {
    fn fault(self, Meddling { message, sent, effect }: &Meddling<'_>) -> Option<Fault> {
        match (self, effect) {
            (Self::Links, Effect::Delay(Time(..TICKS))) => None,
            (Self::Links, Effect::Delay(Time(delay))) => {
                Some(message.on_link(Effect::Delay(Time(rounded(*delay)))))
            }
            (Self::Moments, _) => {
                let mut fault = message.on_link(effect.clone());
                fault.when.time = Some(Span::At(*sent));
                Some(fault)
            }
            (Self::Links | Self::Numbers, _) => Some(message.numbered(effect.clone())),
        }
    }
}

/// The next power of ten.
const fn rounded(ticks: u64) -> u64 {
    10u64.pow(ticks.ilog10() + 1)
}
