//! Attacks on hBFT with one of its rules left out: why each of them is needed. The repaired protocol survives the same
//! schedule.

use super::stage::{attack, expect_view, idle, spec, view};
use crate::stage::{NOTHING, completes, witness};
use turncoat_core::story::Story;
use turncoat_protocols::hbft::Hbft;

/// r1 and r2 of different clients, no checkpoints but those of NEW-VIEWs. Nobody lies.
const CALM: &str = "cluster.clients = 2\nprotocol.checkpoint = 100";

/// r1 and r2 of different clients, a checkpoint with each slot; p1, which leads view 1, lies.
const LIAR: &str = "cluster.clients = 2\nprotocol.checkpoint = 1\nadversary.byzantine = ['p1']";

const FIRST_OTHER: &str = "view-change.accepted.first.request=earlier";

/// p1 proposes r1 to p0 and p2, r2 to p3.
fn split(flags: &[&str]) -> Story<Hbft> {
    let mut s = attack(flags, LIAR);
    s.deliver("c0>p1 request").mutate("p1>p3 prepare", "prepare.request=other+digest");
    s.deliver("p1>* prepare");
    s
}

/// p3 and p1 vote for view 2, both for r2, and p1 hides what is certified. p2, which joins, starts the view.
fn second_view(s: &mut Story<Hbft>) {
    s.deliver("c1>p3 request").timeout("p3", "request-c1-1").timeout("p1", "request-c0-1");
    s.mutate("p1>p2 view-change", FIRST_OTHER);
    if s.json("p1")["certified"].is_object() {
        s.mutate("p1>p2 view-change", "view-change.certified=none");
    }
    s.deliver("p1,p3>p2 view-change");
    expect_view(s, &["p2"], 2);
}

/// All but p0 go on in the new view, where r2 is the first.
fn without_p0(s: &mut Story<Hbft>) {
    s.hold("*>p0 *").hold("p0>* *").deliver_all().heal();
    for who in ["p2", "p3"] {
        assert_eq!(s.log(who).first(), Some(&(1, "r2".to_owned())), "{who}");
    }
}

#[test]
fn who_has_voted_for_a_view_enters_no_earlier_one() {
    // R7. p0 and p3 have voted for view 3, without r1, when NEW-VIEW(2) arrives. They enter view 2 and accept r1 there,
    // which has four COMMITs. Their votes still count.
    let mut s = attack(&["new-view-below-vote"], CALM);
    s.hold("*>* request").hold("p2>* new-view").hold("*>* checkpoint-ii").deliver("c0>p0,p1,p2,p3 request");
    s.drop("p1>* prepare").drop("p1>* commit");
    for who in ["p0", "p2", "p3"] {
        s.timeout(who, "request-c0-1");
    }
    s.deliver_all();
    s.timeout("p0", "view-change").timeout("p3", "view-change").hold("*>* view-change");
    s.deliver("p2>* new-view").deliver("c1>p2 request").deliver_all();
    s.heal();
    witness(&mut s, "hbft/new-view-below-vote");
}

#[test]
fn what_a_new_view_carries_over_is_carried_on() {
    // R8. NEW-VIEW(2) carries r1 over, and all COMMITs of view 2 reach p0. Votes for view 3 do not mention it.
    let mut s = attack(&["clear-spec-on-new-view"], CALM);
    s.deliver("c0>* request").deliver("p1>* prepare").drop("*>* commit");
    s.timeout("p0", "request-c0-1").timeout("p2", "request-c0-1").timeout("p3", "request-c0-1");
    s.hold("c1>* request").hold("*>* checkpoint-ii").hold("*>p1,p2,p3 commit").deliver_all();
    s.expect_log("p0", &["r1"]);
    third_view(&mut s);
    witness(&mut s, "hbft/clear-spec-on-new-view");
}

/// Checkpoints of view 2 are late: p1, p2 and p3 go on to view 3, and there r2 comes first.
fn third_view(s: &mut Story<Hbft>) {
    s.drop("*>* checkpoint-ii").drop("*>p1,p2,p3 commit").heal();
    s.deliver("c1>p1,p3 request").drop("p1,p3>p2 request");
    s.timeout("p1", "request-c1-1").timeout("p3", "request-c1-1");
    s.hold("*>p0 *").hold("p0>* *").hold("c0,c1>* request").deliver_all();
    expect_view(s, &["p1", "p2", "p3"], 3);
    s.deliver("c1>p2 request").heal();
}

#[test]
fn a_null_is_accepted_as_a_value_is() {
    // R6. p0 alone has r1: view 2 decides NULL, with all COMMITs at p0. Votes for view 3 do not mention it.
    let mut s = attack(&["forget-nulls"], CALM);
    s.deliver("c0>* request").deliver("p1>p0 prepare").drop("p1>* prepare").drop("*>* commit");
    s.timeout("p0", "request-c0-1").timeout("p2", "request-c0-1").timeout("p3", "request-c0-1");
    s.hold("c1>* request").hold("*>* checkpoint-ii").hold("*>p1,p2,p3 commit").hold("p1>* view-change");
    s.deliver_all();
    s.expect_log("p0", &["noop"]);
    s.drop("p1>* view-change");
    third_view(&mut s);
    witness(&mut s, "hbft/forget-nulls");
}

