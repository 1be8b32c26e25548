//! Mistakes: each gets exit code 2 and one message that says what would be right.

use super::{Folder, OVER_BUDGET, turncoat};

/// Runs a command that must fail; the message must hold all of `words`.
pub(crate) fn refused(folder: &Folder, args: &[&str], words: &[&str]) {
    let ran = folder.run(args);
    assert_eq!(ran.code, 2, "{args:?}: {}{}", ran.out, ran.err);
    assert_eq!(ran.out, "", "{args:?} has results");
    assert_eq!(ran.err.matches("error:").count(), 1, "{args:?}: one message: {}", ran.err);
    for word in words {
        assert!(ran.err.contains(word), "{args:?}: no `{word}` in: {}", ran.err);
    }
}

pub(crate) fn refused_args(args: &str, words: &[&str]) {
    refused(&Folder::new(), &args.split_whitespace().collect::<Vec<_>>(), words);
}

fn refused_file(text: &str, words: &[&str]) {
    let folder = Folder::new();
    folder.write("bad.toml", text);
    refused(&folder, &["replay", "bad.toml"], &[&["bad.toml"], words].concat());
}

#[test]
fn an_unknown_name_is_answered_with_the_nearest() {
    refused_args("fuzz pbtf", &["no protocol `pbtf`", "did you mean `pbft`?", "`turncoat list protocols`"]);
    refused_args("fuzz PBFT", &["no protocol `PBFT`", "did you mean `pbft`?"]);
    refused_args("run raft", &["no protocol `raft`", "`turncoat list protocols` shows all"]);
    refused_args(
        "fuzz pbft --strategy byzfuzz",
        &["no strategy `byzfuzz`", "`byzzfuzz`?", "`turncoat list strategies`"],
    );
    refused_args("fuzz pbft --scheduler tmied", &["no scheduler `tmied`", "`timed`?"]);
    refused_args("run pbft --scheduler script", &["no scheduler `script`", "fifo, timed, sync, async"]);
    refused_args(
        "fuzz pbft --with no-such-flag",
        &["no flag of pbft `no-such-flag`", "`turncoat list flags pbft` shows all"],
    );
    refused_args("list flags pbtf", &["did you mean `pbft`?"]);
    refused_args("list bogs", &["bogs", "bugs", "protocols"]);
    refused_args(
        "fuzz pbft-java/figure-2",
        &["is a known bug, not a protocol", "`turncoat fuzz --bug pbft-java/figure-2`"],
    );
    refused_args(
        "explain pbft-java/figur-2",
        &["did you mean `pbft-java/figure-2`?", "`turncoat list bugs`"],
    );
    refused_args("explain nonsense", &["no file `nonsense`, and no bug `nonsense`"]);
    refused_args("shrink figure-2", &["did you mean `pbft-java/figure-2`?"]);
    refused_args(
        "tune pbft --sweep c=1 --find agrement",
        &["`--find agrement`", "did you mean `agreement`?"],
    );
    refused_args("fuzz --bug pbft/no-such-bug", &["no bug `pbft/no-such-bug`", "turncoat list bugs"]);
    refused_args("replay --bug pbft/no-such-bug", &["no bug `pbft/no-such-bug`", "turncoat list bugs"]);
}

#[test]
fn a_parameter_that_the_strategy_does_not_have_is_refused() {
    let byzzfuzz = "fuzz pbft --strategy byzzfuzz --set";
    refused_args(
        &format!("{byzzfuzz} q=1"),
        &["no parameter of byzzfuzz `q`", "`turncoat list strategies` shows all"],
    );
    refused_args(&format!("{byzzfuzz} scop=any"), &["did you mean `scope`?"]);
    refused_args(&format!("{byzzfuzz} c=many"), &["c=many", "whole number"]);
    refused_args(&format!("{byzzfuzz} scope=huge"), &["scope=huge", "small"]);
    refused_args("run pbft --set c=1", &["no parameter of none `c`", "--strategy byzzfuzz"]);
    refused_args("fuzz pbft --set q=1", &["no parameter of portfolio `q`", "list strategies"]);
    refused_args("fuzz pbft --set c=1", &["no parameter of portfolio `c`", "--strategy byzzfuzz"]);
}

