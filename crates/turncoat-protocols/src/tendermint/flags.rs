//! Where a Tendermint can go wrong: one rule broken by each flag.

turncoat_core::flags! {
    /// Deviations from Tendermint. Each is read where the rule is that it breaks.
    pub struct Flags {
        no_relay: "nobody passes on what it hears",
        forget_lock: "a new round begins without a lock",
        unlock_on_nil: "a quorum of nil prevotes releases the lock",
        early_lock: "only a quorum of prevotes seen in its own round moves a lock, and who proposes again proposes its own",
        vr_unchecked: "nobody asks for the prevotes of the round that a re-proposal names",
        vr_future: "a re-proposal may name its own round or a later one, and is then believed",
        lock_lt: "a re-proposal has to name a later round than that of the lock, also if it is of the locked value",
        quorum_ge: "a quorum is 2W/3 or more, rounded down, not more than 2W/3",
        count_dup: "votes are counted, not voters",
        equivocation_double: "who votes for two values counts twice when all votes are counted",
        skip_no_f1: "one message of a later round is enough to go there",
        proposer_unchecked: "proposals are accepted from anybody",
        no_hash_check: "nobody compares a block with the id that is voted on",
        stale_timeout: "a timeout of an earlier round or height counts in the present one",
        decide_current_only: "precommits of other rounds than the present one decide nothing",
        decide_mixed_rounds: "precommits of several rounds are counted together",
        drop_future_height: "messages of later heights are not kept",
    }
}
