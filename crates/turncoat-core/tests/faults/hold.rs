//! Messages held back: they go out when their sender leaves the fault's rounds, or when the network heals.

use crate::play::play;
use crate::toys::post::Post;

/// p0 says slot 1 twice, then slot 2; p2 writes once.
const LETTERS: &str = r#"protocol.letters = [
    "10 p0>* letter 0.1", "10 p2>* letter 0.1", "90 p0>p3 letter 0.2",
]"#;

#[test]
fn a_held_copy_goes_out_when_its_sender_leaves_the_round() {
    let played =
        play::<Post>(&format!("{LETTERS}\n[[adversary.faults]]\nround = 1\nto = ['p1']\nhold = true"));
    assert_eq!(played.outcome.injected.held, 2);
    assert_eq!(played.times("p1", 1), [100], "p0 enters round 2 at 90");
    assert_eq!(played.times("p3", 1), [20]);
}

/// p2 never leaves round 1. When nothing is left to happen the network calms down, and p1 hears it after all.
#[test]
fn a_held_copy_goes_out_at_the_latest_when_the_network_is_calm() {
    let fault = "[[adversary.faults]]\nround = 1\nto = ['p1']\nhold = true";
    let played = play::<Post>(&format!("{LETTERS}\n{fault}"));
    assert_eq!(played.numbers("p1"), [1, 2]);
    assert!(played.outcome.calm);
}

/// The calm phase starts at 60, not with the first event after it, which is at 90: what was held goes out at
/// 60, and what is sent at 90 meets no fault.
#[test]
fn the_calm_phase_starts_at_its_time() {
    let fault = "[[adversary.faults]]\nto = ['p1', 'p3']\nhold = true";
    let played = play::<Post>(&format!("network.gst = {{ time = 60 }}\n{LETTERS}\n{fault}"));
    assert_eq!(played.times("p1", 2), [70]);
    assert_eq!(played.times("p3", 3), [100]);
    let fault = "[[adversary.faults]]\nto = ['p1', 'p3']\ndrop = true";
    let played = play::<Post>(&format!("network.gst = {{ time = 60 }}\n{LETTERS}\n{fault}"));
    assert_eq!(played.numbers("p3"), [3]);
}

/// The same letter, held twice, is still one letter; another one is another.
#[test]
fn equal_copies_held_go_out_once() {
    let text = r#"
        protocol.letters = ["10 p0>p1 letter 0.1 #7", "20 p0>p1 letter 0.1 #7", "30 p0>p1 letter 0.1 #8"]
        [[adversary.faults]]
        hold = true
    "#;
    let played = play::<Post>(text);
    assert_eq!((played.numbers("p1"), played.outcome.injected.held), (vec![7, 8], 2));
}

#[test]
fn a_partition_loses_or_holds_as_the_network_says() {
    let fault = "[[adversary.faults]]\nround = 1\npartition = [['p0'], ['p1', 'p2', 'p3']]";
    let dropped = play::<Post>(&format!("{LETTERS}\n{fault}"));
    assert_eq!((dropped.numbers("p1"), dropped.numbers("p3")), (vec![2], vec![2, 3]));
    let held = play::<Post>(&format!("network.loss = 'hold'\n{LETTERS}\n{fault}"));
    assert_eq!(held.times("p1", 1), [100]);
    assert_eq!(held.numbers("p0"), [2], "p2 never leaves round 1, and is heard when the network heals");
}

#[test]
fn the_isolated_are_heard_later_where_the_network_holds() {
    let fault = "[[adversary.faults]]\nround = 1\nisolate = ['p1']";
    let held = play::<Post>(&format!("network.loss = 'hold'\n{LETTERS}\n{fault}"));
    assert_eq!(held.numbers("p1"), [1, 2]);
}

/// Views have their own pace: with its second letter the sender's round counter is beyond 1, still in the first view.
/// The copy waits until its sender leaves the view.
#[test]
fn a_hold_by_view_lasts_as_long_as_the_view() {
    let text = r#"
        protocol.letters = ["10 p0>p1 letter 0.1", "30 p0>p2 letter 0.2", "90 p0>p2 letter 1.1"]
        [[adversary.faults]]
        round = 1
        source = "view"
        to = ["p1"]
        hold = true
    "#;
    assert_eq!(play::<Post>(text).times("p1", 1), [100], "p0 leaves view 0 at 90");
}

/// A copy that is held is held with all its duplicates.
#[test]
fn a_duplicate_does_not_slip_past_a_hold() {
    let text = format!(
        "{LETTERS}\n[[adversary.faults]]\nround = 1\nto = ['p1']\nhold = true\n\
         [[adversary.faults]]\nround = 1\nto = ['p1']\nduplicate = 1"
    );
    assert!(play::<Post>(&text).times("p1", 1).iter().all(|&time| time >= 100));
}
