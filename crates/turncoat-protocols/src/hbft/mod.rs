//! hBFT (Duan, Peisert, Levitt; TDSC 2015), repaired, and as published: speculation with help from the clients.
//!
//! **Agreement** (`replica`). The primary of view v gives each request a number n and sends PREPARE(v,n,m). A replica that
//! accepts it replies to the client at once, and sends COMMIT(v,n,m). f+1 COMMITs are as good as the PREPARE. With
//! equal COMMITs of *all* replicas the request is committed; with as many equal replies the client is done.
//!
//! **Checkpoints** (`checkpoint`). Every K slots, or when a client panics (`panic`), the primary sends its whole history M:
//! CHECKPOINT-I. A replica that has the same sends CHECKPOINT-II; a quorum of these is a certificate, CER1, and sends CHECKPOINT-III;
//! a quorum of those, CER2, commits M. So requests are committed also if a replica is silent, and who lags catches up.
//!
//! **View change** (`view_change`). VIEW-CHANGE(v,C,P,Q,R) says what is stable, certified (P) and accepted (R). The new
//! primary answers a quorum of them with NEW-VIEW(v,V,X,M): for each number the value with the greatest certificate or
//! with enough votes of the highest view, or NULL (`carry_over`). All accept M anew in the new view; it commits nothing by
//! itself.
//!
//! As published, COMMITs of 2f+1 of 3f+1 commit, which two steps cannot tolerate (Shrestha et al., 2019); a stable checkpoint
//! ends a view change in progress (Birke, 2025); and more. Rules R1 to R10 repair it with n = 3f+1 (all COMMITs, or
//! else a checkpoint, commit) or with n = 5f+1 (`hbft-5f1`: 4f+1 of everything). Each rule left out is a flag. `hbft-thesis`
//! is Birke's implementation, the thesis' V1, `hbft-v2` the same with the bug that it plants, and `hbft-paper` the protocol of the
//! paper, with the thesis' decisions where the paper is silent: it accepts fewer COMMITs, and no timer ends a view that never begins.
//!
//! What differs from the thesis' implementation, and is no flag:
//!
//! - Messages own what they carry. There, a history in a message is the sender's own, which changes later, for the better and
//!   by lies.
//! - A pause between a NEW-VIEW and its checkpoint: there, the replica that starts it ends it in the same step, since the NEW-VIEW is a
//!   CHECKPOINT-I.
//! - PANICs count regardless of the request, there too. A replica counts one of each sender.
//! - Of two VIEW-CHANGEs of one sender for one view the first counts, there the last. Correct replicas send one.
//! - COMMITs carry no history, since no rule reads it. REPLYs carry none either, since the thesis' client compares results and
//!   numbers; `reply-history` makes the result depend on the history, and so the client compare it.
//!
//! In R5 as it was written down only backups wait for checkpoints. That is not enough: a liar that votes for one at a backup,
//! and not at the primary, can leave the primary as the only one who needs it, beside a replica that has gone ahead.
//!
//! No rule sends anything again but the client: a run with losses may be stuck.

use turncoat_core::prelude::*;

mod carry_over;
mod checkpoint;
mod client;
mod flags;
mod lies;
mod messages;
mod panic;
mod replica;
mod view_change;

pub use client::Client;
pub use flags::Flags;
pub use messages::Msg;
pub use replica::Replica;

use messages::{Commit, digest};

/// The protocol.
#[derive(Debug)]
pub struct Hbft;

pub(crate) type Cx<'a> = Context<'a, Hbft>;

