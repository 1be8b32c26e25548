//! Runs without liars (scenario tests 1 to 8, 12, 16 and 17 of the specification).

use turncoat_core::outcome::Property;
use turncoat_core::scenario::Scenario;

use super::stage::{all_end_well, ended, is_row, marking, outcomes, payments, state, violating, xrpl};
use crate::stage::run;

/// Six replicas that all trust each other: the fewest of which one may lie.
const SIX: &str = "cluster = { n = 6, f = 1 }";
/// Seven of them.
const SEVEN: &str = "cluster = { n = 7, f = 1 }";
/// Ledgers go on after the payments are settled.
const HEIGHT_8: &str = "workload = { requests = 1, ops = [\"c1:5\"], start = [5000], goal = { height = 8 } }";

#[test]
fn a_payment_is_settled_once_everywhere() {
    for cluster in [SIX, SEVEN, "cluster = { n = 7, f = 1, trust = \"bf60\" }"] {
        for version in ["xrpl", "xrpl-2.4.0", "xrpl-1.7.2"] {
            let scenario = xrpl(version, &format!("{cluster}\n{HEIGHT_8}"));
            all_end_well(&scenario, 20);
            let sim = ended(&scenario);
            for replica in 0..scenario.cluster.n {
                let logged = payments(&sim, replica);
                assert_eq!(logged.len(), 1, "{logged:?}");
                assert!(logged[0].starts_with("c1:5@"));
            }
        }
    }
}

#[test]
fn without_payments_empty_ledgers_close_after_a_while() {
    let scenario = xrpl("xrpl", &format!("{SIX}\nworkload = {{ requests = 0, goal = {{ height = 4 }} }}"));
    for outcome in all_end_well(&scenario, 20) {
        // The first one after 15 seconds and at the most one heartbeat, then one every 3 seconds or so.
        assert!((22_000..27_000).contains(&outcome.time.0), "{}", outcome.time);
    }
    let scenario = scenario.with("workload.goal", toml::Value::try_from(toml::toml! { height = 2 }).unwrap());
    // Who hears a validation before it has built a ledger itself goes after the unknown one: at the very start there is nothing
    // else to go by. So some of the first ledgers are final only with the next one.
    let times: Vec<u64> = all_end_well(&scenario.unwrap(), 20).iter().map(|outcome| outcome.time.0).collect();
    assert!(times.iter().all(|time| (16_900..24_000).contains(time)), "{times:?}");
    assert!(times.iter().any(|time| *time < 18_500), "{times:?}");
}

#[test]
fn a_client_that_misses_the_answer_hands_its_payment_in_again_and_is_answered() {
    // Two of six answers to the first payment are lost, and four are too few for the client to go on.
    let lost = r#"
        workload = { requests = 2, ops = ["c1:5", "c1:6"] }
        network = { loss = "drop" }
        [[adversary.faults]]
        from = ["p0", "p3"]
        kind = "settled"
        times = 2
        drop = true
    "#;
    let scenario = xrpl("xrpl", &format!("{SIX}\n{lost}"));
    for outcome in all_end_well(&scenario, 20) {
        assert_eq!((outcome.injected.dropped, outcome.completed), (2, 2));
        assert!(outcome.time.0 > 60_000, "it hands the payment in again after a minute");
    }
    let sim = ended(&scenario);
    for replica in 0..6 {
        let settled = payments(&sim, replica);
        assert_eq!(settled.len(), 2, "no payment is settled twice: {settled:?}");
        assert!(settled[0].starts_with("c1:5@") && settled[1].starts_with("c1:6@"), "{settled:?}");
        // It was settled before it was handed in again, so nobody has it in its pool.
        assert_eq!(state(&sim, replica)["pool"]["txs"].as_array().map(Vec::len), Some(0));
    }
}

#[test]
fn a_payment_that_comes_late_waits_for_the_next_ledger() {
    // Only p0 has it when ledgers close: the others get it later, and vote it out.
    let late = r#"
        workload = { requests = 1, ops = ["c1:5@p0"], start = [5000], goal = { height = 6 } }
        [[adversary.faults]]
        from = ["p0"]
        kind = "tx"
        time = [0, 20000]
        delay = 14000
    "#;
    let scenario = xrpl("xrpl", &format!("{SIX}\n{late}"));
    all_end_well(&scenario, 20);
    for replica in 0..6 {
        assert_eq!(payments(&ended(&scenario), replica), ["c1:5@3"]);
    }
}

