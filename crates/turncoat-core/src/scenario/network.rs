//! How messages travel, get lost, and when the network calms down.

use serde::{Deserialize, Serialize};

use crate::ids::Time;

/// How messages travel.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Network {
    /// Ticks on the way: a number, or `[least, most]`.
    pub latency: Latency,
    /// What becomes of messages that the network does not deliver: of partitions, drops, deaf receivers, stopped nodes.
    pub loss: Loss,
    /// Whether messages on one link arrive in the order in which they were sent (scheduler `timed`).
    pub fifo: bool,
    /// Ticks for which a message of a replica to several nodes has the network to itself: the others wait for their turn,
    /// which is drawn among their senders. By default messages do not wait for each other.
    pub turn: Option<Time>,
    /// When the calm phase starts at the latest; by default after half of the limit on steps. It starts earlier when
    /// all correct replicas have left the last round that a fault names.
    pub gst: Option<Gst>,
    /// The most ticks on the way once the calm phase has started. Where a network is calm from the start (`gst = { time = 0 }`)
    /// and the protocol assumes a bound, that one by default.
    pub bound: Option<Time>,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            latency: Latency::Range([Time(5), Time(15)]),
            loss: Loss::Drop,
            fifo: false,
            turn: None,
            gst: None,
            bound: None,
        }
    }
}

/// Ticks that a message is on the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number of ticks, or [least, most]")]
pub enum Latency {
    /// Always the same.
    Constant(Time),
    /// Drawn from `[least, most]`.
    Range([Time; 2]),
}

/// What becomes of messages that the network does not deliver. A liar's own omissions are always lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// They are lost.
    #[default]
    Drop,
    /// They arrive later: when the sender leaves the fault's rounds, at the latest in the calm phase; in a calm network with a
    /// bound as late as that allows; at a stopped node when it starts again.
    Hold,
}

/// When the calm phase starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gst {
    /// At this time.
    Time(Time),
    /// After so many deliveries.
    Deliveries(u64),
}
