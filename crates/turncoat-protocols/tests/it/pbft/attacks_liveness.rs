//! Attacks on progress: timers, replies, checkpoints, execution. Each needs the deviations that it names, and the
//! correct protocol survives the same schedule.

use crate::stage::{
    ALL, BACKUPS, NOTHING, attack, changing, ends, expect, expect_logs, idle, marked, proposals, story,
    violates, witness,
};
use toml::Value;
use turncoat_core::outcome::{End, Outcome, Property};
use turncoat_core::runner::execute;
use turncoat_core::story::Story;
use turncoat_protocols::pbft::Pbft;

/// The same schedule, with another value for one key of the scenario, ends well.
fn cured_by(s: &Story<Pbft>, key: &str, value: impl Into<Value>) -> Outcome {
    let cured = s.scenario().with(key, value.into()).expect("a scenario");
    let outcome = execute::<Pbft>(&cured).expect("a story with another setting");
    assert!(outcome.violations.is_empty(), "{key}: {:?}", outcome.violations);
    assert_eq!(outcome.end, End::Goal, "{key}");
    outcome
}

// --- lost messages and timers -----------------------------------------------------------------------------------

/// S19, the lost half of it. The leader stops, and the client asks all. The three others give up on it, each by its
/// own timer, and each freezes. Their votes for view 1 are lost in one bad moment. Nobody sends a vote again, no
/// quorum of votes starts a timer, and who is frozen only takes note of what the client repeats for ever. The correct
/// protocol sends the votes again.
#[test]
fn votes_for_a_new_view_that_are_lost_once_are_lost_for_ever() {
    let mut s = attack(&["no-buffer-no-rtx"], "workload.requests = 1");
    s.crash("p0").timeout("c0", "client-retry-1").deliver("c0>p1,p2,p3 request");
    for who in BACKUPS {
        s.timeout(who, "request");
    }
    s.drop("*>* view-change");
    expect(&s, &BACKUPS, "status", changing(1));
    witness(&mut s, "pbft-java/no-buffer");
    expect(&s, &BACKUPS, "status", changing(1));
}

/// S19 as printed. r1 is prepared when the leader stops. NEW-VIEW(1) reaches p2 first, and p2's PREPARE overtakes it
/// on the way to p3, who is not in view 1 yet and does not keep it. p3 never prepares, the COMMITs of p1 and p2 are
/// one too few. By itself that lasts until the next timeout: `timers-cleared` takes the timers away as well, and the
/// client, who could start them again, asks only once. The correct protocol keeps the PREPARE until its view has come.
#[test]
fn a_prepare_that_overtakes_its_new_view_is_lost() {
    let both = ["no-buffer-no-rtx", "timers-cleared"];
    let mut s = attack(&both, "workload = { requests = 1, retries = 0 }");
    s.deliver("c0>p0 request").deliver("p0>* pre-prepare").deliver("*>* prepare");
    s.drop("*>* commit").crash("p0");
    s.timeout("p2", "request").timeout("p3", "request").deliver("p2,p3>p1 view-change");
    assert_eq!(proposals(&s, "p1"), ["r1@1"]);
    s.deliver("p1>p2 new-view").deliver("p2>p3 prepare").deliver("p1>p3 new-view").deliver_all();
    expect(&s, &BACKUPS, "view", 1);
    let commits = |who| s.json(who)["window"]["entries"][0]["sent_commit"].as_bool();
    assert_eq!(BACKUPS.map(commits), [Some(true), Some(true), Some(false)]);
    expect_logs(&s, &BACKUPS, &NOTHING);
    violates(&mut s, Property::Termination);
    for flag in both {
        cured_by(&s, "protocol.flags", vec![flag]);
    }
}

