//! The block tree of a replica, and what it has executed of it.

use std::collections::{BTreeMap, BTreeSet};

use turncoat_core::prelude::*;
use turncoat_core::tokens::{self, Token};

use super::certs::{Checks, Qc};
use super::lies::height_on;

/// The first block, of view 0 and height 0. It exists by definition, and has no content.
pub(super) const GENESIS: Digest = Digest::NULL;

/// A block. Its id is the digest of all of it.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
pub struct Block {
    #[part(follows = justify.block)]
    pub(super) parent: Digest,
    #[part(follows = height_on(*parent, liar))]
    pub(super) height: Slot,
    pub(super) view: View,
    pub(super) payload: Signed<Request>,
    /// The certificate of the parent.
    pub(super) justify: Qc,
}

impl Block {
    pub(super) fn id(&self) -> Digest {
        Digest::of(self)
    }
}

/// The blocks that a replica has got, and those that it has executed.
#[derive(Clone, Debug, Hash, Serialize)]
pub(super) struct Tree {
    pub(super) checks: Checks,
    blocks: BTreeMap<Digest, Arc<Block>>,
    /// Those with a missing ancestor, and the nearest one that is.
    gaps: BTreeMap<Digest, Digest>,
    log: BTreeMap<Slot, Digest>,
    executed: Digest,
    /// The requests that were executed: none is executed twice.
    done: BTreeSet<(NodeId, u32)>,
}

impl Tree {
    pub(super) fn new(checks: Checks) -> Self {
        let (blocks, gaps, log) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { checks, blocks, gaps, log, executed: GENESIS, done: BTreeSet::new() }
    }

    /// A block; nothing for the first one, and for those that are not here.
    pub(super) fn get(&self, id: Digest) -> Option<&Arc<Block>> {
        self.blocks.get(&id)
    }

    /// The height of a block that is here.
    pub(super) fn height(&self, id: Digest) -> Option<Slot> {
        if id == GENESIS { Some(Slot(0)) } else { self.get(id).map(|block| block.height) }
    }

    /// The height up to which blocks are executed.
    pub(super) fn last(&self) -> Slot {
        self.log.last_key_value().map_or(Slot(0), |(&height, _)| height)
    }

    /// Whether a block is `ancestor` or extends it, as far as the blocks here show.
    pub(super) fn extends(&self, mut id: Digest, ancestor: Digest) -> bool {
        // Heights fall from block to block, unless they are not checked.
        let height = self.height(ancestor).filter(|_| !self.checks.height_unchecked);
        while id != ancestor {
            match self.get(id) {
                Some(block) if height.is_none_or(|height| block.height > height) => id = block.parent,
                _ => return false,
            }
        }
        true
    }

    /// Whether neither block extends the other.
    pub(super) fn conflict(&self, a: Digest, b: Digest) -> bool {
        !self.extends(a, b) && !self.extends(b, a)
    }

    /// What is missing of a block and its ancestors: the nearest to it.
    pub(super) fn gap(&self, id: Digest) -> Option<Digest> {
        if id == GENESIS {
            None
        } else if !self.blocks.contains_key(&id) {
            Some(id)
        } else {
            self.gaps.get(&id).copied().filter(|_| !self.checks.commit_skips_missing_parent)
        }
    }

    /// Whether a block is what a block has to be; what justifies it is here.
    pub(super) fn is_good(&self, block: &Block) -> bool {
        let Checks { no_parent_qc_check, height_unchecked, .. } = self.checks;
        // Only who skips missing parents can have none.
        let next = self.height(block.parent).is_none_or(|height| height.next() == block.height);
        (block.parent == block.justify.block || no_parent_qc_check)
            && (next || height_unchecked)
            && block.payload.is_by(block.payload.client)
    }

