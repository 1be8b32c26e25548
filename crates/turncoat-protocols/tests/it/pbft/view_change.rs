//! Stories of view changes: what survives them, who joins, who waits how long.

use crate::stage::{
    ALL, BACKUPS, NOTHING, changing, completes, expect, expect_logs, left, marked, ops, proposals, story,
    tell, voters,
};

#[test]
fn a_request_that_the_leader_never_proposed_is_executed_in_the_next_view() {
    // p0 stops before it hears of r1. The client sends r1 to all; their patience ends.
    let mut s = story("workload.requests = 1");
    s.crash("p0").timeout("c0", "client-retry-1").deliver_all();
    for who in BACKUPS {
        s.timeout(who, "request");
    }
    s.deliver_all();
    expect(&s, &BACKUPS, "view", 1);
    expect_logs(&s, &BACKUPS, &["r1"]);
    completes(&mut s);
    expect_logs(&s, &BACKUPS, &["r1"]);
}

#[test]
fn what_one_replica_has_executed_keeps_its_number() {
    // The COMMITs for r1 reach p1 alone, then p0 stops. r2 waits at the new leader, p1, but 1 is taken.
    let mut s = story("cluster.clients = 2\nworkload.goal = 'committed'");
    s.deliver("c0>p0 request").deliver("p0>* pre-prepare").deliver("*>* prepare");
    s.deliver("*>p1 commit").drop("*>* commit").crash("p0");
    s.expect_log("p1", &["r1"]);
    expect_logs(&s, &["p2", "p3"], &NOTHING);
    s.timeout("c1", "client-retry-1").deliver_all();
    s.timeout("p2", "request").timeout("p3", "request").deliver_all();
    expect(&s, &BACKUPS, "view", 1);
    assert_eq!(proposals(&s, "p1"), ["r1@1"]);
    expect_logs(&s, &BACKUPS, &["r1", "r2"]);
    completes(&mut s);
    expect_logs(&s, &BACKUPS, &["r1", "r2"]);
}

#[test]
fn a_certificate_of_one_voter_is_carried_over() {
    // p2 alone has prepared r1 when p0 stops.
    let mut s = story("cluster.clients = 2\nworkload.goal = 'committed'");
    s.deliver("c0>p0 request").deliver("p0>* pre-prepare").deliver("p1,p3>p2 prepare");
    s.drop("*>* prepare").drop("p2>* commit").crash("p0");
    s.timeout("c1", "client-retry-1").deliver_all();
    s.timeout("p1", "request").timeout("p3", "request").deliver_all();
    assert_eq!(voters(&s, "p1"), BACKUPS);
    assert_eq!(proposals(&s, "p1"), ["r1@1"]);
    expect_logs(&s, &BACKUPS, &["r1", "r2"]);
    completes(&mut s);
}

#[test]
fn a_certificate_of_the_new_leader_alone_is_carried_over() {
    // Byzantine p0 lets p1 alone execute r1, then votes for view 1 without a certificate; so does p3, who
    // knows nothing of r1. The only certificate in V is the new leader's own.
    let mut s = story("cluster.clients = 2\nadversary.byzantine = ['p0']\nworkload.goal = 'committed'");
    s.deliver("c0>p0 request").drop("p0>p3 pre-prepare").deliver("p0>p1,p2 pre-prepare");
    s.drop("*>p3 prepare").deliver("*>* prepare").deliver("*>p1 commit").drop("*>* commit");
    s.expect_log("p1", &["r1"]);
    s.timeout("c1", "client-retry-1").drop("c1>p0 request").deliver("c1>p1,p3 request").drop("*>p0 request");
    s.timeout("p3", "request").suspect("p0").mutate("p0>p1 view-change", "view-change.prepared.clear");
    s.deliver("p0,p3>p1 view-change");
    expect(&s, &["p1"], "view", 1);
    assert_eq!(voters(&s, "p1"), ["p0", "p1", "p3"]);
    assert_eq!(proposals(&s, "p1"), ["r1@1"]);
    completes(&mut s);
    expect_logs(&s, &BACKUPS, &["r1", "r2"]);
}

