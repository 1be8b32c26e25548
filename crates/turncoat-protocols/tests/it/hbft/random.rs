//! hBFT in thousands of random orders.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::stage::{ALL, entry, scenario_of};
use turncoat_core::message::MutationTable;
use turncoat_core::outcome::Outcome;
use turncoat_core::rng::run_seed;
use turncoat_core::scenario::{Scenario, SchedulerName, Seed};
use turncoat_protocols::hbft::Msg;

fn scenario(protocol: &str, settings: &str) -> Scenario {
    let n = if protocol == "hbft-5f1" { 6 } else { 4 };
    let settings = format!("cluster = {{ n = {n}, clients = 2 }}\nworkload.requests = 6\n{settings}");
    scenario_of(toml::Table::from_iter([("name".to_owned(), protocol.into())]), &settings)
}

/// Runs a scenario under many seeds; nothing is violated.
fn run(scenario: &Scenario, runs: u64, mut look: impl FnMut(&Outcome)) {
    let mut runner = entry(&scenario.protocol.name).runner();
    let mut scenario = scenario.clone();
    for i in 0..runs {
        scenario.seed = Seed(run_seed(23, i));
        let outcome = runner.execute(&scenario).expect("a scenario that can run");
        assert!(outcome.violations.is_empty(), "{} {:?}", scenario.seed, outcome.violations);
        look(&outcome);
    }
}

#[test]
fn a_thousand_runs_without_faults_violate_nothing_under_any_scheduler() {
    // `async` fires timers early, so that these runs change views, and lag, and catch up.
    for (protocol, more) in [
        ("hbft", ""),
        ("hbft", "protocol.almost-mac = true"),
        ("hbft", "protocol.checkpoint = 100"),
        ("hbft-5f1", ""),
    ] {
        let mut calm = scenario(protocol, more);
        for name in SchedulerName::ALL {
            Arc::make_mut(&mut calm.scheduler).name = name;
            run(&calm, 500, |_| {});
        }
    }
}

#[test]
fn impatient_timers_violate_nothing() {
    for protocol in ["hbft", "hbft-5f1"] {
        run(&scenario(protocol, "scheduler = { name = 'async', timeout = 30 }"), 300, |_| {});
    }
}

#[test]
fn one_liar_violates_nothing() {
    // Nothing is lost for good: no rule of hBFT sends anything again.
    for (liar, scope) in ALL.into_iter().flat_map(|liar| [(liar, "small"), (liar, "any")]) {
        let settings = format!(
            "adversary.byzantine = ['{liar}']\n\
             scheduler = {{ name = 'async', mutate = 40, timeout = 10, scope = '{scope}' }}"
        );
        let mut accepted = 0;
        run(&scenario("hbft", &settings), 300, |outcome| accepted += outcome.injected.accepted);
        assert!(accepted > 300, "{liar} {scope}: the lies are not worth the name");
    }
}

#[test]
fn the_scheduler_tells_the_lies_that_it_is_given_and_no_others() {
    let table = MutationTable::of::<Msg>();
    let only = ["prepare.seq+99", "checkpoint-ii.history.any-99", "commit.view"];
    let given = [
        "prepare.seq+99",
        "checkpoint-ii.history.any-99",
        "commit.view+1",
        "commit.view-1",
        "commit.view=any",
    ];
    for name in ["fifo", "sync", "async"] {
        let settings = format!(
            "adversary.byzantine = ['p1']\nscheduler = {{ name = '{name}', mutate = 40, only = {only:?} }}"
        );
        let mut told = BTreeSet::new();
        run(&scenario("hbft", &settings), 200, |outcome| {
            told.extend(outcome.lies.iter().map(|&(kind, lie)| table.name(kind, lie)));
        });
        assert_eq!(told, given.map(str::to_owned).into(), "{name}");
    }
}
