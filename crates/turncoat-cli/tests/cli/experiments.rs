//! Tables of papers, run again.

use super::bad_input::refused_args;
use super::turncoat;

#[test]
fn a_table_has_the_published_numbers_beside_ours() {
    let ran = turncoat("experiment byzzfuzz-table-2 --runs 20");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.starts_with("pbft-java, violating runs of 20:"), "{}", ran.out);
    let row = ran.out.lines().find(|line| line.starts_with("| c=2 d=2 any |")).expect("a row");
    assert!(row.replace('!', "").ends_with("| T 66, V 3, I 0, A 3, any 69 |"), "{row}");
    // The correct protocol is beside it, and clean.
    let (_, control) = ran.out.split_once("pbft, the control").expect("a control");
    let rows: Vec<&str> = control.lines().filter(|line| line.starts_with("| c=")).collect();
    assert_eq!(rows.len(), 14);
    assert!(rows.iter().all(|row| row.contains("| 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 |")), "{control}");
}

#[test]
fn a_table_does_not_depend_on_threads() {
    let table = |jobs: u8| turncoat(&format!("experiment byzzbench-table-1 --runs 20 --json -j {jobs}")).out;
    assert_eq!(table(1), table(2));
}

#[test]
fn experiments_are_listed_by_name() {
    let ran = turncoat("list experiments");
    assert!(ran.out.contains("byzzfuzz-table-2") && ran.out.contains("byzzbench-table-1"), "{}", ran.out);
    refused_args(
        "experiment byzzfuzz-table-3",
        &["no experiment `byzzfuzz-table-3`", "did you mean `byzzfuzz-table-2`?"],
    );
    refused_args("experiment byzzfuzz-table-2 --runs 0", &["--runs"]);
}
