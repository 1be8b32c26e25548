//! What of the old views is carried over into the new one (R6, R7): a function of VIEW-CHANGEs alone.
//!
//! What is decided in a view is certified (P) at f+1 correct replicas, or accepted (R) by all of them. So in any quorum of
//! later VIEW-CHANGEs it has a certificate or enough votes, and whatever contradicts it has a lower rank.

use std::cmp::Reverse;

use turncoat_core::prelude::*;

use super::Config;
use super::messages::{Accepted, Cer1, Cer2, Placed, Value, ViewChange, Voted, at, digest, is_genuine};

/// What follows from VIEW-CHANGEs. Nobody needs anything of its own for that.
impl Config {
    /// Whether a quorum has signed it.
    pub(super) fn is_proof<T>(&self, cert: &Cert<T>, cluster: &Cluster) -> bool {
        cert.voters().and(cluster.replicas()).len() >= self.quorum(cluster)
    }

    /// C and P are proved, R is within the window above C, and all of them are of earlier views.
    pub(super) fn is_good(&self, m: &ViewChange, cluster: &Cluster) -> bool {
        let low = m.stable.as_ref().map_or(Slot(0), |stable| stable.seq);
        let high = Slot(low.0.saturating_add(self.window));
        let mut last = low;
        let good = |own: &Accepted| {
            let in_order = std::mem::replace(&mut last, own.seq) < own.seq && own.seq <= high;
            in_order && own.view < m.view && is_genuine(&own.request)
        };
        let certified = |p: &Cer1| self.is_proof(p, cluster) && p.view < m.view;
        let stable = |c: &Cer2| self.is_proof(c, cluster) && c.view < m.view;
        let unchecked = self.flags.vc_unchecked;
        let proved = m.certified.as_ref().is_none_or(certified) && m.stable.as_ref().is_none_or(stable);
        (proved || unchecked) && m.accepted.iter().all(good)
    }

    /// X: the highest stable checkpoint in V, or the primary's own.
    pub(super) fn base<'a>(&self, votes: &'a [Voted], own: Option<&'a Cer2>) -> Option<&'a Cer2> {
        let highest = votes.iter().filter_map(|vote| vote.stable.as_ref()).max_by_key(|stable| stable.seq);
        if self.flags.base_own_stable { own } else { highest }
    }

    /// M: the history of X, and for each number above it that somebody mentions the value that goes on, or NULL.
    pub(super) fn carry_over(&self, votes: &[Voted], base: Option<&Cer2>, cluster: &Cluster) -> Vec<Placed> {
        let low = base.map_or(Slot(0), |base| base.seq);
        let certified: Vec<&Cer1> = self.certificates(votes, cluster);
        let accepted = votes.iter().flat_map(|vote| &vote.accepted).map(|own| own.seq);
        let high = Slot(low.0.saturating_add(self.window));
        let top = certified.iter().map(|p| p.seq).chain(accepted).max().map_or(low, |top| top.min(high));
        let chosen: Vec<(u64, Placed)> = (low.0..top.0)
            .map(|before| Slot(before + 1))
            .map(|seq| {
                let (rank, request) = self.choose(seq, votes, &certified, cluster);
                (rank, Placed { seq, request })
            })
            .collect();
        let history = base.map_or(&[][..], |base| &base.history);
        // A request that stands twice keeps the place with the highest rank; if they are equal, the lower one.
        let elsewhere = |&(rank, placed): &(u64, Placed)| {
            let Some(request) = placed.request.filter(|_| !self.flags.new_view_duplicates) else {
                return false;
            };
            let same = |other: &Placed| other.request.is_some_and(|other| other.id() == request.id());
            let beats =
                |&(other, place): &(u64, Placed)| (other, Reverse(place.seq)) > (rank, Reverse(placed.seq));
            history.iter().any(same) || chosen.iter().any(|other| same(&other.1) && beats(other))
        };
        let kept = |entry: &(u64, Placed)| match elsewhere(entry) {
            true => Placed { request: None, ..entry.1 },
            false => entry.1,
        };
        history.iter().copied().chain(chosen.iter().map(kept)).collect()
    }

