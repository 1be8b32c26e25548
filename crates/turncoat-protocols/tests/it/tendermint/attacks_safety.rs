//! Attacks after which validators of Tendermint disagree. Each needs the deviation that it names, and the correct protocol
//! survives the same schedule.

use super::stage::{Told, attack, expect_at, expect_locks, expect_logs, time_out};
use crate::stage::{tell, witness};
use turncoat_core::outcome::Property;

/// p1 decides its block in epoch 0. p0 and p3 are locked on it, and go on to epoch 1, since Byzantine p2 tells them that it
/// has precommitted nil. p2 goes there too.
fn one_decides(flag: &str, settings: &str) -> Told {
    let mut s = attack(flag, &format!("adversary.byzantine = ['p2']\n{settings}"));
    s.deliver("p1>* proposal").deliver("*>* prevote").deliver("p0,p3>p1 precommit");
    expect_logs(&s, &["p1"], &["p1#1"]);
    s.mutate("p2>p0,p3 precommit", "precommit.id=none").deliver("p2>p0,p3 precommit");
    s.deliver("p0>p3 precommit").deliver("p3>p0 precommit").drop("p1>* precommit").drop("p0,p3>p2 precommit");
    time_out(&mut s, &["p0", "p3"], "precommit-1-0");
    s.suspect("p2");
    expect_at(&s, &["p0", "p3"], "h1 e1 Propose");
    s
}

/// p2 proposes another block than that, with these lies besides. p0 and p3 prevote for it, if they may, and so does p2, and
/// they precommit it.
fn two_follow(s: &mut Told, epoch: u32, lies: &[&str]) {
    let proposal = format!("p2>p0,p3 proposal #{epoch}");
    s.mutate(&proposal, "proposal.value=other+id");
    tell(s, &proposal, lies);
    s.deliver(&proposal).drop("p2>p1 proposal");
    let nth = epoch + 1;
    s.deliver(&format!("p0,p3>p2 prevote #{nth}")).timeout("p2", &format!("prevote-1-{epoch}"));
    s.mutate(&format!("p2>p0,p3 prevote #{nth}"), "prevote.id=seen");
    s.deliver("p0>p3 prevote").deliver("p3>p0 prevote").deliver("p2>p0,p3 prevote");
    s.mutate(&format!("p2>p0,p3 precommit #{nth}"), "precommit.id=seen");
    s.deliver("p0>p3 precommit").deliver("p3>p0 precommit").deliver("p2>p0,p3 precommit");
}

#[test]
fn without_its_lock_a_validator_follows_anybody() {
    let mut s = one_decides("forget-lock", "");
    expect_locks(&s, [None; 4]);
    two_follow(&mut s, 1, &["proposal.valid-round=none"]);
    expect_logs(&s, &["p0", "p3"], &["p1#1-other"]);
    s.expect_violation(Property::Custom).expect_violation(Property::Agreement);
    witness(&mut s, "tendermint/forget-lock");
}

#[test]
fn a_polka_that_is_only_claimed_releases_no_lock() {
    // p2's own code proposes the first block again, which got its polka in epoch 0. For another block that is a lie.
    for (flag, lies) in [("vr-unchecked", [].as_slice()), ("vr-future", &["proposal.valid-round=epoch"])] {
        let mut s = one_decides(flag, "");
        two_follow(&mut s, 1, lies);
        expect_logs(&s, &["p0", "p3"], &["p1#1-other"]);
        witness(&mut s, &format!("tendermint/{flag}"));
    }
}

