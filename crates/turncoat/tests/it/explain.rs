//! Explanations: what they say about the known bugs, and that their charts show what happened.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::thread;

use turncoat::core::ids::SeatName;
use turncoat::core::record::Arrival;
use turncoat::core::rng::{Purpose, Rng, run_seed};
use turncoat::core::runner::Entry;
use turncoat::lab::explain::{Arrow, Chart, Explanation, Item, Sign};
use turncoat::lab::suite::Bug;
use turncoat::{MutationTable, Property, Scenario, Seed, strategies};

use crate::bracha;

pub(crate) fn entry(name: &str) -> Entry {
    let bracha = Entry::of::<bracha::Bracha>();
    let mut all = turncoat_protocols::all().into_iter().chain([bracha]);
    all.find(|entry| entry.name == name).unwrap_or_else(|| panic!("no protocol {name}"))
}

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/explain")
}

fn explain(scenario: &Scenario) -> Explanation {
    Explanation::of(&entry(&scenario.protocol.name), scenario).expect("it runs")
}

/// All rows of the suite.
pub(crate) fn suite() -> Vec<Bug> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suite");
    let mut bugs = Vec::new();
    for protocol in fs::read_dir(folder).expect("the suite").map(|entry| entry.expect("a file").path()) {
        for file in fs::read_dir(&protocol).into_iter().flatten().map(|entry| entry.expect("a file").path()) {
            let stem = |path: &Path| path.file_stem().expect("a name").to_string_lossy().into_owned();
            let id = format!("{}/{}", stem(&protocol), stem(&file));
            bugs.push(Bug::parse(&id, &fs::read_to_string(&file).expect("text")).expect("a row"));
        }
    }
    bugs.sort_by(|one, two| one.id.cmp(&two.id));
    assert!(bugs.len() > 30, "{}", bugs.len());
    bugs
}

/// All rows, each with its explanation and its story. Long ones take a second: they are made once, for all tests.
pub(crate) static EXPLAINED: LazyLock<Vec<(Bug, Explanation, String)>> = LazyLock::new(|| {
    let rows = suite();
    let (one, two) = rows.split_at(rows.len() * 3 / 4);
    let explain = |rows: &[Bug]| -> Vec<(Bug, Explanation, String)> {
        let explained = |bug: &Bug| {
            let explanation = explain(&bug.witness);
            let story = explanation.story();
            (bug.clone(), explanation, story)
        };
        rows.iter().map(explained).collect()
    };
    thread::scope(|scope| {
        let second = scope.spawn(|| explain(two));
        let mut all = explain(one);
        all.extend(second.join().expect("they are explained"));
        all
    })
});

