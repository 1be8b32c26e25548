//! Two implementations of one protocol on the same scenarios.

use super::{Folder, Ran};

#[test]
fn a_protocol_beside_itself_decides_the_same() {
    let folder = Folder::new();
    let Ran { code, out, .. } = folder.turncoat("beside pbft pbft --runs 50");
    assert_eq!(code, 0, "{out}");
    assert!(out.starts_with(
        "pbft beside pbft, byzzfuzz: 50 runs\n       50 100.0 %  every replica decides the same"
    ));
}

#[test]
fn what_a_flag_changes_shows_and_is_saved_for_both() {
    let folder = Folder::new();
    let line = "beside tendermint tendermint --with skip-no-f1 --set c=2 --runs 200 --save kept --json";
    let Ran { code, out, err } = folder.turncoat(line);
    assert_eq!(code, 1, "{out}{err}");
    let found: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert!(found["verdicts"]["values"].as_u64().expect("a count") > 0, "{found}");
    assert!(folder.read("kept/values-tendermint.toml").contains("skip-no-f1"));
    assert!(!folder.read("kept/values-tendermint-beside.toml").contains("skip-no-f1"));
    assert_eq!(folder.turncoat("replay kept/values-tendermint.toml").code, 0);
}

#[test]
fn an_engine_beside_its_model_decides_the_same() {
    let folder = Folder::new();
    let Ran { code, out, .. } =
        folder.turncoat("beside malachite tendermint --set c=0 --set source=named --runs 50");
    assert_eq!(code, 0, "{out}");
}

#[test]
fn two_that_have_nothing_in_common_are_refused() {
    let Ran { code, err, .. } = Folder::new().turncoat("beside pbft malachite");
    assert_eq!(code, 2);
    assert!(err.contains("no message kind in common"), "{err}");
}
