//! A protocol checked in a test: what a failing test says, what it keeps, and what it runs again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::thread;

use tempfile::TempDir;
use turncoat::core::runner::Entry;
use turncoat::lab::explain::Explanation;
use turncoat::{Fuzzer, Property, Scenario, check};

use crate::bracha::{Bracha, scenario};

/// Bracha's broadcast with both its bugs.
fn buggy(corpus: &Path) -> Fuzzer {
    fixed(corpus).flag("echo-f1").flag("deliver-f1")
}

fn fixed(corpus: &Path) -> Fuzzer {
    check::<Bracha>().scenario(scenario(&[])).strategy("byzzfuzz").set("r", 3).corpus(corpus)
}

/// What a test of this name says when it fails.
fn failure(test: &str, fuzzer: &Fuzzer) -> Option<String> {
    let run = || {
        let panic = catch_unwind(AssertUnwindSafe(|| fuzzer.run())).err()?;
        Some(panic.downcast_ref::<String>().expect("words").clone())
    };
    thread::scope(|scope| {
        let thread = thread::Builder::new().name(test.to_owned()).spawn_scoped(scope, run);
        thread.expect("a thread").join().expect("no other panic")
    })
}

/// The only entry of a corpus.
fn entry(corpus: &Path) -> (PathBuf, Scenario) {
    let files: Vec<PathBuf> =
        corpus.read_dir().expect("a folder").map(|file| file.expect("a file").path()).collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    (file.clone(), Scenario::parse(&std::fs::read_to_string(file).expect("text")).expect("a scenario"))
}

#[test]
fn a_failing_test_says_what_and_how_and_how_to_see_it_again() {
    let corpus = TempDir::new().expect("a folder");
    let says = failure("agrees", &buggy(corpus.path())).expect("a violation");
    let (file, scenario) = entry(corpus.path());
    assert_eq!(scenario.adversary.faults.len(), 1, "it is shrunk: {}", scenario.to_toml());
    let explained = Explanation::of(&Entry::of::<Bracha>(), &scenario).expect("it runs");
    let parts = [explained.short(), explained.chart()];
    let again = format!(
        "It is saved as {}, and this test runs it first from now on. To run it again:\n    cargo test agrees",
        file.display()
    );
    let parts: Vec<&str> = parts.iter().map(|part| part.trim_end()).chain([again.as_str()]).collect();
    assert!(parts[0].starts_with("Agreement is violated "), "{says}");
    assert_eq!(says, parts.join("\n\n"));
}

#[test]
fn what_was_found_runs_first_the_next_time() {
    let corpus = TempDir::new().expect("a folder");
    let none = buggy(corpus.path()).runs(0);
    assert_eq!(failure("agrees", &none), None, "nothing was found yet");
    let first = failure("agrees", &buggy(corpus.path())).expect("a violation");
    assert_eq!(failure("agrees", &none), Some(first));
    assert_eq!(failure("another_test", &none), None);

    // The bug is gone, and the test passes.
    assert_eq!(failure("agrees", &fixed(corpus.path()).runs(10)), None);
}

#[test]
fn tests_that_find_the_same_keep_one_file() {
    let corpus = TempDir::new().expect("a folder");
    for test in ["b", "a"] {
        assert!(failure(test, &buggy(corpus.path())).is_some());
    }
    assert_eq!(entry(corpus.path()).1.tests, ["a", "b"]);
    for test in ["a", "b"] {
        assert!(failure(test, &buggy(corpus.path()).runs(0)).is_some());
    }
}

#[test]
fn a_corpus_that_cannot_be_read_is_no_success() {
    let folder = TempDir::new().expect("a folder");
    let corpus = folder.path().join("a-file");
    std::fs::write(&corpus, "in the way").expect("a file");
    let says = failure("agrees", &buggy(&corpus)).expect("a failure");
    assert!(says.starts_with("the check of bracha cannot run: cannot use the folder "), "{says}");
}

#[cfg(unix)]
#[test]
fn what_cannot_be_kept_is_printed() {
    let folder = TempDir::new().expect("a folder");
    let corpus = folder.path().join("leads-nowhere");
    std::os::unix::fs::symlink(folder.path().join("nowhere/at/all"), &corpus).expect("a link");
    let says = failure("agrees", &buggy(&corpus)).expect("a violation");
    assert!(says.starts_with("Agreement is violated at step "), "{says}");
    let (_, text) = says.split_once("). This is the scenario:\n").expect("the scenario");
    assert!(text.starts_with("schema = 1\n") && Scenario::parse(text).is_ok(), "{says}");
}

#[test]
fn an_expected_violation_is_success_and_keeps_nothing() {
    let corpus = TempDir::new().expect("a folder");
    assert_eq!(failure("finds", &buggy(corpus.path()).finds(Property::Agreement)), None);
    assert_eq!(corpus.path().read_dir().expect("a folder").count(), 0);
    let says =
        |fuzzer: Fuzzer, property| failure("finds", &fuzzer.finds(property).runs(200)).expect("a failure");
    let none = "expected a violation of agreement, and found none in 200 runs";
    assert_eq!(says(fixed(corpus.path()), Property::Agreement), none);
    let other = "expected a violation of validity, and found agreement alone in 200 runs";
    assert_eq!(says(buggy(corpus.path()), Property::Validity), other);
}

#[test]
fn a_wrong_setting_is_one_sentence() {
    let corpus = TempDir::new().expect("a folder");
    let fuzzer = || fixed(corpus.path());
    for (fuzzer, words) in [
        (fuzzer().strategy("byzfuzz"), "no strategy `byzfuzz`; there are: none, naive, random, byzzfuzz"),
        (fuzzer().set("rounds", 4), "byzzfuzz has no parameter `rounds`; it takes c=1, d=1, r="),
        (fuzzer().set("c", "many"), "byzzfuzz: `c=many`: not a whole number from "),
        (fuzzer().set("network.los", "hold"), "network.los: unknown field `los`"),
        (fuzzer().set("cluster.n", 3), "n >= 4"),
        (fuzzer().flag("echo-f2"), "echo-f2"),
        (fuzzer().scenario(Scenario::new("pbft")), "its scenario is one of pbft"),
    ] {
        let says = failure("settings", &fuzzer).expect("a failure");
        assert!(says.starts_with("the check of bracha cannot run: ") && says.contains(words), "{says}");
        assert_eq!(says.lines().count(), 1, "{says}");
    }
}

#[turncoat::test(Bracha, strategy = "byzzfuzz", set(r = 3), runs = 200)]
fn correct_processes_agree() -> Scenario {
    scenario(&[])
}

#[turncoat::test(
    Bracha,
    strategy = "byzzfuzz",
    set(c = 1, d = 1, r = 3, "cluster.clients" = 0, "network.loss" = "hold"),
    flag = "echo-f1",
    flag = "deliver-f1",
    seed = 0,
    runs = 10 * 100,
    finds = Property::Agreement,
)]
fn too_few_votes_are_found_out() {}

#[turncoat::test(Bracha, strategy = "byzfuzz")]
#[should_panic(expected = "no strategy `byzfuzz`")]
fn an_attribute_of_the_usual_kind_stays() {}
