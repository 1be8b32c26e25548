//! How many scenarios there are, that each has its number, and that no reduction loses one.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use turncoat_core::message::MutationTable;
use turncoat_core::scenario::Scenario;

use super::config::Config as Round;
use super::{INFO, Twins};
use crate::params::Params;

/// The strategy with parameters as a user writes them, for `n` replicas of which one may be faulty.
fn twins(n: usize, line: &str) -> Twins {
    let pair = |word: &str| word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    let given: Vec<_> = line.split_whitespace().map(|word| pair(word).unwrap()).collect();
    let base = Scenario::new("toy").with("cluster.n", (n as i64).into()).unwrap();
    let base = base.with("cluster.over-budget", true.into()).unwrap();
    let base = base.with("cluster.clients", 0.into()).unwrap();
    let lies = MutationTable::default();
    Twins::new(&base, &Params::new(&INFO, &given, &lies).unwrap()).unwrap()
}

fn count(n: usize, line: &str) -> u128 {
    twins(n, line).space.count().unwrap()
}

/// A scenario as its rounds.
fn rounds(twins: &Twins, rank: u128) -> Vec<Round> {
    twins.space.unrank(rank).into_iter().map(|config| twins.configs.get(config)).collect()
}

/// All scenarios.
fn all(twins: &Twins) -> Vec<Vec<Round>> {
    (0..twins.space.count().unwrap()).map(|rank| rounds(twins, rank)).collect()
}

/// Of four replicas, one of them twinned.
#[test]
fn there_are_as_many_scenarios_as_are_published() {
    let table: [(&str, u128); 6] = [
        ("partitions=2 leaders=twins", 15),
        ("partitions=2", 60),
        ("partitions=3 leaders=twins", 25),
        ("partitions=3", 100),
        ("partitions=1-2", 64),
        ("partitions=1-3", 164),
    ];
    for (line, configs) in table {
        for rounds in [2, 4, 6, 7, 8, 10] {
            assert_eq!(count(4, &format!("{line} rounds={rounds}")), configs.pow(rounds), "{line}, {rounds}");
        }
    }
    assert_eq!(count(4, "partitions=2 leaders=twins rounds=6"), 11_390_625);
    assert_eq!(count(4, "rounds=2"), 3600);
    assert_eq!(count(4, "rounds=4"), 12_960_000);
}

/// As many as the generator of relab/hotstuff has, which leaves twins out as leaders.
#[test]
fn in_ordered_blocks_honest_replicas_stand_by_name() {
    let ordered = |n: usize, line: &str| count(n, &format!("blocks=ordered leaders=non-twins {line}"));
    assert_eq!(ordered(4, "partitions=1-2 rounds=1"), 6 * 3);
    assert_eq!(ordered(4, "partitions=1-2 rounds=6"), 34_012_224);
    assert_eq!(ordered(5, "partitions=1-2 rounds=1"), 9 * 4);
    assert_eq!(ordered(7, "twins=2 partitions=1-2 rounds=1"), 27 * 5);
}

#[test]
fn scenarios_in_a_row_differ_in_their_last_rounds() {
    let near = twins(4, "order=rank rounds=10 start=3");
    let walk = |index: u64| rounds(&near, near.place(index));
    let first = walk(0);
    assert_ne!(first, rounds(&near, 0));
    // 60 configurations: ten thousand scenarios differ in three rounds, and in the one before if these overflow.
    for index in [1, 100, 9_999] {
        let other = walk(index);
        assert_ne!(other, first);
        assert_eq!(other[..6], first[..6]);
    }
    let other = twins(4, "order=rank rounds=10 start=4");
    assert_ne!(rounds(&other, other.place(0))[..6], first[..6]);
    // After the last scenario comes the first.
    let few = twins(4, "order=rank rounds=1 start=3");
    let all: BTreeSet<u128> = (0..60).map(|index| few.place(index)).collect();
    assert_eq!((all.len(), all.last()), (60, Some(&59)));
}

