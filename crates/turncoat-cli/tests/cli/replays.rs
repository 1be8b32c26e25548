//! Saved scenarios, once more.

use super::{DOOMED, Folder};

fn with_expect(fingerprint: &str) -> String {
    format!("{DOOMED}[expect]\nproperty = \"termination\"\nfingerprint = \"{fingerprint}\"\n")
}

fn fingerprint_of(folder: &Folder, file: &str) -> String {
    let outcome = folder.turncoat(&format!("replay {file} --json")).json();
    outcome["fingerprint"].as_str().expect("a string").to_owned()
}

#[test]
fn a_scenario_that_violates_a_property_exits_with_1() {
    let folder = Folder::new();
    folder.write("doomed.toml", DOOMED);
    let ran = folder.turncoat("replay doomed.toml");
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.out.contains("termination violated at step"), "{}", ran.out);
    assert!(ran.out.contains("budget"), "{}", ran.out);
    folder.write("doomed.toml", &with_expect(&fingerprint_of(&folder, "doomed.toml")));
    assert_eq!(folder.turncoat("replay doomed.toml").code, 1);
}

#[test]
fn a_scenario_without_violation_exits_with_0() {
    let folder = Folder::new();
    folder.write("fine.toml", "schema = 1\n[protocol]\nname = \"pbft\"\n");
    assert_eq!(folder.turncoat("replay fine.toml").code, 0);
    let traced = folder.turncoat("replay fine.toml --trace");
    assert!(traced.code == 0 && traced.out.contains("commit p0 slot=1"), "{}", traced.out);
}

#[test]
fn a_different_fingerprint_is_a_divergence() {
    let folder = Folder::new();
    folder.write("doomed.toml", &with_expect("0x0123456789abcdef"));
    let ran = folder.turncoat("replay doomed.toml --json");
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains("fingerprint was 0x0123456789abcdef"), "{}", ran.err);
    assert!(ran.err.contains(&fingerprint_of(&folder, "doomed.toml")), "{}", ran.err);
    assert_eq!(ran.json()["differs"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_property_that_holds_again_is_a_divergence() {
    let folder = Folder::new();
    folder.write("fixed.toml", &with_expect("1").replace("termination", "agreement"));
    let ran = folder.turncoat("replay fixed.toml");
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains("agreement was violated when the file was saved"), "{}", ran.err);
}

#[test]
fn a_step_that_cannot_be_carried_out_is_a_divergence() {
    let folder = Folder::new();
    let script = "schema = 1\n[protocol]\nname = \"pbft\"\n[scheduler]\nname = \"script\"\n\
                  script = [\"deliver c0>p0 request #1\", \"deliver p0>p1 commit #7\"]\n";
    folder.write("script.toml", script);
    let ran = folder.turncoat("replay script.toml");
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("step 2 of the script (`deliver p0>p1 commit #7`)"), "{}", ran.err);
}
