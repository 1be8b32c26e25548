//! Where Zyzzyva as published, or as implemented, deviates from the corrected protocol; and rules of ours left out.
//!
//! Two rules have no flag, for they only seem to matter: that an old certificate is answered only if it is covered, and that
//! CHECKPOINTs count by their view. Of the 2f+1 who vouch for a slot one has a vote in every V, so that each G reaches that
//! slot, and the VIEW-CONFIRMs of the view cover it.

turncoat_core::flags! {
    /// Deviations. Each is read where the rule is that it breaks.
    pub struct Flags {
        cc_ignores_view: "a NEW-VIEW follows the certificate with the highest number, whatever its view",
        commit_on_cc: "a replica treats everything that a client's certificate covers as final",
        stable_fplus1: "f+1 CHECKPOINTs make a checkpoint stable",
        cc_highest_n: "of two certificates the one with the higher number is kept, whatever its view",
        no_confirm_cert: "2f+1 VIEW-CONFIRMs do not count as a certificate",
        reconcile_early: "a replica adopts a NEW-VIEW's log at once, even over final requests, not after 2f+1 VIEW-CONFIRMs",
        xor_history: "a history does not depend on the order of its requests",
        no_new_view_relay: "NEW-VIEWs are not relayed, so two for the same view go unnoticed",
        tc_stops_at_order: "a replica waits for a request to be ordered, not certified, and asks only the primary",
        no_stable_proof: "a replica with an older stable checkpoint is not shown the current one when it asks for something",
        no_pom_from_cc: "a certificate that contradicts an order does not prove misbehaviour",
    }
}
