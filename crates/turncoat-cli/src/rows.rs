//! The rows of the suite: those that come with the command, and those of a folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{LazyLock, OnceLock};

use anyhow::{Context, Result, anyhow};
use rust_embed::Embed;
use turncoat_core::outcome::{Outcome, Violation};
use turncoat_core::runner::Entry;
use turncoat_core::scenario::Scenario;
use turncoat_lab::suite::Bug;
use turncoat_lab::suspects::{Suspects, is_known};

use crate::{again, files, registry};

/// The files of the suite: an installed command has no repository.
#[derive(Embed)]
#[folder = "suite"]
struct Suite;

/// Rows by id.
pub(crate) struct Rows {
    /// Where they are from.
    folder: String,
    /// What shows all ids.
    see: String,
    rows: BTreeMap<String, Row>,
}

/// A row, which is read when it is asked for.
struct Row {
    text: String,
    read: OnceLock<Bug>,
}

impl Row {
    const fn new(text: String) -> Self {
        Self { text, read: OnceLock::new() }
    }
}

static EMBEDDED: LazyLock<Rows> = LazyLock::new(|| {
    let row = |path: &str| {
        let file = Suite::get(path)?;
        let text = String::from_utf8_lossy(&file.data).into_owned();
        Some((path.strip_suffix(".toml")?.to_owned(), Row::new(text)))
    };
    let rows = Suite::iter().filter_map(|path| row(&path)).collect();
    Rows { folder: "suite".to_owned(), see: format!("`{} list bugs`", again::program()), rows }
});

impl Rows {
    /// Those that come with the command.
    pub(crate) fn embedded() -> &'static Self {
        &EMBEDDED
    }

    /// Those of a folder.
    pub(crate) fn of(folder: &Path) -> Result<Self> {
        let mut rows = BTreeMap::new();
        collect(folder, "", &mut rows)?;
        let folder = folder.display().to_string();
        Ok(Self { see: format!("the folder {folder}"), folder, rows })
    }

    /// The rows with these ids, of which the first part alone means all that begin with it; all rows if there are none.
    pub(crate) fn bugs(&self, ids: &[String]) -> Result<Vec<Bug>> {
        if ids.is_empty() {
            return self.rows.keys().map(|id| self.bug(id)).collect();
        }
        let wanted = |name: &String| {
            let below: Vec<String> =
                self.rows.keys().filter(|id| id.split('/').next() == Some(name)).cloned().collect();
            if below.is_empty() { vec![name.clone()] } else { below }
        };
        ids.iter().flat_map(wanted).map(|id| self.bug(&id)).collect()
    }

    /// Those that a protocol has, in scenarios like `base`.
    pub(crate) fn of_protocol(&self, entry: &Entry, base: &Scenario) -> Result<Vec<Bug>> {
        let has = |bug: &Bug| {
            let row = registry::protocol(&bug.witness.protocol.name);
            row.is_ok_and(|row| bug.is_of(row, entry, base))
        };
        Ok(self.bugs(&[])?.into_iter().filter(has).collect())
    }

    /// Those that may be behind violations of a campaign.
    pub(crate) fn suspects(&self, entry: &Entry, base: &Scenario) -> Result<Suspects> {
        Ok(Suspects::new(entry, base, &self.bugs(&[])?, &registry::find))
    }

    /// The bug that a violation of a run shows, if it is known: the one whose flags alone still lead to it.
    pub(crate) fn shown_by(
        &self,
        entry: &Entry,
        scenario: &Scenario,
        outcome: &Outcome,
        violation: &Violation,
    ) -> Result<Option<Bug>> {
        let names = self.suspects(entry, scenario)?.name(scenario, outcome, &mut *entry.runner())?;
        let place = outcome.violations.iter().position(|other| other == violation);
        let name = place.and_then(|place| names.get(place)).filter(|name| is_known(name));
        name.map(|id| self.bug(id)).transpose()
    }

    /// The row with this id.
    pub(crate) fn bug(&self, id: &str) -> Result<Bug> {
        let row = self.rows.get(id).ok_or_else(|| self.unknown(id))?;
        if let Some(bug) = row.read.get() {
            return Ok(bug.clone());
        }
        let bug = Bug::parse(id, &row.text).map_err(|error| anyhow!("{}: {error}", self.file(id)))?;
        Ok(row.read.get_or_init(|| bug).clone())
    }

    /// The file of a row.
    pub(crate) fn file(&self, id: &str) -> String {
        format!("{}/{id}.toml", self.folder)
    }

    /// The error for an id that no row has. There are too many to list them.
    fn unknown(&self, id: &str) -> anyhow::Error {
        let known: Vec<&str> = self.rows.keys().map(String::as_str).collect();
        // The name without its protocol.
        let named = known.iter().copied().find(|known| known.ends_with(&format!("/{}", id.to_lowercase())));
        match named.or_else(|| registry::nearest(id, &known)) {
            Some(nearest) => anyhow!("no bug `{id}`: did you mean `{nearest}`? {} shows all", self.see),
            None => anyhow!("no bug `{id}`: {} shows all", self.see),
        }
    }
}

/// Adds the rows below a folder, whose ids start with `prefix`.
fn collect(folder: &Path, prefix: &str, rows: &mut BTreeMap<String, Row>) -> Result<()> {
    let unreadable = || format!("cannot read {}", folder.display());
    for entry in fs::read_dir(folder).with_context(unreadable)? {
        let entry = entry.with_context(unreadable)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type().with_context(unreadable)?.is_dir() {
            collect(&entry.path(), &format!("{prefix}{name}/"), rows)?;
        } else if let Some(name) = name.strip_suffix(".toml") {
            rows.insert(format!("{prefix}{name}"), Row::new(files::text(&entry.path())?));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Rows;
    use crate::registry;

    /// A variant has its bugs without naming a flag: what its witness shows is put down to the row all the same.
    #[test]
    fn violations_of_a_variant_match_the_bugs_of_that_variant() {
        let rows = Rows::embedded();
        let variants = ["fast-hotstuff/no-consecutive-views", "tendermint/no-retransmit"];
        for id in variants {
            let bug = rows.bug(id).expect("a row");
            let entry = registry::protocol(&bug.witness.protocol.name).expect("its protocol");
            let outcome = entry.runner().execute(&bug.witness).expect("its witness");
            let shows = |property| {
                let violation = outcome.violations.iter().find(|found| found.property == property)?;
                rows.shown_by(entry, &bug.witness, &outcome, violation).expect("a name")
            };
            assert_eq!(shows(bug.facts.property).map(|bug| bug.id).as_deref(), Some(id));
        }
    }
}
