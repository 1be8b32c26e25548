//! Only Byzantine nodes lie: a scenario in which another one does is refused.

use proptest::prelude::*;
use turncoat_core::fault::{All, Believes, Effect, Fault, Form, Mutate, Originate, Persona, Stance, When};
use turncoat_core::ids::{NodeId, NodeSet};
use turncoat_core::runner::execute;
use turncoat_core::scenario::Scenario;
use turncoat_core::sim::Sim;

use super::{cases, draw};
use crate::play::scenario;
use crate::toys::ballot::Ballot;

/// The five ways to lie, as faults of `liar`.
fn lie(way: usize, liar: NodeId, when: When) -> Fault {
    let from = vec![liar.into()];
    let effect = match way {
        0 => Effect::Mutate(Mutate::Named("vote.slot+1".to_owned())),
        1 => Effect::Originate(Originate {
            replay: Some("vote".to_owned()),
            mint: None,
            to: vec![NodeId::replica(1).into()],
        }),
        4 => {
            let stance = Stance {
                of: liar.into(),
                flags: vec![],
                believes: Some(Believes::All(All::All)),
                keeps: None,
            };
            return Fault { when, effect: Effect::Stance(stance) };
        }
        way => {
            let form = if way == 2 { Form::Instance } else { Form::Outgoing };
            let to = vec![NodeId::replica(1)];
            let persona = Persona { of: liar, to, at_view_change: None, edits: vec![], overlap: false, form };
            return Fault { when: When { from: vec![], ..when }, effect: Effect::Persona(persona) };
        }
    };
    Fault { when: When { from, ..when }, effect }
}

fn refusal(scenario: &Scenario) -> String {
    execute::<Ballot>(scenario).expect_err("an honest node does not lie").to_string()
}

proptest! {
    #![proptest_config(cases(200))]

    /// p0 may lie. Whoever else does is named, among whatever other faults the scenario has.
    #[test]
    fn a_lie_of_an_honest_node_is_refused_by_name(
        way in 0..5_usize,
        liar in (1..4_usize).prop_map(NodeId::replica),
        others in proptest::collection::vec(draw::fault(), 0..3),
        place in 0..3_usize,
    ) {
        let mut scenario = scenario::<Ballot>("cluster.over-budget = true");
        scenario.adversary.byzantine = NodeSet::one(NodeId::replica(0));
        scenario.adversary.faults = others;
        let place = place.min(scenario.adversary.faults.len());
        scenario.adversary.faults.insert(place, lie(way, liar, When::default()));
        let error = refusal(&scenario);
        prop_assert!(error.contains(&format!("{liar} is honest")), "{}", error);
        prop_assert!(error.contains("adversary.byzantine"), "{}", error);
    }

    #[test]
    fn an_honest_twin_is_refused_by_name(liar in (1..4_usize).prop_map(NodeId::replica)) {
        let mut scenario = scenario::<Ballot>("");
        scenario.adversary.byzantine = NodeSet::one(NodeId::replica(0));
        scenario.adversary.twins = NodeSet::one(liar);
        let error = refusal(&scenario);
        prop_assert!(error.contains(&liar.to_string()) && error.contains("adversary.byzantine"), "{}", error);
    }
}

/// Not even by chance: the random schedulers' weight for lies falls on liars alone.
#[test]
fn a_weight_for_lies_without_a_liar_changes_nothing() {
    let run = |seed: u32, mutate: u32| {
        let text = format!("seed = {seed}\nscheduler = {{ name = 'async', mutate = {mutate} }}");
        execute::<Ballot>(&scenario::<Ballot>(&text)).unwrap()
    };
    for seed in 0..20 {
        let outcome = run(seed, 50);
        assert_eq!((outcome.injected.mutated, outcome.violations.len()), (0, 0));
        assert!(outcome.injected.refused > 0);
    }
}

/// Nor by hand: a person, a story or a script that lets an honest node lie is told who is honest.
#[test]
fn a_lie_by_hand_is_refused_by_name() {
    let mut sim = Sim::<Ballot>::new();
    let scenario = scenario::<Ballot>("adversary.byzantine = ['p0']\nscheduler.name = 'script'");
    sim.reset_recording(&scenario).unwrap();
    for line in ["deliver c0>p0 request #1", "deliver p0>p1 propose #1", "mutate p0>p2 vote #1 vote.slot+1"] {
        sim.apply(&line.parse().unwrap()).unwrap();
    }
    let refused = sim.apply(&"mutate p1>p2 vote #1 vote.slot+1".parse().unwrap()).unwrap_err();
    assert_eq!(refused.to_string(), "p1 is honest: only a Byzantine node lies");
    let refused = sim.apply(&"suspect p1".parse().unwrap()).unwrap_err();
    assert_eq!(refused.to_string(), "p1 is honest: only a Byzantine node lies");
}
