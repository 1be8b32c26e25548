//! Where a rippled deviates from the one that is live and safe.
//!
//! `alone-is-consensus` breaks nothing by itself: ledgers that a replica closes in private are not validated by a quorum, and a
//! replica that has run ahead waits for the others. No search has found anything with it.

turncoat_core::flags! {
    /// Deviations. Each is read where the rule is that it breaks.
    pub struct Flags {
        validation_count_ignores_seq: "validations of a ledger count whatever ledger number they name [rippled before 1.10.0]",
        alone_is_consensus: "a replica that hears from nobody reaches consensus at once, not after a while [rippled 1.7.2]",
        nobody_on_genesis: "at the start no replica counts as being on the first ledger, so one validation can draw others away [rippled]",
        no_pause: "while nothing becomes final, replicas do not wait for those that lag behind [seeded]",
        open_ledger_first_seen_order: "payments stay in the order of arrival, even those that were voted out [seeded]",
    }
}
