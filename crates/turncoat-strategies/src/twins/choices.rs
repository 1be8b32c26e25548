//! Which scenarios the parameters mean: what one round may look like, and what may follow upon what.

use std::collections::BTreeMap;

use turncoat_core::scenario::{ClusterSpec, Scenario, Trust};

use super::config::{Configs, Nodes};
use super::params::{After, Blocks, Leaders, Order, Replacement, Set, Symmetry};
use super::space::{Pick, Space};
use super::symmetry;
use crate::partitions::Counted;

/// Whether nothing goes by the names of those that are said to be alike.
pub(super) fn alike(set: &Set, base: &Scenario) -> Result<(), String> {
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
    if set.symmetry.honest() && (set.leaders == Leaders::Rule || set.after != After::Drop) {
        return Err(
            "honest replicas are not alike when the protocol's rule says who leads: take `after=drop`, and \
                    leaders other than `rule`"
                .to_owned(),
        );
    }
    Ok(())
}

/// What one round may look like.
pub(super) fn configs(set: &Set, base: &Scenario) -> Result<Configs, String> {
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
    if (limited || set.blocks != Blocks::Any || set.symmetry != Symmetry::None)
        && configs.len() > Configs::MOST
    {
        return Err(too_many(configs.len().to_string()));
    }
    Ok(match set.blocks {
        Blocks::Any => configs,
        Blocks::Quorum => configs.only(Configs::has_quorum),
        Blocks::Ordered => configs.only(Configs::is_ordered),
    })
}

/// All scenarios.
pub(super) fn scenarios(set: &Set, configs: &Configs) -> Result<Space, String> {
    if set.order != Order::Rank && set.start != 0 {
        return Err("`start` says where runs in order begin: it goes with `order=rank`".to_owned());
    }
    if set.order == Order::Rank && (set.cuts > 0 || set.delays.is_some()) {
        return Err(
            "`cuts` and `delays` are drawn and have no number: they go with `order=sample`".to_owned()
        );
    }
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
