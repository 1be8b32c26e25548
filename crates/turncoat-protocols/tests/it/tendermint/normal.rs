//! Stories of Tendermint: heights that are decided at once, and those that take longer. Numbers are those of the scenario
//! tests in the protocol's specification.

use super::stage::{
    ONCE, PLAIN, Told, accused, at, did, epoch, expect_at, expect_locks, expect_logs, log, one_is_late,
    recorded, scenario, story, time_out,
};
use crate::stage::{ALL, completes, ends, run};
use turncoat_core::outcome::{End, Property};
use turncoat_core::record::What;

/// All prevotes and precommits of an epoch are exchanged among some.
fn vote(s: &mut Told, among: &str) {
    s.deliver(&format!("{among}>{among} prevote")).deliver(&format!("{among}>{among} precommit"));
}

#[test]
fn every_height_is_decided_in_three_message_delays() {
    // 1. No timer fires, nobody leaves epoch 0.
    for scheduler in ["fifo", "timed"] {
        let settings = format!("scheduler.name = '{scheduler}'\nnetwork.latency = 1\nworkload.requests = 3");
        let mut sim = recorded(&scenario("tendermint", &settings));
        let outcome = sim.run();
        assert_eq!((outcome.end, outcome.marks), (End::Goal, 0));
        let times: Vec<u64> = sim
            .events()
            .iter()
            .filter(|event| matches!(&event.what, What::Commit { seat, .. } if seat.to_string() == "p3"))
            .map(|event| event.time.0)
            .collect();
        assert_eq!(times, [3, 6, 9]);
        assert_eq!(log(sim.events(), "p0"), ["p1#1", "p2#1", "p3#1"]);
        assert!(!sim.events().iter().any(|event| matches!(event.what, What::Fire { .. })));
    }
}

#[test]
fn a_height_in_slow_motion() {
    let mut s = story(&format!("{PLAIN}\nworkload.requests = 1"));
    expect_at(&s, &["p0", "p2", "p3"], "h1 e0 Propose");
    s.deliver("p1>* proposal");
    expect_at(&s, &ALL, "h1 e0 Prevote");
    s.deliver("p1>* prevote").deliver("p0>p2 prevote");
    expect_at(&s, &["p2"], "h1 e0 Precommit");
    expect_locks(&s, [None, None, Some(0), None]);
    s.deliver("*>* prevote").deliver("p0,p2>p3 precommit");
    expect_at(&s, &["p3"], "h2 e0 Propose");
    expect_logs(&s, &["p3"], &["p1#1"]);
    expect_locks(&s, [Some(0), Some(0), Some(0), None]);
    completes(&mut s);
}

#[test]
fn the_same_seed_is_the_same_run() {
    // 2.
    let settings = "workload.requests = 5\nnetwork.latency = [1, 20]\nscheduler.name = 'async'";
    let mut scenario = scenario("tendermint", settings);
    for seed in 0..50 {
        scenario.seed.0 = seed;
        let first = run(&scenario);
        assert_eq!(first, run(&scenario));
        scenario.seed.0 = 1000 + seed;
        assert_ne!(run(&scenario).fingerprint, first.fingerprint);
    }
}

#[test]
fn a_silent_proposer_costs_an_epoch() {
    // 3. Nil prevotes, nil precommits, and p2 proposes in epoch 1.
    let mut s = story(&format!("{PLAIN}\nworkload.requests = 1"));
    s.crash("p1").drop("p1>* proposal").drop("p1>* prevote");
    let others = ["p0", "p2", "p3"];
    time_out(&mut s, &others, "propose-1-0");
    vote(&mut s, "p0,p2,p3");
    expect_at(&s, &others, "h1 e0 Precommit");
    time_out(&mut s, &others, "precommit-1-0");
    expect_at(&s, &["p0", "p3"], "h1 e1 Propose");
    s.deliver("p2>* proposal");
    vote(&mut s, "p0,p2,p3");
    expect_logs(&s, &others, &["p2#1"]);
    completes(&mut s);
}

