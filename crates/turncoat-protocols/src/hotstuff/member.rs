//! What replicas do in the same way in all protocols with views and timeouts: [`Member`].
//!
//! A replica handles a message by the rules of its protocol, goes where the TIMEOUTs of others lead it, and then
//! does what its leader's rules allow. After that it looks again at the messages that have waited for that.

use turncoat_core::prelude::*;
use turncoat_core::tokens::{self, Token};

use super::Timer;
use super::certs::{Checks, Qc};
use super::pacemaker::{Pace, Paced, Pacemaker, Tc};
use super::shelf::Shelf;
use super::tree::{Block, Tree};
use super::wait;

/// What all replicas have.
#[derive(Clone, Debug, Hash, Serialize)]
pub(super) struct Base<M> {
    pub(super) tree: Tree,
    pub(super) shelf: Shelf<M>,
    pub(super) pacemaker: Pacemaker,
}

impl<M: Clone> Base<M> {
    /// At first a view may take ten deltas. So many TIMEOUTs end it.
    pub(super) fn new(checks: Checks, pace: Pace, delta: Time, doublings: u32, leave: usize) -> Self {
        Self {
            tree: Tree::new(checks),
            shelf: Shelf::new(delta.times(2)),
            pacemaker: Pacemaker::new(pace, delta.times(10), doublings, leave),
        }
    }

    /// Leaves out the checks that the other one leaves out.
    pub(super) fn adopt(&mut self, other: &Self) {
        self.tree.checks = other.tree.checks;
        self.pacemaker.adopt(&other.pacemaker);
    }

    /// All of it that decides what its replica will do.
    pub(super) fn essence(&self, live: &[Digest], out: &mut Vec<Token>)
    where
        M: Serialize,
    {
        self.tree.essence(live, out);
        tokens::write(&(&self.shelf, self.pacemaker.essence()), out);
    }

    /// The view that it is in.
    pub(super) const fn view(&self) -> View {
        self.pacemaker.view()
    }

    /// Whether a block and its ancestors are here. If not, the message waits for them, and they are asked for.
    pub(super) fn has<P>(&mut self, block: Digest, from: NodeId, msg: &M, cx: &mut Context<'_, P>) -> bool
    where
        P: Paced<Msg = M>,
    {
        let gap = self.tree.gap(block);
        if let Some(missing) = gap {
            self.shelf.keep(from, msg);
            self.shelf.fetch(missing, from, cx);
        }
        gap.is_none()
    }

    /// Whether what a block stands on is here: its parent, and what justifies it, which is the same in a good block.
    pub(super) fn has_parent<P>(
        &mut self,
        block: &Block,
        from: NodeId,
        msg: &M,
        cx: &mut Context<'_, P>,
    ) -> bool
    where
        P: Paced<Msg = M>,
    {
        let skips = self.tree.checks.commit_skips_missing_parent;
        skips || (self.has(block.parent, from, msg, cx) && self.has(block.justify.block, from, msg, cx))
    }

    /// Asks for the block of a certificate that came without it, and for its ancestors.
    pub(super) fn want<P: Paced<Msg = M>>(&mut self, qc: &Qc, cx: &mut Context<'_, P>) {
        if let Some(missing) = self.tree.gap(qc.block) {
            let others = qc.voters().and(cx.others());
            self.shelf.fetch(missing, others.iter().next().unwrap_or(cx.me()), cx);
        }
    }

    /// Whether a block is what a block has to be, and what justifies it is of an earlier view.
    pub(super) fn is_good(&self, block: &Block) -> bool {
        let earlier = block.justify.view < block.view || self.tree.checks.justify_view_unchecked;
        earlier && self.tree.is_good(block)
    }

    /// Keeps the block of a good proposal.
    pub(super) fn insert<P: Paced<Msg = M>>(
        &mut self,
        block: &Arc<Block>,
        cx: &mut Context<'_, P>,
    ) -> Digest {
        let id = block.id();
        if self.tree.get(id).is_none() {
            self.tree.insert(id, block, cx);
            self.shelf.stir();
        }
        id
    }

    /// What it says about its replica. Who has given up its view waits for others to do so, not for these things.
    pub(super) fn vitals(&self, prepared: Digest, locked: Digest, waits: [Option<Waiting>; 2]) -> Vitals {
        let (view, expired) = (self.view(), self.pacemaker.expired());
        let timeouts = || wait("timeout", view.next(), self.pacemaker.through(), self.pacemaker.quorum());
        let [first, second] = if expired { [timeouts(), None] } else { waits };
        let vitals = self.tree.vitals(view, prepared, locked, [first, second, self.shelf.wait(&self.tree)]);
        Vitals { changing_view: expired, ..vitals }
    }
}

/// A replica of protocol `P`: its own rules, and what follows from them in all protocols.
pub(super) trait Member<P: Paced>: Sized {
    /// What all replicas have.
    fn base(&mut self) -> &mut Base<P::Msg>;

    /// Begins a view. The one before has borne fruit, or has been given up.
    fn enter(&mut self, view: View, fruit: bool, cx: &mut Context<'_, P>);

    /// Records what a message says, and does what follows at once.
    fn handle(&mut self, from: NodeId, msg: &P::Msg, cx: &mut Context<'_, P>);

    /// Every rule of the leader whose guard now holds.
    fn advance(&mut self, cx: &mut Context<'_, P>);

    /// A message comes in.
    fn receive(&mut self, from: NodeId, msg: &P::Msg, cx: &mut Context<'_, P>) {
        self.handle(from, msg, cx);
        self.settle(cx);
    }

    /// Does what is to be done after every event.
    fn settle(&mut self, cx: &mut Context<'_, P>) {
        loop {
            while let Some(view) = self.base().pacemaker.next(cx) {
                self.enter(view, false, cx);
            }
            self.advance(cx);
            let Some(kept) = self.base().shelf.stirred() else { break };
            for (from, msg) in kept {
                self.handle(from, &msg, cx);
                self.advance(cx);
            }
        }
    }

    /// A timer fires.
    fn fire(&mut self, timer: Timer, cx: &mut Context<'_, P>) {
        match timer {
            Timer::View => self.expire(cx),
            Timer::Fetch => self.base().shelf.retry(cx),
            Timer::Wait | Timer::Blame | Timer::Quit | Timer::Commit(_) => {}
        }
        self.settle(cx);
    }

    /// Gives the view up, as the pacemaker says.
    fn expire(&mut self, cx: &mut Context<'_, P>) {
        if let Some(next) = self.base().pacemaker.expire(cx) {
            self.enter(next, false, cx);
        }
        self.settle(cx);
    }

    /// The timers are gone, the state is not.
    fn restart(&mut self, cx: &mut Context<'_, P>) {
        self.base().pacemaker.start(cx);
        self.base().shelf.retry(cx);
    }

    /// TIMEOUTs, whoever brings them.
    fn hear(&mut self, tc: &Tc, cx: &Context<'_, P>) {
        tc.timeouts.iter().for_each(|timeout| self.base().pacemaker.hear(timeout, cx.cluster()));
    }

    /// Somebody asks for a block.
    fn answer(&mut self, from: NodeId, id: Digest, cx: &mut Context<'_, P>) {
        if let Some(block) = self.base().tree.get(id) {
            cx.send(from, P::BLOCK(block.clone()));
        }
    }

    /// A block comes in.
    fn take(&mut self, from: NodeId, block: &Arc<Block>, cx: &mut Context<'_, P>) {
        let Base { tree, shelf, .. } = self.base();
        shelf.take(from, block, tree, cx);
    }
}
