//! Every scenario can run: a toy protocol accepts it, and shows the same run twice.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use turncoat_core::Message;
use turncoat_core::ids::{NodeId, NodeSet, View};
use turncoat_core::node::{ClientWork, Cluster, Context, Node, Protocol};
use turncoat_core::outcome::{Injected, Outcome};
use turncoat_core::rng::run_seed;
use turncoat_core::runner::{Runner, execute};
use turncoat_core::scenario::{ClusterSpec, Scenario, Seed};
use turncoat_core::schedule::Action;
use turncoat_core::sim::Sim;

use super::{LINES, run, strategy};

/// Replicas go from view to view together, up to the tenth.
struct Toy;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, Message)]
pub(crate) enum Msg {
    #[message(view = *view, phase = 1)]
    Enter { view: View },
}

#[derive(Default)]
struct Walker {
    view: View,
    heard: NodeSet,
}

#[derive(Default, Debug, Serialize, Deserialize)]
struct Nothing {}

impl Protocol for Toy {
    const NAME: &'static str = "toy";
    const ABOUT: &'static str = "replicas go from view to view together";
    type Msg = Msg;
    type Timer = ();
    type Replica = Walker;
    type Client = Walker;
    type Config = Nothing;

    fn replica(_: NodeId, _: &Cluster, _: &Nothing) -> Walker {
        Walker::default()
    }
    fn client(_: NodeId, _: &Cluster, _: &Nothing, _: &ClientWork) -> Walker {
        Walker::default()
    }
}

impl Node<Toy> for Walker {
    fn on_start(&mut self, cx: &mut Context<'_, Toy>) {
        cx.broadcast(Msg::Enter { view: self.view });
    }
    fn on_message(&mut self, from: NodeId, Msg::Enter { view }: &Msg, cx: &mut Context<'_, Toy>) {
        if *view == self.view && self.heard.insert(from) && self.heard.len() == cx.cluster().quorum() {
            *self = Self { view: view.next(), heard: NodeSet::EMPTY };
            if self.view < View(10) {
                cx.broadcast(Msg::Enter { view: self.view });
            }
        }
    }
}

fn base() -> Scenario {
    let cluster = ClusterSpec { clients: 0, ..ClusterSpec::default() };
    Scenario { cluster: Arc::new(cluster), ..Scenario::new("toy") }
}

fn outcomes(line: &str) -> Vec<Outcome> {
    let mut strategy = strategy(line, &base());
    let scenario = |index| Scenario { seed: Seed(index), ..run(&mut *strategy, index) };
    (0..100).map(scenario).map(|scenario| execute::<Toy>(&scenario).unwrap()).collect()
}

#[test]
fn every_scenario_runs_and_runs_the_same_again() {
    for line in LINES.into_iter().chain(["lasting stances=100", "swarm stances=100", "stalls stances=100"]) {
        assert_eq!(outcomes(line), outcomes(line), "{line}");
    }
}

/// The script of an adversary's choices shows the same run without it, and only liars lie in it.
#[test]
fn what_divergence_chooses_is_a_script() {
    let mut lies = 0;
    for line in ["divergence", "divergence bias=100 lies=100 scope=crafted", "divergence bias=0 timeout=30"] {
        let mut strategy = strategy(line, &base());
        for index in 0..200 {
            let drawn = Scenario { seed: Seed(index), ..run(&mut *strategy, index) };
            let adversary = strategy.online().expect("an adversary for each run");
            let (script, outcome) = Sim::<Toy>::new().execute_online(&drawn, adversary).unwrap();
            assert_eq!(execute::<Toy>(&script).as_ref(), Ok(&outcome), "{line}, run {index}");
            assert_eq!(script.adversary, drawn.adversary);
            for action in &script.scheduler.script {
                match action {
                    Action::Mutate(message, ..) => {
                        assert!(drawn.adversary.byzantine.contains(message.src.node));
                        lies += 1;
                    }
                    Action::Deliver(_) | Action::Fire(..) | Action::Wait => {}
                    other => panic!("{line}: {other}"),
                }
            }
            assert!(!outcome.over_budget && outcome.injected.lost == 0);
        }
    }
    assert!(lies > 100, "{lies}");
}

#[test]
fn faults_meet_messages_where_there_are_any() {
    let sum = |line, count: fn(&Injected) -> u32| {
        outcomes(line).iter().map(|outcome| count(&outcome.injected)).sum::<u32>()
    };
    assert_eq!(sum("none", |injected| injected.faults + injected.dropped + injected.mutated), 0);
    assert_eq!(sum("byzzfuzz c=0 d=0", |injected| injected.faults), 0);
    assert_eq!(sum("byzzfuzz c=0 d=1", |injected| injected.mutated), 0);
    for line in ["random", "byzzfuzz"] {
        assert!(sum(line, |injected| injected.dropped) > 0, "{line}");
        assert!(sum(line, |injected| injected.mutated) > 0, "{line}");
    }
}

/// Runs of a campaign that learns: what came out of each, and the run that each was made from.
fn learnt(line: &str, runs: u64) -> Vec<(Outcome, Option<u64>)> {
    let mut strategy = strategy(line, &base());
    assert!(strategy.learns());
    let run = |index| {
        let scenario = Scenario { seed: Seed(run_seed(0, index)), ..run(&mut *strategy, index) };
        let parent = strategy.parent();
        let outcome = execute::<Toy>(&scenario)
            .unwrap_or_else(|error| panic!("{line}: {error}\n{}", scenario.to_toml()));
        strategy.observe(&scenario, &outcome);
        (outcome, parent)
    };
    (0..runs).map(run).collect()
}

#[test]
fn what_learns_learns_the_same_again_and_names_the_run_that_it_learnt_from() {
    for line in ["evolve", "evolve keep=new", "evolve fresh=10", "evolve most=3 fresh=10"] {
        let runs = learnt(line, 2000);
        assert_eq!(runs, learnt(line, 2000), "{line}");
        let children = runs.iter().filter(|(_, parent)| parent.is_some()).count();
        assert!(children > 500, "{line}: {children} children");
        for (index, (_, parent)) in runs.iter().enumerate() {
            assert!(parent.is_none_or(|parent| parent < index as u64), "{line}: run {index} of {parent:?}");
        }
    }
}

#[test]
fn twins_may_lie_besides() {
    let told = |line| outcomes(line).iter().map(|outcome| outcome.injected.mutated).sum::<u32>();
    assert_eq!(told("twins rounds=3"), 0);
    assert!(told("twins rounds=3 lies=2") > 0);
}
