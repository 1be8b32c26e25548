//! Intervals of confidence, and estimates that come with one.

use serde::{Deserialize, Serialize};

/// The usual level of confidence: 95 %.
pub const LEVEL: f64 = 0.95;

/// From here to there, both included.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A number that was estimated, and where the true one is likely to be.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Estimate {
    /// The best guess.
    pub value: f64,
    /// Its interval.
    pub interval: Interval,
}

/// The probability on either side of an interval.
///
/// # Panics
/// If the level is not between 0 and 1.
pub(super) fn tail(level: f64) -> f64 {
    assert!(0.0 < level && level < 1.0, "a level of confidence lies between 0 and 1, and {level} does not");
    (1.0 - level) / 2.0
}

impl Interval {
    /// Whether a value lies within.
    ///
    /// ```
    /// use turncoat_lab::stats::Interval;
    ///
    /// let interval = Interval { low: -0.1, high: 0.2 };
    /// assert!(interval.contains(0.0) && !interval.contains(0.3));
    /// ```
    pub fn contains(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Its length.
    pub fn width(self) -> f64 {
        self.high - self.low
    }
}
