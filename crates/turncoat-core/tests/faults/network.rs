//! What the network does: loses, delays, repeats, cuts. In the calm phase it behaves.

use turncoat_core::ids::Time;

use crate::play::play;
use crate::toys::post::Post;

/// p0 and p2 write to all, twice; p3 talks to itself in between.
const LETTERS: &str = r#"protocol.letters = [
    "10 p0>* letter 0.1", "10 p2>* letter 0.1", "50 p0>* letter 0.2", "50 p2>* letter 0.2",
    "45 p3>p3 card",
]"#;

#[test]
fn a_delay_lets_later_messages_overtake() {
    let played = play::<Post>(&format!(
        "{LETTERS}\n[[adversary.faults]]\nfrom = ['p0']\nnth = 1\nto = ['p1']\ndelay = 100"
    ));
    assert_eq!(played.numbers("p1"), [2, 3, 4, 1]);
    assert_eq!((played.times("p1", 1), played.times("p3", 1)), (vec![120], vec![20]));
}

#[test]
fn delays_add_up() {
    let fault = "[[adversary.faults]]\nto = ['p1']\nnth = 1\ndelay = 100\n";
    let played = play::<Post>(&format!("{LETTERS}\n{fault}{fault}"));
    assert_eq!(played.times("p1", 1), [220]);
}

/// p0 and p2 write at the same times. One letter at a time is under way, for 100 ticks, and all arrive 10 ticks after their
/// turn.
#[test]
fn letters_wait_for_their_turn() {
    let played = play::<Post>(&format!("network.turn = 100\n{LETTERS}"));
    let mut times: Vec<u64> = (1..=4).flat_map(|number| played.times("p1", number)).collect();
    times.sort_unstable();
    assert_eq!(times, [20, 120, 220, 320]);
    played.holds();
}

#[test]
fn a_duplicate_arrives_so_many_times_more() {
    let played = play::<Post>(&format!(
        "{LETTERS}\n[[adversary.faults]]\nfrom = ['p0']\nnth = 1\nto = ['p1']\nduplicate = 2"
    ));
    let mut numbers = played.numbers("p1");
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 1, 1, 2, 3, 4]);
    assert_eq!(played.numbers("p3"), [1, 2, 3, 4]);
}

/// p3 hears no letter of slot 1, whoever writes it, while everybody hears p3, and p3 hears slot 2.
#[test]
fn the_deaf_hear_no_such_message_from_anybody() {
    let played =
        play::<Post>(&format!("{LETTERS}\n[[adversary.faults]]\nkind = 'letter'\nnth = 1\ndeaf = ['p3']"));
    assert_eq!((played.numbers("p3"), played.numbers("p1")), (vec![3, 4], vec![1, 2, 3, 4]));
    assert_eq!(played.outcome.injected.dropped, 2);
}

/// What the network holds, the deaf hear at last; liars never do.
#[test]
fn the_deaf_hear_later_what_is_held() {
    let numbers = |byzantine: &str| {
        let settings = format!("network = {{ loss = 'hold', gst = {{ time = 90 }} }}\n{byzantine}");
        let fault = "[[adversary.faults]]\nkind = 'letter'\nnth = 1\ndeaf = ['p3']";
        play::<Post>(&format!("{settings}\n{LETTERS}\n{fault}")).numbers("p3")
    };
    assert_eq!((numbers(""), numbers("adversary.byzantine = ['p3']")), (vec![3, 4, 1, 2], vec![3, 4]));
}

/// From time 40 on the network keeps its promises: only the first letters are lost.
#[test]
fn network_faults_end_with_the_calm_phase() {
    for fault in ["deaf = ['p1']", "isolate = ['p1']", "partition = [['p1'], ['p0', 'p2']]"] {
        let played =
            play::<Post>(&format!("network.gst = {{ time = 40 }}\n{LETTERS}\n[[adversary.faults]]\n{fault}"));
        assert_eq!(played.numbers("p1"), [3, 4], "{fault}");
    }
    let played = play::<Post>(&format!(
        "network.gst = {{ time = 40 }}\n{LETTERS}\n[[adversary.faults]]\nto = ['p1']\ndrop = true"
    ));
    assert_eq!(played.numbers("p1"), [3, 4], "the network drops no honest sender's message when calm");
}

