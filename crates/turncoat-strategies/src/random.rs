//! The random baseline: Algorithm 2 of the hBFT thesis.
//!
//! There is no plan of faults. At each step the scheduler draws among all armed timers, deliverable messages
//! and pending requests by weight; a message may also be lost, or changed if its sender is
//! Byzantine. The weights of a timeout, a delivery and a request are ours: the thesis does not print them.
//!
//! Which message is delivered is up to the scheduler: any of them (`async`), the oldest of some receiver (`sync`, as the thesis
//! says), or the oldest of all (`fifo`, as ByzzBench did it at the time of the thesis).

use std::sync::Arc;

use turncoat_core::rng::Rng;
use turncoat_core::scenario::{Scenario, SchedulerName, SchedulerSpec};
use turncoat_core::strategy::Strategy;

use crate::liars::{LIAR, LIARS_DRAWN, Liars};
use crate::params::{Param, Params};
use crate::{Info, StrategyError};

pub(crate) const INFO: Info = Info {
    name: "random",
    about: "any event may come next; messages are lost or changed at random (hBFT thesis, Algorithm 2)",
    params: &[
        LIAR,
        LIARS_DRAWN,
        Param { name: "timeout", default: "1", about: "weight of each armed timer" },
        Param { name: "deliver", default: "99", about: "weight of each deliverable message" },
        Param { name: "request", default: "99", about: "weight of each pending request" },
        Param { name: "drop", default: "25", about: "weight of losing a deliverable message" },
        Param { name: "mutate", default: "25", about: "weight of changing a deliverable message" },
        Param { name: "scope", default: "any", about: "how far a change may go: small or any" },
        Param {
            name: "only",
            default: "",
            about: "the changes to draw from, by name or field, such as prepare.view,commit.seq+1,omit [default: all]",
        },
        Param {
            name: "timers",
            default: "free",
            about: "free: timers may fire at any time; idle: only when no message can be delivered",
        },
    ],
    make: |base, params| Ok(Box::new(Random::new(base, params)?)),
};

/// Far more than anybody needs, and small enough for sums of weights to stay exact.
const MOST: u32 = 1_000_000;

struct Random(Liars);

impl Random {
    fn new(base: &Scenario, params: &Params<'_>) -> Result<Self, StrategyError> {
        let scheduler = SchedulerSpec {
            name: match base.scheduler.name {
                random @ (SchedulerName::Fifo | SchedulerName::Sync | SchedulerName::Async) => random,
                SchedulerName::Timed | SchedulerName::Script => SchedulerName::Async,
            },
            timeout: params.number("timeout", 0..=MOST)?,
            deliver: params.number("deliver", 0..=MOST)?,
            request: params.number("request", 0..=MOST)?,
            drop: params.number("drop", 0..=MOST)?,
            mutate: params.number("mutate", 0..=MOST)?,
            scope: params.word("scope")?,
            only: params.list("only")?,
            timers: Some(params.word("timers")?),
            script: Vec::new(),
        };
        let lies = scheduler.mutate > 0;
        let base = Scenario { scheduler: Arc::new(scheduler), ..base.clone() };
        Ok(Self(Liars::new(params, &base, lies)?))
    }
}

impl Strategy for Random {
    fn next(&mut self, _index: u64, rng: &mut Rng) -> Scenario {
        self.0.next(rng).0
    }
}
