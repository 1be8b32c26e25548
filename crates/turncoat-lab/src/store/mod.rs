//! The store: campaigns in a file, one row for each run, which survives whatever happens to the process.
//!
//! Runs are written in the order of their indices, many in one transaction. So the file always holds the runs
//! `0..k` of a campaign, each once, and a campaign that was killed goes on with run `k`. While one process writes,
//! others are kept out; a store that nobody writes is one plain file of SQLite, for anybody's tools to read.

mod error;
mod read;
mod resume;
pub(crate) mod row;
mod write;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use serde::{Deserialize, Serialize};
use turncoat_core::hash::stable_hash;
use turncoat_core::scenario::Seed;

pub use error::StoreError;
use error::Trouble;
pub use resume::{ResumeError, resume};
pub use write::Writer;

/// Says that a file of SQLite is ours: `TURN`.
const APPLICATION: i32 = 0x5455_524E;

/// What makes a store of each version out of the one before. The version of a store is their number.
const MIGRATIONS: &[&str] =
    &[include_str!("schema.sql"), include_str!("outside.sql"), include_str!("provenance.sql")];

/// What makes a store of each version but the last readable as one of the next.
const READINGS: &[&str] = &[
    "CREATE TEMP VIEW violations AS SELECT *, NULL AS outside FROM main.violations",
    "CREATE TEMP VIEW spells AS SELECT *, NULL AS ended, NULL AS command FROM main.spells",
];

/// Campaigns in a file.
#[derive(Debug)]
pub struct Store {
    db: Connection,
    path: PathBuf,
    /// Which file that is, among all of this machine, if it is written to.
    file: Option<Identity>,
}

/// What a campaign is, for the table of campaigns.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Description {
    /// The table that it belongs to.
    pub experiment: String,
    /// What it runs on.
    pub variant: String,
    /// Who searches.
    pub row: String,
    /// What counts as success.
    pub target: String,
    /// The protocol.
    pub protocol: String,
    /// The strategy.
    pub strategy: String,
    /// Its parameters.
    pub params: BTreeMap<String, String>,
    /// What all scenarios share, in TOML.
    pub base: String,
    /// Where all randomness comes from.
    pub seed: Seed,
    /// Whether runs depend on each other.
    pub learns: bool,
    /// How many runs are wanted.
    pub wanted: Option<u64>,
    /// The names of the protocol's marks.
    pub marks: Vec<String>,
}

impl Description {
    /// A hash of all that determines the runs, and of the place in a table: equal for campaigns of which one can go on
    /// where the other stopped.
    pub fn key(&self) -> Seed {
        let Self { experiment, variant, row, strategy, params, base, seed, .. } = self;
        Seed(stable_hash(0x57_0E, &(experiment, variant, row, strategy, params, base, seed.0)))
    }
}

/// A campaign in a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Its number.
    pub id: i64,
    /// How many of its runs are there.
    pub stored: u64,
}

/// How long somebody worked, by the clock on the wall, with how many threads, until when and by which command.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Spell {
    /// How long.
    pub seconds: f64,
    /// How many threads.
    pub jobs: usize,
    /// When the work ended, in seconds since 1970; 0 if unknown.
    #[serde(default)]
    pub ended: u64,
    /// The command, as people type it; empty if unknown.
    #[serde(default)]
    pub command: String,
}

