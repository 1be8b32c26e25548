//! Stories of view changes. Numbers are those of the scenarios of the protocol's document.

use super::stage::{
    change_view, committed, expect_changing, expect_spec, expect_view, g, idle, marked, max_cc, story,
};
use crate::stage::{ALL, BACKUPS, always, completes, left};
use turncoat_core::story::Story;
use turncoat_protocols::zyzzyva::Zyzzyva;

/// p0 does not answer c`i`, which asks all; TC fires at p1 and p2.
fn hate_p0(s: &mut Story<Zyzzyva>, client: &str) {
    s.drop(&format!("{client}>p0 request")).timeout(client, "client-retry-1");
    s.drop(&format!("{client}>p0 request")).deliver(&format!("{client}>* request"));
    s.drop("*>p0 confirm-req");
    s.timeout("p1", &format!("confirm-{client}")).timeout("p2", &format!("confirm-{client}"));
}

#[test]
fn a_silent_primary_is_replaced() {
    // 5.
    let mut s = story("workload.requests = 1");
    hate_p0(&mut s, "c0");
    s.deliver("p1,p2>* ihtp");
    expect_changing(&s, &ALL, 2);
    change_view(&mut s);
    expect_view(&s, &ALL, 2);
    assert!(g(&s, "p1").is_empty());
    let outcome = completes(&mut s);
    expect_spec(&s, &ALL, &["r1"]);
    assert!(marked(&outcome, "new-view") && !marked(&outcome, "new-view-null"));
}

#[test]
fn who_has_slept_through_a_view_change_is_shown_it() {
    // p0 hears nothing of view 2, and suspects nobody: it leads view 1. Byzantine p3 withholds LOCAL-COMMIT, so c0 needs p0's.
    let mut s = story(
        "workload.requests = 1\nadversary.byzantine = ['p3']\n\
         [[adversary.faults]]\nfrom = ['p3']\nto = ['c0']\nkind = 'local-commit'\ndrop = true",
    );
    hate_p0(&mut s, "c0");
    s.deliver_only("*>p1,p2,p3 ihtp,view-change,new-view,view-confirm");
    s.drop("*>p0 ihtp,view-change,new-view,view-confirm,order-req,confirm-req");
    expect_view(&s, &["p0"], 1);
    expect_view(&s, &BACKUPS, 2);
    completes(&mut s);
    expect_view(&s, &ALL, 2);
}

#[test]
fn one_replica_that_hates_the_primary_goes_on() {
    // 6.
    let mut s = story("workload.requests = 1");
    s.drop("c0>p0 request").timeout("c0", "client-retry-1").hold("c0>p0 request").hold("*>p0 confirm-req");
    s.deliver("c0>p3 request").timeout("p3", "confirm-c0").deliver("p3>* ihtp");
    s.drop("c0>p1,p2 request").heal().deliver("c0>p0 request").deliver("p0>* order-req");
    expect_view(&s, &ALL, 1);
    expect_spec(&s, &ALL, &["r1"]);
    assert!(s.noted("hates the primary of view 1"));
    let outcome = completes(&mut s);
    assert!(!marked(&outcome, "view-change"));
}

#[test]
fn a_client_proves_that_the_primary_contradicts_itself() {
    // 7. Byzantine p0 orders r1 and r2 for p1 and p2, and r2 in the place of r1 for p3. c1 sees r2 in two slots.
    let mut s = story("cluster.clients = 2\nadversary.byzantine = ['p0']");
    s.deliver("c0>p0 request").drop("p0>p3 order-req").deliver("c1>p0 request");
    s.mutate("p0>p3 order-req", "order-req.seq-1+history=first").deliver("p0>* order-req");
    s.deliver("p1>c1 spec-response");
    assert!(!s.in_flight("c1>* pom"));
    s.deliver("p3>c1 spec-response").deliver("c1>* pom");
    assert!(s.in_flight("p1>* ihtp") && s.in_flight("p3>* ihtp"));
    change_view(&mut s);
    expect_view(&s, &ALL, 2);
    let outcome = completes(&mut s);
    expect_view(&s, &BACKUPS, 2);
    assert!(marked(&outcome, "pom"));
}

#[test]
fn a_replica_proves_it_too() {
    // Byzantine p0 orders r2 in the place of r1 for p3. When c0 asks again, p3 asks for r1, and sees the other order.
    let mut s = story("cluster.clients = 2\nadversary.byzantine = ['p0']");
    s.deliver("c0>p0 request").mutate("p0>p3 order-req", "order-req.request=other+history");
    s.deliver("p0>* order-req").drop("p0>c0 spec-response").deliver("*>c0 spec-response");
    expect_spec(&s, &["p3"], &["r2"]);
    s.timeout("c0", "client-retry-1").deliver("c0>p3 request").deliver("p3>p0 confirm-req");
    s.deliver("p0>p3 order-req");
    assert!(s.in_flight("p3>p1 pom") && s.in_flight("p3>p1 ihtp"));
    s.deliver("p3>* pom");
    assert!(s.in_flight("p1>p2 ihtp"));
    completes(&mut s);
}