#[test]
fn one_of_six_may_stop_and_with_two_nothing_is_final() {
    let crash = |who: &str| format!("[[adversary.faults]]\ntime = 1\ncrash = \"{who}\"\n");
    let scenario = xrpl("xrpl", &format!("{SIX}\n{HEIGHT_8}\n{}", crash("p1")));
    all_end_well(&scenario, 20);
    let two = format!("cluster.over-budget = true\n{}{}", crash("p1"), crash("p2"));
    let scenario = xrpl("xrpl", &format!("{HEIGHT_8}\ncluster.n = 6\n{two}"));
    for outcome in outcomes(&scenario, 20) {
        let found: Vec<_> = outcome.violations.iter().map(|found| found.property.to_string()).collect();
        assert_eq!(found, ["termination"]);
    }
    let sim = ended(&scenario);
    let length = |replica| state(&sim, replica)["committed"].as_array().map(Vec::len);
    assert_eq!((length(0), length(3)), (Some(1), Some(1)), "nothing but the first ledger is final");
}

#[test]
fn who_is_slow_acquires_the_ledgers_of_the_others() {
    let slow = r#"
        [[adversary.faults]]
        to = ["p4"]
        time = [16000, 36000]
        delay = 8000
    "#;
    let work = "workload = { requests = 1, ops = [\"c1:5\"], start = [5000], goal = { height = 16 } }";
    let scenario = xrpl("xrpl", &format!("{SIX}\n{work}\n{slow}"));
    let outcomes = all_end_well(&scenario, 20);
    assert!(marking(&outcomes, "ledger-acquired") == 20 && marking(&outcomes, "wrong-ledger") == 20);
}

/// Tx1 to Tx4 of the thesis: one account pays four times with one number.
pub(crate) const FOUR: &str = r#"
    workload = { requests = 4, ops = ["c1:80000@p0", "!c2:81000@p1", "!c2:82000@p2", "!c1:83000@p3"], start = [5000, 5000, 5000, 5000] }
"#;

#[test]
fn of_payments_that_exclude_each_other_one_is_settled() {
    for version in ["xrpl", "xrpl-2.4.0", "xrpl-1.7.2"] {
        let scenario = xrpl(version, &format!("{SIX}\n{FOUR}"));
        all_end_well(&scenario, 30);
        let sim = ended(&scenario);
        let settled = payments(&sim, 0);
        assert_eq!(settled.len(), 1);
        (1..6).for_each(|replica| assert_eq!(payments(&sim, replica), settled));
    }
}

#[test]
fn in_the_order_of_arrival_they_vote_each_other_out_for_ever() {
    let flag = "protocol.flags = [\"open-ledger-first-seen-order\"]";
    let scenario = xrpl("xrpl", &format!("{SIX}\n{FOUR}\n{flag}"));
    let outcomes = outcomes(&scenario, 30);
    let stuck = violating(&outcomes, Property::Termination);
    is_row(&scenario, &outcomes, "xrpl/first-seen-order");
    // Not where one of them reaches most replicas before the others do.
    assert!(stuck > 15, "{stuck}");
}

#[test]
fn after_a_partition_all_go_on_with_one_chain() {
    for blocks in [
        r#"[["p0", "p1", "p2", "p3", "p4"], ["p5"]]"#,
        r#"[["p0", "p1", "p2"], ["p3", "p4", "p5"]]"#,
        r#"[["p0", "p1"], ["p2", "p3"], ["p4", "p5"]]"#,
    ] {
        for version in ["xrpl", "xrpl-2.4.0"] {
            let cut = format!("[[adversary.faults]]\ntime = [17500, 32500]\npartition = {blocks}");
            let work =
                r#"workload = { requests = 1, ops = ["c1:5@p0"], start = [20000], goal = "committed" }"#;
            let scenario = xrpl(version, &format!("{SIX}\n{work}\nnetwork.loss = \"drop\"\n{cut}"));
            all_end_well(&scenario, 20);
            assert_eq!(payments(&ended(&scenario), 5).len(), 1);
        }
    }
}