#[test]
fn one_certificate_does_not_commit() {
    // R4. p0 alone has CER1 of r1.
    let mut s = split(&["cer1-commits"]);
    s.deliver("p1>p0,p2 checkpoint-i").deliver("p1,p2>p0 checkpoint-ii");
    s.expect_log("p0", &["r1"]);
    second_view(&mut s);
    without_p0(&mut s);
    witness(&mut s, "hbft/cer1-commits");
}

#[test]
fn who_wants_a_new_view_votes_for_no_checkpoint() {
    // R4. p0 and p2 have voted for view 2, where they say that nothing is certified. Then they certify r1.
    let mut s = split(&["changing-votes-checkpoint"]);
    s.deliver("c0>p0,p2 request").timeout("p0", "request-c0-1").timeout("p2", "request-c0-1");
    s.deliver("p1>p0,p2 checkpoint-i").deliver("p0,p1,p2>p0,p1,p2 checkpoint-ii");
    s.deliver("p1,p2>p0 checkpoint-iii");
    s.expect_log("p0", &["r1"]);
    second_view(&mut s);
    without_p0(&mut s);
    witness(&mut s, "hbft/changing-votes-checkpoint");
}

#[test]
fn votes_of_a_later_view_beat_an_old_certificate() {
    // R7. p1 alone has CER1 of r1, and hides it: view 2 takes r2, with all COMMITs at p0. Then p1 shows it.
    let mut s = split(&["votes-without-view"]);
    s.deliver("p1>p0,p2 checkpoint-i").deliver("p0,p2>p1 checkpoint-ii");
    second_view(&mut s);
    s.drop("*>* commit #1").drop("*>* checkpoint-ii #1");
    s.deliver("p2>* new-view").deliver("*>p0 commit");
    s.expect_log("p0", &["r2"]);
    s.deliver("c1>p2 request").timeout("p2", "request-c1-1").timeout("p3", "checkpoint-1");
    s.deliver("p2>p3 view-change #2").deliver("p2,p3>p1 view-change #2").deliver("p1>p3 view-change #2");
    expect_view(&s, &["p3"], 3);
    assert_eq!(spec(&s, "p3"), ["r1@1 v3"]);
    witness(&mut s, "hbft/votes-without-view");
}

/// p0 and p2 have CER1 of r1; p0 has CER2 too, and commits r1.
fn certified(flags: &[&str]) -> Story<Hbft> {
    let mut s = split(flags);
    s.deliver("p1>p0,p2 checkpoint-i").deliver("p0,p1,p2>p0,p1,p2 checkpoint-ii");
    s.deliver("p1,p2>p0 checkpoint-iii");
    s.expect_log("p0", &["r1"]);
    s
}

#[test]
fn one_certificate_is_enough_to_carry_over() {
    // R7. Of those who vote for view 2 only p2 has CER1.
    let mut s = certified(&["certificate-needs-all"]);
    second_view(&mut s);
    without_p0(&mut s);
    witness(&mut s, "hbft/certificate-needs-all");
}

#[test]
fn a_certificate_is_carried_over_again_and_again() {
    // R6. View 2 takes r1, by the CER1 of p2, which alone enters it. In its vote for view 3 there is r1 of view 2,
    // once, against the votes of p1 and p3 for r2.
    let mut s = certified(&["certificate-of-view-only"]);
    second_view(&mut s);
    s.drop("p2>* new-view");
    assert_eq!(spec(&s, "p2"), ["r1@1 v2"]);
    s.deliver("c0>p2 request").timeout("p2", "request-c0-1").suspect("p1");
    s.mutate("p1>p3 view-change #2", FIRST_OTHER);
    if s.json("p1")["certified"].is_object() {
        s.mutate("p1>p3 view-change #2", "view-change.certified=none");
    }
    s.deliver("p1,p2>p3 view-change #2");
    expect_view(&s, &["p3"], 3);
    assert_eq!(spec(&s, "p3"), ["r2@1 v3"]);
    without_p0(&mut s);
    witness(&mut s, "hbft/certificate-of-view-only");
}

#[test]
fn a_view_starts_from_the_highest_stable_checkpoint() {
    // R7. p0 has r1 stable, p3, which leads view 3, has not. Where certificates count, they would do as well.
    let mut s = certified(&["base-own-stable", "certificate-needs-all"]);
    s.deliver("c1>p3 request").timeout("p3", "request-c1-1").timeout("p1", "request-c0-1");
    s.deliver("p1,p3>p0 view-change").deliver("p0,p1>p3 view-change").timeout("p3", "view-change");
    s.suspect("p1").mutate("p1>p3 view-change #2", FIRST_OTHER);
    s.mutate("p1>p3 view-change #2", "view-change.certified=none");
    s.deliver("p1,p3>p0 view-change #2").deliver("p0,p1>p3 view-change #2");
    expect_view(&s, &["p3"], 3);
    assert_eq!(spec(&s, "p3"), ["r2@1 v3"]);
    without_p0(&mut s);
    witness(&mut s, "hbft/base-own-stable");
}

