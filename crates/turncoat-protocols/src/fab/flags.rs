//! Where FaB as published, or as implemented, deviates from the protocol that is live and safe.

turncoat_core::flags! {
    /// Deviations from the repaired FaB. Each is read where the rule is that it breaks.
    pub struct Flags {
        pfab_vouch_conflict: "enough reports of one value and a commit proof of another rule each other out: no value is left [published]",
        no_reelection: "only the leader of the first view is ever suspected",
        leader_retries: "a leader with no value left tries again when another REP arrives (a remedy, not a bug)",
        skip_vouch: "acceptors ignore the progress certificate in later views [seeded]",
        count_duplicates: "a learner counts ACCEPTEDs, not acceptors [seeded]",
        pn_not_checked: "a learner counts ACCEPTEDs for one value across all views",
        seq_reset_on_view_change: "a new view starts over at instance 1",
    }
}
