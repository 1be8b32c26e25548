//! Attacks on hBFT as published, and on the versions of it that were tested elsewhere. Each needs the deviations that it
//! names, and the repaired protocol survives the same schedule.

use super::stage::{arrived, attack, expect_view, spec, stable, view};
use crate::stage::{ALL, completes, expect_logs, is_witness, run, violates, without_flags, witness};
use serde_json::json;
use toml::Value;
use turncoat_core::outcome::Property;
use turncoat_core::story::Story;
use turncoat_protocols::hbft::Hbft;

/// r1 and r2 of different clients; p1, which leads view 1, lies. Checkpoints are rare.
const TWO: &str = "cluster.clients = 2\nprotocol.checkpoint = 100\nadversary.byzantine = ['p1']";

/// One more slot in the first request of R.
const FIRST_OTHER: &str = "view-change.accepted.first.request=earlier";

/// 3.1 (Shrestha et al., 2019). p3 has the COMMITs of p0, p1 and itself for r1. p1 gives r2 as number 1 to p2, and votes
/// for it at the view change: two votes against one.
fn known(flags: &[&str]) -> Story<Hbft> {
    let mut s = attack(flags, TWO);
    s.deliver("*>p1 request").deliver("p1>p0,p3 prepare #1").drop("p1>p2 prepare #1");
    s.deliver("p0,p1>p3 commit #1");
    s.deliver("c1>p3 request").timeout("p3", "request-c1-1").timeout("p1", "request-c0-1");
    s.mutate("p1>p2 prepare #2", "prepare.seq-1").deliver("p1>p2 prepare #2");
    s.deliver("p3>p2 view-change").mutate("p1>p2 view-change", FIRST_OTHER).deliver("p1>p2 view-change");
    expect_view(&s, &["p2"], 2);
    assert_eq!(spec(&s, "p2"), ["r2@1 v2", "null@2 v2"]);
    s.deliver("p2>p0 new-view");
    s
}

#[test]
fn two_steps_need_more_than_3f_plus_1() {
    let mut s = known(&["two-step-3f1", "nv-immediate-commit"]);
    s.expect_log("p3", &["r1"]).expect_log("p2", &["r2", "noop"]).expect_log("p0", &["r2", "noop"]);
    witness(&mut s, "hbft/known");
    // 13. With 5f+1 replicas two steps are enough.
    let six = without_flags(&s.scenario()).with("protocol.name", Value::String("hbft-5f1".into()));
    let outcome = run(&six.and_then(|six| six.with("cluster.n", Value::Integer(6))).expect("a scenario"));
    assert!(outcome.violations.is_empty(), "{:?}", outcome.violations);

    // Without commits on receipt it takes the COMMITs of view 2.
    let mut s = known(&["two-step-3f1"]);
    s.expect_log("p3", &["r1"]).expect_log("p2", &[]);
    s.hold("*>p3 *").deliver_all().heal();
    assert_eq!(s.log("p0").first(), Some(&(1, "r2".to_owned())));
    violates(&mut s, Property::Agreement);
    // With them alone nobody has committed r1.
    known(&["nv-immediate-commit"]).expect_log("p3", &[]);
}

#[test]
fn two_steps_fail_by_the_two_lies_that_byzzfuzz_is_given() {
    // 3.1, forced: the first PREPARE is lost to p2 and p3, the second reaches p0 and p2 with the number before.
    let mut s = attack(&["two-step-3f1", "nv-immediate-commit"], TWO);
    s.deliver("*>p1 request").drop("p1>p2,p3 prepare #1").mutate("p1>p0,p2 prepare #2", "prepare.seq-1");
    s.deliver("p1>p0 prepare").deliver("p1>p2 prepare").deliver("p0,p1>p3 commit #1");
    s.expect_log("p3", &["r1"]);
    s.deliver("*>p0,p2 request");
    s.timeout("p0", "request-c0-1").timeout("p2", "request-c0-1").timeout("p1", "request-c0-1");
    s.deliver("p0>p2 view-change").mutate("p1>p2 view-change", FIRST_OTHER).deliver("p1>p2 view-change");
    s.expect_log("p2", &["r2", "noop"]);
    violates(&mut s, Property::Agreement);
}

/// r1 and r2 are committed, r3 and r4 come later. K = 2, nobody lies.
const THREE: &str = "cluster.clients = 3\nworkload.requests = 3";