/// Who names the liar does not want another one drawn.
#[test]
fn a_path_that_the_strategy_decides_on_is_refused() {
    let liar = r#"adversary.byzantine=["p1"]"#;
    for strategy in ["byzzfuzz", "naive", "random", "twins"] {
        let words = [liar, &format!("{strategy} decides on `adversary.byzantine` itself"), "--strategy none"];
        refused(&Folder::new(), &["fuzz", "pbft", "--strategy", strategy, "--set", liar], &words);
    }
    let faults = r#"adversary.faults=[{to=["p1"], drop=true}]"#;
    refused(&Folder::new(), &["fuzz", "pbft", "--set", faults], &["decides on `adversary.faults`"]);
    refused_args(
        "fuzz pbft --strategy random --set scheduler.timeout=5",
        &["random decides on `scheduler.timeout`"],
    );
    // What it leaves as it is may be set.
    let heeded = turncoat(
        "fuzz pbft --strategy byzzfuzz --runs 10 --set adversary.crash-on-garbage=true --set scheduler.name=fifo",
    );
    assert_eq!(heeded.code, 0, "{}", heeded.err);
    let alone = ["fuzz", "pbft", "--strategy", "none", "--runs", "10", "--set", liar];
    assert_eq!(Folder::new().run(&alone).code, 0);
}

#[test]
fn a_path_that_the_scenario_does_not_have_is_refused() {
    refused_args("fuzz pbft --set network.los=hold", &["network.los", "unknown field", "`loss`"]);
    refused_args("fuzz pbft --set network.loss=keep", &["network.loss=keep", "`hold`"]);
    refused_args("fuzz pbft --set network.latency.x=1", &["network.latency.x"]);
    refused_args("fuzz pbft --set limits.steps=-1", &["limits.steps=-1"]);
    refused_args("fuzz pbft --set protocol.no-such-key=1", &["pbft", "no-such-key"]);
    refused_args("fuzz pbft --set protocol.name=raft", &["protocol.name", "first argument"]);
    refused_args("fuzz pbft --set", &["--set"]);
    refused_args("fuzz pbft --set loss", &["loss", "PATH=VALUE"]);
    refused_args("fuzz pbft --set =3", &["=3", "PATH=VALUE"]);
}

#[test]
fn a_cluster_below_the_bound_is_refused() {
    refused_args("fuzz pbft -n 3 -f 1", &["n >= 4", "f = 1", "n = 3"]);
    refused_args("run pbft -n 6 -f 2", &["n >= 7"]);
    refused_args("run pbft -n 0", &["'0'", "from 1 to 64"]);
    refused_args("run pbft -n 65", &["65", "from 1 to 64"]);
    refused_args("run pbft -f 50", &["1 to 64 replicas", "151", "f = 50"]);
    // Its own copies arrive at once: alone, it would decide forever in one event.
    refused_args("run hotstuff -n 1", &["hotstuff needs at least 2 replicas"]);
    refused_args("run pbft --set cluster.n=100", &["1 to 64"]);
    refused_args("run pbft --set cluster.f=5", &["n >= 16"]);
}

