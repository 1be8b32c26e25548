//! Tables about liveness: which runs each method suspects, and how many of them wrongly.
//!
//! A row is one campaign, which all methods judge: they differ in what they say about the same runs.

use std::fmt::Write;

use serde::Deserialize;
use serde_json::{Value, json};
use toml::Table;
use turncoat_core::ids::Time;
use turncoat_core::outcome::Property;

use super::{Experiment, Row, percent, table};
use crate::liveness::{Heat, Lassos, Method, Spread, Suspected, Trace};
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
    /// A decision of any correct replica.
    Time,
    /// A decision of every correct replica.
    TimeForAll,
}

impl By {
    const fn is_time(self) -> bool {
        matches!(self, Self::Time | Self::TimeForAll)
    }
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
    /// Runs that did not reach their goal, and never will: that is proved.
    pub proved: u64,
    /// Seconds for the runs.
    pub seconds: f64,
    /// Seconds for the cycles.
    pub lasso_seconds: f64,
}

/// What a check says about the runs of a row.
struct Line<'a> {
    row: &'a Row,
    check: &'a Check,
    watched: &'a Watched,
    bound: Option<Time>,
    suspected: Suspected,
}

impl Experiment {
    /// Whether it is about liveness.
    pub fn is_about_liveness(&self) -> bool {
        !self.temperatures.is_empty() || self.rows.iter().any(|row| row.seconds.is_some())
    }

    /// The views that are looked at: the rounds of the strategy, if nothing else is said.
    pub(super) fn views_of(&self, row: &Row, set: &Table) -> Result<Option<u32>, String> {
        if !self.is_about_liveness() {
            return Ok(None);
        }
        let rounds = set.get("rounds").and_then(toml::Value::as_integer).and_then(|n| u32::try_from(n).ok());
        let unsaid = "tables about liveness look at so many views: say in `set` how many `rounds`, or how many `views`";
        row.views.or(rounds).map(Some).ok_or_else(|| unsaid.to_owned())
    }

    pub(super) fn check_bounds(&self) -> Result<(), String> {
        let names: Vec<&str> = self.variants.iter().map(|variant| variant.name.as_str()).collect();
        let by_time = self.rows.iter().flat_map(|row| &row.checks).any(|check| check.by.is_time());
        match &self.bounds {
            Some(name) if !names.contains(&name.as_str()) => {
                Err(format!("bounds: no variant `{name}`. There are: {names:?}"))
            }
            None if by_time => Err("a check by time needs `bounds`, the name of a variant".to_owned()),
            _ => Ok(()),
        }
    }

    /// The tables in Markdown. First what the publication says of its protocol and what we do, then what else our runs
    /// of each variant show. `~` is before real time.
    pub fn liveness_markdown(&self, results: &[Watched]) -> String {
        let mut text = String::new();
        let lines = self.lines(results);
        for (i, (variant, results)) in self.variants.iter().zip(results.chunks(self.rows.len())).enumerate() {
            let runs = results.first().map_or(0, |watched| watched.summary.runs);
            let cells = || self.rows.iter().zip(results);
            let timed: Vec<_> =
                cells().filter_map(|(row, it)| Some((row.name.clone(), it.times(row.seconds?)))).collect();
            if !timed.is_empty() {
                let _ = writeln!(text, "\n{}, seconds per run of {runs}, mean / deviation:\n", variant.name);
                table(&mut text, ["virtual time", "real time", "published"].into_iter(), timed.into_iter());
            }
            if i == 0 && !lines.is_empty() {
                let _ = writeln!(text, "\n{}, {runs} runs, ours / published:\n", variant.name);
                let head = ["threshold", "time", "length", "% safety", "% liveness", "% false", "% refuted"];
                table(&mut text, head.into_iter(), lines.iter().map(|line| (line.name(), line.cells())));
            }
            if !self.temperatures.is_empty() {
                let _ = writeln!(
                    text,
                    "\n{}, runs of {runs}, and of those suspected the ones that were not refuted:\n",
                    variant.name
                );
                let hot: Vec<String> =
                    self.temperatures.iter().map(|rounds| format!("{rounds} hot")).collect();
                let head = ["rounds", "unsafe", "split", "hot", "most hot"].into_iter();
                let head = head.chain(hot.iter().map(String::as_str)).chain([
                    "lasso",
                    "with loops",
                    "undecided",
                    "proved",
                ]);
                table(
                    &mut text,
                    head,
                    cells().map(|(row, it)| (row.name.clone(), it.heat(&self.temperatures))),
                );
            }
        }
        text
    }

