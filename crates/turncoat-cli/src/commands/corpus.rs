//! `turncoat corpus`: the folder of what was found, run again and kept in order.

use std::path::{Path, PathBuf};
use std::thread::available_parallelism;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Subcommand, ValueHint};
use serde_json::json;
use turncoat_core::scenario::Scenario;
use turncoat_lab::corpus::{self, Change, Filed, How, Judged, Shown, Standing, What};
use turncoat_lab::shrink::Size;

use crate::cases::{Case, Cases, Verdict};
use crate::clock::Stopwatch;
use crate::commands::shrink::{self, Automatic};
use crate::exit::Exit;
use crate::named::{self, Named};
use crate::numbers::counted;
use crate::output::Output;
use crate::rows::Rows;
use crate::show::row;
use crate::stop::Stop;
use crate::{again, clock, files, out, registry};

const NOTES: &str = "\
An entry is a scenario file that violates a property, named after what it shows; of two that show the same, the smaller is \
kept. `turncoat fuzz` and tests save entries, and `turncoat corpus add` takes any file or known bug.

Example: turncoat corpus run
         turncoat corpus add attack.toml";

const RUN_NOTES: &str = "\
  fails    still violates the property, in the same run as when it was saved
  outside  so it does, but only after an assumption of the protocol was broken
  changed  violates a property, but the run is different
  fixed    violates nothing any more
  stale    does not run any more: a flag or a lie has a new name
  slow     was stopped by --timeout
  foreign  is no scenario, or one of a protocol that this program does not have

Exits with 1 if an entry fails, with 3 if one is changed, stale, slow or foreign, with 4 if there is no entry, and with 0 if all \
are fixed or outside.

Example: turncoat corpus run --junit corpus.xml";

const PRUNE_NOTES: &str = "\
Removes entries that are fixed or stale, updates those that have changed, and names every entry after what it shows; of two \
that show the same, the smaller is kept. Foreign files stay.

Example: turncoat corpus prune --dry-run";

/// Run saved violations again, add to them, clean up
#[derive(clap::Args)]
#[command(after_help = NOTES, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run all entries again and say which still fail
    #[command(after_help = RUN_NOTES)]
    Run {
        #[command(flatten)]
        folder: Folder,
        /// Stop each run after this time: 500ms, 10s, 5min
        #[arg(long, value_name = "DURATION", value_parser = clock::duration)]
        timeout: Option<Duration>,
        #[command(flatten)]
        output: Output,
    },
    /// Shrink scenarios and add them to the corpus
    #[command(after_help = "Example: turncoat corpus add attack.toml")]
    Add {
        /// Scenario files or known bugs
        #[arg(value_name = "FILE|BUG", required = true, value_hint = ValueHint::FilePath)]
        files: Vec<String>,
        #[command(flatten)]
        folder: Folder,
        #[command(flatten)]
        automatic: Automatic,
        /// Print JSON lines, one for each file
        #[arg(long)]
        json: bool,
    },
    /// Show what each entry violates, the known bug that it matches, its size
    #[command(after_help = "Example: turncoat corpus list")]
    List {
        #[command(flatten)]
        folder: Folder,
        /// Print JSON lines, one for each entry
        #[arg(long)]
        json: bool,
    },
    /// Remove entries that are fixed or stale, and duplicates
    #[command(after_help = PRUNE_NOTES)]
    Prune {
        #[command(flatten)]
        folder: Folder,
        /// Say what would be done without doing it
        #[arg(long)]
        dry_run: bool,
        /// Print JSON lines, one for each change
        #[arg(long)]
        json: bool,
    },
}

/// Where the corpus is.
#[derive(clap::Args)]
pub(crate) struct Folder {
    /// The folder of the corpus
    #[arg(long = "corpus", value_name = "DIR", default_value = corpus::FOLDER)]
    pub(crate) path: PathBuf,
}

impl Folder {
    /// Runs all entries again.
    fn judge(&self, timeout: Option<Duration>) -> Result<Vec<Judged>> {
        let jobs = available_parallelism().map_or(1, usize::from);
        let patience = || -> Box<dyn FnMut() -> bool> { Box::new(clock::over(timeout)) };
        let judged = corpus::judge(&self.path, &registry::find, jobs, &patience)?;
        if judged.is_empty() {
            out::log(format_args!("no entry in {}", self.path.display()));
        }
        Ok(judged)
    }
}

