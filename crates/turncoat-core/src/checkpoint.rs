//! Checkpoints: prefixes of the history that enough replicas vouch for, and their transfer to replicas that lag behind.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Part;
use crate::client::Request;
use crate::hash::Digest;
use crate::ids::{NodeId, NodeSet, Slot};
use crate::node::{Cluster, Context, Protocol};
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

/// FETCH(after, n): asks for the history after a slot, up to the checkpoint n or a later one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
pub struct Fetch {
    /// The last slot that the sender has executed.
    pub after: Slot,
    /// n
    pub seq: Slot,
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

    /// The part that the receiver's history lacks, if f+1 replicas vouch for it and both together match what they vouch for.
    pub fn missing(&self, history: &History, cluster: &Cluster) -> Option<&[Option<Request>]> {
        let vouched = self.voters(cluster).len() >= cluster.weak();
        let known = history.last().0.checked_sub(self.after.0)?;
        let missing = self.entries.get(known as usize..)?;
        let ends = self.after.0.checked_add(self.entries.len() as u32) == Some(self.proof.seq.0);
        let proved =
            vouched && ends && !missing.is_empty() && history.digest_with(missing) == self.proof.digest;
        proved.then_some(missing)
    }

    /// The replicas that vouch for it.
    pub fn voters(&self, cluster: &Cluster) -> NodeSet {
        self.proof.voters().and(cluster.replicas())
    }
}

/// The checkpoints of a replica: when one is due, the votes for them, the last one that is stable, and the one that it
/// lags behind and fetches.
#[derive(Clone, Debug, Default, Hash, Serialize)]
pub struct Checkpoints {
    every: u32,
    base: Slot,
    votes: BTreeMap<NodeId, Vec<Signed<Checkpoint>>>,
    stable: Option<Cert<Checkpoint>>,
    fetching: Option<Slot>,
}

impl Checkpoints {
    /// Checkpoints are due every `every` slots after `base`, where all histories start (normally slot 0).
    pub fn new(every: u32, base: Slot) -> Self {
        Self { every, base, ..Self::default() }
    }

    /// The last slot up to this one at which a checkpoint was due.
    pub const fn due(&self, slot: Slot) -> Slot {
        let since = slot.0.saturating_sub(self.base.0);
        Slot(self.base.0 + since / self.every * self.every)
    }

    /// Records a vote for a later checkpoint than the stable one, the first of its signer for its slot; says whether it
    /// is about one that is due. Of each signer it keeps those up to `high`, and the newest.
    pub fn add(&mut self, vote: &Signed<Checkpoint>, high: Slot) -> bool {
        let passed = self.stable.as_ref().map_or(Slot(0), |proof| proof.seq);
        if vote.seq <= passed || self.due(vote.seq) != vote.seq {
            return false;
        }
        let votes = self.votes.entry(vote.signer()).or_default();
        if vote.valid() && !votes.iter().any(|known| known.seq == vote.seq) {
            votes.push(*vote);
            let newest = votes.iter().map(|vote| vote.seq).max().unwrap_or_default();
            votes.retain(|vote| vote.seq <= high || vote.seq == newest);
        }
        true
    }

    /// The votes for a slot that f+1 replicas or more agree on.
    pub fn proof(&self, seq: Slot, cluster: &Cluster) -> Option<Cert<Checkpoint>> {
        let votes = self.votes.values().flatten().filter(|vote| vote.seq == seq);
        let ballots: Ballots<Checkpoint> = votes.collect();
        let (body, _) = ballots.winner(cluster.weak())?;
        Some(ballots.cert(body, cluster.replicas()))
    }

    /// Those who vote for a checkpoint.
    pub fn voters(&self, checkpoint: Checkpoint) -> NodeSet {
        let votes = self.votes.iter().filter(|(_, votes)| votes.iter().any(|vote| **vote == checkpoint));
        votes.map(|(&voter, _)| voter).collect()
    }

    /// The proof of the last stable checkpoint.
    pub const fn stable(&self) -> Option<&Cert<Checkpoint>> {
        self.stable.as_ref()
    }

    /// The low watermark: the last stable checkpoint.
    pub fn low(&self) -> Slot {
        self.stable.as_ref().map_or(self.base, |proof| proof.seq)
    }

    /// How many slots the low watermark has passed.
    pub fn passed(&self) -> Slot {
        Slot(self.low().0.saturating_sub(self.base.0))
    }

    /// Whether this proves that somebody's low watermark is stable: 2f+1 votes for it, none for the first one.
    pub fn proves(&self, low: Slot, proof: Option<&Cert<Checkpoint>>, cluster: &Cluster) -> bool {
        match proof {
            None => low == self.base,
            Some(proof) => proof.seq == low && cluster.has_quorum(proof.voters()),
        }
    }

    /// A checkpoint is stable: the votes up to it are forgotten. Says whether it is later than the last one.
    pub fn stabilise(&mut self, proof: &Cert<Checkpoint>) -> bool {
        let later = self.stable.as_ref().is_none_or(|stable| stable.seq < proof.seq);
        if later {
            self.votes.values_mut().for_each(|votes| votes.retain(|vote| vote.seq > proof.seq));
            self.stable = Some(proof.clone());
        }
        later
    }

