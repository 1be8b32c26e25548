//! What a decision rests on, as the protocol itself says it: for explanations, which repeat it and add nothing.

use std::fmt;

use serde::Serialize;

use crate::hash::Digest;
use crate::ids::{NodeSet, Slot, Time, View};

/// Why a replica decides. [`Grounds::votes`] is the usual case; a plain [`NodeSet`] says who was counted and no more.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grounds {
    /// The protocol does not say.
    #[default]
    Unknown,
    /// These replicas were counted; the protocol does not say for what.
    Voters(NodeSet),
    /// Votes that the replica has collected itself.
    Votes(Ballot),
    /// A certificate that somebody else has made of votes.
    Certificate(Ballot),
    /// Votes of those whom the replica trusts.
    Trusted {
        /// Those who voted.
        ballot: Ballot,
        /// All whom it trusts.
        trusted: NodeSet,
        /// How many of them it takes.
        need: u8,
    },
    /// Nothing spoke against the value for so long.
    Elapsed(Time),
    /// The value comes before this one, whose decision includes it.
    Ancestor(Digest),
}

/// Votes for one value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Ballot {
    /// The kind of messages that carry such votes.
    pub kind: &'static str,
    /// Their view, if they have one.
    pub view: Option<View>,
    /// Who voted.
    pub voters: NodeSet,
    /// What for.
    pub subject: Subject,
    /// Whether [`Protocol::quorum`](crate::node::Protocol::quorum) says how many such votes it takes.
    pub by_quorum: bool,
}

/// What votes are for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// The value, in the slot in which it is decided.
    Value,
    /// All values up to this slot.
    Upto(Slot),
    /// This block, which is built on the value.
    Block(Digest),
}

impl Grounds {
    /// Votes of one kind in a view, which the replica has collected itself.
    pub const fn votes(kind: &'static str, view: View, voters: NodeSet) -> Self {
        Self::Votes(Ballot::new(kind, Some(view), voters))
    }

    /// A certificate of such votes, which came in a message.
    pub const fn certificate(kind: &'static str, view: View, voters: NodeSet) -> Self {
        Self::Certificate(Ballot::new(kind, Some(view), voters))
    }

    /// The votes are for all values up to a slot.
    #[must_use]
    pub const fn upto(self, slot: Slot) -> Self {
        self.about(Subject::Upto(slot))
    }

    /// The votes are for a block that is built on the value.
    #[must_use]
    pub const fn on_top(self, block: Digest) -> Self {
        self.about(Subject::Block(block))
    }

    /// How many votes it takes is not what [`Protocol::quorum`](crate::node::Protocol::quorum) says: another number, or
    /// a sum of weights.
    #[must_use]
    pub const fn by_own_rule(mut self) -> Self {
        if let Self::Votes(ballot) | Self::Certificate(ballot) = &mut self {
            ballot.by_quorum = false;
        }
        self
    }

    const fn about(mut self, subject: Subject) -> Self {
        if let Self::Votes(ballot) | Self::Certificate(ballot) = &mut self {
            ballot.subject = subject;
        }
        self
    }

    /// The votes, as far as the protocol says in which messages they came.
    pub const fn ballot(&self) -> Option<&Ballot> {
        match self {
            Self::Votes(ballot) | Self::Certificate(ballot) | Self::Trusted { ballot, .. } => Some(ballot),
            _ => None,
        }
    }

    /// Who was counted, if anybody was.
    pub const fn voters(&self) -> NodeSet {
        match self {
            Self::Voters(voters) => *voters,
            _ => match self.ballot() {
                Some(ballot) => ballot.voters,
                None => NodeSet::EMPTY,
            },
        }
    }
}

impl Ballot {
    /// Votes for the value that is decided, of which a quorum is needed.
    pub const fn new(kind: &'static str, view: Option<View>, voters: NodeSet) -> Self {
        Self { kind, view, voters, subject: Subject::Value, by_quorum: true }
    }
}

impl From<NodeSet> for Grounds {
    fn from(voters: NodeSet) -> Self {
        Self::Voters(voters)
    }
}

/// As traces show it.
impl fmt::Display for Grounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("votes=?"),
            Self::Voters(voters) => write!(f, "votes={voters}"),
            Self::Votes(ballot) => write!(f, "votes={ballot}"),
            Self::Certificate(ballot) => write!(f, "certificate={ballot}"),
            Self::Trusted { ballot, trusted, need } => write!(f, "votes={ballot} need={need}/{trusted}"),
            Self::Elapsed(ticks) => write!(f, "after={ticks}"),
            Self::Ancestor(id) => write!(f, "ancestor-of={id}"),
        }
    }
}

impl fmt::Display for Ballot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.kind, self.voters)?;
        match self.subject {
            Subject::Value => Ok(()),
            Subject::Upto(slot) => write!(f, "..{slot}"),
            Subject::Block(id) => write!(f, ":{id}"),
        }
    }
}
