//! How much work until the first bug, where some campaigns ended without one.
//!
//! A campaign without a bug is no campaign that found one at its last run, and must not be left out either.
//! It is *censored*: all one knows is that it takes longer.

use serde::{Deserialize, Serialize};

use super::interval::Interval;
use super::normal::critical;

/// Rounding apart, half is half.
const HALF: f64 = 0.5 + 1e-12;

/// One campaign with a seed of its own, in the unit in which its budget is given: runs or steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trial {
    /// When the bug was found, or when the campaign ended without.
    pub time: u64,
    /// Whether it was found.
    pub found: bool,
}

impl Trial {
    /// The bug was found at this time.
    pub const fn found(time: u64) -> Self {
        Self { time, found: true }
    }

    /// The campaign ended at this time, and had not found it.
    pub const fn censored(time: u64) -> Self {
        Self { time, found: false }
    }
}

/// A time at which trials ended, and what is known then.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Step {
    /// The time.
    pub time: u64,
    /// Trials that had not ended before.
    pub at_risk: u64,
    /// Of those, the ones that found the bug now.
    pub found: u64,
    /// Of those, the ones that ended now without.
    pub censored: u64,
    /// The share of all trials that need longer than this.
    pub survival: f64,
    /// Greenwood's sum: the variance of the logarithm of `survival`, infinite where that is 0.
    pub variance: f64,
}

/// The share of trials that have not found the bug yet (Kaplan and Meier 1958, J. Am. Stat. Assoc. 53).
///
/// ```
/// use turncoat_lab::stats::{Curve, Trial};
///
/// let curve = Curve::of(&[Trial::found(3), Trial::found(5), Trial::censored(5), Trial::found(8)]);
/// assert_eq!(curve.survival(4), 0.75);
/// assert_eq!(curve.survival(5), 0.5);
/// assert_eq!(curve.at_risk(6), 1);
/// assert_eq!(curve.median(0.95).time, Some(5));
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Curve {
    steps: Vec<Step>,
}

/// The time by which half of the trials have found the bug. What lies beyond the data is `None`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Median {
    /// The median.
    pub time: Option<u64>,
    /// The lower end of its interval.
    pub low: Option<u64>,
    /// The upper end of its interval.
    pub high: Option<u64>,
}

/// A mean, and how far it is off as a rule.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mean {
    /// The mean.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
}

impl Curve {
    /// The curve of these trials.
    pub fn of(trials: &[Trial]) -> Self {
        let mut trials = trials.to_vec();
        trials.sort_unstable_by_key(|trial| trial.time);
        let mut at_risk = trials.len() as u64;
        let (mut survival, mut variance) = (1.0, 0.0);
        let steps = trials.chunk_by(|a, b| a.time == b.time).map(|ended| {
            let found = ended.iter().filter(|trial| trial.found).count() as u64;
            let censored = ended.len() as u64 - found;
            if found > 0 {
                let left = (at_risk - found) as f64;
                survival *= left / at_risk as f64;
                variance += found as f64 / (at_risk as f64 * left);
            }
            let step = Step { time: ended[0].time, at_risk, found, censored, survival, variance };
            at_risk -= found + censored;
            step
        });
        Self { steps: steps.collect() }
    }

    /// All times at which trials ended, in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The share of trials that need longer than `time`. Beyond the data it stays what it was.
    pub fn survival(&self, time: u64) -> f64 {
        self.until(time).last().map_or(1.0, |step| step.survival)
    }

    /// Trials that had not ended before `time`.
    pub fn at_risk(&self, time: u64) -> u64 {
        let before = self.steps.partition_point(|step| step.time < time);
        self.steps.get(before).map_or(0, |step| step.at_risk)
    }

    /// Trials that found the bug at `time`.
    pub fn found(&self, time: u64) -> u64 {
        self.steps.binary_search_by_key(&time, |step| step.time).map_or(0, |index| self.steps[index].found)
    }

