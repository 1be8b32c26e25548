//! The attacks A1 to A6 of the specification, and two more that keep a network from going on where all trust all.

use turncoat_core::outcome::Property;
use turncoat_core::scenario::Scenario;

use super::stage::{all_end_well, is_row, marking, outcomes, violating, xrpl};
use crate::stage::{is_witness, run, scenario_of};

/// Seven replicas with lists that overlap by 60 %, one liar, one payment of second 20, and a double spend that only the liar has.
fn double_spend(trust: &str, faults: &str) -> Scenario {
    let settings = format!(
        r#"
        cluster = {{ n = 7, trust = "{trust}" }}
        workload = {{ requests = 2, ops = ["c1:80000@p3", "!c1:80001@"], start = [20300, 20300], goal = {{ height = 10 }} }}
        limits.time = 240000
        adversary.byzantine = ["p3"]
        {faults}
        "#
    );
    xrpl("xrpl", &settings)
}

/// Those whose list p3 does not go by.
const OTHER_SIDE: [&str; 3] = ["p4", "p5", "p6"];

/// p3 lies to these, or to all, in the rounds that its messages name, or in all.
fn lie(round: &str, to: &[&str], mutation: &str) -> String {
    lie_of("p3", round, to, mutation)
}

fn lie_of(liar: &str, round: &str, to: &[&str], mutation: &str) -> String {
    let kind = mutation.split(['.', '=']).next().expect("a kind");
    let round =
        if round.is_empty() { String::new() } else { format!("round = {round}\nsource = \"named\"\n") };
    let to = if to.is_empty() { String::new() } else { format!("to = {to:?}\n") };
    format!(
        "[[adversary.faults]]\n{round}{to}kind = \"{kind}\"\nfrom = [\"{liar}\"]\nmutate = \"{mutation}\"\n"
    )
}

/// A1: p3 names the next number in its validation of ledger 4, late, to these.
fn wrong_number(name: &str, trust: &str, victims: &[&str]) -> Scenario {
    let wrong = lie("6", victims, "validation.seq+1");
    let late = wrong.replace("mutate = \"validation.seq+1\"", "delay = 1500");
    let settings = format!(
        r#"
        cluster = {{ n = 7, trust = "{trust}" }}
        workload = {{ requests = 2, ops = ["c1:5", "c1:6"], start = [20300, 29300] }}
        limits.time = 240000
        adversary.byzantine = ["p3"]
        "#
    );
    xrpl(name, &format!("{settings}\n{wrong}{late}"))
}

#[test]
fn a1_a_validation_with_a_wrong_number_stops_who_counts_it() {
    let three = &["p1", "p2", "p4"];
    for trust in ["bf60", "all"] {
        let found = outcomes(&wrong_number("xrpl-1.7.2", trust, three), 20);
        assert_eq!(violating(&found, Property::Termination), 20, "{trust}");
        assert_eq!(marking(&found, "incompatible"), 20);
        assert!(found.iter().all(|outcome| outcome.violations.len() == 1));
        // Who asks for the number too is not stopped, and knows who lies.
        for fixed in ["xrpl", "xrpl-2.4.0"] {
            let fixed = all_end_well(&wrong_number(fixed, trust, three), 20);
            assert_eq!(marking(&fixed, "liar-detected"), 20);
            assert_eq!(marking(&fixed, "incompatible"), 0);
        }
        // One victim is not enough: it recovers when the others have gone on.
        all_end_well(&wrong_number("xrpl-1.7.2", trust, &["p1"]), 20);
    }
    let two = outcomes(&wrong_number("xrpl-1.7.2", "all", &["p1", "p2"]), 20);
    assert_eq!(violating(&two, Property::Termination), 20);
    // The flag alone does it, in the latest version too.
    let flag = toml::Value::Array(vec!["validation-count-ignores-seq".into()]);
    let alone = wrong_number("xrpl", "all", three).with("protocol.flags", flag).expect("a flag");
    is_row(&alone, &outcomes(&alone, 20), "xrpl/validation-seq");
}

/// A2: p1 and p2 get the other payment from p3, and hear that p3 wants it.
fn two_deceived() -> [String; 2] {
    let two = ["p1", "p2"];
    [lie("", &two, "tx=other"), lie("5", &two, "propose.txs=other")]
}

