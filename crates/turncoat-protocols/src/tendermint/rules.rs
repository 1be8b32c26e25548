//! The rules of Algorithm 1. Each is looked at after every event, until none applies.

use turncoat_core::prelude::*;

use super::log::Epoch;
use super::messages::{Block, Decided, Msg, Proposal, Vote};
use super::replica::{Replica, Step, Valid};
use super::{Cx, Timer, place, proposer};
use crate::slips::slip;

impl Replica {
    /// Applies every rule whose guard holds, until none does. The paper gives no order; what leads furthest goes first.
    pub(super) fn advance(&mut self, cx: &mut Cx<'_>) {
        while self.decide(cx)
            || self.skip(cx)
            || self.see_polka(cx)
            || self.see_nil_polka(cx)
            || self.judge_proposal(cx)
            || self.wait_for_prevotes(cx)
            || self.wait_for_precommits(cx)
        {}
    }

    // --- L11: StartRound --------------------------------------------------------------------------------------

    /// StartRound(r) within a height.
    pub(super) fn start_epoch(&mut self, epoch: View, cx: &mut Cx<'_>) {
        cx.mark("next-epoch");
        self.leave(cx);
        self.begin(epoch, cx);
    }

    /// Timeouts are for their own epoch only.
    pub(super) fn leave(&self, cx: &mut Cx<'_>) {
        if !self.config.flags.stale_timeout {
            let (height, epoch) = (self.height, self.epoch);
            cx.cancel_timer(Timer::Propose(height, epoch));
            cx.cancel_timer(Timer::Prevote(height, epoch));
            cx.cancel_timer(Timer::Precommit(height, epoch));
        }
    }

    /// The proposer proposes the valid value, if it knows one; the others wait for it.
    pub(super) fn begin(&mut self, epoch: View, cx: &mut Cx<'_>) {
        (self.epoch, self.step) = (epoch, Step::Propose);
        if self.config.flags.forget_lock {
            self.locked = None;
        }
        let (height, leader) = (self.height, proposer(self.height, epoch, cx.cluster()));
        cx.note(|| format!("enters height {height}, round {epoch}, in which {leader} proposes"));
        if leader == cx.me() {
            self.propose(cx);
        } else {
            self.start_timer(Timer::Propose(height, epoch), self.config.timeout_propose, cx);
        }
    }

    fn propose(&self, cx: &mut Cx<'_>) {
        let (height, epoch) = (self.height, self.epoch);
        let (id, block) = match self.valid {
            Some(valid) => (valid.id, valid.block),
            None => {
                let block = Block { parent: self.parent, height, tx: cx.payload() };
                (block.id(), block)
            }
        };
        let valid_round =
            self.valid.map(|valid| valid.epoch).filter(|_| !slip!("tendermint/valid-round-omitted"));
        if valid_round.is_some() {
            cx.mark("re-proposal");
        }
        let proposal = Proposal { height, epoch, id, value: Some(block), valid_round };
        cx.broadcast(Msg::Proposal(Arc::new(cx.sign(proposal))));
    }

    /// timeoutX(r) = initX + r * delta.
    fn start_timer(&self, timer: Timer, first: Time, cx: &mut Cx<'_>) {
        let more = self.config.timeout_delta.0.saturating_mul(u64::from(self.epoch.0));
        cx.set_timer(timer, first + Time(more));
    }

    /// After a restart: those that had been started in this epoch.
    pub(super) fn restart_timers(&self, cx: &mut Cx<'_>) {
        let (height, epoch, config) = (self.height, self.epoch, &self.config);
        let started = self.log.get(epoch);
        if self.step == Step::Propose {
            self.start_timer(Timer::Propose(height, epoch), config.timeout_propose, cx);
        }
        if started.is_some_and(|it| it.prevote_timer) {
            self.start_timer(Timer::Prevote(height, epoch), config.timeout_prevote, cx);
        }
        if started.is_some_and(|it| it.precommit_timer) {
            self.start_timer(Timer::Precommit(height, epoch), config.timeout_precommit, cx);
        }
    }

    // --- votes ------------------------------------------------------------------------------------------------

