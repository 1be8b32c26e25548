//! Votes, quorum certificates, and what makes them good.

use std::fmt;

use turncoat_core::prelude::*;

use turncoat_core::part::{Depth, Mutation};

use super::tree::GENESIS;

/// What a vote is for. Protocols with one kind of vote use the first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) enum Phase {
    /// The block is a good proposal.
    Prepare,
    /// 2f+1 say so.
    PreCommit,
    /// 2f+1 know that.
    Commit,
}

impl Phase {
    const ALL: [Self; 3] = [Self::Prepare, Self::PreCommit, Self::Commit];
}

/// As a number, but it reads as a word.
impl Part for Phase {
    fn mutations(depth: Depth, path: &str, table: &mut Vec<Mutation>) {
        u8::mutations(depth, path, table);
    }
    fn count(depth: Depth) -> usize {
        u8::count(depth)
    }
    fn mutate(&mut self, depth: Depth, index: usize, _: Option<&Self>, liar: &mut Liar<'_>) -> bool {
        let mut number = *self as u8;
        number.mutate(depth, index, None, liar);
        let lie = Self::ALL[usize::from(number) % Self::ALL.len()];
        std::mem::replace(self, lie) != lie
    }
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(["prepare", "pre-commit", "commit"][*self as usize])
    }
}

/// A vote for a block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Serialize, Deserialize, Part)]
pub struct Vote {
    pub(super) phase: Phase,
    pub(super) view: View,
    pub(super) block: Digest,
}

/// A quorum certificate: a vote, and those who gave it.
pub(super) type Qc = Cert<Vote>;

/// The certificate of the first block, which nobody signed and which is good by definition.
pub(super) fn genesis() -> Qc {
    let vote = Vote { phase: Phase::Prepare, view: View(0), block: GENESIS };
    Ballots::default().cert(&vote, NodeSet::EMPTY)
}

/// `place` becomes `qc` if that is of a later view; certificates never decrease.
pub(super) fn raise(place: &mut Qc, qc: &Qc) {
    if qc.view > place.view {
        *place = qc.clone();
    }
}

/// How many votes are a quorum, and which of the checks that all protocols share are left out.
#[derive(Clone, Copy, Debug, Hash, Serialize)]
pub(super) struct Checks {
    pub(super) quorum: usize,
    pub(super) replicas: NodeSet,
    pub(super) no_leader_check: bool,
    pub(super) no_dedup_votes: bool,
    pub(super) no_parent_qc_check: bool,
    pub(super) height_unchecked: bool,
    pub(super) justify_view_unchecked: bool,
    pub(super) commit_skips_missing_parent: bool,
}

impl Checks {
    /// |signers| >= quorum, the signers are distinct replicas, and each has signed exactly this.
    pub(super) fn certified(&self, qc: &Qc) -> bool {
        let signed = match self.no_dedup_votes {
            true if qc.valid() => qc.signers().len(),
            _ => qc.voters().and(self.replicas).len(),
        };
        signed >= self.quorum || (qc.view == View(0) && qc.block == GENESIS)
    }
}

/// The votes that a replica has got, of one view and phase.
#[derive(Clone, Debug, Default, Hash, Serialize)]
pub(super) struct Tally {
    ballots: Ballots<Vote>,
    /// Votes beyond one per voter, which count for nothing unless `no_dedup_votes`.
    repeats: Vec<Signed<Vote>>,
}

impl Tally {
    /// Records a vote.
    pub(super) fn add(&mut self, vote: &Signed<Vote>, checks: Checks) {
        if !self.ballots.add(vote) && checks.no_dedup_votes {
            self.repeats.push(*vote);
        }
    }

    /// Who voted for the favourite.
    pub(super) fn best(&self) -> NodeSet {
        let voters = self.ballots.iter().map(|(_, voters)| voters);
        voters.max_by_key(|voters| voters.len()).unwrap_or(NodeSet::EMPTY)
    }

    /// The certificate, if there are enough votes for it.
    pub(super) fn qc(&self, checks: Checks) -> Option<Qc> {
        self.ballots.iter().find_map(|(vote, voters)| {
            if voters.len() + self.repeats.len() < checks.quorum {
                return None;
            }
            let mut qc = self.ballots.cert(vote, checks.replicas);
            self.repeats.iter().for_each(|vote| qc.add(vote));
            (qc.signers().len() >= checks.quorum).then_some(qc)
        })
    }
}
