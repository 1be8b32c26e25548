//! Rows of the suite: what they say, and whether it holds.

use turncoat_core::outcome::Property;
use turncoat_core::runner::Entry;
use turncoat_core::scenario::{Scenario, SchedulerName, Seed};
use turncoat_lab::campaign::BoxError;
use turncoat_lab::suite::{Bug, SuiteError, Wrong, verify};

/// p0 tells p3 another slot, and p3 believes it.
const ROW: &str = r#"schema = 1
seed = 7

[bug]
title = "a replica believes any slot"
property = "agreement"
tier = 3
budget = "1/0/1"
source = "nobody"
control = ["toy-in-order", { name = "toy", in-order = true }]

[bug.hunt]
strategy = "byzzfuzz"
scheduler = "fifo"
set = { c = 1, scope = "small", network.loss = "hold", network.gst = { time = 50 } }

[protocol]
name = "toy"

[workload]
requests = 3

[adversary]
byzantine = ["p0"]
crash-on-garbage = true

[[adversary.faults]]
round = 1
to = ["p3"]
mutate = "order.slot+1"
"#;

fn bug(text: &str) -> Bug {
    Bug::parse("toy/believer", text).unwrap_or_else(|error| panic!("{error}"))
}

fn find(name: &str) -> Result<Entry, BoxError> {
    let in_order = toml::Table::from_iter([("in-order".to_owned(), true.into())]);
    let in_order =
        Entry::preset::<crate::toy::Toy>("toy-in-order", "everybody believes p0, up to a point", in_order);
    let entries = [crate::toy::toy(), in_order];
    entries.into_iter().find(|entry| entry.name == name).ok_or_else(|| format!("no protocol {name}").into())
}

/// What is wrong with the row in which `old` reads `new`.
fn wrong(old: &str, new: &str) -> Vec<Wrong> {
    assert!(ROW.contains(old), "{old}");
    verify(&bug(&ROW.replace(old, new)), &find).unwrap_or_else(|error| panic!("{error}"))
}

/// Why the row in which `old` reads `new` cannot be used.
fn refused(old: &str, new: &str) -> String {
    assert!(ROW.contains(old), "{old}");
    let verified = Bug::parse("toy/believer", &ROW.replace(old, new)).and_then(|bug| verify(&bug, &find));
    verified.map_or_else(|error| error.to_string(), |wrong| panic!("{wrong:?}"))
}

#[test]
fn a_row_that_is_right_holds() {
    assert_eq!(wrong("", ""), []);
    assert_eq!(wrong("\"agreement\"", "\"agreement\"\nrule = \"slot\""), []);
}

#[test]
fn a_row_is_a_scenario_that_keeps_its_table() {
    let Bug { witness, .. } = bug(ROW);
    let text = witness.to_toml();
    let [head, table, protocol] = ["seed = ", "[bug]", "[protocol]"].map(|word| text.find(word));
    assert!(head < table && table < protocol, "{text}");
    assert_eq!(Scenario::parse(&text).as_ref(), Ok(&witness), "{text}");
    assert_eq!(bug(&text), bug(ROW), "{text}");
}

#[test]
fn a_witness_that_does_not_show_the_bug_is_wrong() {
    for (old, new, words) in [
        ("\"agreement\"", "\"validity\"", "violate validity, but violates agreement (slot)"),
        (
            "\"agreement\"",
            "\"agreement\"\nrule = \"twice\"",
            "violate agreement (twice), but violates agreement (slot)",
        ),
        ("order.slot+1", "order.omit", "violate agreement, but violates nothing"),
    ] {
        let wrong = wrong(old, new);
        let [Wrong::Witness { .. }] = &wrong[..] else { panic!("{wrong:?}") };
        assert!(wrong[0].to_string().starts_with(&format!("the witness should {words}")), "{}", wrong[0]);
    }
}

#[test]
fn a_script_that_cannot_be_carried_out_is_wrong() {
    let script = "[scheduler]\nname = \"script\"\nscript = [\"deliver p0>p1 order #9\"]\n\n[adversary]";
    let action = "deliver p0>p1 order #9".to_owned();
    assert_eq!(wrong("[adversary]", script), [Wrong::Diverged { step: 1, action }]);
}

