//! Runs that are proved never to terminate, and those of correct protocols under the same adversaries.

use std::path::Path;

use turncoat::Scenario;
use turncoat::core::runner::Entry;
use turncoat::core::scenario::LassoClass;
use turncoat::lab::lasso::{Verdict, find};

fn witness(bug: &str) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../suite/{bug}.toml"));
    Scenario::parse(&std::fs::read_to_string(path).expect("a witness")).expect("a scenario")
}

fn of(scenario: &Scenario, protocol: &str) -> (Entry, Scenario) {
    let entry = turncoat_protocols::all().into_iter().find(|entry| entry.name == protocol).expect("a protocol");
    let mut scenario = scenario.clone();
    std::sync::Arc::make_mut(&mut scenario.protocol).name = protocol.to_owned();
    (entry, scenario)
}

#[test]
fn try_it() {
    for (bug, protocols) in [
        ("hotstuff-two-phase/sticky", vec!["hotstuff-two-phase-sticky", "hotstuff-two-phase", "hotstuff"]),
        ("hotstuff-two-phase/livelock", vec!["hotstuff-two-phase", "hotstuff", "hotstuff-two-phase-fixed"]),
    ] {
        for protocol in protocols {
            let (entry, scenario) = of(&witness(bug), protocol);
            println!("{bug} {protocol}: {:?}", find(&entry, &scenario));
        }
    }
    let _ = (LassoClass::Benign, Verdict::Deadlock);
}
