//! The view change: VIEW-CHANGE, NEW-VIEW, and what makes their content good.

use std::collections::BTreeMap;
use turncoat_core::prelude::*;

use super::messages::{Certificate, Msg, NewView, PrePrepare, Prepared, ViewChange, Voted};
use super::replica::{Cx, Entry, Replica};
use crate::slips::slip;

/// The most proposals that a machine has room for. A correct O is no larger than the window.
const O_MAX: u32 = 1 << 20;

impl Replica {
    /// Freezes and votes for view `w`.
    pub(super) fn start_view_change(&mut self, w: View, cx: &mut Cx<'_>) {
        if w <= self.target {
            return;
        }
        cx.mark("view-change");
        (self.target, self.frozen) = (w, true);
        cx.cancel_timer(Timer::ViewChange);
        let h = self.h();
        let mut prepared: Vec<_> = self.window.above(h).filter_map(|entry| entry.prepared.clone()).collect();
        if self.config.flags.own_cert_lost && cx.leads(w) {
            prepared.clear();
        }
        let vote = ViewChange { view: w, h, checkpoint: self.checkpoints.stable().cloned(), prepared };
        cx.broadcast(Msg::ViewChange(Arc::new(cx.sign(vote))));
    }

    pub(super) fn on_view_change(&mut self, from: NodeId, m: &Voted, cx: &mut Cx<'_>) {
        if m.view <= self.view {
            return self.relay_new_view(from, View(m.view.0.saturating_sub(1)), cx);
        }
        if !self.view_changes.has(from, m.view) && self.valid_view_change(m, cx) {
            self.view_changes.add(from, m.view, m.clone());
            self.advance_view_change(cx);
        }
    }

    /// C proves h; P holds at most one good certificate per number within the window, of earlier views.
    fn valid_view_change(&self, m: &ViewChange, cx: &Cx<'_>) -> bool {
        let mut last = m.h;
        let good = |cert: &Prepared| {
            let (view, seq) = (cert.pre_prepare.view, cert.pre_prepare.seq);
            let in_order = std::mem::replace(&mut last, seq) < seq;
            let within = seq.0.saturating_sub(m.h.0) <= self.config.window;
            in_order && within && view < m.view && self.certified(cert, cx)
        };
        let proved = self.checkpoints.proves(m.h, m.checkpoint.as_ref(), cx.cluster());
        self.config.flags.vc_unchecked || (proved && m.prepared.iter().all(good))
    }

    /// Every rule of the view change whose guard now holds.
    pub(super) fn advance_view_change(&mut self, cx: &mut Cx<'_>) {
        let flags = self.config.flags;
        // Join: f+1 others want later views, so a correct one does. The smallest of their views is enough.
        let mut later: Vec<_> = self.view_changes.beyond(self.target, cx.others()).collect();
        if !flags.join_counts_votes {
            later.dedup_by_key(|(who, _)| *who);
        }
        let smallest = later.iter().map(|&(_, view)| view).min();
        if let Some(view) = smallest.filter(|_| later.len() >= cx.cluster().weak()) {
            let frozen = self.frozen;
            self.start_view_change(view, cx);
            self.frozen = frozen || !flags.join_does_not_freeze;
            return;
        }
        if self.target == self.view {
            return;
        }
        // The timer for the NEW-VIEW starts when 2f+1 want this view or a later one.
        let wanted = self.view_changes.wanting(self.target) >= cx.cluster().quorum();
        if wanted && !slip!("pbft/no-new-view-timer") {
            cx.start_timer(Timer::ViewChange, self.patience.timeout());
        }
        if cx.leads(self.target) {
            self.try_new_view(self.target, cx);
        }
    }

    // --- NEW-VIEW ---------------------------------------------------------------------------------------------

    /// The new primary: with the votes of 2f others besides its own, it starts the view.
    fn try_new_view(&mut self, w: View, cx: &mut Cx<'_>) {
        let Some(votes) = self.view_changes.elect(w, cx.me(), cx.cluster().quorum()) else { return };
        let (_, proposals) = self.compute_o(w, &votes);
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
        if self.config.flags.nv_unchecked {
            return self.believe_new_view(m, cx);
        }
        let wanted = m.view > self.view && m.view >= self.target;
        if wanted && m.is_by(cx.leader(m.view)) && self.valid_new_view(m, cx) {
            self.install(m, cx);
        }
    }

    /// What `nv_unchecked` does instead: the log is gone before the only check, which crashes if there are no votes.
    fn believe_new_view(&mut self, m: &Arc<Signed<NewView>>, cx: &mut Cx<'_>) {
        for entry in self.window.iter_mut() {
            *entry = Entry { committed: entry.committed.take(), ..Entry::default() };
        }
        if m.votes[0].view == m.view {
            self.install(m, cx);
        }
    }

    /// Nothing changes before all checks have passed.
    fn valid_new_view(&self, m: &NewView, cx: &Cx<'_>) -> bool {
        let genuine = |vote: &Voted| vote.valid() && vote.view == m.view && self.valid_view_change(vote, cx);
        let mut elected = cx.cluster().elected(m.votes.iter().map(|vote| vote.signer()));
        if slip!("pbft/new-view-counts-votes") {
            elected = m.votes.len() >= cx.cluster().quorum();
        }
        if !elected || !m.votes.iter().all(genuine) {
            return false;
        }
        let (_, proposals) = self.compute_o(m.view, &m.votes);
        let by_primary = m.pre_prepares.iter().all(|proposal| proposal.is_by(cx.leader(m.view)));
        by_primary && m.pre_prepares.iter().map(|proposal| &**proposal).eq(&proposals)
    }

