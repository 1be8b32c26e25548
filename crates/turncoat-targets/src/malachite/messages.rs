//! What validators say. Kinds and fields have the names that the model `tendermint` has for them, so that one scenario fits both.

use turncoat_core::prelude::*;

use super::lies::SPECIALS;
use super::place;

/// A message. Proposals and votes count for their signer, whoever brings them.
#[derive(Clone, PartialEq, Debug, Hash, Serialize, Deserialize, Message)]
#[message(specials = SPECIALS)]
pub enum Msg {
    /// The proposer of an epoch proposes a value.
    #[message(view = place(m.height, m.epoch), slot = m.height, phase = 1)]
    Proposal(Arc<Signed<Proposal>>),
    /// The first vote of an epoch: for a value, or for nil.
    #[message(view = place(m.height, m.epoch), slot = m.height, phase = 2)]
    Prevote(Signed<Prevote>),
    /// The second one.
    #[message(view = place(m.height, m.epoch), slot = m.height, phase = 3)]
    Precommit(Signed<Precommit>),
    /// A quorum of prevotes for one value.
    #[message(view = place(m.height, m.epoch), slot = m.height, phase = 2)]
    Polka(Arc<Polka>),
    /// Why an epoch is over.
    #[message(view = place(m.height, m.epoch), slot = m.height, phase = 3)]
    RoundCertificate(Arc<EpochOver>),
    /// What was decided at this height?
    SyncRequest(Slot),
    /// The answer.
    SyncResponse(Arc<Decided>),
}

/// A value: a request with the height for which it is proposed, so that no value is decided twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Serialize, Deserialize, Part)]
pub(super) struct Block {
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
#[part(labels(h, r, v, vr))]
pub struct Proposal {
    pub(super) height: Slot,
    pub(super) epoch: View,
    pub(super) value: Block,
    /// The round in which the value got a quorum of prevotes, if it is proposed again.
    pub(super) valid_round: Option<View>,
}

/// PREVOTE(h, e, d) and PRECOMMIT(h, e, d), which differ in their type: the signature of one is none of the other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(h, r, d))]
pub struct Vote<const STEP: u8> {
    pub(super) height: Slot,
    pub(super) epoch: View,
    /// The id of the value, none for nil.
    pub(super) id: Option<Digest>,
}

/// A prevote.
pub(super) type Prevote = Vote<2>;
/// A precommit.
pub(super) type Precommit = Vote<3>;

/// Prevotes for one value.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(h, r, d))]
pub struct Polka {
    pub(super) height: Slot,
    pub(super) epoch: View,
    pub(super) id: Digest,
    pub(super) votes: Vec<Signed<Prevote>>,
}

/// Votes that show that an epoch is over: a quorum of precommits, or votes of a later epoch by some correct validator.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(h, r))]
pub struct EpochOver {
    pub(super) height: Slot,
    pub(super) epoch: View,
    /// Whether it is for those who have not seen that epoch.
    pub(super) skip: bool,
    pub(super) prevotes: Vec<Signed<Prevote>>,
    pub(super) precommits: Vec<Signed<Precommit>>,
}

/// A value with the precommits that have decided it.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
pub struct Decided {
    pub(super) epoch: View,
    pub(super) block: Block,
    pub(super) commit: Vec<Signed<Precommit>>,
}
