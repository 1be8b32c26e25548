//! A replica of Sync HotStuff: its state and its rules.

use std::collections::BTreeMap;

use turncoat_core::prelude::*;

use super::messages::{Blame, Msg, Report};
use super::{Config, SyncHotStuff};
use crate::hotstuff::Timer;
use crate::hotstuff::certs::{Phase, Qc, Tally, Vote, genesis};
use crate::hotstuff::shelf::Shelf;
use crate::hotstuff::tree::{Block, Tree};

type Cx<'a> = Context<'a, SyncHotStuff>;

/// What a replica knows and has done in its view.
#[derive(Clone, Default, Debug, Hash, Serialize)]
struct Round {
    /// The blocks that the leader has proposed, and those of them that it has voted for.
    proposals: Vec<Digest>,
    voted: Vec<Digest>,
    /// Whether two proposals contradict each other.
    equivocated: bool,
    /// Whether it has voted for the block of a NEW-VIEW.
    renewed: bool,
    blamed: bool,
    blames: Ballots<Blame>,
    /// BLAMEs beyond one per replica, which count for nothing unless `blame_no_dedup`.
    repeats: Vec<Signed<Blame>>,
    /// The leader's: whose certificate it waits for to propose the next block.
    awaited: Option<Digest>,
}

/// A replica of Sync HotStuff.
#[derive(Clone, Debug, Hash, Serialize)]
pub struct Replica {
    config: Config,
    tree: Tree,
    shelf: Shelf<Msg>,
    view: View,
    /// Whether this view is over, and the next one has not begun.
    quitting: bool,
    /// The highest certificate that it knows.
    high_qc: Qc,
    lock: Qc,
    /// The votes for each block, also of other views.
    votes: BTreeMap<(View, Digest), Tally>,
    /// Certificates whose blocks are not here yet.
    blockless: Vec<Qc>,
    round: Round,
}

impl Replica {
    pub(super) fn new(config: Config, cluster: &Cluster) -> Self {
        Self {
            config,
            tree: Tree::new(config.flags.checks(cluster.weak(), cluster.n)),
            shelf: Shelf::new(Time(2 * config.delta.0)),
            view: View(0),
            quitting: false,
            high_qc: genesis(),
            lock: genesis(),
            votes: BTreeMap::new(),
            blockless: Vec::new(),
            round: Round::default(),
        }
    }

    const fn deltas(&self, many: u64) -> Time {
        Time(many * self.config.delta.0)
    }

    // --- certificates and locks -------------------------------------------------------------------------------

    /// Certificates are ranked by view, then by height.
    fn rank(&self, qc: &Qc) -> (View, Slot) {
        (qc.view, self.tree.height(qc.block).unwrap_or_default())
    }

    /// Learns a good certificate whose block is here. In the early version the lock follows, at any time: also between two
    /// views, and also if the certificate is of an old one.
    fn learn(&mut self, qc: &Qc, cx: &mut Cx<'_>) {
        let flags = self.config.flags;
        let deaf = self.quitting && flags.ignore_while_quitting;
        if self.rank(qc) > self.rank(&self.high_qc) && !deaf {
            self.high_qc = qc.clone();
            if self.config.early && !flags.frozen_lock {
                self.lock = qc.clone();
                cx.note(|| format!("is locked on block {} of view {}", qc.block, qc.view));
            }
        }
    }

    /// Whether a certificate is good and its block is here; if only the block is missing, the message waits.
    fn knows(&mut self, qc: &Qc, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) -> bool {
        let gap = self.tree.gap(qc.block);
        let good = self.tree.checks.certified(qc);
        if let Some(missing) = gap.filter(|_| good) {
            self.shelf.keep(from, msg);
            self.shelf.fetch(missing, from, cx);
        }
        good && gap.is_none()
    }

    /// Whether a message is of this view. Later ones are kept.
    fn is_now(&mut self, from: NodeId, view: View, msg: &Msg) -> bool {
        if view > self.view {
            self.shelf.keep(from, msg);
        }
        view == self.view
    }

    fn is_leader(&self, signed: bool, signer: NodeId, view: View, cx: &Cx<'_>) -> bool {
        signed && (signer == cx.leader(view) || self.tree.checks.no_leader_check)
    }

    // --- the steady state -------------------------------------------------------------------------------------