#[test]
fn a_control_that_does_not_bear_the_witness_is_wrong() {
    let wrong = wrong("in-order = true", "in-order = false");
    let [Wrong::Control { control, violation }] = &wrong[..] else { panic!("{wrong:?}") };
    assert_eq!(control, "toy with in-order = false");
    assert_eq!(violation.property, Property::Agreement);
}

#[test]
fn a_search_starts_without_what_makes_a_witness() {
    let base = bug(ROW).base().expect("a base");
    assert_eq!((base.seed, base.workload.requests), (Seed(0), 3));
    assert!(base.bug.is_none() && base.adversary.byzantine.is_empty() && base.adversary.faults.is_empty());
    assert!(base.adversary.crash_on_garbage);
    assert_eq!(base.scheduler.name, SchedulerName::Fifo);
    let text = base.to_toml();
    assert!(text.contains("loss = \"hold\"") && text.contains("time = 50"), "{text}");
    let params = bug(ROW).facts.hunt.params();
    assert_eq!(params, [("c", "1"), ("scope", "small")].map(|(name, value)| (name.into(), value.into())));
}

#[test]
fn a_control_has_the_parameters_of_the_witness_and_flags_of_its_own() {
    let text = ROW
        .replace("name = \"toy\"\n", "name = \"toy\"\nflags = [\"a\"]\nk = 1\nl = 2\n")
        .replace("[\"toy-in-order\", ", "[\"other\", ")
        .replace("in-order = true", "flags = [\"b\"], l = 3");
    let bug = bug(&text);
    let controls = bug.controls(&bug.witness).unwrap();
    let specs: Vec<String> = controls
        .iter()
        .map(|(_, scenario)| toml::Value::from(scenario.protocol.config.clone()).to_string())
        .collect();
    assert_eq!(specs, ["{ k = 1, l = 2 }", "{ k = 1, l = 3, flags = [\"b\"] }"]);
    assert_eq!(controls[0].1.protocol.name, "other");
    assert_eq!(controls[1].0, "toy with flags = [\"b\"], l = 3");
}

#[test]
fn a_malformed_row_is_refused_with_the_line_and_the_key() {
    let cases = [
        ("title = ", "titel = ", ["line 5", "titel"]),
        ("\"agreement\"", "\"aggreement\"", ["line 6", "no property `aggreement`. There are: agreement"]),
        ("strategy = ", "strategi = ", ["line 13", "strategi"]),
        ("\"fifo\"", "\"fiffo\"", ["line 14", "fiffo"]),
        ("\"toy-in-order\"", "3", ["line 10", "the name of a protocol, or a table"]),
        ("source = \"nobody\"\n", "", ["line 4", "missing field `source`"]),
    ];
    for (old, new, words) in cases {
        let error = refused(old, new);
        assert!(words.iter().all(|word| error.contains(word)), "{new}: {error}");
    }
    let error = Bug::parse("x/y", "schema = 1\n[protocol]\nname = \"toy\"\n").expect_err("no bug");
    assert!(matches!(error, SuiteError::Malformed(text) if text.contains("`[bug]`")));
}

#[test]
fn a_row_with_a_value_that_means_nothing_is_refused() {
    assert!(refused("tier = 3", "tier = 4").contains("`bug.tier` must be 1, 2 or 3"));
    assert!(refused("any slot", "any\\nslot").contains("`bug.title` must be one line"));
    assert!(refused("control = [", "control = []\n#").contains("`bug.control` must name at least one"));
    assert!(refused("\"fifo\"", "\"script\"").contains("needs no script"));
    assert!(refused("strategy = \"byzzfuzz\"\n", "").contains("`bug.hunt.strategy`"));
}

#[test]
fn a_row_that_cannot_run_is_refused() {
    assert_eq!(refused("name = \"toy\"\n", "name = \"toi\"\n"), "the witness: no protocol toi");
    assert_eq!(refused("\"toy-in-order\"", "\"toi\""), "the control toi: no protocol toi");
    assert!(refused("network.loss", "network.lost").starts_with("the hunt: network.lost: unknown field"));
    assert!(refused("[\"p3\"]", "[\"p9\"]").starts_with("the witness: "));
}
