//! Campaigns in a file.

use std::fs;

use super::Folder;

#[test]
fn a_campaign_goes_on_where_it_stopped() {
    let folder = Folder::new();
    let first = folder.turncoat("fuzz pbft --runs 300 --db runs.db --json");
    assert_eq!(first.code, 0, "{}", first.err);
    let refused = folder.turncoat("fuzz pbft --runs 500 --db runs.db");
    assert_eq!(refused.code, 2);
    let text = "runs.db has 300 runs of this campaign already: continue with --resume, or give another file";
    assert!(refused.err.contains(text), "{}", refused.err);
    let resumed = folder.turncoat("fuzz pbft --runs 500 --db runs.db --resume --json");
    let whole = folder.turncoat("fuzz pbft --runs 500 --json");
    assert_eq!(resumed.json()["fingerprint"], whole.json()["fingerprint"]);
    assert_eq!(resumed.json()["runs"], 500);
    // What was tried before is not in the file.
    assert_eq!(
        (&resumed.json()["covered"]["runs"], &whole.json()["covered"]["runs"]),
        (&200.into(), &500.into())
    );
    let more = folder.turncoat("fuzz pbft --runs 600 --db runs.db --resume").out;
    assert!(more.contains("lies told in the 100 runs executed now\n"), "{more}");
    let nothing = folder.turncoat("fuzz pbft --runs 600 --db runs.db --resume").out;
    assert!(nothing.contains(" accepted\n") && !nothing.contains("lies told"), "{nothing}");
    // Another campaign has a place of its own.
    assert_eq!(folder.turncoat("fuzz pbft --runs 10 --seed 1 --db runs.db").code, 0);
}

#[test]
fn what_a_campaign_found_is_known_after_a_break() {
    let folder = Folder::new();
    let first = folder.turncoat("fuzz pbft-java --runs 200 --until never --no-shrink --db runs.db");
    assert_eq!(first.code, 1, "{}", first.err);
    let resumed =
        folder.turncoat("fuzz pbft-java --runs 400 --until never --no-shrink --db runs.db --resume --json");
    let whole = folder.turncoat("fuzz pbft-java --runs 400 --until never --no-shrink --json");
    for key in ["violations", "violating", "marks", "ends", "mutations", "fingerprint"] {
        assert_eq!(resumed.json()[key], whole.json()[key], "{key}");
    }
    assert_eq!(resumed.json()["first"]["integrity"]["detail"], whole.json()["first"]["integrity"]["detail"]);
}

#[test]
fn a_campaign_that_has_found_what_it_searched_is_over() {
    let folder = Folder::new();
    let first = folder.turncoat("fuzz pbft-java --db runs.db --json");
    let again = folder.turncoat("fuzz pbft-java --db runs.db --resume --json");
    assert_eq!((first.code, again.code), (1, 1));
    assert_eq!(first.json()["runs"], again.json()["runs"]);
}

#[test]
fn a_file_that_is_no_store_is_refused_and_left_alone() {
    let folder = Folder::new();
    folder.write("notes.txt", &"notes, and no database\n".repeat(100));
    let before = folder.read("notes.txt");
    let ran = folder.turncoat("fuzz pbft --runs 10 --db notes.txt");
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("cannot open notes.txt: it is not a database"), "{}", ran.err);
    assert_eq!(folder.read("notes.txt"), before);
    let ran = folder.turncoat("fuzz pbft --runs 10 --db no/such/folder.db");
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("its folder does not exist"), "{}", ran.err);
    assert_eq!(folder.turncoat("fuzz pbft --runs 10 --resume").code, 2, "to resume needs a file");
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
}
