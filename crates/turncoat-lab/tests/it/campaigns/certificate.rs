//! What a certificate takes, and what it says if it is not given.

use std::collections::BTreeMap;

use turncoat_core::fault::{Effect, Fault, When};
use turncoat_core::scenario::{Scenario, SchedulerSpec, Seed};
use turncoat_core::strategy::{FaultClass, Universe};
use turncoat_lab::certificate::{Certificate, digest, text_of};
use turncoat_lab::summary::{Ends, Summary};

use crate::toy::toy;

/// Two faults, and so four plans.
fn universe() -> Universe {
    let fault = |node: &str| {
        let node = node.parse().expect("a node");
        Fault { when: When::default(), effect: Effect::Isolate(vec![node]) }
    };
    let class =
        FaultClass { name: "cuts", about: "a replica is cut off", faults: vec![fault("p0"), fault("p1")] };
    Universe {
        classes: vec![class],
        most: 2,
        plans: 4,
        different: 4,
        alike: Vec::new(),
        schedules: vec![("timed", SchedulerSpec::default())],
    }
}

fn complete() -> Summary {
    let ends = Ends { goal: 3, limits: BTreeMap::from([("short", 1)]), ..Ends::default() };
    Summary { runs: 4, ends, ..Summary::default() }
}

#[test]
fn a_certificate_names_what_was_judged_and_the_universe() {
    let made = Certificate::new(&toy(), &universe(), &Scenario::new("toy"), Seed(1), &complete());
    let made = serde_json::to_value(made.expect("nothing is missing")).expect("JSON");
    assert_eq!((&made["protocol"], &made["n"], &made["runs"]), (&"toy".into(), &4.into(), &4.into()));
    assert_eq!((&made["plans"], &made["termination_judged"]), (&"4".into(), &3.into()));
    assert_eq!(made["classes"], serde_json::json!([{ "name": "cuts", "faults": 2 }]));
    assert_eq!(made["universe"], digest(&text_of(&universe())));
    assert!(
        made["safety"]
            .as_array()
            .is_some_and(|all| all.contains(&"agreement".into()) && !all.contains(&"termination".into()))
    );
}

#[test]
fn only_a_complete_campaign_without_violations_gets_one() {
    let ended = |name| Ends { goal: 3, limits: BTreeMap::from([(name, 1)]), ..Ends::default() };
    let limit = |name| format!("1 of the runs ended at the limit on {name} before it could be judged");
    let cases = [
        (Summary { violating: 2, ..complete() }, "2 of the runs violated a property".to_owned()),
        (Summary { runs: 3, ..complete() }, "3 of 4 runs were executed".to_owned()),
        (Summary { ends: ended("time"), ..complete() }, limit("time")),
        (Summary { ends: ended("steps"), ..complete() }, limit("steps")),
        (
            Summary { ends: Ends { stopped: 1, ..Ends::default() }, ..complete() },
            "1 of the runs did not end by themselves: they were stopped".to_owned(),
        ),
        (Summary { undecided: 4, ..complete() }, "no correct replica decided anything in any run".to_owned()),
    ];
    for (summary, why) in cases {
        let made = Certificate::new(&toy(), &universe(), &Scenario::new("toy"), Seed(1), &summary);
        assert_eq!(made.expect_err("something is missing").to_string(), why);
    }
}
