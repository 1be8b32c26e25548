//! A replica of chained HotStuff: its state and its rules.

use turncoat_core::prelude::*;
use turncoat_core::tokens::{self, Token};

use super::messages::{Msg, NewView};
use super::{Chained, Config};
use crate::hotstuff::Timer;
use crate::hotstuff::alike;
use crate::hotstuff::certs::{Phase, Qc, Vote, genesis, raise};
use crate::hotstuff::member::{Base, Member};
use crate::hotstuff::pipeline::NextVotes;
use crate::hotstuff::tree::Block;
use crate::hotstuff::wait;
use crate::slips::slip;

type Cx<'a> = Context<'a, Chained>;

/// A replica of chained HotStuff.
#[derive(Clone, Debug, Hash, Serialize)]
pub struct Replica {
    config: Config,
    base: Base<Msg>,
    /// The last view in which it has voted.
    last_voted: View,
    /// genericQC: the highest certificate that it knows.
    high_qc: Qc,
    locked_qc: Qc,
    votes: NextVotes,
    // The leader's, in its view:
    leads: bool,
    /// Who has reported.
    new_views: NodeSet,
    /// Whether it has waited for reports.
    waited: bool,
    proposed: bool,
}

impl Replica {
    pub(super) fn new(config: Config, cluster: &Cluster) -> Self {
        let Config { delta, doublings, pacemaker, flags, .. } = config;
        let checks = flags.checks(cluster.quorum(), cluster.n);
        let leave = if flags.tc_quorum_low { cluster.f.max(1) } else { cluster.quorum() };
        Self {
            config,
            base: Base::new(checks, pacemaker, delta, doublings, leave),
            last_voted: View(0),
            high_qc: genesis(),
            locked_qc: genesis(),
            votes: NextVotes::default(),
            leads: false,
            new_views: NodeSet::EMPTY,
            waited: false,
            proposed: false,
        }
    }

    /// Learns a good certificate: its view is over. It counts when the block is here.
    fn learn(&mut self, qc: &Qc, cx: &mut Cx<'_>) {
        if qc.view >= self.base.view() {
            self.enter(qc.view.next(), true, cx);
        }
        if self.base.tree.gap(qc.block).is_none() {
            raise(&mut self.high_qc, qc);
        }
    }

    /// The leader waits for reports, if it has to.
    fn start_wait(&self, cx: &mut Cx<'_>) {
        if self.config.wait && self.leads && !self.waited {
            cx.set_timer(Timer::Wait, self.config.delta.times(2));
        }
    }

    fn on_new_view(&mut self, from: NodeId, m: &NewView, msg: &Msg, cx: &mut Cx<'_>) {
        if !self.base.tree.checks.certified(&m.justify) {
            return;
        }
        self.learn(&m.justify, cx);
        if !cx.leads(m.view) {
            return;
        }
        if m.view > self.base.view() {
            self.base.shelf.keep(from, msg);
        } else if m.view == self.base.view() && self.base.has(m.justify.block, from, msg, cx) {
            self.new_views.insert(from);
        }
    }

    fn on_proposal(&mut self, from: NodeId, block: &Arc<Block>, msg: &Msg, cx: &mut Cx<'_>) {
        let checks = self.base.tree.checks;
        let genuine = from == cx.leader(block.view) || checks.no_leader_check;
        if !genuine || !checks.certified(&block.justify) {
            return;
        }
        self.learn(&block.justify, cx);
        if self.base.has_parent(block, from, msg, cx) && self.base.is_good(block) {
            let id = self.base.insert(block, cx);
            self.update(id, block, cx);
            match block.view > self.base.view() {
                true => self.base.shelf.keep(from, msg),
                false => self.consider(id, block, cx),
            }
        }
    }

    /// Votes for a block of this view if it is safe: once in a view, and not after a timeout.
    fn consider(&mut self, id: Digest, block: &Block, cx: &mut Cx<'_>) {
        let flags = self.config.flags;
        let now = block.view == self.base.view() && !self.base.pacemaker.expired();
        let first = block.view > self.last_voted;
        if !(now || flags.vote_after_timeout) || !(first || flags.vote_not_monotone) {
            return;
        }
        if self.is_safe(id, &block.justify, cx) {
            self.last_voted = block.view;
            let vote = Vote { phase: Phase::Prepare, view: block.view, block: id };
            cx.send(cx.leader(block.view.next()), Msg::Vote(cx.sign(vote)));
        } else {
            cx.mark("refuse");
            cx.note(|| format!("refuses block {id}: it is locked on {}", self.locked_qc.block));
        }
    }

    /// safeNode: the block extends the one that is locked (safety), or its certificate is of a later view than the lock
    /// (liveness).
    fn is_safe(&self, block: Digest, justify: &Qc, cx: &mut Cx<'_>) -> bool {
        let later = justify.view > self.locked_qc.view && !self.config.flags.sticky;
        let extends = self.extends_lock(block);
        if !extends && later {
            cx.mark("unlock");
        }
        extends || later || self.config.flags.no_safe_node
    }