#[test]
fn a_gap_is_filled_with_null_and_null_is_agreed_on_like_a_request() {
    // The proposal of r1 at 1 is lost to all, r2 at 2 is prepared, then p0 stops. r1 comes again, and gets 3.
    let mut s = story("cluster.clients = 2\nworkload.goal = 'committed'");
    s.deliver("c0>p0 request").drop("p0>* pre-prepare").deliver("c1>p0 request");
    s.deliver("p0>* pre-prepare").deliver("*>* prepare").drop("*>* commit").crash("p0");
    s.timeout("p1", "request").timeout("p2", "request").deliver_all();
    assert_eq!(proposals(&s, "p1"), ["null@1", "r2@2"]);
    expect_logs(&s, &BACKUPS, &["noop", "r2"]);
    s.timeout("c0", "client-retry-1").deliver_all();
    expect_logs(&s, &BACKUPS, &["noop", "r2", "r1"]);
    assert!(marked(&completes(&mut s), "new-view-null"));
}

#[test]
fn a_new_leader_that_lags_proposes_after_what_is_carried_over() {
    // p1 has executed four requests, but has not heard that their checkpoint is stable, nor of r5, which the
    // others have prepared. It leads view 1 and knows r6: that gets number 6, not 5.
    let mut s = story("cluster.clients = 6\nworkload = { requests = 6, goal = 'committed' }");
    s.hold("c4,c5>p0 request").hold("*>p1 checkpoint").deliver_all().heal();
    s.drop("*>p1 checkpoint").deliver("c4>p0 request").drop("p0>p1 pre-prepare").deliver("p0>* pre-prepare");
    s.drop("*>p1 prepare").deliver("*>* prepare").drop("*>* commit").crash("p0");
    s.timeout("c5", "client-retry-1").drop("c5>p0 request").deliver("c5>* request");
    s.timeout("p2", "request").timeout("p3", "request").deliver("p2,p3>p1 view-change");
    expect(&s, &BACKUPS, "h", 4);
    assert_eq!(proposals(&s, "p1"), ["r5@5"]);
    s.deliver_all();
    expect(&s, &BACKUPS, "view", 1);
    expect_logs(&s, &BACKUPS, &ops(6));
    expect(&s, &["p1"], "next_seq", 6);
    completes(&mut s);
}

#[test]
fn the_second_view_change_waits_twice_as_long() {
    // Of seven replicas p0 and p1 stop. The leader of view 1 is one of them, so view 2 it is: twice the
    // patience for it, until a request is executed.
    let mut s = story(
        "cluster = { n = 7, f = 2 }\nworkload = { requests = 1, goal = 'committed' }\nnetwork.latency = 10",
    );
    let rest = ["p2", "p3", "p4", "p5", "p6"];
    s.crash("p0").crash("p1").timeout("c0", "client-retry-1").deliver("c0>* request");
    assert_eq!(left(&s, "p6", "request"), 500);
    s.deliver_all();
    for who in rest {
        s.timeout(who, "request");
    }
    s.deliver("*>p6 view-change");
    assert_eq!(left(&s, "p6", "view-change"), 500);
    s.deliver_all();
    expect(&s, &rest, "status", changing(1));
    expect(&s, &rest, "timeout", 500);

    for who in rest {
        s.timeout(who, "view-change");
    }
    s.deliver("*>p6 view-change");
    assert_eq!(left(&s, "p6", "view-change"), 1000);
    expect(&s, &rest, "timeout", 1000);
    s.deliver("*>p2 view-change").deliver("p2>p6 new-view");
    expect(&s, &["p2", "p6"], "view", 2);
    assert_eq!(left(&s, "p6", "request"), 1000);
    s.deliver_all();
    expect(&s, &rest, "view", 2);
    expect_logs(&s, &rest, &["r1"]);
    expect(&s, &rest, "timeout", 500);
    completes(&mut s);
}

