//! The client, which takes part in the protocol: it counts answers, and makes certificates of them.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use turncoat_core::prelude::*;
use turncoat_core::scenario::Target;

use super::messages::{Claim, LocalCommit, Msg, Order, Pom, SpecResponse};
use super::{Cx, DOUBLINGS, Timer, Zyzzyva};
use crate::slips::slip;

/// What is said of a request. Each answer is a fact: a replica gives several, of different views.
#[derive(Clone, Debug, Hash, Serialize)]
struct Group {
    result: u64,
    claims: Ballots<Claim>,
    claim: Claim,
    /// Whether it was shown to all.
    shown: bool,
}

/// A request that has not completed.
#[derive(Clone, Debug, Hash, Serialize)]
struct Outstanding {
    request: Signed<Request>,
    responses: Vec<Group>,
    commits: Vec<Ballots<LocalCommit>>,
    /// The orders of the request that were seen.
    orders: Vec<Order>,
    retries: u32,
}

impl Outstanding {
    /// The latest answer that enough replicas give; else the one that most do.
    fn best(&mut self, quorum: usize) -> Option<&mut Group> {
        let rank = |group: &Group| (group.claims.count(&group.claim).min(quorum), group.claim.view);
        self.responses.iter_mut().max_by_key(|group| rank(group))
    }

    fn answers(&self) -> NodeSet {
        let voters = self.responses.iter().map(|group| group.claims.seen());
        voters.max_by_key(|voters| voters.len()).unwrap_or_default()
    }

    fn local_commits(&self) -> NodeSet {
        let voters = self.commits.iter().map(|ballots| ballots.seen());
        voters.max_by_key(|voters| voters.len()).unwrap_or_default()
    }
}

/// A client of Zyzzyva.
#[derive(Clone, Debug, Serialize)]
pub struct Client {
    /// Fixed for the run, so neither shown nor hashed.
    #[serde(skip)]
    work: ClientWork,
    next: usize,
    ts: u32,
    /// The latest view of each replica.
    views: BTreeMap<NodeId, View>,
    outstanding: Vec<Outstanding>,
    /// The last view whose primary it has accused.
    accused: View,
}

impl Hash for Client {
    fn hash<H: Hasher>(&self, h: &mut H) {
        (self.next, self.ts, &self.views, &self.outstanding, self.accused).hash(h);
    }
}

impl Client {
    pub(super) fn new(work: &ClientWork) -> Self {
        let (views, outstanding) = (BTreeMap::new(), Vec::new());
        Self { work: work.clone(), next: 0, ts: 0, views, outstanding, accused: View(0) }
    }

    /// The highest view that f+1 replicas are in, or have passed.
    fn view(&self, cluster: &Cluster) -> View {
        let mut views: Vec<View> = self.views.values().copied().collect();
        views.sort_unstable_by_key(|&view| std::cmp::Reverse(view));
        views.get(cluster.f).copied().unwrap_or(View(1))
    }

    /// T1, which doubles with each time that the request is sent again.
    fn t1(&self, waiting: &Outstanding, now: Time) -> Time {
        Time(self.work.patience(now).0.saturating_mul(1 << waiting.retries.min(DOUBLINGS)))
    }

    /// Submits all requests whose time has come.
    fn submit_due(&mut self, cx: &mut Cx<'_>) {
        while let Some((op, _)) = self.work.due(&mut self.next, !self.outstanding.is_empty(), cx) {
            self.ts += 1;
            let request = cx.submit(Request { client: cx.me(), ts: self.ts, op, read_only: false });
            let to = match self.work.workload.target {
                Target::Leader => NodeSet::one(cx.leader(self.view(cx.cluster()))),
                Target::All => cx.cluster().replicas(),
                Target::One(node) => NodeSet::one(node),
                Target::Random => {
                    let n = cx.cluster().n;
                    NodeSet::one(NodeId::replica(cx.rng().index(n)))
                }
            };
            cx.multicast(to, Msg::Request(request));
            let (responses, commits, orders) = (Vec::new(), Vec::new(), Vec::new());
            let waiting = Outstanding { request, responses, commits, orders, retries: 0 };
            cx.set_timer(ClientTimer::Retry(self.ts).into(), self.t1(&waiting, cx.now()));
            self.outstanding.push(waiting);
        }
    }

    fn on_response(&mut self, from: NodeId, m: &SpecResponse, cx: &mut Cx<'_>) {
        let view = self.views.entry(from).or_insert(m.claim.view);
        *view = m.claim.view.max(*view);
        let Some(i) = self.outstanding.iter().position(|waiting| waiting.request.ts == m.ts) else { return };
        let waiting = &mut self.outstanding[i];
        let same = |group: &&mut Group| (group.claim, group.result) == (*m.claim, m.result);
        match waiting.responses.iter_mut().find(same) {
            Some(group) => _ = group.claims.add(&m.claim),
            None => {
                let claims = Ballots::from_iter([&m.claim]);
                waiting.responses.push(Group { result: m.result, claims, claim: *m.claim, shown: false });
            }
        }
        if let Some(order) = &m.order {
            self.compare(i, order, cx);
        }
        self.advance(i, cx);
    }

