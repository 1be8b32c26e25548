//! Stories of Sync HotStuff, by the clock: delta = 10 ticks, and messages take one tick unless somebody delays them.

use crate::chain;
use crate::chain::{expect_views, is_hot, log, notes, recorded, scenario, times};
use crate::stage;
use crate::stage::{is_witness, marked_by};
use turncoat_core::outcome::{End, Property};
use turncoat_core::scenario::Scenario;
use turncoat_core::sim::Sim;
use turncoat_protocols::hotstuff::sync::SyncHotStuff;

const CORRECT: [&str; 3] = ["p2", "p3", "p4"];

/// Five replicas, of which two may lie, in a network that keeps its promise from the start: within `bound` = delta.
fn timed(protocol: &str, settings: &str) -> Scenario {
    let base = "cluster = { n = 5, f = 2 }\nnetwork = { latency = 1, bound = 10, gst = { time = 0 } }";
    scenario(protocol, &format!("protocol.delta = 10\n{base}\n{settings}"))
}

fn run(scenario: &Scenario) -> Sim<SyncHotStuff> {
    let mut sim = recorded(scenario);
    sim.run();
    sim
}

#[test]
fn a_block_is_decided_two_deltas_after_the_vote_and_the_leader_goes_on() {
    for protocol in ["sync-hotstuff", "sync-hotstuff-early"] {
        let sim = run(&timed(protocol, "workload.requests = 1000\nlimits.time = 100"));
        // The proposal takes a tick; then a vote, and the next proposal with its certificate, take one each.
        assert_eq!(times(&sim, "p4")[..3], [21, 23, 25], "{protocol}");
        expect_views(&sim, &CORRECT, 1);
        // Nobody has a reason to blame the leader in a hundred deltas.
        let outcome = stage::run(&timed(protocol, "workload.requests = 1000\nlimits.time = 1000"));
        assert!(!marked_by::<SyncHotStuff>(&outcome, "blame"), "{protocol}");
        assert!(outcome.commits > 5 * 450, "{protocol}: {}", outcome.commits);
    }
}

#[test]
fn two_silent_leaders_are_deposed_and_the_third_decides() {
    let silent = "adversary = { byzantine = ['p0', 'p1'], faults = [{ from = ['p0', 'p1'], drop = true }] }";
    for protocol in ["sync-hotstuff", "sync-hotstuff-early"] {
        let sim = run(&timed(protocol, &format!("workload.requests = 3\n{silent}")));
        assert!(sim.violations().is_empty(), "{protocol}: {:?}", sim.violations());
        expect_views(&sim, &CORRECT, 3);
        assert_eq!(log(&sim, "p4")[..3], ["p2#1", "p2#2", "p2#3"], "{protocol}");
    }
}

#[test]
fn with_one_block_per_view_the_leaders_take_turns() {
    // p0, p1, and so on: a proposal and its votes take a tick each, and the third one decides after two deltas.
    let rotating = timed("sync-hotstuff-early", "protocol.rotate = true\nworkload.requests = 3");
    let sim = run(&rotating);
    assert!(sim.violations().is_empty(), "{:?}", sim.violations());
    assert_eq!(log(&sim, "p4")[..3], ["p0#1", "p1#1", "p2#1"]);
    assert_eq!(times(&sim, "p4")[..3], [21, 23, 25]);
    assert!(chain::view(&sim, "p4") >= 11);
    // As it is now, a leader has the last block certified again before it proposes.
    let sim = run(&rotating.with("protocol.name", "sync-hotstuff".into()).expect("a scenario"));
    assert_eq!(log(&sim, "p4")[..3], ["p0#1", "p1#1", "p2#1"]);
}

