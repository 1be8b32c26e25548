//! Tables of strategies: on known bugs, and by parameters.

use super::bad_input::refused_args;
use super::{Folder, turncoat};

#[test]
fn a_detection_table_says_how_often_each_strategy_finds_each_bug() {
    let folder = Folder::new();
    let command = "suite run pbft-java/exec-out-of-order pbft-java/crash-on-garbage --runs 100 \
                   --strategy naive,byzzfuzz:c=2:d=0 --db suite.db";
    let ran = folder.turncoat(command);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines.len(), 4, "{}", ran.out);
    assert_eq!(lines[0], "| bug | property | naive | byzzfuzz c=2 d=0 |");
    assert!(lines[2].starts_with("| `pbft-java/exec-out-of-order` | integrity |"), "{}", ran.out);
    // Nodes that crash on garbage need some: byzzfuzz's lies all decode.
    assert!(lines[3].starts_with("| `pbft-java/crash-on-garbage` | crashed |"), "{}", ran.out);
    assert!(lines[3].ends_with("| 0 of 100: at most 3.7 % |"), "{}", ran.out);
    assert_eq!(folder.turncoat(&format!("{command} --resume")).out, ran.out, "nothing is left to run");
    let report = folder.turncoat("report suite.db").out;
    let sentence = "The bug pbft-java/exec-out-of-order: ";
    assert!(report.contains(sentence) && report.contains("It breaks integrity: "), "{report}");
}

#[test]
fn a_detection_table_may_be_about_one_tier() {
    let ran = turncoat("suite run --tier 1 --runs 1 --strategy none");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("| `hbft/known` |"), "{}", ran.out);
    assert!(!ran.out.contains("| `pbft-java/exec-out-of-order` |"), "of tier 2: {}", ran.out);
    refused_args("suite run --tier 4", &["give a whole number from 1 to 3"]);
    let hbft = turncoat("suite run hbft --tier 1 --runs 1 --strategy none").out;
    assert!(hbft.contains("| `hbft/known` |") && !hbft.contains("`pbft"), "{hbft}");
}

#[test]
fn a_strategy_of_a_table_is_a_name_with_parameters() {
    refused_args("suite run --strategy byzfuzz", &["no strategy `byzfuzz`", "did you mean `byzzfuzz`?"]);
    refused_args("suite run --strategy byzzfuzz:c --runs 1", &["expected NAME:PARAMETER=VALUE"]);
    refused_args("suite run --strategy byzzfuzz:q=1 --runs 1", &["no parameter `q`"]);
}

#[test]
fn tuning_ranks_all_combinations_and_tries_the_best_once_more() {
    let ran = turncoat("tune pbft-java --sweep c=0,2 --sweep d=0,1 --find agreement --runs 200 --json");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let lines: Vec<serde_json::Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 5);
    let found = |line: &serde_json::Value| line["found"].as_u64().expect("a count");
    assert!(lines[..4].is_sorted_by_key(|line| u64::MAX - found(line)), "{}", ran.out);
    assert_eq!(lines[3]["searcher"], "byzzfuzz c=0 d=0");
    assert_eq!((found(&lines[3]), &lines[0]["p"]), (0, &serde_json::Value::Null));
    assert_eq!((&lines[4]["type"], &lines[4]["searcher"]), (&"best".into(), &lines[0]["searcher"]));
}

#[test]
fn halving_gives_most_runs_to_the_best() {
    let folder = Folder::new();
    let ran =
        folder.turncoat("tune pbft-java --sweep d=0,1,2 --sweep c=0,1 --runs 160 --halving --db tune.db");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let runs = |line: &str| line.split('|').nth(3).and_then(|cell| cell.trim().parse::<u64>().ok());
    let runs: Vec<u64> = ran.out.lines().filter_map(runs).collect();
    assert_eq!(runs, [160, 160, 80, 40, 40, 40], "{}", ran.out);
    assert!(ran.out.contains("with fresh seeds"), "{}", ran.out);
}

#[test]
fn what_cannot_be_swept_is_refused() {
    refused_args("tune pbft --sweep q=1", &["byzzfuzz has no parameter `q`"]);
    refused_args("tune pbft --sweep c", &["expected PARAMETER=VALUE"]);
    refused_args("tune pbft --sweep c=1 --sweep c=2", &["`c` is given twice"]);
    refused_args(
        "tune pbft --sweep c=1 --find agreemen",
        &["no property `agreemen`", "did you mean `agreement`?"],
    );
    refused_args("tune --sweep c=1", &["PROTO"]);
}
