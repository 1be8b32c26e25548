//! The kinds of violations, each with a run that shows it.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension};
use serde::{Deserialize, Serialize};

use super::read::whole;
use crate::store::{Store, StoreError};

/// Violations that are of one kind: their signature is the same.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Kind {
    /// The signature.
    pub text: String,
    /// Violations of this kind in all campaigns of the table.
    pub count: u64,
    /// Campaigns that have it.
    pub campaigns: u64,
    /// The campaign that had it earliest, and the number of the kind there.
    pub campaign: i64,
    /// See `campaign`.
    pub id: i64,
    /// The row of that campaign.
    pub row: String,
    /// The first run there that shows it.
    pub run: u64,
    /// What the run showed.
    pub detail: String,
    /// The run as a scenario that replays.
    pub scenario: String,
}

/// The scenario of a kind of violations: the first run of its campaign that showed it, as TOML.
pub fn scenario(store: &Store, campaign: i64, id: i64) -> Result<Option<String>, StoreError> {
    let query = "SELECT scenario FROM signatures WHERE campaign = ?1 AND id = ?2";
    let found = store.db().query_row(query, [campaign, id], |row| row.get(0)).optional();
    found.map_err(|error| store.unreadable(&error))
}

/// The kinds of these campaigns, which are given with the names of their rows.
pub(super) fn read(
    store: &Connection,
    campaigns: &[(i64, &str)],
    counts: &BTreeMap<(i64, i64), u64>,
) -> rusqlite::Result<Vec<Kind>> {
    let mut kinds: BTreeMap<String, Kind> = BTreeMap::new();
    let mut query = store
        .prepare("SELECT id, text, run, detail, scenario FROM signatures WHERE campaign = ?1 ORDER BY id")?;
    for &(campaign, row) in campaigns {
        let mut rows = query.query([campaign])?;
        while let Some(sql) = rows.next()? {
            let (id, text, run): (i64, String, u64) = (sql.get(0)?, sql.get(1)?, whole(sql, 2)?);
            let count = counts.get(&(campaign, id)).copied().unwrap_or_default();
            let known = kinds.get(&text);
            let (before, times) = known.map_or((0, 0), |kind| (kind.count, kind.campaigns));
            if known.is_none_or(|kind| run < kind.run) {
                let (detail, scenario) = (sql.get(3)?, sql.get(4)?);
                let (row, text) = (row.to_owned(), text.clone());
                let kind = Kind { text, count, campaigns: 1, campaign, id, row, run, detail, scenario };
                kinds.insert(kind.text.clone(), kind);
            }
            if let Some(kind) = kinds.get_mut(&text) {
                (kind.count, kind.campaigns) = (before + count, times + 1);
            }
        }
    }
    let mut kinds: Vec<Kind> = kinds.into_values().collect();
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.count));
    Ok(kinds)
}
