//! What holds for every scenario, drawn at random.

mod copies;
pub(crate) mod draw;
mod files;
mod honesty;
mod replay;
mod signatures;

use proptest::test_runner::{Config, RngSeed};

/// The same cases on every day.
pub(crate) fn cases(cases: u32) -> Config {
    Config { cases, rng_seed: RngSeed::Fixed(7), failure_persistence: None, ..Config::default() }
}