/// 3.2 (Birke, 2025), on the repaired protocol. p0 and p2 have voted for view 2 without r3. CHECKPOINT-III of number 2
/// arrive, and they take part in view 1 again: r3 has four COMMITs. Their votes still count.
fn left_too_early(settings: &str) -> Story<Hbft> {
    let mut s = attack(&["leave-disgruntled-on-checkpoint"], &format!("{THREE}\n{settings}"));
    s.hold("c2>* request").hold("*>* checkpoint-iii").deliver_all();
    s.deliver("c2>p0,p1,p2 request").timeout("p0", "request-c2-1").timeout("p2", "request-c2-1");
    s.deliver("*>p0,p2 checkpoint-iii").deliver("p1>* prepare #3").deliver("*>p0 commit #3");
    s.expect_log("p0", &["r1", "r2", "r3"]);
    s.deliver("p0,p2>p3 view-change").deliver("p0,p3>p2 view-change");
    assert_eq!(spec(&s, "p2"), ["null@3 v2"]);
    s.heal().hold("*>p0 *").hold("*>* commit #3");
    s
}

#[test]
fn a_checkpoint_ends_a_view_change_that_is_under_way() {
    let mut s = left_too_early("");
    s.deliver_all().heal();
    expect_logs(&s, &["p1", "p2", "p3"], &["r1", "r2", "noop"]);
    witness(&mut s, "hbft/leave-disgruntled");

    // Where NULLs are not shown, p0 commits r3 once more, with the others.
    let mut s = left_too_early("protocol.log-nulls = false");
    s.drop("*>c2 reply").deliver_all().heal();
    expect_logs(&s, &["p1", "p2", "p3"], &["r1", "r2"]);
    violates(&mut s, Property::Integrity);
}

#[test]
fn a_checkpoint_ends_a_view_change_as_printed() {
    // 3.2 as in the thesis: three COMMITs commit, and who wants a new view still votes for checkpoints.
    let flags = ["two-step-3f1", "leave-disgruntled-on-checkpoint", "changing-votes-checkpoint"];
    let mut s = attack(&flags, THREE);
    s.hold("c2>* request").hold("p1>* checkpoint-i").deliver_all();
    s.deliver("c2>p0,p1,p2 request").timeout("p0", "request-c2-1").timeout("p2", "request-c2-1");
    s.deliver("p0>p2 view-change").deliver("p1>p0,p2 checkpoint-i");
    s.deliver("p0,p1,p2>p0,p1,p2 checkpoint-ii").deliver("p1,p2>p0 checkpoint-iii");
    assert_eq!((view(&s, "p0"), view(&s, "p2")), ((1, None), (1, Some(2))));
    s.deliver("p1>p0,p3 prepare #3").deliver("p1,p3>p0 commit #3");
    s.expect_log("p0", &["r1", "r2", "r3"]);
    s.deliver("p0,p2>p3 view-change").deliver("p3>p2 view-change");
    s.heal().hold("*>p0 *").hold("p0>* commit").deliver_all().heal();
    expect_logs(&s, &["p1", "p2", "p3"], &["r1", "r2", "noop"]);
    violates(&mut s, Property::Agreement);
}

#[test]
fn a_null_whose_number_is_used_again_hides_what_was_committed_there() {
    // 3.2, as the port recorded it: the NULL takes no number, and r4 gets the one of r3.
    let flags = ["leave-disgruntled-on-checkpoint", "null-reuses-seq"];
    let mut s = attack(&flags, "cluster.clients = 4\nworkload.requests = 4");
    s.hold("c2,c3>* request").hold("*>* checkpoint-iii").deliver_all();
    s.deliver("c2>p0,p1,p2 request").timeout("p0", "request-c2-1").timeout("p2", "request-c2-1");
    s.deliver("*>p0,p2 checkpoint-iii").deliver("p1>* prepare #3").deliver("*>p0 commit #3");
    s.deliver("p0,p2>p3 view-change").deliver("p0,p3>p2 view-change").deliver("c3>p2 request");
    s.heal().hold("*>p0 *").hold("*>* commit #3").hold("c2>* request").deliver_all().heal();
    s.expect_log("p0", &["r1", "r2", "r3"]);
    witness(&mut s, "hbft/null-reuses-seq");
    assert!(["p1", "p2", "p3"].iter().all(|who| s.log(who).contains(&(3, "r4".to_owned()))));
}

