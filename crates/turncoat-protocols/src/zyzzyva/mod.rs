//! Zyzzyva (Kotla et al., SOSP '07, TOCS '10), corrected, and as published: speculation that clients make final. n = 3f+1.
//!
//! **Agreement** (`order`, `commit`). The primary of view v gives each request a number n and sends ORDER-REQ(v,n,h_n,d,m), where
//! h_n = H(h_(n-1),d) is the history. A replica executes it at once and answers the client: SPEC-RESPONSE(v,n,h_n,r).
//! With 3f+1 equal answers the client (`client`) is done. With 2f+1 it shows them to all, which is a certificate (CC):
//! COMMIT; 2f+1 LOCAL-COMMITs, and it is done. A replica that misses orders asks for them: FILL-HOLE.
//!
//! **Checkpoints** (`checkpoint`). Every K slots replicas tell each other their answers; with 2f+1 equal ones a replica sends
//! CHECKPOINT(v,n,h_n). 2f+1 of those make the log up to n final. Nothing else is, for replicas; what is not final may be
//! taken back. A replica that has another log, or none, fetches it.
//!
//! **View change** (`view_change`). Replicas say that they hate the primary: IHTP(v). f+1 of these, and a replica sends
//! VIEW-CHANGE(v+1,s,CC,O): its stable checkpoint, its highest certificate, its log. The new primary answers 2f+1 of them
//! with NEW-VIEW(v+1,V,G); G follows from V (`carry_over`). A replica that has checked it sends VIEW-CONFIRM; with 2f+1 of these it
//! takes over the log G, and answers the clients anew.
//!
//! As published, G follows the certificate with the highest number, and an old one can override what has completed in a later
//! view (Abraham et al., 2017): `zyzzyva-paper`. Here certificates and orders count by their views. More rules are ours,
//! where the papers leave something open or where it did not work without:
//! - certificates are ordered by view first, and 2f+1 VIEW-CONFIRMs are one;
//! - the log changes after 2f+1 VIEW-CONFIRMs, not at the NEW-VIEW; NEW-VIEWs are relayed, and two of them are a reason to
//!   hate;
//! - a replica that a client has asked directly waits until the request is in a certificate, not until it is ordered;
//! - a certificate of the present view that contradicts an order proves misbehaviour (POM);
//! - CHECKPOINTs of one view make a checkpoint stable, 2f+1 of them;
//! - who asks for something and has an older stable checkpoint is shown the proof of the present one (STABLE): orders behind
//!   it are forgotten, and a liar that withholds its CHECKPOINT from one replica would leave that one behind for good.
//!
//! Each of them left out is a flag. Without a flag:
//! - a replica for which TC runs out asks all others (CONFIRM-REQ), also if it has executed the request, and not only if it
//!   has not: its log may be another one than theirs;
//! - who sees a certificate of a later view asks (FILL-HOLE), and is shown how that view began: it may have slept through it;
//! - TC doubles like T1 and TN, for nobody knows how slow the network is;
//! - what is unanswered is sent again every `retransmit` ticks: the papers assume channels that do that.

use turncoat_core::prelude::*;

mod carry_over;
mod checkpoint;
mod client;
mod commit;
mod flags;
mod lies;
mod log;
mod messages;
mod order;
mod replica;
mod view_change;

pub use client::Client;
pub use flags::Flags;
pub use messages::Msg;
pub use replica::Replica;

/// The protocol.
#[derive(Debug)]
pub struct Zyzzyva;

pub(crate) type Cx<'a> = Context<'a, Zyzzyva>;

turncoat_core::config! {
    /// Parameters; times are in ticks. T1 and T2 are the client's: `workload.timeout`.
    pub struct Config {
        /// K: slots between two checkpoints. Numbers may run ahead of the stable one by 2K.
        pub checkpoint: u32 = 4,
        /// TC: how long a replica waits for a request that its client has sent to all; twice that for each view in which it
        /// did so in vain.
        pub confirm_timeout: Time = Time(1000),
        /// TF1 and TF2: how long it waits for missing orders, of the primary and then of anybody.
        pub fill_hole_timeout: Time = Time(300),
        /// TN: half of what it waits for a new view; twice that for each view that was skipped.
        pub new_view_timeout: Time = Time(300),
        /// How often unanswered messages are sent again.
        pub retransmit: Time = Time(150),
        /// The bug flags that are on.
        pub flags: Flags = Flags::default(),
    }
}