#[test]
fn a_new_leader_that_falls_silent_is_replaced_in_its_turn() {
    // p0 is slow. Byzantine p1 installs view 1 and says nothing more. The client has no retransmission left:
    // the timers that run on after the NEW-VIEW must do.
    let mut s =
        story("workload = { requests = 1, retries = 1, goal = 'committed' }\nadversary.byzantine = ['p1']");
    s.hold("c0>p0").hold("p0>*").timeout("c0", "client-retry-1").deliver_all();
    s.timeout("p2", "request").timeout("p3", "request").lose("p1>* pre-prepare").deliver_all().crash("p1");
    expect(&s, &["p0", "p2", "p3"], "view", 1);
    expect(&s, &["p2", "p3"], "timeout", 500);
    s.timeout("p2", "request").timeout("p3", "request");
    expect(&s, &["p2", "p3"], "timeout", 1000);
    s.heal().deliver_all();
    let correct = ["p0", "p2", "p3"];
    expect(&s, &correct, "view", 2);
    expect_logs(&s, &correct, &["r1"]);
    expect(&s, &correct, "timeout", 500);
    completes(&mut s);
}

#[test]
fn voters_that_restart_still_give_up_on_a_silent_leader() {
    // p1, the leader of view 1, is dead. The three others wait for its NEW-VIEW when they stop one after
    // another and go on with what they had on disk; their timers are gone.
    let mut s = story("cluster.over-budget = true\nworkload = { requests = 1, goal = 'committed' }");
    s.crash("p1").drop("c0>p0 request").timeout("c0", "client-retry-1").deliver("c0>p2,p3 request");
    s.drop("*>* request").timeout("p2", "request").timeout("p3", "request").deliver_all();
    let rest = ["p0", "p2", "p3"];
    expect(&s, &rest, "status", changing(1));
    for who in rest {
        s.crash(who).restart(who);
    }
    completes(&mut s);
    expect_logs(&s, &rest, &["r1"]);
}

#[test]
fn the_certificate_of_the_highest_view_wins_in_every_order_of_the_votes() {
    // a, b, c lead views 0, 1, 2. In view 0 only d prepares r1. View 1 starts without d's vote: b executes r2
    // with the votes of a and c. In view 2 the votes of b, c, d hold both certificates, d's from the older
    // view. Every cast of the four parts puts d's vote elsewhere in V.
    for a in ALL {
        for b in ALL.into_iter().filter(|&b| b != a) {
            for c in ALL.into_iter().filter(|&c| c != a && c != b) {
                let d = ALL.into_iter().find(|&d| d != a && d != b && d != c).expect("a fourth replica");
                highest_certificate_wins([a, b, c, d], [b, d]);
                highest_certificate_wins([a, b, c, d], [d, b]);
            }
        }
    }
}

fn highest_certificate_wins([a, b, c, d]: [&str; 4], order: [&str; 2]) {
    let mut s = story(&format!(
        "cluster = {{ clients = 2, leaders = ['{a}', '{b}', '{c}'] }}\nworkload.goal = 'committed'"
    ));
    let link = |from: &str, to: &str, kind: &str| format!("{from}>{to} {kind}");
    let two = |x: &str, y: &str| format!("{x},{y}");
    // View 0.
    s.deliver(&link("c0", a, "request")).drop(&link("c1", a, "request"));
    s.drop(&link(a, b, "pre-prepare")).deliver(&link(a, &two(c, d), "pre-prepare"));
    s.deliver(&link(c, d, "prepare")).drop("*>* prepare").drop(&link(d, "*", "commit"));
    // View 1.
    s.timeout("c1", "client-retry-1").deliver(&link("c1", &two(b, c), "request")).drop("*>* request");
    s.timeout(c, "request").timeout(d, "request").deliver(&link(&two(c, d), a, "view-change"));
    s.deliver(&link(&two(a, c), b, "view-change"));
    assert_eq!(proposals(&s, b), NOTHING);
    s.deliver(&link(b, &two(a, c), "new-view")).drop(&link(b, d, "new-view")).drop(&link("*", b, "request"));
    s.drop(&link(b, d, "pre-prepare")).deliver(&link(b, "*", "pre-prepare"));
    s.drop(&link("*", d, "prepare")).deliver("*>* prepare");
    s.deliver(&link("*", b, "commit")).drop("*>* commit");
    s.expect_log(b, &["r2"]);
    // View 2.
    s.deliver(&link("*", d, "view-change")).drop("*>* view-change");
    s.timeout(d, "view-change").timeout(c, "request").deliver(&link(&two(c, d), b, "view-change"));
    for voter in order {
        s.deliver(&link(voter, c, "view-change"));
    }
    let mut v = [b, c, d];
    v.sort_unstable();
    assert_eq!(voters(&s, c), v);
    assert_eq!(proposals(&s, c), ["r2@1"]);
    completes(&mut s);
    expect_logs(&s, &ALL, &["r2", "r1"]);
}

