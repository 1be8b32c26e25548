//! Attacks on basic HotStuff. Each needs the deviation that it names, and the correct protocol survives the same schedule.

use crate::chain;
use crate::chain::{expect_locks, expect_logs, expect_views, recorded, scenario, story, time_out};
use crate::stage::{ALL, BACKUPS, is_witness, witness};
use turncoat_core::outcome::Property;
use turncoat_core::story::Story;
use turncoat_protocols::hotstuff::basic::HotStuff;

type Told = Story<HotStuff>;

/// A story with a deviation, in which replicas do not wait for others when their timers fire.
fn attack(flag: &str, settings: &str) -> Told {
    let protocol = format!("protocol = {{ pacemaker = 'local', flags = ['{flag}'] }}\nworkload.requests = 3");
    story("hotstuff", &format!("{protocol}\n{settings}"))
}

/// The phases of a view, from the message `first` to the message `last`.
fn phases(s: &mut Told, leader: &str, others: &str, first: &str, last: &str) {
    let kinds = ["prepare", "pre-commit", "commit", "decide"];
    let place = |kind| kinds.iter().position(|&other| other == kind).expect("a phase");
    for kind in &kinds[place(first)..=place(last)] {
        if *kind != first {
            s.deliver(&format!("{others}>{leader} vote"));
        }
        s.deliver(&format!("{leader}>{others} {kind}"));
    }
}

/// The block of view 1 is decided. That of view 2 is prepared, and nobody is locked on it. Byzantine p2 leads view 3. Its
/// block is justified by the certificate of view 2, which is later than all locks, but its parent is the first
/// block.
#[test]
fn a_block_is_justified_by_one_block_and_extends_another() {
    let mut s = attack("no-parent-qc-check", "adversary.byzantine = ['p2']");
    s.deliver("p1,p2,p3>p0 new-view");
    phases(&mut s, "p0", "p1,p2,p3", "prepare", "decide");
    s.deliver("p0,p2,p3>p1 new-view");
    phases(&mut s, "p1", "p0,p2,p3", "prepare", "pre-commit");
    time_out(&mut s, &ALL, 1);
    s.drop("*>p1 vote")
        .deliver("p0,p1,p3>p2 new-view")
        .mutate("p2>* prepare", "prepare.parent=genesis+height");
    phases(&mut s, "p2", "p0,p1,p3", "prepare", "decide");
    expect_logs(s.sim(), &["p0", "p1", "p3"], &["p0#1", "p2#1"]);
    witness(&mut s, "hotstuff/parent-qc");
}

/// p0 has decided its block, with the votes of all, and nobody else has. Byzantine p1 proposes as if it had not heard of
/// it. The others are not locked, or do not care.
#[test]
fn without_locks_a_decision_can_be_undone() {
    for flag in ["no-lock-update", "no-safe-node"] {
        let mut s = attack(flag, "adversary.byzantine = ['p1']");
        s.deliver("p1,p2,p3>p0 new-view");
        phases(&mut s, "p0", "p1,p2,p3", "prepare", "commit");
        s.deliver("p1,p2,p3>p0 vote").drop("p0>* decide");
        expect_logs(s.sim(), &["p0"], &["p0#1"]);
        time_out(&mut s, &BACKUPS, 1);
        expect_views(s.sim(), &ALL, 2);
        s.deliver("p2,p3>p1 new-view").mutate("p1>* prepare", "prepare.justify=genesis+parent");
        phases(&mut s, "p1", "p0,p2,p3", "prepare", "decide");
        expect_logs(s.sim(), &["p2", "p3"], &["p1#1"]);
        witness(&mut s, &format!("hotstuff/{flag}"));
    }
}

/// p0 and p1 decide a block with their two votes, p2 and p3 another one with theirs. Byzantine p0 reports to p2 that it has
/// seen nothing.
#[test]
fn two_votes_are_no_quorum() {
    let mut s = attack("quorum-2f", "adversary.byzantine = ['p0']");
    s.deliver("p1,p2,p3>p0 new-view");
    phases(&mut s, "p0", "p1", "prepare", "decide");
    expect_logs(s.sim(), &["p1"], &["p0#1"]);
    time_out(&mut s, &["p2", "p3"], 2);
    time_out(&mut s, &["p0"], 1);
    s.mutate("p0>p2 new-view", "new-view.justify=genesis").deliver("p0,p3>p2 new-view");
    phases(&mut s, "p2", "p3", "prepare", "decide");
    expect_logs(s.sim(), &["p2", "p3"], &["p2#1"]);
    witness(&mut s, "hotstuff/quorum-2f");
}

