//! Fast-HotStuff (Jalalzai, Niu and Feng, 2020), pipelined: n = 3f+1, a two-chain decides.
//!
//! As in chained HotStuff, votes for the block of view v go to the leader of view v+1. There are no locks. Instead a
//! leader has to show that its block extends the highest certificate that matters: either the certificate is of the
//! view before; or, after a timeout, an AggQC comes with the block, the signed reports (NEW-VIEW) of 2f+1 replicas, and
//! the block extends the highest certificate among them. A replica votes in each view once, and in none that it has
//! given up. Who learns a certificate for b1, the child of b0 in the view after, decides b0.
//!
//! The authors of Twins (2021) found that an implementation which does not compare these views is unsafe; no replica has to
//! lie for that (`chain2-no-consecutive-views`, the variant `fast-hotstuff-vulnerable`).

use turncoat_core::prelude::*;

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
        vote_not_monotone: "a replica votes as often in a view as it is asked to",
        vote_after_timeout: "a replica votes in views that it has given up",
        chain2_no_consecutive_views: "a two-chain decides whatever the views of its blocks",
        agg_not_max: "any certificate of an AggQC will do, not only the highest",
        agg_block_unchecked: "a block with an AggQC may extend anything",
        agg_quorum_minus_one: "an AggQC of 2f reports will do",
        agg_no_dedup: "an AggQC is made of reports, not of reporters",
        agg_mixed_views: "an AggQC may have reports of other views",
        tc_quorum_low: "f TIMEOUTs are enough to leave a view",
    }
}

/// Its parameters.
pub type Config = super::pipeline::Config<Flags>;

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
    let about = "Fast-HotStuff that does not compare the views of a two-chain: unsafe without any liar";
    vec![
        Entry::of::<FastHotStuff>(),
        Entry::variant::<FastHotStuff>("fast-hotstuff-vulnerable", about, &vulnerable),
    ]
}
