//! What clients ask for, and what must come of it.

use serde::{Deserialize, Serialize};

use crate::ids::{NodeId, Time};

/// What clients ask for, and how.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Workload {
    /// Requests in all, dealt out to the clients in turn.
    pub requests: u32,
    /// What they ask for, in order; `r1`, `r2`, ... where the list ends.
    pub ops: Vec<String>,
    /// When each may be submitted at the earliest; at once where the list ends.
    pub start: Vec<Time>,
    /// Ticks between the requests of one client, finished or not. Without it a client has one request outstanding at a
    /// time, which protocols such as PBFT count on: they may forget an earlier request for a later one.
    pub every: Option<Time>,
    /// To whom a request goes first.
    pub target: Target,
    /// Ticks until a request is sent again, to all.
    pub timeout: Time,
    /// The earliest time at which any request is sent again.
    pub retry_from: Time,
    /// How often at the most it is sent again.
    pub retries: Option<u32>,
    /// Requests to be answered without being ordered, by number from 1.
    pub read_only: Vec<u32>,
    /// What must happen for the run to be complete.
    pub goal: Goal,
}

impl Workload {
    /// The most requests of a run: each replica keeps all of them in memory.
    pub const MOST: u32 = 10_000;
}

impl Default for Workload {
    fn default() -> Self {
        Self {
            requests: 2,
            ops: Vec::new(),
            start: Vec::new(),
            every: None,
            target: Target::Leader,
            timeout: Time(1000),
            retry_from: Time(0),
            retries: None,
            read_only: Vec::new(),
            goal: Goal::Replies,
        }
    }
}

/// To whom a client sends a request first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// The leader, as far as the client knows.
    #[default]
    Leader,
    /// All replicas.
    All,
    /// A random replica.
    Random,
    /// One replica.
    #[serde(untagged)]
    One(NodeId),
}

/// What must happen for a run to be complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// Every correct client has its results.
    #[default]
    Replies,
    /// Every correct replica has committed every request.
    Committed,
    /// Every correct replica has decided this slot.
    Height(u32),
    /// Every correct replica has decided so many slots beyond all that were decided when the network calmed down.
    Again(u32),
    /// Nothing: the run goes on to its limits, and termination is not judged.
    None,
}
