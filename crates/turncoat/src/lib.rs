//! turncoat finds Byzantine bugs in consensus protocols by deterministic simulation.
//!
//! This crate is the author's door: what one needs to write a protocol and to test it, under one name. The
//! example `bracha` is a whole protocol with its fuzzer, in a hundred lines; start there.
//!
//! | you write | with |
//! |---|---|
//! | messages | [`Message`], [`Part`], [`Signed`], [`Cert`] |
//! | replicas | [`Protocol`], [`Node`], [`Context`], [`Votes`], [`Ballots`]; with leaders [`ViewVotes`], [`Patience`] |
//! | a replicated service | [`Clients`], [`History`], [`Checkpoints`], [`Window`] |
//! | clients | [`QuorumClient`], [`Service`], or [`NoClient`] |
//! | tests | [`macro@test`], [`check()`], [`Scenario`], [`Story`], [`execute`] |
//! | the command with your protocol in it | `registry!`, with the feature `cli` |
#![forbid(unsafe_code)]

// `#[turncoat::test]` names this crate by its own name, also from within.
extern crate self as turncoat;

pub mod check;
mod kept;

pub use turncoat_core as core;
pub use turncoat_lab as lab;
pub use turncoat_strategies as strategies;

#[doc(inline)]
pub use prelude::*;
pub use turncoat_derive::test;

#[cfg(feature = "cli")]
pub use turncoat_cli::registry;

/// All that authors need, in one line: `use turncoat::prelude::*`.
///
/// `use turncoat::*` would bring a second attribute `test` into scope, and then `#[test]` is ambiguous.
pub mod prelude {
    pub use crate::check::{Fuzzer, check};
    pub use turncoat_core::message::MutationTable;
    pub use turncoat_core::outcome::{End, Outcome, Property, Violation};
    pub use turncoat_core::prelude::*;
    pub use turncoat_core::runner::{Runner, execute};
    pub use turncoat_core::scenario::{Scenario, Seed};
    pub use turncoat_core::sim::Sim;
    pub use turncoat_core::story::Story;
}
