//! Whose round a fault means, and what a message without a round meets.

use crate::play::play;
use crate::toys::post::Post;

/// Everybody meets view 0. p1 then hears of view 2 and still writes in view 1; p3 still writes in view 0.
const LETTERS: &str = r#"protocol.letters = [
    "10 p0>* letter 0.0", "30 p0>p1,p2 letter 2.0", "50 p1>p2 letter 1.0", "70 p3>p2 letter 0.0",
    "90 p1>p2 card",
]"#;

/// The numbers of the letters to p2 that a fault on this round loses. p1 gets all of its own.
fn lost(fault: &str, adversary: &str) -> Vec<u32> {
    let played = play::<Post>(&format!(
        "{LETTERS}\n{adversary}\n[[adversary.faults]]\nto = ['p2']\n{fault}\ndrop = true"
    ));
    let heard = played.numbers("p2");
    (1..=5).filter(|number| !heard.contains(number)).collect()
}

#[test]
fn the_round_is_the_highest_that_the_sender_has_met() {
    assert_eq!(lost("round = 1", ""), [1, 4], "p3 has met nothing but view 0");
    assert_eq!(lost("round = 3", ""), [2, 3], "p1 writes in view 1, but has heard of view 2");
    assert_eq!(lost("round = [2, 9]", ""), [2, 3]);
}

#[test]
fn named_is_the_number_of_the_message_alone() {
    assert_eq!(lost("round = 3\nsource = 'named'", ""), [2]);
    assert_eq!(lost("round = 2\nsource = 'named'", ""), [3]);
    assert_eq!(lost("round = 1\nsource = 'named'", ""), [1, 4]);
}

#[test]
fn views_are_the_messages_or_the_senders() {
    assert_eq!(lost("round = 2\nsource = 'view'", ""), [3], "view 0 is round 1");
    assert_eq!(lost("round = 3\nsource = 'sender-view'", ""), [2, 3]);
    assert_eq!(lost("round = 1\nsource = 'sender-view'", ""), [1, 4]);
}

#[test]
fn a_slot_is_a_round_whoever_writes_about_it_in_whatever_view() {
    let text = r#"
        protocol.letters = [
            "10 p0>p2 letter 0.0", "20 p0>p2 letter 0.2", "30 p1>p2 letter 3.2", "40 p1>p2 letter 3.3",
        ]
        [[adversary.faults]]
        source = "slot"
        drop = true
    "#;
    let heard = |round: &str| play::<Post>(&format!("{text}\nround = {round}")).numbers("p2");
    assert_eq!(heard("2"), [1, 4]);
    assert_eq!(heard("[0, 1]"), [2, 3, 4], "slots may count from 0");
    // A card is about no slot: it is in no round, and inherits none.
    let card = "round = [0, 9]\nsource = 'slot'\nkind = 'card'";
    assert_eq!(lost(card, "adversary.roundless-inherit = true"), [0; 0]);
}

#[test]
fn global_is_the_highest_round_of_all_nodes() {
    assert_eq!(lost("round = 3\nsource = 'global'", ""), [2, 3, 4]);
}

#[test]
fn a_message_without_a_round_meets_no_round_fault_unless_it_inherits_its_senders() {
    assert_eq!(lost("round = 3\nkind = 'card'", ""), [0; 0]);
    assert_eq!(lost("round = 3\nkind = 'card'", "adversary.roundless-inherit = true"), [5]);
    assert_eq!(lost("round = 1\nkind = 'card'", "adversary.roundless-inherit = true"), [0; 0]);
    // By views the sender's is the highest that it has met, by numbers too.
    for source in ["view", "sender-view", "named"] {
        let card = format!("source = '{source}'\nkind = 'card'\nround = 3");
        assert_eq!(lost(&card, ""), [0; 0], "{source}");
        assert_eq!(lost(&card, "adversary.roundless-inherit = true"), [5], "{source}");
    }
}

/// A liar may name any view it likes. That is a round like any other, also for a node that has met others
/// before.
#[test]
fn the_largest_round_is_a_round() {
    let text = r#"
        protocol.letters = [
            "10 p0>* letter 0.1", "20 p0>* letter 0.2", "30 p0>* letter 4294967295.1",
            "40 p0>* letter 4294967295.2",
        ]
        [[adversary.faults]]
        round = [3, 4294967295]
        to = ["p2"]
        drop = true
    "#;
    assert_eq!(play::<Post>(text).numbers("p2"), [1, 2]);
}

/// With one phase per view the sender's round is the largest number that it has met, as the design has it.
/// p2's first message is in view 3: it is in that view's round, not one below.
#[test]
fn a_node_that_skips_rounds_is_in_the_round_that_it_met() {
    let text = r#"
        protocol.letters = ["10 p2>p1 letter 3.0"]
        [[adversary.faults]]
        round = 4
        drop = true
    "#;
    assert_eq!(play::<Post>(&format!("{text}source = 'named'")).outcome.injected.dropped, 1);
    assert_eq!(play::<Post>(text).outcome.injected.dropped, 1);
}
