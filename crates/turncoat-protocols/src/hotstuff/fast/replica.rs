//! A replica of Fast-HotStuff: its state and its rules.

use turncoat_core::prelude::*;
use turncoat_core::tokens::{self, Token};

use super::messages::{AggQc, Msg, NewView, Proposal};
use super::{Config, FastHotStuff};
use crate::hotstuff::alike;
use crate::hotstuff::certs::{Phase, Qc, Vote, genesis, raise};
use crate::hotstuff::member::{Base, Member};
use crate::hotstuff::pipeline::NextVotes;
use crate::hotstuff::tree::Block;
use crate::hotstuff::wait;
use crate::slips::slip;

type Cx<'a> = Context<'a, FastHotStuff>;

/// A replica of Fast-HotStuff.
#[derive(Clone, Debug, Hash, Serialize)]
pub struct Replica {
    config: Config,
    base: Base<Msg>,
    /// The last view in which it has voted.
    last_voted: View,
    high_qc: Qc,
    votes: NextVotes,
    // The leader's, in its view:
    leads: bool,
    new_views: Vec<Signed<NewView>>,
    proposed: bool,
}

impl Replica {
    pub(super) fn new(config: Config, cluster: &Cluster) -> Self {
        let Config { delta, doublings, pacemaker, flags } = config;
        let checks = flags.checks(cluster.quorum(), cluster.n);
        let leave = if flags.tc_quorum_low { cluster.f.max(1) } else { cluster.quorum() };
        Self {
            config,
            base: Base::new(checks, pacemaker, delta, doublings, leave),
            last_voted: View(0),
            high_qc: genesis(),
            votes: NextVotes::default(),
            leads: false,
            new_views: Vec::new(),
            proposed: false,
        }
    }

    /// How many reports are an AggQC.
    const fn reports(&self, cluster: &Cluster) -> usize {
        cluster.quorum() - self.config.flags.agg_quorum_minus_one as usize
    }

    /// The certificate that a block with this AggQC extends: the highest.
    fn high<'a>(&self, agg: &'a [Signed<NewView>]) -> Option<&'a Qc> {
        let mut reported = agg.iter().map(|report| &report.justify);
        if self.config.flags.agg_not_max { reported.next() } else { reported.max_by_key(|qc| qc.view) }
    }

    /// Learns a good certificate: its view is over. It counts when the block is here, and may decide the parent.
    fn learn(&mut self, qc: &Qc, cx: &mut Cx<'_>) {
        if qc.view >= self.base.view() {
            self.enter(qc.view.next(), true, cx);
        }
        if self.base.tree.gap(qc.block).is_some() {
            return;
        }
        raise(&mut self.high_qc, qc);
        let tree = &self.base.tree;
        let Some(b1) = tree.get(qc.block) else { return };
        let Some(b0) = tree.get(b1.justify.block) else { return };
        let direct = b1.parent == b1.justify.block;
        let consecutive = b1.view == b0.view.next() || self.config.flags.chain2_no_consecutive_views;
        if direct && consecutive {
            let decided = b1.parent;
            let grounds = Grounds::certificate("vote", qc.view, qc.voters()).on_top(qc.block);
            self.base.tree.execute(decided, grounds, cx);
        }
    }

    fn on_new_view(&mut self, from: NodeId, m: &Signed<NewView>, msg: &Msg, cx: &mut Cx<'_>) {
        if !m.is_by(from) || !self.base.tree.checks.certified(&m.justify) {
            return;
        }
        self.learn(&m.justify, cx);
        if !cx.leads(m.view) {
            return;
        }
        let known = self.new_views.iter().any(|report| report.signer() == from);
        if m.view > self.base.view() {
            self.base.shelf.keep(from, msg);
        } else if m.view == self.base.view()
            && (!known || self.config.flags.agg_no_dedup)
            && self.base.has(m.justify.block, from, msg, cx)
        {
            self.new_views.push(m.clone());
        }
    }

    /// Once in a view, and in none that it has left or given up: the reports of 2f+1 replicas for a view must say what
    /// came of the views before.
    fn may_vote(&self, view: View) -> bool {
        let flags = self.config.flags;
        let gone = view < self.base.view() || (view == self.base.view() && self.base.pacemaker.expired());
        (view > self.last_voted || flags.vote_not_monotone) && (!gone || flags.vote_after_timeout)
    }

    /// Whether the leader has shown that its block extends what it should.
    fn is_justified(&self, m: &Proposal, cx: &Cx<'_>) -> bool {
        let Some(agg) = &m.agg else {
            return m.block.justify.view.next() == m.block.view
                || slip!("fast-hotstuff/missing-agg-accepted");
        };
        self.is_agg(agg, m.block.view, cx) && self.extends_high(&m.block, agg)
    }

    /// Whether an AggQC is good: reports of 2f+1 replicas for this view.
    fn is_agg(&self, agg: &AggQc, view: View, cx: &Cx<'_>) -> bool {
        let flags = self.config.flags;
        let reporters: NodeSet = agg.iter().map(Signed::signer).collect();
        let distinct = reporters.and(cx.cluster().replicas()).len();
        let reports = if flags.agg_no_dedup { agg.len() } else { distinct };
        let good = |report: &Signed<NewView>| {
            let right = report.view == view || flags.agg_mixed_views;
            report.valid() && right && self.base.tree.checks.certified(&report.justify)
        };
        reports >= self.reports(cx.cluster()) && agg.iter().all(good)
    }

    /// Whether a block extends the highest certificate of an AggQC.
    fn extends_high(&self, block: &Block, agg: &AggQc) -> bool {
        let flags = self.config.flags;
        let same = |qc: &Qc| (qc.view, qc.block) == (block.justify.view, block.justify.block);
        match flags.agg_not_max {
            true => agg.iter().any(|report| same(&report.justify)),
            false => flags.agg_block_unchecked || self.high(agg).is_some_and(same),
        }
    }

    fn on_proposal(&mut self, from: NodeId, m: &Signed<Proposal>, msg: &Msg, cx: &mut Cx<'_>) {
        let checks = self.base.tree.checks;
        let Proposal { block, agg } = &**m;
        let genuine = m.is_by(from) && (from == cx.leader(block.view) || checks.no_leader_check);
        if !genuine || !checks.certified(&block.justify) {
            return;
        }
        self.learn(&block.justify, cx);
        if !self.is_justified(m, cx)
            || !self.base.has_parent(block, from, msg, cx)
            || !self.base.is_good(block)
        {
            return;
        }
        let id = self.base.insert(block, cx);
        if slip!("fast-hotstuff/proposal-as-link") && block.justify.view.next() == block.view {
            let qc = &block.justify;
            let grounds = Grounds::certificate("vote", qc.view, qc.voters());
            self.base.tree.execute(qc.block, grounds, cx);
        }
        if self.may_vote(block.view) {
            if agg.is_some() {
                cx.mark("agg-qc");
            }
            self.last_voted = self.last_voted.max(block.view);
            let vote = Vote { phase: Phase::Prepare, view: block.view, block: id };
            cx.send(cx.leader(block.view.next()), Msg::Vote(cx.sign(vote)));
            // What is left to do in this view is the next leader's.
            if block.view >= self.base.view() {
                self.enter(block.view.next(), true, cx);
            }
        }
    }
}

