//! Sync HotStuff (Abraham, Malkhi, Nayak, Ren and Yin): n = 2f+1, messages between correct replicas take at most Δ.
//!
//! The leader proposes a block with the certificate of its parent. A replica that votes for it passes the proposal on,
//! sends its vote to all, and decides the block 2Δ later if it has seen no other proposal of the leader by then: within
//! Δ of its vote all correct replicas have the block, and within another Δ it would have heard of a contradiction. f+1
//! votes are a certificate, with which the leader goes on. A replica that gets nothing for too long, or two
//! proposals that contradict each other, blames the leader; f+1 BLAMEs end the view. Certificates are ranked by view, then by height.
//!
//! **As it is now** (`sync-hotstuff`, the structure of S&P '20). On entering a view a replica locks on the highest
//! certificate that it knows. The new leader shows one that is no lower than the locks (NEW-VIEW), and replicas vote
//! for its block again: all proposals of a view are justified by certificates of that view.
//!
//! **The early version** (`sync-hotstuff-early`, of March 2019). The lock is the highest certificate at any moment, and the
//! leader proposes on what the others report. A liar that keeps votes back makes a certificate out of them at the
//! moment of its choice, and forces one replica to lock (Momose and Cruz, 2019). That breaks agreement, and, done
//! again and again, keeps everybody from deciding. Half of the remedy does not help: not a lock that is set on
//! entering a view only (`frozen-lock`), nor deafness between two views (`ignore-while-quitting`), nor both.
//!
//! **One block per view** (`rotate`). The authors of "Liveness checking of the HotStuff protocol family" (PRDC '23) ran the early
//! version on the views of HotStuff, which have a leader each: the certificate of a view's block ends the view, and the
//! next leader goes on at once. A block that was voted for is decided two deltas later, in whatever view its voter then is.
//! It is dropped if the voter sees a block that conflicts with it, or BLAMEs that end the view of the block.
//!
//! **Certified decisions** (`certified`). The protocol decides by time alone: a replica that nobody hears decides what it
//! has voted for. A framework whose rule for decisions is about certified blocks, as relab/hotstuff's is, waits for the
//! certificate too.
//!
//! Nothing here holds if a message between correct replicas is lost or late.

use turncoat_core::prelude::*;

use super::alike;
use super::lies::uncalled;

mod messages;
mod replica;
mod view_change;

use messages::Blame;
pub use messages::Msg;
pub use replica::Replica;

/// The protocol.
#[derive(Debug)]
pub struct SyncHotStuff;

super::flags::family_flags! {
    /// Deviations from Sync HotStuff. Each is read where the rule is that it breaks.
    pub struct Flags {
        no_equivocation_check: "conflicting proposals by one leader are not detected",
        commit_timer_kept: "a block voted for in a view is decided even if the view ends first",
        blame_no_dedup: "BLAMEs are counted, not the replicas that send them",
        frozen_lock: "early version: the lock is set only on entering a view",
        sticky: "early version: a certificate that conflicts with the lock does not change it",
        ignore_while_quitting: "early version: votes and certificates are ignored between two views",
    }
}

turncoat_core::config! {
    /// Parameters; times are in ticks.
    pub struct Config {
        /// Δ: the longest that a message between correct replicas takes.
        pub delta: Time = Time(20),
        /// Whether this is the early version.
        pub early: bool = false,
        /// How many blocks the leader proposes before it has decided the first of them.
        pub pipeline: u32 = 32,
        /// Whether the certificate of a block ends the view, so that the next leader goes on.
        pub rotate: bool = false,
        /// Whether a block that was voted for two deltas ago is decided only once it is certified.
        pub certified: bool = false,
        /// Whether a replica that refuses a proposal blames the leader at once, or when its time is over.
        pub blame_on_refuse: bool = true,
        /// The bug flags that are on.
        pub flags: Flags = Flags::default(),
    }
}

impl Protocol for SyncHotStuff {
    const NAME: &'static str = "sync-hotstuff";
    const ABOUT: &'static str =
        "Sync HotStuff: decides by time, tolerates a minority of liars, assumes timely messages";
    const MARKS: &'static [&'static str] = &["fetch", "refuse", "equivocation", "blame", "quit"];
    /// Delays within the bound are all that it asks for.
    const VIEW_DELAYS: u64 = 0;

    alike::protocol! {
        /// Five rounds to a view: STATUS, NEW-VIEW, PROPOSE, VOTE, BLAME.
        number = 5
    }

    /// Nothing holds if a message between correct replicas is lost or late.
    fn assumes(config: &Config) -> Assumptions {
        Assumptions { channels: Channels::Synchronous(config.delta), ..Assumptions::default() }
    }

    fn bound(_: &Config, f: usize) -> usize {
        2 * f + 1
    }

    fn quorum(cluster: &Cluster) -> usize {
        cluster.weak()
    }

    fn validate(config: &Config) -> Result<(), String> {
        ensure(config.delta >= Time(1), "`delta` is at least 1")?;
        ensure(config.pipeline >= 1, "`pipeline` is at least 1")
    }

    /// What honest code does not say: a BLAME beside a vote, and a proposal in the place of a NEW-VIEW.
    fn mint(kind: u8, like: &Msg, signer: Signer) -> Option<Msg> {
        match (Msg::KINDS[usize::from(kind)], like) {
            ("blame", Msg::Vote(vote)) => Some(Msg::Blame(signer.sign(Blame { view: vote.view }))),
            ("propose", Msg::NewView(m)) => Some(Msg::Propose(signer.sign(uncalled(m.view, signer)))),
            _ => None,
        }
    }
}

alike::fetching!(SyncHotStuff);

/// The protocol and its named variants.
pub fn entries() -> Vec<Entry> {
    let early = Config { early: true, ..Config::default() };
    let about = "Sync HotStuff of March 2019: liars can force replicas to lock";
    vec![Entry::of::<SyncHotStuff>(), Entry::variant::<SyncHotStuff>("sync-hotstuff-early", about, &early)]
}