#[test]
fn a_block_that_conflicts_undoes_what_earlier_views_would_decide() {
    // Byzantine p0 proposes one block to all but p4, which hears of it from the others; ten ticks later another one to p4.
    // By then p4 has voted in five views, and all its blocks conflict with the one that comes late.
    let late = "from = ['p0'], to = ['p4'], kind = 'propose', round = 1, source = 'view'";
    let lie = format!(
        "adversary = {{ byzantine = ['p0'], faults = [\
         {{ {late}, mutate = 'propose.payload.forge' }}, {{ {late}, delay = 10 }}] }}"
    );
    for (flags, decides) in [("[]", 31..=33), ("['no-equivocation-check']", 22..=22)] {
        let rotating =
            format!("protocol.rotate = true\nprotocol.flags = {flags}\nworkload.requests = 3\n{lie}");
        let sim = run(&timed("sync-hotstuff-early", &rotating));
        assert_eq!(times(&sim, "p3")[0], 21);
        let first = times(&sim, "p4")[0];
        assert!(decides.contains(&first), "{flags}: {first}");
        assert!(sim.violations().is_empty(), "{:?}", sim.violations());
    }
}

#[test]
fn a_replica_that_nobody_hears_decides_unless_it_waits_for_a_certificate() {
    let cut = "round = 1, source = 'view', partition = [['p0'], ['p1', 'p2', 'p3', 'p4']]";
    for (certified, first) in [(false, "p0#1"), (true, "p1#1")] {
        let settings = format!(
            "protocol = {{ delta = 10, rotate = true, certified = {certified} }}\ncluster = {{ n = 5, f = 2 }}\n\
             network = {{ latency = 1, gst = {{ time = 100 }} }}\nworkload.requests = 3\n\
             adversary = {{ faults = [{{ {cut} }}] }}"
        );
        let sim = run(&scenario("sync-hotstuff-early", &settings));
        assert_eq!(log(&sim, "p0")[0], first, "{certified}");
    }
    // A certificate that is there when the time comes makes no difference.
    let usual = run(&timed("sync-hotstuff-early", "protocol.certified = true\nworkload.requests = 3"));
    assert_eq!(times(&usual, "p4")[0], 21);
}

/// Byzantine p0 proposes one block to p1 and p2, another one to p3 and p4.
fn equivocation(protocol: &str, settings: &str) -> Scenario {
    let lie = "adversary = { byzantine = ['p0'], faults = [{ from = ['p0'], to = ['p3', 'p4'], kind = 'propose', \
               round = 1, source = 'view', mutate = 'propose.payload.forge' }] }";
    timed(protocol, &format!("workload.requests = 2\n{lie}\n{settings}"))
}

#[test]
fn who_contradicts_itself_is_blamed_and_nothing_of_it_is_decided() {
    for protocol in ["sync-hotstuff", "sync-hotstuff-early"] {
        let sim = run(&equivocation(protocol, ""));
        assert!(sim.violations().is_empty(), "{protocol}: {:?}", sim.violations());
        for who in ["p1", "p2", "p3", "p4"] {
            assert!(
                sim.events().iter().any(|event| event.to_string().contains(&format!("note {who} sees two")))
            );
            assert_eq!(chain::view(&sim, who), 2);
            assert_eq!(log(&sim, who)[..2], log(&sim, "p1")[..2], "{protocol} {who}");
            // A block that was certified all the same may be decided later, with a block of the next leader.
            let entered = time(&notes(&sim, &[&format!("{who} enters view 2")])[0]);
            assert!(times(&sim, who)[0] > entered, "{protocol} {who}");
        }
    }
}

#[test]
fn without_the_check_both_proposals_are_decided() {
    let bug = equivocation("sync-hotstuff", "protocol.flags = ['no-equivocation-check']");
    assert!(run(&bug).violations().iter().any(|found| found.property == Property::Agreement));
    is_witness(bug, "sync-hotstuff/no-equivocation-check");
}

