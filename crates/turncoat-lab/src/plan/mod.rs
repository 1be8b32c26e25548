//! Campaigns for many machines: a plan cuts them into shards, a shard's results are a file, and the files of a folder become a
//! store.
//!
//! Run `i` of a campaign is a function of the program, the campaign and `i`. So anything that can start a program with a number can
//! run a shard, on any machine, in any order, twice if need be, and the result is always the same. Nothing here talks to a
//! cluster.

mod file;
mod folder;
mod merge;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use turncoat_core::outcome::Property;

use crate::store::Description;

pub use file::{Damage, Results, Shard};
pub use folder::{Folder, FolderError, Refused, read};
pub use merge::{MergeError, Merged, Rows, merge};

/// The version of the format.
const SCHEMA: u32 = 1;

/// The most shards of a plan.
const SHARDS: u64 = 1_000_000;

/// Campaigns, and the shards that they are cut into.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    schema: u32,
    /// The SHA-256 of the program that all shards are run by.
    pub program: String,
    /// The campaigns.
    pub campaigns: Vec<Planned>,
    /// Which part of which campaign each shard is; those of a campaign follow each other.
    pub shards: Vec<Part>,
}

/// A campaign in words: all that another process needs to run a part of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Planned {
    /// What it is.
    #[serde(flatten)]
    pub campaign: Description,
    /// What ends it early.
    pub until: Ends,
    /// Who may be behind its violations.
    pub suspects: Suspected,
}

/// What ends a campaign early.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ends {
    /// Nothing.
    #[default]
    Never,
    /// The first violation inside of what the protocol assumes.
    First,
    /// The first such violation of a property of safety.
    Safety,
    /// The first violation of this property.
    Property(Property),
    /// The first run that violates what this bug of the suite violates.
    Bug(String),
}

/// Which bugs of the suite each violation is compared with.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Suspected {
    /// None.
    #[default]
    Nobody,
    /// All.
    All,
    /// This one.
    Bug(String),
}

/// Some runs of a campaign that follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(from = "(usize, u64, u64)", into = "(usize, u64, u64)")]
pub struct Part {
    /// The number of the campaign.
    pub campaign: usize,
    /// The first run.
    pub from: u64,
    /// The run after the last.
    pub to: u64,
}

impl From<(usize, u64, u64)> for Part {
    fn from((campaign, from, to): (usize, u64, u64)) -> Self {
        Self { campaign, from, to }
    }
}

impl From<Part> for (usize, u64, u64) {
    fn from(Part { campaign, from, to }: Part) -> Self {
        (campaign, from, to)
    }
}

impl Part {
    /// Its runs.
    pub const fn runs(self) -> Range<u64> {
        self.from..self.to
    }
}

/// A plan that makes no sense.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PlanError {
    /// A strategy that learns, in pieces.
    #[error(
        "{strategy} learns from its runs, so none can run without those before it: its campaign of {runs} runs is one \
         shard and cannot be split into shards of {most}"
    )]
    Learns {
        /// The strategy.
        strategy: String,
        /// How many runs it has.
        runs: u64,
        /// How many a shard was to have.
        most: u64,
    },
    /// More shards than anybody can run.
    #[error("a plan has at most {SHARDS} shards, not {0}: give each shard more runs (--shard-runs)")]
    TooMany(u64),
    /// A text that is no plan.
    #[error("it is not a plan: {0}")]
    Unreadable(String),
    /// A plan of another version.
    #[error("its version is {0}, and this turncoat reads {SCHEMA}")]
    Version(u32),
}

impl Plan {
    /// Nothing yet. The program is named by its SHA-256.
    pub const fn new(program: String) -> Self {
        Self { schema: SCHEMA, program, campaigns: Vec::new(), shards: Vec::new() }
    }

    /// Adds a campaign of so many runs, cut into shards of `most` runs if that is given. One that learns is one shard, and nothing
    /// else may be asked for.
    pub fn add(&mut self, planned: Planned, runs: u64, most: Option<u64>) -> Result<(), PlanError> {
        let Description { strategy, learns, .. } = &planned.campaign;
        if let Some(most) = most.filter(|&most| *learns && most < runs) {
            return Err(PlanError::Learns { strategy: strategy.clone(), runs, most });
        }
        let step = most.unwrap_or(runs).max(1);
        let shards = (self.shards.len() as u64).saturating_add(runs.div_ceil(step));
        if shards > SHARDS {
            return Err(PlanError::TooMany(shards));
        }
        let campaign = self.campaigns.len();
        let mut from = 0;
        while from < runs {
            let to = from.saturating_add(step).min(runs);
            self.shards.push(Part { campaign, from, to });
            from = to;
        }
        self.campaigns.push(planned);
        Ok(())
    }

    /// Reads one.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        #[derive(Deserialize)]
        struct Version {
            schema: u32,
        }
        let unreadable = |error: serde_json::Error| PlanError::Unreadable(error.to_string());
        let Version { schema } = serde_json::from_str(text).map_err(unreadable)?;
        if schema != SCHEMA {
            return Err(PlanError::Version(schema));
        }
        let plan: Self = serde_json::from_str(text).map_err(unreadable)?;
        if plan.shards.len() as u64 > SHARDS {
            return Err(PlanError::TooMany(plan.shards.len() as u64));
        }
        match plan.shards.iter().find(|part| part.campaign >= plan.campaigns.len() || part.from >= part.to) {
            Some(part) => Err(PlanError::Unreadable(format!("there are no such runs: {part:?}"))),
            None => Ok(plan),
        }
    }

    /// As a file has it: one line.
    pub fn to_json(&self) -> String {
        // Texts, numbers and lists of them: there is nothing that JSON cannot say.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// What tells plans apart: a digest of all campaigns, of the program, and of how they are cut.
    pub fn id(&self) -> String {
        digest(self.to_json().as_bytes())
    }

    /// The shards that are still to be run, if those are done that `ended` knows: what follows a run that ends its campaign is
    /// not needed.
    fn left(&self, ended: impl Fn(usize) -> Option<bool>) -> Vec<usize> {
        let mut left = Vec::new();
        let mut over = BTreeSet::new();
        for (shard, part) in self.shards.iter().enumerate() {
            match ended(shard) {
                _ if over.contains(&part.campaign) => {}
                Some(true) => drop(over.insert(part.campaign)),
                Some(false) => {}
                None => left.push(shard),
            }
        }
        left
    }
}

/// The SHA-256 of some bytes, as hex digits.
fn digest(bytes: &[u8]) -> String {
    hex(Sha256::new_with_prefix(bytes))
}

/// That of a file.
pub fn digest_of(path: &Path) -> io::Result<String> {
    let (mut file, mut hash) = (File::open(path)?, Sha256::new());
    let mut piece = vec![0; 1 << 16];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hex(hash)),
            read => hash.update(&piece[..read]),
        }
    }
}

fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
