//! The view change: VIEW-CHANGE, NEW-VIEW.

use std::collections::BTreeMap;
use std::sync::Arc;

use turncoat_core::hash::Digest;
use turncoat_core::ids::{NodeId, NodeSet, Slot, View};
use turncoat_core::sign::{Cert, Signed};

use super::Timer;
use super::messages::{Checkpoint, Msg, NewView, PrePrepare, Prepare, Prepared, ViewChange};
use super::replica::{Cx, Entry, Replica, Status};

/// The latest view among votes in the order of views.
fn latest(votes: &[Arc<Signed<ViewChange>>]) -> View {
    votes.last().map_or(View(0), |vote| vote.view)
}

impl Replica {
    /// The view that this replica is in or has voted for.
    pub(super) const fn target(&self) -> View {
        match self.status {
            Status::Normal => self.view,
            Status::Changing(target) => target,
        }
    }

    /// Freezes and votes for view `w`.
    pub(super) fn start_view_change(&mut self, w: View, cx: &mut Cx<'_>) {
        if w <= self.target() {
            return;
        }
        cx.mark("view-change");
        self.status = Status::Changing(w);
        self.stop_view_change_timer(cx);
        let prepared = self.window.above(Slot(0)).filter_map(|entry| entry.prepared.clone()).collect();
        let vote =
            ViewChange { view: w, h: self.window.low(), checkpoint: self.stable_proof.clone(), prepared };
        cx.broadcast(Msg::ViewChange(Arc::new(cx.sign(vote))));
    }

    fn stop_view_change_timer(&mut self, cx: &mut Cx<'_>) {
        if self.view_change_timer.take().is_some() {
            cx.cancel_timer(Timer::ViewChange);
        }
    }

    pub(super) fn resend_view_change(&mut self, cx: &mut Cx<'_>) {
        if let Some(vote) = self.view_changes.get(&cx.me()).and_then(|votes| votes.last()) {
            cx.to_others(Msg::ViewChange(vote.clone()));
        }
    }

    pub(super) fn on_view_change(&mut self, from: NodeId, m: &Arc<Signed<ViewChange>>, cx: &mut Cx<'_>) {
        if m.view <= self.view {
            return self.relay_new_view(from, View(m.view.0.saturating_sub(1)), cx);
        }
        let known =
            self.view_changes.get(&from).is_some_and(|votes| votes.iter().any(|vote| vote.view == m.view));
        if !known && self.valid_view_change(m, cx) {
            let votes = self.view_changes.entry(from).or_default();
            votes.push(m.clone());
            votes.sort_by_key(|vote| vote.view);
            self.advance_view_change(cx);
        }
    }

    /// C proves h; P holds at most one good certificate per number within the window, of earlier views.
    fn valid_view_change(&self, m: &ViewChange, cx: &Cx<'_>) -> bool {
        let proved = match &m.checkpoint {
            None => m.h == Slot(0),
            Some(c) => c.seq == m.h && c.voters().and(cx.cluster().replicas()).len() >= cx.cluster().quorum(),
        };
        let mut last = m.h;
        proved
            && m.prepared.iter().all(|cert| {
                let seq = cert.pre_prepare.seq;
                let in_order = std::mem::replace(&mut last, seq) < seq;
                let within = seq.0.saturating_sub(m.h.0) <= self.config.window;
                in_order && within && cert.pre_prepare.view < m.view && cert.is_valid(cx)
            })
    }

    /// Every rule of the view change whose guard now holds.
    pub(super) fn advance_view_change(&mut self, cx: &mut Cx<'_>) {
        // Join: f+1 others want later views, so a correct one does. The smallest of their views is enough.
        let others = self.view_changes.iter().filter(|(who, _)| **who != cx.me());
        let later = others.map(|(_, votes)| latest(votes)).filter(|&view| view > self.target());
        let later: Vec<View> = later.collect();
        if later.len() >= cx.cluster().weak() {
            let smallest = later.into_iter().min().unwrap_or_default();
            return self.start_view_change(smallest, cx);
        }
        let Status::Changing(target) = self.status else { return };
        // The timer for the NEW-VIEW starts when 2f+1 want this view or a later one.
        let wanting = self.view_changes.values().filter(|votes| latest(votes) >= target).count();
        if wanting >= cx.cluster().quorum() && self.view_change_timer != Some(target) {
            self.view_change_timer = Some(target);
            cx.set_timer(Timer::ViewChange, self.timeout);
        }
        if cx.leader(target) == cx.me() {
            self.try_new_view(target, cx);
        }
    }

