//! Stories of view changes: what survives them, who joins, who is believed.

use super::stage::{arrived, expect_view, spec, story, view};
use crate::stage::{NOTHING, always, completes, expect_logs, left, tell};

/// All but the first primary.
const REST: [&str; 3] = ["p0", "p2", "p3"];

#[test]
fn a_request_that_the_primary_never_proposed_is_committed_in_the_next_view() {
    // 6.
    let mut s = story("workload.requests = 1");
    s.crash("p1").deliver_all();
    REST.iter().for_each(|who| _ = s.timeout(who, "request-c0-1"));
    s.deliver_all();
    expect_view(&s, &REST, 2);
    completes(&mut s);
    expect_logs(&s, &REST, &["r1"]);
}

#[test]
fn the_second_view_change_waits_twice_as_long() {
    // 7. Of seven replicas p1 and p2 are silent. View 3 it is.
    let mut s = story("cluster = { n = 7, f = 2 }\nworkload.requests = 1\nnetwork.latency = 10");
    let rest = ["p0", "p3", "p4", "p5", "p6"];
    s.crash("p1").crash("p2").deliver_all();
    rest.iter().for_each(|who| _ = s.timeout(who, "request-c0-1"));
    s.deliver("*>p6 view-change");
    assert_eq!(left(&s, "p6", "view-change"), 625);
    s.deliver_all();
    rest.iter().for_each(|who| _ = s.timeout(who, "view-change"));
    s.deliver("*>p6 view-change");
    assert_eq!(left(&s, "p6", "view-change"), 1250);
    s.deliver_all();
    expect_view(&s, &rest, 3);
    completes(&mut s);
    expect_logs(&s, &rest, &["r1"]);
}

#[test]
fn nobody_looks_at_the_checkpoint_that_was_accepted_last() {
    // 9. All have accepted the CHECKPOINT-I of number 2, nobody has more. The NEW-VIEW carries r1 and r2 over.
    let mut s = story("cluster.clients = 2");
    s.lose("*>* commit").lose("*>* checkpoint-ii").deliver_all();
    s.crash("p1").timeout("p0", "checkpoint-2").timeout("p3", "checkpoint-2").heal().deliver_all();
    expect_view(&s, &REST, 2);
    expect_logs(&s, &REST, &["r1", "r2"]);
    completes(&mut s);
}

#[test]
fn what_two_have_accepted_is_carried_over_and_what_one_has_is_null() {
    // p0 and p2 have r1, p3 has r1 and r2. p1 is silent from then on.
    let mut s = story("cluster.clients = 2\nprotocol.checkpoint = 100");
    s.deliver("*>p1 request").deliver("p1>* prepare #1").deliver("p1>p3 prepare #2").drop("p1>* prepare #2");
    s.crash("p1").lose("*>* commit").deliver_all().heal();
    s.timeout("p0", "request-c0-1")
        .timeout("p3", "request-c0-1")
        .hold("*>* commit")
        .hold("*>* checkpoint-iii");
    s.deliver_all();
    expect_view(&s, &REST, 2);
    for who in REST {
        assert_eq!(spec(&s, who), ["r1@1 v2", "null@2 v2"]);
    }
    // 20. Neither is committed by that.
    expect_logs(&s, &REST, &NOTHING);
    s.heal().deliver_all();
    expect_logs(&s, &REST, &["r1", "noop"]);
    completes(&mut s);
    expect_logs(&s, &REST, &["r1", "noop", "r2"]);
}

