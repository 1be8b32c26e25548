//! Nodes that stop and go on: at a moment or on a message, with their memory or without.

use turncoat_core::ids::Time;
use turncoat_core::outcome::End;

use crate::play::play;
use crate::toys::ballot::Ballot;
use crate::toys::post::Post;

/// p1 and p0 write to all at 10, at 50 and at 90.
const LETTERS: &str = r#"protocol.letters = [
    "10 p0>* letter 0.1", "10 p1>* letter 0.1", "50 p0>* letter 0.2", "50 p1>* letter 0.2",
    "90 p0>* letter 0.3", "90 p1>* letter 0.3",
]"#;

#[test]
fn a_node_that_crashed_at_a_time_neither_writes_nor_hears() {
    let played = play::<Post>(&format!("{LETTERS}\n[[adversary.faults]]\ntime = 15\ncrash = 'p1'"));
    assert_eq!(played.numbers("p1"), [0; 0], "its mail was under way");
    assert_eq!(played.numbers("p2"), [1, 2, 3, 5], "its first letter was, too");
    assert_eq!(played.noted("stops"), Some(Time(15)));
    played.holds();
}

/// The handler comes to its end: the whole broadcast goes out, and nothing after it.
#[test]
fn a_node_that_crashes_on_its_own_message_still_sends_it() {
    let fault = "[[adversary.faults]]\nkind = 'letter'\nfrom = ['p1']\nnth = 2\ncrash = 'p1'";
    let played = play::<Post>(&format!("{LETTERS}\n{fault}"));
    assert_eq!(played.numbers("p2"), [1, 2, 3, 4, 5]);
    assert_eq!(played.numbers("p3"), played.numbers("p2"));
}

#[test]
fn a_node_may_crash_on_anothers_message() {
    let fault = "[[adversary.faults]]\nfrom = ['p0']\nnth = 2\ncrash = 'p1'";
    let played = play::<Post>(&format!("{LETTERS}\n{fault}"));
    assert_eq!(played.numbers("p1"), [1]);
    assert_eq!(played.numbers("p2"), [1, 2, 3, 5], "at 50 p0's timer was armed first");
}

/// p0 writes as soon as it starts, and p1 is dead from that moment: its own letter at 5 is never written.
#[test]
fn a_message_sent_at_the_start_triggers_at_the_start() {
    let text = r#"
        protocol.letters = ["0 p0>* letter 0.1", "5 p1>* letter 0.1"]
        [[adversary.faults]]
        from = ["p0"]
        crash = "p1"
    "#;
    assert_eq!(play::<Post>(text).numbers("p2"), [1]);
}

/// p1 stops at 30 and goes on at 65. It starts over with its letters, and remembers the two that it had.
#[test]
fn a_restart_with_state_remembers() {
    let faults = "[[adversary.faults]]\ntime = 30\ncrash = 'p1'\n\
                  [[adversary.faults]]\ntime = 65\nrestart = { node = 'p1', state = true }";
    let played = play::<Post>(&format!("{LETTERS}\n{faults}"));
    assert_eq!(played.noted("starts knowing [2, 1]"), Some(Time(65)));
    assert_eq!(played.times("p2", 2).len(), 2, "once after each start");
    assert_eq!(played.numbers("p1"), [1, 5], "what came while it was down is lost");
}

#[test]
fn a_restart_without_state_starts_anew() {
    let faults = "[[adversary.faults]]\ntime = 30\ncrash = 'p1'\n\
                  [[adversary.faults]]\ntime = 60\nrestart = { node = 'p1', state = false }";
    let played = play::<Post>(&format!("{LETTERS}\n{faults}"));
    assert_eq!(played.noted("restarts without its memory"), Some(Time(60)));
    assert_eq!(played.noted("starts knowing [2, 1]"), None);
    assert_eq!(played.times("p2", 2), [20, 80]);
}

/// p0's second letter stops p1, its third one starts it again.
#[test]
fn a_restart_may_wait_for_a_message() {
    let faults = "[[adversary.faults]]\nfrom = ['p0']\nnth = 2\ncrash = 'p1'\n\
                  [[adversary.faults]]\nfrom = ['p0']\nnth = 3\nrestart = { node = 'p1', state = true }";
    let played = play::<Post>(&format!("{LETTERS}\n{faults}"));
    assert_eq!(played.numbers("p1"), [1, 5]);
}

