//! Lies that no single field gives: those of ByzzFuzz (its Table 4) and of the XRPL thesis (its Table 1).

use turncoat_core::prelude::*;

use super::ledger::TxSet;
use super::messages::{BOW_OUT, Msg};

pub(super) const SPECIALS: &[Special<Msg>] = &[
    // Another payment that a client has signed.
    Special::small("tx", "=other", |msg, liar| {
        let Msg::Tx(tx) = msg else { return false };
        liar.another_request(Some(tx)).map(|other| *tx = other).is_some()
    }),
    // A set of one payment, which is not in the true one.
    Special::small("propose", ".txs=other", |msg, liar| {
        let Msg::Propose(m) = msg else { return false };
        let others = liar.requests.iter().filter(|tx| !m.txs.contains(tx));
        let others: Vec<_> = others.collect();
        if others.is_empty() {
            return false;
        }
        let other = **liar.rng.pick(&others);
        liar.edit(m, |m| m.txs = TxSet::of(vec![other]))
    }),
    // The set of somebody else, or an earlier one.
    Special::recalled("propose", ".txs=earlier", |msg, earlier, liar| {
        let (Msg::Propose(m), Msg::Propose(earlier)) = (msg, earlier) else { return false };
        m.txs != earlier.txs && liar.edit(m, |m| m.txs = earlier.txs.clone())
    }),
    Special::small("propose", ".k=bow-out", |msg, liar| {
        let Msg::Propose(m) = msg else { return false };
        m.k != BOW_OUT && liar.edit(m, |m| m.k = BOW_OUT)
    }),
    // As in the thesis: a number of 1 to 100.
    Special::small("propose", ".k=hundred", |msg, liar| {
        let Msg::Propose(m) = msg else { return false };
        let k = 1 + liar.rng.below(100);
        m.k != k && liar.edit(m, |m| m.k = k)
    })
    .of_any_scope(),
    // What somebody else wants in the same ledger.
    Special::recalled("propose", "=copy", |msg, earlier, liar| {
        let (Msg::Propose(m), Msg::Propose(other)) = (msg, earlier) else { return false };
        let differs = (m.prev, &m.txs) != (other.prev, &other.txs);
        m.label == other.label
            && differs
            && liar.edit(m, |m| (m.prev, m.txs) = (other.prev, other.txs.clone()))
    }),
    // The ledger with the same number that somebody else has validated.
    Special::recalled("validation", "=copy", |msg, earlier, liar| {
        let (Msg::Validation(m), Msg::Validation(other)) = (msg, earlier) else { return false };
        m.label == other.label
            && m.ledger != other.ledger
            && liar.edit(m, |m| (m.ledger, m.set) = (other.ledger, other.set))
    }),
    // The hash of some ledger of the run, each number as likely as the others.
    Special::recalled("validation", ".ledger=seen", |msg, earlier, liar| {
        let (Msg::Validation(m), Msg::Validation(earlier)) = (msg, earlier) else { return false };
        // The same draw for all that are looked at.
        let number = 2 + liar.rng.clone().below(m.label.0.saturating_sub(1).max(1));
        let (ledger, set) = (earlier.ledger, earlier.set);
        m.ledger != ledger && earlier.label.0 == number && liar.edit(m, |m| (m.ledger, m.set) = (ledger, set))
    })
    .of_any_scope(),
    Special::small("validation", ".ledger=null", |msg, liar| {
        let Msg::Validation(m) = msg else { return false };
        m.ledger != Digest::NULL && liar.edit(m, |m| (m.ledger, m.set) = (Digest::NULL, Digest::NULL))
    })
    .of_any_scope(),
];
