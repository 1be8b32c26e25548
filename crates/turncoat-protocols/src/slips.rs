//! Slips: mistakes that an implementer could make in the correct protocols, to measure how many of them turncoat finds.
//!
//! They exist only with the feature `mutants`, for `checks/mutants.sh`. Unlike a bug flag, a slip belongs to no configuration: at
//! most one is selected for the whole process, and no scenario names it. A rule asks for its slip with `slip!`, which is
//! `false` without the feature. Each slip has an attack that shows that it does harm, in `mutants/` of this crate.

/// Whether a slip is made. Without the feature `mutants`, none ever is.
#[cfg(not(feature = "mutants"))]
macro_rules! slip {
    ($name:literal) => {
        false
    };
}

/// Whether a slip is made: whether it was selected for this process.
#[cfg(feature = "mutants")]
macro_rules! slip {
    ($name:literal) => {
        $crate::slips::is_selected(const { $crate::slips::place($name) })
    };
}

pub(crate) use slip;

#[cfg(feature = "mutants")]
mod table {
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A mistake that can be selected.
    #[derive(Clone, Copy, Debug)]
    pub struct Slip {
        /// The protocol, and what the slip is called there: `pbft/last-number-dropped`.
        pub name: &'static str,
        /// What the implementer got wrong, in one line.
        pub about: &'static str,
    }

    impl Slip {
        /// The protocol whose code it is in.
        pub fn protocol(&self) -> &'static str {
            self.name.split('/').next().unwrap_or(self.name)
        }
    }

    const fn slip(name: &'static str, about: &'static str) -> Slip {
        Slip { name, about }
    }

    /// All slips, by family.
    pub const ALL: &[Slip] = &[
        slip(
            "hotstuff/sibling-of-lock",
            "a block also counts as safe if the lock extends its parent: the ancestry is checked the wrong way round",
        ),
        slip(
            "hotstuff/timer-not-restarted",
            "the timer of a view fires once: a TIMEOUT that is lost is not sent again",
        ),
        slip("hotstuff/votes-not-cleared", "votes of the last view are not cleared when the next one begins"),
        slip(
            "hotstuff-chained/first-gap-ignored",
            "of the views of a three-chain, those of the two older blocks are not compared",
        ),
        slip("hotstuff-chained/lock-too-old", "the lock is one block too old"),
        slip(
            "hotstuff-chained/lock-goes-back",
            "the lock follows every proposal, also to an older certificate",
        ),
        slip(
            "fast-hotstuff/missing-agg-accepted",
            "a block without an AggQC may extend a certificate of any view",
        ),
        slip(
            "fast-hotstuff/proposal-as-link",
            "a proposal counts as the second link of a two-chain before it is certified",
        ),
        slip(
            "fast-hotstuff/reports-not-cleared",
            "reports of earlier views are not cleared when a view begins",
        ),
        slip("sync-hotstuff/commit-after-delta", "a block is decided one delta after the vote, not two"),
        slip(
            "sync-hotstuff/proposal-not-passed-on",
            "a replica that votes for a proposal does not pass it on",
        ),
        slip(
            "sync-hotstuff/old-blame-cert",
            "a certificate of BLAMEs ends the present view even if it is of an earlier one",
        ),
        slip("sync-hotstuff/lock-not-raised", "the lock is not updated when a view begins"),
        slip("pbft/prepared-cleared", "a new view clears the certificates of prepared requests"),
        slip("pbft/new-view-counts-votes", "the VIEW-CHANGEs in a NEW-VIEW are counted, not their senders"),
        slip("pbft/no-new-view-timer", "no timer runs while a replica waits for a NEW-VIEW"),
        slip("pbft/last-number-dropped", "O ends one number too early"),
        slip("pbft/stable-with-few", "f+1 CHECKPOINTs make a checkpoint stable"),
        slip(
            "tendermint/polka-of-any-round",
            "the polka of a re-proposal may be of another round than the one it names",
        ),
        slip("tendermint/lock-round-ignored", "a polka of any round releases a lock, even an older one"),
        slip(
            "tendermint/precommits-must-agree",
            "the precommit timer waits for a quorum that agrees, not for any quorum",
        ),
        slip("tendermint/valid-round-omitted", "a re-proposal does not name the round of its polka"),
        slip("zyzzyva/few-local-commits", "a client completes with f+1 LOCAL-COMMITs"),
        slip("zyzzyva/speculation-unreported", "a VIEW-CHANGE reports only what a certificate covers"),
        slip("zyzzyva/reports-of-a-quorum", "a NEW-VIEW takes over an order only if 2f+1 votes report it"),
        slip("fab/one-report-too-many", "a value blocks all others only with more than f+t+1 reports"),
        slip("fab/accepts-twice", "an acceptor accepts a second value in one view"),
        slip("fab/accepted-forgotten", "an acceptor that enters a view forgets what it has accepted"),
        slip("hbft/commits-of-any-value", "COMMITs count for what was accepted, whatever they are for"),
        slip("hbft/last-slot-unreported", "R in a VIEW-CHANGE ends before the last accepted slot"),
        slip(
            "xrpl/validations-never-expire",
            "the branch that the network prefers also depends on validations from long ago",
        ),
        slip("xrpl/payments-unverified", "the signatures of payments in a peer's position are not checked"),
    ];

    /// The selected slip by its place in the table, from 1 on; 0 for none.
    static SELECTED: AtomicUsize = AtomicUsize::new(0);

    /// Selects a slip for the whole process, or none. Runs that are under way must have ended before.
    ///
    /// # Errors
    /// If there is no slip of that name.
    pub fn select(name: Option<&str>) -> Result<(), String> {
        let place = match name {
            None => 0,
            Some(name) => {
                let found = ALL.iter().position(|slip| slip.name == name);
                1 + found.ok_or_else(|| format!("no slip `{name}`; `turncoat list slips` lists them"))?
            }
        };
        SELECTED.store(place, Ordering::Relaxed);
        Ok(())
    }

    /// Whether the slip at this place of the table is selected.
    pub(crate) fn is_selected(place: usize) -> bool {
        SELECTED.load(Ordering::Relaxed) == place
    }

    /// The place of a slip in the table, from 1 on. A name that is not in the table does not compile.
    pub(crate) const fn place(name: &str) -> usize {
        let mut i = 0;
        while i < ALL.len() {
            if equal(ALL[i].name.as_bytes(), name.as_bytes()) {
                return i + 1;
            }
            i += 1;
        }
        panic!("a slip that is not in the table")
    }

    const fn equal(a: &[u8], b: &[u8]) -> bool {
        let mut i = 0;
        while i < a.len() && i < b.len() && a[i] == b[i] {
            i += 1;
        }
        i == a.len() && i == b.len()
    }
}

#[cfg(feature = "mutants")]
pub use table::*;
