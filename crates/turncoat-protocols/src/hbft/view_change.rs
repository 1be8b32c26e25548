//! The view change (R6 to R8): VIEW-CHANGE, NEW-VIEW, and how a view begins.

use turncoat_core::prelude::*;

use super::messages::{Accepted, Checkpoint, Msg, NewView, Placed, ViewChange, Voted};
use super::replica::Replica;
use super::{Cx, Timer};
use crate::slips::slip;

impl Replica {
    // --- VIEW-CHANGE (R6) -------------------------------------------------------------------------------------

    /// Stops taking part, and votes for view `w`.
    pub(super) fn start_view_change(&mut self, w: View, cx: &mut Cx<'_>) {
        if w <= self.vote {
            return;
        }
        cx.mark("view-change");
        (self.vote, self.changing) = (w, true);
        self.clear_timers(cx);
        let flags = self.config.flags;
        let of_view_only = flags.certificate_of_view_only || flags.certificate_needs_all;
        let certified = self.certified.clone().filter(|_| !of_view_only || self.certified_in == self.view);
        let forgotten = |own: &&Accepted| {
            (flags.forget_nulls && own.request.is_none())
                || (flags.clear_spec_on_new_view && own.seq <= self.adopted)
                || (slip!("hbft/last-slot-unreported") && own.seq == self.seq)
        };
        let accepted = self.spec.values().filter(|own| !forgotten(own)).copied().collect();
        let (stable, checkpoint) = (self.stable.clone(), self.checkpoint.clone());
        let vote = ViewChange { view: w, stable, certified, checkpoint, accepted };
        cx.broadcast(Msg::ViewChange(Arc::new(cx.sign(vote))));
    }

    pub(super) fn on_view_change(&mut self, from: NodeId, m: &Voted, cx: &mut Cx<'_>) {
        if m.view > self.view && !self.view_changes.has(from, m.view) && self.config.is_good(m, cx.cluster())
        {
            self.view_changes.add(from, m.view, m.clone());
            self.advance_view_change(cx);
        }
    }

    /// Every rule of the view change whose guard now holds.
    pub(super) fn advance_view_change(&mut self, cx: &mut Cx<'_>) {
        // Join: f+1 others want later views. The smallest of their views is enough.
        let mut later: Vec<_> = self.view_changes.beyond(self.vote, cx.others()).collect();
        later.dedup_by_key(|(who, _)| *who);
        let smallest = later.iter().map(|&(_, view)| view).min();
        if let Some(view) = smallest.filter(|_| later.len() >= cx.cluster().weak()) {
            return self.start_view_change(view, cx);
        }
        if self.vote <= self.view {
            return;
        }
        // R5: the timer starts when a quorum wants this view or a later one; a lone replica does not run ahead.
        let (flags, quorum) = (self.config.flags, self.config.quorum(cx.cluster()));
        let wanted = self.view_changes.wanting(self.vote) >= quorum || flags.vc_timer_at_sending;
        if wanted && !flags.no_view_change_timer {
            let doublings = (self.vote.0 - self.view.0).saturating_sub(1).min(32);
            let timeout = self.config.view_change_timeout.0.saturating_mul(1 << doublings);
            cx.start_timer(Timer::ViewChange, Time(timeout));
        }
        if cx.leads(self.vote) {
            self.try_new_view(self.vote, cx);
        }
    }

    // --- NEW-VIEW (R7) ----------------------------------------------------------------------------------------

    /// The new primary: with a quorum of votes, its own among them, it starts the view.
    fn try_new_view(&mut self, w: View, cx: &mut Cx<'_>) {
        let quorum = self.config.quorum(cx.cluster());
        let Some(votes) = self.view_changes.elect(w, cx.me(), quorum) else { return };
        let stable = self.config.base(&votes, self.stable.as_ref()).cloned();
        let history = Arc::new(self.config.carry_over(&votes, stable.as_ref(), cx.cluster()));
        if history.iter().any(|placed| placed.request.is_none()) {
            cx.mark("new-view-null");
        }
        let m = Arc::new(cx.sign(NewView { view: w, votes, stable, history }));
        cx.to_others(Msg::NewView(m.clone()));
        self.adopt(&m, cx);
    }