    fn propose(&mut self, cx: &mut Cx<'_>) {
        let block = self.tree.create(self.view, &self.high_qc, cx);
        self.round.awaited = Some(block.id());
        cx.broadcast(Msg::Propose(cx.sign(block)));
    }

    fn on_propose(&mut self, from: NodeId, m: &Signed<Arc<Block>>, msg: &Msg, cx: &mut Cx<'_>) {
        let block: &Arc<Block> = m;
        let checks = self.tree.checks;
        if !self.is_leader(m.valid(), m.signer(), block.view, cx) || !checks.certified(&block.justify) {
            return;
        }
        if self.knows(&block.justify, from, msg, cx) {
            self.learn(&block.justify, cx);
        } else if !checks.commit_skips_missing_parent {
            return;
        }
        if self.tree.gap(block.parent).is_some() && !checks.commit_skips_missing_parent
            || !self.tree.is_good(block)
        {
            return;
        }
        // Also a block that comes too late to be voted for may be certified.
        let id = block.id();
        if self.tree.get(id).is_none() {
            self.tree.insert(block, cx);
            self.shelf.stir();
        }
        if !self.is_now(from, block.view, msg)
            || self.quitting
            || !self.is_justified(block)
            || self.round.proposals.contains(&id)
        {
            return;
        }
        let contradicted = self.round.proposals.iter().any(|&other| self.tree.conflict(id, other));
        self.round.proposals.push(id);
        if contradicted && !self.config.flags.no_equivocation_check {
            self.equivocated(msg, cx);
        } else if !self.round.equivocated {
            self.consider(id, msg, cx);
        }
    }

    /// A block is justified by a certificate of its own view; the first view has none. In the early version any will do.
    fn is_justified(&self, block: &Block) -> bool {
        let justify = &block.justify;
        let renewed = justify.view == block.view || (block.view == View(1) && justify.view == View(0));
        let earlier = self.config.early && justify.view <= block.view;
        renewed || earlier || self.tree.checks.justify_view_unchecked
    }

    /// Passes a proposal on, and votes for it unless it conflicts with the lock. Two deltas later the block is decided.
    fn consider(&mut self, id: Digest, msg: &Msg, cx: &mut Cx<'_>) {
        cx.to_others(msg.clone());
        if self.config.early && !self.tree.extends(id, self.lock.block) {
            cx.mark("refuse");
            cx.note(|| format!("refuses block {id}: it is locked on {}", self.lock.block));
            if self.config.blame_on_refuse {
                self.blame(cx);
            }
            return;
        }
        self.round.voted.push(id);
        self.vote(id, cx);
        cx.set_timer(Timer::Commit(id), self.deltas(2));
        self.watch(3, cx);
    }

    fn vote(&self, block: Digest, cx: &mut Cx<'_>) {
        cx.broadcast(Msg::Vote(cx.sign(Vote { phase: Phase::Prepare, view: self.view, block })));
    }

    /// The leader contradicts itself: nothing that it has proposed is decided, and everybody hears of it.
    fn equivocated(&mut self, msg: &Msg, cx: &mut Cx<'_>) {
        cx.mark("equivocation");
        cx.note(|| "sees two proposals that contradict each other".to_owned());
        self.round.equivocated = true;
        self.cancel_commits(cx);
        cx.to_others(msg.clone());
        self.blame(cx);
    }

    /// A vote counts in any view and at any time.
    fn on_vote(&mut self, from: NodeId, vote: &Signed<Vote>, cx: &mut Cx<'_>) {
        let deaf = self.quitting && self.config.flags.ignore_while_quitting;
        if vote.is_by(from) && !deaf {
            let votes = self.votes.entry((vote.view, vote.block)).or_default();
            votes.add(vote, self.tree.checks);
            if let Some(qc) = votes.qc(self.tree.checks) {
                self.certify(qc, cx);
            }
        }
    }

    /// Votes have made a certificate. It counts when its block is here.
    fn certify(&mut self, qc: Qc, cx: &mut Cx<'_>) {
        match self.tree.gap(qc.block) {
            None => self.learn(&qc, cx),
            Some(missing) => {
                let voter = qc.voters().and(cx.others()).iter().next();
                self.shelf.fetch(missing, voter.unwrap_or(cx.me()), cx);
                self.blockless.push(qc);
            }
        }
    }

