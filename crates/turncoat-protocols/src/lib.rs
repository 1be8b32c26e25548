//! Consensus protocols to be tested: the correct ones, and variants with their known bugs.
//!
//! One module per protocol. Each reads as the paper's rules beside the code; deviations from them are named
//! flags of the protocol's configuration, all off in the plain protocol.
#![forbid(unsafe_code)]

use turncoat_core::runner::Entry;

pub mod fab;
pub mod hbft;
pub mod hotstuff;
pub mod pbft;
#[cfg(not(feature = "mutants"))]
mod slips;
#[cfg(feature = "mutants")]
pub mod slips;
pub mod tendermint;
pub mod xrpl;
pub mod zyzzyva;

/// All protocols and their named variants.
pub fn all() -> Vec<Entry> {
    [
        pbft::entries(),
        hotstuff::entries(),
        hbft::entries(),
        zyzzyva::entries(),
        fab::entries(),
        tendermint::entries(),
        xrpl::entries(),
    ]
    .concat()
}
