//! Attacks on each deviation, with the schedule that shows it. The correct protocol bears the same schedule.

use super::stage::{LEARNERS, accepted, attack, expect_view, proposal, suspect};
use crate::stage::{
    ALL, BACKUPS, NOTHING, completes, ends, entry, expect_logs, run, scenario_of, violates, without_flags,
    witness,
};
use turncoat_core::outcome::{End, Property};
use turncoat_core::story::Story;
use turncoat_lab::lasso::find;
use turncoat_protocols::fab::Fab;

const CONFLICT: &[&str] = &["pfab-vouch-conflict"];
/// Two clients with a request each; p0 is Byzantine.
const P0_LIES: &str = "cluster.clients = 2\nadversary.byzantine = ['p0']";

/// The first view of 4.1. p0 proposes r1 to p1 and p2, r2 to p3, and says ACCEPTED(r1) to p1 and p2 alone. They have a
/// commit proof then, and nobody has learned anything, since p0 sends none. Three proposers suspect it.
fn conflict(s: &mut Story<Fab>) {
    s.deliver("c0>* request").deliver("c1>* request");
    s.mutate("p0>p3 propose", "propose.value=earlier").mutate("p0>p3 accepted", "accepted.omit");
    s.hold("p0>* commit-proof").deliver_all().mutate("p0>* commit-proof", "commit-proof.omit");
    expect_logs(s, &BACKUPS, &NOTHING);
    assert_eq!(BACKUPS.map(|who| accepted(s, who)), ["r1@1 v1+", "r1@1 v1+", "r2@1 v1"]);
    suspect(s, &BACKUPS);
    s.hold("*>* rep").deliver_all();
    expect_view(s, &ALL, 2);
    s.mutate("p0>p1 rep", "rep.accepted=other+proof=none").deliver("p0>p1 rep").deliver("p3>p1 rep");
}

#[test]
fn reports_and_a_proof_leave_the_leader_no_value() {
    // 4.1 (Abraham et al., 2017). p1 hears r2 from p0 and p3, and has a proof of r1 itself. p2's REP comes too late.
    let mut s = attack("pfab", CONFLICT, P0_LIES);
    conflict(&mut s);
    s.expect_violation(Property::Custom);
    assert!(s.noted("is stuck"));
    s.heal().deliver_all();
    assert_eq!(proposal(&s, "p1"), "nothing");
    expect_logs(&s, &BACKUPS, &NOTHING);
    witness(&mut s, "fab/vouch-conflict");

    // Repaired, the proof counts: r1 is learned by all in view 2.
    let mut s = attack("pfab", &[], P0_LIES);
    conflict(&mut s);
    assert_eq!(proposal(&s, "p1"), "r1@1");
    s.heal().hold("c1>* request").deliver_all();
    expect_view(&s, &ALL, 2);
    assert!(BACKUPS.iter().all(|who| s.log(who)[0].1 == "r1"));
    completes(&mut s);

    // A leader that looks again when p2's REP arrives goes on too: the REPs of p1, p2 and p3 vouch for r1.
    let mut s = attack("pfab", &["pfab-vouch-conflict", "leader-retries"], P0_LIES);
    conflict(&mut s);
    assert_eq!(proposal(&s, "p1"), "nothing");
    s.deliver("p2>p1 rep");
    assert_eq!(proposal(&s, "p1"), "r1@1");
    s.heal().deliver_all();
    expect_view(&s, &ALL, 2);
    assert!(BACKUPS.iter().all(|who| s.log(who)[0].1 == "r1"));
    completes(&mut s);
}

#[test]
fn with_t_of_one_reports_and_a_proof_leave_the_leader_no_value() {
    // 4.1 with six acceptors: p1, p2 and p4 have a proof of r1, p3 and p5 have accepted r2. p4's REP comes too late.
    let settings = format!("cluster.n = 6\nprotocol.t = 1\n{P0_LIES}");
    let mut s = attack("pfab", CONFLICT, &settings);
    s.deliver("c0>* request").deliver("c1>* request");
    s.mutate("p0>p3,p5 propose", "propose.value=earlier").mutate("p0>p3,p5 accepted", "accepted.omit");
    s.hold("p0>* commit-proof").deliver_all().mutate("p0>* commit-proof", "commit-proof.omit");
    expect_logs(&s, &LEARNERS, &NOTHING);
    assert_eq!(["p1", "p2", "p4"].map(|who| accepted(&s, who)), ["r1@1 v1+"; 3]);
    assert_eq!(["p3", "p5"].map(|who| accepted(&s, who)), ["r2@1 v1"; 2]);
    suspect(&mut s, &BACKUPS);
    s.hold("*>* rep").deliver_all();
    s.mutate("p0>p1 rep", "rep.accepted=other+proof=none").deliver("p0,p2,p3,p5>p1 rep");
    s.expect_violation(Property::Custom);
    s.heal().deliver_all();
    witness(&mut s, "fab/vouch-conflict-t1");
}

