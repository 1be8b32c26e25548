//! What the nodes of FaB say. In traces the fields carry short letters: v the view, n the instance, x the value.

use turncoat_core::prelude::*;

/// A message. What may be relayed or counted in a certificate is signed.
#[derive(Clone, PartialEq, Debug, Hash, Serialize, Deserialize, Message)]
#[message(specials = super::lies::SPECIALS)]
pub enum Msg {
    /// From a client, to all proposers.
    Request(Signed<Request>),
    /// The leader proposes a value, to all acceptors.
    #[message(view = m.view, slot = m.seq, phase = 1)]
    Propose(Arc<Signed<Propose>>),
    /// An acceptor has accepted it: to all learners, in parameterized FaB to all acceptors too.
    #[message(view = m.view, slot = m.seq, phase = 2)]
    Accepted(Signed<Accepted>),
    /// An acceptor knows that no other value can be accepted by so many in this view, and proves it to all learners.
    #[message(view = m.proof.view, slot = m.proof.seq, phase = 3)]
    CommitProof(CommitProof),
    /// A learner has learned a value: to all proposers, and to who has asked.
    #[message(view = m.view, slot = Slot(m.learnt.0.len() as u32), phase = 4)]
    Learned(Learned),
    /// A proposer knows that enough learners have learned it: to all proposers.
    #[message(view = m.view, slot = m.seq, phase = 5)]
    Satisfied(Signed<Satisfied>),
    /// Who waits asks the learners.
    #[message(view = m.view, slot = m.seq.next(), phase = 4)]
    Pull(Pull),
    /// A proposer has waited too long for the leader of a view: to all.
    #[message(view = m.view.next(), phase = 6, view_change)]
    Suspect(Signed<Suspect>),
    /// Enough proposers have: who enters a view brings the others along.
    #[message(view = m.view, phase = 7, view_change)]
    Elected(Election),
    /// The new leader asks all acceptors what they have accepted.
    #[message(view = m.view, phase = 7, view_change)]
    Query(Election),
    /// What an acceptor has accepted. In the order of rounds it stands before the proposal of its instance.
    #[message(view = m.view, slot = m.seq, phase = 0, view_change)]
    Rep(Report),
    /// The result, to the client.
    Reply(Signed<Reply>),
}

/// What is proposed, accepted and learned: a request.
pub(super) type Value = Signed<Request>;

/// PROPOSE(v, n, x, PC, L).
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(v, n, x, PC, L))]
pub struct Propose {
    /// The view.
    pub(super) view: View,
    /// The instance, which is the slot.
    pub(super) seq: Slot,
    /// The value.
    #[part(follows = super::lies::latest(pc, *seq))]
    pub(super) value: Value,
    /// The progress certificate, empty in the first view.
    pub(super) pc: Arc<Vec<Report>>,
    /// The learned certificate, of all instances before.
    pub(super) learned: Option<Known>,
}

/// ACCEPTED(v, n, x).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(v, n, x))]
pub struct Accepted {
    pub(super) view: View,
    pub(super) seq: Slot,
    pub(super) value: Value,
}

/// A commit proof: a quorum of equal ACCEPTEDs.
pub(super) type Proof = Arc<Cert<Accepted>>;

/// COMMITPROOF(proof).
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
pub struct CommitProof {
    /// Equal ACCEPTEDs of a quorum.
    pub(super) proof: Proof,
}

/// The values of the instances from 1 on, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default, Hash, Serialize, Deserialize, Part)]
pub(super) struct Prefix(pub(super) Arc<Vec<Value>>);

impl Prefix {
    /// The instance after it.
    pub(super) fn next(&self) -> Slot {
        Slot(self.0.len() as u32 + 1)
    }
}

/// LEARNED. What is signed does not name a view: learning is final, and learners may have learned a value in different ones.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(v, x))]
pub struct Learned {
    pub(super) view: View,
    /// All that was learned so far.
    pub(super) learnt: Signed<Prefix>,
}

/// A learned certificate: LEARNEDs of enough learners.
pub(super) type Known = Arc<Cert<Prefix>>;

/// SATISFIED(v, n, x).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(v, n, x))]
pub struct Satisfied {
    pub(super) view: View,
    pub(super) seq: Slot,
    /// The digest of the value.
    pub(super) digest: Digest,
}

/// PULL(v, n): what was learned after instance n?
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(v, n))]
pub struct Pull {
    pub(super) view: View,
    pub(super) seq: Slot,
}

/// SUSPECT(v): the leader of view v is too slow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(v))]
pub struct Suspect {
    pub(super) view: View,
}

/// ELECTED(v, S) and QUERY(v, S): view v has begun.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(v, S))]
pub struct Election {
    pub(super) view: View,
    /// Who has suspected the leader before.
    pub(super) proof: Arc<Cert<Suspect>>,
}

/// A value that an acceptor has accepted, and in which view.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(x, v))]
pub(super) struct Acceptance {
    pub(super) value: Value,
    pub(super) view: View,
}

/// REP(v, n, accepted, proof, L).
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(v, n, accepted, proof, L))]
pub struct Rep {
    /// The new view.
    pub(super) view: View,
    /// The acceptor's open instance.
    pub(super) seq: Slot,
    /// What it has accepted there last.
    pub(super) accepted: Option<Acceptance>,
    /// The acceptor's latest commit proof there.
    pub(super) proof: Option<Proof>,
    pub(super) learned: Option<Known>,
}

/// A REP as it travels; a progress certificate repeats it.
pub(super) type Report = Arc<Signed<Rep>>;

/// Whether a client has asked for this.
pub(super) fn is_genuine(value: &Value) -> bool {
    value.is_by(value.client)
}

/// The values of a learned certificate; before the first instance there is none.
pub(super) fn values(known: Option<&Known>) -> &[Value] {
    known.map_or(&[], |known| &known.0)
}
