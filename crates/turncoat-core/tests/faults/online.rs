//! Adversaries that choose on the way: what they chose is a script, and they can do no more than a script can.

use proptest::prelude::*;
use turncoat_core::ids::{NodeId, NodeSet};
use turncoat_core::message::Lie;
use turncoat_core::online::{Alarm, Envelope, OnlineAdversary, Position};
use turncoat_core::outcome::{Outcome, Property};
use turncoat_core::rng::Rng;
use turncoat_core::runner::{Runner, execute};
use turncoat_core::scenario::{Scenario, ScenarioError, SchedulerName, Seed};
use turncoat_core::schedule::Action;
use turncoat_core::sim::Sim;

use crate::play::{Toy, play_scenario, scenario};
use crate::properties::{cases, draw};
use crate::toys::ballot::Ballot;
use crate::toys::relay::Relay;

/// Does anything that may be done, so many times.
struct Whim(u32);

impl Whim {
    /// A step that is possible, or none of this sort is.
    fn draw(
        messages: &[Envelope],
        timers: &[Alarm],
        position: &dyn Position,
        rng: &mut Rng,
    ) -> Option<Action> {
        let any = |rng: &mut Rng| messages.get(rng.index(messages.len().max(1)));
        let replica = |rng: &mut Rng| NodeId::replica(rng.index(position.cluster().n));
        Some(match rng.below(20) {
            0 => any(rng)?.drop(),
            1 => Action::Duplicate(any(rng)?.name()),
            2 => Action::Delay(any(rng)?.name(), u64::from(rng.below(50))),
            3..6 => {
                let liars = position.byzantine();
                let message = messages.iter().rfind(|message| liars.contains(message.src.node))?;
                let table = position.lies();
                let kind = |&(kind, _): &(u8, Lie)| table.kinds()[usize::from(kind)] == message.kind;
                let lies: Vec<(u8, Lie)> = table.lies().filter(kind).collect();
                let &(kind, lie) = rng.pick(&lies);
                message.lie(&table.name(kind, lie), rng.bits())
            }
            6 => timers.get(rng.index(timers.len().max(1)))?.fire(),
            7 => Action::Split(NodeSet::one(replica(rng))),
            8 => Action::Heal,
            9 => {
                let node = replica(rng);
                let replicas = position.cluster().replicas();
                let room = position.faulty().and(replicas).len() < position.cluster().f;
                (room || position.faulty().contains(node)).then(|| Action::Crash(node.into()))?
            }
            10 => Action::Restart(replica(rng).into(), rng.below(2) == 0),
            11 => Action::Suspect(position.byzantine().iter().next()?.into()),
            _ => any(rng)?.deliver(),
        })
    }
}

impl OnlineAdversary for Whim {
    fn next(&mut self, position: &dyn Position, rng: &mut Rng) -> Option<Action> {
        self.0 = self.0.checked_sub(1)?;
        let messages = position.messages();
        let timers = position.timers();
        assert!(messages.len() + timers.len() > 0, "there is something to choose");
        let drawn = Self::draw(&messages, &timers, position, rng);
        drawn.or_else(|| Some(messages.first()?.deliver())).or_else(|| Some(timers.first()?.fire()))
    }
}

