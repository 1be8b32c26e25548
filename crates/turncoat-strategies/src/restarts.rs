//! Replicas stop and start again, beside the lies and partitions of ByzzFuzz.
//!
//! Some correct replicas are drawn for each run; each time one of them stops after a random number of events, and starts
//! again some events later. What is handed to it in between is lost. With its memory (`memory=kept`) it has what a node of its
//! protocol keeps on disk; without, it is a new node under an old name (amnesia), which counts as Byzantine from then on.
//!
//! Whoever stops counts as faulty, as the papers have it. So a liar besides is over the budget of four replicas, and must be allowed
//! (`cluster.over-budget`): an implementation with a log claims to tolerate it.

use serde::Deserialize;
use turncoat_core::fault::{Effect, Fault, Restart, Span, When};
use turncoat_core::ids::{NodeId, SeatName};
use turncoat_core::rng::Rng;
use turncoat_core::scenario::Scenario;
use turncoat_core::strategy::Strategy;

use crate::liars::{LIAR, LIARS_F};
use crate::params::{Param, Params};
use crate::{Info, StrategyError, byzzfuzz};

pub(crate) const INFO: Info = Info {
    name: "restarts",
    about: "replicas stop and restart, in addition to lies and partitions as in byzzfuzz",
    params: &[
        Param { name: "nodes", default: "1", about: "how many correct replicas stop" },
        Param { name: "stops", default: "2", about: "how many times each of them stops" },
        Param {
            name: "memory",
            default: "kept",
            about: "what they restart with: kept (their state on disk) or lost (nothing)",
        },
        Param { name: "within", default: "300", about: "each stop happens within this many events" },
        Param { name: "down", default: "100", about: "each restart follows at most this many events later" },
        Param { name: "c", default: "0", about: "number of process faults: lies of a Byzantine replica" },
        Param { name: "d", default: "1", about: "number of network faults: partitions" },
        Param { name: "r", default: "8", about: "number of rounds in which lies and partitions happen" },
        LIAR,
        Param { default: "1", ..LIARS_F },
    ],
    make: |base, params| Ok(Box::new(Restarts::new(base, params)?)),
};

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Memory {
    Kept,
    Lost,
}

struct Restarts {
    faults: Box<dyn Strategy + Send>,
    n: usize,
    nodes: usize,
    stops: u32,
    memory: Memory,
    within: u32,
    down: u32,
}

impl Restarts {
    fn new(base: &Scenario, params: &Params<'_>) -> Result<Self, StrategyError> {
        let (n, f) = (base.cluster.n, base.cluster.f);
        let nodes = params.number("nodes", 1..=n as u32)? as usize;
        let lies = params.number("c", 0..=1000)? > 0;
        let faulty = nodes + usize::from(lies);
        if faulty > f && !base.cluster.over_budget {
            let why = format!(
                "{faulty} faulty replicas exceed cluster.f = {f}: who stops counts; allow it (--over-budget)"
            );
            return Err(StrategyError::Unfit { strategy: params.strategy, why });
        }
        if faulty > n {
            let why = format!("of {n} replicas {nodes} cannot stop while another one lies");
            return Err(StrategyError::Unfit { strategy: params.strategy, why });
        }
        let passed = params.passed(&["c", "d", "r", LIAR.name, LIARS_F.name])?;
        Ok(Self {
            faults: (byzzfuzz::INFO.make)(base, &params.part(&byzzfuzz::INFO, &passed)?)?,
            n,
            nodes,
            stops: params.number("stops", 1..=1000)?,
            memory: params.word("memory")?,
            within: params.number("within", 1..=1_000_000)?,
            down: params.number("down", 1..=1_000_000)?,
        })
    }

    /// A replica stops, and starts again.
    fn stop(&self, node: NodeId, rng: &mut Rng) -> [Fault; 2] {
        let (seat, stop) = (SeatName::from(node), u64::from(1 + rng.below(self.within)));
        let start = stop + u64::from(1 + rng.below(self.down));
        let at = |step| When { step: Some(Span::At(step)), ..When::default() };
        let restart = Restart { node: seat, state: self.memory == Memory::Kept };
        [
            Fault { when: at(stop), effect: Effect::Crash(seat) },
            Fault { when: at(start), effect: Effect::Restart(restart) },
        ]
    }
}

impl Strategy for Restarts {
    fn next(&mut self, index: u64, rng: &mut Rng) -> Scenario {
        let mut scenario = self.faults.next(index, rng);
        let mut draws = Rng::stream(rng.bits(), 0);
        let mut correct: Vec<NodeId> = (0..self.n)
            .map(NodeId::replica)
            .filter(|&node| !scenario.adversary.byzantine.contains(node))
            .collect();
        for _ in 0..self.nodes.min(correct.len()) {
            let node = correct.swap_remove(draws.index(correct.len()));
            for _ in 0..self.stops {
                scenario.adversary.faults.extend(self.stop(node, &mut draws));
            }
        }
        scenario
    }
}
