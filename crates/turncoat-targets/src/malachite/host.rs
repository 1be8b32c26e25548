//! The host: carries out what the engine wants of the world.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;

use malachitebft_core_consensus::{
    ConsensusMsg, Effect, Input, LivenessMsg, LocallyProposedValue, PeerId, ProposedValue, Resumable, Resume,
    SignedConsensusMsg, WalEntry,
};
use malachitebft_core_types::{
    CommitCertificate, Round, SignedMessage, ThresholdParam, ThresholdParams, Timeout, TimeoutKind, Validity,
    ValueOrigin, VoteType,
};
use turncoat_core::hash::stable_hash;
use turncoat_core::prelude::*;

use super::certificates::{epoch, verify_commit, verify_polka, verify_round};
use super::context::{Address, Ctx, EngineProposal, EngineVote, Height, Signature, Validator, Validators};
use super::messages::{Block, Decided, EpochOver, Msg, Polka, Proposal};
use super::{Config, Cx, Signatures, Timer, keys, place, proposer};

/// What is around the engine of one validator. All of it but `armed`, `next` and `asking` would be on its disk.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) config: Config,
    pub(super) validators: Validators,
    pub(super) height: Slot,
    /// Values that were seen, by their ids.
    values: BTreeMap<Digest, Block>,
    /// Those of this height that were proposed, as the engine was told of them.
    seen: Vec<ProposedValue<Ctx>>,
    /// The log of this height.
    pub(super) log: Vec<WalEntry<Ctx>>,
    /// Whether the log is being read, so that nothing is written to it.
    pub(super) replays: bool,
    /// All decisions, for those who ask.
    pub(super) decided: Vec<Arc<Decided>>,
    /// The requests that were decided: none is valid again.
    done: BTreeSet<(NodeId, u32)>,
    /// What was heard, so that it is passed on once: heights, and hashes of messages.
    heard: BTreeSet<(Slot, u64)>,
    /// The first proposal of each epoch.
    proposed: BTreeMap<(Slot, View), u64>,
    /// Who was heard of at later heights, with the heights.
    pub(super) ahead: BTreeMap<NodeId, Slot>,
    pub(super) asking: bool,
    /// Proposals of later heights: whether their values are valid shows when these heights begin.
    early: Vec<Arc<Signed<Proposal>>>,
    /// The timers of the engine.
    armed: Vec<Timer>,
    /// What the engine is to be told when it has done with what it does.
    pub(super) next: VecDeque<Input<Ctx>>,
}

impl Host {
    pub(super) fn new(cluster: &Cluster, config: Config) -> Self {
        let validators = cluster.replicas().iter().map(|node| Validator(Address(node))).collect();
        Self {
            config,
            validators: Validators(validators),
            height: Slot(1),
            values: BTreeMap::new(),
            seen: Vec::new(),
            log: Vec::new(),
            replays: false,
            decided: Vec::new(),
            done: BTreeSet::new(),
            heard: BTreeSet::new(),
            proposed: BTreeMap::new(),
            ahead: BTreeMap::new(),
            asking: false,
            early: Vec::new(),
            armed: Vec::new(),
            next: VecDeque::new(),
        }
    }

    pub(super) fn thresholds(&self) -> ThresholdParams {
        let half = ThresholdParams { quorum: ThresholdParam::new(1, 2), ..ThresholdParams::default() };
        if self.config.flags.quorum_half { half } else { ThresholdParams::default() }
    }

