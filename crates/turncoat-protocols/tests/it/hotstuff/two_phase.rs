//! Stories of HotStuff with two phases: safe, and not live.

use crate::chain;
use crate::chain::{expect_locks, expect_logs, expect_views, is_hot, log, recorded, scenario, story};
use crate::stage::{ends, is_witness, witness};
use turncoat_core::outcome::{End, Property};
use turncoat_core::scenario::Scenario;
use turncoat_core::story::Story;
use turncoat_protocols::hotstuff::basic::HotStuff;

const CORRECT: [&str; 3] = ["p1", "p2", "p3"];

/// Figure 2 of the paper on liveness checking. Byzantine p0 has two faces. The first one leads view 1: its block reaches
/// p2 and p3, whose votes make a certificate with its own, and the certificate reaches p2 alone. In view 2 the report
/// of p2 comes late: p1 proposes on the first block, p2 refuses, and the second face of p0 votes with p1 and p3. They
/// lock. p0 votes no more, and is not heard of again.
fn figure_2(protocol: &str) -> Story<HotStuff> {
    let settings = "protocol.pacemaker = 'local'\nworkload.requests = 2\nnetwork.latency = 10\n\
                    adversary = { byzantine = ['p0'], twins = ['p0'] }";
    let mut s = story(protocol, settings);
    s.deliver("p1,p2,p3>p0.a new-view").deliver("p0.a>p2,p3 prepare").deliver("p2,p3>p0.a vote");
    s.deliver("p0.a>p2 commit").drop("p0.a>* commit").drop("p0.a>* prepare").drop("*>* vote");
    for who in ["p0.b", "p1", "p2", "p3"] {
        s.timeout(who, "view");
    }
    expect_locks(s.sim(), &[("p1", "genesis@0"), ("p2", "p0.a#1@1"), ("p3", "genesis@0")]);
    s.deliver("p0.b,p3>p1 new-view").deliver("p1>p0.b,p2,p3 prepare").deliver("p0.b,p3>p1 vote");
    assert!(s.noted("refuses"));
    s.deliver("p1>p3 commit").drop("p1>* commit").deliver("p3>p1 vote");
    expect_locks(s.sim(), &[("p1", "p1#1@2"), ("p2", "p0.a#1@1"), ("p3", "p1#1@2")]);
    assert!(is_hot(s.sim(), &CORRECT, 3));
    s.crash("p0.a").crash("p0.b");
    expect_logs(s.sim(), &CORRECT, &[]);
    s
}

#[test]
fn after_figure_2_a_synchronous_view_is_enough() {
    // The paper calls this a deadlock. It is not: the leader of view 3 hears of the later lock, and p2 accepts a block
    // that is justified by it.
    let mut s = figure_2("hotstuff-two-phase");
    for who in CORRECT {
        s.timeout(who, "view");
    }
    s.deliver("p1,p3>p2 new-view").deliver("p2>p1,p3 prepare").deliver("p1,p3>p2 vote");
    s.deliver("p2>p1,p3 commit").deliver("p1,p3>p2 vote").deliver("p2>p1,p3 decide");
    expect_views(s.sim(), &CORRECT, 4);
    expect_logs(s.sim(), &CORRECT, &["p1#1", "p2#1"]);
    assert_eq!(ends(&mut s).end, End::Goal);
    s.expect_no_violation();
}

#[test]
fn without_a_way_out_of_the_lock_figure_2_is_the_end() {
    let mut s = figure_2("hotstuff-two-phase-sticky");
    let outcome = witness(&mut s, "hotstuff-two-phase/sticky");
    assert_eq!(outcome.commits, 0);
    expect_locks(s.sim(), &[("p1", "p1#1@2"), ("p2", "p0.a#1@1"), ("p3", "p1#1@2")]);
    assert!(CORRECT.iter().all(|who| chain::view(s.sim(), who) > 20));
}

/// The infinite transcript. Byzantine p0 has two faces. In view 1, as in figure 2, p3 alone gets to know the certificate.
/// From then on, in every view with a correct leader, the replica with the highest certificate is the last to report
/// (but in time, within delta = 10), and refuses what the leader proposes on the second highest. The second face of p0
/// gives the missing vote at the last moment: the leader has a certificate, which reaches the others a tick after
/// they have given up the view. Where p0 leads, it is silent.
fn late_votes(protocol: &str) -> Scenario {
    // A view takes 100 ticks. The vote of p0.b leaves in the second tick and takes one anyway.
    let late = |from: &str, to: &str| {
        format!("{{ from = ['{from}'], to = ['{to}'], kind = 'new-view', delay = 9 }},")
    };
    let settings = format!(
        "protocol = {{ delta = 10, doublings = 0, pacemaker = 'local' }}\nworkload.requests = 1\n\
         network = {{ latency = 1, bound = 10, gst = {{ time = 0 }} }}\n\
         limits = {{ time = 100000, steps = 1000000 }}\n\
         [adversary]\nbyzantine = ['p0']\ntwins = ['p0']\nfaults = [\
         {{ from = ['p0.a'], to = ['p1'], drop = true }},\
         {{ from = ['p0.a'], to = ['p0.b', 'p2'], kind = 'commit', drop = true }},\
         {{ from = ['p0.a'], round = {{ from = 2 }}, source = 'view', drop = true }},\
         {{ from = ['p0.b'], kind = 'prepare', drop = true }},\
         {{ from = ['p0.b'], round = 1, source = 'view', drop = true }},\
         {{ from = ['p0.b'], kind = 'vote', delay = 97 }}, {}{}{}]",
        late("p3", "p1"),
        late("p1", "p2"),
        late("p2", "p3"),
    );
    scenario(protocol, &settings)
}

#[test]
fn one_liar_with_late_votes_keeps_two_phases_from_deciding() {
    let livelock = late_votes("hotstuff-two-phase");
    let mut sim = recorded::<HotStuff>(&livelock);
    let mut last = 2;
    while sim.step() {
        // At the beginning of a view everything is as it was four views before, but for the numbers.
        let view = chain::view(&sim, "p1");
        if view > last && CORRECT.iter().all(|who| chain::view(&sim, who) == view) {
            last = view;
            assert!(is_hot(&sim, &CORRECT, 3), "view {view}");
            if view % 4 == 1 && (view < 50 || view % 100 == 1) {
                let locks = CORRECT.map(|who| chain::lock(&sim, who).1);
                assert_eq!(locks, [view - 3, view - 2, view - 1].map(u64::from), "view {view}");
            }
        }
    }
    let outcome = sim.run();
    assert!(last >= 1000, "{last}");
    assert_eq!((outcome.commits, outcome.end), (0, End::Limit("time")));
    assert!(outcome.violation(Property::Termination).is_some_and(|found| found.rule == "bounded"));
    is_witness(livelock, "hotstuff-two-phase/livelock");
}

#[test]
fn with_three_phases_or_patient_leaders_the_first_such_view_decides() {
    for (protocol, blocks) in
        [("hotstuff", ["p0.a#1", "p1#1"].as_slice()), ("hotstuff-two-phase-fixed", &["p0.a#1", "p1#1"])]
    {
        let mut sim = recorded::<HotStuff>(&late_votes(protocol));
        let outcome = sim.run();
        assert_eq!(outcome.end, End::Goal, "{protocol}");
        assert_eq!(log(&sim, "p2"), blocks, "{protocol}");
        assert!(chain::view(&sim, "p2") <= 3, "{protocol}");
    }
}
