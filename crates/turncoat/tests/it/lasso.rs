//! Runs that are proved never to terminate, and those of correct protocols under the same adversaries.

use std::path::Path;
use std::sync::Arc;

use turncoat::core::fault::{Effect, Fault, Span};
use turncoat::core::ids::Seat;
use turncoat::core::node::Protocol;
use turncoat::core::rng::{Purpose, Rng};
use turncoat::core::runner::Entry;
use turncoat::core::scenario::{Lasso, LassoClass};
use turncoat::core::schedule::Action;
use turncoat::core::sim::{Moment, Sim};
use turncoat::core::tokens::Token;
use turncoat::lab::lasso::{Flaw, Proof, Verdict, check, find, same};
use turncoat::{Scenario, Seed};
use turncoat_protocols::hotstuff::basic::HotStuff;
use turncoat_protocols::hotstuff::chained::Chained;
use turncoat_protocols::hotstuff::fast::FastHotStuff;
use turncoat_protocols::hotstuff::sync::SyncHotStuff;

fn witness(bug: &str) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../suite/{bug}.toml"));
    Scenario::parse(&std::fs::read_to_string(path).expect("a witness")).expect("a scenario")
}

fn entry(name: &str) -> Entry {
    turncoat_protocols::all().into_iter().find(|entry| entry.name == name).expect("a protocol")
}

/// What is known about a scenario, played by a protocol.
fn verdict(scenario: &Scenario, protocol: &str) -> Verdict {
    let mut scenario = scenario.clone();
    Arc::make_mut(&mut scenario.protocol).name = protocol.to_owned();
    find(&entry(protocol), &scenario).expect("it runs")
}

/// The part that repeats, and by how many views and ticks it is later then.
fn lasso(scenario: &Scenario) -> (Lasso, (u32, u64)) {
    match verdict(scenario, &scenario.protocol.name) {
        Verdict::Lasso(lasso, Proof { views, ticks, .. }) => (lasso, (views, ticks)),
        other => panic!("{other:?}"),
    }
}

/// All reasons why nobody knows whether a run terminates.
fn unresolved(verdict: Verdict) -> Vec<&'static str> {
    match verdict {
        Verdict::Unresolved { why, .. } => why,
        other => panic!("{other:?}"),
    }
}

/// Two stopped replicas, and a liar whose second face has these edits.
fn two_faced(edits: &str, network: &str) -> Verdict {
    let text = format!(
        "schema = 1\nprotocol = {{ name = 'hotstuff', pacemaker = 'local' }}\ncluster.over-budget = true\n{network}\n\
         adversary = {{ byzantine = ['p1'], faults = [\
         {{ persona = {{ of = 'p1', to = ['p0'], edits = [{edits}] }} }}, \
         {{ time = 1, crash = 'p2' }}, {{ time = 1, crash = 'p3' }}] }}"
    );
    verdict(&Scenario::parse(&text).expect("a scenario"), "hotstuff")
}

#[test]
fn all_reasons_are_given_at_once() {
    let why = unresolved(two_faced("{ sub = { slot = 1, with = 0 } }", ""));
    assert_eq!(why, ["messages take a random time", "a persona exchanges or reorders requests"]);
}

#[test]
fn a_second_face_that_is_awake_is_part_of_the_state() {
    for edits in ["", "'mute'", "{ forget = 1 }"] {
        let verdict = two_faced(edits, "network.latency = 10");
        assert!(matches!(verdict, Verdict::TooWeak(.., Flaw::Environment(_))), "{edits}: {verdict:?}");
    }
}

#[test]
fn replicas_that_are_stuck_need_no_liar_to_stay_so() {
    let scenario = witness("hotstuff-two-phase/sticky");
    let (lasso, (views, _)) = lasso(&scenario);
    assert_eq!((lasso.class, views), (LassoClass::Benign, 4));
    for protocol in ["hotstuff-two-phase", "hotstuff"] {
        assert_eq!(verdict(&scenario, protocol), Verdict::Terminates, "{protocol}");
    }
}

#[test]
fn late_votes_keep_two_phases_from_deciding_for_ever() {
    let scenario = witness("hotstuff-two-phase/livelock");
    let (lasso, later) = lasso(&scenario);
    // The locks of the correct replicas are as before after four views. But the first face of p0 still holds the block of
    // view 1, and the two branches, of which one stands on it, have changed places.
    assert_eq!((lasso.class, later), (LassoClass::Adversarial, (8, 800)));
    for protocol in ["hotstuff", "hotstuff-two-phase-fixed"] {
        assert_eq!(verdict(&scenario, protocol), Verdict::Terminates, "{protocol}");
    }
}

