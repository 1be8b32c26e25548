//! Tendermint. p1 proposes in round 0 of height 1, p2 in round 1, p3 in round 2.

use turncoat_core::outcome::Property;

use crate::harms;
use crate::stage::{ALL, ends};

#[path = "../it/tendermint/stage.rs"]
#[expect(dead_code, reason = "shared with the tests of `it`, which use more of it")]
mod stage;

use stage::{PLAIN, Told, one_is_late, story, time_out};

fn plain(settings: &str) -> Told {
    story(&format!("{PLAIN}\nlimits.steps = 5000\n{settings}"))
}

/// Byzantine p3 alone knows that the block w of round 0 has a polka. In round 1 p2 decides v; p0 and p1 are locked on it, and
/// go on to round 2, where p3 proposes w again.
fn hidden_polka() -> Told {
    let mut s = plain("adversary.byzantine = ['p3']");
    // Round 0.
    s.deliver("p1>* proposal").deliver("p0,p1,p2>p3 prevote");
    s.mutate("p3>* prevote", "prevote.id=none").deliver("p3>* prevote");
    s.deliver("p1>p0 prevote").deliver("p0>p1,p2 prevote");
    time_out(&mut s, &["p0", "p1", "p2"], "prevote-1-0");
    s.deliver("p0,p1,p2>p0,p1,p2 precommit").drop("*>* precommit");
    time_out(&mut s, &["p0", "p1", "p2"], "precommit-1-0");
    s.suspect("p3");
    // Round 1.
    s.deliver("p2>p0,p1 proposal").drop("p2>p3 proposal");
    for (from, to) in [("p1", "p0"), ("p2", "p0"), ("p0", "p1"), ("p2", "p1"), ("p0", "p2"), ("p1", "p2")] {
        s.deliver(&format!("{from}>{to} prevote #2"));
    }
    s.deliver("p0,p1>p2 precommit").drop("p2>* precommit");
    s.suspect("p3").suspect("p3");
    s.deliver("p3>p0,p1 precommit").deliver("p0>p1 precommit").deliver("p1>p0 precommit");
    time_out(&mut s, &["p0", "p1"], "precommit-1-1");
    s.suspect("p3");
    s
}

/// Round 2: p0 and p1 hear of the polka of round 0. If they may, they vote for w with p3.
fn round_2(mut s: Told) -> Told {
    s.deliver("p3>p0,p1 proposal").deliver("p1,p2>p0 prevote #1").deliver("p0,p2>p1 prevote #1");
    s.deliver("p3>p0,p1 prevote #3").deliver("p0>p1,p3 prevote #3").deliver("p1>p0,p3 prevote #3");
    s.deliver("p3>p0,p1 precommit #3").deliver("p0>p1 precommit #3").deliver("p1>p0 precommit #3");
    ends(&mut s);
    s
}

const HIDDEN: &str = "Block w of round 0 has a polka that only Byzantine p3 knows of. In round 1 p2 decides block v, and p0 \
                      and p1 are locked on it.";

#[test]
fn polka_of_any_round() {
    let about = format!(
        "A re-proposal names the round in which its block got a polka, and this polka has to be there. The implementer asks \
         whether there is a polka for the block in any round.\n\
         {HIDDEN} In round 2 p3 proposes w again and claims that its polka is of round 1, as late as the lock. p0 and p1 have \
         heard of the polka of round 0 by now, follow p3 and decide w."
    );
    harms("tendermint/polka-of-any-round", Property::Agreement, &about, || {
        let mut s = hidden_polka();
        s.mutate("p3>* proposal", "proposal.valid-round+1");
        round_2(s).scenario()
    });
}

#[test]
fn lock_round_ignored() {
    let about = format!(
        "A polka releases a lock unless it is of an earlier round. The implementer does not compare the rounds.\n\
         {HIDDEN} In round 2 p3 proposes w again, with the polka of round 0. p0 and p1 follow it and decide w."
    );
    harms("tendermint/lock-round-ignored", Property::Agreement, &about, || {
        round_2(hidden_polka()).scenario()
    });
}

#[test]
fn precommits_must_agree() {
    let about = "The timer that ends a round starts when a quorum has precommitted, for whatever values. The implementer waits \
                 for a quorum that agrees.\n\
                 p0 has seen the polka and precommits the block. p1 and p2 have not and precommit nil. Byzantine p3 stops. \
                 No value will ever have a quorum, and nobody leaves the round.";
    harms("tendermint/precommits-must-agree", Property::Termination, about, || {
        let mut s = plain("workload.requests = 1\nadversary.byzantine = ['p3']");
        one_is_late(&mut s, &["p0"]);
        s.drop("p3>* precommit").crash("p3");
        ends(&mut s);
        s.scenario()
    });
}

#[test]
fn valid_round_omitted() {
    let about = "A proposer that proposes a block again says in which round it got its polka. The implementer sends the block \
                 alone.\n\
                 p1 is locked in round 0 and p2 in round 1, each with a prevote that Byzantine p0 gives to it alone. Then p0 \
                 stops. p1 would follow p2, whose polka is later, but nobody tells it so. No block ever gets three prevotes.";
    harms("tendermint/valid-round-omitted", Property::Termination, about, || {
        let mut s = plain("adversary.byzantine = ['p0']\nworkload.requests = 1");
        s.deliver("p1>p0,p3 proposal").drop("p1>p2 proposal").timeout("p2", "propose-1-0");
        s.deliver("p0,p3>p1 prevote").drop("p0>p2,p3 prevote");
        s.deliver("p1,p2>p0,p3 prevote").deliver("p1,p3>p2 prevote");
        time_out(&mut s, &["p0", "p2", "p3"], "prevote-1-0");
        s.deliver("*>* precommit");
        time_out(&mut s, &ALL, "precommit-1-0");
        s.deliver("p2>* proposal").deliver("p0,p3>p2 prevote").drop("p0>p1,p3 prevote");
        s.deliver("p1,p2>p0,p3 prevote").deliver("p2,p3>p1 prevote");
        time_out(&mut s, &["p0", "p1", "p3"], "prevote-1-1");
        s.deliver("*>* precommit");
        time_out(&mut s, &ALL, "precommit-1-1");
        s.crash("p0");
        ends(&mut s);
        s.scenario()
    });
}
