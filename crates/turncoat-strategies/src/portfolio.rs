//! A portfolio: several strategies, each with a fixed share of the runs.
//!
//! No strategy is best on all bugs. One that finds a bug in each of a thousand runs needs two thousand here if half of the
//! runs are its own, and a bug that it never finds is left to the others. Shares are constants, so each run can be made
//! again by its index alone, and runs stay independent.
//!
//! In the wide mix most runs are short, and judged for safety alone: hardly any violation of safety comes late, and a run that
//! gets nowhere takes as many steps as a hundred others. The rest is long, and judged for termination too.

use std::sync::Arc;

use serde::Deserialize;
use turncoat_core::rng::Rng;
use turncoat_core::scenario::Scenario;
use turncoat_core::strategy::Strategy;

use crate::liars::LIARS_DRAWN;
use crate::params::{Param, Params};
use crate::{Info, StrategyError, byzzfuzz, lasting, random, stalls, swarm, twins, two_faced};

pub(crate) const INFO: Info = Info {
    name: "portfolio",
    about: "a mix: of 20 runs, 10 are two-faced, 6 random with free timers, 2 twins and 2 byzzfuzz",
    params: &[
        LIARS_DRAWN,
        Param {
            name: "mix",
            default: "classic",
            about: "classic, or wide: of 20 runs 5 two-faced, 4 lasting, 4 swarm, 3 stalls, 2 random, 1 twins that may lie, 1 byzzfuzz, and 16 are short",
        },
        SHORT,
        Param { name: "steps", default: "1500", about: "events of a short run; more in larger clusters" },
    ],
    make: |base, params| Ok(Box::new(Portfolio::new(base, params)?)),
};

/// How many runs are short.
pub(crate) const SHORT: Param = Param {
    name: "short",
    default: "mix",
    about: "percentage of runs that are short and judged for safety alone, in steps of 20; mix: 0 (classic) or 80 (wide)",
};

/// Which strategies, and which runs are theirs.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Mix {
    Classic,
    Wide,
}

impl Mix {
    /// Whose turn it is, by the index of the run modulo 20.
    const fn turns(self) -> [usize; 20] {
        match self {
            Self::Classic => [0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 1, 0, 2, 0, 1, 0, 3, 0, 1],
            Self::Wide => [0, 4, 5, 6, 0, 1, 4, 5, 0, 6, 4, 2, 5, 0, 1, 6, 4, 5, 0, 3],
        }
    }

    /// The percentage of short runs.
    const fn short(self) -> u64 {
        match self {
            Self::Classic => 0,
            Self::Wide => 80,
        }
    }
}

struct Portfolio {
    mix: Mix,
    parts: Vec<Box<dyn Strategy + Send>>,
    /// The percentage of short runs of each part.
    short: u64,
    /// Events of a short run.
    steps: u64,
}

impl Portfolio {
    fn new(base: &Scenario, params: &Params<'_>) -> Result<Self, StrategyError> {
        let mix: Mix = params.word("mix")?;
        let short = params.typed(SHORT.name, |text| match (text, text.parse()) {
            ("mix", _) => Ok(mix.short()),
            (_, Ok(percent @ 0..=100)) => Ok(percent),
            _ => Err("neither a percentage nor `mix`".to_owned()),
        })?;
        let liars = params.passed(&[LIARS_DRAWN.name])?;
        let small = [vec![("scope".to_owned(), "small".to_owned())], liars.clone()].concat();
        let twins_lie = match mix {
            Mix::Classic => Vec::new(),
            Mix::Wide => vec![("lies".to_owned(), "2".to_owned())],
        };
        let make = |info: &Info, given: &[(String, String)]| (info.make)(base, &params.part(info, given)?);
        let mut parts = vec![
            make(&two_faced::INFO, &liars)?,
            make(&random::INFO, &small)?,
            make(&twins::INFO, &twins_lie)?,
            make(&byzzfuzz::INFO, &liars)?,
        ];
        if mix == Mix::Wide {
            parts.extend([
                make(&lasting::INFO, &liars)?,
                make(&swarm::INFO, &liars)?,
                make(&stalls::INFO, &liars)?,
            ]);
        }
        // What a decision costs grows with the square of the number of replicas.
        let (pairs, steps) =
            ((base.cluster.n * base.cluster.n) as u64, params.number("steps", 1..=1_000_000)?);
        Ok(Self { mix, parts, short, steps: u64::from(steps) * pairs.max(16) / 16 })
    }
}

impl Strategy for Portfolio {
    /// Each part counts its own runs, so that one that goes through a list of scenarios leaves none of them out.
    fn next(&mut self, index: u64, rng: &mut Rng) -> Scenario {
        let turns = self.mix.turns();
        let (round, turn) = (index / turns.len() as u64, (index % turns.len() as u64) as usize);
        let part = turns[turn];
        let count = |turns: &[usize]| turns.iter().filter(|&&other| other == part).count() as u64;
        let own = round * count(&turns) + count(&turns[..turn]);
        let mut scenario = self.parts[part].next(own, rng);
        if own % 5 * 20 < self.short {
            Arc::make_mut(&mut scenario.limits).short.get_or_insert(self.steps);
        }
        scenario
    }
}