#[test]
fn without_replacement_there_are_fewer() {
    let fewer = |line: &str| count(4, &format!("{line} rounds=4 replacement=without"));
    assert_eq!(fewer("leaders=twins"), 32_760);
    assert_eq!(fewer("partitions=2"), 11_703_240);
    assert_eq!(fewer("partitions=3 leaders=twins"), 303_600);
    assert_eq!(fewer("partitions=3"), 94_109_400);
    assert_eq!(
        count(4, "partitions=4 leaders=rule rounds=10 replacement=without"),
        3_628_800,
        "all ten, once"
    );
}

#[test]
fn larger_clusters_have_more() {
    let partitions = |n, line: &str| count(n, &format!("{line} leaders=rule rounds=1"));
    assert_eq!((partitions(5, "partitions=2"), partitions(5, "partitions=3")), (31, 90));
    assert_eq!((partitions(7, "twins=2 partitions=2"), partitions(7, "twins=2 partitions=3")), (255, 3025));
    assert_eq!(count(7, "twins=2 leaders=non-twins rounds=1"), 255 * 5);
    // 2^128 are not enough to count these.
    assert_eq!(twins(7, "twins=2 partitions=3 rounds=10").space.count(), None);
}

/// Of the 15 ways to part four replicas and one twin in two, 12 leave somebody a quorum.
#[test]
fn filters_leave_what_they_say() {
    assert_eq!(count(4, "rounds=1 leaders=rule blocks=quorum"), 12);
    let led = count(4, "rounds=1 leaderless=0");
    let bad = 60 - led;
    assert_eq!(
        count(4, "rounds=1 blocks=quorum leaderless=0"),
        led,
        "who leads a quorum is in a block with one"
    );
    assert_eq!(count(4, "rounds=3 leaderless=1"), led.pow(3) + 3 * led.pow(2) * bad);
    assert_eq!(count(4, "rounds=3 leaderless=3"), 60_u128.pow(3));
    // An honest leader alone, or the twins: in one block, or each in its own, which are then all.
    assert_eq!(count(4, "rounds=1 isolate=1"), 3 + 1);
    assert_eq!(count(4, "rounds=5 isolate=2"), 60_u128.pow(3) * 4_u128.pow(2));
    assert_eq!(
        (count(4, "rounds=6 repeat=2"), count(4, "rounds=5 repeat=2")),
        (60_u128.pow(3), 60_u128.pow(3))
    );
}

#[test]
fn every_round_of_a_filtered_scenario_is_as_the_filter_says() {
    let some = twins(4, "rounds=4 leaderless=1 isolate=3 blocks=quorum");
    for rank in (0..some.space.count().unwrap()).step_by(997) {
        let rounds = rounds(&some, rank);
        let led = |config: &&Round| some.configs.is_led(config);
        assert!(some.configs.is_isolated(&rounds[2]));
        assert!(rounds.iter().filter(led).count() >= 2, "{rounds:?}");
    }
}

#[test]
fn the_two_rounds_of_one_twin_have_3600_scenarios_and_each_its_number() {
    let space = twins(4, "rounds=2");
    let scenarios = all(&space);
    assert_eq!(scenarios.len(), 3600);
    let distinct: BTreeSet<String> = scenarios.iter().map(|rounds| format!("{rounds:?}")).collect();
    assert_eq!(distinct.len(), 3600);
    for (scenario, rank) in scenarios.iter().zip(0..) {
        let positions: Vec<u128> =
            scenario.iter().map(|config| space.configs.position(config).unwrap()).collect();
        assert_eq!(space.space.rank(&positions), Some(rank));
        assert!(scenario.iter().all(|config| config.blocks.len() == 2));
    }
}

