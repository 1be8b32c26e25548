//! Messages, between the engine and the network. Where the engine keeps fields to itself, the way is through their encoding.

use bincode::{deserialize, serialize};
use hbbft::binary_agreement::{Message as BaMessage, MessageContent as BaContent, SbvMessage};
use hbbft::broadcast::Message as BcMessage;
use hbbft::honey_badger::{Message, MessageContent};
use hbbft::subset::{Message as SubsetMessage, MessageContent as SubsetContent};
use turncoat_core::prelude::*;

use super::messages::{At, Bytes, Coin, Conf, Msg, Ready, Shard, Share, Vote};

/// A hash of the engine.
type Hash = [u8; 32];
/// A proof as it is encoded: shard, index, branch, root.
type Proof = (Vec<u8>, u64, Vec<Hash>, Hash);

/// A message that the engine of `sender` sends; none if the engine counts beyond what we can say.
pub(super) fn leave(sender: NodeId, message: &Message<NodeId>) -> Option<Msg> {
    let (epoch, content): (u64, MessageContent<NodeId>) = deserialize(&serialize(message).ok()?).ok()?;
    let at = |proposer| Some(At { sender, epoch: Slot(u32::try_from(epoch).ok()?), proposer });
    match content {
        MessageContent::Subset(SubsetMessage { proposer_id, content }) => {
            let at = at(proposer_id)?;
            match content {
                SubsetContent::Broadcast(message) => broadcast(at, &message),
                SubsetContent::Agreement(message) => agreement(at, message),
            }
        }
        MessageContent::DecryptionShare { proposer_id, share } => {
            let share = Bytes(serialize(&share).ok()?);
            Some(Msg::DecryptionShare(Share { at: at(proposer_id)?, share }))
        }
    }
}

/// A message of a broadcast.
pub(super) fn broadcast(at: At, message: &BcMessage) -> Option<Msg> {
    Some(match message {
        BcMessage::Value(proof) => Msg::Value(shard(at, deserialize(&serialize(proof).ok()?).ok()?)?),
        BcMessage::Echo(proof) => Msg::Echo(shard(at, deserialize(&serialize(proof).ok()?).ok()?)?),
        BcMessage::Ready(root) => Msg::Ready(Ready { at, root: Bytes(root.to_vec()) }),
    })
}

fn shard(at: At, (shard, index, branch, root): Proof) -> Option<Shard> {
    let digests = branch.into_iter().map(|hash| Bytes(hash.to_vec())).collect();
    Some(Shard {
        at,
        leaf: u32::try_from(index).ok()?,
        shard: Bytes(shard),
        digests,
        root: Bytes(root.to_vec()),
    })
}

fn agreement(at: At, message: BaMessage) -> Option<Msg> {
    let round = View(u32::try_from(message.epoch).ok()?);
    Some(match message.content {
        BaContent::SbvBroadcast(SbvMessage::BVal(value)) => Msg::Bval(Vote { at, round, value }),
        BaContent::SbvBroadcast(SbvMessage::Aux(value)) => Msg::Aux(Vote { at, round, value }),
        BaContent::Conf(values) => {
            Msg::Conf(Conf { at, round, values: deserialize(&serialize(&values).ok()?).ok()? })
        }
        BaContent::Term(value) => Msg::Term(Vote { at, round, value }),
        BaContent::Coin(share) => Msg::Coin(Coin { at, round, share: Bytes(serialize(&share).ok()?) }),
    })
}

/// A message for the engine; none if it does not decode.
pub(super) fn enter(msg: &Msg) -> Option<Message<NodeId>> {
    let content = match msg {
        Msg::Value(m) => SubsetContent::Broadcast(BcMessage::Value(deserialize(&proof(m)?).ok()?)),
        Msg::Echo(m) => SubsetContent::Broadcast(BcMessage::Echo(deserialize(&proof(m)?).ok()?)),
        Msg::Ready(m) => SubsetContent::Broadcast(BcMessage::Ready(hash(&m.root)?)),
        Msg::Bval(m) => vote(m.round, BaContent::SbvBroadcast(SbvMessage::BVal(m.value))),
        Msg::Aux(m) => vote(m.round, BaContent::SbvBroadcast(SbvMessage::Aux(m.value))),
        Msg::Conf(m) => vote(m.round, BaContent::Conf(deserialize(&[m.values]).ok()?)),
        Msg::Term(m) => vote(m.round, BaContent::Term(m.value)),
        Msg::Coin(m) => vote(m.round, BaContent::Coin(deserialize(&m.share.0).ok()?)),
        Msg::DecryptionShare(m) => {
            let (proposer_id, share) = (m.at.proposer, deserialize(&m.share.0).ok()?);
            let content = MessageContent::DecryptionShare { proposer_id, share };
            return Some(content.with_epoch(u64::from(m.at.epoch.0)));
        }
    };
    let At { epoch, proposer, .. } = *msg.at();
    let message = SubsetMessage { proposer_id: proposer, content };
    Some(MessageContent::Subset(message).with_epoch(u64::from(epoch.0)))
}

fn vote(round: View, content: BaContent) -> SubsetContent {
    SubsetContent::Agreement(content.with_epoch(u64::from(round.0)))
}

fn proof(m: &Shard) -> Option<Vec<u8>> {
    let branch: Option<Vec<Hash>> = m.digests.iter().map(hash).collect();
    let proof: Proof = (m.shard.0.clone(), u64::from(m.leaf), branch?, hash(&m.root)?);
    serialize(&proof).ok()
}

fn hash(bytes: &Bytes) -> Option<Hash> {
    bytes.0.as_slice().try_into().ok()
}
