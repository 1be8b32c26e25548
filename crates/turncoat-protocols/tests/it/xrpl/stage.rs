//! What the stories of the XRP Ledger have in common. Its time is the clock's: stories are runs, each over some seeds, in which
//! heartbeats fall differently. Ledger 2 closes after 15 seconds and each later one after 3 seconds more, so a payment of
//! second 20 is for ledger 4, whose rounds are 5 (PROPOSE) and 6 (VALIDATION).

use std::sync::Arc;

use toml::Table;
use turncoat_core::ids::NodeId;
use turncoat_core::node::Node;
use turncoat_core::outcome::{End, Outcome, Property};
use turncoat_core::scenario::{Scenario, Seed};
use turncoat_core::sim::Sim;
use turncoat_lab::suite::{Bug, verify};
use turncoat_protocols::xrpl::Xrpl;

use crate::stage::{entry, is_witness, marked_by, merge, run, scenario_of};

/// A run of the XRP Ledger, or of one of its variants; `settings` are keys of the scenario, as TOML.
pub(crate) fn xrpl(name: &str, settings: &str) -> Scenario {
    let mut keys: Table = entry(name).setting.parse().unwrap_or_else(|error| panic!("{error}"));
    merge(&mut keys, settings.parse().unwrap_or_else(|error| panic!("{error}")));
    scenario_of(Table::from_iter([("name".to_owned(), name.into())]), &keys.to_string())
}

/// The outcomes of so many seeds.
pub(crate) fn outcomes(scenario: &Scenario, seeds: u64) -> Vec<Outcome> {
    let of = |seed| run(&Scenario { seed: Seed(seed), ..scenario.clone() });
    (0..seeds).map(of).collect()
}

/// All end well.
pub(crate) fn all_end_well(scenario: &Scenario, seeds: u64) -> Vec<Outcome> {
    let outcomes = outcomes(scenario, seeds);
    for (seed, outcome) in outcomes.iter().enumerate() {
        assert!(outcome.violations.is_empty(), "seed {seed}: {:?}", outcome.violations);
        assert_eq!(outcome.end, End::Goal, "seed {seed}");
    }
    outcomes
}

/// In how many of the runs this property does not hold.
pub(crate) fn violating(outcomes: &[Outcome], property: Property) -> usize {
    let violates = |outcome: &&Outcome| outcome.violations.iter().any(|found| found.property == property);
    outcomes.iter().filter(violates).count()
}

/// In how many of them a mark was made.
pub(crate) fn marking(outcomes: &[Outcome], mark: &str) -> usize {
    outcomes.iter().filter(|outcome| marked_by::<Xrpl>(outcome, mark)).count()
}

/// A run that has come to its end, to be looked at.
pub(crate) fn ended(scenario: &Scenario) -> Sim<Xrpl> {
    let mut sim = Sim::with_preset(entry(&scenario.protocol.name).preset);
    sim.reset(scenario).unwrap_or_else(|error| panic!("{error}"));
    sim.run();
    sim
}

/// The state of a replica.
pub(crate) fn state(sim: &Sim<Xrpl>, replica: usize) -> serde_json::Value {
    let seat = sim.seats().first(NodeId::replica(replica)).expect("a replica");
    sim.replica(seat).expect("a replica").state().expect("a state").json()
}

/// The payments in a replica's log, with the numbers of their ledgers: `c1:5@4`.
pub(crate) fn payments(sim: &Sim<Xrpl>, replica: usize) -> Vec<String> {
    let state = state(sim, replica);
    let committed = state["committed"].as_array().expect("a log");
    let ledgers = state["ledgers"].as_array().expect("ledgers");
    let mut payments = Vec::new();
    for id in committed {
        let ledger = ledgers.iter().find(|ledger| ledger["id"] == *id).expect("what is committed is here");
        for tx in ledger["txs"].as_array().expect("payments") {
            payments.push(format!("{}@{}", tx["body"]["op"].as_str().expect("text"), ledger["seq"]));
        }
    }
    payments
}

/// The first seed with which a scenario shows a bug of the suite, and its controls bear it, makes it the witness of that bug. Most of
/// such a run is waiting, so it is cut short.
pub(crate) fn is_row(scenario: &Scenario, outcomes: &[Outcome], id: &str) {
    let path = format!("{}/../../suite/{id}.toml", env!("CARGO_MANIFEST_DIR"));
    let row: Table = std::fs::read_to_string(path).expect("a row").parse().expect("a table");
    let cut = scenario.with("limits.time", WITNESS.into()).expect("a key");
    let holds = |&seed: &u64| {
        let mut told = Scenario { seed: Seed(seed), ..cut.clone() };
        told.bug = row["bug"].as_table().cloned().map(Arc::new);
        let bug = Bug::parse(id, &told.to_toml()).unwrap_or_else(|error| panic!("{id}: {error}"));
        bug.shows(&outcomes[seed as usize])
            && verify(&bug, &|name| Ok(entry(name))).is_ok_and(|wrong| wrong.is_empty())
    };
    let seed = (0..outcomes.len() as u64).find(holds).expect("a seed that shows it");
    is_witness(Scenario { seed: Seed(seed), ..cut }, id);
}

/// After so long it is clear that a witness is stuck: its controls are done after half of it. What a search finds may need more
/// time than that without being stuck, so rows about termination search with all the time that the protocol has by default.
const WITNESS: i64 = 90_000;
