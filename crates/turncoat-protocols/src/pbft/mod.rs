//! PBFT: practical Byzantine fault tolerance (Castro and Liskov, OSDI '99; TOCS '02), n = 3f+1.
//!
//! **Normal case** (`replica`). The primary of view v gives each request a number n and sends PRE-PREPARE(v,n,d,m).
//! A backup that accepts it sends PREPARE(v,n,d). With the PRE-PREPARE and 2f PREPAREs of backups the request is
//! *prepared*: the replica sends COMMIT(v,n,d). With 2f+1 COMMITs it is *committed*, and executed once all lower
//! numbers are. A client accepts a result that f+1 replicas report.
//!
//! **Checkpoints** (`checkpoint`). Every K executions a replica sends CHECKPOINT(n,d) with a digest of its history.
//! 2f+1 equal ones make it *stable*: everything up to n is forgotten, and the window of valid numbers h < n <= h+L
//! moves on. Who lags behind a checkpoint fetches the history and checks it against the digest.
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
//!   printed, replicas that send again only their latest vote can wait for each other for ever.

use serde::{Deserialize, Serialize};
use turncoat_core::client::{ClientTimer, QuorumClient, Reply, ReplyQuorum, Request, Service};
use turncoat_core::flags::Flag;
use turncoat_core::hash::Digest;
use turncoat_core::ids::{NodeId, Slot, Time, View};
use turncoat_core::message::{Message, RoundKey};
use turncoat_core::node::{ClientWork, Cluster, Protocol};
use turncoat_core::runner::Entry;
use turncoat_core::sign::{Signed, Signer};

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

/// Parameters; times are in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// K: executions between two checkpoints.
    pub checkpoint: u32,
    /// L: how far numbers may run ahead of the stable checkpoint; 0 means 2K.
    pub window: u32,
    /// How long a backup waits for a request at first.
    pub request_timeout: Time,
    /// How often what is unanswered is sent again.
    pub retransmit: Time,
    /// Whether a replica asks for the proof of a number that others have committed.
    pub slot_fetch: bool,
    /// The read-only optimisation: reads are answered without being ordered, on 2f+1 equal replies. Ordered requests
    /// then need 2f+1 too: f+1 and 2f+1 replies may share only a faulty replica, and a read could miss a write.
    pub read_only: bool,
    /// What is wrong.
    pub flags: Flags,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            checkpoint: 4,
            window: 0,
            request_timeout: Time(500),
            retransmit: Time(150),
            slot_fetch: true,
            read_only: false,
            flags: Flags::default(),
        }
    }
}

impl Config {
    /// D(m).
    fn digest(&self, request: &Request) -> Digest {
        if self.flags.const_digest { Digest::of("") } else { request.digest() }
    }

    /// What comes early is kept, what is unanswered is sent again.
    const fn is_patient(&self) -> bool {
        !self.flags.no_buffer_no_rtx
    }

    /// The first number is 1, so that all are above the first low watermark, which is 0.
    const fn below_first(&self) -> u32 {
        self.flags.seq_zero as u32
    }
}

/// The timers of replicas and clients.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Timer {
    /// A pending request is late.
    Request,
    /// The NEW-VIEW is late.
    ViewChange,
    /// Time to send again what is unanswered.
    Retransmit,
    /// The client's.
    Client(ClientTimer),
}

impl From<ClientTimer> for Timer {
    fn from(timer: ClientTimer) -> Self {
        Self::Client(timer)
    }
}

impl Protocol for Pbft {
    const NAME: &'static str = "pbft";
    const ABOUT: &'static str =
        "PBFT, complete and correct: checkpoints, state transfer, view changes, slot catch-up";
    const FLAGS: &'static [Flag] = Flags::ALL;
    const MARKS: &'static [&'static str] =
        &["view-change", "new-view", "new-view-null", "stable-checkpoint", "state-transfer", "slot-fetch"];
    type Msg = Msg;
    type Timer = Timer;
    type Replica = Replica;
    type Client = QuorumClient;
    type Config = Config;

    fn validate(config: &Config) -> Result<(), String> {
        if config.request_timeout.min(config.retransmit) == Time(0) {
            return Err("`request-timeout` and `retransmit` are at least 1".to_owned());
        }
        match (config.checkpoint, config.window) {
            (0, _) => Err("`checkpoint` is at least 1".to_owned()),
            (k, l) if l != 0 && l < k => {
                Err(format!("`window` is at least `checkpoint` = {k}, or 0 for twice that"))
            }
            (k, l) if k.max(l) > 1 << 20 => Err("`checkpoint` and `window` are at most 1048576".to_owned()),
            _ => Ok(()),
        }
    }

    fn replica(_: NodeId, _: &Cluster, config: &Config) -> Replica {
        Replica::new(*config)
    }

    fn client(_: NodeId, cluster: &Cluster, config: &Config, work: &ClientWork) -> QuorumClient {
        let strict = config.read_only || config.flags.client_quorum_2f1;
        let ordered = if strict { cluster.quorum() } else { cluster.weak() };
        QuorumClient::new(work, ReplyQuorum { ordered, read: cluster.quorum() })
    }

    /// The first PRE-PREPARE is round 1.
    fn origin() -> RoundKey {
        RoundKey { view: View(0), slot: Slot(1), phase: 0 }
    }

    fn number(key: RoundKey) -> u32 {
        let requests_before = key.slot.0.saturating_sub(1).saturating_mul(4);
        requests_before.saturating_add(u32::from(key.phase.min(4))).saturating_add(key.view.0)
    }

    /// ByzzFuzz's rounds for PBFT: four per request. Its formula can give less than one (a PRE-PREPARE right after a
    /// NEW-VIEW); the kernel raises a counter by at least one.
    fn advance(old: RoundKey, new: RoundKey) -> u32 {
        let (from, to) = (u32::from(old.phase), u32::from(new.phase));
        match () {
            () if new.view > old.view => 1,
            () if new.slot > old.slot => (to + 4).saturating_sub(from),
            () => to.saturating_sub(from),
        }
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
    let all: Vec<String> = Flags::ALL.iter().map(Flag::name).collect();
    let orig: Vec<String> = all.iter().filter(|flag| *flag != "client-quorum-2f1").cloned().collect();
    let preset = |name, about, flags: Vec<String>| {
        let config = toml::toml! { slot-fetch = false flags = (toml::Value::from(flags)) };
        Entry::preset::<Pbft>(name, about, config)
    };
    vec![
        Entry::of::<Pbft>(),
        preset("pbft-classic", "PBFT as published: no slot catch-up between checkpoints", vec![]),
        preset(
            "pbft-read-only",
            "pbft-classic with the replies that the read-only optimisation needs: clients may block",
            vec!["client-quorum-2f1".to_owned()],
        ),
        preset("pbft-java", "pbft-java as ByzzFuzz tested it: all deviations", all),
        preset("pbft-java-orig", "pbft-java as published: its clients wait for f+1 replies", orig),
    ]
}
