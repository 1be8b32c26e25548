//! The view change (R6 to R8): VIEW-CHANGE, NEW-VIEW, and what of the old views is carried over.

use std::cmp::Reverse;

use turncoat_core::prelude::*;

use super::messages::{
    Accepted, Cer1, Cer2, Checkpoint, Msg, NewView, Placed, Value, ViewChange, Voted, at, digest, is_genuine,
};
use super::replica::Replica;
use super::{Config, Cx, Timer};

impl Replica {
    // --- VIEW-CHANGE (R6) -------------------------------------------------------------------------------------

    /// Stops taking part, and votes for view `w`.
    pub(super) fn start_view_change(&mut self, w: View, cx: &mut Cx<'_>) {
        if w <= self.vote {
            return;
        }
        cx.mark("view-change");
        (self.vote, self.changing) = (w, true);
        self.clear_timers(cx);
        let flags = self.config.flags;
        let of_view_only = flags.certificate_of_view_only || flags.certificate_needs_all;
        let certified = self.certified.clone().filter(|_| !of_view_only || self.certified_in == self.view);
        let forgotten = |own: &&Accepted| {
            (flags.forget_nulls && own.request.is_none())
                || (flags.clear_spec_on_new_view && own.seq <= self.adopted)
        };
        let accepted = self.spec.values().filter(|own| !forgotten(own)).copied().collect();
        let (stable, checkpoint) = (self.stable.clone(), self.checkpoint.clone());
        let vote = ViewChange { view: w, stable, certified, checkpoint, accepted };
        cx.broadcast(Msg::ViewChange(Arc::new(cx.sign(vote))));
    }

    pub(super) fn on_view_change(&mut self, from: NodeId, m: &Voted, cx: &mut Cx<'_>) {
        if m.view > self.view && !self.view_changes.has(from, m.view) && self.config.is_good(m, cx.cluster())
        {
            self.view_changes.add(from, m.view, m.clone());
            self.advance_view_change(cx);
        }
    }

    /// Every rule of the view change whose guard now holds.
    pub(super) fn advance_view_change(&mut self, cx: &mut Cx<'_>) {
        // Join: f+1 others want later views. The smallest of their views is enough.
        let mut later: Vec<_> = self.view_changes.beyond(self.vote, cx.others()).collect();
        later.dedup_by_key(|(who, _)| *who);
        let smallest = later.iter().map(|&(_, view)| view).min();
        if let Some(view) = smallest.filter(|_| later.len() >= cx.cluster().weak()) {
            return self.start_view_change(view, cx);
        }
        if !self.changing {
            return;
        }
        // R5: the timer starts when a quorum wants this view or a later one; a lone replica does not run ahead.
        let (flags, quorum) = (self.config.flags, self.config.quorum(cx.cluster()));
        let wanted = self.view_changes.wanting(self.vote) >= quorum || flags.vc_timer_at_sending;
        if wanted && !flags.no_view_change_timer {
            let doublings = (self.vote.0 - self.view.0).saturating_sub(1).min(32);
            let timeout = self.config.view_change_timeout.0.saturating_mul(1 << doublings);
            cx.start_timer(Timer::ViewChange, Time(timeout));
        }
        if cx.leads(self.vote) {
            self.try_new_view(self.vote, cx);
        }
    }

    // --- NEW-VIEW (R7) ----------------------------------------------------------------------------------------

    /// The new primary: with a quorum of votes, its own among them, it starts the view.
    fn try_new_view(&mut self, w: View, cx: &mut Cx<'_>) {
        let quorum = self.config.quorum(cx.cluster());
        let Some(votes) = self.view_changes.elect(w, cx.me(), quorum) else { return };
        let stable = self.config.base(&votes, self.stable.as_ref()).cloned();
        let history = Arc::new(self.config.carry_over(&votes, stable.as_ref(), cx.cluster()));
        if history.iter().any(|placed| placed.request.is_none()) {
            cx.mark("new-view-null");
        }
        let m = Arc::new(cx.sign(NewView { view: w, votes, stable, history }));
        cx.to_others(Msg::NewView(m.clone()));
        self.adopt(&m, cx);
    }

    pub(super) fn on_new_view(&mut self, m: &Arc<Signed<NewView>>, cx: &mut Cx<'_>) {
        let voted = m.view >= self.vote || self.config.flags.new_view_below_vote;
        if m.view > self.view && voted && m.is_by(cx.leader(m.view)) && self.is_good_new_view(m, cx) {
            self.adopt(m, cx);
        }
    }