#[test]
fn the_votes_of_one_sender_move_nobody() {
    // Byzantine p3 votes for view after view.
    let mut s = story("adversary.byzantine = ['p3']");
    s.suspect("p3").suspect("p3").deliver("p3>* view-change");
    expect(&s, &["p0", "p1", "p2"], "status", "Normal");
    assert!(!s.in_flight("p0,p1,p2>* view-change"));
    s.deliver_all();
    expect(&s, &["p0", "p1", "p2"], "view", 0);
    expect_logs(&s, &["p0", "p1", "p2"], &["r1", "r2"]);
    completes(&mut s);
}

#[test]
fn f_plus_1_votes_for_later_views_are_joined_at_the_smallest() {
    // p1 is in view 0 and hears nothing until p2, helped by p0, wants view 3, and Byzantine p3 wants view 5.
    let mut s = story("workload.requests = 1\nadversary.byzantine = ['p3']");
    s.timeout("c0", "client-retry-1").deliver("c0>p2 request");
    for _ in 1..5 {
        s.suspect("p3").drop("p3>* view-change");
    }
    s.suspect("p3").timeout("p2", "request").deliver("p3>p0,p2 view-change");
    for view in 1..=2 {
        expect(&s, &["p2"], "status", changing(view));
        s.drop("p2>p1 view-change").deliver("p2>p0 view-change").drop("p0>p1 view-change");
        s.deliver("p0>p2 view-change").timeout("p2", "view-change");
    }
    expect(&s, &["p2"], "status", changing(3));
    expect(&s, &["p3"], "status", changing(5));
    s.deliver("p3>p1 view-change");
    expect(&s, &["p1"], "status", "Normal");
    s.deliver("p2>p1 view-change");
    expect(&s, &["p1"], "status", changing(3));
    completes(&mut s);
}

#[test]
fn who_has_voted_for_a_view_prepares_nothing_in_the_old_one() {
    // Byzantine p0 proposes r1, adds its COMMIT, and turns to view 1, as p3 does. p1 and p2 join with empty
    // hands. Only then the PREPAREs and the COMMIT arrive: they come too late to be in any vote, so they must
    // not count.
    let mut s = story(
        "cluster.clients = 2\nadversary.byzantine = ['p0']\nworkload.goal = 'committed'\n\
         adversary.faults = [{ from = ['p0'], kind = 'pre-prepare', \
         originate = { mint = 'commit', to = ['p1', 'p2'] } }]",
    );
    s.deliver("c0>p0 request").deliver("p0>* pre-prepare").timeout("p3", "request").suspect("p0");
    s.deliver("p0,p3>p1,p2 view-change");
    expect(&s, &["p1"], "view", 1);
    expect(&s, &["p2"], "status", changing(1));
    s.deliver("*>p1,p2 prepare").deliver("p0>p1,p2 commit");
    for who in ["p1", "p2"] {
        assert!(s.json(who)["window"]["entries"][0]["prepared"].is_null(), "{who}");
        s.expect_log(who, &[]);
    }
    assert!(!s.in_flight("p1,p2>* commit"));
    assert_eq!(voters(&s, "p1"), ["p0", "p1", "p3"]);
    assert_eq!(proposals(&s, "p1"), NOTHING);
    completes(&mut s);
}

