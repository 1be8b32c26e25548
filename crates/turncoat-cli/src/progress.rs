//! How far a campaign is: a bar on a terminal, within its width, and a line now and then elsewhere.

use std::io::{IsTerminal, stderr};
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use turncoat_lab::summary::{Injections, Summary};

use crate::clock::Stopwatch;
use crate::{layout, out};

/// Shows progress on stderr.
pub(crate) struct Progress {
    clock: Stopwatch,
    runs: Option<u64>,
    time: Option<Duration>,
    bar: Option<ProgressBar>,
    every: Duration,
    next: Duration,
    /// How many runs others have done before.
    before: Option<u64>,
}

impl Progress {
    pub(crate) fn new(clock: Stopwatch, runs: Option<u64>) -> Self {
        let bar = stderr().is_terminal().then(|| bar(runs));
        let every = if bar.is_some() { Duration::from_millis(100) } else { Duration::from_secs(30) };
        Self { clock, runs, time: None, bar, every, next: every, before: None }
    }

    /// It ends at this time at the latest.
    pub(crate) fn within(self, time: Option<Duration>) -> Self {
        Self { time, ..self }
    }

    /// Shows where the campaign is. Called very often, so it mostly does nothing.
    pub(crate) fn show(&mut self, so_far: &Summary) {
        let elapsed = self.clock.elapsed();
        self.before.get_or_insert(so_far.runs);
        if elapsed < self.next {
            return;
        }
        self.next = elapsed + self.every;
        let figures = self.figures(so_far, elapsed);
        match &self.bar {
            Some(bar) => {
                // `^C` of the terminal must not begin a line that nobody clears.
                let width = layout::width_of_messages().unwrap_or(NARROW);
                let numbers = self.runs.map_or(12, |runs| 2 * runs.to_string().len());
                bar.set_position(so_far.runs);
                bar.set_message(fitting(&figures, width.saturating_sub(BAR + numbers + 13)));
            }
            None => {
                let of = self.runs.map(|runs| format!(" of {runs}")).unwrap_or_default();
                let (runs, figures) = (so_far.runs, figures.join("  "));
                out::log(format_args!("{:.0} s: {runs}{of} runs  {figures}", elapsed.as_secs_f64()));
            }
        }
    }

    /// Prints something without tearing the bar.
    pub(crate) fn above<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// What is found, how long it will take, how fast it is and what the adversary does: the most important first.
    fn figures(&self, so_far: &Summary, elapsed: Duration) -> Vec<String> {
        let (runs, Injections { faults, mutated, accepted, .. }) = (so_far.runs as f64, so_far.injected);
        let speed = (so_far.runs - self.before.unwrap_or(0)) as f64 / elapsed.as_secs_f64();
        let mut figures = vec![format!("{} violating", so_far.violating)];
        let seconds = self.runs.map(|all| all.saturating_sub(so_far.runs) as f64 / speed);
        // No run yet: no speed, and no end.
        let by_runs = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let by_time = self.time.map(|time| time.saturating_sub(elapsed));
        if let Some(left) = by_runs.into_iter().chain(by_time).min() {
            figures.push(format!("{:#} left", HumanDuration(left)));
        }
        figures.push(rate(speed, "runs"));
        figures.push(format!("{:.2} faults/run", faults as f64 / runs));
        if mutated > 0 {
            let share = 100.0 * accepted as f64 / mutated as f64;
            figures.push(format!("{share:.0} % of mutations accepted"));
        }
        figures
    }

    /// Makes room for the results.
    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// The width of the bar, and of a terminal that does not say how wide it is.
const BAR: usize = 20;
const NARROW: usize = 80;

/// As many figures as there is room for.
fn fitting(figures: &[String], room: usize) -> String {
    let mut line = String::new();
    for figure in figures {
        let gap = if line.is_empty() { "" } else { "  " };
        if line.len() + gap.len() + figure.len() > room {
            break;
        }
        line.extend([gap, figure]);
    }
    line
}

fn bar(runs: Option<u64>) -> ProgressBar {
    let (bar, template) = match runs {
        Some(runs) => (ProgressBar::new(runs), "{bar:20} {pos}/{len} runs  {msg}"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_the_adversary_does_and_how_long_it_will_take() {
        let injected = Injections { faults: 300, mutated: 80, accepted: 40, ..Injections::default() };
        let so_far = Summary { runs: 100, violating: 2, injected, ..Summary::default() };
        let shown = |runs, time| {
            let progress = Progress::new(Stopwatch::start(), runs).within(time);
            progress.figures(&so_far, Duration::from_secs(10)).join("  ")
        };
        let figures = "10 runs/s  3.00 faults/run  50 % of mutations accepted";
        assert_eq!(shown(None, None), format!("2 violating  {figures}"));
        assert_eq!(shown(Some(1300), None), format!("2 violating  2m left  {figures}"));
        // Whichever is over first.
        let time = Some(Duration::from_secs(70));
        assert_eq!(shown(Some(1300), time), format!("2 violating  60s left  {figures}"));
        assert_eq!(shown(Some(200), time), format!("2 violating  10s left  {figures}"));
    }

    #[test]
    fn what_does_not_fit_is_left_out() {
        let figures = ["2 violating", "60s left", "10 runs/s"].map(str::to_owned);
        assert_eq!(fitting(&figures, 80), "2 violating  60s left  10 runs/s");
        assert_eq!(fitting(&figures, 31), "2 violating  60s left");
        assert_eq!(fitting(&figures, 5), "");
    }
}
