//! Two rates side by side: how far apart are they, and could that be chance?

use super::exact::at_most_as_likely;
use super::interval::{Estimate, Interval};
use super::normal::critical;
use super::rate::Rate;

/// The first rate less the second, with the hybrid score interval (Newcombe 1998, Stat. Med. 17, method 10).
///
/// ```
/// use turncoat_lab::stats::{Rate, risk_difference};
///
/// let difference = risk_difference(Rate::new(12, 200), Rate::new(4, 200), 0.95);
/// assert_eq!(format!("{:.2}", difference.value), "0.04");
/// assert_eq!(format!("{:.4} {:.4}", difference.interval.low, difference.interval.high), "0.0005 0.0837");
/// ```
pub fn risk_difference(first: Rate, second: Rate, level: f64) -> Estimate {
    let (p, q) = (first.estimate(), second.estimate());
    let (around_p, around_q) = (first.wilson(level), second.wilson(level));
    let value = p - q;
    if value.is_nan() {
        return Estimate { value, interval: Interval { low: -1.0, high: 1.0 } };
    }
    let low = value - (p - around_p.low).hypot(around_q.high - q);
    let high = value + (around_p.high - p).hypot(q - around_q.low);
    Estimate { value, interval: Interval { low, high } }
}

/// The odds of the first over those of the second, with the logit interval (Woolf 1955, Ann. Hum. Genet. 19).
///
/// If there are no hits, or nothing but hits, half a run is added to each of the four counts (Haldane 1956
/// and Anscombe 1956): otherwise the ratio would be 0 or infinite, and have no interval.
///
/// ```
/// use turncoat_lab::stats::{Rate, odds_ratio};
///
/// let ratio = odds_ratio(Rate::new(12, 200), Rate::new(4, 200), 0.95);
/// assert_eq!(format!("{:.2}", ratio.value), "3.13");
/// assert_eq!(format!("{:.2} {:.2}", ratio.interval.low, ratio.interval.high), "0.99 9.87");
/// ```
pub fn odds_ratio(first: Rate, second: Rate, level: f64) -> Estimate {
    let counts = [first.hits, first.runs - first.hits, second.hits, second.runs - second.hits];
    let more = if counts.contains(&0) { 0.5 } else { 0.0 };
    let [a, b, c, d] = counts.map(|count| count as f64 + more);
    let value = (a * d) / (b * c);
    let half = critical(level) * (1.0 / a + 1.0 / b + 1.0 / c + 1.0 / d).sqrt();
    Estimate { value, interval: Interval { low: value * (-half).exp(), high: value * half.exp() } }
}

/// Fisher's exact test, two-sided (Fisher 1935, J. R. Stat. Soc. 98): the probability of a table that is at
/// most as likely as this one, if both rates were the same.
///
/// ```
/// use turncoat_lab::stats::{Rate, fisher};
///
/// // The same rates are a hint at 200 runs, and beyond doubt at 1000.
/// assert_eq!(format!("{:.3}", fisher(Rate::new(12, 200), Rate::new(4, 200))), "0.071");
/// assert!(fisher(Rate::new(60, 1000), Rate::new(20, 1000)) < 0.00001);
/// ```
pub fn fisher(first: Rate, second: Rate) -> f64 {
    let hits = first.hits + second.hits;
    // Given all hits, how many fell to the first? No fewer than the second has no room for.
    let low = hits.saturating_sub(second.runs);
    let high = hits.min(first.runs);
    let ratio = |x: u64| {
        let more = (hits - x) as f64 * (first.runs - x) as f64;
        let less = (x + 1) as f64 * (second.runs + x + 1 - hits) as f64;
        more / less
    };
    at_most_as_likely(first.hits, low, high, ratio)
}

/// The difference of two rates where runs are paired, by the same seeds: the mean over the runs of what the first has more
/// than the second, with the Wald interval after half a run was added to each of the four counts (Agresti and Min 2005,
/// Stat. Med. 24).
///
/// `more` has what is not 0: 1 for a run that hits with the first alone, -1 for one that hits with the second alone. If several
/// pairs of rates share their seeds, their differences add up run by run, and the result is that of all pairs together.
///
/// ```
/// use turncoat_lab::stats::paired_difference;
///
/// // Of 100 runs 15 hit with the first alone, and 5 with the second alone.
/// let more = [vec![1; 15], vec![-1; 5]].concat();
/// let difference = paired_difference(&more, 100, 0.95);
/// assert_eq!(format!("{:.2}", difference.value), "0.10");
/// assert_eq!(format!("{:.4} {:.4}", difference.interval.low, difference.interval.high), "0.0121 0.1840");
/// ```
pub fn paired_difference(more: &[i64], runs: u64, level: f64) -> Estimate {
    let sum = more.iter().sum::<i64>() as f64;
    let squares = more.iter().map(|more| more * more).sum::<i64>() as f64;
    let adjusted = runs as f64 + 2.0;
    let middle = sum / adjusted;
    let variance = (squares + 1.0) / adjusted - middle * middle;
    let half = critical(level) * (variance / adjusted).sqrt();
    Estimate { value: sum / runs as f64, interval: Interval { low: middle - half, high: middle + half } }
}

/// The exact test of paired runs (McNemar 1947, Psychometrika 12, with the binomial distribution): the same
/// scenario seeds for both, of which `first_only` hit with the first alone and `second_only` with the second
/// alone.
///
/// ```
/// use turncoat_lab::stats::mcnemar;
///
/// assert_eq!(mcnemar(0, 5), 0.0625);
/// assert_eq!(mcnemar(7, 7), 1.0);
/// ```
pub fn mcnemar(first_only: u64, second_only: u64) -> f64 {
    let pairs = first_only + second_only;
    at_most_as_likely(first_only, 0, pairs, |x| (pairs - x) as f64 / (x + 1) as f64)
}
