//! Scenarios in plain words.

use super::{Folder, OVER_BUDGET, turncoat};

/// Figure 2 of the ByzzFuzz paper, as somebody would save it.
const FIGURE_2: &str = r#"
schema = 1
[protocol]
name = "pbft"
flags = ["slot-ignores-digest", "exec-out-of-order"]
[adversary]
byzantine = ["p0"]
[scheduler]
name = "script"
script = [
    "deliver c0>p0 request #1",
    "mutate p0>p3 pre-prepare #1 pre-prepare.seq+1",
]
"#;

#[test]
fn a_bug_is_told_as_a_story_and_shown_as_a_chart() {
    let ran = turncoat("explain --bug pbft-java/figure-2 --long");
    assert_eq!(ran.code, 0, "{}", ran.err);
    for words in [
        "Agreement is violated at step 48: in slot 2 p2 decided B, p3 decided A",
        "p0 lied to p3. Its PRE-PREPARE said n=2 instead of 1",
        "it counted votes for B as votes for A",
        "LIE: n=2 instead of 1",
    ] {
        assert!(ran.out.contains(words), "no `{words}` in\n{}", ran.out);
    }
    assert!(ran.out.lines().all(|line| line.chars().count() <= 100), "{}", ran.out);
    let whole = "\nTo see all: turncoat explain --bug pbft-java/figure-2 --long --all";
    assert!(ran.out.trim_end().ends_with(whole), "{}", ran.out);
}

#[test]
fn the_short_form_leads_with_what_broke_and_why() {
    let ran = turncoat("explain --bug pbft-java/figure-2");
    let lines: Vec<&str> = ran.out.lines().take(3).collect();
    assert_eq!(lines[0], "Agreement is violated at step 48: in slot 2 p2 decided B, p3 decided A");
    assert_eq!(lines[1], "p3 decided A after counting votes for B.");
    assert_eq!(lines[2], "p0, which is Byzantine, lied to p3 (PRE-PREPARE: n=2 instead of 1).");
    let story = ran.out.split("\n\n").next().expect("a story");
    assert!(story.lines().count() <= 10, "{story}");
    let more = "Full explanation: turncoat explain --bug pbft-java/figure-2 --long";
    assert!(ran.out.trim_end().ends_with(more), "{}", ran.out);
}

#[test]
fn a_file_is_recognised_as_a_known_bug() {
    let folder = Folder::new();
    folder.write("found.toml", FIGURE_2);
    let ran = folder.turncoat("explain found.toml");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("Matches known bug pbft-java/figure-2: a slot keeps"), "{}", ran.out);
}

#[test]
fn charts_go_to_files_or_to_the_output() {
    let folder = Folder::new();
    folder.write("found.toml", FIGURE_2);
    let ran = folder.turncoat("explain found.toml --svg chart.svg --mermaid chart.mmd");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.starts_with("Agreement is violated"), "{}", ran.out);
    assert!(folder.read("chart.svg").starts_with("<svg xmlns="));
    let mermaid = folder.turncoat("explain found.toml --mermaid -");
    assert_eq!(mermaid.out, folder.read("chart.mmd"));
    let all = folder.turncoat("explain found.toml --mermaid - --all");
    assert!(all.out.lines().count() > mermaid.out.lines().count() + 20, "{}", all.out);
    let nowhere = folder.turncoat("explain found.toml --svg no/such/folder.svg");
    assert_eq!(nowhere.code, 2);
    assert!(nowhere.err.contains("cannot write no/such/folder.svg"), "{}", nowhere.err);
}

#[test]
fn programs_get_the_story_and_the_chart_as_data() {
    let told = turncoat("explain --bug pbft-java/figure-2 --json").json();
    assert_eq!(told["type"], "explanation");
    assert!(told["violated"].as_str().is_some_and(|text| text.starts_with("Agreement")));
    let summary = told["summary"].as_array().expect("sentences");
    assert!(summary.iter().any(|line| line == "p3 decided A after counting votes for B."), "{summary:?}");
    let titles: Vec<_> =
        told["story"].as_array().expect("sections").iter().map(|s| s["title"].clone()).collect();
    assert!(titles.iter().any(|title| title == "Who lied"), "{titles:?}");
    let arrows = told["chart"]["arrows"].as_array().expect("arrows");
    let lie = arrows.iter().find(|arrow| !arrow["lie"].is_null()).expect("a lie");
    assert_eq!(lie["lie"], "n=2 instead of 1");
    assert_eq!((&lie["sent"], &lie["arrival"]["delivered"]["step"]), (&1.into(), &2.into()));
}

#[test]
fn a_run_without_violation_and_one_that_never_ends_are_told_too() {
    let folder = Folder::new();
    folder.write("fine.toml", "schema = 1\n[protocol]\nname = \"pbft\"\n");
    let fine = folder.turncoat("explain fine.toml");
    assert!(fine.code == 0 && fine.out.starts_with("Nothing was violated"), "{}", fine.out);
    folder.write("doomed.toml", OVER_BUDGET);
    let doomed = folder.turncoat("explain doomed.toml --long");
    assert!(doomed.out.contains("p1, p2 and p3: stopped."), "{}", doomed.out);
    assert!(doomed.out.contains("More replicas are faulty than the protocol promises to tolerate."));
    assert!(doomed.out.contains("waiting for 2 REPLYs about request 1 (has none"), "{}", doomed.out);
}

#[test]
fn another_run_than_the_one_saved_is_a_divergence() {
    let folder = Folder::new();
    folder.write("found.toml", &format!("{FIGURE_2}[expect]\nfingerprint = \"0x01\"\n"));
    let ran = folder.turncoat("explain found.toml");
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains("diverged: the fingerprint was 0x0000000000000001"), "{}", ran.err);
}

#[test]
fn what_is_no_scenario_is_an_error() {
    let nothing = turncoat("explain");
    assert!(nothing.code == 2 && nothing.err.contains("<FILE|BUG|--bug <ID>>"), "{}", nothing.err);
    let missing = turncoat("explain missing.toml");
    assert!(missing.code == 2 && missing.err.contains("cannot read missing.toml"), "{}", missing.err);
    let unknown = turncoat("explain --bug figure-2");
    assert!(
        unknown.code == 2 && unknown.err.contains("did you mean `pbft-java/figure-2`"),
        "{}",
        unknown.err
    );
}

/// Where there is no room for a column for everybody, the chart is a list.
#[test]
fn a_large_cluster_is_explained_in_lines_that_fit() {
    let folder = Folder::new();
    for (n, f) in [(16, 5), (19, 6), (31, 10), (64, 21)] {
        let text = format!("schema = 1\n[protocol]\nname = \"pbft\"\n[cluster]\nn = {n}\nf = {f}\n");
        folder.write("it.toml", &text);
        for all in ["", "--all"] {
            let ran = folder.turncoat(&format!("explain it.toml {all}"));
            assert_eq!(ran.code, 0, "{n}: {}", ran.err);
            let long = ran.out.lines().find(|line| line.chars().count() > 100);
            assert_eq!(long, None, "{n}");
            if all == "--all" {
                let of_leader =
                    |line: &&str| line.contains("  p0 --> p") && line.ends_with(": PRE-PREPARE v=0 n=1 A");
                assert!(ran.out.lines().any(|line| of_leader(&line)), "{n}:\n{}", ran.out);
            }
        }
    }
}