#[test]
fn locks_that_bounce_keep_early_sync_hotstuff_from_deciding_for_ever() {
    let scenario = witness("sync-hotstuff/force-locking-liveness");
    let (lasso, later) = lasso(&scenario);
    // In five views one branch grows by two blocks and the other by one: after ten they have changed places twice.
    assert_eq!((lasso.class, later), (LassoClass::Adversarial, (10, 524)));
    assert_eq!(verdict(&scenario, "sync-hotstuff"), Verdict::Terminates);
}

#[test]
fn too_many_stopped_replicas_prove_nothing() {
    let text = "schema = 1\nprotocol = { name = 'hotstuff', pacemaker = 'local' }\nnetwork.latency = 10\n\
                cluster.over-budget = true\nadversary.faults = [\
                { time = 1, crash = 'p1' }, { time = 1, crash = 'p2' }]";
    let verdict = verdict(&Scenario::parse(text).expect("a scenario"), "hotstuff");
    assert!(matches!(verdict, Verdict::TooWeak(.., Flaw::Environment(_))), "{verdict:?}");
}

#[test]
fn chance_is_no_proof() {
    let text = "schema = 1\nprotocol = { name = 'hotstuff', pacemaker = 'local' }\n\
                cluster.over-budget = true\nadversary.faults = [\
                { time = 1, crash = 'p1' }, { time = 1, crash = 'p2' }]";
    let verdict = verdict(&Scenario::parse(text).expect("a scenario"), "hotstuff");
    assert_eq!(unresolved(verdict), ["messages take a random time"]);
}

#[test]
fn a_proof_that_was_tampered_with_is_refused() {
    let scenario = witness("hotstuff-two-phase/livelock");
    let entry = entry("hotstuff-two-phase");
    let (good, _) = lasso(&scenario);
    let judged = |scenario: &Scenario, lasso| check(&entry, scenario, &lasso).expect("it runs");
    assert!(judged(&scenario, good).is_ok());
    let refused = |lasso| judged(&scenario, lasso).expect_err("it is no proof");
    assert!(matches!(refused(Lasso { from: good.from + 1, ..good }), Flaw::Differs(_)));
    assert!(matches!(refused(Lasso { to: good.to - 1, ..good }), Flaw::Differs(_)));
    assert_eq!(refused(Lasso { to: good.from, from: good.to, ..good }), Flaw::Short(good.to + 1..=good.from));
    assert_eq!(refused(Lasso { to: 1 << 40, ..good }), Flaw::Short(good.from + 1..=1 << 40));
    let benign = Lasso { class: LassoClass::Benign, ..good };
    assert_eq!(refused(benign), Flaw::Class(LassoClass::Adversarial));
    assert!(matches!(refused(Lasso { from: 2, to: 3, ..good }), Flaw::Open(_)), "faults that are not over");

    // Another scenario: without one of its delays, without a bound on them, with a fault that ends.
    let changed = |change: &dyn Fn(&mut Scenario)| {
        let mut scenario = scenario.clone();
        change(&mut scenario);
        judged(&scenario, good).expect_err("it is no proof")
    };
    let late = |fault: &Fault| matches!(fault.effect, Effect::Delay(_));
    for fault in (0..scenario.adversary.faults.len()).filter(|&i| late(&scenario.adversary.faults[i])) {
        changed(&|scenario| drop(scenario.adversary.faults.remove(fault)));
    }
    changed(&|scenario| Arc::make_mut(&mut scenario.network).bound = None);
    let ends = |scenario: &mut Scenario| {
        for fault in &mut scenario.adversary.faults {
            let endless = fault.when.round.filter(|round| round.endless());
            fault.when.round = endless.map(|_| Span::Between([2, 1000])).or(fault.when.round);
        }
    };
    assert!(matches!(changed(&ends), Flaw::Open(_)));
}

// --- the abstraction ------------------------------------------------------------------------------------------------

/// A simulation that has got so far.
fn at<P: Protocol>(entry: &Entry, scenario: &Scenario, step: u64) -> Sim<P> {
    let mut sim = Sim::<P>::with_preset(entry.preset.clone());
    sim.reset_recording(scenario).expect("a scenario");
    while sim.steps() < step && sim.step() {}
    sim
}

