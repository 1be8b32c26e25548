//! A replica of basic HotStuff: its state and its rules.

use turncoat_core::prelude::*;
use turncoat_core::tokens::{self, Token};

use super::messages::{Certified, Msg, NewView};
use super::{Config, HotStuff};
use crate::hotstuff::Timer;
use crate::hotstuff::alike;
use crate::hotstuff::certs::{Phase, Qc, Tally, Vote, genesis, raise};
use crate::hotstuff::member::{Base, Member};
use crate::hotstuff::tree::Block;
use crate::hotstuff::wait;
use crate::slips::slip;

type Cx<'a> = Context<'a, HotStuff>;

/// What a replica knows and has done in its view.
#[derive(Clone, Default, Debug, Hash, Serialize)]
struct Round {
    /// Whether it has voted in each phase.
    voted: [bool; 3],
    // The leader's:
    leads: bool,
    /// The certificates reported, in the order in which they came.
    new_views: Vec<(NodeId, Qc)>,
    /// Whether it has waited for reports.
    waited: bool,
    proposed: bool,
    /// The votes of each phase, and whether their certificate was sent.
    votes: [Tally; 3],
    sent: [bool; 3],
}

/// A replica of HotStuff.
#[derive(Clone, Debug, Hash, Serialize)]
pub struct Replica {
    config: Config,
    base: Base<Msg>,
    prepare_qc: Qc,
    locked_qc: Qc,
    round: Round,
}

impl Replica {
    pub(super) fn new(config: Config, cluster: &Cluster) -> Self {
        let Config { delta, doublings, pacemaker, flags, .. } = config;
        let checks = flags.checks(cluster.quorum(), cluster.n);
        let leave = if flags.tc_quorum_low { cluster.f.max(1) } else { cluster.quorum() };
        let base = Base::new(checks, pacemaker, delta, doublings, leave);
        Self { config, base, prepare_qc: genesis(), locked_qc: genesis(), round: Round::default() }
    }

    /// A certificate proves that 2f+1 replicas were in its view: who lags goes there.
    fn follow(&mut self, qc: &Qc, cx: &mut Cx<'_>) {
        if qc.view > self.base.view() && self.base.tree.checks.certified(qc) {
            self.enter(qc.view, false, cx);
        }
    }

    /// Whether a message is of this view. Later ones are kept.
    fn is_now(&mut self, from: NodeId, view: View, msg: &Msg) -> bool {
        if view > self.base.view() {
            self.base.shelf.keep(from, msg);
        }
        view == self.base.view()
    }

    fn is_leader(&self, from: NodeId, view: View, cx: &Cx<'_>) -> bool {
        from == cx.leader(view) || self.base.tree.checks.no_leader_check
    }

    /// The leader waits for reports, if it has to.
    fn start_wait(&self, cx: &mut Cx<'_>) {
        if self.config.wait && self.round.leads && !self.round.waited {
            cx.set_timer(Timer::Wait, self.config.delta.times(2));
        }
    }

    // --- PREPARE ----------------------------------------------------------------------------------------------

    fn on_new_view(&mut self, from: NodeId, m: &NewView, msg: &Msg, cx: &mut Cx<'_>) {
        self.follow(&m.justify, cx);
        if cx.leads(m.view)
            && self.is_prepared(&m.justify)
            && m.justify.view < m.view
            && self.is_now(from, m.view, msg)
            && !self.round.new_views.iter().any(|(sender, _)| *sender == from)
            && self.base.has(m.justify.block, from, msg, cx)
        {
            self.round.new_views.push((from, m.justify.clone()));
        }
    }

    /// Whether a certificate is a prepareQC.
    fn is_prepared(&self, qc: &Qc) -> bool {
        let right = qc.phase == Phase::Prepare || self.config.flags.qc_type_unchecked;
        right && self.base.tree.checks.certified(qc)
    }

    fn on_prepare(&mut self, from: NodeId, block: &Arc<Block>, msg: &Msg, cx: &mut Cx<'_>) {
        self.follow(&block.justify, cx);
        if self.is_leader(from, block.view, cx)
            && self.is_prepared(&block.justify)
            && self.is_now(from, block.view, msg)
            && self.base.has_parent(block, from, msg, cx)
            && self.base.is_good(block)
        {
            let id = self.base.insert(block, cx);
            if self.is_safe(id, &block.justify, cx) {
                self.vote(Phase::Prepare, id, cx);
            } else {
                cx.mark("refuse");
                cx.note(|| format!("refuses block {id}: it is locked on {}", self.locked_qc.block));
            }
        }
    }