    /// A block was voted for two deltas ago, and nothing has happened since that speaks against it.
    fn commit(&mut self, id: Digest, cx: &mut Cx<'_>) {
        let view = self.tree.get(id).map_or(self.view, |block| block.view);
        let vote = Vote { phase: Phase::Prepare, view, block: id };
        let voters = self.votes.get(&(view, id)).map_or(NodeSet::EMPTY, |votes| votes.voters(&vote));
        self.tree.execute(id, voters, cx);
    }

    fn cancel_commits(&self, cx: &mut Cx<'_>) {
        self.round.voted.iter().for_each(|&id| cx.cancel_timer(Timer::Commit(id)));
    }

    // --- the view change --------------------------------------------------------------------------------------

    /// Gives the leader so many deltas, and the tick in which what is just in time arrives.
    fn watch(&self, deltas: u64, cx: &mut Cx<'_>) {
        cx.set_timer(Timer::Blame, self.deltas(deltas) + Time(1));
    }

    fn blame(&mut self, cx: &mut Cx<'_>) {
        if !std::mem::replace(&mut self.round.blamed, true) {
            cx.mark("blame");
            cx.broadcast(Msg::Blame(cx.sign(Blame { view: self.view })));
        }
    }

    fn on_blame(&mut self, from: NodeId, m: &Signed<Blame>, msg: &Msg) {
        if m.is_by(from) && self.is_now(from, m.view, msg) && !self.round.blames.add(m) {
            self.round.repeats.push(*m);
        }
    }

    /// The certificate that ends the view, if there are enough BLAMEs.
    fn blame_cert(&self, cx: &Cx<'_>) -> Option<Cert<Blame>> {
        if self.round.blames.seen().is_empty() {
            return None;
        }
        let mut cert = self.round.blames.cert(&Blame { view: self.view }, cx.cluster().replicas());
        if self.config.flags.blame_no_dedup {
            self.round.repeats.iter().for_each(|blame| cert.add(blame));
        }
        self.ends(&cert, cx).then_some(cert)
    }

    fn ends(&self, cert: &Cert<Blame>, cx: &Cx<'_>) -> bool {
        let blames = match self.config.flags.blame_no_dedup {
            true if cert.valid() => cert.signers().len(),
            _ => cert.voters().and(cx.cluster().replicas()).len(),
        };
        blames >= cx.cluster().weak()
    }

    /// Ends the view. What was voted for in it is not decided.
    fn quit(&mut self, cert: Cert<Blame>, cx: &mut Cx<'_>) {
        cx.mark("quit");
        cx.note(|| format!("quits view {}", cert.view));
        self.quitting = true;
        cx.to_others(Msg::BlameCert(cert));
        cx.cancel_timer(Timer::Blame);
        cx.cancel_timer(Timer::Wait);
        if !self.config.flags.commit_timer_kept {
            self.cancel_commits(cx);
        }
        self.start_quit(cx);
    }

    fn start_quit(&self, cx: &mut Cx<'_>) {
        cx.set_timer(Timer::Quit, self.deltas(if self.config.early { 2 } else { 1 }));
    }

    /// Begins a view. Its leader waits until all correct replicas have reported; the first one need not.
    fn enter(&mut self, view: View, cx: &mut Cx<'_>) {
        (self.view, self.quitting, self.lock) = (view, false, self.high_qc.clone());
        self.round = Round::default();
        self.shelf.stir();
        cx.note(|| format!("enters view {view}, locked on block {}", self.lock.block));
        cx.send(cx.leader(view), Msg::Status(Report { view, qc: self.high_qc.clone() }));
        self.start_watch(cx);
        if cx.leads(view) && view == View(1) {
            self.propose(cx);
        }
    }

    fn start_watch(&self, cx: &mut Cx<'_>) {
        self.watch(if self.config.early { 4 } else { 6 }, cx);
        if cx.leads(self.view) && self.view > View(1) && self.round.awaited.is_none() {
            cx.set_timer(Timer::Wait, self.deltas(2));
        }
    }

    /// The leader has waited. It proposes on the highest certificate, or shows it first.
    fn lead(&mut self, cx: &mut Cx<'_>) {
        if self.config.early {
            self.propose(cx);
        } else {
            self.round.awaited = Some(self.high_qc.block);
            let report = Report { view: self.view, qc: self.high_qc.clone() };
            cx.broadcast(Msg::NewView(Arc::new(cx.sign(report))));
        }
    }

