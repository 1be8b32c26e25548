//! The formats: what is in them, and that texts stay where they belong.

use sha2::{Digest, Sha256};
use turncoat_lab::report::{Metric, Report, compared_latex, compared_markdown, csv, html, latex, markdown};

use crate::report::made::{Made, campaign};
use crate::report::three_rows;

#[test]
fn the_report_as_text_is_this_one() {
    let text = markdown(&three_rows().report(None));
    let golden = include_str!("three-rows.md");
    // The keys of campaigns are hashes, and change with what determines a run.
    let hidden = |text: &str| {
        let words = text.split(' ').map(|word| if word.starts_with("0x") { "0x..." } else { word });
        words.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(hidden(&text), hidden(golden));
}

#[test]
fn nothing_found_is_a_bound() {
    let made = Made::new();
    made.add(&campaign("random", "random"), 1000, |_| false);
    let text = markdown(&made.report(None));
    assert!(text.contains("- random did not find figure-2 in 1,000 runs: at most 0.38 % (95 %)."), "{text}");
    assert!(text.contains("| random | 0 | 1,000 | at most 0.38 % (95 %) |"), "{text}");
}

#[test]
fn the_comparison_has_words() {
    let report = three_rows().report(Some("random"));
    let text = compared_markdown(&report, Metric::Success, 0.05);
    assert!(text.contains("| byzzfuzz c=1 d=1 | 60/1,000 | 6.0 % [4.7, 7.6] | 3.1 [1.9, 5.2] |"), "{text}");
    assert!(text.contains("| more often |") && text.contains("| less often |"), "{text}");
    let strict = compared_markdown(&report, Metric::Success, 1e-9);
    assert_eq!(strict.matches("no difference shown").count(), 2, "{strict}");
    let text = compared_markdown(&report, Metric::RunsToFirst, 0.05);
    assert!(text.contains("| byzzfuzz c=1 d=1 | 20/100 | beyond the trials |"), "{text}");
    assert!(compared_latex(&report, Metric::StepsToFirst, 0.05).contains("median steps"));
}

#[test]
fn csv_has_a_line_for_each_row_and_as_many_fields_in_each() {
    let made = three_rows();
    made.add(&campaign("odd, \"name\"", "naive"), 10, |_| false);
    let text = csv(&made.report(None));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 5);
    assert!(lines[4].contains("\"odd, \"\"name\"\"\""), "{}", lines[4]);
    let names: Vec<&str> = lines[0].split(',').collect();
    let value = |name: &str| {
        let column = names.iter().position(|known| *known == name).expect("a column");
        lines[1].split(',').nth(column).expect("a field").to_owned()
    };
    assert_eq!(lines[1].split(',').count(), names.len());
    assert_eq!([value("runs"), value("hits"), value("rate")], ["1000", "60", "0.06"]);
    assert_eq!([value("runs_agreement"), value("faults_2"), value("mutated")], ["60", "1000", "1000"]);
}

#[test]
fn latex_has_no_special_characters_of_its_own() {
    let made = three_rows();
    made.add(&campaign("50 % & more_or #less", "naive"), 300, |_| false);
    let text = latex(&made.report(None));
    assert!(text.contains("50 \\% \\& more\\_or \\#less"), "{text}");
    assert_eq!(text.matches("\\begin{tabular}").count(), text.matches("\\end{tabular}").count());
}

#[test]
fn json_is_the_whole_report() {
    let report = three_rows().report(None);
    let json = serde_json::to_string(&report).expect("JSON");
    let back: Report = serde_json::from_str(&json).expect("a report");
    // Numbers may differ in the last bit, and in no digit that is printed.
    assert_eq!(markdown(&back), markdown(&report));
    assert_eq!(back.tables[0].kinds, report.tables[0].kinds);
}

#[test]
fn the_page_holds_all_it_needs_and_texts_stay_texts() {
    let made = three_rows();
    made.add(&campaign("</script><b>", "naive"), 300, |_| false);
    let page = html(&made.report(None)).expect("a page");
    // Data, two libraries, our own: none of them ends early.
    assert_eq!(page.matches("<script").count(), 4);
    assert_eq!(page.matches("</script>").count(), 4);
    assert!(!page.contains("</script><b>") && page.contains("\\u003c/script>\\u003cb>"));
    assert!(page.contains("--scenario 1/1 &gt; found.toml"));
    for remote in ["src=", "@import", "url(http", "<link rel=\"stylesheet\""] {
        let own = page.split("<script").next().unwrap_or_default();
        assert!(!own.contains(remote), "{remote}");
    }
}

#[test]
fn the_libraries_are_those_of_the_list() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/report/page/vendor");
    let list = std::fs::read_to_string(format!("{folder}/SHA256SUMS")).expect("a list");
    assert_eq!(list.lines().count(), 4);
    for line in list.lines() {
        let (sum, name) = line.split_once("  ").expect("a sum and a name");
        let bytes = std::fs::read(format!("{folder}/{name}")).expect("a file");
        let is: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(is, sum, "{name}");
    }
}
