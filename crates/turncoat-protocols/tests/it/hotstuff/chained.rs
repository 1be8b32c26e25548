//! Stories of chained HotStuff: three-chains, broken chains, and twins.

use crate::chain;
use crate::chain::{expect_logs, expect_views, log, recorded, scenario, story};
use crate::stage::{ALL, completes, ends, is_witness, marked_by, witness};
use turncoat_core::outcome::{End, Property};
use turncoat_core::story::Story;
use turncoat_protocols::hotstuff::chained::Chained;

type Told = Story<Chained>;

const LOCAL: &str = "protocol.pacemaker = 'local'";

/// A view in which all follow the leader: its proposal reaches the others, their votes the next leader.
fn propose(s: &mut Told, leader: &str, others: &str, next: &str) {
    s.deliver(&format!("{leader}>{others} proposal"));
    let voters = if next == leader { others.to_owned() } else { "*".to_owned() };
    s.deliver(&format!("{voters}>{next} vote"));
}

#[test]
fn four_views_decide_one_block() {
    let mut s: Told = story("hotstuff-chained", "workload.requests = 1");
    propose(&mut s, "p0", "p1,p2,p3", "p1");
    propose(&mut s, "p1", "p0,p2,p3", "p2");
    propose(&mut s, "p2", "p0,p1,p3", "p3");
    // The leader of view 4 knows the third certificate as soon as it makes it.
    expect_logs(s.sim(), &["p0", "p1", "p2"], &[]);
    expect_logs(s.sim(), &["p3"], &["p0#1"]);
    s.deliver("p3>p0,p1,p2 proposal");
    expect_logs(s.sim(), &ALL, &["p0#1"]);
    let outcome = completes(&mut s);
    assert!(!marked_by::<Chained>(&outcome, "timeout"));
}

#[test]
fn a_block_is_decided_seven_message_delays_after_its_view_has_begun() {
    let mut sim =
        recorded::<Chained>(&scenario("hotstuff-chained", "network.latency = 1\nworkload.requests = 3"));
    assert_eq!(sim.run().end, End::Goal);
    // p2 leads view 3: it waits for the proposals of views 4, 5 and 6.
    assert_eq!(chain::times(&sim, "p2"), [7, 9, 11]);
}

#[test]
fn a_leader_that_is_not_heard_breaks_the_chain() {
    // Leaders p0, p1, p2, p0, p0, p0. p1 has the certificate of the first block, and nobody hears of it in view 2. It
    // reports it to p2, whose block extends the first one, but two views later. Five views decide nothing. The sixth
    // decides the block of view 3, and with it its parent.
    let leaders = "cluster.leaders = ['p0', 'p1', 'p2', 'p0', 'p0', 'p0', 'p0']";
    let mut s: Told = story("hotstuff-chained", &format!("{LOCAL}\n{leaders}\nworkload.requests = 2"));
    propose(&mut s, "p0", "p1,p2,p3", "p1");
    s.drop("p1>* proposal");
    expect_views(s.sim(), &["p1"], 2);
    for who in ["p0", "p2", "p3"] {
        s.timeout(who, "view");
    }
    for who in ALL {
        s.timeout(who, "view");
    }
    expect_views(s.sim(), &ALL, 3);
    s.deliver("p0,p1>p2 new-view");
    propose(&mut s, "p2", "p0,p1,p3", "p0");
    propose(&mut s, "p0", "p1,p2,p3", "p0");
    s.deliver("p0>p1,p2,p3 proposal");
    expect_logs(s.sim(), &ALL, &[]);
    s.deliver("p1,p2,p3>p0 vote").deliver("p0>p1,p2,p3 proposal");
    expect_logs(s.sim(), &ALL, &["p0#1", "p2#1"]);
    completes(&mut s);
}

#[test]
fn twins_have_one_vote() {
    // p0 runs twice. Its two instances and p1 vote for a block, which are three votes of two voters. The third voter
    // makes the certificate.
    let twins = "adversary = { byzantine = ['p0'], twins = ['p0'] }";
    let mut s: Told = story("hotstuff-chained", &format!("cluster.leaders = ['p1', 'p2']\n{twins}"));
    s.deliver("p1>p0.a,p0.b proposal").deliver("p0.a,p0.b,p1>p2 vote");
    expect_views(s.sim(), &["p2"], 1);
    s.deliver("p1>p3 proposal").deliver("p3>p2 vote");
    expect_views(s.sim(), &["p2"], 2);
    ends(&mut s);
    s.expect_no_violation();
}

