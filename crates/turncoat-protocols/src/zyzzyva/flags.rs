//! Where Zyzzyva as published, or as implemented, deviates from the corrected protocol; and rules of ours left out.
//!
//! Two rules have no flag, for they only seem to matter: that an old certificate is answered only if it is covered, and that
//! CHECKPOINTs count by their view. Of the 2f+1 who vouch for a slot one has a vote in every V, so that each G reaches that
//! slot, and the VIEW-CONFIRMs of the view cover it.

turncoat_core::flags! {
    /// Deviations. Each is read where the rule is that it breaks.
    pub struct Flags {
        cc_ignores_view: "a NEW-VIEW follows the certificate for the highest number, of whatever view",
        commit_on_cc: "a replica takes for final what a client's certificate shows",
        stable_fplus1: "a checkpoint is stable with f+1 CHECKPOINTs",
        cc_highest_n: "of two certificates the one with the higher number is kept, of whatever view",
        no_confirm_cert: "2f+1 VIEW-CONFIRMs are no certificate",
        reconcile_early: "a replica takes over a NEW-VIEW's log at once, whatever is final, not after 2f+1 VIEW-CONFIRMs",
        xor_history: "a history is the sum of its requests, in whatever order",
        no_new_view_relay: "nobody relays a NEW-VIEW, so that nobody sees two of one view",
        tc_stops_at_order: "a replica waits for the order of a request, not for a certificate, and asks the primary alone",
        no_stable_proof: "nobody shows a stable checkpoint to who asks for something that is behind it",
        no_pom_from_cc: "a certificate that contradicts an order accuses nobody",
    }
}
