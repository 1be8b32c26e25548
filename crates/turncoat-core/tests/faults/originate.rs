//! A liar that starts something: it says again what it said before, or what its code would never say.

use turncoat_core::ids::Seat;
use turncoat_core::sim::Sim;

use crate::play::{play, scenario};
use crate::toys::post::Post;

/// The numbers that a node has heard at the end, own copies included.
pub(crate) fn inbox(text: &str, seat: u8) -> Vec<u32> {
    let mut sim = Sim::<Post>::new();
    sim.reset(&scenario::<Post>(text)).unwrap();
    sim.run();
    sim.replica(Seat(seat)).unwrap().heard.clone()
}

/// p1 writes first. p0, the liar, writes two letters and then a card, which is the trigger.
const LETTERS: &str = r#"
adversary.byzantine = ["p0"]
protocol.letters = ["5 p1>p2 letter 0.1", "10 p0>p2 letter 0.1", "20 p0>p2 letter 0.2", "40 p0>p2 card"]
"#;

#[test]
fn a_replay_is_the_liars_own_first_message_of_the_kind() {
    let fault = "[[adversary.faults]]\nkind = 'card'\noriginate = { replay = 'letter', to = ['p3', 'p1'] }";
    let played = play::<Post>(&format!("{LETTERS}\n{fault}"));
    assert_eq!(played.heard("p3"), ["50 p0: letter view=0 slot=1 no=2"], "not p1's, which it never saw");
    assert_eq!(played.numbers("p1"), [2]);
    assert_eq!(played.numbers("p2"), [1, 2, 3, 4]);
}

#[test]
fn there_is_no_replay_of_what_was_never_said() {
    let text = r#"
        adversary.byzantine = ["p0"]
        protocol.letters = ["5 p1>p0 letter 0.1", "40 p0>p2 card"]
        [[adversary.faults]]
        kind = "card"
        originate = { replay = "letter", to = ["p3"] }
    "#;
    assert_eq!(play::<Post>(text).numbers("p3"), [0; 0]);
}

/// The toy mints a card with the number 1000 (1 + liar) + number of the letter beside it.
#[test]
fn a_minted_message_fits_the_one_beside_it() {
    let fault = "[[adversary.faults]]\nkind = 'letter'\nnth = 2\noriginate = { mint = 'card', to = ['p3'] }";
    let played = play::<Post>(&format!("{LETTERS}\n{fault}"));
    assert_eq!(played.heard("p3"), ["30 p0: card no=1003"]);
    assert_eq!(played.numbers("p2"), [1, 2, 3, 4], "the letter itself goes its way");
}

/// The kinds that do not fit beside a letter are left out.
#[test]
fn all_means_each_kind_that_fits() {
    let fault = "[[adversary.faults]]\nkind = 'letter'\nnth = 2\noriginate = { mint = 'all', to = ['p3'] }";
    assert_eq!(play::<Post>(&format!("{LETTERS}\n{fault}")).heard("p3"), ["30 p0: card no=1003"]);
}

#[test]
fn it_happens_once_unless_it_says_otherwise() {
    let fault = "[[adversary.faults]]\nkind = 'letter'\noriginate = { mint = 'card', to = ['p3'] }";
    assert_eq!(play::<Post>(&format!("{LETTERS}\n{fault}")).numbers("p3"), [1002]);
    assert_eq!(play::<Post>(&format!("{LETTERS}\n{fault}\ntimes = 2")).numbers("p3"), [1002, 1003]);
}

/// Two liars: beside p1's letter it is p1 who makes something up, in its own name.
#[test]
fn the_sender_of_the_message_is_the_one_who_originates() {
    let text = r#"
        cluster = { n = 7, f = 2 }
        adversary.byzantine = ["p0", "p1"]
        protocol.letters = ["10 p1>p2 letter 0.1"]
        [[adversary.faults]]
        kind = "letter"
        originate = { mint = "card", to = ["p3"] }
    "#;
    assert_eq!(play::<Post>(text).heard("p3"), ["20 p1: card no=2001"]);
}
