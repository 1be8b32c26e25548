//! The wall clock: the only place that reads it. Runs know virtual time only.
#![expect(clippy::disallowed_types, reason = "rates and budgets of a campaign are about real time")]

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serializer, de};
use turncoat_lab::store::Spell;

use crate::again;

/// Measures how long something takes.
#[derive(Clone, Copy)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }

    pub(crate) fn seconds(self) -> f64 {
        self.elapsed().as_secs_f64()
    }

    /// What a store notes about the work that this process has done since the start.
    pub(crate) fn spell(self, jobs: usize) -> Spell {
        let ended = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        Spell { seconds: self.seconds(), jobs, ended, command: again::command() }
    }
}

/// Says whether some time has passed since now; never, if none is given.
pub(crate) fn over(time: Option<Duration>) -> impl FnMut() -> bool + 'static {
    let clock = Stopwatch::start();
    move || time.is_some_and(|time| clock.elapsed() >= time)
}

/// Reads a duration with its units: `500ms`, `10s`, `5min`, `1h30m`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    sum(text).ok_or_else(|| "give a number and a unit: 500ms, 10s, 5min, 1h30m".to_owned())
}

/// The sum of numbers, each with a unit.
fn sum(text: &str) -> Option<Duration> {
    let mut sum = Duration::ZERO;
    let mut rest = text;
    loop {
        let (number, tail) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit() && c != '.')?);
        let tail = tail.trim_start();
        let (unit, tail) = tail.split_at(tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len()));
        let seconds = number.parse::<f64>().ok()? * seconds_in(unit)?;
        sum = sum.checked_add(Duration::try_from_secs_f64(seconds).ok()?)?;
        rest = tail.trim_start();
        if rest.is_empty() {
            return Some(sum);
        }
    }
}

fn seconds_in(unit: &str) -> Option<f64> {
    Some(match unit.to_ascii_lowercase().as_str() {
        "ms" | "millisecond" | "milliseconds" => 0.001,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
        "d" | "day" | "days" => 86_400.0,
        _ => return None,
    })
}

/// A duration in the largest unit that has no fraction.
pub(crate) fn text(time: Duration) -> String {
    let milliseconds = time.as_millis();
    let units = [("h", 3_600_000), ("m", 60_000), ("s", 1000)];
    match units.into_iter().find(|(_, unit)| milliseconds > 0 && milliseconds.is_multiple_of(*unit)) {
        Some((name, unit)) => format!("{}{name}", milliseconds / unit),
        None => format!("{milliseconds}ms"),
    }
}

/// A duration as files have it.
pub(crate) mod as_text {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(time: &Option<Duration>, s: S) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => s.serialize_some(&text(*time)),
            None => s.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Duration>, D::Error> {
        // A number is no duration either, and the same words help.
        let value = toml::Value::deserialize(d)?;
        duration(value.as_str().unwrap_or_default()).map(Some).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_read_as_it_was_written() {
        for same in ["500ms", "10s", "5m", "1h", "90s", "0ms"] {
            assert_eq!(duration(same).map(text).as_deref(), Ok(same));
        }
        assert_eq!(duration("120s").map(text).as_deref(), Ok("2m"));
    }

    #[test]
    fn a_duration_has_a_number_and_a_unit() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("2h"), Ok(Duration::from_secs(7200)));
        for (text, seconds) in
            [("10min", 600), ("10 minutes", 600), ("1h30m", 5400), ("1.5h", 5400), ("1d", 86_400)]
        {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for bad in ["", "10", "s", "-1s", "1..5s", "10 10s", "10y", "1h30", "99999999999999999h", "é", "1é"]
        {
            assert!(duration(bad).is_err_and(|why| why.contains("5min")), "{bad}");
        }
    }
}
