//! Attacks on Zyzzyva as published, and on rules left out. Each needs the deviations that it names, and the corrected
//! protocol survives the same schedule.

use super::stage::{
    attack, change_view, committed, expect_changing, expect_spec, expect_view, g, idle, max_cc, spec,
};
use crate::stage::{ALL, BACKUPS, run, tell, without_flags, witness};
use turncoat_core::outcome::{End, Property};
use turncoat_core::story::Story;
use turncoat_protocols::zyzzyva::Zyzzyva;

/// c0 asks for `a`, c1 for `b`; p0, which leads view 1, lies.
const TWO: &str = "cluster.clients = 2\nadversary.byzantine = ['p0']\nworkload.ops = ['a', 'b']";

/// Steps 1 to 3 of 5: p0 orders a for p1 and p2, and b for p3. c0 has three answers, and shows the certificate to p0 alone.
fn view_1(s: &mut Story<Zyzzyva>) {
    s.deliver("c0>p0 request")
        .drop("c1>p0 request")
        .mutate("p0>p3 order-req", "order-req.request=other+history");
    s.deliver("p0>* order-req").deliver("p0,p1,p2>c0 spec-response").deliver("p3>c1 spec-response");
    expect_spec(s, &["p0", "p1", "p2"], &["a"]);
    expect_spec(s, &["p3"], &["b"]);
    s.timeout("c0", "client-retry-1");
}

/// Steps 4 and 5: c1 asks all for b; the votes for view 2 are in, those of p0, p1 and p3 at p1. p0 says that it has b.
pub(super) fn view_2_votes(s: &mut Story<Zyzzyva>) {
    view_1(s);
    s.deliver("c0>p0 commit").drop("c0>p1,p2,p3 commit");
    s.timeout("c1", "client-retry-1").drop("c1>p0 request").deliver("c1>* request").drop("*>p0 confirm-req");
    s.timeout("p1", "confirm-c1").timeout("p2", "confirm-c1").deliver("p1,p2>* ihtp");
    expect_changing(s, &ALL, 2);
    s.mutate("p0>p1 view-change", "view-change.orders.first=other+history");
    s.drop("p2>p1 view-change").deliver("p0,p3>p1 view-change").deliver("*>p0,p2,p3 view-change");
}

/// Steps 6 and 7: view 2 has b in slot 1, and c1 completes it with all answers.
pub(super) fn view_2(s: &mut Story<Zyzzyva>) {
    view_2_votes(s);
    assert_eq!(g(s, "p1"), ["b@1"]);
    change_view(s);
    expect_view(s, &ALL, 2);
    expect_spec(s, &ALL, &["b"]);
    s.deliver("*>c1 spec-response");
    assert!(idle(s, "c1"));
}

#[test]
fn an_old_certificate_overrides_what_completed_in_a_later_view() {
    // 13: section 5 (Abraham et al., 2017), steps 8 to 10.
    let mut s = attack(&["cc-ignores-view"], TWO);
    view_2(&mut s);
    s.timeout("c0", "local-commit-1").drop("c0>* commit").drop("c0>p0 request").deliver("c0>* request");
    s.drop("p1>* order-req").drop("*>p1 confirm-req");
    s.timeout("p2", "confirm-c0").timeout("p3", "confirm-c0").deliver("p2,p3>* ihtp");
    expect_changing(&s, &ALL, 3);
    // p0 votes as if it had never left view 1.
    s.mutate("p0>p2 view-change", "view-change.cert+orders=older");
    s.drop("p1>p2 view-change").deliver("p0,p3>p2 view-change").deliver("*>p0,p1,p3 view-change");
    assert_eq!(g(&s, "p2"), ["a@1"]);
    change_view(&mut s);
    expect_view(&s, &ALL, 3);
    expect_spec(&s, &ALL, &["a"]);
    s.expect_no_violation();
    s.deliver("*>c0 spec-response");
    s.expect_violation(Property::ClientAgreement);
    // Nothing is final for the replicas, so that their logs show nothing.
    assert_eq!(ALL.map(|who| committed(&s, who)), [0; 4]);
    witness(&mut s, "zyzzyva/cc-ignores-view");
    let control = run(&without_flags(&s.scenario()));
    assert_eq!((control.end, control.completed), (End::Goal, 2));
}

