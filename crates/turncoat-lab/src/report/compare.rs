//! Every row of a table against its baseline, by the unit that is legal.

use serde::{Deserialize, Serialize};

use super::tables::Counted;
use super::trials::{First, Trials};
use super::{BestTwo, Row, Share};
use crate::stats::{
    A12, Arm, Comparison, Estimate, LEVEL, Rate, Trial, Unit, UnitError, compare, holm, log_rank,
};
use crate::words::count;

/// How a row compares with the baseline of its table.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Versus {
    /// It does not: there is no baseline, or the comparison is refused.
    None,
    /// It is the baseline.
    Baseline,
    /// By the share of runs that hit, or of trials of equal length where one of the two learns.
    Rates {
        /// The odds of the row over those of the baseline.
        odds_ratio: Estimate,
        /// The rate of the row less that of the baseline.
        difference: Estimate,
        /// Fisher's test.
        p: f64,
        /// The same with Holm's correction over the table.
        holm: f64,
        /// The two shares that were compared: the row's, and the baseline's.
        of: [Share; 2],
        /// The runs of a trial, where trials were counted and not runs.
        trial: Option<u64>,
    },
}

/// Why work until the first hit cannot be told.
pub(super) fn trials_refused(row: &Row, trials: &Trials) -> Option<String> {
    match (row.learns, trials.by_run.len()) {
        (_, trials_found) if trials_found >= 2 && (row.learns || trials.length() >= 2) => None,
        (true, _) => {
            Unit::Run.check(&arm(row, row.success.hits, row.success.of)).err().map(|error| error.to_string())
        }
        (false, _) => Some(format!(
            "{} too few to be split into trials",
            count(row.runs as usize, "run is", "runs are")
        )),
    }
}

/// Compares all rows with the one at `baseline`.
pub(super) fn with_baseline(rows: &mut [Counted], baseline: usize) {
    let answers: Vec<Result<Versus, UnitError>> =
        rows.iter().map(|counted| pair(counted, &rows[baseline])).collect();
    let corrected = over_the_table(&answers, baseline, |answer| match answer {
        Ok(Versus::Rates { p, .. }) => Some(*p),
        _ => None,
    });
    for (index, (answer, corrected)) in answers.into_iter().zip(corrected).enumerate() {
        let row = &mut rows[index].row;
        match answer {
            _ if index == baseline => row.versus = Versus::Baseline,
            Ok(versus) => row.versus = versus,
            Err(error) => row.refusal = Some(error.to_string()),
        }
        if let (Versus::Rates { holm, .. }, Some(corrected)) = (&mut row.versus, corrected) {
            *holm = corrected;
        }
    }
    curves(rows, baseline, |trials| &trials.by_run, |row| &mut row.first_run);
    curves(rows, baseline, |trials| &trials.by_step, |row| &mut row.first_step);
}

/// The two rows that find most, and whether they differ.
pub(super) fn best_two(rows: &[Counted]) -> Option<BestTwo> {
    let rate = |counted: &Counted| counted.row.success.hits as f64 / counted.row.success.of.max(1) as f64;
    let mut rows: Vec<&Counted> = rows.iter().filter(|counted| counted.row.strategy != "none").collect();
    rows.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
    let [best, second, ..] = rows[..] else { return None };
    let p = match pair(best, second) {
        Ok(Versus::Rates { p, .. }) => Some(p),
        _ => None,
    };
    Some(BestTwo { best: best.row.name.clone(), second: second.row.name.clone(), p })
}

/// Compares a row with the baseline, before any correction.
fn pair(counted: &Counted, baseline: &Counted) -> Result<Versus, UnitError> {
    let both = [counted, baseline];
    let learners = || both.into_iter().filter(|counted| counted.row.learns);
    // One campaign that learns is one observation, whatever it did.
    let by_trial = learners().count() > 0 && learners().all(|counted| counted.matched.by_run.len() >= 2);
    let unit = if by_trial { Unit::Campaign } else { Unit::Run };
    let arms = both.map(|Counted { row, matched, .. }| match by_trial {
        true => arm(row, matched.found(), matched.by_run.len() as u64),
        false => arm(row, row.hits, row.runs),
    });
    let Comparison { difference, odds_ratio, p } = compare(unit, &arms[0], &arms[1], LEVEL)?;
    let of = arms.map(|arm| Share::independent(arm.rate.hits, arm.rate.runs));
    let trial = by_trial.then(|| counted.matched.length());
    Ok(Versus::Rates { odds_ratio, difference, p, holm: p, of, trial })
}

/// Compares work until the first hit, where both have it.
fn curves(
    rows: &mut [Counted],
    baseline: usize,
    trials: impl Fn(&Trials) -> &Vec<Trial>,
    first: impl Fn(&mut Row) -> &mut Option<First>,
) {
    if first(&mut rows[baseline].row).is_none() {
        return;
    }
    let with = trials(&rows[baseline].trials).clone();
    let test = |counted: &mut Counted| {
        first(&mut counted.row).as_ref()?;
        Some(log_rank(trials(&counted.trials), &with).p)
    };
    let p_values: Vec<Option<f64>> = rows.iter_mut().map(test).collect();
    let corrected = over_the_table(&p_values, baseline, |&p| p);
    for (index, (p, holm)) in p_values.into_iter().zip(corrected).enumerate() {
        let counted = &mut rows[index];
        // A time of the baseline that is larger is in favour of the row.
        let a12 = A12::of_trials(&with, trials(&counted.trials)).value();
        if let (Some(first), true) = (first(&mut counted.row), index != baseline) {
            (first.log_rank, first.holm, first.a12) = (p, holm, Some(a12));
        }
    }
}

/// Holm's correction over all rows that have a p-value, the baseline left out.
fn over_the_table<T>(answers: &[T], baseline: usize, p: impl Fn(&T) -> Option<f64>) -> Vec<Option<f64>> {
    let of = |(index, answer)| p(answer).filter(|_| index != baseline);
    let p_values: Vec<Option<f64>> = answers.iter().enumerate().map(of).collect();
    let known: Vec<f64> = p_values.iter().copied().flatten().collect();
    let mut corrected = holm(&known).into_iter();
    p_values.into_iter().map(|p| p.and_then(|_| corrected.next())).collect()
}

fn arm(row: &Row, hits: u64, of: u64) -> Arm {
    let independent = if row.learns { Unit::Campaign } else { Unit::Run };
    Arm { name: row.name.clone(), independent, rate: Rate::new(hits, of) }
}
