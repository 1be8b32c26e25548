//! Saved scenarios, once more.

use super::{DOOMED, Folder, OVER_BUDGET};

fn with_expect(fingerprint: &str) -> String {
    format!("{DOOMED}[expect]\nproperty = \"termination\"\nfingerprint = \"{fingerprint}\"\n")
}

fn fingerprint_of(folder: &Folder, file: &str) -> String {
    let outcome = folder.turncoat(&format!("replay {file} --json")).json();
    outcome["fingerprint"].as_str().expect("a string").to_owned()
}

#[test]
fn what_is_outside_of_the_assumptions_is_said() {
    let folder = Folder::new();
    folder.write("doomed.toml", OVER_BUDGET);
    let ran = folder.turncoat("replay doomed.toml");
    let why = "3 replicas are faulty ({p1,p2,p3}), and f = 1";
    assert!(ran.out.contains(&format!("\n  outside      budget: {why}\n")), "{}", ran.out);
    assert!(ran.out.contains("termination violated at step ") && ran.out.contains(&format!("; but {why}")));
}

#[test]
fn a_scenario_that_violates_a_property_exits_with_1() {
    let folder = Folder::new();
    folder.write("doomed.toml", DOOMED);
    let ran = folder.turncoat("replay doomed.toml");
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.out.contains("termination violated at step"), "{}", ran.out);
    folder.write("doomed.toml", &with_expect(&fingerprint_of(&folder, "doomed.toml")));
    assert_eq!(folder.turncoat("replay doomed.toml").code, 1);
}

#[test]
fn a_scenario_without_violation_exits_with_0() {
    let folder = Folder::new();
    folder.write("fine.toml", "schema = 1\n[protocol]\nname = \"pbft\"\n");
    assert_eq!(folder.turncoat("replay fine.toml").code, 0);
    let traced = folder.turncoat("replay fine.toml --trace");
    assert!(traced.code == 0 && traced.out.contains("commit p0 slot=1"), "{}", traced.out);
}

#[test]
fn a_different_fingerprint_is_a_divergence() {
    let folder = Folder::new();
    folder.write("doomed.toml", &with_expect("0x0123456789abcdef"));
    let ran = folder.turncoat("replay doomed.toml --json");
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains("fingerprint was 0x0123456789abcdef"), "{}", ran.err);
    assert!(ran.err.contains(&fingerprint_of(&folder, "doomed.toml")), "{}", ran.err);
    assert_eq!(ran.json()["differs"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_property_that_holds_again_is_a_divergence() {
    let folder = Folder::new();
    folder.write("fixed.toml", &with_expect("1").replace("termination", "agreement"));
    let ran = folder.turncoat("replay fixed.toml");
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains("agreement was violated when the file was saved"), "{}", ran.err);
}

#[test]
fn a_step_that_cannot_be_carried_out_is_a_divergence() {
    let folder = Folder::new();
    let script = "schema = 1\n[protocol]\nname = \"pbft\"\n[scheduler]\nname = \"script\"\n\
                  script = [\"deliver c0>p0 request #1\", \"deliver p0>p1 commit #7\"]\n";
    folder.write("script.toml", script);
    let ran = folder.turncoat("replay script.toml");
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("step 2 of the script (`deliver p0>p1 commit #7`)"), "{}", ran.err);
}

/// It would take minutes.
pub(crate) const LONG: &str = "schema = 1\n[protocol]\nname = \"pbft\"\n[cluster]\nn = 64\nf = 21\n\
                               [workload]\nrequests = 10000\n";

#[test]
fn a_run_may_be_stopped_after_some_time() {
    let folder = Folder::new();
    folder.write("long.toml", LONG);
    for trace in ["", "--trace"] {
        let ran = folder.turncoat(&format!("replay long.toml --timeout 50ms {trace}"));
        assert_eq!(ran.code, 124, "{}", ran.err);
        assert!(ran.err.contains("long.toml: out of time: the run was stopped at step"), "{}", ran.err);
    }
    folder.write("doomed.toml", DOOMED);
    assert_eq!(folder.turncoat("replay doomed.toml --timeout 1h").code, 1);
}

/// A scenario may come with the pull request of a stranger.
#[test]
fn a_scenario_has_no_power_over_the_terminal_or_the_ci() {
    let folder = Folder::new();
    let text = "schema = 1\n[protocol]\nname = \"pbft\"\n[workload]\n\
                ops = [\"\\u001b]0;x\\u0007\", \"\\n::error::pwn\"]\n";
    folder.write("it.toml", text);
    folder.write("name.toml", &text.replace("\"pbft\"", "\"\\u001b[2J\\n::error::pwn\""));
    folder.write(
        "flag.toml",
        &text.replace("[workload]", "flags = [\"\\u001b[2J\\n::error::pwn\"]\n[workload]"),
    );
    let commands = [
        "replay it.toml --trace --message-format github",
        "replay it.toml --trace --json",
        "explain it.toml",
        "explain it.toml --all",
        "replay name.toml",
        "replay flag.toml",
        "explain flag.toml",
    ];
    for command in commands {
        let ran = folder.turncoat(command);
        for text in [&ran.out, &ran.err] {
            let obeyed = text.lines().find(|line| line.trim_start().starts_with("::error::"));
            assert_eq!(obeyed, None, "{command}");
            assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{command}: {text:?}");
        }
        assert!(ran.code == 0 || ran.code == 2, "{command}: {}", ran.err);
        assert!(
            ran.out.contains("x") && !ran.out.is_empty() || ran.err.contains("u{1b}"),
            "{command}: {}",
            ran.err
        );
    }
}

/// The id is what tables print and what people type.
#[test]
fn a_known_bug_is_named_where_a_file_is() {
    let folder = Folder::new();
    let same = |command: &str| {
        let by_option = folder.turncoat(&format!("{command} --bug pbft-java/figure-2"));
        let ran = folder.turncoat(&format!("{command} pbft-java/figure-2"));
        assert_eq!((ran.code, &ran.err), (by_option.code, &by_option.err));
        ran.out
    };
    assert!(same("replay").starts_with("agreement violated at step 48: in slot 2 p2 decided "));
    assert!(same("lasso").starts_with("it terminates"));
    assert!(
        folder.turncoat("explain pbft-java/figure-2").out.contains("Matches known bug pbft-java/figure-2")
    );
    let ran = folder.turncoat("shrink pbft-java/figure-2");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(folder.turncoat("replay figure-2.min.toml").code, 1);
    let ran = folder.turncoat("corpus add pbft-java/figure-2 --no-shrink");
    assert!(
        ran.out.starts_with("pbft-java/figure-2: added as turncoat-corpus/pbft-"),
        "{}{}",
        ran.out,
        ran.err
    );
    // A file of that name comes first.
    folder.write("pbft-java/figure-2", "schema = 1\n[protocol]\nname = \"pbft\"\n");
    assert_eq!(folder.turncoat("replay pbft-java/figure-2").code, 0);
}

#[test]
fn all_figures_of_a_run_are_there_on_demand() {
    let folder = Folder::new();
    let short = folder.turncoat("replay pbft-java/figure-2").out;
    let long = folder.turncoat("replay pbft-java/figure-2 -v").out;
    for words in ["\n  events ", "\n  adversary ", "\n  fingerprint  0x"] {
        assert!(long.contains(words) && !short.contains(words), "{words}: {short}\n{long}");
    }
}