    /// Carries out an effect.
    pub(super) fn carry_out(
        &mut self,
        effect: Effect<Ctx>,
        cx: &mut Cx<'_>,
    ) -> Result<Resume<Ctx>, Infallible> {
        Ok(match effect {
            // Timeouts have no length of their own that could be reset.
            Effect::ResetTimeouts(r) => r.resume_with(()),
            Effect::CancelAllTimeouts(r) => {
                self.armed.drain(..).for_each(|timer| cx.cancel_timer(timer));
                r.resume_with(())
            }
            Effect::CancelTimeout(timeout, r) => {
                let timer = timer(timeout);
                self.armed.retain(|&armed| armed != timer);
                cx.cancel_timer(timer);
                r.resume_with(())
            }
            Effect::ScheduleTimeout(timeout, r) => {
                self.schedule(timeout, cx);
                r.resume_with(())
            }
            Effect::GetValidatorSet(_, r) => r.resume_with(Some(self.validators.clone())),
            Effect::StartRound(height, round, _, _, r) => {
                if round > Round::ZERO {
                    cx.mark("next-epoch");
                }
                // Malachite's own host does so too: who restarts may have seen values that are not in the log.
                let seen = self.seen.iter().filter(|it| it.height == height && it.round == round);
                self.next.extend(seen.map(|it| Input::ProposedValue(it.clone(), ValueOrigin::Consensus)));
                r.resume_with(())
            }
            Effect::PublishConsensusMsg(msg, r) => {
                cx.to_others(wire(msg));
                r.resume_with(())
            }
            Effect::PublishLivenessMsg(msg, r) => {
                cx.to_others(match msg {
                    LivenessMsg::Vote(vote) => wire(SignedConsensusMsg::Vote(vote)),
                    LivenessMsg::PolkaCertificate(it) => Msg::Polka(Arc::new(Polka::of(&it))),
                    LivenessMsg::SkipRoundCertificate(it) => {
                        Msg::RoundCertificate(Arc::new(EpochOver::of(&it)))
                    }
                });
                r.resume_with(())
            }
            Effect::RepublishVote(vote, r) => {
                cx.to_others(wire(SignedConsensusMsg::Vote(vote)));
                r.resume_with(())
            }
            Effect::RepublishRoundCertificate(it, r) => {
                cx.to_others(Msg::RoundCertificate(Arc::new(EpochOver::of(&it))));
                r.resume_with(())
            }
            Effect::GetValue(height, round, _, r) => {
                let value = Block { height: Slot(height.0), tx: cx.payload() };
                self.values.insert(value.id(), value);
                self.next.push_back(Input::Propose(LocallyProposedValue::new(height, round, value)));
                r.resume_with(())
            }
            // Proposals carry their values: there is nothing to stream.
            Effect::RestreamProposal(_, _, _, _, _, r) => {
                cx.mark("re-proposal");
                r.resume_with(())
            }
            Effect::SyncValue(response, r) => {
                self.synced(&response.certificate, response.peer, cx);
                r.resume_with(())
            }
            Effect::Decide(certificate, _, r) => {
                self.decide(&certificate, cx);
                r.resume_with(())
            }
            Effect::SignVote(vote, r) => {
                let signature = match vote.kind {
                    VoteType::Prevote => Signature::Prevote(cx.sign(vote.body())),
                    VoteType::Precommit => Signature::Precommit(cx.sign(vote.body())),
                };
                r.resume_with(SignedMessage::new(vote, signature))
            }
            Effect::SignProposal(proposal, r) => {
                let signature = Signature::Proposal(Arc::new(cx.sign(proposal.body)));
                r.resume_with(SignedMessage::new(proposal, signature))
            }
            Effect::VerifySignature(msg, key, r) => {
                let good = match &msg.message {
                    ConsensusMsg::Vote(vote) => self.is_good(&msg.signature, vote, key),
                    ConsensusMsg::Proposal(proposal) => self.is_good_below(&msg.signature, proposal, key),
                };
                if !good {
                    cx.mark("bad-signature");
                }
                r.resume_with(good)
            }
            Effect::VerifyCommitCertificate(it, all, quorum, r) => {
                let good = verify_commit(&it, &all, quorum, &|signature, vote, key| {
                    self.is_good(signature, vote, key)
                });
                r.resume_with(noted(good, cx))
            }
            Effect::VerifyPolkaCertificate(it, all, quorum, r) => {
                let good = verify_polka(&it, &all, quorum, &|signature, vote, key| {
                    self.is_good(signature, vote, key)
                });
                r.resume_with(noted(good, cx))
            }
            Effect::VerifyRoundCertificate(it, all, quorum, r) => {
                let good = verify_round(&it, &all, quorum, &|signature, vote, key| {
                    self.is_good(signature, vote, key)
                });
                r.resume_with(noted(good, cx))
            }
            Effect::WalAppend(entry, r) => {
                if !self.replays && !self.config.flags.no_log {
                    self.log.push(entry);
                }
                r.resume_with(())
            }
            Effect::ExtendVote(_, _, _, r) => r.resume_with(None),
            Effect::VerifyVoteExtension(_, _, _, _, _, r) => r.resume_with(Ok(())),
        })
    }

    fn is_good(&self, signature: &Signature, vote: &EngineVote, key: Address) -> bool {
        self.config.flags.accept_any_signature
            || match self.config.signatures {
                Signatures::Keyed => signature.is_below(vote, key),
                Signatures::Ed25519 => keys::is_below(signature, vote, key),
            }
    }

