//! Two-faced leaders and voters: one lasting lie, told by a second instance of the same identity.

use turncoat_core::outcome::Property;

use crate::play::{Played, play};
use crate::toys::ballot::Ballot;

/// p0 leads and lies. The clients ask for a and b, a comes first.
fn two_faced(persona: &str, rest: &str) -> Played {
    play::<Ballot>(&format!(
        "{rest}\nadversary.byzantine = ['p0']\n[[adversary.faults]]\npersona = {{ of = 'p0', {persona} }}"
    ))
}

const WEAK: &str = "protocol.flags = ['weak-quorum']";

/// To p1 and p2 slot 1 is b. Their votes and the liar's make a quorum of three; p3, who was told a, has two
/// votes. That is enough for a toy that commits on f+1.
#[test]
fn a_lie_gathers_its_own_quorum() {
    let lie = "to = ['p1', 'p2'], edits = [{ sub = { slot = 1, with = 0 } }]";
    for fixed in [two_faced(lie, ""), two_faced(lie.replace("sub", "world").as_str(), "")] {
        assert!(!fixed.violates(Property::Agreement));
        assert_eq!(fixed.decided("p1"), fixed.decided("p2"));
        assert_eq!((fixed.decided("p1").len(), fixed.decided("p3").len()), (2, 0));
    }
    let broken = two_faced(lie, WEAK);
    assert!(broken.violates(Property::Agreement));
    assert_ne!(broken.decided("p1")[0], broken.decided("p3")[0]);
    assert_eq!(broken.decided("p1"), broken.decided("p2"));
    let value_of_a = play::<Ballot>("").decided("p1")[0].clone();
    assert_eq!((broken.decided("p3")[0] == value_of_a, broken.decided("p1")[0] == value_of_a), (true, false));
}

#[test]
fn a_face_with_its_own_order_of_requests_tells_the_same_lie() {
    let broken = two_faced("to = ['p1', 'p2'], edits = ['own-order']", WEAK);
    let sub = two_faced("to = ['p1', 'p2'], edits = [{ sub = { slot = 1, with = 0 } }]", WEAK);
    assert!(broken.violates(Property::Agreement));
    assert_eq!(broken.decided("p1"), sub.decided("p1"));
}

/// With equal input a second instance says what the first one says.
#[test]
fn a_face_without_edits_changes_nothing() {
    for who in ["to = ['p1']", "to = ['p1', 'p2', 'p3']", "to = []"] {
        let played = two_faced(who, WEAK);
        assert_eq!(played.holds().decided("p3"), play::<Ballot>("").decided("p3"));
    }
}

#[test]
fn each_receiver_hears_one_face_and_both_faces_hear_everybody() {
    let played = two_faced("to = ['p1'], edits = ['own-order']", "");
    let from = |who: &str, liar: &str| played.heard(who).iter().any(|line| line.contains(liar));
    assert_eq!((from("p1", "p0.a:"), from("p1", "p0.b:")), (false, true));
    assert_eq!((from("p2", "p0.a:"), from("p2", "p0.b:")), (true, false));
    for face in ["p0.a", "p0.b"] {
        assert!(["p1:", "p2:", "p3:", "c0:", "c1:"].iter().all(|who| from(face, who)), "{face}");
        assert!(!from(face, "p0."), "faces do not hear each other");
    }
}

#[test]
fn with_overlap_a_receiver_hears_both_faces() {
    let played = two_faced("to = ['p1'], overlap = true, edits = ['own-order']", "");
    let proposals = |face: &str| {
        played.heard("p1").iter().filter(|line| line.contains(&format!("{face}: propose"))).count()
    };
    assert_eq!((proposals("p0.a"), proposals("p0.b")), (2, 2));
}

/// p3's second face never heard of slot 1, so p1 gets no vote of p3's for it; everybody else does.
#[test]
fn a_face_that_forgot_a_slot_does_not_vote_in_it() {
    let votes = |edit: &str, who: &str| {
        let played = play::<Ballot>(&format!(
            "adversary.byzantine = ['p3']\n[[adversary.faults]]\n\
             persona = {{ of = 'p3', to = ['p1'], edits = [{edit}] }}"
        ));
        let lines = played.holds().heard(who);
        let slot = |line: &String| line.split("slot=").nth(1)?.split(' ').next()?.parse::<u32>().ok();
        let votes = lines.iter().filter(|line| line.contains("p3.") && line.contains("vote"));
        votes.filter_map(slot).collect::<Vec<u32>>()
    };
    assert_eq!((votes("{ forget = 1 }", "p1"), votes("{ forget = 1 }", "p2")), (vec![2], vec![1, 2]));
    assert_eq!((votes("{ stale = 2 }", "p1"), votes("{ stale = 2 }", "p2")), (vec![1], vec![1, 2]));
    assert_eq!((votes("'mute'", "p1"), votes("'mute'", "p2")), (vec![], vec![1, 2]));
}

