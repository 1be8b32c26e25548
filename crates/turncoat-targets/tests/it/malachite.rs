//! The engine of malachite under turncoat: it runs, what it rejects is rejected, what it gets wrong shows.

use std::sync::atomic::AtomicBool;

use turncoat_core::outcome::Property;
use turncoat_core::scenario::{Scenario, Seed};
use turncoat_lab::beside::{Comparison, Verdict, compare, scenario_for};
use turncoat_lab::campaign::draw;
use turncoat_lab::lasso;
use turncoat_lab::shrink::{Budget, Keep, shrink};

use super::{broken, entry, found, fuzz, marks, set};

const FORK: &str = include_str!("../../findings/malachite-0.5.0-two-proposals.toml");
const LOST_LOCK: &str = include_str!("../../findings/malachite-0.5.0-lost-lock.toml");

/// With a host that hands over the first proposal of each epoch alone.
fn guarded(base: &Scenario) -> Scenario {
    set(base, "protocol.one-proposal", true)
}

#[test]
fn it_decides_one_value_after_another() {
    let summary = fuzz("malachite", "none", &[], 100, |base| set(&base, "workload.requests", 5));
    assert_eq!((summary.violating, summary.ends.goal), (0, 100));
    assert!(summary.commits >= 100 * 4 * 5);
}

#[test]
fn lies_are_told_and_what_is_signed_with_the_wrong_key_is_rejected() {
    let summary = fuzz("malachite", "byzzfuzz", &[("c", "2"), ("d", "1")], 300, |base| guarded(&base));
    assert_eq!(summary.violations.keys().collect::<Vec<_>>(), [&Property::Agreement; 0]);
    assert!(summary.injected.accepted > 0 && summary.injected.accepted < summary.injected.mutated);
    assert!(marks("malachite", &summary, "bad-signature") > 0);
    assert!(marks("malachite", &summary, "next-epoch") > 0 && marks("malachite", &summary, "sync") > 0);
}

#[test]
fn two_proposals_of_one_epoch_lead_to_two_decisions() {
    let scenario = Scenario::parse(FORK).expect("a scenario");
    let outcome = entry("malachite").runner().execute(&scenario).expect("it runs");
    let violation = outcome.violation(Property::Agreement).expect("a fork");
    assert_eq!(violation.slot.map(|slot| slot.0), Some(1));
    // The same schedule, with a host that keeps the second proposal from the engine.
    assert!(entry("malachite").runner().execute(&guarded(&scenario)).expect("it runs").violations.is_empty());
}

#[test]
fn a_lock_is_lost_though_the_log_is_kept() {
    let scenario = Scenario::parse(LOST_LOCK).expect("a scenario");
    let execute = |scenario: &Scenario| entry("malachite").runner().execute(scenario).expect("it runs");
    let outcome = execute(&scenario);
    assert!(outcome.over_budget && outcome.violation(Property::Agreement).is_some());
    assert!(outcome.injected.mutated == 0);
    // The same schedule, with a host that logs values itself; and without the restarts.
    let logged = execute(&set(&scenario, "protocol.log-values", true));
    assert!(logged.violation(Property::Agreement).is_none());
    let mut awake = scenario;
    awake.adversary.faults.truncate(3);
    assert!(execute(&awake).violation(Property::Agreement).is_none());
}

#[test]
fn a_host_that_takes_any_signature_is_caught() {
    assert!(found("malachite", "portfolio", &[], 3000, |base| broken(
        &guarded(&base),
        "accept-any-signature"
    )));
}

#[test]
fn a_host_that_asks_for_half_of_the_votes_is_caught() {
    // Of four validators three are more than half too: only five show it.
    let summary = fuzz("malachite", "two-faced", &[], 200, |base| {
        set(&broken(&guarded(&base), "quorum-half"), "cluster.n", 5)
    });
    assert!(summary.violations.contains_key(&Property::Agreement));
    let summary = fuzz("malachite", "two-faced", &[], 200, |base| set(&guarded(&base), "cluster.n", 5));
    assert_eq!(summary.violating, 0);
}

#[test]
fn ed25519_comes_to_the_same_as_keyed_signatures() {
    let keyed = fuzz("malachite", "byzzfuzz", &[("c", "2")], 40, |base| base);
    let real =
        fuzz("malachite", "byzzfuzz", &[("c", "2")], 40, |base| set(&base, "protocol.signatures", "ed25519"));
    assert!(marks("malachite", &real, "bad-signature") > 0);
    assert_eq!(keyed.fingerprint, real.fingerprint);
}

