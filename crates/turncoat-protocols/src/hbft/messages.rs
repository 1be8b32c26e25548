//! What hBFT's replicas and clients say. In traces the fields carry the papers' letters: v, n, d, m, M, P, Q, R.
//!
//! Where the paper sends D(M) beside a history M, M stands for both here: a liar would send the digest that fits. COMMIT
//! and REPLY carry no history, which no rule reads.

use turncoat_core::prelude::*;

use super::Config;

/// A message. What may be relayed or counted in a certificate is signed.
#[derive(Clone, PartialEq, Debug, Hash, Serialize, Deserialize, Message)]
#[message(specials = super::lies::SPECIALS)]
pub enum Msg {
    /// From a client, or forwarded by a backup.
    Request(Signed<Request>),
    /// The primary proposes.
    #[message(view = m.view, slot = m.seq, phase = 1)]
    Prepare(Arc<Signed<Prepare>>),
    /// A replica has accepted the proposal.
    #[message(view = m.view, slot = m.seq, phase = 2)]
    Commit(Signed<Commit>),
    /// The result, speculative or final.
    #[message(view = m.view, slot = m.seq, phase = 3)]
    Reply(Signed<Reply>),
    /// A client has some replies and not enough; replicas tell each other.
    Panic(Signed<Panic>),
    /// The primary starts a checkpoint.
    #[message(view = m.view, slot = m.seq, phase = 4)]
    CheckpointI(Signed<Checkpoint<'1'>>),
    /// A replica has the same history.
    #[message(view = m.view, slot = m.seq, phase = 4)]
    CheckpointIi(Signed<Checkpoint<'2'>>),
    /// A replica has a quorum of those.
    #[message(view = m.view, slot = m.seq, phase = 4)]
    CheckpointIii(Signed<Checkpoint<'3'>>),
    /// A replica wants a new view.
    #[message(view = m.view, phase = 5, view_change)]
    ViewChange(Voted),
    /// The primary of the new view starts it.
    #[message(view = m.view, phase = 6, view_change)]
    NewView(Arc<Signed<NewView>>),
}

/// What stands in a slot: a request, or NULL.
pub(super) type Value = Option<Signed<Request>>;

/// The digest of what stands in a slot.
pub(super) fn digest(value: &Value) -> Digest {
    value.as_ref().map_or(Digest::NULL, |request| request.digest())
}

/// NULL, or a request that its client has signed.
pub(super) fn is_genuine(value: &Value) -> bool {
    value.as_ref().is_none_or(|request| request.is_by(request.client))
}

/// PREPARE(v, n, d, m).
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(v, n, d, m))]
pub struct Prepare {
    /// The view.
    pub(super) view: View,
    /// The number, which is the slot.
    pub(super) seq: Slot,
    /// The digest.
    #[part(follows = request.digest())]
    pub(super) digest: Digest,
    /// The request.
    pub(super) request: Signed<Request>,
}

/// COMMIT(v, n, d, m); none is NULL, of a NEW-VIEW.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(v, n, d, m, prepare))]
pub struct Commit {
    pub(super) view: View,
    pub(super) seq: Slot,
    #[part(follows = self::digest(request))]
    pub(super) digest: Digest,
    pub(super) request: Value,
    /// The PREPARE that it follows (`almost-mac`).
    #[part(skip)]
    pub(super) prepare: Option<Arc<Signed<Prepare>>>,
}

/// REPLY(v, t, n, c, r), and whether the request is committed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(v, t, n, c, r, final))]
pub struct Reply {
    pub(super) view: View,
    /// Which of the client's requests.
    pub(super) ts: u32,
    pub(super) seq: Slot,
    /// Whose request it answers.
    #[part(skip)]
    pub(super) client: NodeId,
    /// The result: what the operation is, wherever it stands.
    pub(super) result: u64,
    /// Whether its replica has committed it.
    pub(super) is_final: bool,
}

/// PANIC(d, m): somebody waits for this request. The paper sends the digest alone. As in the experiments with hBFT, no
/// liar changes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(d, m))]
pub struct Panic {
    #[part(skip)]
    pub(super) digest: Digest,
    #[part(skip)]
    pub(super) request: Value,
}

/// A value in its slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(n, m))]
pub(super) struct Placed {
    pub(super) seq: Slot,
    pub(super) request: Value,
}

/// M: what stands in the slots from 1 on, in order.
pub(super) type Placement = Arc<Vec<Placed>>;

/// What a history has in a slot, if it reaches there; a hole reads as NULL.
pub(super) fn at(history: &[Placed], seq: Slot) -> Value {
    let near = history.get((seq.0 as usize).wrapping_sub(1)).filter(|placed| placed.seq == seq);
    near.or_else(|| history.iter().find(|placed| placed.seq == seq)).and_then(|placed| placed.request)
}

/// CHECKPOINT(v, n, M) of the first, second or third phase.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(v, n, M))]
pub struct Checkpoint<const PHASE: char> {
    pub(super) view: View,
    /// The last slot of the history.
    #[part(follows = history.last().map_or(Slot(0), |last| last.seq))]
    pub(super) seq: Slot,
    /// The history.
    pub(super) history: Placement,
}

impl<const PHASE: char> Checkpoint<PHASE> {
    /// The same checkpoint in the next phase.
    pub(super) fn next<const NEXT: char>(&self) -> Checkpoint<NEXT> {
        Checkpoint { view: self.view, seq: self.seq, history: self.history.clone() }
    }
}

/// CER1: a quorum of CHECKPOINT-II.
pub(super) type Cer1 = Cert<Checkpoint<'2'>>;
/// CER2: a quorum of CHECKPOINT-III; its history is decided.
pub(super) type Cer2 = Cert<Checkpoint<'3'>>;

/// An entry of R: a value that a replica has accepted in a slot, and in which view.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(n, m, v))]
pub(super) struct Accepted {
    pub(super) seq: Slot,
    pub(super) request: Value,
    pub(super) view: View,
}

/// VIEW-CHANGE(v, C, P, Q, R).
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(v, C, P, Q, R))]
pub struct ViewChange {
    pub(super) view: View,
    /// Its last stable checkpoint, with its proof; none at first.
    pub(super) stable: Option<Cer2>,
    /// The greatest CER1 that it has formed, by view and number.
    pub(super) certified: Option<Cer1>,
    /// The CHECKPOINT-I that it has accepted last in its view, which the repaired protocol does not read.
    pub(super) checkpoint: Option<Checkpoint<'1'>>,
    /// What it has accepted above its stable checkpoint.
    pub(super) accepted: Vec<Accepted>,
}

/// A VIEW-CHANGE as it travels; a NEW-VIEW repeats it.
pub(super) type Voted = Arc<Signed<ViewChange>>;

/// NEW-VIEW(v, V, X, M).
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(v, V, X, M))]
pub struct NewView {
    pub(super) view: View,
    /// The VIEW-CHANGEs that call for it.
    pub(super) votes: Vec<Voted>,
    /// The stable checkpoint that the new view starts from.
    #[part(follows = Some(Config::default().base(votes, None).cloned()))]
    pub(super) stable: Option<Cer2>,
    /// Its history and what follows from the votes.
    #[part(follows = super::lies::carried(votes, stable.as_ref(), liar))]
    pub(super) history: Placement,
}
