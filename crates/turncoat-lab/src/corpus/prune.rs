//! Keeping a corpus in order: what no longer fails goes, and what shows the same becomes one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{CorpusError, Judged, Standing, entry_file, notes, save};
use crate::files;
use crate::shrink::smaller;

/// Something done about an entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// Its file.
    pub path: PathBuf,
    /// What was done.
    pub what: What,
    /// Why, in words.
    pub why: String,
}

/// What can be done about an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// It is fixed or stale.
    Removed,
    /// Another one shows the same.
    Merged,
    /// It had another name than what it shows.
    Renamed,
    /// It is another run than the one that was saved.
    Renewed,
}

/// Puts a corpus in order whose entries were judged, or says how that would be done. Foreign files stay.
pub fn prune(folder: &Path, judged: &[Judged], dry_run: bool) -> Result<Vec<Change>, CorpusError> {
    let mut best: BTreeMap<&str, &Judged> = BTreeMap::new();
    for entry in judged {
        let Some(shown) = &entry.shown else { continue };
        let best = best.entry(&shown.name).or_insert(entry);
        if is_smaller(entry, best) || !is_smaller(best, entry) && entry.name() == shown.name {
            *best = entry;
        }
    }
    let change = |entry: &Judged| {
        let (what, why) = match (entry.standing, &entry.shown) {
            (Standing::Fixed | Standing::Stale, _) => (What::Removed, entry.why.clone()),
            (_, None) => return None,
            (standing, Some(shown)) => match best[&*shown.name] {
                best if best.path != entry.path => {
                    (What::Merged, format!("{} shows the same and is no larger", best.name()))
                }
                _ if entry.name() != shown.name => (What::Renamed, format!("it shows {}", shown.name)),
                _ if standing == Standing::Changed => (What::Renewed, entry.why.clone()),
                _ => return None,
            },
        };
        Some(Change { path: entry.path.clone(), what, why })
    };
    let changes: Vec<(&Judged, Change)> =
        judged.iter().filter_map(|entry| Some((entry, change(entry)?))).collect();
    if !dry_run {
        carry_out(folder, &changes, &best)?;
    }
    Ok(changes.into_iter().map(|(_, change)| change).collect())
}

/// A name may be that of a file that is about to get another one: all is read, then written, then removed.
fn carry_out(
    folder: &Path,
    changes: &[(&Judged, Change)],
    best: &BTreeMap<&str, &Judged>,
) -> Result<(), CorpusError> {
    let mut saves = Vec::new();
    for (entry, change) in changes {
        if let (Some(scenario), true) = (&entry.scenario, change.what != What::Removed) {
            saves.push((scenario, notes(&files::text(&entry.path)?)));
        }
    }
    for ((entry, scenario), notes) in saves {
        save(folder, entry, scenario, &notes)?;
    }
    let kept: BTreeSet<PathBuf> = best.keys().map(|name| entry_file(folder, name)).collect();
    for (_, Change { path, .. }) in changes.iter().filter(|(_, change)| !kept.contains(&change.path)) {
        files::remove(path)?;
    }
    Ok(())
}

fn is_smaller(entry: &Judged, than: &Judged) -> bool {
    match (&entry.scenario, &than.scenario) {
        (Some((_, scenario)), Some((_, than))) => smaller(scenario, than),
        _ => false,
    }
}
