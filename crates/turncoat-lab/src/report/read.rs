//! From the rows of a store to counts, a row at a time: memory does not grow with the number of runs.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

use rusqlite::types::Type;
use rusqlite::{Connection, Row as SqlRow, Rows};
use turncoat_core::outcome::Property;

use super::Source;
use super::faults::{Applied, Faults};
use super::trials::Trials;
use crate::store::StoreError;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No such target.
    #[error("{0}, any, bug:ID")]
    NoTarget(String),
    /// No table has the row to compare the others with.
    #[error("no row `{name}`")]
    NoBaseline {
        /// The name.
        name: String,
        /// The rows that there are.
        rows: Vec<String>,
    },
    /// The page could not be made.
    #[error("cannot make the page: {0:#}")]
    Page(#[from] minijinja::Error),
}

/// A campaign as the store has it.
#[derive(Clone, Debug)]
pub(super) struct Campaign {
    pub(super) source: Source,
    pub(super) target: String,
    pub(super) protocol: String,
    pub(super) strategy: String,
    pub(super) params: BTreeMap<String, String>,
    pub(super) base: String,
    pub(super) learns: bool,
}

/// What is counted as success.
#[derive(Clone, Debug)]
pub(super) enum Target {
    Any,
    Property(String),
    Rule(String, String),
    Bug(String),
}

/// A violation of a run.
struct Violation {
    run: u64,
    property: i64,
    rule: i64,
    step: u64,
    signature: i64,
    bug: Option<i64>,
    outside: bool,
}

/// What the runs of a row come to.
pub(super) struct Tally {
    pub(super) runs: u64,
    pub(super) hits: u64,
    pub(super) properties: BTreeMap<String, u64>,
    pub(super) bugs: BTreeMap<String, u64>,
    /// Violations by campaign and signature.
    pub(super) signatures: BTreeMap<(i64, i64), u64>,
    pub(super) faults: Faults,
    pub(super) steps: u64,
    pub(super) seconds: f64,
    /// For work until the first hit.
    pub(super) trials: Trials,
    /// For counting: as long as a campaign that learns.
    pub(super) matched: Trials,
}

/// The words of the store by number.
pub(super) struct Names(BTreeMap<i64, String>);

impl Names {
    pub(super) fn read(store: &Connection) -> rusqlite::Result<Self> {
        let mut query = store.prepare("SELECT id, name FROM names")?;
        let names = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(Self(names.collect::<Result<_, _>>()?))
    }

    fn get(&self, id: i64) -> &str {
        self.0.get(&id).map_or("?", String::as_str)
    }
}

impl Campaign {
    /// All campaigns that have runs.
    pub(super) fn all(store: &Connection) -> rusqlite::Result<Vec<Self>> {
        let mut query = store.prepare(
            "SELECT id, key, seed, experiment, variant, row, wanted, version, target, protocol, strategy, \
             params, base, learns, (SELECT coalesce(max(run) + 1, 0) FROM runs WHERE campaign = id), \
             (SELECT date(max(ended), 'unixepoch') FROM spells WHERE campaign = id) FROM campaigns ORDER BY id",
        )?;
        let mut rows = query.query([])?;
        let mut campaigns = Vec::new();
        while let Some(row) = rows.next()? {
            let mut campaign = Self::of(row)?;
            if campaign.source.runs > 0 {
                campaign.source.commands = commands(store, campaign.source.id)?;
                campaigns.push(campaign);
            }
        }
        Ok(campaigns)
    }

    fn of(row: &SqlRow<'_>) -> rusqlite::Result<Self> {
        let id = row.get(0)?;
        let params: String = row.get(11)?;
        Ok(Self {
            source: Source {
                id,
                key: row.get(1)?,
                seed: row.get(2)?,
                experiment: row.get(3)?,
                variant: row.get(4)?,
                row: row.get(5)?,
                wanted: row.get::<_, Option<i64>>(6)?.map(|_| whole(row, 6)).transpose()?,
                version: row.get(7)?,
                runs: whole(row, 14)?,
                date: row.get(15)?,
                commands: Vec::new(),
            },
            target: row.get(8)?,
            protocol: row.get(9)?,
            strategy: row.get(10)?,
            params: serde_json::from_str(&params).map_err(|error| bad(11, error))?,
            base: row.get(12)?,
            learns: row.get(13)?,
        })
    }
}

/// The commands that stored runs of a campaign, in their order.
fn commands(store: &Connection, campaign: i64) -> rusqlite::Result<Vec<String>> {
    let mut query = store.prepare_cached(
        "SELECT command FROM spells WHERE campaign = ?1 AND command IS NOT NULL GROUP BY command ORDER BY min(first)",
    )?;
    query.query_map([campaign], |row| row.get(0))?.collect()
}

