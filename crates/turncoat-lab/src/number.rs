//! Numbers as people read them.

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

#[cfg(test)]
mod tests {
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
}
