//! What a protocol assumes, what a run makes of it, and which violations count.

use turncoat_core::assume::Assumption;
use turncoat_core::outcome::{Outcome, Property};

use crate::play::play;
use crate::toys::ballot::Ballot;
use crate::toys::post::Post;

/// The ballot's proposal never reaches p3, which so decides nothing.
const UNHEARD: &str = "[[adversary.faults]]\nfrom = ['p0']\nto = ['p3']\nkind = 'propose'\ndrop = true";

fn broken(outcome: &Outcome) -> Vec<(Assumption, u32)> {
    outcome.breaches.iter().map(|breach| (breach.assumption, breach.count)).collect()
}

/// Of what was found, what the protocol promised.
fn promised(outcome: &Outcome) -> Vec<Property> {
    outcome.inside().map(|violation| violation.property).collect()
}

/// The ballot never says anything twice: it assumes that nothing is lost, and promises nothing if something is.
#[test]
fn a_lost_message_excuses_whoever_waits_for_it() {
    let outcome = play::<Ballot>(UNHEARD).outcome;
    assert_eq!(broken(&outcome), [(Assumption::Channels, 2)]);
    assert_eq!(promised(&outcome), []);
    let violation = outcome.violation(Property::Termination).expect("p3 decides nothing");
    let words = violation.to_string();
    let expected = "; but 2 messages between correct nodes were lost, which the protocol assumes never happens (first: \
                    propose";
    assert!(words.contains(expected) && words.ends_with("from p0 to p3)"), "{words}");
}

#[test]
fn what_a_liar_does_not_send_excuses_nobody() {
    let outcome = play::<Ballot>(&format!("adversary.byzantine = ['p0']\n{UNHEARD}")).outcome;
    assert_eq!((broken(&outcome), promised(&outcome)), (vec![], vec![Property::Termination]));
    let deaf = "adversary.byzantine = ['p2']\n[[adversary.faults]]\nkind = 'propose'\ndeaf = ['p2']";
    assert_eq!(broken(&play::<Ballot>(deaf).outcome), []);
}

/// Safety does not rest on channels. The liar has a second face, and f+1 votes decide: agreement is broken whatever is lost.
#[test]
fn a_lost_message_excuses_no_disagreement() {
    let fork = "adversary.byzantine = ['p0']\nprotocol.flags = ['weak-quorum']\n\
                [[adversary.faults]]\npersona = { of = 'p0', to = ['p1', 'p2'], edits = [{ sub = { slot = 1, with = 0 } }] }\n\
                [[adversary.faults]]\nfrom = ['p1']\nto = ['p3']\nkind = 'vote'\ndrop = true";
    let outcome = play::<Ballot>(fork).outcome;
    assert!(broken(&outcome).iter().any(|(assumption, _)| *assumption == Assumption::Channels));
    assert!(promised(&outcome).contains(&Property::Agreement), "{:?}", outcome.violations);
}

/// Whatever keeps messages from arriving: a fault, a partition, a scheduler, a flipped bit, a node that has stopped.
#[test]
fn a_network_that_holds_loses_nothing() {
    for trouble in [
        UNHEARD,
        "[[adversary.faults]]\nkind = 'vote'\npermille = 500\ndrop = true",
        "[[adversary.faults]]\nround = [1, 2]\npartition = [['p0', 'p1'], ['p2', 'p3']]",
        "[[adversary.faults]]\nround = 2\nisolate = ['p1']",
        "[[adversary.faults]]\nkind = 'propose'\ndeaf = ['p2']",
        "[[adversary.faults]]\npermille = 300\nflip = '0x5'",
        "scheduler = { name = 'async', drop = 60 }",
        "scheduler = { name = 'sync', drop = 60 }",
        "[[adversary.faults]]\nstep = 3\ncrash = 'p3'\n[[adversary.faults]]\nstep = 12\nrestart = { node = 'p3', state = true }",
    ] {
        let lost = play::<Ballot>(trouble).outcome;
        assert!(lost.injected.lost > 0 && !broken(&lost).is_empty(), "{trouble}: {:?}", lost.injected);
        let held = play::<Ballot>(&format!("network.loss = 'hold'\n{trouble}"));
        assert_eq!((held.outcome.injected.lost, broken(&held.outcome)), (0, vec![]), "{trouble}");
        assert_eq!(held.holds().outcome.commits, 8, "{trouble}");
    }
}