impl Target {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text == "any" {
            return Ok(Self::Any);
        }
        if let Some(id) = text.strip_prefix("bug:") {
            return Ok(Self::Bug(id.to_owned()));
        }
        let (property, rule) = text.split_once(':').map_or((text, None), |(p, rule)| (p, Some(rule)));
        let property = property.parse::<Property>()?.name().to_owned();
        Ok(match rule {
            None => Self::Property(property),
            Some(rule) => Self::Rule(property, rule.to_owned()),
        })
    }

    fn is(&self, violation: &Violation, names: &Names) -> bool {
        match self {
            Self::Any => true,
            Self::Property(name) => names.get(violation.property) == name,
            Self::Rule(name, rule) => {
                names.get(violation.property) == name && names.get(violation.rule) == rule
            }
            Self::Bug(id) => violation.bug.is_some_and(|bug| names.get(bug) == id),
        }
    }
}

impl Tally {
    pub(super) fn new(trials: Trials, matched: Trials) -> Self {
        Self {
            runs: 0,
            hits: 0,
            properties: BTreeMap::new(),
            bugs: BTreeMap::new(),
            signatures: BTreeMap::new(),
            faults: Faults::default(),
            steps: 0,
            seconds: 0.0,
            trials,
            matched,
        }
    }

    /// Adds the runs of a campaign.
    pub(super) fn add(
        &mut self,
        store: &Connection,
        names: &Names,
        target: &Target,
        campaign: i64,
    ) -> rusqlite::Result<()> {
        let spent = "SELECT coalesce(sum(seconds), 0.0) FROM spells WHERE campaign = ?1";
        self.seconds += store.query_row(spent, [campaign], |row| row.get::<_, f64>(0))?;
        let mut violations = store.prepare_cached(
            "SELECT run, property, rule, step, signature, bug, outside FROM violations WHERE campaign = ?1 \
             ORDER BY run, nth",
        )?;
        let mut violations = violations.query([campaign])?;
        let mut next = Violation::next(&mut violations)?;
        let mut runs = store.prepare_cached(
            "SELECT run, steps, faults, dropped, held, mutated, accepted FROM runs WHERE campaign = ?1 \
             ORDER BY run",
        )?;
        let mut runs = runs.query([campaign])?;
        self.trials.campaign();
        self.matched.campaign();
        while let Some(row) = runs.next()? {
            let (run, steps) = (whole(row, 0)?, whole(row, 1)?);
            let mut of_run = Vec::new();
            while let Some(violation) = next.take_if(|violation| violation.run == run) {
                *self.signatures.entry((campaign, violation.signature)).or_default() += 1;
                of_run.push(violation);
                next = Violation::next(&mut violations)?;
            }
            let hit = of_run.iter().filter(|violation| target.is(violation, names));
            let hit = hit.map(|violation| violation.step).min();
            self.runs += 1;
            self.hits += u64::from(hit.is_some());
            self.steps += steps;
            self.trials.run(steps, hit);
            self.matched.run(steps, hit);
            count(&mut self.properties, of_run.iter().map(|violation| violation.words(names)));
            let bugs = of_run.iter().filter_map(|violation| violation.bug);
            count(&mut self.bugs, bugs.map(|bug| names.get(bug).to_owned()));
            self.faults.add(Applied {
                faults: whole(row, 2)?,
                dropped: whole(row, 3)?,
                held: whole(row, 4)?,
                mutated: whole(row, 5)?,
                accepted: whole(row, 6)?,
            });
        }
        Ok(())
    }
}

impl Violation {
    fn next(rows: &mut Rows<'_>) -> rusqlite::Result<Option<Self>> {
        let Some(row) = rows.next()? else { return Ok(None) };
        Ok(Some(Self {
            run: whole(row, 0)?,
            property: row.get(1)?,
            rule: row.get(2)?,
            step: whole(row, 3)?,
            signature: row.get(4)?,
            bug: row.get(5)?,
            outside: row.get::<_, Option<i64>>(6)?.is_some(),
        }))
    }

    /// The property; apart if an assumption of the protocol was broken before.
    fn words(&self, names: &Names) -> String {
        let property = names.get(self.property);
        if self.outside { format!("{property} (outside)") } else { property.to_owned() }
    }
}

/// Counts each name once per run.
fn count(counts: &mut BTreeMap<String, u64>, names: impl Iterator<Item = String>) {
    for name in names.collect::<BTreeSet<_>>() {
        *counts.entry(name).or_default() += 1;
    }
}

/// A number that is never negative.
pub(super) fn whole(row: &SqlRow<'_>, index: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(index)?;
    number.try_into().map_err(|_| rusqlite::Error::IntegralValueOutOfRange(index, number))
}

/// A text of a column of the campaigns that makes no sense.
pub(super) fn bad(column: usize, error: impl Into<Box<dyn Error + Send + Sync>>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into())
}