    /// One value for each check of the first variant.
    pub fn liveness_json(&self, results: &[Watched]) -> Vec<Value> {
        self.lines(results).iter().map(Line::json).collect()
    }

    /// What the checks say about the first variant.
    fn lines<'a>(&'a self, results: &'a [Watched]) -> Vec<Line<'a>> {
        let bounds = self.variants.iter().position(|variant| Some(&variant.name) == self.bounds.as_ref());
        let mut lines = Vec::new();
        for (i, (row, watched)) in self.rows.iter().zip(results).enumerate() {
            let correct = bounds.and_then(|variant| results.get(variant * self.rows.len() + i));
            let normal = correct.map(|watched| Spread::of(watched.traces.iter().map(Trace::duration)));
            for check in &row.checks {
                let by_time = normal.filter(|_| check.by.is_time());
                let bound = by_time.map(|normal| normal.beyond(check.threshold));
                let method = match check.by {
                    By::Temperature => Method::Temperature(check.threshold as usize),
                    By::Lasso => Method::Lasso(&watched.lassos, false),
                    By::LassoAndLoops => Method::Lasso(&watched.lassos, true),
                    By::Time => Method::TimeBound(bound.unwrap_or_default()),
                    By::TimeForAll => Method::TimeBoundForAll(bound.unwrap_or_default()),
                };
                let suspected = Suspected::by(method, &watched.traces);
                lines.push(Line { row, check, watched, bound, suspected });
            }
        }
        lines
    }
}

impl Watched {
    fn unsafe_runs(&self) -> u64 {
        self.summary.runs_with(Property::Agreement)
    }

    /// How long its runs take, and how long the publication says.
    fn times(&self, [mean, deviation]: [f64; 2]) -> Vec<String> {
        let real = self.seconds / self.summary.runs.max(1) as f64;
        let ours = Spread::of(self.traces.iter().map(Trace::duration));
        vec![ours.to_string(), format!("~{real:.6}"), format!("{mean:.3} / {deviation:.3}")]
    }

    /// How hot its runs get, and which come under suspicion.
    fn heat(&self, temperatures: &[u32]) -> Vec<String> {
        let Heat { rounds, split, hot, most, undone } = Heat::of(&self.traces);
        let rounds = format!("{:.1}", rounds as f64 / self.summary.runs.max(1) as f64);
        let plain = [self.unsafe_runs(), split, hot, most as u64].map(|count| count.to_string());
        let by = |method| {
            let suspected = Suspected::by(method, &self.traces);
            format!("{} / {}", suspected.runs, suspected.runs - suspected.refuted)
        };
        let hot = temperatures.iter().map(|&rounds| by(Method::Temperature(rounds as usize)));
        let lassos = [false, true].map(|with_loops| by(Method::Lasso(&self.lassos, with_loops)));
        [rounds]
            .into_iter()
            .chain(plain)
            .chain(hot)
            .chain(lassos)
            .chain([undone, self.proved].map(|count| count.to_string()))
            .collect()
    }
}

impl Line<'_> {
    fn name(&self) -> String {
        let by = match self.check.by {
            By::Temperature => "temperature",
            By::Lasso => "lasso",
            By::LassoAndLoops => "lasso, loops too",
            By::Time => "time bound",
            By::TimeForAll => "time bound, all decide",
        };
        format!("{}, {by}", self.row.name)
    }

    fn seconds(&self) -> f64 {
        let lassos = matches!(self.check.by, By::Lasso | By::LassoAndLoops);
        self.watched.seconds + if lassos { self.watched.lasso_seconds } else { 0.0 }
    }

    fn threshold(&self) -> String {
        match (self.check.by, self.bound) {
            (By::Temperature, _) => self.check.threshold.to_string(),
            (By::Time | By::TimeForAll, Some(bound)) => format!("{:.1} s", bound.0 as f64 / 1000.0),
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
            percent(Rate::new(self.watched.unsafe_runs(), runs)),
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
            "row": self.row.name, "check": self.name(), "threshold": self.threshold(),
            "runs": self.watched.summary.runs, "unsafe": self.watched.unsafe_runs(), "suspected": runs, "false": unsplit,
            "refuted": refuted, "length": self.suspected.length(), "seconds": self.seconds(),
            "lasso_seconds": self.watched.lasso_seconds,
            "states_on_cycles": self.watched.lassos.cycles.len(), "states_on_loops": self.watched.lassos.loops.len(),
        })
    }
}
