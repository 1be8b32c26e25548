//! The engine of hbbft under turncoat: it runs, what it rejects is rejected, what it gets wrong shows.

use turncoat_core::outcome::Property;
use turncoat_core::scenario::Scenario;

use super::{broken, entry, found, fuzz, marks, set};

const NO_CIPHERTEXT: &str = include_str!("../../findings/hbbft-0.1.1-no-ciphertext.toml");
const SILENT: &str = include_str!("../../findings/hbbft-0.1.1-decided-and-silent.toml");

/// It is a violation to report a correct validator.
fn judged(base: &Scenario) -> Scenario {
    set(base, "protocol.judge-reports", true)
}

#[test]
fn it_decides_one_batch_after_another() {
    for name in ["hbbft", "hbbft-plain"] {
        let summary = fuzz(name, "none", &[], 50, |base| set(&judged(&base), "workload.requests", 5));
        assert_eq!((summary.violating, summary.ends.goal), (0, 50));
        assert!(summary.commits >= 50 * 4 * 5);
    }
}

#[test]
fn a_run_is_a_function_of_its_scenario() {
    let fingerprint = || fuzz("hbbft", "two-faced", &[], 20, |base| base).fingerprint;
    assert_eq!(fingerprint(), fingerprint());
}

#[test]
fn lies_are_told_and_reported_and_nobody_else_is() {
    let summary = fuzz("hbbft-plain", "byzzfuzz", &[("c", "3"), ("d", "1")], 150, |base| judged(&base));
    assert_eq!(summary.violations.keys().collect::<Vec<_>>(), [&Property::Agreement; 0]);
    assert!(summary.injected.accepted > 0 && summary.injected.accepted < summary.injected.mutated);
    assert!(marks("hbbft", &summary, "fault-proof") > 0 && marks("hbbft", &summary, "wrong-sender") > 0);
    // Who is reported is heard no more, and the others do without it.
    let block = |base: Scenario| set(&base, "protocol.block", true);
    let summary = fuzz("hbbft-plain", "byzzfuzz", &[("c", "3"), ("d", "1")], 150, block);
    assert_eq!((summary.violating, summary.ends.goal), (0, 150));
    assert!(marks("hbbft", &summary, "blocked") > 0);
}

#[test]
fn a_contribution_that_is_no_ciphertext_stops_all() {
    let scenario = Scenario::parse(NO_CIPHERTEXT).expect("a scenario");
    let outcome = entry("hbbft").runner().execute(&scenario).expect("it runs");
    assert!(outcome.violation(Property::Termination).is_some());
    // Where it is not to be one, it is left out.
    let plain = set(&scenario, "protocol.encryption", "never");
    assert!(entry("hbbft").runner().execute(&plain).expect("it runs").violations.is_empty());
}

#[test]
fn who_has_decided_says_no_more_and_others_wait_for_it() {
    let scenario = Scenario::parse(SILENT).expect("a scenario");
    let outcome = entry("hbbft").runner().execute(&scenario).expect("it runs");
    assert!(outcome.violation(Property::Termination).is_some());
}

#[test]
fn what_a_host_gets_wrong_is_caught() {
    let params = [("c", "3"), ("d", "1"), ("r", "11")];
    for name in ["accept-any-sender", "validator-left-out"] {
        assert!(found("hbbft-plain", "byzzfuzz", &params, 400, |base| broken(&base, name)), "{name}");
    }
    let forged = [("c", "1"), ("d", "0"), ("r", "2"), ("only", "value.contribution=forged")];
    let any = fuzz("hbbft-plain", "byzzfuzz", &forged, 100, |base| broken(&base, "accept-any-signature"));
    assert!(any.violations.contains_key(&Property::Validity));
    assert_eq!(fuzz("hbbft-plain", "byzzfuzz", &forged, 100, |base| base).violating, 0);
    let control = fuzz("hbbft-plain", "byzzfuzz", &params, 150, |base| base);
    assert_eq!((control.violating, control.ends.goal), (0, 150));
}