#[test]
fn a_vote_for_nil_is_no_vote_against_a_lock() {
    // In epoch 1 p2 proposes nothing, and everybody prevotes for nil. In epoch 2 p2 proposes another block.
    let mut s = one_decides("unlock-on-nil", "cluster.leaders = ['p1', 'p2', 'p2']");
    s.drop("p2>* proposal");
    time_out(&mut s, &["p0", "p3"], "propose-1-1");
    s.mutate("p2>p0,p3 prevote", "prevote.id=none");
    s.deliver("p0,p3>p2 prevote #2")
        .deliver("p0>p3 prevote")
        .deliver("p3>p0 prevote")
        .deliver("p2>p0,p3 prevote");
    expect_locks(&s, [None, None, Some(0), None]);
    s.timeout("p2", "prevote-1-1");
    s.deliver("p0>p3 precommit").deliver("p3>p0 precommit").deliver("p2>p0,p3 precommit");
    time_out(&mut s, &["p0", "p3"], "precommit-1-1");
    s.suspect("p2");
    two_follow(&mut s, 2, &["proposal.valid-round=none"]);
    expect_logs(&s, &["p0", "p3"], &["p1#1-other"]);
    witness(&mut s, "tendermint/unlock-on-nil");
}

#[test]
fn two_of_four_are_no_quorum() {
    // p0 and p1 decide a block, p2 and p3, which have not heard of it, another one. Nobody lies.
    let mut s = attack("quorum-ge", "");
    s.deliver("p1>p0 proposal").deliver("p0,p1>p0,p1 prevote").deliver("p0,p1>p0,p1 precommit");
    expect_logs(&s, &["p0", "p1"], &["p1#1"]);
    time_out(&mut s, &["p2", "p3"], "propose-1-0");
    s.deliver("p2,p3>p2,p3 prevote").deliver("p2,p3>p2,p3 precommit");
    time_out(&mut s, &["p2", "p3"], "precommit-1-0");
    s.deliver("p2>p3 proposal").deliver("p2,p3>p2,p3 prevote").deliver("p2,p3>p2,p3 precommit");
    expect_logs(&s, &["p2", "p3"], &["p2#1"]);
    witness(&mut s, "tendermint/quorum-ge");
}

#[test]
fn the_same_vote_again_is_one_vote() {
    // Byzantine p1 proposes one block to p0 and another one to p2, and gives each of them two prevotes and two precommits.
    let mut s = attack("count-dup", "adversary.byzantine = ['p1']");
    s.mutate("p1>p2 proposal", "proposal.value=other+id").deliver("p1>p0,p2 proposal");
    for who in ["p0", "p2"] {
        let vote = |nth: &str| format!("p1>{who} prevote {nth}");
        if who == "p2" {
            s.mutate(&vote("#1"), "prevote.id=seen");
        }
        for _ in 0..3 {
            s.duplicate(&vote("#1"));
        }
        s.deliver(&vote("#1")).deliver(&vote("#2"));
        expect_at(&s, &[who], "h1 e0 Precommit");
        s.mutate(&vote("#3"), "prevote.as-precommit").mutate(&vote("#4"), "prevote.as-precommit");
        s.deliver(&vote("#3")).deliver(&vote("#4"));
    }
    expect_logs(&s, &["p0"], &["p1#1"]);
    expect_logs(&s, &["p2"], &["p1#1-other"]);
    witness(&mut s, "tendermint/count-dup");
}

#[test]
fn an_id_that_nobody_compares_can_mean_two_blocks() {
    // Byzantine p1 sends p3 another block than the others, under the same id. All vote for the id.
    let mut s = attack("no-hash-check", "adversary.byzantine = ['p1']");
    s.mutate("p1>p3 proposal", "proposal.value.tx.forge").deliver("p1>* proposal");
    s.deliver("*>* prevote").deliver("*>* precommit");
    expect_logs(&s, &["p0", "p2"], &["p1#1"]);
    assert_ne!(s.decided("p3", 1), s.decided("p0", 1));
    witness(&mut s, "tendermint/no-hash-check");
}

