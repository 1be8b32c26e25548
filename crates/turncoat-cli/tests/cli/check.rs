//! What an author asks before fuzzing. The toys that break each check are in the tests of the laboratory.

use super::bad_input::refused_args;
use super::{Folder, turncoat};

const CHECKS: [&str; 7] = ["determinism", "messages", "states", "mutations", "progress", "nonsense", "flags"];

#[test]
fn the_built_in_protocols_pass() {
    for protocol in ["pbft", "pbft-classic", "pbft-read-only"] {
        let ran = turncoat(&format!("check {protocol} --runs 25"));
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        for check in CHECKS {
            let ok = |line: &str| line.starts_with(check) && line.contains(" ok ");
            assert!(ran.out.lines().any(ok), "no {check} in {}", ran.out);
        }
        assert_eq!(ran.out.lines().last(), Some(format!("{protocol}: 7 checks, 0 failed").as_str()));
    }
}

/// pbft-java crashes on a VIEW-CHANGE with a large h, and orders a request twice when timers fire early.
#[test]
fn a_protocol_with_bugs_fails_and_is_told_what_to_do() {
    let folder = Folder::new();
    let ran = folder.turncoat("check pbft-java --runs 100 --junit checks.xml");
    assert_eq!(ran.code, 1, "{}", ran.err);
    for words in ["nonsense     FAILED", "crashed: no room for the", "after `view-change", "to do: "] {
        assert!(ran.out.contains(words), "no {words} in {}", ran.out);
    }
    assert!(folder.read("checks.xml").contains(r#"name="nonsense""#));
}

#[test]
fn answers_are_lines_in_json() {
    let ran = turncoat("check pbft --runs 20 --requests 3 --json");
    let lines: Vec<serde_json::Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let names: Vec<_> = lines.iter().filter_map(|line| line["name"].as_str()).collect();
    assert_eq!(names, CHECKS, "{}", ran.err);
    assert!(lines[..7].iter().all(|line| line["type"] == "answer" && line["ok"] == true), "{}", ran.out);
    // Three requests do not make a checkpoint.
    assert!(lines[1]["notes"][0].as_str().is_some_and(|note| note.contains("`checkpoint`")), "{}", ran.out);
    assert_eq!((&lines[7]["type"], &lines[7]["failed"]), (&"check".into(), &0.into()));
}

/// The same options, the same answers.
#[test]
fn a_check_repeats_itself() {
    let ran = || turncoat("check pbft --runs 20 --seed 3").out;
    assert_eq!(ran(), ran());
}

#[test]
fn mistakes_are_refused() {
    refused_args("check pbtf", &["did you mean `pbft`?"]);
    refused_args("check", &["no protocol", "turncoat fuzz pbft"]);
    refused_args("check pbft --runs 0", &["--runs"]);
    refused_args(
        "check pbft -n 1",
        &["pbft with 1 replica tolerates no fault: use n >= 4, or --over-budget"],
    );
    refused_args("check pbft -f 0", &["random needs a Byzantine replica, and f = 0: use f >= 1"]);
    refused_args("check pbft --junit nowhere/x.xml", &["nowhere"]);
}