/// Answers what it is told to.
struct Obedient(Vec<&'static str>);

impl OnlineAdversary for Obedient {
    fn next(&mut self, _: &dyn Position, _: &mut Rng) -> Option<Action> {
        let line = if self.0.len() > 1 { self.0.remove(0) } else { *self.0.first()? };
        Some(line.parse().expect("a step"))
    }
}

fn online<P: Toy>(
    scenario: &Scenario,
    adversary: impl OnlineAdversary + 'static,
) -> Result<(Scenario, Outcome), ScenarioError> {
    Sim::<P>::new().execute_online(scenario, Box::new(adversary))
}

proptest! {
    #![proptest_config(cases(400))]

    /// Whatever faults the scenario has beside the adversary, and whoever has used the simulation before.
    #[test]
    fn what_was_chosen_is_a_script_that_shows_the_same_run(
        draw::Case(scenario) in draw::runnable(),
        most in 0..300_u32,
    ) {
        let mut used = Sim::<Ballot>::new();
        let (script, outcome) = used.execute_online(&scenario, Box::new(Whim(most))).unwrap();
        prop_assert_eq!(script.scheduler.name, SchedulerName::Script);
        prop_assert!(script.scheduler.script.len() <= 400 + most as usize);
        prop_assert_eq!(&Scenario::parse(&script.to_toml()).unwrap(), &script);
        prop_assert_eq!(&used.execute(&script).unwrap(), &outcome);
        prop_assert_eq!(&execute::<Ballot>(&script).unwrap(), &outcome);
        prop_assert_eq!(&used.record(&script).unwrap().0, &outcome);
        // The same seed, the same choices.
        prop_assert_eq!(used.execute_online(&scenario, Box::new(Whim(most))).unwrap(), (script, outcome));
    }
}

#[test]
fn another_protocol_replays_too() {
    for seed in 0..100 {
        let scenario = Scenario { seed: Seed(seed), ..scenario::<Relay>("") };
        let (script, outcome) = online::<Relay>(&scenario, Whim(200)).unwrap();
        assert_eq!(execute::<Relay>(&script).as_ref(), Ok(&outcome));
        play_scenario::<Relay>(&script);
    }
}

/// Two votes decide, and p0 may lie: of what it does at random, some breaks agreement. What replays shows it too.
#[test]
fn a_planted_bug_is_found_and_its_control_is_not() {
    let violations = |flags: &str| {
        let base = format!("adversary.byzantine = ['p0']\nprotocol.flags = [{flags}]");
        let scenario = scenario::<Ballot>(&base);
        let run =
            |seed| online::<Ballot>(&Scenario { seed: Seed(seed), ..scenario.clone() }, Whim(100)).unwrap();
        let splits = |(script, outcome): &(Scenario, Outcome)| {
            let split = outcome.violation(Property::Agreement).is_some();
            split && execute::<Ballot>(script).unwrap().violations == outcome.violations
        };
        (0..300).map(run).filter(splits).count()
    };
    assert!(violations("'weak-quorum'") > 0);
    assert_eq!(violations(""), 0);
}

/// Only p0 may lie, and with it nobody else may stop.
#[test]
fn no_more_than_f_are_faulty() {
    for byzantine in ["", "'p0'"] {
        let mut stopped = 0;
        for seed in 0..100 {
            let base = scenario::<Ballot>(&format!("adversary.byzantine = [{byzantine}]"));
            let (script, outcome) =
                online::<Ballot>(&Scenario { seed: Seed(seed), ..base }, Whim(100)).unwrap();
            let mut faulty = script.adversary.byzantine;
            for action in &script.scheduler.script {
                match action {
                    Action::Crash(seat) => stopped += u32::from(faulty.insert(seat.node)),
                    Action::Mutate(message, ..) => {
                        assert!(script.adversary.byzantine.contains(message.src.node));
                    }
                    _ => {}
                }
            }
            assert!(faulty.len() <= 1 && !outcome.over_budget, "{faulty}");
        }
        assert_eq!(stopped > 0, byzantine.is_empty());
    }
}

#[test]
fn an_impossible_choice_is_an_error_that_says_why() {
    let base = "adversary.byzantine = ['p0']\ncluster.over-budget = true";
    let propose = "deliver c0>p0 request #1";
    for (lines, words) in [
        (
            vec![propose, "deliver p0>p1 vote #9"],
            "`deliver p0>p1 vote #9` after 1 events: no `p0>p1 vote #9` is in flight",
        ),
        (
            vec![propose, "deliver p0>p1 propose #1", "mutate p1>p2 vote #1 vote.slot+1"],
            "p1 is honest: only a Byzantine node lies",
        ),
        (vec!["mutate p0>p1 propose #1 propose.slot+1"], "no `p0>p1 propose #1` is in flight"),
        (vec![propose, "mutate p0>p1 propose #1 vote.slot+1"], "no mutation `vote.slot+1` for a `propose`"),
        (vec!["suspect p2"], "p2 is honest"),
        (vec!["crash p2"], "{p0,p2} exceed f = 1"),
        (vec!["fire p2"], "p2 has no such timer armed"),
        (vec!["heal"], "1000 choices in a row made nothing happen"),
        (vec!["duplicate c0>p0 request #1"], "1000 choices in a row made nothing happen"),
    ] {
        let error = online::<Ballot>(&scenario::<Ballot>(base), Obedient(lines)).unwrap_err().to_string();
        assert!(error.contains("the online adversary chose") && error.contains(words), "{error}");
    }
}

/// A lie that changes nothing is no mistake: whoever sees no content cannot know. It does not happen, and is not written down.
#[test]
fn a_lie_that_changes_nothing_is_not_told() {
    let base = scenario::<Ballot>("adversary.byzantine = ['p0']\nworkload.requests = 1\ncluster.clients = 1");
    let lines = [
        "deliver c0>p0 request #1",
        "mutate p0>p1 propose #1 propose.request=other",
        "deliver p0>p1 propose #1",
        "calm",
    ];
    let (script, outcome) = online::<Ballot>(&base, Obedient(lines.to_vec())).unwrap();
    let told: Vec<String> = script.scheduler.script.iter().map(Action::to_string).collect();
    assert_eq!((told, outcome.injected.mutated), (vec![lines[0].to_owned(), lines[2].to_owned()], 0));
}

/// Faults of the scenario that have a moment of their own do not wait for the adversary to think of them.
#[test]
fn what_is_due_happens_by_itself() {
    let base = "adversary.faults = [{ step = 5, crash = 'p3' }]\nworkload.goal = 'none'";
    let (script, outcome) = online::<Ballot>(&scenario::<Ballot>(base), Whim(50)).unwrap();
    assert!(script.scheduler.script.contains(&Action::Wait));
    assert!(outcome.injected.faults > 0);
    assert_eq!(execute::<Ballot>(&script).as_ref(), Ok(&outcome));
}

/// It has its say until the network is to calm down, and none where it is calm from the start.
#[test]
fn a_calm_network_is_left_alone() {
    let chosen = |text: &str| {
        let (script, outcome) = online::<Ballot>(&scenario::<Ballot>(text), Whim(u32::MAX)).unwrap();
        assert!(outcome.calm);
        assert_eq!(execute::<Ballot>(&script).as_ref(), Ok(&outcome));
        script.scheduler.script.len()
    };
    assert_eq!(chosen("network.gst = { time = 0 }"), 0);
    for text in ["network.gst = { deliveries = 3 }", "network.gst = { time = 10 }", "limits.steps = 20"] {
        assert!((1..100).contains(&chosen(text)), "{text}: {}", chosen(text));
    }
}

/// A scenario that has a script of its own goes on from its end.
#[test]
fn a_script_comes_before_the_choices() {
    let own =
        "scheduler = { name = 'script', script = ['deliver c0>p0 request #1', 'drop p0>p3 propose #1'] }";
    let base = scenario::<Ballot>(own);
    let (script, outcome) = online::<Ballot>(&base, Whim(30)).unwrap();
    let [own, whole] = [&base, &script].map(|scenario| &scenario.scheduler.script);
    assert_eq!(&whole[..2], &own[..]);
    assert!(whole.len() > 2);
    assert_eq!(execute::<Ballot>(&script).as_ref(), Ok(&outcome));
}