#[test]
fn one_lasting_lie_is_enough_for_a_conflict() {
    // Shorter than published, and found by `two-faced`: p0 says r1 to p1 and p3, in PROPOSE and in ACCEPTED, and is honest
    // otherwise. It has accepted r2 itself, so it has no commit proof, and says so to p1: nothing is withheld, nothing late.
    let settings = "cluster.clients = 2\nadversary.byzantine = ['p0']\n\
        adversary.faults = [{ persona = { of = 'p0', to = ['p1', 'p3'], at-view-change = [], form = 'outgoing',\
        edits = [{ sub = { slot = 1, with = 0 } }] } }]";
    let mut s = attack("pfab", CONFLICT, settings);
    s.deliver("c1>* request").deliver("c0>* request").deliver_all();
    assert_eq!(BACKUPS.map(|who| accepted(&s, who)), ["r1@1 v1+", "r2@1 v1", "r1@1 v1+"]);
    suspect(&mut s, &BACKUPS);
    s.hold("p3>p1 rep").deliver_all();
    s.expect_violation(Property::Custom);
    s.heal();
    violates(&mut s, Property::Custom);
}

#[test]
fn a_slow_link_makes_every_leader_stuck() {
    // 4.1, all views: p0 does what it does there whenever it can, and after the first view the link between p1 and p2 is
    // slower than the others. p1 never hears p2 in time, nor p2 p1; p3 is stuck whomever it hears; p0 is silent.
    let settings = format!(
        "protocol.flags = {CONFLICT:?}\n{P0_LIES}\nnetwork = {{ latency = 1, bound = 4, gst = {{ time = 0 }} }}\n\
         limits.views = 12\nworkload.goal = 'none'\nadversary.faults = [\
         {{ from = ['p0'], to = ['p3'], mutate = 'propose.value=earlier' }},\
         {{ from = ['p0'], to = ['p3'], kind = 'accepted', mutate = 'accepted.omit' }},\
         {{ from = ['p0'], mutate = 'commit-proof.omit' }}, {{ from = ['p0'], mutate = 'query.omit' }},\
         {{ from = ['p0'], mutate = 'rep.accepted=other+proof=none' }},\
         {{ from = ['p1'], to = ['p2'], delay = 3 }}, {{ from = ['p2'], to = ['p1'], delay = 3 }}]"
    );
    let outcome = run(&scenario_of(toml::toml! { name = "pfab" }, &settings));
    assert_eq!((outcome.commits, outcome.end), (0, End::Limit("views")));
    assert!(outcome.violation(Property::Custom).is_some());
}

#[test]
fn after_one_round_of_lies_nothing_is_ever_learned() {
    // 4.1, with less than published: p0 lies in the first view alone, as in the story above, and keeps to the protocol
    // ever after. With a slow link between p1 and p3 every leader is stuck, p0 too. `turncoat lasso` proves that it never
    // ends, for which clients must not count how often they have asked.
    let settings = format!(
        "{P0_LIES}\nprotocol.doublings = 2\nworkload.retries = 0\nnetwork = {{ latency = 1, bound = 4 }}\n\
         adversary.faults = [{{ from = ['p1'], to = ['p3'], delay = 3 }}, {{ from = ['p3'], to = ['p1'], delay = 3 }}]"
    );
    let mut s = attack("pfab", CONFLICT, &settings);
    s.deliver("c1>p0 request").mutate("p0>p1,p3 propose", "propose.value=earlier");
    s.mutate("p0>p1,p3 accepted", "accepted.value=earlier");
    let outcome = witness(&mut s, "fab/vouch-conflict-termination");
    assert_eq!((outcome.commits, outcome.injected.mutated), (0, 4));
    let found = find(&entry("pfab"), &s.scenario()).expect("a scenario that can run");
    assert!(found.never_terminates(), "{found:?}");
}

#[test]
fn nobody_suspects_the_second_leader() {
    // The first leader is suspected too early, the second one, p1, is silent: that is the end.
    let settings = "workload.requests = 1\nadversary.byzantine = ['p1']\nlimits.steps = 5000";
    let mut s = attack("pfab", &["no-reelection"], &format!("{settings}\ncluster.clients = 1"));
    s.hold("p0>* propose").lose("p1>* *").deliver("c0>* request");
    suspect(&mut s, &["p0", "p2", "p3"]);
    s.deliver("p0,p2,p3>* suspect").drop("p1>* *").heal();
    s.deliver_only("*>* elected").crash("p1");
    let outcome = witness(&mut s, "fab/no-reelection");
    assert_eq!(outcome.completed, 0);

    // With the conflict it takes no silent leader.
    let mut s = attack("pfab", &["pfab-vouch-conflict", "no-reelection"], P0_LIES);
    conflict(&mut s);
    s.heal();
    let outcome = ends(&mut s);
    assert!(outcome.violation(Property::Termination).is_some(), "{:?}", outcome.violations);
    assert_eq!(run(&without_flags(&s.scenario())).violations.len(), 0);
}

