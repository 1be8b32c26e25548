//! The validations that a replica has heard, what they add up to, and the branch that they prefer.

use smallvec::SmallVec;
use turncoat_core::prelude::*;

use super::ledger::Ledger;
use super::messages::Validation;
use super::rules::{CURRENT, EARLY, EXPIRES, ONLINE};
use crate::slips::slip;

/// What becomes of a validation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Filed {
    /// It counts.
    Current,
    /// It is too old, or from the future.
    Stale,
    /// Its sender has validated a ledger with this number or a higher one, and this is no contradiction.
    BadSeq,
    /// Its sender has validated two ledgers with one number: it lies.
    Conflicting,
}

/// The validations of one ledger, by its hash.
#[derive(Clone, Debug, Hash, Serialize)]
struct Tally {
    ledger: Digest,
    filed_at: Time,
    votes: SmallVec<[(NodeId, Slot, bool); 8]>,
}

/// The validations with one number. The first of each node stays.
#[derive(Clone, Debug, Hash, Serialize)]
struct Numbered {
    seq: Slot,
    filed_at: Time,
    votes: SmallVec<[(NodeId, Digest, Time); 8]>,
}

/// What is known of a node.
#[derive(Clone, Debug, Hash, Serialize)]
struct Known {
    max_seq: Slot,
    /// Its latest validation: the ledger, its number, when it was signed and when it was seen.
    latest: Option<(Digest, Slot, Time, Time)>,
    /// The latest ledger that it has validated and that is here.
    tip: Option<Arc<Ledger>>,
}

/// All validations of trusted nodes.
#[derive(Clone, Debug, Default, Hash, Serialize)]
pub(super) struct Validations {
    by_ledger: Vec<Tally>,
    by_seq: Vec<Numbered>,
    nodes: Vec<Known>,
}

impl Validations {
    /// What `n` nodes have validated at the start: nothing, or the first ledger.
    pub(super) fn new(n: usize, first: Option<&Arc<Ledger>>) -> Self {
        let latest = first.map(|first| (first.id, first.seq, Time(0), Time(0)));
        let known = Known { max_seq: Slot(0), latest, tip: first.cloned() };
        Self { nodes: vec![known; n], ..Self::default() }
    }

    /// Files a validation of a trusted node. `strict`: a second one with another time is a contradiction too.
    pub(super) fn add(&mut self, node: NodeId, val: &Validation, now: Time, strict: bool) -> Filed {
        let signed_at = val.signed_at;
        if signed_at.0 + CURRENT <= now.0 || signed_at.0 >= now.0 + EARLY {
            return Filed::Stale;
        }
        let before = self.file_by_seq(node, val, now);
        let known = &mut self.nodes[node.index()];
        if val.seq <= known.max_seq {
            return match before {
                Some((ledger, _)) if ledger != val.ledger => Filed::Conflicting,
                Some((_, at)) if strict && at != signed_at => Filed::Conflicting,
                _ => Filed::BadSeq,
            };
        }
        known.max_seq = val.seq;
        if known.latest.is_none_or(|(.., at, _)| signed_at > at) {
            known.latest = Some((val.ledger, val.seq, signed_at, now));
        }
        let found = self.by_ledger.iter().rposition(|tally| tally.ledger == val.ledger);
        let i = found.unwrap_or_else(|| {
            self.by_ledger.retain(|tally| tally.filed_at.0 + EXPIRES > now.0);
            let votes = SmallVec::new();
            self.by_ledger.push(Tally { ledger: val.ledger, filed_at: now, votes });
            self.by_ledger.len() - 1
        });
        let tally = &mut self.by_ledger[i];
        tally.votes.retain(|&mut (voter, ..)| voter != node);
        tally.votes.push((node, val.seq, val.full));
        Filed::Current
    }

    /// The node's first validation with this number, if this is not the first.
    fn file_by_seq(&mut self, node: NodeId, val: &Validation, now: Time) -> Option<(Digest, Time)> {
        let found = self.by_seq.iter().rposition(|numbered| numbered.seq == val.seq);
        let i = found.unwrap_or_else(|| {
            self.by_seq.retain(|numbered| numbered.filed_at.0 + EXPIRES > now.0);
            self.by_seq.push(Numbered { seq: val.seq, filed_at: now, votes: SmallVec::new() });
            self.by_seq.len() - 1
        });
        let votes = &mut self.by_seq[i].votes;
        match votes.iter_mut().find(|(voter, ..)| *voter == node) {
            None => {
                votes.push((node, val.ledger, val.signed_at));
                None
            }
            Some((_, ledger, at)) => {
                let before = (*ledger, *at);
                if at.0 + EARLY < val.signed_at.0 {
                    (*ledger, *at) = (val.ledger, val.signed_at);
                }
                Some(before)
            }
        }
    }

