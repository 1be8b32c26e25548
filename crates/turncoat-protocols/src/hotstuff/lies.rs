//! Lies that change several fields of a message at once, so that they fit together.

use turncoat_core::prelude::Slot;

use super::certs::{Qc, genesis};
use super::tree::{Block, GENESIS};

/// Reports the certificate of the first block in the place of a later one: hides a lock.
pub(super) fn report_genesis(qc: &mut Qc) -> bool {
    let genesis = genesis();
    let lie = *qc != genesis;
    *qc = genesis;
    lie
}

/// Puts a block on top of the first one.
pub(super) fn on_genesis(block: &mut Block) -> bool {
    let lie = report_genesis(&mut block.justify);
    (block.parent, block.height) = (GENESIS, Slot(1));
    lie
}