    /// Prevotes for a value, or for nil.
    pub(super) fn prevote(&mut self, id: Option<Digest>, cx: &mut Cx<'_>) {
        if let Some(id) = id {
            self.keep_promise(id, cx);
        }
        let (height, epoch) = (self.height, self.epoch);
        cx.broadcast(Msg::Prevote(cx.sign(Vote { height, epoch, id })));
        self.step = Step::Prevote;
    }

    /// Precommits a value, or nil.
    pub(super) fn precommit(&mut self, id: Option<Digest>, cx: &mut Cx<'_>) {
        let (height, epoch) = (self.height, self.epoch);
        cx.broadcast(Msg::Precommit(cx.sign(Vote { height, epoch, id })));
        self.step = Step::Precommit;
    }

    /// A prevote against what was precommitted needs a polka that is no older. Only checks read the result: rules that are
    /// broken may have lost the lock.
    fn keep_promise(&mut self, id: Digest, cx: &mut Cx<'_>) {
        let Some((since, _)) = self.promise.filter(|&(_, promised)| promised != id) else { return };
        let polka = |voters| self.power.is_quorum(self.power.of(voters));
        let mut newer = self.log.epochs().filter(|epoch| epoch.number >= since);
        if newer.any(|epoch| polka(epoch.prevotes.voters(Some(id)))) {
            cx.mark("unlock");
        } else {
            self.broken = Some((self.epoch, id));
            cx.examine();
        }
    }

    // --- upon ... do ------------------------------------------------------------------------------------------

    /// L22, L28: a proposal of this epoch. One that is made again needs the polka that it names.
    fn judge_proposal(&mut self, cx: &mut Cx<'_>) -> bool {
        if self.step != Step::Propose {
            return false;
        }
        let Some(epoch) = self.log.get(self.epoch) else { return false };
        for proposed in &epoch.proposals {
            let Proposal { id, valid_round, .. } = **proposed.proposal;
            let free = match valid_round {
                None => self.locked.is_none_or(|(_, locked)| locked == id),
                Some(round) if !self.is_justified(round, id) => continue,
                Some(round) => self.may_follow(round, id),
            };
            let vote = Some(id).filter(|_| proposed.valid.is_some() && free);
            self.prevote(vote, cx);
            return true;
        }
        false
    }

    /// Whether the polka that a re-proposal names is here.
    fn is_justified(&self, round: View, id: Digest) -> bool {
        if round >= self.epoch {
            return self.config.flags.vr_future;
        }
        let polka = |it: &Epoch| self.power.quorum(it.prevotes.weight(Some(id), &self.power));
        if slip!("tendermint/polka-of-any-round") {
            return self.log.epochs().any(polka);
        }
        self.config.flags.vr_unchecked || self.log.get(round).is_some_and(polka)
    }

    /// Whether the lock allows a prevote for a value with a polka of this epoch.
    fn may_follow(&self, round: View, id: Digest) -> bool {
        let Some((since, locked)) = self.locked else { return true };
        let flags = self.config.flags;
        match () {
            () if flags.early_lock => locked == id,
            () if flags.lock_lt => since < round,
            () if slip!("tendermint/lock-round-ignored") => true,
            () => since <= round || locked == id,
        }
    }

    /// L34: a quorum has prevoted, for this or that.
    fn wait_for_prevotes(&mut self, cx: &mut Cx<'_>) -> bool {
        let power = &self.power;
        let Some(epoch) = self.log.get(self.epoch).filter(|_| self.step == Step::Prevote) else {
            return false;
        };
        if epoch.prevote_timer || !power.quorum(epoch.prevotes.any(power)) {
            return false;
        }
        self.log.at(self.epoch).prevote_timer = true;
        self.start_timer(Timer::Prevote(self.height, self.epoch), self.config.timeout_prevote, cx);
        true
    }

