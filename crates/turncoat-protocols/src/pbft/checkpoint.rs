//! Checkpoints, garbage collection, state transfer, slot catch-up.

use turncoat_core::prelude::*;

use super::messages::{Committed, Msg};
use super::replica::{Cx, Entry, Replica};
use crate::slips::slip;

impl Replica {
    /// The low watermark h: the last stable checkpoint.
    pub(super) fn h(&self) -> Slot {
        self.checkpoints.low()
    }

    pub(super) fn on_checkpoint(&mut self, m: &Signed<Checkpoint>, cx: &mut Cx<'_>) {
        if self.config.flags.checkpoint_unchecked {
            self.count_checkpoint(m, cx);
        } else if self.checkpoints.add(m, self.window.high()) {
            self.advance_checkpoint(m.seq, cx);
        }
    }

    /// What `checkpoint_unchecked` does instead: 2f+1 messages about a number, and it is stable.
    fn count_checkpoint(&mut self, m: &Signed<Checkpoint>, cx: &mut Cx<'_>) {
        let heard = self.unchecked.entry(m.seq).or_default();
        *heard += 1;
        if *heard >= cx.cluster().quorum() {
            let alone = Ballots::from_iter([m]).cert(m, cx.cluster().replicas());
            self.stabilise(&alone, cx);
            self.propose(cx);
        }
    }

    /// Stable with 2f+1 equal CHECKPOINTs; f+1 above the window already prove what the history is.
    fn advance_checkpoint(&mut self, seq: Slot, cx: &mut Cx<'_>) {
        let Some(proof) = self.checkpoints.proof(seq, cx.cluster()) else { return };
        let quorum = cx.cluster().has_quorum(proof.voters()) || slip!("pbft/stable-with-few");
        let same = self.history.digest(seq) == Some(proof.digest);
        if !same && (quorum || seq > self.window.high()) {
            self.checkpoints.fetch(seq, &self.history, Msg::Fetch, cx);
        } else if same && quorum {
            self.stabilise(&proof, cx);
            self.propose(cx);
        }
    }

    /// h := n; everything up to n is forgotten. The reply table is not: it belongs to the service.
    pub(super) fn stabilise(&mut self, proof: &Cert<Checkpoint>, cx: &mut Cx<'_>) {
        if self.checkpoints.stabilise(proof) {
            cx.mark("stable-checkpoint");
            self.window.advance(self.checkpoints.passed());
            if self.config.flags.reply_cache_gc {
                self.clients.retain_replies(|reply| reply.seq > proof.seq);
                self.done.retain(|_, reply| reply.seq > proof.seq);
            }
        }
    }

    /// Accepts a history that f+1 replicas vouch for.
    pub(super) fn on_state(&mut self, m: &Excerpt, cx: &mut Cx<'_>) {
        let (end, voters) = (m.proof.seq, m.voters(cx.cluster()));
        let Some(missing) = m.missing(&self.history, cx.cluster()) else { return };
        cx.mark("state-transfer");
        // f+1 will do: one of them is correct.
        let grounds = Grounds::Certificate(Ballot::new("checkpoint", None, voters)).upto(end).by_own_rule();
        missing.iter().for_each(|&entry| self.apply(self.last_exec().next(), entry, grounds, cx));
        self.checkpoints.fetched(end);
        if cx.cluster().has_quorum(voters) {
            self.stabilise(&m.proof, cx);
        }
        self.checkpoints.announce(&self.history, cx.cluster().replicas(), Msg::Checkpoint, cx);
        self.advance_checkpoint(end, cx);
        self.execute(self.last_exec().next(), cx);
        self.propose(cx);
    }

    // --- slot catch-up (ours) ---------------------------------------------------------------------------------

    /// f+1 replicas say that a number is committed, and the next one cannot be completed here: ask for the proof.
    pub(super) fn fetch_missing_slot(&mut self, cx: &mut Cx<'_>) {
        let weak = cx.cluster().weak();
        let hinted = |e: &Entry| e.commits.winner(weak).is_some() || e.hints.winner(weak).is_some();
        let next = self.last_exec().next();
        if self.config.slot_fetch && next > self.h() && self.window.above(self.last_exec()).any(hinted) {
            cx.to_others(Msg::SlotFetch(next));
        }
    }

    pub(super) fn on_slot_fetch(&self, from: NodeId, seq: Slot, cx: &mut Cx<'_>) {
        let after = Slot(seq.0.saturating_sub(1));
        if self.checkpoints.stable().is_some_and(|proof| seq <= proof.seq) {
            // Passed by a checkpoint: the history up to it answers the question.
            return self.checkpoints.answer(from, &Fetch { after, seq }, &self.history, Msg::State, cx);
        }
        let committed = self.window.above(after).filter_map(|entry| entry.committed.as_ref());
        for proof in committed.filter(|proof| proof.pre_prepare.seq <= self.last_exec()) {
            cx.send(from, Msg::SlotProof(proof.clone()));
        }
    }

    /// A commit certificate proves itself, in any view and status: committed is final.
    pub(super) fn on_slot_proof(&mut self, m: &Arc<Committed>, cx: &mut Cx<'_>) {
        let (seq, certified) = (m.pre_prepare.seq, self.certified(m, cx));
        if let Some(entry) = self.window.get(seq).filter(|entry| certified && entry.committed.is_none()) {
            entry.committed = Some(m.clone());
            cx.mark("slot-fetch");
            self.execute(seq, cx);
        }
    }
}
