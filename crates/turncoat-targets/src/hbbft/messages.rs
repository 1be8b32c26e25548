//! What validators say: one kind for each message of the engine, with the engine's names.

use std::fmt;

use turncoat_core::part::{Depth, Mutation, row};
use turncoat_core::prelude::*;

use super::lies::SPECIALS;

/// A message.
#[derive(Clone, PartialEq, Debug, Hash, Serialize, Deserialize, Message)]
#[message(specials = SPECIALS)]
pub enum Msg {
    /// Reliable broadcast: a proposer hands each validator its shard.
    #[message(view = View(m.at.epoch.0), slot = m.at.epoch.next(), phase = 1)]
    Value(Shard),
    /// Reliable broadcast: a validator shows its shard to all.
    #[message(view = View(m.at.epoch.0), slot = m.at.epoch.next(), phase = 2)]
    Echo(Shard),
    /// Reliable broadcast: there are enough shards.
    #[message(view = View(m.at.epoch.0), slot = m.at.epoch.next(), phase = 3)]
    Ready(Ready),
    /// Binary agreement: an estimate.
    #[message(view = View(m.at.epoch.0), slot = m.at.epoch.next(), phase = phase(m.round, 0))]
    Bval(Vote),
    /// Binary agreement: the first value that enough validators have as an estimate.
    #[message(view = View(m.at.epoch.0), slot = m.at.epoch.next(), phase = phase(m.round, 1))]
    Aux(Vote),
    /// Binary agreement: the candidates, before the coin is tossed.
    #[message(view = View(m.at.epoch.0), slot = m.at.epoch.next(), phase = phase(m.round, 2))]
    Conf(Conf),
    /// Binary agreement: a share of the coin.
    #[message(view = View(m.at.epoch.0), slot = m.at.epoch.next(), phase = phase(m.round, 3))]
    Coin(Coin),
    /// Binary agreement: the sender has decided, and votes so in all rounds from this one on.
    #[message(view = View(m.at.epoch.0), slot = m.at.epoch.next(), phase = phase(m.round, 0))]
    Term(Vote),
    /// A share of the plain text of a contribution.
    #[message(view = View(m.at.epoch.0), slot = m.at.epoch.next(), phase = phase(View(1), 0))]
    DecryptionShare(Share),
}

/// How many phases an epoch has up to its first coin. Later ones count as the last.
pub(super) const PHASES: u32 = 11;

/// The phase of a step of a round of binary agreement. After the three of the broadcast come two for each of the rounds whose coin is
/// fixed, and four for each third one, whose coin is tossed.
fn phase(round: View, step: u8) -> u8 {
    let before = (round.0 / 3).saturating_mul(8).saturating_add(round.0 % 3 * 2);
    u8::try_from(before.saturating_add(4)).unwrap_or(u8::MAX).saturating_add(step)
}

impl Msg {
    /// What it is about.
    pub(super) const fn at(&self) -> &At {
        match self {
            Self::Value(m) | Self::Echo(m) => &m.at,
            Self::Ready(m) => &m.at,
            Self::Bval(m) | Self::Aux(m) | Self::Term(m) => &m.at,
            Self::Conf(m) => &m.at,
            Self::Coin(m) => &m.at,
            Self::DecryptionShare(m) => &m.at,
        }
    }
}

/// What a message is about: in each epoch there is one broadcast and one agreement for each proposer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(s, e, p))]
pub(super) struct At {
    /// Who says that it says this. A host believes the channel instead.
    pub(super) sender: NodeId,
    /// The epoch, from 0.
    pub(super) epoch: Slot,
    /// Whose contribution it is.
    pub(super) proposer: NodeId,
}

/// A shard of a contribution, with the proof that it is one: the branch of a Merkle tree.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
pub struct Shard {
    pub(super) at: At,
    /// Whose shard it is.
    pub(super) leaf: u32,
    pub(super) shard: Bytes,
    /// The branch.
    pub(super) digests: Vec<Bytes>,
    pub(super) root: Bytes,
}

/// READY(h).
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
pub struct Ready {
    pub(super) at: At,
    pub(super) root: Bytes,
}

/// BVAL(r, b), AUX(r, b), TERM(r, b).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(at, r, b))]
pub struct Vote {
    pub(super) at: At,
    /// The round of the agreement, from 0.
    pub(super) round: View,
    /// The vote.
    pub(super) value: bool,
}

/// CONF(r, bs).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(at, r, bs))]
pub struct Conf {
    pub(super) at: At,
    /// The round of the agreement, from 0.
    pub(super) round: View,
    /// A bit for false, and one for true.
    pub(super) values: u8,
}

/// COIN(r, s).
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
pub struct Coin {
    pub(super) at: At,
    pub(super) round: View,
    /// A share of the signature whose parity is the coin.
    pub(super) share: Bytes,
}

/// A share of the key to a contribution.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
pub struct Share {
    pub(super) at: At,
    pub(super) share: Bytes,
}

/// Hashes, shards and shares: what nobody reads.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
pub(super) struct Bytes(pub(super) Vec<u8>);

impl Part for Bytes {
    fn mutations(_: Depth, path: &str, table: &mut Vec<Mutation>) {
        for operator in ["=earlier", "~", ".cut"] {
            row(table, path, operator, Scope::Small);
        }
    }

    fn count(_: Depth) -> usize {
        3
    }

    fn mutate(&mut self, _: Depth, index: usize, earlier: Option<&Self>, _: &mut Liar<'_>) -> bool {
        let before = self.clone();
        match (index, earlier) {
            (0, Some(earlier)) => *self = earlier.clone(),
            (0, None) => {}
            (1, _) => self.0.iter_mut().take(1).for_each(|byte| *byte ^= 1),
            _ => _ = self.0.pop(),
        }
        *self != before
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Digest::of(&self.0), f)
    }
}
