//! What the scenarios of every strategy have in common, and what is particular to each.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use turncoat_core::fault::{Effect, Fault, Form, Mutate, Span, When};
use turncoat_core::flags::Flag;
use turncoat_core::ids::{NodeSet, SeatName};
use turncoat_core::message::MutationTable;
use turncoat_core::scenario::{Adversary, ClusterSpec, Scenario, SchedulerName, SchedulerSpec, Trust};

use super::{LINES, run, runs, strategy};

/// Strategies that need somebody to lie to; they also draw schedules.
fn has_an_audience(line: &str) -> bool {
    ["two-faced", "lasting", "swarm", "stalls", "divergence", "enumerate", "portfolio"]
        .iter()
        .any(|name| line.starts_with(name))
}

fn cuts(fault: &Fault) -> bool {
    matches!(fault.effect, Effect::Partition(_))
}

#[test]
fn a_run_depends_on_its_index_alone() {
    for line in LINES {
        let forwards: Vec<Scenario> = runs(line, 50).collect();
        let mut strategy = strategy(line, &Scenario::new("toy"));
        assert!(!strategy.learns());
        for index in (0..50).rev() {
            let again = run(&mut *strategy, index).to_toml();
            assert_eq!(again, forwards[index as usize].to_toml(), "{line}, run {index}");
        }
    }
}

#[test]
fn a_scenario_reads_back_from_its_file() {
    for (line, n) in LINES.iter().flat_map(|line| [1, 4, 7, 64].map(|n| (line, n))) {
        if n == 1 && has_an_audience(line) {
            continue; // nobody to lie to
        }
        let cluster = ClusterSpec { n, ..ClusterSpec::default() };
        let base = Scenario { cluster: Arc::new(cluster), ..Scenario::new("toy") };
        let mut strategy = strategy(line, &base);
        for index in 0..50 {
            let scenario = run(&mut *strategy, index);
            assert_eq!(
                Scenario::parse(&scenario.to_toml()).unwrap(),
                scenario,
                "{line}, n = {n}, run {index}"
            );
        }
    }
}

/// Set `TURNCOAT_BLESS=1` to write the files anew; their diff is then to be read.
#[test]
fn the_first_runs_of_seed_0_never_change() {
    #[expect(clippy::disallowed_methods, reason = "a test may be told to bless")]
    let bless = std::env::var("TURNCOAT_BLESS").is_ok();
    for line in LINES {
        let mut found = format!("# {line}\n");
        for (index, scenario) in runs(line, 5).enumerate() {
            write!(found, "\n# --- run {index} ---\n{}", scenario.to_toml()).unwrap();
        }
        let name = line.replace([' ', '='], "-");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/golden/{name}.txt"));
        if bless {
            std::fs::write(&path, &found).unwrap();
        }
        let golden = std::fs::read_to_string(&path).unwrap();
        assert!(found == golden, "{line} differs from {}:\n{found}", path.display());
    }
}

#[test]
fn what_a_campaign_keeps_fixed_is_shared() {
    let drawn = has_an_audience;
    for line in LINES.into_iter().filter(|line| !drawn(line)).chain(["two-faced schedule=given"]) {
        let [a, b] = <[Scenario; 2]>::try_from(runs(line, 2).collect::<Vec<_>>()).unwrap();
        assert!(Arc::ptr_eq(&a.network, &b.network) && Arc::ptr_eq(&a.scheduler, &b.scheduler), "{line}");
        // Twins has a table of leaders for each run, and clocks drift by themselves.
        assert!(
            line.starts_with("twins") || line == "drift" || Arc::ptr_eq(&a.cluster, &b.cluster),
            "{line}"
        );
    }
}

#[test]
fn none_keeps_the_base_scenario_and_others_replace_its_faults() {
    let base = runs("byzzfuzz c=2 d=2", 1).next().unwrap();
    let base = Scenario { adversary: Adversary { crash_on_garbage: true, ..base.adversary.clone() }, ..base };
    assert_eq!(run(&mut *strategy("none", &base), 0), base);
    let other = run(&mut *strategy("byzzfuzz c=0 d=0", &base), 0).adversary;
    assert_eq!(other, Adversary { compose: false, crash_on_garbage: true, ..Adversary::default() });
}

#[test]
fn random_takes_a_random_scheduler() {
    let named = |name| Arc::new(SchedulerSpec { name, ..SchedulerSpec::default() });
    for name in SchedulerName::ALL {
        let base = Scenario { scheduler: named(name), ..Scenario::new("toy") };
        let scheduler = run(&mut *strategy("random drop=7", &base), 0).scheduler;
        let expected = match name {
            SchedulerName::Fifo | SchedulerName::Sync => name,
            _ => SchedulerName::Async,
        };
        assert_eq!((scheduler.name, scheduler.drop, scheduler.mutate), (expected, 7, 25));
    }
}

