//! Liars that depart from the protocol throughout: they believe their own lies, run other code, and keep things back.

use turncoat_core::outcome::Property;
use turncoat_core::record::How;
use turncoat_core::runner::Runner;
use turncoat_core::sim::Sim;

use crate::play::{Played, play, scenario};
use crate::toys::ballot::Ballot;
use crate::toys::post::Post;

/// p0 proposes a for slot 2 and b for slot 3, to some or all; p3 hears nothing of p1.
const SHIFTED: &str = "adversary.byzantine = ['p0']\n[[adversary.faults]]\nmutate = 'propose.slot+1'";
const SHORT_OF_ONE: &str =
    "[[adversary.faults]]\nfrom = ['p1']\nto = ['p2', 'p3']\nkind = 'vote'\ndrop = true";

fn with_stance(faults: &str, stance: &str) -> Played {
    play::<Ballot>(&format!("{faults}\n[[adversary.faults]]\nstance = {{ of = 'p0', {stance} }}"))
}

/// The slots for which p0 voted, as p1 heard it.
fn votes(played: &Played) -> Vec<u32> {
    let heard = played.heard("p1");
    let votes = heard.iter().filter(|line| line.contains(" p0: vote"));
    let slot = |line: &String| line.split("slot=").nth(1)?.split(' ').next()?.parse().ok();
    votes.filter_map(slot).collect()
}

/// Without a stance p0's own copy is the truth, and it votes for that.
#[test]
fn a_liar_votes_for_its_lie_if_it_believes_it() {
    assert_eq!(votes(&play::<Ballot>(SHIFTED)), [1, 2]);
    assert_eq!(votes(&with_stance(SHIFTED, "believes = 'all'")), [2, 3]);
}

/// p2 and p3 lack a vote: the liar's own decides.
#[test]
fn the_vote_of_a_liar_that_believes_its_lie_counts() {
    let faults = format!("{SHIFTED}\n{SHORT_OF_ONE}");
    let alone = play::<Ballot>(&faults);
    assert!(alone.decided("p2").is_empty());
    let believed = with_stance(&faults, "believes = 'all'");
    let slots: Vec<u32> = believed.decided("p2").iter().map(|(slot, _)| *slot).collect();
    assert_eq!(slots, [2, 3]);
    assert!(!believed.violates(Property::Agreement));
}

/// p1 alone is lied to. The liar believes what it told all, or what it told those whom the stance names.
#[test]
fn who_is_told_a_lie_decides_whether_it_is_believed() {
    let to_p1 = format!("{SHIFTED}\nto = ['p1']");
    for (believes, voted) in [
        ("'all'", [1, 2]),
        ("['p1']", [2, 3]),
        ("['p2']", [1, 2]),
        ("['p1', 'p2']", [1, 2]),
        // Clients are told nothing, so they do not object.
        ("['p1', 'c0']", [2, 3]),
    ] {
        assert_eq!(votes(&with_stance(&to_p1, &format!("believes = {believes}"))), voted, "{believes}");
    }
    // Who is told nothing is not told the truth either.
    let others_cut =
        format!("{to_p1}\n[[adversary.faults]]\nkind = 'propose'\nto = ['p2', 'p3']\ndrop = true");
    assert_eq!(votes(&with_stance(&others_cut, "believes = 'all'")), [2, 3]);
}

/// To keep a message to itself is no statement that one could believe.
#[test]
fn silence_is_not_believed() {
    let silent = SHIFTED.replace("propose.slot+1", "propose.omit");
    assert_eq!(votes(&with_stance(&silent, "believes = 'all'")), [1, 2]);
}

/// Nobody lies, so there is nothing to believe.
#[test]
fn a_liar_that_tells_the_truth_believes_the_truth() {
    let honest = "adversary.byzantine = ['p0']";
    let plain = play::<Ballot>(honest);
    let stance = with_stance(honest, "believes = 'all'");
    assert_eq!(stance.holds().outcome.fingerprint, plain.outcome.fingerprint);
}

/// Nobody hears more than two votes: enough for the liar's own code, and for nobody else's.
#[test]
fn flags_are_those_of_one_node() {
    let deaf = &format!(
        "adversary.byzantine = ['p0']\n{SHORT_OF_ONE}\n\
         [[adversary.faults]]\nfrom = ['p2', 'p3']\nkind = 'vote'\ndrop = true"
    );
    let decided = |played: &Played| ["p0", "p1", "p2", "p3"].map(|who| played.decided(who).len());
    assert_eq!(decided(&play::<Ballot>(deaf)), [0, 0, 0, 0]);
    assert_eq!(decided(&with_stance(deaf, "flags = ['weak-quorum']")), [2, 0, 0, 0]);
    assert_eq!(decided(&with_stance(deaf, "flags = ['unsigned-requests']")), [0, 0, 0, 0]);
    assert_eq!(decided(&with_stance(deaf, "flags = ['weak-quorum', 'unsigned-requests']")), [2, 0, 0, 0]);
    let all = play::<Ballot>(&format!("protocol.flags = ['weak-quorum']\n{deaf}"));
    assert_eq!(decided(&all), [2, 2, 2, 2]);
}

