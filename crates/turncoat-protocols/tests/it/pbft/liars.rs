//! Stories of leaders and voters that lie.

use crate::stage::{
    ALL, BACKUPS, NOTHING, always, changing, completes, expect, expect_logs, ops, proposals, story, voters,
};
use turncoat_core::story::Story;
use turncoat_protocols::pbft::Pbft;

#[test]
fn an_equivocating_leader_that_falls_silent_gets_nothing_decided() {
    // Byzantine p0 proposes r1 to p1, and r2 under the same number to p2 and p3, who prepare it. Then it
    // stops. The next view must go on with r2 at 1.
    let mut s = story("cluster.clients = 2\nadversary.byzantine = ['p0']\nworkload.goal = 'committed'");
    s.deliver("c0>p0 request").mutate("p0>p2,p3 pre-prepare", "pre-prepare.request=earlier");
    s.mutate("p0>p2,p3 pre-prepare", "pre-prepare.digest=other").deliver("p0>* pre-prepare");
    s.crash("p0").deliver_all();
    expect_logs(&s, &BACKUPS, &NOTHING);
    let prepared = |who| s.json(who)["window"]["entries"][0]["prepared"].is_object();
    assert_eq!(BACKUPS.map(prepared), [false, true, true]);
    s.timeout("p2", "request").timeout("p3", "request").deliver_all();
    assert_eq!(proposals(&s, "p1"), ["r2@1"]);
    expect_logs(&s, &BACKUPS, &["r2", "r1"]);
    completes(&mut s);
}

#[test]
fn an_equivocating_leader_that_votes_for_both_gets_one_decided() {
    // As before, and p0 adds a PREPARE and a COMMIT for what each was told. A leader's PREPARE counts for
    // nothing, so p1 prepares nothing; p2 and p3 decide r2.
    let mut s = story(
        "cluster.clients = 2\nadversary.byzantine = ['p0']\nworkload.goal = 'committed'\nadversary.faults = [\
         { from = ['p0'], kind = 'pre-prepare', originate = { mint = 'prepare', to = ['p1', 'p2', 'p3'] } },\
         { from = ['p0'], kind = 'pre-prepare', originate = { mint = 'commit', to = ['p1', 'p2', 'p3'] } }]",
    );
    s.deliver("c0>p0 request").mutate("p0>p2,p3 pre-prepare", "pre-prepare.request=earlier");
    s.mutate("p0>p2,p3 pre-prepare", "pre-prepare.digest=other");
    s.mutate("p0>p2,p3 prepare", "prepare.digest=other").mutate("p0>p2,p3 commit", "commit.digest=other");
    s.hold("c1>p0 request").deliver_all();
    expect_logs(&s, &["p2", "p3"], &["r2"]);
    s.expect_log("p1", &[]);
    assert!(s.json("p1")["window"]["entries"][0]["prepared"].is_null());
    s.heal();
    completes(&mut s);
    let logs = BACKUPS.map(|who| s.log(who));
    assert!(logs.iter().all(|log| log[0].1 == "r2" && log.iter().any(|(_, op)| op == "r1")), "{logs:?}");
}

#[test]
fn a_request_proposed_twice_is_a_noop_the_second_time() {
    // Byzantine p0 proposes r1 at 1, and again at 2 in the place of r2. r2 waits for the next leader.
    let mut s = story("cluster.clients = 2\nadversary.byzantine = ['p0']\nworkload.goal = 'committed'");
    s.deliver("c0>p0 request").deliver("p0>* pre-prepare").deliver("c1>p0 request");
    s.mutate("p0>* pre-prepare", "pre-prepare.request=earlier");
    s.mutate("p0>* pre-prepare", "pre-prepare.digest=other").deliver_all();
    expect_logs(&s, &BACKUPS, &["r1", "noop"]);
    completes(&mut s);
    expect_logs(&s, &BACKUPS, &["r1", "noop", "r2"]);
}

#[test]
fn a_new_view_that_does_not_follow_from_its_votes_is_ignored() {
    // r1 and r2 are prepared everywhere; p0 is slow. Byzantine p1 leads view 1, and all its NEW-VIEWs lie.
    // Nobody is moved by them, view 2 does the work.
    for lies in [
        // V: 2f votes, a voter twice, twice in the place of another, a forged vote.
        &["new-view.votes.drop-last"][..],
        &["new-view.votes.repeat-last"],
        &["new-view.votes.drop-last", "new-view.votes.repeat-last"],
        &["new-view.votes.last.forge"],
        // O: an entry missing, one in the place of another, one too many, one changed.
        &["new-view.pre-prepares.clear"],
        &["new-view.pre-prepares.drop-first"],
        &["new-view.pre-prepares.drop-last"],
        &["new-view.pre-prepares.drop-first", "new-view.pre-prepares.repeat-last"],
        &["new-view.pre-prepares.repeat-last"],
        &["new-view.pre-prepares.first.forge"],
        // Not the leader of view 2; not a later view.
        &["new-view.view+1"],
        &["new-view.view-1"],
    ] {
        let mut s = story(&format!(
            "cluster.clients = 2\nworkload.goal = 'committed'\nadversary.byzantine = ['p1']\n\
             adversary.faults = [{}]",
            always("p1", lies)
        ));
        s.deliver("*>p0 request").deliver("p0>* pre-prepare").deliver("*>* prepare").drop("*>* commit");
        s.timeout("p2", "request").timeout("p3", "request").deliver("p2,p3>p0,p1 view-change");
        s.deliver("*>p0,p2,p3 view-change");
        let others = ["p0", "p2", "p3"];
        let before = others.map(|who| s.state(who));
        s.deliver("p1>* new-view");
        assert_eq!(others.map(|who| s.state(who)), before, "{lies:?}");
        expect(&s, &others, "status", changing(1));
        let outcome = completes(&mut s);
        assert_eq!(outcome.injected.accepted, 0, "{lies:?}");
        expect(&s, &others, "view", 2);
        expect_logs(&s, &others, &["r1", "r2"]);
    }
}

