//! Checkpoints, garbage collection, state transfer, slot catch-up.

use std::sync::Arc;

use turncoat_core::hash::Digest;
use turncoat_core::ids::{NodeId, NodeSet, Slot};
use turncoat_core::sign::{Cert, Signed};

use super::messages::{Checkpoint, Fetch, Msg, SlotProof, State};
use super::replica::{Cx, Entry, Replica};
use super::{Timer, mark};

impl Replica {
    /// The digest of the log up to `seq`, which has been executed.
    fn history(&self, seq: Slot) -> Digest {
        if seq == self.last_exec() {
            return self.chain;
        }
        self.log[..seq.0 as usize].iter().fold(Digest::NULL, |chain, entry| chained(chain, entry.as_ref()))
    }

    pub(super) fn last_own_checkpoint(&self) -> Slot {
        Slot(self.last_exec().0 / self.config.checkpoint * self.config.checkpoint)
    }

    /// After executing n with n mod K = 0: tell the others.
    pub(super) fn take_checkpoint(&mut self, cx: &mut Cx<'_>) {
        let seq = self.last_exec();
        if seq.0.is_multiple_of(self.config.checkpoint) {
            cx.broadcast(Msg::Checkpoint(cx.sign(Checkpoint { seq, digest: self.chain })));
        }
    }

    pub(super) fn resend_checkpoint(&mut self, cx: &mut Cx<'_>) {
        let seq = self.last_own_checkpoint();
        if seq > self.h {
            cx.to_others(Msg::Checkpoint(cx.sign(Checkpoint { seq, digest: self.history(seq) })));
        }
    }

    pub(super) fn on_checkpoint(&mut self, m: &Signed<Checkpoint>, cx: &mut Cx<'_>) {
        if m.seq <= self.h || !m.seq.0.is_multiple_of(self.config.checkpoint) {
            return;
        }
        self.checkpoints.entry(m.seq).or_default().add(m);
        // Above the window only the newest of each sender is kept.
        let high = Slot(self.h.0 + self.config.window);
        let above = |seq: Slot| seq > high;
        if above(m.seq) {
            let older = self.checkpoints.range(high.next()..m.seq);
            let older: Vec<Slot> =
                older.filter(|(_, votes)| votes.seen().contains(m.signer())).map(|(&n, _)| n).collect();
            for seq in older {
                if self.checkpoints[&seq].seen().len() == 1 {
                    self.checkpoints.remove(&seq);
                }
            }
        }
        self.advance_checkpoint(m.seq, cx);
    }

    /// Stable with 2f+1 equal CHECKPOINTs; f+1 above the window already prove that the state is right.
    fn advance_checkpoint(&mut self, seq: Slot, cx: &mut Cx<'_>) {
        let (quorum, weak) = (cx.cluster().quorum(), cx.cluster().weak());
        let Some(votes) = self.checkpoints.get(&seq) else { return };
        let Some((&body, voters)) = votes.winner(weak) else { return };
        let proof = votes.cert(&body, NodeSet::replicas(NodeId::MAX));
        let executed = self.last_exec() >= seq && self.history(seq) == body.digest;
        if executed && voters.len() >= quorum {
            self.stabilise(&proof, cx);
        } else if !executed && (voters.len() >= quorum || seq.0 > self.h.0 + self.config.window) {
            self.fetch_up_to(seq, cx);
        }
    }

    /// h := n; everything up to n is forgotten. The reply table is not: it belongs to the service.
    pub(super) fn stabilise(&mut self, proof: &Cert<Checkpoint>, cx: &mut Cx<'_>) {
        if proof.seq <= self.h {
            return;
        }
        cx.mark(mark::STABLE_CHECKPOINT);
        let passed = ((proof.seq.0 - self.h.0) as usize).min(self.window.len());
        self.window.rotate_left(passed);
        let kept = self.window.len() - passed;
        self.window.range_mut(kept..).for_each(|entry| *entry = Entry::default());
        self.h = proof.seq;
        self.stable_proof = Some(proof.clone());
        self.checkpoints = self.checkpoints.split_off(&proof.seq.next());
        self.next_seq = self.next_seq.max(self.h);
        self.propose(cx);
    }

    // --- state transfer ---------------------------------------------------------------------------------

    pub(super) fn fetch_up_to(&mut self, seq: Slot, cx: &mut Cx<'_>) {
        if self.fetching.is_none_or(|target| target < seq) {
            self.fetching = Some(seq);
            self.fetch(cx);
        }
    }

    /// Asks for the history, again and again until it comes.
    pub(super) fn fetch(&mut self, cx: &mut Cx<'_>) {
        let Some(seq) = self.fetching else { return };
        cx.to_others(Msg::Fetch(Fetch { after: self.last_exec(), seq }));
        cx.set_timer(Timer::Fetch, self.config.retransmit);
    }

