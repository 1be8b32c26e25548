//! What one round may look like: a leader, and the nodes in blocks.
//!
//! Configurations are numbered: the partition's number times the number of leaders, plus the leader's.

use std::cmp::Reverse;

use turncoat_core::ids::{NodeId, SeatName};

use crate::partitions::{Blocks, Counted};

/// The nodes of a scenario: both instances of each twinned identity, then the other identities.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nodes {
    /// Identities.
    pub(crate) n: usize,
    /// How many of them are twinned: the first.
    pub(crate) twins: usize,
}

impl Nodes {
    /// How many nodes.
    pub(crate) const fn len(self) -> usize {
        self.n + self.twins
    }

    /// The identity of a node.
    pub(crate) const fn identity(self, node: usize) -> usize {
        if node < 2 * self.twins { node / 2 } else { node - self.twins }
    }

    /// Its name.
    pub(crate) fn name(self, node: usize) -> SeatName {
        let instance = (node < 2 * self.twins).then_some((node % 2) as u8);
        SeatName { node: NodeId::replica(self.identity(node)), instance }
    }

    /// The distinct identities in a block.
    fn identities(self, block: &[usize]) -> usize {
        // A block is in ascending order, so that twins stand side by side.
        let twice = |pair: &[usize]| self.identity(pair[0]) == self.identity(pair[1]);
        block.len() - block.windows(2).filter(|pair| twice(pair)).count()
    }
}

/// One round.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Config {
    /// Who hears whom.
    pub(crate) blocks: Blocks,
    /// The identity that leads; without one the protocol's rule says who.
    pub(crate) leader: Option<usize>,
}

/// All configurations of one round that are allowed.
#[derive(Debug)]
pub(crate) struct Configs {
    pub(crate) nodes: Nodes,
    /// Identities that are a quorum.
    quorum: usize,
    partitions: Counted,
    leaders: Vec<Option<usize>>,
    /// The numbers of those that passed a filter; all, if there was none.
    allowed: Option<Vec<u32>>,
}

impl Configs {
    /// The most that can be looked at one by one.
    pub(crate) const MOST: u128 = 1 << 20;

    /// All configurations; nothing if they cannot be counted.
    pub(crate) fn new(
        nodes: Nodes,
        quorum: usize,
        partitions: Counted,
        leaders: Vec<Option<usize>>,
    ) -> Option<Self> {
        partitions.count().checked_mul(leaders.len() as u128)?;
        Some(Self { nodes, quorum, partitions, leaders, allowed: None })
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u128 {
        match &self.allowed {
            Some(allowed) => allowed.len() as u128,
            None => self.partitions.count() * self.leaders.len() as u128,
        }
    }

    /// The numbers of the partition and of the leader at a position.
    fn parts(&self, position: u128) -> (u128, usize) {
        let number = self.allowed.as_ref().map_or(position, |allowed| allowed[position as usize].into());
        let leaders = self.leaders.len() as u128;
        (number / leaders, (number % leaders) as usize)
    }

    /// The configuration at a position.
    pub(crate) fn get(&self, position: u128) -> Config {
        let (partition, leader) = self.parts(position);
        Config { blocks: self.partitions.unrank(partition), leader: self.leaders[leader] }
    }

    /// Its leader alone.
    pub(crate) fn leader(&self, position: u128) -> Option<usize> {
        self.leaders[self.parts(position).1]
    }

    /// Whether two have the same partition.
    pub(crate) fn same_blocks(&self, one: u128, other: u128) -> bool {
        self.parts(one).0 == self.parts(other).0
    }

    /// Its position.
    #[cfg(test)]
    pub(crate) fn position(&self, config: &Config) -> Option<u128> {
        let leader = self.leaders.iter().position(|leader| *leader == config.leader)?;
        let number = self.partitions.rank(&config.blocks) * self.leaders.len() as u128 + leader as u128;
        match &self.allowed {
            Some(allowed) => allowed.binary_search(&u32::try_from(number).ok()?).ok().map(|i| i as u128),
            None => Some(number),
        }
    }

    /// The positions of those with a property. There are at most [`Configs::MOST`] to look at.
    pub(crate) fn having(&self, property: impl Fn(&Self, &Config) -> bool) -> Vec<u32> {
        let count = u32::try_from(self.len()).expect("few enough to be looked at one by one");
        (0..count).filter(|&position| property(self, &self.get(position.into()))).collect()
    }

    /// Leaves out those without a property.
    pub(crate) fn only(self, property: impl Fn(&Self, &Config) -> bool) -> Self {
        Self { allowed: Some(self.having(property)), ..self }
    }

    /// Whether some block holds a quorum.
    pub(crate) fn has_quorum(&self, config: &Config) -> bool {
        config.blocks.iter().any(|block| self.is_quorum(block))
    }

    /// Whether the honest nodes fill the blocks in the order of their names, the largest block first, and no first instance is
    /// in a later block than its second.
    pub(crate) fn is_ordered(&self, config: &Config) -> bool {
        let twins = 2 * self.nodes.twins;
        let honest = |block: &Vec<usize>| block.iter().copied().find(|&node| node >= twins);
        let mut blocks: Vec<&Vec<usize>> = config.blocks.iter().collect();
        blocks.sort_by_key(|block| (Reverse(block.len()), honest(block).unwrap_or(usize::MAX)));
        let place = |node| blocks.iter().position(|block| block.contains(&node));
        let in_order = (twins..self.nodes.len()).map(place).is_sorted();
        in_order && (0..twins).step_by(2).all(|first| place(first) <= place(first + 1))
    }

    /// Whether the leader has a quorum in a block of its own.
    pub(crate) fn is_led(&self, config: &Config) -> bool {
        self.led_blocks(config).any(|block| self.is_quorum(block))
    }

    /// Whether the leader is with nobody else.
    pub(crate) fn is_isolated(&self, config: &Config) -> bool {
        self.led_blocks(config).all(|block| self.nodes.identities(block) == 1)
    }

    fn is_quorum(&self, block: &[usize]) -> bool {
        self.nodes.identities(block) >= self.quorum
    }

    /// The blocks with the leader in them: two, if twins lead that are apart.
    fn led_blocks<'a>(&self, config: &'a Config) -> impl Iterator<Item = &'a Vec<usize>> {
        let nodes = self.nodes;
        let leads = move |&node: &usize| Some(nodes.identity(node)) == config.leader;
        config.blocks.iter().filter(move |block| block.iter().any(leads))
    }
}