#[test]
fn a_proposal_that_half_of_them_get_is_not_decided() {
    // 4. p2 and p3 prevote for nil. p2 proposes something else in epoch 1. Then the first proposal arrives.
    let mut s = story(&format!("{ONCE}\nworkload.requests = 1"));
    s.deliver("p1>p0 proposal").hold("p1>* proposal");
    time_out(&mut s, &["p2", "p3"], "propose-1-0");
    s.deliver_only("*>* prevote");
    time_out(&mut s, &ALL, "prevote-1-0");
    s.deliver_only("*>* precommit");
    expect_at(&s, &ALL, "h1 e0 Precommit");
    expect_locks(&s, [None; 4]);
    time_out(&mut s, &ALL, "precommit-1-0");
    epoch(&mut s);
    expect_logs(&s, &ALL, &["p2#1"]);
    completes(&mut s);
}

#[test]
fn a_block_with_a_polka_is_proposed_again() {
    // 5. Everybody else is locked. Each hears precommits of two and the nil of p3, and goes on to epoch 1. p2 proposes the
    // same block again, and says that it got its polka in epoch 0. p3 believes it when it has seen all the prevotes.
    let mut s = story(&format!("{PLAIN}\nworkload.requests = 1"));
    one_is_late(&mut s, &["p0", "p1", "p2"]);
    expect_locks(&s, [Some(0), Some(0), Some(0), None]);
    s.deliver("p3>* precommit").deliver("p0>p1,p3 precommit").deliver("p1>p0,p2,p3 precommit");
    s.drop("p0,p2>* precommit");
    time_out(&mut s, &ALL, "precommit-1-0");
    expect_at(&s, &["p0", "p1", "p3"], "h1 e1 Propose");
    s.deliver("p2>* proposal");
    expect_at(&s, &["p0", "p1", "p2"], "h1 e1 Prevote");
    expect_at(&s, &["p3"], "h1 e1 Propose");
    s.deliver("p2>p3 prevote #1");
    expect_at(&s, &["p3"], "h1 e1 Prevote");
    s.deliver("*>* prevote").deliver("*>* precommit");
    expect_logs(&s, &ALL, &["p1#1"]);
    assert!(did(&completes(&mut s), "re-proposal"));
}

/// Only p0 sees the polka, for which it takes a prevote that p3 gives to it alone. p3 is not heard of again.
fn hidden_lock(settings: &str) -> Told {
    let mut s = story(&format!(
        "workload.requests = 1\nlimits.steps = 1500\nadversary.byzantine = ['p3']\n{settings}"
    ));
    s.deliver("p1>p0,p3 proposal #1").deliver("p3>p0 prevote #1").drop("p3>* prevote");
    s.drop("p1>p2 proposal #1").timeout("p2", "propose-1-0");
    s.deliver("p1>p0,p2 prevote #1").deliver("p0>p1,p2 prevote #1").deliver("p2>p1 prevote #1");
    expect_locks(&s, [Some(0), None, None, None]);
    time_out(&mut s, &["p1", "p2"], "prevote-1-0");
    s.crash("p3");
    s
}

#[test]
fn a_hidden_lock_is_known_to_all_in_the_end() {
    // 6. p1 and p2 propose other blocks, which p0 refuses; p0 proposes its own, for which the others have seen no polka.
    // If p0 passes on the prevote of p3, or says it again, they have. Otherwise that goes on for ever.
    let mut s = hidden_lock(ONCE);
    let outcome = ends(&mut s);
    assert_eq!(outcome.commits, 0);
    s.expect_violation(Property::Termination);
    assert!(s.json("p0")["epoch"].as_u64() > Some(20), "{}", at(&s, "p0"));
    for settings in ["protocol = { retransmit = 0, sync = 0 }", "protocol = { relay = false, sync = 0 }"] {
        let mut s = hidden_lock(settings);
        let outcome = completes(&mut s);
        assert!(did(&outcome, "next-epoch"));
        expect_logs(&s, &["p0", "p1", "p2"], &["p1#1"]);
    }
}