    // --- NEW-VIEW ---------------------------------------------------------------------------------------------

    /// The new primary: with the votes of 2f others besides its own, it starts the view.
    fn try_new_view(&mut self, w: View, cx: &mut Cx<'_>) {
        let vote_of =
            |votes: &Vec<Arc<Signed<ViewChange>>>| votes.iter().find(|vote| vote.view == w).cloned();
        let Some(own) = self.view_changes.get(&cx.me()).and_then(vote_of) else { return };
        let others = self.view_changes.iter().filter(|(who, _)| **who != cx.me());
        let others = others.filter_map(|(_, votes)| vote_of(votes)).take(cx.cluster().quorum() - 1);
        let mut votes: Vec<_> = others.chain([own]).collect();
        if votes.len() < cx.cluster().quorum() {
            return;
        }
        votes.sort_by_key(|vote| vote.signer());
        let (_, proposals) = compute_o(w, &votes);
        if proposals.iter().any(|proposal| proposal.request.is_none()) {
            cx.mark("new-view-null");
        }
        let pre_prepares = proposals.into_iter().map(|proposal| cx.sign(proposal)).collect();
        let m = Arc::new(cx.sign(NewView { view: w, votes, pre_prepares }));
        cx.to_others(Msg::NewView(m.clone()));
        self.install(&m, cx);
    }

    /// Anybody may relay a NEW-VIEW; it must be the new primary's, and follow from its votes.
    pub(super) fn on_new_view(&mut self, m: &Arc<Signed<NewView>>, cx: &mut Cx<'_>) {
        let wanted = m.view > self.view && m.view >= self.target();
        if wanted && m.is_by(cx.leader(m.view)) && self.valid_new_view(m, cx) {
            self.install(m, cx);
        }
    }

    /// Nothing changes before all checks have passed.
    fn valid_new_view(&self, m: &NewView, cx: &Cx<'_>) -> bool {
        let voters: NodeSet = m.votes.iter().map(|vote| vote.signer()).collect();
        let genuine = |vote: &Arc<Signed<ViewChange>>| {
            vote.valid() && vote.view == m.view && self.valid_view_change(vote, cx)
        };
        let elected = voters.is_subset(cx.cluster().replicas())
            && voters.len() == m.votes.len()
            && voters.len() >= cx.cluster().quorum()
            && m.votes.iter().all(genuine);
        if !elected {
            return false;
        }
        let (_, proposals) = compute_o(m.view, &m.votes);
        let same = |(ours, theirs): (&PrePrepare, &Signed<PrePrepare>)| {
            theirs.is_by(cx.leader(m.view)) && *ours == **theirs
        };
        proposals.len() == m.pre_prepares.len() && proposals.iter().zip(&m.pre_prepares).all(same)
    }

