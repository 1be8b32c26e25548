//! Lies that fit together: what they break that no other lie of one message breaks, and that nothing in them is forged.

use turncoat_core::message::Message;
use turncoat_core::message::MutationTable;
use turncoat_core::outcome::{Outcome, Property};
use turncoat_core::part::Scope;
use turncoat_core::probe::Samples;
use turncoat_core::rng::run_seed;
use turncoat_core::runner::Entry;
use turncoat_core::scenario::{Scenario, Seed};
use turncoat_core::schedule::Action;
use turncoat_protocols::{hotstuff, tendermint};

use crate::stage::{entry, run, without_flags};

/// A witness of the suite in which a liar tells another lie at a place: of the lines that change a message the ones about this
/// message are left out, and `row` is told in their stead.
fn instead(id: &str, message: &str, row: &str) -> Scenario {
    let path = format!("{}/../../suite/{id}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut scenario = Scenario::parse(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut script: Vec<Action> = Vec::new();
    let mut told: Vec<String> = Vec::new();
    for action in &scenario.scheduler.script {
        match action {
            Action::Mutate(about, _, _)
                if format!("{}>* {} #{}", about.src, about.kind, about.nth) == message =>
            {
                let line = format!("mutate {about} {row}");
                if !told.contains(&line) {
                    script.push(line.parse().unwrap_or_else(|error| panic!("{line}: {error}")));
                    told.push(line);
                }
            }
            other => script.push(other.clone()),
        }
    }
    assert!(told.len() > 1, "nobody hears it: {told:?}");
    scenario = scenario.scripted(script);
    scenario
}

/// Whether correct replicas disagree.
fn disagree(scenario: &Scenario) -> bool {
    run(scenario).violation(Property::Agreement).is_some()
}

/// A crafted row, told to all in one place, breaks the protocol with the flag; no other row does in that place, and without
/// the flag the crafted one breaks nothing.
fn breaks<M: Message>(id: &str, message: &str, crafted: &str) {
    let lie = instead(id, message, crafted);
    assert!(disagree(&lie), "{crafted}");
    let control = run(&without_flags(&lie));
    assert!(control.violations.is_empty(), "without the flag: {:?}", control.violations);
    let kind = crafted.split('.').next().expect("a kind");
    let table = MutationTable::of::<M>();
    let scope = |row: &str| table.iter().find(|(name, _)| name == row).map(|(_, scope)| scope);
    assert_eq!(scope(crafted), Some(Scope::Crafted));
    let others = table.iter().filter(|(name, scope)| name.starts_with(kind) && *scope <= Scope::Any);
    for (row, _) in others.filter(|(name, _)| name.split('.').next() == Some(kind)) {
        assert!(!disagree(&instead(id, message, &row)), "{row} does it too");
    }
}

/// The leader shows the reports of an earlier view, and proposes on top of the highest certificate in those: three fields
/// have to change at once. Correct replicas see from the reports' views that they are old.
#[test]
fn old_reports_with_the_block_that_they_call_for_fork_fast_hotstuff() {
    breaks::<hotstuff::fast::Msg>(
        "fast-hotstuff/agg-mixed-views",
        "p3>* proposal #2",
        "proposal.agg=earlier+block",
    );
}

/// The proposer has prevoted for a value and proposes another one, with its id, and without the polka of the first. Correct
/// replicas are locked on the first.
#[test]
fn another_value_with_its_id_and_its_polka_forks_tendermint_without_locks() {
    breaks::<tendermint::Msg>(
        "tendermint/forget-lock",
        "p2>* proposal #1",
        "proposal.value.tx=own+id+valid-round",
    );
}

/// A message that a lie has passed off as one of another kind is told no crafted lies of either: rows keep their meaning.
#[test]
fn crafted_lies_are_about_messages_of_their_own_kind() {
    let lies = |rows: &[&str]| {
        let fault = |row: &&str| format!("[[adversary.faults]]\nfrom = ['p0']\nmutate = '{row}'\n");
        let faults: String = rows.iter().map(fault).collect();
        let text = format!("schema = 1\nprotocol.name = 'hotstuff'\nadversary.byzantine = ['p0']\n{faults}");
        run(&Scenario::parse(&text).expect("a scenario")).fingerprint
    };
    let later = lies(&["pre-commit.as-decide"]);
    let table = MutationTable::of::<hotstuff::basic::Msg>();
    let rows =
        table.iter().filter(|(name, scope)| name.starts_with("pre-commit") && *scope == Scope::Crafted);
    let rows: Vec<String> = rows.map(|(name, _)| name).collect();
    assert!(rows.len() > 5);
    for row in rows {
        assert_eq!(lies(&["pre-commit.as-decide", &row]), later, "{row}");
    }
}

/// A scenario of a protocol with one liar, who tells crafted lies of a seed all the time.
fn with_liar(entry: &Entry, seed: u64) -> Scenario {
    let base = entry.scenario();
    let n = (entry.bound)(&entry.preset, 1).expect("a bound").max(base.cluster.n);
    let lie = |i: u64| {
        format!(
            "[[adversary.faults]]\nfrom = ['p0']\npermille = 300\nmutate = {{ seed = '{:#x}', scope = 'crafted' }}\n",
            run_seed(seed, i)
        )
    };
    let faults: String = (0..4).map(lie).collect();
    let text = format!(
        "schema = 1\nlimits.steps = 1500\nprotocol.name = '{}'\ncluster.n = {n}\n\
         adversary.byzantine = ['p0']\nscheduler = {{ name = 'async', timeout = 10 }}\n{faults}",
        entry.name
    );
    let mut scenario = Scenario::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", entry.name));
    scenario.seed = Seed(seed);
    scenario
}

/// Of each protocol: random crafted lies carry no signature that their signer did not give, they can be written and read, and a
/// recorded run of them replays.
#[test]
fn crafted_lies_forge_nothing_and_replay() {
    let mut entries = turncoat_protocols::all();
    entries.dedup_by_key(|entry| entry.kinds);
    for entry in entries {
        let (mut runner, mut samples, mut told) = (entry.runner(), Samples::default(), 0);
        for seed in 0..12 {
            let scenario = with_liar(&entry, seed);
            let outcome: Outcome = runner.sample(&scenario, &mut samples).expect("it runs");
            told += outcome.injected.mutated;
            let (recorded, recording) = runner.record(&scenario).expect("it runs");
            assert_eq!(recorded, outcome, "{} {seed}", entry.name);
            let again = runner.execute(&recording.scripted(&scenario)).expect("it runs");
            assert_eq!(again.diverged, None, "{} {seed}", entry.name);
            assert_eq!(again.fingerprint, outcome.fingerprint, "{} {seed}", entry.name);
        }
        assert!(samples.forged.is_empty(), "{}: {:#?}", entry.name, samples.forged);
        assert!(samples.kinds.iter().all(|kind| kind.unfaithful.is_none()), "{}", entry.name);
        assert!(told > 20, "{}: {told} lies are not worth the name", entry.name);
    }
}

/// The lies that fit together in PBFT, as a file that people can read.
#[test]
fn the_crafted_lies_of_a_proposal_of_pbft_are_the_golden_ones() {
    let table = (entry("pbft").mutations)();
    let crafted = table.iter().filter(|(_, scope)| *scope == Scope::Crafted);
    let rows: Vec<String> =
        crafted.map(|(name, _)| name).filter(|name| name.starts_with("pre-prepare")).collect();
    assert_eq!(
        rows,
        [
            "pre-prepare.rest=older",
            "pre-prepare.request=older",
            "pre-prepare.request=other",
            "pre-prepare.request=own",
            "pre-prepare.request=none+digest",
            "pre-prepare.request=earlier+digest",
            "pre-prepare.request=older+digest",
            "pre-prepare.request=own+digest",
        ]
    );
}