    fn is_good_below(&self, signature: &Signature, proposal: &EngineProposal, key: Address) -> bool {
        self.config.flags.accept_any_signature
            || match self.config.signatures {
                Signatures::Keyed => signature.is_below_proposal(proposal, key),
                Signatures::Ed25519 => keys::is_below_proposal(signature, proposal, key),
            }
    }

    fn schedule(&mut self, timeout: Timeout, cx: &mut Cx<'_>) {
        let Config {
            timeout_propose, timeout_prevote, timeout_precommit, timeout_delta, rebroadcast, ..
        } = self.config;
        let late = u64::from(epoch(timeout.round).0.min(1000)) * timeout_delta.0;
        let after = match timeout.kind {
            TimeoutKind::Propose => Time(timeout_propose.0 + late),
            TimeoutKind::Prevote => Time(timeout_prevote.0 + late),
            TimeoutKind::Precommit => Time(timeout_precommit.0 + late),
            TimeoutKind::Rebroadcast => rebroadcast,
        };
        let timer = timer(timeout);
        if !self.armed.contains(&timer) {
            self.armed.push(timer);
        }
        cx.set_timer(timer, after);
    }

    /// valid(v): what the application says to a value that is proposed at this height.
    fn is_valid(&self, height: Slot, value: &Block, cx: &Cx<'_>) -> bool {
        let tx = &value.tx;
        value.height == height
            && tx.is_by(tx.client)
            && cx.cluster().replicas().contains(tx.client)
            && !self.done.contains(&tx.id())
    }

    /// What the engine is told of a message.
    pub(super) fn inputs(&mut self, msg: &Msg, cx: &Cx<'_>) -> Vec<Input<Ctx>> {
        match msg {
            Msg::Proposal(m) if self.config.one_proposal && m.valid() && !self.is_first(m) => Vec::new(),
            Msg::Proposal(m) => {
                let proposal = EngineProposal::new(***m, Address(m.signer()));
                let proposal = SignedMessage::new(proposal, Signature::Proposal(m.clone()));
                if m.height > self.height {
                    self.early.push(m.clone());
                }
                let value = (m.height == self.height).then(|| self.value(m, cx)).flatten();
                std::iter::once(Input::Proposal(proposal)).chain(value).collect()
            }
            Msg::Prevote(m) => vec![Input::Vote(SignedMessage::new(
                EngineVote::of(VoteType::Prevote, m),
                Signature::Prevote(*m),
            ))],
            Msg::Precommit(m) => vec![Input::Vote(SignedMessage::new(
                EngineVote::of(VoteType::Precommit, m),
                Signature::Precommit(*m),
            ))],
            Msg::Polka(m) => vec![Input::PolkaCertificate(m.certificate())],
            Msg::RoundCertificate(m) => vec![Input::RoundCertificate(m.certificate())],
            Msg::SyncRequest(_) | Msg::SyncResponse(_) => Vec::new(),
        }
    }

    /// What the engine is told of the value of a proposal of this height. Values are taken from the proposer of the epoch
    /// alone, as its proposal is.
    fn value(&mut self, m: &Signed<Proposal>, cx: &Cx<'_>) -> Option<Input<Ctx>> {
        if !m.is_by(proposer(m.height, m.epoch, cx.cluster())) {
            return None;
        }
        let value = m.value;
        self.values.insert(value.id(), value);
        let value = ProposedValue {
            height: Height(m.height.0),
            round: Round::new(m.epoch.0),
            valid_round: Round::from(m.valid_round.map(|epoch| epoch.0)),
            proposer: Address(m.signer()),
            value,
            validity: Validity::from_bool(self.is_valid(m.height, &value, cx)),
        };
        if !self.seen.contains(&value) {
            self.seen.push(value.clone());
            if self.config.log_values && !self.config.flags.no_log {
                self.log.push(WalEntry::ProposedValue(value.clone()));
            }
        }
        Some(Input::ProposedValue(value, ValueOrigin::Consensus))
    }

    /// The engine has believed the certificate of a decision that another validator has sent: it gets the value.
    fn synced(&mut self, certificate: &CommitCertificate<Ctx>, peer: PeerId, cx: &mut Cx<'_>) {
        let Some(&value) = self.values.get(&certificate.value_id) else { return };
        cx.mark("sync");
        let CommitCertificate { height, round, .. } = *certificate;
        let proposer = Address(proposer(Slot(height.0), epoch(round), cx.cluster()));
        let value = ProposedValue {
            height,
            round,
            valid_round: Round::Nil,
            proposer,
            value,
            validity: Validity::from_bool(self.is_valid(Slot(height.0), &value, cx)),
        };
        self.next.push_back(Input::ProposedValue(value, ValueOrigin::Sync(peer)));
    }

