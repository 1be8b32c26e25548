//! Signatures: what violations have in common, so that thousands read as a few kinds.
//!
//! Two violations are of one kind if they break the same rule of the same property, after lies about the same fields of
//! the same kinds of messages, under plans of the same shape. Numbers, nodes and rounds do not matter, nor do lies that
//! nobody believed.

use std::collections::BTreeMap;

use smallvec::SmallVec;
use turncoat_core::fault::{Effect, Fault};
use turncoat_core::message::{Lie, MutationTable};
use turncoat_core::outcome::{Outcome, Property, Violation};
use turncoat_core::scenario::Scenario;

/// Fields that a signature names one by one. More lies are many.
const FIELDS_MAX: usize = 3;

/// What the words of a signature are made of. Different traits may have the same words.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Traits {
    property: Property,
    rule: &'static str,
    lies: SmallVec<[(u8, Lie); 4]>,
    /// The effects of the plan other than lies, with how many faults have them.
    effects: SmallVec<[(&'static str, usize); 2]>,
}

impl Traits {
    /// Those of a violation in a run.
    pub fn of(violation: &Violation, scenario: &Scenario, outcome: &Outcome) -> Self {
        let adversary = &scenario.adversary;
        let mut effects: SmallVec<[(&'static str, usize); 2]> = SmallVec::new();
        for Fault { effect, .. } in &adversary.faults {
            match effects.iter_mut().find(|(name, _)| *name == effect.name()) {
                // What was planned may not have been told; what was told is known.
                None if !matches!(effect, Effect::Mutate(_)) => effects.push((effect.name(), 1)),
                None => {}
                Some((_, count)) => *count += 1,
            }
        }
        let twins = adversary.twins.len();
        effects.extend((twins > 0).then_some(("twin", twins)));
        effects.sort();
        let Violation { property, rule, .. } = *violation;
        // Silence needs no believer.
        let matters = |(_, lie): &&(u8, Lie)| outcome.injected.accepted > 0 || *lie == Lie::Omit;
        let mut lies: SmallVec<[(u8, Lie); 4]> = outcome.lies.iter().filter(matters).copied().collect();
        lies.sort_unstable();
        Self { property, rule, lies, effects }
    }

    /// In words: `agreement (slot): lies about pre-prepare.seq; 1 partition`.
    pub fn words(&self, table: &MutationTable) -> String {
        let mut fields: Vec<String> = self.lies.iter().map(|&(kind, lie)| table.field(kind, lie)).collect();
        fields.sort();
        fields.dedup();
        let lies = match fields.len() {
            0 => "no lies".to_owned(),
            1..=FIELDS_MAX => format!("lies about {}", fields.join(", ")),
            _ => "many lies".to_owned(),
        };
        let faults = self.effects.iter().map(|(effect, count)| format!("; {count} {effect}"));
        faults.fold(format!("{} ({}): {lies}", self.property, self.rule), |words, fault| words + &fault)
    }
}

/// The kinds of violations seen, each with a number, from 0 in the order in which they were seen.
#[derive(Clone, Debug, Default)]
pub struct Kinds {
    numbers: BTreeMap<String, u32>,
    known: BTreeMap<Traits, u32>,
}

impl Kinds {
    /// The number of a kind, and its words if nobody has seen it before.
    pub fn number(&mut self, traits: Traits, table: &MutationTable) -> (u32, Option<String>) {
        if let Some(&number) = self.known.get(&traits) {
            return (number, None);
        }
        let words = traits.words(table);
        let new = self.numbers.len() as u32;
        let number = *self.numbers.entry(words.clone()).or_insert(new);
        self.known.insert(traits, number);
        (number, (number == new).then_some(words))
    }
}
