//! The types with which the engine is instantiated.
//!
//! A signature is the signed statement itself. That is what a signature is worth: it is good if its signer made it, and it says
//! what was signed. Turncoat's [`Signed`] cannot be made in another's name, so nobody forges one.

use std::cmp::Ordering;
use std::convert::Infallible;
use std::fmt;

use malachitebft_core_types as engine;
use malachitebft_core_types::{NilOrVal, Round, SigningScheme, VoteType, VotingPower};
use turncoat_core::hash::stable_hash;
use turncoat_core::ids::{NodeId, Slot, View};
use turncoat_core::prelude::{Arc, Cluster, Digest, Signed};

use super::messages::{Block, Precommit, Prevote, Proposal, Vote};
use super::proposer;

/// The engine's parameter.
#[derive(Clone, Debug)]
pub(super) struct Ctx {
    /// Who takes part, and the scenario's table of leaders.
    pub(super) cluster: Arc<Cluster>,
}

/// A validator's name, which is its public key too.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Address(pub(super) NodeId);

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl engine::Address for Address {}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct Height(pub(super) u32);

impl fmt::Display for Height {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl engine::Height for Height {
    const ZERO: Self = Self(0);
    const INITIAL: Self = Self(1);

    fn increment_by(&self, n: u64) -> Self {
        Self(self.0.saturating_add(n as u32))
    }

    fn decrement_by(&self, n: u64) -> Option<Self> {
        self.0.checked_sub(u32::try_from(n).ok()?).map(Self)
    }