impl Store {
    /// Opens a store to write to; makes it if there is none. Others are kept out until it is closed.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let trouble = Trouble { path, doing: "open" };
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let db = connect(path, flags).map_err(|error| trouble.with(&error))?;
        let mut store = Self { db, path: path.to_owned(), file: None };
        let version = store.version()?;
        store.take().map_err(|error| trouble.with(&error))?;
        store.file = Some(identity(path).ok_or_else(|| trouble.because(GONE))?);
        store.migrate(version).map_err(|error| trouble.with(&error))?;
        Ok(store)
    }

    /// Opens a store to read from.
    pub fn open_read(path: &Path) -> Result<Self, StoreError> {
        let trouble = Trouble { path, doing: "open" };
        let db = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(|error| trouble.with(&error))?;
        let store = Self { db, path: path.to_owned(), file: None };
        let version = store.version()?;
        if version == 0 {
            return Err(trouble.because("it is empty"));
        }
        // What a migration adds is empty in older stores, which are not changed by whoever reads them.
        for sql in READINGS.iter().skip(version - 1) {
            store.db.execute_batch(sql).map_err(|error| trouble.with(&error))?;
        }
        Ok(store)
    }

    /// The database, for queries.
    pub const fn db(&self) -> &Connection {
        &self.db
    }

    /// An error of the database while reading.
    pub fn unreadable(&self, error: &rusqlite::Error) -> StoreError {
        Trouble { path: &self.path, doing: "read" }.with(error)
    }

    /// The version of the file: 0 if there is nothing in it.
    fn version(&self) -> Result<usize, StoreError> {
        let trouble = Trouble { path: &self.path, doing: "open" };
        let number = |sql: &str| self.db.query_row(sql, [], |row| row.get::<_, i64>(0));
        let read = || -> rusqlite::Result<_> {
            let tables = number("SELECT count(*) FROM sqlite_schema")?;
            Ok((tables, number("PRAGMA application_id")?, number("PRAGMA user_version")?))
        };
        match read().map_err(|error| trouble.with(&error))? {
            (0, 0, 0) => Ok(0),
            (_, application, version) if application == i64::from(APPLICATION) => {
                let known = MIGRATIONS.len();
                let version = usize::try_from(version).unwrap_or(0);
                match version <= known {
                    true => Ok(version),
                    false => Err(trouble.because(&format!(
                        "a newer turncoat wrote it: its version is {version}, and this turncoat reads up to {known}"
                    ))),
                }
            }
            _ => Err(trouble.because("it is the database of another program")),
        }
    }

    /// Takes the lock that keeps others out.
    fn take(&self) -> rusqlite::Result<()> {
        self.db.execute_batch(
            "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
             BEGIN EXCLUSIVE; COMMIT;",
        )
    }

    fn migrate(&mut self, version: usize) -> rusqlite::Result<()> {
        for (older, sql) in MIGRATIONS.iter().enumerate().skip(version) {
            let change = self.db.transaction()?;
            change.execute_batch(sql)?;
            change.pragma_update(None, "application_id", APPLICATION)?;
            change.pragma_update(None, "user_version", older as i64 + 1)?;
            change.commit()?;
        }
        Ok(())
    }

    /// The place of a campaign; a new one if it is not there yet.
    pub fn place(&mut self, campaign: &Description) -> Result<Place, StoreError> {
        let key = campaign.key().to_string();
        let find = "SELECT id FROM campaigns WHERE key = ?1";
        let id = self.db.query_row(find, [&key], |row| row.get(0)).optional();
        let id: i64 = match id.map_err(|error| self.unreadable(&error))? {
            Some(id) => {
                self.db
                    .execute(
                        "UPDATE campaigns SET wanted = ?2 WHERE id = ?1",
                        params![id, campaign.wanted.map(|n| n as i64)],
                    )
                    .map_err(|error| self.unwritable(&error))?;
                id
            }
            None => self.add(campaign, &key).map_err(|error| self.unwritable(&error))?,
        };
        let count = "SELECT coalesce(max(run) + 1, 0) FROM runs WHERE campaign = ?1";
        let stored: i64 =
            self.db.query_row(count, [id], |row| row.get(0)).map_err(|error| self.unreadable(&error))?;
        Ok(Place { id, stored: stored as u64 })
    }

    fn add(&self, campaign: &Description, key: &str) -> rusqlite::Result<i64> {
        let json = |error: serde_json::Error| rusqlite::Error::ToSqlConversionFailure(Box::new(error));
        self.db.execute(
            "INSERT INTO campaigns (key, experiment, variant, row, target, protocol, strategy, params, base, seed,
             learns, wanted, marks, version) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
            params![
                key,
                campaign.experiment,
                campaign.variant,
                campaign.row,
                campaign.target,
                campaign.protocol,
                campaign.strategy,
                serde_json::to_string(&campaign.params).map_err(json)?,
                campaign.base,
                campaign.seed.to_string(),
                campaign.learns,
                campaign.wanted.map(|wanted| wanted as i64),
                serde_json::to_string(&campaign.marks).map_err(json)?,
                env!("CARGO_PKG_VERSION"),
            ],
        )?;
        Ok(self.db.last_insert_rowid())
    }

    /// Notes how long somebody worked on a campaign.
    pub fn spell(&self, place: Place, runs: u64, spell: &Spell) -> Result<(), StoreError> {
        note(&self.db, place, runs, spell).map_err(|error| self.unwritable(&error))?;
        self.still_there()
    }

    /// Makes sure that the file that is written to is still the one with this name. SQLite would go on without a word.
    fn still_there(&self) -> Result<(), StoreError> {
        match self.file == identity(&self.path) {
            true => Ok(()),
            false => Err(Trouble { path: &self.path, doing: "write to" }.because(GONE)),
        }
    }

    fn unwritable(&self, error: &rusqlite::Error) -> StoreError {
        Trouble { path: &self.path, doing: "write to" }.with(error)
    }
}

impl Drop for Store {
    /// Leaves one plain file. If that fails, the next who opens it does it.
    fn drop(&mut self) {
        if self.file.is_some() {
            let _ = self.db.execute_batch("PRAGMA journal_mode = DELETE;");
        }
    }
}

/// Why a store cannot be written to any more.
const GONE: &str = "it was deleted, moved or replaced while a campaign was being stored in it";

/// What tells a file from all others of this machine, whatever it is called.
type Identity = (u64, u64);

#[cfg(unix)]
fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    path.metadata().ok().map(|file| (file.dev(), file.ino()))
}

/// Elsewhere a file that is open cannot be deleted.
#[cfg(not(unix))]
fn identity(path: &Path) -> Option<Identity> {
    path.exists().then_some((0, 0))
}

fn note(db: &Connection, place: Place, runs: u64, spell: &Spell) -> rusqlite::Result<()> {
    let Spell { seconds, jobs, ended, command } = spell;
    let row = params![
        place.id,
        place.stored as i64,
        runs as i64,
        seconds,
        *jobs as i64,
        (*ended > 0).then_some(*ended as i64),
        (!command.is_empty()).then_some(command),
    ];
    db.execute("INSERT INTO spells VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)", row).map(drop)
}

fn connect(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let db = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    // Whoever holds a store holds it for long.
    db.busy_timeout(Duration::from_millis(100))?;
    Ok(db)
}
