//! A leader that proposes a fork, votes for it and goes on with it.
//!
//! In view 1 a block is decided. p3 hears so, but not that it is to be locked. Then p1 leads, and says that its block extends the
//! first one of all. p0 and p2 are locked and refuse; p3 is not, and votes. One vote more would be enough in the variant in
//! which certificates have a signer too few, and only p1 itself can give it.

use std::sync::atomic::AtomicBool;

use turncoat_core::fault::{Effect, Fault, Stance};
use turncoat_core::outcome::{Outcome, Property};
use turncoat_core::record::How;
use turncoat_core::scenario::{LassoClass, Scenario};
use turncoat_lab::explain::{Claim, Explanation};
use turncoat_lab::lasso::{self, Verdict};
use turncoat_lab::shrink::{Budget, EXECUTIONS, Keep, shrink};

use crate::chain::scenario;
use crate::stage::{entry, run};

const FORK: &str = "workload.requests = 3\nadversary.byzantine = ['p1']\n\
    [[adversary.faults]]\nround = 1\nsource = 'view'\nkind = ['pre-commit', 'commit']\nto = ['p3']\ndrop = true\n\
    [[adversary.faults]]\nfrom = ['p1']\nmutate = 'prepare.justify=genesis+parent'";

const WEAK: &str = "protocol.flags = ['quorum-2f']\n";

fn fork(flags: &str, stance: &str) -> Scenario {
    let stance = match stance {
        "" => String::new(),
        stance => format!("\n[[adversary.faults]]\n{stance}"),
    };
    scenario("hotstuff", &format!("{flags}{FORK}{stance}"))
}

fn forks(outcome: &Outcome) -> bool {
    outcome.violation(Property::Agreement).is_some()
}

const BOTH: &str = "stance = { of = 'p1', flags = ['no-safe-node'], believes = 'all' }";

/// It has to believe its lie, and to vote against its lock: without either there is no fork.
#[test]
fn a_leader_votes_for_its_own_fork() {
    assert!(forks(&run(&fork(WEAK, BOTH))));
    for less in [
        "",
        "stance = { of = 'p1', believes = 'all' }",
        "stance = { of = 'p1', flags = ['no-safe-node'] }",
        "stance = { of = 'p1', flags = ['double-vote', 'no-lock-update'] }",
    ] {
        let outcome = run(&fork(WEAK, less));
        assert!(outcome.violations.is_empty(), "{less}: {:?}", outcome.violations);
    }
    // A leader that never locks is as good, and so is one that believes what it told p3.
    for other in [
        "stance = { of = 'p1', flags = ['no-lock-update'], believes = 'all' }",
        "stance = { of = 'p1', flags = ['no-safe-node'], believes = ['p3'] }",
    ] {
        assert!(forks(&run(&fork(WEAK, other))), "{other}");
    }
}

#[test]
fn the_correct_protocol_survives_the_fork() {
    let outcome = run(&fork("", BOTH));
    assert!(outcome.violations.is_empty(), "{:?}", outcome.violations);
    assert!(outcome.injected.mutated > 0);
}

/// The view of the fork is enough, and another one is not. By then p1 is locked, unless it never locks in view 1.
#[test]
fn a_stance_has_its_views() {
    let during = |views: &str, flag: &str| {
        let stance = BOTH.replace("no-safe-node", flag);
        forks(&run(&fork(WEAK, &format!("round = {views}\nsource = 'sender-view'\n{stance}"))))
    };
    for (views, safe, lock) in
        [("2", true, false), ("{ from = 2 }", true, false), ("[1, 2]", true, true), ("1", false, false)]
    {
        assert_eq!((during(views, "no-safe-node"), during(views, "no-lock-update")), (safe, lock), "{views}");
    }
}

