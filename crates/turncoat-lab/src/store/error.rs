//! What can be wrong with a store, in words that say what to do.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// A store that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot {doing} {}: {reason}", path.display())]
pub struct StoreError {
    path: PathBuf,
    doing: &'static str,
    reason: String,
}

/// What somebody was about to do with which file.
#[derive(Clone, Copy)]
pub(super) struct Trouble<'a> {
    pub(super) path: &'a Path,
    pub(super) doing: &'static str,
}

impl Trouble<'_> {
    pub(super) fn because(self, reason: &str) -> StoreError {
        StoreError { path: self.path.to_owned(), doing: self.doing, reason: reason.to_owned() }
    }

    pub(super) fn with(self, error: &rusqlite::Error) -> StoreError {
        if self.path.is_dir() {
            return self.because("it is a folder: give a file");
        }
        let reason = match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                "another process is using it. Wait for it to end, or give another file"
            }
            Some(ErrorCode::NotADatabase) => {
                "it is not a database, so turncoat did not write it. Give another file"
            }
            Some(ErrorCode::DatabaseCorrupt) => {
                "it is damaged: cut off, or overwritten. What is left can be saved with `sqlite3 FILE .recover`"
            }
            Some(ErrorCode::DiskFull) => {
                "the disk is full. What was stored before is safe: make room, and go on with --resume"
            }
            Some(ErrorCode::ReadOnly) => "the file, or its folder, is read-only",
            Some(ErrorCode::CannotOpen) => {
                "no such file, or its folder does not exist or may not be written to"
            }
            _ => return self.because(&error.to_string()),
        };
        self.because(reason)
    }
}
