//! ByzzFuzz: a few round-based network and process faults, drawn before the run (Algorithm 1 as published).
//!
//! One replica is Byzantine. Each of `d` network faults splits the replicas in one round, uniformly over all
//! set partitions; each of `c` process faults lets the Byzantine replica lie to a uniform subset of the
//! replicas in one round. Rounds are uniform in `1..=r`, and several faults may share one. A lie does not
//! cross a partition, unless `order=fair` (XRPL thesis, Algorithm 2) gives the round to the process fault.
//!
//! A round that is cut may never end, since who is cut off keeps sending in it. As in the paper's runs, partitions
//! end after a while (`gst`); lies do not.
//!
//! As published, a partition may have one block and a subset may be empty or hold the liar alone: faults that
//! hit nothing count.

use std::sync::Arc;

use serde::Deserialize;
use turncoat_core::fault::{Drawn, Effect, Fault, Mutate, Span, When};
use turncoat_core::ids::{NodeId, SeatName, Time};
use turncoat_core::part::Scope;
use turncoat_core::rng::Rng;
use turncoat_core::scenario::{Gst, Scenario, Seed};
use turncoat_core::strategy::Strategy;

use crate::one_liar::OneLiar;
use crate::params::{Param, Params};
use crate::partitions::SetPartitions;
use crate::{Info, StrategyError};

pub(crate) const INFO: Info = Info {
    name: "byzzfuzz",
    about: "a few partitions and lies, each in a random round (ByzzFuzz, Algorithm 1)",
    params: &[
        Param { name: "c", default: "1", about: "process faults: lies of the Byzantine replica" },
        Param { name: "d", default: "1", about: "network faults: partitions" },
        Param { name: "r", default: "8", about: "faults happen in rounds 1 to r" },
        Param { name: "scope", default: "small", about: "how far a lie may go: small or any" },
        Param {
            name: "order",
            default: "network-first",
            about: "which fault a message meets first: network-first, or fair (a coin per round)",
        },
        Param {
            name: "gst",
            default: "5000",
            about: "ticks after which partitions heal, where the rounds that they cut have not passed before",
        },
    ],
    make: |base, params| Ok(Box::new(ByzzFuzz::new(base, params)?)),
};

/// Which fault goes first where a network and a process fault meet.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Order {
    NetworkFirst,
    Fair,
}

/// The papers stay below 10; plans beyond this are a slip of the keyboard.
const MOST: u32 = 1000;

struct ByzzFuzz {
    one_liar: OneLiar,
    partitions: SetPartitions,
    n: usize,
    c: u32,
    d: u32,
    r: u32,
    scope: Scope,
    order: Order,
}

impl ByzzFuzz {
    fn new(base: &Scenario, params: &Params<'_>) -> Result<Self, StrategyError> {
        let c = params.number("c", 0..=MOST)?;
        let gst = params.number("gst", 1..=u32::MAX)?;
        let mut base = base.clone();
        if base.network.gst.is_none() {
            Arc::make_mut(&mut base.network).gst = Some(Gst::Time(Time(u64::from(gst))));
        }
        Ok(Self {
            one_liar: OneLiar::new(params.strategy, &base, c > 0)?,
            partitions: SetPartitions::of(base.cluster.n),
            n: base.cluster.n,
            c,
            d: params.number("d", 0..=MOST)?,
            r: params.number("r", 1..=MOST)?,
            scope: params.word("scope")?,
            order: params.word("order")?,
        })
    }

    fn round(&self, rng: &mut Rng) -> Option<Span> {
        Some(Span::At(u64::from(1 + rng.below(self.r))))
    }

    fn network_fault(&self, rng: &mut Rng) -> Fault {
        let when = When { round: self.round(rng), ..When::default() };
        let names = |block: Vec<usize>| block.into_iter().map(replica).collect();
        let blocks = self.partitions.draw(rng).into_iter().map(names).collect();
        Fault { when, effect: Effect::Partition(blocks) }
    }

    /// Nothing if it has no receivers: a predicate without receivers would mean all of them.
    fn process_fault(&self, liar: NodeId, rng: &mut Rng) -> Option<Fault> {
        let round = self.round(rng);
        let subset = rng.bits();
        let to: Vec<SeatName> = (0..self.n).filter(|i| subset >> i & 1 == 1).map(replica).collect();
        let lie = Drawn { seed: Seed(rng.bits()), scope: self.scope, only: Vec::new() };
        let effect = Effect::Mutate(Mutate::Drawn(lie));
        let when = When { round, from: vec![liar.into()], to, ..When::default() };
        (!when.to.is_empty()).then_some(Fault { when, effect })
    }
}

impl Strategy for ByzzFuzz {
    /// Each fault has a stream of its own, so that one more of them leaves the others as they are.
    fn next(&mut self, _index: u64, rng: &mut Rng) -> Scenario {
        let (mut scenario, liar) = self.one_liar.next(rng);
        let [network, process, order] = [(); 3].map(|()| rng.bits());
        let network = (0..self.d).map(|i| self.network_fault(&mut Rng::stream(network, u64::from(i))));
        let process =
            (0..self.c).filter_map(|i| self.process_fault(liar, &mut Rng::stream(process, u64::from(i))));
        // As published, the first process fault that matches a message decides.
        scenario.adversary.compose = false;
        scenario.adversary.faults = network.chain(process).collect();
        if self.order == Order::Fair {
            let mut coins = Rng::stream(order, 0);
            scenario.adversary.process_first = (1..=self.r).filter(|_| coins.below(2) == 1).collect();
        }
        scenario
    }
}

fn replica(index: usize) -> SeatName {
    NodeId::replica(index).into()
}
