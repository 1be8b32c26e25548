//! The rows of the suite: those that come with the command, and those of a folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

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

/// The texts of rows by id; a row is read when it is asked for.
pub(crate) struct Rows {
    /// Where they are from.
    folder: String,
    /// What shows all ids.
    see: String,
    texts: BTreeMap<String, String>,
}

impl Rows {
    /// Those that come with the command.
    pub(crate) fn embedded() -> Self {
        let row = |path: &str| {
            let file = Suite::get(path)?;
            Some((path.strip_suffix(".toml")?.to_owned(), String::from_utf8_lossy(&file.data).into_owned()))
        };
        let texts = Suite::iter().filter_map(|path| row(&path)).collect();
        Self { folder: "suite".to_owned(), see: format!("`{} list bugs`", again::program()), texts }
    }

    /// Those of a folder.
    pub(crate) fn of(folder: &Path) -> Result<Self> {
        let mut texts = BTreeMap::new();
        collect(folder, "", &mut texts)?;
        let folder = folder.display().to_string();
        Ok(Self { see: format!("the folder {folder}"), folder, texts })
    }

    /// The rows with these ids, of which the first part alone means all that begin with it; all rows if there are none.
    pub(crate) fn bugs(&self, ids: &[String]) -> Result<Vec<Bug>> {
        if ids.is_empty() {
            return self.texts.keys().map(|id| self.bug(id)).collect();
        }
        let wanted = |name: &String| {
            let below: Vec<String> =
                self.texts.keys().filter(|id| id.split('/').next() == Some(name)).cloned().collect();
            if below.is_empty() { vec![name.clone()] } else { below }
        };
        ids.iter().flat_map(wanted).map(|id| self.bug(&id)).collect()
    }

    /// Those that a protocol has, in scenarios like `base`.
    pub(crate) fn of_protocol(&self, entry: &Entry, base: &Scenario) -> Result<Vec<Bug>> {
        let has = |bug: &Bug| {
            let row = registry::protocol(&bug.witness.protocol.name);
            row.is_ok_and(|row| bug.is_of(&row, entry, base))
        };
        Ok(self.bugs(&[])?.into_iter().filter(has).collect())
    }

    /// Those that may be behind violations of a campaign.
    pub(crate) fn suspects(&self, entry: &Entry, base: &Scenario) -> Result<Suspects> {
        Ok(Suspects::new(entry, base, &self.bugs(&[])?, &|name| Ok(registry::protocol(name)?)))
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
        let text = self.texts.get(id).ok_or_else(|| self.unknown(id))?;
        Bug::parse(id, text).map_err(|error| anyhow!("{}: {error}", self.file(id)))
    }

    /// The file of a row.
    pub(crate) fn file(&self, id: &str) -> String {
        format!("{}/{id}.toml", self.folder)
    }

    /// The error for an id that no row has. There are too many to list them.
    fn unknown(&self, id: &str) -> anyhow::Error {
        let known: Vec<&str> = self.texts.keys().map(String::as_str).collect();
        // The name without its protocol.
        let named = known.iter().copied().find(|known| known.ends_with(&format!("/{}", id.to_lowercase())));
        match named.or_else(|| registry::nearest(id, &known)) {
            Some(nearest) => anyhow!("no bug `{id}`: did you mean `{nearest}`? {} shows all", self.see),
            None => anyhow!("no bug `{id}`: {} shows all", self.see),
        }
    }
}

/// Adds the rows below a folder, whose ids start with `prefix`.
fn collect(folder: &Path, prefix: &str, texts: &mut BTreeMap<String, String>) -> Result<()> {
    let unreadable = || format!("cannot read {}", folder.display());
    for entry in fs::read_dir(folder).with_context(unreadable)? {
        let entry = entry.with_context(unreadable)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type().with_context(unreadable)?.is_dir() {
            collect(&entry.path(), &format!("{prefix}{name}/"), texts)?;
        } else if let Some(name) = name.strip_suffix(".toml") {
            texts.insert(format!("{prefix}{name}"), files::text(&entry.path())?);
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
                rows.shown_by(&entry, &bug.witness, &outcome, violation).expect("a name")
            };
            assert_eq!(shows(bug.facts.property).map(|bug| bug.id).as_deref(), Some(id));
        }
    }
}
