//! What came of a shard, as a file.
//!
//! A line of JSON says whose results these are; the rows follow, and what their numbers mean. All of that is a function of the
//! plan and of the shard's number, and its digest is in the file's name: who runs a shard twice gets the same file. The last
//! line, how long it took, is outside of the digest.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use turncoat_core::message::MutationTable;

use super::{Plan, digest};
use crate::campaign::Record;
use crate::files;
use crate::store::Spell;
use crate::store::row::{Glossary, Row, Scribe};

/// How the names of such files end.
pub(super) const SUFFIX: &str = ".tcs";

/// The version of the format.
const FORMAT: u32 = 1;

/// The first line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Header {
    #[serde(rename = "turncoat-shard")]
    format: u32,
    pub(super) shard: usize,
    pub(super) plan: String,
    program: String,
    pub(super) runs: u64,
    /// Whether the last of these runs ends the campaign.
    pub(super) ended: bool,
    /// In bytes.
    rows: usize,
    glossary: usize,
}

/// The results of a shard while it runs.
#[derive(Debug)]
pub struct Results {
    scribe: Scribe,
    rows: Vec<u8>,
    runs: u64,
}

impl Results {
    /// None yet. The mutation table is that of the campaign's protocol.
    pub fn new(table: MutationTable) -> Self {
        Self { scribe: Scribe::new(table), rows: Vec::new(), runs: 0 }
    }

    /// Adds the next run.
    pub fn add(&mut self, record: &Record) {
        let row = self.scribe.row(record);
        // Numbers cannot fail to be written to memory.
        self.rows = postcard::to_extend(&row, std::mem::take(&mut self.rows)).unwrap_or_default();
        self.runs += 1;
    }

    /// Writes them to a folder, all at once: the file is there, and complete, or not there. `ended` says that the last run ends
    /// the campaign.
    pub fn publish(
        self,
        folder: &Path,
        plan: &Plan,
        shard: usize,
        ended: bool,
        spell: &Spell,
    ) -> io::Result<PathBuf> {
        let Self { scribe, rows, runs } = self;
        let glossary = postcard::to_stdvec(&scribe.glossary).map_err(io::Error::other)?;
        let header = Header {
            format: FORMAT,
            shard,
            plan: plan.id(),
            program: plan.program.clone(),
            runs,
            ended,
            rows: rows.len(),
            glossary: glossary.len(),
        };
        let mut bytes = serde_json::to_vec(&header)?;
        bytes.push(b'\n');
        bytes.extend(rows);
        bytes.extend(glossary);
        let name = format!("{shard:06}-{}{SUFFIX}", digest(&bytes));
        bytes.extend(serde_json::to_vec(spell)?);
        bytes.push(b'\n');
        let path = folder.join(name);
        files::write_whole(&path, &bytes)?;
        Ok(path)
    }
}

/// The results of a shard, read from its file.
#[derive(Debug)]
pub struct Shard {
    pub(super) header: Header,
    pub(super) glossary: Glossary,
    pub(super) spell: Spell,
    pub(super) digest: String,
    rows: Vec<u8>,
}

/// Why a file is not taken.
#[derive(Debug, thiserror::Error)]
pub enum Damage {
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// It is none of ours.
    #[error("it is not a shard file")]
    Foreign,
    /// A newer program wrote it.
    #[error("its version is {0}, and this turncoat reads {FORMAT}")]
    Version(u32),
    /// Its content is not what was written.
    #[error("it is damaged, cut off or renamed: its content is not what its name says")]
    Digest,
    /// Another program wrote it.
    #[error("another program made it, perhaps an older one: {theirs} instead of {ours}")]
    Program {
        /// Its digest.
        theirs: String,
        /// That of the plan's.
        ours: String,
    },
    /// It belongs to other campaigns.
    #[error("it belongs to another plan: {theirs} instead of {ours}")]
    Plan {
        /// The other's id.
        theirs: String,
        /// The plan's.
        ours: String,
    },
    /// Its digest is right, and its content makes no sense.
    #[error("its content is not that of a shard of the plan")]
    Content,
}

impl Shard {
    /// Reads a file, and makes sure that it is what it says and belongs to the plan of this id.
    pub(super) fn read(path: &Path, plan: &Plan, id: &str) -> Result<Self, Damage> {
        if !path.metadata()?.is_file() {
            return Err(Damage::Foreign);
        }
        let bytes = fs::read(path)?;
        let line = bytes.iter().position(|&byte| byte == b'\n').ok_or(Damage::Foreign)?;
        let header: Header = serde_json::from_slice(&bytes[..line]).map_err(|_| Damage::Foreign)?;
        if header.format != FORMAT {
            return Err(Damage::Version(header.format));
        }
        let rows = line + 1;
        let glossary = rows.checked_add(header.rows).ok_or(Damage::Digest)?;
        let end = glossary.checked_add(header.glossary).filter(|&end| end <= bytes.len());
        let end = end.ok_or(Damage::Digest)?;
        let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(SUFFIX));
        let digest = digest(&bytes[..end]);
        if name.and_then(|name| name.rsplit('-').next()) != Some(&digest) {
            return Err(Damage::Digest);
        }
        if header.program != plan.program {
            let (theirs, ours) = (short(&header.program), short(&plan.program));
            return Err(Damage::Program { theirs, ours });
        }
        if header.plan != id {
            return Err(Damage::Plan { theirs: short(&header.plan), ours: short(id) });
        }
        let spell = serde_json::from_slice(&bytes[end..]).map_err(|_| Damage::Digest)?;
        let shard = Self {
            glossary: postcard::from_bytes(&bytes[glossary..end]).map_err(|_| Damage::Content)?,
            rows: bytes[rows..glossary].to_vec(),
            header,
            spell,
            digest,
        };
        let part = plan.shards.get(shard.header.shard).ok_or(Damage::Content)?;
        let Header { runs, ended, .. } = shard.header;
        let all = part.to - part.from;
        let fits = shard.rows().count() as u64 == runs && (runs == all || ended && (1..all).contains(&runs));
        if fits { Ok(shard) } else { Err(Damage::Content) }
    }

    /// Its rows, in the order of their runs.
    pub(super) fn rows(&self) -> impl Iterator<Item = Row> {
        let mut left = &self.rows[..];
        std::iter::from_fn(move || {
            let (row, rest) = postcard::take_from_bytes(left).ok()?;
            left = rest;
            Some(row)
        })
    }
}

/// The beginning of a digest, for people.
fn short(digest: &str) -> String {
    digest.chars().take(12).collect()
}