/// What the liars p0 and p1 do in view 1 of both attacks: p0 proposes a block X, and p1 votes for it with p0. Nobody else
/// hears of that, until X reaches p4 at 45. They blame p0 to p2 and p3 alone; and what p2 and p3 tell p4 about that takes
/// all of the time that it may. So p2 and p3 have left the view when p4 votes for X.
const BEGIN: &str = "
    { from = ['p0'], to = ['p2', 'p3'], kind = 'propose', drop = true },
    { from = ['p0'], to = ['p4'], kind = 'propose', round = 1, source = 'view', delay = 44 },
    { from = ['p1'], kind = 'propose', round = 1, source = 'view', drop = true },
    { from = ['p0', 'p1'], to = ['p4'], kind = 'blame', drop = true },
    { from = ['p0', 'p1'], kind = 'blame-cert', drop = true },
    { from = ['p0', 'p1'], kind = 'blame', round = { from = 2 }, source = 'view', drop = true },
    { from = ['p2', 'p3'], to = ['p4'], kind = ['blame', 'blame-cert'], round = 1, source = 'view', delay = 9 },
";

/// The votes of p0 and p1 for X reach p4 at this time, and nobody else. p4 is locked on X. In view 2 p1 proposes Y on top
/// of the first block to p2 and p3, who decide it two deltas later, though it has no certificate. In view 3 p2 hears of
/// X, and goes on with it: the liars tell nobody that with their votes Y is certified too.
fn safety_attack(protocol: &str, flags: &[&str], votes_at: u32) -> Scenario {
    let faults = format!(
        "{BEGIN}
        {{ from = ['p0', 'p1'], to = ['p0', 'p1', 'p2', 'p3'], kind = 'vote', drop = true }},
        {{ from = ['p0'], to = ['p4'], kind = 'vote', round = 1, source = 'view', delay = {} }},
        {{ from = ['p1'], to = ['p4'], kind = 'vote', round = 1, source = 'view', delay = {} }},
        {{ from = ['p0', 'p1'], to = ['p4'], kind = 'vote', round = [2, 1000], source = 'view', drop = true }},
        {{ from = ['p1'], to = ['p0', 'p4'], kind = 'propose', round = 2, source = 'view', drop = true }},
        {{ from = ['p1'], to = ['p2', 'p3'], kind = 'propose', round = 2, source = 'view', delay = 9 }},
        {{ from = ['p1'], round = 2, source = 'view', mutate = 'propose.justify=genesis+parent' }},
        {{ from = ['p1'], kind = 'propose', time = [90, 100000], drop = true }},
        {{ from = ['p0', 'p1'], kind = 'status', drop = true }},",
        votes_at - 1,
        votes_at - 2,
    );
    let flags = if flags.is_empty() { String::new() } else { format!("protocol.flags = {flags:?}\n") };
    timed(
        protocol,
        &format!("{flags}workload.requests = 2\n[adversary]\nbyzantine = ['p0', 'p1']\nfaults = [{faults}]"),
    )
}

#[test]
fn a_replica_is_forced_to_lock_and_two_branches_are_decided() {
    let bug = safety_attack("sync-hotstuff-early", &[], 55);
    let sim = run(&bug);
    let golden = [
        "41 p2 quits view 1",
        "41 p3 quits view 1",
        "51 p4 quits view 1",
        "55 p4 is locked on X of view 1",
        "61 p2 enters view 2, locked on genesis",
        "61 p3 enters view 2, locked on genesis",
        "71 p4 enters view 2, locked on X",
        "93 p4 refuses Y: it is locked on X",
        "112 p2 decides height 1",
        "112 p3 decides height 1",
        "124 p2 quits view 2",
        "124 p3 quits view 2",
        "124 p4 quits view 2",
        "144 p2 enters view 3, locked on genesis",
        "144 p3 enters view 3, locked on genesis",
        "144 p4 enters view 3, locked on X",
        "145 p2 is locked on X of view 1",
        "164 p2 makes Z of height 2 on X",
        "165 p3 is locked on X of view 1",
        "184 p2 decides against what it has decided, from height 1 on",
        "184 p2 decides height 1",
        "184 p2 decides height 2",
        "185 p3 decides against what it has decided, from height 1 on",
        "185 p3 decides height 1",
        "185 p3 decides height 2",
        "185 p4 decides height 1",
        "185 p4 decides height 2",
    ];
    let words = ["quits", "enters view 2", "enters view 3", "locked on", "refuses", "decides", "makes"];
    let lines = trace(&sim, &words, &[("p0#1", "X"), ("p1#1", "Y"), ("p2#1", "Z")]);
    // From 166 on the leader goes on with further blocks.
    let told = lines.into_iter().filter(|line| line.contains("decides") || time(line) <= 165);
    assert_eq!(told.collect::<Vec<_>>(), golden);
    let found =
        sim.violations().iter().find(|found| found.property == Property::Agreement).expect("a conflict");
    assert_eq!(found.slot.map(|slot| slot.0), Some(1));
    is_witness(bug, "sync-hotstuff/force-locking-safety");
}

