//! Stories of elections and of new leaders.

use super::stage::{accepted, attack, expect_view, proposal, story, suspect};
use crate::stage::{ALL, BACKUPS, NOTHING, completes, expect_logs, marked_by};
use turncoat_core::story::Story;
use turncoat_protocols::fab::Fab;

/// Two clients with a request each.
const TWO: &str = "cluster.clients = 2";

#[test]
fn three_suspects_elect_the_next_leader() {
    // 6. p0 is silent. Two SUSPECTs are not enough; with the third p1 leads, hears of nothing, and proposes what it has.
    for protocol in ["pfab", "fab"] {
        let mut s = story(protocol, "workload.requests = 1\nadversary.byzantine = ['p0']");
        s.lose("p0>* *").deliver_all();
        suspect(&mut s, &["p1", "p2"]);
        s.deliver_all();
        expect_view(&s, &BACKUPS, 1);
        suspect(&mut s, &["p3"]);
        s.deliver_all();
        expect_view(&s, &BACKUPS, 2);
        assert_eq!(proposal(&s, "p1"), "r1@1");
        expect_logs(&s, &["p2", "p3"], &["r1"]);
        assert!(marked_by::<Fab>(&completes(&mut s), "recovery"));
    }
}

#[test]
fn what_one_learner_has_learned_is_proposed_again() {
    // 7, as a story: p2 alone hears the ACCEPTEDs. p1 has r2 waiting first, and proposes r1.
    for protocol in ["pfab", "fab"] {
        let mut s = story(protocol, "cluster.clients = 2\nworkload.goal = 'committed'");
        s.deliver("c0>p0 request").deliver("c1>p1 request").deliver("p0>* propose").deliver("*>p2 accepted");
        s.expect_log("p2", &["r1"]);
        s.drop("*>* accepted").hold("p2>* learned").deliver("c0>p1,p2,p3 request");
        suspect(&mut s, &["p1", "p2", "p3"]);
        s.hold("c1>* request").deliver_all();
        expect_logs(&s, &["p2", "p3"], &["r1", "r2"]);
        s.heal();
        completes(&mut s);
    }
}

/// Byzantine p1 leads view 2, and has proposed r1 there to p3, who has it in flight. p0 has accepted r1, all others nothing.
fn p1_proposes() -> Story<Fab> {
    let mut s = story("pfab", &format!("{TWO}\nadversary.byzantine = ['p1']\nworkload.goal = 'committed'"));
    s.deliver("c0>* request").drop("p0>* propose").drop("p0>* accepted").hold("p0>* propose");
    suspect(&mut s, &["p0", "p2", "p3"]);
    s.hold("p1>* propose").hold("c1>* request").deliver_all();
    expect_view(&s, &ALL, 2);
    s
}

#[test]
fn a_proposal_of_a_later_view_needs_a_progress_certificate() {
    // 10. No certificate, two REPs, one of them twice. REPs of another view, and a value that they do not vouch for, are
    // in the tests of `certificate`.
    for lie in ["propose.pc.clear", "propose.pc.drop-last", "propose.pc=duplicate", "propose.view+1"] {
        let mut s = p1_proposes();
        s.duplicate("p1>p3 propose #1").mutate("p1>p3 propose #2", lie).deliver("p1>p3 propose #2");
        assert_eq!(accepted(&s, "p3"), "nothing", "{lie}");
        s.deliver("p1>p3 propose #1");
        assert_eq!(accepted(&s, "p3"), "r1@1 v2", "{lie}");
        s.heal();
        completes(&mut s);
    }
}

