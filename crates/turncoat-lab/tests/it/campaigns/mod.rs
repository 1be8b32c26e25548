//! What campaigns promise: one result for any number of threads, any run repeatable alone.

mod bench;
#[cfg(feature = "store")]
mod certificate;
mod determinism;
mod online;
#[cfg(feature = "store")]
mod shards;
mod signatures;
#[cfg(feature = "store")]
mod store;

use std::sync::atomic::Ordering;

use turncoat_core::ids::{NodeId, NodeSet};
use turncoat_core::outcome::{Outcome, Property};
use turncoat_core::rng::Rng;
use turncoat_core::scenario::Scenario;
use turncoat_core::strategy::Strategy;
use turncoat_lab::campaign::{BoxError, Campaign, CampaignError, Until};
use turncoat_lab::summary::Summary;

use crate::campaigns::bench::{Bench, rare_liar};

fn run(campaign: &Campaign<'_>) -> Summary {
    campaign.run(&mut |_| {}).expect("the campaign runs")
}

#[test]
fn the_summary_is_the_same_for_any_number_of_threads() {
    let bench = Bench::new();
    for until in [Until::First, Until::Never] {
        let with = |jobs| run(&Campaign { until, jobs, ..bench.campaign(&rare_liar) });
        let one = with(1);
        assert!(one.violations[&Property::Agreement] > 0);
        for jobs in [2, 3, 8] {
            assert_eq!(with(jobs), one, "{jobs} threads");
        }
    }
}

#[test]
fn a_campaign_until_the_first_violation_ends_with_the_run_of_the_lowest_index() {
    let bench = Bench::new();
    let all = run(&bench.campaign(&rare_liar));
    let first = run(&Campaign { until: Until::First, jobs: 4, ..bench.campaign(&rare_liar) });
    let finding = first.earliest().expect("a violation");
    assert_eq!(all.runs, 1003);
    assert_eq!(first.runs, finding.index + 1);
    assert_eq!(first.violating, 1);
    assert_eq!(finding, all.earliest().expect("a violation"));
    assert_eq!(first.first.get(&Property::Agreement), all.first.get(&Property::Agreement));
}

#[test]
fn a_run_is_reproducible_alone_from_the_campaign_and_its_index() {
    let bench = Bench::new();
    let campaign = bench.campaign(&rare_liar);
    let found = run(&campaign).first.remove(&Property::Agreement).expect("a violation");
    let scenario = campaign.scenario_of(found.index).expect("the strategy does not learn");
    assert_eq!(scenario, found.scenario);
    let outcome = bench.entry.runner().execute(&scenario).expect("it ran before");
    assert_eq!(outcome.fingerprint, found.fingerprint);
    assert_eq!(outcome.violation(Property::Agreement), Some(&found.violation));
}

#[test]
fn sums_cover_every_run_once() {
    let bench = Bench::new();
    let summary = run(&Campaign { jobs: 2, ..bench.campaign(&rare_liar) });
    let ends = &summary.ends;
    assert_eq!(ends.goal + ends.quiet + ends.stopped + ends.limits.values().sum::<u64>(), 1003);
    assert_eq!(summary.completed, 2 * 1003);
    let marks: Vec<_> = summary.marks.named(bench.entry.marks).collect();
    assert_eq!(marks, [("second-slot", 1003)]);
    assert!(summary.injected.mutated >= summary.violating);
    assert!(summary.deliveries <= summary.steps);
}

#[test]
fn the_watcher_sees_growing_prefixes_and_the_whole_at_last() {
    let bench = Bench::new();
    let mut seen = Vec::new();
    let campaign = Campaign { jobs: 3, ..bench.campaign(&rare_liar) };
    let summary = campaign.run(&mut |so_far: &Summary| seen.push(so_far.runs)).expect("it runs");
    assert!(seen.is_sorted_by(|a, b| a < b));
    assert_eq!(seen.last(), Some(&summary.runs));
}