/// Moments of a run whose worlds are the same but for names and numbers, as pairs of events.
fn alike<P: Protocol>(entry: &Entry, scenario: &Scenario) -> Vec<(u64, u64)> {
    // Numbers close to zero are told apart.
    let mut sim = at::<P>(entry, scenario, 1500);
    let mut worlds: Vec<(u64, Vec<Token>)> = Vec::new();
    while worlds.len() < 200 && sim.step() {
        worlds.extend(sim.world().ok().map(|world| (sim.steps(), world)));
    }
    let period = sim.period().into();
    let mut pairs = Vec::new();
    for (i, (from, one)) in worlds.iter().enumerate() {
        let later = worlds[i + 1..].iter().find(|(_, other)| same(one, other, period).is_ok());
        pairs.extend(later.map(|(to, _)| (*from, *to)));
    }
    pairs
}

/// Goes on from two moments in the same random way: whatever happens, the worlds stay the same but for names and numbers.
fn go_on<P: Protocol>(entry: &Entry, scenario: &Scenario, (from, to): (u64, u64), seed: u64) {
    let (mut one, mut other) = (at::<P>(entry, scenario, from), at::<P>(entry, scenario, to));
    let (period, mut rng) = (one.period().into(), Rng::new(seed, Purpose::Scheduler));
    for choice in 0..100 {
        let (here, there) = (one.in_flight(), other.in_flight());
        let seats = one.seats().len();
        let pick = rng.below((here.len() + seats) as u32) as usize;
        let (a, b) = match here.get(pick) {
            Some(message) => {
                (Action::Deliver(message.name.clone()), Action::Deliver(there[pick].name.clone()))
            }
            None => {
                let seat = one.seats().name(Seat((pick - here.len()) as u8));
                (Action::Fire(seat, None), Action::Fire(seat, None))
            }
        };
        let (done, also) = (one.apply(&a), other.apply(&b));
        assert_eq!(done.is_ok(), also.is_ok(), "{a} and {b}: {done:?} and {also:?}");
        let worlds = (one.world(), other.world());
        let (Ok(world), Ok(as_well)) = worlds else { panic!("{worlds:?}") };
        if let Err(flaw) = same(&world, &as_well, period) {
            panic!("{} from {from} and {to}, choice {choice}, {a} and {b}: {flaw}", entry.name);
        }
    }
}

/// In a calm run worlds come back all the time: replicas decide, and views change without reason.
fn is_sound<P: Protocol>(protocol: &str, settings: &str) {
    let entry = entry(protocol);
    let text = format!(
        "schema = 1\nprotocol.name = '{protocol}'\nnetwork = {{ latency = 10, gst = {{ time = 0 }} }}\n\
         workload.requests = 10000\n{settings}"
    );
    let scenario = Scenario { seed: Seed(1), ..Scenario::parse(&text).expect("a scenario") };
    let pairs = alike::<P>(&entry, &scenario);
    assert!(pairs.len() >= 10, "{protocol}: {}", pairs.len());
    for (seed, pair) in pairs.into_iter().enumerate().step_by(40) {
        go_on::<P>(&entry, &scenario, pair, seed as u64);
    }
}

#[test]
fn worlds_that_are_alike_stay_alike_whatever_happens() {
    let silent = "adversary = { byzantine = ['p1'], faults = [{ from = ['p1'], drop = true }] }";
    for settings in ["", silent] {
        for protocol in
            ["hotstuff", "hotstuff-two-phase", "hotstuff-two-phase-sticky", "hotstuff-two-phase-fixed"]
        {
            is_sound::<HotStuff>(protocol, settings);
        }
        for protocol in
            ["hotstuff-chained", "hotstuff-two-phase-chained-sticky", "hotstuff-two-phase-chained-fixed"]
        {
            is_sound::<Chained>(protocol, settings);
        }
        is_sound::<FastHotStuff>("fast-hotstuff", settings);
    }
}

#[test]
fn so_do_the_worlds_of_proofs() {
    for (bug, go_on) in [
        ("hotstuff-two-phase/sticky", go_on::<HotStuff> as fn(&Entry, &Scenario, (u64, u64), u64)),
        ("hotstuff-two-phase/livelock", go_on::<HotStuff>),
        ("sync-hotstuff/force-locking-liveness", go_on::<SyncHotStuff>),
    ] {
        let scenario = witness(bug);
        let (Lasso { from, to, .. }, _) = lasso(&scenario);
        for part in 0..10 {
            let later = part * (to - from) / 10;
            go_on(&entry(&scenario.protocol.name), &scenario, (from + later, to + later), part);
        }
    }
}
