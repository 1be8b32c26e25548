//! Where hBFT as published, or as implemented, deviates from the protocol that is safe.

turncoat_core::flags! {
    /// Deviations from the repaired hBFT. Each is read where the rule is that it breaks.
    pub struct Flags {
        two_step_3f1: "COMMITs of a quorum commit, and so many replies complete, though n = 3f+1 [published]",
        leave_disgruntled_on_checkpoint: "a stable checkpoint ends a view change that is under way [published]",
        v2_skip_digest: "checkpoints are compared by number alone; the message that completes a quorum has its way [seeded]",
        quorum_2f1_any_n: "a quorum is 2f+1, also if n > 3f+1",
        nv_immediate_commit: "what a NEW-VIEW carries over is committed on receipt [published]",
        paper_commit_window: "COMMITs count for the last slot accepted and the next one alone [published]",
        no_view_change_timer: "nobody waits for a NEW-VIEW in vain: there is no timer for it [published]",
        null_reuses_seq: "NULLs at the end of a NEW-VIEW take no number",
        panic_first: "the first PANIC stops a replica and starts the checkpoint, or the timer for it",

        new_view_below_vote: "R7: a NEW-VIEW is accepted also by who has voted for a later view [published]",
        clear_spec_on_new_view: "R8: what a NEW-VIEW carries over is not in R of the next VIEW-CHANGE [published]",
        forget_nulls: "R6: NULLs are not in R [published]",
        cer1_commits: "R4: CER1 commits [published]",
        changing_votes_checkpoint: "R4: who wants a new view still sends CHECKPOINT-II and -III [published]",
        votes_without_view: "R7: votes in R count whatever their view, and any P beats any vote [published]",
        certificate_needs_all: "R7: P counts only if all have the same one, of their view, and f+1 the Q of it [published]",
        base_own_stable: "R7: the new view starts from the last stable checkpoint of its primary",
        new_view_duplicates: "R7: a request may stand twice in a NEW-VIEW [published]",
        replies_any_view: "R10: replies of several views count together [published]",
        panic_without_request: "R10: a PANIC has a digest alone, which who has lost the request ignores [published]",
        certificate_of_view_only: "R6: P is only what was certified in the view that ends [published]",
        checkpoint_over_hole: "R1: f+1 COMMITs are accepted at any number, above a hole too",

        commit_log: "R3: checkpoints, started by commits, are of the commit log, NULLs and holes left out [published]",
        checkpoint_without_view: "R4: checkpoints count together whatever their view [published]",
        early_dropped: "R1: what comes before its slot or view, or during a view change, is lost [published]",
        no_final_replies: "R10: replies do not say that they are final [published]",
        vc_unchecked: "R6: the content of a VIEW-CHANGE needs no proof [published]",
        primary_never_waits: "R5: the primary does not wait for its own checkpoints to be stable [published]",
        vc_timer_at_sending: "R5: who wants a new view waits for nobody, and then wants the next [published]",
    }
}

impl Flags {
    /// hBFT as its paper and thesis have it.
    pub(super) const fn published() -> Self {
        Self {
            v2_skip_digest: false,
            quorum_2f1_any_n: false,
            paper_commit_window: false,
            no_view_change_timer: false,
            null_reuses_seq: false,
            panic_first: false,
            ..Self::all()
        }
    }
}