    /// The certificates that count: all of them, each for the slots that it covers.
    fn certificates<'a>(&self, votes: &'a [Voted], cluster: &Cluster) -> Vec<&'a Cer1> {
        let all: Vec<&Cer1> = votes.iter().filter_map(|vote| vote.certified.as_ref()).collect();
        if !self.flags.certificate_needs_all {
            return all;
        }
        // What `certificate_needs_all` does instead.
        let Some(first) = all.first() else { return all };
        let equal = all.len() == votes.len() && all.iter().all(|p| p.history == first.history);
        let prepared = |vote: &&Voted| vote.checkpoint.as_ref().is_some_and(|q| q.seq == first.seq);
        let good = equal && votes.iter().filter(prepared).count() >= cluster.weak();
        if good { vec![*first] } else { Vec::new() }
    }

    /// The value that goes on in a slot, with its rank: twice the view, and one more for a certificate.
    fn choose(&self, seq: Slot, votes: &[Voted], certified: &[&Cer1], cluster: &Cluster) -> (u64, Value) {
        let need = self.votes(cluster);
        let covering = certified.iter().filter(|p| p.seq >= seq);
        let by_certificate = covering.map(|p| (2 * u64::from(p.view.0) + 1, at(&p.history, seq)));
        let entries = votes.iter().flat_map(|vote| vote.accepted.iter().find(|own| own.seq == seq));
        let entries: Vec<&Accepted> = entries.collect();
        let by_votes = entries.iter().filter_map(|own| {
            let mut views: Vec<View> =
                entries.iter().filter(|other| other.request == own.request).map(|other| other.view).collect();
            views.sort_unstable_by_key(|&view| Reverse(view));
            let view = views.get(need - 1)?;
            let rank = if self.flags.votes_without_view { 0 } else { 2 * u64::from(view.0) };
            Some((rank, own.request))
        });
        let best = by_certificate.chain(by_votes).max_by_key(|(rank, value)| (*rank, Reverse(digest(value))));
        best.unwrap_or((0, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hbft::messages::Checkpoint;
    use turncoat_core::rng::Rng;

    const CLUSTER: fn() -> Cluster = || Cluster { n: 4, f: 1, clients: 4, ..Cluster::default() };

    /// One who holds all keys.
    fn scribe() -> Liar<'static> {
        let clients = (0..4).map(NodeId::client);
        let keys = NodeSet::replicas(4).or(clients.collect());
        Liar { keys, rng: Rng::stream(0, 0), requests: &[], n: 4, seen: Seen::NOTHING }
    }

    /// A value by its name; `-` is NULL.
    fn value(name: char) -> Value {
        let client = NodeId::client(name as usize % 4);
        let request = Request { client, ts: 1, op: Op::new(&name.to_string()), read_only: false };
        (name != '-').then(|| scribe().sign(client, request))
    }

    fn names(history: &[Placed]) -> String {
        history.iter().map(|placed| placed.request.map_or("-".to_owned(), |r| r.op.to_string())).collect()
    }

    /// A vote for view 3: P, a view with the values of the slots from 1 on, and R, values with their slots and views.
    fn vote(voter: usize, p: Option<(u32, &str)>, r: &[(u32, char, u32)]) -> Voted {
        let place = |(i, name)| Placed { seq: Slot(i), request: value(name) };
        let certified = p.map(|(view, values)| {
            let history = Arc::new((1..).zip(values.chars()).map(place).collect::<Vec<_>>());
            let body = Checkpoint { view: View(view), seq: Slot(values.len() as u32), history };
            scribe().certify(body, NodeSet::replicas(3))
        });
        let own = |&(seq, name, view): &(u32, char, u32)| Accepted {
            seq: Slot(seq),
            request: value(name),
            view: View(view),
        };
        let accepted = r.iter().map(own).collect();
        let vote = ViewChange { view: View(3), stable: None, certified, checkpoint: None, accepted };
        Arc::new(scribe().sign(NodeId::replica(voter), vote))
    }

    fn carried(votes: &[Voted; 3]) -> String {
        let config = Config::default();
        assert!(votes.iter().all(|vote| config.is_good(vote, &CLUSTER())));
        names(&config.carry_over(votes, None, &CLUSTER()))
    }

    #[test]
    fn a_value_needs_two_votes_and_what_is_mentioned_is_null_at_least() {
        let x = || vote(0, None, &[(1, 'x', 1)]);
        let none = || vote(2, None, &[]);
        assert_eq!(carried(&[x(), vote(1, None, &[(1, 'x', 1)]), none()]), "x");
        assert_eq!(carried(&[x(), vote(1, None, &[(1, 'y', 1)]), none()]), "-");
        assert_eq!(carried(&[vote(0, None, &[(2, 'z', 1)]), vote(1, None, &[]), none()]), "--");
    }

    #[test]
    fn the_highest_view_wins_and_a_certificate_beats_votes_of_its_view() {
        let y = |voter, view| vote(voter, None, &[(1, 'y', view)]);
        assert_eq!(carried(&[vote(0, Some((1, "x")), &[]), y(1, 2), y(2, 2)]), "y");
        assert_eq!(carried(&[vote(0, Some((2, "x")), &[]), y(1, 1), y(2, 1)]), "x");
        assert_eq!(carried(&[vote(0, Some((2, "x")), &[]), y(1, 2), y(2, 2)]), "x");
        let null = |voter| vote(voter, None, &[(1, '-', 2)]);
        assert_eq!(carried(&[null(0), null(1), vote(2, None, &[(1, 'x', 1)])]), "-");
    }

    #[test]
    fn a_request_that_stands_twice_keeps_its_highest_rank() {
        let votes = [
            vote(0, None, &[(1, 'm', 1)]),
            vote(1, None, &[(1, 'z', 2), (2, 'm', 2)]),
            vote(2, None, &[(1, 'm', 1), (2, 'm', 2)]),
        ];
        assert_eq!(carried(&votes), "-m");
    }

    #[test]
    fn a_vote_is_good_if_it_proves_what_it_says_about_earlier_views() {
        let good = |vote: &Voted| Config::default().is_good(vote, &CLUSTER());
        assert!(good(&vote(0, Some((2, "xy")), &[(1, 'x', 2), (2, 'y', 2)])));
        assert!(!good(&vote(0, Some((3, "x")), &[])) && !good(&vote(0, None, &[(1, 'x', 3)])));
        assert!(
            !good(&vote(0, None, &[(2, 'x', 1), (1, 'y', 1)])) && !good(&vote(0, None, &[(201, 'x', 1)]))
        );
        let mut unproved = ViewChange::clone(&vote(0, Some((2, "x")), &[]));
        let body = Checkpoint::clone(unproved.certified.as_ref().unwrap());
        unproved.certified = Some(scribe().certify(body, NodeSet::replicas(2)));
        assert!(!good(&Arc::new(scribe().sign(NodeId::replica(0), unproved))));
    }
}