/// r1 and r2 make a checkpoint, p3 lies in it, r3 follows.
const P3_LIES: &str = "cluster.clients = 3\nworkload.requests = 3\nadversary.byzantine = ['p3']";

#[test]
fn checkpoints_compared_by_number_take_the_history_of_a_liar() {
    // 3.3. p3 says that r2 stands at 3. Its message is the third.
    let mut s = attack(&["v2-skip-digest"], P3_LIES);
    s.hold("c2>* request").hold("*>p0 checkpoint-iii").deliver_all();
    s.mutate("p3>p0 checkpoint-iii", "checkpoint-iii.history.last.seq+1");
    s.deliver("p1>p0 checkpoint-iii").deliver("p3>p0 checkpoint-iii");
    assert_eq!(s.log("p0").last(), Some(&(3, "r2".to_owned())));
    s.expect_violation(Property::Integrity);
    s.heal().deliver_all();
    witness(&mut s, "hbft/v2-skip-digest");

    // As printed, where CER1 commits.
    let mut s = attack(&["v2-skip-digest", "cer1-commits"], P3_LIES);
    s.hold("c2>* request").hold("*>p0 checkpoint-ii").deliver_all();
    s.mutate("p3>p0 checkpoint-ii", "checkpoint-ii.history.last.seq+1");
    s.deliver("p1>p0 checkpoint-ii").deliver("p3>p0 checkpoint-ii");
    assert_eq!(s.log("p0").last(), Some(&(3, "r2".to_owned())));
    violates(&mut s, Property::Integrity);
}

/// Five replicas, one of which may lie: 2f+1 = 3 is no quorum.
const FIVE: &str = "cluster = { n = 5, clients = 2 }\nadversary.byzantine = ['p1']";

#[test]
fn three_of_five_are_no_quorum() {
    // 3.4. p1 proposes r1 to p0 and p2, r2 to p3 and p4, and votes accordingly. The two sides do not hear each other.
    let mut s = attack(&["quorum-2f1-any-n", "two-step-3f1"], &format!("{FIVE}\nprotocol.checkpoint = 100"));
    s.deliver("c0>p1 request");
    s.mutate("p1>p3,p4 prepare", "prepare.request=other+digest");
    s.mutate("p1>p3,p4 commit", "commit.request=other+digest");
    s.deliver("p1>* prepare").deliver("p1>* commit").deliver("p0>p2 commit").deliver("p2>p0 commit");
    s.deliver("p3>p4 commit").deliver("p4>p3 commit");
    expect_logs(&s, &["p0", "p2"], &["r1"]);
    expect_logs(&s, &["p3", "p4"], &["r2"]);
    witness(&mut s, "hbft/five-replicas");

    // Where all five COMMITs commit, it goes by checkpoints.
    let mut s = attack(&["quorum-2f1-any-n"], &format!("{FIVE}\nprotocol.checkpoint = 1"));
    s.deliver("c0>p1 request").mutate("p1>p3,p4 prepare", "prepare.request=other+digest");
    s.mutate("p1>p3,p4 checkpoint-i", "checkpoint-i.history.first.request=earlier");
    s.mutate("p1>p3,p4 checkpoint-ii", "checkpoint-ii.history.first.request=earlier");
    s.deliver("p1>* prepare").deliver("p1>* checkpoint-i").deliver("p1>* checkpoint-ii");
    for phase in ["checkpoint-ii", "checkpoint-iii"] {
        for link in ["p0>p2", "p2>p0", "p3>p4", "p4>p3", "p0,p2>p1"] {
            s.deliver(&format!("{link} {phase}"));
        }
        if phase == "checkpoint-ii" {
            s.mutate("p1>p3,p4 checkpoint-iii", "checkpoint-iii.history.first.request=earlier");
            s.deliver("p1>p0,p2,p3,p4 checkpoint-iii");
        }
    }
    expect_logs(&s, &["p0", "p2"], &["r1"]);
    expect_logs(&s, &["p3", "p4"], &["r2"]);
    violates(&mut s, Property::Agreement);
}

