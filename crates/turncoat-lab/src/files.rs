//! Scenario files: read with errors that name the file, written whole or not at all.

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::Path;

use turncoat_core::outcome::Violation;
use turncoat_core::scenario::{Expect, Scenario, Seed};

/// A file that cannot be read or written, and why.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct FileError(String);

impl FileError {
    fn cannot(what: &str, path: &Path, error: &io::Error) -> Self {
        Self(format!("cannot {what} {}: {error}", path.display()))
    }
}

/// Reads a scenario.
pub fn read(path: &Path) -> Result<Scenario, FileError> {
    Scenario::parse(&text(path)?).map_err(|error| FileError(format!("{}: {error}", path.display())))
}

/// Reads the text of a file.
pub fn text(path: &Path) -> Result<String, FileError> {
    let name = path.display();
    if path.is_dir() {
        return Err(FileError(format!("{name} is a folder: give a file")));
    }
    let bytes = fs::read(path).map_err(|error| FileError::cannot("read", path, &error))?;
    String::from_utf8(bytes).map_err(|_| FileError(format!("{name} is not text")))
}

/// Writes a scenario with what it showed, for people above, for `replay` inside.
pub fn write(
    path: &Path,
    notes: &[String],
    scenario: &Scenario,
    violation: Option<&Violation>,
    fingerprint: u64,
) -> Result<(), FileError> {
    let scenario = expecting(scenario, violation, fingerprint);
    let mut text = String::new();
    let violation = violation.map(ToString::to_string).unwrap_or_default();
    for line in violation.lines().chain(notes.iter().map(String::as_str)) {
        // A message of a crash may hold anything; a comment may not.
        text.extend(["# ", &line.replace(|c: char| c.is_control(), " "), "\n"]);
    }
    text.push_str(&scenario.to_toml());
    write_whole(path, &text).map_err(|error| FileError::cannot("write", path, &error))
}

/// The scenario with what it showed.
pub fn expecting(scenario: &Scenario, violation: Option<&Violation>, fingerprint: u64) -> Scenario {
    let expect = Expect {
        property: violation.map(|violation| violation.property.name().to_owned()),
        fingerprint: Seed(fingerprint),
        lasso: None,
    };
    Scenario { expect: Some(expect), ..scenario.clone() }
}

/// Removes a file.
pub fn remove(path: &Path) -> Result<(), FileError> {
    fs::remove_file(path).map_err(|error| FileError::cannot("remove", path, &error))
}

/// Under a temporary name first: whoever reads `path` sees all of it or nothing.
pub fn write_whole(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    // In a folder that many machines share, process ids are no names.
    name.push(format!(".{:016x}.tmp", RandomState::new().hash_one(path)));
    let temporary = path.with_file_name(name);
    let write = || {
        let mut file = File::create_new(&temporary)?;
        file.write_all(bytes.as_ref())?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    };
    let written = write();
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}