    /// safeNode: the block extends the one that is locked (safety), or its certificate is of a later view than the lock
    /// (liveness).
    fn is_safe(&self, block: Digest, justify: &Qc, cx: &mut Cx<'_>) -> bool {
        let flags = self.config.flags;
        let (view, locked) = (justify.view, self.locked_qc.view);
        let later = view > locked || (flags.safe_node_any && view == locked);
        let mut extends = self.base.tree.extends(block, self.locked_qc.block);
        if slip!("hotstuff/sibling-of-lock") {
            extends |= self.base.tree.extends(self.locked_qc.block, justify.block);
        }
        if !extends && later {
            cx.mark("unlock");
        }
        extends || (later && !flags.sticky) || flags.no_safe_node
    }

    // --- votes and certificates -------------------------------------------------------------------------------

    /// Votes, once in each phase of a view.
    fn vote(&mut self, phase: Phase, block: Digest, cx: &mut Cx<'_>) {
        let voted = &mut self.round.voted[phase as usize];
        if !self.base.pacemaker.expired() && (!*voted || self.config.flags.double_vote) {
            *voted = true;
            let view = self.base.view();
            cx.send(cx.leader(view), Msg::Vote(cx.sign(Vote { phase, view, block })));
        }
    }

    fn on_vote(&mut self, from: NodeId, vote: &Signed<Vote>, msg: &Msg, cx: &Cx<'_>) {
        if vote.is_by(from) && cx.leads(vote.view) && self.is_now(from, vote.view, msg) {
            self.round.votes[vote.phase as usize].add(vote, self.base.tree.checks);
        }
    }

    /// PRE-COMMIT: the block is prepared. COMMIT: it is locked. A replica that never saw the PREPARE does the same.
    fn on_certified(&mut self, from: NodeId, m: &Certified, phase: Phase, msg: &Msg, cx: &mut Cx<'_>) {
        let flags = self.config.flags;
        self.follow(&m.qc, cx);
        let late = m.view < self.base.view() && flags.accept_late_qc;
        let before = match phase {
            Phase::Commit if self.config.phases == 3 => Phase::PreCommit,
            _ => Phase::Prepare,
        };
        if self.is_leader(from, m.view, cx)
            && (m.qc.phase == before || flags.qc_type_unchecked)
            && (m.qc.view == m.view || flags.qc_view_unchecked)
            && self.base.tree.checks.certified(&m.qc)
            && (late || self.is_now(from, m.view, msg))
            && self.base.has(m.qc.block, from, msg, cx)
        {
            if before == Phase::Prepare {
                raise(&mut self.prepare_qc, &m.qc);
            }
            if phase == Phase::Commit && !flags.no_lock_update {
                raise(&mut self.locked_qc, &m.qc);
                cx.note(|| format!("is locked on block {}", self.locked_qc.block));
            }
            if !late {
                self.vote(phase, m.qc.block, cx);
            }
        }
    }

    /// DECIDE proves itself, in any view.
    fn on_decide(&mut self, from: NodeId, m: &Certified, msg: &Msg, cx: &mut Cx<'_>) {
        if (m.qc.phase == Phase::Commit || self.config.flags.decide_any_qc)
            && self.base.tree.checks.certified(&m.qc)
            && self.base.has(m.qc.block, from, msg, cx)
        {
            let grounds = Grounds::certificate("vote", m.qc.view, m.qc.voters());
            self.base.tree.execute(m.qc.block, grounds, cx);
            if m.qc.view >= self.base.view() {
                self.enter(m.qc.view.next(), true, cx);
            }
        }
    }
}

impl Member<HotStuff> for Replica {
    fn base(&mut self) -> &mut Base<Msg> {
        &mut self.base
    }

