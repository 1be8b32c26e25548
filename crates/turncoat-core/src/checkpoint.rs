//! Checkpoints: prefixes of the history that enough replicas vouch for, and their transfer to those who lag behind.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Part;
use crate::client::Request;
use crate::hash::Digest;
use crate::ids::{NodeId, Slot};
use crate::node::Cluster;
use crate::service::History;
use crate::sign::{Cert, Signed};
use crate::votes::Ballots;

/// CHECKPOINT(n, d): d is the digest of the history up to n.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
#[part(labels(n, d))]
pub struct Checkpoint {
    /// n
    pub seq: Slot,
    /// d
    pub digest: Digest,
}

/// The history from `after` to a checkpoint, none for a no-op, and the votes that prove it.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
pub struct Excerpt {
    /// The last slot before it.
    pub after: Slot,
    /// What was executed.
    pub entries: Vec<Option<Request>>,
    /// Who vouches for the end of it.
    pub proof: Cert<Checkpoint>,
}

impl Excerpt {
    /// The part of a history after a slot, if the history agrees with the proof.
    pub fn of(history: &History, after: Slot, proof: Cert<Checkpoint>) -> Option<Self> {
        let entries = history.entries(after, proof.seq)?.to_vec();
        (history.digest(proof.seq) == Some(proof.digest)).then_some(Self { after, entries, proof })
    }

    /// What the history of its reader lacks, if both together are what the proof says.
    pub fn missing(&self, history: &History) -> Option<&[Option<Request>]> {
        let known = history.last().0.checked_sub(self.after.0)?;
        let missing = self.entries.get(known as usize..)?;
        let ends = self.after.0.checked_add(self.entries.len() as u32) == Some(self.proof.seq.0);
        let proved = ends && !missing.is_empty() && history.digest_with(missing) == self.proof.digest;
        proved.then_some(missing)
    }
}

/// The votes for checkpoints, and the last one that is stable.
#[derive(Clone, Debug, Default, Hash, Serialize)]
pub struct Checkpoints {
    votes: BTreeMap<NodeId, Vec<Signed<Checkpoint>>>,
    stable: Option<Cert<Checkpoint>>,
}

impl Checkpoints {
    /// Records a vote, the first of its signer for its slot. Of each signer it keeps those up to `high`, and the newest.
    pub fn add(&mut self, vote: &Signed<Checkpoint>, high: Slot) {
        let votes = self.votes.entry(vote.signer()).or_default();
        if vote.valid() && !votes.iter().any(|known| known.seq == vote.seq) {
            votes.push(*vote);
            let newest = votes.iter().map(|vote| vote.seq).max().unwrap_or_default();
            votes.retain(|vote| vote.seq <= high || vote.seq == newest);
        }
    }

    /// The votes for a slot that f+1 replicas or more agree on.
    pub fn proof(&self, seq: Slot, cluster: &Cluster) -> Option<Cert<Checkpoint>> {
        let mut ballots = Ballots::default();
        for vote in self.votes.values().flatten().filter(|vote| vote.seq == seq) {
            ballots.add(vote);
        }
        let (body, _) = ballots.winner(cluster.weak())?;
        Some(ballots.cert(body, cluster.replicas()))
    }

    /// The proof of the last stable checkpoint.
    pub const fn stable(&self) -> Option<&Cert<Checkpoint>> {
        self.stable.as_ref()
    }

    /// A checkpoint is stable: the votes up to it are forgotten.
    pub fn stabilise(&mut self, proof: Cert<Checkpoint>) {
        self.votes.values_mut().for_each(|votes| votes.retain(|vote| vote.seq > proof.seq));
        self.stable = Some(proof);
    }
}
