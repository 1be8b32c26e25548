//! One writer: a thread that puts runs into the file, many in one transaction.

use std::collections::BTreeMap;
use std::mem;
use std::panic::resume_unwind;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::{Connection, Statement, params};
use turncoat_core::message::MutationTable;
use turncoat_core::outcome::End;

use super::{Place, Store, StoreError};
use crate::campaign::Record;
use crate::signature::{Kinds, Traits};

/// How long the writer waits for runs to come together. A campaign that is killed loses what it did in that time.
const PATIENCE: Duration = Duration::from_millis(50);

/// The most runs that wait for the writer; with half as many it does not wait any longer.
const FULL: usize = 8192;

/// Writes the runs of one campaign.
#[derive(Debug)]
pub struct Writer {
    desk: Arc<Desk>,
    thread: JoinHandle<(Store, Result<(), StoreError>)>,
}

impl Store {
    /// Starts to write runs of a campaign. The mutation table is that of its protocol.
    pub fn writer(self, place: Place, table: MutationTable) -> Writer {
        let desk = Arc::new(Desk::default());
        let clerks_desk = Arc::clone(&desk);
        let thread = thread::spawn(move || {
            let _leave = Leave(&clerks_desk);
            let mut store = self;
            let written = Clerk::new(&store.db, place, table)
                .and_then(|mut clerk| clerk.work(&mut store.db, &clerks_desk))
                .map_err(|error| store.unwritable(&error));
            (store, written)
        });
        Writer { desk, thread }
    }
}

impl Writer {
    /// Takes a run. Says no when the file can take no more; [`Writer::finish`] knows why.
    pub fn keep(&self, record: Record) -> bool {
        self.desk.put(record)
    }

    /// Writes what is left, and gives the store back.
    pub fn finish(self) -> Result<Store, StoreError> {
        self.desk.change(|tray| tray.closed = true);
        let (store, written) = self.thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        written.map(|()| store)
    }
}

/// Where runs wait. A channel would wake the writer for each of them, which costs more than writing it.
#[derive(Debug, Default)]
struct Desk {
    tray: Mutex<Tray>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Tray {
    records: Vec<Record>,
    /// No more will come.
    closed: bool,
    /// Nobody takes them any more.
    left: bool,
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, Tray> {
        self.tray.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Tray)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// Puts a run there, if somebody still takes it.
    fn put(&self, record: Record) -> bool {
        let crowded = |tray: &mut Tray| tray.records.len() >= FULL && !tray.left;
        let waited = self.changed.wait_while(self.lock(), crowded);
        let mut tray = waited.unwrap_or_else(PoisonError::into_inner);
        tray.records.push(record);
        if tray.records.len() == FULL / 2 {
            self.changed.notify_all();
        }
        !tray.left
    }

    /// Takes all that is there, after a while; nothing when no more will come.
    fn take(&self) -> Option<Vec<Record>> {
        let few = |tray: &mut Tray| tray.records.len() < FULL / 2 && !tray.closed;
        let waited = self.changed.wait_timeout_while(self.lock(), PATIENCE, few);
        let (mut tray, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let records = mem::take(&mut tray.records);
        self.changed.notify_all();
        (!records.is_empty() || !tray.closed).then_some(records)
    }
}

/// Lets those go who wait for a writer that has left, whatever made it leave.
struct Leave<'a>(&'a Desk);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.0.change(|tray| tray.left = true);
    }
}

/// What the thread knows.
struct Clerk {
    campaign: i64,
    table: MutationTable,
    signatures: Kinds,
    /// Words with their numbers.
    names: BTreeMap<String, i64>,
}

impl Clerk {
    fn new(db: &Connection, place: Place, table: MutationTable) -> rusqlite::Result<Self> {
        let pairs = |sql: &str, id: Option<i64>| -> rusqlite::Result<BTreeMap<String, i64>> {
            let mut statement = db.prepare(sql)?;
            let rows =
                statement.query_map(rusqlite::params_from_iter(id), |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect()
        };
        Ok(Self {
            campaign: place.id,
            table,
            signatures: Kinds::new(pairs(
                "SELECT text, id FROM signatures WHERE campaign = ?1",
                Some(place.id),
            )?),
            names: pairs("SELECT name, id FROM names", None)?,
        })
    }

    fn work(&mut self, db: &mut Connection, desk: &Desk) -> rusqlite::Result<()> {
        while let Some(records) = desk.take() {
            if records.is_empty() {
                continue;
            }
            let batch = db.transaction()?;
            let mut runs = batch.prepare_cached(
                "INSERT INTO runs VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
            )?;
            records.iter().try_for_each(|record| self.put(&batch, &mut runs, record))?;
            drop(runs);
            batch.commit()?;
        }
        Ok(())
    }

    fn put(&mut self, db: &Connection, runs: &mut Statement<'_>, record: &Record) -> rusqlite::Result<()> {
        let Record { index, outcome, scenario, bugs, .. } = record;
        let (run, injected) = (*index as i64, &outcome.injected);
        let end = match outcome.end {
            End::Goal => self.name(db, "goal")?,
            End::Quiet => self.name(db, "quiet")?,
            End::Stopped => self.name(db, "stopped")?,
            End::Limit(name) => self.name(db, &format!("limit on {name}"))?,
        };
        runs.execute(params![
            self.campaign,
            run,
            end,
            outcome.calm,
            outcome.over_budget,
            outcome.steps as i64,
            outcome.deliveries as i64,
            outcome.commits,
            outcome.completed,
            injected.faults,
            injected.dropped,
            injected.held,
            injected.mutated,
            injected.accepted,
            injected.refused,
            injected.garbage,
            outcome.marks as i64,
            outcome.fingerprint as i64,
        ])?;
        let Some(scenario) = scenario else { return Ok(()) };
        for (nth, violation) in outcome.violations.iter().enumerate() {
            let traits = Traits::of(violation, scenario, outcome);
            let (signature, new) = self.signatures.number(traits, &self.table);
            if let Some(words) = new {
                db.execute(
                    "INSERT INTO signatures VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                    params![self.campaign, signature, words, run, violation.detail, scenario.to_toml()],
                )?;
            }
            let bug = bugs.get(nth).map(|bug| self.name(db, bug)).transpose()?;
            let (property, rule) =
                (self.name(db, violation.property.name())?, self.name(db, violation.rule)?);
            let step = violation.step as i64;
            db.prepare_cached("INSERT INTO violations VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?
                .execute(params![self.campaign, run, nth as i64, property, rule, step, signature, bug])?;
        }
        Ok(())
    }

    /// The number of a word.
    fn name(&mut self, db: &Connection, name: &str) -> rusqlite::Result<i64> {
        if let Some(&id) = self.names.get(name) {
            return Ok(id);
        }
        db.execute("INSERT INTO names (name) VALUES (?1)", [name])?;
        let id = db.last_insert_rowid();
        self.names.insert(name.to_owned(), id);
        Ok(id)
    }
}
