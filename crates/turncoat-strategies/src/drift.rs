//! Clocks that drift and jump, beside the lies and partitions of ByzzFuzz.
//!
//! Each node has a clock that is too fast or too slow by a share of its own, drawn for each run, from its start to its end; and a
//! few clocks jump ahead at random times. No message is later or earlier for that: only timers, and what nodes read off their
//! clocks, are.
//!
//! Where a protocol assumes that messages and clocks are on time from the start, this is outside of what it promises, so
//! there must be a network that is not (`--beyond synchrony`).

use std::sync::Arc;

use turncoat_core::fault::{Effect, Fault, Jump, Span, When};
use turncoat_core::ids::{NodeId, Time};
use turncoat_core::rng::Rng;
use turncoat_core::scenario::{Gst, Scenario};
use turncoat_core::strategy::Strategy;

use crate::liars::{LIAR, LIARS_F};
use crate::params::{Param, Params};
use crate::{Info, StrategyError, byzzfuzz};

pub(crate) const INFO: Info = Info {
    name: "drift",
    about: "clocks drift and jump, in addition to lies and partitions as in byzzfuzz",
    params: &[
        Param {
            name: "drift",
            default: "100000",
            about: "how fast or slow a clock may be, in parts per million: drawn for each node",
        },
        Param { name: "jumps", default: "2", about: "how many times a clock jumps ahead" },
        Param { name: "by", default: "1000", about: "the most ticks of a jump" },
        Param { name: "within", default: "5000", about: "each jump happens within this many ticks" },
        Param { name: "c", default: "1", about: "number of process faults: lies of the Byzantine replicas" },
        Param { name: "d", default: "1", about: "number of network faults: partitions" },
        Param { name: "r", default: "8", about: "number of rounds in which lies and partitions happen" },
        LIAR,
        LIARS_F,
    ],
    make: |base, params| Ok(Box::new(Drift::new(base, params)?)),
};

/// A clock that is slower by a million parts per million stands still.
const MOST: u32 = 999_999;

struct Drift {
    faults: Box<dyn Strategy + Send>,
    nodes: Vec<NodeId>,
    drift: u32,
    jumps: u32,
    by: u32,
    within: u32,
}

impl Drift {
    fn new(base: &Scenario, params: &Params<'_>) -> Result<Self, StrategyError> {
        if base.network.gst == Some(Gst::Time(Time(0))) {
            let why = "the network is calm from the start, and clocks are on time: leave out `network.gst`, or add \
                       `--beyond synchrony` where the protocol assumes that";
            return Err(StrategyError::Unfit { strategy: params.strategy, why: why.to_owned() });
        }
        let passed = params.passed(&["c", "d", "r", LIAR.name, LIARS_F.name])?;
        let replicas = (0..base.cluster.n).map(NodeId::replica);
        Ok(Self {
            faults: (byzzfuzz::INFO.make)(base, &params.part(&byzzfuzz::INFO, &passed)?)?,
            nodes: replicas.chain((0..base.cluster.clients).map(NodeId::client)).collect(),
            drift: params.number("drift", 0..=MOST)?,
            jumps: params.number("jumps", 0..=1000)?,
            by: params.number("by", 1..=1_000_000)?,
            within: params.number("within", 1..=1_000_000)?,
        })
    }

    /// A clock jumps ahead.
    fn jump(&self, rng: &mut Rng) -> Fault {
        let at = Span::At((1 + rng.below(self.within)).into());
        let jump = Jump { node: (*rng.pick(&self.nodes)).into(), by: Time((1 + rng.below(self.by)).into()) };
        Fault { when: When { time: Some(at), ..When::default() }, effect: Effect::Jump(jump) }
    }
}

impl Strategy for Drift {
    fn next(&mut self, index: u64, rng: &mut Rng) -> Scenario {
        let mut scenario = self.faults.next(index, rng);
        let mut draws = Rng::stream(rng.bits(), 0);
        if self.drift > 0 {
            let ppm = |draws: &mut Rng| draws.below(2 * self.drift + 1) as i32 - self.drift as i32;
            let drift = self.nodes.iter().map(|&node| (node, ppm(&mut draws))).collect();
            Arc::make_mut(&mut scenario.cluster).drift = drift;
        }
        scenario.adversary.faults.extend((0..self.jumps).map(|_| self.jump(&mut draws)));
        scenario
    }
}
