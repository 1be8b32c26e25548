//! What CI sees: JUnit files, annotations, expectations, and a hint that can be run as it stands.

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus};

use super::bad_input::{refused, refused_args};
use super::{DOOM, DOOMED, Folder, Ran};

/// The command that every run of it is a violation of termination, and more options.
fn doomed(folder: &Folder, more: &str) -> Ran {
    let more: Vec<&str> = more.split_whitespace().collect();
    folder.run(&[&["fuzz"], &DOOM[..7], &["--runs", "10"], &more].concat())
}

/// The cases of the only suite of a JUnit file, after its name.
fn cases(folder: &Folder, file: &str) -> (String, Vec<TestCase>) {
    let report = Report::deserialize_from_str(&folder.read(file)).expect("a JUnit file");
    assert_eq!(report.test_suites.len(), 1);
    let suite = report.test_suites.into_iter().next().expect("a suite");
    (suite.name.as_str().to_owned(), suite.test_cases)
}

/// The kind of what went wrong in a case, its message and its text.
fn wrong(case: &TestCase) -> Option<(NonSuccessKind, String, String)> {
    let TestCaseStatus::NonSuccess { kind, message, description, .. } = &case.status else { return None };
    let text = |text: &Option<quick_junit::XmlString>| text.as_ref().map(|text| text.as_str().to_owned());
    Some((*kind, text(message).unwrap_or_default(), text(description).unwrap_or_default()))
}

#[test]
fn the_last_line_after_a_violation_runs_it_again() {
    let folder = Folder::new();
    for more in
        ["", "--json", "--message-format github", "--expect violation", "--expect violation=agreement"]
    {
        let ran = doomed(&folder, more);
        let hint = ran.err.lines().last().expect("a hint");
        let replayed = folder.turncoat(hint.strip_prefix("turncoat ").expect("a command"));
        assert_eq!(replayed.code, 1, "{more}: {hint}: {}", replayed.err);
        assert!(replayed.out.contains("termination violated at step"), "{}", replayed.out);
    }
}

#[test]
fn a_junit_file_has_a_case_for_each_property() {
    let folder = Folder::new();
    let ran = doomed(&folder, "--junit out.xml");
    assert_eq!(ran.code, 1, "{}", ran.err);
    let (suite, all) = cases(&folder, "out.xml");
    assert_eq!(suite, "pbft");
    assert_eq!(all.len(), 7);
    assert!(all.iter().all(|case| case.classname.as_ref().is_some_and(|class| class.as_str() == "none")));
    let failed: Vec<&TestCase> = all.iter().filter(|case| wrong(case).is_some()).collect();
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0].name.as_str(), "termination");
    let (kind, message, text) = wrong(failed[0]).expect("a failure");
    assert_eq!(kind, NonSuccessKind::Failure);
    assert!(message.starts_with("termination violated in run 0 at step "), "{message}");
    let hint = ran.err.lines().last().expect("a hint");
    assert_eq!(text, format!("{message}\n{hint}"));

    let ran = folder.turncoat("fuzz pbft --runs 20 --junit out.xml");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(cases(&folder, "out.xml").1.iter().all(|case| wrong(case).is_none()));
    // Nothing is left of the name under which it was written.
    let files = folder.path().read_dir().expect("a folder").map(|file| file.expect("a file").file_name());
    let mut files: Vec<_> = files.collect();
    files.sort();
    assert_eq!(files, ["out.xml", "turncoat-corpus"]);
}

#[test]
fn a_campaign_without_runs_is_no_success() {
    let folder = Folder::new();
    let ran = folder.turncoat("fuzz pbft --runs 0 --junit out.xml --message-format github");
    assert_eq!(ran.code, 4);
    assert!(ran.out.contains("::error title=pbft%3A campaign::nothing ran"), "{}", ran.out);
    let kinds: Vec<_> = cases(&folder, "out.xml").1.iter().filter_map(wrong).map(|(kind, ..)| kind).collect();
    assert_eq!(kinds, [NonSuccessKind::Error]);
}

#[test]
fn a_replay_that_diverges_is_an_error_in_its_junit_file() {
    let folder = Folder::new();
    folder.write("doomed.toml", DOOMED);
    assert_eq!(folder.turncoat("replay doomed.toml --junit out.xml").code, 1);
    let (suite, all) = cases(&folder, "out.xml");
    assert_eq!(suite, "pbft");
    let (kind, _, text) = all.iter().find_map(wrong).expect("a failure");
    assert_eq!(kind, NonSuccessKind::Failure);
    assert!(text.ends_with("\nturncoat replay doomed.toml"), "{text}");

    folder.write("doomed.toml", &format!("{DOOMED}\n[expect]\nfingerprint = 1\n"));
    assert_eq!(folder.turncoat("replay doomed.toml --junit out.xml --message-format github").code, 3);
    let (_, all) = cases(&folder, "out.xml");
    let (kind, message, _) = wrong(all.last().expect("a case")).expect("an error");
    assert_eq!(kind, NonSuccessKind::Error);
    assert!(message.contains("the fingerprint was 0x0000000000000001"), "{message}");
}

