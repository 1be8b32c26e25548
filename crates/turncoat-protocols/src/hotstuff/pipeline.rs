//! How the pipelined protocols collect votes, which go to the leader of the next view.

use std::collections::BTreeMap;

use turncoat_core::prelude::*;

use super::certs::{Checks, Qc, Tally, Vote};
use super::wait;

/// Votes for views further ahead are not kept.
const AHEAD: u32 = 10;

/// The votes of each view whose next leader a replica is, and whose certificate would be its highest.
#[derive(Clone, Debug, Default, Hash, Serialize)]
pub(super) struct NextVotes(BTreeMap<View, Tally>);

impl NextVotes {
    /// Records a vote that comes in a view, if it is for the leader of the next one.
    pub(super) fn add<P>(&mut self, vote: &Signed<Vote>, now: View, checks: Checks, cx: &Context<'_, P>)
    where
        P: Protocol,
    {
        if vote.view.0 <= now.0.saturating_add(AHEAD) && cx.leads(vote.view.next()) {
            self.0.entry(vote.view).or_default().add(vote, checks);
        }
    }

    /// The certificates of views later than that of the highest one. Votes of other views are forgotten.
    pub(super) fn certificates(&mut self, high: &Qc, checks: Checks) -> Vec<Qc> {
        self.0.retain(|&view, _| view > high.view);
        self.0.values().filter_map(|votes| votes.qc(checks)).collect()
    }

    /// What the leader of a view waits for: a certificate of the view before, or reports.
    pub(super) fn waits(&self, view: View, reporters: NodeSet, quorum: usize) -> [Option<Waiting>; 2] {
        let before = View(view.0.saturating_sub(1));
        [wait("vote", before, self.best(before), quorum), wait("new-view", view, reporters, quorum)]
    }

    /// Who voted for the favourite of a view.
    pub(super) fn best(&self, view: View) -> NodeSet {
        self.0.get(&view).map_or(NodeSet::EMPTY, Tally::best)
    }
}
