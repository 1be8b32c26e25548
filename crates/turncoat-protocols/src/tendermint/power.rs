//! How much votes weigh, and how much is enough.

use turncoat_core::prelude::*;

use super::{Config, Flags};

/// The weights of the validators. Those that are not listed weigh one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "Vec<u8>", into = "Vec<u8>")]
pub struct Weights([u8; NodeId::MAX]);

impl Weights {
    /// All weigh one.
    pub const EQUAL: Self = Self([0; NodeId::MAX]);
}

impl TryFrom<Vec<u8>> for Weights {
    type Error = String;
    fn try_from(list: Vec<u8>) -> Result<Self, String> {
        ensure(
            list.len() <= NodeId::MAX && !list.contains(&0),
            "`weights` has at most 64 entries, from 1 to 255",
        )?;
        let mut weights = Self::EQUAL;
        weights.0[..list.len()].copy_from_slice(&list);
        Ok(weights)
    }
}

impl From<Weights> for Vec<u8> {
    fn from(weights: Weights) -> Self {
        weights.0.into_iter().take_while(|&weight| weight > 0).collect()
    }
}

/// The weights of all, and what is enough.
#[derive(Clone, Debug, Hash, Serialize)]
pub(super) struct Power {
    /// One for each validator; none if all weigh the same.
    weights: Vec<u32>,
    /// W.
    total: u32,
    quorum_ge: bool,
    pub(super) count_dup: bool,
    pub(super) equivocation_double: bool,
}

impl Power {
    pub(super) fn new(config: &Config, cluster: &Cluster) -> Self {
        let Flags { quorum_ge, count_dup, equivocation_double, .. } = config.flags;
        let listed = config.weights.0.iter().take(cluster.n).map(|&weight| u32::from(weight.max(1)));
        let weights: Vec<u32> = if config.weights == Weights::EQUAL { Vec::new() } else { listed.collect() };
        let total = if weights.is_empty() { cluster.n as u32 } else { weights.iter().sum() };
        Self { weights, total, quorum_ge, count_dup, equivocation_double }
    }

    /// Whether all weigh the same.
    pub(super) const fn is_equal(&self) -> bool {
        self.weights.is_empty()
    }

    /// The weight of some validators.
    pub(super) fn of(&self, voters: NodeSet) -> u32 {
        match self.weights.is_empty() {
            true => voters.len() as u32,
            false => voters.iter().filter_map(|voter| self.weights.get(voter.index())).sum(),
        }
    }

    /// 2f+1 in the paper: two quorums share a correct validator.
    pub(super) const fn quorum(&self, weight: u32) -> bool {
        if self.quorum_ge { weight >= 2 * self.total / 3 } else { self.is_quorum(weight) }
    }

    /// What a quorum is, whatever the flags say.
    pub(super) const fn is_quorum(&self, weight: u32) -> bool {
        3 * weight > 2 * self.total
    }

    /// f+1 in the paper: a correct validator is among them.
    pub(super) const fn honest(&self, weight: u32) -> bool {
        3 * weight > self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn power(weights: &[u8], n: usize, quorum_ge: bool) -> Power {
        let flags = Flags { quorum_ge, ..Flags::default() };
        let weights = Weights::try_from(weights.to_vec()).expect("weights");
        Power::new(&Config { weights, flags, ..Config::default() }, &Cluster { n, ..Cluster::default() })
    }

    fn voters(some: &[usize]) -> NodeSet {
        some.iter().map(|&index| NodeId::replica(index)).collect()
    }

    #[test]
    fn thresholds_are_on_weight() {
        let equal = power(&[], 4, false);
        assert!(equal.quorum(equal.of(voters(&[0, 1, 2]))) && !equal.quorum(equal.of(voters(&[0, 1]))));
        assert!(equal.honest(equal.of(voters(&[0, 1]))) && !equal.honest(equal.of(voters(&[3]))));
        let heavy = power(&[1, 1, 1, 4], 4, false);
        assert!(heavy.quorum(heavy.of(voters(&[0, 3]))) && !heavy.quorum(heavy.of(voters(&[0, 1, 2]))));
        assert!(heavy.honest(heavy.of(voters(&[0, 1, 2]))) && heavy.honest(heavy.of(voters(&[3]))));
        let first = power(&[3], 4, false);
        assert!(first.quorum(first.of(voters(&[0, 1, 2]))) && !first.quorum(first.of(voters(&[0, 1]))));
    }

    #[test]
    fn a_quorum_is_more_than_two_thirds() {
        // One vote less is enough where the number is rounded down, and where it is not rounded at all.
        for (n, quorum, wrong) in [(4, 3, 2), (5, 4, 3), (6, 5, 4), (7, 5, 4)] {
            let least = |quorum_ge| (1..).find(|&votes| power(&[], n, quorum_ge).quorum(votes));
            assert_eq!((least(false), least(true)), (Some(quorum), Some(wrong)), "{n}");
        }
    }

    #[test]
    fn weights_are_a_list() {
        let weights = Weights::try_from(vec![1, 1, 1, 4]).expect("weights");
        assert_eq!(Vec::from(weights), [1, 1, 1, 4]);
        assert!(Weights::try_from(vec![1, 0]).is_err() && Weights::try_from(vec![1; 65]).is_err());
        assert_eq!(Vec::from(Weights::EQUAL), [0_u8; 0]);
    }
}
