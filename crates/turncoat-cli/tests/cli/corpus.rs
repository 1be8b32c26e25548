//! The corpus: what was found, run again, added to, cleaned up.

use serde_json::Value;

use super::bad_input::refused;
use super::replays::LONG;
use super::{DOOM, DOOMED, Folder, Ran};

/// The name of the entry that [`DOOMED`] makes.
fn add(folder: &Folder, file: &str) -> String {
    let ran = folder.turncoat(&format!("corpus add {file} --no-shrink --json"));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let entry = ran.json()["entry"].as_str().expect("a path").to_owned();
    entry.trim_start_matches("turncoat-corpus/").trim_end_matches(".toml").to_owned()
}

fn entries(folder: &Folder) -> Vec<String> {
    let files = folder.path().join("turncoat-corpus").read_dir().expect("a folder");
    let mut names: Vec<String> =
        files.map(|file| file.expect("a file").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The lines of a kind, as JSON.
fn lines(ran: &Ran, kind: &str) -> Vec<Value> {
    let lines = ran.out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines.filter(|line| line["type"] == kind).collect()
}

/// A scenario that was saved when it was another run.
fn another_run(saved: &str) -> String {
    let (text, _) = saved.split_once("fingerprint = ").expect("what it showed");
    format!("{text}fingerprint = 1\n")
}

/// A corpus with an entry of each standing, and two files that are none of ours.
fn one_of_each() -> Folder {
    let folder = Folder::new();
    folder.write("doomed.toml", DOOMED);
    let name = add(&folder, "doomed.toml");
    let saved = folder.read(&format!("turncoat-corpus/{name}.toml"));
    folder.write("turncoat-corpus/changed.toml", &another_run(&saved));
    let harmless = "schema = 1\nprotocol = { name = \"pbft\" }\n";
    folder.write(
        "turncoat-corpus/fixed.toml",
        &format!("{harmless}[expect]\nproperty = \"agreement\"\nfingerprint = 1\n"),
    );
    folder.write("turncoat-corpus/stale.toml", &harmless.replace("\"pbft\"", "\"pbft\", flags = [\"gone\"]"));
    folder.write("turncoat-corpus/other.toml", &harmless.replace("pbft", "raft"));
    folder.write("turncoat-corpus/Cargo.toml", "[package]\nname = \"x\"\n");
    folder.write("turncoat-corpus/README.md", "no entry");
    folder
}

#[test]
fn what_fuzz_has_saved_still_fails() {
    let folder = Folder::new();
    let ran = folder.run(&[&["fuzz"], &DOOM[..], &["--runs", "10", "--corpus", "found"]].concat());
    let file = ran.json()["first"]["termination"]["file"].as_str().expect("a path").to_owned();
    assert!(file.starts_with("found/pbft-termination-"), "{file}");
    let ran = folder.turncoat("corpus run --corpus found");
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.out.contains("  fails    termination violated at step "), "{}", ran.out);
    assert!(ran.out.ends_with("\n1 entry: 1 fails\n"), "{}", ran.out);
}

#[test]
fn the_same_find_again_is_one_entry() {
    let folder = Folder::new();
    let fuzz = |seed| folder.run(&[&["fuzz"], &DOOM[..7], &["--runs", "10", "--seed", seed]].concat());
    assert!(fuzz("1").out.contains("\n  saved as     turncoat-corpus/pbft-termination-"));
    assert!(fuzz("2").out.contains(".toml (in the corpus already)\n"));
    assert_eq!(entries(&folder).len(), 1);
}

#[test]
fn of_two_scenarios_that_show_the_same_the_smaller_is_kept() {
    let folder = Folder::new();
    folder.write("small.toml", &format!("# Why\n# {}\n{DOOMED}", "it matters"));
    folder.write("large.toml", &format!("{DOOMED}[workload]\nrequests = 3\n"));
    let added = |file: &str| folder.turncoat(&format!("corpus add {file} --no-shrink")).out;
    assert!(added("large.toml").starts_with("large.toml: added as turncoat-corpus/pbft-termination-"));
    assert!(added("small.toml").starts_with("small.toml: replaces a larger entry, turncoat-corpus/"));
    assert!(added("large.toml").starts_with("large.toml: already in the corpus, and no smaller: turncoat-"));
    let [entry] = &entries(&folder)[..] else { panic!("one entry") };
    let text = folder.read(&format!("turncoat-corpus/{entry}"));
    assert!(!text.contains("requests = 3") && text.contains("\n# Why\n# it matters\nschema = 1"), "{text}");
}

#[test]
fn what_is_added_is_shrunk() {
    let folder = Folder::new();
    folder.write("large.toml", &format!("{DOOMED}[workload]\nrequests = 3\n"));
    let ran = folder.turncoat("corpus add large.toml");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("\n  shrunk       3 requests to 1, "), "{}", ran.out);
    let [entry] = &entries(&folder)[..] else { panic!("one entry") };
    assert!(folder.read(&format!("turncoat-corpus/{entry}")).contains("\n# shrunk from large.toml\n"));
}