pub(crate) fn corpus(args: &Args) -> Result<Exit> {
    match &args.command {
        Command::Run { folder, timeout, output } => run(folder, *timeout, output),
        Command::Add { files, folder, automatic, json } => add(files, folder, automatic, *json),
        Command::List { folder, json } => list(folder, *json),
        Command::Prune { folder, dry_run, json } => prune(folder, *dry_run, *json),
    }
}

fn run(folder: &Folder, timeout: Option<Duration>, output: &Output) -> Result<Exit> {
    output.check()?;
    let clock = Stopwatch::start();
    let judged = folder.judge(timeout)?;
    let width = judged.iter().map(|entry| entry.name().len()).max().unwrap_or(0);
    for entry in &judged {
        let Judged { path, standing, why, shown, .. } = entry;
        let name = entry.name();
        if output.json() {
            let violation = shown.as_ref().map(|shown| &shown.violation);
            let line = json!({
                "name": name, "file": path, "standing": standing, "why": why, "violation": violation,
            });
            out::json("entry", line)?;
        } else {
            out::hung(format_args!("{name:width$}  {:7}  ", standing.name()), first_line(why))?;
        }
    }
    let count = |standing| judged.iter().filter(|entry| entry.standing == standing).count();
    let counts = Standing::ALL.map(|standing| (standing, count(standing)));
    let named = counts.iter().filter(|(_, count)| *count > 0);
    let word = |standing: &Standing, count| match standing {
        Standing::Fails if count > 1 => "fail",
        standing => standing.name(),
    };
    let named: Vec<_> =
        named.map(|(standing, count)| format!("{count} {}", word(standing, *count))).collect();
    let entries = judged.len();
    let summary =
        format!("{entries} {}: {}", if entries == 1 { "entry" } else { "entries" }, named.join(", "));
    if output.json() {
        let counts: serde_json::Map<_, _> =
            counts.iter().map(|(standing, count)| (standing.name().to_owned(), json!(count))).collect();
        out::json("corpus", json!({ "entries": judged.len(), "standing": counts }))?;
    } else if !judged.is_empty() {
        out::line(&summary)?;
    }
    if count(Standing::Fixed) + count(Standing::Stale) + count(Standing::Changed) > 0 {
        out::log(format_args!(
            "`{} corpus prune` removes entries that are fixed or stale and updates those that have changed",
            again::program()
        ));
    }
    let cases = Cases {
        suite: "corpus".to_owned(),
        cases: judged.iter().map(case).collect(),
        clean: summary,
        seconds: clock.seconds(),
    };
    output.report(&cases)?;
    Ok(if judged.is_empty() { Exit::NothingRan } else { cases.exit() })
}

/// An entry as a case, of its protocol.
fn case(entry: &Judged) -> Case {
    let class = entry.scenario.as_ref().map_or("foreign", |(entry, _)| entry.name).to_owned();
    let Judged { path, standing, why, .. } = entry;
    let verdict = match standing {
        Standing::Fixed | Standing::Outside => Verdict::Passed,
        Standing::Fails => Verdict::Failed(format!("{why}\n{} replay {}", again::program(), path.display())),
        Standing::Changed | Standing::Stale | Standing::Slow | Standing::Foreign => {
            Verdict::Broken(format!("{}: {why}", standing.name()))
        }
    };
    Case { class, name: entry.name(), verdict }
}

fn add(names: &[String], folder: &Folder, automatic: &Automatic, json: bool) -> Result<Exit> {
    // All mistakes show before anything is written.
    let read = |name: &String| {
        let Named { scenario, file, bug, .. } = named::read(name)?;
        let notes = if bug.is_some() { Vec::new() } else { corpus::notes(&files::text(Path::new(name))?) };
        let name = || file.clone();
        let entry = registry::protocol(&scenario.protocol.name).with_context(name)?;
        let shown = Shown::of(entry, &scenario).with_context(name)?;
        let shown = shown.ok_or(corpus::CorpusError::Holds).with_context(name)?;
        Ok((entry, scenario, shown, notes))
    };
    let read = names.iter().map(read).collect::<Result<Vec<_>>>()?;
    let stop = Stop::on_interrupt()?;
    for (name, (entry, scenario, shown, mut notes)) in names.iter().zip(read) {
        let bare = Scenario { tests: Vec::new(), bug: None, ..scenario.clone() };
        let budget = automatic.budget().filter(|_| !stop.interrupted());
        let shrunk = budget.and_then(|time| {
            let (violation, fingerprint) = (&shown.violation, shown.outcome.fingerprint);
            shrink::found(entry, &bare, violation, fingerprint, &[], &stop.next_within(time))
        });
        let (small, report) = match shrunk {
            Some((shrunk, report)) => {
                notes.push(format!("shrunk from {name}"));
                (shrunk.scenario, Some(report))
            }
            None => (bare, None),
        };
        let small = Scenario { tests: scenario.tests, ..small };
        let Filed { path: file, how } = corpus::save(&folder.path, entry, &small, &notes)?;
        if json {
            out::json("added", json!({ "file": name, "entry": file, "how": how, "shrunk": report }))?;
            continue;
        }
        let how = match how {
            How::Added => "added as",
            How::Replaced => "replaces a larger entry,",
            How::Known => "already in the corpus, and no smaller:",
        };
        out::line(format_args!("{name}: {how} {}", file.display()))?;
        report.map_or(Ok(()), |report| row("shrunk", report))?;
    }
    if stop.interrupted() {
        out::log("interrupted: later files were added without shrinking");
        return Ok(Exit::Interrupted);
    }
    Ok(Exit::Clean)
}

