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
//! What is drawn beside that, one-way cuts and delays (for protocols that assume a bound on these: Sync HotStuff), is
//! not part of the number. Delays up to delta are within such a model; partitions are not, so it takes `partitions=1`.

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
use turncoat_core::rng::Rng;
use turncoat_core::scenario::{Adversary, ClusterSpec, Goal, Gst, Latency, Scenario, Trust};
use turncoat_core::strategy::{self, Strategy};

use self::config::{Configs, Nodes};
use self::params::{After, Blocks, Leaders, Order, PARAMS, Replacement, Set, Symmetry};
use self::space::{Pick, Space};
use crate::params::Params;
use crate::partitions::Counted;
use crate::{Info, StrategyError};

pub(crate) const INFO: Info = Info {
    name: "twins",
    about: "replicas that run twice, and a leader and a partition for each round (Twins)",
    params: PARAMS,
    make: |base, params| Ok(Box::new(Twins::new(base, params)?)),
};

struct Twins {
    base: Scenario,
    set: Set,
    configs: Configs,
    space: Space,
    /// The most ticks that a message takes without a delay.
    latency: u64,
}

impl Twins {
    fn new(base: &Scenario, params: &Params<'_>) -> Result<Self, StrategyError> {
        let unfit = |why: String| StrategyError::Unfit { strategy: params.strategy, why };
        let set = Set::read(params, base.cluster.n)?;
        alike(&set, base).map_err(unfit)?;
        let configs = configs(&set, base).map_err(unfit)?;
        let space = scenarios(&set, &configs).map_err(unfit)?;
        let base = prepared(base, &set);
        let (Latency::Constant(latency) | Latency::Range([_, latency])) = base.network.latency;
        Ok(Self { base, set, configs, space, latency: latency.0 })
    }