    /// Those whose full validations count for a ledger. With `seq` only those that name this number count.
    pub(super) fn trusted_for(&self, ledger: Digest, seq: Option<Slot>) -> NodeSet {
        let Some(tally) = self.by_ledger.iter().rfind(|tally| tally.ledger == ledger) else {
            return NodeSet::EMPTY;
        };
        let counts = |&&(_, named, full): &&(NodeId, Slot, bool)| full && seq.is_none_or(|seq| seq == named);
        tally.votes.iter().filter(counts).map(|&(node, ..)| node).collect()
    }

    /// The ledgers that nodes have validated last and that are not here, with their numbers.
    pub(super) fn missing(&self) -> impl Iterator<Item = (Slot, Digest)> {
        self.nodes.iter().filter_map(|known| {
            let (ledger, seq, ..) = known.latest?;
            known.tip.as_ref().is_none_or(|tip| tip.id != ledger).then_some((seq, ledger))
        })
    }

    /// A ledger is here: whoever has validated it last stands on it.
    pub(super) fn arrived(&mut self, ledger: &Arc<Ledger>) {
        for known in &mut self.nodes {
            if known.latest.is_some_and(|(latest, ..)| latest == ledger.id) {
                known.tip = Some(ledger.clone());
            }
        }
    }

    /// How many nodes have validated a ledger that was built on this one.
    pub(super) fn beyond(&self, seq: Slot, ledger: Digest) -> usize {
        let tips = self.nodes.iter().filter_map(|known| known.tip.as_ref());
        tips.filter(|tip| tip.seq > seq && tip.at(seq) == Some(ledger)).count()
    }

    /// Of these nodes, those whose latest validation is of a ledger before `seq`, and those who have sent none lately.
    pub(super) fn behind(&self, nodes: NodeSet, seq: Slot, now: Time) -> [usize; 2] {
        let (mut laggards, mut offline) = (0, 0);
        for node in nodes.iter() {
            match self.nodes[node.index()].latest {
                Some((_, latest, _, seen)) if now.0 < seen.0 + ONLINE => {
                    laggards += usize::from(latest < seq);
                }
                _ => offline += 1,
            }
        }
        [laggards, offline]
    }

    /// The ledger that the network prefers to `current`, or `current` itself.
    pub(super) fn preferred(&self, current: &Ledger, min_seq: Slot, my_max_seq: Slot, now: Time) -> Digest {
        let Some((seq, ledger, parent)) = self.preferred_branch(my_max_seq, now) else {
            return self.most_wanted().filter(|&(seq, _)| seq >= min_seq).map_or(current.id, |(_, id)| id);
        };
        // Nobody jumps into the round that the others have just finished.
        let just_finished = seq == current.seq.next() && parent == Some(current.id);
        let stay = just_finished || seq < min_seq || current.at(seq) == Some(ledger);
        if stay { current.id } else { ledger }
    }

    /// Of the ledgers that are not here, the one that most nodes have validated last.
    fn most_wanted(&self) -> Option<(Slot, Digest)> {
        let votes = |wanted| self.missing().filter(|&other| other == wanted).count();
        self.missing().max_by_key(|&(seq, id)| (votes((seq, id)), id))
    }

