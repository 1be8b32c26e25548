//! One writer: a thread that puts runs into the file, many in one transaction.

use std::collections::BTreeMap;
use std::mem;
use std::panic::resume_unwind;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::{Connection, params};
use turncoat_core::message::MutationTable;

use super::row::{Glossary, Kind, Row, Scribe};
use super::{Place, Spell, Store, StoreError};
use crate::campaign::Record;

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
            let written = store.keep_all(place, &clerks_desk, Scribe::new(table));
            (store, written)
        });
        Writer { desk, thread }
    }

    /// Writes what comes, as long as something does.
    fn keep_all(&mut self, place: Place, desk: &Desk, mut scribe: Scribe) -> Result<(), StoreError> {
        let clerk = Clerk::new(&self.db, place);
        let mut clerk = clerk.map_err(|error| self.unwritable(&error))?;
        while let Some(records) = desk.take() {
            let batch = clerk.write(&mut self.db, &records, &mut scribe);
            batch.map_err(|error| self.unwritable(&error))?;
            self.still_there()?;
        }
        Ok(())
    }

    /// Adds rows that others have made, those of the runs from the first that is missing, and notes how long these others
    /// worked: all of it or nothing.
    pub(crate) fn append(
        &mut self,
        place: Place,
        rows: impl Iterator<Item = Row>,
        glossary: &Glossary,
        spell: &Spell,
    ) -> Result<(), StoreError> {
        let add = || -> rusqlite::Result<()> {
            let all = self.db.transaction()?;
            let runs = Clerk::new(&all, place)?.put(&all, place.stored, rows, glossary)?;
            super::note(&all, place, runs, spell)?;
            all.commit()
        };
        add().map_err(|error| self.unwritable(&error))?;
        self.still_there()
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

/// Puts rows of one campaign into the file.
struct Clerk {
    campaign: i64,
    /// Words, and kinds of violations, with the numbers that the file has for them.
    words: BTreeMap<String, i64>,
    kinds: BTreeMap<String, i64>,
    /// The same by the numbers that the rows have for them.
    word_numbers: Vec<i64>,
    kind_numbers: Vec<i64>,
}

impl Clerk {
    fn new(db: &Connection, place: Place) -> rusqlite::Result<Self> {
        let pairs = |sql: &str, id: Option<i64>| -> rusqlite::Result<BTreeMap<String, i64>> {
            let mut statement = db.prepare(sql)?;
            let rows =
                statement.query_map(rusqlite::params_from_iter(id), |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect()
        };
        Ok(Self {
            campaign: place.id,
            words: pairs("SELECT name, id FROM names", None)?,
            kinds: pairs("SELECT text, id FROM signatures WHERE campaign = ?1", Some(place.id))?,
            word_numbers: Vec::new(),
            kind_numbers: Vec::new(),
        })
    }

    /// Puts runs there that follow each other, all or none.
    fn write(
        &mut self,
        db: &mut Connection,
        records: &[Record],
        scribe: &mut Scribe,
    ) -> rusqlite::Result<()> {
        let Some(first) = records.first().map(|record| record.index) else { return Ok(()) };
        let rows: Vec<Row> = records.iter().map(|record| scribe.row(record)).collect();
        let batch = db.transaction()?;
        self.put(&batch, first, rows.into_iter(), &scribe.glossary)?;
        batch.commit()
    }

    /// Puts rows there that follow each other.
    fn put(
        &mut self,
        db: &Connection,
        first: u64,
        rows: impl Iterator<Item = Row>,
        glossary: &Glossary,
    ) -> rusqlite::Result<u64> {
        self.learn(db, glossary)?;
        let mut runs = db.prepare_cached(
            "INSERT INTO runs VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
        )?;
        let mut violations =
            db.prepare_cached("INSERT INTO violations VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?;
        let word = |number: u32| self.word_numbers.get(number as usize);
        let mut next = first as i64;
        for row in rows {
            let injected = &row.injected;
            runs.execute(params![
                self.campaign,
                next,
                word(row.end),
                row.calm,
                row.over_budget,
                row.steps as i64,
                row.deliveries as i64,
                row.commits,
                row.completed,
                injected.faults,
                injected.dropped,
                injected.held,
                injected.mutated,
                injected.accepted,
                injected.refused,
                injected.garbage,
                row.marks as i64,
                row.fingerprint as i64,
            ])?;
            for (nth, found) in row.found.iter().enumerate() {
                violations.execute(params![
                    self.campaign,
                    next,
                    nth as i64,
                    word(found.property),
                    word(found.rule),
                    found.step as i64,
                    self.kind_numbers.get(found.kind as usize),
                    found.bug.and_then(word),
                    found.outside.and_then(word),
                ])?;
            }
            next += 1;
        }
        Ok(next as u64 - first)
    }

    /// Finds the numbers that the file has for words and kinds; gives numbers to those that are new, in their order.
    fn learn(&mut self, db: &Connection, glossary: &Glossary) -> rusqlite::Result<()> {
        for word in &glossary.words[self.word_numbers.len()..] {
            let number = match self.words.get(word) {
                Some(&number) => number,
                None => {
                    db.execute("INSERT INTO names (name) VALUES (?1)", [word])?;
                    db.last_insert_rowid()
                }
            };
            self.words.insert(word.clone(), number);
            self.word_numbers.push(number);
        }
        for Kind { text, run, detail, scenario } in &glossary.kinds[self.kind_numbers.len()..] {
            let next = self.kinds.len() as i64 + 1;
            let number = *self.kinds.entry(text.clone()).or_insert(next);
            if number == next {
                db.execute(
                    "INSERT INTO signatures VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                    params![self.campaign, number, text, *run as i64, detail, scenario],
                )?;
            }
            self.kind_numbers.push(number);
        }
        Ok(())
    }
}
