//! Consensus engines that others wrote, as nodes of turncoat: each behind a feature of its name.
//!
//! An engine here is the code that its authors publish, of one version, without a change. What is ours is the host around it: it
//! hands messages and timeouts in, takes effects out, and says what a signature is worth. Every scheduler, adversary, strategy and
//! checker works on it as on a model.
#![forbid(unsafe_code)]

use turncoat_core::runner::Entry;

#[cfg(feature = "hbbft-pairings")]
pub mod hbbft;
#[cfg(feature = "malachite")]
pub mod malachite;

/// The engines that there are, each by the feature with which it is built. Its entries have that name, or begin with it.
pub const FEATURES: [&str; 2] = ["hbbft", "malachite"];

/// All engines that were asked for, and their named variants.
pub fn all() -> Vec<Entry> {
    let engines: &[fn() -> Vec<Entry>] = &[
        #[cfg(feature = "hbbft-pairings")]
        hbbft::entries,
        #[cfg(feature = "malachite")]
        malachite::entries,
    ];
    engines.iter().flat_map(|entries| entries()).collect()
}
