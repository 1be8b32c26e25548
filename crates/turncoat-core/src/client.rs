//! Requests, and the stock client that submits them and waits for a quorum of equal replies.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};

use arrayvec::ArrayString;
use serde::{Deserialize, Serialize};

use crate::hash::Digest;
use crate::ids::{NodeId, NodeSet, SeatName, Slot, Time, View};
use crate::node::{About, ClientWork, Cluster, Context, Node, Protocol, Vitals, Waiting};
use crate::part::{Depth, Liar, Mutation, Number, Part, Place, no_field};
use crate::scenario::Target;
use crate::sign::Signed;

/// What a client asks for: a short string that the protocol's application understands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Op(ArrayString<OP_MAX>);

const OP_MAX: usize = 24;

impl Op {
    /// The most bytes that an operation may have.
    pub const MAX: usize = OP_MAX;

    /// An operation; what exceeds [`Op::MAX`] bytes is cut.
    pub fn new(text: &str) -> Self {
        let mut end = text.len().min(Self::MAX);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        Self(ArrayString::from(&text[..end]).expect("cut to size"))
    }

    /// The `i`-th of a run: `r1`, `r2`, ...
    pub fn numbered(i: usize) -> Self {
        use std::fmt::Write;
        let mut text = ArrayString::new();
        write!(text, "r{i}").expect("a number is short");
        Self(text)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A slightly different operation: its last character is the next one (`+1` becomes `+2`).
    #[must_use]
    pub fn nudged(self) -> Self {
        let mut text = self.0.to_string();
        match text.pop() {
            Some(last @ ('0'..='8' | 'a'..='y' | 'A'..='Y')) => text.push((last as u8 + 1) as char),
            Some('9') => text.push('0'),
            _ => text.push('?'),
        }
        Self::new(&text)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A client's request. Protocols carry it as `Signed<Request>`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The client.
    pub client: NodeId,
    /// The client's own number for it: 1, 2, ...
    pub ts: u32,
    /// The operation.
    pub op: Op,
    /// Whether it asks to be answered without being ordered.
    pub read_only: bool,
}

impl Request {
    /// D(m): covers all fields.
    pub fn digest(&self) -> Digest {
        Digest::of(self)
    }

    /// Which one it is: the client and its number.
    pub const fn id(&self) -> (NodeId, u32) {
        (self.client, self.ts)
    }

    /// What people call it: `request 1 of c0`, or `p0's value 1` where a replica proposes values of its own.
    pub fn name(&self) -> String {
        let Self { client, ts, .. } = *self;
        // The upper bits tell the streams of the instances of one identity apart. A liar may write any number.
        let (instance, own) = ((ts >> 24) as u8, ts & 0xff_ffff);
        match instance {
            _ if client.is_client() => format!("request {ts} of {client}"),
            1..=25 => format!("{}'s value {own}", SeatName { node: client, instance: Some(instance) }),
            _ => format!("{client}'s value {ts}"),
        }
    }

    /// The answer to it.
    pub const fn reply(&self, view: View, seq: Slot, result: u64) -> Reply {
        Reply { view, ts: self.ts, client: self.client, result, seq }
    }
}

impl Part for Request {
    fn mutations(depth: Depth, path: &str, table: &mut Vec<Mutation>) {
        u32::mutations(depth, &format!("{path}.ts"), table);
        Op::mutations(depth, &format!("{path}.op"), table);
    }
    fn count(depth: Depth) -> usize {
        u32::count(depth) + Op::count(depth)
    }
    fn mutate(&mut self, depth: Depth, index: usize, earlier: Option<&Self>, liar: &mut Liar<'_>) -> bool {
        match index.checked_sub(u32::count(depth)) {
            None => self.ts.mutate(depth, index, earlier.map(|e| &e.ts), liar),
            Some(index) => self.op.mutate(depth, index, earlier.map(|e| &e.op), liar),
        }
    }
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}:{}", self.client, self.ts, self.op)
    }
    fn fields(&self, path: &str, found: &mut Vec<(String, String)>) {
        self.ts.fields(&format!("{path}.ts"), found);
        self.op.fields(&format!("{path}.op"), found);
    }
    fn edit(&mut self, field: &str, value: &str, keys: NodeSet) -> Result<(), String> {
        match field {
            "ts" => self.ts.edit("", value, keys),
            "op" => self.op.edit("", value, keys),
            _ => no_field(field),
        }
    }
    fn numbers(_: Depth, path: &str, place: &mut Place, found: &mut Vec<Number>) {
        Number::add(&format!("{path}.ts"), place, found);
    }
    fn number(&self, at: &[u8]) -> Option<u64> {
        at.is_empty().then_some(self.ts.into())
    }
    fn signed_requests(signed: &Signed<Self>, found: &mut dyn FnMut(&Signed<Request>)) {
        found(signed);
    }
    fn signed_substitute(
        signed: &mut Signed<Self>,
        old: &Signed<Self>,
        new: &Signed<Self>,
        _: NodeSet,
    ) -> bool {
        let found = signed == old && old != new;
        if found {
            *signed = *new;
        }
        found
    }
    const OWN: bool = true;
    /// Where replicas propose values of their own, a liar has more than one.
    fn own(present: &Signed<Self>, liar: &Liar<'_>) -> Option<Signed<Self>> {
        let client = liar.keys.iter().next().filter(|_| !present.client.is_client())?;
        let op = Op::new(&format!("{}-own", present.op));
        Some(liar.sign(client, Self { client, op, ..**present }))
    }
    fn another(present: &Signed<Self>, liar: &mut Liar<'_>) -> Option<Signed<Self>> {
        liar.another_request(Some(present))
    }
}