#[test]
fn a_new_view_that_does_not_follow_from_its_votes_is_ignored() {
    // 14. r1 and r2 are stable at p0, which has r3 too, as p1 has. Byzantine p2 leads view 2, and lies in
    // all its NEW-VIEWs. Nobody is moved by them, view 3 does the work.
    for lies in [
        // V: too few votes, one twice, one in the place of another, a forged one.
        &["new-view.votes.drop-last"][..],
        &["new-view.votes.repeat-last"],
        &["new-view.votes=duplicate"],
        &["new-view.votes.first.forge"],
        // X and M: missing, changed, too long.
        &["new-view.stable=none"],
        &["new-view.stable.drop-signer"],
        &["new-view.stable.forge"],
        &["new-view.history.clear"],
        &["new-view.history.drop-first"],
        &["new-view.history.drop-last"],
        &["new-view.history.first.seq+1"],
        &["new-view.history.last.seq+1"],
        &["new-view.history.last.request=none"],
        &["new-view.history.last.request=earlier"],
        &["new-view.history.append-null"],
        // Not the leader of view 3; not a later view.
        &["new-view.view+1"],
        &["new-view.view-1"],
    ] {
        let mut s = story(&format!(
            "cluster.clients = 3\nworkload.requests = 3\nadversary.byzantine = ['p2']\n\
             adversary.faults = [{}]",
            always("p2", lies)
        ));
        s.hold("c2>* request").hold("*>p1,p2,p3 checkpoint-iii").deliver_all();
        s.deliver("c2>p0,p1 request").deliver("p1>p0 prepare");
        s.timeout("p0", "request-c2-1").timeout("p1", "request-c2-1");
        s.hold("p1>* prepare").hold("p3>* view-change").deliver_all();
        let moved = ["p0", "p1"].iter().any(|who| view(&s, who).0 == 2);
        assert!(!moved && arrived(&s, "p2", "new-view") > 0, "{lies:?}");
        s.heal();
        completes(&mut s);
    }
}

#[test]
fn a_late_new_view_is_ignored() {
    // 15. NEW-VIEW(2) reaches p0 when it has voted for view 3, and again when it is there.
    let mut s = story("workload.requests = 1");
    s.crash("p1").deliver_all().hold("p2>* new-view");
    REST.iter().for_each(|who| _ = s.timeout(who, "request-c0-1"));
    s.deliver_all().duplicate("p2>p0 new-view");
    s.timeout("p0", "view-change").timeout("p3", "view-change");
    let before = s.state("p0");
    s.deliver("p2>p0 new-view #1");
    assert_eq!((s.state("p0"), view(&s, "p0")), (before, (1, Some(3))));
    s.deliver("p0,p3>p2,p3,p0 view-change").deliver_only("p2,p3>p0,p3 view-change").deliver("p3>* new-view");
    expect_view(&s, &["p0", "p3"], 3);
    let before = s.state("p0");
    if s.in_flight("p2>p0 new-view") {
        s.deliver("p2>p0 new-view");
    }
    assert_eq!(s.state("p0"), before);
    s.heal();
    completes(&mut s);
}

#[test]
fn a_vote_that_proves_nothing_is_ignored() {
    // Byzantine p3 votes for view 2 with a checkpoint that it cannot prove, or with what a later view has accepted.
    for lies in [
        &["view-change.stable.drop-signer"][..],
        &["view-change.stable.forge"],
        &["view-change.certified.drop-signer"],
        &["view-change.certified.forge"],
        &["view-change.accepted.last.view+1"],
        &["view-change.accepted.repeat-last"],
        &["view-change.accepted.last.request.forge"],
    ] {
        let mut s = story("cluster.clients = 3\nworkload.requests = 3\nadversary.byzantine = ['p3']");
        s.lose("*>* commit").deliver_all();
        s.timeout("p3", "request-c2-1");
        tell(&mut s, "p3>p0 view-change", lies);
        let before = s.state("p0");
        s.deliver("p3>p0 view-change");
        assert_eq!(s.state("p0"), before, "{lies:?}");
        s.heal();
        completes(&mut s);
    }
}

#[test]
fn a_lone_replica_does_not_run_ahead() {
    // R5. Nobody else wants view 2, so p0 does not wait for it, and does not want view 3.
    let mut s = story("workload.requests = 1");
    s.deliver("c0>p0 request").timeout("p0", "request-c0-1").deliver_all();
    assert_eq!(view(&s, "p0"), (1, Some(2)));
    assert!(s.sim().timers(turncoat_core::ids::Seat(0)).is_empty());
    completes(&mut s);
    expect_view(&s, &["p1", "p2", "p3"], 1);
}