#[test]
fn who_restarts_with_its_log_has_not_forgotten_what_it_said() {
    let summary = fuzz("malachite", "restarts", &[], 300, |base| base);
    assert_eq!((summary.violating, summary.over_budget), (0, 0));
    let all = [("nodes", "3"), ("c", "2")];
    let summary = fuzz("malachite", "restarts", &all, 300, |base| set(&base, "cluster.over-budget", true));
    assert_eq!((summary.violating, summary.over_budget), (0, 300));
}

#[test]
fn who_restarts_without_it_makes_others_decide_differently() {
    let three = [("nodes", "3"), ("memory", "lost")];
    let allowed = |base: Scenario| set(&guarded(&base), "cluster.over-budget", true);
    let summary = fuzz("malachite", "restarts", &three, 1000, allowed);
    let found = summary.first_outside.get(&Property::Agreement).expect("a fork, with three faulty of four");
    // It shrinks, and what is left shows the same.
    let (entry, stop) = (entry("malachite"), AtomicBool::new(false));
    let budget = Budget { executions: 500, stop: &stop };
    let small = shrink(&entry, &found.scenario, Keep::Same, &[], budget).expect("it shrinks");
    assert!(small.scenario.adversary.faults.len() < found.scenario.adversary.faults.len());
    let again = entry.runner().execute(&small.scenario).expect("it runs");
    assert!(again.over_budget && again.violation(Property::Agreement).is_some());
}

/// The engine beside the model, in runs in which messages take the same time: those that do not decide the same.
fn differences(strategy: &str, params: &[(&str, &str)], runs: u64) -> Vec<Comparison> {
    let [engine, model] = [entry("malachite"), entry("tendermint")];
    let base = set(&engine.scenario(), "network.latency", 10);
    let params: Vec<_> = params.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    let mut strategy =
        turncoat_strategies::make(strategy, &base, &params, &(engine.mutations)()).expect("a strategy");
    let compare = |index| {
        let scenario = draw(&mut *strategy, Seed(7), index);
        let other = scenario_for(&model, &engine, &scenario);
        compare([&engine, &model], [&scenario, &other]).expect("both run")
    };
    (0..runs).map(compare).filter(|found| found.verdict != Verdict::Same).collect()
}

#[test]
fn the_engine_decides_what_the_model_decides() {
    let lies = "prevote.id=none,prevote.id=seen,prevote.epoch+1,prevote.omit,precommit.id=none,precommit.id=seen,\
                precommit.epoch+1,precommit.omit,proposal.omit,proposal.epoch+1";
    let equal = |strategy, params: &[_]| assert!(differences(strategy, params, 100).is_empty(), "{params:?}");
    equal("none", &[]);
    equal("byzzfuzz", &[("c", "0"), ("source", "named")]);
    equal("byzzfuzz", &[("c", "2"), ("d", "0"), ("source", "named"), ("only", lies)]);
}

#[test]
fn where_they_differ_it_is_in_what_they_say_again_and_in_which_order() {
    // The model repeats proposals too, the engine votes alone.
    let twice = differences("byzzfuzz", &[("c", "0"), ("d", "2"), ("source", "named")], 100);
    assert!(!twice.is_empty());
    for found in twice {
        let parting = found.parting.expect("they part");
        assert_eq!((found.verdict, parting.kind, parting.first), (Verdict::Values, "proposal", false));
    }
    // A proposer of the engine says its prevote before its proposal, which is thus in round 2 of its sender: more is cut.
    assert!(!differences("byzzfuzz", &[("c", "0")], 100).is_empty());
}

#[test]
fn the_model_survives_what_forks_the_engine() {
    let [engine, model] = [entry("malachite"), entry("tendermint")];
    let scenario = Scenario::parse(FORK).expect("a scenario");
    let found = compare([&engine, &model], [&scenario, &scenario_for(&model, &engine, &scenario)]);
    let found = found.expect("both run");
    assert_eq!(found.verdict, Verdict::Safety);
    assert!(found.outcomes[1].violations.is_empty());
}

#[test]
fn without_relay_and_sync_a_laggard_stays_behind() {
    let summary = fuzz("malachite-bare", "byzzfuzz", &[("c", "0"), ("d", "1")], 100, |base| base);
    assert!(summary.violations.contains_key(&Property::Termination));
    assert!(!summary.violations.contains_key(&Property::Agreement));
}

#[test]
fn what_is_seen_of_an_engine_proves_no_endless_run() {
    let summary = fuzz("malachite-bare", "byzzfuzz", &[("c", "0"), ("d", "1")], 100, |base| {
        set(&base, "network.latency", 10)
    });
    let stuck = &summary.first[&Property::Termination].scenario;
    let verdict = lasso::find(&entry("malachite-bare"), stuck).expect("it runs");
    let lasso::Verdict::Unresolved { why, .. } = verdict else { panic!("{verdict:?}") };
    assert_eq!(why, ["a node does not show its state"]);
}
