//! Lies that no single field gives, and messages made up.

use bincode::serialize;
use hbbft::broadcast::Broadcast;
use turncoat_core::prelude::*;
use turncoat_core::rng::Rng;

use super::keys::{self, Dice};
use super::messages::{At, Bytes, Conf, Msg, Shard, Vote};
use super::wire;

pub(super) const SPECIALS: &[Special<Msg>] = &[
    // Another contribution of the liar's, well encoded. One of the two is what the epoch calls for: where contributions are
    // encrypted, plain text is garbage, and elsewhere the other way round.
    Special::small("value", ".contribution=plain", |msg, liar| other(msg, plain, liar)),
    Special::small("value", ".contribution=encrypted", |msg, liar| other(msg, encrypted, liar)),
    Special::small("value", ".contribution=damaged", |msg, liar| other(msg, damaged, liar)),
    Special::small("value", ".contribution=forged", |msg, liar| other(msg, forged, liar)),
    Special::small("echo", ".contribution=plain", |msg, liar| other(msg, plain, liar)),
    Special::small("echo", ".contribution=encrypted", |msg, liar| other(msg, encrypted, liar)),
    Special::small("ready", ".contribution=plain", |msg, liar| other(msg, plain, liar)),
    Special::small("ready", ".contribution=encrypted", |msg, liar| other(msg, encrypted, liar)),
    // A good share of the coin of the next round that has one.
    Special::small("coin", ".share=next", |msg, liar| {
        let Msg::Coin(m) = msg else { return false };
        let Some(share) = coin(m.at, View(m.round.0.saturating_add(3)), liar) else { return false };
        m.share = share;
        true
    }),
    // What another one has not said, in its name.
    Special::small("ready", ".as-next+root", |msg, liar| {
        let Msg::Ready(m) = msg else { return false };
        m.root = Bytes(m.root.0.iter().rev().copied().collect());
        as_next(&mut m.at, liar)
    }),
    Special::small("bval", ".as-next+value", opposite),
    Special::small("aux", ".as-next+value", opposite),
    Special::small("term", ".as-next+value", opposite),
];

/// The opposite vote, in the name of another one.
fn opposite(msg: &mut Msg, liar: &mut Liar<'_>) -> bool {
    let (Msg::Bval(m) | Msg::Aux(m) | Msg::Term(m)) = msg else { return false };
    m.value = !m.value;
    as_next(&mut m.at, liar)
}

fn as_next(at: &mut At, liar: &Liar<'_>) -> bool {
    at.sender = NodeId::replica((at.sender.index() + 1) % liar.n);
    true
}

/// Puts what belongs to another contribution in the place of the present one. It is a good one only if the liar is the proposer.
fn other(msg: &mut Msg, made: fn(At, &Liar<'_>) -> Option<Vec<u8>>, liar: &mut Liar<'_>) -> bool {
    let at = *msg.at();
    let Some(shards) = made(at, liar).and_then(|bytes| shards(at, bytes, liar)) else { return false };
    let before = msg.clone();
    match msg {
        Msg::Value(m) | Msg::Echo(m) => {
            let Some(shard) = shards.into_iter().find(|shard| shard.leaf == m.leaf) else { return false };
            *m = shard;
        }
        Msg::Ready(m) => shards.into_iter().take(1).for_each(|shard| m.root = shard.root),
        _ => {}
    }
    *msg != before
}

/// The request that a proposer has beside its own in an epoch, encoded.
fn plain(at: At, liar: &Liar<'_>) -> Option<Vec<u8>> {
    let ts = u32::MAX - at.epoch.0 % 1000;
    let request = Request { client: at.proposer, ts, op: Op::new("other"), read_only: false };
    serialize(&liar.sign(at.proposer, request)).ok()
}

/// A request that the next replica has not made, in its name.
fn forged(at: At, liar: &Liar<'_>) -> Option<Vec<u8>> {
    let client = NodeId::replica((at.proposer.index() + 1) % liar.n);
    let request = Request { client, ts: u32::MAX, op: Op::new("forged"), read_only: false };
    serialize(&liar.sign(client, request)).ok()
}

/// The first one, encrypted. Whoever asks gets the same.
fn encrypted(at: At, liar: &Liar<'_>) -> Option<Vec<u8>> {
    let key = keys::of(at.proposer, liar.n, liar.n)?.public_key_set().public_key();
    let mut rng = Rng::stream(0xC1F, u64::from(at.epoch.0));
    serialize(&key.encrypt_with_rng(&mut Dice(&mut rng), plain(at, liar)?)).ok()
}

/// The same with a byte changed: it decodes, but nobody will decrypt it.
fn damaged(at: At, liar: &Liar<'_>) -> Option<Vec<u8>> {
    let mut bytes = encrypted(at, liar)?;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    Some(bytes)
}

/// The shards of a contribution, by the engine's own encoding.
fn shards(at: At, bytes: Vec<u8>, liar: &Liar<'_>) -> Option<Vec<Shard>> {
    let mut engine = Broadcast::new(keys::of(at.proposer, liar.n, liar.n)?, at.proposer).ok()?;
    let step = engine.broadcast(bytes).ok()?;
    let messages = step.messages.iter().filter_map(|it| wire::broadcast(at, &it.message));
    let shards = messages.filter_map(|msg| match msg {
        Msg::Value(shard) | Msg::Echo(shard) => Some(shard),
        _ => None,
    });
    Some(shards.collect())
}

/// The liar's share of a coin. What is signed is what the engine calls the coin: session, epoch, proposer, round.
fn coin(at: At, round: View, liar: &Liar<'_>) -> Option<Bytes> {
    let me = liar.keys.iter().next()?;
    let session = (super::SESSION, u64::from(at.epoch.0), at.proposer.index() as u32, u64::from(round.0));
    let info = keys::of(me, liar.n, liar.n)?;
    Some(Bytes(serialize(&info.secret_key_share()?.sign(serialize(&session).ok()?)).ok()?))
}

/// A message that a liar makes up beside an estimate of its own: the other one too, a vote for what it has not seen, a decision that it
/// has not made.
pub(super) fn mint(kind: u8, like: &Msg) -> Option<Msg> {
    let Msg::Bval(Vote { at, round, value }) = *like else { return None };
    let vote = Vote { at, round, value: !value };
    match Msg::KINDS[usize::from(kind)] {
        "bval" => Some(Msg::Bval(vote)),
        "aux" => Some(Msg::Aux(vote)),
        "conf" => Some(Msg::Conf(Conf { at, round, values: 3 })),
        "term" => Some(Msg::Term(Vote { round: round.next(), ..vote })),
        _ => None,
    }
}
