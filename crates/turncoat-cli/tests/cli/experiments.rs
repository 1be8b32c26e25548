//! Tables of papers, run again.

use std::fmt::Write;
use std::{env, fs};

use serde_json::Value;

use super::bad_input::refused_args;
use super::{Folder, turncoat};

#[test]
fn a_table_has_the_published_numbers_beside_ours() {
    let ran = turncoat("experiment byzzfuzz-table-2 --runs 4");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.starts_with("pbft-java-full, violating runs of 4:"), "{}", ran.out);
    let row = ran.out.lines().find(|line| line.starts_with("| c=2 d=2 any |")).expect("a row");
    let published = |row: &&str| row.starts_with("| c=2 d=2 any |") && row.contains(" / 33.0 [26.9, 39.8]");
    assert!(ran.out.lines().any(|row| published(&row)), "{}", ran.out);
    // Of 14 times 200 published runs 467 do not terminate.
    let pooled =
        |row: &str| row.starts_with("| the 14 rows of byzzfuzz together | ") && row.contains(" / 16.68 [");
    assert!(ran.out.lines().any(pooled), "{}", ran.out);
    assert!(row.split('|').count() == 15, "{row}");
    // The correct protocol is beside it, and clean.
    let (_, control) = ran.out.split_once("pbft, the control").expect("a control");
    let rows: Vec<&str> = control.lines().filter(|line| line.starts_with("| c=")).collect();
    assert_eq!(rows.len(), 14);
    assert!(!control.contains("the bug behind them"), "{control}");
    assert!(rows.iter().all(|row| row.contains("| 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 |")), "{control}");
}

#[test]
fn a_table_does_not_depend_on_threads() {
    let table = |jobs: u8| turncoat(&format!("experiment byzzbench-table-1 --runs 10 --json -j {jobs}")).out;
    assert_eq!(table(1), table(2));
}

#[test]
fn a_table_about_liveness_has_a_line_for_each_method() {
    let ran = turncoat("experiment liveness-table-4 --runs 10");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out.starts_with("hotstuff-two-phase-chained-sticky, 10 runs, ours / published:"),
        "{}",
        ran.out
    );
    for (line, published) in [
        ("| 10 rounds, temperature | 5 |", "/ 0.23 |"),
        ("| 20 rounds, temperature | 15 |", "/ 0.17 |"),
        ("| 20 rounds, lasso | - |", "/ 2.04 |"),
        ("| 20 rounds, time bound |", "/ 78.8 |"),
        ("| 20 rounds, time bound, all decide |", "|"),
    ] {
        let found = ran.out.lines().find(|row| row.starts_with(line)).expect(line);
        assert!(found.contains(published), "{found}");
    }
    // What was published is about the first protocol; the correct one is never suspect.
    let (_, control) = ran.out.split_once("hotstuff-chained, the control").expect("a control");
    let rows: Vec<&str> = control.lines().filter(|line| line.starts_with("| 10 rounds |")).collect();
    assert_eq!(rows.len(), 1, "{control}");
    assert!(
        rows[0].ends_with("| 0 | 0 | 0 | 0 | 0 / 0 | 0 / 0 | 0 / 0 | 0 / 0 | 0 / 0 | 0 | 0 |"),
        "{control}"
    );
    refused_args("experiment liveness-table-4 --runs 10 --db table.db", &["leave out `--db`"]);
}

#[test]
fn a_table_about_liveness_is_the_same_on_any_number_of_threads() {
    let table = |jobs: u8| -> Vec<Value> {
        let lines = turncoat(&format!("experiment liveness-table-4 --runs 10 --json -j {jobs}")).out;
        let read = |line: &str| -> Value {
            let mut check: Value = serde_json::from_str(line).expect("JSON");
            for real_time in ["seconds", "lasso_seconds"] {
                assert!(check.as_object_mut().expect("a check").remove(real_time).is_some(), "{line}");
            }
            check
        };
        lines.lines().map(read).collect()
    };
    let one = table(1);
    assert_eq!((one.len(), &one), (20, &table(2)));
}

