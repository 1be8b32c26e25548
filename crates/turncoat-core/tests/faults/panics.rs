//! A node that panics has crashed: that is a finding, and the run goes on.

use turncoat_core::ids::NodeId;
use turncoat_core::outcome::Property;

use crate::play::play;
use crate::toys::post::Post;

/// p0's letter is a bomb for p1. p2 and p3 do not get it and go on writing.
const LETTERS: &str = r#"
protocol.bomb = 1
protocol.letters = ["10 p0>p1 letter 0.1", "40 p1>* letter 0.1", "50 p2>* letter 0.1"]
"#;

#[test]
fn a_panic_is_caught_as_a_crash_with_its_words() {
    let played = play::<Post>(LETTERS);
    let violation = played.outcome.violation(Property::Crashed).expect("p1 crashed");
    assert_eq!((violation.rule, &violation.nodes[..]), ("panic", &[NodeId::replica(1)][..]));
    assert_eq!(violation.detail, "p1 crashed: letter 1 was a bomb");
    assert_eq!(played.numbers("p3"), [3], "p1 is dead, p2 goes on");
}

#[test]
fn a_liar_that_panics_breaks_no_promise() {
    let played = play::<Post>(&format!("adversary.byzantine = ['p1']\n{LETTERS}"));
    assert_eq!(played.holds().numbers("p3"), [3]);
    assert!(played.noted("letter 1 was a bomb").is_some());
}

/// p1 panics on its own copy, in the middle of what it sends: what it sent before is under way.
#[test]
fn a_panic_on_an_own_copy_is_a_crash_too() {
    let text = r#"
        protocol.bomb = 2
        protocol.letters = ["20 p1>p2 card", "10 p1>p1,p3 letter 0.1", "50 p2>* letter 0.1"]
    "#;
    let played = play::<Post>(text);
    assert!(played.outcome.violation(Property::Crashed).is_some());
    assert_eq!(played.numbers("p2"), [0; 0], "p1's card was for later");
    assert_eq!(played.outcome.violation(Property::Crashed).unwrap().nodes[..], [NodeId::replica(1)]);
}

/// p0 dies at birth. The others are born all the same.
#[test]
fn a_panic_at_the_start_leaves_the_others_their_start() {
    let played = play::<Post>(&format!("protocol.stillborn = 'p0'\n{LETTERS}"));
    assert_eq!(played.outcome.violation(Property::Crashed).unwrap().detail, "p0 crashed: stillborn");
    assert_eq!(played.numbers("p3"), [2, 3]);
}
