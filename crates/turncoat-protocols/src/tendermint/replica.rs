//! A validator: its state, what it does with messages and timers. What follows from them is in `rules`.

use std::collections::BTreeSet;

use turncoat_core::prelude::*;

use super::log::{Epoch, Heard, Log, Proposed, Tally};
use super::messages::{Block, Decided, Msg, Precommit, Prevote, Proposal, Vote};
use super::power::Power;
use super::{Config, Cx, Tendermint, Timer, place, proposer};

/// The steps of an epoch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Serialize)]
pub(super) enum Step {
    Propose = 1,
    Prevote,
    Precommit,
}

/// A block that has got a polka.
#[derive(Clone, Copy, Debug, Hash, Serialize)]
pub(super) struct Valid {
    pub(super) epoch: View,
    pub(super) id: Digest,
    pub(super) block: Block,
}

/// A validator of Tendermint.
#[derive(Clone, Debug, Hash, Serialize)]
pub struct Replica {
    pub(super) config: Config,
    pub(super) power: Power,
    pub(super) height: Slot,
    pub(super) epoch: View,
    pub(super) step: Step,
    /// lockedRound and the id of lockedValue.
    pub(super) locked: Option<(View, Digest)>,
    /// validRound and validValue.
    pub(super) valid: Option<Valid>,
    /// The messages of this height.
    pub(super) log: Log,
    /// Those of later heights, with who has brought them.
    pub(super) later: Vec<(NodeId, Msg)>,
    /// What was decided last.
    pub(super) parent: Digest,
    /// The requests that were decided: none is valid again.
    done: BTreeSet<(NodeId, u32)>,
    /// All decisions, for those who ask.
    pub(super) decided: Vec<Arc<Decided>>,
    /// Where it was when it last looked whether there was progress.
    pub(super) last: (Slot, View, Step),
    /// Whether the timer SYNC runs.
    pub(super) asking: bool,
    /// Who has contradicted itself.
    pub(super) accused: NodeSet,
    /// What it has precommitted last at this height, lock or no lock.
    pub(super) promise: Option<(View, Digest)>,
    /// The prevote with which it has broken that promise.
    pub(super) broken: Option<(View, Digest)>,
}

impl Replica {
    pub(super) fn new(config: Config, cluster: &Cluster) -> Self {
        let (height, epoch, step) = (Slot(1), View(0), Step::Propose);
        Self {
            config,
            power: Power::new(&config, cluster),
            height,
            epoch,
            step,
            locked: None,
            valid: None,
            log: Log::default(),
            later: Vec::new(),
            parent: Digest::NULL,
            done: BTreeSet::new(),
            decided: Vec::new(),
            last: (height, epoch, step),
            asking: false,
            accused: NodeSet::EMPTY,
            promise: None,
            broken: None,
        }
    }

    /// Records what a message says; says whether a rule may have become true.
    pub(super) fn record(&mut self, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) -> bool {
        match msg {
            Msg::Proposal(m) => self.is_now(m.height, from, msg, cx) && self.on_proposal(from, m, cx),
            Msg::Prevote(m) => self.is_now(m.height, from, msg, cx) && self.on_prevote(from, m, cx),
            Msg::Precommit(m) => self.is_now(m.height, from, msg, cx) && self.on_precommit(from, m, cx),
            Msg::Recap(m) => self.is_now(m.height, from, msg, cx) && self.on_recap(from, m, cx),
            Msg::SyncRequest(height) => {
                self.answer(from, *height, cx);
                false
            }
            Msg::SyncResponse(m) => self.on_decided(from, m, cx),
        }
    }

    /// Whether a message is of this height. Those of later ones are kept.
    fn is_now(&mut self, height: Slot, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) -> bool {
        if height > self.height && !self.config.flags.drop_future_height {
            if !self.later.iter().any(|(_, known)| known == msg) {
                self.later.push((from, msg.clone()));
            }
            self.fall_behind(cx);
        }
        height == self.height
    }

