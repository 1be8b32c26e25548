//! Numbers as people read them: the one place where they are rounded.

use crate::stats::Estimate;

/// A count, with a comma for each thousand.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A positive number with so many digits that count, or all digits before the point.
pub(crate) fn significant(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return "?".to_owned();
    }
    if value.abs() >= 1000.0 {
        return count(value.abs().round() as u64);
    }
    let size = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    let after = (digits as i32 - 1 - size).max(0) as usize;
    format!("{value:.after$}")
}

/// An estimate with its interval.
pub(crate) fn estimate(estimate: Estimate) -> String {
    let short = |value| significant(value, 2);
    format!("{} [{}, {}]", short(estimate.value), short(estimate.interval.low), short(estimate.interval.high))
}

/// p-values.
pub(crate) mod p_value {
    use super::significant;

    const LEAST: f64 = 0.001;

    /// For a table.
    pub(crate) fn cell(p: f64) -> String {
        if p < LEAST { format!("< {LEAST}") } else { significant(p.min(1.0), 2) }
    }

    /// After the letter p.
    pub(crate) fn related(p: f64) -> String {
        if p < LEAST { cell(p) } else { format!("= {}", cell(p)) }
    }
}

/// Shares in per cent. A share of nothing is not 0 %: one says how large it may still be.
pub(crate) mod percent {
    use super::super::super::Share;
    use super::count;
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
    fn counts_have_commas() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn numbers_are_short() {
        let short = |value| significant(value, 2);
        assert_eq!(
            [0.0, 0.0123, 0.99, 3.129, 98.76, 1234.5].map(short),
            ["0.0", "0.012", "0.99", "3.1", "99", "1,235"]
        );
        assert_eq!([1.0, 0.05, 0.0004].map(p_value::cell), ["1.0", "0.050", "< 0.001"]);
        assert_eq!([0.31, 0.0004].map(p_value::related), ["= 0.31", "< 0.001"]);
    }

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