impl Member<FastHotStuff> for Replica {
    fn base(&mut self) -> &mut Base<Msg> {
        &mut self.base
    }

    /// Who has given up the view before reports to the leader.
    fn enter(&mut self, view: View, fruit: bool, cx: &mut Cx<'_>) {
        self.base.pacemaker.enter(view, fruit, cx);
        self.base.shelf.stir();
        (self.leads, self.proposed) = (cx.leads(view), false);
        if !slip!("fast-hotstuff/reports-not-cleared") {
            self.new_views.clear();
        }
        if !fruit {
            let report = NewView { view, justify: self.high_qc.clone() };
            cx.send(cx.leader(view), Msg::NewView(cx.sign(report)));
        }
    }

    fn handle(&mut self, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) {
        match msg {
            Msg::NewView(m) => self.on_new_view(from, m, msg, cx),
            Msg::Proposal(m) => self.on_proposal(from, m, msg, cx),
            Msg::Vote(vote) if vote.is_by(from) => {
                self.votes.add(vote, self.base.view(), self.base.tree.checks, cx);
            }
            Msg::Vote(_) => {}
            Msg::Timeout(timeout) => self.base.pacemaker.on_timeout(timeout, cx),
            Msg::TimeoutCert(tc) => self.hear(tc, cx),
            Msg::Fetch(id) => self.answer(from, *id, cx),
            Msg::Block(block) => self.take(from, block, cx),
        }
    }

    fn advance(&mut self, cx: &mut Cx<'_>) {
        for qc in self.votes.certificates(&self.high_qc, self.base.tree.checks) {
            self.learn(&qc, cx);
            self.base.want(&qc, cx);
        }
        if !self.leads || self.proposed {
            return;
        }
        let view = self.base.view();
        // With the certificate of the view before, the block needs no other proof.
        let (justify, agg) = if self.high_qc.view.next() == view {
            (self.high_qc.clone(), None)
        } else if self.new_views.len() >= self.reports(cx.cluster()) {
            let high = self.high(&self.new_views).expect("a quorum is not empty").clone();
            (high, Some(Arc::new(self.new_views.clone())))
        } else {
            return;
        };
        self.proposed = true;
        let block = self.base.tree.create(view, &justify, cx);
        cx.broadcast(Msg::Proposal(cx.sign(Proposal { block, agg })));
    }
}

impl Node<FastHotStuff> for Replica {
    alike::node!();
    alike::adopt!();

    /// There is no lock of its own: the highest certificate takes its place.
    fn vitals(&self, _: &Cluster) -> Vitals {
        let (view, quorum) = (self.base.view(), self.base.tree.checks.quorum);
        let reporters = self.new_views.iter().map(Signed::signer).collect();
        let waits = match self.leads && !self.proposed {
            true => self.votes.waits(view, reporters, quorum),
            false => [wait("proposal", view, NodeSet::EMPTY, 1), None],
        };
        let high = self.high_qc.block;
        self.base.vitals(high, high, waits)
    }

    fn essence(&self, live: &[Digest], out: &mut Vec<Token>) -> bool {
        let Self { config: _, base, last_voted, high_qc, votes, leads, new_views, proposed } = self;
        base.essence(live, out);
        tokens::write(&(last_voted, high_qc, votes, leads, new_views, proposed), out);
        true
    }
}
