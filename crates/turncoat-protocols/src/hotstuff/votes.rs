//! Votes that go to the leader of the next view: how the chained protocols collect them.

use std::collections::BTreeMap;

use turncoat_core::prelude::*;

use super::certs::{Checks, Qc, Tally, Vote};

/// Votes for views further ahead are not kept.
const AHEAD: u32 = 10;

/// The votes of each view whose next leader a replica is.
#[derive(Clone, Debug, Default, Hash, Serialize)]
pub(super) struct NextVotes(BTreeMap<View, Tally>);

impl NextVotes {
    /// Records a vote, if it is for the leader of the next view, and that is the present one or near.
    pub(super) fn add<P: Protocol>(
        &mut self,
        vote: &Signed<Vote>,
        now: View,
        checks: Checks,
        cx: &Context<'_, P>,
    ) {
        let near = vote.view.next() >= now && vote.view.0 <= now.0.saturating_add(AHEAD);
        if near && cx.leads(vote.view.next()) {
            self.0.entry(vote.view).or_default().add(vote, checks);
        }
    }

    /// Forgets the votes that nobody needs in this view.
    pub(super) fn enter(&mut self, view: View) {
        self.0.retain(|voted, _| voted.next() >= view);
    }

    /// The certificates of views later than this one.
    pub(super) fn certificates(&self, later: View, checks: Checks) -> Vec<Qc> {
        let votes = self.0.iter().filter(|(view, _)| **view > later);
        votes.filter_map(|(_, votes)| votes.qc(checks)).collect()
    }

    /// How many votes the favourite of the latest view has.
    pub(super) fn best(&self) -> Option<usize> {
        self.0.values().next_back().map(Tally::best)
    }
}