    /// 4.1d: two orders of one view contradict each other. A proof of misbehaviour goes to all.
    fn compare(&mut self, i: usize, order: &Order, cx: &mut Cx<'_>) {
        let orders = &mut self.outstanding[i].orders;
        if orders.contains(order) || !order.is_by(cx.leader(order.view)) {
            return;
        }
        if let Some(other) = orders.iter().find(|other| other.contradicts(order))
            && self.accused < order.view
        {
            self.accused = order.view;
            let pom = Pom { order: order.clone(), other: Some(other.clone()), cert: None };
            cx.broadcast(Msg::Pom(Arc::new(pom)));
        }
        orders.push(order.clone());
    }

    /// Every rule about a request whose guard now holds.
    fn advance(&mut self, i: usize, cx: &mut Cx<'_>) {
        let (n, quorum) = (cx.cluster().n, cx.cluster().quorum());
        let waiting = &mut self.outstanding[i];
        let complete = |group: &&Group| group.claims.count(&group.claim) >= n;
        // 4.1a: 3f+1 equal responses.
        let fast = waiting.responses.iter().find(complete).map(|group| group.claim);
        // 4.1b: 2f+1 equal LOCAL-COMMITs.
        let enough = if slip!("zyzzyva/few-local-commits") { cx.cluster().weak() } else { quorum };
        let slow =
            waiting.commits.iter().find_map(|ballots| ballots.winner(enough)).map(|(commit, _)| *commit);
        // Who has sent a request again sends COMMIT as soon as it can, so that nobody waits for it any longer.
        if waiting.retries > 0 && slow.is_none() {
            self.commit(i, false, cx);
        }
        let fast = fast.map(|claim| (claim.seq, claim.history));
        if let Some(receipt) = fast.or(slow.map(|commit| (commit.seq, commit.history))) {
            let done = self.outstanding.remove(i);
            cx.cancel_timer(ClientTimer::Retry(done.request.ts).into());
            cx.cancel_timer(Timer::LocalCommit(done.request.ts));
            cx.complete(&done.request, Some(receipt));
            self.submit_due(cx);
        }
    }

    /// Shows a certificate to all, if there is one; again only if `again`. Says whether there is one.
    fn commit(&mut self, i: usize, again: bool, cx: &mut Cx<'_>) -> bool {
        let quorum = cx.cluster().quorum();
        let best = self.outstanding[i].best(quorum);
        let Some(best) = best.filter(|group| group.claims.count(&group.claim) >= quorum) else {
            return false;
        };
        if again || !best.shown {
            best.shown = true;
            cx.mark("commit");
            cx.broadcast(Msg::Commit(best.claims.cert(&best.claim, cx.cluster().replicas())));
        }
        true
    }

    fn on_local_commit(&mut self, m: &Signed<LocalCommit>, cx: &mut Cx<'_>) {
        let mine = |waiting: &Outstanding| waiting.request.digest() == m.digest;
        let Some(i) = self.outstanding.iter().position(mine) else { return };
        super::count(&mut self.outstanding[i].commits, m);
        self.advance(i, cx);
    }

    /// 4.1c: the request goes to all.
    fn retry(&mut self, i: usize, cx: &mut Cx<'_>) {
        let waiting = &mut self.outstanding[i];
        waiting.retries += 1;
        if self.work.workload.retries.is_some_and(|most| waiting.retries > most) {
            return;
        }
        let request = waiting.request;
        cx.broadcast(Msg::Request(request));
        cx.set_timer(ClientTimer::Retry(request.ts).into(), self.t1(&self.outstanding[i], cx.now()));
    }
}

impl Node<Zyzzyva> for Client {
    fn on_start(&mut self, cx: &mut Cx<'_>) {
        self.submit_due(cx);
    }

    /// The timers are gone, what is outstanding is not.
    fn on_restart(&mut self, cx: &mut Cx<'_>) {
        for waiting in &self.outstanding {
            cx.set_timer(ClientTimer::Retry(waiting.request.ts).into(), self.t1(waiting, cx.now()));
        }
        self.submit_due(cx);
    }

    fn on_message(&mut self, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) {
        match msg {
            Msg::SpecResponse(m) if m.claim.is_by(from) && m.client == Some(cx.me()) => {
                self.on_response(from, m, cx);
            }
            Msg::LocalCommit(m) if m.is_by(from) => self.on_local_commit(m, cx),
            _ => {}
        }
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        let place = |ts| self.outstanding.iter().position(|waiting| waiting.request.ts == ts);
        match timer {
            // 4.1b: T1 expires with 2f+1 equal responses, or else 4.1c.
            Timer::Client(ClientTimer::Retry(ts)) => {
                let Some(i) = place(ts) else { return };
                if self.commit(i, true, cx) {
                    cx.set_timer(Timer::LocalCommit(ts), self.work.workload.timeout);
                } else {
                    self.retry(i, cx);
                }
            }
            // T2 expires: COMMIT again, and 4.1c.
            Timer::LocalCommit(ts) => {
                let Some(i) = place(ts) else { return };
                self.commit(i, true, cx);
                self.retry(i, cx);
            }
            Timer::Client(ClientTimer::Next) => self.submit_due(cx),
            _ => {}
        }
    }

    fn vitals(&self, cluster: &Cluster) -> Vitals {
        let waiting = self.outstanding.iter().map(|waiting| {
            let (about, answers) = (About::Request(waiting.request.ts), waiting.answers());
            if answers.len() >= cluster.quorum() {
                Waiting { kind: "local-commit", about, have: waiting.local_commits(), need: cluster.quorum() }
            } else {
                Waiting { kind: "spec-response", about, have: answers, need: cluster.quorum() }
            }
        });
        Vitals { view: self.view(cluster), waiting: waiting.collect(), ..Vitals::default() }
    }

    open_state!();
}
