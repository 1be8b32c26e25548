//! What strategies draw, against what the papers say, by chi-square at a fixed seed.

use std::collections::BTreeMap;

use turncoat_core::fault::{Edit, Effect, Fault, Form, Persona, Span};
use turncoat_core::ids::{NodeId, SeatName};
use turncoat_core::rng::Rng;
use turncoat_core::scenario::{Scenario, SchedulerName};
use turncoat_strategies::partitions::{Blocks, Counted, Urns};

use super::runs;

/// The value of chi-square that a thousandth of all samples exceeds (Wilson and Hilferty's approximation).
fn limit(degrees: usize) -> f64 {
    let k = degrees as f64;
    k * (1.0 - 2.0 / (9.0 * k) + 3.09 * (2.0 / (9.0 * k)).sqrt()).powi(3)
}

fn count(cells: usize, draws: impl Iterator<Item = usize>) -> Vec<u32> {
    let mut counts = vec![0; cells];
    draws.for_each(|cell| counts[cell] += 1);
    counts
}

#[track_caller]
fn assert_uniform(cells: usize, draws: impl Iterator<Item = usize>) {
    assert_shares(&vec![1; cells], draws);
}

#[track_caller]
fn assert_shares(weights: &[u32], draws: impl Iterator<Item = usize>) {
    let counts = count(weights.len(), draws);
    let unit = f64::from(counts.iter().sum::<u32>()) / f64::from(weights.iter().sum::<u32>());
    assert!(unit > 100.0, "too few draws to tell");
    let cell = |(&count, &weight): (&u32, &u32)| {
        let expected = unit * f64::from(weight);
        (f64::from(count) - expected).powi(2) / expected
    };
    let (chi, limit) = (counts.iter().zip(weights).map(cell).sum::<f64>(), limit(weights.len() - 1));
    assert!(chi < limit, "{chi} exceeds {limit}: {counts:?}");
}

fn only_fault(scenario: &Scenario) -> Option<&Fault> {
    scenario.adversary.faults.first()
}

fn round(fault: &Fault) -> usize {
    fault.when.round.map_or(0, Span::first) as usize
}

fn subset(names: &[SeatName]) -> usize {
    names.iter().map(|name| 1 << name.node.index()).sum()
}

/// Numbers the partitions of `0..n`, to count them without `rank`.
fn numbers(n: usize) -> BTreeMap<Blocks, usize> {
    let counted = Counted::of(n);
    (0..counted.count()).map(|rank| (counted.unrank(rank), rank as usize)).collect()
}

#[test]
fn partitions_drawn_by_number_are_uniform() {
    for n in [4, 5] {
        let (counted, numbers) = (Counted::of(n), numbers(n));
        let mut rng = Rng::stream(0, n as u64);
        assert_uniform(numbers.len(), (0..1_000_000).map(|_| numbers[&counted.draw(&mut rng)]));
    }
}

#[test]
fn partitions_drawn_from_urns_are_uniform() {
    for n in [4, 5] {
        let (urns, numbers) = (Urns::of(n), numbers(n));
        let mut rng = Rng::stream(1, n as u64);
        assert_uniform(numbers.len(), (0..1_000_000).map(|_| numbers[&urns.draw(&mut rng)]));
    }
}

#[test]
fn both_ways_to_draw_partitions_agree() {
    let (counted, urns, numbers) = (Counted::of(7), Urns::of(7), numbers(7));
    let mut rng = Rng::stream(2, 7);
    let a = count(877, (0..200_000).map(|_| numbers[&counted.draw(&mut rng)]));
    let b = count(877, (0..200_000).map(|_| numbers[&urns.draw(&mut rng)]));
    let cell = |(&a, &b): (&u32, &u32)| f64::from(a.abs_diff(b)).powi(2) / f64::from(a + b);
    let chi: f64 = a.iter().zip(&b).map(cell).sum();
    assert!(chi < limit(876), "{chi} exceeds {}", limit(876));
}

#[test]
fn large_sets_fall_into_as_many_blocks_as_bell_numbers_say() {
    // The mean is B(65)/B(64) - 1, the variance B(66)/B(64) - (B(65)/B(64))^2 - 1.
    let (mean, variance) = (20.110157, 4.206792);
    let (urns, draws) = (Urns::of(64), 100_000);
    let mut rng = Rng::stream(3, 64);
    let blocks: usize = (0..draws).map(|_| urns.draw(&mut rng).len()).sum();
    let error = blocks as f64 / f64::from(draws) - mean;
    let deviation = (variance / f64::from(draws)).sqrt();
    assert!(error.abs() < 3.3 * deviation, "{error} exceeds 3.3 * {deviation}");
}