#[test]
fn a_run_with_a_stance_replays() {
    let scenario = fork(WEAK, &format!("round = {{ from = 2 }}\nsource = 'sender-view'\n{BOTH}"));
    assert_eq!(Scenario::parse(&scenario.to_toml()).as_ref(), Ok(&scenario));
    let mut runner = entry("hotstuff").runner();
    let (outcome, recording) = runner.record(&scenario).unwrap();
    assert_eq!((runner.execute(&scenario).unwrap(), run(&scenario)), (outcome.clone(), outcome.clone()));
    let replay = run(&recording.clone().scripted(&scenario));
    assert_eq!((replay.diverged, replay.fingerprint), (None, outcome.fingerprint));
    assert_eq!(replay.violations, outcome.violations);
    let steps: Vec<bool> = recording.stances.iter().map(|it| matches!(it.how, How::Flags(_))).collect();
    assert!(steps.starts_with(&[true, false]), "{:?}", recording.stances);
}

/// Flags and parts that do not matter go, one by one; those that do stay.
#[test]
fn a_stance_shrinks() {
    let stance = "round = [1, 4]\nsource = 'sender-view'\n\
        stance = { of = 'p1', flags = ['accept-late-qc', 'no-safe-node', 'double-vote'], believes = ['p0', 'p3'], \
        keeps = { kind = 'fetch', views = 3 } }\n\
        [[adversary.faults]]\nstance = { of = 'p1', flags = ['sticky'] }";
    let scenario = fork(WEAK, stance);
    assert!(forks(&run(&scenario)));
    let stop = AtomicBool::new(false);
    let budget = Budget { executions: EXECUTIONS, stop: &stop };
    let shrunk =
        shrink(&entry("hotstuff"), &scenario, Keep::Same, &[], budget).expect("it violates agreement");
    let text = shrunk.scenario.to_toml();
    let stances: Vec<&Stance> = shrunk.scenario.adversary.faults.iter().filter_map(stance_of).collect();
    let [stance] = stances[..] else { panic!("{text}") };
    assert_eq!(
        (stance.flags.len(), stance.believes.is_some(), stance.keeps.is_some()),
        (1, true, false),
        "{text}"
    );
    assert!(forks(&run(&shrunk.scenario)) && shrunk.scenario.adversary.faults.len() <= 3, "{text}");
}

fn stance_of(fault: &Fault) -> Option<&Stance> {
    match &fault.effect {
        Effect::Stance(stance) => Some(stance),
        _ => None,
    }
}

#[test]
fn an_explanation_says_which_rules_were_off_and_what_was_believed() {
    let explanation = Explanation::of(&entry("hotstuff"), &fork(WEAK, BOTH)).expect("it runs");
    let story = explanation.story().split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "Throughout: p1 ran code that deviates from the protocol: every block counts as safe (no-safe-node).",
        "p1 went along with its own lie. Its own copy said the same: PREPARE",
    ] {
        assert!(story.contains(words), "{story}");
    }
    let claims: Vec<Claim> = explanation.claims().into_iter().flat_map(|(_, claims)| claims).collect();
    assert!(
        claims.iter().any(|claim| matches!(claim, Claim::Ran(_, flags, 0) if flags == &["no-safe-node"]))
    );
    assert!(claims.iter().any(|claim| matches!(claim, Claim::Believed(..))));
}

/// A stance that lasts is a part of what repeats itself, though not of the protocol. What a liar keeps for later is memory.
#[test]
fn a_lasso_knows_stances() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../suite/hotstuff-two-phase/sticky.toml");
    let witness = Scenario::parse(&std::fs::read_to_string(path).expect("a row")).expect("a scenario");
    let verdict = |stance: &str| {
        let fault = toml::from_str(&format!("{stance} }}")).expect("a fault");
        let mut scenario = witness.clone();
        scenario.adversary.faults.push(fault);
        lasso::find(&entry("hotstuff-two-phase-sticky"), &scenario).expect("it runs")
    };
    for lasting in ["", "round = [1, 2]\nsource = 'sender-view'\n"] {
        let flags =
            verdict(&format!("{lasting}stance = {{ of = 'p0', flags = ['accept-late-qc'], believes = 'all'"));
        let Verdict::Lasso(lasso, _) = flags else { panic!("{flags:?}") };
        assert_eq!(lasso.class, LassoClass::Adversarial, "{lasting}");
    }
    let keeps = verdict("stance = { of = 'p0', keeps = { kind = 'fetch', views = 1 }");
    let Verdict::Unresolved { why, .. } = keeps else { panic!("{keeps:?}") };
    assert_eq!(why, ["the adversary keeps state, or lies"]);
}
