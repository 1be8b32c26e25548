//! Single runs.

use super::{DOOM, Folder, turncoat};

#[test]
fn a_run_without_faults_completes() {
    let ran = turncoat("run pbft --json");
    let outcome = ran.json();
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(outcome["type"], "run");
    assert_eq!(outcome["end"], "goal");
    assert_eq!(outcome["completed"], 2);
    assert_eq!(outcome["violations"].as_array().map(Vec::len), Some(0));
    assert!(turncoat("run pbft").out.contains("no violation"));
}

#[test]
fn the_trace_has_a_line_for_every_event() {
    let ran = turncoat("run pbft --trace");
    for word in
        ["deliver c0>p0 request", "deliver p0>p1 pre-prepare", "commit p3 slot=1", "complete c0 request=2"]
    {
        assert!(ran.out.contains(word), "no {word} in {}", ran.out);
    }
    let json = turncoat("run pbft --trace --json");
    assert!(json.out.lines().filter(|line| line.contains(r#""type":"event""#)).count() > 50);
}

#[test]
fn the_size_of_the_cluster_follows_from_what_is_given() {
    let size = |args| {
        let ran = turncoat(&format!("run pbft {args}"));
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.out.starts_with("no violation\n"), "the verdict is first: {}", ran.out);
        ran.out.lines().nth(1).unwrap_or_default().split(", 1 client").next().unwrap_or_default().to_owned()
    };
    assert_eq!(size(""), "pbft, n = 4, f = 1");
    assert_eq!(size("-f 2"), "pbft, n = 7, f = 2");
    assert_eq!(size("-f 0"), "pbft, n = 4, f = 0");
    assert_eq!(size("-n 7"), "pbft, n = 7, f = 2");
    assert_eq!(size("-n 9"), "pbft, n = 9, f = 2");
    assert_eq!(size("-n 10"), "pbft, n = 10, f = 3");
    assert_eq!(size("-n 3"), "pbft, n = 3, f = 0");
    assert_eq!(size("-n 8 -f 2"), "pbft, n = 8, f = 2");
    assert_eq!(size("--set cluster.n=10 --set cluster.f=3"), "pbft, n = 10, f = 3");
}

#[test]
fn values_are_toml_or_else_strings() {
    let folder = Folder::new();
    let set = |value: &str| folder.run(&["run", "pbft", "--trace", "--set", value]);
    assert_eq!(set("network.loss=hold").code, 0);
    assert_eq!(set("network.loss=\"hold\"").code, 0);
    assert_eq!(set("network.latency=[1, 2]").code, 0);
    let ran = set(r#"workload.ops=["alpha", "beta"]"#);
    assert!(ran.out.contains("alpha") && ran.out.contains("beta"), "{}", ran.out);
    let ran = folder.turncoat("run pbft --requests 5 --clients 2 --json");
    assert_eq!(ran.json()["completed"], 5);
}

#[test]
fn a_violation_has_its_exit_code() {
    let ran = Folder::new().run(&[&["run"], &DOOM[..]].concat());
    assert_eq!(ran.code, 1, "{}", ran.err);
    let outcome = ran.json();
    assert_eq!(outcome["violations"][0]["property"], "termination");
    assert!(outcome["violations"][0]["outside"].is_null(), "a promise that was broken");
}

#[test]
fn a_run_of_a_campaign_is_repeated_by_its_index() {
    let folder = Folder::new();
    let one = folder.turncoat("fuzz pbft --runs 1 --seed 3 --json").json();
    let run = folder.turncoat("run pbft --strategy portfolio --seed 3 --index 0 --json").json();
    for (sum, part) in [("steps", &run["steps"]), ("faults", &run["injected"]["faults"])] {
        assert_eq!(one[sum], *part, "{sum}");
    }
    assert_ne!(
        run["seed"],
        folder.turncoat("run pbft --strategy portfolio --seed 3 --index 1 --json").json()["seed"]
    );
}

#[test]
fn a_recorded_run_replays_as_a_script() {
    let folder = Folder::new();
    for args in [
        "run pbft --record out.toml",
        "run pbft --scheduler async --record out.toml",
        "run pbft --strategy byzzfuzz --index 1 --record out.toml",
        "run pbft --strategy random --record out.toml",
    ] {
        let ran = folder.turncoat(args);
        assert_eq!(ran.err.lines().last(), Some("turncoat replay out.toml"), "{args}: {}", ran.err);
        assert!(!ran.err.contains("warning"), "{args}: {}", ran.err);
        let text = folder.read("out.toml");
        assert!(text.contains("name = \"script\"") && text.contains("deliver c0>p0 request #1"), "{text}");
        let replayed = folder.turncoat("replay out.toml");
        assert_eq!(replayed.code, ran.code, "{args}: {}", replayed.err);
    }
}

/// A lie about h moves the window of a replica that believes it by hundreds of millions, and what is committed there is
/// executed at once. The log once had room for the whole gap.
#[test]
fn a_number_far_away_takes_no_room() {
    let ran = turncoat("run pbft-java --strategy byzzfuzz --index 47052 --trace");
    assert_eq!(ran.code, 1, "{}", ran.err);
    let far = |line: &str| {
        line.split_once(" slot=")
            .is_some_and(|(_, rest)| rest.split(' ').next().is_some_and(|slot| slot.len() > 8))
    };
    assert!(ran.out.lines().any(far), "{}", ran.out);
}
