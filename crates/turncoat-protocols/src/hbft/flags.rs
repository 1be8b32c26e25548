//! Where hBFT as published, or as implemented, deviates from the protocol that is safe.

turncoat_core::flags! {
    /// Deviations from the repaired hBFT. Each is read where the rule is that it breaks. `[published]` are those of the paper,
    /// `[thesis]` those of Birke's implementation, which decides what the paper leaves open.
    ///
    /// `panic_first`, `vc_timer_at_sending` and `new_view_without_commits` break nothing by themselves: with one of them, no run of
    /// 40,000 violates anything (10,000 each of portfolio, byzzfuzz, random and two-faced). Each has a story that shows what it changes.
    pub struct Flags {
        two_step_3f1: "a quorum of COMMITs commits, and a quorum of replies completes, although n = 3f+1 [published]",
        leave_disgruntled_on_checkpoint: "a stable checkpoint ends a view change in progress [thesis]",
        v2_skip_digest: "checkpoints are compared only by number; the message that completes a quorum determines the content [seeded]",
        quorum_2f1_any_n: "a quorum is 2f+1 even if n > 3f+1 [published]",
        nv_immediate_commit: "everything that a NEW-VIEW carries over is committed on receipt [thesis]",
        paper_commit_window: "COMMITs count only for the last accepted slot and the next one [published]",
        no_view_change_timer: "there is no timer for a NEW-VIEW that never arrives [published]",
        null_reuses_seq: "NULLs at the end of a NEW-VIEW use up no number",
        panic_first: "the first PANIC stops a replica and starts the checkpoint, or the timer for it",

        new_view_below_vote: "R7: a replica accepts a NEW-VIEW even after voting for a later view [thesis]",
        clear_spec_on_new_view: "R8: slots that a NEW-VIEW carries over are left out of R in the next VIEW-CHANGE [thesis]",
        new_view_without_commits: "R8: a replica sends no COMMITs for what a NEW-VIEW carries over [thesis]",
        forget_nulls: "R6: NULLs are left out of R [thesis]",
        cer1_commits: "R4: CER1 is enough to commit [thesis]",
        changing_votes_checkpoint: "R4: a replica that wants a new view still sends CHECKPOINT-II and -III [published]",
        votes_without_view: "R7: votes in R count regardless of their view, and any P beats any vote [published]",
        certificate_needs_all: "R7: P counts only if all VIEW-CHANGEs have the same one, from their view, and f+1 the matching Q [published]",
        base_own_stable: "R7: the new view starts from its primary's last stable checkpoint [thesis]",
        new_view_duplicates: "R7: a request may appear twice in a NEW-VIEW [published]",
        replies_any_view: "R10: replies from different views count together [published]",
        panic_without_request: "R10: a PANIC carries only a digest, and replicas that lost the request ignore it [published]",
        certificate_of_view_only: "R6: P is only a certificate from the view that ends [published]",
        checkpoint_over_hole: "R1, R4: values with f+1 COMMITs, or of a CER1, are accepted at any number, even above a hole [thesis]",

        commit_log: "R3: checkpoints are started by commits and cover the commit log, without NULLs and holes [thesis]",
        checkpoint_without_view: "R4: checkpoints from different views count together [thesis]",
        early_dropped: "R1: messages that arrive before their slot or view, or during a view change, are dropped [published]",
        no_final_replies: "R10: replies are never marked as final [published]",
        vc_unchecked: "R6, R7: the certificates in a VIEW-CHANGE and in a NEW-VIEW are not checked [published]",
        primary_never_waits: "R5: the primary does not wait for its own checkpoints to be stable [published]",
        checkpoint_timer_ends_early: "R5: whoever accepts a CHECKPOINT-I stops waiting for the checkpoint [published]",
        vc_timer_at_sending: "R5: the timer for a new view starts with the VIEW-CHANGE, so a lone replica can run ahead [thesis]",
    }
}

impl Flags {
    /// hBFT as Birke's thesis has it: V1.
    pub(super) const fn thesis() -> Self {
        Self {
            v2_skip_digest: false,
            paper_commit_window: false,
            no_view_change_timer: false,
            null_reuses_seq: false,
            panic_first: false,
            ..Self::all()
        }
    }

    /// hBFT as its paper has it; what that leaves open is as in the thesis.
    pub(super) const fn published() -> Self {
        Self {
            paper_commit_window: true,
            no_view_change_timer: true,
            vc_timer_at_sending: false,
            ..Self::thesis()
        }
    }
}
