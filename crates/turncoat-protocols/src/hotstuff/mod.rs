//! The HotStuff family: leaders collect votes into certificates, and chains of certified blocks are decided.
//!
//! | module | protocol |
//! |---|---|
//! | [`basic`] | HotStuff with three phases (Yin et al., PODC '19), and its versions with two phases |
//! | [`chained`] | chained HotStuff: one generic phase, a block is decided when it heads a three-chain, or, with two phases, a two-chain |
//! | [`fast`] | Fast-HotStuff (Jalalzai et al., 2020): a two-chain decides, after a timeout the leader shows 2f+1 reports |
//! | [`sync`] | Sync HotStuff (Abraham et al., S&P '20, and the early version of 2019): n = 2f+1, decides by time |
//!
//! They share the block tree (`tree`), votes and certificates (`certs`), and what a replica does about blocks that it
//! has not got and messages that come early (`shelf`). All but the last share the rules by which replicas go from view
//! to view (`pacemaker`), and the frame around their own rules (`member`).
//!
//! What all of them do in the same way:
//! - The first view is 1, led by p0, the next one by p1, and so on, unless the scenario has a table of leaders.
//! - Nobody asks for anything: each leader proposes a fresh request of its own stream. A request that a liar proposes
//!   again is decided as a block without requests.
//! - The certificate that justifies a block is part of the block, also where the papers send it beside the block.
//! - A block is decided at its height, with all its ancestors before it. A decision that conflicts with an earlier one of
//!   the same replica is made nevertheless, for the checkers to see.

use turncoat_core::prelude::*;

mod alike;
pub mod basic;
mod certs;
pub mod chained;
pub mod fast;
mod flags;
mod lies;
mod member;
mod pacemaker;
mod pipeline;
mod shelf;
pub mod sync;
mod tree;

pub use pacemaker::Pace;

/// The timers of the family.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub enum Timer {
    /// The view takes too long.
    View,
    /// A block that was asked for has not come.
    Fetch,
    /// The leader has waited for what others report.
    Wait,
    /// Sync HotStuff: the leader is too slow.
    Blame,
    /// Sync HotStuff: the next view begins.
    Quit,
    /// Sync HotStuff: a block that was voted for is decided.
    Commit(Digest),
}

/// Messages that a replica needs in a view, unless it has enough of them.
fn wait(kind: &'static str, view: View, have: NodeSet, need: usize) -> Option<Waiting> {
    (have.len() < need).then_some(Waiting { kind, about: About::View(view), have, need })
}

/// The rules that the parameters of the pacemaker have to keep.
fn paced(delta: Time, doublings: u32) -> Result<(), String> {
    ensure(delta >= Time(1), "`delta` is at least 1")?;
    ensure(doublings <= 20, "`doublings` is at most 20")
}

/// The protocols and their named variants.
pub fn entries() -> Vec<Entry> {
    [basic::entries(), chained::entries(), fast::entries(), sync::entries()].concat()
}