#[test]
fn every_entry_is_judged_whatever_the_others_are() {
    let folder = one_of_each();
    let ran = folder.turncoat("corpus run --json --junit out.xml");
    assert_eq!(ran.code, 3, "{}", ran.err);
    let standing = lines(&ran, "entry");
    let standing: Vec<(&str, &str)> = standing
        .iter()
        .map(|line| (line["name"].as_str().expect("a name"), line["standing"].as_str().expect("a word")))
        .collect();
    let [foreign, changed, fixed, other, (name, "fails"), stale] = standing[..] else {
        panic!("{standing:?}")
    };
    assert!(name.starts_with("pbft-termination-"));
    assert_eq!(foreign, ("Cargo", "foreign"));
    assert_eq!(changed, ("changed", "changed"));
    assert_eq!(fixed, ("fixed", "fixed"));
    assert_eq!(other, ("other", "foreign"));
    assert_eq!(stale, ("stale", "stale"));
    assert_eq!(ran.json()["entries"], 6);
    assert_eq!(ran.json()["standing"]["foreign"], 2);
    assert!(ran.err.contains("`turncoat corpus prune` removes"), "{}", ran.err);

    let people = folder.turncoat("corpus run --message-format github");
    for words in [
        "a scenario starts with `schema = 1`",
        "when the file was saved, and is 0x",
        "no longer violates agreement",
        "no protocol `raft`",
        "gone",
        "6 entries: 1 fails, 1 changed, 1 fixed, 1 stale, 2 foreign",
        "::error title=corpus%3A stale::stale",
        "%0Aturncoat replay turncoat-corpus/pbft-termination-",
    ] {
        assert!(people.out.contains(words), "no `{words}` in {}", people.out);
    }
    let junit = folder.read("out.xml");
    assert!(junit.contains("tests=\"6\"") && junit.contains("failures=\"1\" errors=\"4\""), "{junit}");
}

#[test]
fn a_corpus_of_bugs_that_are_fixed_is_a_success() {
    let folder = Folder::new();
    let text =
        "schema = 1\nprotocol = { name = \"pbft\" }\n[expect]\nproperty = \"agreement\"\nfingerprint = 1\n";
    folder.write("turncoat-corpus/one.toml", text);
    assert_eq!(folder.turncoat("corpus run").code, 0);
}

#[test]
fn pruning_leaves_what_fails_and_what_is_not_ours() {
    let folder = one_of_each();
    folder.write("large.toml", &format!("{DOOMED}[workload]\nrequests = 3\n"));
    let large = folder.read("large.toml");
    folder.write("turncoat-corpus/zz.toml", &large);
    let before = entries(&folder);

    let dry = folder.turncoat("corpus prune --dry-run");
    assert_eq!(dry.code, 0, "{}", dry.err);
    assert_eq!(entries(&folder), before, "nothing is done");
    for words in [
        "fixed.toml: would be removed: no longer violates agreement",
        "stale.toml: would be removed: ",
        "changed.toml: would be merged: ",
        "zz.toml: would be merged: ",
        "3 of 7 entries left",
    ] {
        assert!(dry.out.contains(words), "no `{words}` in {}", dry.out);
    }

    let ran = folder.turncoat("corpus prune");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.out, dry.out.replace("would be ", ""));
    assert_eq!(ran.err.matches("left: turncoat-corpus/").count(), 2, "{}", ran.err);
    let after = entries(&folder);
    let ours: Vec<&String> = after.iter().filter(|name| name.starts_with("pbft-termination-")).collect();
    assert_eq!((after.len(), ours.len()), (4, 1), "{after:?}");

    // In order, and nothing but what is not ours is left to complain about.
    assert_eq!(folder.turncoat("corpus prune").out, "3 of 3 entries left\n");
    let ran = folder.turncoat("corpus run --json").json();
    assert_eq!((&ran["standing"]["fails"], &ran["standing"]["changed"]), (&1.into(), &0.into()));
}