#[test]
fn a_progress_certificate_vouches_for_one_value_or_for_any() {
    // 10. All have accepted r1 in view 1: Byzantine p1 cannot propose r2. p3 suspects it, and r1 is learned in view 3.
    let mut s = story("pfab", &format!("{TWO}\nadversary.byzantine = ['p1']\nworkload.goal = 'committed'"));
    s.deliver("c0>* request").hold("*>* accepted").hold("*>* commit-proof").deliver("p0>* propose");
    suspect(&mut s, &["p0", "p2", "p3"]);
    s.deliver("*>* suspect").deliver("p1>* query").deliver("*>p1 rep");
    assert_eq!(proposal(&s, "p1"), "r1@1");
    s.mutate("p1>* propose", "propose.value=earlier").deliver("p1>* propose");
    assert_eq!(["p0", "p2", "p3"].map(|who| accepted(&s, who)), ["r1@1 v1"; 3]);
    s.heal();
    completes(&mut s);
    assert!(["p0", "p2", "p3"].iter().all(|who| s.log(who)[0].1 == "r1"));
}

#[test]
fn who_enters_a_view_brings_the_others_along() {
    // 16. Byzantine p0 suspects itself, and says so to p2 and p3 only. p2 suspects it too, p3 and p1 do not; p1 is the
    // next leader.
    let mut s = story("pfab", "workload.requests = 1\nadversary.byzantine = ['p0']");
    s.hold("p0>* propose").deliver("c0>* request").suspect("p0").drop("p0>p1 suspect");
    suspect(&mut s, &["p1", "p3"]);
    s.deliver("p0,p1>p3 suspect").deliver("p0,p1,p3>p2 suspect");
    expect_view(&s, &["p2", "p3"], 2);
    expect_view(&s, &["p1"], 1);
    s.drop("p3>p1 suspect").deliver("p3>p1 elected");
    expect_view(&s, &["p1"], 2);
    s.deliver_all();
    expect_logs(&s, &BACKUPS, &["r1"]);
    expect_view(&s, &ALL, 2);
    s.heal();
    completes(&mut s);
}

#[test]
fn who_suspects_a_leader_of_the_past_is_told_who_leads() {
    // p3 misses the election, and p1's QUERY.
    let mut s = story("pfab", "workload.requests = 1");
    s.lose("p0>* *").lose("*>p3 suspect,elected,query,propose").deliver_all();
    suspect(&mut s, &["p1", "p2", "p3"]);
    s.deliver_all();
    expect_view(&s, &["p1", "p2"], 2);
    expect_view(&s, &["p3"], 1);
    s.heal();
    suspect(&mut s, &["p3"]);
    s.deliver_only("p3>* suspect").deliver_only("*>p3 elected");
    expect_view(&s, &["p3"], 2);
    completes(&mut s);
}

#[test]
fn a_new_leader_waits_for_three_reports() {
    // The third is p3's, whose instance is over: p1 goes on with the next one.
    let mut s = story("pfab", "cluster.clients = 2\nworkload.goal = 'committed'");
    s.hold("c1>* request").hold("*>p1,p2 learned").deliver_all();
    assert_eq!(["p1", "p2", "p3"].map(|who| super::stage::known(&s, who)), [0, 0, 1]);
    s.crash("p0").deliver("c1>p1,p2,p3 request");
    suspect(&mut s, &["p1", "p2", "p3"]);
    s.hold("p3>p1 rep").deliver_all();
    assert_eq!(proposal(&s, "p1"), "nothing");
    s.release("p3>p1 rep").deliver_all();
    assert_eq!(proposal(&s, "p1"), "r2@2");
    expect_logs(&s, &BACKUPS, &["r1", "r2"]);
    s.heal();
    completes(&mut s);
}

#[test]
fn a_restarted_node_goes_on() {
    let mut s = story("pfab", "workload.requests = 1\nworkload.goal = 'committed'");
    s.deliver("c0>* request").crash("p0").restart("p0");
    expect_logs(&s, &ALL, &NOTHING);
    completes(&mut s);
    // A leader of a later view asks again.
    let mut s = attack("pfab", &[], "workload.requests = 1");
    s.lose("p0>* propose").deliver_all();
    suspect(&mut s, &["p1", "p2", "p3"]);
    s.hold("*>p1 rep").deliver_all();
    s.crash("p1").restart("p1").heal();
    completes(&mut s);
}
