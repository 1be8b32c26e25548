//! Positions: what a replica says in a round, what it makes of what others say, and when that is consensus.

use turncoat_core::prelude::*;

use super::Cx;
use super::dispute::Dispute;
use super::ledger::TxSet;
use super::messages::{BOW_OUT, Msg, Propose};
use super::replica::Replica;
use super::round::{Phase, Position};
use super::rules::{Consensus, INTERVAL, Pack, Standing};
use crate::slips::slip;

/// How many proposals of each node are kept for rounds to come.
const RECENT: usize = 10;

/// So often a round is looked at, at the least, before it expires: each level of the avalanche twice.
const EXPIRES_AFTER: u32 = 8;

impl Replica {
    /// Says what it wants, if it takes part.
    pub(super) fn propose(&mut self, cx: &mut Cx<'_>) {
        let round = &mut self.round;
        let proposing = round.is_proposing();
        let Some(own) = round.proposal.as_mut().filter(|_| proposing) else { return };
        own.said_at = cx.now();
        let (prev, label) = (round.prev_id, round.prev.seq.next());
        let position = Propose { prev, k: own.k, txs: own.txs.clone(), close: own.close, label };
        let message = Msg::Propose(cx.sign(position));
        self.tell(message, cx);
    }

    /// A proposal comes in. It is kept, whatever round it belongs to, and passed on if it is news in this one.
    pub(super) fn on_propose(&mut self, from: NodeId, position: &Signed<Propose>, cx: &mut Cx<'_>) {
        let node = position.signer();
        let sound = position.txs.is_sound() || slip!("xrpl/payments-unverified");
        if !position.valid() || !self.unl.contains(node) || node == cx.me() || !sound {
            return;
        }
        let recent = &mut self.round.recent[node.index()];
        if recent.len() == RECENT {
            recent.remove(0);
        }
        recent.push(position.clone());
        if self.take_position(position, cx) {
            self.pass_on(from, Msg::Propose(position.clone()), cx);
        }
    }

    /// Takes a proposal into account, if it belongs to this round and is news. Says whether it is.
    pub(super) fn take_position(&mut self, position: &Signed<Propose>, cx: &Cx<'_>) -> bool {
        let (round, node) = (&mut self.round, position.signer());
        if round.phase == Phase::Accepted || position.prev != round.prev_id || round.gone.contains(node) {
            return false;
        }
        let known = round.positions.iter().position(|known| known.node == node);
        if known.is_some_and(|known| round.positions[known].k >= position.k) {
            return false;
        }
        if position.k == BOW_OUT {
            round.gone.insert(node);
            self.drop_positions(|known| known.node == node);
            return true;
        }
        let (k, txs, close, seen_at) = (position.k, position.txs.clone(), position.close, cx.now());
        let position = Position { node, k, txs: txs.clone(), close, seen_at };
        match known {
            Some(known) => round.positions[known] = position,
            None => round.positions.push(position),
        }
        self.dispute(&txs);
        let Some(own) = &mut self.round.proposal else { return true };
        for dispute in &mut own.disputes {
            if dispute.vote(node, txs.contains(&dispute.tx)) {
                own.peers_unchanged = 0;
            }
        }
        true
    }

    /// Positions that no longer count, and their votes.
    pub(super) fn drop_positions(&mut self, dropped: impl Fn(&Position) -> bool) {
        let round = &mut self.round;
        let disputes = round.proposal.iter_mut().flat_map(|own| &mut own.disputes);
        for dispute in disputes {
            let gone = round.positions.iter().filter(|position| dropped(position));
            gone.for_each(|position| dispute.unvote(position.node));
        }
        round.positions.retain(|position| !dropped(position));
    }

    /// Compares a set with its own, once: what only one of them has is disputed, and known from now on.
    pub(super) fn dispute(&mut self, txs: &TxSet) {
        let round = &mut self.round;
        let Some(own) = &mut round.proposal else { return };
        if own.txs == *txs || own.compared.contains(txs) {
            return;
        }
        own.compared.push(txs.clone());
        let votes = || round.positions.iter().map(|position| (position.node, &position.txs));
        for tx in own.txs.difference(txs) {
            if own.disputes.iter().all(|dispute| dispute.tx != *tx) {
                let mut dispute = Dispute::new(*tx, own.txs.contains(tx));
                dispute.vote_by(votes());
                own.disputes.push(dispute);
                self.pool.insert(tx);
            }
        }
    }

    /// Votes anew on what is disputed, and on the closing time.
    pub(super) fn reconsider(&mut self, converge_pct: u64, cx: &mut Cx<'_>) {
        let version = self.config.version;
        let proposing = self.round.is_proposing();
        let Some(own) = &mut self.round.proposal else { return };
        let mut changed = false;
        for dispute in &mut own.disputes {
            changed |= dispute.reconsider(proposing, converge_pct, version);
        }
        if changed {
            let undisputed =
                own.txs.0.iter().filter(|tx| own.disputes.iter().all(|dispute| dispute.tx != **tx));
            let wanted = own.disputes.iter().filter(|dispute| dispute.our_vote).map(|dispute| &dispute.tx);
            own.txs = TxSet::of(undisputed.chain(wanted).copied().collect());
            cx.mark("position-changed");
        }
        changed |= self.reconsider_time(converge_pct);
        let Some(own) = &mut self.round.proposal else { return };
        if changed || cx.now().0 >= own.said_at.0 + INTERVAL {
            own.k += u32::from(own.k != BOW_OUT);
            own.said_at = cx.now();
            self.propose(cx);
        }
    }

    /// Whether it waits for those who lag behind. Otherwise two branches of which one is ahead could grow side by side for
    /// ever: who is ahead takes the others for undecided.
    pub(super) fn waits(&self, time: u64, now: Time) -> bool {
        let seq = self.round.prev.seq;
        let ahead = seq.0.saturating_sub(self.valid.seq.0);
        if self.config.flags.no_pause || ahead == 0 || time > self.config.version.max_consensus() {
            return false;
        }
        let [laggards, offline] = self.validations.behind(self.unl, seq, now);
        let (total, quorum) = (self.unl.len(), self.quorum);
        self.my_max_seq > Slot(0) && Pack { ahead, total, quorum, laggards, offline }.should_wait()
    }

    /// Whether there is consensus, after so much time.
    pub(super) fn consensus(&self, time: u64) -> Consensus {
        let (config, round) = (&self.config, &self.round);
        let Some(own) = &round.proposal else { return Consensus::No };
        let min_pct = config.consensus_pct as usize;
        let proposing = round.is_proposing();
        let is_stalled = |dispute: &Dispute| dispute.is_stalled(proposing, own.peers_unchanged, min_pct);
        let standing = Standing {
            prev_proposers: round.prev_proposers,
            total: round.positions.len(),
            agree: round.votes().filter(|(_, txs)| **txs == own.txs).count(),
            finished: self.validations.beyond(round.prev.seq, round.prev_id),
            prev_round: round.prev_time,
            round: time,
            proposing,
            stalled: config.version.is_2_5()
                && !own.disputes.is_empty()
                && own.disputes.iter().all(is_stalled),
        };
        match standing.consensus(config.version, min_pct, config.flags.alone_is_consensus) {
            Consensus::Expired if own.looks < EXPIRES_AFTER => Consensus::No,
            state => state,
        }
    }
}