    fn extends_lock(&self, block: Digest) -> bool {
        self.base.tree.extends(block, self.locked_qc.block)
    }

    /// What a proposal b* does to the blocks before it: its certificate is of b'', that of b'' is of b', that of b' is of b.
    fn update(&mut self, id: Digest, proposal: &Block, cx: &mut Cx<'_>) {
        let Config { phases, flags, .. } = self.config;
        let Some(b2) = self.base.tree.get(proposal.justify.block) else { return };
        // PRE-COMMIT phase on b': a two-chain. The blocks need not be direct children. With two phases b'' is locked.
        let lock = if phases == 2 { &proposal.justify } else { &b2.justify };
        let older =
            |qc: &'_ Qc| self.base.tree.get(qc.block).map_or_else(genesis, |block| block.justify.clone());
        let lock = if slip!("hotstuff-chained/lock-too-old") { &older(lock) } else { lock };
        if !flags.no_lock_update && (!flags.sticky || self.extends_lock(id)) {
            match slip!("hotstuff-chained/lock-goes-back") {
                true => self.locked_qc = lock.clone(),
                false => raise(&mut self.locked_qc, lock),
            }
        }
        // DECIDE phase on b: a three-chain of direct children, in consecutive views as there are no dummy blocks. With two
        // phases b' heads the chain.
        let tree = &self.base.tree;
        let Some(b1) = tree.get(b2.justify.block) else { return };
        let follows = |child: &Block, block: &Block| {
            let consecutive = child.view == block.view.next() || flags.chain3_no_consecutive_views;
            child.parent == child.justify.block && consecutive
        };
        let first = |child: &Block, block: &Block| {
            follows(child, block) || slip!("hotstuff-chained/first-gap-ignored")
        };
        let decided = match phases {
            2 => follows(b2, b1).then_some(b2.parent),
            _ => {
                let Some(b0) = tree.get(b1.justify.block) else { return };
                (follows(b2, b1) && first(b1, b0)).then_some(b1.parent)
            }
        };
        if let Some(decided) = decided {
            let qc = &proposal.justify;
            let grounds = Grounds::certificate("vote", qc.view, qc.voters()).on_top(qc.block);
            self.base.tree.execute(decided, grounds, cx);
        }
    }
}

impl Member<Chained> for Replica {
    fn base(&mut self) -> &mut Base<Msg> {
        &mut self.base
    }

    /// Without a certificate of the view before, the leader hears of the highest one.
    fn enter(&mut self, view: View, certified: bool, cx: &mut Cx<'_>) {
        self.base.pacemaker.enter(view, certified, cx);
        self.base.shelf.stir();
        (self.leads, self.new_views, self.proposed) = (cx.leads(view), NodeSet::EMPTY, false);
        self.waited = false;
        if !certified {
            let report = NewView { view, justify: self.high_qc.clone() };
            cx.send(cx.leader(view), Msg::NewView(report));
            self.start_wait(cx);
        }
    }

    fn handle(&mut self, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) {
        match msg {
            Msg::NewView(m) => self.on_new_view(from, m, msg, cx),
            Msg::Proposal(block) => self.on_proposal(from, block, msg, cx),
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
        let certified = self.high_qc.view.next() == self.base.view();
        let waited = self.waited || !self.config.wait;
        let reported = waited && self.new_views.len() >= cx.cluster().quorum();
        if self.leads && !self.proposed && (certified || reported) {
            self.proposed = true;
            let block = self.base.tree.create(self.base.view(), &self.high_qc, cx);
            cx.broadcast(Msg::Proposal(block));
        }
    }
}

impl Node<Chained> for Replica {
    fn on_start(&mut self, cx: &mut Cx<'_>) {
        self.enter(View(1), true, cx);
        self.settle(cx);
    }

    fn on_message(&mut self, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) {
        self.receive(from, msg, cx);
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        self.waited |= timer == Timer::Wait;
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

    open_state!();

    /// Who has voted waits for the next proposal, or for votes to make one.
    fn vitals(&self, _: &Cluster) -> Vitals {
        let (view, quorum) = (self.base.view(), self.base.tree.checks.quorum);
        let waits = match self.leads && !self.proposed {
            true => self.votes.waits(view, self.new_views, quorum),
            false => {
                let next = view.max(self.last_voted.next());
                let votes = Some(self.votes.best(view)).filter(|voters| !voters.is_empty());
                [
                    wait("proposal", next, NodeSet::EMPTY, 1),
                    votes.and_then(|have| wait("vote", view, have, quorum)),
                ]
            }
        };
        self.base.vitals(self.high_qc.block, self.locked_qc.block, waits)
    }

    fn essence(&self, live: &[Digest], out: &mut Vec<Token>) -> bool {
        let Self {
            config: _,
            base,
            last_voted,
            high_qc,
            locked_qc,
            votes,
            leads,
            new_views,
            waited,
            proposed,
        } = self;
        base.essence(live, out);
        tokens::write(&(last_voted, high_qc, locked_qc, votes, leads, (new_views, waited), proposed), out);
        true
    }
}
