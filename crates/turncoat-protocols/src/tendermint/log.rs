//! The messages of one height, by epoch.
//!
//! Votes are kept for the whole height: those of past epochs justify re-proposals and decide late, those of later
//! epochs may become those of the present one. They count as in the paper, which counts messages in a log: whoever
//! votes for two values counts for both, once for each, and is accused. (If only the first vote counted, a liar could
//! give one to each half, and some would never see the quorum that others have acted upon.)

use smallvec::SmallVec;
use turncoat_core::prelude::*;

use super::messages::{Block, PRECOMMIT, PREVOTE, Proposal, Vote};
use super::power::Power;

/// What a message is to who has heard others before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Heard {
    /// It was heard before.
    Before,
    /// It was not.
    New,
    /// It contradicts an earlier one of the same signer.
    Against,
}

/// The votes for one value.
#[derive(Clone, Copy, Debug, Hash, Serialize)]
struct Votes {
    id: Option<Digest>,
    voters: NodeSet,
    /// The weight of votes that came again, where that counts.
    repeats: u32,
}

/// The votes of one type in one epoch.
#[derive(Clone, Default, Debug, Hash, Serialize)]
pub(super) struct Tally<const STEP: u8> {
    votes: SmallVec<[Signed<Vote<STEP>>; 4]>,
    seen: NodeSet,
    by_id: SmallVec<[Votes; 2]>,
}

impl<const STEP: u8> Tally<STEP> {
    /// Records a vote with a good signature.
    pub(super) fn add(&mut self, vote: &Signed<Vote<STEP>>, power: &Power) -> Heard {
        let voter = vote.signer();
        let place = self.by_id.iter().position(|votes| votes.id == vote.id).unwrap_or_else(|| {
            self.by_id.push(Votes { id: vote.id, voters: NodeSet::EMPTY, repeats: 0 });
            self.by_id.len() - 1
        });
        let votes = &mut self.by_id[place];
        if !votes.voters.insert(voter) {
            if power.count_dup {
                votes.repeats += power.of(NodeSet::one(voter));
            }
            return Heard::Before;
        }
        self.votes.push(*vote);
        if self.seen.insert(voter) { Heard::New } else { Heard::Against }
    }

    /// The votes with their signatures, in the order in which they came.
    pub(super) fn votes(&self) -> &[Signed<Vote<STEP>>] {
        &self.votes
    }

    /// Who has voted.
    pub(super) const fn seen(&self) -> NodeSet {
        self.seen
    }

    /// The weight of all who have voted.
    pub(super) fn any(&self, power: &Power) -> u32 {
        if power.equivocation_double || power.count_dup {
            return self.by_id.iter().map(|votes| power.of(votes.voters) + votes.repeats).sum();
        }
        power.of(self.seen)
    }

    /// Who has voted for a value.
    pub(super) fn voters(&self, id: Option<Digest>) -> NodeSet {
        self.find(id).map_or(NodeSet::EMPTY, |votes| votes.voters)
    }

    /// Their weight.
    pub(super) fn weight(&self, id: Option<Digest>, power: &Power) -> u32 {
        self.find(id).map_or(0, |votes| power.of(votes.voters) + votes.repeats)
    }

    fn find(&self, id: Option<Digest>) -> Option<&Votes> {
        self.by_id.iter().find(|votes| votes.id == id)
    }

    /// How many values have a quorum.
    pub(super) fn winners(&self, power: &Power) -> usize {
        self.by_id.iter().filter(|votes| power.is_quorum(power.of(votes.voters))).count()
    }
}

/// A proposal, and what the replica has found out about it.
#[derive(Clone, Debug, Hash, Serialize)]
pub(super) struct Proposed {
    pub(super) proposal: Arc<Signed<Proposal>>,
    /// The block, if valid() says that it may be decided.
    pub(super) valid: Option<Block>,
    /// The digest of the block: its id, if anybody has compared them.
    pub(super) digest: Digest,
}

/// The messages of one epoch, and which of the rules that apply once have been applied.
#[derive(Clone, Default, Debug, Hash, Serialize)]
pub(super) struct Epoch {
    pub(super) number: View,
    /// Those of the proposer. A correct one makes one.
    pub(super) proposals: SmallVec<[Proposed; 1]>,
    pub(super) prevotes: Tally<PREVOTE>,
    pub(super) precommits: Tally<PRECOMMIT>,
    /// Whoever has sent anything.
    pub(super) senders: NodeSet,
    /// L34, L36, L47.
    pub(super) prevote_timer: bool,
    pub(super) polka: bool,
    pub(super) precommit_timer: bool,
}

impl Epoch {
    /// The first valid proposal whose id has a property.
    pub(super) fn proposed(&self, is: impl Fn(Digest) -> bool) -> Option<(&Proposed, Block)> {
        self.proposals.iter().find_map(|it| Some((it, it.valid?)).filter(|_| is(it.proposal.id)))
    }
}

/// The epochs of a height of which something was heard, in order.
#[derive(Clone, Default, Debug, Hash, Serialize)]
#[serde(transparent)]
pub(super) struct Log(Vec<Epoch>);

impl Log {
    pub(super) fn get(&self, number: View) -> Option<&Epoch> {
        self.place(number).ok().map(|place| &self.0[place])
    }

    /// The messages of an epoch, to be added to.
    pub(super) fn at(&mut self, number: View) -> &mut Epoch {
        let place = self.place(number).unwrap_or_else(|place| {
            self.0.insert(place, Epoch { number, ..Epoch::default() });
            place
        });
        &mut self.0[place]
    }

    fn place(&self, number: View) -> Result<usize, usize> {
        self.0.binary_search_by_key(&number, |epoch| epoch.number)
    }

    /// All epochs, in order.
    pub(super) fn epochs(&self) -> impl DoubleEndedIterator<Item = &Epoch> {
        self.0.iter()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