#[test]
fn a_block_that_comes_before_its_parent_waits() {
    // The first proposal does not reach p3. The second one makes p3 ask for the first block, and vote.
    let mut s: Told = story("hotstuff-chained", "workload.requests = 1");
    s.deliver("p0>p1,p2 proposal").drop("p0>p3 proposal").deliver("p0,p1,p2>p1 vote");
    s.deliver("p1>p3 proposal");
    assert!(!s.in_flight("p3>p2 vote"));
    s.deliver("p3>p1 fetch").deliver("p1>p3 block").deliver("p3>p2 vote");
    completes(&mut s);
}

/// The issue of relab/hotstuff. p0 runs twice, and its instances lead in turn, each among those who hear it: p0.a with
/// p1, p2, p3 in odd views, p0.b with p1, p2 in even ones. Each instance gets a certificate every second view, for a
/// branch of its own. Locks lag two views behind, so p1 and p2 vote for both. Both branches have three-chains of
/// direct children, none of them in consecutive views.
#[test]
fn three_blocks_in_every_second_view_are_no_three_chain() {
    let odd = "partition = [['p0.a', 'p1', 'p2', 'p3'], ['p0.b']]";
    let even = "partition = [['p0.b', 'p1', 'p2'], ['p0.a'], ['p3']]";
    let round = |view: u32| {
        let partition = if view % 2 == 1 || view == 10 { odd } else { even };
        format!("{{ round = {view}, source = 'view', {partition} }}")
    };
    // Votes for p0 take a little longer, so that it has got the blocks of the other branch when it needs them.
    let slow = "{ kind = 'vote', to = ['p0'], delay = 5 }".to_owned();
    let rounds: Vec<String> = (2..=10).map(round).chain([slow]).collect();
    let settings = format!(
        "protocol = {{ pacemaker = 'local', doublings = 0, delta = 10, flags = ['chain3-no-consecutive-views'] }}\n\
         cluster.leaders = ['p1', 'p1', 'p0', 'p0', 'p0', 'p0', 'p0', 'p0', 'p0', 'p0']\n\
         workload.requests = 4\nnetwork.latency = 1\n[adversary]\nbyzantine = ['p0']\ntwins = ['p0']\nfaults = [{}]",
        rounds.join(", ")
    );
    let scenario = scenario("hotstuff-chained", &settings);
    let mut sim = recorded::<Chained>(&scenario);
    let outcome = sim.run();
    assert!(outcome.violation(Property::Agreement).is_some(), "{:?}", log(&sim, "p1"));
    is_witness(scenario, "hotstuff-chained/no-consecutive-views");
}

/// p3 does not hear of the first block. It goes on without it, and decides the second one as if it were the first.
#[test]
fn a_block_is_decided_without_its_parent() {
    let mut s: Told =
        story("hotstuff-chained", "protocol.flags = ['commit-skips-missing-parent']\nworkload.requests = 3");
    s.deliver("p0>p1,p2 proposal").drop("p0>p3 proposal").deliver("p0,p1,p2>p1 vote");
    propose(&mut s, "p1", "p0,p2,p3", "p2");
    propose(&mut s, "p2", "p0,p1,p3", "p3");
    propose(&mut s, "p3", "p0,p1,p2", "p0");
    s.deliver("p0>p3 proposal #2");
    expect_logs(s.sim(), &["p3"], &["p1#1"]);
    witness(&mut s, "hotstuff-chained/missing-parent");
}

/// Byzantine p0 runs twice and leads all views. Its two instances propose a branch each, and everybody votes for both in
/// every view. p1 hears the end of the one, p2 that of the other.
#[test]
fn two_votes_in_a_view_make_two_branches() {
    let leaders = "cluster.leaders = ['p0', 'p0', 'p0', 'p0', 'p0']";
    let mut s: Told = story(
        "hotstuff-chained",
        &format!(
            "protocol = {{ pacemaker = 'local', flags = ['vote-not-monotone'] }}\n{leaders}\nworkload.requests = 2\n\
             adversary = {{ byzantine = ['p0'], twins = ['p0'] }}"
        ),
    );
    for view in 1..=3 {
        s.deliver("p0.a>p1,p2 proposal").deliver(&format!("p1,p2>p0.a vote #{}", 2 * view - 1));
        s.deliver("p0.b>p1,p2 proposal").deliver(&format!("p1,p2>p0.b vote #{}", 2 * view));
    }
    s.deliver("p0.a>p1 proposal").deliver("p0.b>p2 proposal");
    expect_logs(s.sim(), &["p1"], &["p0.a#1"]);
    expect_logs(s.sim(), &["p2"], &["p0.b#1"]);
    witness(&mut s, "hotstuff/vote-not-monotone");
}
