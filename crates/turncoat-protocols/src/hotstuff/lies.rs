//! Lies that change several fields of a message at once, so that they fit together, and blocks made up.

use turncoat_core::prelude::*;

use super::certs::{Qc, genesis};
use super::tree::{Block, GENESIS};

/// Reports the certificate of the first block in the place of a later one: hides a lock.
pub(super) fn report_genesis(qc: &mut Qc) -> bool {
    let genesis = genesis();
    let lie = *qc != genesis;
    *qc = genesis;
    lie
}

/// Makes a block the child of the first one, whatever justifies it.
pub(super) fn child_of_genesis(block: &mut Block) -> bool {
    let lie = block.parent != GENESIS;
    (block.parent, block.height) = (GENESIS, Slot(1));
    lie
}

/// Puts a block on top of the first one: a good block, but another one than the certificates call for.
pub(super) fn on_genesis(block: &mut Block) -> bool {
    child_of_genesis(block) && report_genesis(&mut block.justify)
}

/// The height of a block with this parent, if the liar has seen the parent.
pub(super) fn height_on(parent: Digest, liar: &Liar<'_>) -> Option<Slot> {
    if parent == GENESIS {
        return Some(Slot(1));
    }
    liar.seen.last(|block: &Block| block.id() == parent).map(|block| block.height.next())
}

/// The same block on top of the one that this certifies.
pub(super) fn on_top_of(justify: &Qc, block: &Block, liar: &Liar<'_>) -> Arc<Block> {
    let parent = justify.block;
    let height = height_on(parent, liar).unwrap_or(block.height);
    Arc::new(Block { parent, height, justify: justify.clone(), ..block.clone() })
}

/// A block that nobody has called for: one of the liar's own on top of the first one.
pub(super) fn uncalled(view: View, signer: Signer) -> Arc<Block> {
    let request = Request { client: signer.node(), ts: view.0, op: Op::new("uncalled"), read_only: false };
    let payload = signer.sign(request);
    Arc::new(Block { parent: GENESIS, height: Slot(1), view, payload, justify: genesis() })
}

/// Lies under a signature; says whether anything changed.
pub(super) fn edit<T>(signed: &mut Signed<T>, liar: &Liar<'_>, lie: impl FnOnce(&mut T) -> bool) -> bool {
    let mut changed = false;
    liar.edit(signed, |body| changed = lie(body));
    changed
}