fn time(line: &str) -> u64 {
    line.split(' ').next().and_then(|time| time.parse().ok()).expect("a time")
}

/// What the correct replicas note, by time and replica; some blocks by the letters of the attack.
fn trace(sim: &Sim<SyncHotStuff>, words: &[&str], names: &[(&str, &str)]) -> Vec<String> {
    let names = chain::named(sim, names);
    let mut lines: Vec<(u64, String, String)> = Vec::new();
    for line in notes(sim, words) {
        let (time, rest) = line.split_once(' ').expect("a time");
        let who = rest.split(' ').next().unwrap_or_default().to_owned();
        if CORRECT.contains(&who.as_str()) && !rest.contains("enters view 1") {
            lines.push((time.parse().expect("a time"), who, chain::with_names(&line, &names)));
        }
    }
    lines.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    lines.into_iter().map(|(_, _, line)| line).collect()
}

#[test]
fn half_of_the_remedy_does_not_help() {
    // With a lock that is set on entering a view the votes come before; with deafness between two views, after; with both,
    // while p4 is still in view 1.
    for (flags, votes_at, row) in [
        (["frozen-lock"].as_slice(), 55, "early-frozen-lock"),
        (&["ignore-while-quitting"], 75, "early-ignore-quitting"),
        (&["frozen-lock", "ignore-while-quitting"], 48, "early-both"),
    ] {
        let bug = safety_attack("sync-hotstuff-early", flags, votes_at);
        let sim = run(&bug);
        assert!(sim.violations().iter().any(|found| found.property == Property::Agreement), "{row}");
        is_witness(bug, &format!("sync-hotstuff/{row}"));
    }
}

/// Byzantine p0 runs twice in view 1. Its two blocks are certified, one by p1 and p4, the other by p2 and p3, each with its
/// own vote, and in time. Locks that no other certificate changes stay there, and in view 2 neither half can do anything.
#[test]
fn locks_that_no_certificate_changes_keep_two_halves_apart() {
    let attack = |flags: &str| {
        let faces = "faults = [{ persona = { of = 'p0', to = ['p2', 'p3'], at-view-change = [], edits = ['own-order'] } }]";
        timed(
            "sync-hotstuff-early",
            &format!("{flags}workload.requests = 1\nadversary = {{ byzantine = ['p0'], {faces} }}"),
        )
    };
    let sim = run(&attack(""));
    assert!(sim.violations().is_empty(), "{:?}", sim.violations());
    let bug = attack("protocol.flags = ['sticky']\n");
    let sim = run(&bug);
    expect_views(&sim, &["p1", "p2", "p3", "p4"], 2);
    assert!(sim.violations().iter().any(|found| found.property == Property::Termination));
    is_witness(bug, "sync-hotstuff/early-sticky");
}

