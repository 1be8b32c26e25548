//! Scenarios that differ in names alone.
//!
//! As long as some nodes have fared alike, they can change names. A *cell* is a set of such nodes: the two instances of
//! an identity, or honest replicas. A round parts a cell, by the blocks in which its nodes stand and by who leads. So
//! of the configurations that differ by a permutation within the cells one is enough, the first; and that must be
//! looked at round after round: whoever names nodes anew in each round never cuts off one node now and another one
//! later.
//!
//! Nodes are alike if nothing goes by their names. So of honest replicas one may speak only while a table says who leads,
//! and of the instances of an identity only if both hear their clients alike. What a protocol does with messages that come
//! at the same time may still depend on names.
//!
//! Cells name fewer permutations than there are (two blocks alike could be exchanged as a whole), so some scenarios
//! stay that differ in names alone. None is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::config::{Config, Configs, Nodes};

/// The cell of each node, numbered in the order of their first nodes.
pub(crate) type Cells = Vec<u8>;

/// At the beginning: the instances of an identity have fared alike, or the honest replicas, or both.
pub(crate) fn start(nodes: Nodes, twins: bool, honest: bool) -> Cells {
    let alike = |node: usize| match node < 2 * nodes.twins {
        true => twins && node % 2 == 1,
        false => honest && node > 2 * nodes.twins,
    };
    let mut cells = 0;
    let cell = |node| {
        cells += u8::from(!alike(node));
        cells - 1
    };
    (0..nodes.len()).map(cell).collect()
}

/// Of these configurations those that differ in more than names, by the cells that they leave and by whether they
/// have a property.
pub(crate) fn different(
    configs: &Configs,
    cells: &Cells,
    positions: &[u32],
    property: impl Fn(u32) -> bool,
) -> BTreeMap<(bool, Cells), Arc<[u32]>> {
    let mut seen = BTreeSet::new();
    let mut groups: BTreeMap<(bool, Cells), Vec<u32>> = BTreeMap::new();
    for &position in positions {
        let config = configs.get(position.into());
        let fared = Fared { nodes: configs.nodes, cells, config: &config };
        if seen.insert(fared.nameless()) {
            groups.entry((property(position), fared.parted())).or_default().push(position);
        }
    }
    groups.into_iter().map(|(key, list)| (key, list.into())).collect()
}

/// How the nodes of some cells fare in a round.
struct Fared<'a> {
    nodes: Nodes,
    cells: &'a Cells,
    config: &'a Config,
}

impl Fared<'_> {
    /// The cell of a node, and whether it leads.
    fn sort(&self, node: usize) -> (u8, bool) {
        (self.cells[node], Some(self.nodes.identity(node)) == self.config.leader)
    }

    /// The configuration without names: the sorts of nodes in each block. Two configurations agree in this if and only
    /// if a permutation within the cells makes one of the other.
    fn nameless(&self) -> Vec<Vec<(u8, bool)>> {
        let sorts = |block: &Vec<usize>| {
            let mut sorts: Vec<_> = block.iter().map(|&node| self.sort(node)).collect();
            sorts.sort_unstable();
            sorts
        };
        let mut blocks: Vec<_> = self.config.blocks.iter().map(sorts).collect();
        blocks.sort_unstable();
        blocks
    }

    /// The cells after the round.
    fn parted(&self) -> Cells {
        let mut parts: Vec<(usize, (u8, bool))> = vec![(0, (0, false)); self.cells.len()];
        for (i, block) in self.config.blocks.iter().enumerate() {
            block.iter().for_each(|&node| parts[node] = (i, self.sort(node)));
        }
        let mut found = Vec::new();
        let number = |part| {
            let known = found.iter().position(|other| *other == part);
            known.unwrap_or_else(|| {
                found.push(part);
                found.len() - 1
            }) as u8
        };
        parts.into_iter().map(number).collect()
    }
}