/// b comes late. p0 is in rounds 1 and 2 with a, and then in 3 and 4.
#[test]
fn a_stance_begins_and_ends_with_its_rounds() {
    let faults = "adversary.byzantine = ['p0']\n\
        [[adversary.faults]]\nfrom = ['p2', 'p3']\nkind = 'vote'\ndrop = true\n\
        [[adversary.faults]]\nfrom = ['c1']\ndelay = 200\n\
        [[adversary.faults]]\nround = ";
    let run = |rounds: &str, stance: &str| {
        play::<Ballot>(&format!("{faults}{rounds}\nstance = {{ of = 'p0', {stance} }}"))
    };
    let slots = |played: &Played| played.decided("p0").iter().map(|(slot, _)| *slot).collect::<Vec<_>>();
    let weak = "flags = ['weak-quorum']";
    assert_eq!(slots(&run("[1, 2]", weak)), [1]);
    assert_eq!(slots(&run("{ from = 3 }", weak)), [2]);
    let early = run("[1, 2]", weak);
    assert!(early.noted("runs with the bug flags weak-quorum").is_some());
    assert!(early.noted("without bug flags of its own again").is_some());
    let believing = |rounds: &str| {
        let lie = "[[adversary.faults]]\nfrom = ['p0']\nmutate = 'propose.slot+1'";
        votes(&play::<Ballot>(&format!(
            "{faults}{rounds}\nstance = {{ of = 'p0', believes = 'all' }}\n{lie}"
        )))
    };
    // What it has put into slot 2 by its own lie keeps it from voting for the truth there.
    assert_eq!((believing("[1, 2]"), believing("[3, 4]")), (vec![2], vec![1, 3]));
}

/// The face that p1 and p2 hear decides on f+1 votes, the other one does not.
#[test]
fn one_face_may_have_a_stance_of_its_own() {
    let faults = "adversary.byzantine = ['p0']\n\
        [[adversary.faults]]\nfrom = ['p2', 'p3']\nkind = 'vote'\ndrop = true\n\
        [[adversary.faults]]\npersona = { of = 'p0', to = ['p1', 'p2'] }\n\
        [[adversary.faults]]\nstance = { flags = ['weak-quorum'], of = ";
    let decided = |of: &str| {
        let played = play::<Ballot>(&format!("{faults}'{of}' }}"));
        ["p0.a", "p0.b"].map(|face| played.decided(face).len())
    };
    assert_eq!((decided("p0.a"), decided("p0.b"), decided("p0")), ([2, 0], [0, 2], [2, 2]));
    // Also if it wakes up as a copy of the first one.
    let later = faults.replace("persona", "kind = 'propose'\nnth = 1\npersona");
    let played = play::<Ballot>(&format!("{later}'p0.b' }}"));
    assert_eq!(["p0.a", "p0.b"].map(|face| played.decided(face).len()), [0, 2]);
}

/// After amnesia it is the same liar.
#[test]
fn a_liar_that_starts_anew_keeps_its_stance() {
    let played = with_stance(
        "adversary.byzantine = ['p0']\n\
         [[adversary.faults]]\nfrom = ['p2', 'p3']\nkind = 'vote'\ndrop = true\n\
         [[adversary.faults]]\ntime = 5\ncrash = 'p0'\n\
         [[adversary.faults]]\ntime = 6\nrestart = { node = 'p0', state = false }",
        "flags = ['weak-quorum']",
    );
    assert_eq!(played.decided("p0").len(), 2);
}

/// p0 enters views at 10, 60, 110 and 160.
const VIEWS: &str = r#"
    adversary.byzantine = ["p0"]
    protocol.letters = [
        "10 p0>* letter 0.1", "10 p0>* card", "60 p0>* letter 1.1", "110 p0>* letter 2.1", "160 p0>* letter 3.1",
        "10 p1>* letter 0.1", "400 p1>* card",
    ]
    [[adversary.faults]]
    stance = { of = "p0", keeps = { kind = "letter", views = "#;

#[test]
fn what_is_kept_is_shown_so_many_views_later() {
    let times = |views: u32| {
        let played = play::<Post>(&format!("{VIEWS}{views} }} }}"));
        assert_eq!(
            (played.times("p2", 2), played.times("p2", 6)),
            (vec![20], vec![20]),
            "others come in time"
        );
        [1, 3, 4, 5].map(|no| played.times("p2", no)[0])
    };
    let calm = |at: u64| at > 400;
    let [one, two] = [times(1), times(2)];
    assert_eq!(one[..3], [70, 120, 170]);
    assert_eq!(two[..2], [120, 170]);
    assert!(calm(one[3]) && calm(two[2]) && calm(two[3]), "{one:?} {two:?}");
}

/// What stances bring about is on record, as data and in words.
#[test]
fn a_recording_tells_of_stances() {
    let text = format!(
        "{SHIFTED}\n[[adversary.faults]]\nstance = {{ of = 'p0', believes = 'all', flags = ['weak-quorum'] }}"
    );
    let (_, recording) = Sim::<Ballot>::new().record(&scenario::<Ballot>(&text)).unwrap();
    let [flags, first, second] = &recording.stances[..] else { panic!("{:?}", recording.stances) };
    assert_eq!((flags.step, flags.seat.to_string()), (0, "p0".to_owned()));
    assert_eq!(flags.how, How::Flags(vec!["weak-quorum".to_owned()]));
    for (belief, slot) in [(first, "slot=2"), (second, "slot=3")] {
        assert!(matches!(&belief.how, How::Believed(text) if text.contains(slot)), "{belief:?}");
        let sent = recording.copies.iter().filter(|copy| copy.sent == belief.step && copy.kind == "propose");
        assert!(sent.count() > 0);
    }
}