#[test]
fn only_a_full_proof_extends_the_log_of_a_frozen_replica() {
    // p2 has voted for view 1 alone. The others commit r1 without it, and it asks for the proof. Byzantine
    // p0's proof is too short or false; p1's is good, and p2 takes it without leaving its vote.
    for lies in [
        &["slot-proof.votes.drop-signer"][..],
        &["slot-proof.votes.drop-signer", "slot-proof.votes.repeat-signer"],
        &["slot-proof.votes.forge"],
        &["slot-proof.pre-prepare.request=none"],
        &["slot-proof.pre-prepare.request.forge"],
        &["slot-proof.pre-prepare.view+1"],
        &["slot-proof.pre-prepare.seq+1"],
    ] {
        let mut s = story("workload = { requests = 1, goal = 'committed' }\nadversary.byzantine = ['p0']");
        s.deliver("c0>p0 request").deliver("p0>* pre-prepare").timeout("p2", "request").deliver_all();
        expect_logs(&s, &["p0", "p1", "p3"], &["r1"]);
        expect_logs(&s, &["p2"], &NOTHING);
        assert!(s.json("p2")["window"]["entries"][0]["prepared"].is_null());

        s.timeout("p2", "retransmit").deliver("p2>* slot-fetch");
        tell(&mut s, "p0>p2 slot-proof", lies);
        let before = s.state("p2");
        s.deliver("p0>p2 slot-proof");
        assert_eq!(s.state("p2"), before, "{lies:?}");
        s.deliver("p1>p2 slot-proof").expect_log("p2", &["r1"]);
        expect(&s, &["p2"], "status", changing(1));
        completes(&mut s);
    }
}

#[test]
fn a_vote_of_the_new_view_that_overtakes_new_view_is_kept() {
    // r1 is prepared when p0 stops. p2's PREPARE of view 1 reaches p3 before the NEW-VIEW does. It is one of
    // the two that p3 needs.
    let mut s = story("workload = { requests = 1, goal = 'committed' }");
    s.deliver("c0>p0 request").deliver("p0>* pre-prepare").deliver("*>* prepare");
    s.drop("*>* commit").crash("p0");
    s.timeout("p2", "request").timeout("p3", "request").deliver("p2,p3>p1 view-change");
    s.deliver("p1>p2 new-view").deliver("p2>p3 prepare");
    expect(&s, &["p3"], "status", changing(1));
    s.deliver("p1>p3 new-view");
    assert_eq!(s.json("p3")["window"]["entries"][0]["prepared"]["pre_prepare"]["body"]["view"], 1);
    completes(&mut s);
    expect_logs(&s, &BACKUPS, &["r1"]);
}

#[test]
fn who_missed_the_new_view_gets_it_from_anybody() {
    // The NEW-VIEW for p3 is lost. p3 sends its vote again, and p2, who is not the leader, relays it.
    let mut s = story("workload = { requests = 1, goal = 'committed' }");
    s.crash("p0").timeout("c0", "client-retry-1").deliver_all();
    for who in BACKUPS {
        s.timeout(who, "request");
    }
    s.lose("p1>p3 new-view").deliver_all().heal();
    expect(&s, &["p1", "p2"], "view", 1);
    expect(&s, &["p3"], "status", changing(1));
    s.timeout("p3", "retransmit").drop("p3>* query-view").drop("p3>p1 view-change");
    s.deliver("p3>p2 view-change").deliver("p2>p3 new-view");
    expect(&s, &["p3"], "view", 1);
    expect(&s, &["p3"], "status", "Normal");
    s.deliver_all();
    expect_logs(&s, &BACKUPS, &["r1"]);
    completes(&mut s);
}
