//! The kernel of turncoat: a small, deterministic simulator of protocols among liars.
//!
//! A [`Scenario`](scenario::Scenario) goes in, an [`Outcome`](outcome::Outcome) comes out; the same bytes on
//! any thread, machine, day. A [`Strategy`](strategy::Strategy) says which scenario runs next. In the loop of [`sim`], a
//! [`Scheduler`](schedule::Scheduler) picks the next event, and the faults of the scenario say what happens to each message.
//!
//! Protocol authors start with [`node`]; those who write faults with [`fault`].
#![forbid(unsafe_code)]

// The derives name this crate by its own name, also from within.
extern crate self as turncoat_core;

mod adversary;
pub mod assume;
pub mod check;
pub mod checkpoint;
pub mod client;
pub mod config;
pub mod early;
pub mod fault;
pub mod flags;
pub mod grounds;
pub mod hash;
pub mod ids;
mod io;
pub mod logs;
pub mod message;
pub mod net;
pub mod node;
pub mod online;
pub mod outcome;
pub mod part;
mod persona;
pub mod plan;
pub mod prelude;
pub mod probe;
mod queue;
pub mod record;
pub mod rng;
pub mod runner;
pub mod scenario;
pub mod schedule;
pub mod seats;
pub mod service;
pub mod session;
pub mod sign;
pub mod sim;
pub mod story;
pub mod strategy;
pub mod timers;
pub mod tokens;
pub mod views;
pub mod votes;
mod wheel;
pub mod window;

#[doc(hidden)]
pub use serde;
pub use turncoat_derive::{Message, Part};

/// [`Node::fork`](node::Node::fork) and [`Node::state`](node::Node::state) of a node that is
/// `Clone + Hash + Debug + Serialize`.
#[macro_export]
macro_rules! open_state {
    () => {
        fn fork(&self) -> Option<Self> {
            Some(self.clone())
        }
        fn state(&self) -> Option<&dyn $crate::node::State> {
            Some(self)
        }
    };
}
