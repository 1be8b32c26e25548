//! The two questions that are asked of the normal distribution.

use statrs::distribution::{ContinuousCDF, Normal};

use super::interval::tail;

/// A standard normal variable is within this distance of 0 with probability `level`.
pub(super) fn critical(level: f64) -> f64 {
    -quantile(tail(level))
}

/// The quantile of the standard normal distribution.
pub(super) fn quantile(probability: f64) -> f64 {
    Normal::standard().inverse_cdf(probability)
}

/// A standard normal variable is at least this far from 0 with what probability?
pub(super) fn two_sided(z: f64) -> f64 {
    (2.0 * Normal::standard().sf(z.abs())).min(1.0)
}
