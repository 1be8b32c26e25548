//! How much larger one sample is than another: the probability that a value of the first exceeds one of the
//! second.

use std::cmp::Ordering;
use std::fmt;

use turncoat_core::rng::Rng;

use super::interval::{Estimate, Interval, tail};
use super::survival::Trial;

/// Samples drawn anew for an interval.
const RESAMPLES: usize = 10_000;

/// The same numbers on each call, so that a report can be made again.
const SEED: u64 = 0xA12;

/// The effect size of Vargha and Delaney (2000, J. Educ. Behav. Stat. 25): the share of pairs in which the
/// value of the first sample is larger than that of the second; ties count half.
///
/// 0.5 says that neither tends to be larger. Where a value is a time to the first bug, less than 0.5 is in
/// favour of the first.
///
/// ```
/// use turncoat_lab::stats::{A12, Magnitude};
///
/// let a12 = A12::of_values(&[5.0, 6.0, 7.0], &[1.0, 5.0, 6.0]);
/// assert_eq!(format!("{:.3}", a12.value()), "0.778");
/// assert_eq!(a12.magnitude(), Magnitude::Large);
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct A12 {
    /// The distinct values in order, each either known or known to be larger (censored).
    known: Vec<bool>,
    /// The first sample, as places in that order.
    first: Vec<usize>,
    /// The second sample.
    second: Vec<usize>,
}

/// An effect size in words.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Magnitude {
    /// Less than 0.56 in either direction.
    Negligible,
    /// From 0.56.
    Small,
    /// From 0.64.
    Medium,
    /// From 0.71.
    Large,
}

impl A12 {
    /// Of two samples of measures.
    ///
    /// # Panics
    /// If one is not a number.
    pub fn of_values(first: &[f64], second: &[f64]) -> Self {
        assert!(!first.iter().chain(second).any(|value| value.is_nan()), "a measure is not a number");
        // Adding 0 makes one zero of the two.
        Self::new(first, second, |a, b| (a + 0.0).total_cmp(&(b + 0.0)), |_| true)
    }

    /// Of two samples of times to the first bug: a pair of which one cannot tell which is larger counts half,
    /// as in the scores of Gehan (1965, Biometrika 52).
    ///
    /// ```
    /// use turncoat_lab::stats::{A12, Trial};
    ///
    /// // The first gave up after 10 and 90: certainly more than 5, and once more than 20.
    /// let first = [Trial::censored(10), Trial::censored(90)];
    /// let second = [Trial::found(5), Trial::found(20)];
    /// assert_eq!(A12::of_trials(&first, &second).value(), (3.0 + 0.5) / 4.0);
    /// ```
    pub fn of_trials(first: &[Trial], second: &[Trial]) -> Self {
        // Of two equal times the censored one is the larger.
        let compare = |a: &Trial, b: &Trial| (a.time, !a.found).cmp(&(b.time, !b.found));
        Self::new(first, second, compare, |trial| trial.found)
    }

    fn new<T: Copy>(
        first: &[T],
        second: &[T],
        compare: impl Fn(&T, &T) -> Ordering,
        known: impl Fn(&T) -> bool,
    ) -> Self {
        let mut values = [first, second].concat();
        values.sort_unstable_by(&compare);
        values.dedup_by(|a, b| compare(a, b).is_eq());
        let place = |value: &T| values.partition_point(|other| compare(other, value).is_lt());
        Self {
            known: values.iter().map(known).collect(),
            first: first.iter().map(place).collect(),
            second: second.iter().map(place).collect(),
        }
    }

    /// The effect size; not a number if a sample is empty.
    pub fn value(&self) -> f64 {
        let [first, second] = self.counts();
        self.effect(&first, &second)
    }

    /// The effect size with its percentile bootstrap interval (Efron 1979, Ann. Stat. 7): 10 000 resamples,
    /// always the same.
    ///
    /// The interval of samples that do not overlap is a point, as no resample overlaps either. With fewer
    /// than ten or so values each, take it as a hint.
    ///
    /// ```
    /// use turncoat_lab::stats::A12;
    ///
    /// let first: Vec<f64> = (0..40).map(|i| f64::from(i % 10) + 2.0).collect();
    /// let second: Vec<f64> = (0..40).map(|i| f64::from(i % 10)).collect();
    /// let a12 = A12::of_values(&first, &second).estimate(0.95);
    /// assert!(a12.interval.contains(a12.value) && !a12.interval.contains(0.5));
    /// ```
    pub fn estimate(&self, level: f64) -> Estimate {
        let (value, tail) = (self.value(), tail(level));
        if value.is_nan() {
            return Estimate { value, interval: Interval { low: 0.0, high: 1.0 } };
        }
        let mut rng = Rng::stream(SEED, 0);
        let [mut first, mut second] = self.counts();
        let mut effects: Vec<f64> = (0..RESAMPLES)
            .map(|_| {
                resample(&self.first, &mut first, &mut rng);
                resample(&self.second, &mut second, &mut rng);
                self.effect(&first, &second)
            })
            .collect();
        effects.sort_unstable_by(f64::total_cmp);
        let interval = Interval { low: quantile(&effects, tail), high: quantile(&effects, 1.0 - tail) };
        Estimate { value, interval }
    }

    /// The effect size in a word.
    pub fn magnitude(&self) -> Magnitude {
        Magnitude::of(self.value())
    }

    /// How often each value occurs in either sample.
    pub(super) fn counts(&self) -> [Vec<u64>; 2] {
        [&self.first, &self.second].map(|sample| {
            let mut counts = vec![0; self.known.len()];
            sample.iter().for_each(|&place| counts[place] += 1);
            counts
        })
    }

    /// The effect size of samples in which each value occurs so often.
    fn effect(&self, first: &[u64], second: &[u64]) -> f64 {
        let (mut larger, mut smaller) = (0, 0);
        // Values below the current one that are known: a larger one is certainly larger than those.
        let (mut below_in_first, mut below_in_second) = (0, 0);
        for ((&known, &a), &b) in self.known.iter().zip(first).zip(second) {
            larger += a * below_in_second;
            smaller += b * below_in_first;
            if known {
                below_in_first += a;
                below_in_second += b;
            }
        }
        let pairs = self.first.len() as f64 * self.second.len() as f64;
        0.5 + (larger as f64 - smaller as f64) / (2.0 * pairs)
    }
}

impl Magnitude {
    /// The word for a value of A12, with the bounds of Vargha and Delaney (2000).
    ///
    /// ```
    /// use turncoat_lab::stats::Magnitude;
    ///
    /// assert_eq!(Magnitude::of(0.5), Magnitude::Negligible);
    /// assert_eq!(Magnitude::of(0.44), Magnitude::Small);
    /// assert_eq!(Magnitude::of(0.64).to_string(), "medium");
    /// ```
    pub fn of(a12: f64) -> Self {
        match a12.max(1.0 - a12) {
            far if far >= 0.71 => Self::Large,
            far if far >= 0.64 => Self::Medium,
            far if far >= 0.56 => Self::Small,
            _ => Self::Negligible,
        }
    }
}

impl fmt::Display for Magnitude {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Negligible => "negligible",
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
        })
    }
}

/// Counts the values of as many draws from the sample as it is large.
fn resample(sample: &[usize], counts: &mut [u64], rng: &mut Rng) {
    counts.fill(0);
    for _ in sample {
        counts[*rng.pick(sample)] += 1;
    }
}

/// The quantile of sorted values, between two of them in proportion (type 7 of Hyndman and Fan 1996, as in R
/// and NumPy).
fn quantile(sorted: &[f64], probability: f64) -> f64 {
    let place = probability * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}
