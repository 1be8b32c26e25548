//! Checkpoints, garbage collection, state transfer, slot catch-up.

use std::sync::Arc;

use turncoat_core::ids::{NodeId, Slot};
use turncoat_core::sign::{Cert, Signed};
use turncoat_core::votes::Ballots;

use super::Timer;
use super::messages::{Checkpoint, Msg, SlotProof, State};
use super::replica::{Cx, Entry, Replica};
use super::view_change::is_genuine;

impl Replica {
    pub(super) fn last_own_checkpoint(&self) -> Slot {
        Slot(self.last_exec().0 / self.config.checkpoint * self.config.checkpoint)
    }

    fn own_checkpoint(&self, cx: &Cx<'_>) -> Option<Msg> {
        let seq = self.last_own_checkpoint();
        self.history.digest(seq).map(|digest| Msg::Checkpoint(cx.sign(Checkpoint { seq, digest })))
    }

    /// After executing n with n mod K = 0: tell all.
    pub(super) fn take_checkpoint(&mut self, cx: &mut Cx<'_>) {
        if self.last_exec() == self.last_own_checkpoint() {
            self.own_checkpoint(cx).into_iter().for_each(|m| cx.broadcast(m));
        }
    }

    pub(super) fn resend_checkpoint(&mut self, cx: &mut Cx<'_>) {
        if self.last_own_checkpoint() > self.window.low() {
            self.own_checkpoint(cx).into_iter().for_each(|m| cx.to_others(m));
        }
    }

    pub(super) fn on_checkpoint(&mut self, m: &Signed<Checkpoint>, cx: &mut Cx<'_>) {
        if m.seq <= self.window.low() || !m.seq.0.is_multiple_of(self.config.checkpoint) {
            return;
        }
        let high = self.window.high();
        let votes = self.checkpoints.entry(m.signer()).or_default();
        if votes.iter().any(|vote| vote.seq == m.seq) {
            return;
        }
        // Of each sender: what is in the window, and the newest above it.
        votes.push(*m);
        let newest = votes.iter().map(|vote| vote.seq).max().unwrap_or_default();
        votes.retain(|vote| vote.seq <= high || vote.seq == newest);
        self.advance_checkpoint(m.seq, cx);
    }

    /// The CHECKPOINTs for a number that f+1 or more replicas agree on.
    fn checkpoint_proof(&self, seq: Slot, cx: &Cx<'_>) -> Option<Cert<Checkpoint>> {
        let mut ballots = Ballots::default();
        for vote in self.checkpoints.values().flatten().filter(|vote| vote.seq == seq) {
            ballots.add(vote);
        }
        let (body, _) = ballots.winner(cx.cluster().weak())?;
        Some(ballots.cert(body, cx.cluster().replicas()))
    }

    /// Stable with 2f+1 equal CHECKPOINTs; f+1 above the window already prove what the history is.
    fn advance_checkpoint(&mut self, seq: Slot, cx: &mut Cx<'_>) {
        let Some(proof) = self.checkpoint_proof(seq, cx) else { return };
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
        if proof.seq <= self.window.low() {
            return;
        }
        cx.mark("stable-checkpoint");
        self.window.advance(proof.seq);
        self.next_seq = self.next_seq.max(proof.seq);
        self.stable_proof = Some(proof.clone());
        self.checkpoints.values_mut().for_each(|votes| votes.retain(|vote| vote.seq > proof.seq));
    }

    // --- state transfer ---------------------------------------------------------------------------------------

    pub(super) fn fetch_up_to(&mut self, seq: Slot, cx: &mut Cx<'_>) {
        if self.fetching.is_none_or(|target| target < seq) {
            self.fetching = Some(seq);
            self.fetch(cx);
        }
    }