    /// Votes again for a certified block that is not below the lock, once in a view.
    fn on_new_view(&mut self, from: NodeId, m: &Signed<Report>, msg: &Msg, cx: &mut Cx<'_>) {
        if self.is_leader(m.valid(), m.signer(), m.view, cx)
            && self.is_now(from, m.view, msg)
            && self.knows(&m.qc, from, msg, cx)
            && !self.quitting
            && !self.round.renewed
            && self.rank(&m.qc) >= self.rank(&self.lock)
        {
            self.round.renewed = true;
            self.learn(&m.qc, cx);
            cx.to_others(msg.clone());
            self.vote(m.qc.block, cx);
        }
    }

    // --- every event ------------------------------------------------------------------------------------------

    fn handle(&mut self, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) {
        match msg {
            Msg::Status(m) => {
                if self.knows(&m.qc, from, msg, cx) {
                    self.learn(&m.qc, cx);
                }
            }
            Msg::NewView(m) => self.on_new_view(from, m, msg, cx),
            Msg::Propose(m) => self.on_propose(from, m, msg, cx),
            Msg::Vote(vote) => self.on_vote(from, vote, cx),
            Msg::Blame(m) => self.on_blame(from, m, msg),
            Msg::BlameCert(m) => {
                if self.is_now(from, m.view, msg) && !self.quitting && self.ends(m, cx) {
                    self.quit(m.clone(), cx);
                }
            }
            Msg::Fetch(id) => {
                if let Some(block) = self.tree.get(*id) {
                    cx.send(from, Msg::Block(block.clone()));
                }
            }
            Msg::Block(block) => self.shelf.take(from, block, &mut self.tree, cx),
        }
        self.advance(cx);
    }

    /// Every rule whose guard now holds.
    fn advance(&mut self, cx: &mut Cx<'_>) {
        std::mem::take(&mut self.blockless).into_iter().for_each(|qc| self.certify(qc, cx));
        if self.quitting {
            return;
        }
        if let Some(cert) = self.blame_cert(cx) {
            self.quit(cert, cx);
        } else if self.high_qc.view == self.view && self.round.awaited == Some(self.high_qc.block) {
            self.propose(cx);
        }
    }

    fn settle(&mut self, cx: &mut Cx<'_>) {
        while let Some(kept) = self.shelf.stirred() {
            kept.iter().for_each(|(from, msg)| self.handle(*from, msg, cx));
        }
    }
}

impl Node<SyncHotStuff> for Replica {
    fn on_start(&mut self, cx: &mut Cx<'_>) {
        self.enter(View(1), cx);
    }

    fn on_message(&mut self, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) {
        self.handle(from, msg, cx);
        self.settle(cx);
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        match timer {
            Timer::Blame => self.blame(cx),
            Timer::Commit(id) => self.commit(id, cx),
            Timer::Quit => self.enter(self.view.next(), cx),
            Timer::Wait => self.lead(cx),
            Timer::Fetch => self.shelf.retry(cx),
            Timer::View => {}
        }
        self.settle(cx);
    }

    /// The timers are gone, the state is not: what was voted for waits for the next decision.
    fn on_restart(&mut self, cx: &mut Cx<'_>) {
        self.shelf.retry(cx);
        if self.quitting { self.start_quit(cx) } else { self.start_watch(cx) }
    }

    fn on_suspect(&mut self, cx: &mut Cx<'_>) {
        self.blame(cx);
    }

    fn vitals(&self) -> Vitals {
        let quorum = self.tree.checks.quorum;
        let last = self.round.voted.last().copied();
        let votes =
            last.and_then(|id| self.votes.get(&(self.view, id))).map(|votes| ("vote", votes.best(), quorum));
        let blames = self.round.blames.seen().len();
        let waits = [
            (!self.quitting).then_some(("propose", 0, 1)),
            votes.filter(|&(_, have, need)| have < need),
            (blames > 0 && !self.quitting).then_some(("blame", blames, quorum)),
            (self.shelf.missing() > 0).then_some(("block", 0, self.shelf.missing())),
        ];
        let prepared = if self.config.early { last.unwrap_or(self.lock.block) } else { self.high_qc.block };
        let vitals = self.tree.vitals(prepared, self.lock.block, waits);
        Vitals { view: self.view, changing_view: self.quitting, ..vitals }
    }

    open_state!();
}
