//! A client: hands payments in, and is told when they are settled.

use std::hash::{Hash, Hasher};

use turncoat_core::prelude::*;
use turncoat_core::scenario::Target;

use super::messages::{Msg, Settled};
use super::{Cx, Timer, Xrpl};

/// A payment that is not settled.
#[derive(Clone, Debug, Hash, Serialize)]
struct Outstanding {
    request: Signed<Request>,
    settled: NodeSet,
    retries: u32,
}

/// A client.
///
/// It reads its operations as orders: `c2:500` pays 500 to c2's account. `!` in front of it makes it a double spend: it has
/// the number of the payment before, and does not wait for it. `@p3` behind it hands it in there, and a mere `@` nowhere: it is
/// signed, and only liars have it.
#[derive(Clone, Debug, Serialize)]
pub struct Client {
    /// Fixed for the run, so neither shown nor hashed.
    #[serde(skip)]
    work: ClientWork,
    next: usize,
    ts: u32,
    outstanding: Vec<Outstanding>,
}

impl Hash for Client {
    fn hash<H: Hasher>(&self, h: &mut H) {
        (self.next, self.ts, &self.outstanding).hash(h);
    }
}

/// An operation of the workload, taken apart: whether it is a double spend, what it says, and where it is handed in.
fn order(op: &str) -> (bool, &str, Option<&str>) {
    let (twice, rest) = op.strip_prefix('!').map_or((false, op), |rest| (true, rest));
    match rest.split_once('@') {
        Some((payment, place)) => (twice, payment, Some(place)),
        None => (twice, rest, None),
    }
}

impl Client {
    pub(super) fn new(work: &ClientWork) -> Self {
        Self { work: work.clone(), next: 0, ts: 0, outstanding: Vec::new() }
    }

    /// Submits all payments whose time has come.
    fn submit_due(&mut self, cx: &mut Cx<'_>) {
        loop {
            let twice = self.work.ops.get(self.next).is_some_and(|(op, ..)| order(op.as_str()).0);
            let busy = !twice && !self.outstanding.is_empty();
            let Some((op, _)) = self.work.due(&mut self.next, busy, cx) else { return };
            self.submit(op, cx);
        }
    }

    fn submit(&mut self, op: Op, cx: &mut Cx<'_>) {
        let (twice, payment, place) = order(op.as_str());
        // The first payment cannot be a double spend: it is submitted.
        let place = place.filter(|place| self.ts > 0 || !place.is_empty());
        self.ts += u32::from(!twice || self.ts == 0);
        let (client, n) = (cx.me(), cx.cluster().n);
        let request = cx.submit(Request { client, ts: self.ts, op: Op::new(payment), read_only: false });
        let to = match (place, self.work.workload.target) {
            (Some(place), _) => place.parse().map_or(NodeSet::EMPTY, NodeSet::one),
            (None, Target::All) => cx.cluster().replicas(),
            (None, Target::One(node)) => NodeSet::one(node),
            (None, Target::Random) => NodeSet::one(NodeId::replica(cx.rng().index(n))),
            // There is no leader: each client has a replica of its own.
            (None, Target::Leader) => NodeSet::one(NodeId::replica(client.index() % n)),
        };
        cx.multicast(to.and(cx.cluster().replicas()), Msg::Tx(request));
        if place != Some("") {
            cx.set_timer(ClientTimer::Retry(self.ts).into(), self.work.patience(cx.now()));
        }
        self.outstanding.push(Outstanding { request, settled: NodeSet::EMPTY, retries: 0 });
    }

    /// Hands in a late payment again, to all: it got lost, or the answers did.
    fn retry(&mut self, ts: u32, cx: &mut Cx<'_>) {
        let Some(late) = self.outstanding.iter_mut().find(|late| late.request.ts == ts) else { return };
        late.retries += 1;
        if self.work.workload.retries.is_some_and(|most| late.retries > most) {
            return;
        }
        cx.broadcast(Msg::Tx(late.request));
        cx.set_timer(ClientTimer::Retry(ts).into(), self.work.patience(cx.now()));
    }
}

impl Node<Xrpl> for Client {
    fn on_start(&mut self, cx: &mut Cx<'_>) {
        self.submit_due(cx);
    }

    /// A payment is settled when all replicas but those that may be faulty say so.
    fn on_message(&mut self, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) {
        let Msg::Settled(Settled { ts, .. }) = msg else { return };
        let enough = cx.cluster().n - cx.cluster().f;
        for waiting in self.outstanding.iter_mut().filter(|waiting| waiting.request.ts == *ts) {
            waiting.settled.insert(from);
            if waiting.settled.len() >= enough {
                cx.cancel_timer(ClientTimer::Retry(*ts).into());
                cx.complete(&waiting.request, None);
            }
        }
        self.outstanding.retain(|waiting| waiting.settled.len() < enough);
        self.submit_due(cx);
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        match timer {
            Timer::Client(ClientTimer::Retry(ts)) => self.retry(ts, cx),
            _ => self.submit_due(cx),
        }
    }

    fn vitals(&self, cluster: &Cluster) -> Vitals {
        let need = cluster.n - cluster.f;
        let waiting = self.outstanding.iter().map(|waiting| Waiting {
            kind: "settled",
            about: About::Request(waiting.request.ts),
            have: waiting.settled,
            need,
        });
        Vitals { waiting: waiting.collect(), ..Vitals::default() }
    }

    open_state!();
}
