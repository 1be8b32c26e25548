//! Which event is next: the schedulers and their weights.

use serde::{Deserialize, Serialize};

use crate::part::Scope;
use crate::schedule::Action;

/// Which event is next.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SchedulerSpec {
    /// Which scheduler.
    pub name: SchedulerName,
    /// Weight of each armed timer (`sync`, `async`).
    pub timeout: u32,
    /// Weight of each deliverable message.
    pub deliver: u32,
    /// Weight of each message that a client has sent.
    pub request: u32,
    /// Weight of losing a deliverable message.
    pub drop: u32,
    /// Weight of changing a deliverable message of a Byzantine sender.
    pub mutate: u32,
    /// How far such a change may go.
    pub scope: Scope,
    /// The changes to draw from, by name or field; by default all of that scope.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// When timers may fire. By default `free` under `async`, and `idle` under `sync`, as in ByzzBench, and `fifo`.
    pub timers: Option<TimerRule>,
    /// What happens, step by step (`script`).
    pub script: Vec<Action>,
}

impl Default for SchedulerSpec {
    fn default() -> Self {
        Self {
            name: SchedulerName::Timed,
            timeout: 1,
            deliver: 99,
            request: 99,
            drop: 0,
            mutate: 0,
            scope: Scope::Any,
            only: Vec::new(),
            timers: None,
            script: Vec::new(),
        }
    }
}

/// The schedulers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SchedulerName {
    /// Messages arrive in the order they were sent; timers fire when none is in flight.
    Fifo,
    /// By virtual time: messages arrive after their latency, timers fire when due.
    #[default]
    Timed,
    /// A random node receives its oldest message.
    Sync,
    /// A random message is delivered next.
    Async,
    /// The events of the scenario's script, then as `timed`.
    Script,
}

impl SchedulerName {
    /// All that can run without a script.
    pub const ALL: [Self; 4] = [Self::Fifo, Self::Timed, Self::Sync, Self::Async];

    /// What it does, in one line.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Fifo => "messages arrive in the order they were sent; timers fire when none is in flight",
            Self::Timed => "by virtual time: messages arrive after their latency, timers fire when due",
            Self::Sync => "a random node receives its oldest message",
            Self::Async => "a random message is delivered next; timers may fire early",
            Self::Script => "the events of the scenario's script, then as `timed`",
        }
    }
}

/// When the random schedulers may fire a timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimerRule {
    /// At any time, due or not: asynchrony.
    #[default]
    Free,
    /// Only when no message can be delivered.
    Idle,
}