    /// The messages of this height that came before their time.
    pub(super) fn open_later(&mut self, cx: &mut Cx<'_>) {
        for (from, msg) in std::mem::take(&mut self.later) {
            if msg.slot().is_some_and(|slot| slot >= self.height) {
                self.record(from, &msg, cx);
            }
        }
    }

    pub(super) fn on_proposal(&mut self, from: NodeId, m: &Arc<Signed<Proposal>>, cx: &mut Cx<'_>) -> bool {
        let signer = m.signer();
        let called =
            signer == proposer(m.height, m.epoch, cx.cluster()) || self.config.flags.proposer_unchecked;
        if m.height != self.height || !m.valid() || !called || !cx.cluster().replicas().contains(signer) {
            return false;
        }
        let known = self.log.get(m.epoch).map_or(&[][..], |epoch| &epoch.proposals);
        if known.iter().any(|known| known.proposal == *m) {
            return false;
        }
        let against = known.iter().any(|known| known.proposal.signer() == signer);
        let (digest, valid) = self.validate(m, cx);
        let epoch = self.log.at(m.epoch);
        epoch.senders.insert(signer);
        epoch.proposals.push(Proposed { proposal: m.clone(), valid, digest });
        if against {
            self.accuse(signer, "proposes", m.epoch, cx);
        }
        self.pass_on(from, signer, || Msg::Proposal(m.clone()), cx);
        true
    }

    /// The digest of the value, and valid(v): what the application says to it.
    fn validate(&self, m: &Proposal, cx: &mut Cx<'_>) -> (Digest, Option<Block>) {
        let Some(block) = m.value else { return (Digest::NULL, None) };
        let digest = block.id();
        cx.block(digest, block.parent);
        let named = digest == m.id || self.config.flags.no_hash_check;
        (digest, Some(block).filter(|block| named && self.is_valid(block, cx)))
    }

    /// Whether a block may be the next one.
    pub(super) fn is_valid(&self, block: &Block, cx: &Cx<'_>) -> bool {
        let tx = &block.tx;
        block.height == self.height
            && block.parent == self.parent
            && tx.is_by(tx.client)
            && cx.cluster().replicas().contains(tx.client)
            && !self.done.contains(&tx.id())
    }

    pub(super) fn on_prevote(&mut self, from: NodeId, m: &Signed<Prevote>, cx: &mut Cx<'_>) -> bool {
        self.on_vote(from, m, |epoch| &mut epoch.prevotes, Msg::Prevote, cx)
    }

    pub(super) fn on_precommit(&mut self, from: NodeId, m: &Signed<Precommit>, cx: &mut Cx<'_>) -> bool {
        self.on_vote(from, m, |epoch| &mut epoch.precommits, Msg::Precommit, cx)
    }

    /// A vote, for which there is a place in the log and a message; says whether a rule may have become true.
    fn on_vote<const STEP: u8>(
        &mut self,
        from: NodeId,
        vote: &Signed<Vote<STEP>>,
        tally: fn(&mut Epoch) -> &mut Tally<STEP>,
        msg: fn(Signed<Vote<STEP>>) -> Msg,
        cx: &mut Cx<'_>,
    ) -> bool {
        let voter = vote.signer();
        if vote.height != self.height || !vote.valid() || !cx.cluster().replicas().contains(voter) {
            return false;
        }
        let epoch = self.log.at(vote.epoch);
        epoch.senders.insert(voter);
        let heard = tally(epoch).add(vote, &self.power);
        if heard == Heard::Before {
            return self.power.count_dup;
        }
        if heard == Heard::Against {
            self.accuse(voter, "votes for", vote.epoch, cx);
        }
        self.pass_on(from, voter, || msg(*vote), cx);
        true
    }

