//! A network that carries one message at a time (`network.turn`): what replicas send waits for its turn.

use smallvec::SmallVec;

use super::Sim;
use crate::ids::{NodeId, NodeSet, Seat, Time};
use crate::node::Protocol;

/// Messages that wait, in the order in which they were written, and when the network is free.
#[derive(Default)]
pub(super) struct Turns {
    waiting: Vec<Waiting>,
    free_at: Time,
}

struct Waiting {
    src: Seat,
    me: NodeId,
    to: NodeSet,
    payload: u32,
}

impl Turns {
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.free_at = Time(0);
    }

    /// When the next message has its turn, if one waits.
    pub(super) fn next(&self) -> Option<Time> {
        (!self.waiting.is_empty()).then_some(self.free_at)
    }
}

impl<P: Protocol> Sim<P> {
    /// Whether a message has to wait for its turn; it does so from now on.
    pub(super) fn waits_for_turn(&mut self, src: Seat, me: NodeId, to: NodeSet, payload: u32) -> bool {
        let waits = self.network.turn.is_some() && !me.is_client();
        if waits {
            self.slab.hold(payload);
            self.turns.waiting.push(Waiting { src, me, to, payload });
        }
        waits
    }

    /// One of those who wait sends its first message. If it has several receivers, the others wait until it is through.
    pub(super) fn take_turn(&mut self) {
        let mut senders: SmallVec<[Seat; 8]> = SmallVec::new();
        for waiting in &self.turns.waiting {
            if !senders.contains(&waiting.src) {
                senders.push(waiting.src);
            }
        }
        if senders.is_empty() {
            return;
        }
        let sender = *self.network_rng.pick(&senders);
        let first = self.turns.waiting.iter().position(|waiting| waiting.src == sender);
        let Some(first) = first.map(|place| self.turns.waiting.remove(place)) else { return };
        let Waiting { src, me, to, payload } = first;
        self.send(src, me, to, payload);
        self.slab.release(payload);
        if let Some(turn) = self.network.turn.filter(|_| to.without(NodeSet::one(me)).len() > 1) {
            self.turns.free_at = self.io.time + turn;
        }
    }
}
