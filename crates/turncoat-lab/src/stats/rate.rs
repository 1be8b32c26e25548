//! How often something happens: a proportion, and what it may really be.

use std::fmt;

use statrs::function::beta::beta_reg;

use super::interval::{Interval, LEVEL, tail};
use super::normal::critical;

/// So many hits in so many runs that do not depend on each other.
///
/// It prints as people should read it: with its interval, and never as impossible.
///
/// ```
/// use turncoat_lab::stats::Rate;
///
/// assert_eq!(Rate::new(60, 1000).to_string(), "6.0 % [4.7, 7.6]");
/// assert_eq!(Rate::new(0, 200).to_string(), "0 of 200: at most 1.9 %");
/// assert_eq!(Rate::new(200, 200).to_string(), "200 of 200: at least 98.1 %");
/// // More runs, more digits.
/// assert_eq!(Rate::new(3, 10_000).to_string(), "0.030 % [0.010, 0.088]");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rate {
    /// How often it happened.
    pub hits: u64,
    /// How often it could have happened.
    pub runs: u64,
}

impl Rate {
    /// So many hits in so many runs.
    ///
    /// # Panics
    /// If there are more hits than runs.
    pub const fn new(hits: u64, runs: u64) -> Self {
        assert!(hits <= runs, "there are more hits than runs");
        Self { hits, runs }
    }

    /// The share of runs that hit; not a number if there was no run.
    ///
    /// ```
    /// # use turncoat_lab::stats::Rate;
    /// assert_eq!(Rate::new(12, 200).estimate(), 0.06);
    /// ```
    pub fn estimate(self) -> f64 {
        self.hits as f64 / self.runs as f64
    }

    /// The [Wilson interval](Self::wilson) of 95 %.
    pub fn interval(self) -> Interval {
        self.wilson(LEVEL)
    }

    /// The score interval (Wilson 1927, J. Am. Stat. Assoc. 22): right on average, too narrow for some rates
    /// near 0 or 1.
    ///
    /// ```
    /// # use turncoat_lab::stats::Rate;
    /// let interval = Rate::new(12, 200).wilson(0.95);
    /// assert_eq!(format!("{:.4} {:.4}", interval.low, interval.high), "0.0347 0.1019");
    /// ```
    pub fn wilson(self, level: f64) -> Interval {
        if self.runs == 0 {
            return Interval { low: 0.0, high: 1.0 };
        }
        let (p, n) = (self.estimate(), self.runs as f64);
        let share = critical(level).powi(2) / n;
        let middle = p + share / 2.0;
        let half = (share * (p * (1.0 - p) + share / 4.0)).sqrt();
        self.within((middle - half) / (1.0 + share), (middle + half) / (1.0 + share))
    }

    /// The exact interval (Clopper and Pearson 1934, Biometrika 26): never too narrow, and so often too wide.
    ///
    /// ```
    /// # use turncoat_lab::stats::Rate;
    /// let interval = Rate::new(12, 200).clopper_pearson(0.95);
    /// assert_eq!(format!("{:.4} {:.4}", interval.low, interval.high), "0.0314 0.1025");
    /// ```
    pub fn clopper_pearson(self, level: f64) -> Interval {
        let (hits, misses) = (self.hits as f64, (self.runs - self.hits) as f64);
        let tail = tail(level);
        let low = if self.hits == 0 { 0.0 } else { beta_quantile(hits, misses + 1.0, tail) };
        let high = if misses == 0.0 { 1.0 } else { beta_quantile(hits + 1.0, misses, 1.0 - tail) };
        self.within(low, high)
    }

    /// An interval that ends at 0 and at 1 exactly, where it ends there but for rounding.
    fn within(self, low: f64, high: f64) -> Interval {
        Interval {
            low: if self.hits == 0 { 0.0 } else { low },
            high: if self.hits == self.runs { 1.0 } else { high },
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let interval = self.interval();
        let (rate, low, high) = (100.0 * self.estimate(), 100.0 * interval.low, 100.0 * interval.high);
        let digits = digits(high - low);
        let text = match (self.hits, self.runs) {
            (_, 0) => "no runs".to_owned(),
            (0, runs) => format!("0 of {runs}: at most {high:.digits$} %"),
            (hits, runs) if hits == runs => format!("{hits} of {runs}: at least {low:.digits$} %"),
            _ => format!("{rate:.digits$} % [{low:.digits$}, {high:.digits$}]"),
        };
        f.pad(&text)
    }
}

/// Digits after the point, at least one: as many as make the width ten units of the last digit or more. So
/// the rounded ends differ, and a small rate is not rounded to nothing.
pub(crate) fn digits(width: f64) -> usize {
    (1.0 - width.log10()).ceil().max(1.0) as usize
}

/// The quantile of a beta distribution, by bisection down to the last bit.
///
/// `statrs` has a quantile as well, but it does not return for one hit in ten million runs, and has four
/// digits for seven hits in a million.
fn beta_quantile(a: f64, b: f64, probability: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return middle;
        }
        if beta_reg(a, b, middle) < probability {
            low = middle;
        } else {
            high = middle;
        }
    }
}