/// After view 1: c1 asks all for b, p0 is silent, view 2 never begins. p0 votes for b in view 3, which p2 leads; p1's vote
/// is lost. View 3 has b in slot 1, and a checkpoint behind it.
fn view_3_with_b(s: &mut Story<Zyzzyva>) {
    s.timeout("c1", "client-retry-1").drop("c1>p0 request").deliver("c1>* request").drop("*>p0 confirm-req");
    s.timeout("p2", "confirm-c1").timeout("p3", "confirm-c1").deliver("p2,p3>* ihtp");
    s.deliver_only("*>* view-change").drop("p1>* new-view").drop("p1>* view-confirm");
    s.timeout("p2", "new-view").timeout("p3", "new-view").deliver("p2,p3>* ihtp");
    expect_changing(s, &ALL, 3);
    s.mutate("p0>p2 view-change", "view-change.orders.first=other+history");
    s.drop("p1>p2 view-change").deliver("p0,p3>p2 view-change");
    assert_eq!(g(s, "p2"), ["b@1"]);
    change_view(s);
    s.deliver_only("*>p0,p2,p3 spec-response,checkpoint");
    assert_eq!(["p2", "p3"].map(|who| committed(s, who)), [1, 1]);
    s.expect_violation(Property::Agreement);
}

#[test]
fn a_certificate_alone_is_not_final() {
    // The second flag: c0's certificate for a reaches p1 alone, who takes a for final. c0 has not completed it.
    let mut s = attack(&["commit-on-cc"], &format!("{TWO}\nprotocol.checkpoint = 1"));
    view_1(&mut s);
    s.drop("*>p0,p1,p2,p3 spec-response").deliver("c0>p1 commit").drop("c0>p0,p2,p3 commit");
    assert_eq!(committed(&s, "p1"), 1);
    view_3_with_b(&mut s);
    witness(&mut s, "zyzzyva/commit-on-cc");
}

#[test]
fn a_checkpoint_needs_a_correct_majority() {
    // The third flag: p1 has the answers of p0 and p2 for a, and so a certificate; a CHECKPOINT of p0 makes it stable.
    let mut s = attack(&["stable-fplus1"], &format!("{TWO}\nprotocol.checkpoint = 1"));
    view_1(&mut s);
    s.drop("c0>* commit").deliver("p0,p1,p2>p0,p1 spec-response").drop("*>p2,p3 spec-response");
    s.drop("p3>p0,p1 spec-response").deliver("p0>p1 checkpoint").drop("*>* checkpoint");
    assert_eq!(["p0", "p1"].map(|who| committed(&s, who)), [0, 1]);
    view_3_with_b(&mut s);
    witness(&mut s, "zyzzyva/stable-fplus1");
}

