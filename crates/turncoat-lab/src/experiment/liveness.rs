//! Tables about liveness: which runs each method suspects, and how many of them wrongly.
//!
//! A row is one campaign, which all its checks judge. So the methods differ in what they say about the same runs, and
//! a row of the publication, which has a campaign for each, differs from ours in that.

use std::fmt::Write;

use serde::Deserialize;
use serde_json::{Value, json};
use toml::Table;
use turncoat_core::ids::Time;
use turncoat_core::outcome::Property;

use super::{Experiment, Row, percent, table};
use crate::liveness::{Lassos, Method, Spread, Suspected, Trace};
use crate::stats::Rate;
use crate::summary::Summary;

/// One way in which runs of a row come under suspicion.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Check {
    by: By,
    /// For temperature rounds in a row; for time the standard deviations that it may exceed the mean by.
    #[serde(default)]
    threshold: u32,
    published: Option<Published>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum By {
    Temperature,
    /// Cycles of two and more states.
    Lasso,
    /// Any cycle: also a round that ends as it began.
    LassoAndLoops,
    Time,
}

/// A line of the published table. Rates are in %, those of false positives of the suspected runs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Published {
    #[serde(default)]
    bound: String,
    time: String,
    length: Option<u32>,
    safety: f64,
    liveness: f64,
    false_positives: f64,
}

/// A campaign whose runs were watched, and the real time that it took.
#[derive(Debug)]
pub struct Watched {
    /// What came out.
    pub summary: Summary,
    /// Its runs.
    pub traces: Vec<Trace>,
    /// The cycles in them.
    pub lassos: Lassos,
    /// Seconds for the runs.
    pub seconds: f64,
    /// Seconds for the cycles.
    pub lasso_seconds: f64,
}

/// What a check says about the runs of a cell.
struct Line<'a> {
    variant: &'a str,
    row: &'a Row,
    check: &'a Check,
    watched: &'a Watched,
    bound: Option<Time>,
    suspected: Suspected,
}

impl Experiment {
    /// Whether it is about liveness.
    pub fn is_about_liveness(&self) -> bool {
        self.rows.iter().any(Row::is_watched)
    }

    pub(super) fn check_bounds(&self) -> Result<(), String> {
        let names: Vec<&str> = self.variants.iter().map(|variant| variant.name.as_str()).collect();
        let by_time = self.rows.iter().flat_map(|row| &row.checks).any(|check| matches!(check.by, By::Time));
        match &self.bounds {
            Some(name) if !names.contains(&name.as_str()) => {
                Err(format!("bounds: no variant `{name}`. There are: {names:?}"))
            }
            None if by_time => Err("a check by time needs `bounds`, the name of a variant".to_owned()),
            _ => Ok(()),
        }
    }

    /// The tables in Markdown: what the checks say about the cells, in their order. `~` is before real time.
    pub fn liveness_markdown(&self, results: &[Watched]) -> String {
        let mut text = String::new();
        let lines = self.lines(results);
        for (variant, results) in self.variants.iter().zip(results.chunks(self.rows.len())) {
            let runs = results.first().map_or(0, |watched| watched.summary.runs);
            let timed = self.rows.iter().zip(results).filter_map(|(row, it)| Some((row, it, row.seconds?)));
            let timed: Vec<_> = timed.collect();
            if !timed.is_empty() {
                let _ = writeln!(text, "\n{}, seconds per run of {runs}, mean and standard deviation:\n", variant.name);
                let head = ["virtual time", "real time", "published"];
                let row = |(row, it, [mean, std]): &(&Row, &Watched, [f64; 2])| {
                    let real = format!("~{:.6}", it.seconds / runs.max(1) as f64);
                    let virtual_time = Spread::of(it.traces.iter().map(Trace::duration));
                    (row.name.clone(), vec![virtual_time.to_string(), real, format!("{mean:.3} / {std:.3}")])
                };
                table(&mut text, head.into_iter(), timed.iter().map(row));
            }
            let mut lines = lines.iter().filter(|line| line.variant == variant.name).peekable();
            if lines.peek().is_some() {
                let _ = writeln!(text, "\n{}, {runs} runs, ours / published:\n", variant.name);
                let head =
                    ["threshold", "time", "length", "% safety", "% liveness", "% false", "% refuted"];
                table(&mut text, head.into_iter(), lines.map(|line| (line.name(), line.cells())));
            }
        }
        text
    }

    /// One value for each check.
    pub fn liveness_json(&self, results: &[Watched]) -> Vec<Value> {
        self.lines(results).iter().map(Line::json).collect()
    }

