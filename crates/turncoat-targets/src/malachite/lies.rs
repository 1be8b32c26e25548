//! Lies that no single field gives, by the names that the model `tendermint` has for them.

use turncoat_core::prelude::*;

use super::messages::{Block, Msg, Proposal, Vote};

pub(super) const SPECIALS: &[Special<Msg>] = &[
    Special::small("proposal", ".epoch+2", |msg, liar| propose(msg, liar, |m| m.epoch = later(m.epoch))),
    // Another value, and with it another id.
    Special::small("proposal", ".value=other+id", |msg, liar| {
        let Msg::Proposal(m) = msg else { return false };
        let (signer, tx) = (m.signer(), *m.value.tx);
        let other = Request { client: signer, op: Op::new(&format!("{}-other", tx.op)), ..tx };
        let value = Block { tx: liar.sign(signer, other), ..m.value };
        propose(msg, liar, |m| m.value = value)
    }),
    // A quorum of prevotes that nobody has seen.
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
    // The id of a value that somebody has voted for, also in the place of nil.
    Special::recalled("prevote", ".id=seen", |msg, earlier, liar| match (msg, earlier) {
        (Msg::Prevote(vote), Msg::Prevote(earlier)) => seen(vote, earlier, liar),
        _ => false,
    }),
    Special::recalled("precommit", ".id=seen", |msg, earlier, liar| match (msg, earlier) {
        (Msg::Precommit(vote), Msg::Precommit(earlier)) => seen(vote, earlier, liar),
        _ => false,
    }),
];

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