    /// Enters the view.
    fn install(&mut self, m: &Arc<Signed<NewView>>, cx: &mut Cx<'_>) {
        cx.mark("new-view");
        cx.note(|| format!("enters view {}", m.view));
        (self.view, self.status, self.fresh_view) = (m.view, Status::Normal, true);
        self.last_new_view = Some(m.clone());
        self.view_changes.values_mut().for_each(|votes| votes.retain(|vote| vote.view > m.view));
        self.stop_view_change_timer(cx);
        for entry in self.window.iter_mut() {
            let Entry { prepared, committed, hints, .. } = std::mem::take(entry);
            *entry = Entry { prepared, committed, hints, ..Entry::default() };
        }
        self.assigned.clear();
        self.next_seq = self.window.low();
        // The votes prove a later checkpoint than ours: the window moves there, the history follows.
        if let (Some(proof), _) = compute_o(m.view, &m.votes) {
            self.stabilise(&proof, cx);
            if self.last_exec() < proof.seq {
                self.fetch_up_to(proof.seq, cx);
            }
        }
        for pre_prepare in &m.pre_prepares {
            self.next_seq = self.next_seq.max(pre_prepare.seq);
            if let Some(request) = &pre_prepare.request {
                self.assigned.insert(request.client, (request.ts, pre_prepare.seq));
            }
            self.accept(pre_prepare, cx);
        }
        // What came early is looked at again.
        for (from, msg) in std::mem::take(&mut self.future) {
            self.on_phase(from, &msg, cx);
        }
        if !self.is_primary(cx) {
            self.clients.pending().iter().for_each(|r| cx.send(cx.leader(self.view), Msg::Request(*r)));
        }
        self.propose(cx);
    }

    /// Helps a replica that is in an older view.
    pub(super) fn relay_new_view(&self, to: NodeId, view: View, cx: &mut Cx<'_>) {
        if let Some(m) = self.last_new_view.as_ref().filter(|m| m.view > view && to != cx.me()) {
            cx.send(to, Msg::NewView(m.clone()));
        }
    }

    /// f+1 replicas are in later views, so a NEW-VIEW was missed: ask for it.
    pub(super) fn query_view(&mut self, cx: &mut Cx<'_>) {
        let ahead: NodeSet = self.future.iter().map(|(from, _)| *from).collect();
        if ahead.len() >= cx.cluster().weak() {
            cx.multicast(ahead, Msg::QueryView(self.view));
        }
    }
}

impl Prepared {
    /// A genuine proposal and 2f matching PREPAREs of backups.
    fn is_valid(&self, cx: &Cx<'_>) -> bool {
        let (pp, prepares) = (&self.pre_prepare, &self.prepares);
        let backups = cx.cluster().replicas().without(NodeSet::one(cx.leader(pp.view)));
        is_genuine(pp, cx)
            && **prepares == Prepare { view: pp.view, seq: pp.seq, digest: pp.digest }
            && prepares.voters().and(backups).len() + 1 >= cx.cluster().quorum()
    }
}

/// A proposal of its view's primary, of a client's request or of null.
pub(super) fn is_genuine(pp: &Signed<PrePrepare>, cx: &Cx<'_>) -> bool {
    pp.is_by(cx.leader(pp.view))
        && match &pp.request {
            Some(r) => r.is_by(r.client) && r.digest() == pp.digest,
            None => pp.digest == Digest::NULL,
        }
}

/// What follows from the votes V: the latest stable checkpoint among them (min-s), and O, a proposal for each number
/// from there to the highest prepared one (max-s): the request whose certificate has the highest view, or null.
fn compute_o(w: View, votes: &[Arc<Signed<ViewChange>>]) -> (Option<Cert<Checkpoint>>, Vec<PrePrepare>) {
    let latest = votes.iter().max_by_key(|vote| vote.h);
    let min_s = latest.map_or(Slot(0), |vote| vote.h);
    let mut best: BTreeMap<Slot, &Signed<PrePrepare>> = BTreeMap::new();
    for cert in votes.iter().flat_map(|vote| &vote.prepared).filter(|cert| cert.pre_prepare.seq > min_s) {
        let place = best.entry(cert.pre_prepare.seq).or_insert(&cert.pre_prepare);
        if cert.pre_prepare.view > place.view {
            *place = &cert.pre_prepare;
        }
    }
    let max_s = best.keys().next_back().copied().unwrap_or(min_s);
    let proposals = (min_s.0 + 1..=max_s.0).map(Slot).map(|seq| match best.get(&seq) {
        Some(pp) => PrePrepare { view: w, seq, digest: pp.digest, request: pp.request },
        None => PrePrepare { view: w, seq, digest: Digest::NULL, request: None },
    });
    (latest.and_then(|vote| vote.checkpoint.clone()), proposals.collect())
}
