//! Attacks on single numbers: digests, votes, proposals. Each needs the deviations that it names, and the correct protocol
//! survives the same schedule.

use crate::stage::{BACKUPS, always, attack, completes, expect, expect_logs, marked, ops, violates, witness};
use turncoat_core::outcome::Property;
use turncoat_core::story::Story;
use turncoat_protocols::pbft::Pbft;

/// r1 and r2 of different clients; p0 lies.
const TWO_CLIENTS: &str = "cluster.clients = 2\nadversary.byzantine = ['p0']";

/// r1 and, once it is done, r2 of the same client; p0 lies.
const ONE_CLIENT: &str = "adversary.byzantine = ['p0']";

/// A single request, to add one; p0 lies.
const ADD_ONE: &str = "workload = { requests = 1, ops = ['+1'] }\nadversary.byzantine = ['p0']";

/// The operations that a replica has executed, asked for or not.
fn executed(s: &Story<Pbft>, who: &str) -> Vec<String> {
    let log = s.json(who)["history"]["log"].clone();
    let ops = log.as_array().expect("a log").iter().map(|entry| &entry["op"]);
    ops.map(|op| op.as_str().unwrap_or("noop").to_owned()).collect()
}

/// S1. p0 proposes r1 to p1, and r2 under the same number to p2 and p3. All digests are equal, so all votes are votes for
/// whatever their receiver holds. The correct protocol drops the second proposal: its digest is not that of r2.
#[test]
fn equal_digests_make_votes_for_two_requests_votes_for_one() {
    let mut s = attack(&["const-digest"], TWO_CLIENTS);
    s.deliver("c0>p0 request").mutate("p0>p2,p3 pre-prepare", "pre-prepare.request=earlier");
    s.hold("c1>p0 request").deliver_all();
    s.expect_log("p1", &["r1"]);
    expect_logs(&s, &["p2", "p3"], &["r2"]);
    witness(&mut s, "pbft-java/missing-digest-agreement");
}

/// S1b. The client asks to add 1, p0 proposes to add 2. Nobody looks at the digest, nobody at the client's signature. The
/// correct protocol looks at both, and each alone is enough.
#[test]
fn an_altered_request_is_executed() {
    let altered = |flags: &[&str]| {
        let mut s = attack(flags, ADD_ONE);
        s.deliver("c0>p0 request").mutate("p0>* pre-prepare", "pre-prepare.request.forge").deliver_all();
        s
    };
    for flag in ["const-digest", "no-request-auth"] {
        completes(&mut altered(&[flag]));
    }
    let mut s = altered(&["const-digest", "no-request-auth"]);
    for who in BACKUPS {
        assert_eq!(executed(&s, who), ["+2"]);
    }
    witness(&mut s, "pbft-java/missing-digest-validity");
}

/// S1b, to a strict subset. p1 gets the request as it is, p2 and p3 an altered one. All votes match, as in S1.
#[test]
fn an_altered_request_is_executed_by_some() {
    let mut s = attack(&["const-digest", "no-request-auth"], ADD_ONE);
    s.deliver("c0>p0 request").mutate("p0>p2,p3 pre-prepare", "pre-prepare.request.forge").deliver_all();
    assert_eq!(BACKUPS.map(|who| executed(&s, who)), [["+1"], ["+2"], ["+2"]]);
    violates(&mut s, Property::Validity);
    s.expect_violation(Property::Agreement);
}

/// S2. p0 invents a request in the client's name, with the digest that belongs to it. Only the client's signature, which p0
/// cannot make, tells it from a genuine one; that is where the correct protocol stops it.
#[test]
fn an_invented_request_is_executed() {
    let mut s = attack(&["no-request-auth"], ADD_ONE);
    s.deliver("c0>p0 request")
        .mutate("p0>* pre-prepare", "pre-prepare.request=invented+digest")
        .deliver_all();
    for who in BACKUPS {
        assert_eq!(executed(&s, who), ["+2"]);
    }
    witness(&mut s, "pbft-java/no-request-auth");
}