#[test]
fn every_replica_is_equally_often_byzantine() {
    for line in ["random", "byzzfuzz"] {
        let liar = |scenario: Scenario| scenario.adversary.byzantine.iter().next().map_or(0, NodeId::index);
        assert_uniform(4, runs(line, 20_000).map(liar));
    }
}

#[test]
fn rounds_of_both_kinds_of_fault_are_uniform_from_1_to_r() {
    for line in ["byzzfuzz c=0 d=1", "byzzfuzz c=1 d=0"] {
        let rounds: Vec<usize> = runs(line, 20_000).filter_map(|s| only_fault(&s).map(round)).collect();
        assert!(rounds.iter().all(|round| (1..=8).contains(round)));
        assert_uniform(8, rounds.into_iter().map(|round| round - 1));
    }
}

#[test]
fn every_subset_of_the_replicas_is_equally_often_lied_to() {
    // The empty one shows as a plan without the fault.
    let receivers = |scenario: Scenario| only_fault(&scenario).map_or(0, |fault| subset(&fault.when.to));
    assert_uniform(16, runs("byzzfuzz c=1 d=0", 100_000).map(receivers));
}

#[test]
fn every_partition_of_the_replicas_is_equally_often_the_network() {
    let numbers = numbers(4);
    let number = |scenario: Scenario| match only_fault(&scenario).map(|fault| &fault.effect) {
        Some(Effect::Partition(blocks)) => {
            let indices = |block: &Vec<SeatName>| block.iter().map(|name| name.node.index()).collect();
            numbers[&blocks.iter().map(indices).collect::<Blocks>()]
        }
        other => panic!("{other:?} is no partition"),
    };
    assert_uniform(15, runs("byzzfuzz c=0 d=1", 100_000).map(number));
}

#[test]
fn the_coins_of_the_rounds_are_fair_and_independent() {
    let heads =
        |scenario: Scenario| scenario.adversary.process_first.iter().map(|round| 1 << (round - 1)).sum();
    assert_uniform(16, runs("byzzfuzz r=4 order=fair", 20_000).map(heads));
}

#[test]
fn the_draws_of_one_run_are_independent() {
    // The liar, the round of the partition and the round of the lie, as one number.
    let draws = |scenario: Scenario| {
        let [network, process] = &scenario.adversary.faults[..] else { return None };
        let liar = process.when.from[0].node.index();
        Some((liar * 4 + round(network) - 1) * 4 + round(process) - 1)
    };
    assert_uniform(64, runs("byzzfuzz r=4", 50_000).filter_map(draws));
}

fn faces(scenario: &Scenario) -> Vec<&Persona> {
    let face = |fault| match fault {
        &Fault { effect: Effect::Persona(ref face), .. } => Some(face),
        _ => None,
    };
    scenario.adversary.faults.iter().filter_map(face).collect()
}

#[test]
fn half_of_the_runs_of_two_faced_are_impatient() {
    let schedule = |scenario: Scenario| match (scenario.scheduler.name, scenario.scheduler.timeout) {
        (SchedulerName::Async, 30) => 0,
        (name, 1) => {
            1 + [SchedulerName::Timed, SchedulerName::Sync, SchedulerName::Async]
                .iter()
                .position(|&known| known == name)
                .unwrap()
        }
        other => panic!("{other:?}"),
    };
    assert_shares(&[3, 1, 1, 1], runs("two-faced", 20_000).map(schedule));
}

#[test]
fn twins_hear_requests_in_an_order_of_their_own_or_in_the_same() {
    let late = |line| {
        let delayed = |fault: &Fault| matches!(fault.effect, Effect::Delay(_));
        runs(line, 10).filter(|scenario| scenario.adversary.faults.iter().any(delayed)).count()
    };
    assert_eq!((late("twins"), late("twins inputs=same")), (10, 0));
}

#[test]
fn two_faced_draws_faces_as_it_says() {
    let scenarios: Vec<Scenario> = runs("two-faced", 20_000).collect();
    assert_uniform(
        4,
        scenarios.iter().map(|scenario| scenario.adversary.byzantine.iter().next().unwrap().index()),
    );
    assert_shares(&[16, 68, 16], scenarios.iter().map(|scenario| faces(scenario).len()));
    let instances = || scenarios.iter().flat_map(faces).filter(|face| face.form == Form::Instance);
    let edit = |face: &Persona| match face.edits[0] {
        Edit::OwnOrder => 0,
        Edit::Sub { .. } | Edit::World { .. } => 1,
        Edit::Forget(_) => 2,
        Edit::Stale(_) | Edit::Mute => 3,
    };
    assert_shares(&[4, 2, 1, 1], instances().map(edit));
    let all = scenarios.iter().flat_map(faces);
    // Who hears it at a view change: nobody, some, or all three others.
    let stance = |face: &Persona| face.at_view_change.as_ref().unwrap().len();
    assert_shares(&[7, 3, 3, 15], all.map(stance));
}
