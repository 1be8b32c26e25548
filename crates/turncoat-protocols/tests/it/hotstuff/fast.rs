//! Stories of Fast-HotStuff: two-chains, AggQCs, and what goes wrong without either rule.

use crate::chain;
use crate::chain::{expect_logs, expect_views, log, qc, recorded, scenario, story, time_out};
use crate::stage::{ALL, completes, is_witness, marked_by, witness};
use turncoat_core::outcome::{End, Property};
use turncoat_core::scenario::Scenario;
use turncoat_core::story::Story;
use turncoat_protocols::hotstuff::fast::FastHotStuff;

type Told = Story<FastHotStuff>;

const LOCAL: &str = "protocol.pacemaker = 'local'";

#[test]
fn a_block_is_decided_five_message_delays_after_its_view_has_begun() {
    let mut sim =
        recorded::<FastHotStuff>(&scenario("fast-hotstuff", "network.latency = 1\nworkload.requests = 2"));
    assert_eq!(sim.run().end, End::Goal);
    // p0 hears of the certificates of views 2 and 3 by the proposals of views 3 and 4.
    assert_eq!(chain::times(&sim, "p0"), [5, 7]);
}

#[test]
fn after_a_crash_the_next_leader_shows_what_others_report() {
    let mut s: Told = story("fast-hotstuff", &format!("{LOCAL}\nworkload.requests = 1"));
    s.crash("p0");
    time_out(&mut s, &["p1", "p2", "p3"], 1);
    s.deliver("p2,p3>p1 new-view").deliver("p1>p2,p3 proposal").deliver("p1,p3>p2 vote");
    // The certificate of view 2 is the first; that of view 3 decides the block of view 2.
    s.deliver("p2>p1,p3 proposal").deliver("p1,p2>p3 vote");
    expect_logs(s.sim(), &["p3"], &["p1#1"]);
    s.deliver("p3>p1,p2 proposal");
    expect_logs(s.sim(), &["p1", "p2", "p3"], &["p1#1"]);
    assert!(marked_by::<FastHotStuff>(&completes(&mut s), "agg-qc"));
}

/// The bug that Twins found. Nobody lies. Thrice a leader is cut off with a certificate that nobody else has: p1 in view
/// 5 with that of view 4, p2 in view 7 with that of view 6, p1 in view 9 with that of view 8. The blocks of views 4 and
/// 6 are both children of that of view 3. In view 8 p1 extends the first one, in view 10 p2 the second one.
fn two_branches(protocol: &str) -> Scenario {
    let cut = |first: u32, last: u32, alone: &str| {
        format!("{{ round = [{first}, {last}], source = 'view', isolate = ['{alone}'] }}")
    };
    let settings = format!(
        "protocol = {{ pacemaker = 'local', doublings = 0, delta = 10 }}\nworkload.requests = 4\nnetwork.latency = 1\n\
         cluster.leaders = ['p0', 'p0', 'p0', 'p0', 'p1', 'p0', 'p2', 'p1', 'p1', 'p2', 'p2']\n\
         adversary.faults = [{}, {}, {}]",
        cut(5, 6, "p1"),
        cut(7, 8, "p2"),
        cut(9, 11, "p1"),
    );
    scenario(protocol, &settings)
}

#[test]
fn two_blocks_in_distant_views_are_no_two_chain() {
    let bug = two_branches("fast-hotstuff-vulnerable");
    let mut sim = recorded::<FastHotStuff>(&bug);
    let outcome = sim.run();
    let found = outcome.violation(Property::Agreement).expect("two branches are decided");
    assert_eq!(found.slot.map(|slot| slot.0), Some(4));
    // The fourth block of p0 is that of view 4, the fifth that of view 6.
    assert_eq!(log(&sim, "p1")[..4], ["p0#1", "p0#2", "p0#3", "p0#4"]);
    assert_eq!(log(&sim, "p0")[..4], ["p0#1", "p0#2", "p0#3", "p0#5"]);
    is_witness(bug, "fast-hotstuff/no-consecutive-views");
}

#[test]
fn with_the_rule_nothing_beyond_view_3_is_decided_while_the_cuts_last() {
    let mut sim = recorded::<FastHotStuff>(&two_branches("fast-hotstuff"));
    while chain::view(&sim, "p0") < 12 && sim.step() {}
    for who in ALL {
        assert_eq!(log(&sim, who), ["p0#1", "p0#2", "p0#3"], "{who}");
    }
    let outcome = sim.run();
    assert_eq!((outcome.end, outcome.violations.len()), (End::Goal, 0));
}

