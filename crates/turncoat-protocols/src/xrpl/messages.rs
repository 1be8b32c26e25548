//! What the nodes of the XRP Ledger say.

use turncoat_core::prelude::*;

use super::ledger::{Ledger, TxSet, is_genuine};

/// A message. PROPOSE and VALIDATION may be relayed, and count for who has signed them.
#[derive(Clone, PartialEq, Debug, Hash, Serialize, Deserialize, Message)]
#[message(specials = super::lies::SPECIALS)]
pub enum Msg {
    /// A payment: from its client to a replica, and on to all.
    Tx(Signed<Request>),
    /// A replica's position in the round that builds on `prev`.
    #[message(view = View(m.label.0), slot = m.label, phase = 1)]
    Propose(Signed<Propose>),
    /// A replica has built a ledger and stands by it.
    #[message(view = View(m.label.0), slot = m.seq, phase = 2)]
    Validation(Signed<Validation>),
    /// Who lacks a ledger asks all for it.
    GetLedger(GetLedger),
    /// A whole ledger.
    Ledger(Arc<Ledger>),
    /// To the client: its payment, or another with its number, is in a ledger that is fully validated.
    Settled(Settled),
}

/// PROPOSE(prev, k, txs). The set travels with the position; rippled sends its hash, and the set to who asks.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(prev, k, txs))]
pub struct Propose {
    /// The ledger that the round builds on.
    pub(super) prev: Digest,
    /// The number of the position in its round: 0 first, one more with each change, the highest of all to leave the round.
    pub(super) k: u32,
    /// The payments that the next ledger is to hold.
    pub(super) txs: TxSet,
    /// When the ledger closed, in seconds, if replicas agree on that. It has no place in the encoding, so that a flipped bit means
    /// the same whether they do or not.
    #[part(skip)]
    #[serde(skip)]
    pub(super) close: Option<u32>,
    /// The ledger that is being built, to tell rounds apart. No receiver reads it.
    #[part(skip)]
    pub(super) label: Slot,
}

impl Msg {
    /// Whether no correct replica sends or passes on such a message.
    pub(super) fn is_bad(&self) -> bool {
        match self {
            Self::Tx(tx) => !is_genuine(tx),
            Self::Propose(position) => !position.valid() || !position.txs.is_sound(),
            Self::Validation(val) => !val.valid(),
            Self::Ledger(ledger) => !ledger.is_sound(),
            Self::GetLedger(_) | Self::Settled(_) => false,
        }
    }
}

/// The number of a position that takes its owner out of the round.
pub(super) const BOW_OUT: u32 = u32::MAX;

/// VALIDATION(ledger, n, set, t, full).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(ledger, n, set, t, full))]
pub struct Validation {
    /// The ledger's hash.
    pub(super) ledger: Digest,
    /// Its sequence number. Nothing ties it to the hash.
    pub(super) seq: Slot,
    /// The set on which there was consensus.
    pub(super) set: Digest,
    /// When it was signed.
    pub(super) signed_at: Time,
    /// Whether its sender took part in the round: otherwise it does not count for a quorum.
    pub(super) full: bool,
    /// The ledger's true sequence number, to tell rounds apart. No receiver reads it.
    #[part(skip)]
    pub(super) label: Slot,
}

/// GET-LEDGER(ledger).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
pub struct GetLedger {
    /// The hash of what is missing.
    pub(super) ledger: Digest,
}

/// SETTLED(t, n).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(t, n))]
pub struct Settled {
    /// Which of the client's payments.
    pub(super) ts: u32,
    /// The ledger that holds it.
    pub(super) seq: Slot,
}
