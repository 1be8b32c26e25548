//! Scenario files: read with errors that name the file, written whole or not at all.

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::path::Path;

use turncoat_core::outcome::Violation;
use turncoat_core::scenario::{Expect, Scenario, Seed};

/// The longest scenario, in bytes.
const LONGEST: u64 = 16 << 20;

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
    text_up_to(path, LONGEST)
}

/// Reads the text of a file that has at most so many bytes.
pub(crate) fn text_up_to(path: &Path, most: u64) -> Result<String, FileError> {
    let (name, cannot) = (path.display(), |error| FileError::cannot("read", path, &error));
    let kind = fs::metadata(path).map_err(cannot)?.file_type();
    if kind.is_dir() {
        return Err(FileError(format!("{name} is a folder: give a file")));
    }
    // Whoever reads a pipe or a device may wait or read forever.
    if !kind.is_file() {
        return Err(FileError(format!("{name} is a pipe or a device: give a file")));
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes)).map_err(cannot)?;
    if bytes.len() as u64 > most {
        return Err(FileError(format!("{name} is too large: at most {} MiB", most >> 20)));
    }
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

/// Under a temporary name first: whoever reads `path` sees all of it or nothing. What writers that were killed have left
/// in the folder is removed. A pipe or a device such as `/dev/null` is written to and not replaced, nor is a link.
pub fn write_whole(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    if path.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        return File::options().write(true).open(path)?.write_all(bytes.as_ref());
    }
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    sweep(path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")));
    let mut name = path.file_name().unwrap_or_default().to_owned();
    // In a folder that many machines share, process ids are no names.
    name.push(format!(".{:016x}.tmp", RandomState::new().hash_one(path)));
    let temporary = path.with_file_name(name);
    let write = || {
        let mut file = File::create_new(&temporary)?;
        // Says that somebody still writes it. A file system without locks has to do without the sweeping.
        let _ = file.try_lock();
        file.write_all(bytes.as_ref())?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    };
    let mut written = write();
    // Somebody swept before it was locked.
    if matches!(&written, Err(error) if error.kind() == io::ErrorKind::NotFound) {
        written = write();
    }
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Removes temporary files that nobody writes any more. If that fails, they stay.
fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if is_temporary(&path)
            && entry.file_type().is_ok_and(|kind| kind.is_file())
            && File::open(&path).is_ok_and(|file| file.try_lock().is_ok())
        {
            let _ = fs::remove_file(&path);
        }
    }
}

/// Whether a file has a name of [`write_whole`]: `NAME.0123456789abcdef.tmp`.
fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let number = name.strip_suffix(".tmp").and_then(|rest| rest.rsplit_once('.')).map(|(_, number)| number);
    number.is_some_and(|number| number.len() == 16 && number.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// A writer was killed, another one is at work, and somebody has files with names of their own.
    #[test]
    fn what_a_killed_writer_left_is_removed_by_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a.toml.0123456789abcdef.tmp"), "half").unwrap();
        fs::write(path("notes.tmp"), "mine").unwrap();
        let busy = File::create_new(path("b.toml.fedcba9876543210.tmp")).unwrap();
        busy.lock().unwrap();
        write_whole(&path("c.toml"), "whole").unwrap();
        assert_eq!(names(folder.path()), ["b.toml.fedcba9876543210.tmp", "c.toml", "notes.tmp"]);
        // A process that another test is starting may hold a copy of the file for a moment, and with it the lock.
        busy.unlock().unwrap();
        write_whole(&path("c.toml"), "whole").unwrap();
        assert_eq!(names(folder.path()), ["c.toml", "notes.tmp"]);
    }

    #[test]
    fn a_device_and_a_link_stay_what_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let (null, link, file) =
            (folder.path().join("null"), folder.path().join("link"), folder.path().join("file"));
        std::os::unix::fs::symlink("/dev/null", &null).unwrap();
        write_whole(&null, "gone").unwrap();
        assert!(null.is_symlink() && !null.is_file(), "it is still the device");
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write_whole(&link, "new").unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    }

    #[test]
    fn a_file_that_never_ends_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (long, text) =
            (folder.path().join("long.toml"), |path: &Path| text(path).unwrap_err().to_string());
        File::create_new(&long).unwrap().set_len(LONGEST + 1).unwrap();
        assert!(text(&long).contains("too large: at most 16 MiB"), "{}", text(&long));
        let pipe = folder.path().join("pipe.toml");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert!(text(&pipe).contains("pipe or a device: give a file"), "{}", text(&pipe));
        let link = folder.path().join("link.toml");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        assert!(text(&link).contains("pipe or a device: give a file"), "{}", text(&link));
    }
}
