//! Stories of learning: two steps, three steps, asking other learners, one instance after another.

use super::stage::{LEARNERS, SIX, accepted, expect_view, known, proposal, story, suspect, timers};
use crate::stage::{ALL, BACKUPS, NOTHING, completes, expect_logs, marked_by};
use turncoat_protocols::fab::Fab;

/// One request.
const ONE: &str = "workload.requests = 1";
/// Two clients with a request each.
const TWO: &str = "cluster.clients = 2";

#[test]
fn six_acceptors_teach_in_two_steps() {
    // 1. PROPOSE, ACCEPTED, and all learners have learned. The client has its result one step later.
    let mut s = story("fab", ONE);
    s.deliver("c0>* request").deliver("p0>* propose");
    expect_logs(&s, &LEARNERS, &NOTHING);
    s.deliver("*>* accepted");
    expect_logs(&s, &LEARNERS, &["r1"]);
    assert!(!s.in_flight("*>* commit-proof"));
    s.deliver("*>c0 reply");
    assert!(s.json("c0")["outstanding"].as_array().is_some_and(Vec::is_empty));
    let outcome = completes(&mut s);
    expect_view(&s, &SIX, 1);
    expect_logs(&s, &["p0", "p1"], &NOTHING);
    assert!(!marked_by::<Fab>(&outcome, "view-change") && !marked_by::<Fab>(&outcome, "commit-proof"));
}

#[test]
fn five_of_six_acceptors_are_enough_and_four_are_not() {
    // 2. Two stopped acceptors are more than FaB bears: nothing is learned, and nothing wrong either.
    let mut s = story("fab", ONE);
    s.crash("p5").deliver("c0>* request").deliver("p0>* propose").deliver("*>* accepted");
    expect_logs(&s, &["p2", "p3", "p4"], &["r1"]);
    completes(&mut s);
    let mut s = story("fab", &format!("cluster = {{ n = 6, over-budget = true }}\n{ONE}"));
    s.crash("p4").crash("p5").deliver_all();
    suspect(&mut s, &["p0", "p1", "p2", "p3"]);
    s.deliver_all();
    expect_view(&s, &["p0", "p1", "p2", "p3"], 2);
    expect_logs(&s, &LEARNERS, &NOTHING);
    s.expect_no_violation();
}

#[test]
fn with_a_stopped_acceptor_of_four_commit_proofs_take_one_step_more() {
    // 3.
    let mut s = story("pfab", ONE);
    s.crash("p3").deliver("c0>* request").deliver("p0>* propose").deliver("*>* accepted");
    expect_logs(&s, &["p0", "p1", "p2"], &NOTHING);
    assert_eq!(accepted(&s, "p1"), "r1@1 v1+");
    s.deliver("*>* commit-proof");
    expect_logs(&s, &["p0", "p1", "p2"], &["r1"]);
    assert!(marked_by::<Fab>(&completes(&mut s), "commit-proof"));
}

#[test]
fn with_t_of_one_six_acceptors_need_no_commit_proof() {
    // 4. Parameterized FaB with t = 1: one may stop, and two steps are still enough.
    let mut s = story("pfab", &format!("cluster.n = 6\nprotocol.t = 1\n{ONE}"));
    s.hold("*>* commit-proof").crash("p0");
    s.deliver("c0>* request");
    suspect(&mut s, &["p1", "p2", "p3"]);
    s.deliver_all();
    expect_logs(&s, &LEARNERS, &["r1"]);
    s.heal();
    completes(&mut s);
}

#[test]
fn t_says_how_many_nodes_it_takes() {
    let few = crate::stage::scenario_of(toml::toml! { name = "pfab" t = 1 }, "cluster.n = 5");
    let error = crate::stage::entry("pfab").runner().execute(&few).unwrap_err().to_string();
    assert!(error.contains("n >= 6"), "{error}");
    let plain = crate::stage::scenario_of(toml::toml! { name = "fab" t = 1 }, "cluster.n = 6");
    let error = crate::stage::entry("fab").runner().execute(&plain).unwrap_err().to_string();
    assert!(error.contains("`t` is for `parameterized = true`"), "{error}");
}

#[test]
fn a_learner_that_hears_no_acceptor_asks_two_others() {
    // 5. p5 is no proposer: nobody tells it what was learned unless it asks. One answer is not enough.
    let mut s = story("fab", ONE);
    s.lose("*>p5 accepted").deliver_all();
    expect_logs(&s, &["p2", "p3", "p4"], &["r1"]);
    s.timeout("p5", "pull").deliver("p5>* pull").deliver("p2>p5 learned");
    s.expect_log("p5", &[]).expect_no_violation();
    s.deliver("p3>p5 learned").expect_log("p5", &["r1"]);
    assert!(marked_by::<Fab>(&completes(&mut s), "learned-from-learners"));
}