    pub(super) fn on_new_view(&mut self, m: &Arc<Signed<NewView>>, cx: &mut Cx<'_>) {
        let voted = m.view >= self.vote || self.config.flags.new_view_below_vote;
        if m.view > self.view && voted && m.is_by(cx.leader(m.view)) && self.is_good_new_view(m, cx) {
            self.adopt(m, cx);
        }
    }

    /// Its votes are a quorum of good ones for this view, and the rest follows from them.
    fn is_good_new_view(&self, m: &NewView, cx: &Cx<'_>) -> bool {
        let (config, cluster) = (&self.config, cx.cluster());
        let voters: NodeSet = m.votes.iter().map(|vote| vote.signer()).collect();
        let distinct = voters.len() == m.votes.len() && voters.is_subset(cluster.replicas());
        let good = |vote: &Voted| vote.valid() && vote.view == m.view && config.is_good(vote, cluster);
        distinct
            && voters.len() >= config.quorum(cluster)
            && m.votes.iter().all(good)
            && m.stable.as_ref().is_none_or(|x| config.flags.vc_unchecked || config.is_proof(x, cluster))
            && config.base(&m.votes, m.stable.as_ref()) == m.stable.as_ref()
            && *m.history == config.carry_over(&m.votes, m.stable.as_ref(), cluster)
    }

    /// R8. Enters the view, and accepts what it carries over anew.
    fn adopt(&mut self, m: &NewView, cx: &mut Cx<'_>) {
        let flags = self.config.flags;
        cx.mark("new-view");
        cx.note(|| format!("enters view {}", m.view));
        // Until the slots are filled nothing is accepted.
        (self.view, self.vote, self.changing, self.panicked) = (m.view, m.view, true, false);
        (self.checkpoint, self.panics) = (None, NodeSet::EMPTY);
        self.clear_timers(cx);
        self.view_changes.forget(m.view);
        self.facts.retain(|&view, _| view >= m.view);
        self.forget_checkpoints();
        // X is a CER2: what it says is decided.
        self.spec.clear();
        if let Some(stable) = m.stable.clone() {
            let grounds = Grounds::certificate("checkpoint-iii", stable.view, stable.voters());
            self.stabilise(stable, grounds, cx);
        }
        let low = self.low();
        let mut carried: Vec<Placed> = m.history.iter().filter(|placed| placed.seq > low).copied().collect();
        while flags.null_reuses_seq && carried.last().is_some_and(|placed| placed.request.is_none()) {
            carried.pop();
        }
        let own = |&Placed { seq, request }: &Placed| (seq, Accepted { seq, request, view: m.view });
        self.spec = carried.iter().map(own).collect();
        self.raise_seq();
        let top = m.history.last().map_or(Slot(0), |placed| placed.seq);
        (self.adopted, self.changing) = (top, false);
        for placed in &carried {
            match &placed.request {
                _ if !flags.new_view_without_commits => self.confirm(placed.seq, placed.request, cx),
                // It is committed on receipt, which is a reply.
                Some(request) if !flags.nv_immediate_commit => self.reply(request, placed.seq, cx),
                _ => {}
            }
        }
        if flags.nv_immediate_commit {
            let voters = m.votes.iter().map(|vote| vote.signer()).collect();
            let grounds = Grounds::certificate("view-change", m.view, voters).upto(top).by_own_rule();
            m.history.iter().for_each(|placed| self.commit(placed.seq, placed.request, grounds, cx));
        }
        self.begin_with_checkpoint(self.of_new_view(m, top), cx);
        self.advance(cx);
    }

    /// A NEW-VIEW as a CHECKPOINT-I.
    fn of_new_view(&self, m: &NewView, top: Slot) -> Checkpoint<'1'> {
        let flags = self.config.flags;
        if !flags.commit_log && !flags.null_reuses_seq {
            return Checkpoint { view: m.view, seq: top, history: m.history.clone() };
        }
        let mut history = m.history.to_vec();
        if flags.commit_log {
            history.retain(|placed| placed.request.is_some());
        }
        while history.last().is_some_and(|placed| placed.request.is_none()) {
            history.pop();
        }
        let seq = history.last().map_or(Slot(0), |placed| placed.seq);
        Checkpoint { view: m.view, seq, history: Arc::new(history) }
    }
}
