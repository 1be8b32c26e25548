//! Where runs end and what they are judged by: limits by name, checks of one's own, budgets.

use turncoat_core::check::Check;
use turncoat_core::ids::{Seat, Slot};
use turncoat_core::outcome::{End, Property};
use turncoat_core::runner::{Runner, execute};
use turncoat_core::sim::Sim;

use crate::play::{play, scenario};
use crate::toys::ballot::Ballot;
use crate::toys::post::Post;

#[test]
fn a_run_reaches_its_limits_by_name() {
    assert_eq!(play::<Ballot>("limits.steps = 10").outcome.end, End::Limit("steps"));
    assert_eq!(play::<Ballot>("limits.in-flight = 3").outcome.end, End::Limit("in-flight"));
    let letters: Vec<String> = (1..500).map(|at| format!("'{at} p0>p1 card'")).collect();
    let endless = format!("workload.goal = {{ height = 1 }}\nprotocol.letters = [{}]", letters.join(", "));
    let end = play::<Post>(&format!("limits.time = 100\n{endless}")).outcome;
    assert_eq!(end.end, End::Limit("time"));
    assert!(end.time.0 < 200, "the clock is looked at every now and then");
    let done = play::<Ballot>("");
    assert_eq!((done.outcome.end, done.outcome.commits), (End::Goal, 8));
    done.holds();
}

/// p3 is the last to hear of view 1, at 60. What p0 sent at 55 still arrives; what it would send at 80 does not.
#[test]
fn a_run_may_end_when_all_have_left_some_views() {
    let letters = "protocol.letters = ['10 p0>p1,p2 letter 1.0', '50 p0>p3 letter 1.0', '55 p0>* letter 2.0', \
                   '80 p0>* letter 2.0']\nworkload.goal = 'none'";
    let played = play::<Post>(&format!("limits = {{ views = 1, linger = 0 }}\n{letters}"));
    assert_eq!(played.outcome.end, End::Limit("views"));
    assert_eq!((played.numbers("p1"), played.numbers("p3")), (vec![1, 3], vec![2, 3]));
    let played = play::<Post>(letters);
    assert_eq!((played.outcome.end, played.numbers("p1")), (End::Quiet, vec![1, 3, 4]));
}

/// A run without a goal goes on when all is done, and owes nothing when it cannot go on.
#[test]
fn a_run_without_a_goal_is_not_judged_for_termination() {
    let stuck = "[[adversary.faults]]\nround = 1\ndrop = true\nkind = 'propose'";
    assert!(play::<Ballot>(stuck).violates(Property::Termination));
    let aimless = play::<Ballot>(&format!("workload.goal = 'none'\n{stuck}"));
    assert_eq!(aimless.holds().outcome.end, End::Quiet);
}

/// Without a calm phase nothing was promised yet. With one, a run that ran into its limit was too slow.
#[test]
fn termination_is_judged_after_the_calm_phase() {
    assert!(
        !play::<Ballot>("limits.steps = 4\nnetwork.gst = { time = 100 }").violates(Property::Termination)
    );
    let bounded = play::<Ballot>("limits.steps = 20");
    let violation = bounded.outcome.violation(Property::Termination).expect("calm from step 10 on");
    assert_eq!(violation.rule, "bounded");
    let stuck = play::<Ballot>("[[adversary.faults]]\nround = 1\ndrop = true\nkind = 'propose'");
    assert_eq!(stuck.outcome.violation(Property::Termination).map(|v| v.rule), Some("deadlock"));
    assert_eq!(stuck.outcome.end, End::Quiet);
}

/// Nobody decides anything here: a check is judged when a node asks for it, which p1 does when a card arrives, and at the
/// end.
#[test]
fn a_node_may_ask_for_the_checks() {
    let letters = |kind: &str| {
        let letters = format!("['10 p0>p1 letter 0.1', '50 p0>p1 {kind}', '90 p0>p2 letter 0.1']");
        let scenario = scenario::<Post>(&format!("protocol.letters = {letters}\nworkload.goal = 'none'"));
        let mut sim = Sim::<Post>::new();
        sim.add_check(Check {
            name: "p1-is-lonely",
            judge: Box::new(|sim| match sim.replica(Seat(1)) {
                Some(p1) if !p1.heard.is_empty() => Err(format!("p1 has heard {:?}", p1.heard)),
                _ => Ok(()),
            }),
        });
        let outcome = sim.execute(&scenario).unwrap();
        let violation = outcome.violation(Property::Custom).expect("p1 hears something").clone();
        (violation.step, violation.detail)
    };
    assert_eq!(letters("card"), (4, "p1-is-lonely: p1 has heard [1, 2]".to_owned()));
    assert_eq!(letters("letter 0.1").0, 6, "at the end");
}

/// A short run had no time to terminate, and is judged for everything else.
#[test]
fn a_short_run_is_judged_for_safety_alone() {
    let short = play::<Ballot>("limits.short = 20");
    assert_eq!((short.outcome.end, short.outcome.steps), (End::Limit("short"), 20));
    assert!(!short.violates(Property::Termination));
    assert!(play::<Ballot>("limits = { short = 30, steps = 20 }").violates(Property::Termination));
    assert_eq!(play::<Ballot>("limits.short = 5000").outcome.end, End::Goal, "longer than it takes");
    let stuck = "limits.short = 5000\n[[adversary.faults]]\nround = 1\ndrop = true\nkind = 'propose'";
    assert!(play::<Ballot>(stuck).violates(Property::Termination), "nothing is left to happen");
}

/// A rule that no general checker knows: p3 never decides slot 2.
#[test]
fn a_check_of_ones_own_is_judged_by_its_name() {
    let scenario = scenario::<Ballot>("");
    let mut sim = Sim::<Ballot>::new();
    sim.add_check(Check {
        name: "p3-stays-behind",
        judge: Box::new(|sim| match sim.ledger().decided(Seat(3), Slot(2)) {
            None => Ok(()),
            Some(value) => Err(format!("p3 decided {value}")),
        }),
    });
    let outcome = sim.execute(&scenario).unwrap();
    let violation = outcome.violation(Property::Custom).expect("p3 decides");
    assert_eq!(violation.rule, "p3-stays-behind");
    assert!(violation.detail.contains("p3 decided") && violation.step > 0, "{violation}");
    assert_eq!(sim.execute(&scenario).as_ref(), Ok(&outcome), "a check stays from run to run");
    assert_eq!(execute::<Ballot>(&scenario).unwrap().violations.len(), 0);
}

#[test]
fn too_many_faulty_replicas_are_refused_or_marked() {
    let liars = "adversary.byzantine = ['p1', 'p2']";
    let liar_and_crash = "adversary.byzantine = ['p1']\n[[adversary.faults]]\ntime = 5\ncrash = 'p2'";
    let crashing_liar = "adversary.byzantine = ['p1']\n[[adversary.faults]]\ntime = 5\ncrash = 'p1'";
    for text in [liars, liar_and_crash] {
        let error = execute::<Ballot>(&scenario::<Ballot>(text)).unwrap_err().to_string();
        assert!(error.contains("exceed f = 1") && error.contains("{p1,p2}"), "{error}");
        let played = play::<Ballot>(&format!("cluster.over-budget = true\n{text}"));
        assert!(played.outcome.over_budget);
    }
    assert!(!play::<Ballot>(crashing_liar).outcome.over_budget, "one and the same");
    assert!(!play::<Ballot>("cluster.over-budget = true").outcome.over_budget, "allowed, and not used");
}
