//! A portfolio: several strategies, each with a fixed share of the runs.
//!
//! No strategy is best on all bugs. One that finds a bug in each of a thousand runs needs two thousand here if half of the
//! runs are its own, and a bug that it never finds is left to the others. Shares are constants, so each run can be made
//! again by its index alone, and runs stay independent.

use turncoat_core::rng::Rng;
use turncoat_core::scenario::Scenario;
use turncoat_core::strategy::Strategy;

use crate::params::Params;
use crate::{Info, StrategyError, byzzfuzz, random, twins, two_faced};

pub(crate) const INFO: Info = Info {
    name: "portfolio",
    about: "of 20 runs, 10 two-faced, 6 random with free timers, 2 twins, 2 byzzfuzz",
    params: &[],
    make: |base, _| Ok(Box::new(Portfolio::new(base)?)),
};

/// Whose turn it is, by the index of the run modulo 20.
const TURNS: [usize; 20] = [0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 1, 0, 2, 0, 1, 0, 3, 0, 1];

struct Portfolio([Box<dyn Strategy + Send>; 4]);

impl Portfolio {
    fn new(base: &Scenario) -> Result<Self, StrategyError> {
        let small = [("scope".to_owned(), "small".to_owned())];
        let make = |info: &Info, given: &[(String, String)]| (info.make)(base, &Params::new(info, given)?);
        Ok(Self([
            make(&two_faced::INFO, &[])?,
            make(&random::INFO, &small)?,
            make(&twins::INFO, &[])?,
            make(&byzzfuzz::INFO, &[])?,
        ]))
    }
}

impl Strategy for Portfolio {
    fn next(&mut self, index: u64, rng: &mut Rng) -> Scenario {
        self.0[TURNS[(index % 20) as usize]].next(index, rng)
    }
}
