//! How many runs does it take to see a difference, and which difference can so many runs show?

use super::interval::LEVEL;
use super::normal::{critical, quantile};

/// What a comparison of two rates shall achieve.
///
/// The formula is the normal approximation with the pooled variance (Fleiss, Levin and Paik 2003, Statistical
/// Methods for Rates and Proportions, 4.2; the one of R's `power.prop.test`). Fisher's test is more careful
/// and needs somewhat more runs where hits are few.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Demand {
    /// One less the chance to see a difference where there is none.
    pub level: f64,
    /// The chance to see a difference that there is.
    pub power: f64,
}

impl Default for Demand {
    fn default() -> Self {
        Self { level: LEVEL, power: 0.8 }
    }
}

impl Demand {
    /// Runs needed of each of two strategies to tell their rates apart; nothing if the rates are equal, as no
    /// number is enough.
    ///
    /// ```
    /// use turncoat_lab::stats::Demand;
    ///
    /// assert_eq!(Demand::default().runs_per_arm(0.02, 0.01), Some(2319));
    /// assert_eq!(Demand::default().runs_per_arm(0.02, 0.02), None);
    /// ```
    pub fn runs_per_arm(&self, first: f64, second: f64) -> Option<u64> {
        (first != second).then(|| self.runs(first, second).ceil() as u64)
    }

    /// The least that a rate must be above `rate` to be told from it with so many runs each; nothing if no
    /// rate is far enough. (To go below instead, count misses: `1 - rate`.)
    ///
    /// ```
    /// use turncoat_lab::stats::Demand;
    ///
    /// let difference = Demand::default().smallest_difference(0.01, 1000).unwrap();
    /// assert_eq!(format!("{difference:.4}"), "0.0168");
    /// assert_eq!(Demand::default().smallest_difference(0.5, 3), None);
    /// ```
    pub fn smallest_difference(&self, rate: f64, runs: u64) -> Option<f64> {
        let enough = |other: f64| self.runs(rate, other) <= runs as f64;
        if rate >= 1.0 || !enough(1.0) {
            return None;
        }
        let (mut low, mut high) = (rate, 1.0);
        loop {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                return Some(high - rate);
            }
            if enough(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
    }

    /// The number of runs before it is rounded up.
    ///
    /// # Panics
    /// If a rate is not from 0 to 1, or a demand is not between them.
    fn runs(&self, first: f64, second: f64) -> f64 {
        assert!(
            0.0 < self.power && self.power < 1.0,
            "a power lies between 0 and 1, and {} does not",
            self.power
        );
        for rate in [first, second] {
            assert!((0.0..=1.0).contains(&rate), "a rate lies between 0 and 1, and {rate} does not");
        }
        let middle = (first + second) / 2.0;
        let alike = (2.0 * middle * (1.0 - middle)).sqrt();
        let apart = (first * (1.0 - first) + second * (1.0 - second)).sqrt();
        ((critical(self.level) * alike + quantile(self.power) * apart) / (first - second)).powi(2)
    }
}