#[test]
fn nobody_is_byzantine_where_nobody_lies() {
    for line in ["random mutate=0", "byzzfuzz c=0 d=2"] {
        assert!(runs(line, 50).all(|scenario| scenario.adversary.byzantine.is_empty()), "{line}");
    }
}

#[test]
fn byzzfuzz_plans_partitions_first_and_lets_one_replica_lie() {
    for scenario in runs("byzzfuzz c=3 d=2", 500) {
        let Adversary { byzantine, faults, compose, process_first, .. } = scenario.adversary;
        assert!(byzantine.len() == 1 && byzantine.is_subset(NodeSet::replicas(4)));
        assert!(!compose && process_first.is_empty());
        assert!(faults.len() <= 5);
        let (network, process) = faults.split_at(2);
        assert!(network.iter().all(cuts));
        for fault in process {
            assert!(matches!(fault.effect, Effect::Mutate(_)));
            let liars: NodeSet = fault.when.from.iter().map(|seat| seat.node).collect();
            assert_eq!(liars, byzantine);
            // No receiver would mean every receiver.
            assert!(!fault.when.to.is_empty());
        }
    }
}

#[test]
fn the_authors_sampler_draws_distinct_rounds_and_always_hits_somebody() {
    for scenario in runs("byzzfuzz c=3 d=8 sampler=fork", 500) {
        let Adversary { byzantine, faults, .. } = scenario.adversary;
        let (network, process) = faults.split_at(8);
        let rounds = |faults: &[Fault]| -> BTreeSet<u64> {
            faults.iter().filter_map(|fault| fault.when.round).map(Span::first).collect()
        };
        assert_eq!((rounds(network).len(), rounds(process).len()), (8, 3));
        for fault in network {
            assert!(matches!(&fault.effect, Effect::Partition(blocks) if blocks.len() > 1));
        }
        for fault in process {
            let to: NodeSet = fault.when.to.iter().map(|seat| seat.node).collect();
            assert!(!to.is_empty() && to.and(byzantine).is_empty());
        }
    }
    // Nine distinct rounds of eight do not exist.
    assert_eq!(runs("byzzfuzz c=0 d=9 sampler=fork", 1).next().unwrap().adversary.faults.len(), 8);
}

#[test]
fn a_lie_is_drawn_from_those_allowed() {
    for scenario in runs("byzzfuzz c=2 d=0 only=prepare.view,omit", 50) {
        for fault in scenario.adversary.faults {
            let Effect::Mutate(Mutate::Drawn(drawn)) = fault.effect else { panic!("{fault:?}") };
            assert_eq!(drawn.only, ["prepare.view", "omit"]);
        }
    }
    for scenario in runs("random mutate=9 only=prepare.view,omit", 5) {
        assert_eq!(scenario.scheduler.only, ["prepare.view", "omit"]);
    }
}

#[test]
fn one_more_fault_leaves_the_others_as_they_are() {
    let network = |scenario: &Scenario| -> Vec<Fault> {
        scenario.adversary.faults.iter().filter(|fault| cuts(fault)).cloned().collect()
    };
    let process = |scenario: &Scenario| -> Vec<Fault> {
        scenario.adversary.faults.iter().filter(|fault| !cuts(fault)).cloned().collect()
    };
    let less = runs("byzzfuzz c=1 d=1 order=fair", 50);
    let more = runs("byzzfuzz c=2 d=3 order=fair", 50);
    for (less, more) in less.zip(more) {
        assert_eq!(less.adversary.byzantine, more.adversary.byzantine);
        assert_eq!(less.adversary.process_first, more.adversary.process_first);
        assert!(network(&more).starts_with(&network(&less)));
        assert!(process(&more).starts_with(&process(&less)));
    }
}

#[test]
fn strategies_agree_on_the_liar_of_a_run() {
    // So that arms of one experiment can be compared run by run.
    for (a, b) in runs("random", 50).zip(runs("byzzfuzz", 50)) {
        assert_eq!(a.adversary.byzantine, b.adversary.byzantine);
    }
}

