//! Chained HotStuff (Yin et al., PODC '19): one generic phase, n = 3f+1, certificates that count for several blocks.
//!
//! The leader of a view proposes a block, which carries the certificate of an earlier one; replicas send their votes to
//! the *next* leader, whose proposal carries the new certificate. So each proposal is one phase of the blocks before it.
//! On a proposal b*, whose certificate is of b'', whose certificate is of b', whose certificate is of b: b'' is
//! prepared, b' is locked (a two-chain), and b is decided (a three-chain) if these are direct children in consecutive
//! views. A replica votes for what is safe, as in the basic protocol, and in each view once. After a timeout the leader
//! needs the reports (NEW-VIEW) of 2f+1 replicas.
//!
//! The paper fills views that bear no block with dummy blocks; without them the views of a three-chain have to be
//! compared. An implementation that did not was found to be unsafe (relab/hotstuff, issue 249).
//!
//! A decision takes four correct leaders in a row, three for the chain and one who collects the last votes. With n = 4 and
//! a silent replica there are never more than three, and nothing is ever decided: the protocol is as it is.

use turncoat_core::prelude::*;

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
        vote_not_monotone: "a replica votes as often in a view as it is asked to",
        vote_after_timeout: "a replica votes in views that it has left",
        no_safe_node: "any block is safe",
        no_lock_update: "replicas do not lock",
        chain3_no_consecutive_views: "a three-chain decides whatever the views of its blocks",
        tc_quorum_low: "f TIMEOUTs are enough to leave a view",
    }
}

/// Its parameters.
pub type Config = super::pipeline::Config<Flags>;

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
        paced(config.delta, config.doublings)
    }
}

alike::paced!(Chained);

/// The protocol.
pub fn entries() -> Vec<Entry> {
    vec![Entry::of::<Chained>()]
}
