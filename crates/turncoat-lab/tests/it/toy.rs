//! A protocol that trusts its leader: p0 gives each request a slot, and everybody believes it.
//!
//! It agrees as long as p0 is honest, and breaks as soon as p0 tells one replica something else. Replicas that take
//! slots in order alone (`in-order`) are safe from other slots. A leader that is not itself (`forgetful`) counts its slots
//! in a static, which outlives the run.

use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};
use turncoat_core::client::{ClientTimer, QuorumClient, Reply, ReplyQuorum, Request, Service};
use turncoat_core::ids::{NodeId, NodeSet, Slot, View};
use turncoat_core::message::RoundKey;
use turncoat_core::node::{ClientWork, Cluster, Context, Node, Protocol};
use turncoat_core::sign::Signed;
use turncoat_core::{Message, runner::Entry};

/// The protocol.
pub(crate) struct Toy;

/// The toy as a registry knows it.
pub(crate) fn toy() -> Entry {
    Entry::of::<Toy>()
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, Message)]
pub(crate) enum Msg {
    Request(Signed<Request>),
    #[message(view = View(0), slot = *slot, phase = 1)]
    Order {
        slot: Slot,
        request: Signed<Request>,
    },
    Reply {
        ts: u32,
        result: u64,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize)]
pub(crate) struct Timer(ClientTimer);

impl From<ClientTimer> for Timer {
    fn from(timer: ClientTimer) -> Self {
        Self(timer)
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Config {
    in_order: bool,
    forgetful: bool,
}

static SLOTS: AtomicU32 = AtomicU32::new(0);

impl Protocol for Toy {
    const NAME: &'static str = "toy";
    const ABOUT: &'static str = "everybody believes p0";
    const MARKS: &'static [&'static str] = &["second-slot"];
    type Msg = Msg;
    type Timer = Timer;
    type Replica = Replica;
    type Client = QuorumClient;
    type Config = Config;

    fn replica(_: NodeId, _: &Cluster, config: &Config) -> Replica {
        Replica { slots: 0, taken: 0, in_order: config.in_order, forgetful: config.forgetful }
    }
    fn client(_: NodeId, cluster: &Cluster, _: &Config, work: &ClientWork) -> QuorumClient {
        QuorumClient::new(work, ReplyQuorum { ordered: cluster.weak(), read: cluster.quorum() })
    }
    fn gap_free(_: &Config) -> bool {
        false
    }
    fn number(key: RoundKey) -> u32 {
        key.slot.0
    }
}

impl Service for Toy {
    fn request(request: Signed<Request>) -> Msg {
        Msg::Request(request)
    }
    fn reply(msg: &Msg) -> Option<Reply> {
        match *msg {
            Msg::Reply { ts, result } => {
                let (client, view, seq) = (NodeId::client(0), View(0), Slot(0));
                Some(Reply { client, ts, view, result, seq })
            }
            _ => None,
        }
    }
}

pub(crate) struct Replica {
    slots: u32,
    taken: u32,
    in_order: bool,
    forgetful: bool,
}

impl Node<Toy> for Replica {
    fn on_message(&mut self, from: NodeId, msg: &Msg, cx: &mut Context<'_, Toy>) {
        match *msg {
            Msg::Request(request) if cx.me() == NodeId::replica(0) => {
                self.slots += 1;
                if self.forgetful {
                    self.slots = SLOTS.fetch_add(1, Ordering::Relaxed);
                }
                cx.broadcast(Msg::Order { slot: Slot(self.slots), request });
            }
            Msg::Order { slot, .. } if self.in_order && slot != Slot(self.taken + 1) => {}
            Msg::Order { slot, request } if from == NodeId::replica(0) => {
                self.taken += 1;
                if slot == Slot(2) {
                    cx.mark("second-slot");
                }
                let id = request.digest();
                cx.commit(slot, id, &[*request], NodeSet::one(from));
                cx.send(request.client, Msg::Reply { ts: request.ts, result: id.0 });
            }
            _ => {}
        }
    }
}
