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