    /// Its votes are a quorum of good ones for this view, and the rest follows from them.
    fn is_good_new_view(&self, m: &NewView, cx: &Cx<'_>) -> bool {
        let (config, cluster) = (&self.config, cx.cluster());
        let voters: NodeSet = m.votes.iter().map(|vote| vote.signer()).collect();
        let distinct = voters.len() == m.votes.len() && voters.is_subset(cluster.replicas());
        let good = |vote: &Voted| vote.valid() && vote.view == m.view && config.is_good(vote, cluster);
        distinct
            && voters.len() >= config.quorum(cluster)
            && m.votes.iter().all(good)
            && m.stable.as_ref().is_none_or(|stable| config.is_proof(stable, cluster))
            && config.base(&m.votes, m.stable.as_ref()) == m.stable.as_ref()
            && *m.history == config.carry_over(&m.votes, m.stable.as_ref(), cluster)
    }

    /// R8. Enters the view, and accepts what it carries over anew.
    fn adopt(&mut self, m: &NewView, cx: &mut Cx<'_>) {
        let flags = self.config.flags;
        cx.mark("new-view");
        cx.note(|| format!("enters view {}", m.view));
        // Until the slots are filled nothing is accepted.
        (self.view, self.vote, self.changing, self.panicked) = (m.view, m.view, true, false);
        (self.checkpoint, self.panics) = (None, NodeSet::EMPTY);
        self.clear_timers(cx);
        self.view_changes.forget(m.view);
        self.facts.retain(|&view, _| view >= m.view);
        self.forget_checkpoints();
        // X is a CER2: what it says is decided.
        self.spec.clear();
        if let Some(stable) = m.stable.clone() {
            let voters = stable.voters();
            self.stabilise(stable, voters, cx);
        }
        let low = self.low();
        let mut carried: Vec<Placed> = m.history.iter().filter(|placed| placed.seq > low).copied().collect();
        while flags.null_reuses_seq && carried.last().is_some_and(|placed| placed.request.is_none()) {
            carried.pop();
        }
        let own = |&Placed { seq, request }: &Placed| (seq, Accepted { seq, request, view: m.view });
        self.spec = carried.iter().map(own).collect();
        self.raise_seq();
        let top = m.history.last().map_or(Slot(0), |placed| placed.seq);
        (self.adopted, self.changing) = (top, false);
        for placed in &carried {
            self.confirm(placed.seq, placed.request, cx);
        }
        if flags.nv_immediate_commit {
            let voters = m.votes.iter().map(|vote| vote.signer()).collect();
            m.history.iter().for_each(|placed| self.commit(placed.seq, placed.request, voters, cx));
        }
        self.begin_with_checkpoint(self.of_new_view(m, top), cx);
        self.advance(cx);
    }

    /// A NEW-VIEW as a CHECKPOINT-I.
    fn of_new_view(&self, m: &NewView, top: Slot) -> Checkpoint<'1'> {
        let flags = self.config.flags;
        if !flags.commit_log && !flags.null_reuses_seq {
            return Checkpoint { view: m.view, seq: top, history: m.history.clone() };
        }
        let mut history = m.history.to_vec();
        if flags.commit_log {
            history.retain(|placed| placed.request.is_some());
        }
        while history.last().is_some_and(|placed| placed.request.is_none()) {
            history.pop();
        }
        let seq = history.last().map_or(Slot(0), |placed| placed.seq);
        Checkpoint { view: m.view, seq, history: Arc::new(history) }
    }
}

/// What follows from VIEW-CHANGEs. Nobody needs anything of its own for that.
impl Config {
    /// Whether a quorum has signed it.
    fn is_proof<T>(&self, cert: &Cert<T>, cluster: &Cluster) -> bool {
        cert.voters().and(cluster.replicas()).len() >= self.quorum(cluster)
    }

    /// C and P are proved, R is within the window above C, and all of them are of earlier views.
    fn is_good(&self, m: &ViewChange, cluster: &Cluster) -> bool {
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
    fn base<'a>(&self, votes: &'a [Voted], own: Option<&'a Cer2>) -> Option<&'a Cer2> {
        let highest = votes.iter().filter_map(|vote| vote.stable.as_ref()).max_by_key(|stable| stable.seq);
        if self.flags.base_own_stable { own } else { highest }
    }

    /// M: the history of X, and for each number above it that somebody mentions the value that goes on, or NULL.
    fn carry_over(&self, votes: &[Voted], base: Option<&Cer2>, cluster: &Cluster) -> Vec<Placed> {
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