    /// The nextView interrupt, in any phase: the leader of the new view hears of the own prepareQC.
    fn enter(&mut self, view: View, decided: bool, cx: &mut Cx<'_>) {
        self.base.pacemaker.enter(view, decided, cx);
        self.base.shelf.stir();
        let next = Round { leads: cx.leads(view), ..Round::default() };
        let last = std::mem::replace(&mut self.round, next);
        if slip!("hotstuff/votes-not-cleared") {
            self.round.votes = last.votes;
        }
        let report = NewView { view, justify: self.prepare_qc.clone() };
        cx.send(cx.leader(view), Msg::NewView(report));
        self.start_wait(cx);
    }

    fn handle(&mut self, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) {
        match msg {
            Msg::NewView(m) => self.on_new_view(from, m, msg, cx),
            Msg::Prepare(block) => self.on_prepare(from, block, msg, cx),
            Msg::Vote(vote) => self.on_vote(from, vote, msg, cx),
            Msg::PreCommit(_) if self.config.phases == 2 => {}
            Msg::PreCommit(m) => self.on_certified(from, m, Phase::PreCommit, msg, cx),
            Msg::Commit(m) => self.on_certified(from, m, Phase::Commit, msg, cx),
            Msg::Decide(m) => self.on_decide(from, m, msg, cx),
            Msg::Timeout(timeout) => self.base.pacemaker.on_timeout(timeout, cx),
            Msg::TimeoutCert(tc) => self.hear(tc, cx),
            Msg::Fetch(id) => self.answer(from, *id, cx),
            Msg::Block(block) => self.take(from, block, cx),
        }
    }

    fn advance(&mut self, cx: &mut Cx<'_>) {
        if !self.round.leads {
            return;
        }
        let (view, checks) = (self.base.view(), self.base.tree.checks);
        // With 2f+1 reports the highest certificate is extended; no report is waited for beyond them.
        let enough = self.round.new_views.len() >= cx.cluster().quorum();
        if enough && !self.round.proposed && (self.round.waited || !self.config.wait) {
            self.round.proposed = true;
            let high = self.round.new_views.iter().map(|(_, qc)| qc).max_by_key(|qc| qc.view);
            let block = self.base.tree.create(view, high.expect("a quorum is not empty"), cx);
            cx.broadcast(Msg::Prepare(block));
        }
        for (votes, sent) in self.round.votes.iter().zip(&mut self.round.sent).filter(|(_, sent)| !**sent) {
            if let Some(qc) = votes.qc(checks) {
                *sent = true;
                cx.broadcast(Msg::with(Certified { view, qc }, self.config.phases));
            }
        }
    }
}

impl Node<HotStuff> for Replica {
    fn on_start(&mut self, cx: &mut Cx<'_>) {
        self.enter(View(1), true, cx);
    }

    fn on_message(&mut self, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) {
        self.receive(from, msg, cx);
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        self.round.waited |= timer == Timer::Wait;
        self.fire(timer, cx);
    }

    fn on_restart(&mut self, cx: &mut Cx<'_>) {
        self.restart(cx);
        self.start_wait(cx);
    }

    fn on_suspect(&mut self, cx: &mut Cx<'_>) {
        self.expire(cx);
    }

    alike::adopt!();

    /// A replica waits for the leader, the leader for votes or reports.
    fn vitals(&self, _: &Cluster) -> Vitals {
        let (round, quorum) = (&self.round, self.base.tree.checks.quorum);
        let next = match (round.voted, self.config.phases) {
            ([false, false, false], _) => "prepare",
            ([true, false, false], 3) => "pre-commit",
            ([_, _, false], _) => "commit",
            _ => "decide",
        };
        let open = round.votes.iter().zip(round.sent).find(|(_, sent)| !sent);
        let (kind, have, need) = match open.filter(|_| round.proposed) {
            _ if !round.leads => (next, NodeSet::EMPTY, 1),
            Some((votes, _)) => ("vote", votes.best(), quorum),
            None => ("new-view", round.new_views.iter().map(|&(sender, _)| sender).collect(), quorum),
        };
        let waits = [wait(kind, self.base.view(), have, need), None];
        self.base.vitals(self.prepare_qc.block, self.locked_qc.block, waits)
    }

    fn essence(&self, live: &[Digest], out: &mut Vec<Token>) -> bool {
        let Self { config: _, base, prepare_qc, locked_qc, round } = self;
        base.essence(live, out);
        tokens::write(&(prepare_qc, locked_qc, round), out);
        true
    }

    open_state!();
}
