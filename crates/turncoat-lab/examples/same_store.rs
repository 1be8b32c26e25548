//! Whether two stores hold the same campaigns, row for row. Only who worked on them for how long may differ.
//!
//!     cargo run -p turncoat-lab --features store --example same_store -- ONE.db OTHER.db

use std::env;
use std::path::Path;
use std::process::ExitCode;

use rusqlite::types::Value;
use turncoat_lab::campaign::BoxError;
use turncoat_lab::store::Store;

fn main() -> ExitCode {
    let paths: Vec<String> = env::args().skip(1).collect();
    let [one, other] = paths.as_slice() else {
        eprintln!("expected two files");
        return ExitCode::from(2);
    };
    match differ(Path::new(one), Path::new(other)) {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(difference)) => {
            eprintln!("{difference}");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// The first difference.
fn differ(one: &Path, other: &Path) -> Result<Option<String>, BoxError> {
    let (one, other) = (Store::open_read(one)?, Store::open_read(other)?);
    for table in ["names", "campaigns", "runs", "violations", "signatures"] {
        let all = format!("SELECT * FROM {table}");
        let (mut one, mut other) = (one.db().prepare(&all)?, other.db().prepare(&all)?);
        let columns = one.column_count();
        let (mut ours, mut theirs) = (one.query([])?, other.query([])?);
        let values = |row: Option<&rusqlite::Row<'_>>| -> rusqlite::Result<Vec<Value>> {
            row.map_or(Ok(Vec::new()), |row| (0..columns).map(|i| row.get(i)).collect())
        };
        loop {
            let (a, b) = (values(ours.next()?)?, values(theirs.next()?)?);
            if a != b {
                return Ok(Some(format!("{table}: {a:?} and {b:?}")));
            }
            if a.is_empty() {
                break;
            }
        }
    }
    Ok(None)
}