turncoat_core::config! {
    /// Parameters; times are in ticks.
    pub struct Config {
        /// K: slots between two checkpoints.
        pub checkpoint: u32 = 2,
        /// How far numbers may run ahead of the stable checkpoint.
        pub window: u32 = 200,
        /// Whether n is 5f+1 or more, and 4f+1 replicas are enough for everything.
        pub five_f: bool = false,
        /// Whether COMMITs carry the PREPARE that they follow: one of them is then as good as the PREPARE, and one that
        /// contradicts it is enough for a view change.
        pub almost_mac: bool = false,
        /// How long a replica waits for a request to be committed.
        pub request_timeout: Time = Time(1250),
        /// How long a replica waits for a checkpoint to be stable.
        pub checkpoint_timeout: Time = Time(625),
        /// How long a backup waits for a checkpoint to start, if a client panics.
        pub panic_timeout: Time = Time(375),
        /// How long a replica waits for the first new view; twice that for the second in a row, and so on.
        pub view_change_timeout: Time = Time(625),
        /// Whether the result in a REPLY depends on all that was executed before, and not on the request alone.
        pub reply_history: bool = false,
        /// Whether a NULL that is committed is shown to the checkers.
        pub log_nulls: bool = true,
        /// The bug flags that are on.
        pub flags: Flags = Flags::default(),
    }
}

impl Config {
    /// How many VIEW-CHANGEs, CHECKPOINT-II, CHECKPOINT-III make a quorum.
    fn quorum(&self, cluster: &Cluster) -> usize {
        match () {
            () if self.flags.quorum_2f1_any_n => 2 * cluster.f + 1,
            () if self.five_f => cluster.n - cluster.f,
            () => cluster.quorum(),
        }
    }

    /// How many equal COMMITs commit, and equal replies complete.
    fn fast(&self, cluster: &Cluster) -> usize {
        if self.flags.two_step_3f1 || self.five_f { self.quorum(cluster) } else { cluster.n }
    }

    /// How many entries of R make a NEW-VIEW take a value.
    const fn votes(&self, cluster: &Cluster) -> usize {
        if self.five_f { 2 * cluster.f + 1 } else { cluster.weak() }
    }
}

/// The timers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub enum Timer {
    /// This client's request is late.
    Request(NodeId, u32),
    /// The checkpoint of this slot is late.
    Checkpoint(Slot),
    /// The checkpoint that a client has asked for has not started.
    Panic,
    /// The new view is late.
    ViewChange,
    /// The client's.
    Client(ClientTimer),
}

impl From<ClientTimer> for Timer {
    fn from(timer: ClientTimer) -> Self {
        Self::Client(timer)
    }
}

impl Protocol for Hbft {
    const NAME: &'static str = "hbft";
    const ABOUT: &'static str = "hBFT, repaired: speculative, commits with all replicas or by checkpoints";
    const FLAGS: &'static [Flag] = Flags::ALL;
    const MARKS: &'static [&'static str] = &[
        "view-change",
        "new-view",
        "new-view-null",
        "stable-checkpoint",
        "panic",
        "adopt-commits",
        "catch-up",
    ];
    /// The rounds of ByzzBench's oracle: PREPARE, COMMIT, REPLY.
    const PHASES: u32 = 3;
    type Msg = Msg;
    type Timer = Timer;
    type Replica = Replica;
    type Client = Client;
    type Config = Config;

    fn bound(config: &Config, f: usize) -> usize {
        if config.five_f { 5 * f + 1 } else { 3 * f + 1 }
    }

    fn validate(config: &Config) -> Result<(), String> {
        let timeouts = [
            config.request_timeout,
            config.checkpoint_timeout,
            config.panic_timeout,
            config.view_change_timeout,
        ];
        let (k, window) = (config.checkpoint, config.window);
        ensure(timeouts.into_iter().all(|time| time >= Time(1)), "timeouts are at least 1")?;
        ensure(k >= 1, "`checkpoint` is at least 1")?;
        ensure((k..=1 << 12).contains(&window), format!("`window` is from `checkpoint` = {k} to 4096"))
    }

    /// Requests are committed as they can be.
    fn gap_free(_: &Config) -> bool {
        false
    }

    /// The first view is 1.
    fn origin() -> RoundKey {
        RoundKey { view: View(1), slot: Slot(1), phase: 0 }
    }

    /// The rounds of Birke's thesis: PREPARE 2n-1, COMMIT 2n, CHECKPOINT n, VIEW-CHANGE and NEW-VIEW v; a REPLY has none.
    fn number(key: RoundKey) -> u32 {
        let n = key.slot.0;
        match key.phase {
            1 => n.saturating_mul(2).saturating_sub(1),
            2 => n.saturating_mul(2),
            4 => n,
            5 | 6 => key.view.0,
            _ => 0,
        }
    }

    /// Nothing is ever sent again, and a client waits for the result of one request before it sends the next.
    fn assumes(_: &Config) -> Assumptions {
        Assumptions { channels: Channels::Reliable, one_request: true, ..Assumptions::default() }
    }

    fn replica(_: NodeId, _: &Cluster, config: &Config) -> Replica {
        Replica::new(*config)
    }

    fn client(_: NodeId, _: &Cluster, config: &Config, work: &ClientWork) -> Client {
        Client::new(work, *config)
    }

    /// A COMMIT beside an own PREPARE.
    fn mint(kind: u8, like: &Msg, signer: Signer) -> Option<Msg> {
        let Msg::Prepare(m) = like else { return None };
        let request = Some(m.request);
        let commit = Commit { view: m.view, seq: m.seq, digest: digest(&request), request, prepare: None };
        (Msg::KINDS[usize::from(kind)] == "commit").then(|| Msg::Commit(signer.sign(commit)))
    }
}

