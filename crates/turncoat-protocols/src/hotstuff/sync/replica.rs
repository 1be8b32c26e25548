//! A replica of Sync HotStuff: its state and its rules.

use std::collections::BTreeMap;

use turncoat_core::prelude::*;
use turncoat_core::tokens::{self, Token};

use super::messages::{Blame, Msg};
use super::{Config, SyncHotStuff};
use crate::hotstuff::Timer;
use crate::hotstuff::certs::{Phase, Qc, Tally, Vote, genesis};
use crate::hotstuff::shelf::Shelf;
use crate::hotstuff::tree::{Block, Tree};
use crate::hotstuff::wait;
use crate::slips::slip;

pub(super) type Cx<'a> = Context<'a, SyncHotStuff>;

/// What a replica knows and has done in its view.
#[derive(Clone, Default, Debug, Hash, Serialize)]
pub(super) struct Round {
    /// The blocks that the leader has shown, and the highest of them: as long as it does not contradict itself, that one
    /// extends all others.
    pub(super) shown: Vec<Digest>,
    pub(super) highest: Digest,
    /// Its proposals that this replica has voted for.
    pub(super) voted: Vec<Digest>,
    /// Whether two proposals contradict each other.
    pub(super) equivocated: bool,
    /// Whether it has voted for the block of a NEW-VIEW.
    pub(super) renewed: bool,
    pub(super) blamed: bool,
    pub(super) blames: Ballots<Blame>,
    /// BLAMEs beyond one per replica, which count for nothing unless `blame_no_dedup`.
    pub(super) repeats: Vec<Signed<Blame>>,
    /// The leader's: whose certificate it waits for to propose the next block.
    pub(super) awaited: Option<Digest>,
}

/// A replica of Sync HotStuff.
#[derive(Clone, Debug, Hash, Serialize)]
pub struct Replica {
    pub(super) config: Config,
    pub(super) tree: Tree,
    pub(super) shelf: Shelf<Msg>,
    pub(super) view: View,
    /// Whether this view is over, and the next one has not begun.
    pub(super) quitting: bool,
    /// The highest certificate that it knows.
    pub(super) high_qc: Qc,
    pub(super) lock: Qc,
    /// The votes for each block, also of other views.
    pub(super) votes: BTreeMap<View, BTreeMap<Digest, Tally>>,
    /// Certificates whose blocks are not here yet.
    pub(super) blockless: Vec<Qc>,
    /// What it has voted for and will decide, each in the view of the vote.
    pub(super) pending: Vec<(View, Digest)>,
    /// Of those, what only waits for its certificate.
    due: Vec<Digest>,
    pub(super) round: Round,
}

impl Replica {
    pub(super) fn new(config: Config, cluster: &Cluster) -> Self {
        Self {
            config,
            tree: Tree::new(config.flags.checks(cluster.weak(), cluster.n)),
            shelf: Shelf::new(config.delta.times(2)),
            view: View(0),
            quitting: false,
            high_qc: genesis(),
            lock: genesis(),
            votes: BTreeMap::new(),
            blockless: Vec::new(),
            pending: Vec::new(),
            due: Vec::new(),
            round: Round::default(),
        }
    }

    pub(super) const fn deltas(&self, many: u64) -> Time {
        self.config.delta.times(many)
    }

    // --- certificates and locks -------------------------------------------------------------------------------

    /// Certificates are ranked by view, then by height.
    pub(super) fn rank(&self, qc: &Qc) -> (View, Slot) {
        (qc.view, self.tree.height(qc.block).unwrap_or_default())
    }

    /// Learns a good certificate whose block is here. In the early version the lock follows, at any time: also between two
    /// views, and also if the certificate is of an old one.
    pub(super) fn learn(&mut self, qc: &Qc, cx: &mut Cx<'_>) {
        let flags = self.config.flags;
        let deaf = self.quitting && flags.ignore_while_quitting;
        if self.rank(qc) > self.rank(&self.high_qc) && !deaf {
            self.high_qc = qc.clone();
            let keeps = flags.sticky && !self.tree.extends(qc.block, self.lock.block);
            if self.config.early && !flags.frozen_lock && !keeps {
                self.lock = qc.clone();
                cx.note(|| format!("is locked on block {} of view {}", qc.block, qc.view));
            }
        }
    }

