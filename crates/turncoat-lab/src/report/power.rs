//! Which differences so many runs can show.

use serde::{Deserialize, Serialize};

use super::Row;
use crate::stats::Demand;

/// The rates of the baseline for which it is said.
pub(super) const RATES: [f64; 5] = [0.0, 0.001, 0.01, 0.1, 0.5];

/// What this many runs on either side can show: with 80 % probability, at a level of 95 %.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Power {
    /// Runs of each of the two.
    pub runs: u64,
    /// A rate of the baseline, and the least that another must be above it; none if no rate is far enough.
    pub differences: Vec<(f64, Option<f64>)>,
}

/// For each number of runs that some row has.
pub(super) fn table<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<Power> {
    let mut runs: Vec<u64> = rows.filter(|row| !row.learns).map(|row| row.runs).filter(|&n| n > 0).collect();
    runs.sort_unstable();
    runs.dedup();
    let power = |runs| Power {
        runs,
        differences: RATES.map(|rate| (rate, Demand::default().smallest_difference(rate, runs))).to_vec(),
    };
    runs.into_iter().map(power).collect()
}
