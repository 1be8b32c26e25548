//! Where pbft-java, the implementation that ByzzFuzz and ByzzBench test, deviates from PBFT. B1 to B26 in order.

turncoat_core::flags! {
    /// Deviations from PBFT. Each is read where the rule is that it breaks.
    pub struct Flags {
        /// The digest of every request is the same.
        const_digest,
        /// Nobody looks at the client's signature of a request.
        no_request_auth,
        /// A second PRE-PREPARE for a number is voted for, the first request executed; PREPAREs count whatever their digest.
        slot_ignores_digest,
        /// COMMITs count whatever their digest.
        commit_ignores_digest,
        /// Votes are counted, not voters; the primary's PREPARE is one.
        votes_not_distinct,
        /// A PRE-PREPARE is accepted from anybody.
        pp_from_anyone,
        /// An executed number is forgotten and may be proposed anew; late votes for it fill the primary's table.
        forget_completed_slot,
        /// A request that comes again gets a new number, and its copies share one place for their certificate.
        primary_reassigns,
        /// A new primary counts on from its own last proposal, not from where the others are.
        seq_not_synced,
        /// The first number equals the low watermark: no VIEW-CHANGE and no NEW-VIEW covers it.
        seq_zero,
        /// The VIEW-CHANGE of the new primary itself has no certificates.
        own_cert_lost,
        /// Of two certificates for a number the last one in the list wins, not the one of the highest view.
        cert_view_ignored,
        /// O starts at the lowest checkpoint of the votes, not at the highest, and ends at the highest h that anyone claims.
        min_s_minimum,
        /// The content of a VIEW-CHANGE is not checked.
        vc_unchecked,
        /// A NEW-VIEW is not checked, and clears the log before a look at its votes.
        nv_unchecked,
        /// Backups do not vote for the null requests of a NEW-VIEW.
        nulls_skipped,
        /// Who joins a view change goes on voting in the old view.
        join_does_not_freeze,
        /// Who joins a view change counts votes, not voters.
        join_counts_votes,
        /// What comes too early is not kept, what is lost is not sent again.
        no_buffer_no_rtx,
        /// A new view forgets the requests that wait, and with them their timers.
        timers_cleared,
        /// A request that comes again after its execution is not answered.
        no_reply_resend,
        /// A stable checkpoint deletes the replies up to it, and with them the memory of what was executed.
        reply_cache_gc,
        /// What is committed is executed at once, lower numbers or not.
        exec_out_of_order,
        /// CHECKPOINTs are counted whoever sends them and whatever they say, and there is no state transfer.
        checkpoint_unchecked,
        /// A request is executed as often as it is committed.
        no_exec_dedupe,
        /// Clients wait for 2f+1 equal replies, not for f+1 (the read-only optimisation, Berger et al. 2021).
        client_quorum_2f1,
    }
}