/// p2 alone has decided p0's block, by the certificate of view 2. p3 has not even heard of that of view 1. The leader of
/// view 3 is not heard. View 4 is led by p3, whose own report is the first one.
fn hidden_decision(flag: &str, byzantine: &str) -> Told {
    let settings = format!(
        "protocol = {{ pacemaker = 'local', flags = ['{flag}'] }}\nworkload.requests = 3\n\
         adversary.byzantine = [{byzantine}]"
    );
    let mut s: Told = story("fast-hotstuff", &settings);
    s.deliver("p0>p1,p2,p3 proposal").deliver("p0,p2,p3>p1 vote");
    s.deliver("p1>p0,p2 proposal").drop("p1>p3 proposal").deliver("p0,p1>p2 vote").drop("p2>* proposal");
    expect_logs(s.sim(), &["p2"], &["p0#1"]);
    expect_logs(s.sim(), &["p0", "p1", "p3"], &[]);
    s
}

/// View 4 and what follows: the others vote for p3's block, which p1 decides with the certificate of view 5.
fn branch_off(s: &mut Told, voters: &str) {
    s.deliver(&format!("p3>{voters} proposal")).deliver("p1,p2,p3>p0 vote");
    s.deliver("p0>p1,p2 proposal").deliver("p0,p2>p1 vote");
}

#[test]
fn the_certificate_of_one_report_is_not_the_highest() {
    // Nobody lies. p3 takes the first report, which is its own.
    let mut s = hidden_decision("agg-not-max", "");
    expect_views(s.sim(), &["p2"], 4);
    time_out(&mut s, &["p3"], 2);
    time_out(&mut s, &["p0", "p1"], 1);
    s.deliver("p0,p1>p3 new-view").deliver("p3>p0,p1 proposal").deliver("p1,p3>p0 vote");
    s.deliver("p0>p1,p3 proposal").deliver("p0,p3>p1 vote");
    expect_logs(s.sim(), &["p1"], &["p3#1"]);
    witness(&mut s, "fast-hotstuff/agg-not-max");
}

#[test]
fn one_report_less_may_be_the_one_that_matters() {
    // p3's report and that of Byzantine p0, which has forgotten what it voted for.
    let mut s = hidden_decision("agg-quorum-minus-one", "'p0'");
    time_out(&mut s, &["p3"], 2);
    time_out(&mut s, &["p0", "p1"], 1);
    s.mutate("p0>p3 new-view", "new-view.justify=genesis").deliver("p0>p3 new-view");
    s.deliver("p3>p0,p1 proposal")
        .deliver("p1,p3>p0 vote")
        .deliver("p0>p1,p3 proposal")
        .deliver("p0,p3>p1 vote");
    expect_logs(s.sim(), &["p1"], &["p3#1"]);
    witness(&mut s, "fast-hotstuff/agg-quorum-minus-one");
}

#[test]
fn two_reports_of_one_replica_are_one() {
    let mut s = hidden_decision("agg-no-dedup", "'p0'");
    time_out(&mut s, &["p3"], 2);
    time_out(&mut s, &["p0", "p1"], 1);
    s.mutate("p0>p3 new-view", "new-view.justify=genesis")
        .duplicate("p0>p3 new-view")
        .deliver("p0>p3 new-view");
    s.deliver("p3>p0,p1 proposal")
        .deliver("p1,p3>p0 vote")
        .deliver("p0>p1,p3 proposal")
        .deliver("p0,p3>p1 vote");
    expect_logs(s.sim(), &["p1"], &["p3#1"]);
    witness(&mut s, "fast-hotstuff/agg-no-dedup");
}

#[test]
fn a_block_beside_its_proof_need_not_follow_from_it() {
    // Byzantine p3 sends the reports as they are, and a block on top of the first one.
    let mut s = hidden_decision("agg-block-unchecked", "'p3'");
    time_out(&mut s, &["p3"], 2);
    time_out(&mut s, &["p0", "p1"], 1);
    s.deliver("p0,p1>p3 new-view").mutate("p3>* proposal", "proposal.justify=genesis+parent");
    branch_off(&mut s, "p0,p1,p2");
    expect_logs(s.sim(), &["p1"], &["p3#1"]);
    witness(&mut s, "fast-hotstuff/agg-block-unchecked");
}