/// What it says, as it is read. TURNCOAT_BLESS=1 writes it anew.
fn is_golden(name: &str, text: &str) {
    let path = here().join(name);
    if std::env::var_os("TURNCOAT_BLESS").is_some() {
        fs::write(&path, text).expect("a file");
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    assert!(text == golden, "{name} reads otherwise now. If it is right, run with TURNCOAT_BLESS=1\n{text}");
}

#[test]
fn small_counterexamples_read_well() {
    let bug = |id: &str| {
        let found = EXPLAINED.iter().find(|(bug, ..)| bug.id == id);
        let (bug, ..) = found.unwrap_or_else(|| panic!("no row {id}"));
        explain(&bug.witness).looks_like(&bug.id, &bug.facts.title)
    };
    let file = |name: &str| {
        let text = fs::read_to_string(here().join(format!("{name}.toml"))).expect("a file");
        explain(&Scenario::parse(&text).expect("a scenario"))
    };
    for (name, explanation) in [
        ("figure-2", bug("pbft-java/figure-2")),
        ("votes-not-distinct", bug("pbft-java/votes-not-distinct")),
        ("missing-digest", bug("pbft-java/missing-digest-agreement")),
        ("forged-certificate", bug("pbft-java/forged-certificate")),
        ("decided-twice", bug("pbft-java/forget-completed-slot")),
        ("executed-twice", bug("pbft-java/no-exec-dedupe")),
        ("out-of-order", bug("pbft-java/exec-out-of-order")),
        ("invented", bug("pbft-java/no-request-auth")),
        ("crash", bug("pbft-java/new-view-empty")),
        ("standstill", bug("pbft/read-only-liveness")),
        ("stuck-leader", bug("fab/vouch-conflict")),
        ("found-agreement", file("found-agreement")),
        ("found-crash", file("found-crash")),
        ("bracha-lie", file("bracha-lie")),
        ("bracha-twins", file("bracha-twins")),
        ("two-faces", file("two-faces")),
    ] {
        let text = format!("{}\n{}", explanation.story(), explanation.chart());
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{name}: {text}");
        assert!(text.lines().count() <= 150, "{name} is long: {text}");
        is_golden(&format!("{name}.txt"), &text);
    }
    is_golden("figure-2.svg", &bug("pbft-java/figure-2").svg());
    is_golden("figure-2.mmd", &bug("pbft-java/figure-2").mermaid());
}

#[test]
fn every_witness_is_explained_by_its_liars_and_its_rule() {
    for (bug, explanation, story) in &*EXPLAINED {
        let property = explanation.violation().expect("a witness violates something").property;
        assert_eq!(property, bug.facts.property, "{}", bug.id);
        for liar in bug.witness.adversary.byzantine.iter() {
            assert!(story.contains(&format!("{liar} is Byzantine")), "{}: {story}", bug.id);
        }
        if bug.witness.adversary.byzantine.is_empty() {
            assert!(story.contains("Nobody is Byzantine."), "{}: {story}", bug.id);
        }
        for flag in bug.flags(&entry(&bug.witness.protocol.name)) {
            assert!(story.contains(flag.as_str()), "{}: {story}", bug.id);
        }
        let screens = story.lines().count() + explanation.chart().lines().count();
        assert!(screens <= 250, "{}: {screens} lines", bug.id);
    }
}

/// A bug that one deviation alone brings about acts in some event up to the violation, and there somebody does what it
/// would not have done. Few act by a timer alone, which no message shows; then the story says so.
#[test]
fn a_deviation_is_tied_to_the_event_in_which_it_acts() {
    let mut unseen = Vec::new();
    for (bug, explanation, story) in &*EXPLAINED {
        if bug.flags(&entry(&bug.witness.protocol.name)).len() != 1 {
            continue;
        }
        let story = story.replace("\n    ", " ");
        // Half a remedy is a flag without which the rule is violated as well.
        if story.contains("the same property is violated without them") {
            continue;
        }
        let acts = story.split_once("It acts at step ").and_then(|(_, acts)| acts.split_once(": "));
        let Some((step, how)) = acts else {
            assert!(
                story.contains("No message or decision shows directly where it acts."),
                "{}: {story}",
                bug.id
            );
            unseen.push(bug.id.clone());
            continue;
        };
        let last = explanation.violation().expect("a witness violates something").step;
        assert!(step.parse::<u64>().expect("a number") <= last, "{}: {story}", bug.id);
        assert!(how.contains("without the bug it"), "{}: {story}", bug.id);
    }
    assert!(unseen.len() <= 4, "{unseen:?}");
}

/// Two decisions are in the text, with what they rest on; if that is votes, then also who is in both.
#[test]
fn a_disagreement_is_explained_by_what_decisions_rest_on() {
    for (bug, _, story) in EXPLAINED.iter().filter(|(bug, ..)| bug.facts.property == Property::Agreement) {
        let story = story.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(story.contains("Why they disagree"), "{}: {story}", bug.id);
        let (_, why) = story.split_once("Why they disagree").expect("a section");
        let decided = why.matches("At step ").count();
        assert!(decided == 2, "{}: {why}", bug.id);
        let votes = ["counting ", "on a certificate of "].map(|words| why.matches(words).count());
        let others = ["as an ancestor of ", "since nothing had contradicted it"]
            .map(|words| why.matches(words).count());
        assert!(votes.iter().chain(&others).sum::<usize>() >= 2, "{}: {why}", bug.id);
        assert!(others != [0, 0] || why.contains("in common"), "{}: {why}", bug.id);
    }
}

#[test]
fn a_standstill_is_explained_by_what_is_missing() {
    for (bug, _, story) in EXPLAINED.iter().filter(|(bug, ..)| bug.facts.property == Property::Termination) {
        assert!(
            story.contains("Where progress stops") && story.contains("At the end"),
            "{}: {story}",
            bug.id
        );
    }
}

#[test]
fn a_scenario_without_violation_is_explained_too() {
    let explanation = explain(&Scenario::new("pbft"));
    assert_eq!(explanation.violated(), "Nothing was violated");
    assert!(
        explanation.short().contains("Nothing was violated.\nNobody is Byzantine."),
        "{}",
        explanation.short()
    );
    assert!(explanation.chart().contains("decides slot 1: A"), "{}", explanation.chart());
}

/// Random runs, and the charts of all that happened in them.
fn drawn(protocol: &str, flags: &[&str], strategy: &str) -> Vec<(Scenario, Chart)> {
    let base = if protocol == "bracha" { bracha::scenario(flags) } else { Scenario::new(protocol) };
    let mut strategy = strategies::make(strategy, &base, &[], &MutationTable::default()).expect("a strategy");
    let runs = (0..12).map(|index| {
        let seed = run_seed(11, index);
        let scenario = strategy.next(index, &mut Rng::new(seed, Purpose::Strategy));
        let scenario = Scenario { seed: Seed(seed), ..scenario };
        let chart = explain(&scenario).whole().drawing();
        (scenario, chart)
    });
    runs.collect()
}

#[test]
fn no_message_comes_from_nowhere_and_none_arrives_before_it_is_sent() {
    let runs =
        [("pbft-java", "byzzfuzz"), ("pbft", "naive"), ("pbft-java", "random"), ("bracha", "byzzfuzz")];
    for (protocol, strategy) in runs {
        for (scenario, chart) in drawn(protocol, &["echo-f1", "deliver-f1"], strategy) {
            let text = scenario.to_toml();
            let mut active: std::collections::BTreeSet<(usize, u64)> =
                (0..chart.lifelines.len()).map(|lifeline| (lifeline, 0)).collect();
            for arrow in &chart.arrows {
                match arrow.arrival {
                    Arrival::Delivered { step, .. } => {
                        assert!(arrow.sent < step, "{arrow:?}\n{text}");
                        active.insert((arrow.to, step));
                    }
                    Arrival::Lost { step, .. } => assert!(arrow.sent <= step, "{arrow:?}\n{text}"),
                    Arrival::Underway => {}
                }
            }
            let timers = chart.marks.iter().filter(|mark| mark.sign == Sign::Timer);
            active.extend(timers.filter_map(|mark| Some((mark.lifeline?, mark.step))));
            // Who sends does so because it received something, or because a timer fired, or at the start.
            for arrow in &chart.arrows {
                assert!(active.contains(&(arrow.from, arrow.sent)), "from nowhere: {arrow:?}\n{text}");
            }
            // Two nodes never have a part in one event.
            let delivered =
                chart.arrows.iter().filter(|arrow| matches!(arrow.arrival, Arrival::Delivered { .. }));
            let steps: Vec<u64> = delivered.filter_map(|arrow| arrow.end()).collect();
            let distinct: std::collections::BTreeSet<u64> = steps.iter().copied().collect();
            assert_eq!(steps.len(), distinct.len(), "{text}");
        }
    }
}

/// What is shown by default is a part of all, in the same order.
#[test]
fn the_short_chart_is_a_part_of_the_whole() {
    // Charts of very long runs are as the others, and take long.
    for (bug, explanation, _) in EXPLAINED.iter().filter(|(_, run, _)| run.outcome().steps < 5000) {
        let short = explanation.drawing();
        let whole = explanation.clone().whole().drawing();
        // Columns of clients to whom nothing happens are left out, so that places differ.
        let named = |chart: &Chart| -> Vec<(SeatName, SeatName, Arrow)> {
            let name = |place: usize| chart.lifelines[place].name;
            let arrows = chart.arrows.iter();
            arrows.map(|a| (name(a.from), name(a.to), Arrow { from: 0, to: 0, ..a.clone() })).collect()
        };
        let whole = named(&whole);
        let mut rest = whole.iter();
        assert!(named(&short).iter().all(|arrow| rest.any(|other| other == arrow)), "{}", bug.id);
        assert!(
            short
                .items()
                .iter()
                .any(|(_, item)| matches!(item, Item::Mark(mark) if mark.sign == Sign::Violation))
        );
    }
}