    /// L36: a quorum has prevoted for the proposal. Who has already given its precommit does not lock, but knows now
    /// what to propose.
    fn see_polka(&mut self, cx: &mut Cx<'_>) -> bool {
        let power = &self.power;
        let Some(epoch) = self.log.get(self.epoch).filter(|_| self.step >= Step::Prevote) else {
            return false;
        };
        if epoch.polka {
            return false;
        }
        let polka = |id| power.quorum(epoch.prevotes.weight(Some(id), power));
        let Some((proposed, block)) = epoch.proposed(polka) else { return false };
        let (id, now) = (proposed.proposal.id, self.epoch);
        self.log.at(now).polka = true;
        let locks = self.step == Step::Prevote;
        if locks {
            (self.locked, self.promise) = (Some((now, id)), Some((now, id)));
            cx.note(|| format!("is locked on {id}"));
            self.precommit(Some(id), cx);
        }
        if locks || !self.config.flags.early_lock {
            self.valid = Some(Valid { epoch: now, id, block });
        }
        true
    }

    /// L44: a quorum has prevoted for nil.
    fn see_nil_polka(&mut self, cx: &mut Cx<'_>) -> bool {
        let power = &self.power;
        let Some(epoch) = self.log.get(self.epoch).filter(|_| self.step == Step::Prevote) else {
            return false;
        };
        if !power.quorum(epoch.prevotes.weight(None, power)) {
            return false;
        }
        if self.config.flags.unlock_on_nil {
            self.locked = None;
        }
        self.precommit(None, cx);
        true
    }

    /// L47: a quorum has precommitted, this or that.
    fn wait_for_precommits(&mut self, cx: &mut Cx<'_>) -> bool {
        let power = &self.power;
        let Some(epoch) = self.log.get(self.epoch) else { return false };
        if epoch.precommit_timer || !power.quorum(epoch.precommits.any(power)) {
            return false;
        }
        if slip!("tendermint/precommits-must-agree") && epoch.precommits.winners(power) == 0 {
            return false;
        }
        self.log.at(self.epoch).precommit_timer = true;
        self.start_timer(Timer::Precommit(self.height, self.epoch), self.config.timeout_precommit, cx);
        true
    }

    /// L49: a quorum has precommitted a proposal, in whatever epoch.
    fn decide(&mut self, cx: &mut Cx<'_>) -> bool {
        let (power, flags) = (&self.power, self.config.flags);
        let of_all = |id| self.log.epochs().fold(NodeSet::EMPTY, |all, it| all.or(it.precommits.voters(id)));
        let decided = |epoch: &Epoch, id| match flags.decide_mixed_rounds {
            true => power.quorum(power.of(of_all(Some(id)))),
            false => power.quorum(epoch.precommits.weight(Some(id), power)),
        };
        let looks = |it: &&Epoch| it.number == self.epoch || !flags.decide_current_only;
        let found = |it| Some((it, Epoch::proposed(it, |id| decided(it, id))?));
        let Some((epoch, (proposed, block))) = self.log.epochs().filter(looks).find_map(found) else {
            return false;
        };
        let (number, id, digest) = (epoch.number, proposed.proposal.id, proposed.digest);
        if number != self.epoch {
            cx.mark("late-decision");
        }
        let grounds = match flags.decide_mixed_rounds {
            true => Grounds::Votes(Ballot::new("precommit", None, of_all(Some(id)))),
            false => {
                Grounds::votes("precommit", place(self.height, number), epoch.precommits.voters(Some(id)))
            }
        };
        let proof = |own: &Self| {
            let votes = own.log.get(number).map_or(&[][..], |it| it.precommits.votes());
            let commit = votes.iter().filter(|vote| vote.id == Some(id)).copied();
            Arc::new(Decided { block, commit: commit.collect() })
        };
        self.close(&block, digest, grounds, proof, cx);
        true
    }

    /// L55: others are in a later epoch, and one of them is correct.
    fn skip(&mut self, cx: &mut Cx<'_>) -> bool {
        let there = |senders| self.power.honest(self.power.of(senders)) || self.config.flags.skip_no_f1;
        let later = self.log.epochs().rev().take_while(|it| it.number > self.epoch);
        let Some(epoch) = later.into_iter().find(|it| there(it.senders)).map(|it| it.number) else {
            return false;
        };
        cx.mark("skip");
        self.start_epoch(epoch, cx);
        true
    }
}
