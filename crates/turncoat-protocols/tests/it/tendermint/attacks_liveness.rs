//! Attacks after which validators of Tendermint wait for ever, or change epochs for ever. Each needs the deviation that it
//! names, and the correct protocol survives the same schedule.

use super::stage::{
    attack, epoch, expect_at, expect_locks, expect_logs, log, one_is_late, recorded, scenario, time_out,
};
use crate::stage::{ALL, is_witness, witness};
use turncoat_core::outcome::{End, Property};
use turncoat_core::scenario::Scenario;

#[test]
fn two_hidden_locks_exclude_each_other() {
    // p1 is locked in epoch 0 and p2 in epoch 1, each with a prevote that Byzantine p0 gives to it alone. p1 will not follow
    // p2, because it was not there when that block got its polka. No block will ever get three prevotes.
    let mut s = attack("early-lock", "adversary.byzantine = ['p0']\nworkload.requests = 1");
    s.deliver("p1>p0,p3 proposal").drop("p1>p2 proposal").timeout("p2", "propose-1-0");
    s.deliver("p0,p3>p1 prevote").drop("p0>p2,p3 prevote");
    s.deliver("p1,p2>p0,p3 prevote").deliver("p1,p3>p2 prevote");
    time_out(&mut s, &["p0", "p2", "p3"], "prevote-1-0");
    s.deliver("*>* precommit");
    time_out(&mut s, &ALL, "precommit-1-0");
    expect_locks(&s, [None, Some(0), None, None]);
    s.deliver("p2>* proposal").deliver("p0,p3>p2 prevote").drop("p0>p1,p3 prevote");
    s.deliver("p1,p2>p0,p3 prevote").deliver("p2,p3>p1 prevote");
    time_out(&mut s, &["p0", "p1", "p3"], "prevote-1-1");
    s.deliver("*>* precommit");
    time_out(&mut s, &ALL, "precommit-1-1");
    expect_locks(&s, [None, Some(0), Some(1), None]);
    s.crash("p0");
    let outcome = witness(&mut s, "tendermint/early-lock");
    assert_eq!(outcome.commits, 0);
    expect_locks(&s, [None, Some(0), Some(1), None]);
}

#[test]
fn what_everybody_is_locked_on_is_refused() {
    // Nobody lies. All but p3 are locked on the block of epoch 0, and refuse it when it is proposed again.
    let mut s = attack("lock-lt", "workload.requests = 1");
    one_is_late(&mut s, &["p0", "p1", "p2"]);
    s.deliver("p3>* precommit").deliver("p0>p1,p3 precommit").deliver("p1>p0,p2,p3 precommit");
    s.drop("p0,p2>* precommit");
    time_out(&mut s, &ALL, "precommit-1-0");
    epoch(&mut s);
    time_out(&mut s, &ALL, "precommit-1-1");
    expect_at(&s, &["p0", "p1", "p2"], "h1 e2 Propose");
    let outcome = witness(&mut s, "tendermint/lock-lt");
    assert_eq!(outcome.commits, 0);
    expect_locks(&s, [Some(0), Some(0), Some(0), None]);
}

#[test]
fn who_has_left_an_epoch_misses_its_decision() {
    // p0 is in epoch 1 when the last precommit of epoch 0 arrives. The others go on without it.
    let mut s = attack("decide-current-only", "protocol.sync = 0\nworkload.requests = 2");
    one_is_late(&mut s, &["p0", "p1", "p2"]);
    s.deliver("p1,p3>p0 precommit").timeout("p0", "precommit-1-0").deliver("p2>p0 precommit");
    expect_at(&s, &["p0"], "h1 e1 Propose");
    witness(&mut s, "tendermint/decide-current-only");
    expect_logs(&s, &["p0"], &[]);
    assert!(log(s.sim().events(), "p1").len() > 2);
}

#[test]
fn what_comes_early_does_not_come_again() {
    // p3 is the last to decide height 1. By then it has heard the proposal of height 2, and forgotten it.
    let mut s = attack("drop-future-height", "protocol.sync = 0\nworkload.requests = 2");
    s.deliver("p1>* proposal").deliver("*>* prevote").deliver("p0,p1,p2>p0,p1,p2 precommit");
    s.deliver("p2>* proposal").deliver("p0,p1,p2>p3 precommit");
    expect_logs(&s, &["p3"], &["p1#1"]);
    expect_at(&s, &["p3"], "h2 e0 Propose");
    witness(&mut s, "tendermint/drop-future-height");
    expect_logs(&s, &["p3"], &["p1#1"]);
}

/// A run of a scenario that does not terminate, and is the witness of a row.
fn never_ends(bug: Scenario, id: &str) -> Vec<usize> {
    let mut sim = recorded(&bug);
    let outcome = sim.run();
    assert!(outcome.violation(Property::Termination).is_some(), "{id}");
    is_witness(bug, id);
    ALL.map(|who| log(sim.events(), who).len()).to_vec()
}

