//! What runs show of a protocol beyond their outcome: whether its messages and nodes are as the kernel needs them, and
//! whether its nodes survive nonsense. For those who check a protocol before they fuzz it; no campaign comes by here.

use std::collections::BTreeSet;

use crate::ids::SeatName;

/// What the messages and nodes of some runs were like, added up.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// The messages, by kind.
    pub kinds: Vec<Kind>,
    /// What is wrong with nodes, each thing once.
    pub wrong: BTreeSet<String>,
    /// What nodes cannot do, and need not, each thing once.
    pub unable: BTreeSet<String>,
    /// Crafted lies that forged a signature or could not be read back, each thing once: there must be none.
    pub forged: BTreeSet<String>,
    /// The hashes of the states at the end of the last run, where nodes show them.
    pub states: Vec<(SeatName, u64)>,
}

/// What the messages of one kind were like.
#[derive(Clone, Debug, Default)]
pub struct Kind {
    /// How many there were.
    pub seen: u64,
    /// The first that was written and read, and came back otherwise or not at all.
    pub unfaithful: Option<String>,
    /// Of each row of its mutation table: whether it has changed a message.
    pub changed: Vec<bool>,
}

/// The effect of nonsense, added up over runs: messages of each kind with random content or flipped bits, which a liar
/// sends to all correct nodes.
#[derive(Clone, Debug, Default)]
pub struct Nonsense {
    /// How many messages of each kind to send, for the kinds that the run sends at all.
    pub wanted: u64,
    /// How many there were, by kind.
    pub told: Vec<u64>,
    /// The first crash of a correct node, by the kind of the last message before it.
    pub crashes: Vec<Option<String>>,
}
