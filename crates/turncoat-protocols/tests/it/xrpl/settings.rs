//! What the configuration leaves open: closing times, how heartbeats are spread, who passes messages on, who is cut off.

use turncoat_core::outcome::Property;
use turncoat_core::scenario::Scenario;

use super::stage::{all_end_well, marking, outcomes, violating, xrpl};

/// The scenario with another value of a parameter of the protocol.
fn with(scenario: &Scenario, key: &str, value: impl Into<toml::Value>) -> Scenario {
    scenario.with(&format!("protocol.{key}"), value.into()).expect("a key")
}

#[test]
fn replicas_agree_on_closing_times_too() {
    let settings = r#"
        cluster = { n = 7, f = 1 }
        workload = { requests = 1, ops = ["c1:5"], start = [5000], goal = { height = 8 } }
    "#;
    for version in ["xrpl", "xrpl-2.4.0", "xrpl-1.7.2"] {
        let scenario = with(&xrpl(version, settings), "close-time", true);
        // Some close before the middle between two bins and others after it: they take longer, and agree.
        let found = all_end_well(&scenario, 60);
        assert!(marking(&found, "no-close-time") > 0);
    }
}

#[test]
fn two_empty_ledgers_with_different_closing_times_are_two() {
    // Both sides of a partition make two of five enough, and there are no payments.
    let settings = r#"
        cluster = { n = 7, f = 1, trust = "th60" }
        workload = { requests = 0, goal = { height = 30 } }
        limits.time = 120000
        [[adversary.faults]]
        time = [20000, 60000]
        partition = [["p0", "p1", "p2"], ["p3", "p4", "p5", "p6"]]
    "#;
    let scenario = xrpl("xrpl-seeded-40", settings);
    assert_eq!(violating(&outcomes(&scenario, 60), Property::Agreement), 0);
    assert!(violating(&outcomes(&with(&scenario, "close-time", true), 60), Property::Agreement) > 0);
}

#[test]
fn a_payment_that_comes_while_ledgers_close_stops_a_network_whose_heartbeats_are_spread() {
    // When the payment comes, some have closed ledger 4 and others have not. Where all close together, nobody has.
    let settings = r#"
        cluster = { n = 7, f = 1, trust = "bf60" }
        workload = { requests = 1, ops = ["c1:5@p3"], start = [21200] }
        limits.time = 181200
    "#;
    let scenario = xrpl("xrpl-1.7.2", settings);
    assert!(violating(&outcomes(&scenario, 60), Property::Termination) > 0);
    all_end_well(&with(&scenario, "heartbeat-spread", 1), 60);
}

#[test]
fn what_two_cannot_say_to_each_other_the_others_pass_on() {
    // For a minute p0 hears neither p1 nor p2, and four of six are too few for a final ledger.
    let settings = r#"
        cluster = { n = 6, f = 1 }
        workload = { requests = 1, ops = ["c1:5@p3"], goal = { height = 6 } }
        network.loss = "drop"
        [[adversary.faults]]
        time = [0, 60000]
        from = ["p1", "p2"]
        to = ["p0"]
        drop = true
    "#;
    let scenario = xrpl("xrpl", settings);
    let times = |scenario| all_end_well(scenario, 20).into_iter().map(|outcome| outcome.time.0);
    assert!(times(&scenario).all(|time| time > 60_000));
    assert!(times(&with(&scenario, "relay", true)).all(|time| time < 40_000));
}

#[test]
fn a_peer_that_sends_bad_messages_is_cut_off() {
    // Bits of p5's messages flip on their way: its signatures are wrong.
    let settings = r#"
        cluster = { n = 6, f = 1 }
        workload = { requests = 1, ops = ["c1:5@p0"], goal = { height = 8 } }
        adversary.byzantine = ["p5"]
        [[adversary.faults]]
        from = ["p5"]
        permille = 200
        flip = 7
    "#;
    let scenario = xrpl("xrpl", settings);
    assert_eq!(marking(&all_end_well(&scenario, 20), "peer-cut-off"), 0, "by default nobody is");
    assert!(marking(&all_end_well(&with(&scenario, "charge-limit", 3), 20), "peer-cut-off") > 0);
    assert_eq!(marking(&all_end_well(&with(&scenario, "charge-limit", 400), 20), "peer-cut-off"), 0);
}
