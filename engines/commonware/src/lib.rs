//! The simplex of commonware (`commonware-consensus` 2026.10.0), as its authors publish it, as a node of turncoat.
//!
//! **What runs** is the whole engine: voter, batcher and resolver with their mailboxes, its journal, its codec, on commonware's
//! deterministic runtime. Each validator has a runtime of its own, in a thread that runs only while the validator handles an
//! event (`engine`). What is ours is around it: network (`network`), clock (`clock`), signatures (`scheme`), application (`app`
//! asks, `replica` answers), and blocks (`chain`).
//!
//! **Messages** leave the engine as bytes and become values that lies can be told about (`messages`, `wire`). **Time** is
//! turncoat's: the first alarm of the engine is a timer, a tick is a millisecond, and a timer that fires early is a clock that
//! goes ahead. **Signatures** are turncoat's, in the place of ed25519. **Blocks** travel beside the engine: their bodies are
//! messages, so that they can be withheld. A validator verifies a proposal when it has its body and those below; it asks for
//! bodies that it misses (`sync`). **The journal** is kept over a restart, as the runtime keeps what was synced.
//! **Blocking**: who is blocked by the engine is cut off, both ways, until it restarts (`block`).
//!
//! Events end when the engine is quiet, so a crash is always between two of them: what a crash in the midst of writing does
//! is not tested here.
//!
//! Flags break the host, not the engine: they are there to see that what breaks is seen.
#![forbid(unsafe_code)]

use turncoat::core::prelude::*;

mod app;
mod chain;
mod checks;
mod clock;
mod engine;
mod host;
mod lies;
mod messages;
mod network;
mod replica;
mod scheme;
mod wire;

pub use messages::Msg;
pub use replica::Replica;

/// The epoch of all runs.
const EPOCH: u64 = 1;

/// The engine with its host.
#[derive(Debug)]
pub struct Simplex;

pub(crate) type Cx<'a> = Context<'a, Simplex>;

flags! {
    /// What a host can get wrong.
    pub struct Flags {
        accept_any_signature: "the scheme says of every signature that it is good",
        no_quorum: "the scheme says of certificates with one signature that they are good",
        no_log: "the journal does not outlive a restart: who restarts has forgotten what it said",
    }
}

config! {
    /// Parameters; times are in ticks.
    pub struct Config {
        /// How long a leader may take to propose.
        pub leader_timeout: Time = Time(200),
        /// How long a view may take until its proposal is certified.
        pub certification_timeout: Time = Time(300),
        /// After how many ticks in a view that it wants to leave a validator says so again.
        pub timeout_retry: Time = Time(200),
        /// How long a leader may be silent until others skip its views; 0: they never do.
        pub skip_timeout: Time = Time(1000),
        /// How long somebody who was asked for a certificate may take.
        pub fetch_timeout: Time = Time(100),
        /// After how many ticks somebody else is asked.
        pub fetch_retry_delay: Time = Time(50),
        /// How many views below the last one that was finalized are remembered.
        pub view_retention: u32 = 10,
        /// Whether votes are remembered when they have done their duty, for evidence.
        pub track_votes: bool = true,
        /// Whether bodies are sent to those who did not vote for them.
        pub forward: bool = true,
        /// For how many views a leader leads.
        pub term_length: u32 = 1,
        /// How long a term may take until something is finalized, where it has more than one view.
        pub stall_timeout: Time = Time(900),
        /// For how many views votes may be ahead of what is certified, within such a term.
        pub optimistic_views: u32 = 0,
        /// Whether the leader of the next such term proposes and votes before this one is over.
        pub handoff: bool = false,
        /// Whether those whom the engine blocks are cut off.
        pub block: bool = true,
        /// After how many ticks who misses the body of a block asks for it; 0: never.
        pub sync: Time = Time(100),
        /// What is wrong.
        pub flags: Flags = Flags::default(),
    }
}

/// The timers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub enum Timer {
    /// The first alarm of the engine.
    Alarm,
    /// Time to ask for bodies.
    Sync,
}

impl Protocol for Simplex {
    const NAME: &'static str = "commonware-simplex";
    const ABOUT: &'static str =
        "the simplex of commonware 2026.10.0, on its own runtime, with a host that syncs";
    const FLAGS: &'static [Flag] = Flags::ALL;
    const MARKS: &'static [&'static str] = &[
        "nullified",
        "conflicting-notarize",
        "conflicting-finalize",
        "nullify-finalize",
        "blocked",
        "fetch",
        "sync",
        "forward",
        "invalid-block",
        "bad-signature",
        "bad-certificate",
    ];
    const STREAM: bool = true;
    const SLOT: &'static str = "height";
    /// The proposal, votes to notarize, votes to finalize.
    const VIEW_DELAYS: u64 = 3;
    type Msg = Msg;
    type Timer = Timer;
    type Replica = Replica;
    type Client = NoClient;
    type Config = Config;

    fn validate(config: &Config) -> Result<(), String> {
        let Config { leader_timeout, certification_timeout, timeout_retry, skip_timeout, .. } = *config;
        let least = leader_timeout.min(timeout_retry).min(config.fetch_timeout);
        ensure(least >= Time(1), "timeouts are at least 1")?;
        ensure(config.view_retention >= 1, "`view-retention` is at least 1")?;
        ensure(certification_timeout > leader_timeout, "`certification-timeout` exceeds `leader-timeout`")?;
        ensure(config.term_length >= 1, "`term-length` is at least 1")?;
        let patient = config.term_length == 1 || config.stall_timeout > certification_timeout;
        ensure(patient, "`stall-timeout` exceeds `certification-timeout`")?;
        let late = certification_timeout.max(timeout_retry);
        ensure(skip_timeout == Time(0) || skip_timeout > late, "`skip-timeout` exceeds all others")
    }

    fn quorum(cluster: &Cluster) -> usize {
        cluster.n - (cluster.n - 1) / 3
    }

    fn origin() -> RoundKey {
        RoundKey { view: View(1), ..RoundKey::default() }
    }

    /// Three rounds to a view: votes to notarize, to nullify, to finalize.
    fn number(key: RoundKey) -> u32 {
        let views = key.view.0.saturating_sub(1);
        views.saturating_mul(3).saturating_add(u32::from(key.phase.min(3)))
    }

    fn advance(old: RoundKey, new: RoundKey) -> u32 {
        Self::number(new).saturating_sub(Self::number(old))
    }

    fn mint(kind: u8, like: &Msg, signer: Signer) -> Option<Msg> {
        lies::mint(kind, like, signer)
    }

    fn checks() -> Vec<Check<Self>> {
        checks::all()
    }

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

/// The leader of a view, or of a term: the scenario's table, else the protocol's rule.
fn leader(view: View, cluster: &Cluster) -> NodeId {
    let prescribed = view.0.checked_sub(1).and_then(|index| cluster.leaders.get(index as usize));
    prescribed.copied().unwrap_or_else(|| Simplex::leader(view, cluster))
}

/// Leaders that stay for some views, vote ahead, and hand over early.
pub fn terms() -> Entry {
    let config = Config { term_length: 4, optimistic_views: 2, handoff: true, ..Config::default() };
    let about = "the same with leaders of four views each, votes ahead of certificates, and early handoffs";
    Entry::variant::<Simplex>("commonware-simplex-terms", about, &config)
}
