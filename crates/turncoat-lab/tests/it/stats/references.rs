//! Every formula against the values that `reference.py` got from scipy, statsmodels, lifelines and R.

use serde_json::Value;
use turncoat_lab::stats::{
    A12, Curve, Demand, Estimate, Interval, Rate, Trial, benjamini_hochberg, fisher, holm, log_rank,
    mann_whitney, mcnemar, odds_ratio, risk_difference,
};

/// The cases of a file of reference values, and a check of numbers to the precision that the file states.
struct Reference {
    cases: Vec<Value>,
    precision: f64,
}

impl Reference {
    fn parse(text: &str) -> Self {
        let file: Value = serde_json::from_str(text).unwrap();
        assert!(file["made with"].is_string());
        Self { cases: file["cases"].as_array().unwrap().clone(), precision: float(&file["precision"]) }
    }

    /// Ours are theirs, relatively.
    fn same(&self, ours: &[f64], theirs: &Value, case: &Value) {
        let theirs = floats(theirs);
        assert_eq!(ours.len(), theirs.len());
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert!((ours - theirs).abs() <= self.precision * theirs.abs(), "{ours} is not {theirs}: {case}");
        }
    }
}

fn float(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// A list of numbers, or the only one.
fn floats(value: &Value) -> Vec<f64> {
    value.as_array().map_or_else(|| vec![float(value)], |list| list.iter().map(float).collect())
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no count: {value}"))
}

fn rate(value: &Value) -> Rate {
    Rate::new(count(&value[0]), count(&value[1]))
}

fn trials(value: &Value) -> Vec<Trial> {
    let list = value.as_array().unwrap().iter();
    list.map(|trial| Trial { time: count(&trial[0]), found: trial[1] == 1 }).collect()
}

fn ends(interval: Interval) -> [f64; 2] {
    [interval.low, interval.high]
}

fn three(estimate: Estimate) -> [f64; 3] {
    [estimate.value, estimate.interval.low, estimate.interval.high]
}

#[test]
fn rates() {
    let reference = Reference::parse(include_str!("rates.json"));
    for case in &reference.cases {
        let rate = Rate::new(count(&case["hits"]), count(&case["runs"]));
        let level = float(&case["level"]);
        reference.same(&ends(rate.wilson(level)), &case["wilson"], case);
        reference.same(&ends(rate.clopper_pearson(level)), &case["clopper_pearson"], case);
    }
}

#[test]
fn two_rates() {
    let reference = Reference::parse(include_str!("two_rates.json"));
    for case in &reference.cases {
        let (first, second, level) = (rate(&case["first"]), rate(&case["second"]), float(&case["level"]));
        let difference = risk_difference(first, second, level);
        reference.same(&three(difference), &case["risk_difference"], case);
        reference.same(&three(odds_ratio(first, second, level)), &case["odds_ratio"], case);
        reference.same(&[fisher(first, second)], &case["fisher"], case);
    }
}

/// The examples of Newcombe 1998, table II, method 10, as printed.
#[test]
fn newcombes_own_examples() {
    let examples = [
        ((56, 70), (48, 80), (0.0524, 0.3339)),
        ((9, 10), (3, 10), (0.1705, 0.8090)),
        ((6, 7), (2, 7), (0.0582, 0.8062)),
        ((5, 56), (0, 29), (-0.0381, 0.1926)),
        ((0, 10), (0, 20), (-0.1611, 0.2775)),
        ((0, 10), (0, 10), (-0.2775, 0.2775)),
        ((10, 10), (0, 20), (0.6791, 1.0)),
        ((10, 10), (0, 10), (0.6075, 1.0)),
    ];
    for ((a, m), (b, n), (low, high)) in examples {
        let interval = risk_difference(Rate::new(a, m), Rate::new(b, n), 0.95).interval;
        assert!(
            (interval.low - low).abs() < 0.00006 && (interval.high - high).abs() < 0.00006,
            "{interval:?}"
        );
    }
}

#[test]
fn paired_runs() {
    let reference = Reference::parse(include_str!("pairs.json"));
    for case in &reference.cases {
        let p = mcnemar(count(&case["first_only"]), count(&case["second_only"]));
        reference.same(&[p], &case["p"], case);
    }
}

#[test]
fn survival() {
    let reference = Reference::parse(include_str!("survival.json"));
    for case in &reference.cases {
        let curve = Curve::of(&trials(&case["trials"]));
        let level = float(&case["level"]);
        let steps = case["steps"].as_array().unwrap();
        assert_eq!(curve.steps().len(), steps.len(), "{case}");
        for (step, theirs) in curve.steps().iter().zip(steps) {
            let counts = [step.time, step.at_risk, step.found];
            assert_eq!(counts, [0, 1, 2].map(|index| count(&theirs[index])), "{case}");
            assert_eq!(curve.at_risk(step.time), step.at_risk);
            reference.same(&[step.survival, curve.survival(step.time)], &pair(&theirs[3], &theirs[3]), case);
            if theirs[4].is_number() {
                reference.same(&ends(curve.band(step.time, level)), &pair(&theirs[4], &theirs[5]), case);
            }
        }
        let median = curve.median(level);
        let theirs = [0, 1, 2].map(|index| case["median"][index].as_f64());
        assert_eq!([median.time, median.low, median.high].map(|time| time.map(|time| time as f64)), theirs);
        let mean = curve.restricted_mean(count(&case["horizon"]));
        reference.same(&[mean.value, mean.error], &case["restricted_mean"], case);
    }
}

fn pair(a: &Value, b: &Value) -> Value {
    Value::from(vec![a.clone(), b.clone()])
}

#[test]
fn two_curves() {
    let reference = Reference::parse(include_str!("two_curves.json"));
    for case in &reference.cases {
        let (first, second) = (trials(&case["first"]), trials(&case["second"]));
        let test = log_rank(&first, &second);
        assert_eq!(test.observed, count(&case["observed"]));
        reference.same(&[test.expected], &case["expected"], case);
        reference.same(&[test.chi_squared], &case["chi_squared"], case);
        reference.same(&[test.p], &case["p"], case);
        reference.same(&[A12::of_trials(&first, &second).value()], &case["a12"], case);
    }
}

#[test]
fn values() {
    let reference = Reference::parse(include_str!("values.json"));
    for case in &reference.cases {
        let (first, second) = (floats(&case["first"]), floats(&case["second"]));
        let test = mann_whitney(&first, &second);
        reference.same(&[test.u], &case["u"], case);
        reference.same(&[test.p], &case["p"], case);
        reference.same(&[A12::of_values(&first, &second).value()], &case["a12"], case);
    }
}

#[test]
fn the_bootstrap_ends_where_all_resamples_do() {
    let reference = Reference::parse(include_str!("bootstrap.json"));
    for case in &reference.cases {
        let estimate = A12::of_values(&floats(&case["first"]), &floats(&case["second"])).estimate(0.95);
        reference.same(&[estimate.value], &case["value"], case);
        for (end, range) in [(estimate.interval.low, &case["low"]), (estimate.interval.high, &case["high"])] {
            let range = Interval { low: float(&range[0]) - 1e-12, high: float(&range[1]) + 1e-12 };
            assert!(range.contains(end), "{end}: {case}");
        }
    }
}

#[test]
fn many_tests() {
    let reference = Reference::parse(include_str!("many.json"));
    for case in &reference.cases {
        let p_values = floats(&case["p"]);
        reference.same(&holm(&p_values), &case["holm"], case);
        reference.same(&benjamini_hochberg(&p_values), &case["benjamini_hochberg"], case);
    }
}

#[test]
fn power() {
    let reference = Reference::parse(include_str!("power.json"));
    for case in &reference.cases {
        let demand = Demand { level: float(&case["level"]), power: float(&case["power"]) };
        let first = float(&case["first"]);
        if case["second"].is_number() {
            let runs = demand.runs_per_arm(first, float(&case["second"]));
            assert_eq!(runs, Some(float(&case["runs"]).ceil() as u64), "{case}");
        } else {
            let difference = demand.smallest_difference(first, count(&case["runs"])).unwrap();
            reference.same(&[difference], &case["smallest_difference"], case);
        }
    }
}
