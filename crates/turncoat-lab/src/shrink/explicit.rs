//! What was left to chance becomes explicit: drawn lies get their names, lost messages a fault each.

use turncoat_core::fault::{Drawn, Effect, Fault, Mutate, Span};
use turncoat_core::part::Scope;
use turncoat_core::record::{Falsehood, What};
use turncoat_core::scenario::Seed;

use super::Shrinker;
use super::copies::{Copies, Row};
use crate::words::count;

/// Messages lost by chance that get a fault each.
const LOSSES: usize = 200;

impl Shrinker<'_> {
    pub(super) fn make_explicit(&mut self) {
        self.name_lies();
        self.name_losses();
    }

    /// A drawn lie becomes the row that was drawn; several, if it met several kinds of messages.
    fn name_lies(&mut self) {
        let drawn = |fault: &Fault| matches!(fault.effect, Effect::Mutate(Mutate::Drawn(_)));
        if !self.best.adversary.faults.iter().any(drawn) {
            return;
        }
        let mut names: Vec<String> = Vec::new();
        let step = self.violation.step;
        for event in self.record().events.into_iter().filter(|event| event.step <= step) {
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

    /// What is lost with a probability, or has a bit flipped, becomes one fault for each message: by its number, or by the
    /// step at which it was sent.
    fn name_losses(&mut self) {
        let flip = |fault: &Fault| matches!(fault.effect, Effect::Flip(_) | Effect::Garble(_));
        let chance =
            |fault: &Fault| (fault.effect == Effect::Drop || flip(fault)) && fault.when.permille.is_some();
        let Some(by_chance) = self.best.adversary.faults.iter().find(|fault| chance(fault)) else { return };
        let flipped = self.best.adversary.faults.iter().find(|fault| chance(fault) && flip(fault));
        let flipped = flipped.unwrap_or(by_chance).effect.clone();
        let recording = self.record();
        let copies = Copies::of(&recording);
        let step = self.violation.step;
        let rows = copies.rows.iter().filter(|row| row.copy.sent <= step);
        let happened = rows.filter_map(|row| match &row.copy.lie {
            _ if row.lost_at_once() => Some((row, Effect::Drop)),
            Some(Falsehood::Changed(_)) => Some((row, flipped.clone())),
            _ => None,
        });
        let happened: Vec<_> = happened.take(LOSSES).collect();
        let by_step = |row: &Row<'_>, effect| {
            let mut fault = row.on_link(effect);
            fault.when.step = Some(Span::At(row.copy.sent));
            fault
        };
        for name in [Row::numbered, by_step] {
            let named: Vec<Fault> = happened.iter().map(|(row, effect)| name(row, effect.clone())).collect();
            let losses: Vec<Fault> = named.iter().filter(|fault| !flip(fault)).cloned().collect();
            // Without flipped bits, with those that arrived, or with all that chance brings.
            for (named, keep_chance) in [(&losses, false), (&named, false), (&losses, true)] {
                let mut candidate = self.best.clone();
                candidate.adversary.faults.retain(|fault| !chance(fault) || keep_chance && flip(fault));
                candidate.adversary.faults.extend(named.iter().cloned());
                let words = || {
                    format!("{} named that chance had chosen", count(named.len(), "fault is", "faults are"))
                };
                if self.attempt(candidate, words) {
                    return;
                }
            }
        }
    }
}

/// A lie by name, with the value that a seed draws for it.
pub(super) fn one_row(name: &str, seed: u64) -> Mutate {
    match seed {
        0 => Mutate::Named(name.to_owned()),
        _ => Mutate::Drawn(Drawn { seed: Seed(seed), scope: Scope::Any, only: vec![name.to_owned()] }),
    }
}