    pub(super) fn on_fetch(&mut self, from: NodeId, m: &Fetch, cx: &mut Cx<'_>) {
        // The stable checkpoint if it reaches that far; else the one that is asked for, as far as it is known.
        let stable = self.stable_proof.as_ref().filter(|proof| proof.seq >= m.seq);
        let known = || {
            let votes = self.checkpoints.get(&m.seq)?;
            let (body, _) = votes.winner(cx.cluster().weak())?;
            Some(votes.cert(body, NodeSet::replicas(NodeId::MAX)))
        };
        if let Some(proof) = stable.cloned().or_else(known) {
            self.send_state(from, m.after, proof, cx);
        }
    }

    fn send_state(&self, to: NodeId, after: Slot, proof: Cert<Checkpoint>, cx: &mut Cx<'_>) {
        let range = after.0 as usize..proof.seq.0 as usize;
        let Some(entries) = self.log.get(range) else { return };
        if self.history(proof.seq) == proof.digest {
            cx.send(to, Msg::State(Arc::new(State { entries: entries.to_vec(), after, proof })));
        }
    }

    /// Accepts a history that f+1 replicas vouch for.
    pub(super) fn on_state(&mut self, m: &State, cx: &mut Cx<'_>) {
        let end = Slot(m.after.0.saturating_add(m.entries.len() as u32));
        let Some(skip) = self.last_exec().0.checked_sub(m.after.0) else { return };
        let vouched = m.proof.voters().and(cx.cluster().replicas()).len() >= cx.cluster().weak();
        if !vouched || end != m.proof.seq || end <= self.last_exec() {
            return;
        }
        let missing = &m.entries[skip as usize..];
        if missing.iter().fold(self.chain, |chain, entry| chained(chain, entry.as_ref())) != m.proof.digest {
            return;
        }
        cx.mark(mark::STATE_TRANSFER);
        for &entry in missing {
            self.apply(entry, m.proof.voters(), cx);
        }
        if self.fetching.is_some_and(|target| target <= end) {
            self.fetching = None;
            cx.cancel_timer(Timer::Fetch);
        }
        if m.proof.voters().len() >= cx.cluster().quorum() {
            self.stabilise(&m.proof, cx);
        }
        self.take_checkpoint(cx);
        self.advance_checkpoint(end, cx);
        self.execute(cx);
    }

    // --- slot catch-up (ours) ---------------------------------------------------------------------------

    /// f+1 replicas say that the next number is committed, and it cannot be completed here: ask for the proof.
    pub(super) fn fetch_missing_slot(&mut self, cx: &mut Cx<'_>) {
        let weak = cx.cluster().weak();
        let next = self.last_exec().next();
        let ahead = self.window.iter().skip((next.0.saturating_sub(self.h.0 + 1)) as usize);
        let hinted = |entry: &Entry| {
            let agree = |vote| entry.hints.values().filter(|&other| other == vote).count() >= weak;
            entry.commits.winner(weak).is_some() || entry.hints.values().any(agree)
        };
        if self.config.slot_fetch && next > self.h && ahead.into_iter().any(hinted) {
            cx.to_others(Msg::SlotFetch(next));
        }
    }

    pub(super) fn on_slot_fetch(&mut self, from: NodeId, seq: Slot, cx: &mut Cx<'_>) {
        if seq <= self.h {
            // Passed by a checkpoint: the history up to it answers the question.
            if let (Some(proof), true) = (self.stable_proof.clone(), seq > Slot(0)) {
                self.send_state(from, Slot(seq.0 - 1), proof, cx);
            }
            return;
        }
        for seq in (seq.0..=self.last_exec().0).map(Slot) {
            if let Some(proof) = self.entry(seq).and_then(|entry| entry.committed.clone()) {
                cx.send(from, Msg::SlotProof(proof));
            }
        }
    }

    /// A commit certificate proves itself, in any view and status: committed is final.
    pub(super) fn on_slot_proof(&mut self, m: &Arc<SlotProof>, cx: &mut Cx<'_>) {
        let (pp, commits) = (&m.pre_prepare, &m.commits);
        let certified = pp.is_by(cx.leader(pp.view))
            && (commits.view, commits.seq, commits.digest) == (pp.view, pp.seq, pp.digest)
            && commits.voters().and(cx.cluster().replicas()).len() >= cx.cluster().quorum()
            && match &pp.request {
                Some(r) => r.is_by(r.client) && r.digest() == pp.digest,
                None => pp.digest == Digest::NULL,
            };
        let Some(entry) = self.entry(pp.seq).filter(|entry| certified && entry.committed.is_none()) else {
            return;
        };
        entry.committed = Some(m.clone());
        cx.mark(mark::SLOT_FETCH);
        self.execute(cx);
    }
}

fn chained(chain: Digest, entry: Option<&turncoat_core::client::Request>) -> Digest {
    Digest::of(&(chain, entry.map_or(Digest::NULL, |request| request.digest())))
}