    /// Evidence: two messages of one validator of which a correct one sends one.
    fn accuse(&mut self, whom: NodeId, verb: &'static str, epoch: View, cx: &mut Cx<'_>) {
        let height = self.height;
        cx.mark("evidence");
        cx.note(|| format!("holds evidence: {whom} {verb} two values at height {height}, round {epoch}"));
        if self.accused.insert(whom) {
            cx.examine();
        }
    }

    /// A block is decided at this height: the next one begins.
    pub(super) fn close(
        &mut self,
        block: &Block,
        digest: Digest,
        grounds: Grounds,
        proof: impl FnOnce(&Self) -> Arc<Decided>,
        cx: &mut Cx<'_>,
    ) {
        if self.config.sync > Time(0) {
            self.decided.push(proof(self));
        }
        let grounds = if self.power.is_equal() { grounds } else { grounds.by_own_rule() };
        cx.commit(self.height, digest, &[*block.tx], grounds);
        self.done.insert(block.tx.id());
        self.parent = digest;
        self.leave(cx);
        self.height = self.height.next();
        (self.locked, self.valid, self.promise) = (None, None, None);
        self.log.clear();
        self.begin(View(0), cx);
        if !self.later.is_empty() {
            self.open_later(cx);
        }
    }
}

impl Node<Tendermint> for Replica {
    fn adopt(&mut self, config: &Config, cluster: &Cluster) -> bool {
        (self.config, self.power) = (*config, Power::new(config, cluster));
        true
    }

    fn on_start(&mut self, cx: &mut Cx<'_>) {
        self.begin(View(0), cx);
        self.start_retransmit(cx);
    }

    fn on_message(&mut self, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) {
        if self.record(from, msg, cx) {
            self.advance(cx);
        }
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        match timer {
            Timer::Propose(..) if self.step == Step::Propose => self.prevote(None, cx),
            Timer::Prevote(..) if self.step == Step::Prevote => self.precommit(None, cx),
            Timer::Propose(..) | Timer::Prevote(..) => {}
            Timer::Precommit(..) => self.start_epoch(self.epoch.next(), cx),
            Timer::Retransmit => self.retransmit(cx),
            Timer::Sync => self.ask(cx),
        }
        self.advance(cx);
    }

    /// It has written down what it has said before it said it. Timers are gone.
    fn on_restart(&mut self, cx: &mut Cx<'_>) {
        self.restart_timers(cx);
        self.start_retransmit(cx);
        if std::mem::take(&mut self.asking) {
            self.fall_behind(cx);
        }
    }

    /// Its patience with the step that it is in is over.
    fn on_suspect(&mut self, cx: &mut Cx<'_>) {
        match self.step {
            Step::Propose => self.prevote(None, cx),
            Step::Prevote => self.precommit(None, cx),
            Step::Precommit => self.start_epoch(self.epoch.next(), cx),
        }
        self.advance(cx);
    }

    fn vitals(&self, cluster: &Cluster) -> Vitals {
        let (view, epoch) = (place(self.height, self.epoch), self.log.get(self.epoch));
        let need = cluster.quorum();
        let (kind, have, need) = match self.step {
            Step::Propose => ("proposal", NodeSet::EMPTY, 1),
            Step::Prevote => ("prevote", epoch.map_or(NodeSet::EMPTY, |it| it.prevotes.seen()), need),
            Step::Precommit => ("precommit", epoch.map_or(NodeSet::EMPTY, |it| it.precommits.seen()), need),
        };
        let waits = (have.len() < need).then_some(Waiting { kind, about: About::View(view), have, need });
        Vitals {
            view,
            prepared: self.valid.map(|valid| valid.id),
            locked: self.locked.map(|(_, id)| id),
            executed: Some(self.parent).filter(|&id| id != Digest::NULL),
            decided: Slot(self.height.0 - 1),
            waiting: waits.into_iter().collect(),
            ..Vitals::default()
        }
    }

    open_state!();
}
