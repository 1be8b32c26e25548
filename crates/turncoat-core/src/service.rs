//! What replicas do for clients: a small service, and what they remember of each client.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::client::Request;
use crate::grounds::Grounds;
use crate::hash::Digest;
use crate::ids::{NodeId, Slot};
use crate::node::{Context, Protocol, Vitals};
use crate::sign::Signed;

/// The service: one register. `+k` adds, `*k` multiplies, `get` reads; anything else is written as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct Register(pub u64);

impl Register {
    /// Carries out an operation, and returns its result.
    pub fn operate(&mut self, op: &str) -> u64 {
        self.0 = match (op.get(..1), op.get(1..).and_then(|digits| digits.parse::<u64>().ok())) {
            (Some("+"), Some(k)) => self.0.wrapping_add(k),
            (Some("*"), Some(k)) => self.0.wrapping_mul(k),
            _ if op == "get" => self.0,
            _ => Digest::of(op).0,
        };
        self.0
    }
}

/// What a replica remembers of its clients: for each, the newest pending request and the last reply.
#[derive(Clone, Debug, Hash, Serialize)]
pub struct Clients<R> {
    pending: Vec<Signed<Request>>,
    replies: BTreeMap<NodeId, (u32, R)>,
}

impl<R> Default for Clients<R> {
    fn default() -> Self {
        Self { pending: Vec::new(), replies: BTreeMap::new() }
    }
}

impl<R> Clients<R> {
    /// The pending requests, in order of arrival.
    pub fn pending(&self) -> &[Signed<Request>] {
        &self.pending
    }

    /// The number of the last request of a client that was executed, and the reply.
    pub fn last_reply(&self, client: NodeId) -> Option<&(u32, R)> {
        self.replies.get(&client)
    }

    /// Whether neither the request nor a later one of its client was executed.
    pub fn is_fresh(&self, request: &Request) -> bool {
        self.replies.get(&request.client).is_none_or(|(ts, _)| *ts < request.ts)
    }

    /// Remembers a pending request, if it is fresh and newer than its client's pending one.
    pub fn note(&mut self, request: &Signed<Request>) {
        let known = |pending: &Signed<Request>| pending.client == request.client && pending.ts >= request.ts;
        if self.is_fresh(request) && !self.pending.iter().any(known) {
            self.pending.retain(|pending| pending.client != request.client);
            self.pending.push(*request);
        }
    }

    /// Remembers a request that waits beside others of its client, older ones and newer ones.
    pub fn note_beside(&mut self, request: &Signed<Request>) {
        if !self.pending.iter().any(|pending| pending.id() == request.id()) {
            self.pending.push(*request);
        }
    }

    /// Forgets the pending requests.
    pub fn forget_pending(&mut self) {
        self.pending.clear();
    }

    /// Forgets the replies that are not `kept`.
    pub fn retain_replies(&mut self, kept: impl Fn(&R) -> bool) {
        self.replies.retain(|_, (_, reply)| kept(reply));
    }

    /// A request was executed.
    pub fn executed(&mut self, request: &Request, reply: R) {
        self.replies.insert(request.client, (request.ts, reply));
        self.pending.retain(|pending| pending.client != request.client || pending.ts > request.ts);
    }

    /// A request was executed; others of its client wait on, older ones too.
    pub fn executed_beside(&mut self, request: &Request, reply: R) {
        self.replies.insert(request.client, (request.ts, reply));
        self.pending.retain(|pending| pending.id() != request.id());
    }
}

/// What a replica has executed, from slot 1 on without gaps: the log, its digest, and the service that follows from it.
#[derive(Clone, Debug, Default, Hash, Serialize)]
pub struct History {
    log: Vec<Option<Request>>,
    /// What a buggy protocol has executed far beyond the log: a liar may choose any number.
    far: BTreeMap<Slot, Option<Request>>,
    digest: Digest,
    register: Register,
}

/// The most slots that a gap in the log may have.
const GAP_MAX: usize = 1 << 10;

impl History {
    /// The last slot executed.
    pub fn last(&self) -> Slot {
        self.far.last_key_value().map_or(Slot(self.log.len() as u32), |(&slot, _)| slot)
    }

    /// The part of the vitals that it knows: what was decided and executed last.
    pub fn vitals(&self) -> Vitals {
        let last = self.far.values().last().or(self.log.last()).and_then(Option::as_ref);
        Vitals { decided: self.last(), executed: last.map(Request::digest), ..Vitals::default() }
    }

    /// The state of the service.
    pub const fn register(&self) -> u64 {
        self.register.0
    }

    /// Executes a slot, decides it, and returns the result. In a correct protocol the slot is the next one. What a buggy
    /// protocol executes out of order stands in its place, and a gap reads as no-ops, unless it is too large to write.
    pub fn execute<P: Protocol>(
        &mut self,
        slot: Slot,
        request: Option<Request>,
        grounds: impl Into<Grounds>,
        cx: &mut Context<'_, P>,
    ) -> Option<u64> {
        let place = slot.0 as usize - 1;
        if self.far.is_empty() && place == self.log.len() {
            self.log.push(request);
            self.digest = chained(self.digest, &request);
        } else {
            if place > self.log.len() + GAP_MAX {
                self.far.insert(slot, request);
            } else {
                self.log.resize(self.log.len().max(place + 1), None);
                self.log[place] = request;
            }
            let near = self.log.iter().fold(Digest::NULL, chained);
            self.digest =
                self.far.iter().fold(near, |all, (slot, far)| chained(Digest::of(&(all, slot)), far));
        }
        let id = request.as_ref().map_or(Digest::NULL, Request::digest);
        cx.commit(slot, id, request.as_slice(), grounds);
        request.map(|request| self.register.operate(request.op.as_str()))
    }

    /// The executions after one slot and up to another, if both have been reached.
    pub fn entries(&self, after: Slot, upto: Slot) -> Option<&[Option<Request>]> {
        self.log.get(after.0 as usize..upto.0 as usize)
    }

    /// The digest of the history up to a slot, if it has been reached.
    pub fn digest(&self, upto: Slot) -> Option<Digest> {
        match upto == self.last() {
            true => Some(self.digest),
            false => Some(self.entries(Slot(0), upto)?.iter().fold(Digest::NULL, chained)),
        }
    }

    /// The digest of the history as it would be with these executions too.
    pub fn digest_with(&self, more: &[Option<Request>]) -> Digest {
        more.iter().fold(self.digest, chained)
    }
}

/// The digest of a history and one more execution.
fn chained(history: Digest, entry: &Option<Request>) -> Digest {
    Digest::of(&(history, entry.as_ref().map_or(Digest::NULL, Request::digest)))
}
