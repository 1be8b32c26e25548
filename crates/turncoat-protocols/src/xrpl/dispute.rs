//! Disputed payments, and the avalanche that settles them.

use turncoat_core::prelude::*;

use super::ledger::{Tx, TxSet};
use super::rules::{LAST_LEVEL, MIN_ROUNDS, STALLED_ROUNDS, Version, level_at, needed, next_level};

/// A payment on which positions differ.
#[derive(Clone, Debug, Hash, Serialize)]
pub(super) struct Dispute {
    pub(super) tx: Tx,
    pub(super) our_vote: bool,
    yays: NodeSet,
    nays: NodeSet,
    /// From 2.5 on: its level, how often it was evaluated there, and how often our vote has stayed as it is.
    level: u8,
    evaluated: u32,
    unchanged: u32,
}

impl Dispute {
    pub(super) fn new(tx: Tx, our_vote: bool) -> Self {
        let (yays, nays) = (NodeSet::EMPTY, NodeSet::EMPTY);
        Self { tx, our_vote, yays, nays, level: 0, evaluated: 0, unchanged: 0 }
    }

    /// A peer's position has it or not. Says whether that is news.
    pub(super) fn vote(&mut self, node: NodeId, yes: bool) -> bool {
        let (to, from) =
            if yes { (&mut self.yays, &mut self.nays) } else { (&mut self.nays, &mut self.yays) };
        from.remove(node);
        to.insert(node)
    }

    /// The votes of all positions.
    pub(super) fn vote_by<'a>(&mut self, positions: impl Iterator<Item = (NodeId, &'a TxSet)>) {
        for (node, txs) in positions {
            self.vote(node, txs.contains(&self.tx));
        }
    }

    pub(super) fn unvote(&mut self, node: NodeId) {
        self.yays.remove(node);
        self.nays.remove(node);
    }

    /// Our vote after so much of the round. Says whether it has changed. Votes known, and one more, are the whole.
    pub(super) fn reconsider(&mut self, proposing: bool, converge_pct: u64, version: Version) -> bool {
        let (yays, nays) = (self.yays.len(), self.nays.len());
        if (self.our_vote && nays == 0) || (!self.our_vote && yays == 0) {
            return false;
        }
        if version.is_2_5() {
            self.evaluated += 1;
            let next = next_level(self.level, self.evaluated, converge_pct);
            if next != self.level {
                (self.level, self.evaluated) = (next, 0);
            }
        } else {
            self.level = level_at(converge_pct);
        }
        let vote = match proposing {
            true => {
                (100 * yays + if self.our_vote { 100 } else { 0 }) / (yays + nays + 1) > needed(self.level)
            }
            false => yays > nays,
        };
        let changed = vote != self.our_vote;
        self.our_vote = vote;
        self.unchanged = if changed { 0 } else { self.unchanged + 1 };
        changed
    }

    /// Whether nothing more will come of it: it has been at the last level for a while, and nearly all are of one opinion.
    pub(super) fn is_stalled(&self, proposing: bool, peers_unchanged: u32, min_pct: usize) -> bool {
        if self.level < LAST_LEVEL || self.evaluated < MIN_ROUNDS {
            return false;
        }
        if proposing
            && (self.unchanged < MIN_ROUNDS
                || (peers_unchanged < STALLED_ROUNDS && self.unchanged < STALLED_ROUNDS))
        {
            return false;
        }
        let support = self.yays.len() + usize::from(proposing && self.our_vote);
        let total = self.yays.len() + self.nays.len() + usize::from(proposing);
        total == 0 || 100 * support / total > min_pct || 100 * support / total < 100 - min_pct
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xrpl::ledger::unsigned;

    /// A dispute in which so many peers say yes and so many say no.
    fn dispute(our_vote: bool, yays: usize, nays: usize) -> Dispute {
        let mut dispute = Dispute::new(unsigned(0), our_vote);
        (0..yays).for_each(|i| _ = dispute.vote(NodeId::replica(i), true));
        (yays..yays + nays).for_each(|i| _ = dispute.vote(NodeId::replica(i), false));
        dispute
    }

    #[test]
    fn a_payment_needs_more_votes_the_longer_the_round_takes() {
        let after = |our_vote, yays, nays, pct| {
            let mut dispute = dispute(our_vote, yays, nays);
            dispute.reconsider(true, pct, Version::V2_4_0);
            dispute.our_vote
        };
        // Three of five say yes, and we do not.
        assert!(after(false, 3, 1, 40), "60 % is more than 50");
        assert!(!after(false, 3, 1, 60), "and less than 65");
        // Four of five.
        assert!(after(true, 3, 1, 100), "80 % is more than 70");
        assert!(!after(true, 3, 1, 200), "and less than 95");
        // Half of the votes is not more than half.
        assert!(!after(true, 1, 2, 0));
        // Where nobody speaks against it, it stays.
        assert!(after(true, 4, 0, 500) && !after(false, 0, 4, 0));
    }

    #[test]
    fn from_2_5_on_levels_rise_one_by_one() {
        let mut dispute = dispute(true, 3, 1);
        let levels: Vec<u8> = (0..8)
            .map(|_| {
                dispute.reconsider(true, 300, Version::V2_6_1);
                dispute.level
            })
            .collect();
        assert_eq!(levels, [0, 1, 1, 2, 2, 3, 3, 3]);
        assert!(!dispute.our_vote, "80 % is less than 95");
    }

    #[test]
    fn who_does_not_propose_goes_with_the_majority() {
        for (yays, nays, vote) in [(2, 1, true), (1, 1, false), (1, 2, false)] {
            let mut dispute = dispute(!vote, yays, nays);
            dispute.reconsider(false, 300, Version::V2_4_0);
            assert_eq!(dispute.our_vote, vote);
        }
    }
}