#[test]
fn a_request_stands_once_in_a_new_view() {
    // R7. p1 gives r1 to p2 as number 1, to p3 as number 2, and votes for both.
    let mut s = attack(
        &["new-view-duplicates"],
        "cluster.clients = 2\nprotocol.checkpoint = 100\nadversary.byzantine = ['p1']",
    );
    s.deliver("*>p1 request").deliver("p1>p2 prepare #1");
    s.mutate("p1>p3 prepare", "prepare.request=other+digest").deliver("p1>p3 prepare");
    assert_eq!(spec(&s, "p3"), ["r2@1 v1", "r1@2 v1"]);
    s.deliver("c1>p3 request").timeout("p3", "request-c1-1").timeout("p1", "request-c0-1");
    s.mutate("p1>p2 view-change", "view-change.accepted.last.request=earlier");
    s.deliver("p1,p3>p2 view-change");
    assert_eq!(spec(&s, "p2"), ["r1@1 v2", "r1@2 v2"]);
    witness(&mut s, "hbft/new-view-duplicates");
}

#[test]
fn replies_of_two_views_do_not_add_up() {
    // R10. p3 replies to r1@1 in view 1 and forgets it in view 2, where p0 and p2 reply to r1@1. With p1's that makes four,
    // but only p0 and p2 have it: view 3 makes it NULL.
    let mut s = attack(
        &["replies-any-view"],
        "cluster.clients = 2\nprotocol.checkpoint = 100\nadversary.byzantine = ['p1']",
    );
    s.deliver("c0>p1 request").deliver("p1>p3 prepare").drop("p1>p0,p2 prepare").drop("*>* commit");
    s.deliver("c0>p0,p2 request").drop("*>p1 request");
    s.timeout("p0", "request-c0-1").timeout("p2", "request-c0-1").timeout("p1", "request-c0-1");
    s.mutate("p1>p2 view-change", "view-change.accepted.clear").deliver("p0,p1>p2 view-change");
    s.deliver("p2>* new-view").drop("*>* checkpoint-ii");
    assert_eq!(spec(&s, "p3"), NOTHING);
    s.timeout("c0", "client-retry-1").deliver("c0>p2 request").deliver("p2>p0 prepare").deliver("*>c0 reply");
    assert!(idle(&s, "c0"));
    s.drop("p2>* prepare").drop("*>* commit");
    s.timeout("p2", "request-c0-1").suspect("p1").deliver("p1,p2>p3 view-change #2");
    assert_eq!(spec(&s, "p3"), ["null@1 v3"]);
    witness(&mut s, "hbft/replies-any-view");
}

#[test]
fn a_primary_whose_checkpoint_never_ends_gives_up_its_view() {
    // R5. View 2 begins, but p0 is already on its way to view 3, alone. p3 shows its CHECKPOINT-III to p1 and says nothing
    // else: p1 is done, c0 has one final reply, and p2, the primary, lacks one vote.
    let mut s = attack(
        &["primary-never-waits"],
        "workload.requests = 1\nadversary.byzantine = ['p3']\n\
         [[adversary.faults]]\nfrom = ['p3']\nto = ['p0', 'p2', 'c0']\n\
         kind = ['commit', 'reply', 'checkpoint-iii', 'view-change']\ndrop = true",
    );
    s.deliver("c0>* request").deliver("p1>* prepare");
    s.timeout("p0", "request-c0-1").timeout("p1", "request-c0-1").deliver("p0,p1>p2 view-change");
    s.deliver("p1,p2>p0 view-change").timeout("p0", "view-change");
    witness(&mut s, "hbft/primary-never-waits");
    assert_eq!(view(&s, "p0"), (1, Some(3)));
    expect_view(&s, &["p1", "p2"], 2);
    assert_eq!((s.log("p1"), s.log("p2")), (vec![(1, "r1".to_owned())], vec![]));
}

#[test]
fn a_hole_does_no_harm_by_itself() {
    // R1. p0 misses number 1 and accepts number 2 by COMMITs, as the thesis does. It votes for nothing that it lacks.
    let mut s = attack(&["checkpoint-over-hole"], CALM);
    s.deliver("*>p1 request").drop("p1>p0 prepare").deliver("p1>p2,p3 prepare");
    s.deliver("p2,p3>p0 commit #2");
    assert_eq!(spec(&s, "p0"), ["r2@2 v1"]);
    s.deliver("p2,p3>p0 commit #1");
    assert_eq!(spec(&s, "p0"), ["r1@1 v1", "r2@2 v1"]);
    completes(&mut s);
}