/// Requests of five clients: p0 orders r1 to r3 for all; c2 shows its certificate to p1 alone; r4 reaches p1 and p2, r5
/// reaches p1.
fn five(settings: &str) -> Story<Zyzzyva> {
    let mut s = story(&format!("cluster.clients = 5\nworkload.requests = 5\n{settings}"));
    for client in ["c0", "c1", "c2"] {
        s.deliver(&format!("{client}>p0 request")).deliver("p0>* order-req");
    }
    s.drop("p3>c2 spec-response").deliver("*>c2 spec-response").timeout("c2", "client-retry-1");
    s.deliver("c2>p1 commit").drop("c2>* commit");
    s.deliver("c3>p0 request").deliver("p0>p1,p2 order-req").drop("p0>p3 order-req");
    s.deliver("c4>p0 request").deliver("p0>p1 order-req").drop("p0>* order-req");
    s.drop("*>c0,c1,c2,c3,c4 spec-response").drop("p1>c2 local-commit");
    s
}

#[test]
fn the_new_view_takes_over_what_is_certified_or_reported_twice() {
    // 8. p0's vote is lost.
    let mut s = five("protocol.checkpoint = 8");
    s.crash("p0").timeout("c4", "client-retry-1").deliver("c4>p1,p2,p3 request");
    s.timeout("p2", "confirm-c4").timeout("p3", "confirm-c4").deliver("p2,p3>* ihtp");
    change_view(&mut s);
    assert_eq!(g(&s, "p1"), ["r1@1", "r2@2", "r3@3", "r4@4", "null@5"]);
    expect_spec(&s, &BACKUPS, &["r1", "r2", "r3", "r4", "null"]);
    expect_view(&s, &BACKUPS, 2);
    let outcome = completes(&mut s);
    assert!(marked(&outcome, "new-view-null") && marked(&outcome, "rollback"));
    expect_spec(&s, &BACKUPS, &["r1", "r2", "r3", "r4", "null", "r5"]);
}

/// What Byzantine p0 may say of a log with r1 in it.
const LIES: [&[&str]; 8] = [
    &[],
    &["view-change.cert=none"],
    &["view-change.orders.clear"],
    &["view-change.cert+orders=none"],
    &["view-change.cert=none", "view-change.orders.clear"],
    &["view-change.cert=none", "view-change.orders.drop-first"],
    &["view-change.orders.first=other+history"],
    &["view-change.view+1"],
];

/// r1 has completed, by all answers or by LOCAL-COMMITs. p0 lies about it in its vote, and another vote is lost.
fn survives(certificate: bool) {
    for (lies, absent) in LIES.iter().flat_map(|lies| ["p0", "p2", "p3"].map(|absent| (lies, absent))) {
        let mut s = story(&format!(
            "cluster.clients = 2\nadversary.byzantine = ['p0']\nadversary.faults = [{}]",
            always("p0", lies)
        ));
        s.deliver("c0>p0 request");
        match certificate {
            false => _ = s.deliver("p0>* order-req").deliver("*>c0 spec-response"),
            // p3 knows nothing of it.
            true => {
                s.drop("p0>p3 order-req").deliver("p0>* order-req").deliver("*>c0 spec-response");
                s.timeout("c0", "client-retry-1").drop("c0>p3 commit").deliver("c0>* commit");
                s.deliver("*>c0 local-commit");
            }
        }
        assert!(idle(&s, "c0"), "{lies:?}");
        hate_p0(&mut s, "c1");
        s.lose(&format!("{absent}>* view-change"));
        change_view(&mut s);
        // A vote whose log does not contain its certificate is refused, and two votes are too few.
        let refused = [&["view-change.view+1"], &["view-change.orders.clear"]];
        if absent != "p0" && refused[..1 + usize::from(certificate)].iter().any(|lie| lie == lies) {
            expect_changing(&s, &["p1"], 2);
        } else {
            expect_view(&s, &["p1"], 2);
            assert_eq!(g(&s, "p1"), ["r1@1"], "{lies:?}");
        }
        s.heal();
        completes(&mut s);
        expect_spec(&s, &["p1"], &["r1", "r2"]);
    }
}

#[test]
fn what_completed_by_all_answers_survives_a_view_change() {
    // 9.
    survives(false);
}

#[test]
fn what_completed_by_a_certificate_survives_a_view_change() {
    // 10.
    survives(true);
}

