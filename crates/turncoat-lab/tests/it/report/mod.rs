//! What a report says about a store whose counts are known.

mod formats;
mod made;

use turncoat_lab::report::{Report, ReportError, Versus, Wishes, scenario};
use turncoat_lab::store::Store;

use crate::report::made::{Made, campaign};

/// Two strategies on a bug, and a third that finds nothing: 60, 20 and 0 of 1000.
pub(crate) fn three_rows() -> Made {
    let made = Made::new();
    made.add(&campaign("byzzfuzz c=1 d=1", "byzzfuzz"), 1000, |run| run % 50 < 3);
    made.add(&campaign("random", "random"), 1000, |run| run % 50 == 7);
    made.add(&campaign("naive", "naive"), 1000, |_| false);
    made
}

#[test]
fn rates_and_comparisons_are_those_of_the_counts() {
    let report = three_rows().report(None);
    let [table] = &report.tables[..] else { panic!("one table") };
    assert_eq!(table.baseline.as_deref(), Some("random"));
    assert_eq!(table.rows.iter().map(|row| row.success.hits).collect::<Vec<_>>(), [60, 20, 0]);
    let Versus::Rates { odds_ratio, p, holm, trial, .. } = table.rows[0].versus else { panic!("compared") };
    // As computed by hand: 60 * 980 / (940 * 20).
    assert!((odds_ratio.value - 3.1277).abs() < 1e-3, "{odds_ratio:?}");
    // Two comparisons: Holm doubles the smaller p-value, here that of naive or of byzzfuzz.
    assert!(p < 1e-4 && holm >= p && holm <= 2.0 * p && trial.is_none());
    assert_eq!(table.rows[1].versus, Versus::Baseline);
    assert_eq!(
        table.verdict[0],
        "byzzfuzz c=1 d=1 finds figure-2 in 6.0 % of runs (95 % interval 4.7 to 7.6), random in 2.0 % of runs (95 % \
         interval 1.3 to 3.1); the difference is significant, p < 0.001 (Fisher, Holm-corrected)."
    );
}

#[test]
fn the_best_row_is_held_against_the_second_best_and_not_the_baseline_alone() {
    let made = three_rows();
    made.add(&campaign("twins", "twins"), 1000, |run| run % 50 < 2);
    let mut report = made.report(None);
    let best = report.tables[0].best.clone().expect("two rows");
    assert_eq!((best.best.as_str(), best.second.as_str()), ("byzzfuzz c=1 d=1", "twins"));
    let words = "The best alternative is twins, in 4.0 % of runs";
    assert!(report.tables[0].verdict[0].contains(words), "{}", report.tables[0].verdict[0]);
    report.publish(
        |_, _, row| if row == "random" { vec![("agreement".to_owned(), 3, 100)] } else { Vec::new() },
    );
    let text = turncoat_lab::report::markdown(&report);
    assert!(text.contains("| random | 2.0 % [1.3, 3.1] | 3.0 % [1.0, 8.5] |"), "{text}");
}

#[test]
fn work_until_the_first_find_is_counted_in_trials_of_a_hundredth_of_the_runs() {
    let report = three_rows().report(None);
    let rows = &report.tables[0].rows;
    let first = rows[0].first_run.as_ref().expect("trials");
    // 1000 runs are 100 trials of 10. Runs 0, 1, 2 of each 50 hit: one trial of five finds, in its first run.
    assert_eq!((first.trials, first.length, first.found), (100, 10, 20));
    assert_eq!((first.curve[0].time, first.curve[0].survival), (1, 0.8));
    assert_eq!(first.median.time, None);
    let steps = rows[0].first_step.as_ref().expect("trials");
    // Each run has 90 steps, and hits at step 40.
    assert_eq!(steps.curve.iter().map(|point| point.time).collect::<Vec<_>>(), [40, 900]);
    // Random hits as many trials, in run 7: later.
    assert!(first.a12.is_some_and(|a12| a12 > 0.5));
    assert_eq!(rows[1].first_run.as_ref().and_then(|first| first.log_rank), None);
}

