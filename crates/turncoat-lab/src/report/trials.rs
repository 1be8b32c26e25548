//! Work until the first hit: runs cut into trials, and their curves.
//!
//! A row of N independent runs is cut into trials of N/100 consecutive runs each, so into 100 or a few more;
//! what remains at the end is left out. That is legal because the runs are independent: any consecutive ones
//! are a small campaign of their own. A trial without a hit is censored at its end.
//!
//! A campaign that learns is one trial. Where a table has such rows, all runs are cut a second time, into trials
//! as long as the shortest campaign that learns: so everybody has the same budget when trials are counted.

use serde::{Deserialize, Serialize};

use crate::stats::{Curve, LEVEL, Median, Trial};

/// Trials that the independent runs of a row are cut into, or a few more.
pub(super) const TRIALS: u64 = 100;

/// The runs of a row, cut into trials as they come.
#[derive(Clone, Debug)]
pub(super) struct Trials {
    /// Runs of a trial; no trials if 0.
    length: u64,
    /// Whether a campaign is one trial.
    whole: bool,
    /// Work so far in the current trial.
    runs: u64,
    steps: u64,
    /// Whether the current trial has its hit.
    hit: bool,
    /// Whether the current campaign has had its trial.
    over: bool,
    pub(super) by_run: Vec<Trial>,
    pub(super) by_step: Vec<Trial>,
}

/// Work until the first hit.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct First {
    /// Trials.
    pub trials: u64,
    /// Runs of each trial.
    pub length: u64,
    /// Trials that hit.
    pub found: u64,
    /// By when half of the trials have hit.
    pub median: Median,
    /// The share of trials that have not hit yet, wherever it changes.
    pub curve: Vec<Point>,
    /// The log-rank test against the baseline: its p-value.
    pub log_rank: Option<f64>,
    /// The same with Holm's correction over the table.
    pub holm: Option<f64>,
    /// The chance that a trial of this row is quicker than one of the baseline (Vargha and Delaney).
    pub a12: Option<f64>,
}

/// A point of a curve of Kaplan and Meier, with its 95 % band.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Point {
    /// Runs or steps.
    pub time: u64,
    /// Trials that had not ended before.
    pub at_risk: u64,
    /// Trials that ended now without a hit.
    pub censored: u64,
    /// The share of trials that need longer.
    pub survival: f64,
    /// The lower end of the band.
    pub low: f64,
    /// The upper end of the band.
    pub high: f64,
}

impl Trials {
    pub(super) fn new(length: u64, whole: bool) -> Self {
        let (by_run, by_step) = (Vec::new(), Vec::new());
        Self { length, whole, runs: 0, steps: 0, hit: false, over: length == 0, by_run, by_step }
    }

    /// A new campaign begins.
    pub(super) fn campaign(&mut self) {
        if self.whole {
            (self.runs, self.steps, self.hit, self.over) = (0, 0, false, self.length == 0);
        }
    }

    /// The next run: its steps, and at which of them it hit.
    pub(super) fn run(&mut self, steps: u64, hit: Option<u64>) {
        if self.over {
            return;
        }
        if let (Some(step), false) = (hit, self.hit) {
            self.hit = true;
            self.by_run.push(Trial::found(self.runs + 1));
            self.by_step.push(Trial::found(self.steps + step));
        }
        self.runs += 1;
        self.steps += steps;
        if self.runs == self.length {
            if !self.hit {
                self.by_run.push(Trial::censored(self.runs));
                self.by_step.push(Trial::censored(self.steps));
            }
            (self.runs, self.steps, self.hit, self.over) = (0, 0, false, self.whole);
        }
    }

    /// A trial that was begun and not ended is no trial.
    pub(super) fn end(&mut self) {
        if self.hit && !self.over {
            self.by_run.pop();
            self.by_step.pop();
        }
    }

    /// Trials that hit.
    pub(super) fn found(&self) -> u64 {
        self.by_run.iter().filter(|trial| trial.found).count() as u64
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }
}

impl First {
    pub(super) fn of(trials: &[Trial], length: u64) -> Self {
        let curve = Curve::of(trials);
        let point = |step: &crate::stats::Step| {
            let band = curve.band(step.time, LEVEL);
            Point {
                time: step.time,
                at_risk: step.at_risk,
                censored: step.censored,
                survival: step.survival,
                low: band.low,
                high: band.high,
            }
        };
        Self {
            trials: trials.len() as u64,
            length,
            found: trials.iter().filter(|trial| trial.found).count() as u64,
            median: curve.median(LEVEL),
            curve: curve.steps().iter().map(point).collect(),
            log_rank: None,
            holm: None,
            a12: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_cut_into_trials_and_the_rest_is_left_out() {
        let mut trials = Trials::new(3, false);
        let hits = [None, Some(4), Some(2), None, None, None, Some(7)];
        hits.iter().for_each(|&hit| trials.run(10, hit));
        trials.end();
        assert_eq!(trials.by_run, [Trial::found(2), Trial::censored(3)]);
        assert_eq!(trials.by_step, [Trial::found(14), Trial::censored(30)]);
    }

    #[test]
    fn a_campaign_that_learns_is_one_trial() {
        let mut trials = Trials::new(2, true);
        for campaign in [[None, None, Some(1)], [Some(5), None, Some(1)]] {
            trials.campaign();
            campaign.iter().for_each(|&hit| trials.run(10, hit));
        }
        trials.end();
        assert_eq!(trials.by_run, [Trial::censored(2), Trial::found(1)]);
    }
}
