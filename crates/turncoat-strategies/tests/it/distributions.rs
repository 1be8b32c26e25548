//! What strategies draw, against what the papers say, by chi-square at a fixed seed.

use std::collections::BTreeMap;
use std::sync::Arc;

use turncoat_core::fault::{Edit, Effect, Fault, Form, Persona, Span};
use turncoat_core::ids::{NodeId, NodeSet, SeatName};
use turncoat_core::rng::Rng;
use turncoat_core::scenario::{ClusterSpec, Scenario, SchedulerName};
use turncoat_strategies::partitions::{Blocks, Counted, Urns};

use super::{run, runs, strategy};

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

/// By their numbers from 1 to 8: the subsets of the first three, and the fourth alone.
#[test]
fn byzzbench_draws_subsets_by_numbers_up_to_half_of_all() {
    let side = |scenario: &Scenario| match only_fault(scenario).map(|fault| &fault.effect) {
        Some(Effect::Partition(blocks)) => {
            let [side, rest] = &blocks[..] else { panic!("{blocks:?} are not two sides") };
            assert_eq!(subset(side) + subset(rest), 15, "everybody is on one side");
            subset(side) - 1
        }
        other => panic!("{other:?} is no partition"),
    };
    assert_uniform(8, runs("byzzfuzz c=0 d=1 sampler=byzzbench", 20_000).map(|scenario| side(&scenario)));
    let receivers = |scenario: Scenario| only_fault(&scenario).map_or(0, |fault| subset(&fault.when.to)) - 1;
    assert_uniform(8, runs("byzzfuzz c=1 d=0 sampler=byzzbench", 20_000).map(receivers));
}

/// Of which of two faults each of seven replicas is the sender, and who may lie.
fn senders(sender: &str) -> impl Iterator<Item = ([usize; 2], NodeSet)> {
    let cluster = ClusterSpec { n: 7, f: 2, ..ClusterSpec::default() };
    let base = Scenario { cluster: Arc::new(cluster), ..Scenario::new("toy") };
    let mut strategy = strategy(&format!("byzzfuzz c=2 d=0 sampler=byzzbench sender={sender}"), &base);
    (0..100_000).map(move |index| {
        let adversary = run(&mut *strategy, index).adversary;
        let sender = |fault: &Fault| match fault.when.from[..] {
            [sender] => sender.node.index(),
            _ => panic!("{:?} is not one sender", fault.when.from),
        };
        let senders = <[usize; 2]>::try_from(adversary.faults.iter().map(sender).collect::<Vec<_>>());
        (senders.unwrap(), adversary.byzantine)
    })
}

#[test]
fn each_process_fault_has_a_sender_of_its_own() {
    // Two liars: each pair of replicas is as frequent as any other, and half of the runs use both.
    assert!(senders("one").all(|(_, liars)| liars.len() == 2));
    assert_uniform(7, senders("one").map(|([first, _], _)| first));
    assert_uniform(2, senders("one").map(|([first, second], _)| usize::from(first == second)));
    // Any two replicas: they lie, and nobody else does.
    assert_uniform(49, senders("any").map(|([first, second], _)| first * 7 + second));
    let named = |[first, second]: [usize; 2]| [first, second].map(NodeId::replica).into_iter().collect();
    assert!(senders("any").all(|(senders, liars)| liars == named(senders)));
}

#[test]
fn each_receiver_is_told_a_lie_of_its_own() {
    let all: Vec<Scenario> = runs("byzzfuzz c=1 d=0 sampler=byzzbench", 20_000).collect();
    let each: Vec<Scenario> = runs("byzzfuzz c=1 d=0 sampler=byzzbench lie=each", 20_000).collect();
    let receivers = |scenario: &Scenario| -> Vec<SeatName> {
        scenario.adversary.faults.iter().flat_map(|fault| fault.when.to.clone()).collect()
    };
    assert!(all.iter().zip(&each).all(|(all, each)| receivers(all) == receivers(each)));
    for faults in each.iter().map(|scenario| &scenario.adversary.faults) {
        assert!(faults.iter().all(|fault| fault.when.to.len() == 1));
        assert!(faults.windows(2).all(|two| two[0].effect != two[1].effect), "seeds differ");
    }
}

#[test]
fn clocks_drift_and_jump_as_drift_says() {
    let drawn: Vec<Scenario> = runs("drift drift=3 jumps=1 by=4 within=5", 20_000).collect();
    let drifts = drawn.iter().flat_map(|scenario| scenario.cluster.drift.values());
    assert_uniform(7, drifts.map(|&ppm| (ppm + 3) as usize));
    assert!(drawn.iter().all(|scenario| scenario.cluster.drift.len() == 5), "four replicas and a client");
    let jump = |scenario: &Scenario| match scenario.adversary.faults.last() {
        Some(Fault { when, effect: Effect::Jump(jump) }) => {
            let node = jump.node.node;
            let at = when.time.map_or(0, Span::first) as usize;
            let who = if node.is_client() { 4 } else { node.index() };
            (who * 5 + at - 1) * 4 + jump.by.0 as usize - 1
        }
        other => panic!("{other:?} is no jump"),
    };
    assert_uniform(100, drawn.iter().map(jump));
    // Beside what byzzfuzz draws, which stays as it is.
    let plain: Vec<Scenario> = runs("byzzfuzz", 100).collect();
    for (plain, drawn) in plain.iter().zip(&drawn) {
        let (_, own) = drawn.adversary.faults.split_last().unwrap();
        assert_eq!(own, plain.adversary.faults);
    }
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