#[test]
fn a2_with_lists_that_overlap_too_little_one_lie_stops_a_part() {
    let [payment, position] = two_deceived();
    let both = payment.clone() + &position;
    let found = outcomes(&double_spend("bf60", &both), 60);
    // Not where p3 is so late that it wants the payment in ledger 3: then p2 votes it out there, and prefers it in ledger 4.
    let stopped = violating(&found, Property::Termination);
    assert!(stopped >= 50, "{stopped}");
    is_row(&double_spend("bf60", &both), &found, "xrpl/overlap-stuck");
    assert_eq!(violating(&found, Property::Agreement), 0);
    all_end_well(&double_spend("all", &both), 60);
    // The payment alone is not enough: at the first look all go with the majority.
    all_end_well(&double_spend("bf60", &payment), 60);
}

#[test]
fn a2_a_partition_does_it_without_a_liar() {
    // p0, p1 and p2 do not hear of the payment before they close ledger 4.
    let faults = r#"
        [[adversary.faults]]
        kind = "tx"
        to = ["p0", "p1", "p2"]
        delay = 3000
        [[adversary.faults]]
        round = 5
        source = "named"
        partition = [["p0", "p1", "p2"], ["p3", "p4", "p5", "p6"]]
    "#;
    let without_liar = |trust| {
        let mut scenario = double_spend(trust, faults);
        scenario.adversary.byzantine = turncoat_core::ids::NodeSet::EMPTY;
        scenario
    };
    let found = outcomes(&without_liar("bf60"), 60);
    assert!(violating(&found, Property::Termination) > 20);
    assert_eq!(violating(&found, Property::Agreement), 0);
    all_end_well(&without_liar("all"), 60);
    is_row(&without_liar("bf60"), &found, "xrpl/overlap-stuck-network");
}

/// The other side gets the other payment from p3, and hears from then on that p3 wants what it wants.
fn other_payment() -> String {
    lie("", &OTHER_SIDE, "tx=other")
        + &lie("5", &OTHER_SIDE, "propose.txs=other")
        + &lie("{ from = 7 }", &OTHER_SIDE, "propose=copy")
}

/// A3: p3 goes with both sides, each with a payment of its own.
fn two_faced(trust: &str) -> Scenario {
    double_spend(trust, &(other_payment() + &lie("{ from = 6 }", &OTHER_SIDE, "validation=copy")))
}

#[test]
fn a3_a_liar_that_goes_with_both_sides_makes_two_ledgers() {
    let found = outcomes(&two_faced("bf60"), 60);
    // The liar has to be late enough to know what the other side validates: heartbeats fall as they do.
    let forks = violating(&found, Property::Agreement);
    assert!(forks >= 30, "{forks}");
    is_row(&two_faced("bf60"), &found, "xrpl/overlap-fork");
    assert_eq!(violating(&outcomes(&two_faced("all"), 60), Property::Agreement), 0);
    // Where validations are relayed, somebody sees both.
    let relayed = two_faced("bf60").with("protocol.relay", true.into()).expect("a key");
    let relayed = outcomes(&relayed, 60);
    assert_eq!(marking(&found, "liar-detected"), 0);
    assert!(marking(&relayed, "liar-detected") >= 30);
}

/// A4: after A2 p3 validates, to p6 alone, the ledger that p6 has built.
fn one_more_validation(trust: &str) -> Scenario {
    double_spend(trust, &(two_deceived().concat() + &lie("8", &["p6"], "validation=copy")))
}

#[test]
fn a4_one_more_lie_after_a2_makes_two_ledgers() {
    let found = outcomes(&one_more_validation("bf60"), 60);
    let forks = violating(&found, Property::Agreement);
    assert!(forks >= 30, "{forks}");
    assert_eq!(marking(&found, "liar-detected"), 0, "nobody hears both");
    is_row(&one_more_validation("bf60"), &found, "xrpl/fork-variant");
    all_end_well(&one_more_validation("all"), 60);
}

/// A5: p3 proposes to both sides, and validates one ledger of one side, then one of the other, to all.
fn undetected(trust: &str) -> Scenario {
    double_spend(trust, &(other_payment() + &lie("{ from = 8, every = 4 }", &[], "validation=copy")))
}

