//! What several strategies draw in the same way.

use turncoat_core::fault::{Drawn, Effect, Mutate};
use turncoat_core::ids::{NodeId, SeatName};
use turncoat_core::part::Scope;
use turncoat_core::rng::Rng;
use turncoat_core::scenario::Seed;

use crate::partitions::SetPartitions;

/// A uniform subset.
pub(crate) fn subset<T: From<NodeId>>(nodes: impl Iterator<Item = NodeId>, rng: &mut Rng) -> Vec<T> {
    let coins = rng.bits();
    nodes.enumerate().filter(|(i, _)| coins >> (i % 64) & 1 == 1).map(|(_, node)| node.into()).collect()
}

/// A uniform subset that is not empty, of nodes of which there are some.
pub(crate) fn some<T: From<NodeId>>(nodes: &(impl Iterator<Item = NodeId> + Clone), rng: &mut Rng) -> Vec<T> {
    loop {
        let drawn = subset(nodes.clone(), rng);
        if !drawn.is_empty() {
            return drawn;
        }
    }
}

/// A subset that is not empty, as ByzzBench draws one: by a number from 1 to 2^(n-1), whose bits say who is in it. So the last
/// node is alone or not in it, and each subset of the others is equally likely.
pub(crate) fn byzzbench<T: From<NodeId>>(nodes: impl Iterator<Item = NodeId>, rng: &mut Rng) -> Vec<T> {
    let nodes: Vec<NodeId> = nodes.collect();
    let number = 1 + rng.below_u128(1 << nodes.len().saturating_sub(1));
    let inside = nodes.iter().enumerate().filter(|(i, _)| number >> i & 1 == 1);
    inside.map(|(_, &node)| node.into()).collect()
}

/// Such a subset of the replicas against the rest.
pub(crate) fn one_side(n: usize, rng: &mut Rng) -> Effect {
    let replicas = || (0..n).map(NodeId::replica);
    let side: Vec<SeatName> = byzzbench(replicas(), rng);
    let rest = replicas().map(SeatName::from).filter(|name| !side.contains(name)).collect();
    Effect::Partition(vec![side, rest])
}

/// A uniform partition of the replicas.
pub(crate) fn partition(partitions: &SetPartitions, rng: &mut Rng) -> Effect {
    let name = |index| SeatName::from(NodeId::replica(index));
    let blocks = partitions.draw(rng).into_iter();
    Effect::Partition(blocks.map(|block| block.into_iter().map(name).collect()).collect())
}

/// A lie out of these, or of all, drawn by a seed.
pub(crate) fn lie(scope: Scope, only: &[String], rng: &mut Rng) -> Effect {
    Effect::Mutate(Mutate::Drawn(Drawn { seed: Seed(rng.bits()), scope, only: only.to_vec() }))
}
