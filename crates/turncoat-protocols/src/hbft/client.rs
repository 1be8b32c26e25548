//! The client, which takes part in the protocol: it counts speculative replies, and panics.

use std::hash::{Hash, Hasher};

use turncoat_core::prelude::*;
use turncoat_core::scenario::Target;

use super::messages::{Msg, Panic, Reply};
use super::{Config, Cx, Timer};

/// Equal replies, and who sent them. Each is a fact: a replica may have sent several.
#[derive(Clone, Debug, Hash, Serialize)]
struct Tally<T>(Vec<(T, NodeSet)>);

impl<T: PartialEq> Tally<T> {
    fn add(&mut self, voter: NodeId, value: T) {
        match self.0.iter_mut().find(|(known, _)| *known == value) {
            Some((_, voters)) => _ = voters.insert(voter),
            None => self.0.push((value, NodeSet::one(voter))),
        }
    }

    fn best(&self) -> Option<&(T, NodeSet)> {
        self.0.iter().max_by_key(|(_, voters)| voters.len())
    }

    fn most(&self) -> NodeSet {
        self.best().map_or(NodeSet::EMPTY, |&(_, voters)| voters)
    }
}

/// A request that has not completed.
#[derive(Clone, Debug, Hash, Serialize)]
struct Outstanding {
    request: Signed<Request>,
    replies: Tally<(View, Slot, u64)>,
    finals: Tally<(Slot, u64)>,
    retries: u32,
}

/// A client of hBFT.
#[derive(Clone, Debug, Serialize)]
pub struct Client {
    /// Fixed for the run, so neither shown nor hashed.
    #[serde(skip)]
    work: ClientWork,
    config: Config,
    next: usize,
    ts: u32,
    outstanding: Vec<Outstanding>,
}

impl Hash for Client {
    fn hash<H: Hasher>(&self, h: &mut H) {
        (self.next, self.ts, &self.outstanding).hash(h);
    }
}

impl Client {
    pub(super) fn new(work: &ClientWork, config: Config) -> Self {
        Self { work: work.clone(), config, next: 0, ts: 0, outstanding: Vec::new() }
    }

    /// Submits all requests whose time has come: to all replicas, unless the workload names one.
    fn submit_due(&mut self, cx: &mut Cx<'_>) {
        while let Some((op, _)) = self.work.due(&mut self.next, !self.outstanding.is_empty(), cx) {
            self.ts += 1;
            let request = cx.submit(Request { client: cx.me(), ts: self.ts, op, read_only: false });
            let to = match self.work.workload.target {
                Target::Leader | Target::All => cx.cluster().replicas(),
                Target::One(node) => NodeSet::one(node),
                Target::Random => {
                    let n = cx.cluster().n;
                    NodeSet::one(NodeId::replica(cx.rng().index(n)))
                }
            };
            cx.multicast(to, Msg::Request(request));
            cx.set_timer(ClientTimer::Retry(self.ts).into(), self.work.patience(cx.now()));
            let (replies, finals) = (Tally(Vec::new()), Tally(Vec::new()));
            self.outstanding.push(Outstanding { request, replies, finals, retries: 0 });
        }
    }

    fn on_reply(&mut self, from: NodeId, m: &Reply, cx: &mut Cx<'_>) {
        let Some(i) = self.outstanding.iter().position(|waiting| waiting.request.ts == m.ts) else { return };
        let waiting = &mut self.outstanding[i];
        let view = if self.config.flags.replies_any_view { View(0) } else { m.view };
        waiting.replies.add(from, (view, m.seq, m.result));
        if m.is_final {
            waiting.finals.add(from, (m.seq, m.result));
        }
        // R10: done with `fast` REPLYs equal in (v,n,r), or with f+1 final ones equal in (n,r).
        let (fast, weak) = (self.config.fast(cx.cluster()), cx.cluster().weak());
        let fast = waiting.replies.best().filter(|(_, voters)| voters.len() >= fast);
        let slow = waiting.finals.best().filter(|(_, voters)| voters.len() >= weak);
        let Some(seq) = fast.map(|((_, seq, _), _)| *seq).or(slow.map(|((seq, _), _)| *seq)) else { return };
        let done = self.outstanding.remove(i);
        cx.cancel_timer(ClientTimer::Retry(m.ts).into());
        cx.complete(&done.request, Some((seq, done.request.digest())));
        self.submit_due(cx);
    }

    /// R10: too few equal replies, and the request is sent again; f+1 or more, and the client panics.
    fn retry(&mut self, i: usize, cx: &mut Cx<'_>) {
        let waiting = &mut self.outstanding[i];
        waiting.retries += 1;
        if self.work.workload.retries.is_some_and(|most| waiting.retries > most) {
            return;
        }
        let request = waiting.request;
        if waiting.replies.most().len() < cx.cluster().weak() {
            cx.broadcast(Msg::Request(request));
        } else {
            cx.mark("panic");
            let panic = self.config.panic(&request);
            cx.broadcast(Msg::Panic(cx.sign(panic)));
        }
        cx.set_timer(ClientTimer::Retry(request.ts).into(), self.work.patience(cx.now()));
    }
}

impl Config {
    /// What says that somebody waits for a request.
    pub(super) fn panic(&self, request: &Signed<Request>) -> Panic {
        let request_too = (!self.flags.panic_without_request).then_some(*request);
        Panic { digest: request.digest(), request: request_too }
    }
}

impl Node<super::Hbft> for Client {
    fn adopt(&mut self, config: &Config, _: &Cluster) -> bool {
        self.config = *config;
        true
    }

    fn on_start(&mut self, cx: &mut Cx<'_>) {
        self.submit_due(cx);
    }

    /// The timers are gone, what is outstanding is not.
    fn on_restart(&mut self, cx: &mut Cx<'_>) {
        for waiting in &self.outstanding {
            cx.set_timer(ClientTimer::Retry(waiting.request.ts).into(), self.work.patience(cx.now()));
        }
        self.submit_due(cx);
    }

    fn on_message(&mut self, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) {
        if let Msg::Reply(m) = msg
            && m.is_by(from)
            && m.client == cx.me()
        {
            self.on_reply(from, m, cx);
        }
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        let late = |waiting: &Outstanding| timer == ClientTimer::Retry(waiting.request.ts).into();
        match self.outstanding.iter().position(late) {
            Some(i) => self.retry(i, cx),
            None => self.submit_due(cx),
        }
    }

    fn vitals(&self, cluster: &Cluster) -> Vitals {
        let waiting = self.outstanding.iter().map(|waiting| Waiting {
            kind: "reply",
            about: About::Request(waiting.request.ts),
            have: waiting.replies.most(),
            need: self.config.fast(cluster),
        });
        Vitals { waiting: waiting.collect(), ..Vitals::default() }
    }

    open_state!();
}
