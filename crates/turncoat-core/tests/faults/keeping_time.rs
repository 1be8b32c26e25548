//! Clocks and timers: a clock may be fast or slow, a clock may jump, a timer may fire before it is due.

use crate::play::play;
use crate::toys::post::Post;

/// p1 writes at 300 by its own clock, p2 at 100 by its own.
const LETTERS: &str = r#"protocol.letters = ["300 p1>p0 letter 0.1", "100 p2>p0 letter 0.1"]"#;

#[test]
fn a_fast_clock_fires_its_timer_earlier_and_a_slow_one_later() {
    let punctual = play::<Post>(LETTERS);
    assert_eq!((punctual.times("p0", 1), punctual.times("p0", 2)), (vec![310], vec![110]));
    let drifting = play::<Post>(&format!("cluster.drift = {{ p1 = 500000, p2 = -500000 }}\n{LETTERS}"));
    assert_eq!((drifting.times("p0", 1), drifting.times("p0", 2)), (vec![210], vec![210]));
}

#[test]
fn a_clock_that_jumps_reaches_its_timers_earlier() {
    assert_eq!(jumped(50), [260]);
}

/// What is overdue after the jump at 20 fires at 20, not with the next event, which is at 100.
#[test]
fn a_clock_that_jumps_past_its_timers_fires_them_at_once() {
    assert_eq!(jumped(1000), [30]);
}

/// When p1's letter arrives if its clock jumps at 20.
fn jumped(by: u32) -> Vec<u64> {
    let fault = format!("[[adversary.faults]]\ntime = 20\njump = {{ node = 'p1', by = {by} }}");
    let played = play::<Post>(&format!("{LETTERS}\n{fault}"));
    assert_eq!(played.times("p0", 2), [110], "p2's clock did not jump");
    played.times("p0", 1)
}

/// p2's letter at 100 makes p1's timer fire, long before 300. It fires once.
#[test]
fn a_timer_fires_when_a_fault_says_so() {
    let played = play::<Post>(&format!("{LETTERS}\n[[adversary.faults]]\nfrom = ['p2']\nfire = 'p1'"));
    assert_eq!(played.times("p0", 1), [110]);
}

/// At 40 nothing else happens: the next event is p2's timer at 100. What p1 then sends arrives before that.
#[test]
fn a_timer_fires_when_a_moment_has_come() {
    let played = play::<Post>(&format!("{LETTERS}\n[[adversary.faults]]\ntime = 40\nfire = 'p1'"));
    assert_eq!(played.times("p0", 1), [50]);
}

/// Asynchrony ends with the calm phase: an honest node's timers are then its own affair. A liar may do what
/// it likes, and without a timer it turns against its leader.
#[test]
fn in_the_calm_phase_only_a_liars_timer_fires_early() {
    let fault = "[[adversary.faults]]\nfrom = ['p2']\nfire = 'p1'";
    let calm = format!("network.gst = {{ time = 0 }}\n{LETTERS}\n{fault}");
    assert_eq!(play::<Post>(&calm).times("p0", 1), [310]);
    assert_eq!(play::<Post>(&format!("adversary.byzantine = ['p1']\n{calm}")).times("p0", 1), [110]);
}

#[test]
fn without_a_timer_a_liar_suspects_and_an_honest_node_does_nothing() {
    let fault = "[[adversary.faults]]\nfrom = ['p2']\nfire = 'p3'";
    let honest = play::<Post>(&format!("{LETTERS}\n{fault}"));
    assert_eq!(honest.numbers("p0"), [2, 1]);
    let liar = play::<Post>(&format!("adversary.byzantine = ['p3']\n{LETTERS}\n{fault}"));
    assert_eq!(liar.numbers("p0"), [2, 999, 1]);
}

/// Of several timers the one that is due first fires.
#[test]
fn the_earliest_timer_fires() {
    let text = r#"
        protocol.letters = ["300 p1>p0 letter 0.1", "200 p1>p0 letter 0.2", "100 p2>p0 letter 0.1"]
        [[adversary.faults]]
        from = ["p2"]
        fire = "p1"
    "#;
    let played = play::<Post>(text);
    assert_eq!((played.times("p0", 2), played.times("p0", 1)), (vec![110], vec![310]));
}

/// When p1's own timer is the next event, a fault at 90 has already fired it: it does not fire again, and the
/// replay agrees.
#[test]
fn a_timer_that_was_fired_early_is_not_due_any_more() {
    let text = r#"
        protocol.letters = ["100 p1>p0 letter 0.1", "300 p1>p0 letter 0.2"]
        [[adversary.faults]]
        time = 90
        fire = "p1"
    "#;
    let played = play::<Post>(text);
    assert_eq!((played.times("p0", 1), played.times("p0", 2)), (vec![100], vec![310]));
}