#[test]
fn reports_of_other_views_are_out_of_date() {
    // Byzantine p3 leads views 2 and 5. In view 2 everybody reports nothing. Its block is decided by p1, with the
    // certificate of view 3, of which p2 has not heard. In view 5 p3 takes its own report and that of p1 of view 2, and
    // that of p2 of view 5: nobody seems to know anything.
    let leaders = "cluster.leaders = ['p0', 'p3', 'p0', 'p1', 'p3']";
    let settings = format!(
        "protocol = {{ pacemaker = 'local', flags = ['agg-mixed-views'] }}\n{leaders}\nworkload.requests = 3\n\
         adversary.byzantine = ['p3']"
    );
    let mut s: Told = story("fast-hotstuff", &settings);
    s.drop("p0>* proposal");
    time_out(&mut s, &["p1", "p2", "p3"], 1);
    s.deliver("p2>p3 new-view").deliver("p1>p3 new-view").deliver("p3>p0,p1,p2 proposal");
    s.deliver("p1,p2,p3>p0 vote")
        .deliver("p0>p1,p3 proposal")
        .drop("p0>p2 proposal")
        .deliver("p0,p3>p1 vote");
    expect_logs(s.sim(), &["p1"], &["p3#1"]);
    s.drop("p1>* proposal");
    time_out(&mut s, &["p2"], 2);
    time_out(&mut s, &["p0", "p3"], 1);
    assert_eq!(qc(s.sim(), "p2", "high_qc"), ("genesis".to_owned(), 0));
    expect_views(s.sim(), &ALL, 5);
    s.deliver("p2>p3 new-view").deliver("p0>p3 new-view");
    for lie in ["proposal.agg.first=earlier", "proposal.agg.last=earlier", "proposal.justify=genesis+parent"]
    {
        s.mutate("p3>* proposal", lie);
    }
    s.deliver("p3>* proposal").deliver("p0,p2>p1 vote").deliver("p1>p0,p2 proposal").deliver("p0,p1>p2 vote");
    expect_logs(s.sim(), &["p2"], &["p3#2"]);
    witness(&mut s, "fast-hotstuff/agg-mixed-views");
}

#[test]
fn a_vote_after_the_report_is_a_vote_that_the_report_does_not_tell_of() {
    // Nobody lies. p1's proposal of view 2 is late: p0, p2 and p3 have given up, and reported nothing, when it comes. p0
    // and p3 vote for it. So p2 has the certificate of view 2, which decides the first block. But p2 has proposed a
    // block of its own in view 3, on the reports, and the others decide that.
    let settings =
        "protocol = { pacemaker = 'local', flags = ['vote-after-timeout'] }\nworkload.requests = 3";
    let mut s: Told = story("fast-hotstuff", settings);
    s.deliver("p0>p1,p2,p3 proposal").deliver("p0,p2,p3>p1 vote");
    time_out(&mut s, &["p0", "p2", "p3"], 1);
    s.deliver("p0,p3>p2 new-view").deliver("p1>p0,p2,p3 proposal").deliver("p0,p1,p3>p2 vote");
    expect_logs(s.sim(), &["p2"], &["p0#1"]);
    s.deliver("p2>p0,p1,p3 proposal")
        .deliver("p0,p1>p3 vote")
        .deliver("p3>p0,p1 proposal")
        .deliver("p1,p3>p0 vote");
    expect_logs(s.sim(), &["p0"], &["p2#1"]);
    witness(&mut s, "fast-hotstuff/vote-after-timeout");
}

#[test]
fn two_votes_of_one_replica_are_one() {
    // Byzantine p3 votes twice for each block of p0, which leads three views and decides alone. Then p3 has forgotten
    // all of it, and p1, p2 and p3 begin anew.
    let settings = "protocol = { pacemaker = 'local', flags = ['no-dedup-votes'] }\nworkload.requests = 3\n\
                    cluster.leaders = ['p0', 'p0', 'p0', 'p1', 'p2', 'p1']\nadversary.byzantine = ['p3']";
    let mut s: Told = story("fast-hotstuff", settings);
    for view in 1..=2 {
        s.deliver("p0>p3 proposal").drop("p0>* proposal");
        assert_eq!(chain::view(s.sim(), "p3"), view + 1);
        s.duplicate("p3>p0 vote").deliver("p3>p0 vote");
    }
    expect_logs(s.sim(), &["p0"], &["p0#1"]);
    s.drop("p0>* proposal");
    time_out(&mut s, &["p1", "p2"], 3);
    time_out(&mut s, &["p3"], 1);
    expect_views(s.sim(), &["p1", "p2", "p3"], 4);
    s.mutate("p3>p1 new-view", "new-view.justify=genesis").deliver("p2,p3>p1 new-view");
    s.deliver("p1>p2,p3 proposal")
        .deliver("p1,p3>p2 vote")
        .deliver("p2>p1,p3 proposal")
        .deliver("p2,p3>p1 vote");
    expect_logs(s.sim(), &["p1"], &["p1#1"]);
    witness(&mut s, "fast-hotstuff/no-dedup-votes");
}
