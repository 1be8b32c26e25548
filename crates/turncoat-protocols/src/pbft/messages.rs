//! What PBFT's replicas and clients say. In traces the fields carry the papers' letters: v, n, d, m.

use turncoat_core::prelude::*;

/// A message. What may be relayed or counted in a certificate is signed.
#[derive(Clone, PartialEq, Debug, Hash, Serialize, Deserialize, Message)]
#[message(specials = super::lies::SPECIALS)]
pub enum Msg {
    /// From a client, or forwarded by a backup.
    Request(Signed<Request>),
    /// The primary proposes.
    #[message(view = m.view, slot = m.seq, phase = 1)]
    PrePrepare(Signed<PrePrepare>),
    /// A backup has accepted the proposal.
    #[message(view = m.view, slot = m.seq, phase = 2)]
    Prepare(Signed<Prepare>),
    /// A replica has a prepared certificate.
    #[message(view = m.view, slot = m.seq, phase = 3)]
    Commit(Signed<Commit>),
    /// The result.
    #[message(view = m.view, slot = m.seq, phase = 4)]
    Reply(Signed<Reply>),
    /// A replica wants a new view.
    #[message(view = m.view, phase = 5, view_change)]
    ViewChange(Voted),
    /// The primary of the new view starts it.
    #[message(view = m.view, phase = 6, view_change)]
    NewView(Arc<Signed<NewView>>),
    /// A replica has executed up to here.
    #[message(slot = m.seq)]
    Checkpoint(Signed<Checkpoint>),
    /// Asks for the history up to a checkpoint.
    #[message(slot = m.seq)]
    Fetch(Fetch),
    /// The answer.
    State(Arc<Excerpt>),
    /// Asks for the proof that this number is committed.
    #[message(slot = *m)]
    SlotFetch(Slot),
    /// The answer.
    SlotProof(Arc<Committed>),
    /// Asks for the NEW-VIEW of the receiver's view, which is later than this.
    QueryView(View),
}

/// PRE-PREPARE(v, n, d, m). No request is the null request, which only a NEW-VIEW may propose; its digest is null.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(v, n, d, m))]
pub struct PrePrepare {
    /// The view.
    pub(super) view: View,
    /// The number, which is the slot.
    pub(super) seq: Slot,
    /// The digest.
    #[part(follows = request.as_ref().map_or(Digest::NULL, |request| request.digest()))]
    pub(super) digest: Digest,
    /// The request.
    pub(super) request: Option<Signed<Request>>,
}

impl PrePrepare {
    /// The vote for this proposal.
    pub(super) const fn vote<const PHASE: char>(&self) -> Vote<PHASE> {
        Vote { view: self.view, seq: self.seq, digest: self.digest }
    }
}

/// PREPARE(v, n, d) or COMMIT(v, n, d).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(v, n, d))]
pub struct Vote<const PHASE: char> {
    pub(super) view: View,
    pub(super) seq: Slot,
    pub(super) digest: Digest,
}

pub(super) type Prepare = Vote<'P'>;
pub(super) type Commit = Vote<'C'>;

/// A PRE-PREPARE and votes that match it: 2f PREPAREs of backups, or 2f+1 COMMITs.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
pub struct Certificate<const PHASE: char> {
    pub(super) pre_prepare: Signed<PrePrepare>,
    #[part(follows = liar.gathered(&pre_prepare.vote()))]
    pub(super) votes: Cert<Vote<PHASE>>,
}

pub(super) type Prepared = Certificate<'P'>;
pub(super) type Committed = Certificate<'C'>;

/// VIEW-CHANGE(v, h, C, P): the view wanted, the stable checkpoint with its proof (none at first), and a certificate
/// for each request prepared above it.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(v, h, C, P))]
pub struct ViewChange {
    pub(super) view: View,
    /// The number of its last stable checkpoint.
    #[part(follows = checkpoint.as_ref().map_or(Slot(0), |proof| proof.seq))]
    pub(super) h: Slot,
    /// The proof of that checkpoint.
    pub(super) checkpoint: Option<Cert<Checkpoint>>,
    /// What it has prepared since.
    #[part(follows = prepared.iter().filter(|cert| cert.pre_prepare.seq > *h).cloned().collect::<Vec<_>>())]
    pub(super) prepared: Vec<Prepared>,
}

/// A VIEW-CHANGE as it travels; a NEW-VIEW repeats it.
pub(super) type Voted = Arc<Signed<ViewChange>>;

/// NEW-VIEW(v, V, O): the votes for the view, and the proposals that follow from them.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(v, V, O))]
pub struct NewView {
    pub(super) view: View,
    /// The VIEW-CHANGEs that call for it.
    pub(super) votes: Vec<Voted>,
    /// What it proposes again.
    #[part(follows = super::lies::proposals(*view, votes, liar))]
    pub(super) pre_prepares: Vec<Signed<PrePrepare>>,
}
