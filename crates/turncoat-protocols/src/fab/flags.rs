//! Where FaB as published, or as implemented, deviates from the protocol that is live and safe.

turncoat_core::flags! {
    /// Deviations from the repaired FaB. Each is read where the rule is that it breaks.
    pub struct Flags {
        pfab_vouch_conflict: "3.5: many reports and a commit proof forbid each other's value, whatever their views [published]",
        no_reelection: "3.4: nobody suspects the leader of a later view than the first",
        leader_retries: "3.5: a leader for whom no value is left looks again when one more REP arrives: a remedy, no bug",
        skip_vouch: "3.2: acceptors accept in later views whatever the progress certificate says [seeded]",
        count_duplicates: "3.3: a learner counts ACCEPTEDs, not acceptors [seeded]",
        pn_not_checked: "3.3: a learner counts ACCEPTEDs of one value over all views",
        seq_reset_on_view_change: "3.6: a new view starts again with instance 1",
    }
}