    fn as_u64(&self) -> u64 {
        u64::from(self.0)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Validator(pub(super) Address);

impl engine::Validator<Ctx> for Validator {
    fn address(&self) -> &Address {
        &self.0
    }

    fn public_key(&self) -> &Address {
        &self.0
    }

    fn voting_power(&self) -> VotingPower {
        1
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Validators(pub(super) Vec<Validator>);

impl engine::ValidatorSet<Ctx> for Validators {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn total_voting_power(&self) -> VotingPower {
        self.0.len() as VotingPower
    }

    fn get_by_address(&self, address: &Address) -> Option<&Validator> {
        self.0.iter().find(|validator| validator.0 == *address)
    }

    fn get_by_index(&self, index: usize) -> Option<&Validator> {
        self.0.get(index)
    }
}

impl engine::Value for Block {
    type Id = Digest;

    fn id(&self) -> Digest {
        Self::id(self)
    }
}

/// Values travel in proposals, so there are no parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum NoPart {}

impl engine::ProposalPart<Ctx> for NoPart {
    fn is_first(&self) -> bool {
        match *self {}
    }

    fn is_last(&self) -> bool {
        match *self {}
    }
}

/// Nor are votes extended.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum NoExtension {}

impl engine::Extension for NoExtension {
    fn size_bytes(&self) -> usize {
        match *self {}
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct EngineProposal {
    pub(super) body: Proposal,
    pub(super) address: Address,
    round: Round,
    pol_round: Round,
}

impl EngineProposal {
    pub(super) fn new(body: Proposal, address: Address) -> Self {
        let (round, pol_round) =
            (Round::new(body.epoch.0), Round::from(body.valid_round.map(|epoch| epoch.0)));
        Self { body, address, round, pol_round }
    }
}

impl engine::Proposal<Ctx> for EngineProposal {
    fn height(&self) -> Height {
        Height(self.body.height.0)
    }

    fn round(&self) -> Round {
        self.round
    }

    fn value(&self) -> &Block {
        &self.body.value
    }

    fn take_value(self) -> Block {
        self.body.value
    }

    fn pol_round(&self) -> Round {
        self.pol_round
    }

    fn validator_address(&self) -> &Address {
        &self.address
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct EngineVote {
    pub(super) kind: VoteType,
    pub(super) height: Height,
    pub(super) epoch: View,
    pub(super) id: NilOrVal<Digest>,
    pub(super) address: Address,
}

impl EngineVote {
    /// The vote as it is signed.
    pub(super) fn body<const STEP: u8>(&self) -> Vote<STEP> {
        let id = match self.id {
            NilOrVal::Nil => None,
            NilOrVal::Val(id) => Some(id),
        };
        Vote { height: Slot(self.height.0), epoch: self.epoch, id }
    }

    /// A vote as the engine has it.
    pub(super) fn of<const STEP: u8>(kind: VoteType, vote: &Signed<Vote<STEP>>) -> Self {
        let id = vote.id.map_or(NilOrVal::Nil, NilOrVal::Val);
        let (height, address) = (Height(vote.height.0), Address(vote.signer()));
        Self { kind, height, epoch: vote.epoch, id, address }
    }
}

impl engine::Vote<Ctx> for EngineVote {
    fn height(&self) -> Height {
        self.height
    }

    fn round(&self) -> Round {
        Round::new(self.epoch.0)
    }

    fn value(&self) -> &NilOrVal<Digest> {
        &self.id
    }

    fn take_value(self) -> NilOrVal<Digest> {
        self.id
    }

    fn vote_type(&self) -> VoteType {
        self.kind
    }

    fn validator_address(&self) -> &Address {
        &self.address
    }

    fn extension(&self) -> Option<&engine::SignedExtension<Ctx>> {
        None
    }

    fn take_extension(&mut self) -> Option<engine::SignedExtension<Ctx>> {
        None
    }

    fn extend(self, _: engine::SignedExtension<Ctx>) -> Self {
        self
    }
}

/// A signature: what was signed, by whom.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Signature {
    Proposal(Arc<Signed<Proposal>>),
    Prevote(Signed<Prevote>),
    Precommit(Signed<Precommit>),
}

impl Signature {
    /// A number that orders signatures, as the engine wants it.
    fn order(&self) -> (u8, u64) {
        match self {
            Self::Proposal(it) => (0, stable_hash(0x51, it)),
            Self::Prevote(it) => (1, stable_hash(0x51, it)),
            Self::Precommit(it) => (2, stable_hash(0x51, it)),
        }
    }

    /// Whether it is a good signature of a validator below a vote.
    pub(super) fn is_below(&self, vote: &EngineVote, signer: Address) -> bool {
        match (self, vote.kind) {
            (Self::Prevote(it), VoteType::Prevote) => it.is_by(signer.0) && **it == vote.body(),
            (Self::Precommit(it), VoteType::Precommit) => it.is_by(signer.0) && **it == vote.body(),
            _ => false,
        }
    }

    /// Whether it is one below a proposal.
    pub(super) fn is_below_proposal(&self, proposal: &EngineProposal, signer: Address) -> bool {
        matches!(self, Self::Proposal(it) if it.is_by(signer.0) && ***it == proposal.body)
    }
}

impl PartialOrd for Signature {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Signature {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

/// Signatures that are never bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Scheme;

impl SigningScheme for Scheme {
    type DecodingError = Infallible;
    type Signature = Signature;
    type PublicKey = Address;
    type PrivateKey = ();

    fn decode_signature(_: &[u8]) -> Result<Signature, Infallible> {
        unreachable!("nobody asks for signatures as bytes")
    }

    fn encode_signature(_: &Signature) -> Vec<u8> {
        unreachable!("nobody asks for signatures as bytes")
    }
}

impl engine::Context for Ctx {
    type Address = Address;
    type Height = Height;
    type ProposalPart = NoPart;
    type Proposal = EngineProposal;
    type Validator = Validator;
    type ValidatorSet = Validators;
    type Value = Block;
    type Vote = EngineVote;
    type Extension = NoExtension;
    type SigningScheme = Scheme;

    fn select_proposer<'a>(&self, validators: &'a Validators, height: Height, round: Round) -> &'a Validator {
        let epoch = View(round.as_u32().unwrap_or_default());
        let leader = proposer(Slot(height.0), epoch, &self.cluster);
        &validators.0[leader.index() % validators.0.len()]
    }

    fn new_proposal(
        &self,
        height: Height,
        round: Round,
        value: Block,
        pol_round: Round,
        address: Address,
    ) -> EngineProposal {
        let (height, epoch) = (Slot(height.0), View(round.as_u32().unwrap_or_default()));
        EngineProposal::new(
            Proposal { height, epoch, value, valid_round: pol_round.as_u32().map(View) },
            address,
        )
    }

    fn new_prevote(
        &self,
        height: Height,
        round: Round,
        id: NilOrVal<Digest>,
        address: Address,
    ) -> EngineVote {
        vote(VoteType::Prevote, height, round, id, address)
    }

    fn new_precommit(
        &self,
        height: Height,
        round: Round,
        id: NilOrVal<Digest>,
        address: Address,
    ) -> EngineVote {
        vote(VoteType::Precommit, height, round, id, address)
    }
}

fn vote(kind: VoteType, height: Height, round: Round, id: NilOrVal<Digest>, address: Address) -> EngineVote {
    EngineVote { kind, height, epoch: View(round.as_u32().unwrap_or_default()), id, address }
}
