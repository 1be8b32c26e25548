//! Exhaustive campaigns, and the certificates that they deserve.

use serde_json::Value;

use super::{Folder, turncoat};

/// Cuts and early timers, with nobody lying: small enough for a test.
const SMALL: &str = "fuzz pbft --strategy enumerate --set classes=cuts,timers --set views=1";

/// 19 cuts and 4 early timers are 23 faults, and 253 pairs.
#[test]
fn a_complete_campaign_ends_with_a_certificate() {
    let ran = turncoat(SMALL);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for line in [
        "certificate: no violation among all 277 plans of at most 2 faults, under 1 schedule\n",
        "  protocol     pbft, no bug flags; n = 4, f = 1; 2 clients, 4 requests\n",
        "  universe     23 faults: cuts 19, timers 4\n",
        "  schedules    timed, latency ",
    ] {
        assert!(ran.out.contains(line), "no {line} in {}", ran.out);
    }
    assert!(ran.out.contains("  judged       agreement, integrity, validity, crashed, client-agreement, custom in all 277 runs; "), "{}", ran.out);
    let json = turncoat(&format!("{SMALL} --json")).json();
    let certificate = &json["certificate"];
    assert_eq!((&certificate["plans"], &certificate["runs"]), (&"277".into(), &277.into()));
    assert!(json["no_certificate"].is_null());
    assert!(certificate["interchangeable"].as_array().is_some_and(Vec::is_empty));
    assert!(certificate["universe"].as_str().is_some_and(|hash| hash.len() == 64 && ran.out.contains(hash)));
}

#[test]
fn an_incomplete_campaign_says_how_much_was_run_and_gets_none() {
    let ran = turncoat(&format!("{SMALL} --runs 100"));
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("  scenarios    0 to 99 of 277\n"), "{}", ran.out);
    assert!(ran.out.contains("  certificate  none: 100 of 277 runs were executed\n"), "{}", ran.out);
    let json = turncoat(&format!("{SMALL} --runs 100 --json")).json();
    assert!(json["certificate"].is_null());
    assert_eq!(json["no_certificate"], "100 of 277 runs were executed");
    // A strategy that draws its scenarios has nothing to certify.
    let drawn = turncoat("fuzz pbft --strategy lasting --runs 20 --json").json();
    assert!(drawn["certificate"].is_null() && drawn["no_certificate"].is_null());
}

/// The universe has one text, and its digest is in the certificate.
#[test]
fn the_universe_is_printed_line_by_line() {
    let one = turncoat(&format!("{SMALL} --print-universe"));
    assert_eq!(one.code, 0, "{}", one.err);
    assert!(
        one.out.starts_with("# at most 2 of these faults, in this order\n\n# cuts (19): "),
        "{}",
        one.out
    );
    let faults = one.out.lines().filter(|line| line.starts_with('{')).count();
    assert_eq!(faults, 23, "{}", one.out);
    assert!(one.out.contains("isolate = [\"p3\"]") && one.out.contains("fire = \"p0\""), "{}", one.out);
    let hash = turncoat_lab::certificate::digest(&one.out);
    let made = turncoat(&format!("{SMALL} --json")).json();
    assert_eq!(made["certificate"]["universe"], hash);
    let none = turncoat("fuzz pbft --print-universe");
    assert_eq!(none.code, 2);
    assert!(none.err.contains("--strategy enumerate"), "{}", none.err);
}

/// Shards on many machines come to the certificate of one process.
#[test]
fn shards_come_to_the_same_certificate() {
    let folder = Folder::new();
    let plan = folder.turncoat(&format!("plan {SMALL} --shard-runs 100"));
    assert!(
        plan.out.starts_with("plan.json: 1 campaign, 277 runs, shards 0 to 2\n"),
        "{}{}",
        plan.out,
        plan.err
    );
    for shard in [2, 0, 1] {
        assert_eq!(folder.turncoat(&format!("shard plan.json {shard} --out results")).code, 0);
    }
    assert_eq!(folder.turncoat("merge results --db m.db").code, 0);
    let merged = folder.turncoat(&format!("{SMALL} --db m.db --resume --json")).json();
    let whole = turncoat(&format!("{SMALL} --json")).json();
    assert!(whole["certificate"].is_object());
    assert_eq!(merged["certificate"], whole["certificate"]);
}

/// What somebody assumed about names stands in the certificate.
#[test]
fn interchangeable_replicas_are_named() {
    let ran = turncoat(&format!("{SMALL} --set led=2"));
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out.contains("certificate: no violation among all 277 plans of at most 2 faults"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("  assumed      p2 and p3 are interchangeable: "), "{}", ran.out);
    let certificate = turncoat(&format!("{SMALL} --set led=2 --json")).json()["certificate"].clone();
    let different =
        certificate["different"].as_str().and_then(|text| text.parse::<u64>().ok()).expect("a number");
    assert!((139..277).contains(&different), "{certificate}");
    assert_eq!(certificate["runs"], Value::from(different));
}

/// A replica that does not check NEW-VIEW crashes on one without votes. That takes a leader that lies in a NEW-VIEW, and a reason to
/// change views: no lie alone and no cut alone shows it, and some pairs do.
#[test]
fn a_bug_that_takes_two_faults_is_found() {
    let folder = Folder::new();
    let bounds = "fuzz pbft --with nv-unchecked --strategy enumerate --set classes=lies,cuts --set receivers=all --set views=1";
    let alone = folder.turncoat(&format!("{bounds} --set faults=1"));
    assert_eq!(alone.code, 0, "{}", alone.err);
    assert!(alone.out.contains(" plans of at most 1 fault, under 1 schedule\n"), "{}", alone.out);
    assert!(alone.out.contains("  protocol     pbft, flags nv-unchecked; "), "{}", alone.out);
    let pair = folder.turncoat(&format!("{bounds} --no-shrink --json"));
    assert_eq!(pair.code, 1, "{}", pair.err);
    let summary = pair.json();
    let first = &summary["first"]["crashed"];
    let file = first["file"].as_str().expect("a file");
    assert_eq!(folder.read(file).matches("[[adversary.faults]]").count(), 2);
    assert!(summary["certificate"].is_null());
    assert!(summary["no_certificate"].as_str().is_some_and(|why| why.contains("violated a property")));
    let again = turncoat(&format!("{bounds} --no-shrink --json")).json();
    assert_eq!(again["first"]["crashed"]["index"], first["index"]);
}