#[test]
fn a5_two_chains_and_nobody_can_tell_who_lies() {
    for relay in [false, true] {
        let scenario = |trust| undetected(trust).with("protocol.relay", relay.into()).expect("a key");
        let found = outcomes(&scenario("bf60"), 60);
        let forks = violating(&found, Property::Agreement);
        assert!(forks >= 10, "{forks}");
        assert_eq!(marking(&found, "liar-detected"), 0);
        if relay {
            is_row(&scenario("bf60"), &found, "xrpl/fork-undetected");
        }
        assert_eq!(violating(&outcomes(&scenario("all"), 60), Property::Agreement), 0);
    }
}

/// A6: a partition of eight seconds, and four payments of which one can be settled.
fn parted(name: &str, trust: &str) -> Scenario {
    let settings = format!(
        r#"
        cluster = {{ n = 7, trust = "{trust}" }}
        [workload]
        requests = 4
        ops = ["c1:80000@p0", "!c2:81000@p1", "!c2:82000@p5", "!c1:83000@p6"]
        start = [20300, 20300, 20300, 20300]
        goal = {{ height = 10 }}
        [limits]
        time = 120000
        [[adversary.faults]]
        time = [20000, 28000]
        partition = [["p0", "p1", "p2"], ["p3", "p4", "p5", "p6"]]
        "#
    );
    xrpl(name, &settings)
}

#[test]
fn a6_with_two_of_five_both_sides_of_a_partition_go_on() {
    let found = outcomes(&parted("xrpl-seeded-40", "th60"), 20);
    assert_eq!(violating(&found, Property::Agreement), 20);
    is_row(&parted("xrpl-seeded-40", "th60"), &found, "xrpl/threshold-40");
    for (name, pct) in [("xrpl-2.4.0", 80), ("xrpl-2.4.0", 40)] {
        // With 80 % for validations there is no fork, whatever a round asks for. But a part is stuck.
        let scenario = parted(name, "th60").with("protocol.consensus-pct", pct.into()).expect("a key");
        let found = outcomes(&scenario, 60);
        assert_eq!(violating(&found, Property::Agreement), 0);
        assert!(violating(&found, Property::Termination) > 0);
    }
    all_end_well(&parted("xrpl-2.4.0", "all"), 20);
}

#[test]
fn payments_that_exclude_each_other_are_enough_where_lists_overlap_too_little() {
    let whole = |trust| {
        let mut scenario = parted("xrpl-2.4.0", trust);
        scenario.adversary.faults.clear();
        scenario
    };
    let found = outcomes(&whole("th60"), 60);
    let stuck = violating(&found, Property::Termination);
    assert!(stuck >= 10, "{stuck}");
    is_row(&whole("th60"), &found, "xrpl/overlap-conflicting-txs");
    all_end_well(&whole("all"), 60);
}