#[test]
fn who_lags_behind_a_checkpoint_fetches_it_to_enter_the_view() {
    // 12, second half. p3 has missed everything; the votes of p1 and p2 start at the checkpoint.
    let mut s = story("cluster.clients = 6\nworkload.requests = 6");
    s.lose("*>p3 *").hold("c5>p0 request").deliver_all().heal();
    assert_eq!(ALL.map(|who| committed(&s, who)), [4, 4, 4, 0]);
    expect_spec(&s, &["p3"], &[]);
    s.crash("p0").timeout("c5", "client-retry-1").deliver("c5>p1,p2 request");
    s.timeout("p1", "confirm-c5").timeout("p2", "confirm-c5");
    s.hold("*>* state").deliver_only("p1,p2,p3>* ihtp,view-change,new-view,view-confirm");
    assert_eq!(g(&s, "p1"), ["r5@5"]);
    expect_changing(&s, &["p3"], 2);
    assert!(s.in_flight("p3>p1 fetch"));
    s.heal().deliver("p3>p1 fetch").deliver("p1>p3 state");
    expect_view(&s, &["p3"], 2);
    expect_spec(&s, &["p3"], &["r1", "r2", "r3", "r4", "r5"]);
    completes(&mut s);
    assert_eq!(committed(&s, "p3"), 4);
}

#[test]
fn a_new_view_that_does_not_follow_from_its_votes_is_refused() {
    // 14. All NEW-VIEWs of Byzantine p1 lie. TN leads to view 3, which gets twice the time.
    for lies in [
        &["new-view.votes.drop-last"][..],
        &["new-view.votes.drop-last", "new-view.votes.repeat-last"],
        &["new-view.votes.last.forge"],
        &["new-view.orders.clear"],
        &["new-view.orders.drop-last"],
        &["new-view.orders.repeat-last"],
        &["new-view.orders.last=other+history"],
        &["new-view.orders.last=null"],
        &["new-view.orders.last.forge"],
        &["new-view.view+1"],
        &["new-view.view-1"],
    ] {
        let mut s = story(&format!(
            "cluster.clients = 2\nadversary.byzantine = ['p1']\nadversary.faults = [{}]",
            always("p1", lies)
        ));
        s.deliver("c0>p0 request").deliver("p0>* order-req");
        hate_p0(&mut s, "c1");
        s.deliver("p1,p2>* ihtp").deliver("p0,p1>p2 view-change");
        assert_eq!(left(&s, "p2", "new-view"), 600);
        s.deliver("*>* view-change");
        let others = ["p0", "p2", "p3"];
        let before = others.map(|who| s.state(who));
        s.deliver("p1>* new-view");
        assert_eq!(others.map(|who| s.state(who)), before, "{lies:?}");
        s.timeout("p0", "new-view").timeout("p3", "new-view").deliver("p0,p3>* ihtp");
        s.drop("*>* new-view,view-confirm");
        expect_changing(&s, &others, 3);
        s.deliver("p0,p1>p3 view-change");
        assert_eq!(left(&s, "p3", "new-view"), 1200);
        let outcome = completes(&mut s);
        assert_eq!(outcome.injected.accepted, 0, "{lies:?}");
        expect_view(&s, &others, 3);
        expect_spec(&s, &others, &["r1", "r2"]);
    }
}

/// Views 1 and 2 of the attack on the published protocol (`attacks`): a is certified for p0 alone, b takes its place.
fn b_in_the_place_of_a() -> Story<Zyzzyva> {
    let mut s = story("cluster.clients = 2\nadversary.byzantine = ['p0']\nworkload = { ops = ['a', 'b'] }");
    super::attacks::view_2(&mut s);
    s
}

#[test]
fn who_was_rolled_back_goes_on_with_the_others() {
    // 11.
    let mut s = b_in_the_place_of_a();
    expect_spec(&s, &ALL, &["b"]);
    assert!(s.noted("takes back slots 1 to 1"));
    completes(&mut s);
    expect_spec(&s, &BACKUPS, &["b", "a"]);
}

#[test]
fn an_old_certificate_for_something_else_is_not_answered() {
    // 15. c0 shows its certificate of view 1 again.
    let mut s = b_in_the_place_of_a();
    s.timeout("c0", "local-commit-1").deliver("c0>p1,p2,p3 commit");
    assert!(!s.in_flight("p1,p2,p3>c0 local-commit"));
    // It accuses nobody either.
    assert!(!s.in_flight("p1,p2,p3>* ihtp,pom"));
    completes(&mut s);
}

