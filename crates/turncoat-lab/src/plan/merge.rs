//! The files of a folder become a store.

use std::path::{Path, PathBuf};

use super::file::{Damage, Shard};
use super::folder::{self, Folder, FolderError, Refused};
use super::{Part, Planned};
use crate::store::row::{Glossary, Row};
use crate::store::{Store, StoreError};

/// What a merge came to.
#[derive(Debug)]
pub struct Merged {
    /// How many runs of the plan are in the store now.
    pub runs: u64,
    /// How many shards are new there.
    pub new: usize,
    /// The shards that are still to be run.
    pub missing: Vec<usize>,
    /// The files that were not taken.
    pub refused: Vec<Refused>,
}

/// A merge that cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// The folder.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Two results of one shard.
    #[error(
        "{} and {} are results of the same runs but differ {at}. Look for clocks, random numbers, addresses, hash maps and \
         statics in the protocol's code, or for a faulty machine",
        one.display(), other.display()
    )]
    Differ {
        /// A file.
        one: PathBuf,
        /// The other.
        other: PathBuf,
        /// Where.
        at: String,
    },
    /// A file that was good a moment ago.
    #[error("{}: {damage}", path.display())]
    Lost {
        /// The file.
        path: PathBuf,
        /// Why.
        damage: Damage,
    },
    /// A plan that cannot be carried out.
    #[error("{0}")]
    Plan(String),
    /// A run is not what it was.
    #[error(transparent)]
    Repeat(#[from] crate::campaign::CampaignError),
}

/// Looks at the runs of a shard before they are stored: their indices and fingerprints.
pub type Rows<'a> = dyn FnMut(&Planned, &mut dyn Iterator<Item = (u64, u64)>) -> Result<(), MergeError> + 'a;

/// Adds the results of a folder to a store, in the order of the plan and up to the first shard that is missing.
///
/// A shard is added at once, and what is there already is not added again. So the store is always what one process would have
/// written up to some run, and it makes no difference in which order results came, how often they are merged, nor whether a merge
/// was killed.
pub fn merge(folder: &Folder, store: &mut Store, check: &mut Rows<'_>) -> Result<Merged, MergeError> {
    let (found, refused) = folder.files()?;
    for copies in found.values() {
        let mut paths = copies.values().map(|(path, _)| path);
        if let (Some(one), Some(other)) = (paths.next(), paths.next()) {
            return Err(differ(folder, one, other)?);
        }
    }
    let plan = &folder.plan;
    let missing = plan.left(|shard| folder::ended(&found, shard));
    let mut merged = Merged { runs: 0, new: 0, missing, refused };
    for (campaign, planned) in plan.campaigns.iter().enumerate() {
        let mut place = store.place(&planned.campaign)?;
        let parts = plan.shards.iter().enumerate().filter(|(_, part)| part.campaign == campaign);
        for (number, part) in parts {
            let Some((path, ended)) = found.get(&number).and_then(|copies| copies.values().next()) else {
                merged.runs += place.stored;
                return Ok(merged);
            };
            if place.stored < part.to {
                let shard = read(folder, path)?;
                check(planned, &mut shard.runs(*part))?;
                let known = place.stored.saturating_sub(part.from);
                if known < shard.header.runs {
                    let rows = shard.rows().skip(known as usize);
                    store.append(place, rows, &shard.glossary, &shard.spell)?;
                    place.stored = part.from + shard.header.runs;
                    merged.new += 1;
                }
            }
            if *ended {
                break;
            }
        }
        merged.runs += place.stored;
    }
    Ok(merged)
}

fn read(folder: &Folder, path: &Path) -> Result<Shard, MergeError> {
    let lost = |damage| MergeError::Lost { path: path.to_owned(), damage };
    Shard::read(path, &folder.plan, &folder.id).map_err(lost)
}

/// Where two results of a shard part.
fn differ(folder: &Folder, one: &Path, other: &Path) -> Result<MergeError, MergeError> {
    let (a, b) = (read(folder, one)?, read(folder, other)?);
    let from = folder.plan.shards[a.header.shard].from;
    let same = a.spelt().zip(b.spelt()).take_while(|(a, b)| a == b).count();
    let at = match (a.spelt().nth(same), b.spelt().nth(same)) {
        (None, None) => "in what they say of kinds of violations".to_owned(),
        _ => format!("from run {} on", from + same as u64),
    };
    Ok(MergeError::Differ { one: one.to_owned(), other: other.to_owned(), at })
}

impl Shard {
    /// The indices and fingerprints of its runs.
    fn runs(&self, part: Part) -> impl Iterator<Item = (u64, u64)> {
        (part.from..).zip(self.rows().map(|row| row.fingerprint))
    }

    /// Its rows with the words that they name.
    fn spelt(&self) -> impl Iterator<Item = (Row, Vec<Option<&String>>)> {
        let Glossary { words, kinds } = &self.glossary;
        self.rows().map(move |row| {
            let word = |number: u32| words.get(number as usize);
            let found = row.found.iter().flat_map(|found| {
                let kind = kinds.get(found.kind as usize).map(|kind| &kind.text);
                [word(found.property), word(found.rule), found.bug.and_then(word), kind]
            });
            let spelt = std::iter::once(word(row.end)).chain(found).collect();
            (row, spelt)
        })
    }
}
