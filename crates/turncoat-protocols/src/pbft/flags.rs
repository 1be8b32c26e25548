//! Where pbft-java, the implementation that ByzzFuzz and ByzzBench test, deviates from PBFT.
//!
//! What the Java does beyond that is left out: a NEW-VIEW repeats old PRE-PREPAREs with their old view, timeouts grow
//! linearly, a request's timer starts when the request arrives and not with its PRE-PREPARE, h may fall, and a request
//! that is older than one already executed is ordered nevertheless.

turncoat_core::flags! {
    /// Deviations from PBFT. Each is read where the rule is that it breaks.
    pub struct Flags {
        const_digest: "the digest of every request is the same",
        no_request_auth: "nobody looks at a client's signature",
        slot_ignores_digest: "a second proposal for a number is voted for, the first one executed",
        commit_ignores_digest: "COMMITs count whatever their digest",
        votes_not_distinct: "votes are counted, not voters, and a PREPARE of the primary counts too",
        pp_from_anyone: "a PRE-PREPARE is accepted from anybody",
        forget_completed_slot: "an executed number is forgotten: it may be proposed anew, and late votes for it fill the log",
        primary_reassigns: "a request that comes again gets a new number",
        seq_not_synced: "a new primary counts on from its own last proposal",
        seq_zero: "the first number is the low watermark: no view change covers it",
        own_cert_lost: "the VIEW-CHANGE of the new primary itself has no certificates",
        cert_view_ignored: "the last certificate for a number wins, not the one of the highest view",
        min_s_minimum: "O starts at the lowest checkpoint, and ends at the highest h that anyone claims",
        vc_unchecked: "the content of a VIEW-CHANGE is not checked",
        nv_unchecked: "a NEW-VIEW is not checked, and its receiver clears the log before it reads it",
        nulls_skipped: "backups do not vote for the null requests of a NEW-VIEW",
        join_does_not_freeze: "who joins a view change goes on voting in the old view",
        join_counts_votes: "who joins a view change counts votes, not voters",
        no_buffer_no_rtx: "what comes early is not kept, what is lost is not sent again",
        timers_cleared: "a new view forgets the requests that wait, and their timers",
        no_reply_resend: "a request that comes again after its execution is not answered",
        reply_cache_gc: "a stable checkpoint deletes the replies up to it",
        exec_out_of_order: "what is committed is executed at once, in whatever order the numbers come",
        checkpoint_unchecked: "CHECKPOINTs are counted whoever sends them, and nobody fetches state",
        no_exec_dedupe: "a request is executed as often as it is committed",
        client_quorum_2f1: "clients wait for 2f+1 equal replies, not for f+1",
    }
}
