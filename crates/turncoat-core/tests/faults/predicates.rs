//! When a fault strikes: kinds, links, counts, moments, chances, and their combinations.

use crate::play::{Played, play};
use crate::toys::post::Post;

/// Four letters of p0 to all, one of p1, and two cards of p0.
const LETTERS: &str = r#"protocol.letters = [
    "10 p0>* letter 0.1", "20 p0>* letter 0.1", "30 p0>* letter 0.2", "40 p0>* letter 1.1",
    "50 p1>* letter 1.1", "60 p0>* card", "70 p0>* card",
]"#;

fn with_fault(fault: &str) -> Played {
    play::<Post>(&format!("{LETTERS}\n[[adversary.faults]]\n{fault}\ndrop = true"))
}

#[test]
fn without_a_condition_a_fault_meets_every_message() {
    let played = with_fault("");
    assert_eq!(played.outcome.injected.dropped, 7 * 3);
    assert!(["p0", "p1", "p2", "p3"].iter().all(|who| played.numbers(who).is_empty()));
}

#[test]
fn kind_from_and_to_must_all_hold() {
    let played = with_fault("kind = 'card'\nfrom = ['p0']\nto = ['p1', 'p3']");
    assert_eq!(played.numbers("p1"), [1, 2, 3, 4]);
    assert_eq!(played.numbers("p2"), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(played.numbers("p3"), [1, 2, 3, 4, 5]);
    assert_eq!(played.outcome.injected.faults, 4);
}

/// By their names in traces, each a number or a range; kinds without such a field are not meant.
#[test]
fn fields_of_a_message_must_say_so() {
    assert_eq!(with_fault("field = { slot = 2 }").numbers("p2"), [1, 2, 4, 5, 6, 7]);
    assert_eq!(with_fault("field = { slot = 1, view = 0 }").numbers("p2"), [3, 4, 5, 6, 7]);
    assert_eq!(with_fault("field = { no = [4, 6] }").numbers("p2"), [1, 2, 3, 7]);
    assert_eq!(with_fault("field = { no = { from = 3, every = 2 } }").numbers("p2"), [1, 2, 4, 6]);
}

/// p2 has heard as many letters as its vitals say it has decided; before the first it waits for a card.
#[test]
fn vitals_of_a_node_must_be_so_when_the_message_is_sent() {
    let to_p2 = |vitals: &str| with_fault(&format!("to = ['p2']\nvitals = [{{ {vitals} }}]"));
    assert_eq!(to_p2("of = 'receiver', decided = 1").numbers("p2"), [1], "the first is all it ever hears");
    assert_eq!(to_p2("of = 'receiver', decided = [3, 9]").numbers("p2"), [1, 2, 3]);
    assert_eq!(to_p2("of = 'p3', decided = [0, 1]").numbers("p2"), [3, 4, 5, 6, 7]);
    assert_eq!(to_p2("of = 'receiver', waiting = 'card'").numbers("p2"), [0; 0]);
    assert_eq!(to_p2("of = 'receiver', waiting = 'card', decided = [1, 9]").numbers("p2").len(), 7);
    // p0 hears itself, so it has heard one letter when it sends the second.
    assert_eq!(to_p2("decided = 1").numbers("p2"), [1, 3, 4, 5, 6, 7]);
    assert_eq!(to_p2("decided = [0, 9], locked = true").numbers("p2").len(), 7);
    let both = "to = ['p2']\nvitals = [{ of = 'p3', decided = [0, 1] }, { of = 'receiver', decided = 0 }]";
    assert_eq!(with_fault(both).numbers("p2"), [3, 4, 5, 6, 7]);
}

/// A crash waits for such a message; with nothing but a moment it would not.
#[test]
fn what_happens_to_nodes_waits_for_such_a_message() {
    let crash = |when: &str| play::<Post>(&format!("{LETTERS}\n[[adversary.faults]]\n{when}\ncrash = 'p3'"));
    assert_eq!(crash("field = { slot = 2 }").numbers("p3"), [1, 2]);
    assert_eq!(crash("vitals = [{ of = 'p3', decided = 2 }]").numbers("p3"), [1, 2]);
}

/// p0 says 0.1 twice: a retransmission is the same message. p1's first letter is p1's first, whatever p0
/// said.
#[test]
fn nth_counts_the_rounds_of_a_sender_not_its_sendings() {
    assert_eq!(with_fault("kind = 'letter'\nnth = 1").numbers("p2"), [3, 4, 6, 7]);
    assert_eq!(with_fault("kind = 'letter'\nnth = 2").numbers("p2"), [1, 2, 4, 5, 6, 7]);
    assert_eq!(with_fault("kind = 'letter'\nnth = [2, 3]").numbers("p2"), [1, 2, 5, 6, 7]);
}

/// Without a round there is nothing to tell a retransmission by.
#[test]
fn nth_counts_every_sending_of_a_kind_without_rounds() {
    let played = with_fault("kind = 'card'\nnth = 2");
    assert_eq!((played.numbers("p1"), played.numbers("p3")), (vec![1, 2, 3, 4, 6], vec![1, 2, 3, 4, 5, 6]));
}

#[test]
fn times_ends_a_fault_after_so_many_copies() {
    let played = with_fault("from = ['p0']\ntimes = 4");
    assert_eq!(played.numbers("p1"), [3, 4, 6, 7], "the first letter to all three, and the second to p1");
    assert_eq!(played.numbers("p2"), [2, 3, 4, 5, 6, 7]);
}

#[test]
fn permille_is_a_share_of_all_copies_drawn_by_the_seed() {
    let letters: Vec<String> = (1..=400).map(|at| format!("'{at} p0>p1 card'")).collect();
    let lost = |permille: u32, seed: u32| {
        let letters = format!("seed = {seed}\nprotocol.letters = [{}]", letters.join(", "));
        let fault = format!("[[adversary.faults]]\npermille = {permille}\ndrop = true");
        play::<Post>(&format!("{letters}\n{fault}")).outcome.injected.dropped
    };
    assert_eq!((lost(0, 1), lost(1000, 1)), (0, 400));
    // 120 expected, standard deviation 9.
    assert!((80..160).contains(&lost(300, 1)) && (80..160).contains(&lost(300, 2)));
    assert_ne!(with_seed(1), with_seed(2));

    fn with_seed(seed: u32) -> Vec<u32> {
        with_fault_and_seed("permille = 500", seed).numbers("p2")
    }
}

fn with_fault_and_seed(fault: &str, seed: u32) -> Played {
    play::<Post>(&format!("seed = {seed}\n{LETTERS}\n[[adversary.faults]]\n{fault}\ndrop = true"))
}

#[test]
fn any_needs_one_of_several_and_not_excludes() {
    let played = with_fault("to = ['p2']\nany = [{ kind = 'card' }, { from = ['p1'] }]");
    assert_eq!((played.numbers("p2"), played.numbers("p3").len()), (vec![1, 2, 3, 4], 7));
    let played = with_fault("to = ['p2']\nnot = { kind = 'card' }");
    assert_eq!(played.numbers("p2"), [6, 7]);
    let played = with_fault("to = ['p2']\nnot = { any = [{ kind = 'card' }, { round = 1 }] }");
    assert_eq!(played.numbers("p2"), [1, 2, 6, 7], "p0 leaves round 1 with its third letter");
}

/// Letters 2 to 4 are sent at 20, 30 and 40. Steps count events: the first letter is sent in the first one,
/// the second one after two deliveries to p1 and p3, and so on.
#[test]
fn time_and_step_are_those_of_the_sending() {
    assert_eq!(with_fault("time = [20, 40]").numbers("p2"), [1, 5, 6, 7]);
    assert_eq!(with_fault("time = 50").numbers("p2"), [1, 2, 3, 4, 6, 7]);
    let early = with_fault("to = ['p2']\nstep = [0, 5]");
    assert_eq!(early.numbers("p2"), [3, 4, 5, 6, 7]);
}

/// A fault is spent where it strikes: the fifth letter would have been hit by both.
#[test]
fn faults_count_on_their_own() {
    let played = play::<Post>(&format!(
        "{LETTERS}\n[[adversary.faults]]\nto = ['p2']\ntimes = 1\ndrop = true\n\
         [[adversary.faults]]\nto = ['p2', 'p3']\ntimes = 3\ndrop = true"
    ));
    assert_eq!(
        played.numbers("p2"),
        [3, 4, 5, 6, 7],
        "the second fault is spent on what the first lost, too"
    );
    assert_eq!(played.numbers("p3"), [2, 3, 4, 5, 6, 7]);
}
