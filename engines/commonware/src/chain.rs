//! The blocks that a validator knows, and those that are decided.

use std::collections::BTreeMap;

use turncoat::core::prelude::*;

use crate::Cx;
use crate::messages::Block;

/// The block below the first one.
pub(crate) const GENESIS: Digest = Digest::NULL;

/// Blocks by their digests. All of it would be on disk.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    blocks: BTreeMap<Digest, Arc<Block>>,
    /// Finalizations, by view: the digest, and who voted.
    finalized: BTreeMap<View, (Digest, NodeSet)>,
    /// Those of them whose blocks are not decided yet: some body is missing.
    open: Vec<View>,
    decided: Vec<Digest>,
}

impl Chain {
    pub(crate) fn get(&self, id: Digest) -> Option<&Arc<Block>> {
        self.blocks.get(&id)
    }

    pub(crate) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    pub(crate) fn decided(&self) -> &[Digest] {
        &self.decided
    }

    pub(crate) fn finalized(&self) -> &BTreeMap<View, (Digest, NodeSet)> {
        &self.finalized
    }

    /// Keeps a body; says whether it is new.
    pub(crate) fn insert(&mut self, block: &Arc<Block>, cx: &mut Cx<'_>) -> bool {
        let id = block.id();
        if self.blocks.contains_key(&id) {
            return false;
        }
        cx.block(id, block.parent);
        self.blocks.insert(id, block.clone());
        self.decide(cx);
        true
    }

    /// The block and those below it, from the top down to one for which `is_end`, or the digest of a body that is missing.
    fn path(
        &self,
        id: Digest,
        is_end: impl Fn(Digest) -> bool,
    ) -> Result<Vec<(Digest, &Arc<Block>)>, Digest> {
        let mut path = Vec::new();
        let mut next = id;
        while next != GENESIS && !is_end(next) {
            let block = self.blocks.get(&next).ok_or(next)?;
            path.push((next, block));
            next = block.parent;
        }
        Ok(path)
    }

    /// valid(c): whether a block may be on top of `parent` in this view. An error is the body without which one cannot tell.
    pub(crate) fn is_valid(
        &self,
        id: Digest,
        parent: Digest,
        view: View,
        cluster: &Cluster,
    ) -> Result<bool, Digest> {
        let block = self.blocks.get(&id).ok_or(id)?;
        if block.parent != parent {
            return Ok(false);
        }
        let below = self.path(parent, |_| false)?;
        let tx = &block.tx;
        Ok(block.view == view
            && block.version < Block::VERSIONS
            && tx.is_by(tx.client)
            && cluster.replicas().contains(tx.client)
            && below.iter().all(|(_, block)| block.tx.id() != tx.id()))
    }

    /// The engine has finalized a block, and with it all those below.
    pub(crate) fn finalize(&mut self, view: View, id: Digest, voters: NodeSet, cx: &mut Cx<'_>) {
        if self.finalized.insert(view, (id, voters)).is_none_or(|(before, _)| before != id) {
            self.open.push(view);
            self.decide(cx);
            cx.examine();
        }
    }

    /// The bodies that it lacks to decide what is finalized.
    pub(crate) fn lacks(&self) -> impl Iterator<Item = Digest> {
        let open = self.open.iter().filter_map(|view| self.finalized.get(view));
        open.filter_map(|&(id, _)| self.path(id, |id| self.decided.contains(&id)).err())
    }

    /// Decides all that can be. A branch that leaves what is decided takes its place: what is wrong with that is for the
    /// checkers to say.
    fn decide(&mut self, cx: &mut Cx<'_>) {
        self.open.sort_unstable();
        let mut still = Vec::new();
        for view in std::mem::take(&mut self.open) {
            let Some(&(id, voters)) = self.finalized.get(&view) else { continue };
            let Ok(path) = self.path(id, |id| self.decided.contains(&id)) else {
                still.push(view);
                continue;
            };
            let Some((_, lowest)) = path.last() else { continue };
            let height = self.decided.iter().position(|&id| id == lowest.parent).map_or(0, |at| at + 1);
            let new: Vec<_> = path.iter().rev().map(|&(id, block)| (id, *block.tx)).collect();
            self.decided.truncate(height);
            for (below, request) in new {
                self.decided.push(below);
                let finalized = Grounds::certificate("finalize", view, voters);
                let grounds = if below == id { finalized } else { Grounds::Ancestor(id) };
                cx.commit(Slot(self.decided.len() as u32), below, &[request], grounds);
            }
        }
        self.open = still;
    }
}