    /// The end of the branch that has the support of the network: from the first ledger on, the child that would stay ahead
    /// of the others if all who are behind went elsewhere. With its number and its parent.
    fn preferred_branch(&self, my_max_seq: Slot, now: Time) -> Option<(Slot, Digest, Option<Digest>)> {
        let forever = slip!("xrpl/validations-never-expire");
        let seen = |known: &&Known| known.latest.is_some_and(|(.., at)| now.0 < at.0 + CURRENT || forever);
        let tips: SmallVec<[&Ledger; 16]> =
            self.nodes.iter().filter(seen).filter_map(|known| known.tip.as_deref()).collect();
        let first = *tips.first()?;
        if first.seq >= my_max_seq && tips.iter().all(|tip| tip.id == first.id) {
            return Some((first.seq, first.id, Some(first.parent)));
        }
        let (mut seq, mut id, mut parent) = (Slot(1), first.at(Slot(1))?, None);
        loop {
            let next = seq.next();
            let ahead = tips.iter().filter(|tip| tip.seq >= next && tip.at(seq) == Some(id));
            let mut children: SmallVec<[(usize, Digest); 8]> = SmallVec::new();
            for child in ahead.filter_map(|tip| tip.at(next)) {
                match children.iter_mut().find(|(_, known)| *known == child) {
                    Some((support, _)) => *support += 1,
                    None => children.push((1, child)),
                }
            }
            children.sort_unstable_by(|a, b| b.cmp(a));
            let margin = match children[..] {
                [] => break,
                [(support, _)] => support,
                [(best, a), (second, b), ..] => best - second + usize::from(a > b),
            };
            let uncommitted = tips.iter().filter(|tip| tip.seq < next.max(my_max_seq)).count();
            if uncommitted != 0 && margin <= uncommitted {
                break;
            }
            (parent, seq, id) = (Some(id), next, children[0].1);
        }
        Some((seq, id, parent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xrpl::ledger::{TxSet, unsigned};

    const NOW: Time = Time(100_000);

    fn validation(ledger: u64, seq: u32) -> Validation {
        let (ledger, seq) = (Digest(ledger), Slot(seq));
        Validation { ledger, seq, set: Digest::NULL, signed_at: NOW, full: true, label: seq }
    }

    /// The store of a replica that has all ledgers, after each node has validated one.
    fn store(tips: &[&Arc<Ledger>]) -> Validations {
        let mut store = Validations::new(tips.len(), None);
        for (i, tip) in tips.iter().enumerate() {
            let val = Validation { ledger: tip.id, seq: tip.seq, ..validation(0, 0) };
            assert_eq!(store.add(NodeId::replica(i), &val, NOW, true), Filed::Current);
            store.arrived(tip);
        }
        store
    }

    #[test]
    fn a_second_validation_with_one_number_is_a_contradiction_and_does_not_count() {
        let p = NodeId::replica;
        let mut store = Validations::new(2, None);
        assert_eq!(store.add(p(0), &validation(7, 5), NOW, true), Filed::Current);
        assert_eq!(store.add(p(0), &validation(8, 5), NOW, true), Filed::Conflicting);
        assert_eq!(store.add(p(0), &validation(6, 4), NOW, true), Filed::BadSeq);
        assert_eq!(store.trusted_for(Digest(8), None), NodeSet::EMPTY);
        // Right hash, wrong number: it counts for the number that it names, if anybody asks for the number.
        assert_eq!(store.add(p(1), &validation(7, 6), NOW, true), Filed::Current);
        assert_eq!(store.trusted_for(Digest(7), None).len(), 2);
        assert_eq!(store.trusted_for(Digest(7), Some(Slot(5))), NodeSet::one(p(0)));
        // Too old, and from the future.
        let at = |signed_at| Validation { signed_at: Time(signed_at), ..validation(9, 9) };
        assert_eq!(store.add(p(0), &at(0), Time(CURRENT), true), Filed::Stale);
        assert_eq!(store.add(p(0), &at(EARLY), Time(0), true), Filed::Stale);
    }

    /// A child of a ledger, with a payment of client `k`, or, for 0, without any.
    fn child(parent: &Arc<Ledger>, k: usize) -> Arc<Ledger> {
        let txs = if k == 0 { Vec::new() } else { vec![unsigned(k)] };
        Arc::new(parent.next(&TxSet::of(txs), None).0)
    }

    #[test]
    fn the_branch_with_more_nodes_is_preferred_and_ties_are_not_left() {
        let root = child(&Arc::new(Ledger::genesis(1, 5, None)), 0);
        let (left, right) = (child(&root, 0), child(&root, 1));
        let (l, r) = (&child(&left, 0), &child(&right, 0));
        let preferred = |tips: &[&Arc<Ledger>], current: &Ledger, max| {
            store(tips).preferred(current, Slot(1), Slot(max), NOW)
        };
        assert_eq!(preferred(&[l, l, l, r, r], r, 0), l.id, "three against two");
        assert_eq!(preferred(&[l, l, l, r, r], l, 0), l.id);
        // In the middle of a round all are on one ledger; who is one behind does not jump.
        assert_eq!(preferred(&[l, l, l, l], &left, 0), left.id);
        assert_eq!(preferred(&[l, l, l, l], &root, 0), l.id, "who is two behind does");
        // Those who are behind may still turn the scales: nobody leaves.
        assert_eq!(preferred(&[l, r, r, &root, &root], l, 4), l.id);
    }

    #[test]
    fn who_is_on_the_first_ledger_may_go_anywhere() {
        let genesis = Arc::new(Ledger::genesis(1, 5, None));
        let (own, other) = (child(&genesis, 0), child(&genesis, 1));
        for (first, elsewhere) in [(None, true), (Some(&genesis), false)] {
            // One validation of a ledger that is not here, or is larger: without the others there is nothing to hold against it.
            let mut store = Validations::new(5, first);
            let val = Validation { ledger: other.id, seq: other.seq, ..validation(0, 0) };
            assert_eq!(store.add(NodeId::replica(1), &val, NOW, true), Filed::Current);
            assert_eq!(store.preferred(&own, Slot(1), Slot(0), NOW) == other.id, elsewhere);
        }
    }

    /// rippled's testPreferredByBranch.
    #[test]
    fn a_branch_counts_with_all_that_grow_on_it() {
        let a = child(&Arc::new(Ledger::genesis(1, 5, None)), 0);
        let (b, c) = (child(&a, 1), child(&a, 2));
        let d = child(&b, 0);
        let children: Vec<Arc<Ledger>> = (1..=8).map(|k| child(&c, k)).collect();
        let tips: Vec<&Arc<Ledger>> = [&d, &d].into_iter().chain(&children).collect();
        let store = store(&tips);
        // The ledger that most have validated is d, but c has eight against two.
        for own in &children {
            let preferred = store.preferred(own, Slot(1), own.seq, NOW);
            assert_ne!(preferred, d.id);
        }
        let preferred = store.preferred(&d, Slot(1), d.seq, NOW);
        assert_ne!(preferred, d.id, "and those on d leave it");
    }
}