#[test]
fn two_faced_shows_at_most_two_more_faces_of_one_replica() {
    for scenario in runs("two-faced", 2000) {
        let Adversary { byzantine, faults, .. } = &scenario.adversary;
        assert_eq!(byzantine.len(), 1);
        let faces: Vec<_> = faults
            .iter()
            .filter_map(|fault| match &fault.effect {
                Effect::Persona(face) => Some(face),
                _ => None,
            })
            .collect();
        assert!(faces.len() <= 2 && faults.len() - faces.len() <= 3);
        for face in &faces {
            assert!(byzantine.contains(face.of) && !face.to.is_empty() && !face.to.contains(&face.of));
        }
        // A timer of an instance fires only if there is that instance.
        let instances = 1 + faces.iter().filter(|face| face.form == Form::Instance).count();
        for fault in faults {
            if let Effect::Fire(SeatName { instance: Some(instance), .. }) = fault.effect {
                assert!(usize::from(instance) < instances);
            }
        }
    }
}

/// By default f of them under ByzzFuzz, as its paper has it, and any number up to f elsewhere.
#[test]
fn as_many_lie_as_f_allows() {
    let cluster = ClusterSpec { n: 10, f: 3, ..ClusterSpec::default() };
    let base = Scenario { cluster: Arc::new(cluster), ..Scenario::new("toy") };
    for (line, expected) in [
        ("byzzfuzz", BTreeSet::from([3])),
        ("byzzfuzz liars=2", BTreeSet::from([2])),
        ("naive", BTreeSet::from([3])),
        ("random", BTreeSet::from([1, 2, 3])),
        ("random liars=1", BTreeSet::from([1])),
        ("two-faced", BTreeSet::from([1, 2, 3])),
        ("portfolio", BTreeSet::from([1, 2, 3])),
    ] {
        let mut strategy = strategy(line, &base);
        let liars = |index| run(&mut *strategy, index).adversary.byzantine.len();
        assert_eq!((0..200).map(liars).collect::<BTreeSet<_>>(), expected, "{line}");
    }
    // Each of several liars has faces and lies of its own.
    let mut strategy = strategy("two-faced liars=3 faces=100", &base);
    for index in 0..50 {
        let Adversary { byzantine, faults, .. } = run(&mut *strategy, index).adversary;
        let faces = faults.iter().filter_map(|fault| match &fault.effect {
            Effect::Persona(face) => Some(face.of),
            _ => None,
        });
        assert_eq!(faces.collect::<NodeSet>(), byzantine);
    }
}

#[test]
fn who_stops_starts_again_and_is_no_liar() {
    let cluster = ClusterSpec { over_budget: true, ..ClusterSpec::default() };
    let base = Scenario { cluster: Arc::new(cluster), ..Scenario::new("toy") };
    let mut strategy = strategy("restarts nodes=2 stops=3 memory=lost c=1", &base);
    for index in 0..200 {
        let Adversary { byzantine, faults, .. } = run(&mut *strategy, index).adversary;
        let step = |fault: &Fault| fault.when.step.expect("a moment").first();
        let stops: Vec<_> = faults.iter().filter(|fault| matches!(fault.effect, Effect::Crash(_))).collect();
        assert_eq!((byzantine.len(), stops.len()), (1, 6));
        let mut who = NodeSet::EMPTY;
        for stop in stops {
            let Effect::Crash(seat) = stop.effect else { unreachable!() };
            who.insert(seat.node);
            assert!(faults.iter().any(|fault| match fault.effect {
                Effect::Restart(start) => start.node == seat && !start.state && step(fault) > step(stop),
                _ => false,
            }));
        }
        assert_eq!((who.len(), who.and(byzantine)), (2, NodeSet::EMPTY));
    }
}

#[test]
fn the_members_of_a_portfolio_take_turns() {
    let base = Scenario::new("toy");
    let mut alone =
        ["two-faced", "random scope=small", "twins", "byzzfuzz"].map(|line| strategy(line, &base));
    let mut portfolio = strategy("portfolio", &base);
    let mut shares = [0; 4];
    for index in 0..100 {
        let drawn = run(&mut *portfolio, index);
        let whose = alone.iter_mut().position(|member| run(&mut **member, index) == drawn);
        shares[whose.expect("one of them draws it too")] += 1;
    }
    assert_eq!(shares, [50, 30, 10, 10]);
}

/// ByzzFuzz with seven replicas whose trust lists overlap.
fn with_lists(line: &str) -> Vec<Scenario> {
    let trust = Trust::Preset("bf60".to_owned());
    let cluster = ClusterSpec { n: 7, trust, ..ClusterSpec::default() };
    let base = Scenario { cluster: Arc::new(cluster), ..Scenario::new("toy") };
    let mut strategy = strategy(line, &base);
    (0..300).map(|index| run(&mut *strategy, index)).collect()
}

