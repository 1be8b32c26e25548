//! Votes for later views: who wants to go where.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::ids::{NodeId, View};

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

    /// All votes for views later than `view`: by voter, the latest view first.
    pub fn beyond(&self, view: View) -> impl Iterator<Item = (NodeId, View)> {
        let all = self.0.iter().flat_map(|(&voter, votes)| votes.iter().map(move |&(view, _)| (voter, view)));
        all.filter(move |&(_, voted)| voted > view)
    }

    /// How many voters want this view or a later one.
    pub fn wanting(&self, view: View) -> usize {
        self.0.values().filter(|votes| votes.first().is_some_and(|&(latest, _)| latest >= view)).count()
    }

    /// The vote of a voter for its latest view.
    pub fn latest(&self, voter: NodeId) -> Option<&T> {
        self.0.get(&voter)?.first().map(|(_, vote)| vote)
    }

    /// The votes for one view, by voter.
    pub fn of(&self, view: View) -> impl Iterator<Item = (NodeId, &T)> {
        self.0.iter().filter_map(move |(&voter, votes)| {
            votes.iter().find(|&&(voted, _)| voted == view).map(|(_, vote)| (voter, vote))
        })
    }

    /// Forgets the votes for views up to this one.
    pub fn forget(&mut self, view: View) {
        self.0.values_mut().for_each(|votes| votes.retain(|&(voted, _)| voted > view));
    }
}