#[test]
fn a_certificate_that_was_dropped_hides_a_later_one() {
    // p2 holds c0's certificate for a in view 1. View 2 has b, and p2 keeps the old certificate, as its number is no lower.
    // c1 completes b with p0, p2 and p3. p1 never gets into view 2, and has a; p0 says so too.
    let mut s = attack(&["cc-highest-n"], TWO);
    view_1(&mut s);
    s.deliver("c0>p2 commit").drop("c0>p0,p1,p3 commit").drop("p2>c0 local-commit");
    s.timeout("c1", "client-retry-1").drop("c1>p0 request").deliver("c1>* request").drop("*>p0 confirm-req");
    s.timeout("p1", "confirm-c1").timeout("p2", "confirm-c1").deliver("p1,p2>* ihtp");
    s.mutate("p0>p1 view-change", "view-change.orders.first=other+history");
    s.drop("p2>p1 view-change").deliver("p0,p3>p1 view-change").deliver("*>p0,p2,p3 view-change");
    assert_eq!(g(&s, "p1"), ["b@1"]);
    s.lose("*>p1 view-confirm");
    change_view(&mut s);
    expect_view(&s, &["p0", "p2", "p3"], 2);
    expect_changing(&s, &["p1"], 2);
    assert_eq!(max_cc(&s, "p2"), Some((1, 1)));
    s.deliver("*>c1 spec-response").deliver("c1>* commit").deliver("*>c1 local-commit");
    assert!(idle(&s, "c1"));

    s.timeout("c0", "local-commit-1").drop("c0>* commit").drop("c0>p0,p1 request").deliver("c0>* request");
    s.drop("*>p1 confirm-req")
        .timeout("p2", "confirm-c0")
        .timeout("p3", "confirm-c0")
        .deliver("p2,p3>* ihtp");
    expect_changing(&s, &ALL, 3);
    tell(&mut s, "p0>p2 view-change", &["view-change.cert=none", "view-change.orders.last=earlier"]);
    s.drop("p3>p2 view-change").deliver("p0,p1>p2 view-change").heal();
    assert_eq!(g(&s, "p2"), ["a@1"]);
    change_view(&mut s);
    s.deliver("*>c0 spec-response").expect_violation(Property::ClientAgreement);
    witness(&mut s, "zyzzyva/cc-highest-n");
}

#[test]
fn a_view_without_a_certificate_for_its_log_forgets_the_end_of_it() {
    // c1 completes r2 in slot 2 with p0, p2 and p3; p1 has r1 alone. View 2 has both; p1 does not get into it. There c0
    // completes r1 in slot 1: a certificate of a higher view, for a lower number. In view 3 only p2 still speaks for r2.
    let mut s = attack(
        &["no-confirm-cert"],
        "cluster.clients = 3\nadversary.byzantine = ['p0']\nworkload.requests = 3",
    );
    s.deliver("c0>p0 request").deliver("p0>* order-req").drop("*>c0 spec-response");
    s.deliver("c1>p0 request")
        .drop("p0>p1 order-req")
        .deliver("p0>* order-req")
        .deliver("*>c1 spec-response");
    s.timeout("c1", "client-retry-1")
        .drop("c1>p1 commit")
        .deliver("c1>* commit")
        .deliver("*>c1 local-commit");
    assert!(idle(&s, "c1"));
    s.drop("c2>p0 request").timeout("c2", "client-retry-1").drop("c2>p0 request").deliver("c2>* request");
    s.drop("*>p0 confirm-req")
        .timeout("p1", "confirm-c2")
        .timeout("p2", "confirm-c2")
        .deliver("p1,p2>* ihtp");
    s.lose("*>p1 view-confirm");
    change_view(&mut s);
    expect_view(&s, &["p0", "p2", "p3"], 2);
    assert_eq!(g(&s, "p1"), ["r1@1", "r2@2"]);
    assert_eq!(max_cc(&s, "p2"), Some((1, 2)));
    s.drop("*>c1 spec-response").deliver("*>c0 spec-response").timeout("c0", "client-retry-1");
    s.deliver("c0>* commit").deliver("*>c0 local-commit");
    assert_eq!(max_cc(&s, "p2"), Some((2, 1)));
    assert!(idle(&s, "c0"));

    s.timeout("c2", "client-retry-1")
        .drop("c2>p0,p1 request")
        .deliver("c2>* request")
        .drop("*>p1 confirm-req");
    s.timeout("p2", "confirm-c2").timeout("p3", "confirm-c2").deliver("p2,p3>* ihtp");
    expect_changing(&s, &ALL, 3);
    tell(&mut s, "p0>p2 view-change", &["view-change.cert=none", "view-change.orders.drop-last"]);
    s.drop("p3>p2 view-change").deliver("p0,p1>p2 view-change").heal();
    assert_eq!(g(&s, "p2"), ["r1@1", "null@2"]);
    let outcome = witness(&mut s, "zyzzyva/no-confirm-cert");
    assert_eq!(outcome.completed, 3);
}