/// Where messages may be lost before the network is calm, that is no excuse.
#[test]
fn fair_losses_excuse_nobody() {
    let letters = "protocol.letters = ['10 p0>* letter 0.1']\nworkload.goal = { height = 1 }";
    let fault = "[[adversary.faults]]\nto = ['p1']\ndrop = true";
    let outcome = play::<Post>(&format!("{letters}\n{fault}")).outcome;
    assert_eq!((outcome.injected.lost, broken(&outcome)), (1, vec![]));
    assert_eq!(promised(&outcome), [Property::Termination]);
}

/// Two liars of four may do anything, and nothing that comes of it counts.
#[test]
fn beyond_the_budget_nothing_is_promised() {
    let text = "cluster.over-budget = true\nadversary.byzantine = ['p1', 'p2']\n[[adversary.faults]]\nfrom = ['p1', 'p2']\ndrop = true";
    let outcome = play::<Ballot>(text).outcome;
    assert_eq!((broken(&outcome), promised(&outcome)), (vec![(Assumption::Budget, 1)], vec![]));
    let violation = outcome.violation(Property::Termination).expect("two of four are silent");
    assert!(
        violation.to_string().ends_with("; but 2 replicas are faulty ({p1,p2}), and f = 1"),
        "{violation}"
    );
}

/// With a bound, whatever is late, lost or ahead of time between correct nodes leaves the protocol's world; what a liar does
/// leaves it as it is.
#[test]
fn a_bound_is_kept_or_its_breach_is_noted() {
    let letters = "protocol = { delta = 20, letters = ['10 p0>* letter 0.1', '50 p0>* letter 0.2'] }";
    let breaches = |text: &str| broken(&play::<Post>(&format!("{letters}\n{text}")).outcome);
    let late = "[[adversary.faults]]\nto = ['p1']\nnth = 1\ndelay = 11";
    assert_eq!(breaches(""), []);
    assert_eq!(breaches("[[adversary.faults]]\nto = ['p1']\nnth = 1\ndelay = 10"), []);
    assert_eq!(breaches(late), [(Assumption::Synchrony, 1)]);
    assert_eq!(breaches(&format!("adversary.byzantine = ['p0']\n{late}")), []);
    assert_eq!(breaches(&format!("adversary.byzantine = ['p1']\n{late}")), []);
    assert_eq!(
        breaches("[[adversary.faults]]\nto = ['p1']\nnth = 1\ndrop = true"),
        [(Assumption::Synchrony, 1)]
    );
    assert_eq!(
        breaches("[[adversary.faults]]\ntime = 5\njump = { node = 'p0', by = 7 }"),
        [(Assumption::Synchrony, 1)]
    );
    assert_eq!(breaches("[[adversary.faults]]\ntime = 5\nfire = 'p0'"), [(Assumption::Synchrony, 1)]);
    assert_eq!(breaches("cluster.drift = { p2 = 100 }"), [(Assumption::Synchrony, 1)]);
    // Calm from the start, the network keeps the bound whatever faults there are.
    for fault in [late, "[[adversary.faults]]\ndrop = true", "[[adversary.faults]]\ntime = 5\nfire = 'p0'"] {
        for loss in ["drop", "hold"] {
            let calm = format!("network = {{ gst = {{ time = 0 }}, loss = '{loss}' }}\n{fault}");
            assert_eq!(breaches(&calm), [], "{calm}");
        }
    }
}

/// What a fault would keep from arriving arrives as late as it may.
#[test]
fn in_a_calm_network_that_holds_a_cut_is_a_delay_up_to_the_bound() {
    let text = "protocol = { delta = 20, letters = ['10 p0>* letter 0.1'] }\nnetwork = { gst = { time = 0 }, loss = 'hold' }\n\
                [[adversary.faults]]\npartition = [['p0', 'p2', 'p3'], ['p1']]";
    let played = play::<Post>(text);
    assert_eq!((played.times("p1", 1), played.times("p2", 1)), (vec![30], vec![20]));
}

/// A run in which nothing has to happen has done it.
#[test]
fn whoever_asks_for_nothing_gets_it() {
    for empty in ["workload.requests = 0", "cluster.clients = 0"] {
        assert_eq!(play::<Ballot>(&format!("workload.goal = 'replies'\n{empty}")).holds().outcome.steps, 0);
    }
}