    /// The engine has decided: the next height begins.
    fn decide(&mut self, certificate: &CommitCertificate<Ctx>, cx: &mut Cx<'_>) {
        let (id, slot) = (certificate.value_id, Slot(certificate.height.0));
        let voters: NodeSet = certificate.commit_signatures.iter().map(|commit| commit.address.0).collect();
        let value = self.values.get(&id).copied();
        let grounds = Grounds::certificate("precommit", place(slot, epoch(certificate.round)), voters);
        cx.commit(slot, id, value.map(|value| *value.tx).as_slice(), grounds);
        if let Some(value) = value {
            self.done.insert(value.tx.id());
            self.decided.push(Arc::new(Decided::of(certificate, value)));
        }
        self.height = slot.next();
        self.log.clear();
        self.seen.clear();
        self.values.retain(|_, value| value.height > slot);
        self.heard = self.heard.split_off(&(self.height, 0));
        self.proposed = self.proposed.split_off(&(self.height, View(0)));
        self.ahead.retain(|_, height| *height > slot);
        self.next.push_back(Input::StartHeight(Height(self.height.0), self.validators.clone()));
        let height = self.height;
        let early = std::mem::take(&mut self.early);
        let (now, later): (Vec<_>, _) = early.into_iter().partition(|m| m.height <= height);
        self.early = later;
        for m in now.iter().filter(|m| m.height == height) {
            let value = self.value(m, cx);
            self.next.extend(value);
        }
    }

    /// Remembers a value that came with a decision.
    pub(super) fn keep(&mut self, value: Block) {
        self.values.insert(value.id(), value);
    }

    /// Whether a proposal is the first of its epoch, or the first once more.
    fn is_first(&mut self, m: &Signed<Proposal>) -> bool {
        let hash = stable_hash(0xF1257, m);
        *self.proposed.entry((m.height, m.epoch)).or_insert(hash) == hash
    }

    /// Whether a message is heard for the first time.
    pub(super) fn is_new(&mut self, height: Slot, msg: &Msg) -> bool {
        height >= self.height && self.heard.insert((height, stable_hash(0x4EA2D, msg)))
    }

    /// Timers are gone with the process that had them.
    pub(super) fn forget_timers(&mut self) {
        self.armed.clear();
        self.next.clear();
        self.asking = false;
    }
}

/// The timer of a timeout.
fn timer(timeout: Timeout) -> Timer {
    let epoch = epoch(timeout.round);
    match timeout.kind {
        TimeoutKind::Propose => Timer::Propose(epoch),
        TimeoutKind::Prevote => Timer::Prevote(epoch),
        TimeoutKind::Precommit => Timer::Precommit(epoch),
        TimeoutKind::Rebroadcast => Timer::Rebroadcast(epoch),
    }
}

/// The timeout of a timer.
pub(super) fn timeout(timer: Timer) -> Option<Timeout> {
    let of = |epoch: View, kind| Some(Timeout::new(Round::new(epoch.0), kind));
    match timer {
        Timer::Propose(epoch) => of(epoch, TimeoutKind::Propose),
        Timer::Prevote(epoch) => of(epoch, TimeoutKind::Prevote),
        Timer::Precommit(epoch) => of(epoch, TimeoutKind::Precommit),
        Timer::Rebroadcast(epoch) => of(epoch, TimeoutKind::Rebroadcast),
        Timer::Sync => None,
    }
}

/// A message of the engine as others get it.
fn wire(msg: SignedConsensusMsg<Ctx>) -> Msg {
    let signature = match msg {
        SignedConsensusMsg::Vote(vote) => vote.signature,
        SignedConsensusMsg::Proposal(proposal) => proposal.signature,
    };
    match signature {
        Signature::Proposal(it) => Msg::Proposal(it),
        Signature::Prevote(it) => Msg::Prevote(it),
        Signature::Precommit(it) => Msg::Precommit(it),
    }
}

fn noted<E>(validity: Result<(), E>, cx: &mut Cx<'_>) -> Result<(), E> {
    if validity.is_err() {
        cx.mark("bad-certificate");
    }
    validity
}
