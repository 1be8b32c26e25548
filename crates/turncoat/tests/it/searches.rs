//! What a strategy is for: a bug that it finds at once, and that its controls do not show.

use turncoat::lab::campaign::{draw, draw_and_execute};
use turncoat::lab::suite::others_show;
use turncoat::{Scenario, Seed, strategies};

use crate::explain::{entry, suite};

/// The first run that shows a bug which its controls do not have, by a strategy with its defaults.
fn first(strategy: &str, id: &str, runs: u64) -> Option<u64> {
    let bug = suite().into_iter().find(|bug| bug.id == id).expect("a known bug");
    let base = bug.base().expect("a base");
    let entry_of_bug = entry(&base.protocol.name);
    let mut strategy =
        strategies::make(strategy, &base, &[], &(entry_of_bug.mutations)()).expect("a strategy");
    let mut runner = entry_of_bug.runner();
    (0..runs).find(|&index| {
        let (scenario, outcome) =
            draw_and_execute(&mut *strategy, &mut *runner, Seed(1), index).expect("it runs");
        bug.shows(&outcome) && !others_show(&bug, &scenario, &|name| Ok(entry(name))).expect("controls run")
    })
}

/// A proposal that names the genesis block as its parent must come when there is something to contradict; here it always does.
#[test]
fn a_lie_that_lasts_finds_what_a_lie_told_once_misses() {
    assert!(first("lasting", "hotstuff/no-lock-update", 1000).is_some());
    assert!(first("lasting", "hotstuff/height-unchecked", 1000).is_some());
    assert_eq!(first("byzzfuzz", "hotstuff/height-unchecked", 1000), None);
}

/// Leaders that are cut off again and again, and nobody lies.
#[test]
fn a_swarm_of_cuts_needs_no_liar() {
    assert!(first("swarm", "zyzzyva/reconcile-early", 3000).is_some());
}

/// A view ends at one kind of message, and the next leader lies about what it has left behind.
#[test]
fn a_view_that_gets_stuck_leaves_something_to_lie_about() {
    assert!(first("stalls", "hotstuff/tc-quorum-low", 2000).is_some());
    assert_eq!(first("swarm", "hotstuff/tc-quorum-low", 2000), None);
}

/// Of four replicas one stays silent: the rule of chained HotStuff never sees four correct leaders in a row.
#[test]
fn silence_is_a_lie_that_lasts() {
    assert!(first("lasting", "hotstuff-chained/silent-replica", 1000).is_some());
}

/// Whoever is ahead is served first, and the others hear too little: hBFT's commits outside of the window.
#[test]
fn an_adversary_that_looks_keeps_replicas_apart() {
    assert!(first("divergence", "hbft/commit-window", 1000).is_some());
    assert_eq!(first("random", "hbft/commit-window", 1000), None);
}

/// What it chose is a script, which shows the same run without it: also read from a file, and of protocols of any shape.
#[test]
fn what_an_adversary_chooses_replays() {
    for name in ["pbft-java", "hotstuff", "tendermint", "zyzzyva"] {
        let entry = entry(name);
        let mut strategy =
            strategies::make("divergence", &entry.scenario(), &[], &(entry.mutations)()).expect("a strategy");
        let mut runner = entry.runner();
        for index in 0..50 {
            let drawn = draw(&mut *strategy, Seed(1), index);
            let adversary = strategy.online().expect("an adversary for each run");
            let (script, outcome) = runner.execute_online(&drawn, adversary).expect("it runs");
            let read = Scenario::parse(&script.to_toml()).expect("a scenario");
            assert_eq!(read, script, "{name}, run {index}");
            assert_eq!(entry.runner().execute(&read).as_ref(), Ok(&outcome), "{name}, run {index}");
        }
    }
}
