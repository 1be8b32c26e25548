//! Chained HotStuff (Yin et al., PODC '19): one generic phase, n = 3f+1, certificates that count for several blocks.
//!
//! The leader of a view proposes a block, which carries the certificate of an earlier one; replicas send their votes to
//! the *next* leader, whose proposal carries the new certificate. So each proposal is one phase of the blocks before it.
//! On a proposal b*, whose certificate is of b'', whose certificate is of b', whose certificate is of b: b'' is
//! prepared, b' is locked (a two-chain), and b is decided (a three-chain) if these are direct children in consecutive
//! views. A replica votes for what is safe, as in the basic protocol, and in each view once. After a timeout the leader
//! needs the reports (NEW-VIEW) of 2f+1 replicas.
//!
//! The paper fills views without a block with dummy blocks; without them the views of a three-chain have to be
//! compared. An implementation that did not was found to be unsafe (relab/hotstuff, issue 249).
//!
//! **Two phases** (`phases = 2`). A two-chain decides, and a one-chain locks: a replica is locked on the block that the
//! proposal before it certifies. This is the pipelined form of HotStuff with two phases, and it has the same flaw: it is safe,
//! but a leader that hears of 2f+1 replicas may miss the highest lock ("Liveness checking of the HotStuff protocol
//! family", PRDC '23). Who refuses a block and who is locked on it then takes turns. The remedies are the same too: the
//! third phase, or a leader that waits until all correct replicas have reported (`wait`). Without the second half of the
//! rule for safe blocks (`sticky`) a replica leaves its lock for nothing but a descendant of it, and conflicting locks
//! stay forever.
//!
//! A decision takes four correct leaders in a row, three for the chain and one who collects the last votes. With n = 4 and
//! a silent replica there are never more than three, and nothing is ever decided: the protocol is as it is.

use turncoat_core::prelude::*;

use super::pacemaker::Pace;
use super::{alike, paced};

mod messages;
mod replica;

pub use messages::Msg;
pub use replica::Replica;

/// The protocol.
#[derive(Debug)]
pub struct Chained;

super::flags::family_flags! {
    /// Deviations from chained HotStuff. Each is read where the rule is that it breaks.
    pub struct Flags {
        vote_not_monotone: "a replica may vote several times in one view",
        vote_after_timeout: "a replica votes in views that it has left",
        no_safe_node: "every block counts as safe",
        no_lock_update: "replicas never lock",
        chain3_no_consecutive_views: "a chain decides even if the views of its blocks are not consecutive",
        tc_quorum_low: "f TIMEOUTs are enough to leave a view",
        sticky: "a block is safe only if it extends the lock, and no other certificate changes the lock",
    }
}

turncoat_core::config! {
    /// Parameters; times are in ticks.
    pub struct Config {
        /// The bound on message delays that timeouts count on.
        pub delta: Time = Time(20),
        /// How many times the time for a view may double; at first it is ten deltas.
        pub doublings: u32 = 6,
        /// How replicas leave a view in which nothing happens.
        pub pacemaker: Pace = Pace::Tc,
        /// Blocks in the chain that decides, 3 or 2.
        pub phases: u8 = 3,
        /// Whether the leader waits two deltas before it chooses among the certificates reported.
        pub wait: bool = false,
        /// The bug flags that are on.
        pub flags: Flags = Flags::default(),
    }
}

impl Protocol for Chained {
    const NAME: &'static str = "hotstuff-chained";
    const ABOUT: &'static str = "chained HotStuff: a block is decided when it heads a three-chain";
    const MARKS: &'static [&'static str] = &["timeout", "fetch", "refuse", "unlock"];

    alike::protocol! {
        /// Three rounds to a view: NEW-VIEW, PROPOSAL, VOTE.
        number = 3
    }

    fn assumes(_: &Config) -> Assumptions {
        Assumptions::FAIR_LOSSY
    }

    fn validate(config: &Config) -> Result<(), String> {
        paced(config.delta, config.doublings)?;
        ensure(matches!(config.phases, 2 | 3), "`phases` is 2 or 3")
    }
}

alike::paced!(Chained);

/// The protocol and its named variants.
pub fn entries() -> Vec<Entry> {
    let two_phase = Config { phases: 2, ..Config::default() };
    let sticky = Config { flags: Flags { sticky: true, ..Flags::default() }, ..two_phase };
    let fixed = Config { wait: true, ..two_phase };
    let variant = Entry::variant::<Chained>;
    vec![
        Entry::of::<Chained>(),
        variant(
            "hotstuff-two-phase-chained",
            "chained HotStuff in which a two-chain decides: one liar can stall it forever",
            &two_phase,
        ),
        variant(
            "hotstuff-two-phase-chained-sticky",
            "chained HotStuff with two phases and no way out of a lock: it gets stuck",
            &sticky,
        ),
        variant(
            "hotstuff-two-phase-chained-fixed",
            "chained HotStuff with two phases and leaders that give all replicas time to report",
            &fixed,
        ),
    ]
}
