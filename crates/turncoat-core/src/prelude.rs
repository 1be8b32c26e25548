//! All that a protocol's author needs, in one line: `use turncoat_core::prelude::*`.

// Messages and states are written out; large parts of messages are shared.
pub use serde::{Deserialize, Serialize};
pub use std::sync::Arc;

pub use crate::assume::{Assumptions, Channels, Overlap};
pub use crate::check::Check;
pub use crate::checkpoint::{Checkpoint, Checkpoints, Excerpt, Fetch};
pub use crate::client::{ClientTimer, NoClient, Op, QuorumClient, Reply, ReplyQuorum, Request, Service};
pub use crate::config::ensure;
pub use crate::early::Early;
pub use crate::flags::{Flag, OnlyFlags};
pub use crate::grounds::{Ballot, Grounds};
pub use crate::hash::Digest;
pub use crate::ids::{NodeId, NodeSet, Slot, Time, View};
pub use crate::message::{Message, RoundKey, Special};
pub use crate::node::{About, ClientWork, Cluster, Context, Node, Protocol, State, Vitals, Waiting};
pub use crate::part::{Liar, Part, Scope, Seen};
pub use crate::runner::Entry;
pub use crate::service::{Clients, History, Register};
pub use crate::sign::{Cert, Signed, Signer};
pub use crate::timers::{Patience, Timer};
pub use crate::tokens::{self, Token};
pub use crate::views::ViewVotes;
pub use crate::votes::{Ballots, Latest, Votes};
pub use crate::window::Window;
pub use crate::{Message, Part, config, flags, open_state};
