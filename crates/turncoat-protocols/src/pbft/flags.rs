//! Where pbft-java, the implementation that ByzzFuzz and ByzzBench test, deviates from PBFT.
//!
//! What the Java does beyond that is left out: timeouts grow linearly within a view change, a replica votes for a view
//! more than once, a second NEW-VIEW may start the same view again, and h may fall.

turncoat_core::flags! {
    /// Deviations from PBFT. Each is read where the rule is that it breaks.
    ///
    /// `orders_old_requests` breaks nothing by itself: with it alone, no run of 40,000 violates anything (10,000 each of portfolio,
    /// byzzfuzz, random and two-faced). A story shows what it changes.
    pub struct Flags {
        const_digest: "all requests have the same digest",
        no_request_auth: "client signatures are not checked",
        slot_ignores_digest: "replicas vote for a second proposal with the same number, but execute the first",
        commit_ignores_digest: "COMMITs count regardless of their digest",
        votes_not_distinct: "votes are counted, not voters, and a PREPARE from the primary counts too",
        pp_from_anyone: "a PRE-PREPARE is accepted from anyone",
        forget_completed_slot: "a number is forgotten once executed: it can be proposed again, and late votes for it fill the log",
        primary_reassigns: "the primary gives a retransmitted request a new number",
        seq_not_synced: "a new primary continues numbering from its own last proposal",
        seq_zero: "the first number equals the low watermark, so no view change covers it",
        own_cert_lost: "the new primary's own VIEW-CHANGE contains no certificates",
        cert_view_ignored: "the last certificate for a number wins, not the one from the highest view",
        min_s_minimum: "O starts at the lowest checkpoint, and reaches at least the highest h that any vote claims",
        vc_unchecked: "the content of a VIEW-CHANGE is not checked",
        nv_unchecked: "a NEW-VIEW is not checked, and its receiver clears the log before reading it",
        nulls_skipped: "backups do not vote for the null requests of a NEW-VIEW",
        join_does_not_freeze: "a replica that joins a view change keeps voting in the old view",
        join_counts_votes: "a replica joins a view change after f+1 votes, even from fewer than f+1 replicas",
        no_buffer_no_rtx: "messages that arrive early are not kept, and lost ones are not retransmitted",
        timers_cleared: "entering a new view discards pending requests and their timers",
        no_reply_resend: "a request that is retransmitted after its execution is not answered",
        reply_cache_gc: "a stable checkpoint deletes the stored replies up to it",
        exec_out_of_order: "committed requests are executed at once, whatever the order of their numbers",
        checkpoint_unchecked: "CHECKPOINTs count regardless of sender and digest, and no replica fetches state",
        no_exec_dedupe: "a request is executed each time it is committed",
        client_quorum_2f1: "clients wait for 2f+1 equal replies, not for f+1",
        frozen_drops_requests: "a replica that waits for a new view drops REQUESTs",
        timer_from_request: "a request's timer starts with the REQUEST, also at the primary, and not with a PRE-PREPARE",
        timeouts_reset: "each new view begins with the shortest timeout",
        orders_old_requests: "a request is ordered even if a later one of its client was executed",
        old_views_kept: "a NEW-VIEW repeats PRE-PREPAREs with the views in which they were first sent",
    }
}