#[test]
fn an_acceptor_votes_once() {
    // 9. Byzantine p0 proposes r1 to p3, then r2. The same proposal is answered again.
    let mut s = story("pfab", &format!("{TWO}\nadversary.byzantine = ['p0']"));
    s.deliver("c0>p0 request").duplicate("p0>p3 propose").deliver("p0>p3 propose #1");
    assert_eq!(accepted(&s, "p3"), "r1@1 v1");
    s.drop("p3>* accepted").duplicate("p0>p3 propose #2").mutate("p0>p3 propose #2", "propose.value=earlier");
    s.deliver("p0>p3 propose #2");
    assert!(!s.in_flight("p3>* accepted"));
    assert_eq!(accepted(&s, "p3"), "r1@1 v1");
    s.deliver("p0>p3 propose #3");
    assert!(s.in_flight("p3>p1 accepted"));
    completes(&mut s);
}

#[test]
fn a_commit_proof_needs_three_different_signatures() {
    // 11. p3 hears no ACCEPTED but its own. Byzantine p0's proof has two signatures, or one of them twice.
    for lies in [
        &["commit-proof.proof.drop-signer"][..],
        &["commit-proof.proof.drop-signer", "commit-proof.proof.repeat-signer"],
    ] {
        let mut s = story("pfab", &format!("{ONE}\nadversary.byzantine = ['p0']"));
        s.hold("*>p3 accepted").hold("*>p3 learned").hold("*>* commit-proof").deliver_all();
        crate::stage::tell(&mut s, "p0>p3 commit-proof", lies);
        s.deliver("p0>p3 commit-proof").deliver("p1>p3 commit-proof").deliver("p2>p3 commit-proof");
        s.expect_log("p3", &[]);
        // The third one that is good.
        s.heal();
        completes(&mut s);
    }
    let mut s = story("pfab", ONE);
    s.hold("*>p3 accepted").hold("*>p3 learned").hold("*>* commit-proof").deliver_all();
    s.deliver("p0,p1,p2>p3 commit-proof").expect_log("p3", &["r1"]);
}

#[test]
fn one_instance_follows_another() {
    // 14. The first view learns r1 and r2, the second goes on with r3.
    let mut s = story("pfab", "cluster.clients = 3\nworkload = { requests = 3, goal = 'committed' }");
    s.hold("c2>* request").deliver_all();
    expect_logs(&s, &ALL, &["r1", "r2"]);
    s.crash("p0").deliver("c2>p1,p2,p3 request");
    suspect(&mut s, &["p1", "p2", "p3"]);
    s.deliver_all();
    assert_eq!(proposal(&s, "p1"), "r3@3");
    expect_logs(&s, &BACKUPS, &["r1", "r2", "r3"]);
    completes(&mut s);
}

#[test]
fn the_leader_insists_until_three_proposers_are_satisfied() {
    // 15. p2's and p3's SATISFIED are lost: p0 and p1 are two.
    let mut s = story("fab", ONE);
    s.lose("p2,p3>p0 satisfied").deliver_all().heal();
    assert_eq!((known(&s, "p0"), timers(&s, "p0")), (1, vec!["leader".to_owned()]));
    s.timeout("p0", "leader").deliver_all();
    for who in SIX {
        assert_eq!(timers(&s, who), NOTHING, "{who} has nothing to wait for");
    }
    completes(&mut s);
}

#[test]
fn an_instance_opens_with_a_certificate_of_the_one_before() {
    // 17. Byzantine p0 proposes r2 for instance 2: without a certificate, with two learners in it, and r1 once more. p3 is
    // at instance 1.
    for lie in ["propose.learned=none", "propose.learned.drop-signer", "propose.value=earlier"] {
        let mut s = story("pfab", &format!("{TWO}\nadversary.byzantine = ['p0']"));
        s.hold("*>p3 learned").hold("p0>p3 propose #2").hold("c1>* request").deliver_all();
        s.deliver("c1>* request").duplicate("p0>p3 propose #2").mutate("p0>p3 propose #3", lie);
        s.deliver("p0>p3 propose #3");
        assert!(!s.in_flight("p3>* accepted"), "{lie}");
        assert_eq!(known(&s, "p3"), usize::from(lie.ends_with("earlier")), "{lie}");
        s.deliver("p0>p3 propose #2");
        assert_eq!((known(&s, "p3"), accepted(&s, "p3")), (1, "r2@2 v1".to_owned()));
        s.heal();
        completes(&mut s);
    }
}
