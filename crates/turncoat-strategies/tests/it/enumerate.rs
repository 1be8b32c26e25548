//! Every plan of a finite universe, once, and none lost to symmetry.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use turncoat_core::Message;
use turncoat_core::fault::{Effect, Fault};
use turncoat_core::hash::Digest;
use turncoat_core::ids::{NodeId, NodeSet, SeatName, Slot, Time, View};
use turncoat_core::message::MutationTable;
use turncoat_core::node::{ClientWork, Cluster, Context, Node, Protocol};
use turncoat_core::outcome::Property;
use turncoat_core::runner::execute;
use turncoat_core::scenario::{
    ClusterSpec, Goal, Latency, Network, Scenario, SchedulerName, Trust, Workload,
};
use turncoat_core::strategy::{Strategy, Universe};

use super::{run, strategy};

/// p0 proposes a number and everybody votes for what it heard. After a while each replica decides the largest number with two votes,
/// and two votes are one too few. So nothing depends on the order of messages, nor on names but p0's.
struct Ballot;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, Message)]
enum Msg {
    #[message(view = *view, phase = 1)]
    Propose { view: View, value: u32 },
    #[message(view = *view, phase = 2)]
    Vote { view: View, value: u32 },
}

#[derive(Default)]
struct Voter {
    voted: bool,
    votes: BTreeMap<NodeId, u32>,
}

#[derive(Default, Debug, Serialize, Deserialize)]
struct Nothing {}

impl Protocol for Ballot {
    const NAME: &'static str = "ballot";
    const ABOUT: &'static str = "two votes decide";
    type Msg = Msg;
    type Timer = ();
    type Replica = Voter;
    type Client = Voter;
    type Config = Nothing;

    fn replica(_: NodeId, _: &Cluster, _: &Nothing) -> Voter {
        Voter::default()
    }
    fn client(_: NodeId, _: &Cluster, _: &Nothing, _: &ClientWork) -> Voter {
        Voter::default()
    }
}

impl Node<Ballot> for Voter {
    fn on_start(&mut self, cx: &mut Context<'_, Ballot>) {
        cx.set_timer((), Time(100));
        if cx.leads(View(0)) {
            cx.broadcast(Msg::Propose { view: View(0), value: 5 });
        }
    }
    fn on_timer(&mut self, (): (), cx: &mut Context<'_, Ballot>) {
        let count = |value: &u32| self.votes.values().filter(|other| *other == value).count();
        if let Some(value) = self.votes.values().copied().filter(|value| count(value) >= 2).max() {
            cx.commit(Slot(1), Digest::of(&value), &[], NodeSet::EMPTY);
        }
    }
    fn on_message(&mut self, from: NodeId, msg: &Msg, cx: &mut Context<'_, Ballot>) {
        match *msg {
            Msg::Propose { view: View(0), value } if !self.voted && from == cx.leader(View(0)) => {
                self.voted = true;
                cx.broadcast(Msg::Vote { view: View(0), value });
            }
            Msg::Vote { view: View(0), value } => drop(self.votes.entry(from).or_insert(value)),
            _ => {}
        }
    }
}

fn base(n: usize, f: usize) -> Scenario {
    let cluster = ClusterSpec { n, f, clients: 0, ..ClusterSpec::default() };
    let network = Network { latency: Latency::Constant(Time(10)), ..Network::default() };
    // There are no clients, so nothing but the timers says when it is over.
    let workload = Workload { goal: Goal::None, ..Workload::default() };
    Scenario {
        cluster: Arc::new(cluster),
        network: Arc::new(network),
        workload: Arc::new(workload),
        ..Scenario::new("ballot")
    }
}

fn made(line: &str, base: &Scenario) -> Box<dyn Strategy + Send> {
    let mut words = line.split_whitespace().map(|word| word.split_once('=').expect("name=value"));
    let params: Vec<_> = words.by_ref().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    turncoat_strategies::make("enumerate", base, &params, &MutationTable::of::<Msg>())
        .expect("it can be made")
}

fn universe(line: &str, base: &Scenario) -> Universe {
    made(line, base).universe().expect("a universe")
}

/// All scenarios, in order.
fn all(line: &str, base: &Scenario) -> Vec<Scenario> {
    let mut strategy = made(line, base);
    let runs = strategy.space().and_then(|space| space.runs()).expect("they are counted");
    (0..runs).map(|index| run(&mut *strategy, index)).collect()
}

fn plan(scenario: &Scenario) -> String {
    format!("{:?}", scenario.adversary.faults)
}