/// How often T1, TC and TN double at the most.
const DOUBLINGS: u32 = 6;

/// The timers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub enum Timer {
    /// TC: this client's request is late.
    Confirm(NodeId),
    /// TF1, TF2: missing orders are late.
    FillHole,
    /// TN: the new view is late.
    NewView,
    /// Time to send again what is unanswered.
    Retransmit,
    /// T1: the client's request has too few answers.
    Client(ClientTimer),
    /// T2: the client's certificate for this request has too few answers.
    LocalCommit(u32),
}

impl From<ClientTimer> for Timer {
    fn from(timer: ClientTimer) -> Self {
        Self::Client(timer)
    }
}

/// Counts a vote beside those for the same. Each is a fact: who goes from view to view votes for several things.
fn count<T: Eq + Clone>(facts: &mut Vec<Ballots<T>>, vote: &Signed<T>) {
    match facts.iter_mut().find(|ballots| ballots.count(vote) > 0) {
        Some(ballots) => _ = ballots.add(vote),
        None => facts.push(Ballots::from_iter([vote])),
    }
}

impl Protocol for Zyzzyva {
    const NAME: &'static str = "zyzzyva";
    const ABOUT: &'static str =
        "Zyzzyva, corrected: speculative, completed by clients; view changes rank certificates by view";
    const FLAGS: &'static [Flag] = Flags::ALL;
    const MARKS: &'static [&'static str] = &[
        "commit",
        "fill-hole",
        "pom",
        "view-change",
        "new-view",
        "new-view-null",
        "two-new-views",
        "rollback",
        "stable-checkpoint",
        "state-transfer",
    ];
    /// ORDER-REQ, SPEC-RESPONSE, COMMIT, LOCAL-COMMIT.
    const PHASES: u32 = 4;
    type Msg = Msg;
    type Timer = Timer;
    type Replica = Replica;
    type Client = Client;
    type Config = Config;

    fn validate(config: &Config) -> Result<(), String> {
        let Config { confirm_timeout, fill_hole_timeout, new_view_timeout, retransmit, .. } = *config;
        let timeouts = [confirm_timeout, fill_hole_timeout, new_view_timeout, retransmit];
        ensure(timeouts.into_iter().all(|time| time >= Time(1)), "timeouts are at least 1")?;
        ensure((1..=1 << 12).contains(&config.checkpoint), "`checkpoint` is from 1 to 4096")
    }

    /// The first view is 1.
    fn origin() -> RoundKey {
        RoundKey { view: View(1), slot: Slot(1), phase: 0 }
    }

    fn leader(view: View, cluster: &Cluster) -> NodeId {
        NodeId::replica((view.0 as usize + cluster.n - 1) % cluster.n)
    }

    /// Four rounds for each slot, the last one also that of the CHECKPOINT; a view change is in the round of its view.
    fn number(key: RoundKey) -> u32 {
        let before = key.slot.0.saturating_sub(1).saturating_mul(Self::PHASES);
        match key.phase {
            phase @ 0..=5 => before.saturating_add(u32::from(phase).min(Self::PHASES)),
            _ => key.view.0,
        }
    }

    /// As in PBFT, a client waits for the result of one request before it sends the next.
    fn assumes(_: &Config) -> Assumptions {
        Assumptions { one_request: true, ..Assumptions::FAIR_LOSSY }
    }

    fn replica(_: NodeId, _: &Cluster, config: &Config) -> Replica {
        Replica::new(*config)
    }

    fn client(_: NodeId, _: &Cluster, _: &Config, work: &ClientWork) -> Client {
        Client::new(work)
    }
}

/// The protocol and its named variants.
pub fn entries() -> Vec<Entry> {
    let paper = Config { flags: Flags { cc_ignores_view: true, ..Flags::default() }, ..Config::default() };
    let about = "Zyzzyva with the view change as published: an old certificate can override later views";
    vec![Entry::of::<Zyzzyva>(), Entry::variant::<Zyzzyva>("zyzzyva-paper", about, &paper)]
}
