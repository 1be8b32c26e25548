//! What validators say: the messages of the engine, and bodies of blocks, which the host carries.

use turncoat::core::prelude::*;

use crate::lies::SPECIALS;

/// A message. Votes and certificates are the engine's, made of its bytes and turned into them again (`wire`).
#[derive(Clone, PartialEq, Debug, Hash, Serialize, Deserialize, Message)]
#[message(specials = SPECIALS)]
pub enum Msg {
    /// The body of a block, from its proposer or from somebody who was asked for it.
    #[message(view = m.view, phase = 1)]
    Block(Arc<Block>),
    /// notarize(c, v): the vote for a proposal. That of the leader is the proposal.
    #[message(view = m.view, phase = 1)]
    Notarize(Signed<Notarize>),
    /// nullify(v): the vote for going on without a proposal.
    #[message(view = m.view, phase = 2, view_change)]
    Nullify(Signed<Nullify>),
    /// finalize(c, v): the second vote for a proposal.
    #[message(view = m.view, phase = 3)]
    Finalize(Signed<Finalize>),
    /// notarization(c, v): a quorum of votes.
    #[message(view = m.proposal.view, phase = 1)]
    Notarization(Arc<Notarization>),
    /// nullification(v).
    #[message(view = m.round.view, phase = 2, view_change)]
    Nullification(Arc<Nullification>),
    /// finalization(c, v).
    #[message(view = m.proposal.view, phase = 3)]
    Finalization(Arc<Finalization>),
    /// Which certificate is there for a view?
    Request(Ask),
    /// The answer.
    Response(Arc<Answer>),
    /// Who has the body of this block?
    BlockRequest(Digest),
}

/// A block: a request on top of another block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
pub struct Block {
    /// The view for which it is proposed.
    pub(crate) view: View,
    /// The block below it.
    pub(crate) parent: Digest,
    pub(crate) tx: Signed<Request>,
    /// Which of several that are alike but for this.
    pub(crate) version: u8,
}

impl Block {
    /// How many versions are valid.
    pub(crate) const VERSIONS: u8 = 4;

    /// Its digest. That of a version is the digest of the digest of the version before: so a liar who says `fresh` for the
    /// digest in a vote votes for the next version of the block, of which it can send the body to whom it likes.
    pub(crate) fn id(&self) -> Digest {
        let first = Digest::of(&(self.view, self.parent, self.tx));
        (0..self.version).fold(first, |id, _| Digest::of(&id.0))
    }
}

/// notarize(c, v) and finalize(c, v), which differ in their type: the signature of one is none of the other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(e, v, p, c))]
pub struct Proposal<const STEP: u8> {
    /// The epoch, which is the same for the whole run.
    pub(crate) epoch: u64,
    /// The view.
    pub(crate) view: View,
    /// The view of the block below.
    pub(crate) parent: View,
    /// The digest of the block.
    pub(crate) payload: Digest,
}

/// A vote to notarize.
pub(crate) type Notarize = Proposal<1>;
/// A vote to finalize.
pub(crate) type Finalize = Proposal<3>;

/// nullify(v).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(e, v))]
pub struct Nullify {
    /// The epoch.
    pub(crate) epoch: u64,
    /// The view.
    pub(crate) view: View,
}

/// Votes for one proposal.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
pub struct Certificate<const STEP: u8> {
    pub(crate) proposal: Proposal<STEP>,
    pub(crate) votes: Vec<Signed<Proposal<STEP>>>,
}

/// Votes to notarize.
pub(crate) type Notarization = Certificate<1>;
/// Votes to finalize.
pub(crate) type Finalization = Certificate<3>;

/// Votes to nullify.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
pub struct Nullification {
    pub(crate) round: Nullify,
    pub(crate) votes: Vec<Signed<Nullify>>,
}

/// Somebody asks for a certificate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
pub struct Ask {
    /// The number that the answer repeats.
    pub(crate) id: u64,
    pub(crate) view: View,
}

/// A certificate of one kind or another, or none: who was asked has none.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
pub struct Answer {
    pub(crate) id: u64,
    pub(crate) notarization: Option<Notarization>,
    pub(crate) nullification: Option<Nullification>,
    pub(crate) finalization: Option<Finalization>,
}
