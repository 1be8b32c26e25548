//! The XRP Ledger under many seeds: where all trust all, nothing is violated, whatever one liar and the network do.

use turncoat_core::outcome::Property;
use turncoat_core::rng::run_seed;
use turncoat_core::scenario::{Scenario, Seed};
use turncoat_lab::suite::Bug;

use super::normal::FOUR;
use super::stage::xrpl;
use crate::stage::{entry, marked_by};
use turncoat_protocols::xrpl::Xrpl;

/// Runs a scenario under many seeds; nothing is violated. Says how many lies were accepted.
fn sound(scenario: &Scenario, runs: u64) -> u32 {
    let mut runner = entry(&scenario.protocol.name).runner();
    let mut scenario = scenario.clone();
    let mut accepted = 0;
    for i in 0..runs {
        scenario.seed = Seed(run_seed(29, i));
        let outcome = runner.execute(&scenario).expect("a scenario that can run");
        assert!(outcome.violations.is_empty(), "{} {:?}", scenario.seed, outcome.violations);
        let liars = scenario.adversary.byzantine.len();
        assert!(liars > 0 || !marked_by::<Xrpl>(&outcome, "liar-detected"), "a replica has validated twice");
        accepted += outcome.injected.accepted;
    }
    accepted
}

#[test]
fn runs_without_faults_violate_nothing() {
    for version in ["xrpl", "xrpl-2.4.0", "xrpl-1.7.2"] {
        for relay in [false, true] {
            let more = format!("cluster.n = 7\nprotocol.relay = {relay}");
            sound(&xrpl(version, &format!("{more}\n{FOUR}")), 100);
            sound(&xrpl(version, &format!("{more}\nworkload.requests = 5\ncluster.clients = 2")), 100);
        }
    }
}

#[test]
fn one_liar_violates_nothing_where_all_trust_all() {
    for version in ["xrpl", "xrpl-2.4.0"] {
        for (seed, scope) in (0..10).flat_map(|seed| [(seed, "small"), (seed, "any")]) {
            let lies = format!(
                r#"
                cluster = {{ n = 7, f = 1 }}
                adversary.byzantine = ["p{}"]
                [[adversary.faults]]
                from = ["p{}"]
                permille = 300
                mutate = {{ seed = {seed}, scope = "{scope}" }}
                "#,
                seed % 7,
                seed % 7
            );
            sound(&xrpl(version, &format!("{FOUR}\n{lies}")), 20);
        }
    }
}

#[test]
fn after_any_partition_the_network_goes_on() {
    for blocks in [
        r#"[["p0", "p1", "p2", "p3"], ["p4", "p5", "p6"]]"#,
        r#"[["p0", "p1"], ["p2", "p3"], ["p4", "p5", "p6"]]"#,
        r#"[["p0", "p1"], ["p2", "p3"], ["p4", "p5"], ["p6"]]"#,
        r#"[["p0"], ["p1"], ["p2"], ["p3"], ["p4"], ["p5"], ["p6"]]"#,
    ] {
        for loss in ["hold", "drop"] {
            let cut = format!("[[adversary.faults]]\ntime = [3000, 45000]\npartition = {blocks}");
            let more = format!("cluster = {{ n = 7, f = 1 }}\nnetwork.loss = \"{loss}\"\n{FOUR}");
            for version in ["xrpl", "xrpl-2.4.0"] {
                sound(&xrpl(version, &format!("{more}\n{cut}")), 40);
            }
        }
    }
}

#[test]
fn searches_for_stuck_runs_have_all_the_time_there_is() {
    // Witnesses are cut short. A search that inherits the cut takes runs for stuck that are only late.
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../suite/xrpl");
    let mut rows = 0;
    for file in std::fs::read_dir(folder).expect("the rows of the XRP Ledger") {
        let path = file.expect("a row").path();
        let text = std::fs::read_to_string(&path).expect("a row");
        let bug = Bug::parse("xrpl", &text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        if bug.facts.property == Property::Termination {
            rows += 1;
            let least = entry("xrpl").scenario().limits.time;
            assert_eq!(bug.base().expect("a scenario").limits.time, least, "{}", path.display());
        }
    }
    assert!(rows >= 9, "{rows}");
}
