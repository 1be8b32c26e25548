//! Twins: some identities run twice, and each round has a leader and a partition of its own.
//!
//! The instances of an identity, `p0.a` and `p0.b`, run correct code with one key, each with a state of its own. Apart
//! from each other they equivocate, vote twice and forget, without a lie that somebody had to think of. A scenario says
//! for each round who leads and which nodes hear each other; after the last one the network heals. This is the generator
//! of Bano et al. (Twins: BFT systems made robust), with what others have made of it.
//!
//! A round is a view by default, that which the message is about; whatever has none is of its sender's. Messages between
//! blocks are lost, all others take the same time. The scenarios are numbered ([`space`]), so that run `i` can be
//! scenario `i`; mostly there are too many of them, and runs draw theirs.
//!
//! What is drawn beside that, one-way cuts, delays (for protocols that assume a bound on these: Sync HotStuff) and lies that twins
//! tell besides, is not part of the number. Delays up to delta are within such a model; partitions are not, so it takes `partitions=1`.

mod choices;
mod config;
mod params;
mod space;
mod symmetry;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use turncoat_core::fault::{Effect, Fault, Names, Span, When};
use turncoat_core::ids::{NodeId, SeatName, Time};
use turncoat_core::rng::{Purpose, Rng};
use turncoat_core::scenario::{Adversary, ClusterSpec, Goal, Gst, Latency, Scenario};
use turncoat_core::strategy::{self, Strategy};

use self::config::Configs;
use self::params::{After, Inputs, Leaders, Order, PARAMS, Seconds, Set};
use self::space::Space;
use crate::lasting::Lies;
use crate::params::Params;
use crate::{Info, StrategyError};

pub(crate) const INFO: Info = Info {
    name: "twins",
    about: "some replicas run twice, and each round has its own leader and partition (Twins)",
    params: PARAMS,
    make: |base, params| Ok(Box::new(Twins::new(base, params)?)),
};

struct Twins {
    base: Scenario,
    set: Set,
    configs: Configs,
    space: Space,
    /// What twins may say that is not the protocol's, if they may.
    lies: Option<Lies>,
    /// The most ticks that a message takes without a delay.
    latency: u64,
}

impl Twins {
    fn new(base: &Scenario, params: &Params<'_>) -> Result<Self, StrategyError> {
        let unfit = |why: String| StrategyError::Unfit { strategy: params.strategy, why };
        let set = Set::read(params, base.cluster.n)?;
        choices::alike(&set, base).map_err(unfit)?;
        let configs = choices::configs(&set, base).map_err(unfit)?;
        let space = choices::scenarios(&set, &configs).map_err(unfit)?;
        let lies = (set.lies > 0).then(|| Lies::new(params.lies, set.scope, set.lies));
        let base = prepared(base, &set);
        let (Latency::Constant(latency) | Latency::Range([_, latency])) = base.network.latency;
        Ok(Self { base, set, configs, space, lies, latency: latency.0 })
    }

    /// The number of the scenario of a run, if they come in order: after the last one the first.
    fn place(&self, index: u64) -> u128 {
        let count = self.space.count().unwrap_or(u128::MAX);
        let start = match self.set.start {
            0 => 0,
            seed => Rng::new(seed.into(), Purpose::Strategy).below_u128(count),
        };
        let left = count - start;
        let index = u128::from(index);
        if index < left { start + index } else { index - left }
    }

    /// A fault in these rounds.
    fn fault(&self, round: Span, effect: Effect) -> Fault {
        let when = When { round: Some(round), source: self.set.source, ..When::default() };
        Fault { when, effect }
    }

    /// A fault that all messages meet but those that pass.
    fn fault_to_most(&self, round: Span, effect: Effect) -> Fault {
        let mut fault = self.fault(round, effect);
        let pass = || Box::new(When { kind: Names(self.set.pass.clone()), ..When::default() });
        fault.when.not = (!self.set.pass.is_empty()).then(pass);
        fault
    }