/// All have left the first view when p0's second letter arrives, at 40. So p2's, at 50, arrives though it is of that view.
#[test]
fn the_network_calms_down_when_all_have_left_the_last_round_of_faults() {
    let letters = "protocol.letters = ['10 p2>* letter 0.1', '30 p0>* letter 1.1', '50 p2>* letter 0.1']";
    for source in ["view", "sender-view", "sender-max"] {
        let fault = format!("round = 1\nsource = '{source}'\nisolate = ['p1']");
        let played = play::<Post>(&format!("{letters}\n[[adversary.faults]]\n{fault}"));
        assert_eq!(played.numbers("p1"), [2, 3], "{source}");
        assert_eq!(played.noted("calm"), Some(Time(40)), "{source}");
    }
}

/// What a Byzantine sender does not send is its own affair, calm or not.
#[test]
fn a_byzantine_sender_may_keep_silent_in_the_calm_phase() {
    let played = play::<Post>(&format!(
        "network.gst = {{ time = 40 }}\nadversary.byzantine = ['p0']\n{LETTERS}\n\
         [[adversary.faults]]\nto = ['p1']\ndrop = true"
    ));
    assert_eq!(played.numbers("p1"), [4]);
}

/// Where the network has a bound, the honest are late up to that, and what they sent before is bounded too. A liar is as
/// late as it likes with all that it has sent.
#[test]
fn in_the_calm_phase_only_liars_are_later_than_the_bound() {
    let played = play::<Post>(&format!(
        "network = {{ gst = {{ time = 15 }}, bound = 20 }}\nadversary.byzantine = ['p0']\n{LETTERS}\n\
         [[adversary.faults]]\nto = ['p1']\ndelay = 100"
    ));
    assert_eq!([1, 3].map(|liar| played.times("p1", liar)), [[120], [160]]);
    assert_eq!([2, 4].map(|honest| played.times("p1", honest)), [[35], [70]]);
}

/// What a liar does not want to hear it does not hear, calm or not.
#[test]
fn a_liar_may_be_deaf_in_the_calm_phase() {
    let played = play::<Post>(&format!(
        "network.gst = {{ time = 40 }}\nadversary.byzantine = ['p1']\n{LETTERS}\n\
         [[adversary.faults]]\ndeaf = ['p1']"
    ));
    assert_eq!((played.numbers("p1"), played.numbers("p3")), (vec![], vec![1, 2, 3, 4]));
}

#[test]
fn a_partition_cuts_between_blocks_and_spares_those_in_none() {
    let played = play::<Post>(&format!(
        "{LETTERS}\n[[adversary.faults]]\nround = 1\npartition = [['p0'], ['p1', 'p2']]"
    ));
    assert_eq!(played.numbers("p0"), [4]);
    assert_eq!(played.numbers("p1"), [2, 3, 4]);
    assert_eq!(played.numbers("p3"), [1, 2, 3, 4], "p3 stands in no block");
}

/// p1 stands in two blocks and hears both; their other members do not hear each other.
#[test]
fn blocks_may_overlap() {
    let played = play::<Post>(&format!(
        "{LETTERS}\n[[adversary.faults]]\nround = 1\npartition = [['p0', 'p1'], ['p1', 'p2'], ['p3']]"
    ));
    assert_eq!((played.numbers("p1"), played.numbers("p0")), (vec![1, 2, 3, 4], vec![4]));
    assert_eq!((played.numbers("p2"), played.numbers("p3")), (vec![3], vec![3, 4]));
}

#[test]
fn the_isolated_hear_nobody_outside_and_are_not_heard() {
    let played = play::<Post>(&format!("{LETTERS}\n[[adversary.faults]]\nround = 1\nisolate = ['p0', 'p1']"));
    assert_eq!(played.numbers("p1"), [1, 3, 4], "p0 is inside with p1");
    assert_eq!(played.numbers("p2"), [3]);
    assert_eq!(played.numbers("p3"), [2, 3, 4]);
}

/// On one link and with `fifo`, a delayed letter holds up those behind it.
#[test]
fn a_fifo_link_keeps_its_order() {
    let fault = "[[adversary.faults]]\nfrom = ['p0']\nnth = 1\nto = ['p1']\ndelay = 100";
    let played = play::<Post>(&format!("network.fifo = true\n{LETTERS}\n{fault}"));
    assert_eq!(played.numbers("p1"), [2, 4, 1, 3]);
}

/// The copies of one broadcast are one message in memory. That p1's is lost must not disturb p2's, while
/// another message is on its way.
#[test]
fn a_lost_copy_leaves_the_others_as_they_are() {
    let text = r#"
        protocol.letters = ["10 p0>p1,p2 letter 0.1", "12 p0>p1,p3 letter 0.2", "14 p0>p1,p2 letter 0.3"]
        [[adversary.faults]]
        to = ["p1"]
        drop = true
    "#;
    let played = play::<Post>(text);
    assert_eq!((played.numbers("p2"), played.numbers("p3")), (vec![1, 3], vec![2]));
}