/// The ways to name five nodes anew, of which the first two are twins: these, or the others, or both change names.
fn renamings(twins: bool, honest: bool) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for node in 0..5 {
        let free =
            |other: usize| other == node || if node < 2 { twins && other < 2 } else { honest && other > 1 };
        let with = |names: &Vec<usize>| {
            let next = (0..5).filter(|&other| free(other) && !names.contains(&other));
            next.map(|other| [&names[..], &[other]].concat()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    all
}

/// The scenario with other names: node i is now called `names[i]`.
fn renamed(scenario: &[Round], names: &[usize]) -> Vec<Round> {
    let config = |config: &Round| {
        let renamed = |block: &Vec<usize>| {
            let mut block: Vec<usize> = block.iter().map(|&node| names[node]).collect();
            block.sort_unstable();
            block
        };
        let mut blocks: Vec<Vec<usize>> = config.blocks.iter().map(renamed).collect();
        blocks.sort_unstable();
        // With one twin, node i has identity i - 1; the first node has identity 0.
        let leader = config.leader.map(|leader| if leader == 0 { 0 } else { names[leader + 1] - 1 });
        Round { blocks, leader }
    };
    scenario.iter().map(config).collect()
}

/// Every scenario of the full space is one of the reduced space, under other names. For the twins alone it is so once,
/// unless two blocks can be exchanged as a whole.
#[test]
fn no_scenario_is_lost_by_symmetry() {
    for line in ["rounds=2", "rounds=2 partitions=1-3", "rounds=3 leaders=twins"] {
        let line = format!("{line} after=drop");
        let full = all(&twins(4, &line));
        for (symmetry, twin, honest) in [("twins", true, false), ("honest", false, true), ("all", true, true)]
        {
            let reduced = all(&twins(4, &format!("{line} symmetry={symmetry}")));
            let reduced: BTreeSet<String> = reduced.iter().map(|rounds| format!("{rounds:?}")).collect();
            let names = renamings(twin, honest);
            for scenario in &full {
                let known = names.iter().map(|names| format!("{:?}", renamed(scenario, names)));
                let known: BTreeSet<String> = known.filter(|text| reduced.contains(text)).collect();
                assert!(!known.is_empty(), "{line} {symmetry}: {scenario:?} is lost");
                let once = !honest && !line.contains("partitions");
                assert!(known.len() == 1 || !once, "{line}: {scenario:?} is there twice");
            }
        }
    }
}

/// Half as many for the twins, but for those that never part them; and each honest replica has its turn.
#[test]
fn symmetry_leaves_fewer() {
    // Of the 15 partitions 7 have both instances in one block: 4 for each of (15 + 7) / 2 of them, then.
    assert_eq!(count(4, "rounds=1 symmetry=twins"), 44);
    assert_eq!(count(4, "rounds=2 symmetry=twins"), (3600 + 28 * 28) / 2);
    assert!(count(4, "rounds=2 symmetry=all after=drop") < count(4, "rounds=2 symmetry=twins") / 4);
    // p1 is cut off in one round and p2 in the next, which naming nodes anew in each round would never do.
    let one_by_one = all(&twins(4, "rounds=2 leaders=twins symmetry=all after=drop"));
    let alone = |config: &Round| config.blocks.iter().find(|block| block.len() == 1).map(|block| block[0]);
    let pair = |scenario: &Vec<Round>| (alone(&scenario[0]), alone(&scenario[1]));
    let honest = |node: Option<usize>| node.is_some_and(|node| node > 1);
    let pairs: Vec<_> = one_by_one.iter().map(pair).filter(|(a, b)| honest(*a) && honest(*b)).collect();
    assert!(pairs.iter().any(|(a, b)| a == b) && pairs.iter().any(|(a, b)| a != b), "{pairs:?}");
}

proptest! {
    #![proptest_config(Config { rng_seed: RngSeed::Fixed(7), failure_persistence: None, ..Config::default() })]

    #[test]
    fn a_number_names_a_scenario_and_a_scenario_has_its_number(
        (n, twinned) in prop_oneof![Just((4, 1)), Just((4, 2)), Just((7, 2)), Just((3, 0))],
        blocks in 2..4_usize,
        options in prop::sample::select(vec![
            "", "replacement=without", "symmetry=twins", "symmetry=all after=drop", "leaderless=1", "blocks=quorum isolate=2",
        ]),
        rounds in 1..5_usize,
        part in 0.0..1.0_f64,
    ) {
        let space = twins(n, &format!("twins={twinned} partitions=1-{blocks} rounds={rounds} {options}"));
        let count = space.space.count().unwrap();
        let rank = ((count as f64 * part) as u128).min(count - 1);
        prop_assert_eq!(space.space.rank(&space.space.unrank(rank)), Some(rank));
    }
}
