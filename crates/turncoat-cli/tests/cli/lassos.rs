//! Proofs that runs never terminate: found, saved, checked, and refused.

use super::{DOOMED, Folder, turncoat};

#[test]
fn a_proof_is_saved_and_checked_when_it_is_replayed() {
    let folder = Folder::new();
    let ran = folder.turncoat("lasso hotstuff-two-phase/sticky --save stuck.toml");
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.out.contains("repeat forever"), "{}", ran.out);
    let again = folder.turncoat("replay stuck.toml");
    assert_eq!(again.code, 1, "{}", again.err);
    assert!(again.out.contains(ran.out.trim_end()), "{}\n{}", again.out, ran.out);

    let json = folder.turncoat("replay stuck.toml --json").json();
    assert_eq!((&json["proof"]["views"], &json["expect"]["lasso"]["class"]), (&4.into(), &"benign".into()));
}

#[test]
fn a_proof_that_was_changed_does_not_repeat() {
    let folder = Folder::new();
    folder.turncoat("lasso hotstuff-two-phase/sticky --save stuck.toml");
    let good = folder.read("stuck.toml");
    for (before, after, words) in [
        ("class = \"benign\"", "class = \"adversarial\"", "expect.lasso: it is benign"),
        ("from = 709", "from = 708", "expect.lasso: the state does not come back"),
        ("to = 749", "to = 74900", "expect.lasso: the run has no events"),
        ("name = \"hotstuff-two-phase-sticky\"", "name = \"hotstuff-two-phase\"", "expect.lasso"),
    ] {
        assert!(good.contains(before), "{good}");
        folder.write("changed.toml", &good.replace(before, after));
        let ran = folder.turncoat("replay changed.toml");
        assert_eq!(ran.code, 3, "{after}: {}", ran.err);
        assert!(ran.err.contains(words), "{after}: {}", ran.err);
    }
}

#[test]
fn what_is_no_proof_says_why() {
    let folder = Folder::new();
    folder.write("doomed.toml", DOOMED);
    let ran = folder.turncoat("lasso doomed.toml --save proof.toml");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.starts_with("unknown: it did not terminate within the limits"), "{}", ran.out);
    assert!(ran.err.contains("proof.toml is not written"), "{}", ran.err);
    assert!(!folder.path().join("proof.toml").exists());

    folder.write("free.toml", "schema = 1\nprotocol.name = 'hotstuff'\n");
    let json = folder.turncoat("lasso free.toml --json").json();
    assert_eq!(json["verdict"], "terminates");

    let ran = turncoat("lasso nowhere.toml");
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("nowhere.toml"), "{}", ran.err);
}
