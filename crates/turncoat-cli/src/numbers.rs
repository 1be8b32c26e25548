//! Numbers as people write and read them: `10k`, `1e6`, `10,000`, "1 run".

use std::ops::RangeInclusive;

use serde::{Deserialize, Deserializer, Serializer, de};
use toml::Value;

/// What to say about a number that cannot be read.
const WRONG: &str = "give a whole number, as in 5000, 10k, 2M, 1e6 or 1_000_000";

/// Reads how many there are to be: `5000`, `10k`, `1.5M`, `1e6`, `1_000_000`.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    let bare: String = text.chars().filter(|c| !"_,".contains(*c)).collect();
    let digits = bare.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &bare[digits.len()..] {
        "" => 1,
        "k" | "K" => 1000,
        "m" | "M" => 1_000_000,
        "g" | "G" => 1_000_000_000,
        _ => return Err(WRONG.to_owned()),
    };
    let exact = || digits.parse::<u64>().ok()?.checked_mul(unit);
    let rounded =
        || whole(digits.parse::<f64>().ok().filter(|_| !digits.contains(['+', '-']))? * unit as f64);
    // A file has no larger numbers.
    let count = exact().or_else(rounded).filter(|&count| i64::try_from(count).is_ok());
    count.ok_or_else(|| WRONG.to_owned())
}

/// The same, where none would mean nothing.
pub(crate) fn at_least_one(text: &str) -> Result<u64, String> {
    count(text).and_then(|count| match count {
        0 => Err("give at least 1".to_owned()),
        count => Ok(count),
    })
}

/// Reads a number in a range, and says in plain words which one that is.
pub(crate) fn within<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        let wrong = || format!("give a whole number from {} to {}", range.start(), range.end());
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(wrong)
    }
}

/// A number without a fraction, as far as it is exact.
fn whole(number: f64) -> Option<u64> {
    const EXACT: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;
    (number.fract() == 0.0 && (0.0..=EXACT).contains(&number)).then_some(number as u64)
}

/// A count as files have it: a number, or text as on the command line.
pub(crate) mod as_count {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(count: &Option<u64>, s: S) -> Result<S::Ok, S::Error> {
        match count {
            Some(count) => s.serialize_some(count),
            None => s.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<u64>, D::Error> {
        let count = match Value::deserialize(d)? {
            Value::Integer(number) => u64::try_from(number).ok(),
            Value::Float(number) => whole(number),
            Value::String(text) => count(&text).ok(),
            _ => None,
        };
        count.map(Some).ok_or_else(|| de::Error::custom(WRONG))
    }
}

/// A number with commas between its thousands.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let first = 1 + (digits.len() - 1) % 3;
    let (mut text, rest) = (digits[..first].to_owned(), &digits[first..]);
    for (i, digit) in rest.chars().enumerate() {
        if i % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things: `1 run`, `2 runs`.
pub(crate) fn counted(count: u64, thing: &str) -> String {
    format!("{count} {thing}{}", s(count))
}

/// The same for people, with commas: `10,000 runs`.
pub(crate) fn many(count: u64, thing: &str) -> String {
    format!("{} {thing}{}", grouped(count), s(count))
}

const fn s(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_read_as_people_write_it() {
        for (text, number) in [
            ("0", 0),
            ("10000", 10_000),
            ("10k", 10_000),
            ("10K", 10_000),
            ("2M", 2_000_000),
            ("1.5M", 1_500_000),
            ("1e6", 1_000_000),
            ("2.5e3", 2500),
            ("1_000_000", 1_000_000),
            ("1,000,000", 1_000_000),
            ("9223372036854775807", i64::MAX as u64),
        ] {
            assert_eq!(count(text), Ok(number), "{text}");
        }
    }

    #[test]
    fn anything_else_is_answered_with_examples() {
        for text in [
            "",
            "k",
            "ten",
            "-1",
            "-5k",
            "1.5",
            "1e-3",
            "10kk",
            "10x",
            "inf",
            "nan",
            "1e30",
            "9223372036854775808",
        ] {
            assert!(count(text).is_err_and(|why| why.contains("10k")), "{text}");
        }
        assert!(at_least_one("0").is_err_and(|why| why.contains("at least 1")));
    }

    #[test]
    fn numbers_are_easy_to_read() {
        assert_eq!(
            [0, 7, 100, 1000, 12_345, 1_234_567].map(grouped),
            ["0", "7", "100", "1,000", "12,345", "1,234,567"]
        );
        assert_eq!((counted(1, "run"), many(2000, "run")), ("1 run".to_owned(), "2,000 runs".to_owned()));
    }
}
