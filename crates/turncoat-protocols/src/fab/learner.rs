//! A learner (3.3): learns from acceptors, or from other learners, in the order of instances, and answers the clients.

use turncoat_core::prelude::*;

use super::Cx;
use super::certificate::is_commit_proof;
use super::messages::{CommitProof, Learned, Msg, Prefix, Pull, Value};
use super::replica::{Facts, Replica};
use super::roles::Roles;

/// What a learner has learned.
#[derive(Clone, Default, Debug, Hash, Serialize)]
pub(super) struct Learner {
    prefix: Prefix,
    history: History,
    replies: Clients<Reply>,
}

impl Learner {
    /// The instance that it learns next.
    pub(super) fn next(&self) -> Slot {
        self.prefix.next()
    }

    /// `seq_reset_on_view_change`.
    pub(super) fn start_again(&mut self) {
        self.prefix = Prefix::default();
    }

    pub(super) fn vitals(&self) -> Vitals {
        self.history.vitals()
    }

    /// Answers a request that was learned before.
    pub(super) fn answer(&self, request: &Request, cx: &mut Cx<'_>) {
        if let Some((ts, reply)) = self.replies.last_reply(request.client)
            && *ts == request.ts
        {
            cx.send(request.client, Msg::Reply(cx.sign(*reply)));
        }
    }

    /// Says what it has learned, if anything.
    pub(super) fn say(&self, view: View, to: NodeSet, cx: &mut Cx<'_>) {
        if !self.prefix.0.is_empty() {
            cx.multicast(to, Msg::Learned(Learned { view, learnt: cx.sign(self.prefix.clone()) }));
        }
    }

    /// Learns the next value: for good.
    fn learn(&mut self, value: &Value, view: View, grounds: Grounds, cx: &mut Cx<'_>) {
        let seq = self.next();
        Arc::make_mut(&mut self.prefix.0).push(*value);
        if let Some(result) = self.history.execute(seq, Some(**value), grounds, cx) {
            self.replies.executed(value, value.reply(view, seq, result));
            self.answer(value, cx);
        }
    }
}

impl Replica {
    /// COMMITPROOF: a valid one counts for its sender.
    pub(super) fn on_commit_proof(&mut self, from: NodeId, m: &CommitProof, cx: &mut Cx<'_>) {
        let roles = Roles::of(cx.cluster());
        let counts = self.config.parameterized && roles.acceptors().contains(from);
        if counts
            && is_commit_proof(&m.proof, roles)
            && let Some(facts) = self.facts(m.proof.view, m.proof.seq)
        {
            facts.proofs.add(from, m.proof.value);
            self.learn(cx);
        }
    }

    /// LEARNED of a learner: enough of them are a certificate, f+1 teach another learner.
    pub(super) fn on_learned(&mut self, from: NodeId, m: &Learned, cx: &mut Cx<'_>) {
        let (roles, seq) = (Roles::of(cx.cluster()), Slot(m.learnt.0.len() as u32));
        if seq < self.open() || !roles.learners().contains(from) {
            return;
        }
        let learned = self.learned.entry(seq).or_default();
        learned.add(&m.learnt);
        if let Some((prefix, voters)) = learned.winner(roles.weak()) {
            let (prefix, learned) = (prefix.clone(), learned.cert(prefix, roles.learners()));
            self.learn_all(&prefix.0, Grounds::Votes(Ballot::new("learned", None, voters)), cx);
            if voters.len() >= roles.most() {
                self.adopt(&Arc::new(learned), cx);
            }
        }
        self.tend(cx);
    }

    /// PULL(n): answers who knows less.
    pub(super) fn on_pull(&self, from: NodeId, m: &Pull, cx: &mut Cx<'_>) {
        if self.learner.next() > m.seq.next() {
            self.learner.say(self.view, NodeSet::one(from), cx);
        }
    }

    /// Learns what acceptors say, as far as that goes.
    pub(super) fn learn(&mut self, cx: &mut Cx<'_>) {
        let roles = Roles::of(cx.cluster());
        if roles.learners().contains(cx.me()) {
            while let Some((value, grounds)) = self.learnable(roles) {
                self.learner.learn(&value, self.view, grounds.by_own_rule(), cx);
                self.tell_proposers(cx);
            }
            self.tend(cx);
        }
    }

    /// Learns what other learners have learned.
    pub(super) fn learn_all(&mut self, values: &[Value], grounds: Grounds, cx: &mut Cx<'_>) {
        let next = self.learner.next().0 as usize;
        let grounds = grounds.upto(Slot(values.len() as u32)).by_own_rule();
        if Roles::of(cx.cluster()).learners().contains(cx.me()) && next <= values.len() {
            cx.mark("learned-from-learners");
            values[next - 1..].iter().for_each(|value| self.learner.learn(value, self.view, grounds, cx));
            self.tell_proposers(cx);
            self.learn(cx);
        }
    }

    fn tell_proposers(&self, cx: &mut Cx<'_>) {
        let audience = Roles::of(cx.cluster()).proposers().or(NodeSet::one(cx.me()));
        self.learner.say(self.view, audience, cx);
    }

    /// The next value, with those who vouch for it: enough ACCEPTEDs, or enough COMMITPROOFs, equal in (x,v,n).
    fn learnable(&self, roles: Roles) -> Option<(Value, Grounds)> {
        let views = self.facts.get(&self.learner.next())?;
        let fast = |facts: &Facts| {
            let mut accepted = facts.accepted.iter().map(|(accepted, voters)| (accepted.value, voters));
            let repeats = |value: &Value| facts.repeats.iter().filter(|other| *other == value).count();
            accepted.find(|(value, voters)| voters.len() + repeats(value) >= roles.fast())
        };
        let slow = |facts: &Facts| facts.proofs.winner(roles.proof()).map(|(value, voters)| (*value, voters));
        let learnable = views.iter().find_map(|(&view, facts)| {
            let votes = |kind| move |(value, voters)| (value, Grounds::votes(kind, view, voters));
            fast(facts).map(votes("accepted")).or_else(|| slow(facts).map(votes("commit-proof")))
        });
        if !self.config.flags.pn_not_checked {
            return learnable;
        }
        let all = || views.values().flat_map(|facts| facts.accepted.iter());
        let voters = |value| {
            let same = all().filter(|(own, _)| own.value == value);
            same.map(|(_, voters)| voters).fold(NodeSet::EMPTY, NodeSet::or)
        };
        let mut all = all().map(|(own, _)| (own.value, voters(own.value)));
        let enough = |(_, voters): &(Value, NodeSet)| voters.len() >= roles.fast();
        let votes = |(value, voters)| (value, Grounds::Votes(Ballot::new("accepted", None, voters)));
        learnable.or_else(|| all.find(enough).map(votes))
    }
}
