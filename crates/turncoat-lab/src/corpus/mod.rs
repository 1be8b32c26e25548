//! The corpus: scenarios that violate something, each a file in one folder, named by what it shows.
//!
//! Violations of one [kind](crate::signature) in one protocol, with the same flags, have one name, and the smallest
//! scenario of a name is kept. So a folder of thousands of finds stays a list of bugs. An entry is judged by running it:
//! what it showed when it was saved is in the file.

mod judge;
mod prune;

pub use judge::{Judged, Patience, Standing, differences, judge, run_again};
pub use prune::{Change, What, prune};

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::{fs, io};

use turncoat_core::hash::stable_hash;
use turncoat_core::outcome::{Outcome, Violation};
use turncoat_core::runner::Entry;
use turncoat_core::scenario::{Scenario, ScenarioError};

use crate::files::{self, FileError};
use crate::shrink::smaller;
use crate::signature::Traits;
use crate::suspects::flags;

/// The folder, in the current one or beside a crate's `Cargo.toml`.
pub const FOLDER: &str = "turncoat-corpus";

/// A corpus that cannot be read, or a scenario that cannot be in it.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// There is none.
    #[error(
        "no folder {}: `turncoat fuzz` saves there what it finds, and `turncoat corpus add FILE` a scenario that you have",
        .0.display()
    )]
    Missing(PathBuf),
    /// It cannot be read or made.
    #[error("cannot use the folder {}: {error}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// A file is in the way, or cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// It cannot run.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// It is no counterexample.
    #[error("it violates no property: a corpus is for scenarios that do")]
    Holds,
}

/// What a scenario shows.
#[derive(Clone, Debug)]
pub struct Shown {
    /// What it violates: the property that it expects, or the first.
    pub violation: Violation,
    /// Of what kind that is, in words.
    pub kind: String,
    /// The name of its entry.
    pub name: String,
    /// All that came out.
    pub outcome: Outcome,
}

impl Shown {
    /// Runs a scenario; nothing, if it violates nothing.
    pub fn of(entry: &Entry, scenario: &Scenario) -> Result<Option<Self>, ScenarioError> {
        Ok(Self::new(entry, scenario, entry.runner().execute(scenario)?))
    }

    fn new(entry: &Entry, scenario: &Scenario, outcome: Outcome) -> Option<Self> {
        let expected = expected(scenario);
        let is_expected = |found: &&Violation| expected == Some(found.property.name());
        let found = outcome.violations.iter().find(is_expected).or(outcome.violations.first());
        let violation = found?.clone();
        let kind = Traits::of(&violation, scenario, &outcome).words(&(entry.mutations)());
        let mut flags = flags(&scenario.protocol).unwrap_or_default();
        flags.sort();
        let hash = stable_hash(0xC0_4B05, &(flags, &kind)) >> 32;
        let name = format!("{}-{}-{hash:08x}", scenario.protocol.name, violation.property);
        Some(Self { violation, kind, name, outcome })
    }
}

/// The name of the property that a scenario violated when it was saved.
fn expected(scenario: &Scenario) -> Option<&str> {
    scenario.expect.as_ref()?.property.as_deref()
}

/// The files of a corpus, by name. Only `.toml` counts.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>, CorpusError> {
    let unusable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => CorpusError::Missing(folder.to_owned()),
        _ => CorpusError::Folder { folder: folder.to_owned(), error },
    };
    let files = fs::read_dir(folder).map_err(unusable)?.map(|file| Ok(file?.path()));
    let mut files = files.collect::<io::Result<Vec<PathBuf>>>().map_err(unusable)?;
    files.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    Ok(files)
}

/// The file of an entry.
fn entry_file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.toml"))
}

/// Where a scenario was filed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filed {
    /// The file.
    pub path: PathBuf,
    /// What became of it.
    pub how: How,
}

/// What became of a scenario that was filed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// Nothing had its name.
    Added,
    /// It has taken the place of a larger one, or of one that no longer shows this.
    Replaced,
    /// Another one shows the same and is no larger.
    Known,
}

/// Tests of one process save one after the other.
static SAVING: Mutex<()> = Mutex::new(());

/// Files a scenario under the name of what it shows, with comments above it. Of two with one name the smaller is kept,
/// for the tests of both.
pub fn save(
    folder: &Path,
    entry: &Entry,
    scenario: &Scenario,
    notes: &[String],
) -> Result<Filed, CorpusError> {
    let shown = Shown::of(entry, scenario)?.ok_or(CorpusError::Holds)?;
    let _alone = SAVING.lock().unwrap_or_else(PoisonError::into_inner);
    fs::create_dir_all(folder).map_err(|error| CorpusError::Folder { folder: folder.to_owned(), error })?;
    let path = entry_file(folder, &shown.name);
    let before = if path.exists() { Some(files::read(&path)?) } else { None };
    // It may be of an earlier version of the protocol, and show something else by now.
    let same = |before: Scenario| {
        let now = Shown::of(entry, &before).ok().flatten().filter(|now| now.name == shown.name);
        now.map(|now| (before, now))
    };
    let how = if before.is_some() { How::Replaced } else { How::Added };
    let Some((known, now)) = before.and_then(same) else {
        files::write(&path, notes, scenario, Some(&shown.violation), shown.outcome.fingerprint)?;
        return Ok(Filed { path, how });
    };
    let mut tests = [&known.tests[..], &scenario.tests].concat();
    tests.sort();
    tests.dedup();
    let (how, notes, kept, shown) = match smaller(scenario, &known) {
        true => (How::Replaced, notes.to_vec(), scenario, shown),
        false => (How::Known, self::notes(&files::text(&path)?), &known, now),
    };
    let kept = Scenario { tests, ..kept.clone() };
    let (violation, fingerprint) = (Some(&shown.violation), shown.outcome.fingerprint);
    if files::expecting(&kept, violation, fingerprint) != known {
        files::write(&path, &notes, &kept, violation, fingerprint)?;
    }
    Ok(Filed { path, how })
}

/// The comments at the top of a file, other than what it violates.
pub fn notes(text: &str) -> Vec<String> {
    let comments = text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim);
    let violated = |comment: &str| {
        [" violated at step ", " crashed at step "].iter().any(|words| comment.contains(words))
    };
    comments.filter(|comment| !violated(comment)).map(str::to_owned).collect()
}
