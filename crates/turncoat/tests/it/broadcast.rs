//! The newcomer's example keeps its promises: the bug is found, and nothing where there is none.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use turncoat::core::fault::{Effect, Fault, Mutate, When};
use turncoat::core::rng::{Purpose, Rng, run_seed};
use turncoat::core::scenario::SchedulerName;
use turncoat::lab::campaign::{Campaign, Until};
use turncoat::lab::preflight;
use turncoat::{
    Entry, MutationTable, NodeSet, Outcome, Property, Runner, Scenario, Seed, Sim, Slot, execute, strategies,
};

use crate::bracha::{Bracha, Msg, scenario};

use crate::bracha;

/// What came out of a run, and which correct processes have delivered.
struct Run {
    scenario: Scenario,
    outcome: Outcome,
    delivered: NodeSet,
    correct: NodeSet,
}

impl Run {
    /// If one correct process delivers, all do; if the sender is correct, all do.
    fn is_total(&self) -> bool {
        let silent = self.delivered.is_empty() && self.scenario.adversary.byzantine.contains(bracha::SENDER);
        silent || self.delivered == self.correct
    }
}

/// What can be said wrongly about its messages.
fn lies() -> MutationTable {
    MutationTable::of::<Msg>()
}

/// The first runs of a campaign of ByzzFuzz, under every scheduler in turn.
fn fuzz(flags: &[&str], runs: u64) -> impl Iterator<Item = Run> {
    let base = scenario(flags);
    let params =
        [("c", "2"), ("d", "1"), ("r", "3")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let mut strategy = strategies::make("byzzfuzz", &base, &params, &lies()).unwrap();
    let mut sim = Sim::<Bracha>::new();
    (0..runs).map(move |index| {
        let seed = run_seed(1, index);
        let mut scenario = strategy.next(index, &mut Rng::new(seed, Purpose::Strategy));
        scenario.seed = Seed(seed);
        let schedulers = SchedulerName::ALL;
        Arc::make_mut(&mut scenario.scheduler).name = schedulers[index as usize % schedulers.len()];
        run(&mut sim, scenario)
    })
}

/// Every scenario of Twins: the sender runs twice, and each of the three rounds has a partition.
fn twins(flags: &[&str]) -> impl Iterator<Item = Run> {
    let base = scenario(flags);
    let params = [("rounds", "3"), ("order", "rank"), ("granularity", "phase"), ("leaders", "rule")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let mut strategy = strategies::make("twins", &base, &params, &lies()).unwrap();
    let mut sim = Sim::<Bracha>::new();
    (0..15 * 15 * 15).map(move |index| run(&mut sim, strategy.next(index, &mut Rng::stream(0, 0))))
}

fn run(sim: &mut Sim<Bracha>, scenario: Scenario) -> Run {
    let outcome = sim.execute(&scenario).unwrap();
    let correct = NodeSet::replicas(4).without(scenario.adversary.byzantine);
    let seat = |node| sim.seats().first(node).unwrap();
    let delivered = correct.iter().filter(|&node| sim.ledger().decided(seat(node), Slot(1)).is_some());
    Run { delivered: delivered.collect(), correct, outcome, scenario }
}

const RUNS: u64 = 4_000;
const BOTH: &[&str] = &["echo-f1", "deliver-f1"];

/// An equivocating sender, two halves that believe f+1 echoes each, and two values delivered.
#[test]
fn fuzzing_finds_that_correct_processes_disagree() {
    let first = fuzz(BOTH, RUNS).position(|run| run.outcome.violation(Property::Agreement).is_some());
    assert!(first.is_some_and(|index| index < 1_000), "{first:?}");
}

#[test]
fn the_correct_protocol_keeps_all_its_promises() {
    for run in fuzz(&[], RUNS) {
        assert!(
            run.outcome.violations.is_empty(),
            "{:?}\n{}",
            run.outcome.violations,
            run.scenario.to_toml()
        );
        assert!(run.is_total(), "{} of {}\n{}", run.delivered, run.correct, run.scenario.to_toml());
    }
}

/// A sender that runs twice says two things, without a lie that somebody had to think of.
#[test]
fn twins_find_the_bug_and_nothing_where_there_is_none() {
    assert!(twins(BOTH).any(|run| run.outcome.violation(Property::Agreement).is_some()));
    for run in twins(&[]) {
        assert!(run.outcome.violations.is_empty() && run.is_total(), "{}", run.scenario.to_toml());
    }
}

/// Any two sets of 2f+1 READYs share a correct process, which says READY once: f+1 ECHOs alone leave somebody
/// behind, and do not break agreement.
#[test]
fn too_few_echoes_alone_break_totality() {
    let mut partial = 0;
    for run in fuzz(&["echo-f1"], RUNS) {
        assert!(run.outcome.violation(Property::Agreement).is_none(), "{}", run.scenario.to_toml());
        partial += u32::from(!run.is_total());
    }
    assert!(partial > 0, "nobody was left behind in {RUNS} runs");
}

/// p0 gives p1 alone the third ECHO and the second READY. f+1 READYs convince p1, and nobody after it.
#[test]
fn too_few_readies_alone_break_totality() {
    let lie = |kind: &str, to: &[&str], name: &str| Fault {
        when: When {
            kind: kind.into(),
            to: to.iter().map(|name| name.parse().unwrap()).collect(),
            ..When::default()
        },
        effect: Effect::Mutate(Mutate::Named(name.to_owned())),
    };
    let faults = [
        lie("init", &["p3"], "init.value.op~"),
        lie("echo", &["p2", "p3"], "echo.omit"),
        lie("ready", &["p2", "p3"], "ready.omit"),
    ];
    let delivered = |flags: &[&str]| {
        let mut scenario = scenario(flags);
        scenario.adversary.byzantine = NodeSet::one(bracha::SENDER);
        scenario.adversary.faults = faults.to_vec();
        run(&mut Sim::new(), scenario).delivered.to_string()
    };
    assert_eq!((delivered(&["deliver-f1"]), delivered(&[])), ("{p1}".to_owned(), "{}".to_owned()));
}

/// A sender may keep silent: then nobody delivers, and nobody promised.
#[test]
fn a_silent_sender_breaks_no_promise() {
    let mut scenario = scenario(&[]);
    scenario.adversary.byzantine = NodeSet::one(bracha::SENDER);
    let effect = Effect::Mutate(Mutate::Named("init.omit".to_owned()));
    scenario.adversary.faults = vec![Fault { when: When::default(), effect }];
    let outcome = execute::<Bracha>(&scenario).unwrap();
    assert_eq!((outcome.commits, outcome.violations.len()), (0, 0));
}

/// What `turncoat check` asks, of a protocol without clients whose nodes do not show their state.
#[test]
fn it_has_all_that_fuzzing_takes_for_granted() {
    let campaign = Campaign {
        entry: &Entry::of::<Bracha>(),
        base: &scenario(&[]),
        make: &|base| Ok(strategies::make("random", base, &[], &lies())?),
        seed: Seed(1),
        runs: Some(200),
        jobs: 1,
        until: Until::Never,
        stop: &AtomicBool::new(false),
        suspects: None,
    };
    for answer in preflight::answers(&campaign).unwrap() {
        assert!(answer.wrong.is_empty(), "{answer:?}");
    }
}

/// The lies that there are, as text: a change of the messages or of the derive shows here. TURNCOAT_BLESS=1
/// writes it anew.
#[test]
fn the_mutation_table_is_as_published() {
    let mut table = String::new();
    for (name, scope) in MutationTable::of::<Msg>().iter() {
        writeln!(table, "{name} {}", format!("{scope:?}").to_lowercase()).unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/bracha-mutations.txt");
    if std::env::var_os("TURNCOAT_BLESS").is_some() {
        std::fs::write(&path, &table).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(table, golden, "run the test once with TURNCOAT_BLESS=1 if this is what you meant");
}
