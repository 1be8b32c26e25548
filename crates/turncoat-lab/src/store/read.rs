//! Runs, read back from the file.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::{Row, Rows};
use smallvec::SmallVec;
use turncoat_core::assume::Breach;
use turncoat_core::ids::Time;
use turncoat_core::outcome::{End, Injected, Outcome, Property, Violation};

use super::{Place, Store, StoreError};
use crate::campaign::Record;

impl Store {
    /// Gives the runs of a campaign to `each`, in their order. Words of violations, lies and virtual times are not stored.
    pub fn runs(&self, place: Place, each: &mut dyn FnMut(Record)) -> Result<(), StoreError> {
        self.read(place, each).map_err(|error| self.unreadable(&error))
    }

    fn read(&self, place: Place, each: &mut dyn FnMut(Record)) -> rusqlite::Result<()> {
        let names = self.names()?;
        let mut violations =
            self.db.prepare("SELECT * FROM violations WHERE campaign = ?1 ORDER BY run, nth")?;
        let mut violations = Violations { rows: violations.query([place.id])?, next: None, names: &names };
        violations.advance()?;
        let mut runs = self.db.prepare("SELECT * FROM runs WHERE campaign = ?1 ORDER BY run")?;
        let mut runs = runs.query([place.id])?;
        while let Some(row) = runs.next()? {
            let index: i64 = row.get("run")?;
            let (found, bugs) = violations.of(index)?;
            let outcome = outcome(row, found, &names)?;
            each(Record { index: index as u64, outcome, scenario: None, bugs, samples: Vec::new() });
        }
        Ok(())
    }

    /// The words of the store by number. There are a few dozen; an outcome holds words that live forever.
    fn names(&self) -> rusqlite::Result<BTreeMap<i64, &'static str>> {
        let mut statement = self.db.prepare("SELECT id, name FROM names")?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))?;
        rows.map(|row| row.map(|(id, name)| (id, &*name.leak()))).collect()
    }
}

/// The violations of a run, and the bugs that they show.
type Found = (SmallVec<[Violation; 1]>, Vec<Arc<str>>);

/// The violations of a campaign, run by run.
struct Violations<'a> {
    rows: Rows<'a>,
    next: Option<(i64, Violation, Option<Arc<str>>)>,
    names: &'a BTreeMap<i64, &'static str>,
}

impl Violations<'_> {
    fn advance(&mut self) -> rusqlite::Result<()> {
        self.next = match self.rows.next()? {
            None => None,
            Some(row) => {
                let violation = Violation {
                    property: word(self.names, row, "property")?.parse().unwrap_or(Property::Custom),
                    rule: word(self.names, row, "rule")?,
                    nodes: SmallVec::new(),
                    slot: None,
                    step: row.get::<_, i64>("step")? as u64,
                    detail: String::new(),
                    outside: word_if_any(self.names, row, "outside")?
                        .and_then(|name| name.parse().ok())
                        .map(|assumption| Box::new(Breach::stored(assumption))),
                };
                let bug = word_if_any(self.names, row, "bug")?.map(Arc::from);
                Some((row.get("run")?, violation, bug))
            }
        };
        Ok(())
    }

    fn of(&mut self, run: i64) -> rusqlite::Result<Found> {
        let (mut found, mut bugs) = (SmallVec::new(), Vec::new());
        while let Some((_, violation, bug)) = self.next.take_if(|(of, ..)| *of == run) {
            found.push(violation);
            bugs.extend(bug);
            self.advance()?;
        }
        Ok((found, bugs))
    }
}

/// The word whose number is in a column.
fn word(names: &BTreeMap<i64, &'static str>, row: &Row<'_>, column: &str) -> rusqlite::Result<&'static str> {
    let id: i64 = row.get(column)?;
    names.get(&id).copied().ok_or(rusqlite::Error::IntegralValueOutOfRange(0, id))
}

/// The same, where the column may be empty.
fn word_if_any(
    names: &BTreeMap<i64, &'static str>,
    row: &Row<'_>,
    column: &str,
) -> rusqlite::Result<Option<&'static str>> {
    let id: Option<i64> = row.get(column)?;
    id.map(|_| word(names, row, column)).transpose()
}

fn outcome(
    row: &Row<'_>,
    violations: SmallVec<[Violation; 1]>,
    names: &BTreeMap<i64, &'static str>,
) -> rusqlite::Result<Outcome> {
    let end = match word(names, row, "end")? {
        "goal" => End::Goal,
        "quiet" => End::Quiet,
        "stopped" => End::Stopped,
        limit => End::Limit(limit.trim_start_matches("limit on ")),
    };
    Ok(Outcome {
        violations,
        end,
        steps: row.get::<_, i64>("steps")? as u64,
        deliveries: row.get::<_, i64>("deliveries")? as u64,
        time: Time(0),
        completed: row.get("completed")?,
        commits: row.get("commits")?,
        calm: row.get("calm")?,
        over_budget: row.get("over_budget")?,
        breaches: SmallVec::new(),
        injected: Injected {
            faults: row.get("faults")?,
            dropped: row.get("dropped")?,
            lost: 0,
            held: row.get("held")?,
            mutated: row.get("mutated")?,
            accepted: row.get("accepted")?,
            refused: row.get("refused")?,
            garbage: row.get("garbage")?,
        },
        lies: SmallVec::new(),
        marks: row.get::<_, i64>("marks")? as u64,
        fingerprint: row.get::<_, i64>("fingerprint")? as u64,
        diverged: None,
    })
}
