//! Checkpoints, garbage collection, state transfer, slot catch-up.

use std::sync::Arc;

use turncoat_core::checkpoint::{Checkpoint, Excerpt};
use turncoat_core::ids::{NodeId, NodeSet, Slot};
use turncoat_core::sign::{Cert, Signed};
use turncoat_core::votes::Ballots;

use super::messages::{Committed, Msg};
use super::replica::{Cx, Entry, Replica};

impl Replica {
    /// The low watermark h: the last stable checkpoint.
    pub(super) fn h(&self) -> Slot {
        self.checkpoints.stable().map_or(Slot(self.config.below_first()), |proof| proof.seq)
    }

    pub(super) fn last_own_checkpoint(&self) -> Slot {
        let (k, first) = (self.config.checkpoint, self.config.below_first());
        Slot(self.last_exec().0.saturating_sub(first) / k * k + first)
    }

    /// After executing n with n mod K = 0, and again until it is stable: the digest of the history up to n.
    pub(super) fn send_checkpoint(&self, to: NodeSet, cx: &mut Cx<'_>) {
        let seq = self.last_own_checkpoint();
        if let Some(digest) = self.history.digest(seq) {
            cx.multicast(to, Msg::Checkpoint(cx.sign(Checkpoint { seq, digest })));
        }
    }

    pub(super) fn on_checkpoint(&mut self, m: &Signed<Checkpoint>, cx: &mut Cx<'_>) {
        if self.config.flags.checkpoint_unchecked {
            return self.count_checkpoint(m, cx);
        }
        let old = self.checkpoints.stable().map_or(Slot(0), |proof| proof.seq);
        let since_first = m.seq.0.checked_sub(self.config.below_first());
        if m.seq > old && since_first.is_some_and(|n| n.is_multiple_of(self.config.checkpoint)) {
            self.checkpoints.add(m, self.window.high());
            self.advance_checkpoint(m.seq, cx);
        }
    }

    /// What `checkpoint_unchecked` does instead: 2f+1 messages about a number, and it is stable.
    fn count_checkpoint(&mut self, m: &Signed<Checkpoint>, cx: &mut Cx<'_>) {
        let heard = self.unchecked.entry(m.seq).or_default();
        *heard += 1;
        if *heard >= cx.cluster().quorum() {
            let mut ballots = Ballots::default();
            ballots.add(m);
            self.stabilise(&ballots.cert(m, cx.cluster().replicas()), cx);
            self.propose(cx);
        }
    }

    /// Stable with 2f+1 equal CHECKPOINTs; f+1 above the window already prove what the history is.
    fn advance_checkpoint(&mut self, seq: Slot, cx: &mut Cx<'_>) {
        let Some(proof) = self.checkpoints.proof(seq, cx.cluster()) else { return };
        let quorum = proof.voters().len() >= cx.cluster().quorum();
        if self.history.digest(seq) != Some(proof.digest) {
            if quorum || seq > self.window.high() {
                self.fetch_up_to(seq, cx);
            }
        } else if quorum {
            self.stabilise(&proof, cx);
            self.propose(cx);
        }
    }

    /// h := n; everything up to n is forgotten. The reply table is not: it belongs to the service.
    pub(super) fn stabilise(&mut self, proof: &Cert<Checkpoint>, cx: &mut Cx<'_>) {
        if self.checkpoints.stable().is_some_and(|stable| stable.seq >= proof.seq) {
            return;
        }
        cx.mark("stable-checkpoint");
        self.window.advance(Slot(proof.seq.0.saturating_sub(self.config.below_first())));
        self.checkpoints.stabilise(proof.clone());
        if self.config.flags.reply_cache_gc {
            self.clients.retain_replies(|reply| reply.seq > proof.seq);
        }
    }

    // --- state transfer ---------------------------------------------------------------------------------------

    pub(super) fn fetch_up_to(&mut self, seq: Slot, cx: &mut Cx<'_>) {
        if self.fetching < Some(seq) {
            self.fetching = Some(seq);
            self.fetch(cx);
        }
    }

