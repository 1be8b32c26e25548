//! PBFT: practical Byzantine fault tolerance (Castro and Liskov, OSDI '99; TOCS '02), n = 3f+1.
//!
//! **Normal case** (`replica`). The primary of view v gives each request a number n and sends PRE-PREPARE(v,n,d,m).
//! A backup that accepts it sends PREPARE(v,n,d). With the PRE-PREPARE and 2f PREPAREs of backups the request is
//! *prepared*: the replica sends COMMIT(v,n,d). With 2f+1 COMMITs it is *committed*, and executed once all lower
//! numbers are. A client accepts a result that f+1 replicas report.
//!
//! **Checkpoints** (`checkpoint`). Every K executions a replica sends CHECKPOINT(n,d) with a digest of its history.
//! 2f+1 equal ones make it *stable*: everything up to n is forgotten, and the window of valid numbers h < n <= h+L
//! moves on. A replica that lags behind a checkpoint fetches the history and checks it against the digest.
//!
//! **View change** (`view_change`). A backup that waits too long stops taking part in view v and sends
//! VIEW-CHANGE(v+1,h,C,P): its stable checkpoint with proof C, and in P a certificate for each request prepared
//! above it. The primary of v+1 answers 2f+1 of them with NEW-VIEW(v+1,V,O): for each number the request with the
//! certificate of the highest view, or null. Backups compute O themselves and accept nothing else.
//!
//! What the papers leave open is ours:
//! - what is unanswered is sent again every `retransmit` ticks; the papers assume channels that do that;
//! - a replica that sees f+1 COMMITs for a number it cannot complete asks for the proof (`slot-fetch`);
//! - the view-change timer starts when 2f+1 replicas want this view *or a later one*. With "this view" alone, as
//!   printed, replicas that send again only their latest vote can wait for each other forever.

use turncoat_core::prelude::*;

mod checkpoint;
mod flags;
mod lies;
mod messages;
mod replica;
mod view_change;

pub use flags::Flags;
pub use messages::Msg;
pub use replica::Replica;

/// The protocol.
#[derive(Debug)]
pub struct Pbft;

turncoat_core::config! {
    /// Parameters; times are in ticks.
    pub struct Config {
        /// K: executions between two checkpoints.
        pub checkpoint: u32 = 4,
        /// L: how far numbers may run ahead of the stable checkpoint; 0 means 2K.
        pub window: u32 = 0,
        /// How long a backup waits for a request at first.
        pub request_timeout: Time = Time(500),
        /// How often unanswered messages are sent again.
        pub retransmit: Time = Time(150),
        /// Whether a replica asks for the proof of a number that others have committed.
        pub slot_fetch: bool = true,
        /// The read-only optimisation: reads are answered without being ordered, on 2f+1 equal replies. Ordered requests
        /// then need 2f+1 too: f+1 and 2f+1 may share only a faulty replica, and a read could miss a write.
        pub read_only: bool = false,
        /// The bug flags that are on.
        pub flags: Flags = Flags::default(),
    }
}

impl Config {
    /// D(m).
    fn digest(&self, request: &Request) -> Digest {
        if self.flags.const_digest { Digest::of("") } else { request.digest() }
    }

    /// Whether early messages are kept and unanswered ones sent again.
    const fn is_persistent(&self) -> bool {
        !self.flags.no_buffer_no_rtx
    }
}

impl Protocol for Pbft {
    const NAME: &'static str = "pbft";
    const ABOUT: &'static str =
        "PBFT, complete and correct: checkpoints, state transfer, view changes, slot catch-up";
    const FLAGS: &'static [Flag] = Flags::ALL;
    const MARKS: &'static [&'static str] =
        &["view-change", "new-view", "new-view-null", "stable-checkpoint", "state-transfer", "slot-fetch"];
    /// ByzzFuzz's rounds for PBFT: PRE-PREPARE, PREPARE, COMMIT, REPLY.
    const PHASES: u32 = 4;
    type Msg = Msg;
    type Timer = Timer;
    type Replica = Replica;
    type Client = QuorumClient;
    type Config = Config;

    fn validate(config: &Config) -> Result<(), String> {
        let (k, l) = (config.checkpoint, config.window);
        let shortest = config.request_timeout.min(config.retransmit);
        ensure(shortest >= Time(1), "`request-timeout` and `retransmit` are at least 1")?;
        ensure(k >= 1, "`checkpoint` is at least 1")?;
        ensure(l == 0 || l >= k, format!("`window` is at least `checkpoint` = {k}, or 0 for twice that"))?;
        // A replica keeps an entry for each number in its window.
        ensure(k.max(l) <= 1 << 12, "`checkpoint` and `window` are at most 4096")
    }

    /// Castro and Liskov: a client waits for the result of one request before it sends the next.
    fn assumes(config: &Config) -> Assumptions {
        Assumptions { one_request: !config.flags.orders_old_requests, ..Assumptions::FAIR_LOSSY }
    }

    fn replica(_: NodeId, _: &Cluster, config: &Config) -> Replica {
        Replica::new(*config)
    }

    fn client(_: NodeId, cluster: &Cluster, config: &Config, work: &ClientWork) -> QuorumClient {
        let strict = config.read_only || config.flags.client_quorum_2f1;
        let ordered = if strict { cluster.quorum() } else { cluster.weak() };
        QuorumClient::new(work, ReplyQuorum { ordered, read: cluster.quorum() })
    }

    /// A vote beside an own PRE-PREPARE: a primary's honest code sends no PREPARE.
    fn mint(kind: u8, like: &Msg, signer: Signer) -> Option<Msg> {
        let Msg::PrePrepare(pp) = like else { return None };
        match Msg::KINDS[usize::from(kind)] {
            "prepare" => Some(Msg::Prepare(signer.sign(pp.vote()))),
            "commit" => Some(Msg::Commit(signer.sign(pp.vote()))),
            _ => None,
        }
    }
}

impl Service for Pbft {
    fn request(request: Signed<Request>) -> Msg {
        Msg::Request(request)
    }

    fn reply(msg: &Msg) -> Option<Reply> {
        let Msg::Reply(r) = msg else { return None };
        r.valid().then_some(**r)
    }
}

/// The protocol and its named variants.
pub fn entries() -> Vec<Entry> {
    let classic = Config { slot_fetch: false, ..Config::default() };
    let with = |flags| Config { flags, ..classic };
    let read_only = with(Flags { client_quorum_2f1: true, ..Flags::default() });
    // The last four flags came later: the two older presets stay what all tables were printed with.
    let older = Flags {
        timer_from_request: false,
        timeouts_reset: false,
        orders_old_requests: false,
        old_views_kept: false,
        ..Flags::all()
    };
    let java_orig = with(Flags { client_quorum_2f1: false, ..older });
    let about_read_only =
        "pbft-classic with clients that wait for 2f+1 replies, as read-only requests need: clients may block";
    let variant = Entry::variant::<Pbft>;
    vec![
        Entry::of::<Pbft>(),
        variant("pbft-classic", "PBFT as published: no slot catch-up between checkpoints", &classic),
        variant("pbft-read-only", about_read_only, &read_only),
        variant(
            "pbft-java",
            "pbft-java as ByzzFuzz tested it, apart from its timers for requests",
            &with(older),
        ),
        variant("pbft-java-orig", "the same as published: its clients wait for f+1 replies", &java_orig),
        variant("pbft-java-full", "pbft-java as ByzzFuzz tested it, with all its bugs", &with(Flags::all())),
    ]
}
