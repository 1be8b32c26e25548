//! What replicas do for clients: a small service, and what they remember of each client.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::client::Request;
use crate::hash::Digest;
use crate::ids::NodeId;
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

/// What a replica remembers of its clients: of each the newest request that waits, and the last reply.
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
    /// The requests that wait, in the order in which they came.
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

    /// Remembers a request that waits, if it is fresh and newer than what waits of its client.
    pub fn note(&mut self, request: &Signed<Request>) {
        let known = |pending: &Signed<Request>| pending.client == request.client && pending.ts >= request.ts;
        if self.is_fresh(request) && !self.pending.iter().any(known) {
            self.pending.retain(|pending| pending.client != request.client);
            self.pending.push(*request);
        }
    }

    /// A request was executed.
    pub fn executed(&mut self, request: &Request, reply: R) {
        self.replies.insert(request.client, (request.ts, reply));
        self.pending.retain(|pending| pending.client != request.client || pending.ts > request.ts);
    }
}
