//! `turncoat corpus`: the folder of what was found, run again and kept in order.

use std::path::PathBuf;
use std::thread::available_parallelism;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Subcommand;
use serde_json::json;
use turncoat_core::scenario::Scenario;
use turncoat_lab::corpus::{self, Change, Filed, How, Judged, Shown, Standing, What};
use turncoat_lab::shrink::Size;

use crate::cases::{Case, Cases, Verdict};
use crate::clock::Stopwatch;
use crate::commands::shrink::{self, Automatic};
use crate::exit::Exit;
use crate::output::Output;
use crate::rows::Rows;
use crate::stop::Stop;
use crate::{again, clock, files, out, registry};

const NOTES: &str = "\
An entry is a scenario that violates something, a file named by what it shows: of two that show the same the smaller
is kept. `turncoat fuzz` and tests save entries, `turncoat corpus add` takes any file.

Example: turncoat corpus run
         turncoat corpus add attack.toml";

const RUN_NOTES: &str = "\
  fails    it violates what it did when it was saved, in the same run
  changed  it violates something, but is not the run that was saved
  fixed    it violates nothing any more
  stale    it does not run any more: a flag or a lie has another name now
  slow     it was stopped before its end, because of --timeout
  foreign  it is no scenario, or one of a protocol that this program does not know

Exits with 1 if an entry fails, with 3 if one is changed, stale, slow or foreign, and with 0 if all are fixed.

Example: turncoat corpus run --junit corpus.xml";

const PRUNE_NOTES: &str = "\
Removes what is fixed or stale, writes down anew what has changed, and gives every entry the name of what it shows: of
two that show the same the smaller is kept. Foreign files stay.

Example: turncoat corpus prune --dry-run";

/// Keep what was found: run it again, add to it, clean up
#[derive(clap::Args)]
#[command(after_help = NOTES, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run all entries again, and say which still fail
    #[command(after_help = RUN_NOTES)]
    Run {
        #[command(flatten)]
        folder: Folder,
        /// Stop each run after this time: 500ms, 10s, 5m
        #[arg(long, value_name = "DURATION", value_parser = clock::duration)]
        timeout: Option<Duration>,
        #[command(flatten)]
        output: Output,
    },
    /// Shrink scenarios, and file them under what they show
    #[command(after_help = "Example: turncoat corpus add attack.toml")]
    Add {
        /// Scenarios that violate a property
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
        #[command(flatten)]
        folder: Folder,
        #[command(flatten)]
        automatic: Automatic,
        /// JSON lines, one for each file
        #[arg(long)]
        json: bool,
    },
    /// Show the entries: what each violates, the known bug that it looks like, its size
    #[command(after_help = "Example: turncoat corpus list")]
    List {
        #[command(flatten)]
        folder: Folder,
        /// JSON lines, one for each entry
        #[arg(long)]
        json: bool,
    },
    /// Remove what is fixed or stale, and merge what shows the same
    #[command(after_help = PRUNE_NOTES)]
    Prune {
        #[command(flatten)]
        folder: Folder,
        /// Say what would be done, and do nothing
        #[arg(long)]
        dry_run: bool,
        /// JSON lines, one for each change
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
        let judged = corpus::judge(&self.path, &|name| Ok(registry::protocol(name)?), jobs, &patience)?;
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
            out::line(format_args!("{name:width$}  {:7}  {}", standing.name(), first_line(why)))?;
        }
    }
    let count = |standing| judged.iter().filter(|entry| entry.standing == standing).count();
    let counts = Standing::ALL.map(|standing| (standing, count(standing)));
    let named = counts.iter().filter(|(_, count)| *count > 0);
    let named: Vec<_> = named.map(|(standing, count)| format!("{count} {}", standing.name())).collect();
    let summary = format!("{} entries: {}", judged.len(), named.join(", "));
    if output.json() {
        let counts: serde_json::Map<_, _> =
            counts.iter().map(|(standing, count)| (standing.name().to_owned(), json!(count))).collect();
        out::json("corpus", json!({ "entries": judged.len(), "standing": counts }))?;
    } else if !judged.is_empty() {
        out::line(&summary)?;
    }
    if count(Standing::Fixed) + count(Standing::Stale) + count(Standing::Changed) > 0 {
        out::log(format_args!(
            "`{} corpus prune` removes what is fixed or stale, and writes down anew what has changed",
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

fn add(paths: &[PathBuf], folder: &Folder, automatic: &Automatic, json: bool) -> Result<Exit> {
    // All mistakes show before anything is written.
    let read = |path: &PathBuf| {
        let scenario = files::read(path)?;
        let name = || path.display().to_string();
        let entry = registry::protocol(&scenario.protocol.name).with_context(name)?;
        let shown = Shown::of(&entry, &scenario).with_context(name)?;
        let shown = shown.ok_or(corpus::CorpusError::Holds).with_context(name)?;
        Ok((entry, scenario, shown))
    };
    let read = paths.iter().map(read).collect::<Result<Vec<_>>>()?;
    let stop = Stop::on_interrupt()?;
    for (path, (entry, scenario, shown)) in paths.iter().zip(read) {
        let mut notes = corpus::notes(&files::text(path)?);
        let bare = Scenario { tests: Vec::new(), bug: None, ..scenario.clone() };
        let budget = automatic.budget().filter(|_| !stop.interrupted());
        let shrunk = budget.and_then(|time| {
            let (violation, fingerprint) = (&shown.violation, shown.outcome.fingerprint);
            shrink::found(&entry, &bare, violation, fingerprint, &[], &stop.next_within(time))
        });
        let (small, report) = match shrunk {
            Some((shrunk, report)) => {
                notes.push(format!("shrunk from {}", path.display()));
                (shrunk.scenario, Some(report))
            }
            None => (bare, None),
        };
        let small = Scenario { tests: scenario.tests, ..small };
        let Filed { path: file, how } = corpus::save(&folder.path, &entry, &small, &notes)?;
        if json {
            out::json("added", json!({ "file": path, "entry": file, "how": how, "shrunk": report }))?;
            continue;
        }
        let how = match how {
            How::Added => "added as",
            How::Replaced => "takes the place of a larger one, as",
            How::Known => "shows the same as one that is no larger,",
        };
        out::line(format_args!("{}: {how} {}", path.display(), file.display()))?;
        report.map_or(Ok(()), |report| out::line(format_args!("  {report}")))?;
    }
    Ok(if stop.interrupted() { Exit::Interrupted } else { Exit::Clean })
}

fn list(folder: &Folder, json: bool) -> Result<Exit> {
    let rows = Rows::embedded();
    let mut table = vec![["name", "protocol", "property", "looks like", "size"].map(str::to_owned)];
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
    let width = |column: usize| table.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3].map(width);
    for [name, protocol, property, bug, size] in &table {
        let [a, b, c, d] = widths;
        out::line(format_args!("{name:a$}  {protocol:b$}  {property:c$}  {bug:d$}  {size}"))?;
    }
    Ok(Exit::Clean)
}

fn in_words(size: Size) -> String {
    let Size { faults, actions, requests, lines, .. } = size;
    let counts = [(faults, "fault"), (actions, "step"), (requests as usize, "request"), (lines, "line")];
    let words = counts.into_iter().filter(|(count, _)| *count > 0);
    let words = words.map(|(count, what)| format!("{count} {what}{}", if count == 1 { "" } else { "s" }));
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
            What::Renewed => "renewed",
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
        false => out::line(format_args!("{left} of {} entries left", judged.len()))?,
    }
    Ok(Exit::Clean)
}

/// What a message says first: an error in a file may go on with a picture of the line.
fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
