//! Campaigns: summaries, saved violations, budgets.

use serde_json::Value;

use super::{DOOM, Folder, turncoat};

/// A summary without what differs from day to day.
fn timeless(mut summary: Value) -> Value {
    let object = summary.as_object_mut().expect("an object");
    object.remove("seconds");
    object.remove("jobs");
    let firsts = object["first"].as_object_mut().expect("an object");
    firsts.remove("seconds");
    for first in firsts.values_mut() {
        first["seconds"] = Value::Null;
        first["shrunk"]["seconds"] = Value::Null;
    }
    summary
}

fn doomed(folder: &Folder, more: &[&str]) -> super::Ran {
    folder.run(&[&["fuzz"], &DOOM[..], more].concat())
}

#[test]
fn the_summary_has_all_figures_by_name() {
    let ran = turncoat("fuzz pbft --runs 300 --json");
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let summary = ran.json();
    assert_eq!(summary["schema"], "turncoat.event/1");
    assert_eq!(summary["type"], "summary");
    assert_eq!(summary["runs"], 300);
    assert_eq!(summary["seed"], "0x0000000000005eed");
    for property in
        ["agreement", "integrity", "validity", "termination", "crashed", "client-agreement", "custom"]
    {
        assert_eq!(summary["violations"][property], 0, "{property}");
    }
    for figure in ["deliveries", "steps", "faults", "mutations", "accepted", "dropped", "completed"] {
        assert!(summary[figure].as_u64().is_some_and(|figure| figure > 0), "{figure}: {summary}");
    }
    assert!(summary["marks"].as_object().is_some_and(|marks| marks.values().all(Value::is_u64)));
    assert!(summary["fingerprint"].as_str().is_some_and(|text| text.len() == 18));
    assert!(summary["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0));
    assert!(summary["first"]["seconds"].is_null());
}

/// Ten thousand runs are asked for, and there are sixty scenarios. A store that has them all has nothing to go on with.
#[test]
fn a_campaign_ends_with_the_last_scenario_and_says_so() {
    let folder = Folder::new();
    let twins = "fuzz pbft --strategy twins --set rounds=1 --set order=rank --db twins.db";
    let ran = folder.turncoat(twins);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("  scenarios    all 60\n"), "{}", ran.out);
    assert!(ran.out.contains("no violation in 60 runs"), "{}", ran.out);
    let again = folder.turncoat(&format!("{twins} --resume --json")).json();
    assert_eq!((&again["runs"], &again["space"]["scenarios"]), (&60.into(), &"60".into()));
    let first = turncoat("fuzz pbft --strategy twins --set rounds=4 --set order=rank --runs 20");
    assert!(first.out.contains("  scenarios    0 to 19 of 12960000\n"), "{}", first.out);
    let drawn = turncoat("fuzz pbft --strategy twins --runs 20");
    assert!(drawn.out.contains("  scenarios    20 drawn from 6.05e17\n"), "{}", drawn.out);
    let beyond = turncoat("run pbft --strategy twins --set rounds=1 --set order=rank --index 60");
    assert_eq!(beyond.code, 2);
    assert!(beyond.err.contains("there is no run 60: the strategy has 60 scenarios, numbered from 0"));
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let random = "fuzz pbft --strategy random --runs 500 --until never";
    for args in ["fuzz pbft --runs 500", random, "fuzz pbft --strategy twins --runs 500"] {
        let with = |jobs| timeless(turncoat(&format!("{args} --json -j {jobs}")).json());
        let one = with(1);
        assert_eq!(one, with(2), "{args}");
        assert_eq!(one, with(5), "{args}");
    }
    let folder = Folder::new();
    let with = |jobs| timeless(doomed(&folder, &["--runs", "40", "--until", "never", "-j", jobs]).json());
    assert_eq!(with("1"), with("2"));
}

#[test]
fn other_seeds_give_other_runs() {
    let fingerprint =
        |seed| turncoat(&format!("fuzz pbft --runs 20 --json --seed {seed}")).json()["fingerprint"].clone();
    assert_eq!(fingerprint(1), fingerprint(1));
    assert_ne!(fingerprint(1), fingerprint(2));
}

#[test]
fn a_violation_is_saved_and_the_last_line_replays_it() {
    let folder = Folder::new();
    let ran = doomed(&folder, &["--runs", "10", "--until", "first"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let summary = ran.json();
    assert_eq!(summary["runs"], 1);
    assert_eq!(summary["violations"]["termination"], 1);
    let first = &summary["first"]["termination"];
    assert_eq!(first["index"], 0);
    assert!(first["detail"].as_str().is_some_and(|detail| detail.contains("requests completed")));
    assert!(first["seconds"].as_f64() >= summary["first"]["seconds"].as_f64());
    let file = first["file"].as_str().expect("a path");
    assert!(file.starts_with("turncoat-corpus/pbft-termination-") && file.ends_with(".toml"), "{file}");

    let text = folder.read(file);
    assert!(text.contains("property = \"termination\"") && text.contains("fingerprint = \"0x"), "{text}");
    let command = ran.err.lines().last().expect("a command").strip_prefix("turncoat ").expect("a command");
    assert_eq!(command, format!("replay {file}"));
    assert_eq!(folder.turncoat(command).code, 1);
    assert_eq!(folder.path().join("turncoat-corpus").read_dir().expect("a folder").count(), 1);
}

#[test]
fn the_human_summary_names_the_first_violation() {
    let folder = Folder::new();
    let ran = folder.run(&[&["fuzz"], &DOOM[..7], &["--runs", "30", "--until", "never"]].concat());
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(
        ran.out.starts_with("termination violated in run 0 at step "),
        "the verdict is first: {}",
        ran.out
    );
    let about = "  property     every request of a correct client completes once the network is calm (without clients: every slot is decided)\n";
    for words in [about, "30 runs", "termination 30 (100.0 %)", "\n  saved as     turncoat-corpus/"] {
        assert!(ran.out.contains(words), "no `{words}` in {}", ran.out);
    }
}

#[test]
fn a_violation_that_cannot_be_saved_is_still_reported() {
    let folder = Folder::new();
    folder.write("turncoat-corpus", "in the way");
    let ran = doomed(&folder, &["--runs", "10"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.err.contains("warning: termination is not saved: cannot"), "{}", ran.err);
    assert!(ran.json()["first"]["termination"]["file"].is_null());
}

#[test]
fn a_campaign_ends_when_its_time_is_up() {
    let ran = turncoat("fuzz pbft --strategy none --for 200ms --json");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let summary = ran.json();
    assert!(summary["runs"].as_u64().is_some_and(|runs| runs > 0));
    assert!(summary["seconds"].as_f64().is_some_and(|seconds| (0.2..20.0).contains(&seconds)), "{summary}");
}

/// A campaign that gets a signal after a while, and its exit code and summary.
fn signalled(env: &str, signal: &str, time: &str) -> (Option<i32>, Value) {
    use std::process::{Command, Stdio};
    let folder = Folder::new();
    // Whoever runs the tests may ignore some signals.
    let child = Command::new("env")
        .arg(env)
        .arg(assert_cmd::cargo::cargo_bin!("turncoat"))
        .args(["fuzz", "pbft", "--strategy", "none", "--for", time, "--json"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    std::thread::sleep(std::time::Duration::from_millis(700));
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill runs");
    assert!(sent.success());
    let output = child.wait_with_output().expect("it ends");
    (output.status.code(), serde_json::from_slice(&output.stdout).expect("a summary"))
}

/// By somebody at the terminal, by a scheduler of a cluster, by a terminal that is closed.
#[test]
fn an_interrupted_campaign_says_what_is_known() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        let (code, summary) = signalled("--default-signal=INT,TERM,HUP", signal, "1h");
        assert_eq!(code, Some(130), "{signal}");
        assert_eq!(summary["interrupted"], true);
        assert!(summary["runs"].as_u64().is_some_and(|runs| runs > 0));
    }
}

#[test]
fn a_campaign_under_nohup_outlives_its_terminal() {
    let (code, summary) = signalled("--ignore-signal=HUP", "-HUP", "2s");
    assert_eq!((code, &summary["interrupted"]), (Some(0), &Value::Bool(false)));
}

#[test]
fn speed_ends_with_one_object() {
    let figures = turncoat("speed --seconds 1 --json").json();
    for figure in [
        "deliveries_per_s",
        "runs_per_s",
        "deliveries_per_s_2_threads",
        "speedup",
        "byzzfuzz_runs_per_s",
        "byzzfuzz_runs_per_s_2_threads",
    ] {
        assert!(figures[figure].as_f64().is_some_and(|figure| figure > 0.0), "{figure}: {figures}");
    }
    assert!(figures["bytes_per_simulation"].is_null() || figures["bytes_per_simulation"].is_u64());
}

/// hBFT sends nothing again. Inside of what it assumes nothing is lost; beyond it, what comes of losses is counted apart.
#[test]
fn an_assumption_is_left_on_purpose_alone() {
    let folder = Folder::new();
    let inside = folder.turncoat("fuzz hbft --runs 300 --json");
    assert_eq!((inside.code, &inside.json()["outside"]), (0, &serde_json::json!({})));
    let beyond = "fuzz hbft --beyond channels --runs 300 --no-shrink";
    let ran = folder.turncoat(&format!("{beyond} --json"));
    let summary = ran.json();
    assert_eq!((ran.code, &summary["violating"]), (0, &0.into()), "{}", ran.err);
    assert!(summary["outside"]["termination"]["channels"].as_u64() > Some(0), "{summary}");
    let people = folder.turncoat(beyond).out;
    assert!(people.contains(", after breaking `channels`\n"), "{people}");
    assert!(
        people.contains("messages between correct nodes were lost, which the protocol assumes never happens")
    );
    assert!(people.contains("no violation inside the assumptions in 300 runs"), "{people}");
    // What was found is saved, says so, and does not fail again.
    let ran = folder.turncoat("corpus run");
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert!(ran.out.contains("  outside  termination violated"), "{}", ran.out);
    // Who expects a violation is content with it.
    assert_eq!(folder.turncoat(&format!("{beyond} --expect violation=termination")).code, 0);
    let refused = folder.turncoat("fuzz pbft --beyond channels");
    assert!(
        refused.code == 2 && refused.err.contains("pbft assumes that messages may be lost"),
        "{}",
        refused.err
    );
}

#[test]
fn a_campaign_in_which_nothing_is_decided_says_so() {
    let folder = Folder::new();
    let ran =
        folder.turncoat("fuzz pbft --strategy none --runs 10 --set limits.steps=9 --set workload.goal=none");
    assert_eq!(ran.code, 4, "{}", ran.err);
    assert!(
        ran.out.starts_with("NOTHING TESTED: no correct replica decided anything in 10 runs\n"),
        "{}",
        ran.out
    );
    for empty in ["--requests 0", "--clients 0"] {
        assert_eq!(folder.turncoat(&format!("fuzz pbft {empty}")).code, 2, "{empty}");
    }
}

#[test]
fn known_bugs_are_named_and_whether_they_showed() {
    let folder = Folder::new();
    let ran = folder.turncoat("fuzz tendermint-0.34 --runs 50 --no-shrink");
    for words in [
        "\n  known bug    tendermint/no-retransmit\n",
        "has 1 known bug (tendermint/no-retransmit); tendermint/no-retransmit was found\n",
    ] {
        assert!(ran.out.contains(words), "no `{words}` in {}", ran.out);
    }
    let quiet = folder.turncoat("fuzz zyzzyva-paper --runs 10");
    assert!(
        quiet.out.contains("(zyzzyva/cc-ignores-view") && quiet.out.ends_with(" found\n"),
        "{}",
        quiet.out
    );
    assert!(quiet.err.ends_with("\nturncoat fuzz --bug zyzzyva/cc-ignores-view\n"), "{}", quiet.err);
    assert!(!folder.turncoat("fuzz pbft --runs 10").out.contains("known bug"));
}

/// pbft-java has more than thirty: their names come last, and only on demand.
#[test]
fn many_known_bugs_are_counted_and_named_below() {
    let folder = Folder::new();
    let short = folder.turncoat("fuzz pbft-java --no-shrink").out;
    assert!(
        short.contains(
            "pbft-java has 35 known bugs (`turncoat list bugs pbft-java`); pbft-java/exec-out-of-order was found\n"
        ),
        "{short}"
    );
    assert!(!short.contains("known bugs  ") && !short.contains("fingerprint"), "{short}");
    let long = folder.turncoat("fuzz pbft-java --no-shrink -v").out;
    let names = long.lines().last().filter(|line| line.starts_with("  known bugs   pbft-java/"));
    assert_eq!(names.map(|names| names.split(", ").count()), Some(35), "{long}");
    for words in ["pbft-java/votes-not-distinct", "\n  fingerprint  0x", "\n  marks ", "\n  ends "] {
        assert!(long.contains(words), "no {words} in {long}");
    }
    // A violation that no known bug explains on its own is not said to be none.
    let other = folder.turncoat("fuzz hbft-paper --runs 300 --no-shrink --until first").out;
    assert!(other.contains("; no violation was attributed to a single known bug\n"), "{other}");
}

#[test]
fn who_learns_says_where_a_find_is_from() {
    let folder = Folder::new();
    let ran = folder.turncoat("fuzz pbft-java --strategy evolve --no-shrink");
    let from = |line: &str| {
        line.starts_with("  scenario     drawn afresh")
            || line.starts_with("  scenario     made from that of run ")
    };
    assert!(ran.code == 1 && ran.out.lines().any(from), "{}", ran.out);
    // Runs that depend on each other are no sample.
    let clean = folder.turncoat("fuzz pbft --strategy evolve --runs 200").out;
    assert!(clean.starts_with("no violation in 200 runs\n"), "{clean}");
}

#[test]
fn a_campaign_hunts_for_safety_or_for_liveness() {
    let folder = Folder::new();
    let safety =
        folder.turncoat("fuzz hbft-paper --hunt safety --runs 200 --until never --no-shrink --json").json();
    assert!(safety["ends"]["limits"]["short"].as_u64() > Some(0), "{safety}");
    // What violates integrity does not end it.
    let liveness = folder.turncoat("fuzz pbft-java --hunt liveness --set mix=wide --no-shrink --json").json();
    assert!(liveness["ends"]["limits"]["short"].is_null(), "{liveness}");
    assert!(!liveness["first"]["termination"].is_null(), "{liveness}");
    super::bad_input::refused(&folder, &["fuzz", "pbft", "--hunt", "bugs"], &["safety", "liveness"]);
}

/// PBFT assumes that clients wait for their results. Whoever says otherwise without meaning it is told.
#[test]
fn clients_that_do_not_wait_are_pointed_out() {
    let folder = Folder::new();
    for command in ["run pbft", "fuzz pbft --runs 10"] {
        let crowded = folder.turncoat(&format!("{command} --set workload.every=100")).err;
        assert!(
            crowded.contains("warning: workload.every = 100: a client sends its next request"),
            "{crowded}"
        );
        for fine in ["--clients 2", "--beyond requests", "--with orders-old-requests"] {
            let quiet = folder.turncoat(&format!("{command} --set workload.every=100 {fine}")).err;
            assert!(!quiet.contains("workload.every"), "{fine}: {quiet}");
        }
    }
}

/// Three ways to write one number, on the command line, in a variable and in a file.
#[test]
fn runs_may_be_written_as_people_do() {
    let folder = Folder::new();
    let runs = |variables: &[(&str, &str)], args: &str| {
        let args: Vec<&str> = args.split_whitespace().collect();
        let ran = folder.run_with(variables, &args);
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.json()["runs"].clone()
    };
    let fuzz = "fuzz pbft --strategy none --json";
    for number in ["2k", "2e3", "2_000", "2,000"] {
        assert_eq!(runs(&[], &format!("{fuzz} --runs {number}")), 2000, "{number}");
        assert_eq!(runs(&[("TURNCOAT_RUNS", number)], fuzz), 2000, "{number}");
        folder.write("turncoat.toml", &format!("schema = 1\n[campaign]\nruns = \"{number}\"\n"));
        assert_eq!(runs(&[], fuzz), 2000, "{number}");
    }
    folder.write("turncoat.toml", "schema = 1\n[campaign]\nruns = 2e3\nfor = \"10min\"\n");
    assert_eq!(runs(&[], fuzz), 2000);
    folder.write("turncoat.toml", "schema = 1\n[campaign]\nruns = \"many\"\n");
    super::bad_input::refused(&folder, &["fuzz", "pbft"], &["turncoat.toml:3", "10k"]);
}

/// A campaign that finds nothing says how much that is worth.
#[test]
fn a_clean_campaign_has_an_upper_bound() {
    let ran = turncoat("fuzz pbft --runs 10k");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let words = "no violation in 10,000 runs: at most 0.04 % of runs, at 95 % confidence\n";
    assert!(ran.out.starts_with(words), "{}", ran.out);
    assert!(ran.out.lines().count() <= 5, "{}", ran.out);
    // Scenarios in order are no sample.
    let all = turncoat("fuzz pbft --strategy twins --set rounds=1 --set order=rank").out;
    assert!(all.starts_with("no violation in 60 runs\n"), "{all}");
}

/// Colours are for terminals, or for people who ask.
#[test]
fn colours_are_there_on_demand() {
    let folder = Folder::new();
    let escapes = |variables: &[(&str, &str)], args: &str| {
        let ran = folder.run_with(variables, &args.split_whitespace().collect::<Vec<_>>());
        (ran.out + &ran.err).contains('\u{1b}')
    };
    let fuzz = "fuzz pbft-java --no-shrink";
    assert!(!escapes(&[], fuzz) && !escapes(&[], "--help") && !escapes(&[], "fuzz pbtf"));
    for args in [
        &format!("{fuzz} --color always"),
        "--color=always --help",
        "fuzz pbtf --color always",
        "--color always",
    ] {
        assert!(escapes(&[], args), "{args}");
        assert!(escapes(&[("NO_COLOR", "1")], args), "{args}: an option is stronger than a variable");
    }
    assert!(escapes(&[("CLICOLOR_FORCE", "1")], fuzz));
    assert!(!escapes(&[("CLICOLOR_FORCE", "1")], &format!("{fuzz} --color never")));
}

/// After a find, what explains it comes first.
#[test]
fn the_next_steps_begin_with_an_explanation() {
    let ran = Folder::new().turncoat("fuzz pbft-java --no-shrink");
    let steps: Vec<&str> =
        ran.err.lines().filter_map(|line| line.strip_prefix("turncoat ")?.split(' ').next()).collect();
    assert_eq!(steps, ["explain", "explore", "replay"], "{}", ran.err);
}