    /// Asks for the history, again and again until it comes.
    pub(super) fn fetch(&self, cx: &mut Cx<'_>) {
        if let Some(seq) = self.fetching {
            cx.to_others(Msg::Fetch { after: self.last_exec(), seq });
        }
    }

    /// Answers with the stable checkpoint if it reaches that far, else with what is known of the one asked for.
    pub(super) fn on_fetch(&mut self, from: NodeId, after: Slot, seq: Slot, cx: &mut Cx<'_>) {
        let stable = self.checkpoints.stable().filter(|proof| proof.seq >= seq).cloned();
        if let Some(proof) = stable.or_else(|| self.checkpoints.proof(seq, cx.cluster())) {
            self.send_state(from, after, proof, cx);
        }
    }

    fn send_state(&self, to: NodeId, after: Slot, proof: Cert<Checkpoint>, cx: &mut Cx<'_>) {
        if let Some(state) = Excerpt::of(&self.history, after, proof) {
            cx.send(to, Msg::State(Arc::new(state)));
        }
    }

    /// Accepts a history that f+1 replicas vouch for.
    pub(super) fn on_state(&mut self, m: &Excerpt, cx: &mut Cx<'_>) {
        let (end, voters) = (m.proof.seq, m.proof.voters().and(cx.cluster().replicas()));
        let proved = voters.len() >= cx.cluster().weak();
        let Some(missing) = m.missing(&self.history).filter(|_| proved) else { return };
        cx.mark("state-transfer");
        missing.iter().for_each(|&entry| self.apply(self.last_exec().next(), entry, voters, cx));
        self.fetching = self.fetching.filter(|&target| target > end);
        if voters.len() >= cx.cluster().quorum() {
            self.stabilise(&m.proof, cx);
        }
        self.send_checkpoint(cx.cluster().replicas(), cx);
        self.advance_checkpoint(end, cx);
        self.execute(self.last_exec().next(), cx);
        self.propose(cx);
    }

    // --- slot catch-up (ours) ---------------------------------------------------------------------------------

    /// f+1 replicas say that a number is committed, and the next one cannot be completed here: ask for the proof.
    pub(super) fn fetch_missing_slot(&mut self, cx: &mut Cx<'_>) {
        let weak = cx.cluster().weak();
        let hinted = |entry: &Entry| {
            let agree = |vote| entry.hints.values().filter(|&other| other == vote).count() >= weak;
            entry.commits.winner(weak).is_some() || entry.hints.values().any(agree)
        };
        let next = self.last_exec().next();
        if self.config.slot_fetch && next > self.h() && self.window.above(self.last_exec()).any(hinted) {
            cx.to_others(Msg::SlotFetch(next));
        }
    }

    pub(super) fn on_slot_fetch(&mut self, from: NodeId, seq: Slot, cx: &mut Cx<'_>) {
        match self.checkpoints.stable().cloned() {
            // Passed by a checkpoint: the history up to it answers the question.
            Some(proof) if seq <= proof.seq => {
                self.send_state(from, Slot(seq.0.saturating_sub(1)), proof, cx);
            }
            _ => {
                for seq in (seq.0..=self.last_exec().0).map(Slot) {
                    let proof = self.window.get(seq).and_then(|entry| entry.committed.clone());
                    proof.into_iter().for_each(|proof| cx.send(from, Msg::SlotProof(proof)));
                }
            }
        }
    }

    /// A commit certificate proves itself, in any view and status: committed is final.
    pub(super) fn on_slot_proof(&mut self, m: &Arc<Committed>, cx: &mut Cx<'_>) {
        let (seq, quorum) = (m.pre_prepare.seq, cx.cluster().quorum());
        let certified = self.certified(m, cx.cluster().replicas(), quorum, cx);
        if let Some(entry) = self.window.get(seq).filter(|entry| certified && entry.committed.is_none()) {
            entry.committed = Some(m.clone());
            cx.mark("slot-fetch");
            self.execute(seq, cx);
        }
    }
}
