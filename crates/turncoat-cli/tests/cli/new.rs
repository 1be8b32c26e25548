//! A crate of one's own. `checks/new.sh` compiles and runs it; here is what is written, and what is refused.

use std::fs;
use std::path::Path;

use toml::{Table, Value};

use super::Folder;
use super::bad_input::refused;

/// All files of a folder by their paths, apart from what cargo itself writes.
fn files(folder: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("Cargo.lock") {
                let name = path.strip_prefix(folder).expect("below it").display().to_string();
                files.push((name, fs::read_to_string(&path).expect("text")));
            }
        }
    }
    files.sort();
    files
}

/// How a crate depends on turncoat.
fn dependency(folder: &Folder, name: &str) -> Table {
    let manifest: Table = folder.read(&format!("{name}/Cargo.toml")).parse().expect("TOML");
    assert!(manifest["workspace"].is_table(), "it works inside the folder of another workspace");
    manifest["dependencies"]["turncoat"].as_table().expect("a table").clone()
}

#[test]
fn a_new_crate_is_the_template_with_its_own_name() {
    let folder = Folder::new();
    let ran = folder.turncoat("new notice-board");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.out.contains("cd notice-board && cargo test"), "{}", ran.out);
    let files = files(&folder.path().join("notice-board"));
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            ".gitignore",
            "Cargo.toml",
            "README.md",
            "rustfmt.toml",
            "src/lib.rs",
            "src/main.rs",
            "tests/notice-board.rs"
        ]
    );
    let lines: usize = files.iter().map(|(_, text)| text.lines().count()).sum();
    assert!(lines <= 190, "{lines} lines are too many for a first look");
    assert!(files.iter().all(|(_, text)| !text.contains("demo")), "another name is left");
    assert!(folder.read("notice-board/src/main.rs").contains("registry![notice_board::Board];"));
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "something else is left");
}

/// The versions of the lock file are those that this machine has: no network is needed.
#[test]
fn a_new_crate_depends_on_these_sources_with_their_lock_file() {
    let folder = Folder::new();
    folder.turncoat("new demo");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the sources");
    let facade = root.join("crates/turncoat").display().to_string();
    assert_eq!(dependency(&folder, "demo")["path"], Value::from(facade));
    assert_eq!(
        folder.read("demo/Cargo.lock"),
        fs::read_to_string(root.join("Cargo.lock")).expect("a lock file")
    );
}

#[test]
fn a_new_crate_depends_on_other_sources_if_told_so() {
    let folder = Folder::new();
    folder.write("it's \"there\"/crates/turncoat/Cargo.toml", "");
    let ran = folder.run(&["new", "one", "--path", "it's \"there\"", "--json"]);
    assert_eq!(ran.json()["folder"], "one", "{}", ran.err);
    let there = folder.path().canonicalize().expect("a folder").join("it's \"there\"/crates/turncoat");
    assert_eq!(dependency(&folder, "one")["path"], Value::from(there.display().to_string()));
    assert!(!folder.path().join("one/Cargo.lock").exists(), "there was none");

    assert_eq!(folder.turncoat("new two --git https://example.org/turncoat").code, 0);
    let depends = dependency(&folder, "two");
    assert_eq!(depends["git"], Value::from("https://example.org/turncoat"));
    assert!(!depends.contains_key("path"));
    assert!(!folder.path().join("two/Cargo.lock").exists(), "its versions are not ours");
}

#[test]
fn what_cannot_be_a_crate_is_refused_and_nothing_is_written() {
    let folder = Folder::new();
    for name in ["Demo", "2demo", "a/b", "..", "de mo", "démo", "-demo", ""] {
        refused(&folder, &["new", "--", name], &["cannot name a crate", "lower-case letters"]);
    }
    refused(&folder, &["new", "match"], &["`match`", "Rust", "`my-match`"]);
    refused(&folder, &["new", "turncoat"], &["`turncoat`", "`my-turncoat`"]);
    refused(&folder, &["new", "pbft"], &["there is a protocol `pbft` already"]);
    refused(&folder, &["new", "demo", "--path", "nowhere"], &["nowhere", "crates/turncoat/Cargo.toml"]);
    refused(&folder, &["new", "demo", "--path", ".", "--git", "x"], &["--git"]);
    refused(
        &folder,
        &["new", "demo", "--git", "foo"],
        &["`foo` is not the address of a git repository", "https://"],
    );
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
    folder.write("demo", "mine");
    refused(&folder, &["new", "demo"], &["`demo` exists already"]);
    assert_eq!(folder.read("demo"), "mine");
}