    fn lines<'a>(&'a self, results: &'a [Watched]) -> Vec<Line<'a>> {
        let bounds = self.variants.iter().position(|variant| Some(&variant.name) == self.bounds.as_ref());
        let mut lines = Vec::new();
        for (i, watched) in results.iter().enumerate() {
            let (variant, row) = (&self.variants[i / self.rows.len()].name, &self.rows[i % self.rows.len()]);
            let correct = bounds.and_then(|variant| results.get(variant * self.rows.len() + i % self.rows.len()));
            let normal = correct.map(|watched| Spread::of(watched.traces.iter().map(|trace| trace.time)));
            for check in &row.checks {
                let beyond = |normal: Spread| normal.beyond(check.threshold);
                let bound = normal.filter(|_| matches!(check.by, By::Time)).map(beyond);
                let method = match check.by {
                    By::Temperature => Method::Temperature(check.threshold as usize),
                    By::Lasso => Method::Lasso(&watched.lassos, false),
                    By::LassoAndLoops => Method::Lasso(&watched.lassos, true),
                    By::Time => Method::TimeBound(bound.unwrap_or_default()),
                };
                let suspected = Suspected::by(method, &watched.traces);
                lines.push(Line { variant, row, check, watched, bound, suspected });
            }
        }
        lines
    }
}

impl Row {
    const fn is_watched(&self) -> bool {
        !self.checks.is_empty() || self.seconds.is_some()
    }

    /// The views that its checks look at: the rounds of the strategy.
    pub(super) fn rounds(&self, set: &Table) -> Result<Option<u32>, String> {
        if !self.is_watched() {
            return Ok(None);
        }
        let rounds = set.get("rounds").and_then(toml::Value::as_integer).and_then(|n| u32::try_from(n).ok());
        self.views.or(rounds).map(Some).ok_or_else(|| "checks and seconds are about rounds: say in `set` how many".to_owned())
    }
}

impl Line<'_> {
    fn name(&self) -> String {
        let by = match self.check.by {
            By::Temperature => "temperature",
            By::Lasso => "lasso",
            By::LassoAndLoops => "lasso, loops too",
            By::Time => "time bound",
        };
        format!("{}, {by}", self.row.name)
    }

    fn seconds(&self) -> f64 {
        let lassos = matches!(self.check.by, By::Lasso | By::LassoAndLoops);
        self.watched.seconds + if lassos { self.watched.lasso_seconds } else { 0.0 }
    }

    fn unsafe_runs(&self) -> u64 {
        self.watched.summary.violations.get(&Property::Agreement).copied().unwrap_or_default()
    }

    fn threshold(&self) -> String {
        match (self.check.by, self.bound) {
            (By::Temperature, _) => self.check.threshold.to_string(),
            (By::Time, Some(bound)) => format!("{:.1} s", bound.0 as f64 / 1000.0),
            _ => "-".to_owned(),
        }
    }

    fn cells(&self) -> Vec<String> {
        let (runs, suspected) = (self.watched.summary.runs, &self.suspected);
        let share = |part: u64| match suspected.runs {
            0 => "-".to_owned(),
            runs => format!("{:.1}", 100.0 * part as f64 / runs as f64),
        };
        let length = suspected.length().map_or_else(|| "-".to_owned(), |length| format!("{length:.1}"));
        let ours = [
            self.threshold(),
            format!("~{:.2} s", self.seconds()),
            length,
            percent(Rate::new(self.unsafe_runs(), runs)),
            percent(Rate::new(suspected.runs, runs)),
            share(suspected.unsplit),
            share(suspected.refuted),
        ];
        let theirs = self.check.published.as_ref().map(|published| {
            let length = published.length.map_or_else(|| "-".to_owned(), |length| length.to_string());
            let rates = [published.safety, published.liveness, published.false_positives];
            let [safety, liveness, wrong] = rates.map(|rate| rate.to_string());
            [published.bound.clone(), published.time.clone(), length, safety, liveness, wrong, String::new()]
        });
        let theirs = theirs.unwrap_or_default();
        let beside = |(ours, theirs): (String, String)| match theirs.as_str() {
            "" => ours,
            theirs => format!("{ours} / {theirs}"),
        };
        ours.into_iter().zip(theirs).map(beside).collect()
    }

    fn json(&self) -> Value {
        let Suspected { runs, unsplit, refuted, .. } = self.suspected;
        json!({
            "variant": self.variant, "row": self.row.name, "check": self.name(), "threshold": self.threshold(),
            "runs": self.watched.summary.runs, "unsafe": self.unsafe_runs(), "suspected": runs, "false": unsplit,
            "refuted": refuted, "length": self.suspected.length(), "seconds": self.seconds(),
            "lasso_seconds": self.watched.lasso_seconds,
            "states_on_cycles": self.watched.lassos.cycles.len(), "states_on_loops": self.watched.lassos.loops.len(),
        })
    }
}
