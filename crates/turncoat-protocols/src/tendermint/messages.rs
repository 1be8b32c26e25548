//! What validators say (Algorithm 1), and what they say to help those who missed something.

use turncoat_core::prelude::*;

use super::lies::{SPECIALS, precommitted, prevoted};
use super::place;

/// A message. Proposals and votes count for their signer, whoever brings them.
#[derive(Clone, PartialEq, Debug, Hash, Serialize, Deserialize, Message)]
#[message(specials = SPECIALS)]
pub enum Msg {
    /// The proposer of an epoch proposes a block.
    #[message(view = place(m.height, m.epoch), slot = m.height, phase = 1)]
    Proposal(Arc<Signed<Proposal>>),
    /// The first vote of an epoch: for a block, or for nil.
    #[message(view = place(m.height, m.epoch), slot = m.height, phase = 2)]
    Prevote(Signed<Prevote>),
    /// The second one.
    #[message(view = place(m.height, m.epoch), slot = m.height, phase = 3)]
    Precommit(Signed<Precommit>),
    /// What the sender holds of its epoch, once more.
    #[message(view = place(m.height, m.epoch), slot = m.height, phase = m.step.min(3))]
    Recap(Arc<Recap>),
    /// What was decided at this height?
    SyncRequest(Slot),
    /// The answer.
    SyncResponse(Arc<Decided>),
}

/// A value. Its id is the digest of all of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
pub(super) struct Block {
    /// The block that was decided before.
    pub(super) parent: Digest,
    pub(super) height: Slot,
    pub(super) tx: Signed<Request>,
}

impl Block {
    /// id(v).
    pub(super) fn id(&self) -> Digest {
        Digest::of(self)
    }
}

/// PROPOSAL(h, e, v, vr).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(h, r, d, v, vr))]
pub struct Proposal {
    pub(super) height: Slot,
    pub(super) epoch: View,
    /// The id of the value, which is what votes name.
    #[part(follows = value.as_ref().map(Block::id))]
    pub(super) id: Digest,
    /// The value.
    pub(super) value: Option<Block>,
    /// The round in which the value got a quorum of prevotes, as far as the proposer knows.
    #[part(follows = Some(prevoted(*height, *epoch, *id, liar)))]
    pub(super) valid_round: Option<View>,
}

/// PREVOTE(h, e, d) and PRECOMMIT(h, e, d), which differ in their type: the signature of one is none of the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(h, r, d))]
pub struct Vote<const STEP: u8> {
    pub(super) height: Slot,
    pub(super) epoch: View,
    /// The id of the value, none for nil.
    pub(super) id: Option<Digest>,
}

/// The number of the step in which prevotes are given.
pub(super) const PREVOTE: u8 = 2;
/// The number of the step in which precommits are given.
pub(super) const PRECOMMIT: u8 = 3;

/// A prevote.
pub(super) type Prevote = Vote<PREVOTE>;
/// A precommit.
pub(super) type Precommit = Vote<PRECOMMIT>;

/// What its sender holds: of its epoch, of the one before, which has led to it, and the prevotes for its valid value.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(h, r, s))]
pub struct Recap {
    pub(super) height: Slot,
    pub(super) epoch: View,
    /// The sender's step.
    pub(super) step: u8,
    pub(super) proposals: Vec<Arc<Signed<Proposal>>>,
    pub(super) prevotes: Vec<Signed<Prevote>>,
    pub(super) precommits: Vec<Signed<Precommit>>,
}

/// A block with the precommits that have decided it.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
pub struct Decided {
    pub(super) block: Block,
    #[part(follows = precommitted(block, liar))]
    pub(super) commit: Vec<Signed<Precommit>>,
}

impl Decided {
    /// Whose precommits of one epoch for the block are in it.
    pub(super) fn voters(&self, id: Digest) -> NodeSet {
        let Some(epoch) = self.commit.first().map(|vote| vote.epoch) else { return NodeSet::EMPTY };
        let sought = Vote { height: self.block.height, epoch, id: Some(id) };
        let good = self.commit.iter().filter(|vote| vote.valid() && ***vote == sought);
        good.map(Signed::signer).collect()
    }
}