    /// Whether a certificate is good and its block is here; if only the block is missing, the message waits.
    pub(super) fn knows(&mut self, qc: &Qc, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) -> bool {
        let gap = self.tree.gap(qc.block);
        let good = self.tree.checks.certified(qc);
        if let Some(missing) = gap.filter(|_| good) {
            self.shelf.keep(from, msg);
            self.shelf.fetch(missing, from, cx);
        }
        good && gap.is_none()
    }

    /// Whether a message is of this view. Later ones are kept.
    pub(super) fn is_now(&mut self, from: NodeId, view: View, msg: &Msg) -> bool {
        if view > self.view {
            self.shelf.keep(from, msg);
        }
        view == self.view
    }

    pub(super) fn is_leader(&self, signed: bool, signer: NodeId, view: View, cx: &Cx<'_>) -> bool {
        signed && (signer == cx.leader(view) || self.tree.checks.no_leader_check)
    }

    /// Whether a certificate is of the view in which its block was proposed, and not of a NEW-VIEW.
    fn is_own(&self, qc: &Qc) -> bool {
        self.tree.get(qc.block).is_some_and(|block| block.view == qc.view)
    }

    // --- the steady state -------------------------------------------------------------------------------------

    pub(super) fn propose(&mut self, cx: &mut Cx<'_>) {
        let block = self.tree.create(self.view, &self.high_qc, cx);
        self.round.awaited = Some(block.id());
        cx.broadcast(Msg::Propose(cx.sign(block)));
    }