#[test]
fn what_a_new_view_carries_over_is_not_decided() {
    // 3.5. p1 proposes r1 to p0, r2 to p3. View 2 takes r1 with the votes of p0 and p1, view 3 takes r2 with those of p1
    // and p3.
    let mut s = attack(&["nv-immediate-commit"], TWO);
    s.deliver("c0>p1 request").mutate("p1>p3 prepare", "prepare.request=other+digest");
    s.deliver("p1>p0,p3 prepare").drop("p1>p2 prepare");
    s.deliver("c0>p0 request").timeout("p0", "request-c0-1").timeout("p1", "request-c0-1");
    s.deliver("p0,p1>p2 view-change").drop("p2>* new-view");
    s.expect_log("p2", &["r1"]);
    s.deliver("p1,p2>p0 view-change").timeout("p0", "view-change").suspect("p1");
    s.mutate("p1>p3 view-change #2", FIRST_OTHER).deliver("p0,p1>p3 view-change #2");
    s.expect_log("p3", &["r2"]);
    witness(&mut s, "hbft/nv-immediate-commit");
}

#[test]
fn a_narrow_window_for_commits_stalls_what_came_in_the_wrong_order() {
    // 3.6. Without checkpoint or view change, which come later, r1 is committed by nobody.
    let settings = "cluster.clients = 2\nprotocol.checkpoint = 100\nlimits.time = 1000\n\
                    workload = { goal = 'committed', timeout = 2000 }";
    let mut s = attack(&["paper-commit-window"], settings);
    s.hold("*>* commit").deliver_all().heal().deliver_all();
    is_witness(s.scenario(), "hbft/commit-window");
    assert!(ALL.iter().all(|who| s.log(who) == [(2, "r2".to_owned())]));
}

#[test]
fn without_a_timer_for_it_nobody_leaves_a_view_that_never_began() {
    // 3.6. Of seven replicas the primaries of views 1 and 2 are silent.
    let mut s = attack(
        &["no-view-change-timer"],
        "cluster = { n = 7, f = 2 }\nworkload.requests = 1\n\
         adversary.faults = [{ time = 0, crash = 'p1' }, { time = 0, crash = 'p2' }]",
    );
    let outcome = witness(&mut s, "hbft/no-view-change-timer");
    assert_eq!(outcome.completed, 0);
    assert_eq!(view(&s, "p0"), (1, Some(2)));
}

#[test]
fn whoever_accepts_a_checkpoint_does_not_wait_for_the_rest_of_it() {
    // Both requests are committed, all have accepted the CHECKPOINT-I, and no CHECKPOINT-II arrives. Who still waits wants a new
    // view, in which the slots become stable; who does not, stays where it is, and nothing is violated.
    let accepted = |flags: &[&str]| {
        let mut s = attack(flags, "cluster.clients = 2");
        s.hold("*>* checkpoint-ii").deliver_all();
        assert_eq!(arrived(&s, "p1", "checkpoint-i"), 3);
        s
    };
    let mut s = accepted(&["checkpoint-timer-ends-early"]);
    assert!(ALL.iter().all(|who| s.json(who)["due"] == json!([])));
    s.heal().deliver_all();
    expect_view(&s, &ALL, 1);
    assert!(ALL.iter().all(|who| stable(&s, who).0 == 2));
    completes(&mut s);
    let mut s = accepted(&[]);
    assert!(ALL.iter().all(|who| s.json(who)["due"] == json!([2])));
    s.timeout("p0", "checkpoint-2").timeout("p3", "checkpoint-2").heal().deliver_all();
    expect_view(&s, &ALL, 2);
    completes(&mut s);
}

#[test]
fn without_commits_of_a_new_view_only_its_checkpoint_commits() {
    // All have accepted r1 in view 1, no COMMIT has arrived. View 2 carries it over.
    for (flags, log) in [(&["new-view-without-commits"][..], &[][..]), (&[], &["r1"])] {
        let mut s = attack(flags, "workload.requests = 1\nprotocol.checkpoint = 100");
        s.deliver("c0>* request").deliver("p1>* prepare").drop("*>* commit");
        s.timeout("p0", "request-c0-1").timeout("p2", "request-c0-1").timeout("p3", "request-c0-1");
        s.hold("*>* checkpoint-ii").deliver_all();
        expect_view(&s, &ALL, 2);
        expect_logs(&s, &ALL, log);
        s.heal().deliver_all();
        expect_logs(&s, &ALL, &["r1"]);
        completes(&mut s);
    }
}

