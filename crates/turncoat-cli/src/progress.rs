//! How far a campaign is: one line that is drawn again and again on a terminal, a line now and then elsewhere.

use std::io::{IsTerminal, stderr};
use std::time::Duration;

use turncoat_lab::summary::{Injections, Summary};

use crate::clock::Stopwatch;
use crate::{layout, out};

/// The width of the bar, and of a terminal that does not say how wide it is.
const BAR: usize = 20;
const NARROW: usize = 80;

/// Columns that stay free: a terminal shows `^C` there, and must not go on to a line that nobody clears.
const MARGIN: usize = 4;

/// Shows progress on stderr.
pub(crate) struct Progress {
    clock: Stopwatch,
    runs: Option<u64>,
    time: Option<Duration>,
    terminal: bool,
    every: Duration,
    next: Duration,
    /// How many runs others have done before.
    before: Option<u64>,
}

impl Progress {
    pub(crate) fn new(clock: Stopwatch, runs: Option<u64>) -> Self {
        let terminal = stderr().is_terminal();
        let every = if terminal { Duration::from_millis(100) } else { Duration::from_secs(30) };
        Self { clock, runs, time: None, terminal, every, next: every, before: None }
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
        let (done, mut figures) = (so_far.runs, self.figures(so_far, elapsed));
        if self.terminal {
            let width = layout::width_of_messages().unwrap_or(NARROW).saturating_sub(MARGIN);
            let head = match self.runs {
                Some(all) => format!("{} {done}/{all} runs", bar(done, all)),
                None => format!("{} {done} runs", rounded(elapsed)),
            };
            figures.insert(0, head);
            out::redraw(fitting(&figures, width));
        } else {
            let of = self.runs.map(|runs| format!(" of {runs}")).unwrap_or_default();
            let figures = figures.join("  ");
            out::log(format_args!("{:.0} s: {done}{of} runs  {figures}", elapsed.as_secs_f64()));
        }
    }

    /// Prints something where the line was, which comes back below it.
    pub(crate) fn above<T>(&self, print: impl FnOnce() -> T) -> T {
        self.clear();
        print()
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
            figures.push(format!("{} left", rounded(left)));
        }
        figures.push(rate(speed, "runs"));
        figures.push(format!("{:.2} faults/run", faults as f64 / runs));
        if mutated > 0 {
            let share = 100.0 * accepted as f64 / mutated as f64;
            figures.push(format!("{share:.0} % of lies accepted"));
        }
        figures
    }

    /// Makes room for the results.
    pub(crate) fn clear(&self) {
        if self.terminal {
            out::redraw("");
        }
    }
}

/// How much of all is done, as a picture.
fn bar(done: u64, all: u64) -> String {
    let filled = (BAR as u64).saturating_mul(done.min(all)).checked_div(all).unwrap_or_default() as usize;
    "█".repeat(filled) + &"░".repeat(BAR - filled)
}

/// A time in its largest unit.
fn rounded(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds}s"),
        seconds @ 120..7200 => format!("{}m", seconds / 60),
        seconds => format!("{}h", seconds / 3600),
    }
}

/// As many figures as there is room for, the first in any case.
fn fitting(figures: &[String], room: usize) -> String {
    let mut line = String::new();
    for figure in figures {
        if !line.is_empty() && line.chars().count() + 2 + figure.chars().count() > room {
            break;
        }
        line.extend([if line.is_empty() { "" } else { "  " }, figure]);
    }
    line
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
        let figures = "10 runs/s  3.00 faults/run  50 % of lies accepted";
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
        assert_eq!(fitting(&figures, 5), "2 violating");
    }

    #[test]
    fn the_bar_has_one_width() {
        assert_eq!(bar(0, 10), "░".repeat(20));
        assert_eq!(bar(5, 10), "█".repeat(10) + &"░".repeat(10));
        assert_eq!(bar(11, 10), "█".repeat(20));
        assert_eq!(bar(0, 0), "░".repeat(20));
    }
}