#[test]
fn precommits_of_several_epochs_are_no_quorum() {
    // p0 precommits the first block in epoch 0, p1 in epoch 2, and Byzantine p2 in epoch 0, as it tells p1 alone: that is no
    // decision. p3 precommits another block in epoch 1, and in epoch 3 it is decided.
    let settings = "adversary.byzantine = ['p2']\ncluster.leaders = ['p1', 'p3', 'p0', 'p3']";
    let mut s = attack("decide-mixed-rounds", settings);
    // Epoch 0: only p0 sees the polka. Those who do not precommit nil.
    s.deliver("p1>p0,p2 proposal").drop("p1>p3 proposal").timeout("p3", "propose-1-0");
    s.deliver("p1,p2>p0 prevote")
        .deliver("p0,p3>p1 prevote")
        .deliver("p0,p1>p3 prevote")
        .deliver("p0,p1>p2 prevote");
    s.drop("p2>p3 prevote").drop("p3>p0,p2 prevote");
    time_out(&mut s, &["p1", "p3"], "prevote-1-0");
    s.drop("p2>p0,p3 precommit").deliver("p1,p3>p0,p1,p2,p3 precommit").deliver("p0>p1,p3 precommit");
    s.drop("p0>p2 precommit");
    time_out(&mut s, &["p0", "p1", "p2", "p3"], "precommit-1-0");
    expect_locks(&s, [Some(0), None, Some(0), None]);
    // Epoch 1: only p3 sees the polka for its own block, for which p2 has voted too, it says.
    s.deliver("p3>* proposal").mutate("p2>p0,p3 prevote", "prevote.id=seen");
    s.deliver("p1>p3 prevote").deliver("p2>p3 prevote");
    s.deliver("p0,p3>p1 prevote").deliver("p1,p3>p0 prevote").deliver("p1,p3>p2 prevote");
    time_out(&mut s, &["p0", "p1", "p2"], "prevote-1-1");
    expect_locks(&s, [Some(0), None, Some(0), Some(1)]);
    s.deliver("*>p0,p2,p3 precommit").deliver("p0,p3>p1 precommit").deliver("p2>p1 precommit #2");
    time_out(&mut s, &["p0", "p1", "p2", "p3"], "precommit-1-1");
    expect_at(&s, &["p1", "p2", "p3"], "h1 e2 Propose");
    // Epoch 2: p0 proposes the first block again. Only p1 sees the polka.
    s.deliver("p2>p1 prevote #1").deliver("p0>p1,p2 proposal").drop("p0>p3 proposal");
    s.timeout("p3", "propose-1-2").deliver("p0>p1 prevote").deliver("p2>p1 prevote #3");
    s.deliver("p1,p3>p0 prevote").deliver("p0,p1>p3 prevote").deliver("p1,p3>p2 prevote");
    time_out(&mut s, &["p0", "p2", "p3"], "prevote-1-2");
    expect_locks(&s, [Some(0), Some(2), Some(0), Some(1)]);
    s.deliver("p2>p1 precommit #1");
    expect_logs(&s, &["p1"], &["p1#1"]);
    s.deliver("p0,p2,p3>p0,p2,p3 precommit");
    time_out(&mut s, &["p0", "p2", "p3"], "precommit-1-2");
    // Epoch 3: p3 proposes its own block again. p0 is told that it got a polka in epoch 1.
    s.deliver("p3>p0,p2 proposal").deliver("p2>p0 prevote #2");
    s.timeout("p2", "propose-1-3").deliver("p0,p3>p2 prevote #4").timeout("p2", "prevote-1-3");
    s.mutate("p2>p0,p3 prevote #4", "prevote.id=seen").deliver("p2>p0,p3 prevote #4");
    s.deliver("p0>p3 prevote #4").deliver("p3>p0 prevote #4");
    s.mutate("p2>p0,p3 precommit #4", "precommit.id=seen").deliver("p2>p0,p3 precommit #4");
    s.deliver("p0>p3 precommit #4").deliver("p3>p0 precommit #4");
    expect_logs(&s, &["p0", "p3"], &["p3#1"]);
    witness(&mut s, "tendermint/decide-mixed-rounds");
}
