//! What a strategy is for: a bug that it finds at once, and that its controls do not show.

use turncoat::lab::campaign::draw;
use turncoat::lab::suite::others_show;
use turncoat::{Seed, strategies};

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
        let scenario = draw(&mut *strategy, Seed(1), index);
        let outcome = runner.execute(&scenario).expect("it runs");
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
