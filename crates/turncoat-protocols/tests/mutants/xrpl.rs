//! The XRP Ledger. Its attacks are runs by the clock, with the first seed that shows them.

use turncoat_core::outcome::{End, Property};
use turncoat_core::scenario::{Scenario, Seed};
use turncoat_protocols::slips::select;

use crate::harms;
use crate::stage::{entry, merge, run, scenario_of};

/// A run of the XRP Ledger; `settings` are keys of the scenario.
fn xrpl(settings: &str) -> Scenario {
    let mut keys: toml::Table = entry("xrpl").setting.parse().expect("keys");
    merge(&mut keys, settings.parse().unwrap_or_else(|error| panic!("{error}")));
    scenario_of(toml::toml! { name = "xrpl" }, &keys.to_string())
}

/// The first of ten seeds with which the slip violates the property, and without it all is well.
fn with_a_seed(slip: &str, property: Property, scenario: &Scenario) -> Scenario {
    let seeds = (0..10).map(|seed| Scenario { seed: Seed(seed), ..scenario.clone() });
    let mut seeds = seeds.filter(|scenario| {
        select(Some(slip)).expect("a slip");
        let violates = run(scenario).violation(property).is_some();
        select(None).expect("none");
        let control = run(scenario);
        violates && control.violations.is_empty() && control.end == End::Goal
    });
    let found = seeds.next().expect("a seed that shows it");
    select(Some(slip)).expect("a slip");
    found
}

#[test]
fn validations_never_expire() {
    let about = "Of each validator the latest validation says which branch it is on, as long as it is not too old. The \
                 implementer forgets that it may be too old.\n\
                 A partition leaves p0 and p1 on one branch and p2, p3 and p4 on another. p5 is Byzantine and silent. Correct \
                 replicas forget it after three minutes, and the larger branch wins. Here it counts as undecided forever: \
                 three against two, and one that could still join the two, so p0 and p1 stay. Neither branch has a quorum.";
    let slip = "xrpl/validations-never-expire";
    harms(slip, Property::Termination, about, || {
        with_a_seed(
            slip,
            Property::Termination,
            &xrpl(
                r#"
                cluster = { n = 6, clients = 2 }
                workload = { requests = 2, ops = ["c1:5@p0", "c0:6@p3"], start = [20300, 20300] }
                adversary.byzantine = ["p5"]
                [[adversary.faults]]
                time = [20000, 40000]
                partition = [["p0", "p1"], ["p2", "p3", "p4"], ["p5"]]
                [[adversary.faults]]
                from = ["p5"]
                kind = "validation"
                mutate = "validation.omit"
                "#,
            ),
        )
    });
}

#[test]
fn payments_unverified() {
    let about = "The payments in a proposal of a peer are signed by their clients. The implementer checks the signature of the \
                 proposal and not those of the payments.\n\
                 Only Byzantine p3 gets the payment of c0, and it proposes a changed one. The others vote it down in this \
                 round, but now they know it, and it is in the next ledger: nobody has asked for it.";
    let slip = "xrpl/payments-unverified";
    harms(slip, Property::Validity, about, || {
        with_a_seed(
            slip,
            Property::Validity,
            &xrpl(
                r#"
                cluster = { n = 6, clients = 2 }
                workload = { requests = 2, ops = ["c1:5@p3", "c0:6@p0"], start = [20300, 23300] }
                adversary.byzantine = ["p3"]
                [[adversary.faults]]
                from = ["p3"]
                kind = "tx"
                mutate = "tx.omit"
                [[adversary.faults]]
                from = ["p3"]
                kind = "propose"
                mutate = "propose.txs.first.forge"
                "#,
            ),
        )
    });
}