    /// How many blocks up to the highest certified one are not decided.
    fn undecided(&self) -> u32 {
        self.rank(&self.high_qc).1.0.saturating_sub(self.tree.last().0)
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
        let skips = checks.commit_skips_missing_parent;
        if !(skips || self.tree.gap(block.parent).is_none()) || !self.tree.is_good(block) {
            return;
        }
        // Also a block that comes too late to be voted for may be certified.
        let id = block.id();
        if self.tree.get(id).is_none() {
            self.tree.insert(id, block, cx);
            self.shelf.stir();
            self.drop_rivals(id, cx);
        }
        if !self.is_now(from, block.view, msg)
            || self.quitting
            || !self.is_justified(block)
            || self.round.shown.contains(&id)
        {
            return;
        }
        if !self.is_contradicted(id, msg, cx) {
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
        if !slip!("sync-hotstuff/proposal-not-passed-on") {
            cx.to_others(msg.clone());
        }
        if self.config.early && !self.tree.extends(id, self.lock.block) {
            cx.mark("refuse");
            cx.note(|| format!("refuses block {id}: it is locked on {}", self.lock.block));
            if self.config.blame_on_refuse {
                self.blame(cx);
            }
            return;
        }
        self.round.voted.push(id);
        self.pending.push((self.view, id));
        self.vote(id, cx);
        let deltas = if slip!("sync-hotstuff/commit-after-delta") { 1 } else { 2 };
        cx.set_timer(Timer::Commit(id), self.deltas(deltas));
        self.watch(3, cx);
    }

    pub(super) fn vote(&self, block: Digest, cx: &mut Cx<'_>) {
        cx.broadcast(Msg::Vote(cx.sign(Vote { phase: Phase::Prepare, view: self.view, block })));
    }

    /// Whether the leader has shown blocks in this view that contradict each other, this one included. Then nothing of it
    /// is decided, and everybody hears of it.
    pub(super) fn is_contradicted(&mut self, id: Digest, msg: &Msg, cx: &mut Cx<'_>) -> bool {
        let conflict = self.tree.conflict(id, self.round.highest);
        self.round.shown.push(id);
        if self.tree.height(id) > self.tree.height(self.round.highest) {
            self.round.highest = id;
        }
        if conflict && !self.round.equivocated && !self.config.flags.no_equivocation_check {
            cx.mark("equivocation");
            cx.note(|| "sees two proposals that contradict each other".to_owned());
            self.round.equivocated = true;
            self.cancel_commits(self.view, cx);
            cx.to_others(msg.clone());
            self.blame(cx);
        }
        self.round.equivocated
    }

    /// A vote counts in any view and at any time.
    fn on_vote(&mut self, from: NodeId, vote: &Signed<Vote>, cx: &mut Cx<'_>) {
        let deaf = self.quitting && self.config.flags.ignore_while_quitting;
        if vote.is_by(from) && !deaf {
            let votes = self.votes.entry(vote.view).or_default().entry(vote.block).or_default();
            votes.add(vote, self.tree.checks);
            if let Some(qc) = votes.qc(self.tree.checks) {
                self.certify(qc, cx);
            }
        }
    }

    fn votes(&self, view: View, block: Digest) -> Option<&Tally> {
        self.votes.get(&view)?.get(&block)
    }

    /// Votes have made a certificate. It counts when its block is here.
    fn certify(&mut self, qc: Qc, cx: &mut Cx<'_>) {
        match self.tree.gap(qc.block) {
            None => self.learn(&qc, cx),
            Some(missing) => {
                let voter = qc.voters().and(cx.others()).iter().next();
                self.shelf.fetch(missing, voter.unwrap_or(cx.me()), cx);
                if self.blockless.iter().all(|known| (known.view, known.block) != (qc.view, qc.block)) {
                    self.blockless.push(qc);
                }
            }
        }
    }

    /// A block was voted for two deltas ago, and nothing has happened since that speaks against it.
    fn commit(&mut self, id: Digest, cx: &mut Cx<'_>) {
        if self.config.certified && !self.is_certified(id) {
            self.due.push(id);
            return;
        }
        self.pending.retain(|(_, pending)| *pending != id);
        self.tree.execute(id, Grounds::Elapsed(self.deltas(2)), cx);
    }

    /// Whether it knows a certificate of a block, or its highest one is of a descendant.
    fn is_certified(&self, id: Digest) -> bool {
        let checks = self.tree.checks;
        let voted =
            |votes: &BTreeMap<Digest, Tally>| votes.get(&id).is_some_and(|it| it.qc(checks).is_some());
        self.tree.extends(self.high_qc.block, id) || self.votes.values().any(voted)
    }

    /// Decides what has waited for its certificate.
    fn commit_due(&mut self, cx: &mut Cx<'_>) {
        for id in std::mem::take(&mut self.due) {
            self.commit(id, cx);
        }
    }

    /// Nothing that was voted for in a view is decided any more.
    pub(super) fn cancel_commits(&mut self, view: View, cx: &mut Cx<'_>) {
        self.drop_pending(|_, (voted, _)| voted == view, cx);
    }

    /// Views that end with a certificate leave decisions behind: a block that conflicts with one of these undoes it.
    fn drop_rivals(&mut self, id: Digest, cx: &mut Cx<'_>) {
        if self.config.rotate && !self.config.flags.no_equivocation_check {
            self.drop_pending(|it, (_, block)| it.tree.conflict(id, block), cx);
        }
    }

    fn drop_pending(&mut self, drops: impl Fn(&Self, (View, Digest)) -> bool, cx: &mut Cx<'_>) {
        let pending = std::mem::take(&mut self.pending);
        let (dropped, kept): (Vec<_>, Vec<_>) = pending.into_iter().partition(|&it| drops(self, it));
        self.pending = kept;
        self.due.retain(|id| dropped.iter().all(|(_, gone)| gone != id));
        dropped.iter().for_each(|&(_, id)| cx.cancel_timer(Timer::Commit(id)));
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
                let old = slip!("sync-hotstuff/old-blame-cert") && m.view < self.view;
                let now = (self.is_now(from, m.view, msg) || old) && !self.quitting;
                if now && self.ends(m, cx) {
                    self.quit(m.clone(), cx);
                } else if m.view < self.view && self.config.rotate && self.ends(m, cx) {
                    self.abandon(m.view, cx);
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
        self.commit_due(cx);
        if self.quitting {
            return;
        }
        if let Some(cert) = self.blame_cert(cx) {
            self.quit(cert, cx);
        } else if self.config.rotate && self.high_qc.view >= self.view && self.is_own(&self.high_qc) {
            cx.cancel_timer(Timer::Wait);
            self.enter(self.high_qc.view.next(), cx);
        } else if self.high_qc.view == self.view
            && self.round.awaited == Some(self.high_qc.block)
            && self.undecided() < self.config.pipeline
        {
            self.propose(cx);
        }
    }

    fn settle(&mut self, cx: &mut Cx<'_>) {
        while let Some(kept) = self.shelf.stirred() {
            std::mem::take(&mut self.blockless).into_iter().for_each(|qc| self.certify(qc, cx));
            self.advance(cx);
            kept.iter().for_each(|(from, msg)| self.handle(*from, msg, cx));
        }
    }
}

impl Node<SyncHotStuff> for Replica {
    fn adopt(&mut self, config: &Config, cluster: &Cluster) -> bool {
        let fresh = Self::new(*config, cluster);
        (self.config, self.tree.checks) = (fresh.config, fresh.tree.checks);
        true
    }

    fn on_start(&mut self, cx: &mut Cx<'_>) {
        self.enter(View(1), cx);
        self.settle(cx);
    }

    fn on_message(&mut self, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) {
        self.handle(from, msg, cx);
        self.settle(cx);
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        match timer {
            Timer::Blame => self.blame(cx),
            Timer::Commit(id) => {
                self.commit(id, cx);
                self.advance(cx);
            }
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

    /// Who blames the leader waits for others who do; before that, for the leader and for votes.
    fn vitals(&self, cluster: &Cluster) -> Vitals {
        let (view, round) = (self.view, &self.round);
        let last = round.voted.last().copied();
        let votes = last.and_then(|id| self.votes(view, id)).map(Tally::best);
        let unrenewed = !self.config.early && view > View(1) && !round.renewed;
        let waits = match (self.quitting, round.blamed) {
            (true, _) => [None, None],
            (_, true) => [wait("blame", view, round.blames.seen(), cluster.weak()), None],
            _ => [
                wait(if unrenewed { "new-view" } else { "propose" }, view, NodeSet::EMPTY, 1),
                votes.and_then(|have| wait("vote", view, have, self.tree.checks.quorum)),
            ],
        };
        let prepared = if self.config.early { last.unwrap_or(self.lock.block) } else { self.high_qc.block };
        let [first, second] = waits;
        let waits = [first, second, self.shelf.wait(&self.tree)];
        let vitals = self.tree.vitals(view, prepared, self.lock.block, waits);
        Vitals { changing_view: self.quitting, ..vitals }
    }

    fn essence(&self, live: &[Digest], out: &mut Vec<Token>) -> bool {
        let Self {
            config,
            tree,
            shelf,
            view,
            quitting,
            high_qc,
            lock,
            votes,
            blockless,
            pending,
            due,
            round,
        } = self;
        tree.essence(live, out);
        // A certificate that is no higher than the highest would not be learned any more, unless a decision waits for it.
        // The others in an order that does not depend on the names of blocks.
        let (least, height) = self.rank(high_qc);
        let higher = |view, block| {
            view > least || (view == least && tree.height(block).is_none_or(|block| block > height))
        };
        let votes =
            votes.iter().flat_map(|(&view, votes)| votes.iter().map(move |(&block, it)| (view, block, it)));
        let awaited = |block| config.certified && pending.iter().any(|&(_, id)| id == block);
        let mut votes: Vec<_> =
            votes.filter(|&(view, block, _)| higher(view, block) || awaited(block)).collect();
        votes.sort_by_key(|&(view, block, it)| (view, tree.height(block), it.best()));
        tokens::write(&(shelf, view, quitting, high_qc, lock, votes, (blockless, pending, due), round), out);
        true
    }

    open_state!();
}
