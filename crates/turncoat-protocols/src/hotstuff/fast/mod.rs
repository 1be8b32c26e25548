//! Fast-HotStuff (Jalalzai, Niu and Feng, 2020), pipelined: n = 3f+1, a two-chain decides.
//!
//! As in chained HotStuff, votes for the block of view v go to the leader of view v+1. There are no locks. Instead a
//! leader has to show that its block extends the highest certificate that matters: either the certificate is of the
//! view before; or, after a timeout, an AggQC comes with the block, the signed reports (NEW-VIEW) of 2f+1 replicas, and
//! the block extends the highest certificate among them. A replica votes in each view once, and in none that it has
//! given up. A replica that learns a certificate for b1, the child of b0 in the view after, decides b0.
//!
//! The authors of Twins (2021) found that an implementation which does not compare these views is unsafe; no replica has to
//! lie for that (`chain2-no-consecutive-views`, the variant `fast-hotstuff-vulnerable`).

use turncoat_core::prelude::*;

use super::pacemaker::Pace;
use super::{alike, paced};

mod messages;
mod replica;

pub use messages::Msg;
pub use replica::Replica;

/// The protocol.
#[derive(Debug)]
pub struct FastHotStuff;

super::flags::family_flags! {
    /// Deviations from Fast-HotStuff. Each is read where the rule is that it breaks.
    pub struct Flags {
        vote_not_monotone: "a replica may vote several times in one view",
        vote_after_timeout: "a replica votes in views that it has given up",
        chain2_no_consecutive_views: "a two-chain decides even if the views of its blocks are not consecutive",
        agg_not_max: "a block may extend any certificate in an AggQC, not only the highest",
        agg_block_unchecked: "a block with an AggQC may extend any certified block",
        agg_quorum_minus_one: "2f reports are enough for an AggQC",
        agg_no_dedup: "an AggQC counts reports, not reporters",
        agg_mixed_views: "an AggQC may contain reports from other views",
        tc_quorum_low: "f TIMEOUTs are enough to leave a view",
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
        /// The bug flags that are on.
        pub flags: Flags = Flags::default(),
    }
}

impl Protocol for FastHotStuff {
    const NAME: &'static str = "fast-hotstuff";
    const ABOUT: &'static str = "Fast-HotStuff, pipelined: a block is decided when it heads a two-chain";
    const MARKS: &'static [&'static str] = &["timeout", "fetch", "agg-qc"];

    alike::protocol! {
        /// Three rounds to a view: NEW-VIEW, PROPOSAL, VOTE.
        number = 3
    }

    fn assumes(_: &Config) -> Assumptions {
        Assumptions::FAIR_LOSSY
    }

    fn validate(config: &Config) -> Result<(), String> {
        paced(config.delta, config.doublings)
    }
}

alike::paced!(FastHotStuff);

/// The protocol and its named variants.
pub fn entries() -> Vec<Entry> {
    let flags = Flags { chain2_no_consecutive_views: true, ..Flags::default() };
    let vulnerable = Config { flags, ..Config::default() };
    let about = "Fast-HotStuff that does not compare the views of a two-chain: unsafe even without liars";
    vec![
        Entry::of::<FastHotStuff>(),
        Entry::variant::<FastHotStuff>("fast-hotstuff-vulnerable", about, &vulnerable),
    ]
}
