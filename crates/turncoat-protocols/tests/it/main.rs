//! Stories of the protocols, runs at random, and their tables of lies.

mod by_hand;
mod chain;
mod crafted;
mod mutations;
mod stage;
mod stances;

mod fab {
    mod attacks;
    mod normal;
    mod random;
    mod stage;
    mod views;
}

mod hbft {
    mod attacks_published;
    mod attacks_rules;
    mod checkpoints;
    mod normal;
    mod random;
    mod stage;
    mod view_change;
}

mod hotstuff {
    mod attacks;
    mod basic;
    mod chained;
    mod fast;
    mod liars;
    mod random;
    mod stances;
    mod sync;
    mod two_phase;
    mod two_phase_chained;
}

mod pbft {
    mod attacks_liveness;
    mod attacks_numbers;
    mod attacks_requests;
    mod attacks_slots;
    mod attacks_views;
    mod checkpoints;
    mod liars;
    mod normal;
    mod random;
    mod reads;
    mod view_change;
    mod waiting;
}

mod tendermint {
    mod attacks_liveness;
    mod attacks_safety;
    mod gossip;
    mod normal;
    mod random;
    mod stage;
}

mod xrpl {
    mod attacks;
    mod normal;
    mod random;
    mod settings;
    mod stage;
}

mod zyzzyva {
    mod attacks;
    mod normal;
    mod random;
    mod stage;
    mod view_change;
}