/// The same faults with replicas renamed, in an order that has nothing to do with names.
fn renamed(faults: &[Fault], names: &[usize]) -> Vec<String> {
    let node = |node: NodeId| NodeId::replica(names[node.index()]);
    let sorted = |list: &[NodeId]| -> Vec<NodeId> {
        let set: BTreeSet<NodeId> = list.iter().map(|&one| node(one)).collect();
        set.into_iter().collect()
    };
    let seats = |list: &[SeatName]| -> Vec<SeatName> {
        let nodes: Vec<NodeId> = list.iter().map(|seat| seat.node).collect();
        sorted(&nodes).into_iter().map(SeatName::from).collect()
    };
    let fault = |fault: &Fault| {
        let mut fault = fault.clone();
        (fault.when.from, fault.when.to) = (seats(&fault.when.from), seats(&fault.when.to));
        match &mut fault.effect {
            Effect::Isolate(list) | Effect::Deaf(list) => *list = seats(list),
            Effect::Partition(blocks) => {
                blocks.iter_mut().for_each(|block| *block = seats(block));
                blocks.sort();
            }
            Effect::Fire(seat) => *seat = node(seat.node).into(),
            Effect::Persona(persona) => {
                persona.of = node(persona.of);
                persona.to = sorted(&persona.to);
                persona.at_view_change = persona.at_view_change.as_deref().map(sorted);
            }
            _ => {}
        }
        format!("{fault:?}")
    };
    let mut faults: Vec<String> = faults.iter().map(fault).collect();
    faults.sort();
    faults
}

/// All ways to rename these replicas among themselves, where there are `n`.
fn renamings(n: usize, free: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![(0..n).collect::<Vec<usize>>()];
    for (i, &one) in free.iter().enumerate() {
        for &other in &free[i + 1..] {
            let swapped = all.iter().map(|names| {
                let mut names = names.clone();
                names.swap(one, other);
                names
            });
            all.extend(swapped.collect::<Vec<_>>());
        }
    }
    all.sort();
    all.dedup();
    all
}

/// The plan of all that differ in names alone, whichever of them it is.
fn orbit(faults: &[Fault], names: &[Vec<usize>]) -> Vec<String> {
    names.iter().map(|names| renamed(faults, names)).min().expect("the names as they are")
}

/// Nobody lies first, then comes each fault alone, then each pair whose faults have one liar at most.
#[test]
fn every_plan_has_one_number() {
    let scenarios = all("views=1", &base(4, 1));
    let universe = universe("views=1", &base(4, 1));
    let faults: Vec<String> =
        universe.classes.iter().flat_map(|class| &class.faults).map(|fault| format!("[{fault:?}]")).collect();
    assert_eq!(
        universe.classes.iter().map(|class| class.name).collect::<Vec<_>>(),
        ["lies", "omissions", "faces", "cuts", "timers"]
    );
    assert!(universe.classes.iter().all(|class| !class.faults.is_empty()));
    assert_eq!((plan(&scenarios[0]), scenarios[0].adversary.byzantine), ("[]".to_owned(), NodeSet::EMPTY));
    let singles: Vec<String> = scenarios[1..=faults.len()].iter().map(plan).collect();
    assert_eq!(singles, faults);
    assert!(scenarios[faults.len() + 1..].iter().all(|pair| pair.adversary.faults.len() == 2));
    assert!(scenarios.iter().all(|scenario| scenario.adversary.byzantine.len() <= 1));
    let distinct: BTreeSet<String> = scenarios.iter().map(plan).collect();
    assert_eq!(distinct.len(), scenarios.len());
    assert_eq!((universe.plans, universe.different), (scenarios.len() as u128, scenarios.len() as u128));
    // Four liars who may lie in as many ways, and the network.
    let network = universe.classes[3..].iter().map(|class| class.faults.len()).sum::<usize>();
    let own = (faults.len() - network) / 4;
    let pairs = 4 * own * (own - 1) / 2 + 4 * own * network + network * (network - 1) / 2;
    assert_eq!(scenarios.len(), 1 + faults.len() + pairs);
}

#[test]
fn two_replicas_may_lie_where_f_is_two() {
    let line = "classes=omissions receivers=all";
    let one = all(line, &base(7, 1));
    let two = all(line, &base(7, 2));
    let liars = |scenarios: &[Scenario], count| {
        scenarios.iter().filter(|scenario| scenario.adversary.byzantine.len() == count).count()
    };
    // Three omissions of each of seven replicas.
    assert_eq!((one.len(), liars(&one, 2)), (1 + 21 + 7 * 3, 0));
    assert_eq!((two.len(), liars(&two, 2)), (1 + 21 + 21 * 20 / 2, 21 * 20 / 2 - 7 * 3));
}