    /// What twins say after the rounds is lost. Of these rounds no fault may speak: the network would never heal.
    fn silence(&self) -> Fault {
        let rounds = self.fault(span(1, self.set.rounds), Effect::Drop).when;
        let twins = (0..2 * self.set.twins).map(|node| self.configs.nodes.name(node)).collect();
        let when = When { from: twins, not: Some(Box::new(rounds)), ..When::default() };
        Fault { when, effect: Effect::Drop }
    }

    /// What the second instances say in the rounds is lost.
    fn unheard(&self) -> Option<Fault> {
        if self.set.seconds == Seconds::Heard || self.set.twins == 0 {
            return None;
        }
        let mut fault = self.fault(span(1, self.set.rounds), Effect::Drop);
        fault.when.from = (0..self.set.twins).map(|twin| self.configs.nodes.name(2 * twin + 1)).collect();
        Some(fault)
    }

    /// The partition of each round, one fault for rounds in a row that have the same. Nothing for a single block.
    fn partitions(&self, walk: &[u128], faults: &mut Vec<Fault>) {
        let mut first = 1;
        for same in walk.chunk_by(|a, b| self.configs.same_blocks(*a, *b)) {
            let last = (first + same.len() * self.set.repeat - 1).min(self.set.rounds);
            let blocks = self.configs.get(same[0]).blocks;
            let name = |node| self.configs.nodes.name(node);
            let names: Vec<Vec<SeatName>> =
                blocks.into_iter().map(|block| block.into_iter().map(name).collect()).collect();
            if names.len() > 1 {
                faults.push(self.fault_to_most(span(first, last), Effect::Partition(names)));
            }
            first = last + 1;
        }
    }

    /// One-way cuts: what one node says in a round does not reach some others.
    fn cuts(&self, rng: &mut Rng, faults: &mut Vec<Fault>) {
        let nodes = self.configs.nodes;
        for _ in 0..self.set.cuts {
            let (round, from) = (1 + rng.index(self.set.rounds), rng.index(nodes.len()));
            let coins = u128::from(rng.bits()) | u128::from(rng.bits()) << 64;
            let to = (0..nodes.len()).filter(|&node| node != from && coins >> node & 1 == 1);
            let to: Vec<SeatName> = to.map(|node| nodes.name(node)).collect();
            // No receiver would mean all of them.
            if !to.is_empty() {
                let mut fault = self.fault(span(round, round), Effect::Drop);
                (fault.when.from, fault.when.to) = (vec![nodes.name(from)], to);
                faults.push(fault);
            }
        }
    }

    /// How late proposals and votes are, by round and link: a multiple of half of delta, in all.
    fn delays(&self, rng: &mut Rng, faults: &mut Vec<Fault>) {
        let nodes = self.configs.nodes;
        for (kinds, halves) in self.set.delays.iter().flatten() {
            for (round, from) in
                (1..=self.set.rounds).flat_map(|r| (0..nodes.len()).map(move |node| (r, node)))
            {
                let mut late: BTreeMap<u32, Vec<SeatName>> = BTreeMap::new();
                for to in (0..nodes.len()).filter(|&to| to != from) {
                    late.entry(rng.below(halves + 1)).or_default().push(nodes.name(to));
                }
                for (halves, to) in late {
                    let ticks = (u64::from(halves) * self.set.delta / 2).saturating_sub(self.latency);
                    if ticks > 0 {
                        let mut fault = self.fault(span(round, round), Effect::Delay(Time(ticks)));
                        (fault.when.from, fault.when.to) = (vec![nodes.name(from)], to);
                        fault.when.kind = Names(kinds.clone());
                        faults.push(fault);
                    }
                }
            }
        }
    }
}

impl Twins {
    /// Lasting lies of twins: of both instances, or of one.
    fn lies(&self, rng: &mut Rng, faults: &mut Vec<Fault>) {
        let Some(lies) = self.lies.as_ref().filter(|_| self.set.twins > 0 && rng.below(2) == 0) else {
            return;
        };
        let liar =
            |twin| SeatName { node: NodeId::replica(twin), instance: *rng.pick(&[None, Some(0), Some(1)]) };
        let liars: Vec<SeatName> = (0..self.set.twins).map(liar).collect();
        let (n, clients) = (self.base.cluster.n, self.base.cluster.clients);
        let everybody = |liar: NodeId| {
            let replicas = (0..n).map(NodeId::replica).filter(move |&node| node != liar);
            replicas.chain((0..clients).map(NodeId::client))
        };
        faults.extend(lies.draw(&liars, everybody, rng));
    }
}

