//! Lies that no single field gives, and messages made up.

use turncoat_core::prelude::*;

use super::messages::{Block, Msg, Precommit, Prevote, Proposal, Vote};

pub(super) const SPECIALS: &[Special<Msg>] = &[
    Special::small("proposal", ".epoch+2", |msg, liar| propose(msg, liar, |m| m.epoch = later(m.epoch))),
    // Another block, and its id.
    Special::small("proposal", ".value=other+id", |msg, liar| {
        let Msg::Proposal(m) = msg else { return false };
        let (signer, Some(value)) = (m.signer(), m.value) else { return false };
        let tx = liar.sign(signer, other(signer, value.tx.ts, value.tx.op));
        let value = Block { tx, ..value };
        propose(msg, liar, |m| (m.value, m.id) = (Some(value), value.id()))
    }),
    // A quorum of prevotes that nobody has seen: of the epoch before, and of this one, which is absurd.
    Special::small("proposal", ".valid-round=before", |msg, liar| {
        let Msg::Proposal(m) = msg else { return false };
        let Some(before) = m.epoch.0.checked_sub(1).map(View) else { return false };
        m.valid_round != Some(before) && propose(msg, liar, |m| m.valid_round = Some(before))
    }),
    Special::small("proposal", ".valid-round=epoch", |msg, liar| {
        propose(msg, liar, |m| m.valid_round = Some(m.epoch))
    }),
    Special::small("prevote", ".epoch+2", |msg, liar| match msg {
        Msg::Prevote(vote) => liar.edit(vote, |vote| vote.epoch = later(vote.epoch)),
        _ => false,
    }),
    Special::small("precommit", ".epoch+2", |msg, liar| match msg {
        Msg::Precommit(vote) => liar.edit(vote, |vote| vote.epoch = later(vote.epoch)),
        _ => false,
    }),
    // The id of a block that somebody has voted for, also in the place of nil.
    Special::recalled("prevote", ".id=seen", |msg, earlier, liar| match (msg, earlier) {
        (Msg::Prevote(vote), Msg::Prevote(earlier)) => seen(vote, earlier, liar),
        _ => false,
    }),
    Special::recalled("precommit", ".id=seen", |msg, earlier, liar| match (msg, earlier) {
        (Msg::Precommit(vote), Msg::Precommit(earlier)) => seen(vote, earlier, liar),
        _ => false,
    }),
    // The other vote in its place.
    Special::small("prevote", ".as-precommit", |msg, liar| {
        let Msg::Prevote(vote) = msg else { return false };
        *msg = Msg::Precommit(liar.sign(vote.signer(), vote.retyped()));
        true
    }),
];

/// The latest earlier epoch in which somebody has prevoted for a value, as far as the liar has seen: a quorum or not.
pub(super) fn prevoted(height: Slot, epoch: View, id: Digest, liar: &Liar<'_>) -> Option<View> {
    let earlier = |vote: &Signed<Prevote>| {
        vote.valid() && vote.height == height && vote.id == Some(id) && vote.epoch < epoch
    };
    liar.seen.all(earlier).iter().map(|vote| vote.epoch).max()
}

/// The precommits that the liar has seen for a block, of the epoch with the most: enough to decide it, or not.
pub(super) fn precommitted(block: &Block, liar: &Liar<'_>) -> Vec<Signed<Precommit>> {
    let id = Some(block.id());
    let about = |vote: &Signed<Precommit>| vote.valid() && vote.height == block.height && vote.id == id;
    let mut votes = liar.seen.all(about);
    votes.sort_unstable_by_key(|vote| (vote.epoch, vote.signer()));
    votes.dedup();
    let best = votes.chunk_by(|a, b| a.epoch == b.epoch).max_by_key(|votes| votes.len());
    best.unwrap_or_default().to_vec()
}

/// Lies in a proposal.
fn propose(msg: &mut Msg, liar: &Liar<'_>, lie: impl FnOnce(&mut Proposal)) -> bool {
    let Msg::Proposal(m) = msg else { return false };
    liar.edit(Arc::make_mut(m), lie)
}

/// Two epochs later.
const fn later(epoch: View) -> View {
    epoch.next().next()
}

fn seen<const STEP: u8>(vote: &mut Signed<Vote<STEP>>, earlier: &Vote<STEP>, liar: &Liar<'_>) -> bool {
    earlier.id.is_some() && earlier.id != vote.id && liar.edit(vote, |vote| vote.id = earlier.id)
}

impl<const STEP: u8> Vote<STEP> {
    /// The same vote as one of the other type.
    const fn retyped<const OTHER: u8>(&self) -> Vote<OTHER> {
        let Self { height, epoch, id } = *self;
        Vote { height, epoch, id }
    }
}

/// A request that its client makes beside one of its own.
fn other(client: NodeId, ts: u32, op: Op) -> Request {
    Request { client, ts, op: Op::new(&format!("{op}-other")), read_only: false }
}

/// A message that a liar makes up beside one of its own: beside a prevote one for nil, or the precommit to it; a proposal,
/// called for or not.
pub(super) fn mint(kind: u8, like: &Msg, signer: Signer) -> Option<Msg> {
    let (height, epoch, parent) = match like {
        Msg::Proposal(m) => (m.height, m.epoch, m.value.map_or(Digest::NULL, |value| value.parent)),
        Msg::Prevote(m) => (m.height, m.epoch, Digest::NULL),
        _ => return None,
    };
    match (Msg::KINDS[usize::from(kind)], like) {
        ("prevote", Msg::Prevote(_)) => Some(Msg::Prevote(signer.sign(Vote { height, epoch, id: None }))),
        ("precommit", Msg::Prevote(vote)) => Some(Msg::Precommit(signer.sign(vote.retyped()))),
        ("proposal", _) => {
            // Of each epoch another one.
            let ts = u32::MAX - epoch.0 % 1000;
            let tx = signer.sign(other(signer.node(), ts, Op::new("uncalled")));
            let value = Block { parent, height, tx };
            let (id, value) = (value.id(), Some(value));
            let proposal = Proposal { height, epoch, id, value, valid_round: None };
            Some(Msg::Proposal(Arc::new(signer.sign(proposal))))
        }
        _ => None,
    }
}