#[test]
fn a_stopped_campaign_covers_a_complete_prefix() {
    let bench = Bench::new();
    let endless = Campaign { runs: None, jobs: 3, ..bench.campaign(&rare_liar) };
    let stop_at_200 = &mut |so_far: &Summary| bench.stop.store(so_far.runs >= 200, Ordering::Relaxed);
    let stopped = endless.run(stop_at_200).expect("it runs");
    assert!(stopped.runs >= 200 && stopped.runs < 2000, "{}", stopped.runs);
    bench.stop.store(false, Ordering::Relaxed);
    assert_eq!(run(&Campaign { runs: Some(stopped.runs), ..endless }), stopped);
}

#[test]
fn nothing_runs_where_no_run_is_asked_for() {
    let bench = Bench::new();
    assert_eq!(run(&Campaign { runs: Some(0), jobs: 2, ..bench.campaign(&rare_liar) }), Summary::default());
}

#[test]
fn an_impossible_scenario_stops_the_campaign_at_its_index() {
    struct Impossible(Scenario);
    impl Strategy for Impossible {
        fn next(&mut self, index: u64, _: &mut Rng) -> Scenario {
            let mut scenario = self.0.clone();
            if index >= 50 {
                scenario.adversary.byzantine = NodeSet::one(NodeId::replica(9));
            }
            scenario
        }
    }
    let bench = Bench::new();
    let make = |base: &Scenario| -> Result<Box<dyn Strategy + Send>, BoxError> {
        Ok(Box::new(Impossible(base.clone())))
    };
    for jobs in [1, 4] {
        let error = Campaign { jobs, ..bench.campaign(&make) }.run(&mut |_| {}).unwrap_err();
        assert!(matches!(error, CampaignError::Scenario { index: 50, .. }), "{error}");
        assert!(error.to_string().contains("there is no p9"), "{error}");
    }
}

/// Draws each scenario by what it has seen.
struct Learner(Scenario, u64);

impl Strategy for Learner {
    fn next(&mut self, index: u64, _: &mut Rng) -> Scenario {
        assert_eq!(index, self.1, "a learner sees every outcome before it draws the next scenario");
        self.0.clone()
    }
    fn observe(&mut self, _: &Scenario, _: &Outcome) {
        self.1 += 1;
    }
    fn learns(&self) -> bool {
        true
    }
}

fn learner(base: &Scenario) -> Result<Box<dyn Strategy + Send>, BoxError> {
    Ok(Box::new(Learner(base.clone(), 0)))
}

#[test]
fn a_strategy_that_learns_runs_on_one_thread() {
    let bench = Bench::new();
    let campaign = Campaign { runs: Some(100), jobs: 4, ..bench.campaign(&learner) };
    assert_eq!(run(&campaign).runs, 100);
    assert!(campaign.scenario_of(0).is_ok());
    assert!(matches!(campaign.scenario_of(5), Err(CampaignError::Learns { index: 5 })));
}

#[test]
fn a_panic_of_a_strategy_reaches_the_caller() {
    struct Broken(Scenario);
    impl Strategy for Broken {
        fn next(&mut self, index: u64, _: &mut Rng) -> Scenario {
            assert!(index < 60, "broken at {index}");
            self.0.clone()
        }
    }
    let bench = Bench::new();
    let make = |base: &Scenario| -> Result<Box<dyn Strategy + Send>, BoxError> {
        Ok(Box::new(Broken(base.clone())))
    };
    let campaign = Campaign { jobs: 2, ..bench.campaign(&make) };
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&campaign))).unwrap_err();
    assert!(panic.downcast_ref::<String>().is_some_and(|text| text.starts_with("broken at 6")));
}

/// Whoever lies in this campaign says one thing only.
#[test]
fn a_campaign_knows_what_it_tried() {
    let bench = Bench::new();
    let summary = run(&bench.campaign(&rare_liar));
    let covered = &summary.covered;
    assert_eq!((covered.runs, covered.faults["mutate"]), (1003, summary.disturbed));
    let lies = covered.told(&(bench.entry.mutations)());
    assert_eq!(lies.told, 1);
    assert!(lies.never.iter().any(|lie| lie == "order.slot-1"), "{lies:?}");
    assert!(!lies.never.iter().any(|lie| lie == "order.slot+1"), "{lies:?}");
    // Of a field about which there was a lie nobody says that it was left alone.
    assert!(lies.honest.iter().any(|field| field == "reply.result"), "{lies:?}");
    assert!(!lies.honest.iter().any(|field| field == "order.slot"), "{lies:?}");
}