/// REPLY(v, t, c, r): a replica's answer, as the stock client reads it; and n, which the client does not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, crate::Part)]
#[part(labels(v, t, c, r, n))]
pub struct Reply {
    /// The view in which the request was executed.
    pub view: View,
    /// The number of the client's request.
    pub ts: u32,
    /// The client that it answers.
    #[part(skip)]
    pub client: NodeId,
    /// The result.
    pub result: u64,
    /// The slot in which the request was executed.
    #[part(skip)]
    pub seq: Slot,
}

/// The timers of the stock client.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub enum ClientTimer {
    /// The time to submit the next request.
    Next,
    /// The request with this number is late.
    Retry(u32),
}

/// A protocol that the stock client can talk to.
pub trait Service: Protocol<Timer: From<ClientTimer>> {
    /// The message that carries a request.
    fn request(request: Signed<Request>) -> Self::Msg;
    /// The reply in a message, if it is one.
    fn reply(msg: &Self::Msg) -> Option<Reply>;
    /// Where a request that is meant for the leader goes first: to the replica that the client believes to lead.
    fn first_to(leader: NodeId, _cluster: &Cluster) -> NodeSet {
        NodeSet::one(leader)
    }
}

/// How many equal replies a client needs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
pub struct ReplyQuorum {
    /// For an ordered request.
    pub ordered: usize,
    /// For a request answered without being ordered.
    pub read: usize,
}

impl ClientWork {
    /// The operation to submit now, where `next` counts those submitted so far. If it is too early, a timer is set; a
    /// client that is `busy` waits, unless the workload says otherwise.
    pub fn due<P>(&self, next: &mut usize, busy: bool, cx: &mut Context<'_, P>) -> Option<(Op, bool)>
    where
        P: Protocol<Timer: From<ClientTimer>>,
    {
        let every = self.workload.every;
        let &(op, start, read_only) = self.ops.get(*next).filter(|_| every.is_some() || !busy)?;
        let earliest = start.max(every.map_or(Time(0), |every| every.times(*next as u64)));
        if earliest > cx.now() {
            cx.set_timer(ClientTimer::Next.into(), Time(earliest.0 - cx.now().0));
            return None;
        }
        *next += 1;
        Some((op, read_only))
    }

    /// How long to wait from `now` on before a request is sent again.
    pub fn patience(&self, now: Time) -> Time {
        self.workload.timeout.max(Time(self.workload.retry_from.0.saturating_sub(now.0)))
    }
}

/// A request that has not completed.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize)]
struct Outstanding {
    request: Signed<Request>,
    /// The latest reply of each replica: view and result.
    replies: BTreeMap<NodeId, (View, u64)>,
    retries: u32,
}

impl Outstanding {
    /// The most replicas that report the same result.
    fn agreeing(&self) -> NodeSet {
        let with = |result| self.replies.iter().filter(move |(_, (_, other))| other == result);
        let groups = self.replies.values().map(|(_, result)| with(result).map(|(&who, _)| who).collect());
        groups.max_by_key(|group: &NodeSet| group.len()).unwrap_or_default()
    }
}

/// The stock client: submits its requests, sends again what is late, completes on a quorum of equal replies.
///
/// A read-only request goes to all replicas and completes on the read quorum; when that fails, the client
/// asks again for an ordered answer, under a new number.
#[derive(Clone, Debug, Serialize)]
pub struct QuorumClient {
    /// Fixed for the run, so neither shown nor hashed.
    #[serde(skip)]
    work: ClientWork,
    quorum: ReplyQuorum,
    next: usize,
    ts: u32,
    /// The highest view that f+1 replicas vouched for: where the leader is believed to be.
    view: View,
    outstanding: Vec<Outstanding>,
}

impl Hash for QuorumClient {
    fn hash<H: Hasher>(&self, h: &mut H) {
        (self.quorum, self.next, self.ts, self.view, &self.outstanding).hash(h);
    }
}

impl QuorumClient {
    /// A client with its share of the workload.
    pub fn new(work: &ClientWork, quorum: ReplyQuorum) -> Self {
        Self { work: work.clone(), quorum, next: 0, ts: 0, view: View(0), outstanding: Vec::new() }
    }

    /// Submits all requests whose time has come.
    fn submit_due<P: Service>(&mut self, cx: &mut Context<'_, P>) {
        while let Some((op, read_only)) = self.work.due(&mut self.next, !self.outstanding.is_empty(), cx) {
            self.submit(op, read_only, cx);
        }
    }