#[test]
fn a_view_begins_with_a_certificate_for_its_log() {
    // 18, and 17: p1 holds a certificate of view 1 for slot 3. The certificate of view 2 takes its place, and a later one
    // for slot 2 does not lower it. (That a certificate (1,3) is dropped and (2,2) comes after it, as 17 has it, cannot be:
    // of those who vouch for slot 3 one has a vote in V, and then G reaches slot 3.)
    let mut s = five("protocol.checkpoint = 8");
    assert_eq!(max_cc(&s, "p1"), Some((1, 3)));
    s.crash("p0").timeout("c4", "client-retry-1").deliver("c4>p1,p2,p3 request");
    s.timeout("p2", "confirm-c4").timeout("p3", "confirm-c4").deliver("p2,p3>* ihtp");
    s.hold("p1>* order-req");
    change_view(&mut s);
    assert_eq!(BACKUPS.map(|who| max_cc(&s, who)), [Some((2, 5)); 3]);
    s.deliver("*>c1 spec-response").timeout("c1", "client-retry-1").deliver("c1>p1,p2,p3 commit");
    assert_eq!(BACKUPS.map(|who| max_cc(&s, who)), [Some((2, 5)); 3]);
    s.deliver("p1,p2,p3>c1 local-commit");
    assert!(idle(&s, "c1"));
    s.heal();
    completes(&mut s);
}

#[test]
fn a_new_view_without_confirmation_changes_nothing() {
    // 19. All VIEW-CONFIRMs are lost; the next vote is the old one.
    let mut s = b_before_confirmation();
    let facts = |s: &Story<Zyzzyva>| {
        ["p2", "p3"].map(|who| {
            let state = s.json(who);
            ["log", "clients", "max_cc"].map(|field| state[field].clone())
        })
    };
    let before = facts(&s);
    s.deliver("p1>* new-view").drop("*>* view-confirm");
    assert_eq!(facts(&s), before);
    assert_eq!(g(&s, "p2"), ["b@1"]);
    s.timeout("p2", "new-view").timeout("p3", "new-view").deliver("p2,p3>* ihtp");
    expect_changing(&s, &["p2", "p3"], 3);
    assert_eq!(facts(&s), before);
    s.drop("*>* new-view");
    completes(&mut s);
}

/// As before, just before the NEW-VIEW of view 2 arrives.
fn b_before_confirmation() -> Story<Zyzzyva> {
    let mut s = story("cluster.clients = 2\nadversary.byzantine = ['p0']\nworkload = { ops = ['a', 'b'] }");
    super::attacks::view_2_votes(&mut s);
    s
}

#[test]
fn a_request_that_two_replicas_have_is_not_waited_for_in_vain() {
    // 20. Byzantine p0 orders r1 for p1 and p2 alone, and does not answer the client, which has two answers.
    let mut s = story("workload.requests = 1\nadversary.byzantine = ['p0']");
    s.deliver("c0>p0 request").drop("p0>p3 order-req").deliver("p0>* order-req").drop("p0>c0 spec-response");
    s.deliver("*>c0 spec-response")
        .timeout("c0", "client-retry-1")
        .drop("c0>p0 request")
        .deliver("c0>* request");
    s.drop("p3>p0 confirm-req");
    for who in BACKUPS {
        assert_eq!(s.json(who)["watched"]["c0"], 1, "{who}");
    }
    s.timeout("p1", "confirm-c0").timeout("p2", "confirm-c0").crash("p0");
    change_view(&mut s);
    expect_view(&s, &BACKUPS, 2);
    expect_spec(&s, &BACKUPS, &["r1"]);
    let outcome = completes(&mut s);
    assert!(!marked(&outcome, "rollback"));
}

#[test]
fn two_new_views_of_one_view_are_hated_by_all() {
    // 21. p1 runs twice: the one has the votes of p0 and p2, the other those of p2 and p3. r1 has reached p0 and p1 alone.
    let mut s = story("cluster.clients = 2\nadversary = { byzantine = ['p1'], twins = ['p1'] }");
    s.deliver("c0>p0 request").drop("p0>p2,p3 order-req").deliver("p0>* order-req");
    s.drop("c1>p0 request").timeout("c1", "client-retry-1").drop("c1>p0 request").deliver("c1>p2,p3 request");
    s.drop("*>p0 confirm-req")
        .timeout("p2", "confirm-c1")
        .timeout("p3", "confirm-c1")
        .deliver("p2,p3>* ihtp");
    s.deliver("p0,p2>p1.a view-change").deliver("p2,p3>p1.b view-change");
    assert_eq!(g(&s, "p1.a"), ["r1@1"]);
    assert_eq!(g(&s, "p1.b"), ["null@1"]);
    s.drop("p1.a>p2,p3 new-view").drop("p1.b>p0 new-view").deliver("p1>* new-view");
    assert_eq!((g(&s, "p0"), g(&s, "p2")), (g(&s, "p1.a"), g(&s, "p1.b")));
    s.deliver("p0,p2,p3>* new-view");
    for who in ["p0", "p2", "p3"] {
        assert!(s.in_flight(&format!("{who}>* ihtp")), "{who}");
    }
    let outcome = completes(&mut s);
    assert!(marked(&outcome, "two-new-views"));
}