#[test]
fn who_does_not_wait_leaves_the_others_behind_for_ever() {
    // p0 and p1 run ahead. They take those who are behind for undecided, and stay where they are; those never catch up.
    let settings = r#"
        protocol.flags = ["no-pause"]
        workload = { requests = 1, ops = ["c1:5@p0"], start = [20000], goal = "committed" }
        network.loss = "drop"
        limits.time = 240000
        [[adversary.faults]]
        time = [17500, 32500]
        partition = [["p0", "p1"], ["p2", "p3"], ["p4", "p5"]]
    "#;
    let scenario = xrpl("xrpl", &format!("{SIX}\n{settings}"));
    let found = outcomes(&scenario, 60);
    assert!(violating(&found, Property::Termination) > 0);
    is_row(&scenario, &found, "xrpl/no-pause");
}

#[test]
fn who_bows_out_is_out_for_the_round_and_back_in_the_next() {
    let settings = r#"
        cluster = { n = 7, f = 1 }
        workload = { requests = 0, goal = "none" }
        adversary.byzantine = ["p3"]
        [[adversary.faults]]
        round = 5
        source = "named"
        from = ["p3"]
        to = ["p0"]
        kind = "propose"
        mutate = "propose.k=bow-out"
    "#;
    // In the middle of the rounds of ledgers 4 and 5.
    for (time, out) in [(22_900, true), (25_900, false)] {
        let scenario = xrpl("xrpl", &format!("limits.time = {time}\n{settings}"));
        let sim = ended(&scenario);
        let round = |replica| state(&sim, replica)["round"].clone();
        let heard = |replica| {
            let positions = round(replica)["positions"].as_array().expect("positions").clone();
            positions.iter().any(|position| position["node"] == "p3")
        };
        assert!(heard(1), "p1 hears p3 in either round");
        assert_eq!((heard(0), round(0)["gone"] == serde_json::json!(["p3"])), (!out, out));
    }
}

#[test]
fn a_payment_with_a_later_number_waits_for_the_one_before() {
    // The first of the two is a second late on its way from the client.
    let early = r#"
        workload = { requests = 2, ops = ["c1:5", "c1:6"], start = [5000, 5000], every = 1 }
        [[adversary.faults]]
        from = ["c0"]
        nth = 1
        times = 1
        delay = 1000
    "#;
    let scenario = xrpl("xrpl", &format!("{SIX}\n{early}"));
    all_end_well(&scenario, 20);
    let settled = payments(&ended(&scenario), 2);
    assert!(settled[0].starts_with("c1:5") && settled[1].starts_with("c1:6"), "{settled:?}");
}

#[test]
fn who_closes_a_wrong_ledger_jumps_to_the_chain_of_the_majority() {
    // p0 and p1 trust p0 to p4; p2 to p9 trust each other. Payments with one number divide them.
    let lists = r#"
        [cluster]
        n = 10
        trust = [
            ["p0", "p1", "p2", "p3", "p4"], ["p0", "p1", "p2", "p3", "p4"],
            ["p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9"], ["p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9"],
            ["p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9"], ["p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9"],
            ["p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9"], ["p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9"],
            ["p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9"], ["p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9"],
        ]
        [workload]
        requests = 2
        ops = ["c1:5@p0", "!c1:6@p5"]
        start = [20000, 20000]
        goal = { height = 12 }
        [[adversary.faults]]
        kind = "tx"
        from = ["p0"]
        to = ["p5", "p6", "p7", "p8", "p9"]
        hold = true
        time = [0, 30000]
        [[adversary.faults]]
        kind = "tx"
        from = ["p5"]
        to = ["p0", "p1", "p2", "p3", "p4"]
        hold = true
        time = [0, 30000]
    "#;
    let scenario = xrpl("xrpl", lists);
    let outcomes = all_end_well(&scenario, 20);
    assert!(marking(&outcomes, "wrong-ledger") > 0 && marking(&outcomes, "rewrite") == 0);
}

#[test]
fn the_same_seed_is_the_same_run() {
    let scenario = xrpl("xrpl", &format!("{SEVEN}\n{FOUR}"));
    let fingerprints: Vec<_> = outcomes(&scenario, 20).iter().map(|outcome| outcome.fingerprint).collect();
    assert_eq!(fingerprints, outcomes(&scenario, 20).iter().map(|o| o.fingerprint).collect::<Vec<_>>());
    let distinct: std::collections::BTreeSet<_> = fingerprints.iter().collect();
    assert_eq!(distinct.len(), 20);
    let again = Scenario::parse(&scenario.to_toml()).expect("a scenario");
    assert_eq!(run(&again).fingerprint, fingerprints[0]);
}