/// S20. The leader of view 0 does not hear of r1, the others do. Byzantine p1 starts view 1 and says nothing else.
/// With the new view all forget that r1 waits: no timer runs, and the client asks only once. In the correct protocol
/// the timers run on, and view 2 executes r1.
#[test]
fn a_new_view_makes_replicas_forget_what_they_wait_for() {
    let mut s = attack(
        &["timers-cleared"],
        "workload = { requests = 1, target = 'all', retries = 0 }\nadversary.byzantine = ['p1']\n\
         adversary.faults = [{ from = ['p1'], not = { kind = ['view-change', 'new-view'] }, drop = true }]",
    );
    s.drop("c0>p0 request").deliver("c0>* request").drop("*>p0 request");
    s.timeout("p2", "request").timeout("p3", "request").deliver_all();
    let correct = ["p0", "p2", "p3"];
    expect(&s, &correct, "view", 1);
    expect(&s, &correct, "pending", Vec::<String>::new());
    witness(&mut s, "pbft-java/timers-cleared");
    expect(&s, &correct, "view", 1);
}

/// 6.1, the runs without a liar. One PREPARE round is partitioned: the first request is prepared nowhere, and view 1
/// starts from nothing. But the first number equals the low watermark, so that its leader takes it for done and goes
/// on with the next one. r1 is committed there, and waits for ever for what comes before it. In the correct protocol
/// the first number is free.
///
/// Of the deviations of pbft-java this one alone decides it, and two others hide it: a new leader that counts on from
/// its own last proposal (`seq-not-synced`), and replicas that execute at once what is committed
/// (`exec-out-of-order`).
#[test]
fn a_partition_among_the_voters_leaves_a_hole_that_nobody_fills() {
    let partition = "{ round = 2, partition = [['p0', 'p1'], ['p2'], ['p3']] }";
    let settings = format!("workload.requests = 1\nnetwork.loss = 'drop'\nadversary.faults = [{partition}]");
    let mut s = attack(&["seq-zero"], &settings);
    s.deliver("c0>p0 request").deliver("p0>* pre-prepare").deliver("p1>p0 prepare");
    s.timeout("p2", "request").timeout("p3", "request").deliver("p2,p3>p1 view-change");
    expect(&s, &["p1"], "view", 1);
    assert_eq!(proposals(&s, "p1"), NOTHING);
    expect(&s, &["p1"], "next_seq", 2);
    witness(&mut s, "pbft-java/prepare-partition");
    expect_logs(&s, &ALL, &NOTHING);
    cured_by(&s, "protocol.flags", vec!["seq-zero", "seq-not-synced"]);
}

// --- replies ----------------------------------------------------------------------------------------------------

/// S21. All execute r1, and all their replies are lost. The client asks again and again, and nobody answers: they have
/// answered. The correct protocol keeps the last reply to each client, and sends it again.
#[test]
fn a_reply_that_is_lost_once_is_lost_for_ever() {
    let mut s = attack(&["no-reply-resend"], "workload.requests = 1");
    s.lose("*>c0 reply").deliver_all();
    expect_logs(&s, &ALL, &["r1"]);
    assert!(!idle(&s, "c0"));
    witness(&mut s, "pbft-java/no-reply-resend");
    expect_logs(&s, &ALL, &["r1"]);
}

/// S22. As before, and each execution is a checkpoint. When it is stable, the replies up to it are deleted, and with
/// them the memory of what was executed. The client asks again: r1 is executed again. In the correct protocol the
/// table of replies belongs to the state of the service, and no checkpoint deletes it.
#[test]
fn a_checkpoint_makes_replicas_execute_a_request_again() {
    let mut s = attack(&["reply-cache-gc"], "protocol.checkpoint = 1\nworkload.requests = 1");
    s.lose("*>c0 reply").deliver_all().heal();
    expect(&s, &ALL, "h", 1);
    expect_logs(&s, &ALL, &["r1"]);
    s.timeout("c0", "client-retry-1");
    witness(&mut s, "pbft-java/reply-cache-gc");
    expect_logs(&s, &ALL, &["r1", "r1"]);
}

// --- execution and checkpoints ----------------------------------------------------------------------------------

