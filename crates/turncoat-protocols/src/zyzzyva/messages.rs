//! What Zyzzyva's replicas and clients say. In traces the fields carry the papers' letters: v, n, h, d, m, s, O, V, G.
//!
//! A certificate (CC) is made of signatures under (v, n, h_n) alone: result, client and t of a SPEC-RESPONSE follow from
//! h_n. A VIEW-CONFIRM has the same body. To mix both in a certificate is no harm: who has answered in a view has confirmed
//! it.

use turncoat_core::prelude::*;

/// A message. What may be relayed or counted in a certificate is signed.
#[derive(Clone, PartialEq, Debug, Hash, Serialize, Deserialize, Message)]
#[message(specials = super::lies::SPECIALS)]
pub enum Msg {
    /// From a client: to the primary, and to all if it is late.
    Request(Signed<Request>),
    /// The primary gives a request its place.
    #[message(view = m.view, slot = m.seq, phase = 1)]
    OrderReq(Order),
    /// A replica has executed it, which may be taken back. At checkpoints other replicas are told too.
    #[message(view = m.claim.view, slot = m.claim.seq, phase = 2)]
    SpecResponse(SpecResponse),
    /// A client shows that 2f+1 replicas agree.
    #[message(view = m.view, slot = m.seq, phase = 3)]
    Commit(Cert<Claim>),
    /// A replica will not give up what the certificate shows.
    #[message(view = m.view, slot = m.seq, phase = 4)]
    LocalCommit(Signed<LocalCommit>),
    /// Asks where a request is that its client has sent to all.
    #[message(view = m.view, slot = m.next, phase = 1)]
    ConfirmReq(ConfirmReq),
    /// Asks for what is missing before a slot.
    #[message(view = m.view, slot = m.from, phase = 1)]
    FillHole(FillHole),
    /// The answer.
    #[message(view = m.view, slot = m.orders.first().map_or(Slot(0), |order| order.seq), phase = 1)]
    FillHoleReply(FillHoleReply),
    /// The primary contradicts itself, or 2f+1 replicas.
    Pom(Arc<Pom>),
    /// A replica has executed up to here, and holds a certificate for it.
    #[message(view = m.view, slot = m.seq, phase = 5)]
    Checkpoint(Signed<Checkpoint>),
    /// Shows a stable checkpoint to who has an older one and asks for something.
    #[message(view = m.view, slot = m.seq, phase = 5)]
    Stable(Cert<Checkpoint>),
    /// Asks for all requests up to a slot.
    #[message(slot = *m)]
    Fetch(Slot),
    /// The answer.
    State(Arc<Vec<Option<Signed<Request>>>>),
    /// "I hate the primary" of this view.
    #[message(view = m.view, phase = 6)]
    Ihtp(Signed<Ihtp>),
    /// A replica goes to a new view.
    #[message(view = m.view, phase = 7, view_change)]
    ViewChange(Voted),
    /// The primary of the new view starts it; everybody relays it.
    #[message(view = m.view, phase = 8, view_change)]
    NewView(Arc<Signed<NewView>>),
    /// A replica is ready for the new view.
    #[message(view = m.view, phase = 9, view_change)]
    ViewConfirm(Signed<Claim>),
}

/// ORDER-REQ(v, n, h_n, d, m). No request is null, which only a NEW-VIEW may order; its digest is null.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(v, n, p, h, d, m))]
pub struct OrderReq {
    /// The view.
    pub(super) view: View,
    /// The number, which is the slot.
    pub(super) seq: Slot,
    /// The history before it.
    /// The paper leaves it out: receivers know it, but liars have to.
    #[part(skip)]
    pub(super) parent: Digest,
    /// The history with it.
    #[part(follows = chain(*parent, *digest, before.history == chain(before.parent, before.digest, true)))]
    pub(super) history: Digest,
    /// The digest.
    #[part(follows = request.as_ref().map_or(Digest::NULL, |request| request.digest()))]
    pub(super) digest: Digest,
    /// The request.
    pub(super) request: Option<Signed<Request>>,
}

impl OrderReq {
    /// Orders a request (or null) in the slot `seq`, after the history `parent`.
    pub(super) fn new(
        view: View,
        seq: Slot,
        parent: Digest,
        request: Option<Signed<Request>>,
        xor: bool,
    ) -> Self {
        let digest = request.as_ref().map_or(Digest::NULL, |request| request.digest());
        Self { view, seq, parent, history: chain(parent, digest, xor), digest, request }
    }

    /// The digest is the request's, which its client has signed, and the history follows.
    pub(super) fn is_sound(&self, xor: bool) -> bool {
        let genuine = |r: &Signed<Request>| r.is_by(r.client) && !r.read_only && r.digest() == self.digest;
        self.request.as_ref().map_or(self.digest == Digest::NULL, genuine)
            && self.history == chain(self.parent, self.digest, xor)
    }

