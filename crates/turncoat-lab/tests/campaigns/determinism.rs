//! A protocol that does not repeat itself is found out.

use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};
use turncoat_core::Message;
use turncoat_core::client::{ClientTimer, QuorumClient, Reply, ReplyQuorum, Request, Service};
use turncoat_core::ids::{NodeId, Slot, Time, View};
use turncoat_core::node::{ClientWork, Cluster, Context, Node, Protocol};
use turncoat_core::runner::Entry;
use turncoat_core::scenario::Scenario;
use turncoat_core::sign::Signed;
use turncoat_lab::campaign::{Campaign, CampaignError};

use crate::bench::{Bench, rare_liar};

/// What outlives a run, and should not.
static REQUESTS_SEEN: AtomicU32 = AtomicU32::new(0);

/// Every replica decides by itself, late if it has seen many requests.
struct Forgetful;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, Message)]
enum Msg {
    Request(Signed<Request>),
    #[message(view = View(0), slot = Slot(1), phase = 1)]
    Seen {
        before: u32,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Timer;

impl From<ClientTimer> for Timer {
    fn from(_: ClientTimer) -> Self {
        Self
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Config {}

struct Replica;

impl Node<Forgetful> for Replica {
    fn on_message(&mut self, _: NodeId, msg: &Msg, cx: &mut Context<'_, Forgetful>) {
        if let Msg::Request(_) = msg {
            let before = REQUESTS_SEEN.fetch_add(1, Ordering::Relaxed);
            cx.broadcast(Msg::Seen { before });
            if before % 2 == 0 {
                cx.set_timer(Timer, Time(7));
            }
        }
    }
}

impl Protocol for Forgetful {
    const NAME: &'static str = "forgetful";
    const ABOUT: &'static str = "keeps a number in a static";
    type Msg = Msg;
    type Timer = Timer;
    type Replica = Replica;
    type Client = QuorumClient;
    type Config = Config;

    fn replica(_: NodeId, _: &Cluster, _: &Config) -> Replica {
        Replica
    }
    fn client(_: NodeId, cluster: &Cluster, _: &Config, work: &ClientWork) -> QuorumClient {
        QuorumClient::new(work, ReplyQuorum { ordered: cluster.weak(), read: cluster.quorum() })
    }
}

impl Service for Forgetful {
    fn request(request: Signed<Request>) -> Msg {
        Msg::Request(request)
    }
    fn reply(_: &Msg) -> Option<Reply> {
        None
    }
}

#[test]
fn a_protocol_with_a_static_is_told_where_it_differs() {
    let bench = Bench::new();
    let entry = Entry::of::<Forgetful>();
    let base = Scenario::new("forgetful");
    let campaign = Campaign { entry: &entry, base: &base, ..bench.campaign(&rare_liar) };
    let error = campaign.run(&mut |_| {}).unwrap_err();
    assert!(matches!(error, CampaignError::Differs { index: 0, .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("differs from step") && text.contains("seen before="), "{text}");
}
