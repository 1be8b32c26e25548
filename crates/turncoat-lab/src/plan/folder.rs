//! A folder with the results of shards, and with the plan that they belong to.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::file::{Damage, SUFFIX, Shard};
use super::{Plan, PlanError};
use crate::files::{self, FileError};

/// The plan's name in such a folder.
const PLAN: &str = "plan.json";

/// The longest plan, in bytes: a shard takes a few dozen.
const LONGEST: u64 = 256 << 20;

/// A folder with the results of shards.
#[derive(Debug)]
pub struct Folder {
    /// The plan.
    pub plan: Plan,
    pub(super) id: String,
    path: PathBuf,
}

/// A folder that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The folder cannot be read or written.
    #[error("cannot use {}: {error}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The plan is none.
    #[error("{}: {error}", path.display())]
    Plan {
        /// The file.
        path: PathBuf,
        /// Why.
        error: PlanError,
    },
    /// There is no plan.
    #[error("{} has no {PLAN}: `shard PLAN K --out {}` puts the plan there with its first results", .0.display(), .0.display())]
    Empty(PathBuf),
    /// There is another plan.
    #[error("{} has the results of another plan: give another folder", .0.display())]
    Taken(PathBuf),
}

/// A file that is not taken, and why.
#[derive(Debug)]
pub struct Refused {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub damage: Damage,
}

/// The files that there are: of each shard those that differ, each once.
pub(super) type Found = BTreeMap<usize, BTreeMap<String, (PathBuf, bool)>>;

impl Folder {
    /// Makes a folder for the results of a plan, or goes on with it.
    pub fn create(path: &Path, plan: Plan) -> Result<Self, FolderError> {
        let trouble = |error| FolderError::Folder { path: path.to_owned(), error };
        fs::create_dir_all(path).map_err(trouble)?;
        match Self::open(path) {
            Ok(folder) if folder.plan == plan => Ok(folder),
            Ok(_) => Err(FolderError::Taken(path.to_owned())),
            // Many machines may do so at once: all write the same.
            Err(FolderError::Empty(_)) => {
                files::write_whole(&path.join(PLAN), plan.to_json() + "\n").map_err(trouble)?;
                Ok(Self { id: plan.id(), plan, path: path.to_owned() })
            }
            Err(error) => Err(error),
        }
    }

    /// Opens a folder that has results.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        fs::read_dir(path).map_err(|error| FolderError::Folder { path: path.to_owned(), error })?;
        let file = path.join(PLAN);
        if !file.exists() {
            return Err(FolderError::Empty(path.to_owned()));
        }
        let plan = read(&file)?;
        Ok(Self { id: plan.id(), plan, path: path.to_owned() })
    }

    /// Reads all files of results; those that are not taken are listed.
    pub(super) fn files(&self) -> Result<(Found, Vec<Refused>), FolderError> {
        let trouble = |error| FolderError::Folder { path: self.path.clone(), error };
        let mut paths = BTreeSet::new();
        for entry in fs::read_dir(&self.path).map_err(trouble)? {
            let path = entry.map_err(trouble)?.path();
            if path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(SUFFIX)) {
                paths.insert(path);
            }
        }
        let (mut found, mut refused) = (Found::new(), Vec::new());
        for path in paths {
            match Shard::read(&path, &self.plan, &self.id) {
                Ok(Shard { header, digest, .. }) => {
                    let copies = found.entry(header.shard).or_default();
                    copies.entry(digest).or_insert((path, header.ended));
                }
                Err(damage) => refused.push(Refused { path, damage }),
            }
        }
        Ok((found, refused))
    }

    /// The shards that are still to be run.
    pub fn missing(&self) -> Result<(Vec<usize>, Vec<Refused>), FolderError> {
        let (found, refused) = self.files()?;
        Ok((self.plan.left(|shard| ended(&found, shard)), refused))
    }
}

/// Whether a shard's last run ends its campaign, if the shard is there.
pub(super) fn ended(found: &Found, shard: usize) -> Option<bool> {
    found.get(&shard)?.values().next().map(|(_, ended)| *ended)
}

/// Reads a plan.
pub fn read(path: &Path) -> Result<Plan, FolderError> {
    let text = files::text_up_to(path, LONGEST)?;
    Plan::parse(&text).map_err(|error| FolderError::Plan { path: path.to_owned(), error })
}
