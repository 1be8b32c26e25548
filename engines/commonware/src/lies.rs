//! Lies that no single field gives, and messages made up.

use turncoat::core::prelude::*;

use crate::messages::{Certificate, Msg, Nullification, Nullify, Proposal};

pub(crate) const SPECIALS: &[Special<Msg>] = &[
    // One vote in the place of another.
    Special::small("notarize", ".as-nullify", |msg, liar| {
        let Msg::Notarize(m) = msg else { return false };
        *msg = Msg::Nullify(liar.sign(m.signer(), m.round()));
        true
    }),
    Special::small("notarize", ".as-finalize", |msg, liar| {
        let Msg::Notarize(m) = msg else { return false };
        *msg = Msg::Finalize(liar.sign(m.signer(), m.retyped()));
        true
    }),
    Special::small("finalize", ".as-nullify", |msg, liar| {
        let Msg::Finalize(m) = msg else { return false };
        *msg = Msg::Nullify(liar.sign(m.signer(), m.round()));
        true
    }),
    // In the name of somebody else, who has not signed.
    Special::small("notarize", ".signer=next", |msg, liar| {
        let Msg::Notarize(m) = msg else { return false };
        *m = liar.sign(next(m.signer(), liar), **m);
        true
    }),
    Special::small("nullify", ".signer=next", |msg, liar| {
        let Msg::Nullify(m) = msg else { return false };
        *m = liar.sign(next(m.signer(), liar), **m);
        true
    }),
    Special::small("finalize", ".signer=next", |msg, liar| {
        let Msg::Finalize(m) = msg else { return false };
        *m = liar.sign(next(m.signer(), liar), **m);
        true
    }),
    // One vote as a certificate.
    Special::small("notarize", ".as-notarization", |msg, _| {
        let Msg::Notarize(m) = msg else { return false };
        *msg = Msg::Notarization(Arc::new(Certificate { proposal: **m, votes: vec![*m] }));
        true
    }),
    Special::small("nullify", ".as-nullification", |msg, _| {
        let Msg::Nullify(m) = msg else { return false };
        *msg = Msg::Nullification(Arc::new(Nullification { round: **m, votes: vec![*m] }));
        true
    }),
    Special::small("finalize", ".as-finalization", |msg, _| {
        let Msg::Finalize(m) = msg else { return false };
        *msg = Msg::Finalization(Arc::new(Certificate { proposal: **m, votes: vec![*m] }));
        true
    }),
    // A certificate for the next version of the block, with the votes of those who lie.
    Special::small("notarization", ".payload=fresh+votes", |msg, liar| {
        let Msg::Notarization(m) = msg else { return false };
        *m = Arc::new(alone(m.proposal.fresh(), liar));
        true
    }),
    Special::small("finalization", ".payload=fresh+votes", |msg, liar| {
        let Msg::Finalization(m) = msg else { return false };
        *m = Arc::new(alone(m.proposal.fresh(), liar));
        true
    }),
    // A whole certificate that was seen before, in the place of a new one.
    Special::recalled("notarization", "=earlier", again),
    Special::recalled("nullification", "=earlier", again),
    Special::recalled("finalization", "=earlier", again),
    Special::recalled("response", "=earlier", again),
];

fn again(msg: &mut Msg, earlier: &Msg, _: &mut Liar<'_>) -> bool {
    let changed = msg != earlier;
    *msg = earlier.clone();
    changed
}

fn next(signer: NodeId, liar: &Liar<'_>) -> NodeId {
    NodeId::replica((signer.index() + 1) % liar.n)
}

/// A certificate of all who have these keys, and of nobody else.
fn alone<const STEP: u8>(proposal: Proposal<STEP>, liar: &Liar<'_>) -> Certificate<STEP> {
    Certificate { proposal, votes: liar.keys.iter().map(|node| liar.sign(node, proposal)).collect() }
}

impl<const STEP: u8> Proposal<STEP> {
    /// The same with the next version of the block.
    fn fresh(&self) -> Self {
        Self { payload: Digest::of(&self.payload.0), ..*self }
    }

    /// The same as a statement of the other type.
    const fn retyped<const OTHER: u8>(&self) -> Proposal<OTHER> {
        let Self { epoch, view, parent, payload } = *self;
        Proposal { epoch, view, parent, payload }
    }

    const fn round(&self) -> Nullify {
        Nullify { epoch: self.epoch, view: self.view }
    }
}

/// A vote that a liar makes up beside one of its own: beside a vote for a proposal the other one, or one for going on without;
/// beside each of them one for another version of the block.
pub(crate) fn mint(kind: u8, like: &Msg, signer: Signer) -> Option<Msg> {
    let proposal: Proposal<1> = match like {
        Msg::Notarize(m) => **m,
        Msg::Finalize(m) => m.retyped(),
        _ => return None,
    };
    let proposal = if kind == like.kind() { proposal.fresh() } else { proposal };
    match Msg::KINDS[usize::from(kind)] {
        "notarize" => Some(Msg::Notarize(signer.sign(proposal))),
        "nullify" => Some(Msg::Nullify(signer.sign(proposal.round()))),
        "finalize" => Some(Msg::Finalize(signer.sign(proposal.retyped()))),
        _ => None,
    }
}
