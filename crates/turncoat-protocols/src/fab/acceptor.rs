//! An acceptor (3.2): accepts proposals, proves what a quorum has accepted, reports to new leaders.

use turncoat_core::prelude::*;

use super::Cx;
use super::certificate::opens;
use super::messages::{
    Acceptance, Accepted, CommitProof, Msg, Proof, Propose, Rep, Report, is_genuine, values,
};
use super::replica::Replica;
use super::roles::Roles;
use crate::slips::slip;

/// What an acceptor has done in its open instance.
#[derive(Clone, Default, Debug, Hash, Serialize)]
pub(super) struct Acceptor {
    /// What it has accepted last.
    accepted: Option<Acceptance>,
    /// Its latest commit proof.
    proof: Option<Proof>,
    /// Its REP of this view, which it repeats unchanged.
    report: Option<Report>,
}

impl Acceptor {
    /// The instance is over.
    pub(super) fn close(&mut self) {
        (self.accepted, self.proof) = (None, None);
    }

    /// A view begins.
    pub(super) fn forget_report(&mut self) {
        self.report = None;
    }

    pub(super) const fn accepted(&self) -> Option<&Acceptance> {
        self.accepted.as_ref()
    }

    pub(super) const fn proof(&self) -> Option<&Proof> {
        self.proof.as_ref()
    }
}

impl Replica {
    /// PROPOSE(v, n, x, PC, L) of the leader of this view. A learned certificate that fits opens the instance; one that was
    /// learned already is answered with that.
    pub(super) fn on_propose(&mut self, from: NodeId, m: &Propose, cx: &mut Cx<'_>) {
        let roles = Roles::of(cx.cluster());
        if m.view != self.view || from != cx.leader(m.view) || !opens(m.learned.as_ref(), m.seq, roles) {
            return;
        }
        if let Some(known) = &m.learned {
            self.adopt(known, cx);
        }
        if m.seq < self.open() {
            self.learner.say(self.view, NodeSet::one(from), cx);
            return self.satisfy(NodeSet::one(from), cx);
        }
        let Propose { view, seq, value, .. } = *m;
        match self.acceptor.accepted {
            // One vote for each (v,n); the same proposal is answered again.
            Some(own) if own.view == view && own.value != value && !slip!("fab/accepts-twice") => return,
            Some(own) if own.view == view && own.value == value => self.answer_again(from, cx),
            _ if self.is_acceptable(m, roles) => self.acceptor.accepted = Some(Acceptance { value, view }),
            _ => return,
        }
        let audience = if self.config.parameterized { roles.acceptors() } else { roles.learners() };
        cx.multicast(audience, Msg::Accepted(cx.sign(Accepted { view, seq, value })));
        self.tend(cx);
    }

    /// A request that is not in the prefix; in later views, one that the progress certificate vouches for.
    fn is_acceptable(&self, m: &Propose, roles: Roles) -> bool {
        let repeated = values(self.known.as_ref()).iter().any(|value| value.id() == m.value.id());
        let free = m.view == View(1) || self.config.flags.skip_vouch;
        is_genuine(&m.value)
            && !repeated
            && (free || self.config.is_progress(&m.pc, m.view, m.seq, &m.value, roles))
    }

    /// The leader has not heard enough: sends again what may be lost besides ACCEPTED.
    fn answer_again(&self, leader: NodeId, cx: &mut Cx<'_>) {
        if let Some(proof) = self.acceptor.proof.clone().filter(|proof| proof.view == self.view) {
            cx.multicast(Roles::of(cx.cluster()).learners(), Msg::CommitProof(CommitProof { proof }));
        }
        if self.learner.next() > self.open() {
            self.learner.say(self.view, NodeSet::one(leader), cx);
        }
    }

    /// ACCEPTED(v, n, x) of an acceptor.
    pub(super) fn on_accepted(&mut self, m: &Signed<Accepted>, cx: &mut Cx<'_>) {
        if !Roles::of(cx.cluster()).acceptors().contains(m.signer()) {
            return;
        }
        let repeats_count = self.config.flags.count_duplicates;
        let Some(facts) = self.facts(m.view, m.seq) else { return };
        if !facts.accepted.add(m) && repeats_count {
            facts.repeats.push(m.value);
        }
        self.prove(cx);
        self.learn(cx);
    }

    /// Parameterized FaB: ACCEPTEDs of a quorum, equal and of this view, are a commit proof.
    fn prove(&mut self, cx: &mut Cx<'_>) {
        let roles = Roles::of(cx.cluster());
        let proved = self.acceptor.proof.as_ref().is_some_and(|proof| proof.view == self.view);
        if proved || !self.config.parameterized {
            return;
        }
        let facts = self.facts.get(&self.open()).and_then(|views| views.get(&self.view));
        let Some(facts) = facts else { return };
        let Some((accepted, _)) = facts.accepted.winner(roles.proof()) else { return };
        let proof = Arc::new(facts.accepted.cert(accepted, roles.acceptors()));
        self.acceptor.proof = Some(proof.clone());
        cx.mark("commit-proof");
        cx.multicast(roles.learners(), Msg::CommitProof(CommitProof { proof }));
    }

    /// QUERY of the leader of this view: answers with REP, unless it has accepted something in the view already.
    pub(super) fn report(&mut self, leader: NodeId, cx: &mut Cx<'_>) {
        let (view, seq) = (self.view, self.open());
        let Acceptor { accepted, proof, report } = &mut self.acceptor;
        if accepted.is_some_and(|own| own.view == view) {
            return;
        }
        let rep = report.get_or_insert_with(|| {
            let (proof, learned) = (proof.clone(), self.known.clone());
            Arc::new(cx.sign(Rep { view, seq, accepted: *accepted, proof, learned }))
        });
        cx.send(leader, Msg::Rep(rep.clone()));
    }
}
