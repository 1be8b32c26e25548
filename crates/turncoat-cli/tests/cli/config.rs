//! `turncoat.toml`, its profiles and the environment: who goes before whom, and what is refused.

use super::bad_input::refused;
use super::{Folder, Ran, turncoat};

const FILE: &str = r#"schema = 1

[protocol]
name = "pbft"
checkpoint = 2

[network]
loss = "hold"

[strategy]
name = "byzzfuzz"
c = 2

[campaign]
seed = 1
runs = 40
jobs = 1
until = "never"

[profile.ci.campaign]
runs = 30
jobs = 2

[profile.ci.cluster]
f = 2

[profile.wild]
strategy = { name = "random" }
"#;

/// A folder with a configuration.
fn folder(text: &str) -> Folder {
    let folder = Folder::new();
    folder.write("turncoat.toml", text);
    folder
}

/// The line of a key in what `--print-config` prints.
fn line<'a>(ran: &'a Ran, table: &str, key: &str) -> &'a str {
    assert_eq!(ran.code, 0, "{}", ran.err);
    let within = ran.out.split(&format!("\n[{table}]\n")).nth(1).unwrap_or_else(|| panic!("no [{table}]"));
    let mut lines = within.lines().take_while(|line| !line.starts_with('['));
    lines.find(|line| line.starts_with(&format!("{key} = "))).unwrap_or_else(|| panic!("no {key}: {within}"))
}

