//! Exact tests: how likely is something that is at most as likely as what was seen?

/// Two probabilities that differ by less than this, relatively, are equal: R's `fisher.test` takes the same.
/// Without it the last bits of a product would decide whether the mirror image of what was seen counts.
const TOLERANCE: f64 = 1e-7;

/// The probability of all outcomes in `low..=high` that are at most as likely as the one `seen`.
///
/// The distribution is given by the `ratio` of the probability of the next outcome to that of the given one.
/// So nothing is computed by logarithms of factorials, whose differences lose digits where there are many
/// runs.
pub(super) fn at_most_as_likely(seen: u64, low: u64, high: u64, ratio: impl Fn(u64) -> f64) -> f64 {
    // All in units of the probability of what was seen.
    let mut unlikely = 1.0;
    let mut all = 1.0;
    let mut count = |weight: f64| {
        all += weight;
        if weight <= 1.0 + TOLERANCE {
            unlikely += weight;
        }
    };
    let mut weight = 1.0;
    for outcome in seen..high {
        weight *= ratio(outcome);
        count(weight);
    }
    weight = 1.0;
    for outcome in (low..seen).rev() {
        weight /= ratio(outcome);
        count(weight);
    }
    // What was seen can be so unlikely that the others have no number: then the probability is 0 to all
    // digits.
    if all.is_finite() { (unlikely / all).min(1.0) } else { 0.0 }
}