#[test]
fn experiments_are_listed_by_name() {
    let ran = turncoat("list experiments");
    assert!(ran.out.contains("byzzfuzz-table-2") && ran.out.contains("byzzbench-table-1"), "{}", ran.out);
    let json = turncoat("list experiments --json").out;
    assert_eq!(turncoat("experiment list --json").out, json);
    refused_args(
        "experiment byzzfuzz-table-9",
        &["no experiment `byzzfuzz-table-9`", "did you mean `byzzfuzz-table-2`?"],
    );
    refused_args("experiment byzzfuzz-table-2 --runs 0", &["--runs"]);
    refused_args("experiment none-such.toml", &["none-such.toml"]);
    refused_args(
        "experiment byzzfuzz-table-2 --row c=1,d=1",
        &["has no row `c=1,d=1`", "did you mean `c=0 d=1`?"],
    );
}

/// A row alone counts what it counts among the others.
#[test]
fn one_row_of_an_experiment() {
    let all = turncoat("experiment byzzbench-table-1 --runs 20 --no-bugs").out;
    let alone = ["experiment", "byzzbench-table-1", "--runs", "20", "--no-bugs", "--row", "c=1 d=1"];
    let one = Folder::new().run(&alone).out;
    let counts = |out: &str| out.lines().find(|line| line.starts_with("| c=1 d=1 |")).map(str::to_owned);
    assert_eq!(counts(&one), counts(&all));
    assert!(counts(&one).is_some() && !one.contains("| c=1 d=2 |"), "{one}");
}

/// What 30 runs of each cell come to, as a file that people can read. `TURNCOAT_BLESS=1` writes it anew.
fn pinned(experiment: &str) {
    let ran = turncoat(&format!("experiment {experiment} --runs 30 --json"));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let mut table = String::new();
    for line in ran.out.lines() {
        let cell: Value = serde_json::from_str(line).expect("JSON");
        let text = |key: &str| cell[key].as_str().expect("text").to_owned();
        let counts = |key: &str| {
            let counts = cell[key].as_object().expect("counts").iter();
            let counts = counts.filter(|(_, count)| count.as_u64() != Some(0));
            counts.map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
        };
        let (violating, bugs) = (counts("violating"), counts("bugs"));
        let _ = writeln!(table, "{} / {}: {violating} / {bugs}", text("variant"), text("row"));
    }
    let path = format!("{}/tests/cli/{experiment}.txt", env!("CARGO_MANIFEST_DIR"));
    if env::var_os("TURNCOAT_BLESS").is_some() {
        fs::write(&path, &table).expect("a file");
    }
    assert_eq!(fs::read_to_string(&path).unwrap_or_default(), table, "TURNCOAT_BLESS=1 writes {path}");
}

#[test]
fn the_counts_of_byzzfuzz_table_3_are_pinned() {
    pinned("byzzfuzz-table-3");
}

#[test]
fn the_counts_of_byzzbench_table_1_are_pinned() {
    pinned("byzzbench-table-1");
}

#[test]
fn a_table_in_a_store_is_printed_again_without_a_run() {
    let folder = Folder::new();
    let first = folder.turncoat("experiment byzzbench-table-1 --runs 10 --db table.db");
    assert_eq!(first.code, 0, "{}", first.err);
    let again = folder.turncoat("experiment byzzbench-table-1 --runs 10 --db table.db --resume");
    assert_eq!(again.out, first.out);
    let refused = folder.turncoat("experiment byzzbench-table-1 --runs 10 --db table.db");
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("continue with --resume"), "{}", refused.err);
}

#[test]
fn a_table_of_ones_own_is_a_file() {
    let folder = Folder::new();
    let table = r#"
        title = "Two flags"
        runs = 30
        published-runs = 30
        columns = [{ name = "A", of = "agreement" }]
        [[variants]]
        name = "pbft"
        scenario = { protocol = { name = "pbft" } }
        [[rows]]
        name = "c=1"
        strategy = "byzzfuzz"
        set = { c = 1 }
    "#;
    folder.write("own.toml", table);
    let ran = folder.turncoat("experiment own.toml");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("pbft, violating runs of 30"), "{}", ran.out);
    folder.write("own.toml", &table.replace("strategy", "stratgy"));
    let refused = folder.turncoat("experiment own.toml");
    assert!(
        refused.code == 2 && refused.err.contains("own.toml") && refused.err.contains("stratgy"),
        "{}",
        refused.err
    );
}