/// S23. One request adds 1, the next one doubles. p2 gets the COMMITs for the second before those for the first, and
/// does not wait. In the end all logs are the same, and the register of p2 is not. The correct protocol waits.
#[test]
fn a_replica_that_does_not_wait_for_lower_numbers_has_another_state() {
    let mut s = attack(&["exec-out-of-order"], "cluster.clients = 2\nworkload.ops = ['+1', '*2']");
    s.hold("*>p2 commit #1").deliver_all().heal();
    expect_logs(&s, &["p0", "p1", "p3"], &["+1", "*2"]);
    assert_eq!(s.log("p2"), [(2, "*2".to_owned())]);
    witness(&mut s, "pbft-java/exec-out-of-order");
    assert_eq!(s.log("p2"), [(2, "*2".to_owned()), (1, "+1".to_owned())]);
    let register = |who| s.json(who)["history"]["register"].as_u64();
    assert_eq!(ALL.map(register), [Some(2), Some(2), Some(1), Some(2)]);
}

/// S24. Each execution is a checkpoint. After r1 Byzantine p3 tells p1 three times that it has executed 2, and then it
/// takes part in nothing more. p1 counts three and moves its window past 2: it takes no part in r2, and its votes for
/// a new view prove nothing. p0 and p2 alone are too few. The correct protocol counts senders.
#[test]
fn three_copies_of_one_checkpoint_move_a_window() {
    let mut s = attack(
        &["checkpoint-unchecked"],
        "protocol.checkpoint = 1\nadversary.byzantine = ['p3']\nadversary.faults = [\
         { from = ['p3'], to = ['p1'], kind = 'checkpoint', mutate = 'checkpoint.seq+1' },\
         { from = ['p3'], to = ['p1'], kind = 'checkpoint', duplicate = 2 },\
         { from = ['p3'], round = [5, 1000000], drop = true }]",
    );
    witness(&mut s, "pbft-java/checkpoint-unchecked");
    expect(&s, &["p0", "p2"], "h", 1);
    expect(&s, &["p1"], "h", 2);
    expect_logs(&s, &["p0", "p1", "p2"], &["r1"]);
}

// --- the read-only optimisation ---------------------------------------------------------------------------------

/// What Byzantine p0 leaves out: its proposals to p3, its replies.
const STINGY: &str = "adversary.byzantine = ['p0']\nadversary.faults = [\
     { from = ['p0'], to = ['p3'], kind = 'pre-prepare', mutate = 'pre-prepare.omit' },\
     { from = ['p0'], kind = 'reply', mutate = 'reply.omit' }]";

/// S26, Figure 1b of the ByzzFuzz paper. Byzantine p0 does not tell p3 of r1, and does not reply. p1 and p2 execute r1
/// and reply: two answers, where the client waits for three. p3 cannot execute what it does not know. It suspects p0,
/// alone: p1 and p2 have nothing to wait for. With slot catch-up p3 fetches the proof, and is the third to answer;
/// without the read-only optimisation two answers do.
#[test]
fn a_client_that_waits_for_three_answers_waits_for_ever() {
    let settings = format!("protocol.slot-fetch = false\nworkload.requests = 1\n{STINGY}");
    let mut s = attack(&["client-quorum-2f1"], &settings);
    let outcome = witness(&mut s, "pbft/read-only-liveness");
    expect_logs(&s, &["p1", "p2"], &["r1"]);
    s.expect_log("p3", &[]);
    expect(&s, &["p1", "p2"], "status", "Normal");
    expect(&s, &["p3"], "status", changing(1));
    assert!(!marked(&outcome, "new-view"));
    assert!(marked(&cured_by(&s, "protocol.slot-fetch", true), "slot-fetch"));
}

/// S26, the second configuration that found it: the network loses the proposal to p3.
#[test]
fn one_lost_proposal_and_a_missing_reply_are_enough() {
    let mut s = attack(
        &["client-quorum-2f1"],
        "protocol.slot-fetch = false\nworkload.requests = 1\nadversary.byzantine = ['p0']\n\
         adversary.faults = [{ from = ['p0'], kind = 'reply', mutate = 'reply.omit' }]",
    );
    s.deliver("c0>p0 request").drop("p0>p3 pre-prepare");
    violates(&mut s, Property::Termination);
    cured_by(&s, "protocol.slot-fetch", true);
}