    /// Asks for the history, again and again until it comes.
    pub(super) fn fetch(&mut self, cx: &mut Cx<'_>) {
        if let Some(seq) = self.fetching {
            cx.to_others(Msg::Fetch { after: self.last_exec(), seq });
            cx.set_timer(Timer::Fetch, self.config.retransmit);
        }
    }

    /// Answers with the stable checkpoint if it reaches that far, else with what is known of the one asked for.
    pub(super) fn on_fetch(&mut self, from: NodeId, after: Slot, seq: Slot, cx: &mut Cx<'_>) {
        let stable = self.stable_proof.clone().filter(|proof| proof.seq >= seq);
        if let Some(proof) = stable.or_else(|| self.checkpoint_proof(seq, cx)) {
            self.send_state(from, after, proof, cx);
        }
    }

    fn send_state(&self, to: NodeId, after: Slot, proof: Cert<Checkpoint>, cx: &mut Cx<'_>) {
        let entries = self.history.entries(after, proof.seq);
        if let Some(entries) = entries.filter(|_| self.history.digest(proof.seq) == Some(proof.digest)) {
            cx.send(to, Msg::State(Arc::new(State { after, entries: entries.to_vec(), proof })));
        }
    }

    /// Accepts a history that f+1 replicas vouch for.
    pub(super) fn on_state(&mut self, m: &State, cx: &mut Cx<'_>) {
        let (end, voters) = (m.proof.seq, m.proof.voters().and(cx.cluster().replicas()));
        let whole = m.after.0.checked_add(m.entries.len() as u32) == Some(end.0);
        let missing =
            self.last_exec().0.checked_sub(m.after.0).and_then(|known| m.entries.get(known as usize..));
        let Some(missing) = missing.filter(|missing| whole && !missing.is_empty()) else { return };
        if voters.len() < cx.cluster().weak() || self.history.digest_with(missing) != m.proof.digest {
            return;
        }
        cx.mark("state-transfer");
        missing.iter().for_each(|&entry| self.apply(entry, voters, cx));
        if self.fetching.is_some_and(|target| target <= end) {
            self.fetching = None;
            cx.cancel_timer(Timer::Fetch);
        }
        if voters.len() >= cx.cluster().quorum() {
            self.stabilise(&m.proof, cx);
        }
        self.take_checkpoint(cx);
        self.advance_checkpoint(end, cx);
        self.execute(cx);
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
        if self.config.slot_fetch
            && self.last_exec() >= self.window.low()
            && self.window.above(self.last_exec()).any(hinted)
        {
            cx.to_others(Msg::SlotFetch(self.last_exec().next()));
        }
    }

    pub(super) fn on_slot_fetch(&mut self, from: NodeId, seq: Slot, cx: &mut Cx<'_>) {
        match self.stable_proof.clone() {
            // Passed by a checkpoint: the history up to it answers the question.
            Some(proof) if seq <= self.window.low() => {
                self.send_state(from, Slot(seq.0.saturating_sub(1)), proof, cx);
            }
            _ => {
                for seq in seq.0..=self.last_exec().0 {
                    if let Some(proof) = self.window.get(Slot(seq)).and_then(|entry| entry.committed.clone())
                    {
                        cx.send(from, Msg::SlotProof(proof));
                    }
                }
            }
        }
    }

    /// A commit certificate proves itself, in any view and status: committed is final.
    pub(super) fn on_slot_proof(&mut self, m: &Arc<SlotProof>, cx: &mut Cx<'_>) {
        let (pp, commits) = (&m.pre_prepare, &m.commits);
        let certified = is_genuine(pp, cx)
            && (commits.view, commits.seq, commits.digest) == (pp.view, pp.seq, pp.digest)
            && commits.voters().and(cx.cluster().replicas()).len() >= cx.cluster().quorum();
        if let Some(entry) = self.window.get(pp.seq).filter(|entry| certified && entry.committed.is_none()) {
            entry.committed = Some(m.clone());
            cx.mark("slot-fetch");
            self.execute(cx);
        }
    }
}
