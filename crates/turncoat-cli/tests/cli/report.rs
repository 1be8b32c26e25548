//! What is said about a store, and how it is written down.

use std::fs;
use std::sync::LazyLock;

use super::Folder;
use super::bad_input::refused;

/// A store with two rows on one protocol: `byzzfuzz` and `random`, 300 runs each.
static STORED: LazyLock<Folder> = LazyLock::new(|| {
    let folder = Folder::new();
    for strategy in ["byzzfuzz", "random"] {
        let ran = folder.turncoat(&format!(
            "fuzz pbft-java --strategy {strategy} --runs 300 --until never --db results.db"
        ));
        assert_eq!(ran.code, 1, "{}", ran.err);
    }
    folder
});

/// A copy of it.
fn stored() -> Folder {
    let folder = Folder::new();
    fs::copy(STORED.path().join("results.db"), folder.path().join("results.db")).expect("a copy");
    folder
}

#[test]
fn a_report_is_text_for_the_terminal_and_a_page_for_a_file() {
    let folder = stored();
    let ran = folder.turncoat("report results.db");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let head = "# Report of results.db\n\n600 runs of 2 campaigns, by turncoat ";
    assert!(ran.out.starts_with(head), "{}", ran.out);
    // When and by which commands it was stored.
    let by = "    turncoat fuzz pbft-java --strategy byzzfuzz --runs 300 --until never --db results.db\n";
    let campaigns: Vec<&str> = ran.out.lines().filter(|line| line.contains("| 300 | 300 | 0x")).collect();
    assert!(ran.out.contains(by) && campaigns.len() == 2, "{}", ran.out);
    assert!(campaigns.iter().all(|line| line.ends_with(" |") && line.contains("| 20")), "{}", ran.out);
    assert!(ran.out.contains("finds a violation in pbft-java in "), "{}", ran.out);
    let ran = folder.turncoat("report results.db -o report.html");
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);
    assert!(folder.read("report.html").trim_start().starts_with("<!doctype html>"));
    // What was asked for is part of the command that makes it again.
    let ran = folder.turncoat("report results.db --target agreement --baseline random");
    let again = "    turncoat report results.db --baseline random --target agreement --format md\n";
    assert!(ran.out.ends_with(again), "{}", ran.out);
    // The same store, the same page.
    assert_eq!(folder.turncoat("report results.db -o again.html").code, 0);
    assert_eq!(folder.read("report.html"), folder.read("again.html"));
}

#[test]
fn the_name_of_the_file_or_an_option_says_which_format() {
    let folder = stored();
    for (name, begin) in [
        ("r.md", "# Report"),
        ("r.csv", "experiment,variant,row"),
        ("r.tex", "% results.db"),
        ("r.json", "{\"schema\""),
    ] {
        assert_eq!(folder.turncoat(&format!("report results.db -o {name}")).code, 0);
        assert!(folder.read(name).starts_with(begin), "{name}");
    }
    let json = folder.turncoat("report results.db --format json").json();
    assert_eq!(
        (&json["schema"], &json["tables"][0]["rows"][0]["runs"]),
        (&"turncoat.report/1".into(), &300.into())
    );
    refused(&folder, &["report", "results.db", "-o", "report"], &["which format?", ".html", "--format"]);
    refused(&folder, &["report", "results.db", "--format", "pdf"], &["pdf", "html"]);
}

#[test]
fn a_kind_of_violations_is_replayed_from_the_report() {
    let folder = stored();
    let json = folder.turncoat("report results.db --format json").json();
    let kind = &json["tables"][0]["kinds"][0];
    let ran = folder.turncoat(&format!("report results.db --scenario {}/{}", kind["campaign"], kind["id"]));
    assert_eq!(ran.code, 0, "{}", ran.err);
    folder.write("found.toml", &ran.out);
    let replay = folder.turncoat("replay found.toml");
    assert_eq!(replay.code, 1, "{}{}", replay.out, replay.err);
    refused(&folder, &["report", "results.db", "--scenario", "1/999"], &["no kind of violations 1/999"]);
    refused(&folder, &["report", "results.db", "--scenario", "one"], &["as in 12/1"]);
}

#[test]
fn rows_are_compared_with_one_of_them() {
    let folder = stored();
    let ran = folder.turncoat("compare results.db --baseline random");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.starts_with("fuzz: pbft-java. How often, against random:"), "{}", ran.out);
    assert!(ran.out.contains("| odds ratio | p | Holm p | A12 | verdict |"), "{}", ran.out);
    let ran = folder.turncoat("compare results.db --baseline random --metric runs-to-first --format latex");
    assert!(ran.out.contains("median runs") && ran.out.contains("\\toprule"), "{}", ran.out);
    let ran = folder.turncoat("compare results.db --baseline random --target validity");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let wrong = ["compare", "results.db", "--baseline", "random", "--target", "valdity"];
    refused(&folder, &wrong, &["valdity", "validity", "bug:ID"]);
    let wrong = ["compare", "results.db", "--baseline", "radnom"];
    refused(&folder, &wrong, &["no row `radnom`", "did you mean `random`?"]);
    refused(&folder, &["compare", "results.db", "--baseline", "random", "--alpha", "5"], &["--alpha 5"]);
    refused(&folder, &["compare", "results.db"], &["--baseline"]);
}

#[test]
fn a_file_that_is_no_store_is_named_and_nothing_is_written() {
    let folder = Folder::new();
    refused(&folder, &["report", "missing.db", "-o", "report.html"], &["missing.db"]);
    folder.write("text.db", "this is no database, and long enough to tell");
    refused(&folder, &["report", "text.db", "-o", "report.html"], &["text.db"]);
    assert_eq!(folder.path().read_dir().expect("a folder").count(), 1);
}