/// S3, Figure 2 of the ByzzFuzz paper. p0 proposes r1 as number 1 to p1 and p2, and as number 2 to p3. Then it is honest
/// and proposes r2 as number 2. p3 votes for r2, and executes what it keeps there: r1.
#[test]
fn a_slot_keeps_the_first_request_and_counts_the_votes_for_the_second() {
    let mut s = attack(&["slot-ignores-digest", "exec-out-of-order"], ONE_CLIENT);
    s.deliver("c0>p0 request").mutate("p0>p3 pre-prepare", "pre-prepare.seq+1");
    witness(&mut s, "pbft-java/figure-2");
    s.expect_log("p1", &["r1", "r2"]).expect_log("p2", &["r1", "r2"]);
    assert_eq!(s.log("p3"), [(2, "r1".to_owned())]);
}

/// S3 with p2 and p3 misled. Now nobody has enough votes for r1 as number 1, so r2 comes from another client. It is
/// proposed before p2 and p3 hear of each other's votes for r1: who has sent a COMMIT for r1 sends none for r2.
#[test]
fn two_slots_keep_the_first_request_and_count_the_votes_for_the_second() {
    let mut s = attack(&["slot-ignores-digest", "exec-out-of-order"], TWO_CLIENTS);
    s.deliver("c0>p0 request")
        .mutate("p0>p2,p3 pre-prepare", "pre-prepare.seq+1")
        .deliver("p0>* pre-prepare");
    s.deliver("c1>p0 request").deliver("p0>* pre-prepare").deliver_all();
    let decided = |op: &str| [(2, op.to_owned())];
    assert_eq!(BACKUPS.map(|who| s.log(who)), [decided("r2"), decided("r1"), decided("r1")]);
    violates(&mut s, Property::Agreement);
}

/// S3 with all three misled. They execute r1 as number 2 and forget that there was a number 2. p0, which believes that r1
/// is number 1, goes on with r2 as number 2. (That slots ignore digests is not needed: the slot is empty again.)
#[test]
fn what_all_have_executed_under_the_next_number_is_executed_over() {
    let mut s = attack(&["forget-completed-slot", "exec-out-of-order"], ONE_CLIENT);
    s.deliver("c0>p0 request").mutate("p0>* pre-prepare", "pre-prepare.seq+1").deliver_all();
    for who in BACKUPS {
        assert_eq!(s.log(who), [(2, "r1".to_owned()), (2, "r2".to_owned())]);
    }
    violates(&mut s, Property::Integrity);
}

/// p0 proposes one request to these backups and another to the rest, whenever it leads. It votes for what it proposes: a
/// PREPARE and a COMMIT to all, for what the rest was told. Later it denies that it has prepared anything.
fn equivocation(misled: &[&str]) -> String {
    let vote = |kind: &str| {
        format!(
            "{{ from = ['p0'], to = ['p3'], kind = 'pre-prepare', times = 1000, \
             originate = {{ mint = '{kind}', to = ['p1', 'p2', 'p3'] }} }}"
        )
    };
    format!(
        "{TWO_CLIENTS}\nadversary.faults = [\
         {{ from = ['p0'], to = {misled:?}, mutate = 'pre-prepare.request=other+digest' }}, {}, {}, {}]",
        always("p0", &["view-change.prepared.clear"]),
        vote("prepare"),
        vote("commit")
    )
}

/// S4: no bug alone. COMMITs count whatever they are for, but a correct replica that sends one has prepared, and no two
/// of them prepare different requests in a view. p0's COMMIT for the wrong request is worth one for the right request,
/// which it could have sent as well.
#[test]
fn commits_for_anything_decide_only_what_is_prepared() {
    // p0 does what it can, on and on. Whom it misleads makes no difference.
    let sets = [&["p1"][..], &["p2"], &["p3"], &["p1", "p2"], &["p1", "p3"], &["p2", "p3"], &BACKUPS];
    for (misled, seed) in sets.into_iter().flat_map(|misled| (0..5).map(move |seed| (misled, seed))) {
        let settings = format!("seed = {seed}\nworkload.requests = 8\n{}", equivocation(misled));
        completes(&mut attack(&["commit-ignores-digest"], &settings));
    }
    // Step by step: the third COMMIT of p2 and p3, who have prepared r2, is p0's for r1. p1 cannot prepare r1.
    let mut s = attack(&["commit-ignores-digest"], &equivocation(&["p2", "p3"]));
    s.deliver("c0>p0 request").hold("c1>p0 request").deliver_all();
    s.expect_log("p1", &[]);
    expect_logs(&s, &["p2", "p3"], &["r2"]);
    completes(&mut s);
}

