//! The suite of known bugs.

use std::collections::BTreeSet;

use serde_json::Value;

use super::bad_input::refused;
use super::{Folder, turncoat};

/// p3 misses all that is said about the first request. As published, PBFT does not let it catch up before a checkpoint.
const ROW: &str = r#"
schema = 1
seed = 7

[bug]
title = "a replica that has missed a number cannot ask for it"
property = "termination"
rule = "bounded"
tier = 3
budget = "0/1/1"
source = "nobody"
control = ["pbft", { name = "pbft-classic", slot-fetch = true }]

[bug.hunt]
strategy = "byzzfuzz"
set = { c = 0, d = 1 }

[protocol]
name = "pbft-classic"

[workload]
goal = "committed"

[[adversary.faults]]
round = [1, 4]
to = ["p3"]
drop = true
"#;

/// A folder with a row that is right, and one in which `old` reads `new`.
fn with_another(old: &str, new: &str) -> Folder {
    assert!(ROW.contains(old), "{old}");
    let folder = Folder::new();
    folder.write("rows/pbft/right.toml", ROW);
    folder.write("rows/pbft/wrong.toml", &ROW.replace(old, new));
    folder.write("rows/README.md", "no row");
    folder
}

#[test]
fn rows_that_are_right_hold() {
    let folder = Folder::new();
    folder.write("rows/pbft/catch-up.toml", ROW);
    let ran = folder.turncoat("suite verify --dir rows");
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert_eq!(ran.out, "pbft/catch-up  ok\n1 of 1 known bug verified\n");
    let ran = folder.turncoat("suite verify --dir rows --json");
    assert!(ran.out.contains(r#""type":"row","id":"pbft/catch-up","ok":true,"wrong":[]"#), "{}", ran.out);
    assert_eq!((&ran.json()["rows"], &ran.json()["ok"]), (&1.into(), &1.into()));
}

#[test]
fn a_row_that_is_wrong_is_told_from_the_others() {
    let folder = with_another("\"pbft-classic\"\n\n[workload]", "\"pbft\"\n\n[workload]");
    let ran = folder.turncoat("suite verify --dir rows");
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let wrong = "the witness should violate termination (bounded), but violates nothing";
    assert_eq!(ran.out, format!("pbft/right  ok\npbft/wrong  {wrong}\n1 of 2 known bugs verified\n"));
    let ran = folder.turncoat("suite verify --dir rows --json");
    assert_eq!((ran.code, ran.out.contains(wrong)), (1, true), "{}", ran.out);
    assert_eq!(folder.turncoat("suite verify --dir rows pbft/right").code, 0);
    assert_eq!(folder.turncoat("suite verify --dir rows pbft/wrong").code, 1);
}

#[test]
fn a_control_that_has_the_bug_is_wrong() {
    let folder = with_another(", slot-fetch = true", "");
    let ran = folder.turncoat("suite verify --dir rows");
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let words =
        "pbft/wrong  the control pbft-classic should survive the witness: termination violated at step";
    assert!(ran.out.contains(words), "{}", ran.out);
}

#[test]
fn a_row_that_means_nothing_is_refused_with_its_file() {
    let all = ["suite", "verify", "--dir", "rows"];
    for (old, new, words) in [
        ("title", "titel", &["line 6", "titel"][..]),
        ("[bug]", "[bugs]", &["unknown field `bugs`"]),
        ("tier = 3", "tier = 9", &["`bug.tier` must be 1, 2 or 3"]),
        ("\"pbft\"", "\"pbtf\"", &["the control pbtf", "did you mean `pbft`?"]),
        ("slot-fetch", "slot-fitch", &["the control pbft-classic with slot-fitch = true", "slot-fitch"]),
        ("[\"p3\"]", "[\"p9\"]", &["the witness", "there is no p9"]),
    ] {
        refused(&with_another(old, new), &all, &[&["rows/pbft/wrong.toml"], words].concat());
    }
}

#[test]
fn one_name_stands_for_all_rows_of_a_protocol() {
    let ran = with_another("", "").turncoat("suite verify --dir rows pbft");
    assert!(ran.out.ends_with("2 of 2 known bugs verified\n"), "{}{}", ran.out, ran.err);
}

#[test]
fn a_suite_that_is_not_there_is_refused() {
    let folder = with_another("", "");
    let verify = ["suite", "verify", "--dir"];
    refused(&folder, &[&verify[..], &["nowhere"]].concat(), &["cannot read nowhere"]);
    let unknown = [&verify[..], &["rows", "pbft/rihgt"]].concat();
    refused(&folder, &unknown, &["no bug `pbft/rihgt`", "did you mean `pbft/right`?", "the folder rows"]);
    folder.write("empty/README.md", "no row");
    let ran = folder.turncoat("suite verify --dir empty");
    assert_eq!((ran.code, &ran.out[..]), (4, "0 of 0 known bugs verified\n"), "{}", ran.err);
}

#[test]
fn a_row_replays_as_a_file() {
    let folder = Folder::new();
    folder.write("row.toml", ROW);
    let ran = folder.turncoat("replay row.toml");
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.out.contains("termination violated"), "{}", ran.out);
}

/// The rows that come with the command. Whether they hold, `suite verify` says.
#[test]
fn known_bugs_can_be_hunted_and_replayed() {
    let list = turncoat("list bugs --json").json();
    // One of each protocol and property: `suite verify` runs the witnesses of all.
    let mut seen = BTreeSet::new();
    let sort = |bug: &&Value| seen.insert((bug["protocol"]["name"].to_string(), bug["property"].to_string()));
    for bug in list["bugs"].as_array().expect("a list").iter().filter(sort) {
        let id = bug["id"].as_str().expect("an id");
        let ran = turncoat(&format!("fuzz --runs 1 --no-shrink --bug {id}"));
        assert!(ran.code <= 1, "{id}: {}", ran.err);
        let ran = turncoat(&format!("replay --bug {id}"));
        let words = match bug["property"].as_str().expect("a property") {
            "crashed" => "a correct node crashed".to_owned(),
            "custom" => "invariant `".to_owned(),
            property => format!("{property} violated"),
        };
        assert!(ran.code == 1 && ran.out.contains(&words), "{id}: {}", ran.out);
    }
}

/// Every row that comes with the command holds, and each needs all its flags together: without them it does not.
#[test]
fn the_suite_holds_and_fails_when_a_flag_is_turned_off() {
    let folder = Folder::new();
    let ran = folder.turncoat("suite verify --json");
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let rows = ran.json()["rows"].as_u64().unwrap();
    assert!(rows >= 32 && ran.json()["ok"] == rows);

    let suite = concat!(env!("CARGO_MANIFEST_DIR"), "/../../suite");
    let row = std::fs::read_to_string(format!("{suite}/pbft-java/figure-2.toml")).unwrap();
    for (flags, code) in [
        (r#"["slot-ignores-digest", "exec-out-of-order"]"#, 0),
        (r#"["exec-out-of-order"]"#, 1),
        (r#"["slot-ignores-digest"]"#, 1),
        ("[]", 1),
    ] {
        let old = r#"flags = ["slot-ignores-digest", "exec-out-of-order"]"#;
        assert!(row.contains(old));
        folder.write("rows/pbft-java/figure-2.toml", &row.replace(old, &format!("flags = {flags}")));
        let ran = folder.turncoat("suite verify --dir rows");
        assert_eq!(ran.code, code, "{flags}: {}{}", ran.out, ran.err);
        assert!(code == 0 || ran.out.contains("should violate agreement"), "{}", ran.out);
    }
}

#[test]
fn a_hunt_says_after_how_many_runs_each_strategy_finds_a_bug() {
    let folder = Folder::new();
    let ran = folder.turncoat("suite hunt pbft-java/figure-2 --runs 300 --json");
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert_eq!(ran.json()["found"]["byzzfuzz c=2 d=2"], "265", "{}", ran.out);
    let ran = folder.turncoat("suite hunt pbft-java/figure-2 --runs 1");
    assert!(ran.out.contains("| `pbft-java/figure-2` | agreement | - |"), "{}", ran.out);
}