    fn submit<P: Service>(&mut self, op: Op, read_only: bool, cx: &mut Context<'_, P>) {
        self.ts += 1;
        let request = cx.submit(Request { client: cx.me(), ts: self.ts, op, read_only });
        let target = match self.work.workload.target {
            _ if read_only => cx.cluster().replicas(),
            Target::All => cx.cluster().replicas(),
            Target::Leader => P::first_to(cx.leader(self.view.max(P::FIRST_VIEW)), cx.cluster()),
            Target::One(node) => NodeSet::one(node),
            Target::Random => {
                let n = cx.cluster().n;
                NodeSet::one(NodeId::replica(cx.rng().index(n)))
            }
        };
        cx.multicast(target, P::request(request));
        cx.set_timer(ClientTimer::Retry(self.ts).into(), self.work.patience(cx.now()));
        self.outstanding.push(Outstanding { request, replies: BTreeMap::new(), retries: 0 });
    }

    /// Completes what has its quorum, gives up reads that cannot get theirs, and goes on.
    fn advance<P: Service>(&mut self, cx: &mut Context<'_, P>) {
        let n = cx.cluster().n;
        let mut i = 0;
        while let Some(waiting) = self.outstanding.get(i) {
            let read_only = waiting.request.read_only;
            let need = if read_only { self.quorum.read } else { self.quorum.ordered };
            let best = waiting.agreeing().len();
            let hopeless = best + (n - waiting.replies.len()) < need;
            if best < need && !(read_only && hopeless) {
                i += 1;
                continue;
            }
            let done = self.outstanding.remove(i);
            cx.cancel_timer(ClientTimer::Retry(done.request.ts).into());
            if best >= need {
                cx.complete(&done.request, None);
            } else {
                self.submit(done.request.op, false, cx);
            }
        }
        self.submit_due(cx);
    }

    /// Sends a late request again, to all; a read is asked for again in order.
    fn retry<P: Service>(&mut self, i: usize, cx: &mut Context<'_, P>) {
        if self.outstanding[i].request.read_only {
            let late = self.outstanding.remove(i);
            self.submit(late.request.op, false, cx);
            return;
        }
        let waiting = &mut self.outstanding[i];
        waiting.retries += 1;
        if self.work.workload.retries.is_some_and(|most| waiting.retries > most) {
            return;
        }
        let request = waiting.request;
        cx.broadcast(P::request(request));
        cx.set_timer(ClientTimer::Retry(request.ts).into(), self.work.patience(cx.now()));
    }
}

impl<P: Service> Node<P> for QuorumClient {
    fn on_start(&mut self, cx: &mut Context<'_, P>) {
        self.submit_due(cx);
    }

    /// The timers are gone, what is outstanding is not.
    fn on_restart(&mut self, cx: &mut Context<'_, P>) {
        for waiting in &self.outstanding {
            cx.set_timer(ClientTimer::Retry(waiting.request.ts).into(), self.work.patience(cx.now()));
        }
        self.submit_due(cx);
    }

    fn on_message(&mut self, from: NodeId, msg: &P::Msg, cx: &mut Context<'_, P>) {
        let Some(reply) = P::reply(msg) else { return };
        let mine = |waiting: &&mut Outstanding| waiting.request.ts == reply.ts && reply.client == cx.me();
        let Some(waiting) = self.outstanding.iter_mut().find(mine) else { return };
        waiting.replies.insert(from, (reply.view, reply.result));
        // Never trust one replica's word for the view: f+1 must vouch for it.
        let mut views: Vec<View> = waiting.replies.values().map(|&(view, _)| view).collect();
        views.sort_unstable_by_key(|&view| std::cmp::Reverse(view));
        if let Some(&vouched) = views.get(cx.cluster().f) {
            self.view = self.view.max(vouched);
        }
        self.advance(cx);
    }

    fn on_timer(&mut self, timer: P::Timer, cx: &mut Context<'_, P>) {
        let late = |waiting: &Outstanding| timer == ClientTimer::Retry(waiting.request.ts).into();
        match self.outstanding.iter().position(late) {
            Some(i) => self.retry(i, cx),
            None => self.submit_due(cx),
        }
    }

    fn vitals(&self, _: &Cluster) -> Vitals {
        let waiting = self.outstanding.iter().map(|waiting| Waiting {
            kind: "reply",
            about: About::Request(waiting.request.ts),
            have: waiting.agreeing(),
            need: if waiting.request.read_only { self.quorum.read } else { self.quorum.ordered },
        });
        Vitals { view: self.view, waiting: waiting.collect(), ..Vitals::default() }
    }

    crate::open_state!();
}

/// The client of a protocol that has none.
#[derive(Clone, Debug, Hash, Serialize)]
pub struct NoClient;

/// Whether clients of the protocol ask for anything.
pub(crate) fn asks<P: Protocol>() -> bool {
    TypeId::of::<P::Client>() != TypeId::of::<NoClient>()
}

impl<P: Protocol> Node<P> for NoClient {
    fn on_message(&mut self, _: NodeId, _: &P::Msg, _: &mut Context<'_, P>) {}

    crate::open_state!();
}