    /// A fault in these rounds.
    fn fault(&self, round: Span, effect: Effect) -> Fault {
        let when = When { round: Some(round), source: self.set.source, ..When::default() };
        Fault { when, effect }
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
                let mut fault = self.fault(span(first, last), Effect::Partition(names));
                fault.when.not = (!self.set.pass.is_empty())
                    .then(|| Box::new(When { kind: Names(self.set.pass.clone()), ..When::default() }));
                faults.push(fault);
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

impl Strategy for Twins {
    fn next(&mut self, index: u64, rng: &mut Rng) -> Scenario {
        let set = &self.set;
        let walk = match set.order {
            Order::Rank => self.space.unrank(index.into()),
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
        self.partitions(&walk, &mut faults);
        self.cuts(rng, &mut faults);
        self.delays(rng, &mut faults);
        if set.after == After::Drop {
            let later = Span::Between([set.rounds as u64 + 1, u32::MAX.into()]);
            faults.push(self.fault(later, Effect::Drop));
        }
        scenario.adversary.faults = faults;
        scenario
    }

    fn space(&self) -> Option<strategy::Space> {
        let in_order = self.set.order == Order::Rank;
        Some(strategy::Space { scenarios: self.space.count(), in_order })
    }
}

/// Whether nothing goes by the names of those that are said to be alike.
fn alike(set: &Set, base: &Scenario) -> Result<(), String> {
    let ClusterSpec { clients, drift, trust, .. } = &*base.cluster;
    if set.symmetry != Symmetry::None && (!drift.is_empty() || *trust != Trust::default()) {
        return Err(
            "replicas that drift apart, or trust others than all, are not alike: `symmetry=none`".to_owned()
        );
    }
    if set.symmetry.twins() && *clients > 0 && set.clients.max(*clients) > 1 {
        return Err("of two instances one hears the first of several clients late, so they are not alike: \
                    `symmetry=honest`, or one client and `clients=1`"
            .to_owned());
    }
    if set.symmetry.honest() && (set.leaders == Leaders::Rule || set.after == After::Heal) {
        return Err(
            "honest replicas are not alike when the protocol's rule says who leads: take `after=drop`, and \
                    leaders other than `rule`"
                .to_owned(),
        );
    }
    Ok(())
}

/// What one round may look like.
fn configs(set: &Set, base: &Scenario) -> Result<Configs, String> {
    let (n, f) = (base.cluster.n, base.cluster.f);
    let nodes = Nodes { n, twins: set.twins };
    if set.twins > f && !base.cluster.over_budget {
        return Err(format!(
            "{} twins exceed cluster.f = {f}: take fewer, or say `cluster.over-budget = true` (--over-budget)",
            set.twins
        ));
    }
    let leaders: Vec<Option<usize>> = match set.leaders {
        Leaders::All => (0..n).map(Some).collect(),
        Leaders::Twins => (0..set.twins).map(Some).collect(),
        Leaders::NonTwins => (set.twins..n).map(Some).collect(),
        Leaders::Rule => vec![None],
    };
    if leaders.is_empty() {
        return Err(format!("nobody can lead: {} of {n} replicas are twinned", set.twins));
    }
    let limited = set.isolate > 0 || set.leaderless.is_some();
    if limited && set.leaders == Leaders::Rule {
        return Err(
            "`isolate` and `leaderless` are about leaders, which `leaders=rule` leaves open".to_owned()
        );
    }
    let partitions = Counted::into_blocks(nodes.len(), set.partitions.clone());
    let configs =
        partitions.and_then(|partitions| Configs::new(nodes, n.saturating_sub(f), partitions, leaders));
    let too_many = |count: String| {
        format!(
            "{count} partitions and leaders are too many: take fewer replicas or blocks, and no filter or symmetry"
        )
    };
    let configs = configs.ok_or_else(|| too_many("more than 2^128".to_owned()))?;
    if (limited || set.blocks == Blocks::Quorum || set.symmetry != Symmetry::None)
        && configs.len() > Configs::MOST
    {
        return Err(too_many(configs.len().to_string()));
    }
    Ok(if set.blocks == Blocks::Quorum { configs.with_a_quorum() } else { configs })
}

/// All scenarios.
fn scenarios(set: &Set, configs: &Configs) -> Result<Space, String> {
    let length = set.rounds.div_ceil(set.repeat);
    let space = match set.replacement {
        Replacement::With => walks(set, configs, length),
        Replacement::Without
            if set.symmetry == Symmetry::None && set.isolate == 0 && set.leaderless.is_none() =>
        {
            Space::distinct(length, configs.len())
        }
        Replacement::Without => {
            return Err("`replacement=without` goes with no `symmetry`, `isolate` or `leaderless`".to_owned());
        }
    };
    let many = "more scenarios than can be numbered (2^128): take fewer rounds, ";
    match space.count() {
        Some(0) => {
            Err("no scenario is like that: `leaderless`, `isolate`, `blocks` or `replacement` allow none"
                .to_owned())
        }
        None if set.order == Order::Rank => Err(format!("{many}or `order=sample`")),
        None if !space.is_free() => Err(format!("{many}or neither `symmetry` nor `leaderless`")),
        _ => Ok(space),
    }
}

/// The scenarios in which a configuration may come again. A state is how many times more the leader may be without a
/// quorum, and which nodes have fared alike.
fn walks(set: &Set, configs: &Configs, length: usize) -> Space {
    let lists = set.isolate > 0 || set.leaderless.is_some() || set.symmetry != Symmetry::None;
    if !lists {
        return Space::new(length, (), |_, ()| vec![(Pick::First(configs.len()), ())]);
    }
    let all: Vec<u32> = configs.having(|_, _| true);
    let alone = if set.isolate > 0 { configs.having(Configs::is_isolated) } else { Vec::new() };
    let led = if set.leaderless.is_some() { configs.having(Configs::is_led) } else { Vec::new() };
    let cells = symmetry::start(configs.nodes, set.symmetry.twins(), set.symmetry.honest());
    // The same cells come again and again.
    let mut known = BTreeMap::new();
    Space::new(length, (set.leaderless.unwrap_or(0), cells), |layer, (left, cells)| {
        // Who is isolated has no quorum: that is not counted.
        let isolates = set.isolate > 0 && (layer + 1) % set.isolate == 0;
        let counts = set.leaderless.is_some() && !isolates;
        let groups = known.entry((isolates, cells.clone())).or_insert_with(|| {
            let costs = |position: u32| counts && led.binary_search(&position).is_err();
            symmetry::different(configs, cells, if isolates { &alone } else { &all }, costs)
        });
        let affordable = groups.iter().filter(|((costs, _), _)| !costs || *left > 0);
        affordable
            .map(|((costs, cells), list)| {
                (Pick::These(list.clone()), (left - u32::from(*costs), cells.clone()))
            })
            .collect()
    })
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
    if cluster.clients > 1 && set.twins > 0 {
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
    match set.after {
        After::Heal => {
            network.gst.get_or_insert(Gst::Time(Time(set.gst)));
            // No round decides more than one slot: some are left for the time after.
            if let Goal::Height(height) = base.workload.goal {
                let goal = Goal::Height(height.saturating_add(set.rounds as u32));
                Arc::make_mut(&mut base.workload).goal = goal;
            }
        }
        After::Drop => {
            Arc::make_mut(&mut base.workload).goal = Goal::None;
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
