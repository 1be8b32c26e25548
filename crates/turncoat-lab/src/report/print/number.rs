//! Estimates and shares as people read them: the one place where they are rounded.

pub(crate) use crate::number::{count, p_value, significant};
use crate::stats::Estimate;

/// An estimate with its interval.
pub(crate) fn estimate(estimate: Estimate) -> String {
    let short = |value| significant(value, 2);
    format!("{} [{}, {}]", short(estimate.value), short(estimate.interval.low), short(estimate.interval.high))
}

/// Shares in per cent. A share of nothing is not 0 %: one says how large it may still be.
pub(crate) mod percent {
    use super::super::super::Share;
    use crate::number::count;
    use crate::stats::digits;

    struct Percent {
        value: String,
        low: String,
        high: String,
    }

    fn of(share: Share) -> Option<Percent> {
        let interval = share.interval.filter(|_| share.of > 0)?;
        let (value, low, high) = (share.hits as f64 / share.of as f64, interval.low, interval.high);
        let digits = digits(100.0 * (high - low));
        let text = |share: f64| format!("{:.digits$}", 100.0 * share);
        Some(Percent { value: text(value), low: text(low), high: text(high) })
    }

    /// For a table.
    pub(crate) fn cell(share: Share) -> String {
        match of(share) {
            None => format!("{} of {}", count(share.hits), count(share.of)),
            Some(_) if share.hits == 0 || share.hits == share.of => bound(share),
            Some(Percent { value, low, high }) => format!("{value} % [{low}, {high}]"),
        }
    }

    /// The rate alone, or its bound.
    pub(crate) fn short(share: Share) -> String {
        match of(share) {
            None => format!("{} of {}", count(share.hits), count(share.of)),
            Some(Percent { high, .. }) if share.hits == 0 => format!("\u{2264} {high} %"),
            Some(Percent { value, .. }) => format!("{value} %"),
        }
    }

    /// Where all or none hit: how sure that is.
    pub(crate) fn bound(share: Share) -> String {
        match of(share) {
            None => cell(share),
            Some(Percent { high, .. }) if share.hits == 0 => format!("at most {high} % (95 %)"),
            Some(Percent { low, .. }) => format!("at least {low} % (95 %)"),
        }
    }

    /// In a sentence, after a verb.
    pub(crate) fn sentence(share: Share) -> String {
        match of(share) {
            None => format!("in {} of {} runs", count(share.hits), count(share.of)),
            Some(Percent { high, .. }) if share.hits == 0 => {
                format!("in none of {} (at most {high} %)", count(share.of))
            }
            Some(Percent { low, .. }) if share.hits == share.of => {
                format!("in all of {} (at least {low} %)", count(share.of))
            }
            Some(Percent { value, low, high }) => {
                format!("in {value} % of runs (95 % interval {low} to {high})")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Share;
    use super::*;

    #[test]
    fn nothing_found_is_a_bound() {
        let none = Share::independent(0, 1000);
        assert_eq!(percent::cell(none), "at most 0.38 % (95 %)");
        assert_eq!(percent::sentence(none), "in none of 1,000 (at most 0.38 %)");
        assert_eq!(percent::cell(Share::independent(200, 200)), "at least 98.1 % (95 %)");
        assert_eq!(percent::cell(Share::independent(60, 1000)), "6.0 % [4.7, 7.6]");
        assert_eq!(
            percent::sentence(Share::independent(60, 1000)),
            "in 6.0 % of runs (95 % interval 4.7 to 7.6)"
        );
        assert_eq!(percent::cell(Share::dependent(60, 1000)), "60 of 1,000");
    }
}
