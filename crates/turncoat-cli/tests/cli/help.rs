//! Help and lists.

use super::turncoat;

#[test]
fn without_arguments_it_prints_its_help() {
    let ran = turncoat("");
    assert_eq!(ran.code, 0);
    for word in [
        "fuzz",
        "replay",
        "explain",
        "list",
        "run",
        "corpus",
        "suite",
        "experiment",
        "report",
        "compare",
        "speed",
        "Exit codes",
    ] {
        assert!(ran.out.contains(word), "{}", ran.out);
    }
}

#[test]
fn every_command_has_help_with_an_example() {
    for command in [
        "new",
        "list",
        "check",
        "run",
        "fuzz",
        "replay",
        "explain",
        "lasso",
        "shrink",
        "tune",
        "suite",
        "suite verify",
        "suite hunt",
        "shrink",
        "corpus",
        "corpus run",
        "corpus add",
        "corpus list",
        "corpus prune",
        "experiment",
        "report",
        "compare",
        "speed",
    ] {
        let ran = turncoat(&format!("{command} --help"));
        assert_eq!(ran.code, 0);
        assert!(ran.out.contains(&format!("Example: turncoat {command}")), "{}", ran.out);
        assert!(ran.out.lines().all(|line| line.chars().count() <= 110), "{}", ran.out);
    }
}

#[test]
fn the_overview_lists_all_there_is() {
    let ran = turncoat("list");
    assert_eq!(ran.code, 0);
    for word in ["pbft", "byzzfuzz", "c=1", "timed", "client-agreement"] {
        assert!(ran.out.contains(word), "no {word} in {}", ran.out);
    }
}

#[test]
fn lists_are_objects_in_json() {
    let overview = turncoat("list --json").json();
    for what in ["protocols", "strategies", "schedulers", "checkers"] {
        assert!(overview[what].as_array().is_some_and(|list| list.len() > 1), "{what}: {overview}");
    }
    let mutations = turncoat("list mutations pbft --json").json();
    let rows = mutations["mutations"].as_array().expect("a list");
    assert!(rows.iter().any(|row| row["name"] == "pre-prepare.omit" && row["scope"] == "small"));
    assert!(turncoat("list flags pbft --json").json()["flags"].is_array());
}

#[test]
fn seeds_are_read_in_decimal_and_in_hexadecimal() {
    let fingerprint =
        |seed| turncoat(&format!("run pbft --json --seed {seed}")).json()["fingerprint"].clone();
    assert_eq!(fingerprint("24301"), fingerprint("0x5eed"));
    assert_eq!(fingerprint("24301"), turncoat("run pbft --json").json()["fingerprint"]);
    assert_ne!(fingerprint("24301"), fingerprint("24302"));
}