fn list(folder: &Folder, json: bool) -> Result<Exit> {
    let rows = Rows::embedded();
    let mut table = vec![["name", "protocol", "property", "known bug", "size"].map(str::to_owned)];
    for judged in folder.judge(None)? {
        let name = judged.name();
        let none = || "-".to_owned();
        let (Some((entry, scenario)), Some(shown)) = (&judged.scenario, &judged.shown) else {
            let standing = judged.standing.name();
            if json {
                out::json("entry", json!({ "name": name, "file": judged.path, "standing": standing }))?;
            }
            let scenario = judged.scenario.as_ref().map(|(_, scenario)| scenario);
            let protocol = scenario.map_or_else(none, |scenario| scenario.protocol.name.clone());
            let property = scenario.and_then(|scenario| scenario.expect.as_ref()?.property.clone());
            table.push([name, protocol, property.unwrap_or_else(none), standing.to_owned(), none()]);
            continue;
        };
        let bug = rows.shown_by(entry, scenario, &shown.outcome, &shown.violation)?.map(|bug| bug.id);
        let size = Size::of(&Scenario { tests: Vec::new(), ..scenario.clone() }, &shown.violation);
        if json {
            let line = json!({
                "name": name, "file": judged.path, "standing": judged.standing, "protocol": entry.name,
                "property": shown.violation.property, "kind": shown.kind, "bug": bug, "size": size,
            });
            out::json("entry", line)?;
        }
        let property = shown.violation.property.to_string();
        table.push([name, entry.name.to_owned(), property, bug.unwrap_or_else(none), in_words(size)]);
    }
    if json || table.len() == 1 {
        return Ok(Exit::Clean);
    }
    let rows: Vec<Vec<&str>> = table.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
    out::table(&rows)?;
    Ok(Exit::Clean)
}

fn in_words(size: Size) -> String {
    let Size { faults, actions, requests, lines, .. } = size;
    let counts = [(faults, "fault"), (actions, "step"), (requests as usize, "request"), (lines, "line")];
    let words = counts.into_iter().filter(|(count, _)| *count > 0);
    let words = words.map(|(count, what)| counted(count as u64, what));
    words.collect::<Vec<_>>().join(", ")
}

fn prune(folder: &Folder, dry_run: bool, json: bool) -> Result<Exit> {
    let judged = folder.judge(None)?;
    let changes = corpus::prune(&folder.path, &judged, dry_run)?;
    for Change { path, what, why } in &changes {
        if json {
            let line = json!({ "file": path, "what": what, "why": why, "dry-run": dry_run });
            out::json("change", line)?;
            continue;
        }
        let what = match what {
            What::Removed => "removed",
            What::Merged => "merged",
            What::Renamed => "renamed",
            What::Renewed => "updated",
        };
        let would = if dry_run { "would be " } else { "" };
        out::line(format_args!("{}: {would}{what}: {}", path.display(), first_line(why)))?;
    }
    for entry in judged.iter().filter(|entry| entry.standing == Standing::Foreign) {
        out::log(format_args!("left: {}", first_line(&entry.why)));
    }
    let gone = |change: &&Change| matches!(change.what, What::Removed | What::Merged);
    let left = judged.len() - changes.iter().filter(gone).count();
    match json {
        true => out::json("corpus", json!({ "entries": judged.len(), "left": left, "dry-run": dry_run }))?,
        false => out::line(format_args!(
            "{left} of {} left",
            if judged.len() == 1 { "1 entry".to_owned() } else { format!("{} entries", judged.len()) }
        ))?,
    }
    Ok(Exit::Clean)
}

/// What a message says first: an error in a file may go on with a picture of the line.
fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