#[test]
fn a_lock_gives_way_to_a_later_polka() {
    // 7. p0 is locked in epoch 0. In epoch 1 p1, p2 and p3 prevote for another block, and only p2 sees that. p2 proposes it
    // again in epoch 2, and p0, which has heard of the polka by then, prevotes for it.
    let settings = format!("{PLAIN}\nworkload.requests = 1\ncluster.leaders = ['p1', 'p2', 'p2']");
    let mut s = story(&settings);
    one_is_late(&mut s, &["p0"]);
    expect_locks(&s, [Some(0), None, None, None]);
    s.drop("*>* prevote");
    s.deliver("*>* precommit");
    time_out(&mut s, &ALL, "precommit-1-0");
    s.deliver("p2>* proposal");
    expect_at(&s, &ALL, "h1 e1 Prevote");
    s.deliver("p1,p3>p2 prevote").deliver("p0,p2>p1,p3 prevote");
    expect_locks(&s, [Some(0), None, Some(1), None]);
    time_out(&mut s, &["p1", "p3"], "prevote-1-1");
    s.deliver("*>* precommit");
    s.hold("*>p0 prevote");
    time_out(&mut s, &["p1", "p2", "p3"], "precommit-1-1");
    s.deliver("p2>p0 proposal");
    time_out(&mut s, &["p0"], "precommit-1-1");
    expect_at(&s, &["p0"], "h1 e2 Propose");
    s.release("*>p0 prevote").deliver("*>p0 prevote");
    expect_at(&s, &["p0"], "h1 e2 Prevote");
    epoch(&mut s);
    expect_logs(&s, &ALL, &["p2#1"]);
    assert!(did(&completes(&mut s), "unlock"));
}

#[test]
fn precommits_decide_late() {
    // 14. p0 hears two precommits for the block and one for nil, and is in epoch 1 when the third one arrives.
    let mut s = story(&format!("{PLAIN}\nworkload.requests = 1"));
    one_is_late(&mut s, &["p0", "p1", "p2"]);
    s.deliver("p1,p3>p0 precommit").timeout("p0", "precommit-1-0");
    expect_at(&s, &["p0"], "h1 e1 Propose");
    s.deliver("p2>p0 precommit");
    expect_at(&s, &["p0"], "h2 e0 Propose");
    expect_logs(&s, &["p0"], &["p1#1"]);
    assert!(did(&completes(&mut s), "late-decision"));
}

#[test]
fn proposals_that_are_late_for_five_epochs_change_nothing() {
    // 15. Votes are not late: without them there is no timeout, and no next epoch either.
    let mut s = story(&format!("{PLAIN}\nworkload.requests = 1"));
    s.hold("*>* proposal");
    for number in 0..5 {
        let proposer = ALL[(1 + number) % 4];
        let others: Vec<&str> = ALL.into_iter().filter(|&who| who != proposer).collect();
        time_out(&mut s, &others, &format!("propose-1-{number}"));
        epoch(&mut s);
        time_out(&mut s, &ALL, &format!("precommit-1-{number}"));
    }
    expect_at(&s, &["p0", "p1", "p3"], "h1 e5 Propose");
    s.heal();
    epoch(&mut s);
    expect_logs(&s, &ALL, &["p2#2"]);
    completes(&mut s);
}

