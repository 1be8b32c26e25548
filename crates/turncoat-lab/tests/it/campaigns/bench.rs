//! What the tests of campaigns share: a toy, and a liar who rarely lies.

use std::sync::atomic::AtomicBool;

use turncoat_core::fault::{Effect, Fault, Mutate, When};
use turncoat_core::ids::{NodeId, NodeSet};
use turncoat_core::rng::Rng;
use turncoat_core::runner::Entry;
use turncoat_core::scenario::{Scenario, Seed};
use turncoat_core::strategy::Strategy;
use turncoat_lab::campaign::{BoxError, Campaign, Make, Until};

use crate::toy::toy;

/// In one run of a hundred, p0 tells p3 another slot.
struct RareLiar(Scenario);

impl Strategy for RareLiar {
    fn next(&mut self, _: u64, rng: &mut Rng) -> Scenario {
        let mut scenario = self.0.clone();
        if rng.below(100) == 0 {
            let to_p3 = When { to: vec![NodeId::replica(3).into()], ..When::default() };
            let lie = Effect::Mutate(Mutate::Named("order.slot+1".to_owned()));
            scenario.adversary.byzantine = NodeSet::one(NodeId::replica(0));
            scenario.adversary.faults = vec![Fault { when: to_p3, effect: lie }];
        }
        scenario
    }
}

pub(crate) fn rare_liar(base: &Scenario) -> Result<Box<dyn Strategy + Send>, BoxError> {
    Ok(Box::new(RareLiar(base.clone())))
}

/// What the tests of one campaign share.
pub(crate) struct Bench {
    pub(crate) entry: Entry,
    base: Scenario,
    pub(crate) stop: AtomicBool,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self { entry: toy(), base: Scenario::new("toy"), stop: AtomicBool::new(false) }
    }

    pub(crate) fn campaign<'a>(&'a self, make: &'a Make<'a>) -> Campaign<'a> {
        Campaign {
            entry: &self.entry,
            base: &self.base,
            make,
            seed: Seed(7),
            runs: Some(1003),
            jobs: 1,
            until: Until::Never,
            stop: &self.stop,
            suspects: None,
        }
    }
}