/// What is printed, without where it is from.
fn values(ran: &Ran) -> Vec<String> {
    ran.out.lines().map(|line| line.split("  # ").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn the_file_names_what_to_run() {
    let folder = folder(FILE);
    let summary = folder.turncoat("fuzz --json").json();
    assert_eq!((&summary["protocol"], &summary["strategy"]), (&"pbft".into(), &"byzzfuzz".into()));
    assert_eq!((&summary["runs"], &summary["jobs"]), (&40.into(), &1.into()));
    let same = turncoat(
        "fuzz pbft --strategy byzzfuzz --set protocol.checkpoint=2 --set network.loss=hold --set c=2 --seed 1 \
         --runs 40 --json",
    );
    assert_eq!(summary["fingerprint"], same.json()["fingerprint"]);
    // A run of that campaign is the same without options too.
    let run = folder.turncoat("run --index 3 --json").json();
    let same = turncoat(
        "run pbft --strategy byzzfuzz --set protocol.checkpoint=2 --set network.loss=hold --set c=2 --seed 1 \
         --index 3 --json",
    );
    assert_eq!(run["fingerprint"], same.json()["fingerprint"]);
}

#[test]
fn a_flag_goes_before_the_environment_the_profile_the_file_and_the_default() {
    let folder = folder(FILE);
    let variables =
        [("TURNCOAT_JOBS", "3"), ("TURNCOAT_SEED", "0x9e3779b97f4a7c15"), ("TURNCOAT_PROFILE", "ci")];
    let args = ["fuzz", "--print-config", "--seed", "7", "--set", "d=0"];
    let ran = folder.run_with(&variables, &args);
    assert_eq!(line(&ran, "campaign", "seed"), "seed = \"0x0000000000000007\"  # --seed");
    assert_eq!(line(&ran, "campaign", "jobs"), "jobs = 3  # TURNCOAT_JOBS");
    assert_eq!(line(&ran, "campaign", "runs"), "runs = 30  # profile ci (turncoat.toml)");
    assert_eq!(line(&ran, "campaign", "until"), "until = \"never\"  # turncoat.toml");
    assert_eq!(line(&ran, "network", "fifo"), "fifo = false  # default");
    assert_eq!(line(&ran, "strategy", "d"), "d = 0  # --set");
    assert_eq!(line(&ran, "strategy", "c"), "c = 2  # turncoat.toml");
    // What follows from something else is not a default.
    assert_eq!(line(&ran, "cluster", "f"), "f = 2  # profile ci (turncoat.toml)");
    assert_eq!(line(&ran, "cluster", "n"), "n = 7  # as many as f needs");
    assert!(!folder.path().join("turncoat-corpus").exists(), "nothing runs");

    // The same in a campaign; without the variables the file counts again.
    let summary = folder.run_with(&variables[..2], &["fuzz", "--runs", "2", "--json"]).json();
    assert_eq!((&summary["seed"], &summary["jobs"]), (&"0x9e3779b97f4a7c15".into(), &3.into()));
    assert_eq!(summary["runs"], 2);
    let summary = folder.turncoat("fuzz --profile ci --runs 2 --json").json();
    assert_eq!((&summary["seed"], &summary["jobs"]), (&"0x0000000000000001".into(), &2.into()));
}

#[test]
fn what_is_printed_can_be_fed_back() {
    let folder = folder(FILE);
    for args in [
        "fuzz --print-config",
        "fuzz --print-config --profile ci --for 10m",
        "fuzz pbft-java --print-config --strategy random --with no-reply-resend --without seq-zero -n 9",
        "run --print-config --clients 2 --requests 5 --scheduler async --set network.gst.time=90 --set only=commit",
    ] {
        let printed = folder.turncoat(args);
        assert_eq!(printed.code, 0, "{args}: {}", printed.err);
        folder.write("printed.toml", &printed.out);
        let again = folder.turncoat("fuzz --config printed.toml --print-config");
        assert_eq!(again.code, 0, "{args}: {}", again.err);
        assert_eq!(values(&printed), values(&again), "{args}");
        let origins = again.out.lines().filter(|line| line.contains(" = ") && !line.starts_with("schema"));
        assert!(origins.clone().count() > 40);
        origins.for_each(|line| assert!(line.ends_with("  # printed.toml"), "{line}"));
    }
    // Faults too, and the runs are the same.
    let doomed = [&["fuzz", "--runs", "3"], &super::DOOM[..]].concat();
    let printed = folder.run(&[&doomed[..], &["--print-config"]].concat());
    folder.write("doomed.toml", &printed.out);
    let fingerprint = |args: &[&str]| folder.run(args).json()["fingerprint"].clone();
    assert_eq!(fingerprint(&doomed), fingerprint(&["fuzz", "--config", "doomed.toml", "--json"]));
}

#[test]
fn another_protocol_or_strategy_has_none_of_the_keys_of_the_file() {
    let folder = folder(FILE);
    let ran = folder.turncoat("fuzz pbft-classic --print-config");
    assert_eq!(line(&ran, "protocol", "name"), "name = \"pbft-classic\"  # PROTO");
    assert_eq!(line(&ran, "protocol", "checkpoint"), "checkpoint = 4  # default");
    assert_eq!(line(&ran, "network", "loss"), "loss = \"hold\"  # turncoat.toml");
    let same = folder.turncoat("fuzz pbft --print-config");
    assert_eq!(line(&same, "protocol", "checkpoint"), "checkpoint = 2  # turncoat.toml");
    let ran = folder.run_with(&[("TURNCOAT_STRATEGY", "random")], &["fuzz", "--print-config"]);
    assert_eq!(line(&ran, "strategy", "name"), "name = \"random\"  # TURNCOAT_STRATEGY");
    assert!(!ran.out.contains("c = 2"), "{}", ran.out);
    let ran = folder.turncoat("fuzz --profile wild --print-config");
    assert_eq!(line(&ran, "strategy", "name"), "name = \"random\"  # profile wild (turncoat.toml)");
    assert!(!ran.out.contains("c = 2"), "{}", ran.out);
}

#[test]
fn a_bug_of_the_suite_goes_before_the_file() {
    let folder = folder(FILE);
    let ran = folder.turncoat("fuzz --bug pbft-java/figure-2 --print-config");
    assert!(line(&ran, "protocol", "flags").ends_with("  # --bug pbft-java/figure-2"));
    assert_eq!(line(&ran, "protocol", "checkpoint"), "checkpoint = 4  # default");
    assert_eq!(line(&ran, "network", "loss"), "loss = \"drop\"  # default");
    assert_eq!(line(&ran, "campaign", "runs"), "runs = 40  # turncoat.toml");
}

#[test]
fn an_empty_variable_is_none_and_a_wrong_one_is_named() {
    let folder = folder(FILE);
    assert_eq!(folder.run_with(&[("TURNCOAT_RUNS", "")], &["fuzz", "--json"]).json()["runs"], 40);
    for (variable, text, words) in [
        ("TURNCOAT_RUNS", "many", "give a whole number, as in 5000, 10k"),
        ("TURNCOAT_FOR", "10", "10s"),
        ("TURNCOAT_STRATEGY", "radnom", "did you mean `random`?"),
        ("TURNCOAT_PROTOCOL", "pbtf", "did you mean `pbft`?"),
        ("TURNCOAT_UNTIL", "soon", "`first`"),
        ("TURNCOAT_CONFIG", "missing.toml", "cannot read missing.toml"),
        ("TURNCOAT_PROFILE", "cj", "did you mean `ci`?"),
    ] {
        let ran = folder.run_with(&[(variable, text)], &["fuzz"]);
        assert_eq!(ran.code, 2, "{variable}: {}", ran.out);
        assert!(ran.err.contains(words), "{variable}: {}", ran.err);
        let named = !["TURNCOAT_CONFIG", "TURNCOAT_PROFILE"].contains(&variable);
        assert!(!named || ran.err.starts_with(&format!("error: {variable}: ")), "{}", ran.err);
    }
}

/// The file with one change is refused, with words that start with the place.
fn refused_with(was: &str, is: &str, words: &[&str]) {
    assert!(FILE.contains(was), "{was}");
    refused(&folder(&FILE.replacen(was, is, 1)), &["fuzz"], words);
}

#[test]
fn a_key_that_does_not_exist_is_refused_with_its_line() {
    refused_with(
        "runs = 40",
        "rusn = 40",
        &["turncoat.toml:16: no key of [campaign] `rusn`", "mean `runs`?"],
    );
    refused_with("loss", "los", &["turncoat.toml:8: no key of [network] `los`", "mean `loss`?"]);
    refused_with(
        "checkpoint",
        "chekpoint",
        &["turncoat.toml:5: no key of pbft `chekpoint`", "mean `checkpoint`?"],
    );
    refused_with("c = 2", "q = 2", &["turncoat.toml:12: no parameter of byzzfuzz `q`", "list strategies"]);
    refused_with("[network]", "[netwrk]", &["turncoat.toml:7: no table `netwrk`", "mean `network`?"]);
    // In a profile that nobody asks for, too.
    refused_with(
        "runs = 30",
        "rums = 30",
        &["turncoat.toml:21: no key of [campaign] `rums`", "mean `runs`?"],
    );
    refused_with("f = 2", "g = 2", &["turncoat.toml:25: no key of [cluster] `g`"]);
    refused_with("schema = 1", "schema = 1\nseed = 3", &["turncoat.toml:2: no table `seed`"]);
}

#[test]
fn a_value_that_means_nothing_is_refused_with_its_line() {
    refused_with("\"hold\"", "\"keep\"", &["turncoat.toml:8:", "network.loss", "`hold`"]);
    refused_with("runs = 40", "runs = \"many\"", &["turncoat.toml:16: `runs = \"many\"`"]);
    refused_with("jobs = 1", "jobs = 9999", &["turncoat.toml:17:", "from 0 to 1024"]);
    refused_with("seed = 1", "seed = \"x\"", &["turncoat.toml:15:", "decimal or 0x"]);
    refused_with("until = \"never\"", "for = \"10\"", &["turncoat.toml:18:", "500ms"]);
    refused_with(
        "checkpoint = 2",
        "checkpoint = \"x\"",
        &["turncoat.toml:5: `checkpoint`", "a whole number"],
    );
    refused_with("\"byzzfuzz\"", "\"byzfuzz\"", &["turncoat.toml:11: no strategy", "`byzzfuzz`?"]);
    refused_with("\"pbft\"", "\"pbtf\"", &["turncoat.toml:4: no protocol", "`pbft`?"]);
    refused_with("\"pbft\"", "4", &["turncoat.toml:4: `name` is text"]);
    refused_with("c = 2", "only = [\"commit\"]", &["turncoat.toml:12: `only`", "commas"]);
    refused_with("c = 2", "c = \"many\"", &["`c=many`", "whole number"]);
    refused_with("name = \"byzzfuzz\"", "", &["turncoat.toml:12: `c` is a parameter of which strategy?"]);
    refused_with("\"hold\"", "hold", &["turncoat.toml", "line 8"]);
}

#[test]
fn a_file_that_is_no_configuration_is_refused() {
    refused_with("schema = 1", "", &["turncoat.toml", "starts with `schema = 1`"]);
    refused_with("schema = 1", "schema = 9", &["turncoat.toml", "schema 9 is newer", "upgrade"]);
    refused(&folder("schema = 1\ncampaign = 3\n"), &["fuzz"], &["turncoat.toml:2: `campaign` is a table"]);
    refused(&folder("schema = 1\nprofile = 3\n"), &["fuzz"], &["turncoat.toml", "[profile.ci.campaign]"]);
    refused(&folder("schema = 1\n"), &["fuzz"], &["no protocol", "[protocol]", "turncoat fuzz pbft"]);
    let empty = Folder::new();
    refused(&empty, &["run"], &["no protocol", "[protocol]"]);
    refused(&empty, &["fuzz", "pbft", "--config", "other.toml"], &["cannot read other.toml"]);
    refused(&empty, &["fuzz", "pbft", "--config", "."], &[". is a folder"]);
}

#[test]
fn a_profile_that_does_not_exist_is_refused() {
    refused(&folder(FILE), &["fuzz", "--profile", "cj"], &["turncoat.toml: no profile `cj`", "mean `ci`?"]);
    refused(
        &Folder::new(),
        &["fuzz", "pbft", "--profile", "ci"],
        &["no profile `ci`", "no turncoat.toml here"],
    );
}