#[test]
fn a_partition_is_for_ever_where_nothing_is_said_again() {
    // Figure 4b of ByzzFuzz.
    let cut = "{ round = 3, partition = [['p0'], ['p1', 'p3'], ['p2']] }";
    let settings = format!("workload.requests = 1\nadversary.faults = [{cut}]");
    let decided = never_ends(scenario("tendermint-0.34", &settings), "tendermint/no-retransmit");
    assert_eq!(decided, [0; 4]);
}

#[test]
fn a_proposal_that_is_withheld_from_one_is_not_passed_on() {
    // Byzantine p1 proposes to p0 and p2 only. They decide with its votes, and p3 has votes for a block that it has not got.
    let omits = "{ round = 1, from = ['p1'], to = ['p3'], mutate = 'proposal.omit' }";
    let settings = format!(
        "protocol.flags = ['no-relay']\nworkload.requests = 1\nnetwork.loss = 'hold'\nlimits.steps = 1000\n\
         adversary = {{ byzantine = ['p1'], faults = [{omits}] }}"
    );
    let decided = never_ends(scenario("tendermint-0.34", &settings), "tendermint/no-relay");
    assert!(decided[3] == 0 && decided[0] > 1, "{decided:?}");
}

/// A network that is calm from the start, but slow for some; messages are late by `network.bound` at the most.
fn slow(protocol: &str, bound: u32, byzantine: &str, faults: &[&str]) -> Scenario {
    let settings = format!(
        "protocol = {{ {protocol} }}\nworkload.requests = 2\nlimits = {{ time = 2000, steps = 1500 }}\n\
         network = {{ latency = 1, bound = {bound}, gst = {{ time = 0 }} }}\n\
         adversary = {{ byzantine = [{byzantine}], faults = [{}] }}",
        faults.join(", ")
    );
    scenario("tendermint", &settings)
}

#[test]
fn one_liar_drags_all_from_epoch_to_epoch() {
    // Byzantine p0 gives each prevote for the next epoch. It arrives before those of the others.
    let lie = "{ from = ['p0'], mutate = 'prevote.epoch+1' }";
    let late = "{ from = ['p1', 'p2', 'p3'], kind = 'prevote', delay = 8 }";
    let bug = slow("flags = ['skip-no-f1']", 10, "'p0'", &[lie, late]);
    assert_eq!(never_ends(bug, "tendermint/skip-no-f1"), [0; 4]);
}

#[test]
fn a_proposal_of_somebody_else_takes_votes_from_the_proposer() {
    // Byzantine p3 proposes in every epoch, to p1 and p2, and one of them hears it before the proposer. The votes of two are
    // not enough, and p3 gives none.
    let proposes = "{ from = ['p3'], to = ['p0'], kind = 'prevote', times = 1000000, \
                    originate = { mint = 'proposal', to = ['p1', 'p2'] } }";
    let silent = "{ from = ['p3'], drop = true }";
    let late = [
        "{ from = ['p0', 'p2'], to = ['p1'], kind = 'proposal', delay = 50 }",
        "{ from = ['p1'], to = ['p2'], kind = 'proposal', delay = 50 }",
    ];
    let protocol = "relay = false, retransmit = 0, flags = ['proposer-unchecked']";
    let bug = slow(protocol, 60, "'p3'", &[proposes, silent, late[0], late[1]]);
    assert_eq!(never_ends(bug, "tendermint/proposer-unchecked"), [0; 4]);
}

#[test]
fn two_votes_of_a_liar_and_the_own_one_start_the_timeout() {
    // Byzantine p0 prevotes for the proposal and for nil. The prevotes of the others take longer than the timeout, which
    // should start with the second of them.
    let twice = "{ from = ['p0'], to = ['p1'], kind = 'prevote', times = 1000000, \
                 originate = { mint = 'prevote', to = ['p1', 'p2', 'p3'] } }";
    let late = "{ from = ['p1', 'p2', 'p3'], kind = 'prevote', delay = 50 }";
    let protocol = "relay = false, timeout-propose = 100, timeout-prevote = 20, timeout-precommit = 20, \
                    timeout-delta = 0, flags = ['equivocation-double']";
    let bug = slow(protocol, 60, "'p0'", &[twice, late]);
    assert_eq!(never_ends(bug, "tendermint/equivocation-double"), [0; 4]);
}

#[test]
fn timeouts_of_earlier_epochs_spoil_this_one() {
    // Nobody lies, proposals take 91 ticks, and may take 150. The timeout of one epoch hits the next one before its proposal
    // arrives.
    let late = "{ kind = 'proposal', delay = 90 }";
    let protocol = "relay = false, timeout-propose = 150, timeout-prevote = 20, timeout-precommit = 20, \
                    timeout-delta = 0, flags = ['stale-timeout']";
    let bug = slow(protocol, 95, "", &[late]);
    let mut sim = recorded(&bug);
    assert_eq!(sim.run().end, End::Limit("time"));
    assert_eq!(never_ends(bug, "tendermint/stale-timeout"), [1; 4]);
}