/// The votes of p0 and p1 for each block are withheld until a later view, and then revealed to one replica: just after
/// its leader has proposed, and before the proposal arrives there. The victim locks on the block of the old view, and
/// refuses the proposal. With the BLAMEs of p0 and p1 the view is over. A period of five views takes 262 ticks.
fn liveness_attack(protocol: &str, ticks: u32) -> Scenario {
    let votes = |round: &str, victim: &str, delays: [u32; 2]| {
        let others: Vec<&str> = CORRECT.into_iter().filter(|&who| who != victim).collect();
        let [p0, p1] = delays;
        let votes = format!("kind = 'vote', round = {round}, source = 'view'");
        format!(
            "{{ from = ['p0', 'p1'], to = {others:?}, {votes}, drop = true }},
            {{ from = ['p0'], to = ['{victim}'], {votes}, delay = {p0} }},
            {{ from = ['p1'], to = ['{victim}'], {votes}, delay = {p1} }},",
        )
    };
    // p0 votes for its own block at 0 and p1 at 1; p3 hears of that at 155.
    let mut faults = votes("1", "p3", [154, 153]);
    // Of every five views those of p2, p3 and p4: the proposal reaches the victim, and the liars, four ticks late, and
    // both vote at once. That is revealed to the next victim two ticks after its leader has proposed.
    for (view, victim, next, delay) in [(3, "p3", "p4", 42), (4, "p4", "p2", 42), (5, "p2", "p3", 166)] {
        let round = format!("{{ from = {view}, every = 5 }}");
        faults += &votes(&round, next, [delay, delay]);
        faults += &format!(
            "{{ to = ['p0', 'p1', '{victim}'], kind = 'propose', round = {round}, source = 'view', delay = 4 }},"
        );
    }
    let faults = format!(
        "{BEGIN}
        {{ from = ['p0', 'p1'], kind = 'propose', round = {{ from = 2 }}, source = 'view', drop = true }},
        {{ kind = 'vote', deaf = ['p0', 'p1'] }},
        {{ from = ['p0', 'p1'], to = ['p2'], kind = 'vote', round = {{ from = 3 }}, source = 'view',
           times = 4294967295, originate = {{ mint = 'blame', to = ['p2', 'p3', 'p4'] }} }},
        {faults}",
    );
    timed(
        protocol,
        &format!(
            "workload.requests = 1\nlimits.time = {ticks}\n[adversary]\nbyzantine = ['p0', 'p1']\n\
             faults = [{faults}]"
        ),
    )
}

#[test]
fn replicas_are_forced_to_lock_in_turn_and_nothing_is_decided() {
    let sim = run(&liveness_attack("sync-hotstuff-early", 3000));
    let golden = [
        "41 p2 quits view 1",
        "41 p3 quits view 1",
        "51 p4 quits view 1",
        "61 p2 enters view 2, locked on genesis",
        "61 p3 enters view 2, locked on genesis",
        "71 p4 enters view 2, locked on genesis",
        "112 p4 quits view 2",
        "113 p2 quits view 2",
        "113 p3 quits view 2",
        "132 p4 enters view 3, locked on genesis",
        "133 p2 enters view 3, locked on genesis",
        "133 p3 enters view 3, locked on genesis",
        "153 p2 makes b3 of height 1 on genesis",
        "155 p3 is locked on X of view 1",
        "158 p3 refuses b3: it is locked on X",
        "159 p2 quits view 3",
        "159 p3 quits view 3",
        "159 p4 quits view 3",
        "199 p3 makes b4 of height 2 on X",
        "201 p4 is locked on b3 of view 3",
        "204 p4 refuses b4: it is locked on b3",
        "205 p2 quits view 4",
        "205 p3 quits view 4",
        "205 p4 quits view 4",
        "245 p4 makes b5 of height 2 on b3",
        "247 p2 is locked on b4 of view 4",
        "250 p2 refuses b5: it is locked on b4",
        "251 p2 quits view 5",
        "251 p3 quits view 5",
        "251 p4 quits view 5",
    ];
    let names = [("p0#1", "X"), ("p2#1", "b3"), ("p3#1", "b4"), ("p4#1", "b5")];
    let words = ["quits", "enters view 2", "enters view 3", "refuses", "makes", "is locked"];
    let lines = trace(&sim, &words, &names);
    // Who gets a proposal locks on what justifies it; only the locks of the victims are part of the attack.
    let told = lines.into_iter().filter(|line| golden.contains(&line.as_str()));
    assert_eq!(told.collect::<Vec<_>>(), golden);
    assert_eq!(CORRECT.map(|who| log(&sim, who).len()), [0, 0, 0]);
    assert!(CORRECT.iter().all(|who| chain::view(&sim, who) >= 57), "{}", chain::view(&sim, "p2"));
    assert!(is_hot(&sim, &CORRECT, 3));
    let bug = liveness_attack("sync-hotstuff-early", 10_000);
    assert_eq!(run(&bug).end_reason(), Some(End::Limit("time")));
    is_witness(bug, "sync-hotstuff/force-locking-liveness");
}