/// The protocol and its named variants.
pub fn entries() -> Vec<Entry> {
    let five_f = Config { five_f: true, ..Config::default() };
    let paper = Config { flags: Flags::published(), ..Config::default() };
    let thesis = Config { flags: Flags::thesis(), ..Config::default() };
    let v2 = Config { flags: Flags { v2_skip_digest: true, ..Flags::thesis() }, ..Config::default() };
    let variant = Entry::variant::<Hbft>;
    vec![
        Entry::of::<Hbft>(),
        variant("hbft-5f1", "hBFT, repaired with more replicas: commits with 4f+1 of 5f+1", &five_f),
        variant("hbft-paper", "hBFT as its paper describes it, bugs included", &paper),
        variant("hbft-thesis", "hBFT as Birke's thesis implements it (V1), bugs included", &thesis),
        variant("hbft-v2", "hbft-thesis with a seeded bug: checkpoints are compared only by number", &v2),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn key(view: u32, slot: u32, phase: u8) -> RoundKey {
        RoundKey { view: View(view), slot: Slot(slot), phase }
    }

    #[test]
    fn rounds_are_counted_as_the_thesis_does_or_as_byzzbench_does() {
        // By name: PREPARE and COMMIT of slots 1 and 2, a CHECKPOINT, a VIEW-CHANGE, a REPLY.
        let keys = [
            key(1, 1, 1),
            key(1, 1, 2),
            key(1, 2, 1),
            key(1, 2, 2),
            key(1, 2, 4),
            key(2, 0, 5),
            key(1, 1, 3),
        ];
        assert_eq!(keys.map(Hbft::number), [1, 2, 3, 4, 2, 2, 0]);
        // By counting: three rounds to a slot, and one for a new view.
        assert_eq!(Hbft::advance(key(1, 1, 1), key(1, 2, 1)), 3);
        assert_eq!(Hbft::advance(key(1, 1, 2), key(1, 1, 4)), 2);
        assert_eq!(Hbft::advance(key(1, 4, 4), key(2, 0, 5)), 1);
        assert_eq!(Hbft::number(key(u32::MAX, u32::MAX, 1)), u32::MAX - 1);
    }

    #[test]
    fn sizes_follow_from_the_number_of_replicas() {
        let sizes = |config: Config, n, f| {
            let cluster = Cluster { n, f, ..Cluster::default() };
            [config.fast(&cluster), config.quorum(&cluster), config.votes(&cluster)]
        };
        let (three, five) = (Config::default(), Config { five_f: true, ..Config::default() });
        assert_eq!(
            (sizes(three, 4, 1), sizes(three, 7, 2), sizes(three, 5, 1)),
            ([4, 3, 2], [7, 5, 3], [5, 4, 2])
        );
        assert_eq!((sizes(five, 6, 1), sizes(five, 11, 2)), ([5, 5, 3], [9, 9, 5]));
    }
}