/// A face that wakes up later is a copy of the first one at that moment: here it knows slot 1 and is silent
/// from slot 2 on.
#[test]
fn a_face_may_wake_up_later() {
    let played = play::<Ballot>(
        r#"
        adversary.byzantine = ["p0"]
        [[adversary.faults]]
        kind = "propose"
        nth = 1
        persona = { of = "p0", to = ["p1"], edits = ["mute"] }
    "#,
    );
    let slots = |who: &str| played.heard(who).iter().filter(|line| line.contains("propose")).count();
    assert_eq!((slots("p1"), slots("p2")), (1, 2));
}

/// Slot 1 was led before the second face woke. The lie is about slot 2, and that is where it is told: c
/// instead of b.
#[test]
fn a_face_that_woke_up_later_counts_slots_as_everybody_does() {
    let played = play::<Ballot>(
        r#"
        adversary.byzantine = ["p0"]
        cluster.clients = 3
        workload = { requests = 3, ops = ["a", "b", "c"] }
        [[adversary.faults]]
        from = ["c1", "c2"]
        delay = 100
        [[adversary.faults]]
        kind = "vote"
        from = ["p1"]
        persona = { of = "p0", to = ["p1"], edits = [{ sub = { slot = 2, with = 1 } }] }
    "#,
    );
    let proposal = |who: &str, slot: u32| {
        let lines = played.heard(who);
        let line = lines.iter().find(|line| line.contains(&format!("propose slot={slot} "))).cloned();
        line.map(|line| line.split(':').next_back().unwrap_or_default().to_owned())
    };
    assert_eq!((proposal("p1", 1), proposal("p2", 1)), (Some("a".to_owned()), Some("a".to_owned())));
    assert_eq!((proposal("p1", 2), proposal("p2", 2)), (Some("c".to_owned()), Some("b".to_owned())));
}

/// What is held back on its way to the identity reaches all its faces in the end.
#[test]
fn a_held_message_reaches_every_face() {
    let played = play::<Ballot>(
        r#"
        adversary.byzantine = ["p3"]
        [[adversary.faults]]
        kind = "propose"
        to = ["p3"]
        hold = true
        [[adversary.faults]]
        persona = { of = "p3", to = ["p1"] }
    "#,
    );
    let proposals = |face: &str| played.heard(face).iter().filter(|line| line.contains("propose")).count();
    assert_eq!((proposals("p3.a"), proposals("p3.b")), (2, 2));
}

/// The outgoing form edits what the only instance sends: its proposal and its vote for p1 and p2 read b.
#[test]
fn the_outgoing_form_needs_no_second_instance() {
    let lie = "to = ['p1', 'p2'], form = 'outgoing', edits = [{ sub = { slot = 1, with = 0 } }]";
    let broken = two_faced(lie, WEAK);
    assert!(broken.violates(Property::Agreement));
    assert_ne!(broken.decided("p1")[0], broken.decided("p3")[0]);
    assert!(!two_faced(lie, "").violates(Property::Agreement));
    assert!(broken.heard("p1").iter().all(|line| !line.contains("p0.b")));
}

/// The first persona makes slot 1 another, the second says nothing in it: together they say nothing.
#[test]
fn outgoing_faces_compose() {
    let played = play::<Ballot>(
        r#"
        adversary.byzantine = ["p0"]
        [[adversary.faults]]
        persona = { of = "p0", to = ["p1"], form = "outgoing", edits = [{ sub = { slot = 1, with = 0 } }] }
        [[adversary.faults]]
        persona = { of = "p0", to = ["p1"], form = "outgoing", edits = [{ forget = 1 }] }
    "#,
    );
    let proposals: Vec<String> =
        played.heard("p1").into_iter().filter(|line| line.contains("propose")).collect();
    assert!(proposals.len() == 1 && proposals[0].contains("slot=2"), "{proposals:?}");
}
