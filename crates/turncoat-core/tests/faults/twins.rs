//! Twins: one identity in two seats, each with a state of its own.

use turncoat_core::ids::Seat;
use turncoat_core::outcome::Property;
use turncoat_core::sim::Sim;

use crate::play::{play, scenario};
use crate::toys::ballot::Ballot;

const TWINS: &str = "adversary.byzantine = ['p0']\nadversary.twins = ['p0']";

#[test]
fn twins_hear_everybody_and_each_other() {
    let played = play::<Ballot>(TWINS);
    for (twin, sibling) in [("p0.a", "p0.b:"), ("p0.b", "p0.a:")] {
        let heard = played.heard(twin);
        for who in ["c0:", "c1:", "p1:", "p2:", "p3:", sibling] {
            assert!(heard.iter().any(|line| line.contains(who)), "{twin} hears nothing of {who}");
        }
        let itself = format!("{twin}:");
        assert!(!heard.iter().any(|line| line.contains(&itself)), "an own copy is no message");
    }
    let from_twins = played.heard("p1").iter().filter(|line| line.contains("propose")).count();
    assert_eq!(from_twins, 4, "two proposals of each");
}

/// The clients' requests come in the other order to one twin, and each twin lives with its own receivers. A
/// toy that counts a quorum in each half decides both ways; a correct one does not: three of four votes are
/// not to be had on both sides.
#[test]
fn twins_in_two_blocks_lead_each_block_its_own_way() {
    let faults = r#"
        [[adversary.faults]]
        from = ["c0"]
        to = ["p0.b"]
        delay = 5
        [[adversary.faults]]
        partition = [["p0.a", "p1"], ["p0.b", "p2", "p3"]]
    "#;
    let broken = play::<Ballot>(&format!("protocol.flags = ['weak-quorum']\n{TWINS}\n{faults}"));
    assert!(broken.violates(Property::Agreement));
    assert_ne!(broken.decided("p1")[0], broken.decided("p2")[0]);
    assert_eq!(broken.decided("p2"), broken.decided("p3"));
    let fixed = play::<Ballot>(&format!("{TWINS}\n{faults}"));
    assert!(!fixed.violates(Property::Agreement));
    assert_eq!((fixed.decided("p1").len(), fixed.decided("p2").len()), (0, 2));
}

/// Votes count by identity: two twins are one voter.
#[test]
fn twins_share_one_vote() {
    let text = format!("{TWINS}\n[[adversary.faults]]\nfrom = ['p2', 'p3']\nkind = 'vote'\ndrop = true");
    let played = play::<Ballot>(&format!("network.gst = {{ time = 1000000 }}\n{text}"));
    let early = played.events.iter().filter(|event| event.time.0 < 1000);
    assert!(!early.into_iter().any(|event| event.to_string().contains("commit p1")), "p1 and p0 are two");
}

#[test]
fn twins_have_a_state_each() {
    let text = format!("{TWINS}\n[[adversary.faults]]\nto = ['p0.b']\nisolate = ['p0.b']");
    let mut sim = Sim::<Ballot>::new();
    sim.reset(&scenario::<Ballot>(&text)).unwrap();
    while sim.time().0 < 35 && sim.step() {}
    let seats: Vec<Seat> = sim.seats().of("p0".parse().unwrap()).collect();
    let hash = |seat: Seat| sim.state(seat).unwrap().state_hash();
    assert_eq!(seats.len(), 2);
    assert_ne!(hash(seats[0]), hash(seats[1]));
}

/// A name without a letter means both seats, one with a letter means that one.
#[test]
fn faults_name_one_twin_or_both() {
    let proposals = |from: &str| {
        let played = play::<Ballot>(&format!(
            "{TWINS}\n[[adversary.faults]]\nfrom = ['{from}']\nto = ['p1']\nkind = 'propose'\ndrop = true"
        ));
        played.heard("p1").iter().filter(|line| line.contains("propose")).count()
    };
    assert_eq!((proposals("p0.a"), proposals("p0.b"), proposals("p0")), (2, 2, 0));
}
