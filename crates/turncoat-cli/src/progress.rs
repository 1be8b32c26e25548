//! How far a campaign is: a bar on a terminal, a line now and then elsewhere.

use std::io::{IsTerminal, stderr};
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use turncoat_lab::summary::{Injections, Summary};

use crate::clock::Stopwatch;
use crate::out;

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
                bar.set_position(so_far.runs);
                bar.set_message(figures);
            }
            None => {
                let of = self.runs.map(|runs| format!(" of {runs}")).unwrap_or_default();
                out::log(format_args!("{:.0} s: {}{of} runs  {figures}", elapsed.as_secs_f64(), so_far.runs));
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

    /// How fast it is, what the adversary does, and how long it will take.
    fn figures(&self, so_far: &Summary, elapsed: Duration) -> String {
        let (runs, Injections { faults, mutated, accepted, .. }) = (so_far.runs as f64, so_far.injected);
        let speed = (so_far.runs - self.before.unwrap_or(0)) as f64 / elapsed.as_secs_f64();
        let mut figures = format!(
            "{}  {} violating  {:.2} faults/run",
            rate(speed, "runs"),
            so_far.violating,
            faults as f64 / runs
        );
        if mutated > 0 {
            let share = 100.0 * accepted as f64 / mutated as f64;
            figures.push_str(&format!("  {share:.0} % of mutations accepted"));
        }
        let seconds = self.runs.map(|all| all.saturating_sub(so_far.runs) as f64 / speed);
        // No run yet: no speed, and no end.
        let by_runs = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let by_time = self.time.map(|time| time.saturating_sub(elapsed));
        if let Some(left) = by_runs.into_iter().chain(by_time).min() {
            figures.push_str(&format!("  {:#} left", HumanDuration(left)));
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

fn bar(runs: Option<u64>) -> ProgressBar {
    let (bar, template) = match runs {
        Some(runs) => (ProgressBar::new(runs), "{bar:30} {pos}/{len} runs  {msg}"),
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
            progress.figures(&so_far, Duration::from_secs(10))
        };
        let figures = "10 runs/s  2 violating  3.00 faults/run  50 % of mutations accepted";
        assert_eq!(shown(None, None), figures);
        assert_eq!(shown(Some(1300), None), format!("{figures}  2m left"));
        // Whichever is over first.
        let time = Some(Duration::from_secs(70));
        assert_eq!(shown(Some(1300), time), format!("{figures}  60s left"));
        assert_eq!(shown(Some(200), time), format!("{figures}  10s left"));
    }
}