#[test]
fn what_nobody_vouches_for_is_learned_after_another_value() {
    // 4.2. p1 leads view 1: p2 alone learns r1. p0 leads view 2, and proposes r2 without a certificate.
    let settings = format!(
        "cluster = {{ n = 6, clients = 2, leaders = ['p1', 'p0'] }}\n{}",
        "adversary.byzantine = ['p0']"
    );
    let mut s = attack("fab", &["skip-vouch"], &settings);
    s.deliver("c0>* request").deliver("p1>* propose").deliver("*>p2 accepted");
    s.expect_log("p2", &["r1"]);
    s.hold("*>* accepted").hold("p2>* learned").hold("c1>* request");
    suspect(&mut s, &BACKUPS);
    s.hold("p0>* propose").deliver_all();
    s.mutate("p0>* propose", "propose.value=other+pc=none").deliver("p0>* propose");
    for who in ["p3", "p4", "p5"] {
        s.deliver(&format!("*>{who} accepted #2"));
    }
    expect_logs(&s, &["p3", "p4", "p5"], &["r2"]);
    s.heal();
    witness(&mut s, "fab/skip-vouch");
}

#[test]
fn one_acceptor_is_counted_three_times() {
    // 4.3. p0 proposes r1 to p1 and p2, r2 to p3, p4 and p5. To p2 it says ACCEPTED(r1) three times, to p3 ACCEPTED(r2) twice.
    let settings = "cluster = { n = 6, clients = 2 }\nadversary.byzantine = ['p0']";
    let mut s = attack("fab", &["count-duplicates"], settings);
    s.deliver("c0>p0 request").mutate("p0>p3,p4,p5 propose", "propose.value=earlier").deliver("p0>* propose");
    s.duplicate("p0>p2 accepted #1").duplicate("p0>p2 accepted #1").deliver("p0,p1>p2 accepted");
    s.expect_log("p2", &["r1"]);
    s.mutate("p0>p3 accepted", "accepted.value=earlier").duplicate("p0>p3 accepted");
    s.deliver("p0,p4,p5>p3 accepted").expect_log("p3", &["r2"]);
    witness(&mut s, "fab/count-duplicates");
}

#[test]
fn acceptances_of_several_views_are_added_up() {
    // 4.4. p0 leads three views. In the first p1 and p2 accept r1; in the second the same two accept r2; in the third p3
    // and p4 accept r1. p5 counts five acceptors of r1, p0 among them. But r2 has as many reports as r1, and p1, who leads
    // the fourth view, goes on with its own value.
    let settings = "cluster = { n = 6, clients = 2, leaders = ['p0', 'p0', 'p0', 'p1'] }\n\
                    adversary.byzantine = ['p0']";
    let mut s = attack("fab", &["pn-not-checked"], settings);
    s.deliver("c0>* request").deliver("p0>p1,p2 propose").drop("p0>* propose").hold("*>p2,p3,p4 accepted");
    s.hold("c1>* request").hold("p0>* propose");
    let next_view = |s: &mut Story<Fab>, late: &str| {
        suspect(s, &BACKUPS);
        s.hold(late).deliver_all();
    };
    next_view(&mut s, "p2>p0 rep");
    s.mutate("p0>p1,p2 propose", "propose.value=earlier").deliver("p0>p1,p2 propose").drop("p0>* propose");
    assert_eq!(["p1", "p2"].map(|who| accepted(&s, who)), ["r2@1 v2"; 2]);
    next_view(&mut s, "p2>p0 rep");
    s.deliver("p0>p3,p4 propose").drop("p0>* propose").deliver_all();
    s.expect_log("p5", &["r1"]);
    s.drop("*>p2,p3,p4 accepted");
    suspect(&mut s, &BACKUPS);
    s.hold("p4>p1 rep").hold("p5>* learned").release("*>p2,p3,p4 accepted").deliver_all();
    expect_view(&s, &BACKUPS, 4);
    expect_logs(&s, &["p2", "p3", "p4"], &["r2", "r1"]);
    s.heal();
    witness(&mut s, "fab/pn-not-checked");
}

#[test]
fn a_new_view_starts_again_with_the_first_instance() {
    // 4.5. All have learned r1 in instance 1. p1 leads view 2 and proposes r2 in instance 1.
    let mut s = attack("fab", &["seq-reset-on-view-change"], "cluster = { n = 6, clients = 2 }");
    s.hold("c1>* request").deliver_all();
    expect_logs(&s, &LEARNERS, &["r1"]);
    s.deliver("c1>p1,p2,p3 request");
    suspect(&mut s, &BACKUPS);
    s.deliver_all();
    assert_eq!(s.log("p2"), [(1, "r1".to_owned()), (1, "r2".to_owned())]);
    s.heal();
    witness(&mut s, "fab/seq-reset");
}
