//! What a campaign tried. Without it, "no violation" says little.

use std::collections::BTreeMap;

use smallvec::SmallVec;
use turncoat_core::message::{Lie, MutationTable};
use turncoat_core::outcome::Outcome;
use turncoat_core::part::Scope;
use turncoat_core::scenario::Scenario;

/// The faults that were planned and the lies that were told, in runs that were executed: a store has no such counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Covered {
    /// How many runs this is about.
    pub runs: u64,
    /// In how many of them a class of faults was planned, by its key in a scenario file.
    pub faults: BTreeMap<&'static str, u64>,
    /// In how many of them a kind of message was lied about in this way. A run counts [`Outcome::LIES_MAX`] at most.
    pub lies: BTreeMap<(u8, Lie), u64>,
}

/// Which lies of a table were told.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Told {
    /// How many.
    pub told: usize,
    /// The names of those that never were.
    pub never: Vec<String>,
    /// The fields, and kinds of messages, about which there was none at all.
    pub honest: Vec<String>,
}

impl Covered {
    /// Adds a run.
    pub fn add(&mut self, scenario: &Scenario, outcome: &Outcome) {
        self.runs += 1;
        let adversary = &scenario.adversary;
        let twins = (!adversary.twins.is_empty()).then_some("twins");
        let effects = adversary.faults.iter().map(|fault| fault.effect.name());
        let mut faults: SmallVec<[&'static str; 8]> = effects.chain(twins).collect();
        faults.sort_unstable();
        faults.dedup();
        for fault in faults {
            *self.faults.entry(fault).or_default() += 1;
        }
        for &lie in &outcome.lies {
            *self.lies.entry(lie).or_default() += 1;
        }
    }

    /// Adds other runs.
    pub fn append(&mut self, later: Self) {
        self.runs += later.runs;
        for (fault, count) in later.faults {
            *self.faults.entry(fault).or_default() += count;
        }
        for (lie, count) in later.lies {
            *self.lies.entry(lie).or_default() += count;
        }
    }

    /// Which of a protocol's lies were told. Crafted ones count where one of them was told: who asks for none is not told that
    /// they are missing.
    pub fn told(&self, table: &MutationTable) -> Told {
        let crafted = self.lies.keys().any(|&(kind, lie)| table.scope(kind, lie) == Scope::Crafted);
        let asked = |&(kind, lie): &(u8, Lie)| crafted || table.scope(kind, lie) != Scope::Crafted;
        let mut lies = Told::default();
        let mut fields: Vec<(String, bool)> = Vec::new();
        for (kind, lie) in table.lies().filter(asked) {
            let told = self.lies.contains_key(&(kind, lie));
            match told {
                true => lies.told += 1,
                false => lies.never.push(table.name(kind, lie)),
            }
            let field = table.field(kind, lie);
            match fields.iter_mut().find(|(name, _)| *name == field) {
                Some((_, any)) => *any |= told,
                None => fields.push((field, told)),
            }
        }
        lies.honest = fields.into_iter().filter(|(_, told)| !told).map(|(field, _)| field).collect();
        lies
    }
}
