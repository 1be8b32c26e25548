//! Gossip: what validators do so that what one of them gets, all get.

use turncoat_core::prelude::*;

use super::messages::{Decided, Msg, Recap};
use super::replica::Replica;
use super::{Cx, Timer, place};

impl Replica {
    // --- relay ------------------------------------------------------------------------------------------------

    /// Passes on what is new, to all who may not have it.
    pub(super) fn pass_on(&self, from: NodeId, signer: NodeId, msg: impl FnOnce() -> Msg, cx: &mut Cx<'_>) {
        if self.config.relay && !self.config.flags.no_relay && signer != cx.me() {
            let others = cx.others().without(NodeSet::one(from)).without(NodeSet::one(signer));
            cx.multicast(others, msg());
        }
    }

    // --- retransmit -------------------------------------------------------------------------------------------

    pub(super) fn start_retransmit(&self, cx: &mut Cx<'_>) {
        if self.config.retransmit > Time(0) {
            cx.set_timer(Timer::Retransmit, self.config.retransmit);
        }
    }

    /// Says again all that may be missing where it is, if it is still there.
    pub(super) fn retransmit(&mut self, cx: &mut Cx<'_>) {
        let now = (self.height, self.epoch, self.step);
        if std::mem::replace(&mut self.last, now) == now {
            cx.mark("recap");
            cx.to_others(Msg::Recap(Arc::new(self.recap())));
        }
        self.start_retransmit(cx);
    }

    /// The messages of this epoch; those of the one before, which prove that it is over; and those that make its valid
    /// value acceptable to others.
    fn recap(&self) -> Recap {
        let Self { height, epoch, step, valid, .. } = *self;
        let (mut proposals, mut prevotes, mut precommits) = (Vec::new(), Vec::new(), Vec::new());
        let valid_round = valid.map(|valid| valid.epoch);
        for it in self.log.epochs().filter(|it| it.number <= epoch) {
            let near = it.number.next() >= epoch;
            if near || Some(it.number) == valid_round {
                proposals.extend(it.proposals.iter().map(|proposed| proposed.proposal.clone()));
                prevotes.extend_from_slice(it.prevotes.votes());
            }
            if near {
                precommits.extend_from_slice(it.precommits.votes());
            }
        }
        Recap { height, epoch, step: step as u8, proposals, prevotes, precommits }
    }

    pub(super) fn on_recap(&mut self, from: NodeId, m: &Recap, cx: &mut Cx<'_>) -> bool {
        let mut news = false;
        for proposal in &m.proposals {
            news |= self.on_proposal(from, proposal, cx);
        }
        for vote in &m.prevotes {
            news |= self.on_prevote(from, vote, cx);
        }
        for vote in &m.precommits {
            news |= self.on_precommit(from, vote, cx);
        }
        news
    }

    // --- sync -------------------------------------------------------------------------------------------------

    /// Somebody is at a later height. If that is still so after a while, it asks.
    pub(super) fn fall_behind(&mut self, cx: &mut Cx<'_>) {
        if self.config.sync > Time(0) && !self.asking {
            self.asking = true;
            cx.set_timer(Timer::Sync, self.config.sync);
        }
    }

    /// Asks those who were heard of at later heights.
    pub(super) fn ask(&mut self, cx: &mut Cx<'_>) {
        self.asking = false;
        let ahead: NodeSet = self.later.iter().map(|&(from, _)| from).collect();
        if !ahead.is_empty() {
            cx.multicast(ahead, Msg::SyncRequest(self.height));
            self.fall_behind(cx);
        }
    }

    pub(super) fn answer(&self, from: NodeId, height: Slot, cx: &mut Cx<'_>) {
        let decided = height.0.checked_sub(1).and_then(|index| self.decided.get(index as usize));
        if let Some(decided) = decided {
            cx.send(from, Msg::SyncResponse(decided.clone()));
        }
    }

    /// A decision that proves itself. Who still lags asks for the next one.
    pub(super) fn on_decided(&mut self, from: NodeId, m: &Arc<Decided>, cx: &mut Cx<'_>) -> bool {
        let id = m.block.id();
        let voters = m.voters(id).and(cx.cluster().replicas());
        let proven = self.power.quorum(self.power.of(voters));
        if self.config.sync == Time(0) || !self.is_valid(&m.block, cx) || !proven {
            return false;
        }
        cx.mark("sync");
        cx.block(id, m.block.parent);
        let epoch = m.commit.first().map_or(View(0), |vote| vote.epoch);
        let grounds = Grounds::certificate("precommit", place(self.height, epoch), voters);
        self.close(&m.block, id, grounds, |_| m.clone(), cx);
        if !self.later.is_empty() {
            cx.send(from, Msg::SyncRequest(self.height));
        }
        true
    }
}
