//! Checkpoints: what is final, and how a replica gets what it lacks.

use turncoat_core::prelude::*;

use super::Cx;
use super::messages::{Checkpoint, Claim, Msg, chain};
use super::replica::Replica;

impl Replica {
    /// An answer of another replica, or an own one, at a checkpoint of this view.
    pub(super) fn on_response(&mut self, claim: &Signed<Claim>) {
        let due = claim.seq.0.is_multiple_of(self.config.checkpoint) && claim.seq > self.s();
        if self.normal && claim.view == self.view && due {
            self.responses.entry(claim.seq).or_default().add(claim);
        }
    }

    /// 2f+1 equal answers of this view, equal to the own one, are a certificate: CHECKPOINT to all.
    pub(super) fn advance_checkpoints(&mut self, cx: &mut Cx<'_>) {
        let view = self.view;
        let certified = self.responses.iter().find_map(|(&seq, ballots)| {
            let claim = Claim { view, seq, history: self.log.history(seq)? };
            let cert = ballots.cert(&claim, cx.cluster().replicas());
            cx.cluster().has_quorum(cert.voters()).then_some(cert)
        });
        if let Some(cert) = certified {
            self.responses.remove(&cert.seq);
            let checkpoint = Checkpoint { view, seq: cert.seq, history: cert.history };
            self.announced = Some(checkpoint);
            self.raise(cert);
            cx.broadcast(Msg::Checkpoint(cx.sign(checkpoint)));
        }
    }

    pub(super) fn on_checkpoint(&mut self, m: &Signed<Checkpoint>) {
        if m.valid() && m.seq > self.s() && m.seq.0.is_multiple_of(self.config.checkpoint) {
            super::count(&mut self.checkpoints, m);
        }
    }

    /// Whether a certificate proves that a checkpoint is stable.
    pub(super) fn is_stable(&self, proof: &Cert<Checkpoint>, cluster: &Cluster) -> bool {
        proof.voters().and(cluster.replicas()).len() >= self.stable_quorum(cluster)
    }

    /// How many CHECKPOINTs make one stable.
    fn stable_quorum(&self, cluster: &Cluster) -> usize {
        if self.config.flags.stable_fplus1 { cluster.weak() } else { cluster.quorum() }
    }

    /// Stable: 2f+1 CHECKPOINTs equal in (v,n,h). Who has another history there, or none, fetches it.
    pub(super) fn advance_stable(&mut self, cx: &mut Cx<'_>) {
        let need = self.stable_quorum(cx.cluster());
        let stable = self.checkpoints.iter().filter_map(|ballots| {
            let (body, _) = ballots.winner(need)?;
            Some(ballots.cert(body, cx.cluster().replicas()))
        });
        if let Some(proof) = stable.max_by_key(|proof| proof.seq) {
            self.reach(&proof, cx);
        }
    }

    /// Makes the log final up to a stable checkpoint, if it gets there; else asks for it. Says whether it is final.
    pub(super) fn reach(&mut self, proof: &Cert<Checkpoint>, cx: &mut Cx<'_>) -> bool {
        if proof.seq <= self.s() {
            return true;
        }
        if self.log.history(proof.seq) == Some(proof.history) {
            cx.mark("stable-checkpoint");
            cx.note(|| format!("slots up to {} are final", proof.seq));
            let votes = Ballot::new("checkpoint", None, proof.voters());
            self.log.commit(proof.seq, Grounds::Certificate(votes), cx);
            self.log.forget_orders(proof.seq);
            self.responses.retain(|&seq, _| seq > proof.seq);
            self.checkpoints.retain(|votes| votes.iter().any(|(vote, _)| vote.seq > proof.seq));
            self.fetching.take_if(|wanted| wanted.seq <= proof.seq);
            self.stable = Some(proof.clone());
            return true;
        }
        if self.fetching.as_ref().is_none_or(|wanted| wanted.seq < proof.seq) {
            self.fetching = Some(proof.clone());
            cx.to_others(Msg::Fetch(proof.seq));
        }
        false
    }

    /// Shows the stable checkpoint to who asks for something and has an older one: the orders below it are forgotten, and
    /// orders above it may be too far ahead. The one CHECKPOINT that a liar withholds would else leave a replica behind.
    pub(super) fn show_stable(&self, who: NodeId, s: Slot, cx: &mut Cx<'_>) {
        if let Some(proof) =
            self.stable.as_ref().filter(|proof| proof.seq > s && !self.config.flags.no_stable_proof)
        {
            cx.send(who, Msg::Stable(proof.clone()));
        }
    }

    pub(super) fn on_stable(&mut self, proof: &Cert<Checkpoint>, cx: &mut Cx<'_>) {
        if self.is_stable(proof, cx.cluster()) {
            self.reach(proof, cx);
        }
    }

    /// Anybody whose log reaches there answers.
    pub(super) fn on_fetch(&self, from: NodeId, seq: Slot, cx: &mut Cx<'_>) {
        if let Some(requests) = self.log.requests(seq) {
            cx.send(from, Msg::State(Arc::new(requests)));
        }
    }

    /// The requests whose history is the stable one replace the log; nothing else is committed.
    pub(super) fn on_state(&mut self, requests: &[Option<Signed<Request>>], cx: &mut Cx<'_>) {
        let xor = self.config.flags.xor_history;
        let Some(proof) = self.fetching.clone().filter(|proof| proof.seq.0 as usize == requests.len()) else {
            return;
        };
        let digest =
            |request: &Option<Signed<Request>>| request.as_ref().map_or(Digest::NULL, |r| r.digest());
        let histories: Vec<Digest> = requests
            .iter()
            .scan(Digest::NULL, |history, request| {
                *history = chain(*history, digest(request), xor);
                Some(*history)
            })
            .collect();
        if histories.last() != Some(&proof.history) {
            return;
        }
        cx.mark("state-transfer");
        let own = self.log.above(Slot(0)).iter().map(|entry| entry.history);
        let common = own.zip(&histories).take_while(|(own, history)| own == *history).count();
        self.log.roll_back(Slot(common as u32), cx);
        requests[common..].iter().for_each(|request| self.log.push(*request, None, xor, cx));
        self.rebuild_clients();
        self.max_cc.take_if(|cert| self.log.history(cert.seq) != Some(cert.history));
        self.reach(&proof, cx);
    }
}