    /// What follows from the votes V: the latest stable checkpoint among them (min-s), and O, a proposal for each number
    /// from there to the highest prepared one (max-s): the request whose certificate has the highest view, or null.
    fn compute_o(&self, w: View, votes: &[Voted]) -> (Option<Cert<Checkpoint>>, Vec<PrePrepare>) {
        let flags = self.config.flags;
        let highest = votes.iter().max_by_key(|vote| vote.h);
        let lowest = votes.iter().min_by_key(|vote| vote.h);
        let start = if flags.min_s_minimum { lowest } else { highest };
        let min_s = start.map_or(Slot(0), |vote| vote.h);
        let mut best: BTreeMap<Slot, &Signed<PrePrepare>> = BTreeMap::new();
        for cert in votes.iter().flat_map(|vote| &vote.prepared).filter(|cert| cert.pre_prepare.seq > min_s) {
            let place = best.entry(cert.pre_prepare.seq).or_insert(&cert.pre_prepare);
            if cert.pre_prepare.view > place.view || flags.cert_view_ignored {
                *place = &cert.pre_prepare;
            }
        }
        let claimed = highest.filter(|_| flags.min_s_minimum).map_or(min_s, |vote| vote.h);
        let max_s = best.keys().next_back().map_or(claimed, |&last| last.max(claimed));
        let gap = max_s.0 - min_s.0;
        assert!(gap <= O_MAX, "no room for the {gap} proposals that the votes of a NEW-VIEW call for");
        let end = max_s.0 - u32::from(slip!("pbft/last-number-dropped") && gap > 0);
        let proposals = (min_s.0..end).map(|before| Slot(before + 1)).map(|seq| match best.get(&seq) {
            Some(pp) => PrePrepare { view: if flags.old_views_kept { pp.view } else { w }, ..***pp },
            None => PrePrepare { view: w, seq, digest: Digest::NULL, request: None },
        });
        (start.and_then(|vote| vote.checkpoint.clone()), proposals.collect())
    }

    /// Enters the view.
    fn install(&mut self, m: &Arc<Signed<NewView>>, cx: &mut Cx<'_>) {
        let flags = self.config.flags;
        cx.mark("new-view");
        cx.note(|| format!("enters view {}", m.view));
        (self.view, self.target, self.frozen) = (m.view, m.view, false);
        self.patience.enter();
        self.last_new_view = Some(m.clone());
        self.view_changes.forget(m.view);
        cx.cancel_timer(Timer::ViewChange);
        for entry in self.window.iter_mut() {
            let Entry { prepared, committed, hints, .. } = std::mem::take(entry);
            let prepared = prepared.filter(|_| !slip!("pbft/prepared-cleared"));
            *entry = Entry { prepared, committed, hints, ..Entry::default() };
        }
        self.ghosts = 0;
        // The votes prove a later checkpoint than ours: the window moves there, the history follows.
        if let (Some(proof), _) = self.compute_o(m.view, &m.votes) {
            self.stabilise(&proof, cx);
            if self.last_exec() < proof.seq {
                self.checkpoints.fetch(proof.seq, &self.history, Msg::Fetch, cx);
            }
        }
        // The numbers go on after O.
        let last = m.pre_prepares.last().map_or(self.h(), |pre_prepare| pre_prepare.seq.max(self.h()));
        if !flags.seq_not_synced || (!m.pre_prepares.is_empty() && self.next_seq.next() < last) {
            self.next_seq = last;
        }
        let skips_nulls = flags.nulls_skipped && !cx.leads(self.view);
        for pre_prepare in m.pre_prepares.iter().filter(|m| m.request.is_some() || !skips_nulls) {
            self.accept(pre_prepare, cx);
        }
        if flags.timers_cleared {
            self.clients.forget_pending();
        }
        if flags.timeouts_reset {
            self.patience.regain();
        }
        let late = cx.now() + self.patience.timeout();
        self.deadlines.iter_mut().for_each(|(_, at)| *at = late);
        // What came early is looked at again.
        for (from, msg) in self.early.take() {
            self.on_phase(from, &msg, cx);
        }
        if !cx.leads(self.view) {
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

    // --- good proposals and certificates ----------------------------------------------------------------------

    /// A proposal of its view's primary, of a client's request or of null.
    pub(super) fn is_genuine(&self, m: &Signed<PrePrepare>, cx: &Cx<'_>) -> bool {
        let flags = self.config.flags;
        let genuine = |r: &Signed<Request>| {
            let authentic = r.is_by(r.client) || flags.no_request_auth;
            authentic && !r.read_only && self.config.digest(r) == m.digest
        };
        (m.is_by(cx.leader(m.view)) || flags.pp_from_anyone)
            && m.request.as_ref().map_or(m.digest == Digest::NULL, genuine)
    }

    /// A genuine proposal and votes that match it: 2f PREPAREs of backups, or 2f+1 COMMITs.
    pub(super) fn certified<const PHASE: char>(&self, cert: &Certificate<PHASE>, cx: &Cx<'_>) -> bool {
        let primary = NodeSet::one(cx.leader(cert.pre_prepare.view));
        let voters = cert.votes.voters().or(if PHASE == 'P' { primary } else { NodeSet::EMPTY });
        self.is_genuine(&cert.pre_prepare, cx)
            && *cert.votes == cert.pre_prepare.vote()
            && cx.cluster().has_quorum(voters)
    }
}