    /// Keeps a block, of which the id is known: it takes long to say.
    pub(super) fn insert<P: Protocol>(&mut self, id: Digest, block: &Arc<Block>, cx: &mut Context<'_, P>) {
        cx.block(id, block.parent);
        self.blocks.insert(id, block.clone());
        // Who has waited for this block waits for what it waits for.
        let waits = |gap: &Digest| *gap == id;
        match self.gap(block.parent) {
            None => self.gaps.retain(|_, gap| !waits(gap)),
            Some(missing) => {
                self.gaps.values_mut().filter(|gap| waits(gap)).for_each(|gap| *gap = missing);
                self.gaps.insert(id, missing);
            }
        }
    }

    /// createLeaf: a new block on top of the one that `justify` certifies.
    pub(super) fn create<P: Protocol>(
        &mut self,
        view: View,
        justify: &Qc,
        cx: &mut Context<'_, P>,
    ) -> Arc<Block> {
        let parent = justify.block;
        let height = self.height(parent).map_or(Slot(0), Slot::next);
        let block = Block { parent, height, view, payload: cx.payload(), justify: justify.clone() };
        let block = Arc::new(block);
        let id = block.id();
        self.insert(id, &block, cx);
        cx.note(|| format!("makes block {id} of height {height} on {parent}: {}", block.payload.op));
        block
    }

    /// Decides a block and all its ancestors that are not decided. A branch that leaves the log takes its place: what is
    /// wrong with that is for the checkers to say.
    pub(super) fn execute<P: Protocol>(&mut self, id: Digest, grounds: Grounds, cx: &mut Context<'_, P>) {
        let decided = id;
        let mut path = Vec::new();
        let mut next = id;
        while let Some(block) = self.get(next).filter(|block| self.log.get(&block.height) != Some(&next)) {
            path.push((next, block.clone()));
            next = block.parent;
        }
        if let Some((_, lowest)) = path.last() {
            let replaced = self.log.split_off(&lowest.height);
            if !replaced.is_empty() {
                cx.note(|| format!("decides against what it has decided, from height {} on", lowest.height));
            }
            self.executed = id;
        }
        for (id, block) in path.into_iter().rev() {
            self.log.insert(block.height, id);
            let fresh = self.done.insert(block.payload.id());
            let request: &[Request] = if fresh { &[*block.payload] } else { &[] };
            let grounds = if id == decided { grounds } else { Grounds::Ancestor(decided) };
            cx.commit(block.height, id, request, grounds);
        }
    }

    /// What matters of it: what was executed last, and the blocks that somebody names. How long a branch is between two of
    /// them does not.
    pub(super) fn essence(&self, live: &[Digest], out: &mut Vec<Token>) {
        tokens::write(&(self.executed, self.last()), out);
        for &id in live {
            let Some(block) = self.get(id) else { continue };
            let Block { parent, height, view, payload: _, justify } = &**block;
            let here = (id, parent, height, view, justify, self.is_executed(id, block));
            tokens::write(&(here, self.below(*parent, live)), out);
        }
    }

    fn is_executed(&self, id: Digest, block: &Block) -> bool {
        self.log.get(&block.height) == Some(&id)
    }

    /// The nearest of a block and its ancestors that is live or executed, or that is not here.
    fn below(&self, mut id: Digest, live: &[Digest]) -> (Digest, bool) {
        while let Some(block) = self.get(id) {
            if live.contains(&id) || self.is_executed(id, block) {
                return (id, true);
            }
            id = block.parent;
        }
        (id, id == GENESIS)
    }

    /// What it says about its replica, which waits for these things.
    pub(super) fn vitals(
        &self,
        view: View,
        prepared: Digest,
        locked: Digest,
        waits: [Option<Waiting>; 3],
    ) -> Vitals {
        let known = |id| Some(id).filter(|&id| id != GENESIS);
        Vitals {
            view,
            prepared: known(prepared),
            locked: known(locked),
            executed: known(self.executed),
            decided: self.last(),
            waiting: waits.into_iter().flatten().collect(),
            ..Vitals::default()
        }
    }
}