/// As before, but each has a vote twice: that of Byzantine p1 counts for two in view 1, that of p3 in view 3.
#[test]
fn the_same_vote_twice_is_one_vote() {
    let mut s = attack("no-dedup-votes", "adversary.byzantine = ['p1']");
    let alone = |s: &mut Told, leader: &str, other: &str| {
        for kind in ["prepare", "pre-commit", "commit"] {
            let vote = format!("{other}>{leader} vote");
            s.deliver(&format!("{leader}>{other} {kind}")).duplicate(&vote).deliver(&vote);
        }
    };
    s.deliver("p1,p2,p3>p0 new-view");
    alone(&mut s, "p0", "p1");
    expect_logs(s.sim(), &["p0"], &["p0#1"]);
    time_out(&mut s, &BACKUPS, 2);
    s.mutate("p1>p2 new-view", "new-view.justify=genesis").deliver("p1,p3>p2 new-view");
    alone(&mut s, "p2", "p3");
    expect_logs(s.sim(), &["p2"], &["p2#1"]);
    witness(&mut s, "hotstuff/no-dedup-votes");
}

/// Byzantine p0 runs twice and proposes two blocks in one view. Everybody votes for both, in all phases. The first
/// instance hears the votes for its block first, the second one those for the other.
#[test]
fn two_votes_in_a_view_are_one_too_many() {
    let mut s = attack("double-vote", "adversary = { byzantine = ['p0'], twins = ['p0'] }");
    s.deliver("p1,p2,p3>p0.a,p0.b new-view");
    for (kind, votes) in [("prepare", 1), ("pre-commit", 3), ("commit", 5)] {
        s.deliver(&format!("p0.a>p1,p2 {kind}")).deliver(&format!("p1,p2>p0.a vote #{votes}"));
        s.deliver(&format!("p0.b>p1,p2 {kind}")).deliver(&format!("p1,p2>p0.b vote #{}", votes + 1));
    }
    s.deliver("p0.a>p1 decide").deliver("p0.b>p2 decide");
    expect_logs(s.sim(), &["p1"], &["p0.a#1"]);
    expect_logs(s.sim(), &["p2"], &["p0.b#1"]);
    witness(&mut s, "hotstuff/double-vote");
}

/// Byzantine p0 sends the certificate of the first phase as if it were that of the second. p1 and p2 lock on a block that
/// nobody will ever report: they have not heard that it is prepared. p0 is not heard of again. All later leaders
/// propose something else, which p1 and p2 refuse.
#[test]
fn a_lock_without_a_certificate_to_report_is_for_ever() {
    let mut s = attack("qc-type-unchecked", "adversary.byzantine = ['p0']");
    s.deliver("p1,p2,p3>p0 new-view").deliver("p0>* prepare").deliver("*>p0 vote");
    s.mutate("p0>p1,p2 pre-commit", "pre-commit.as-commit")
        .deliver("p0>p1,p2 pre-commit")
        .drop("p0>p3 pre-commit");
    expect_locks(s.sim(), &[("p1", "p0#1@1"), ("p2", "p0#1@1"), ("p3", "genesis@0")]);
    s.crash("p0");
    let outcome = witness(&mut s, "hotstuff/qc-type-unchecked");
    assert_eq!(outcome.commits, 0);
    expect_locks(s.sim(), &[("p1", "p0#1@1"), ("p2", "p0#1@1"), ("p3", "genesis@0")]);
}

/// Byzantine p0 leads views 1 and 3. In view 1 it keeps the certificate of its block to itself. In view 2 the others decide
/// another block. In view 3 p0 sends its old certificate as the one of this view, and the phases take their course.
#[test]
fn the_certificate_of_an_old_view_is_out_of_date() {
    let leaders = "cluster.leaders = ['p0', 'p1', 'p0']";
    let mut s = attack("qc-view-unchecked", &format!("{leaders}\nadversary.byzantine = ['p0']"));
    s.deliver("p1,p2,p3>p0 new-view").deliver("p0>* prepare").deliver("*>p0 vote");
    time_out(&mut s, &ALL, 1);
    s.deliver("p2,p3>p1 new-view");
    phases(&mut s, "p1", "p2,p3", "prepare", "decide");
    expect_logs(s.sim(), &BACKUPS, &["p1#1"]);
    time_out(&mut s, &["p0"], 1);
    expect_views(s.sim(), &ALL, 3);
    s.mutate("p0>* pre-commit", "pre-commit.view+1").mutate("p0>* pre-commit", "pre-commit.view+1");
    phases(&mut s, "p0", "p1,p2,p3", "pre-commit", "decide");
    expect_logs(s.sim(), &BACKUPS, &["p1#1", "p0#1"]);
    witness(&mut s, "hotstuff/qc-view-unchecked");
}