#[test]
fn where_replicas_have_trust_lists_a_lie_goes_to_one_of_them() {
    let lists = Trust::Preset("bf60".to_owned()).sets(7).unwrap();
    let within = |to: &[SeatName]| {
        let to: NodeSet = to.iter().map(|seat| seat.node).collect();
        lists.iter().any(|list| to.is_subset(*list))
    };
    let lies = |line: &str| -> Vec<Fault> {
        let faults = with_lists(line).into_iter().flat_map(|scenario| scenario.adversary.faults);
        faults.filter(|fault| !cuts(fault)).collect()
    };
    let inside = lies("byzzfuzz c=2 d=0");
    assert!(inside.len() > 300 && inside.iter().all(|fault| within(&fault.when.to)));
    assert!(lies("byzzfuzz c=2 d=0 receivers=all").iter().any(|fault| !within(&fault.when.to)));
}

#[test]
fn rounds_may_start_later_and_the_liar_be_fixed() {
    let fixed: NodeSet = ["p3".parse().unwrap()].into_iter().collect();
    for scenario in with_lists("byzzfuzz c=2 d=2 r=6 first=5 liar=p3 order=fair") {
        assert_eq!(scenario.adversary.byzantine, fixed);
        let rounds = scenario.adversary.faults.iter().filter_map(|fault| fault.when.round);
        assert!(rounds.into_iter().all(|round| (5..=10).contains(&round.first())));
        assert!(scenario.adversary.process_first.iter().all(|round| (5..=10).contains(round)));
    }
    let liars: BTreeSet<_> =
        with_lists("naive").iter().map(|scenario| scenario.adversary.byzantine).collect();
    assert_eq!(liars.len(), 7);
    assert!(with_lists("naive liar=p3").iter().all(|scenario| scenario.adversary.byzantine == fixed));
}

/// Stances come last and are off by default: without them the runs are what they were.
#[test]
fn stances_are_drawn_beside_all_else() {
    for line in ["lasting", "lasting singles=never", "swarm", "stalls"] {
        let without: Vec<Scenario> = runs(line, 200).collect();
        assert_eq!(runs(&format!("{line} stances=0"), 200).collect::<Vec<_>>(), without);
        let mut drawn = 0;
        for (mut scenario, plain) in runs(&format!("{line} stances=100"), 200).zip(&without) {
            let byzantine = scenario.adversary.byzantine;
            let mut liars = NodeSet::EMPTY;
            for fault in &scenario.adversary.faults {
                if let Effect::Stance(stance) = &fault.effect {
                    assert!(byzantine.contains(stance.of.node) && liars.insert(stance.of.node));
                    assert!(stance.flags.is_empty(), "the toy has none");
                }
            }
            assert_eq!(liars, byzantine, "{line}");
            drawn += liars.len();
            scenario.adversary.faults.retain(|fault| !matches!(fault.effect, Effect::Stance(_)));
            assert_eq!(&scenario, plain, "{line}");
        }
        assert!(drawn > 100, "{line}: {drawn}");
    }
    let half = runs("lasting stances=50", 200);
    let has = |scenario: &Scenario| {
        scenario.adversary.faults.iter().any(|it| matches!(it.effect, Effect::Stance(_)))
    };
    assert!((60..140).contains(&half.filter(has).count()));
}

/// Flags are those of the protocol. A stance with flags is one for the whole run, as not every node can change its code.
#[test]
fn stances_take_the_flags_of_the_protocol() {
    const FLAGS: &[Flag] = &[Flag { field: "no_lock", about: "" }, Flag { field: "any_vote", about: "" }];
    let lies = MutationTable::of::<super::runs::Msg>().with_flags(FLAGS);
    let params = [("stances".to_owned(), "100".to_owned())];
    let mut lasting = turncoat_strategies::make("lasting", &Scenario::new("toy"), &params, &lies).unwrap();
    let mut counts = [0; 3];
    for index in 0..300 {
        for fault in run(&mut *lasting, index).adversary.faults {
            let Effect::Stance(stance) = &fault.effect else { continue };
            counts[stance.flags.len()] += 1;
            assert!(stance.flags.iter().all(|flag| ["no-lock", "any-vote"].contains(&flag.as_str())));
            assert!(stance.flags.is_empty() || fault.when == When::default());
            assert!(!stance.flags.is_empty() || stance.believes.is_some() || stance.keeps.is_some());
        }
    }
    assert!(counts.iter().all(|&count| count > 20), "{counts:?}");
}