/// S4, and the one thing that it spoils. p2 and p3 have decided with two COMMITs for r2 and one for r1, which is no proof
/// for p1. The clients have their replies, so nobody else wants the next view, in which p1 would learn of r2. In the
/// correct protocol the two wait for a third COMMIT for r2, and want the next view.
#[test]
fn commits_for_anything_are_no_proof_for_who_is_behind() {
    let settings = format!("workload.goal = 'committed'\n{}", equivocation(&["p2", "p3"]));
    let mut s = attack(&["commit-ignores-digest"], &settings);
    s.deliver("c0>p0 request").hold("c1>p0 request").deliver_all().heal();
    let outcome = violates(&mut s, Property::Termination);
    assert_eq!(outcome.completed, 2);
    expect_logs(&s, &["p2", "p3"], &["r2", "r1"]);
    s.expect_log("p1", &[]);
}

/// S4 with PREPAREs that count whatever they are for, too: now p1 prepares r1 with the votes of p2 and p3 for r2, and
/// decides it with their COMMITs.
#[test]
fn votes_for_anything_decide_anything() {
    let mut s = attack(&["commit-ignores-digest", "slot-ignores-digest"], &equivocation(&["p2", "p3"]));
    s.deliver("c0>p0 request").hold("c1>p0 request").deliver_all();
    s.expect_log("p1", &["r1"]);
    expect_logs(&s, &["p2", "p3"], &["r2"]);
    violates(&mut s, Property::Agreement);
}

/// S5. p0 proposes r1 to p1, and r2 under the same number to p2 and p3, who decide it with p0's COMMIT. For p1 alone p0
/// votes as often as it takes: a PREPARE, which a leader does not have, and two COMMITs. In the correct protocol p1 hears
/// one backup, itself.
#[test]
fn a_leader_that_votes_often_decides_with_one_backup() {
    let vote = |kind: &str, to: &str| {
        format!("{{ from = ['p0'], kind = 'pre-prepare', originate = {{ mint = '{kind}', to = [{to}] }} }}")
    };
    let votes = [vote("prepare", "'p1'"), vote("commit", "'p1'"), vote("commit", "'p1', 'p2', 'p3'")];
    let settings = format!("{TWO_CLIENTS}\nadversary.faults = [{}]", votes.join(", "));
    let mut s = attack(&["votes-not-distinct"], &settings);
    s.deliver("c0>p0 request").mutate("p0>p2,p3 pre-prepare", "pre-prepare.request=other+digest");
    s.mutate("p0>p2,p3 commit", "commit.digest=other").hold("c1>p0 request").deliver_all();
    s.expect_log("p1", &["r1"]);
    expect_logs(&s, &["p2", "p3"], &["r2"]);
    witness(&mut s, "pbft-java/votes-not-distinct");
}

/// S6. p0 lets r1 through. Instead of r2 it proposes r1 again, as number 2 of the next views: to p2 for view 1, to p3 for
/// view 2, to p1 for view 3. Each keeps this until the view comes, and then refuses what the leader proposes. p0 is
/// silent otherwise, so the leader needs every other vote. In view 4 p0 leads again, and again sends only that. In the
/// correct protocol nobody takes a proposal for view 1 from p0.
///
/// The document's liar is p3. But a liar makes a proposal out of one of its own, and p0 has one from the start.
#[test]
fn a_liar_takes_the_numbers_of_every_other_leader() {
    let from_r2_on = "from = ['p0'], nth = [2, 1000]";
    let settings = format!(
        "{ONE_CLIENT}\nadversary.faults = [\
         {{ from = ['p0'], kind = ['prepare', 'commit', 'view-change', 'new-view'], drop = true }},\
         {{ {from_r2_on}, mutate = 'pre-prepare.request=other+digest' }},\
         {{ {from_r2_on}, mutate = 'pre-prepare.view+1' }},\
         {{ {from_r2_on}, to = ['p1', 'p3'], mutate = 'pre-prepare.view+1' }},\
         {{ {from_r2_on}, to = ['p1'], mutate = 'pre-prepare.view+1' }}]"
    );
    let mut s = attack(&["pp-from-anyone"], &settings);
    let outcome = witness(&mut s, "pbft-java/pre-prepare-from-anyone");
    assert_eq!(outcome.completed, 1);
    expect_logs(&s, &BACKUPS, &["r1"]);
    // Two rounds of leaders, and more.
    assert!(BACKUPS.iter().all(|who| s.json(who)["view"].as_u64() > Some(8)));
}

