//! What a sentence claims about a run, as data: a test asks the recording whether it is so.

use turncoat_core::grounds::Grounds;
use turncoat_core::hash::Digest;
use turncoat_core::ids::{NodeId, NodeSet, SeatName, Slot, View};
use turncoat_core::node::Waiting;
use turncoat_core::record::SentCopy;

/// Something that a sentence says has happened.
#[derive(Clone, Debug)]
pub enum Claim {
    /// Somebody decided a value, on these grounds.
    Decided {
        /// Who.
        seat: SeatName,
        /// Where.
        slot: Slot,
        /// What.
        id: Digest,
        /// When.
        step: u64,
        /// Why, if the sentence says so.
        grounds: Option<Grounds>,
    },
    /// Somebody decided nothing in a slot, or nothing at all, up to a step.
    Undecided(SeatName, Option<Slot>, u64),
    /// A vote was counted for the decision that somebody made at a step.
    Counted {
        /// Who counted.
        decider: SeatName,
        /// For which slot.
        slot: Slot,
        /// When it decided.
        step: u64,
        /// Who voted.
        voter: NodeId,
        /// The message with the vote.
        vote: Box<SentCopy>,
    },
    /// The votes counted name other values than the one decided.
    Miscounted(Box<SentCopy>, Digest),
    /// Two sets of voters have these in common.
    Common(NodeSet, NodeSet, NodeSet),
    /// There are fewer voters than a quorum.
    Few(NodeSet, usize),
    /// Whom a replica trusts.
    Trusts(NodeId, NodeSet),
    /// A message was sent.
    Sent(Box<SentCopy>),
    /// A message was handed over at a step.
    Received(Box<SentCopy>, u64),
    /// A message sent before a step had not been handed over by then, though it was not lost.
    Late(Box<SentCopy>, u64),
    /// A message was changed or made up by its sender.
    Lie(Box<SentCopy>),
    /// A message was withheld by its sender.
    Withheld(Box<SentCopy>),
    /// A message was lost on its way.
    Lost(Box<SentCopy>),
    /// A message was held back, or garbled.
    Delayed(Box<SentCopy>),
    /// A timer of somebody fired.
    Fired(SeatName, String, u64),
    /// Somebody waits for this at the end.
    Waits(SeatName, Waiting),
    /// Somebody is in this view at the end.
    InView(SeatName, View),
    /// Somebody is locked on this at the end.
    Locked(SeatName, Digest),
    /// The last decision of a correct replica is this one.
    LastDecision(SeatName, u64),
    /// No correct replica decided anything.
    NoDecision,
    /// From a step on the code of somebody ran with these bug flags beside those of the cluster.
    Ran(SeatName, Vec<String>, u64),
    /// At a step somebody took a lie of its own for what it had said.
    Believed(SeatName, String, u64),
    /// From one step to another the run repeats what it did, forever.
    Loop(u64, u64),
}

/// A paragraph, and what it claims.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) claims: Vec<Claim>,
}

impl Line {
    pub(super) fn new(text: impl Into<String>, claims: Vec<Claim>) -> Self {
        Self { text: text.into(), claims }
    }

    /// With more words around it.
    pub(super) fn map(self, words: impl FnOnce(String) -> String) -> Self {
        Self { text: words(self.text), claims: self.claims }
    }

    /// One paragraph of many.
    pub(super) fn joined(lines: impl IntoIterator<Item = Self>, separator: &str) -> Self {
        let (mut text, mut claims) = (Vec::new(), Vec::new());
        for line in lines {
            text.push(line.text);
            claims.extend(line.claims);
        }
        Self { text: text.join(separator), claims }
    }
}

impl From<String> for Line {
    fn from(text: String) -> Self {
        Self { text, claims: Vec::new() }
    }
}

/// Each copy as a claim of one kind.
pub(super) fn each<'a>(
    copies: impl IntoIterator<Item = &'a SentCopy>,
    claim: impl Fn(Box<SentCopy>) -> Claim,
) -> Vec<Claim> {
    copies.into_iter().map(|copy| claim(Box::new(copy.clone()))).collect()
}
