//! Liars that depart from the protocol throughout: code with other rules, and belief in their own lies.

use turncoat_core::ids::{NodeId, SeatName};
use turncoat_core::record::{Deviation, How};

use super::claim::{Claim, Line};
use super::read::Run;
use crate::words::{and, count};

/// A time in which an instance ran with bug flags of its own.
struct Spell<'a> {
    seat: SeatName,
    flags: &'a [String],
    from: u64,
    /// What ended it, if anything did: other flags, or none.
    until: Option<(u64, &'a [String])>,
}

impl Run {
    /// What a liar's stances brought about, a line each.
    pub(super) fn stances(&self, node: NodeId) -> Vec<Line> {
        let spells = self.spells(node).into_iter().map(|spell| {
            let when = match (spell.from, spell.until) {
                (0, None) => "Throughout".to_owned(),
                (0, Some((until, _))) => format!("Until step {until}"),
                (from, None) => format!("From step {from} on"),
                (from, Some((until, _))) => format!("Steps {from} to {until}"),
            };
            let text = format!(
                "{when}: {} ran code that deviates from the protocol: {}.",
                spell.seat,
                self.rules_off(spell.flags)
            );
            Line::new(text, spell.claims())
        });
        spells.chain(self.beliefs(node)).collect()
    }

    /// The same in a few words each.
    pub(super) fn stances_in_short(&self, node: NodeId) -> Vec<Line> {
        let spells = self.spells(node).into_iter().map(|spell| {
            let text = format!("ran code that deviates from the protocol ({})", spell.flags.join(", "));
            Line::new(text, spell.claims())
        });
        let believed = self.believed(node);
        let claims: Vec<Claim> = believed.iter().map(|&(deviation, text)| belief(deviation, text)).collect();
        let believed = (!claims.is_empty()).then(|| Line::new("went along with its own lies", claims));
        spells.chain(believed).collect()
    }

    /// Flags in the words of the protocol.
    fn rules_off(&self, flags: &[String]) -> String {
        let words = flags.iter().map(|name| {
            let known = self.entry.flags.iter().find(|flag| flag.name() == *name);
            known.map_or_else(|| name.clone(), |flag| format!("{} ({name})", flag.about))
        });
        and(words)
    }

    /// When which instance of a node ran with flags of its own.
    fn spells(&self, node: NodeId) -> Vec<Spell<'_>> {
        let mut spells: Vec<Spell<'_>> = Vec::new();
        for Deviation { step, seat, how } in self.deviations_of(node) {
            let How::Flags(flags) = how else { continue };
            let open = spells.iter_mut().find(|spell| spell.seat == *seat && spell.until.is_none());
            open.into_iter().for_each(|spell| spell.until = Some((*step, flags)));
            if !flags.is_empty() {
                spells.push(Spell { seat: *seat, flags, from: *step, until: None });
            }
        }
        spells
    }

    /// The lies that a node took for what it had said.
    fn believed(&self, node: NodeId) -> Vec<(&Deviation, &str)> {
        let lies = self.deviations_of(node).filter_map(|deviation| match &deviation.how {
            How::Believed(text) => Some((deviation, text.as_str())),
            How::Flags(_) => None,
        });
        lies.collect()
    }

    fn beliefs(&self, node: NodeId) -> Option<Line> {
        let believed = self.believed(node);
        let &[(first, text), ..] = believed.as_slice() else { return None };
        let message = self.names.short(text);
        let seat = first.seat;
        let (when, often) = match believed.as_slice() {
            [.., (last, _)] if believed.len() > 1 => {
                let all = count(believed.len(), "message", "messages");
                (format!("Steps {} to {}", first.step, last.step), format!(" ({all} in all, this one first)"))
            }
            _ => (format!("Step {}", first.step), String::new()),
        };
        let text = format!(
            "{when}: {seat} went along with its own lie. Its own copy said the same: {message}{often}."
        );
        Some(Line::new(text, believed.iter().map(|&(deviation, text)| belief(deviation, text)).collect()))
    }

    fn deviations_of(&self, node: NodeId) -> impl Iterator<Item = &Deviation> {
        let last = self.last_step();
        self.recording.stances.iter().filter(move |it| it.seat.node == node && it.step <= last)
    }
}

impl Spell<'_> {
    fn claims(&self) -> Vec<Claim> {
        let ran = |step, flags: &[String]| Claim::Ran(self.seat, flags.to_vec(), step);
        let end = self.until.map(|(until, flags)| ran(until, flags));
        [ran(self.from, self.flags)].into_iter().chain(end).collect()
    }
}

fn belief(deviation: &Deviation, text: &str) -> Claim {
    Claim::Believed(deviation.seat, text.to_owned(), deviation.step)
}
