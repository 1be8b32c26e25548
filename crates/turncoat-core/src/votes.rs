//! Counting votes: who said what, each voter once.

use std::collections::BTreeMap;

use serde::Serialize;
use smallvec::SmallVec;

use crate::ids::{NodeId, NodeSet};
use crate::sign::{Cert, Signed};

/// Who voted for what. A voter has one vote: the first counts.
///
/// Votes are facts to be recorded when they arrive. Whether they suffice is asked again and again, by the
/// rules that need them; acting only at the moment when a quorum is reached loses the quorum whose guard
/// becomes true later.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Votes<T> {
    seen: NodeSet,
    tally: SmallVec<[(T, NodeSet); 1]>,
}

impl<T> Default for Votes<T> {
    fn default() -> Self {
        Self { seen: NodeSet::EMPTY, tally: SmallVec::new() }
    }
}

impl<T: Eq> Votes<T> {
    /// Records a vote; says whether it counts (false if `voter` has voted before).
    pub fn add(&mut self, voter: NodeId, value: T) -> bool {
        if !self.seen.insert(voter) {
            return false;
        }
        match self.tally.iter_mut().find(|(v, _)| *v == value) {
            Some((_, voters)) => {
                voters.insert(voter);
            }
            None => self.tally.push((value, NodeSet::one(voter))),
        }
        true
    }

    /// Those who voted for `value`.
    pub fn voters(&self, value: &T) -> NodeSet {
        self.tally.iter().find(|(v, _)| v == value).map_or(NodeSet::EMPTY, |&(_, voters)| voters)
    }

    /// How many voted for `value`.
    pub fn count(&self, value: &T) -> usize {
        self.voters(value).len()
    }

    /// All who voted.
    pub const fn seen(&self) -> NodeSet {
        self.seen
    }

    /// The values with their voters, in order of first appearance.
    pub fn iter(&self) -> impl Iterator<Item = (&T, NodeSet)> {
        self.tally.iter().map(|(value, voters)| (value, *voters))
    }

    /// The first value with at least `quorum` votes.
    pub fn winner(&self, quorum: usize) -> Option<(&T, NodeSet)> {
        self.iter().find(|(_, voters)| voters.len() >= quorum)
    }

    /// The two highest counts, of different values: how close a slot is to two decisions.
    pub fn best_two(&self) -> (usize, usize) {
        self.tally.iter().map(|(_, voters)| voters.len()).fold((0, 0), |(first, second), count| {
            if count > first { (count, first) } else { (first, second.max(count)) }
        })
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.seen = NodeSet::EMPTY;
        self.tally.clear();
    }
}

/// Signed votes, from which certificates are made. Reads as [`Votes`]; only good signatures get in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct Ballots<T>(Votes<T>);

impl<T> Default for Ballots<T> {
    fn default() -> Self {
        Self(Votes::default())
    }
}

impl<T: Eq + Clone> Ballots<T> {
    /// Records a signed vote; says whether it counts.
    pub fn add(&mut self, vote: &Signed<T>) -> bool {
        vote.valid() && self.0.add(vote.signer(), T::clone(vote))
    }

    /// The certificate of those among `electorate` who voted for `value`.
    pub fn cert(&self, value: &T, electorate: NodeSet) -> Cert<T> {
        Cert::new(value.clone(), self.0.voters(value).and(electorate))
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl<'a, T: Eq + Clone + 'a> FromIterator<&'a Signed<T>> for Ballots<T> {
    fn from_iter<I: IntoIterator<Item = &'a Signed<T>>>(votes: I) -> Self {
        let mut ballots = Self::default();
        for vote in votes {
            ballots.add(vote);
        }
        ballots
    }
}

impl<T> std::ops::Deref for Ballots<T> {
    type Target = Votes<T>;
    fn deref(&self) -> &Votes<T> {
        &self.0
    }
}

/// What each voter said last: a new vote replaces the old one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct Latest<T>(BTreeMap<NodeId, T>);

impl<T> Default for Latest<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: Eq> Latest<T> {
    /// Records what a voter says now.
    pub fn set(&mut self, voter: NodeId, value: T) {
        self.0.insert(voter, value);
    }

    /// Whether nobody has said anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A value with at least `quorum` votes.
    pub fn winner(&self, quorum: usize) -> Option<&T> {
        self.0.values().find(|value| self.0.values().filter(|other| other == value).count() >= quorum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_vote_replaces_the_one_before() {
        let p = NodeId::replica;
        let mut votes = Latest::default();
        votes.set(p(0), 'a');
        votes.set(p(1), 'b');
        assert_eq!(votes.winner(2), None);
        votes.set(p(0), 'b');
        assert_eq!((votes.winner(2), votes.winner(3)), (Some(&'b'), None));
    }

    #[test]
    fn a_voter_counts_once() {
        let p = NodeId::replica;
        let mut votes = Votes::default();
        assert!(votes.add(p(0), 'a') && votes.add(p(1), 'b') && votes.add(p(2), 'a'));
        assert!(!votes.add(p(0), 'b'));
        assert_eq!((votes.count(&'a'), votes.count(&'b'), votes.best_two()), (2, 1, (2, 1)));
        assert_eq!(votes.winner(2).map(|(v, _)| *v), Some('a'));
    }
}
