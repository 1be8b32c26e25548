//! Where FaB as published, or as implemented, deviates from the protocol that is live and safe.

turncoat_core::flags! {
    /// Deviations from the repaired FaB. Each is read where the rule is that it breaks.
    pub struct Flags {
        pfab_vouch_conflict: "enough reports of one value and a commit proof of another forbid each other: no value is left [published]",
        no_reelection: "nobody suspects the leader of a later view than the first",
        leader_retries: "a leader for whom no value is left looks again when one more REP arrives: a remedy, no bug",
        skip_vouch: "acceptors accept in later views whatever the progress certificate says [seeded]",
        count_duplicates: "a learner counts ACCEPTEDs, not acceptors [seeded]",
        pn_not_checked: "a learner counts ACCEPTEDs of one value over all views",
        seq_reset_on_view_change: "a new view starts again with instance 1",
    }
}