#[test]
fn a_strategy_that_learns_is_not_compared_by_its_runs() {
    let made = three_rows();
    let guided = |seed| made::Campaign { learns: true, seed, ..campaign("guided", "guided") };
    made.add(&guided(1), 100, |run| run == 30);
    let report = made.report(None);
    let row = report.tables[0].rows.last().expect("a row");
    let why = "`guided` learns from its runs, so they are not independent";
    assert!(row.refusal.as_deref().is_some_and(|text| text.starts_with(why)), "{:?}", row.refusal);
    assert_eq!((&row.versus, &row.first_run), (&Versus::None, &None));
    assert!(row.properties.values().all(|share| share.interval.is_none()));
    assert!(report.tables[0].verdict.iter().any(|text| text.starts_with("Not compared: `guided` learns")));
}

#[test]
fn campaigns_that_learn_are_compared_with_trials_as_long() {
    let made = three_rows();
    for seed in 1..=10 {
        let guided = made::Campaign { learns: true, seed, ..campaign("guided", "guided") };
        made.add(&guided, 100, |run| seed != 3 && run == 30);
    }
    let report = made.report(None);
    let row = report.tables[0].rows.last().expect("a row");
    // Ten campaigns that differ by their seed are one row.
    assert_eq!((row.campaigns, row.runs, row.success.hits, row.success.of), (10, 1000, 9, 10));
    let Versus::Rates { of, trial, .. } = row.versus else { panic!("compared: {:?}", row.refusal) };
    // Random has 20 hits in 1000 runs, two in each trial of 100.
    assert_eq!((trial, of.map(|share| (share.hits, share.of))), (Some(100), [(9, 10), (10, 10)]));
    assert_eq!(row.first_run.as_ref().map(|first| (first.trials, first.found)), Some((10, 9)));
    // The others are still compared by their runs.
    assert!(matches!(report.tables[0].rows[0].versus, Versus::Rates { trial: None, .. }));
}

#[test]
fn an_empty_store_has_an_empty_report() {
    let report = Made::new().report(None);
    assert!(report.tables.is_empty() && report.campaigns.is_empty());
    assert_eq!(turncoat_lab::report::markdown(&report), "# Report of made.db\n\nThe store has no runs.\n");
    turncoat_lab::report::html(&report).expect("a page");
}

/// Stores of before have no dates and no commands. Reading changes nothing in them; writing brings them up to date.
#[test]
fn runs_come_with_their_date_and_their_command_where_the_store_has_them() {
    let made = three_rows();
    let sources = made.report(None).campaigns;
    assert_eq!(sources[0].date.as_deref(), Some("2025-10-09"));
    assert_eq!(sources[0].commands, ["turncoat suite run --db made.db"]);
    let store = Store::open(&made.path()).expect("a store");
    let before = "ALTER TABLE spells DROP COLUMN ended; ALTER TABLE spells DROP COLUMN command; PRAGMA user_version = 2";
    store.db().execute_batch(before).expect("an older store");
    drop(store);
    for _ in 0..2 {
        let source = &made.report(None).campaigns[0];
        assert_eq!((&source.date, source.commands.len()), (&None, 0));
    }
    made.add(&campaign("two-faced", "two-faced"), 10, |_| false);
    let dates = made.report(None).campaigns.into_iter().map(|source| source.date.is_some());
    assert_eq!(dates.collect::<Vec<_>>(), [false, false, false, true]);
}

#[test]
fn a_campaign_that_ended_early_is_pointed_out() {
    let made = Made::new();
    made.add(&made::Campaign { wanted: 5000, ..campaign("random", "random") }, 266, |run| run == 265);
    let verdict = &made.report(None).tables[0].verdict;
    assert!(
        verdict.iter().any(|text| text.starts_with("Caution: 1 of 1 campaigns ended before")),
        "{verdict:?}"
    );
}

