//! What became of the entries of a corpus since they were saved.

use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use turncoat_core::outcome::{End, Outcome};
use turncoat_core::runner::Entry;
use turncoat_core::scenario::Scenario;

use super::{CorpusError, Shown, entries, expected};
use crate::files;
use crate::suite::Find;

/// How a run differs from the one that was saved.
pub fn differences(scenario: &Scenario, outcome: &Outcome) -> Vec<String> {
    let mut differs = Vec::new();
    if let Some(step) = outcome.diverged {
        let action = scenario.scheduler.script.get(step as usize);
        let action = action.map(|action| format!(" (`{action}`)")).unwrap_or_default();
        differs.push(format!("step {} of the script{action} could not be carried out", step + 1));
    }
    let Some(expect) = &scenario.expect else { return differs };
    if let Some(name) = &expect.property
        && !outcome.violations.iter().any(|found| found.property.name() == name)
    {
        differs.push(format!("{name} was violated when the file was saved, but no longer is"));
    }
    if expect.fingerprint.0 != outcome.fingerprint {
        differs.push(format!(
            "the fingerprint was {} when the file was saved, and is {:#018x} now",
            expect.fingerprint, outcome.fingerprint
        ));
    }
    differs
}

/// What became of an entry since it was saved.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It violates what it did, in the same run.
    Fails,
    /// So it does, but only after the run has broken an assumption of the protocol.
    Outside,
    /// It violates something, but is not the run that was saved.
    Changed,
    /// It violates nothing any more.
    Fixed,
    /// It does not run any more, or a step of its script cannot be carried out.
    Stale,
    /// It was stopped before its end: its time was over.
    Slow,
    /// It is no scenario, or one of a protocol that nobody here knows.
    Foreign,
}

impl Standing {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Fails, Self::Outside, Self::Changed, Self::Fixed, Self::Stale, Self::Slow, Self::Foreign];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fails => "fails",
            Self::Outside => "outside",
            Self::Changed => "changed",
            Self::Fixed => "fixed",
            Self::Stale => "stale",
            Self::Slow => "slow",
            Self::Foreign => "foreign",
        }
    }
}

/// An entry that was run again.
pub struct Judged {
    /// Its file.
    pub path: PathBuf,
    /// The protocol, and what the file says, unless it is foreign.
    pub scenario: Option<(Entry, Scenario)>,
    /// What became of it.
    pub standing: Standing,
    /// Why, in words.
    pub why: String,
    /// What it shows now.
    pub shown: Option<Shown>,
}

impl Judged {
    fn foreign(path: &Path, why: &str) -> Self {
        let (path, why) = (path.to_owned(), why.to_owned());
        Self { path, scenario: None, standing: Standing::Foreign, why, shown: None }
    }

    /// The name of its file, without the ending.
    pub fn name(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// Starts to measure the time of a run, and says whether it is over.
pub type Patience<'a> = dyn Fn() -> Box<dyn FnMut() -> bool> + Sync + 'a;

/// Runs all entries again, on so many threads; they come in the order of their names.
pub fn judge(
    folder: &Path,
    find: &Find<'_>,
    jobs: usize,
    patience: &Patience<'_>,
) -> Result<Vec<Judged>, CorpusError> {
    let read = |path: PathBuf| {
        let scenario = files::read(&path).map_err(|error| error.to_string());
        let known = scenario.and_then(|scenario| match find(&scenario.protocol.name) {
            Ok(entry) => Ok((entry, scenario)),
            Err(error) => Err(format!("{}: {error}", path.display())),
        });
        (path, known)
    };
    let read: Vec<_> = entries(folder)?.into_iter().map(read).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut judged = Vec::new();
        while let Some((path, known)) = read.get(next.fetch_add(1, Ordering::Relaxed)) {
            judged.push(match known {
                Ok((entry, scenario)) => run_again(path, entry, scenario.clone(), &mut *patience()),
                Err(why) => Judged::foreign(path, why),
            });
        }
        judged
    };
    let mut judged: Vec<Judged> = thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.clamp(1, read.len().max(1))).map(|_| scope.spawn(work)).collect();
        let join =
            |worker: thread::ScopedJoinHandle<'_, _>| worker.join().unwrap_or_else(|p| resume_unwind(p));
        workers.into_iter().flat_map(join).collect()
    });
    judged.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(judged)
}

/// Runs an entry again, until its time is over.
pub fn run_again(path: &Path, entry: &Entry, scenario: Scenario, over: &mut dyn FnMut() -> bool) -> Judged {
    let outcome = entry.runner().watch(&scenario, &mut |_| over());
    let (standing, why, shown) = match outcome {
        Err(error) => (Standing::Stale, format!("no longer runs: {error}"), None),
        Ok(outcome) if outcome.end == End::Stopped => {
            (Standing::Slow, format!("out of time: stopped at step {}", outcome.steps), None)
        }
        Ok(outcome) => {
            let (differs, impossible) = (differences(&scenario, &outcome), outcome.diverged.is_some());
            match Shown::new(entry, &scenario, outcome) {
                None if impossible => (Standing::Stale, format!("no longer runs: {}", differs[0]), None),
                None => {
                    let what = expected(&scenario).unwrap_or("anything");
                    (Standing::Fixed, format!("no longer violates {what}"), None)
                }
                Some(shown) if differs.is_empty() => {
                    let inside = shown.violation.inside();
                    let standing = if inside { Standing::Fails } else { Standing::Outside };
                    (standing, shown.violation.to_string(), Some(shown))
                }
                Some(shown) => {
                    let why = format!("{}; {}", shown.violation, differs.join("; "));
                    (Standing::Changed, why, Some(shown))
                }
            }
        }
    };
    Judged { path: path.to_owned(), scenario: Some((entry.clone(), scenario)), standing, why, shown }
}
