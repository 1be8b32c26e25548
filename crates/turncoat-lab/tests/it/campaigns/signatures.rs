//! Violations by kind.

use turncoat_core::outcome::Property;
use turncoat_core::scenario::Scenario;
use turncoat_lab::signature::{Kinds, Traits};

use crate::campaigns::bench::{Bench, rare_liar};

fn with_faults(faults: &str) -> Scenario {
    let head = "schema = 1\nprotocol = { name = \"toy\" }\nadversary.byzantine = [\"p0\"]\n";
    Scenario::parse(&format!("{head}{faults}")).expect("a scenario")
}

/// The kind of the run's disagreement.
fn kind(faults: &str) -> String {
    let bench = Bench::new();
    let scenario = with_faults(faults);
    let outcome = bench.entry.runner().execute(&scenario).expect("it runs");
    let violation = outcome.violation(Property::Agreement).expect("it disagrees");
    Traits::of(violation, &scenario, &outcome).words(&(bench.entry.mutations)())
}

#[test]
fn a_kind_has_the_rule_the_fields_of_lies_and_the_faults_of_the_plan() {
    let lie = "[[adversary.faults]]\nto = [\"p3\"]\nmutate = \"order.slot+1\"\n";
    assert_eq!(kind(lie), "agreement (slot): lies about order.slot");
    let late = "[[adversary.faults]]\nfrom = [\"p1\"]\nkind = \"reply\"\ndrop = true\n";
    assert_eq!(kind(&format!("{lie}{late}{late}")), "agreement (slot): lies about order.slot; 2 drop");
}

#[test]
fn how_a_field_is_changed_and_for_whom_makes_no_kind() {
    let to =
        |node: &str, lie: &str| kind(&format!("[[adversary.faults]]\nto = [\"{node}\"]\nmutate = \"{lie}\""));
    assert_eq!(to("p1", "order.slot+1"), to("p2", "order.slot-1"));
}

#[test]
fn kinds_are_numbered_in_the_order_in_which_they_are_seen() {
    let bench = Bench::new();
    let campaign = bench.campaign(&rare_liar);
    let (mut kinds, table) = (Kinds::default(), (bench.entry.mutations)());
    let mut seen = Vec::new();
    campaign
        .go_on(
            Default::default(),
            Some(&mut |record| {
                let Some(scenario) = record.scenario else { return true };
                for violation in &record.outcome.violations {
                    seen.push(kinds.number(Traits::of(violation, &scenario, &record.outcome), &table));
                }
                true
            }),
            &mut |_| {},
        )
        .expect("it runs");
    assert!(seen.len() > 2);
    assert_eq!(seen[0], (0, Some("agreement (slot): lies about order.slot".to_owned())));
    assert_eq!(seen[1], (0, None), "it is known");
}
