//! A scenario that somebody names: a file, or a known bug by its id.

use std::path::Path;

use anyhow::{Result, anyhow};
use clap::{ArgGroup, ValueHint};
use turncoat_core::scenario::Scenario;
use turncoat_lab::suite::Bug;

use crate::files;
use crate::rows::Rows;

/// The option of commands about one scenario.
#[derive(clap::Args)]
#[command(group = ArgGroup::new("scenario").args(["file", "bug"]).required(true))]
pub(crate) struct Subject {
    /// A scenario file, or a known bug from `turncoat list bugs`
    #[arg(value_name = "FILE|BUG", value_hint = ValueHint::FilePath)]
    file: Option<String>,

    /// A known bug; the same as naming it in the place of FILE
    #[arg(long, value_name = "ID")]
    bug: Option<String>,
}

/// What was named.
pub(crate) struct Named {
    pub(crate) scenario: Scenario,
    /// What to call it in an error.
    pub(crate) file: String,
    /// What to type to name it again.
    pub(crate) words: String,
    /// The known bug that it is.
    pub(crate) bug: Option<Bug>,
}

impl Subject {
    /// Reads it.
    pub(crate) fn read(&self) -> Result<Named> {
        match (&self.bug, &self.file) {
            (Some(id), _) => known(id),
            (None, file) => read(file.as_deref().unwrap_or_default()),
        }
    }
}

/// Reads a file, or the witness of a known bug where there is no such file.
pub(crate) fn read(what: &str) -> Result<Named> {
    let path = Path::new(what);
    if !path.exists() && !what.ends_with(".toml") {
        return known(what).map_err(|error| anyhow!("no file `{what}`, and {error}"));
    }
    let scenario = files::read(path)?;
    Ok(Named { scenario, file: what.to_owned(), words: what.to_owned(), bug: None })
}

/// The witness of a known bug.
fn known(id: &str) -> Result<Named> {
    let rows = Rows::embedded();
    let bug = rows.bug(id)?;
    Ok(Named { scenario: bug.witness.clone(), file: rows.file(id), words: id.to_owned(), bug: Some(bug) })
}