#[test]
fn any_row_can_be_the_baseline_and_no_other_name() {
    let made = three_rows();
    let report = made.report(Some("naive"));
    assert_eq!(report.tables[0].baseline.as_deref(), Some("naive"));
    let wishes = Wishes { baseline: Some("nave".to_owned()), target: None };
    let error = Report::read(&made.open(), "made.db", &wishes).expect_err("no such row");
    let ReportError::NoBaseline { name, rows } = error else { panic!("{error}") };
    assert_eq!(
        (name.as_str(), &rows[..]),
        ("nave", &["byzzfuzz c=1 d=1", "naive", "random"].map(str::to_owned)[..])
    );
}

#[test]
fn kinds_of_violations_come_with_a_scenario() {
    let made = three_rows();
    let report = made.report(None);
    let [kind] = &report.tables[0].kinds[..] else { panic!("one kind") };
    assert_eq!((kind.count, kind.campaigns, kind.run), (80, 2, 0));
    assert_eq!(kind.text, "agreement (split): lies pre-prepare.seq; 1 cut");
    let store: Store = made.open();
    let text = scenario(&store, kind.campaign, kind.id).expect("a store").expect("a scenario");
    assert_eq!(text, kind.scenario);
    assert_eq!(scenario(&store, kind.campaign, 99).expect("a store"), None);
}

#[test]
fn rates_by_two_parameters_are_a_map() {
    let made = Made::new();
    for (c, d, seed) in [(0, 1, 1), (1, 0, 1), (1, 1, 1), (1, 1, 2)] {
        let set = [("c".to_owned(), c.to_string()), ("d".to_owned(), d.to_string())];
        let row = campaign(&format!("c={c} d={d}"), "byzzfuzz");
        let cell = made::Campaign { experiment: "tune", params: set.into(), seed, ..row };
        made.add(&cell, 200, |run| run % 10 < c + d);
    }
    let report = made.report(None);
    let [heat] = &report.tables[0].heat[..] else { panic!("one map") };
    assert_eq!((heat.x.as_str(), heat.y.as_str(), heat.facet.as_str()), ("c", "d", ""));
    let cells: Vec<_> = heat.cells.iter().map(|cell| (cell.x, cell.y, cell.success.hits)).collect();
    assert_eq!(cells, [(0.0, 1.0, 20), (1.0, 0.0, 20), (1.0, 1.0, 40)]);
}

#[test]
fn what_counts_can_be_chosen() {
    let made = three_rows();
    let count = |target: &str| {
        let wishes = Wishes { baseline: None, target: Some(target.to_owned()) };
        let report = Report::read(&made.open(), "made.db", &wishes);
        report.map(|report| report.tables[0].rows[0].hits).map_err(|error| error.to_string())
    };
    for target in ["any", "agreement", "agreement:split", "bug:figure-2"] {
        assert_eq!(count(target), Ok(60), "{target}");
    }
    assert_eq!(count("integrity"), Ok(0));
    assert!(count("aggreement").is_err_and(|error| error.contains("agreement") && error.contains("bug:ID")));
}

#[test]
fn runs_that_picked_the_best_are_not_mixed_with_runs_that_did_not() {
    let made = Made::new();
    let tuned = |seed| made::Campaign { experiment: "tune", seed, ..campaign("byzzfuzz c=2", "byzzfuzz") };
    made.add(&tuned(1), 500, |run| run % 10 == 0);
    made.add(&tuned(2), 500, |run| run % 20 == 0);
    let report = made.report(None);
    let rows: Vec<(&str, u64)> =
        report.tables[0].rows.iter().map(|row| (row.name.as_str(), row.hits)).collect();
    assert_eq!(rows, [("byzzfuzz c=2", 50), ("byzzfuzz c=2 on fresh seeds", 25)]);
    assert!(report.tables[0].verdict.iter().any(|text| text.contains("picked the best of many")));
}
