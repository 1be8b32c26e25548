//! The simplex of commonware under turncoat: it runs, what it rejects is rejected, and what a host gets wrong shows.

use std::process::Command;
use std::sync::atomic::AtomicBool;

use turncoat::lab::campaign::{Campaign, Until};
use turncoat::lab::summary::Summary;
use turncoat::prelude::*;
use turncoat::strategies;
use turncoat_commonware::Simplex;

/// A campaign, on so many threads.
fn fuzz_on(
    jobs: usize,
    strategy: &str,
    params: &[(&str, &str)],
    runs: u64,
    keys: &[(&str, toml::Value)],
) -> Summary {
    let (entry, stop) = (Entry::of::<Simplex>(), AtomicBool::new(false));
    let set =
        |base: Scenario, (key, value): &(&str, toml::Value)| base.with(key, value.clone()).expect("a key");
    let base = keys.iter().fold(entry.scenario(), set);
    let params: Vec<_> = params.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    let campaign = Campaign {
        entry: &entry,
        base: &base,
        make: &|base| Ok(strategies::make(strategy, base, &params, &(entry.mutations)())?),
        seed: Seed(7),
        runs: Some(runs),
        jobs,
        until: Until::Never,
        stop: &stop,
        suspects: None,
    };
    campaign.run(&mut |_| {}).expect("a campaign")
}

fn fuzz(strategy: &str, params: &[(&str, &str)], runs: u64, keys: &[(&str, toml::Value)]) -> Summary {
    fuzz_on(2, strategy, params, runs, keys)
}

fn marks(summary: &Summary, mark: &str) -> u64 {
    let entry = Entry::of::<Simplex>();
    summary.marks.named(entry.marks).find(|(name, _)| *name == mark).expect("a mark").1
}

fn flag(name: &str) -> [(&'static str, toml::Value); 1] {
    [("protocol.flags", vec![toml::Value::from(name)].into())]
}

#[test]
fn it_decides_one_block_after_another() {
    let summary = fuzz("none", &[], 100, &[("workload.requests", 10.into())]);
    assert_eq!((summary.violating, summary.ends.goal), (0, 100));
    assert!(summary.commits >= 100 * 4 * 10);
}

#[test]
fn a_run_repeats_itself_whatever_threads_do() {
    let runs = |jobs| fuzz_on(jobs, "portfolio", &[], 100, &[]).fingerprint;
    assert_eq!(runs(1), runs(2));
}

#[test]
fn another_process_runs_the_same() {
    let run = |index: &str| {
        let options = ["run", "commonware-simplex", "--strategy", "random", "--trace", "--index", index];
        let output = Command::new(env!("CARGO_BIN_EXE_turncoat-commonware")).args(options).output();
        output.expect("it runs").stdout
    };
    assert_eq!(run("3"), run("3"));
    assert_ne!(run("3"), run("4"));
}

#[test]
fn lies_are_told_and_what_is_not_signed_is_rejected() {
    let summary = fuzz("byzzfuzz", &[("c", "3"), ("d", "1")], 600, &[]);
    assert_eq!(summary.violating, 0);
    assert!(summary.injected.accepted > 0 && summary.injected.accepted < summary.injected.mutated);
    for mark in ["bad-certificate", "blocked", "nullified", "fetch"] {
        assert!(marks(&summary, mark) > 0, "{mark}");
    }
}

#[test]
fn who_votes_twice_leaves_evidence_and_forks_nothing() {
    let summary = fuzz("two-faced", &[], 400, &[]);
    assert_eq!(summary.violating, 0);
    for mark in ["conflicting-notarize", "nullify-finalize", "blocked"] {
        assert!(marks(&summary, mark) > 0, "{mark}");
    }
}

#[test]
fn twins_are_borne() {
    assert_eq!(fuzz("twins", &[("rounds", "5")], 100, &[]).violating, 0);
}

#[test]
fn leaders_may_stay_and_hand_over_early() {
    let terms = [("protocol.term-length", 4.into()), ("protocol.optimistic-views", 2.into())];
    let terms = [&terms[..], &[("protocol.handoff", true.into())]].concat();
    assert_eq!(
        fuzz("none", &[], 50, &[&terms[..], &[("workload.requests", 12.into())]].concat()).violating,
        0
    );
    assert_eq!(fuzz("portfolio", &[], 300, &terms).violating, 0);
}

#[test]
fn who_restarts_reads_its_journal_and_keeps_its_word() {
    let summary = fuzz("restarts", &[], 400, &[]);
    assert_eq!(summary.violating, 0);
    assert_eq!(marks(&summary, "conflicting-notarize") + marks(&summary, "nullify-finalize"), 0);
}

#[test]
fn a_body_that_was_withheld_is_asked_for() {
    let lies = [("c", "4"), ("d", "0"), ("only", "block.omit")];
    let summary = fuzz("byzzfuzz", &lies, 200, &[("protocol.forward", false.into())]);
    assert!(marks(&summary, "sync") > 0);
    assert_eq!(summary.violating, 0);
    // Nobody asks, and nobody sends it again.
    let deaf = [("protocol.forward", false.into()), ("protocol.sync", 0.into())];
    let summary = fuzz("byzzfuzz", &lies, 200, &deaf);
    assert!(summary.violations.contains_key(&Property::Termination));
    assert!(!summary.violations.contains_key(&Property::Agreement));
}

#[test]
fn a_host_that_takes_any_signature_is_caught() {
    assert!(fuzz("portfolio", &[], 600, &flag("accept-any-signature")).violating > 0);
}

#[test]
fn a_host_that_counts_no_signatures_is_caught() {
    let only = "notarization.payload=fresh+votes,finalization.payload=fresh+votes";
    let lies = [("c", "4"), ("d", "0"), ("only", only)];
    assert!(fuzz("byzzfuzz", &lies, 200, &flag("no-quorum")).violating > 0);
    let summary = fuzz("byzzfuzz", &lies, 200, &[]);
    assert!(summary.violating == 0 && marks(&summary, "bad-certificate") > 0);
}

#[test]
fn a_host_that_loses_the_journal_is_caught() {
    let summary = fuzz("restarts", &[], 200, &flag("no-log"));
    assert!(summary.violating > 0 && marks(&summary, "conflicting-notarize") > 0);
}
