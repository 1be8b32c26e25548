//! What must hold for any data: coverage, false alarms, symmetries, and what happens where there is nothing.

use turncoat_core::rng::Rng;
use turncoat_core::scenario::Scenario;
use turncoat_core::strategy::Strategy;
use turncoat_lab::stats::{
    A12, Arm, Curve, Demand, Interval, Magnitude, Rate, Trial, Unit, benjamini_hochberg, compare, fisher,
    holm, log_rank, mann_whitney, mcnemar, odds_ratio, restricted_mean_difference, risk_difference,
};

/// The probabilities of 0 to n hits, from the most likely one to both sides.
fn binomial(n: u64, p: f64) -> Vec<f64> {
    let mode = ((n + 1) as f64 * p) as u64;
    let mut weights = vec![0.0; n as usize + 1];
    weights[mode as usize] = 1.0;
    for k in mode..n {
        weights[k as usize + 1] = weights[k as usize] * (n - k) as f64 / (k + 1) as f64 * p / (1.0 - p);
    }
    for k in (0..mode).rev() {
        weights[k as usize] = weights[k as usize + 1] * (k + 1) as f64 / (n - k) as f64 * (1.0 - p) / p;
    }
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

/// How often the interval of 200 runs contains the true rate, by true rate.
fn coverage(interval: impl Fn(Rate) -> Interval) -> Vec<f64> {
    let intervals: Vec<Interval> = (0..=200).map(|hits| interval(Rate::new(hits, 200))).collect();
    let covered = |p: f64| {
        let hits = binomial(200, p).into_iter().zip(&intervals);
        hits.filter(|(_, interval)| interval.contains(p)).map(|(probability, _)| probability).sum()
    };
    (10..=990).map(|permille| covered(f64::from(permille) / 1000.0)).collect()
}

#[test]
fn wilson_is_right_on_average_and_dips_for_some_rates() {
    let coverage = coverage(Rate::interval);
    let mean = coverage.iter().sum::<f64>() / coverage.len() as f64;
    assert!((mean - 0.95).abs() < 0.01, "{mean}");
    let least = coverage.into_iter().fold(1.0, f64::min);
    assert!(0.93 < least && least < 0.94, "{least}");
}

#[test]
fn clopper_pearson_is_never_too_narrow() {
    for level in [0.9, 0.95] {
        assert!(coverage(|rate| rate.clopper_pearson(level)).into_iter().all(|covered| covered >= level));
    }
}

#[test]
fn intervals_contain_the_estimate_and_shrink_with_runs() {
    for runs in [1, 2, 7, 60, 200] {
        for hits in 0..=runs {
            let rate = Rate::new(hits, runs);
            for interval in [rate.interval(), rate.wilson(0.5), rate.clopper_pearson(0.95)] {
                assert!(interval.contains(rate.estimate()), "{rate:?}");
                assert!(0.0 <= interval.low && interval.high <= 1.0, "{rate:?}");
            }
            let more = Rate::new(10 * hits, 10 * runs);
            assert!(more.interval().width() < rate.interval().width());
        }
    }
}

#[test]
fn the_exact_interval_returns_where_the_one_of_statrs_does_not() {
    let interval = Rate::new(1, 10_000_000).clopper_pearson(0.95);
    assert!((interval.low - 2.531_780_8e-9).abs() < 1e-15 && (interval.high - 5.571_642e-7).abs() < 1e-13);
}

#[test]
fn a_rate_prints_with_its_interval_and_never_as_impossible() {
    let text = |hits, runs| Rate::new(hits, runs).to_string();
    assert_eq!(text(60, 1000), "6.0 % [4.7, 7.6]");
    assert_eq!(text(0, 200), "0 of 200: at most 1.9 %");
    assert_eq!(text(0, 10_000), "0 of 10000: at most 0.038 %");
    assert_eq!(text(1, 1), "1 of 1: at least 20.7 %");
    assert_eq!(text(0, 0), "no runs");
    assert_eq!(format!("{:>20}|", Rate::new(1, 2)), "  50.0 % [9.5, 90.5]|");
}

#[test]
fn fisher_gives_no_more_false_alarms_than_it_says() {
    for (m, n) in [(12, 12), (15, 8), (30, 25)] {
        let p_values: Vec<Vec<f64>> =
            (0..=m).map(|a| (0..=n).map(|b| fisher(Rate::new(a, m), Rate::new(b, n))).collect()).collect();
        for p in [0.01, 0.05, 0.2, 0.35, 0.5, 0.8] {
            let (first, second) = (binomial(m, p), binomial(n, p));
            for alpha in [0.01, 0.05, 0.1] {
                let pairs = p_values.iter().zip(&first).flat_map(|(row, a)| {
                    row.iter().zip(&second).filter(|(p, _)| **p <= alpha).map(move |(_, b)| a * b)
                });
                assert!(pairs.sum::<f64>() <= alpha);
            }
        }
    }
}

#[test]
fn fisher_does_not_care_which_is_first_nor_what_is_a_hit() {
    let mut rng = Rng::stream(1, 0);
    for _ in 0..500 {
        let [m, n] = [0; 2].map(|_| u64::from(rng.below(60)) + 1);
        let [a, b] = [m, n].map(|runs| u64::from(rng.below(runs as u32 + 1)));
        let p = fisher(Rate::new(a, m), Rate::new(b, n));
        let swapped = fisher(Rate::new(b, n), Rate::new(a, m));
        let misses = fisher(Rate::new(m - a, m), Rate::new(n - b, n));
        assert!((p - swapped).abs() < 1e-12 && (p - misses).abs() < 1e-12, "{a} of {m}, {b} of {n}");
        assert!((0.0..=1.0).contains(&p));
    }
}

#[test]
fn what_cannot_be_chance_has_a_p_of_0() {
    assert_eq!(fisher(Rate::new(100_000, 100_000), Rate::new(0, 100_000)), 0.0);
    assert_eq!(mcnemar(100_000, 0), 0.0);
}

#[test]
fn a_difference_lies_within_its_interval_and_mirrors_when_swapped() {
    for ((a, m), (b, n)) in [((0, 10), (3, 9)), ((10, 10), (0, 20)), ((7, 30), (9, 40)), ((5, 5), (5, 5))] {
        let (first, second) = (Rate::new(a, m), Rate::new(b, n));
        let difference = risk_difference(first, second, 0.95);
        let swapped = risk_difference(second, first, 0.95);
        assert!(difference.interval.contains(difference.value));
        assert!(-1.0 <= difference.interval.low && difference.interval.high <= 1.0);
        assert!((difference.interval.low + swapped.interval.high).abs() < 1e-12);
        let odds = odds_ratio(first, second, 0.95);
        let inverse = odds_ratio(second, first, 0.95);
        assert!(odds.value.is_finite() && odds.interval.contains(odds.value));
        assert!((odds.interval.low * inverse.interval.high - 1.0).abs() < 1e-12);
    }
}

/// Some times, of which those beyond the budget were not seen.
fn drawn(rng: &mut Rng, count: usize, longest: u32, budget: u64) -> Vec<Trial> {
    let times = (0..count).map(|_| u64::from(rng.below(longest)) + 1);
    times.map(|time| Trial { time: time.min(budget), found: time <= budget }).collect()
}

#[test]
fn a_curve_without_censoring_is_the_share_that_is_larger() {
    let mut rng = Rng::stream(2, 0);
    for count in [1, 2, 9, 50] {
        let trials = drawn(&mut rng, count, 30, 30);
        let curve = Curve::of(&trials);
        for time in 0..=31 {
            let later = trials.iter().filter(|trial| trial.time > time).count();
            assert!((curve.survival(time) - later as f64 / count as f64).abs() < 1e-12);
            assert_eq!(curve.at_risk(time), trials.iter().filter(|trial| trial.time >= time).count() as u64);
            let times: Vec<f64> = trials.iter().map(|trial| trial.time.min(time) as f64).collect();
            let n = count as f64;
            let mean = times.iter().sum::<f64>() / n;
            let variance = times.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / n;
            let restricted = curve.restricted_mean(time);
            assert!((restricted.value - mean).abs() < 1e-9);
            // The variance of a mean, with n in the place of n - 1.
            assert!((restricted.error - (variance / n).sqrt()).abs() < 1e-9, "{count} {time}");
        }
    }
}

#[test]
fn a_band_contains_its_curve_and_has_its_ends_between_0_and_1() {
    let mut rng = Rng::stream(3, 0);
    for budget in [5, 20, 30] {
        let curve = Curve::of(&drawn(&mut rng, 25, 30, budget));
        for time in 0..=31 {
            let band = curve.band(time, 0.95);
            assert!(band.contains(curve.survival(time)), "{time} {band:?}");
            assert!(0.0 <= band.low && band.high <= 1.0);
        }
        let median = curve.median(0.95);
        assert!(median.low <= median.time || median.time.is_none());
        assert!(median.high.is_none_or(|high| high >= median.time.unwrap()));
    }
}

#[test]
fn when_all_have_found_it_the_band_keeps_its_upper_end() {
    let curve = Curve::of(&[1, 2, 3].map(Trial::found));
    assert_eq!(curve.band(3, 0.95), Interval { low: 0.0, high: curve.band(2, 0.95).high });
    // All at once: nothing is known of the spread.
    assert_eq!(Curve::of(&[Trial::found(4); 3]).band(4, 0.95), Interval { low: 0.0, high: 1.0 });
}

#[test]
fn log_rank_does_not_care_which_is_first() {
    let mut rng = Rng::stream(4, 0);
    for _ in 0..50 {
        let (first, second) = (drawn(&mut rng, 12, 20, 15), drawn(&mut rng, 9, 30, 15));
        let (test, swapped) = (log_rank(&first, &second), log_rank(&second, &first));
        assert!((test.p - swapped.p).abs() < 1e-12);
        let found = first.iter().chain(&second).filter(|trial| trial.found).count();
        assert_eq!(test.observed + swapped.observed, found as u64);
        assert!((test.expected + swapped.expected - found as f64).abs() < 1e-9);
        let same = log_rank(&first, &first);
        assert!((same.p - 1.0).abs() < 1e-12);
    }
}

#[test]
fn a12_of_a_sample_and_itself_is_half() {
    let mut rng = Rng::stream(5, 0);
    for count in [1, 2, 30] {
        let trials = drawn(&mut rng, count, 20, 12);
        assert_eq!(A12::of_trials(&trials, &trials).value(), 0.5);
        let values: Vec<f64> = trials.iter().map(|trial| trial.time as f64).collect();
        assert_eq!(A12::of_values(&values, &values).value(), 0.5);
        assert_eq!(mann_whitney(&values, &values).p, 1.0);
    }
}

#[test]
fn a12_counts_pairs() {
    let mut rng = Rng::stream(6, 0);
    for _ in 0..50 {
        let (first, second) = (drawn(&mut rng, 11, 20, 12), drawn(&mut rng, 8, 20, 15));
        let later = |a: &Trial, b: &Trial| b.found && (a.time > b.time || a.time == b.time && !a.found);
        let score = |(a, b)| if later(a, b) { 1.0 } else { if later(b, a) { 0.0 } else { 0.5 } };
        let pairs = first.iter().flat_map(|a| second.iter().map(move |b| (a, b)));
        let expected = pairs.map(score).sum::<f64>() / 88.0;
        let value = A12::of_trials(&first, &second).value();
        assert!((value - expected).abs() < 1e-12);
        assert!((A12::of_trials(&second, &first).value() - (1.0 - value)).abs() < 1e-12);
    }
}

#[test]
fn an_effect_has_the_same_interval_each_time() {
    let mut rng = Rng::stream(7, 0);
    let a12 = A12::of_trials(&drawn(&mut rng, 30, 90, 60), &drawn(&mut rng, 40, 60, 60));
    let estimate = a12.estimate(0.95);
    assert_eq!(estimate, a12.estimate(0.95));
    assert!(estimate.interval.contains(estimate.value));
    assert!(a12.estimate(0.5).interval.width() < estimate.interval.width());
}

#[test]
fn magnitudes_begin_where_vargha_and_delaney_say() {
    use Magnitude::{Large, Medium, Negligible, Small};
    let words =
        [(0.559, Negligible), (0.56, Small), (0.639, Small), (0.64, Medium), (0.709, Medium), (0.71, Large)];
    for (a12, word) in words {
        assert_eq!((Magnitude::of(a12), Magnitude::of(1.0 - a12)), (word, word));
    }
}

#[test]
fn adjusted_p_values_keep_their_order_and_never_fall() {
    let mut rng = Rng::stream(8, 0);
    for count in [0, 1, 2, 20] {
        let mut raw: Vec<f64> = (0..count).map(|_| f64::from(rng.below(1000)) / 4000.0).collect();
        raw.sort_by(f64::total_cmp);
        let (holm, hochberg) = (holm(&raw), benjamini_hochberg(&raw));
        assert!(holm.is_sorted() && hochberg.is_sorted());
        for ((raw, holm), hochberg) in raw.iter().zip(&holm).zip(&hochberg) {
            assert!(raw <= hochberg && *hochberg <= holm + 1e-15 && *holm <= 1.0);
        }
    }
}

#[test]
fn runs_for_a_given_power() {
    // As in our notes, where they are rounded; what is needed is rounded up.
    for (first, second, runs) in
        [(0.1, 0.05, 434), (0.05, 0.02, 588), (0.02, 0.01, 2318), (0.01, 0.005, 4673)]
    {
        let needed = Demand::default().runs_per_arm(first, second).unwrap();
        assert!(needed == runs || needed == runs + 1, "{needed}");
        assert_eq!(Demand::default().runs_per_arm(second, first), Some(needed));
        let visible = Demand::default().smallest_difference(second, needed).unwrap();
        assert!(visible <= first - second && visible > 0.99 * (first - second));
    }
    assert_eq!(Demand::default().smallest_difference(1.0, 1000), None);
}

/// A strategy that learns, or does not.
struct Pupil {
    learns: bool,
}

impl Strategy for Pupil {
    fn next(&mut self, _: u64, _: &mut Rng) -> Scenario {
        Scenario::new("any")
    }

    fn learns(&self) -> bool {
        self.learns
    }
}

#[test]
fn runs_of_a_strategy_that_learns_are_not_compared() {
    let arm = |name: &str, learns| Arm {
        name: name.to_owned(),
        independent: Unit::of(&Pupil { learns }),
        rate: Rate::new(3, 20),
    };
    let (fixed, learning) = (arm("fixed", false), arm("learning", true));
    assert!(compare(Unit::Run, &fixed, &fixed, 0.95).is_ok());
    assert!(compare(Unit::Campaign, &fixed, &learning, 0.95).is_ok());
    for error in [compare(Unit::Run, &fixed, &learning, 0.95), compare(Unit::Run, &learning, &fixed, 0.95)] {
        let text = error.unwrap_err().to_string();
        assert_eq!(
            text,
            "`learning` learns from its runs, so they are not independent and must not be compared one by one: \
             compare campaigns, each with a seed of its own"
        );
    }
}

#[test]
fn where_there_is_nothing_nothing_is_claimed() {
    let none = Rate::default();
    assert!(none.estimate().is_nan());
    for interval in [none.interval(), none.clopper_pearson(0.95)] {
        assert_eq!(interval, Interval { low: 0.0, high: 1.0 });
    }
    let some = Rate::new(3, 10);
    assert_eq!(risk_difference(none, some, 0.95).interval, Interval { low: -1.0, high: 1.0 });
    assert_eq!((fisher(none, some), fisher(none, none), mcnemar(0, 0)), (1.0, 1.0, 1.0));
    let curve = Curve::of(&[]);
    assert_eq!((curve.survival(5), curve.at_risk(0), curve.median(0.95).time), (1.0, 0, None));
    assert!(curve.restricted_mean(10).error.is_nan());
    assert!(restricted_mean_difference(&curve, &curve, 10, 0.95).interval.low.is_nan());
    assert_eq!((log_rank(&[], &[]).p, log_rank(&[Trial::found(1)], &[]).p), (1.0, 1.0));
    assert_eq!(mann_whitney(&[], &[1.0]).p, 1.0);
    let empty = A12::of_values(&[], &[1.0]).estimate(0.95);
    assert!(empty.value.is_nan());
    assert_eq!(empty.interval, Interval { low: 0.0, high: 1.0 });
    assert!(holm(&[]).is_empty() && benjamini_hochberg(&[]).is_empty());
}