    /// Whether it is another order of the same primary in the same view for the same number or the same request.
    pub(super) fn contradicts(&self, other: &Self) -> bool {
        let place = |order: &Self| (order.seq, order.history);
        let related = self.seq == other.seq || (self.request.is_some() && self.digest == other.digest);
        self.view == other.view && related && place(self) != place(other)
    }
}

/// h_n = H(h_(n-1), d), or their sum (`xor-history`).
pub(super) fn chain(history: Digest, digest: Digest, xor: bool) -> Digest {
    if xor { Digest(history.0 ^ digest.0) } else { Digest::of(&(history, digest)) }
}

/// An ORDER-REQ as it travels: responses, replies, votes repeat it.
pub(super) type Order = Arc<Signed<OrderReq>>;

/// In view v the history up to n is h: SPEC-RESPONSE and VIEW-CONFIRM.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(v, n, h))]
pub struct Claim {
    /// The view.
    pub(super) view: View,
    /// The last number.
    pub(super) seq: Slot,
    /// The history.
    pub(super) history: Digest,
}

/// SPEC-RESPONSE(v, n, h_n, c, t, r, OR).
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(claim, r, c, t, OR))]
pub struct SpecResponse {
    pub(super) claim: Signed<Claim>,
    /// The result.
    pub(super) result: u64,
    /// Whose request it answers.
    /// None for null, at a checkpoint.
    #[part(skip)]
    pub(super) client: Option<NodeId>,
    /// Which of the client's requests.
    #[part(skip)]
    pub(super) ts: u32,
    /// The ORDER-REQ.
    /// None below a stable checkpoint.
    pub(super) order: Option<Order>,
}

/// LOCAL-COMMIT(v, n, d, h_n); v is the sender's view.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(v, n, d, h))]
pub struct LocalCommit {
    pub(super) view: View,
    pub(super) seq: Slot,
    pub(super) digest: Digest,
    pub(super) history: Digest,
}

/// CONFIRM-REQ(v, m), the slot that the sender would give it, and its stable checkpoint.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(v, m, next, s))]
pub struct ConfirmReq {
    pub(super) view: View,
    pub(super) request: Signed<Request>,
    #[part(skip)]
    pub(super) next: Slot,
    #[part(skip)]
    pub(super) s: Slot,
}

/// FILL-HOLE(v, from, to), and the sender's stable checkpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(v, from, to, s))]
pub struct FillHole {
    pub(super) view: View,
    pub(super) from: Slot,
    pub(super) to: Slot,
    #[part(skip)]
    pub(super) s: Slot,
}

/// FILL-HOLE-REPLY: what the sender has of it.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(v, orders))]
pub struct FillHoleReply {
    pub(super) view: View,
    pub(super) orders: Vec<Order>,
}

/// POM(v, ...): a proof of misbehaviour. Two orders that contradict each other, or an order and a certificate.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
pub struct Pom {
    pub(super) order: Order,
    pub(super) other: Option<Order>,
    pub(super) cert: Option<Cert<Claim>>,
}

/// CHECKPOINT(v, n, h_n); v is the view of its certificate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(v, n, h))]
pub struct Checkpoint {
    pub(super) view: View,
    pub(super) seq: Slot,
    pub(super) history: Digest,
}

/// IHTP(v).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(v))]
pub struct Ihtp {
    pub(super) view: View,
}

/// VIEW-CHANGE(v, s, proof, CC, O, IHTPs). Each order of O tells by its view when its sender has taken it over last.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(v, s, proof, CC, O, IHTP))]
pub struct ViewChange {
    pub(super) view: View,
    /// The number of its last stable checkpoint.
    pub(super) s: Slot,
    /// The proof of that checkpoint.
    /// None at first.
    pub(super) proof: Option<Cert<Checkpoint>>,
    /// Its highest certificate above it.
    pub(super) cert: Option<Cert<Claim>>,
    /// Its log above it.
    pub(super) orders: Vec<Order>,
    /// F+1 who hate the view before.
    pub(super) haters: Vec<Signed<Ihtp>>,
}

impl ViewChange {
    /// What it has in a slot.
    pub(super) fn at(&self, seq: Slot) -> Option<&OrderReq> {
        let index = seq.0.checked_sub(self.s.0)?.checked_sub(1)?;
        self.orders.get(index as usize).map(|order| &***order)
    }
}

/// A VIEW-CHANGE as it travels; a NEW-VIEW repeats it.
pub(super) type Voted = Arc<Signed<ViewChange>>;

/// NEW-VIEW(v, V, G).
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(v, V, G))]
pub struct NewView {
    pub(super) view: View,
    /// The VIEW-CHANGEs that call for it.
    pub(super) votes: Vec<Voted>,
    /// What it orders again.
    pub(super) orders: Vec<Order>,
}