/// S26 without a liar: one partition in a COMMIT round. p3 has seen the proposal of r2 by the time it sends its COMMIT
/// for r1, so that this one comes through. p1 and p2 execute r1; p0 and p3 cannot, and execute nothing after it. A
/// leader does not suspect itself, and p3 is alone again.
#[test]
fn a_partition_of_the_commits_is_enough() {
    let partition = "{ round = 3, partition = [['p0'], ['p1', 'p2'], ['p3']] }";
    let mut s = attack(
        &["client-quorum-2f1"],
        &format!("protocol.slot-fetch = false\ncluster.clients = 2\nadversary.faults = [{partition}]"),
    );
    s.deliver("c0>p0 request").deliver("p0>* pre-prepare");
    s.deliver("c1>p0 request").deliver("p0>p3 pre-prepare").deliver_all();
    expect_logs(&s, &["p1", "p2"], &["r1", "r2"]);
    expect_logs(&s, &["p0", "p3"], &NOTHING);
    violates(&mut s, Property::Termination);
    expect_logs(&s, &["p0", "p3"], &NOTHING);
    cured_by(&s, "protocol.slot-fetch", true);
}

/// S26, as a read. p0 starves p3 of a write. p1 and p2 answer the read with the new value, p3 with the old one, p0 not
/// at all. Three equal answers are out of reach, so the client asks for an ordered read, which p0 starves in the same
/// way.
#[test]
fn a_read_waits_for_ever_too() {
    let mut s = story(&format!(
        "protocol = {{ read-only = true, slot-fetch = false }}\ncluster.clients = 2\n\
         workload = {{ ops = ['+5', 'get'], read-only = [2] }}\n{STINGY}"
    ));
    s.hold("c1>* request").deliver_all().heal();
    expect_logs(&s, &["p1", "p2"], &["+5"]);
    s.expect_log("p3", &[]);
    s.deliver("c1>* request").deliver("*>c1 reply");
    let answers = s.json("c1")["outstanding"][0]["replies"].clone();
    let answer = |who: &str| answers[who][1].as_u64();
    assert_eq!(ALL.map(answer), [None, Some(5), Some(5), Some(0)]);
    s.timeout("c1", "client-retry-1").deliver_all();
    expect_logs(&s, &["p1", "p2"], &["+5", "get"]);
    ends(&mut s);
    s.expect_violation(Property::Termination);
    assert!(!idle(&s, "c0") && !idle(&s, "c1"));
    cured_by(&s, "protocol.slot-fetch", true);
}

// --- garbage ----------------------------------------------------------------------------------------------------

/// p0 has proposed r1. The network has flipped a bit in the copies to p1 and p2.
fn corrupted(flip: u32) -> Story<Pbft> {
    let mut s = story(&format!(
        "workload.requests = 1\nadversary.crash-on-garbage = true\n\
         adversary.faults = [{{ to = ['p1', 'p2'], kind = 'pre-prepare', flip = {flip} }}]"
    ));
    s.deliver("c0>p0 request");
    s
}

/// 6.1, the baseline. Nobody lies. The network flips a bit in each of two copies of a proposal, so that they do not
/// decode. Who cannot bear that stops: p1 and p2, and with them all progress. Otherwise the two copies are lost, and
/// sent again.
#[test]
fn replicas_that_cannot_decode_a_message_crash() {
    // Not every bit will do: the others leave a message that is another one, and whose signature is wrong.
    let garbage = |s: &Story<Pbft>| ["p0>p1", "p0>p2"].iter().all(|link| s.in_flight(link));
    let mut s = (0..1000).map(corrupted).find(garbage).expect("some bits matter");
    s.deliver("p0>p1,p2 pre-prepare");
    let outcome = witness(&mut s, "pbft-java/crash-on-garbage");
    assert_eq!(outcome.injected.garbage, 2);
    s.expect_violation(Property::Crashed).expect_violation(Property::Termination);
    assert_eq!(cured_by(&s, "adversary.crash-on-garbage", false).injected.garbage, 2);
}