#[test]
fn a_byzantine_set_beyond_the_budget_is_refused() {
    let two = ["run", "pbft", "--set", r#"adversary.byzantine=["p0","p1"]"#];
    refused(&Folder::new(), &two, &["2 faulty replicas {p0,p1}", "f = 1", "--over-budget"]);
    refused_file(
        &OVER_BUDGET.replace("over-budget = true", ""),
        &["3 faulty replicas", "over-budget = true"],
    );
}

#[test]
fn a_fault_on_a_node_that_does_not_exist_is_refused() {
    refused_file(&OVER_BUDGET.replace("\"p3\"", "\"p9\""), &["fault 3", "there is no p9", "p0..p3"]);
    refused_file(&OVER_BUDGET.replace("\"p3\"", "\"x9\""), &["`x9` names no node", "line 18"]);
    let fault = ["run", "pbft", "--set", r#"adversary.faults=[{to=["p7"], drop=true}]"#];
    refused(&Folder::new(), &fault, &["there is no p7"]);
}

#[test]
fn numbers_and_times_that_mean_nothing_are_refused() {
    refused_args("fuzz pbft --seed xyz", &["xyz", "decimal or 0x"]);
    refused_args("fuzz pbft --seed 0x123456789abcdef01", &["64-bit"]);
    refused_args("fuzz pbft --for 10", &["10", "10s"]);
    refused_args("fuzz pbft --for soon", &["soon", "500ms"]);
    for runs in ["-1", "ten", "1.5", "10x", "1e30"] {
        refused_args(&format!("fuzz pbft --runs {runs}"), &[runs, "10k", "1e6"]);
    }
    refused_args("check pbft --runs 0", &["0", "at least 1"]);
    for (args, wanted) in [
        ("fuzz pbft -j many", "from 0 to 1024"),
        ("fuzz pbft -j -1", "from 0 to 1024"),
        ("fuzz pbft --requests -1", "from 0 to 4294967295"),
        ("explore --port 99999", "from 0 to 65535"),
        ("fuzz pbft --seed -1", "64-bit"),
    ] {
        refused_args(args, &[args.rsplit(' ').next().unwrap_or_default(), wanted]);
    }
    refused_args("fuzz pbft --until later", &["later", "first, never"]);
    refused_args("speed --seconds 0", &["0"]);
}

#[test]
fn a_command_line_that_is_not_complete_is_refused() {
    refused_args("fuzz", &["no protocol", "turncoat fuzz pbft"]);
    refused_args("replay", &["<FILE|BUG|--bug <ID>>"]);
    refused_args("fuzz pbft --bug pbft/any", &["PROTO", "cannot be used with", "--bug"]);
    refused_args("replay any.toml --bug pbft/any", &["FILE", "cannot be used with", "--bug"]);
    refused_args("run --bug pbft/any", &["--bug"]);
    refused_args("fuzz pbft --identify", &["--identify", "--db FILE"]);
    refused_args("list flags", &["flags belong to a protocol", "list flags pbft"]);
    refused_args("fuzz pbft --strategy twins --set rounds=0", &["rounds=0", "from 1 to 1000"]);
    refused_args(
        "fuzz pbft --strategy twins --set twins=2",
        &["2 twins exceed cluster.f = 1", "--over-budget"],
    );
    refused_args("fuzz pbft --strategy twins --set pass=fetsh", &["no message kind `fetsh`", "slot-fetch"]);
    refused_args("list strategies pbft", &["`pbft` is one too many"]);
    refused_args("fzz pbft", &["fzz", "fuzz"]);
    refused_args("fuzz pbft --stratgy random", &["--stratgy", "--strategy"]);
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let folder = Folder::new();
    refused(&folder, &["replay", "missing.toml"], &["cannot read missing.toml"]);
    refused(&folder, &["replay", "."], &[". is a folder"]);
    std::fs::write(folder.path().join("bad.toml"), [0xff, 0xfe, 0x00]).expect("a file");
    refused(&folder, &["replay", "bad.toml"], &["bad.toml", "not text"]);
    refused(&folder, &["replay", "/dev/zero"], &["/dev/zero is a pipe or a device"]);
    std::fs::create_dir(folder.path().join("dir.db")).expect("a folder");
    refused(&folder, &["report", "dir.db"], &["dir.db: it is a folder: give a file"]);
}

#[test]
fn what_would_take_gigabytes_or_hours_is_refused() {
    let pbft = |text: &str| format!("schema = 1\n[protocol]\nname = \"pbft\"\n{text}\n");
    refused_file(&pbft("checkpoint = 4097"), &["`checkpoint` and `window` are at most 4096"]);
    refused_file(&pbft("window = 1000000"), &["`checkpoint` and `window` are at most 4096"]);
    refused_file(&pbft("[workload]\nrequests = 1000000"), &["workload.requests", "at most 10000"]);
    refused_args("fuzz hotstuff --set cluster.n=4294967295", &["a cluster has 1 to 64 replicas"]);
    let billions = "plan fuzz pbft --runs 4294967295 --shard-runs 1";
    refused_args(billions, &["at most 1000000 shards", "--shard-runs"]);
}

/// A full disk is no bug of turncoat's.
#[test]
fn results_that_cannot_be_written_are_an_error() {
    for args in [&["list", "protocols"][..], &["--help"], &["fuzz", "--help"]] {
        let full = std::fs::File::create("/dev/full").expect("a device");
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("turncoat"));
        let output = command.args(args).stdout(full).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(2) && said.contains("cannot write the results"),
            "{args:?}: {said}"
        );
    }
}