impl Strategy for Twins {
    fn next(&mut self, index: u64, rng: &mut Rng) -> Scenario {
        let set = &self.set;
        let walk = match set.order {
            Order::Rank => self.space.unrank(self.place(index)),
            Order::Sample => self.space.draw(rng),
        };
        let mut scenario = self.base.clone();
        if set.leaders != Leaders::Rule {
            let leader = |&config: &u128| self.configs.leader(config).map(NodeId::replica);
            let leaders =
                walk.iter().filter_map(leader).flat_map(|leader| std::iter::repeat_n(leader, set.repeat));
            let leaders = leaders.take(set.rounds).collect();
            scenario.cluster = Arc::new(ClusterSpec { leaders, ..ClusterSpec::clone(&self.base.cluster) });
        }
        let mut faults = self.base.adversary.faults.clone();
        faults.extend(self.unheard());
        self.partitions(&walk, &mut faults);
        self.cuts(rng, &mut faults);
        self.delays(rng, &mut faults);
        self.lies(rng, &mut faults);
        match set.after {
            After::Heal => {}
            After::Silence => faults.push(self.silence()),
            After::Drop => {
                let later = Span::Between([set.rounds as u64 + 1, u32::MAX.into()]);
                faults.push(self.fault_to_most(later, Effect::Drop));
            }
        }
        scenario.adversary.faults = faults;
        scenario
    }

    fn space(&self) -> Option<strategy::Space> {
        let in_order = self.set.order == Order::Rank;
        Some(strategy::Space { scenarios: self.space.count(), in_order })
    }
}

/// What all scenarios share.
fn prepared(base: &Scenario, set: &Set) -> Scenario {
    let mut base = base.clone();
    let cluster = Arc::make_mut(&mut base.cluster);
    if cluster.clients > 0 {
        cluster.clients = cluster.clients.max(set.clients);
    }
    let twins = (0..set.twins).map(NodeId::replica).collect();
    let mut faults = Vec::new();
    if set.inputs == Inputs::Own && cluster.clients > 1 && set.twins > 0 {
        // One instance hears the first client after the others, so that its proposals differ from its sibling's. Where
        // replicas make up their own payloads, they differ anyway.
        let second = |twin| SeatName { node: NodeId::replica(twin), instance: Some(1) };
        let to = (0..set.twins).map(second).collect();
        let when = When { from: vec![NodeId::client(0).into()], to, ..When::default() };
        faults.push(Fault { when, effect: Effect::Delay(Time(1)) });
    }
    let network = Arc::make_mut(&mut base.network);
    if set.latency > 0 {
        network.latency = Latency::Constant(Time(set.latency));
    }
    let workload = Arc::make_mut(&mut base.workload);
    let more = set.requests * set.rounds as u32;
    workload.requests = workload.requests.saturating_add(more);
    if let Goal::Height(height) = &mut workload.goal {
        *height = height.saturating_add(more);
    }
    match set.after {
        After::Heal | After::Silence => {
            network.gst.get_or_insert(Gst::Time(Time(set.gst)));
        }
        After::Drop => {
            workload.goal = Goal::None;
            let limits = Arc::make_mut(&mut base.limits);
            limits.time = limits.time.min(Time(set.gst));
            limits.views = set.by_views().then_some(set.rounds as u32);
        }
    }
    let Adversary { crash_on_garbage, .. } = base.adversary;
    base.adversary = Adversary {
        byzantine: twins,
        twins,
        faults,
        roundless_inherit: set.roundless_inherit,
        crash_on_garbage,
        ..Adversary::default()
    };
    base
}

const fn span(first: usize, last: usize) -> Span {
    if first == last { Span::At(first as u64) } else { Span::Between([first as u64, last as u64]) }
}
