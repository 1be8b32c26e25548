//! Partitions, and what helps against them: networks that keep messages, validators that pass them on, say them again, or
//! ask. Numbers are those of the scenario tests in the protocol's specification.

use super::stage::{did, log, only, recorded, scenario};
use crate::stage::{ALL, run};
use turncoat_core::outcome::{End, Property};

/// A run under these faults, with a network that loses or holds what they cut.
fn under(protocol: &str, loss: &str, faults: &str) -> turncoat_core::outcome::Outcome {
    let settings = format!(
        "workload.requests = 4\nnetwork = {{ latency = 10, loss = '{loss}', gst = {{ time = 5000 }} }}\n\
         adversary.faults = [{faults}]"
    );
    run(&scenario(protocol, &settings))
}

/// Who hears whom in a round: `cut(3, "['p0'], ['p1', 'p3'], ['p2']")`.
fn cut(round: u32, blocks: &str) -> String {
    format!("{{ round = {round}, partition = [{blocks}] }}")
}

#[test]
fn a_partition_in_the_third_round_is_the_end_without_gossip() {
    // 8. Figure 4b of ByzzFuzz: nobody hears three precommits. Whoever keeps the messages, or says them again, decides.
    let faults = cut(3, "['p0'], ['p1', 'p3'], ['p2']");
    let lost = under("tendermint-0.34", "drop", &faults);
    assert!(only(&lost, Property::Termination));
    assert_eq!((lost.end, lost.commits), (End::Quiet, 0));
    for (protocol, loss) in [("tendermint-0.34", "hold"), ("tendermint", "drop"), ("tendermint", "hold")] {
        let outcome = under(protocol, loss, &faults);
        assert_eq!(outcome.end, End::Goal, "{protocol} {loss}");
        assert!(outcome.violations.is_empty() && !did(&outcome, "next-epoch"));
    }
}

#[test]
fn what_byzzfuzz_found_is_found_here() {
    // 9. The instances in the authors' code, which counts rounds from 0. The last one cuts p3 off whenever the others decide.
    let bugs = [
        [cut(2, "['p1'], ['p3'], ['p0', 'p2']"), cut(7, "['p0', 'p2'], ['p1', 'p3']")].join(", "),
        [cut(7, "['p0'], ['p3'], ['p1', 'p2']"), cut(3, "['p0'], ['p2'], ['p1', 'p3']")].join(", "),
        [cut(9, "['p0', 'p2'], ['p1', 'p3']"), cut(1, "['p0'], ['p1', 'p2', 'p3']")].join(", "),
        [3, 6, 9].map(|round| format!("{{ round = {round}, isolate = ['p3'] }}")).join(", "),
    ];
    for faults in &bugs {
        assert!(only(&under("tendermint-0.34", "drop", faults), Property::Termination), "{faults}");
        for (protocol, loss) in [("tendermint-0.34", "hold"), ("tendermint", "drop"), ("tendermint", "hold")]
        {
            let outcome = under(protocol, loss, faults);
            assert!(outcome.violations.is_empty(), "{protocol} {loss} {faults}: {:?}", outcome.violations);
        }
    }
}

#[test]
fn who_was_away_for_three_heights_catches_up() {
    // 13. From what was kept for it, or by asking. If it was lost, nobody says it again: the others are elsewhere.
    let settings = |protocol: &str, loss| {
        let network = format!("network = {{ latency = 10, loss = '{loss}', gst = {{ time = 560 }} }}");
        let away = "workload.requests = 6\nadversary.faults = [{ isolate = ['p3'] }]";
        format!("{network}\n{away}\nlimits.steps = 5000\n{protocol}")
    };
    let cases = [
        ("protocol = { sync = 0, retransmit = 0 }", "hold", true),
        ("protocol = { sync = 0, retransmit = 0 }", "drop", false),
        ("protocol = { sync = 0 }", "drop", false),
        ("protocol = { retransmit = 0 }", "drop", true),
    ];
    for (protocol, loss, arrives) in cases {
        let mut sim = recorded(&scenario("tendermint", &settings(protocol, loss)));
        while sim.time().0 < 560 && sim.step() {}
        assert!(log(sim.events(), "p0").len() >= 3 && log(sim.events(), "p3").is_empty());
        let outcome = sim.run();
        assert_eq!(outcome.end == End::Goal, arrives, "{protocol} {loss}");
        assert_eq!(did(&outcome, "sync"), arrives && loss == "drop");
        if arrives {
            assert!(outcome.violations.is_empty());
            assert!(ALL.iter().all(|who| log(sim.events(), who)[..6] == log(sim.events(), "p0")[..6]));
        }
    }
}