#[test]
fn each_plan_runs_under_each_schedule() {
    let line = "faults=1 classes=timers schedules=async,timed,impatient";
    let scenarios = all(line, &base(4, 1));
    assert_eq!(scenarios.len(), 3 * 9);
    let schedules =
        scenarios[..3].iter().map(|scenario| (scenario.scheduler.name, scenario.scheduler.timeout));
    let expected = [(SchedulerName::Timed, 1), (SchedulerName::Async, 1), (SchedulerName::Async, 30)];
    assert_eq!(schedules.collect::<Vec<_>>(), expected);
    assert!(scenarios.chunks(3).all(|three| three.iter().all(|one| plan(one) == plan(&three[0]))));
}

/// Of plans that differ in names alone at least one is left, whoever is interchangeable.
#[test]
fn symmetry_loses_no_plan() {
    let lists = ["p0,p1,p2", "p0,p1,p2", "p0,p1,p2", "p0,p3,p4", "p0,p3,p4"];
    let sets =
        lists.map(|list| list.split(',').map(|name| name.parse::<NodeId>().expect("a replica")).collect());
    let cluster = ClusterSpec { trust: Trust::Sets(sets.to_vec()), ..(*base(5, 1).cluster).clone() };
    let trusting = Scenario { cluster: Arc::new(cluster), ..base(5, 1) };
    for (base, led, classes) in [
        (&base(4, 1), 2, vec![vec![2, 3]]),
        (&base(4, 1), 1, vec![vec![1, 2, 3]]),
        (&base(4, 1), 0, vec![vec![0, 1, 2, 3]]),
        (&base(4, 2), 1, vec![vec![1, 2, 3]]),
        (&trusting, 0, vec![vec![1, 2], vec![3, 4]]),
    ] {
        let n = base.cluster.n;
        let mut names = renamings(n, &classes[0]);
        for more in &classes[1..] {
            let more = renamings(n, more);
            names = names
                .iter()
                .flat_map(|one| more.iter().map(|other| other.iter().map(|&node| one[node]).collect()))
                .collect();
        }
        let line = "views=1 classes=omissions,faces,cuts,timers receivers=sets";
        let less = format!("{line} led={led}");
        let reduced = all(&less, base);
        let alike: Vec<BTreeSet<usize>> =
            universe(&less, base).alike.iter().map(|set| set.iter().map(NodeId::index).collect()).collect();
        let expected: Vec<BTreeSet<usize>> =
            classes.iter().map(|class| class.iter().copied().collect()).collect();
        assert_eq!(alike, expected);
        let orbits = |scenarios: &[Scenario]| -> BTreeSet<Vec<String>> {
            scenarios.iter().map(|scenario| orbit(&scenario.adversary.faults, &names)).collect()
        };
        let complete = all(line, base);
        assert!(reduced.len() < complete.len(), "{} of {}", reduced.len(), complete.len());
        assert_eq!(universe(&less, base).plans, complete.len() as u128);
        assert!(orbits(&reduced) == orbits(&complete), "led={led}, n = {n}");
    }
}

/// What is found is the same, but for names.
#[test]
fn symmetry_loses_no_violation() {
    let base = base(4, 1);
    let names = renamings(4, &[1, 2, 3]);
    let violating = |line: &str| {
        let mut found = BTreeSet::new();
        let scenarios = all(line, &base);
        for scenario in &scenarios {
            let outcome = execute::<Ballot>(scenario).expect("it runs");
            if outcome.violation(Property::Agreement).is_some() {
                found.insert(orbit(&scenario.adversary.faults, &names));
            }
        }
        (scenarios.len(), found)
    };
    let (complete, all) = violating("views=1 receivers=sets");
    let (reduced, some) = violating("views=1 receivers=sets led=1");
    assert!(3 * reduced < complete, "{reduced} of {complete}");
    assert!(!all.is_empty() && all.iter().any(|plan| plan.len() == 2));
    assert!(some == all, "{} of {}", some.len(), all.len());
}

#[test]
fn mistakes_are_answered() {
    let error = |line: &str, base: &Scenario| {
        let params: Vec<_> = line
            .split_whitespace()
            .filter_map(|word| word.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        match turncoat_strategies::make("enumerate", base, &params, &MutationTable::of::<Msg>()) {
            Ok(_) => panic!("{line} is accepted"),
            Err(error) => error.to_string(),
        }
    };
    assert!(
        error("classes=lies,cust", &base(4, 1))
            .contains("there is no `cust`, but lies, omissions, faces, cuts, timers")
    );
    assert!(error("schedules=", &base(4, 1)).contains("name at least one"));
    assert!(error("led=some", &base(4, 1)).contains("not a whole number, nor `all`"));
    assert!(error("receivers=sets", &base(10, 1)).contains("up to 8 replicas"));
    assert!(error("", &base(4, 0)).contains("needs a Byzantine replica"));
    assert!(strategy("enumerate", &base(4, 1)).universe().is_some());
    assert!(strategy("lasting", &base(4, 1)).universe().is_none());
}