#[test]
fn histories_that_commute_hide_the_order() {
    // p0 runs twice: the one orders r1 and r2, the other r2 and r1. All have the same history up to 2.
    let mut s = attack(
        &["xor-history"],
        "cluster.clients = 2\nprotocol.checkpoint = 2\nadversary = { byzantine = ['p0'], twins = ['p0'] }\n\
         limits.linger = 1000",
    );
    s.deliver("c0>p0.a request")
        .deliver("c1>p0.a request")
        .deliver("c1>p0.b request")
        .deliver("c0>p0.b request");
    s.drop("p0.a>p3 order-req").drop("p0.b>p1,p2 order-req").deliver("p0>* order-req");
    assert_eq!(
        (spec(&s, "p1"), spec(&s, "p3")),
        (vec!["r1".to_owned(), "r2".to_owned()], vec!["r2".to_owned(), "r1".to_owned()])
    );
    s.deliver_only("p1,p2,p3>p1,p2,p3 spec-response,checkpoint");
    s.expect_violation(Property::Agreement);
    witness(&mut s, "zyzzyva/xor-history");
}

#[test]
fn a_log_that_is_taken_over_at_once_takes_back_what_is_final() {
    // Nobody lies. View 2 begins with an empty log and without p3, which hears of its first checkpoint, and fetches it. Then
    // its NEW-VIEW comes, late. With the next checkpoint p3 decides the same slots again.
    let mut s = attack(
        &["reconcile-early"],
        "cluster.clients = 2\nworkload.requests = 4\nprotocol.checkpoint = 2\nlimits.linger = 1000",
    );
    s.drop("*>p0 request").timeout("c0", "client-retry-1").drop("c0>p0 request").deliver("c0>* request");
    s.drop("*>p0 confirm-req").timeout("p1", "confirm-c0").timeout("p2", "confirm-c0");
    s.deliver("p1,p2>* ihtp").hold("*>p3 new-view,view-confirm,order-req,spec-response");
    change_view(&mut s);
    expect_view(&s, &["p0", "p1", "p2"], 2);
    s.timeout("c1", "client-retry-1").deliver("c1>p1 request").deliver_only("p1>p0,p2 order-req");
    s.deliver_only("p0,p1,p2>p0,p1,p2 spec-response,checkpoint");
    s.deliver("p0,p1,p2>p3 checkpoint").deliver("p3>p1 fetch").deliver("p1>p3 state");
    assert_eq!(ALL.map(|who| committed(&s, who)), [2; 4]);
    expect_changing(&s, &["p3"], 2);
    s.heal().deliver("p1>p3 new-view");
    expect_spec(&s, &["p3"], &[]);
    let outcome = witness(&mut s, "zyzzyva/reconcile-early");
    assert_eq!(outcome.completed, 4);
}

// --- rules without which a run may never end ------------------------------------------------------------------

#[test]
fn a_replica_that_has_executed_a_request_must_wait_for_more() {
    // 20. p0 orders r1 for p1 and p2 alone, and falls silent. The client has two answers; only p3 hates the primary.
    let mut s = attack(&["tc-stops-at-order"], "workload.requests = 1\nadversary.byzantine = ['p0']");
    s.deliver("c0>p0 request").drop("p0>p3 order-req").deliver("p0>* order-req").drop("p0>c0 spec-response");
    s.crash("p0");
    s.expect_no_violation();
    let outcome = witness(&mut s, "zyzzyva/tc-stops-at-order");
    assert_eq!(outcome.completed, 0);
    expect_view(&s, &BACKUPS, 1);
}