    /// Tells others of the last checkpoint that was due, signed: after the execution, and again until it is stable.
    pub fn announce<P: Protocol>(
        &self,
        history: &History,
        to: NodeSet,
        message: fn(Signed<Checkpoint>) -> P::Msg,
        cx: &mut Context<'_, P>,
    ) {
        let seq = self.due(history.last());
        if let Some(digest) = history.digest(seq) {
            cx.multicast(to, message(cx.sign(Checkpoint { seq, digest })));
        }
    }

    /// Starts to fetch the history up to a checkpoint: asks all others, unless it has already.
    pub fn fetch<P: Protocol>(
        &mut self,
        seq: Slot,
        history: &History,
        message: fn(Fetch) -> P::Msg,
        cx: &mut Context<'_, P>,
    ) {
        if self.lag(seq) {
            self.ask(history, message, cx);
        }
    }

    fn lag(&mut self, seq: Slot) -> bool {
        let news = self.fetching < Some(seq);
        self.fetching = self.fetching.max(Some(seq));
        news
    }

    /// Asks all others for what is being fetched. Call it again until it has arrived.
    pub fn ask<P: Protocol>(&self, history: &History, message: fn(Fetch) -> P::Msg, cx: &mut Context<'_, P>) {
        if let Some(fetch) = self.question(history) {
            cx.to_others(message(fetch));
        }
    }

    fn question(&self, history: &History) -> Option<Fetch> {
        self.fetching.map(|seq| Fetch { after: history.last(), seq })
    }

    /// The checkpoint up to which the history is to be fetched, if it is.
    pub const fn fetching(&self) -> Option<Slot> {
        self.fetching
    }

    /// Answers with the stable checkpoint if it reaches that far, else with what is known of the one asked for.
    pub fn answer<P: Protocol>(
        &self,
        from: NodeId,
        fetch: &Fetch,
        history: &History,
        message: fn(Arc<Excerpt>) -> P::Msg,
        cx: &mut Context<'_, P>,
    ) {
        let stable = self.stable.clone().filter(|proof| proof.seq >= fetch.seq);
        let proof = stable.or_else(|| self.proof(fetch.seq, cx.cluster()));
        if let Some(excerpt) = proof.and_then(|proof| Excerpt::of(history, fetch.after, proof)) {
            cx.send(from, message(Arc::new(excerpt)));
        }
    }

    /// The history was fetched up to a checkpoint.
    pub fn fetched(&mut self, seq: Slot) {
        self.fetching = self.fetching.filter(|&wanted| wanted > seq);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sign::Signer;

    const CLUSTER: fn() -> Cluster = || Cluster { n: 4, f: 1, ..Cluster::default() };

    fn vote(voter: usize, seq: u32) -> Signed<Checkpoint> {
        Signer::of(NodeId::replica(voter)).sign(Checkpoint { seq: Slot(seq), digest: Digest::of(&seq) })
    }

    #[test]
    fn a_checkpoint_is_due_every_so_many_slots() {
        let mut checkpoints = Checkpoints::new(4, Slot(0));
        let due = [0, 3, 4, 7, 8].map(|slot| checkpoints.due(Slot(slot)).0);
        assert_eq!(due, [0, 0, 4, 4, 8]);
        assert!(checkpoints.add(&vote(0, 4), Slot(8)));
        assert!(!checkpoints.add(&vote(0, 5), Slot(8)) && !checkpoints.add(&vote(0, 0), Slot(8)));
    }

    #[test]
    fn a_stable_checkpoint_is_proved_by_a_quorum_and_forgets_the_votes() {
        let (mut checkpoints, cluster) = (Checkpoints::new(4, Slot(0)), CLUSTER());
        assert!(checkpoints.proves(Slot(0), None, &cluster) && !checkpoints.proves(Slot(4), None, &cluster));
        checkpoints.add(&vote(0, 4), Slot(8));
        assert_eq!(checkpoints.proof(Slot(4), &cluster), None);
        checkpoints.add(&vote(1, 4), Slot(8));
        let weak = checkpoints.proof(Slot(4), &cluster).unwrap();
        assert!(!checkpoints.proves(Slot(4), Some(&weak), &cluster));
        checkpoints.add(&vote(2, 4), Slot(8));
        let proof = checkpoints.proof(Slot(4), &cluster).unwrap();
        assert!(checkpoints.proves(Slot(4), Some(&proof), &cluster));
        assert!(checkpoints.stabilise(&proof) && !checkpoints.stabilise(&proof));
        assert_eq!((checkpoints.low(), checkpoints.proof(Slot(4), &cluster)), (Slot(4), None));
    }

    #[test]
    fn who_lags_asks_until_the_furthest_checkpoint_is_there() {
        let (mut checkpoints, history) = (Checkpoints::new(4, Slot(0)), History::default());
        assert_eq!(checkpoints.question(&history), None);
        assert!(checkpoints.lag(Slot(8)) && !checkpoints.lag(Slot(4)));
        checkpoints.fetched(Slot(4));
        assert_eq!(checkpoints.question(&history), Some(Fetch { after: Slot(0), seq: Slot(8) }));
        checkpoints.fetched(Slot(8));
        assert_eq!(checkpoints.question(&history), None);
    }
}