#[test]
fn pruning_writes_down_what_has_changed_and_names_it_by_what_it_shows() {
    let folder = Folder::new();
    folder.write("doomed.toml", DOOMED);
    let name = add(&folder, "doomed.toml");
    let file = format!("turncoat-corpus/{name}.toml");
    let saved = folder.read(&file);
    folder.write(&file, &another_run(&saved));
    let ran = folder.turncoat("corpus prune");
    assert!(ran.out.starts_with(&format!("{file}: updated: termination violated at step ")), "{}", ran.out);
    assert_eq!(folder.read(&file), saved);

    std::fs::rename(folder.path().join(&file), folder.path().join("turncoat-corpus/mine.toml"))
        .expect("a file");
    let ran = folder.turncoat("corpus prune");
    assert!(
        ran.out.starts_with(&format!("turncoat-corpus/mine.toml: renamed: it shows {name}\n")),
        "{}",
        ran.out
    );
    assert_eq!((folder.read(&file), entries(&folder).len()), (saved, 1));
}

#[test]
fn the_list_names_the_known_bug_that_an_entry_looks_like() {
    let folder = Folder::new();
    let witness =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suite/pbft-java/figure-2.toml");
    folder.write("figure-2.toml", &std::fs::read_to_string(witness).expect("a row"));
    folder.write("doomed.toml", DOOMED);
    let ran = folder.turncoat("corpus add figure-2.toml doomed.toml --no-shrink");
    assert_eq!(ran.code, 0, "{}", ran.err);
    folder.write("turncoat-corpus/zz.toml", "");
    let list = folder.turncoat("corpus list");
    assert_eq!(list.code, 0, "{}", list.err);
    let words: Vec<Vec<&str>> =
        list.out.lines().map(|line| line.split("  ").map(str::trim).collect()).collect();
    let row = |line: usize| words[line].iter().filter(|word| !word.is_empty()).copied().collect::<Vec<_>>();
    assert_eq!(row(0), ["name", "protocol", "property", "known bug", "size"]);
    assert_eq!(row(1)[1..4], ["pbft", "agreement", "pbft-java/figure-2"], "{}", list.out);
    assert_eq!(row(2)[1..], ["pbft", "termination", "-", "2 requests, 8 lines"], "{}", list.out);
    assert_eq!(row(3), ["zz", "-", "-", "foreign", "-"], "{}", list.out);

    let json = lines(&folder.turncoat("corpus list --json"), "entry");
    assert_eq!(json[0]["bug"], "pbft-java/figure-2");
    assert_eq!(json[0]["kind"], "agreement (slot): lies about pre-prepare.seq");
    assert_eq!(json[1]["size"]["lines"], 8);
}

#[test]
fn mistakes_are_said_in_a_sentence() {
    let folder = Folder::new();
    for command in ["run", "list", "prune"] {
        refused(
            &folder,
            &["corpus", command],
            &["no folder turncoat-corpus", "turncoat fuzz", "corpus add FILE"],
        );
    }
    folder.write("holds.toml", "schema = 1\nprotocol.name = \"pbft\"\n");
    folder.write("file", "");
    refused(&folder, &["corpus", "run", "--corpus", "file"], &["cannot use the folder file"]);
    refused(&folder, &["corpus", "add"], &["<FILE|BUG>..."]);
    refused(&folder, &["corpus", "add", "missing.toml"], &["cannot read missing.toml"]);
    folder.write("doomed.toml", DOOMED);
    let both = ["corpus", "add", "doomed.toml", "holds.toml"];
    refused(&folder, &both, &["holds.toml: it violates no property"]);
    assert!(!folder.path().join("turncoat-corpus").exists(), "nothing is written");
    std::fs::create_dir(folder.path().join("turncoat-corpus")).expect("a folder");
    let ran = folder.turncoat("corpus run");
    assert_eq!((ran.code, ran.err.as_str()), (4, "no entry in turncoat-corpus\n"));
}

/// A pipe, a device, and a run that goes on for minutes.
#[test]
fn entries_that_never_end_do_not_hold_up_the_others() {
    let folder = Folder::new();
    folder.write("doomed.toml", DOOMED);
    let name = add(&folder, "doomed.toml");
    folder.write("turncoat-corpus/long.toml", LONG);
    let path = |name: &str| folder.path().join("turncoat-corpus").join(name);
    assert!(std::process::Command::new("mkfifo").arg(path("pipe.toml")).status().expect("mkfifo").success());
    std::os::unix::fs::symlink("/dev/zero", path("zero.toml")).expect("a link");
    let ran = folder.turncoat("corpus run --timeout 300ms --json");
    assert_eq!(ran.code, 3, "{}", ran.err);
    let standing = |wanted: &str| {
        let entries = lines(&ran, "entry");
        entries.iter().find(|entry| entry["name"] == wanted).expect("an entry")["standing"].clone()
    };
    let all = [name.as_str(), "long", "pipe", "zero"].map(standing);
    assert_eq!(all, ["fails", "slow", "foreign", "foreign"]);
}
