//! What was left to chance becomes explicit: drawn lies get their names, lost messages a fault each.

use std::sync::Arc;

use turncoat_core::fault::{Drawn, Effect, Fault, Mutate, Names, Span, When};
use turncoat_core::ids::SeatName;
use turncoat_core::part::Scope;
use turncoat_core::record::{Event, Recording, What};
use turncoat_core::scenario::{Scenario, SchedulerName, SchedulerSpec, Seed};
use turncoat_core::schedule::{Action, Coordinates};

use super::{LONG, Shrinker};

/// Messages lost by chance that get a fault each.
const LOSSES: usize = 200;

/// The highest number by which a message is sought among those of its sender.
const NTH_MAX: u64 = 6;

impl Shrinker<'_> {
    pub(super) fn make_explicit(&mut self) {
        self.name_lies();
        self.name_losses();
    }

    /// What happened up to the violation, and the choices that led there.
    pub(super) fn record(&mut self) -> (Vec<Event>, Vec<Action>) {
        self.executions += 1 + self.violation.step / LONG;
        let Ok((_, recording)) = self.runner.record(&self.best) else { return Default::default() };
        let Recording { mut events, script, .. } = recording;
        events.retain(|event| event.step <= self.violation.step);
        (events, up_to(script, self.violation.step))
    }

    /// A drawn lie becomes the row that was drawn; several, if it met several kinds of messages.
    fn name_lies(&mut self) {
        let drawn = |fault: &Fault| matches!(fault.effect, Effect::Mutate(Mutate::Drawn(_)));
        if !self.best.adversary.faults.iter().any(drawn) {
            return;
        }
        let mut names: Vec<String> = Vec::new();
        for event in self.record().0 {
            if let What::Lie { name, .. } = event.what
                && !names.contains(&name)
            {
                names.push(name);
            }
        }
        for i in (0..self.best.adversary.faults.len()).rev() {
            let fault = self.best.adversary.faults[i].clone();
            if !drawn(&fault) {
                continue;
            }
            let named = |name: &String| {
                let mut fault = fault.clone();
                fault.effect = Effect::Mutate(Mutate::Named(name.clone()));
                fault
            };
            let one = names.iter().any(|name| {
                let mut candidate = self.best.clone();
                candidate.adversary.faults[i] = named(name);
                self.attempt(candidate, || format!("the drawn lie is {name}"))
            });
            // The value that the seed draws may matter.
            let with_seed = |name: &String| {
                let mut fault = fault.clone();
                if let Effect::Mutate(Mutate::Drawn(drawn)) = &mut fault.effect {
                    drawn.only = vec![name.clone()];
                }
                fault
            };
            let one = one
                || names.iter().any(|name| {
                    let mut candidate = self.best.clone();
                    candidate.adversary.faults[i] = with_seed(name);
                    self.attempt(candidate, || format!("the drawn lie is {name}, with its value"))
                });
            if !one {
                let mut candidate = self.best.clone();
                candidate.adversary.faults.splice(i..=i, names.iter().map(named));
                self.attempt(candidate, || format!("the drawn lies are {}", names.join(", ")));
            }
        }
    }

    /// Losses with a probability become one fault for each message lost; so do bits flipped in what then did not
    /// decode.
    fn name_losses(&mut self) {
        let chance = |fault: &Fault| {
            matches!(fault.effect, Effect::Drop | Effect::Flip(_)) && fault.when.permille.is_some()
        };
        if !self.best.adversary.faults.iter().any(chance) {
            return;
        }
        let losses: Vec<Fault> = self.record().0.iter().filter_map(loss).take(LOSSES).collect();
        for flips_too in [true, false] {
            let mut candidate = self.best.clone();
            let goes = |fault: &Fault| chance(fault) && (flips_too || fault.effect == Effect::Drop);
            candidate.adversary.faults.retain(|fault| !goes(fault));
            candidate.adversary.faults.extend(losses.iter().cloned());
            let count = losses.len();
            if self.attempt(candidate, || format!("{count} messages lost by chance are named")) {
                self.number_losses();
                return;
            }
        }
    }

    /// A message named by the step at which it was sent is named by its number instead, where that means the same run:
    /// then cutting one fault leaves the others alone.
    fn number_losses(&mut self) {
        if self.violation.step > 4 * LONG {
            return;
        }
        let fingerprint =
            |it: &mut Self, scenario: &Scenario| it.run(scenario).map(|(_, outcome)| outcome.fingerprint);
        let best = self.best.clone();
        let same = fingerprint(self, &best);
        for i in 0..self.best.adversary.faults.len() {
            if self.best.adversary.faults[i].when.step.is_none() {
                continue;
            }
            for nth in 1..=NTH_MAX {
                let mut candidate = self.best.clone();
                let when = &mut candidate.adversary.faults[i].when;
                (when.step, when.nth) = (None, Some(Span::At(nth)));
                if fingerprint(self, &candidate) == same
                    && self.attempt(candidate, || format!("a lost message is the sender's number {nth}"))
                {
                    break;
                }
            }
        }
    }

    /// What a random scheduler, or a script, did to messages, as faults under a plain scheduler.
    pub(super) fn as_faults(&self, script: &[Action]) -> Scenario {
        let mut candidate = self.best.clone();
        let message = |message: &Coordinates, effect| Fault {
            when: When {
                from: vec![message.src],
                to: vec![message.dst],
                kind: message.kind.as_str().into(),
                nth: Some(Span::At(message.nth.into())),
                ..When::default()
            },
            effect,
        };
        candidate.adversary.faults.extend(script.iter().filter_map(|action| match action {
            Action::Drop(lost) => Some(message(lost, Effect::Drop)),
            Action::Duplicate(twice) => Some(message(twice, Effect::Duplicate(1))),
            Action::Mutate(changed, name, seed) => {
                let mut fault = message(changed, Effect::Mutate(one_row(name, *seed)));
                fault.when.kind = Names::default();
                Some(fault)
            }
            _ => None,
        }));
        candidate.scheduler =
            Arc::new(SchedulerSpec { name: SchedulerName::Timed, ..SchedulerSpec::default() });
        candidate
    }
}

/// A lie by name, with the value that a seed draws for it.
pub(super) fn one_row(name: &str, seed: u64) -> Mutate {
    match seed {
        0 => Mutate::Named(name.to_owned()),
        _ => Mutate::Drawn(Drawn { seed: Seed(seed), scope: Scope::Any, only: vec![name.to_owned()] }),
    }
}

/// The choices up to an event, or up to the calm phase, which begins by itself when a script ends.
fn up_to(script: Vec<Action>, step: u64) -> Vec<Action> {
    let mut steps = 0;
    let mut before = |action: &Action| {
        let within = steps < step && *action != Action::Calm;
        steps += u64::from(matches!(action, Action::Deliver(_) | Action::Drop(_) | Action::Fire(..)));
        within
    };
    script.into_iter().take_while(|action| before(action)).collect()
}

/// A fault that loses what was lost.
fn loss(event: &Event) -> Option<Fault> {
    let What::Drop { src, dst, text } = &event.what else { return None };
    let one = |seat: &SeatName| vec![*seat];
    let when = When {
        from: one(src),
        to: one(dst),
        kind: text.split(' ').next().unwrap_or_default().into(),
        step: Some(Span::At(event.step)),
        ..When::default()
    };
    Some(Fault { when, effect: Effect::Drop })
}
