//! Two curves of work until the first bug: do they differ, and by how much?

use std::collections::BTreeSet;

use super::interval::{Estimate, Interval};
use super::normal::{critical, two_sided};
use super::survival::{Curve, Trial};

/// What the log-rank test says.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LogRank {
    /// Bugs found by the first.
    pub observed: u64,
    /// Bugs that the first would have found, were both alike.
    pub expected: f64,
    /// The statistic: chi-squared with one degree of freedom.
    pub chi_squared: f64,
    /// How likely a difference like this is, were both alike.
    pub p: f64,
}

/// The log-rank test of two groups of trials (Mantel 1966, Cancer Chemother. Rep. 50), ties by the
/// hypergeometric variance.
///
/// It is weak where the curves cross; look at them.
///
/// ```
/// use turncoat_lab::stats::{Trial, log_rank};
///
/// let test = log_rank(&[1, 2, 3, 4, 5].map(Trial::found), &[6, 7, 8, 9, 10].map(Trial::found));
/// assert_eq!(test.observed, 5);
/// assert_eq!(format!("{:.4}", test.p), "0.0018");
/// ```
pub fn log_rank(first: &[Trial], second: &[Trial]) -> LogRank {
    let (a, b) = (Curve::of(first), Curve::of(second));
    let all = a.steps().iter().chain(b.steps());
    let times: BTreeSet<u64> = all.filter(|step| step.found > 0).map(|step| step.time).collect();
    let (mut observed, mut expected, mut variance) = (0, 0.0, 0.0);
    for time in times {
        let (in_first, in_second) = (a.at_risk(time), b.at_risk(time));
        let found_by_first = a.found(time);
        let found = (found_by_first + b.found(time)) as f64;
        let at_risk = (in_first + in_second) as f64;
        let share = in_first as f64 / at_risk;
        observed += found_by_first;
        expected += found * share;
        if at_risk > 1.0 {
            variance += found * share * (1.0 - share) * (at_risk - found) / (at_risk - 1.0);
        }
    }
    let distance = observed as f64 - expected;
    let z = if variance > 0.0 { distance / variance.sqrt() } else { 0.0 };
    LogRank { observed, expected, chi_squared: z * z, p: two_sided(z) }
}

/// The [restricted mean](Curve::restricted_mean) of the first less that of the second (Royston and Parmar
/// 2013).
///
/// ```
/// use turncoat_lab::stats::{Curve, Trial, restricted_mean_difference};
///
/// let quick = Curve::of(&[10, 20, 30, 40].map(Trial::found));
/// let slow = Curve::of(&[60, 70, 80, 100].map(Trial::found));
/// let difference = restricted_mean_difference(&quick, &slow, 100, 0.95);
/// assert_eq!(difference.value, -52.5);
/// assert!(!difference.interval.contains(0.0));
/// ```
pub fn restricted_mean_difference(first: &Curve, second: &Curve, horizon: u64, level: f64) -> Estimate {
    let (a, b) = (first.restricted_mean(horizon), second.restricted_mean(horizon));
    let value = a.value - b.value;
    let half = critical(level) * a.error.hypot(b.error);
    Estimate { value, interval: Interval { low: value - half, high: value + half } }
}