#[test]
fn a_node_that_runs_cannot_be_restarted() {
    let fault = "[[adversary.faults]]\ntime = 60\nrestart = { node = 'p1', state = false }";
    let played = play::<Post>(&format!("{LETTERS}\n{fault}"));
    assert_eq!(played.noted("restarts"), None);
    assert_eq!(played.numbers("p1"), [1, 3, 5]);
}

/// p1's timer is due at 40, and nothing happens between its death and that.
#[test]
fn a_timer_of_a_dead_node_does_not_fire() {
    let text = r#"
        protocol.letters = ["40 p1>* letter 0.1", "90 p0>* letter 0.1"]
        [[adversary.faults]]
        time = 30
        crash = "p1"
    "#;
    assert_eq!(play::<Post>(text).numbers("p2"), [2]);
}

/// p1 is back at 20 and writes at 50. That p0's timer at 200 was the next event when p1 came back changes
/// nothing: virtual time goes through 50.
#[test]
fn what_a_restarted_node_does_happens_in_its_time() {
    let text = r#"
        protocol.letters = ["30 p1>* letter 0.1", "2 p3>p2 card", "200 p0>* letter 0.1"]
        [[adversary.faults]]
        time = 10
        crash = "p1"
        [[adversary.faults]]
        time = 20
        restart = { node = "p1", state = true }
    "#;
    assert_eq!(play::<Post>(text).times("p2", 1), [60]);
}

/// Nothing is under way when p1 comes back: time passes until then, also in a replay.
#[test]
fn a_restart_in_a_quiet_system_happens_and_replays() {
    let text = r#"
        protocol.letters = ["0 p1>p2 letter 0.1"]
        workload.goal = { height = 1 }
        [[adversary.faults]]
        time = 30
        crash = "p1"
        [[adversary.faults]]
        time = 500
        restart = { node = "p1", state = true }
    "#;
    let played = play::<Post>(text);
    assert_eq!(played.times("p2", 1), [10, 510]);
    assert_eq!(played.outcome.end, End::Quiet);
}

/// The network calms down at 40 and p1 crashes at 45, both in a gap between events. What was held back goes out
/// when the network calms down.
#[test]
fn the_calm_phase_starts_before_a_later_crash() {
    let text = r#"
        network.gst = { time = 40 }
        protocol.letters = ["10 p0>p2 letter 0.1", "50 p0>p2 letter 0.2"]
        [[adversary.faults]]
        time = [0, 30]
        hold = true
        [[adversary.faults]]
        time = 45
        crash = "p1"
    "#;
    let played = play::<Post>(text);
    assert_eq!((played.times("p2", 1), played.times("p2", 2)), (vec![50], vec![60]));
}

/// p3 has decided slot 1. It comes back, and the liar tells it the story of slot 1 once more. A node with its
/// memory knows that story. One without decides the slot a second time; but it is faulty, and nobody blames
/// it.
#[test]
fn a_node_without_its_memory_is_not_judged() {
    let decided = |state: bool| {
        let played = play::<Ballot>(&format!(
            r#"
            protocol.flags = ['weak-quorum']
            cluster.over-budget = true
            adversary.byzantine = ["p0"]
            [[adversary.faults]]
            time = 50
            crash = "p3"
            [[adversary.faults]]
            time = 60
            restart = {{ node = "p3", state = {state} }}
            [[adversary.faults]]
            time = 70
            originate = {{ replay = "propose", to = ["p3"] }}
            [[adversary.faults]]
            time = 80
            originate = {{ replay = "vote", to = ["p3"] }}
            [[adversary.faults]]
            from = ["c1"]
            delay = 200
        "#
        ));
        let slots = played.holds().decided("p3").into_iter().map(|(slot, _)| slot);
        slots.collect::<Vec<u32>>()
    };
    assert_eq!(decided(true), [1, 2]);
    assert_eq!(decided(false), [1, 1, 2]);
}