#[test]
fn a_new_view_with_a_forged_entry_is_ignored() {
    // As before; each seed forges one entry of O in another way. The signature is p1's own, so it is good.
    for (seed, entry) in (0..12).flat_map(|seed| [(seed, "first"), (seed, "last")]) {
        let lie = format!("{{ seed = {seed}, only = ['new-view.pre-prepares.{entry}.forge'] }}");
        let mut s = story(&format!(
            "cluster.clients = 2\nworkload.goal = 'committed'\nadversary.byzantine = ['p1']\n\
             adversary.faults = [{{ from = ['p1'], kind = 'new-view', mutate = {lie} }}]"
        ));
        s.deliver("*>p0 request").deliver("p0>* pre-prepare").deliver("*>* prepare").drop("*>* commit");
        s.timeout("p2", "request").timeout("p3", "request").deliver("p2,p3>p1 view-change");
        let before = s.state("p2");
        s.deliver("p1>p2 new-view");
        assert_eq!(s.state("p2"), before, "{lie}");
        assert_eq!(completes(&mut s).injected.accepted, 0, "{lie}");
        expect_logs(&s, &["p0", "p2", "p3"], &["r1", "r2"]);
    }
}

#[test]
fn an_old_new_view_is_ignored() {
    // p3's vote for view 1 comes late to p2 and p0, who are in view 1 already and relay the NEW-VIEW. p2's
    // relay finds p3 in view 1 as well, p0's finds it in view 2.
    let mut s = story("workload.requests = 1");
    s.drop("c0>p0 request").timeout("c0", "client-retry-1").drop("c0>p0 request").deliver("c0>* request");
    s.timeout("p2", "request").timeout("p3", "request").deliver("p2,p3>p1 view-change");
    s.deliver("p1>* new-view").drop("p1>* pre-prepare").deliver("p3>p0,p2 view-change");
    expect(&s, &ALL, "view", 1);
    let before = s.state("p3");
    s.deliver("p2>p3 new-view");
    assert_eq!(s.state("p3"), before);

    s.drop("*>* view-change").timeout("p2", "request").timeout("p3", "request").deliver("*>p0 view-change");
    s.deliver("p0,p3>p2 view-change").deliver("p2>p3 new-view");
    expect(&s, &["p3"], "view", 2);
    let before = s.state("p3");
    s.deliver("p0>p3 new-view");
    assert_eq!(s.state("p3"), before);
    completes(&mut s);
}

/// Proofs that p3 cannot have, in its vote for view 1.
const FALSE_PROOFS: [&[&str]; 12] = [
    // P: a signature that is none, 2f-1 votes, one vote twice, two certificates for one number.
    &["view-change.prepared.first.pre-prepare.forge"],
    &["view-change.prepared.first.votes.forge"],
    &["view-change.prepared.first.votes.drop-signer"],
    &["view-change.prepared.first.votes.drop-signer", "view-change.prepared.first.votes.repeat-signer"],
    &["view-change.prepared.repeat-last"],
    // C: a signature that is none, 2f of them, one twice, no proof at all. h: not what C proves.
    &["view-change.checkpoint.forge"],
    &["view-change.checkpoint.drop-signer"],
    &["view-change.checkpoint.drop-signer", "view-change.checkpoint.repeat-signer"],
    &["view-change.checkpoint=none"],
    &["view-change.h+1"],
    &["view-change.h-1"],
    &["view-change.h=any"],
];

/// The checkpoint at 4 is stable and r5 prepared everywhere. All votes of Byzantine p3 lie; the first one is
/// in flight.
fn p3_votes_with(lies: &[&str]) -> Story<Pbft> {
    let mut s = story(&format!(
        "cluster.clients = 5\nworkload = {{ requests = 5, goal = 'committed' }}\n\
         adversary.byzantine = ['p3']\nadversary.faults = [{}]",
        always("p3", lies)
    ));
    s.hold("c4>p0 request").deliver_all().heal();
    s.deliver("c4>p0 request").deliver("p0>* pre-prepare").deliver("*>* prepare").drop("*>* commit");
    expect(&s, &ALL, "h", 4);
    s.suspect("p3");
    s
}

#[test]
fn a_vote_with_a_false_proof_does_not_count() {
    // p3's vote would be one of the first three. Instead the view waits for the votes of p0, p1 and p2.
    for lies in FALSE_PROOFS {
        let mut s = p3_votes_with(lies);
        s.deliver("p3>* view-change").timeout("p2", "request").deliver("p2>p0,p1 view-change");
        expect(&s, &["p0", "p1"], "status", "Normal");
        s.timeout("p1", "request").deliver_all();
        expect(&s, &ALL, "view", 1);
        assert_eq!(voters(&s, "p1"), ["p0", "p1", "p2"], "{lies:?}");
        assert_eq!(proposals(&s, "p1"), ["r5@5"], "{lies:?}");
        expect_logs(&s, &["p0", "p1", "p2"], &ops(5));
        completes(&mut s);
    }
}

#[test]
fn a_vote_with_a_false_proof_leaves_no_trace() {
    // Who receives it is in the same state as before.
    for lies in FALSE_PROOFS {
        let mut s = p3_votes_with(lies);
        let before = ["p0", "p1", "p2"].map(|who| s.state(who));
        s.deliver("p3>* view-change");
        assert_eq!(["p0", "p1", "p2"].map(|who| s.state(who)), before, "{lies:?}");
        assert_eq!(completes(&mut s).injected.accepted, 0, "{lies:?}");
    }
}
