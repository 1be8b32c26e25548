//! What a store promises: a campaign that stops anywhere goes on there, and no run is lost or counted twice.

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

use rusqlite::types::Value;
use turncoat_core::scenario::Seed;
use turncoat_lab::campaign::Campaign;
use turncoat_lab::covered::Covered;
use turncoat_lab::store::{Description, Place, ResumeError, Store, resume};
use turncoat_lab::summary::Summary;

use crate::campaigns::bench::{Bench, rare_liar};

pub(crate) fn description(seed: u64) -> Description {
    Description {
        experiment: "fuzz".to_owned(),
        variant: "toy".to_owned(),
        row: "rare liar".to_owned(),
        target: "any".to_owned(),
        protocol: "toy".to_owned(),
        strategy: "rare-liar".to_owned(),
        params: [("c".to_owned(), "1".to_owned())].into(),
        base: "schema = 1".to_owned(),
        seed: Seed(seed),
        learns: false,
        wanted: Some(1003),
        marks: vec!["second-slot".to_owned()],
    }
}

/// Runs what is left of a campaign, until `most` runs are merged.
pub(crate) fn go_on(path: &Path, bench: &Bench, campaign: &Campaign<'_>, most: u64) -> Summary {
    let mut store = Store::open(path).expect("a store");
    let place = store.place(&description(campaign.seed.0)).expect("a place");
    let (so_far, _) = resume(&store, place, campaign, &mut |_| ()).expect("it goes on");
    assert_eq!(so_far.runs, place.stored);
    bench.stop.store(false, Ordering::Relaxed);
    let writer = store.writer(place, (bench.entry.mutations)());
    let summary = campaign
        .go_on(so_far, Some(&mut |record| writer.keep(record)), &mut |so_far| {
            bench.stop.store(so_far.runs >= most, Ordering::Relaxed);
        })
        .expect("it runs");
    writer.finish().expect("all is written");
    assert_eq!(summary.covered.runs, summary.runs - place.stored, "a store does not know what was tried");
    summary
}

/// What does not depend on whether runs were executed or read from a store.
fn stored(summary: &Summary) -> Summary {
    Summary { covered: Covered::default(), ..summary.clone() }
}

/// All rows of a table.
pub(crate) fn rows(path: &Path, table: &str) -> Vec<Vec<Value>> {
    let store = Store::open_read(path).expect("a store");
    let mut statement = store.db().prepare(&format!("SELECT * FROM {table}")).expect("a table");
    let columns = statement.column_count();
    let row = |row: &rusqlite::Row<'_>| (0..columns).map(|i| row.get(i)).collect::<Result<Vec<Value>, _>>();
    statement.query_map([], row).expect("rows").collect::<Result<_, _>>().expect("rows")
}

#[test]
fn a_campaign_that_stops_now_and_then_is_the_campaign_that_does_not() {
    let bench = Bench::new();
    let folder = tempfile::tempdir().expect("a folder");
    let (whole, parts) = (folder.path().join("whole.db"), folder.path().join("parts.db"));
    let campaign = Campaign { jobs: 2, ..bench.campaign(&rare_liar) };
    let uninterrupted = go_on(&whole, &bench, &campaign, u64::MAX);
    assert_eq!(uninterrupted, campaign.run(&mut |_| {}).expect("it runs"), "keeping runs changes nothing");
    for most in [1, 200, 201, 700] {
        go_on(&parts, &bench, &campaign, most);
    }
    assert_eq!(stored(&go_on(&parts, &bench, &campaign, u64::MAX)), stored(&uninterrupted));
    for table in ["names", "campaigns", "runs", "violations", "signatures"] {
        assert_eq!(rows(&whole, table), rows(&parts, table), "{table}");
    }
    assert_eq!(rows(&whole, "runs").len(), 1003);
    assert_eq!(rows(&whole, "violations").len() as u64, uninterrupted.rules.values().sum::<u64>());
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2, "a store at rest is one file");
}

#[test]
fn campaigns_share_a_file() {
    let bench = Bench::new();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("two.db");
    let first = Campaign { runs: Some(50), ..bench.campaign(&rare_liar) };
    let second = Campaign { seed: Seed(8), runs: Some(70), ..bench.campaign(&rare_liar) };
    let one = go_on(&path, &bench, &first, u64::MAX);
    let two = go_on(&path, &bench, &second, u64::MAX);
    assert_ne!(one.fingerprint, two.fingerprint);
    assert_eq!(rows(&path, "runs").len(), 120);
    assert_eq!(stored(&go_on(&path, &bench, &first, u64::MAX)), stored(&one), "nothing is left to do");
    assert_eq!(rows(&path, "runs").len(), 120);
}

