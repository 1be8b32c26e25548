//! Several faults on one message: lies compose, or the first decides; the network comes first, or the lie.

use crate::play::{Played, play};
use crate::toys::post::Post;

/// p0, the liar, writes number 5 to all in round 1 and number 6 in round 2.
const LETTERS: &str = r#"
adversary.byzantine = ["p0"]
protocol.letters = ["10 p0>* letter 0.3 #5", "20 p0>* letter 0.4 #6"]
"#;

fn with(text: &str) -> Played {
    play::<Post>(&format!("{LETTERS}\n{text}"))
}

fn first(played: &Played, who: &str) -> Option<String> {
    let line = played.heard(who).into_iter().find(|line| line.contains("p0: letter"))?;
    line.split("letter ").nth(1).map(str::to_owned)
}

#[test]
fn a_liar_lies_to_some_and_tells_others_the_truth() {
    let played = with("[[adversary.faults]]\nround = 1\nto = ['p1']\nmutate = 'letter.no+1'");
    assert_eq!(first(&played, "p1").as_deref(), Some("view=0 slot=3 no=6"));
    assert_eq!(first(&played, "p2").as_deref(), Some("view=0 slot=3 no=5"));
    assert_eq!((played.outcome.injected.mutated, played.outcome.injected.accepted), (1, 1));
}

#[test]
fn edits_of_one_message_compose_in_order() {
    let played = with(
        "[[adversary.faults]]\nround = 1\nmutate = 'letter.no+1'\n\
         [[adversary.faults]]\nround = 1\nto = ['p1', 'p2']\nmutate = 'letter.no+1'\n\
         [[adversary.faults]]\nround = 1\nto = ['p2']\nmutate = 'letter.slot-1'",
    );
    assert_eq!(first(&played, "p1").as_deref(), Some("view=0 slot=3 no=7"));
    assert_eq!(first(&played, "p2").as_deref(), Some("view=0 slot=2 no=7"));
    assert_eq!(first(&played, "p3").as_deref(), Some("view=0 slot=3 no=6"));
    assert_eq!(played.outcome.injected.mutated, 3, "counted in copies, not in edits");
}

/// The first in the list that matches decides, and the others have their say elsewhere.
#[test]
fn without_composition_the_first_fault_decides() {
    let faults = "[[adversary.faults]]\nround = 1\nto = ['p1']\nmutate = 'letter.slot-1'\n\
                  [[adversary.faults]]\nround = 1\nmutate = 'letter.no+1'";
    let played = with(&format!("adversary.compose = false\n{faults}"));
    assert_eq!(first(&played, "p1").as_deref(), Some("view=0 slot=2 no=5"));
    assert_eq!(first(&played, "p2").as_deref(), Some("view=0 slot=3 no=6"));
}

/// A lie cannot reach whom the message does not reach.
#[test]
fn a_lost_message_carries_no_lie() {
    let faults = "[[adversary.faults]]\nround = 1\nmutate = 'letter.no+1'\n\
                  [[adversary.faults]]\nround = 1\nto = ['p1']\ndrop = true";
    let played = with(faults);
    assert_eq!(first(&played, "p1").as_deref(), Some("view=0 slot=4 no=6"), "the letter of round 2");
    assert_eq!(played.outcome.injected.mutated, 2);
}

/// ByzzFuzz as published: a partition comes before a lie. In a round of `process-first` the lie crosses it,
/// and the truth still does not.
#[test]
fn in_process_first_rounds_a_lie_crosses_a_partition() {
    let faults = "[[adversary.faults]]\nround = [1, 2]\npartition = [['p0'], ['p1', 'p2', 'p3']]\n\
                  [[adversary.faults]]\nround = [1, 2]\nto = ['p1']\nmutate = 'letter.slot-1'";
    let heard = |text: &str| {
        let played = with(&format!("{text}\n{faults}"));
        (played.numbers("p1"), played.numbers("p2"))
    };
    assert_eq!(heard(""), (vec![], vec![]));
    assert_eq!(heard("adversary.process-first = [1]"), (vec![5], vec![]));
    assert_eq!(heard("adversary.process-first = [2]"), (vec![6], vec![]));
    assert_eq!(heard("adversary.process-first = [1, 2]"), (vec![5, 6], vec![]));
}

/// The choice depends on the kind and the fault's seed alone.
#[test]
fn a_drawn_lie_is_the_same_for_all_receivers() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..40 {
        let played =
            with(&format!("[[adversary.faults]]\nround = 1\nmutate = {{ seed = {seed}, scope = 'any' }}"));
        let told = ["p1", "p2", "p3"].map(|who| first(&played, who));
        assert!(told.iter().all(|letter| *letter == told[0]), "seed {seed}: {told:?}");
        seen.insert(told[0].clone());
    }
    assert!(seen.len() > 8, "seeds draw different lies: {seen:?}");
    assert!(seen.contains(&Some("view=0 slot=4 no=6".to_owned())), "to say nothing is one of them");
}

#[test]
fn a_drawn_lie_may_be_restricted_to_rows() {
    for seed in 0..40 {
        let lie = format!("mutate = {{ seed = {seed}, only = ['letter.slot'] }}");
        let played = with(&format!("[[adversary.faults]]\nround = 1\nto = ['p1']\n{lie}"));
        let told = first(&played, "p1").unwrap();
        assert!(told.ends_with("no=5") && told.starts_with("view=0"), "{told}");
        assert_ne!(told, "view=0 slot=3 no=5");
    }
}

#[test]
fn to_say_nothing_is_a_lie() {
    let played = with("[[adversary.faults]]\nround = 1\nto = ['p1']\nmutate = 'letter.omit'");
    assert_eq!((played.numbers("p1"), played.numbers("p3")), (vec![6], vec![5, 6]));
}

/// The network may be at peace; a liar is not.
#[test]
fn lies_go_on_in_the_calm_phase() {
    let played = with("network.gst = { time = 0 }\n[[adversary.faults]]\nround = 2\nmutate = 'letter.no+1'");
    assert_eq!(played.numbers("p1"), [5, 7]);
}

/// What its own code says to itself is not for the adversary to see.
#[test]
fn an_own_copy_is_never_touched() {
    let played = with(
        "[[adversary.faults]]\nmutate = 'letter.no+1'\n[[adversary.faults]]\nround = 2\ndrop = true\n\
         [[adversary.faults]]\nround = 1\nisolate = ['p0']",
    );
    assert_eq!(played.numbers("p3"), [0; 0]);
    assert_eq!(played.numbers("p0"), [0; 0], "an own copy is no event");
    assert_eq!(crate::originate::inbox(LETTERS, 0), [5, 6]);
}
