//! A portfolio: several strategies, each with a fixed share of the runs.
//!
//! No strategy is best on all bugs. One that finds a bug in each of a thousand runs needs two thousand here if half of the
//! runs are its own, and a bug that it never finds is left to the others. Shares are constants, so each run can be made
//! again by its index alone, and runs stay independent.

use std::slice;

use turncoat_core::rng::Rng;
use turncoat_core::scenario::Scenario;
use turncoat_core::strategy::Strategy;

use crate::liars::LIARS_DRAWN;
use crate::params::Params;
use crate::{Info, StrategyError, byzzfuzz, random, twins, two_faced};

pub(crate) const INFO: Info = Info {
    name: "portfolio",
    about: "of 20 runs, 10 two-faced, 6 random with free timers, 2 twins, 2 byzzfuzz",
    params: &[LIARS_DRAWN],
    make: |base, params| Ok(Box::new(Portfolio::new(base, params)?)),
};

/// Whose turn it is, by the index of the run modulo 20.
const TURNS: [usize; 20] = [0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 1, 0, 2, 0, 1, 0, 3, 0, 1];

struct Portfolio([Box<dyn Strategy + Send>; 4]);

impl Portfolio {
    fn new(base: &Scenario, params: &Params<'_>) -> Result<Self, StrategyError> {
        let given = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let liars = params.typed(LIARS_DRAWN.name, |text| Ok(given(LIARS_DRAWN.name, text)))?;
        // A mistake is one of the portfolio's: nobody has asked for its parts.
        let make = |info: &Info, given: &[(String, String)]| {
            let mut part = Params::new(info, given)?;
            part.strategy = params.strategy;
            (info.make)(base, &part)
        };
        Ok(Self([
            make(&two_faced::INFO, slice::from_ref(&liars))?,
            make(&random::INFO, &[given("scope", "small"), liars.clone()])?,
            make(&twins::INFO, &[])?,
            make(&byzzfuzz::INFO, &[liars])?,
        ]))
    }
}

impl Strategy for Portfolio {
    fn next(&mut self, index: u64, rng: &mut Rng) -> Scenario {
        self.0[TURNS[(index % 20) as usize]].next(index, rng)
    }
}