#[test]
fn a_malformed_file_is_refused_with_the_line() {
    refused_file("", &["schema = 1"]);
    refused_file("schema = 1\n[protocol\n", &["line 2"]);
    let pbft = "schema = 1\n[protocol]\nname = \"pbft\"\n";
    refused_file(&format!("{pbft}[workload]\nrequests = \"two\"\n"), &["line 5", "expected a whole number"]);
    refused_file(&format!("{pbft}[adversary]\nfaults = 3\n"), &["line 5", "expected a list"]);
    refused_file("schema = 1\nseed = 1\n[protocol]\nname = 5\n", &["line 4"]);
    refused_file(&OVER_BUDGET.replace("steps = 400", "stepps = 400"), &["line 9", "stepps", "`steps`"]);
    refused_file(&OVER_BUDGET.replace("crash = \"p1\"", "crush = \"p1\""), &["line 12", "crush"]);
    refused_file(&OVER_BUDGET.replace("crash = \"p1\"", ""), &["exactly one effect"]);
    refused_file(&OVER_BUDGET.replace("\"pbft\"", "\"pbtf\""), &["did you mean `pbft`?"]);
    let expect = format!("{OVER_BUDGET}[expect]\nproperty = \"aggreement\"\nfingerprint = 1\n");
    refused_file(&expect, &["expect.property", "did you mean `agreement`?"]);
}

/// `[protocol]` takes whatever keys its protocol has, so a misspelled `name` is not an unknown key there.
#[test]
fn a_misspelled_name_is_named() {
    refused_file("schema = 1\n[protocol]\nnam = \"pbft\"\n", &["line 3", "has no `name`, only `nam`"]);
    refused_file("schema = 1\n[protocol]\n", &["[protocol] has no `name`"]);
    for table in ["protocol", "strategy"] {
        let folder = Folder::new();
        let other = if table == "strategy" { "[protocol]\nname = \"pbft\"\n" } else { "" };
        folder.write("turncoat.toml", &format!("schema = 1\n[{table}]\nnam = \"pbft\"\n{other}"));
        let words = ["turncoat.toml:3", &format!("no key of [{table}] `nam`: did you mean `name`?")];
        refused(&folder, &["fuzz"], &words);
    }
}

#[test]
fn a_file_of_a_newer_version_is_refused() {
    refused_file("schema = 99\n[new-things]\n", &["schema 99", "newer", "upgrade"]);
}

#[test]
fn nothing_is_written_when_the_input_is_wrong() {
    let folder = Folder::new();
    assert_eq!(folder.turncoat("fuzz pbft --set c=many").code, 2);
    assert_eq!(folder.turncoat("run pbft --set c=1 --record out.toml").code, 2);
    assert_eq!(folder.path().read_dir().expect("a folder").count(), 0);
    let ran = folder.turncoat("run pbft --record missing/out.toml");
    assert_eq!((ran.code, ran.err.contains("cannot write missing/out.toml")), (2, true), "{}", ran.err);
}

#[test]
fn a_campaign_of_no_runs_says_so() {
    let ran = turncoat("fuzz pbft --runs 0");
    assert_eq!((ran.code, ran.err.contains("nothing ran")), (4, true), "{}", ran.err);
}
