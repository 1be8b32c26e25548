//! Where a Tendermint can go wrong: one rule broken by each flag.

turncoat_core::flags! {
    /// Deviations from Tendermint. Each is read where the rule is that it breaks.
    pub struct Flags {
        no_relay: "messages are not relayed",
        forget_lock: "the lock is dropped at the start of each round",
        unlock_on_nil: "a quorum of nil prevotes releases the lock",
        early_lock: "only a quorum of prevotes seen in its own round moves a lock, and a proposer re-proposes only what it locked",
        vr_unchecked: "a re-proposal is accepted without the prevotes of the round that it names",
        vr_future: "a re-proposal may name its own round or a later one, and is then accepted without prevotes",
        lock_lt: "a re-proposal has to name a later round than the lock's, even if it is for the locked value",
        quorum_ge: "a quorum is at least 2W/3, rounded down, instead of more than 2W/3",
        count_dup: "votes are counted, not voters",
        equivocation_double: "a replica that votes for two values counts twice in the total of all votes",
        skip_no_f1: "one message from a later round is enough to skip to it",
        proposer_unchecked: "proposals are accepted from any replica",
        no_hash_check: "a block is not compared with the id that is voted on",
        stale_timeout: "a timeout from an earlier round or height counts in the current one",
        decide_current_only: "only precommits of the current round can decide",
        decide_mixed_rounds: "precommits from different rounds are counted together",
        drop_future_height: "messages for later heights are discarded",
    }
}
