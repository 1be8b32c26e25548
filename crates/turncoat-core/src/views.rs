//! Votes for later views: which replica wants to go where.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::ids::{NodeId, NodeSet, View};
use crate::node::{Context, Protocol};

/// The votes of each replica for later views. A voter has one vote per view: the first counts.
#[derive(Clone, Debug, Hash, Serialize)]
pub struct ViewVotes<T>(BTreeMap<NodeId, Vec<(View, T)>>);

impl<T> Default for ViewVotes<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> ViewVotes<T> {
    /// Whether somebody has voted for a view.
    pub fn has(&self, voter: NodeId, view: View) -> bool {
        self.0.get(&voter).is_some_and(|votes| votes.iter().any(|&(voted, _)| voted == view))
    }

    /// Records a vote; says whether it counts.
    pub fn add(&mut self, voter: NodeId, view: View, vote: T) -> bool {
        let new = !self.has(voter, view);
        if new {
            let votes = self.0.entry(voter).or_default();
            votes.push((view, vote));
            votes.sort_by_key(|&(view, _)| std::cmp::Reverse(view));
        }
        new
    }

    /// All votes of some voters for views later than `view`: by voter, the latest view first.
    pub fn beyond(&self, view: View, voters: NodeSet) -> impl Iterator<Item = (NodeId, View)> {
        let all = self.0.iter().flat_map(|(&voter, votes)| votes.iter().map(move |&(view, _)| (voter, view)));
        all.filter(move |&(voter, voted)| voters.contains(voter) && voted > view)
    }

    /// How many voters want this view or a later one.
    pub fn wanting(&self, view: View) -> usize {
        self.0.values().filter(|votes| votes.first().is_some_and(|&(latest, _)| latest >= view)).count()
    }

    /// Sends this replica's own vote for the latest view to all others again.
    pub fn resend<P: Protocol>(&self, message: fn(T) -> P::Msg, cx: &mut Context<'_, P>)
    where
        T: Clone,
    {
        if let Some((_, vote)) = self.0.get(&cx.me()).and_then(|votes| votes.first()) {
            cx.to_others(message(vote.clone()));
        }
    }

    /// The votes for one view, by voter.
    pub fn of(&self, view: View) -> impl Iterator<Item = (NodeId, &T)> {
        self.0.iter().filter_map(move |(&voter, votes)| {
            votes.iter().find(|&&(voted, _)| voted == view).map(|(_, vote)| (voter, vote))
        })
    }

    /// `need` votes for a view, by voter: the replica's `own`, and those of the first others.
    pub fn elect(&self, view: View, own: NodeId, need: usize) -> Option<Vec<T>>
    where
        T: Clone,
    {
        let others = self.of(view).filter(|&(voter, _)| voter != own).take(need.saturating_sub(1));
        let own = self.of(view).find(|&(voter, _)| voter == own)?;
        let mut votes: Vec<(NodeId, &T)> = others.chain([own]).collect();
        votes.sort_by_key(|&(voter, _)| voter);
        (votes.len() >= need).then(|| votes.into_iter().map(|(_, vote)| vote.clone()).collect())
    }

    /// Forgets the votes for views up to this one.
    pub fn forget(&mut self, view: View) {
        self.0.values_mut().for_each(|votes| votes.retain(|&(voted, _)| voted > view));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_elected_without_the_own_vote() {
        let p = NodeId::replica;
        let mut votes = ViewVotes::default();
        for voter in [0, 1, 2] {
            votes.add(p(voter), View(3), voter);
        }
        assert_eq!(votes.elect(View(3), p(3), 3), None);
        assert_eq!(votes.elect(View(3), p(2), 4), None);
        votes.add(p(3), View(3), 3);
        assert_eq!(votes.elect(View(3), p(3), 3), Some(vec![0, 1, 3]));
        assert_eq!(votes.elect(View(2), p(3), 3), None);
    }
}
