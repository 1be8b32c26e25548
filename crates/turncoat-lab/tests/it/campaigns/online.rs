//! Campaigns whose strategy chooses while runs go on.

use turncoat_core::ids::{NodeId, NodeSet};
use turncoat_core::online::{OnlineAdversary, Position};
use turncoat_core::outcome::Property;
use turncoat_core::rng::Rng;
use turncoat_core::scenario::{Scenario, SchedulerName};
use turncoat_core::schedule::Action;
use turncoat_core::strategy::Strategy;
use turncoat_lab::campaign::{BoxError, Campaign, CampaignError, Record, Until};

use crate::campaigns::bench::Bench;
use crate::campaigns::run;

/// In half of the runs somebody chooses. Run 40 goes wrong, if that is wanted.
struct Chooser {
    base: Scenario,
    run: u64,
    chooses: bool,
    wrong: bool,
}

impl Strategy for Chooser {
    fn next(&mut self, index: u64, rng: &mut Rng) -> Scenario {
        (self.run, self.chooses) = (index, rng.below(2) == 0);
        let mut scenario = self.base.clone();
        scenario.adversary.byzantine = NodeSet::one(NodeId::replica(0));
        scenario
    }
    fn online(&mut self) -> Option<Box<dyn OnlineAdversary>> {
        let wrong = self.wrong && self.run >= 40;
        (self.chooses || wrong).then(|| Box::new(Choices { wrong, told: false }) as _)
    }
}

/// Messages in any order. Now and then p0 tells p3 another slot.
struct Choices {
    wrong: bool,
    told: bool,
}

impl OnlineAdversary for Choices {
    fn next(&mut self, position: &dyn Position, rng: &mut Rng) -> Option<Action> {
        let messages = position.messages();
        let replica = |index| NodeId::replica(index).into();
        let order = messages.iter().find(|it| it.kind == "order" && it.dst == replica(3));
        match order {
            Some(order) if self.wrong => Some(order.lie("reply.result+1", 0)),
            Some(order) if !self.told => {
                self.told = true;
                Some(if rng.below(10) == 0 { order.lie("order.slot+1", 0) } else { order.deliver() })
            }
            _ => (!messages.is_empty()).then(|| rng.pick(&messages).deliver()),
        }
    }
}

fn chooser(base: &Scenario) -> Result<Box<dyn Strategy + Send>, BoxError> {
    Ok(Box::new(Chooser { base: base.clone(), run: 0, chooses: false, wrong: false }))
}

fn wrong(base: &Scenario) -> Result<Box<dyn Strategy + Send>, BoxError> {
    Ok(Box::new(Chooser { base: base.clone(), run: 0, chooses: false, wrong: true }))
}

#[test]
fn what_an_adversary_finds_replays_without_it() {
    let bench = Bench::new();
    let campaign = bench.campaign(&chooser);
    let found = run(&campaign).first.remove(&Property::Agreement).expect("p0 lies in some runs");
    assert_eq!(found.scenario.scheduler.name, SchedulerName::Script);
    assert!(found.scenario.scheduler.script.iter().any(|step| matches!(step, Action::Mutate(..))));
    let outcome = bench.entry.runner().execute(&found.scenario).expect("it runs");
    assert_eq!(outcome.fingerprint, found.fingerprint);
    assert_eq!(outcome.violation(Property::Agreement), Some(&found.violation));
    // And alone, by its index, with the adversary.
    assert_eq!(campaign.scenario_of(found.index).expect("it can be drawn alone"), found.scenario);
    assert_eq!(campaign.repeat_stored(found.index, found.fingerprint).expect("the same").1, outcome);
}

#[test]
fn choices_are_the_same_on_any_number_of_threads() {
    let bench = Bench::new();
    for until in [Until::First, Until::Never] {
        let with = |jobs| run(&Campaign { until, jobs, ..bench.campaign(&chooser) });
        let one = with(1);
        assert!(one.violations[&Property::Agreement] > 0);
        assert_eq!(with(2), one);
    }
}

#[test]
fn runs_that_are_sampled_are_the_same() {
    let bench = Bench::new();
    let campaign = Campaign { runs: Some(100), ..bench.campaign(&chooser) };
    let (mut sampled, mut plain) = (Vec::new(), Vec::new());
    let mut keep = |run: Record| {
        sampled.push((run.index, run.outcome));
        true
    };
    campaign.run_sampled(&mut keep, &mut |_| {}).expect("it runs");
    let mut keep = |run: Record| {
        plain.push((run.index, run.outcome));
        true
    };
    campaign.run_part(0..100, &mut keep, &mut |_| {}).expect("it runs");
    assert_eq!(sampled, plain);
}

#[test]
fn an_impossible_choice_stops_the_campaign_at_its_index() {
    let bench = Bench::new();
    for jobs in [1, 2] {
        let error = Campaign { jobs, ..bench.campaign(&wrong) }.run(&mut |_| {}).unwrap_err();
        assert!(matches!(error, CampaignError::Scenario { index: 40, .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("run 40: the online adversary chose `mutate p0>p3 order #1"), "{text}");
        assert!(text.contains("no mutation `reply.result+1` for a `order`"), "{text}");
    }
}
