//! The consensus engine of malachite (`informalsystems-malachitebft-core-consensus` 0.5.0), as its authors publish it.
//!
//! **What runs** is the core: Tendermint with its vote keeper, driver, certificates and rebroadcasts. It has no clock, no network and
//! no keys: whatever it wants of the world is an effect, and the host carries it out (`host`). What is around it in a node that one
//! would deploy is not here: actors, libp2p, the file of the log, the protocol by which nodes catch up.
//!
//! **Time** is ours: a timeout is a timer, whose length grows with the epoch (the engine's round). **Signatures** are turncoat's
//! (`context`), or Ed25519 (`keys`, with `signatures = "ed25519"`): the engine asks the host for one, and asks the host whether it
//! is good. **Values** come with proposals, and the host
//! tells the engine whether they are valid. **The log** is kept: who restarts hands it back to a new engine, entry by entry, and has
//! what it had said before. Who restarts blank has lost it, which no Tendermint promises to tolerate.
//!
//! **A lost lock.** What the log lacks are values that came after their proposals (`value_exists` in
//! `core-consensus/src/full_proposal.rs` takes a proposal for its value), and so, after a restart, the lock of an epoch that was
//! left before. As malachite's own host does, ours hands values back when an epoch starts, which is too late for that.
//! `findings/malachite-0.5.0-lost-lock.toml` shows it; a host that logs values itself (`log-values`) tolerates it.
//!
//! **Gossip.** The core passes nothing on and brings no laggard up to date: a proposal that one validator misses is lost to it,
//! and with it the height. The host does both, as an option each: `relay`, who hears something new passes it on; `sync`, who hears
//! of later heights asks for decisions with their certificates.
//!
//! **A second proposal.** The engine of this version does not tolerate a proposer that proposes two values in one epoch: it holds
//! the polka of one for a polka of the other (`multiplex_proposal` in `core-driver/src/mux.rs` looks for a certificate of the right
//! round and does not compare values), so that a validator forgets its lock, and two values are decided.
//! `findings/malachite-0.5.0-two-proposals.toml` shows it. With `one-proposal` the host hands over the first proposal of each epoch
//! alone, which survives this scenario; a proposer that proposes a value anew and names the polka of another one is believed still.
//!
//! Flags break the host, not the engine: they are there to see that what breaks is seen.

use turncoat_core::prelude::*;
use turncoat_protocols::tendermint::epochs::{self, place, proposer};

mod certificates;
mod context;
mod host;
mod keys;
mod lies;
mod messages;
mod replica;

pub use messages::Msg;
pub use replica::Replica;

/// The engine with its host.
#[derive(Debug)]
pub struct Malachite;

pub(crate) type Cx<'a> = Context<'a, Malachite>;

turncoat_core::flags! {
    /// What a host can get wrong.
    pub struct Flags {
        accept_any_signature: "the host accepts every signature as valid",
        quorum_half: "the host sets quorums to more than half of the votes",
        no_log: "the host writes no log, so a restarted validator forgets what it said at this height",
    }
}

/// How it is found out whether a signature is good.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signatures {
    /// The signed statement is looked at: nobody can make one in another's name.
    Keyed,
    /// By Ed25519, with which runs take forty times as long and come to the same.
    Ed25519,
}

turncoat_core::config! {
    /// Parameters; times are in ticks.
    pub struct Config {
        /// How long the proposal of an epoch may take, in epoch 0.
        pub timeout_propose: Time = Time(300),
        /// How long prevotes may take once there is a quorum of them, in epoch 0.
        pub timeout_prevote: Time = Time(100),
        /// How long precommits may take once there is a quorum of them, in epoch 0.
        pub timeout_precommit: Time = Time(100),
        /// By how much all of these grow from epoch to epoch.
        pub timeout_delta: Time = Time(50),
        /// After how many ticks without a new epoch a validator sends its votes again.
        pub rebroadcast: Time = Time(200),
        /// Whether proposals and votes are passed on to all when they are first heard.
        pub relay: bool = true,
        /// After how many ticks a validator that hears of later heights asks for decisions; 0: never.
        pub sync: Time = Time(200),
        /// What signatures are: `keyed` or `ed25519`.
        pub signatures: Signatures = Signatures::Keyed,
        /// Whether the host logs values itself: the engine does not log those that come after their proposals.
        pub log_values: bool = false,
        /// Whether the host keeps a second proposal of an epoch from the engine, which does not tolerate one.
        /// It is no cure: a proposal that names the polka of another value is believed all the same.
        pub one_proposal: bool = false,
        /// The bug flags that are on.
        pub flags: Flags = Flags::default(),
    }
}

/// The timers: the timeouts of the engine, and the host's own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub enum Timer {
    /// The proposal of an epoch is late.
    Propose(View),
    /// The prevotes of an epoch are.
    Prevote(View),
    /// The precommits of an epoch are.
    Precommit(View),
    /// Time to say votes again.
    Rebroadcast(View),
    /// Time to ask for decisions.
    Sync,
}

impl Protocol for Malachite {
    const NAME: &'static str = "malachite";
    const ABOUT: &'static str = "the consensus engine of malachite 0.5.0, with a host that relays and syncs";
    const FLAGS: &'static [Flag] = Flags::ALL;
    const MARKS: &'static [&'static str] =
        &["next-epoch", "re-proposal", "sync", "evidence", "bad-signature", "bad-certificate", "error"];
    const STREAM: bool = true;
    const SLOT: &'static str = "height";
    /// Proposal, prevotes, precommits.
    const VIEW_DELAYS: u64 = 3;
    type Msg = Msg;
    type Timer = Timer;
    type Replica = Replica;
    type Client = NoClient;
    type Config = Config;

    fn validate(config: &Config) -> Result<(), String> {
        let Config { timeout_propose, timeout_prevote, timeout_precommit, rebroadcast, .. } = *config;
        let shortest = timeout_propose.min(timeout_prevote).min(timeout_precommit).min(rebroadcast);
        ensure(shortest >= Time(1), "timeouts and `rebroadcast` are at least 1")
    }

    fn leader(view: View, cluster: &Cluster) -> NodeId {
        epochs::leader(view, cluster)
    }

    fn origin() -> RoundKey {
        epochs::origin()
    }

    fn nth_view(view: View) -> u32 {
        epochs::nth_view(view)
    }

    fn view_name(view: View) -> String {
        epochs::name(view)
    }

    fn number(key: RoundKey) -> u32 {
        epochs::number(key)
    }

    fn advance(old: RoundKey, new: RoundKey) -> u32 {
        epochs::advance(old, new)
    }

    /// The host relays and synchronises.
    fn assumes(_: &Config) -> Assumptions {
        Assumptions::FAIR_LOSSY
    }

    fn replica(id: NodeId, cluster: &Cluster, config: &Config) -> Replica {
        Replica::new(id, cluster, *config)
    }

    fn client(_: NodeId, _: &Cluster, _: &Config, _: &ClientWork) -> NoClient {
        NoClient
    }
}

/// The engine and its named variants.
pub fn entries() -> Vec<Entry> {
    let bare = Config { relay: false, sync: Time(0), ..Config::default() };
    vec![
        Entry::of::<Malachite>(),
        Entry::variant::<Malachite>(
            "malachite-bare",
            "the engine of malachite 0.5.0 alone: no relaying, and no sync for replicas that lag",
            &bare,
        ),
    ]
}
