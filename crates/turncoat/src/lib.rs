//! turncoat finds Byzantine bugs in consensus protocols by deterministic simulation.
//!
//! This crate is the author's door: what one needs to write a protocol and to test it, under one name. The
//! example `bracha` is a whole protocol with its fuzzer, in a hundred lines; start there.
//!
//! | you write | with |
//! |---|---|
//! | messages | [`Message`], [`Part`], [`Signed`], [`Cert`] |
//! | replicas | [`Protocol`], [`Node`], [`Context`], [`Votes`], [`Ballots`] |
//! | clients | [`QuorumClient`], [`Service`], or none |
//! | tests | [`Scenario`], [`Story`], [`execute`], [`lab`], [`strategies`] |
#![forbid(unsafe_code)]

pub use turncoat_core as core;
pub use turncoat_lab as lab;
pub use turncoat_strategies as strategies;

pub use turncoat_core::check::Check;
pub use turncoat_core::client::{ClientTimer, Op, QuorumClient, Reply, ReplyQuorum, Request, Service};
pub use turncoat_core::hash::Digest;
pub use turncoat_core::ids::{NodeId, NodeSet, Slot, Time, View};
pub use turncoat_core::message::{Message, MutationTable, RoundKey, Special};
pub use turncoat_core::node::{ClientWork, Cluster, Context, Flag, Node, Protocol, State, Vitals, Waiting};
pub use turncoat_core::outcome::{End, Outcome, Property, Violation};
pub use turncoat_core::part::{Part, Scope};
pub use turncoat_core::runner::{Entry, Runner, execute};
pub use turncoat_core::scenario::{Scenario, Seed};
pub use turncoat_core::sign::{Cert, Signed, Signer};
pub use turncoat_core::sim::Sim;
pub use turncoat_core::story::Story;
pub use turncoat_core::votes::{Ballots, Votes};
pub use turncoat_core::{Message, Part};