#[test]
fn a_certificate_fills_slots_above_a_hole() {
    // Three COMMITs commit r2 alone, the checkpoint covers no more, and CER1 is all that p3 hears of both requests. It votes for r2
    // in the next view only if it accepts it above the hole. (In the repaired protocol a certificate has no holes.)
    for (over_hole, accepted) in [(true, &["r2@2 v1"][..]), (false, &[])] {
        let mut flags = vec!["two-step-3f1", "commit-log"];
        flags.extend(over_hole.then_some("checkpoint-over-hole"));
        let mut s = attack(&flags, "cluster.clients = 2");
        s.hold("*>p3 prepare").hold("*>p3 commit").hold("*>p3 checkpoint-i").hold("*>* checkpoint-iii");
        s.deliver("c0>p1 request").deliver("p1>p0,p2 prepare").hold("*>* commit #1");
        s.deliver_all();
        assert!(["p0", "p1", "p2"].iter().all(|who| s.log(who) == [(2, "r2".to_owned())]));
        assert_eq!(spec(&s, "p3"), accepted);
    }
}

#[test]
fn a_stable_checkpoint_without_a_proof_is_believed() {
    // Slots 1 and 2 are stable. p2 leads view 2, lies, and says that its checkpoint is of number 3, which nobody has signed. Who
    // believes it takes part in no slot 3 any more.
    let settings = format!("{THREE}\nadversary.byzantine = ['p2']");
    for (unchecked, low) in [(true, 3), (false, 2)] {
        let mut flags = vec!["base-own-stable"];
        flags.extend(unchecked.then_some("vc-unchecked"));
        let mut s = attack(&flags, &settings);
        s.hold("c2>* request").deliver_all();
        s.deliver("c2>p0,p3 request").drop("p0,p3>p1 request");
        s.timeout("p0", "request-c2-1").timeout("p3", "request-c2-1").deliver_only("*>* view-change");
        s.mutate("p2>* new-view", "new-view.stable.seq+1").deliver("p2>* new-view");
        assert_eq!(stable(&s, "p0").0, low);
        assert_eq!(view(&s, "p0"), if unchecked { (2, None) } else { (1, Some(2)) });
    }
}

#[test]
fn the_first_panic_stops_a_replica_that_does_not_wait_for_a_second() {
    // p3 is silent, so c0 has three replies to r1 and panics. p0 alone hears it. It takes part in nothing until there is a
    // checkpoint, and does not accept r2. By the rule, one client that complains stops nobody.
    for (flags, accepted) in [(&["panic-first"][..], &["r1@1 v1"][..]), (&[], &["r1@1 v1", "r2@2 v1"])] {
        let mut s = attack(flags, "cluster.clients = 2\nprotocol.checkpoint = 100");
        s.crash("p3").hold("c1>* request").hold("*>* panic").deliver_all();
        s.timeout("c0", "client-retry-1").deliver("c0>p0 panic").deliver_all();
        s.deliver("c1>p1 request").deliver_all();
        assert_eq!(spec(&s, "p0"), accepted, "{flags:?}");
        assert_eq!(spec(&s, "p2"), ["r1@1 v1", "r2@2 v1"], "{flags:?}");
        s.heal().deliver_all();
        completes(&mut s);
    }
}

#[test]
fn a_lone_replica_runs_ahead_if_its_timer_starts_with_its_vote() {
    // p3 alone has r1 and waits in vain. Nobody else wants view 2, but its timer for that runs all the same, and it wants view 3. By
    // the rule it waits for others. Either way it comes back: with r1 the others catch up.
    for (flags, wanted) in [(&["vc-timer-at-sending"][..], 3), (&[], 2)] {
        let mut s = attack(flags, "workload.requests = 1");
        s.hold("c0>* request").hold("p3>p1 request").deliver("c0>p3 request").timeout("p3", "request-c0-1");
        s.deliver_all();
        if !flags.is_empty() {
            s.timeout("p3", "view-change").deliver_all();
        }
        assert_eq!(view(&s, "p3"), (1, Some(wanted)), "{flags:?}");
        expect_view(&s, &["p0", "p1", "p2"], 1);
        s.heal().deliver_all();
        completes(&mut s);
    }
}
