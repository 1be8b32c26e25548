//! Twins on PBFT: one twin of four replicas does no harm, two do. And on HotStuff, whose published bugs it finds.

use std::collections::BTreeSet;

use turncoat::core::rng::{Purpose, Rng, run_seed};
use turncoat::core::strategy::{Space, Strategy};
use turncoat::{Entry, Outcome, Property, Runner, Scenario, Seed, strategies};

/// A campaign as a user writes it: `twins rounds=2 order=rank`, with keys of the scenario.
struct Bench {
    strategy: Box<dyn Strategy + Send>,
    runner: Box<dyn Runner>,
}

impl Bench {
    fn new(name: &str, params: &str, keys: &str) -> Self {
        let entry =
            turncoat_protocols::all().into_iter().find(|entry| entry.name == name).expect("a protocol");
        let base = Scenario::parse(&format!("schema = 1\nprotocol.name = '{name}'\n{keys}")).unwrap();
        let pair = |word: &str| word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        let params: Vec<_> = params.split_whitespace().filter_map(pair).collect();
        let strategy = strategies::make("twins", &base, &params, &(entry.mutations)()).unwrap();
        Self { strategy, runner: Entry::runner(&entry) }
    }

    fn run(&mut self, index: u64) -> (Scenario, Outcome) {
        let seed = run_seed(0x5eed, index);
        let scenario = self.strategy.next(index, &mut Rng::new(seed, Purpose::Strategy));
        let scenario = Scenario { seed: Seed(seed), ..scenario };
        let outcome = self.runner.execute(&scenario).unwrap();
        (scenario, outcome)
    }

    /// All runs of a strategy that has its scenarios in order.
    fn all(mut self) -> impl Iterator<Item = (Scenario, Outcome)> {
        let count = self.strategy.space().and_then(Space::runs).expect("scenarios in order");
        (0..count).map(move |index| self.run(index))
    }
}

/// p0 leads. Each of its instances has an instance of p1 and one honest replica with it, which is a quorum: both sides
/// decide. That is more than PBFT promises to tolerate, and the outcome says so.
#[test]
fn two_twins_of_four_replicas_split_pbft() {
    let keys = "cluster = { over-budget = true }";
    let both = |scenario: &Scenario| {
        let text = scenario.to_toml();
        text.contains(r#"leaders = ["p0"]"#)
            && text.contains(r#"partition = [["p0.a", "p1.a", "p2"], ["p0.b", "p1.b", "p3"]]"#)
    };
    let mut found = 0;
    for (scenario, outcome) in Bench::new("pbft", "twins=2 rounds=1 order=rank", keys).all() {
        assert!(outcome.over_budget);
        if both(&scenario) {
            assert!(outcome.violation(Property::Agreement).is_some(), "{}", scenario.to_toml());
            found += 1;
        }
    }
    assert_eq!(found, 1);
}

/// Every scenario of two rounds, and some of ten.
#[test]
fn one_twin_of_four_replicas_does_no_harm_to_pbft() {
    let keys = "workload.requests = 2";
    for (scenario, outcome) in Bench::new("pbft", "rounds=2 order=rank", keys).all() {
        assert!(outcome.violations.is_empty(), "{:?}\n{}", outcome.violations, scenario.to_toml());
    }
    let mut ten = Bench::new("pbft", "rounds=10 partitions=1-3", keys);
    let mut views = 0;
    for (scenario, outcome) in (0..1000).map(|index| ten.run(index)) {
        assert!(outcome.violations.is_empty(), "{:?}\n{}", outcome.violations, scenario.to_toml());
        views += outcome.marks & 1;
    }
    assert!(views > 300, "views change in {views} of 1000 runs");
}

/// Whatever rules of a broken PBFT the full space violates, the reduced ones do. With one client the instances of an
/// identity are alike too.
#[test]
fn the_reduced_space_shows_all_violations_of_a_broken_pbft() {
    for (name, clients, symmetries) in
        [("pbft-java", 2, &["honest"][..]), ("pbft-java", 1, &["twins", "honest", "all"])]
    {
        let keys = "workload.requests = 4";
        let rules = |symmetry: &str| -> BTreeSet<String> {
            let params = format!("rounds=2 order=rank after=drop clients={clients} symmetry={symmetry}");
            let found = Bench::new(name, &params, keys).all().flat_map(|(_, outcome)| outcome.violations);
            found.map(|violation| format!("{} {}", violation.property, violation.rule)).collect()
        };
        let full = rules("none");
        assert!(full.len() > 1, "{full:?}");
        for symmetry in symmetries {
            assert_eq!(rules(symmetry), full, "{name} {clients} {symmetry}");
        }
    }
}

/// How many of so many runs violate agreement or integrity.
fn unsafe_runs(name: &str, params: &str, keys: &str, runs: u64) -> usize {
    let keys = format!("workload.requests = 1\n{keys}");
    let mut bench = Bench::new(name, params, &keys);
    let broken = |outcome: &Outcome| {
        [Property::Agreement, Property::Integrity]
            .iter()
            .any(|&property| outcome.violation(property).is_some())
    };
    (0..runs).filter(|&index| broken(&bench.run(index).1)).count()
}

/// Nobody lies: in every second view the leader is alone, in the others a quorum is together. Fast-HotStuff is safe in all
/// of these runs, unless it does not compare the views of a two-chain.
#[test]
fn twins_find_the_bug_of_fast_hotstuff() {
    let params = "twins=0 rounds=8 isolate=2 partitions=1-2 blocks=quorum";
    let keys = "protocol.pacemaker = 'local'\nprotocol.doublings = 0";
    assert!(unsafe_runs("fast-hotstuff-vulnerable", params, keys, 1000) > 10);
    assert_eq!(unsafe_runs("fast-hotstuff", params, keys, 1000), 0);
}

#[test]
fn twins_find_decisions_without_their_parents() {
    let bug = "protocol.flags = ['commit-skips-missing-parent']";
    assert!(unsafe_runs("hotstuff-chained", "", bug, 20) > 10);
    assert_eq!(unsafe_runs("hotstuff-chained", "", "", 20), 0);
}