#[test]
fn a7_a_liar_in_the_middle_keeps_two_branches_in_balance() {
    // Two instances of p3 go with one half each, and say nothing to the other half. A partition parts the halves for a while; after
    // that all hear all, and each half sees four of seven on its own branch.
    let silent = |instance: &str, to: &str| {
        ["propose", "validation"].map(|kind| {
            format!("[[adversary.faults]]\nfrom = [\"{instance}\"]\nto = {to}\nmutate = \"{kind}.omit\"\n")
        })
    };
    let [a, b] = [r#"["p0", "p1", "p2"]"#, r#"["p4", "p5", "p6"]"#];
    let silence = [silent("p3.a", b), silent("p3.b", a)].concat().concat();
    let settings = format!(
        r#"
        cluster = {{ n = 7, clients = 2 }}
        workload = {{ requests = 2, ops = ["c1:5@p0", "c0:6@p4"], start = [20300, 20300] }}
        limits.time = 240000
        [adversary]
        byzantine = ["p3"]
        twins = ["p3"]
        [[adversary.faults]]
        time = [20000, 40000]
        partition = [["p0", "p1", "p2", "p3.a"], ["p3.b", "p4", "p5", "p6"]]
        {silence}
        "#
    );
    let scenario = xrpl("xrpl", &settings);
    let found = outcomes(&scenario, 60);
    // Not where one half is behind: it is not sure of itself then, and goes over.
    assert!(violating(&found, Property::Termination) > 0);
    assert_eq!(violating(&found, Property::Agreement), 0);
    is_row(&scenario, &found, "xrpl/balanced-branches");
}

#[test]
fn a8_a_liar_that_never_decides_keeps_two_branches_apart() {
    // A partition leaves p0 and p1 on one branch and p2, p3 and p4 on another. Nobody has heard of a ledger that p5 validates, so p5
    // counts as undecided. Three against two, and one that may still join the two: p0 and p1 stay, and neither branch has five. (Had
    // the branch of the three the larger hash, it would win the tie, and p0 and p1 would go over.)
    let told = |lie: &str| {
        let settings = format!(
            r#"
            cluster = {{ n = 6, clients = 2 }}
            workload = {{ requests = 2, ops = ["c1:5@p0", "c0:6@p3"], start = [20300, 20300] }}
            adversary.byzantine = ["p5"]
            [[adversary.faults]]
            time = [20000, 40000]
            partition = [["p0", "p1"], ["p2", "p3", "p4"], ["p5"]]
            {lie}
            "#
        );
        xrpl("xrpl", &settings)
    };
    let scenario = told(&lie_of("p5", "", &[], "validation.ledger=null"));
    let found = outcomes(&scenario, 10);
    assert_eq!(violating(&found, Property::Termination), 10);
    assert_eq!(marking(&found, "liar-detected"), 0, "it tells all the same");
    is_witness(scenario, "xrpl/undecided-liar");
    // It takes a liar that goes on: an honest p5 joins a branch, and one that falls silent is forgotten after three minutes.
    all_end_well(&told(""), 10);
    for outcome in all_end_well(&told(&lie_of("p5", "", &[], "validation.omit")), 10) {
        assert!(outcome.time.0 > 180_000, "{}", outcome.time);
    }
}

#[test]
fn lists_that_overlap_above_the_bound_are_safe_and_may_be_stuck() {
    // Lists of ten that overlap in nine: more than the n/2 + n - q + t = 8 that exclude a fork. After a partition p0 to p4 are on one
    // branch, the others on another. p0 to p4 see five against five, the others six against four: nobody moves.
    let [low, high] = [0..10, 1..11].map(|list| list.map(|i| format!("p{i}")).collect::<Vec<_>>());
    let lists: Vec<&Vec<String>> = (0..11).map(|i| if i < 5 { &low } else { &high }).collect();
    let settings = format!(
        r#"
        cluster = {{ n = 11, trust = {lists:?} }}
        network.loss = "drop"
        limits.time = 240000
        [workload]
        requests = 4
        ops = ["c1:80000@p0", "!c2:81000@p1", "!c2:82000@p3", "!c1:83000@p4"]
        start = [20300, 20300, 20300, 20300]
        [[adversary.faults]]
        time = [20000, 40000]
        partition = [["p0", "p1", "p2", "p3", "p4"], ["p5", "p6", "p7", "p8", "p9", "p10"]]
        "#
    );
    let scenario = xrpl("xrpl", &settings);
    let found = outcomes(&scenario, 60);
    assert_eq!(violating(&found, Property::Agreement), 0);
    assert!(violating(&found, Property::Termination) > 0);
    is_row(&scenario, &found, "xrpl/overlap-above-bound");
    let identical = scenario.with("cluster.trust", "all".into()).expect("a key");
    all_end_well(&identical, 60);
}

#[test]
fn at_the_start_of_a_network_one_validation_may_be_enough_for_a_fork() {
    // p3 has a face for p0, p2 and p5 that never hears of ledgers. p4 validates ledger 2, hears that p1 has validated another, and goes
    // over; then p6 does. When the first of the two is final at p4, p6 and p1, they have gone on with the second.
    let scenario = |flags: &str| {
        let settings = format!("protocol.flags = {flags}\n{}", include_str!("start.toml"));
        scenario_of(toml::toml! { name = "xrpl" }, &settings)
    };
    let forked = scenario(r#"["nobody-on-genesis"]"#);
    let outcome = run(&forked);
    assert_eq!(violating(&[outcome], Property::Agreement), 1);
    is_witness(forked, "xrpl/nobody-on-genesis");
    assert!(run(&scenario("[]")).violations.is_empty());
}
