//! Flipped bits: a liar's own message changes or turns to garbage, an honest sender's copy is lost.

use turncoat_core::outcome::Property;

use crate::originate::inbox;
use crate::play::{Played, play};
use crate::toys::post::Post;

/// p0 and p1 write one letter each, to all; p0 may lie.
const LETTERS: &str = r#"
adversary.byzantine = ["p0"]
protocol.letters = ["10 p0>* letter 2.9", "10 p1>* letter 2.9"]
"#;

fn flipped(who: &str, seed: u32, rest: &str) -> Played {
    play::<Post>(&format!("{LETTERS}\n{rest}\n[[adversary.faults]]\nfrom = ['{who}']\nflip = {seed}"))
}

/// A seed whose flip leaves bytes that cannot be decoded.
fn garbage() -> u32 {
    (0..200).find(|&seed| flipped("p0", seed, "").outcome.injected.garbage > 0).expect("some bits matter")
}

#[test]
fn a_liars_message_arrives_changed_or_not_at_all() {
    let (mut changed, mut garbage) = (0, 0);
    for seed in 0..60 {
        let played = flipped("p0", seed, "");
        let truth = "20 p0: letter view=2 slot=9 no=1".to_owned();
        let heard: Vec<String> = played.heard("p3").into_iter().filter(|line| line.contains("p0:")).collect();
        assert!(heard.len() <= 1 && !heard.contains(&truth), "seed {seed}: {heard:?}");
        changed += heard.len();
        garbage += played.outcome.injected.garbage;
        // Each copy has a bit of its own flipped: it is changed, or lost.
        let injected = played.outcome.injected;
        assert_eq!(injected.mutated + injected.dropped, 3);
        played.holds();
    }
    assert!(changed > 20 && garbage > 0, "{changed} changed, {garbage} garbage");
}

/// The network corrupts, and cannot forge: nothing arrives in p1's name that p1 did not write.
#[test]
fn an_honest_senders_flipped_copy_is_lost() {
    for seed in 0..60 {
        let played = flipped("p1", seed, "");
        assert!(played.heard("p3").iter().all(|line| line.contains("p0:")), "seed {seed}");
        assert_eq!((played.outcome.injected.dropped, played.outcome.injected.mutated), (3, 0));
    }
}

#[test]
fn garbage_crashes_a_node_only_where_the_scenario_says_so() {
    let seed = garbage();
    flipped("p0", seed, "").holds();
    let played = flipped("p0", seed, "adversary.crash-on-garbage = true");
    let violation = played.outcome.violation(Property::Crashed).expect("garbage crashes");
    assert!(violation.detail.contains("do not decode"), "{violation}");
    assert!(played.outcome.injected.garbage > 0);
}

/// p1's broadcast crashes whoever cannot decode it. p1 itself has its own copy, whatever becomes of others.
#[test]
fn the_crash_of_a_receiver_leaves_the_sender_its_own_copy() {
    let fault = format!("[[adversary.faults]]\nfrom = ['p0']\nto = ['p3']\nflip = {}", garbage());
    let text = format!("{LETTERS}\nadversary.crash-on-garbage = true\n{fault}");
    assert_eq!(inbox(&text, 0), [1, 2]);
    assert_eq!(inbox(&text, 2), [1, 2]);
}

/// The same for a character of the message as JSON. Hardly one is a digit, which would make another message of it.
#[test]
fn a_garbled_character_leaves_another_message_or_none() {
    let garbled = |who: &str, seed| {
        play::<Post>(&format!("{LETTERS}\n[[adversary.faults]]\nfrom = ['{who}']\ngarble = {seed}"))
    };
    let of = |who: &str, heard: Vec<String>| {
        heard.into_iter().filter(|line| line.contains(who)).collect::<Vec<_>>()
    };
    let (mut changed, mut garbage) = (0, 0);
    for seed in 0..200 {
        let played = garbled("p0", seed);
        changed += played.outcome.injected.mutated;
        garbage += played.outcome.injected.garbage;
        played.holds();
        let honest = of("p1:", garbled("p1", seed).heard("p3"));
        assert!(
            honest.iter().all(|line| line == "20 p1: letter view=2 slot=9 no=2"),
            "seed {seed}: {honest:?}"
        );
    }
    assert!(changed > 0 && garbage > 4 * changed, "{changed} changed, {garbage} garbage");
}