/// Byzantine p0 proposes a block of height 2 on top of the first one, which has height 0.
#[test]
fn a_block_can_claim_any_height() {
    let mut s = attack("height-unchecked", "adversary.byzantine = ['p0']");
    s.deliver("p1,p2,p3>p0 new-view").mutate("p0>* prepare", "prepare.height+1");
    phases(&mut s, "p0", "p1,p2,p3", "prepare", "decide");
    expect_logs(s.sim(), &BACKUPS, &["p0#1"]);
    witness(&mut s, "hotstuff/height-unchecked");
}

/// Byzantine p0 sends the certificate of the first phase to p1 as if it were that of the last. p1 decides what nobody else
/// has heard of, and in view 2 something else, with the others.
#[test]
fn a_prepared_block_is_not_decided() {
    let mut s = attack("decide-any-qc", "adversary.byzantine = ['p0']");
    s.deliver("p1,p2,p3>p0 new-view").deliver("p0>* prepare").deliver("*>p0 vote");
    s.mutate("p0>p1 pre-commit", "pre-commit.as-decide").deliver("p0>p1 pre-commit").drop("p0>* pre-commit");
    expect_logs(s.sim(), &["p1"], &["p0#1"]);
    time_out(&mut s, &["p2", "p3"], 1);
    s.deliver("p2,p3>p1 new-view");
    phases(&mut s, "p1", "p2,p3", "prepare", "decide");
    expect_logs(s.sim(), &["p1"], &["p0#1", "p1#1"]);
    expect_logs(s.sim(), &["p2", "p3"], &["p1#1"]);
    witness(&mut s, "hotstuff/decide-any-qc");
}

/// A calm network, and views that all take a hundred ticks.
const CALM: &str = "network = { latency = 1, bound = 10, gst = { time = 0 } }\nworkload.requests = 1\n\
                    limits = { time = 20000, steps = 100000 }";

/// Byzantine p3 proposes in every view, though it does not lead, to one replica, which hears it before the leader and
/// votes for it. The two other votes are not enough. Where p3 leads, it is silent.
#[test]
fn a_proposal_of_somebody_else_takes_votes_from_the_leader() {
    let proposes = |leader: &str, to: &str| {
        format!(
            "{{ from = ['p3'], to = ['{leader}'], kind = 'new-view', times = 1000000, \
             originate = {{ mint = 'prepare', to = ['{to}'] }} }}"
        )
    };
    let settings = format!(
        "protocol = {{ pacemaker = 'local', delta = 10, doublings = 0, flags = ['no-leader-check'] }}\n{CALM}\n\
         [adversary]\nbyzantine = ['p3']\nfaults = [{{ from = ['p3'], kind = ['prepare', 'vote'], drop = true }}, \
         {}, {}, {}]",
        proposes("p0", "p1"),
        proposes("p1", "p2"),
        proposes("p2", "p1"),
    );
    let bug = scenario("hotstuff", &settings);
    let mut sim = recorded::<HotStuff>(&bug);
    let outcome = sim.run();
    assert!(outcome.violation(Property::Termination).is_some());
    assert!(chain::view(&sim, "p0") > 100);
    is_witness(bug, "hotstuff/no-leader-check");
}

/// Whenever Byzantine p3 votes, its clock runs out, and it says TIMEOUT. The others follow it before anything is decided.
/// Where p3 leads, it is silent.
#[test]
fn one_timeout_ends_every_view() {
    let settings = format!(
        "protocol = {{ delta = 10, doublings = 0, flags = ['tc-quorum-low'] }}\n{CALM}\n\
         [adversary]\nbyzantine = ['p3']\nfaults = [{{ from = ['p3'], kind = 'prepare', drop = true }}, \
         {{ from = ['p3'], kind = 'vote', times = 1000000, jump = {{ node = 'p3', by = 1000000000 }} }}]"
    );
    let bug = scenario("hotstuff", &settings);
    let mut sim = recorded::<HotStuff>(&bug);
    let outcome = sim.run();
    assert!(outcome.violation(Property::Termination).is_some());
    assert!(chain::view(&sim, "p0") > 100);
    is_witness(bug, "hotstuff/tc-quorum-low");
}