    /// The band: Greenwood's variance (1926) on the log-log scale (Kalbfleisch and Prentice 1980).
    ///
    /// Two places have no variance. Before the first bug the band is the curve, as it is usually drawn: ask a
    /// [`Rate`](super::Rate) how much the campaigns prove that found nothing. After all have found it, the
    /// band reaches from 0 to where its upper end was before.
    ///
    /// ```
    /// use turncoat_lab::stats::{Curve, Trial};
    ///
    /// let curve = Curve::of(&[1, 2, 3, 4, 5, 6, 7, 8].map(Trial::found));
    /// let band = curve.band(4, 0.95);
    /// assert_eq!(format!("{:.3} {:.3}", band.low, band.high), "0.152 0.775");
    /// ```
    pub fn band(&self, time: u64, level: f64) -> Interval {
        let z = critical(level);
        let steps = self.until(time);
        match steps.last() {
            None => Interval { low: 1.0, high: 1.0 },
            Some(step) if step.survival > 0.0 => step.band(z),
            Some(_) => {
                let before = steps.iter().rev().find(|step| 0.0 < step.survival && step.survival < 1.0);
                Interval { low: 0.0, high: before.map_or(1.0, |step| step.band(z).high) }
            }
        }
    }

    /// The median, from and to where the band contains one half (Brookmeyer and Crowley 1982, Biometrics 38).
    ///
    /// ```
    /// use turncoat_lab::stats::{Curve, Trial};
    ///
    /// let median = Curve::of(&[1, 2, 3, 4, 5, 6, 7, 8].map(Trial::found)).median(0.95);
    /// assert_eq!((median.time, median.low, median.high), (Some(4), Some(1), Some(7)));
    /// // Two in three found nothing: the median is beyond what was tried.
    /// let trials = [Trial::found(7), Trial::censored(9), Trial::censored(9)];
    /// assert_eq!(Curve::of(&trials).median(0.95).time, None);
    /// ```
    pub fn median(&self, level: f64) -> Median {
        let first = |falls: &dyn Fn(u64) -> f64| {
            self.steps.iter().map(|step| step.time).find(|&time| falls(time) <= HALF)
        };
        Median {
            time: first(&|time| self.survival(time)),
            low: first(&|time| self.band(time, level).low),
            high: first(&|time| self.band(time, level).high),
        }
    }

    /// The mean time to the bug or to the `horizon`, whichever is first: the area under the curve (Irwin
    /// 1949, J. Hyg. 47; Royston and Parmar 2013, BMC Med. Res. Methodol. 13), with Greenwood's standard
    /// error.
    ///
    /// The horizon should be a time that was tried: beyond the data the curve is taken to stay what it was.
    /// If no trial found the bug, the error is 0, which says nothing. Without trials there is no number.
    ///
    /// ```
    /// use turncoat_lab::stats::{Curve, Trial};
    ///
    /// let curve = Curve::of(&[Trial::found(10), Trial::found(30), Trial::censored(100)]);
    /// let mean = curve.restricted_mean(100);
    /// assert_eq!(format!("{:.2} {:.2}", mean.value, mean.error), "46.67 22.28");
    /// ```
    pub fn restricted_mean(&self, horizon: u64) -> Mean {
        let steps = self.until(horizon);
        if self.steps.is_empty() {
            return Mean { value: f64::NAN, error: f64::NAN };
        }
        // From the right: the area beyond each step, and what its uncertainty adds to that of the mean.
        let (mut area, mut variance, mut end) = (0.0, 0.0, horizon);
        for step in steps.iter().rev() {
            area += step.survival * (end - step.time) as f64;
            end = step.time;
            let left = step.at_risk - step.found;
            if left > 0 {
                variance += area * area * step.found as f64 / (step.at_risk as f64 * left as f64);
            }
        }
        Mean { value: area + end as f64, error: variance.sqrt() }
    }

    /// The steps up to a time.
    fn until(&self, time: u64) -> &[Step] {
        &self.steps[..self.steps.partition_point(|step| step.time <= time)]
    }
}

impl Step {
    /// The log-log band where survival is more than 0.
    fn band(&self, z: f64) -> Interval {
        if self.survival == 1.0 {
            return Interval { low: 1.0, high: 1.0 };
        }
        let half = z * self.variance.sqrt() / self.survival.ln().abs();
        Interval { low: self.survival.powf(half.exp()), high: self.survival.powf((-half).exp()) }
    }
}
