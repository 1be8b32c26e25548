//! How far a campaign is: a bar on a terminal, a line now and then elsewhere.

use std::fmt::Display;
use std::io::{IsTerminal, stderr};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use turncoat_lab::summary::Summary;

use crate::clock::Stopwatch;
use crate::out;

/// Shows progress on stderr.
pub(crate) struct Progress {
    clock: Stopwatch,
    runs: Option<u64>,
    bar: Option<ProgressBar>,
    every: Duration,
    next: Duration,
}

impl Progress {
    pub(crate) fn new(clock: Stopwatch, runs: Option<u64>) -> Self {
        let bar = stderr().is_terminal().then(|| bar(runs));
        let every = if bar.is_some() { Duration::from_millis(100) } else { Duration::from_secs(30) };
        Self { clock, runs, bar, every, next: every }
    }

    /// Shows where the campaign is. Called very often, so it mostly does nothing.
    pub(crate) fn show(&mut self, so_far: &Summary) {
        let elapsed = self.clock.elapsed();
        if elapsed < self.next {
            return;
        }
        self.next = elapsed + self.every;
        let runs = so_far.runs as f64;
        let figures = format!(
            "{}  {} violating  {:.2} faults/run",
            rate(runs / elapsed.as_secs_f64(), "runs"),
            so_far.violating,
            so_far.injected.faults as f64 / runs
        );
        match &self.bar {
            Some(bar) => {
                bar.set_position(so_far.runs);
                bar.set_message(figures);
            }
            None => {
                let of = self.runs.map(|runs| format!(" of {runs}")).unwrap_or_default();
                out::log(format_args!("{:.0} s: {}{of} runs  {figures}", elapsed.as_secs_f64(), so_far.runs));
            }
        }
    }

    /// Says something without tearing the bar.
    pub(crate) fn note(&self, text: impl Display) {
        match &self.bar {
            Some(bar) => bar.suspend(|| out::log(text)),
            None => out::log(text),
        }
    }

    /// Makes room for the results.
    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(runs: Option<u64>) -> ProgressBar {
    let (bar, template) = match runs {
        Some(runs) => (ProgressBar::new(runs), "{bar:30} {pos}/{len} runs  {msg}  {eta} left"),
        None => (ProgressBar::new_spinner(), "{spinner} {elapsed} {pos} runs  {msg}"),
    };
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// So many per second, in three digits or so.
pub(crate) fn rate(per_second: f64, what: &str) -> String {
    match per_second {
        x if x >= 1e6 => format!("{:.2} M {what}/s", x / 1e6),
        x if x >= 1e4 => format!("{:.1} k {what}/s", x / 1e3),
        x => format!("{x:.0} {what}/s"),
    }
}