/// S7. All have executed r1 as number 1. p0 proposes r2 as number 1. Executed is forgotten, so there is nothing to compare
/// it with, and it is executed too. (p0 sends its COMMITs for r1 last: who comes late votes in the slot that is empty again,
/// and each has one vote there. p0's is not needed for r2.)
#[test]
fn an_executed_number_is_proposed_and_executed_again() {
    let mut s = attack(&["forget-completed-slot", "exec-out-of-order"], ONE_CLIENT);
    s.hold("p0>* commit").hold("p0>* pre-prepare #2").deliver_all();
    expect_logs(&s, &BACKUPS, &["r1"]);
    s.mutate("p0>* pre-prepare #2", "pre-prepare.seq-1").release("p0>* pre-prepare #2").deliver_all();
    for who in BACKUPS {
        assert_eq!(s.log(who), [(1, "r1".to_owned()), (1, "r2".to_owned())]);
    }
    witness(&mut s, "pbft-java/forget-completed-slot");
}

/// S7b. Nobody lies, nothing is lost. Three COMMITs are enough to execute; the fourth comes later, opens the forgotten
/// number again and fills the leader's table, which has a hundred places. r101 is never proposed.
///
/// A view change would clear the table. It needs a client that asks again, which this one does not.
#[test]
fn late_votes_fill_the_table_of_the_leader() {
    let settings = |retries: u32| {
        format!("protocol.checkpoint = 100\nworkload = {{ requests = 120, retries = {retries} }}")
    };
    let mut s = attack(&["forget-completed-slot"], &settings(0));
    let outcome = witness(&mut s, "pbft-java/ghost-tickets");
    assert_eq!(outcome.completed, 100);
    expect_logs(&s, &BACKUPS, &ops(100));
    expect(&s, &["p0"], "ghosts", 100);

    let mut s = attack(&["forget-completed-slot"], &settings(1));
    assert!(marked(&completes(&mut s), "view-change"));
    expect(&s, &BACKUPS, "view", 1);
}

/// S8. Nobody lies. p0's proposal of r1 is late, so the client sends r1 to all, and the backups pass it on to p0. It comes
/// to p0 five times, gets five numbers, and is executed under each. The correct protocol gives it one, and would execute it
/// once anyway.
#[test]
fn a_request_that_comes_again_gets_another_number() {
    let late = |flags: &[&str]| {
        let mut s = attack(flags, "workload.requests = 1");
        s.deliver("c0>p0 request").timeout("c0", "client-retry-1").deliver("c0>* request").deliver_all();
        s
    };
    let mut s = late(&["primary-reassigns"]);
    expect_logs(&s, &BACKUPS, &["r1", "noop", "noop", "noop", "noop"]);
    completes(&mut s);
    let mut s = late(&["no-exec-dedupe"]);
    expect_logs(&s, &BACKUPS, &["r1"]);
    completes(&mut s);

    let mut s = late(&["primary-reassigns", "no-exec-dedupe"]);
    expect_logs(&s, &BACKUPS, &["r1"; 5]);
    witness(&mut s, "pbft-java/primary-reassigns");
}

/// S25. p0 proposes r1 as number 1 and, in the place of r2, again as number 2. For the correct protocol number 2 is a
/// no-op.
#[test]
fn a_request_that_is_proposed_twice_is_executed_twice() {
    let mut s = attack(&["no-exec-dedupe"], ONE_CLIENT);
    s.hold("p0>* pre-prepare #2").deliver_all().heal();
    s.mutate("p0>* pre-prepare #2", "pre-prepare.request=other+digest").deliver_all();
    expect_logs(&s, &BACKUPS, &["r1", "r1"]);
    witness(&mut s, "pbft-java/no-exec-dedupe");
}