#[test]
fn a_run_that_is_not_what_was_stored_stops_the_campaign() {
    let bench = Bench::new();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("changed.db");
    let campaign = Campaign { runs: Some(50), ..bench.campaign(&rare_liar) };
    go_on(&path, &bench, &campaign, u64::MAX);
    let mut store = Store::open(&path).expect("a store");
    store.db().execute("UPDATE runs SET fingerprint = 1 WHERE run = 49", []).expect("a change");
    let place = store.place(&description(campaign.seed.0)).expect("a place");
    assert_eq!(place, Place { id: 1, stored: 50 });
    let error = resume(&store, place, &campaign, &mut |_| ()).unwrap_err();
    assert!(matches!(error, ResumeError::Campaign(_)));
    assert!(error.to_string().starts_with("run 49 is not the run that was stored"), "{error}");
}

/// What somebody reads who opens this file.
fn error(path: &Path) -> String {
    Store::open(path).map(drop).unwrap_err().to_string()
}

#[test]
fn two_processes_do_not_write_one_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("held.db");
    let held = Store::open(&path).expect("a store");
    assert!(error(&path).contains("another process is using it"), "{}", error(&path));
    let reading = Store::open_read(&path).map(drop).unwrap_err().to_string();
    assert!(reading.contains("another process is using it"), "{reading}");
    drop(held);
    Store::open(&path).expect("it is free again");
}

/// SQLite goes on writing to a file that has no name any more.
#[test]
fn a_store_that_is_deleted_while_a_campaign_runs_is_an_error() {
    let bench = Bench::new();
    let campaign = Campaign { runs: Some(50), ..bench.campaign(&rare_liar) };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("it.db");
    for replaced in [false, true] {
        let mut store = Store::open(&path).expect("a store");
        let place = store.place(&description(campaign.seed.0)).expect("a place");
        let writer = store.writer(place, (bench.entry.mutations)());
        fs::remove_file(&path).expect("it is there");
        if replaced {
            fs::write(&path, "something else").expect("a file");
        }
        campaign
            .go_on(Summary::default(), Some(&mut |record| writer.keep(record)), &mut |_| ())
            .expect("it runs");
        let error = writer.finish().map(drop).unwrap_err().to_string();
        assert!(error.contains("it.db: it was deleted, moved or replaced"), "{error}");
        fs::read_dir(folder.path())
            .expect("a folder")
            .for_each(|file| fs::remove_file(file.expect("a file").path()).expect("it is there"));
    }
}

#[test]
fn a_folder_is_no_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let reading = Store::open_read(folder.path()).map(drop).unwrap_err().to_string();
    for error in [error(folder.path()), reading] {
        assert!(error.ends_with("it is a folder: give a file"), "{error}");
    }
}

#[test]
fn a_file_of_somebody_else_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = folder.path().join("notes.txt");
    fs::write(&text, "not a database, but long enough to be one: ".repeat(100)).expect("a file");
    let before = fs::read(&text).expect("a file");
    assert!(error(&text).contains("it is not a database"), "{}", error(&text));
    assert_eq!(fs::read(&text).expect("a file"), before);

    let foreign = folder.path().join("foreign.db");
    let db = rusqlite::Connection::open(&foreign).expect("a database");
    db.execute_batch("CREATE TABLE birds (name TEXT)").expect("a table");
    drop(db);
    let before = fs::read(&foreign).expect("a file");
    assert!(error(&foreign).contains("the database of another program"), "{}", error(&foreign));
    assert_eq!(fs::read(&foreign).expect("a file"), before);
    assert!(error(folder.path()).contains("it is a folder"), "{}", error(folder.path()));
    assert!(error(&folder.path().join("no/such.db")).contains("folder does not exist"));
}

#[test]
fn a_store_of_a_newer_turncoat_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("newer.db");
    let store = Store::open(&path).expect("a store");
    store.db().pragma_update(None, "user_version", 99).expect("a version");
    drop(store);
    assert!(error(&path).contains("a newer turncoat wrote it: its version is 99"), "{}", error(&path));
}

#[test]
fn a_store_that_was_cut_off_says_so() {
    let bench = Bench::new();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("cut.db");
    let campaign = bench.campaign(&rare_liar);
    go_on(&path, &bench, &campaign, u64::MAX);
    let bytes = fs::read(&path).expect("a file");
    for left in [100, 5000, bytes.len() / 2, bytes.len() - 4096] {
        fs::write(&path, &bytes[..left]).expect("a file");
        let read = || -> Result<(), ResumeError> {
            let mut store = Store::open(&path)?;
            let place = store.place(&description(7))?;
            resume(&store, place, &campaign, &mut |_| ()).map(drop)
        };
        let error = read().unwrap_err().to_string();
        assert!(error.contains("it is damaged") || error.contains("it is not a database"), "{left}: {error}");
    }
}