#[test]
fn two_new_views_that_nobody_compares_leave_a_replica_behind() {
    // p1, which leads view 2, runs twice; r2 has reached p0, p2 and one of the two. That one starts view 2 with r2, with the
    // votes of p2 and p3; the other one starts it without, with those of p0 and p3, for p0 alone. Then both fall silent.
    // r2 is covered at p2 and p3, who are content.
    let mut s = attack(
        &["no-new-view-relay"],
        "cluster.clients = 2\nadversary = { byzantine = ['p1'], twins = ['p1'] }",
    );
    s.deliver("c0>p0 request").deliver("p0>* order-req").deliver("*>c0 spec-response");
    assert!(idle(&s, "c0"));
    s.deliver("c1>p0 request")
        .drop("p0>p1.a,p3 order-req")
        .deliver("p0>* order-req")
        .drop("*>c1 spec-response");
    s.timeout("c1", "client-retry-1")
        .deliver("c1>p2,p3 request")
        .drop("c1>* request")
        .drop("*>p0 confirm-req");
    s.timeout("p2", "confirm-c1").timeout("p3", "confirm-c1").deliver("p2,p3>* ihtp");
    s.deliver("p0,p3>p1.a view-change").deliver("p2,p3>p1.b view-change").deliver("*>p0,p2,p3 view-change");
    assert_eq!(g(&s, "p1.a"), ["r1@1", "null@2"]);
    assert_eq!(g(&s, "p1.b"), ["r1@1", "r2@2"]);
    s.drop("p1.a>p2,p3 new-view")
        .drop("p1.b>p0 new-view")
        .deliver("p1>* new-view")
        .drop("p1.a>p2,p3 view-confirm")
        .deliver("*>* view-confirm");
    expect_view(&s, &["p2", "p3"], 2);
    expect_changing(&s, &["p0"], 2);
    s.drop("p1>* *").crash("p1.a").crash("p1.b");
    let outcome = witness(&mut s, "zyzzyva/no-new-view-relay");
    assert_eq!(outcome.completed, 1);
}

#[test]
fn a_certificate_is_the_only_proof_that_a_log_diverges() {
    // p0 orders r1, r2, r3 for p1 and p2, and r2 in the first place for p3. c0 and c1 complete without p3. c2 has the
    // certificate, but p0 falls silent before its LOCAL-COMMIT. p1 and p2 are content; what comes next does not fit for p3.
    let mut s = attack(
        &["no-pom-from-cc"],
        "cluster.clients = 3\nadversary.byzantine = ['p0']\nworkload.requests = 3",
    );
    s.deliver("c0>p0 request").drop("p0>p3 order-req").deliver("c1>p0 request");
    s.mutate("p0>p3 order-req", "order-req.seq-1+history=first").deliver("p0>* order-req");
    s.deliver("c2>p0 request").deliver("p0>* order-req");
    expect_spec(&s, &["p3"], &["r2"]);
    for client in ["c0", "c1", "c2"] {
        s.deliver(&format!("p0,p1,p2>{client} spec-response")).timeout(client, "client-retry-1");
        s.deliver(&format!("{client}>p0,p1,p2 commit"));
    }
    s.deliver("*>c0,c1 local-commit").drop("p0>c2 local-commit").deliver("p1,p2>c2 local-commit").crash("p0");
    assert!(idle(&s, "c0") && idle(&s, "c1") && !idle(&s, "c2"));
    let outcome = witness(&mut s, "zyzzyva/no-pom-from-cc");
    assert_eq!(outcome.completed, 2);
}

#[test]
fn a_checkpoint_that_a_liar_withholds_leaves_a_replica_behind() {
    // p0 orders r2 for p1 and p3 alone, which are content when the checkpoint behind it is stable, with a CHECKPOINT of p0
    // that p2 does not get. Then p0 falls silent. c0 has two answers; p2 asks for an order that is forgotten.
    let mut s = attack(
        &["no-stable-proof"],
        "workload.requests = 2\nprotocol.checkpoint = 2\nadversary.byzantine = ['p0']",
    );
    s.deliver("c0>p0 request").deliver("p0>* order-req").deliver("*>c0 spec-response");
    s.deliver("c0>p0 request").drop("p0>p2 order-req").deliver("p0>* order-req");
    s.drop("p0>p2,c0 spec-response").deliver("*>* spec-response").drop("p0>p2 checkpoint");
    s.deliver("*>* checkpoint").crash("p0");
    assert_eq!(BACKUPS.map(|who| committed(&s, who)), [2, 0, 2]);
    let outcome = witness(&mut s, "zyzzyva/no-stable-proof");
    assert_eq!(outcome.completed, 1);
    expect_view(&s, &BACKUPS, 1);
}
