//! Help and lists.

use super::{Folder, turncoat};

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
        "Find bugs:\n  fuzz ",
        "Understand them:\n  explain ",
    ] {
        assert!(ran.out.contains(word), "{}", ran.out);
    }
    assert_eq!(turncoat("--help").out, ran.out);
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
        "beside",
        "explore",
        "plan",
        "shard",
        "merge",
        "completions",
        "man",
    ] {
        let args: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        for width in [80, 100] {
            let ran = Folder::new().run_with(&[("COLUMNS", &width.to_string())], &args);
            assert_eq!(ran.code, 0);
            assert!(ran.out.contains(&format!("Example: turncoat {command}")), "{}", ran.out);
            // What to type is not broken in two.
            let prose = |line: &&str| !line.contains("turncoat ") && !line.contains("[possible values");
            for line in ran.out.lines().filter(prose) {
                assert!(line.chars().count() <= width, "{command}, {width} columns: {line}");
            }
        }
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

/// There are more than a hundred.
#[test]
fn known_bugs_are_found_by_protocol_property_tier_and_words() {
    let ids = |args: &str| -> Vec<String> {
        let bugs = turncoat(&format!("list bugs {args} --json")).json()["bugs"].clone();
        let bugs = bugs.as_array().expect("a list").clone();
        bugs.iter()
            .map(|bug| bug["id"].as_str().or(bug["name"].as_str()).expect("an id").to_owned())
            .collect()
    };
    let all = ids("");
    // As many as `fuzz` says that it has.
    let java = ids("pbft-java");
    let summary = turncoat("fuzz pbft-java --runs 1 --no-shrink --json").json();
    assert_eq!(summary["known_bugs"].as_array().map(Vec::len), Some(java.len()));
    // A correct protocol has none, and its name still finds those of its family.
    let pbft = ids("pbft");
    assert!(!pbft.is_empty() && pbft.iter().all(|id| id.starts_with("pbft/")), "{pbft:?}");
    let agreement = ids("pbft-java --property agreement");
    assert!(
        agreement.len() < java.len() && agreement.contains(&"pbft-java/figure-2".to_owned()),
        "{agreement:?}"
    );
    let tiers: usize = ["1", "2", "3"].map(|tier| ids(&format!("--tier {tier}")).len()).iter().sum();
    assert_eq!(tiers, all.len());
    assert!(ids("--search CHECKPOINT").contains(&"pbft-java/checkpoint-unchecked".to_owned()));
    let none = turncoat("list bugs --search no-such-words");
    assert_eq!((none.code, none.out.as_str(), none.err.as_str()), (0, "", "no bugs match\n"));
    super::bad_input::refused_args("list bugs pbtf", &["no protocol `pbtf`", "did you mean `pbft`?"]);
    super::bad_input::refused_args("list bugs --property agrement", &["did you mean `agreement`?"]);
    super::bad_input::refused_args("list protocols --tier 1", &["`turncoat list bugs`"]);
}

#[test]
fn shells_complete_commands_and_manual_pages_are_written() {
    for shell in ["bash", "zsh", "fish"] {
        let ran = turncoat(&format!("completions {shell}"));
        assert!(ran.code == 0 && ran.out.contains("explain") && ran.out.contains("shrink-budget"), "{shell}");
    }
    let folder = Folder::new();
    assert_eq!(folder.turncoat("man pages").code, 0);
    let page = folder.read("pages/turncoat-fuzz.1");
    assert!(page.contains("TURNCOAT_RUNS") && folder.path().join("pages/turncoat.1").is_file(), "{page}");
    folder.write("file", "");
    super::bad_input::refused(&folder, &["man", "file"], &["cannot write to file"]);
}
