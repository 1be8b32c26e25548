//! Stories of chained HotStuff with two phases: a two-chain decides, a one-chain locks. Safe, and not live.

use crate::chain;
use crate::chain::{expect_locks, expect_logs, expect_views, is_hot, log, story};
use crate::stage::{ALL, completes, ends, marked_by, witness};
use turncoat_core::outcome::End;
use turncoat_core::story::Story;
use turncoat_protocols::hotstuff::chained::Chained;

const CORRECT: [&str; 3] = ["p1", "p2", "p3"];

#[test]
fn three_views_decide_one_block() {
    let mut s: Story<Chained> = story("hotstuff-two-phase-chained", "workload.requests = 1");
    s.deliver("p0>p1,p2,p3 proposal").deliver("*>p1 vote").deliver("p1>p0,p2,p3 proposal");
    // A one-chain locks, where with three phases it takes two.
    expect_locks(s.sim(), &[("p0", "p0#1@1"), ("p2", "p0#1@1")]);
    s.deliver("*>p2 vote");
    expect_logs(s.sim(), &["p0", "p1", "p3"], &[]);
    s.deliver("p2>p0,p1,p3 proposal");
    expect_logs(s.sim(), &ALL, &["p0#1"]);
    let outcome = completes(&mut s);
    assert!(!marked_by::<Chained>(&outcome, "timeout"));
}

#[test]
fn two_blocks_that_are_views_apart_decide_nothing() {
    // Nobody hears p1 in view 2. The block of view 3 extends that of view 1, and view 4 shows its certificate.
    let leaders = "cluster.leaders = ['p0', 'p1', 'p2', 'p0', 'p0']";
    let settings = format!("protocol.pacemaker = 'local'\n{leaders}\nworkload.requests = 2");
    let mut s: Story<Chained> = story("hotstuff-two-phase-chained", &settings);
    s.deliver("p0>p1,p2,p3 proposal").deliver("*>p1 vote").drop("p1>* proposal");
    chain::time_out(&mut s, &["p0", "p2", "p3"], 1);
    chain::time_out(&mut s, &ALL, 1);
    s.deliver("p0,p1>p2 new-view").deliver("p2>p0,p1,p3 proposal").deliver("p1,p2,p3>p0 vote");
    s.deliver("p0>p1,p2,p3 proposal");
    expect_logs(s.sim(), &ALL, &[]);
    s.deliver("p1,p2,p3>p0 vote").deliver("p0>p1,p2,p3 proposal");
    expect_logs(s.sim(), &ALL, &["p0#1", "p2#1"]);
    completes(&mut s);
}

/// Figure 2 of the paper on liveness checking, with the phases in a row. Byzantine p0 has two faces, and collects the votes
/// for the first block: it shows their certificate to p3 alone, which is locked. In view 3 the report of p3 comes late. p2
/// proposes on the first block of all, p3 refuses, and the second face of p0 votes with p1 and p2. p1 makes the
/// certificate, and shows it to p2: both are locked. p0 votes no more, and is not heard of again.
fn figure_2(protocol: &str) -> Story<Chained> {
    let settings = "protocol.pacemaker = 'local'\nprotocol.doublings = 0\nworkload.requests = 2\n\
                    network.latency = 10\ncluster.leaders = ['p1', 'p0', 'p2', 'p1']\n\
                    adversary = { byzantine = ['p0'], twins = ['p0'] }";
    let mut s = story(protocol, settings);
    s.deliver("p1>p0.a,p2,p3 proposal").drop("p1>* proposal").deliver("p1,p2>p0.a vote");
    s.deliver("p0.a>p3 proposal").drop("p0.a>* proposal").drop("*>* vote");
    chain::time_out(&mut s, &["p0.b", "p1", "p2"], 2);
    chain::time_out(&mut s, &["p3"], 1);
    expect_views(s.sim(), &["p0.b", "p1", "p2", "p3"], 3);
    expect_locks(s.sim(), &[("p1", "genesis@0"), ("p2", "genesis@0"), ("p3", "p1#1@1")]);
    s.deliver("p0.b,p1>p2 new-view").deliver("p2>p0.b,p1,p3 proposal").deliver("p0.b,p2>p1 vote");
    assert!(s.noted("refuses"));
    s.deliver("p1>p2 proposal").drop("p1>* proposal");
    expect_locks(s.sim(), &[("p1", "p2#1@3"), ("p2", "p2#1@3"), ("p3", "p1#1@1")]);
    assert!(is_hot(s.sim(), &CORRECT, 3));
    s.crash("p0.a").crash("p0.b");
    chain::time_out(&mut s, &["p3"], 1);
    expect_views(s.sim(), &CORRECT, 4);
    expect_logs(s.sim(), &CORRECT, &[]);
    s
}

#[test]
fn after_figure_2_the_next_leaders_bring_all_along() {
    let mut s = figure_2("hotstuff-two-phase-chained");
    assert_eq!(ends(&mut s).end, End::Goal);
    s.expect_no_violation();
    let decided = log(s.sim(), "p3");
    assert!(decided.contains(&"p2#1".to_owned()) && !decided.contains(&"p1#1".to_owned()), "{decided:?}");
}

#[test]
fn without_a_way_out_of_the_lock_figure_2_is_the_end() {
    let mut s = figure_2("hotstuff-two-phase-chained-sticky");
    let outcome = witness(&mut s, "hotstuff-two-phase-chained/sticky");
    assert_eq!(outcome.commits, 0);
    expect_locks(s.sim(), &[("p1", "p2#1@3"), ("p2", "p2#1@3"), ("p3", "p1#1@1")]);
    assert!(CORRECT.iter().all(|who| chain::view(s.sim(), who) > 20));
}