#[test]
fn one_validator_far_ahead_is_not_followed_two_are() {
    // 12. Byzantine p0 is in epoch 7 or so, it says. When p1 is in epoch 1, p0's word that it is there too moves the others.
    let mut s = story(&format!("{PLAIN}\nworkload.requests = 1\nadversary.byzantine = ['p0']"));
    s.deliver("p1>p0 proposal").mutate("p0>p2 prevote", "prevote.epoch=any").deliver("p0>p2 prevote");
    expect_at(&s, &["p2"], "h1 e0 Propose");
    time_out(&mut s, &["p2", "p3"], "propose-1-0");
    s.deliver("p2,p3>p1 prevote").timeout("p1", "prevote-1-0");
    s.deliver("p1>p2,p3 prevote").deliver("p2>p3 prevote").deliver("p3>p2 prevote");
    time_out(&mut s, &["p2", "p3"], "prevote-1-0");
    s.deliver("p2,p3>p1 precommit").timeout("p1", "precommit-1-0");
    expect_at(&s, &["p1"], "h1 e1 Propose");
    s.timeout("p1", "propose-1-1").deliver("p1>p3 prevote");
    expect_at(&s, &["p3"], "h1 e0 Precommit");
    s.mutate("p0>p3 prevote", "prevote.epoch+1").deliver("p0>p3 prevote");
    expect_at(&s, &["p3"], "h1 e1 Propose");
    assert!(did(&completes(&mut s), "skip"));
}

#[test]
fn weights_decide_not_numbers() {
    // 16. Of (1,1,1,4) p3 and one other are a quorum, and the three others are none. Of (3,1,1,1) p0 and two others are.
    let mut s = story(&format!("{PLAIN}\nprotocol.weights = [1, 1, 1, 4]\nworkload.requests = 1"));
    s.deliver("p1>* proposal").deliver("p0,p1,p2>p0,p1,p2 prevote");
    expect_at(&s, &["p0", "p1", "p2"], "h1 e0 Prevote");
    s.deliver("p3>p1 prevote").deliver("p1>p3 prevote").deliver("p1>p3 precommit");
    expect_logs(&s, &["p3"], &["p1#1"]);
    completes(&mut s);
    let mut s = story(&format!("{PLAIN}\nprotocol.weights = [3]\nworkload.requests = 1"));
    s.deliver("p1>* proposal").deliver("p1,p2,p3>p1,p2,p3 prevote");
    expect_at(&s, &["p1", "p2", "p3"], "h1 e0 Prevote");
    s.deliver("p0>p1 prevote").deliver("p0,p1>p2 prevote").deliver("p1,p2>p0 prevote");
    s.deliver("p1,p2>p0 precommit");
    expect_logs(&s, &["p0"], &["p1#1"]);
    completes(&mut s);
}

#[test]
fn a_proposer_with_two_proposals_is_found_out() {
    // 10. p1 proposes one block to p0 and p3, and another one to p2. p2 hears of both, since they are passed on.
    let mut s = story("workload.requests = 2\nadversary.byzantine = ['p1']");
    s.mutate("p1>p2 proposal", "proposal.value=other+id")
        .deliver("p1>p2 proposal")
        .deliver("p1>p0,p3 proposal");
    epoch(&mut s);
    completes(&mut s);
    for who in ["p0", "p2", "p3"] {
        assert_eq!(accused(&s, who), ["p1"], "{who}");
    }
}

#[test]
fn who_restarts_remembers_its_votes() {
    // 17. p0 has prevoted, stops, and restarts. The proposal arrives once more: p0 does not vote again. With its memory
    // lost it does, for nil, because it is late now; the others see that it has contradicted itself.
    for memory in [true, false] {
        let mut s = story(&format!("{PLAIN}\nworkload.requests = 1"));
        s.deliver("p1>p0 proposal").deliver("p0>p1 prevote").crash("p0");
        if memory {
            s.restart("p0");
            expect_at(&s, &["p0"], "h1 e0 Prevote");
        } else {
            s.restart_anew("p0");
            expect_at(&s, &["p0"], "h1 e0 Propose");
            s.timeout("p0", "propose-1-0").deliver("p0>p1 prevote");
        }
        let expected: &[&str] = if memory { &[] } else { &["p0"] };
        assert_eq!(accused(&s, "p1"), expected);
        completes(&mut s);
    }
}
