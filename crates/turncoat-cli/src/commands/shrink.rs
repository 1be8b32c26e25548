//! `turncoat shrink`: a smaller scenario that shows the same violation.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde::Serialize;
use turncoat_core::outcome::Violation;
use turncoat_core::scenario::Scenario;
use turncoat_lab::shrink::{self, Budget, EXECUTIONS, Keep, Shrunk, Size, Step, Stopped};

use crate::clock::{self, Stopwatch};
use crate::exit::Exit;
use crate::named::{Named, Subject};
use crate::numbers::counted;
use crate::out::Tone;
use crate::show::row;
use crate::stop::Stop;
use crate::{files, out, registry};

const NOTES: &str = "\
Removes faults, requests, steps of a script and keys, narrows what is left, and looks for a plain scheduler with a few late \
messages, as long as the same rule of the same property is violated. No other replica becomes Byzantine. Shrinking the result \
again changes nothing, unless the budget ran out.

Example: turncoat shrink turncoat-corpus/pbft-agreement-7b1c03aa.toml";

/// Make a scenario that violates a property smaller
#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub(crate) struct Args {
    #[command(flatten)]
    subject: Subject,

    /// Where to write the result [default: FILE, or the bug's name, with .min.toml]
    #[arg(short, long, value_name = "OUT")]
    out: Option<PathBuf>,

    /// What must stay violated
    #[arg(long, value_enum, default_value_t = What::Same, value_name = "same|any")]
    keep: What,

    /// Stop after this time and keep the smallest so far: 500ms, 10s, 5min
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = clock::duration)]
    budget: Duration,

    /// Print JSON lines, one for each reduction
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum What {
    /// The same rule of the same property
    Same,
    /// Some property
    Any,
}

/// The options of commands that shrink what they save.
#[derive(clap::Args)]
pub(crate) struct Automatic {
    /// Save violations as they were found
    #[arg(long)]
    no_shrink: bool,

    /// Spend at most this time on shrinking each violation
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = clock::duration)]
    shrink_budget: Duration,
}

impl Automatic {
    /// For how long to shrink, if at all.
    pub(crate) fn budget(&self) -> Option<Duration> {
        (!self.no_shrink).then_some(self.shrink_budget)
    }
}

/// What shrinking came to.
#[derive(Serialize)]
pub(crate) struct Report {
    before: Size,
    after: Size,
    executions: u64,
    seconds: f64,
    stopped: Stopped,
    /// What the smaller scenario violates.
    #[serde(skip)]
    pub(crate) violation: Violation,
}

impl Report {
    pub(crate) fn new(shrunk: &Shrunk, clock: Stopwatch) -> Self {
        let Shrunk { before, after, executions, stopped, ref violation, .. } = *shrunk;
        let violation = violation.clone();
        Self { before, after, executions, stopped, violation, seconds: clock.seconds() }
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { before, after, seconds, .. } = self;
        let sizes = [
            ("event", before.events, after.events),
            ("fault", before.faults as u64, after.faults as u64),
            ("scripted step", before.actions as u64, after.actions as u64),
            ("request", before.requests.into(), after.requests.into()),
            ("line", before.lines as u64, after.lines as u64),
        ];
        // What was left to chance before may take more words to be said.
        let smaller = sizes.into_iter().filter(|(_, before, after)| after < before);
        let smaller = smaller.map(|(thing, before, after)| format!("{} to {after}", counted(before, thing)));
        let smaller = smaller.collect::<Vec<_>>().join(", ");
        let words = match (smaller.is_empty(), self.stopped) {
            (true, Stopped::Fixpoint) => "already as small as it gets".to_owned(),
            (true, Stopped::Budget) => "nothing smaller was found in time".to_owned(),
            (false, Stopped::Fixpoint) => format!("{smaller}; nothing more to cut"),
            (false, Stopped::Budget) => format!("{smaller}; the time for shrinking is used up"),
        };
        write!(f, "{words} ({seconds:.1} s)")
    }
}

pub(crate) fn shrink(args: &Args) -> Result<Exit> {
    let Named { scenario, file, words, .. } = args.subject.read()?;
    let in_file = || file.clone();
    let entry = registry::protocol(&scenario.protocol.name).with_context(in_file)?;
    let target = args.out.clone().unwrap_or_else(|| smaller(&words));
    let stop = Stop::on_interrupt()?;
    stop.after(args.budget);
    let budget = Budget { executions: EXECUTIONS, stop: stop.flag() };
    let keep = match args.keep {
        What::Same => Keep::Same,
        What::Any => Keep::Any,
    };
    let clock = Stopwatch::start();
    let shrunk = shrink::shrink(entry, &scenario, keep, &[], budget).with_context(in_file)?;
    let report = Report::new(&shrunk, clock);
    for step in &shrunk.steps {
        let Step { words, executions } = step;
        if args.json {
            out::json("cut", serde_json::json!({ "words": words, "executions": executions }))?;
        } else {
            out::line(format_args!("  {words}"))?;
        }
    }
    let Shrunk { scenario, violation, fingerprint, .. } = &shrunk;
    files::write(&target, &[], scenario, Some(violation), *fingerprint)?;
    if args.json {
        #[derive(Serialize)]
        struct Line<'a> {
            file: &'a Path,
            violation: &'a Violation,
            #[serde(flatten)]
            report: &'a Report,
        }
        out::json("shrunk", Line { file: &target, violation, report: &report })?;
    } else {
        out::toned(
            Tone::Bad,
            violation.headline(),
            format_args!(" at step {}: {}", violation.step, violation.words()),
        )?;
        row("shrunk", &report)?;
        row("saved as", target.display())?;
    }
    if stop.interrupted() {
        out::log("interrupted: this is the smallest scenario found so far");
    }
    Ok(if stop.interrupted() { Exit::Interrupted } else { Exit::Clean })
}

/// `a/b.toml` becomes `a/b.min.toml`, and the bug `a/b` becomes `b.min.toml`.
fn smaller(words: &str) -> PathBuf {
    let path = Path::new(words);
    match words.ends_with(".toml") || path.exists() {
        true => path.with_extension("min.toml"),
        false => PathBuf::from(format!("{}.min.toml", words.rsplit('/').next().unwrap_or(words))),
    }
}

/// Shrinks what was found, for some time; what cannot be shrunk stays as it is, and so do these settings.
pub(crate) fn found(
    entry: &turncoat_core::runner::Entry,
    scenario: &Scenario,
    violation: &Violation,
    fingerprint: u64,
    settings: &[String],
    stop: &Stop,
) -> Option<(Shrunk, Report)> {
    let clock = Stopwatch::start();
    let scenario = files::expecting(scenario, Some(violation), fingerprint);
    let budget = Budget { executions: EXECUTIONS, stop: stop.flag() };
    let shrunk = shrink::shrink(entry, &scenario, Keep::Same, settings, budget).ok()?;
    let report = Report::new(&shrunk, clock);
    Some((shrunk, report))
}
