//! What has to wait: messages of later views, messages about blocks that are not here, and those blocks.
//!
//! A message that names an unknown block waits for it, and the block is asked for: first of whom the message came
//! from, then of one replica after another. A block whose parent is missing makes its receiver ask for that, down to
//! a block that is known.

use turncoat_core::prelude::*;

use super::Timer;
use super::tree::{Block, Tree};

/// A protocol whose replicas ask each other for blocks.
pub(super) trait Fetching: Protocol<Timer = Timer> {
    /// Asks for a block.
    const FETCH: fn(Digest) -> Self::Msg;
    /// The answer.
    const BLOCK: fn(Arc<Block>) -> Self::Msg;
}

/// The messages that wait, and the blocks that are missing.
#[derive(Clone, Debug, Hash, Serialize)]
pub(super) struct Shelf<M> {
    early: Early<M>,
    /// The missing blocks in the order in which they were missed, and whom it has asked last for each.
    missing: Vec<(Digest, NodeId)>,
    /// Whether something has changed for which messages may wait: a new view, a new block.
    stirred: bool,
    /// How long it waits for an answer.
    patience: Time,
}

impl<M: Clone> Shelf<M> {
    pub(super) fn new(patience: Time) -> Self {
        Self { early: Early::default(), missing: Vec::new(), stirred: false, patience }
    }

    /// Keeps a message for later.
    pub(super) fn keep(&mut self, from: NodeId, msg: &M) {
        self.early.keep(from, msg);
    }

    /// There is a new view or a new block: what waits is to be looked at.
    pub(super) const fn stir(&mut self) {
        self.stirred = true;
    }

    /// If something has changed, the messages that may be handled now, in the order in which they came.
    pub(super) fn stirred(&mut self) -> Option<Vec<(NodeId, M)>> {
        std::mem::take(&mut self.stirred).then(|| self.early.take())
    }

    /// The block that it waits for, if one is missing.
    pub(super) fn wait(&self, tree: &Tree) -> Option<Waiting> {
        let about = About::Slot(tree.last().next());
        let wait = Waiting { kind: "block", about, have: NodeSet::EMPTY, need: 1 };
        (!self.missing.is_empty()).then_some(wait)
    }

    /// Asks for a block, unless that was done before.
    pub(super) fn fetch<P>(&mut self, block: Digest, from: NodeId, cx: &mut Context<'_, P>)
    where
        P: Fetching<Msg = M>,
    {
        if self.missing.iter().all(|(missing, _)| *missing != block) {
            cx.mark("fetch");
            let whom = if from == cx.me() { after(from, cx) } else { from };
            self.missing.push((block, whom));
            cx.send(whom, P::FETCH(block));
            cx.start_timer(Timer::Fetch, self.patience);
        }
    }

    /// No answer: asks the next replica for each missing block.
    pub(super) fn retry<P: Fetching<Msg = M>>(&mut self, cx: &mut Context<'_, P>) {
        for (block, asked) in &mut self.missing {
            *asked = after(*asked, cx);
            cx.send(*asked, P::FETCH(*block));
        }
        if !self.missing.is_empty() {
            cx.set_timer(Timer::Fetch, self.patience);
        }
    }

    /// A block that was asked for comes in; its parent may be missing too.
    pub(super) fn take<P>(
        &mut self,
        from: NodeId,
        block: &Arc<Block>,
        tree: &mut Tree,
        cx: &mut Context<'_, P>,
    ) where
        P: Fetching<Msg = M>,
    {
        let id = block.id();
        if let Some(index) = self.missing.iter().position(|(missing, _)| *missing == id) {
            self.missing.remove(index);
            tree.insert(id, block, cx);
            match tree.gap(id) {
                Some(missing) => self.fetch(missing, from, cx),
                None => self.stir(),
            }
        }
    }
}

/// The replica after another, leaving out this one.
fn after<P: Protocol>(node: NodeId, cx: &Context<'_, P>) -> NodeId {
    let n = cx.cluster().n;
    let next = NodeId::replica((node.index() + 1) % n);
    if next == cx.me() { NodeId::replica((next.index() + 1) % n) } else { next }
}