#[test]
fn a_junit_file_of_the_suite_has_a_case_for_each_row() {
    let folder = Folder::new();
    let ran = folder.turncoat("suite verify pbft-java/figure-2 --junit out.xml --message-format github");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.out.lines().last(), Some("::notice title=suite::1 of 1 known bug verified"));
    let (suite, all) = cases(&folder, "out.xml");
    assert_eq!((suite.as_str(), all.len()), ("suite", 1));
    assert_eq!(all[0].name.as_str(), "figure-2");
    assert_eq!(all[0].classname.as_ref().map(|class| class.as_str()), Some("pbft-java"));
}

#[test]
fn a_junit_file_that_cannot_be_written_is_known_before_anything_runs() {
    let folder = Folder::new();
    for file in ["missing/out.xml", "."] {
        refused(&folder, &["fuzz", "pbft", "--for", "1h", "--junit", file], &[file, "a folder that exists"]);
    }
}

#[test]
fn github_gets_an_annotation_for_each_first_violation() {
    let folder = Folder::new();
    let ran = doomed(&folder, "--message-format github");
    assert_eq!(ran.code, 1, "{}", ran.err);
    let annotations: Vec<&str> = ran.out.lines().filter(|line| line.starts_with("::")).collect();
    let hint = ran.err.lines().last().expect("a hint");
    assert_eq!(annotations.len(), 1, "{}", ran.out);
    assert!(
        annotations[0].starts_with("::error title=pbft%3A termination::termination violated in run 0 at")
    );
    assert!(annotations[0].ends_with(&format!("%0A{hint}")), "{}", annotations[0]);
    // People read the same log.
    assert!(ran.out.contains("  violations   termination 10 (100.0 %)"), "{}", ran.out);

    let clean = folder.turncoat("fuzz pbft --runs 20 --message-format github");
    assert_eq!(clean.out.lines().last(), Some("::notice title=pbft::no violation in 20 runs"));
}

#[test]
fn json_is_one_of_the_formats() {
    let folder = Folder::new();
    let fingerprint = |format: &str| {
        let ran = folder.turncoat(&format!("fuzz pbft --runs 20 {format}"));
        ran.json()["fingerprint"].clone()
    };
    assert_eq!(fingerprint("--json"), fingerprint("--message-format json"));
    refused_args("fuzz pbft --json --message-format github", &["--json", "cannot be used with"]);
    refused_args("fuzz pbft --message-format xml", &["xml", "human, json, github"]);
}

#[test]
fn an_expected_violation_is_success_and_its_absence_failure() {
    let folder = Folder::new();
    assert_eq!(doomed(&folder, "--expect violation").code, 0);
    assert_eq!(doomed(&folder, "--expect violation=termination --junit out.xml").code, 0);
    assert!(cases(&folder, "out.xml").1.iter().all(|case| wrong(case).is_none()));

    let ran = doomed(&folder, "--expect violation=agreement --junit out.xml --message-format github");
    assert_eq!(ran.code, 1);
    let words = "expected a violation of agreement, and found termination alone";
    assert!(ran.err.contains(words), "{}", ran.err);
    assert!(
        ran.out.ends_with(&format!("::error title=pbft%3A expected violation::{words}\n")),
        "{}",
        ran.out
    );
    assert_eq!(
        cases(&folder, "out.xml").1.iter().filter_map(wrong).map(|wrong| wrong.1).next().as_deref(),
        Some(words)
    );

    let ran = folder.turncoat("fuzz pbft --runs 20 --expect violation");
    assert_eq!(ran.code, 1);
    assert_eq!(ran.err.lines().last(), Some("expected a violation, and found none"));
    refused_args("fuzz pbft --expect clean", &["clean", "`violation=agreement`"]);
    refused_args("fuzz pbft --expect violation=agrement", &["did you mean `agreement`?"]);
}

#[test]
fn a_campaign_goes_on_until_it_finds_what_is_expected() {
    // Another property is violated in the first run already.
    let folder = Folder::new();
    let any = folder.turncoat("fuzz pbft-java --json").json();
    assert!(any["first"]["agreement"].is_null(), "{any}");
    let ran = folder.turncoat("fuzz pbft-java --expect violation=agreement --json");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.json()["runs"].as_u64() > any["runs"].as_u64());
    // The hint is about what was expected.
    assert!(ran.err.lines().last().is_some_and(|hint| hint.contains("pbft-java-agreement-")), "{}", ran.err);
}

#[test]
fn a_replay_knows_expectations_too() {
    let folder = Folder::new();
    folder.write("doomed.toml", DOOMED);
    assert_eq!(folder.turncoat("replay doomed.toml --expect violation").code, 0);
    assert_eq!(folder.turncoat("replay doomed.toml --expect violation=termination").code, 0);
    let ran = folder.turncoat("replay doomed.toml --expect violation=agreement");
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("expected a violation of agreement"), "{}", ran.err);
    // What is not the saved run is neither.
    folder.write("doomed.toml", &format!("{DOOMED}\n[expect]\nfingerprint = 1\n"));
    assert_eq!(folder.turncoat("replay doomed.toml --expect violation").code, 3);
}
