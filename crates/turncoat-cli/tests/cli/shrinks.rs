//! Violations made small, and what cannot be.

use turncoat_core::fault::{Effect, Fault};
use turncoat_core::scenario::Scenario;

use super::{DOOMED, Folder, turncoat};

/// The scenario that a search for a known bug saves, shrunk.
fn found(bug: &str, property: &str) -> (Folder, String, Scenario) {
    let folder = Folder::new();
    let ran = folder
        .turncoat(&format!("fuzz --bug {bug} --strategy byzzfuzz --runs 200000 --shrink-budget 60s --json"));
    assert_eq!(ran.code, 1, "{}", ran.err);
    let first = ran.json()["first"][property].clone();
    assert_eq!(first["shrunk"]["stopped"], "fixpoint", "{first}");
    let file = first["file"].as_str().expect("a path").to_owned();
    let scenario = Scenario::parse(&folder.read(&file)).expect("a scenario");
    (folder, file, scenario)
}

#[test]
fn figure_2_is_one_lie_to_one_replica_and_two_requests() {
    let (folder, file, scenario) = found("pbft-java/figure-2", "agreement");
    let [Fault { when, effect }] = &scenario.adversary.faults[..] else {
        panic!("{}", scenario.to_toml());
    };
    assert!(matches!(effect, Effect::Mutate(_)), "{}", scenario.to_toml());
    assert_eq!((when.to.len(), scenario.workload.requests), (1, 2), "{}", scenario.to_toml());
    assert!(scenario.scheduler.script.is_empty());

    // It replays, and says where it comes from.
    assert_eq!(folder.turncoat(&format!("replay {file}")).code, 1);
    let origin = folder.read(&file).lines().nth(1).map(str::to_owned).expect("a second line");
    assert!(origin.starts_with("# shrunk from run ") && origin.contains("with seed 0x"), "{origin}");
}

#[test]
fn the_read_only_bug_is_two_faults() {
    let (_, _, scenario) = found("pbft/read-only-liveness", "termination");
    assert!(scenario.adversary.faults.len() <= 2, "{}", scenario.to_toml());
    assert_eq!(scenario.workload.requests, 1, "{}", scenario.to_toml());
}

#[test]
fn shrinking_says_what_it_cut_and_shrinking_again_changes_nothing() {
    let folder = Folder::new();
    let ran = folder.turncoat("fuzz pbft-java --strategy random --until never --runs 60 --no-shrink --json");
    let file = ran.json()["first"]["agreement"]["file"].as_str().expect("a path").to_owned();
    let ran = folder.turncoat(&format!("shrink {file} -o small.toml --budget 60s"));
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out.contains("\n  shrunk       ") && ran.out.contains("; nothing more to cut ("),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("\nagreement violated at step "), "{}", ran.out);
    assert_eq!(folder.turncoat("replay small.toml").code, 1);

    let again = folder.turncoat("shrink small.toml --budget 60s --json");
    assert_eq!(again.code, 0, "{}", again.err);
    assert_eq!(again.json()["before"], again.json()["after"]);
    assert_eq!(folder.read("small.min.toml"), folder.read("small.toml"));
}

#[test]
fn what_cannot_be_shrunk_is_said_in_a_sentence() {
    let folder = Folder::new();
    folder.write("empty.toml", "");
    folder.write("foreign.toml", "[package]\nname = \"x\"\n");
    folder.write("holds.toml", "schema = 1\nprotocol.name = \"pbft\"\n");
    folder.write("picture.png", "\u{1}PNG");
    folder.write("other.toml", &format!("{DOOMED}\n[expect]\nproperty = \"agreement\"\nfingerprint = 1\n"));
    for (file, words) in [
        ("empty.toml", "a scenario starts with `schema = 1`"),
        ("foreign.toml", "a scenario starts with `schema = 1`"),
        ("holds.toml", "violates no property"),
        (".", "is a folder: give a file"),
        ("nowhere.toml", "cannot read nowhere.toml"),
        ("picture.png", "picture.png"),
        ("other.toml", "it violates termination and no longer agreement"),
    ] {
        let ran = folder.turncoat(&format!("shrink {file}"));
        assert_eq!(ran.code, 2, "{file}: {}", ran.err);
        assert!(ran.err.starts_with("error: ") && ran.err.contains(words), "{file}: {}", ran.err);
    }
    assert_eq!(turncoat("shrink").code, 2);
    let any = folder.turncoat("shrink other.toml --keep any");
    assert_eq!(any.code, 0, "{}", any.err);
}