#[test]
fn the_version_of_now_decides_under_both_attacks() {
    for attack in [safety_attack("sync-hotstuff", &[], 55), liveness_attack("sync-hotstuff", 1000)] {
        let sim = run(&attack);
        assert!(sim.violations().is_empty(), "{:?}", sim.violations());
        assert!(CORRECT.iter().all(|who| !log(&sim, who).is_empty()));
    }
}

/// p4 votes for X, of which the others hear too late, and the view ends. It decides X nevertheless; the others decide
/// something else.
#[test]
fn a_view_that_ends_decides_nothing() {
    // In this version a leader has sixty ticks: everything is twenty ticks later than in the attacks above.
    let faults = BEGIN.replace("delay = 44", "delay = 64");
    let settings = format!(
        "protocol.flags = ['commit-timer-kept']\nworkload.requests = 2\n[adversary]\nbyzantine = ['p0', 'p1']\n\
         faults = [{faults} {{ from = ['p0', 'p1'], kind = ['vote', 'new-view'], drop = true }}, \
         {{ from = ['p0', 'p1'], kind = 'propose', round = [2, 1000], source = 'view', drop = true }}]"
    );
    let bug = timed("sync-hotstuff", &settings);
    let sim = run(&bug);
    assert!(
        sim.violations().iter().any(|found| found.property == Property::Agreement),
        "{:?}",
        log(&sim, "p4")
    );
    assert_eq!(log(&sim, "p4")[0], "p0#1");
    is_witness(bug, "sync-hotstuff/commit-timer-kept");
}

/// Byzantine p4 blames every leader as soon as a view begins, three times each.
#[test]
fn one_replica_that_blames_thrice_deposes_every_leader() {
    let settings = "protocol.flags = ['blame-no-dedup']\nworkload.requests = 1\nlimits.time = 5000\n\
                    adversary = { byzantine = ['p4'], faults = [{ from = ['p4'], kind = 'blame', duplicate = 2 }, \
                    { from = ['p4'], kind = 'propose', drop = true }, \
                    { from = ['p4'], kind = 'status', times = 1000000, fire = 'p4' }] }";
    let bug = timed("sync-hotstuff", settings);
    let sim = run(&bug);
    assert!(chain::view(&sim, "p0") > 100, "{}", chain::view(&sim, "p0"));
    is_witness(bug, "sync-hotstuff/blame-no-dedup");
}

/// The first view decides a block, after which Byzantine p0 falls silent. In the second one Byzantine p1 proposes on top of
/// the first block of all, without having shown any certificate.
#[test]
fn a_proposal_without_a_certificate_of_its_view_undoes_decisions() {
    let settings = "protocol.flags = ['justify-view-unchecked']\nworkload.requests = 3\n\
                    adversary = { byzantine = ['p0', 'p1'], faults = [\
                    { from = ['p0'], kind = 'propose', time = [1, 100000], drop = true }, \
                    { from = ['p1'], kind = 'new-view', drop = true }, \
                    { from = ['p1'], kind = 'new-view', round = 2, source = 'view', \
                    originate = { mint = 'propose', to = ['p2', 'p3', 'p4'] } }] }";
    let bug = timed("sync-hotstuff", settings);
    let sim = run(&bug);
    assert!(
        sim.violations().iter().any(|found| found.property == Property::Agreement),
        "{:?}",
        log(&sim, "p4")
    );
    is_witness(bug, "sync-hotstuff/justify-view-unchecked");
}
