//! Campaigns in shards: planned, run and merged by commands of their own.

use std::fs;

use super::{Folder, Ran};

/// Runs all shards that are missing, the last one first; says how each ended.
fn run_missing(folder: &Folder) -> Vec<i32> {
    let missing = match folder.path().join("results").exists() {
        true => folder.turncoat("plan --missing results").out,
        false => (0..planned(folder)).map(|shard| format!("{shard}\n")).collect(),
    };
    let shards: Vec<&str> = missing.lines().collect();
    shards
        .iter()
        .rev()
        .map(|shard| folder.turncoat(&format!("shard plan.json {shard} --out results")).code)
        .collect()
}

/// The number of shards in the plan.
fn planned(folder: &Folder) -> usize {
    let plan: serde_json::Value = serde_json::from_str(&folder.read("plan.json")).expect("JSON");
    plan["shards"].as_array().expect("a list").len()
}

fn refused(ran: &Ran, words: &[&str]) {
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
    words.iter().for_each(|word| assert!(ran.err.contains(word), "no {word} in {}", ran.err));
}

#[test]
fn a_campaign_in_shards_is_the_campaign() {
    let folder = Folder::new();
    let campaign = "fuzz pbft-java --strategy byzzfuzz --until never --runs 500";
    let plan = folder.turncoat(&format!("plan {campaign} --shard-runs 150"));
    assert_eq!(plan.code, 0, "{}", plan.err);
    assert!(plan.out.starts_with("plan.json: 1 campaign, 500 runs, shards 0 to 3\n"), "{}", plan.out);
    assert_eq!(run_missing(&folder), [1; 4], "each finds something");
    let merged = folder.turncoat("merge results --db m.db --verify");
    assert_eq!((merged.code, merged.err.as_str()), (0, ""));
    assert_eq!(
        merged.out,
        "m.db: 500 runs, 4 shards added\nverified: 5 runs executed again with the same result\n"
    );
    assert!(
        folder.turncoat("merge results --db m.db --json").json()["missing"]
            .as_array()
            .expect("a list")
            .is_empty()
    );
    let resumed = folder.turncoat(&format!("{campaign} --db m.db --resume --json"));
    let whole = folder.turncoat(&format!("{campaign} --json"));
    for key in ["runs", "violations", "marks", "ends", "mutations", "fingerprint"] {
        assert_eq!(resumed.json()[key], whole.json()[key], "{key}");
    }
    assert_eq!(folder.turncoat("report m.db").code, 0);
}

#[test]
fn a_table_in_shards_is_the_table() {
    let folder = Folder::new();
    let options = "pbft-java/figure-2 pbft-java/missing-digest-agreement --strategy byzzfuzz,random:scope=small --runs 60";
    let plan = folder.turncoat(&format!("plan suite {options} --shard-runs 40 --json"));
    assert_eq!(plan.json()["shards"], 8, "{}", plan.err);
    run_missing(&folder);
    assert_eq!(folder.turncoat("merge results --db m.db").code, 0);
    let merged = folder.turncoat(&format!("suite run {options} --db m.db --resume"));
    assert_eq!(merged.out, folder.turncoat(&format!("suite run {options}")).out);
    assert_eq!(folder.turncoat("plan experiment byzzfuzz-table-2 --runs 10").code, 0);
    assert!(folder.read("plan.json").contains("\"suspects\":\"all\""));
    let about_liveness = folder.turncoat("plan experiment liveness-table-2");
    refused(&about_liveness, &["not kept in a file"]);
}

#[test]
fn nothing_is_run_after_what_was_searched_is_found() {
    let folder = Folder::new();
    let campaign = "fuzz --bug pbft-java/figure-2 --runs 100000";
    let alone = folder.turncoat(&format!("{campaign} --json")).json();
    let runs = alone["runs"].as_u64().expect("a number");
    let size = runs.div_ceil(2);
    folder.turncoat(&format!("plan {campaign} --shard-runs {size}"));
    assert!(planned(&folder) > 2);
    let last = folder.turncoat("shard plan.json 1 --out results --json").json();
    assert_eq!((&last["ended"], last["runs"].as_u64()), (&true.into(), Some(runs - size)));
    assert_eq!(folder.turncoat("plan --missing results").out, "0\n");
    run_missing(&folder);
    assert_eq!(folder.turncoat("merge results --db m.db --json").json()["runs"], runs);
    let resumed = folder.turncoat(&format!("{campaign} --db m.db --resume --json")).json();
    assert_eq!((&resumed["runs"], &resumed["fingerprint"]), (&alone["runs"], &alone["fingerprint"]));
}

#[test]
fn what_cannot_be_used_is_named() {
    let folder = Folder::new();
    let plan = "plan fuzz pbft --runs 20 --shard-runs 10";
    refused(&folder.turncoat(&format!("{plan} --for 1m")), &["--runs"]);
    refused(&folder.turncoat(&format!("{plan} --db it.db")), &["merge DIR --db FILE"]);
    refused(&folder.turncoat("shard plan.json 0 --out results"), &["cannot read plan.json"]);
    folder.turncoat(plan);
    refused(&folder.turncoat("shard plan.json 2 --out results"), &["no shard 2", "from 0 to 1"]);
    refused(&folder.turncoat("plan --missing results"), &["results"]);
    refused(&folder.turncoat("merge nowhere --db it.db"), &["nowhere"]);
    for shard in [0, 1] {
        assert_eq!(folder.turncoat(&format!("shard plan.json {shard} --out results")).code, 0);
    }
    let files = fs::read_dir(folder.path().join("results")).expect("a folder");
    let mut results: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    results.sort();
    let name = results[0].file_name().expect("a name").to_string_lossy().into_owned();
    assert!(name.starts_with("000000-") && name.ends_with(".tcs"), "{name}");
    fs::write(&results[0], "no more\n").expect("it is written");
    let merged = folder.turncoat("merge results --db it.db");
    assert_eq!(merged.code, 2);
    assert!(
        merged.err.contains(&format!("not used: results/{name}: it is not a shard file")),
        "{}",
        merged.err
    );
    assert!(merged.out.contains("0 runs") && merged.out.contains("1 shard still to run"), "{}", merged.out);
    assert_eq!(folder.turncoat("plan --missing results").out, "0\n");
    // A plan of an older program.
    let text = folder.read("plan.json");
    let program = text.find("\"program\":\"").expect("a program") + 11;
    folder.write("plan.json", &format!("{}{}{}", &text[..program], "0".repeat(64), &text[program + 64..]));
    refused(&folder.turncoat("shard plan.json 0 --out others"), &["another program", "000000000000"]);
    folder.write("plan.json", "{}");
    refused(&folder.turncoat("shard plan.json 0 --out others"), &["plan.json: it is not a plan"]);
}
