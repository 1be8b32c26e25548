//! What a scenario of Twins looks like, what it does, and what the strategy refuses.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use turncoat_core::Message;
use turncoat_core::client::Request;
use turncoat_core::fault::{Effect, Fault, Span};
use turncoat_core::hash::Digest;
use turncoat_core::ids::{NodeId, NodeSet, SeatName, Slot, Time, View};
use turncoat_core::message::{MutationTable, RoundKey};
use turncoat_core::node::{ClientWork, Cluster, Context, Node, Protocol};
use turncoat_core::outcome::{Outcome, Property};
use turncoat_core::runner::execute;
use turncoat_core::scenario::{ClusterSpec, Goal, Gst, Latency, Scenario, Workload};
use turncoat_core::votes::Votes;

use super::{run, runs, strategy};

/// Replicas take turns: in each view, all of the same length, the leader proposes a payload, and who hears it votes for
/// the first that it hears. (Whoever enters a view tells its leader, so that one can see it.) Two of four votes decide, which is one too few: twins that lead two blocks make both decide.
///
/// Its views count from 1, unlike those of the other toys.
struct Turns;

const LENGTH: Time = Time(100);
const LAST: View = View(4);

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, Message)]
enum Msg {
    #[message(view = *view, phase = 1)]
    Enter { view: View },
    #[message(view = *view, phase = 1)]
    Propose { view: View, value: Request },
    #[message(view = *view, phase = 2)]
    Vote { view: View, digest: Digest },
}

#[derive(Default)]
struct Voter {
    view: View,
    voted: Option<Request>,
    votes: Votes<Digest>,
    decided: bool,
}

#[derive(Default, Debug, Serialize, Deserialize)]
struct Nothing {}

impl Protocol for Turns {
    const NAME: &'static str = "turns";
    const ABOUT: &'static str = "replicas take turns to propose, and two votes decide";
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
    fn origin() -> RoundKey {
        RoundKey { view: View(1), ..RoundKey::default() }
    }
    fn gap_free(_: &Nothing) -> bool {
        false
    }
}

impl Node<Turns> for Voter {
    fn on_start(&mut self, cx: &mut Context<'_, Turns>) {
        self.on_timer((), cx);
    }
    fn on_timer(&mut self, (): (), cx: &mut Context<'_, Turns>) {
        *self = Self { view: self.view.next(), ..Self::default() };
        if self.view > LAST {
            return;
        }
        cx.set_timer((), LENGTH);
        cx.send(cx.leader(self.view), Msg::Enter { view: self.view });
        if cx.leads(self.view) {
            let value = *cx.payload();
            cx.broadcast(Msg::Propose { view: self.view, value });
        }
    }
    fn on_message(&mut self, from: NodeId, msg: &Msg, cx: &mut Context<'_, Turns>) {
        match *msg {
            Msg::Propose { view, value }
                if view == self.view && self.voted.is_none() && from == cx.leader(view) =>
            {
                self.voted = Some(value);
                cx.broadcast(Msg::Vote { view, digest: value.digest() });
            }
            Msg::Vote { view, digest } if view == self.view => drop(self.votes.add(from, digest)),
            _ => {}
        }
        let Some(value) = self.voted.filter(|_| !self.decided) else { return };
        let voters = self.votes.voters(&value.digest());
        if voters.len() >= cx.cluster().weak() {
            self.decided = true;
            cx.commit(Slot(self.view.0), value.digest(), &[value], voters);
        }
    }
}

/// Four replicas that make up their own payloads.
fn base() -> Scenario {
    let cluster = ClusterSpec { clients: 0, ..ClusterSpec::default() };
    Scenario { cluster: Arc::new(cluster), ..Scenario::new("turns") }
}

/// All scenarios of a strategy that has them in order.
fn all(line: &str, base: &Scenario) -> Vec<Scenario> {
    let mut strategy = strategy(line, base);
    let count = strategy.space().and_then(|space| space.runs()).expect("scenarios in order");
    (0..count).map(|index| run(&mut *strategy, index)).collect()
}

/// What a run came to, whatever its nodes are called.
fn signature(outcome: &Outcome) -> String {
    let mut found: Vec<_> = outcome.violations.iter().map(|v| (v.property, v.rule, v.slot)).collect();
    found.sort_unstable();
    format!("{found:?} {} {} {:?}", outcome.commits, outcome.deliveries, outcome.injected)
}

fn signatures(line: &str) -> BTreeSet<String> {
    let scenarios = all(&format!("{line} rounds=2 order=rank after=drop"), &base());
    scenarios.iter().map(|scenario| signature(&execute::<Turns>(scenario).unwrap())).collect()
}

fn partitions(scenario: &Scenario) -> impl Iterator<Item = (&Fault, String)> {
    scenario.adversary.faults.iter().filter_map(|fault| match &fault.effect {
        Effect::Partition(blocks) => Some((fault, format!("{blocks:?}"))),
        _ => None,
    })
}

#[test]
fn a_scenario_has_twins_and_for_each_round_a_leader_and_a_partition() {
    for scenario in runs("twins rounds=6 twins=1", 50) {
        let p0 = NodeSet::one(NodeId::replica(0));
        assert_eq!((scenario.adversary.byzantine, scenario.adversary.twins), (p0, p0));
        assert_eq!(scenario.cluster.leaders.len(), 6);
        assert_eq!(scenario.network.latency, Latency::Constant(Time(10)));
        assert_eq!(scenario.network.gst, Some(Gst::Time(Time(20_000))));
        let rounds: Vec<Span> = partitions(&scenario).filter_map(|(fault, _)| fault.when.round).collect();
        let covered: Vec<u64> = rounds.iter().flat_map(|span| span.first()..=span.last()).collect();
        assert_eq!(covered, [1, 2, 3, 4, 5, 6]);
    }
}

/// Whoever has clients needs two of them, and a twin that hears them in the other order.
#[test]
fn twins_that_lead_do_not_propose_the_same() {
    let scenario = runs("twins", 1).next().unwrap();
    assert_eq!(scenario.cluster.clients, 2);
    let late = &scenario.adversary.faults[0];
    assert_eq!(late.effect, Effect::Delay(Time(1)));
    assert_eq!(
        (format!("{:?}", late.when.from), format!("{:?}", late.when.to)),
        ("[c0]".into(), "[p0.b]".into())
    );
    let without = run(&mut *strategy("twins", &base()), 0);
    assert_eq!(without.cluster.clients, 0);
    assert!(without.adversary.faults.iter().all(|fault| matches!(fault.effect, Effect::Partition(_))));
}

/// A view decides a slot at the most, so that there is something left to do after the last one.
#[test]
fn a_scenario_has_more_requests_than_rounds() {
    let requests = |line: &str| runs(line, 1).next().unwrap().workload.requests;
    assert_eq!((requests("twins rounds=6"), requests("twins rounds=6 requests=0")), (8, 2));
}

#[test]
fn what_lasts_for_several_rounds_is_one_fault() {
    let scenario = run(&mut *strategy("twins rounds=5 repeat=3 order=rank", &base()), 4 * 60);
    let [(one, _), (other, _)] = <[_; 2]>::try_from(partitions(&scenario).collect::<Vec<_>>()).unwrap();
    assert_eq!(
        (one.when.round, other.when.round),
        (Some(Span::Between([1, 3])), Some(Span::Between([4, 5])))
    );
    assert_eq!(scenario.cluster.leaders.len(), 5);
}

#[test]
fn kinds_that_pass_are_not_cut() {
    let scenario = runs("twins pass=enter,leave", 1).next().unwrap();
    for (fault, _) in partitions(&scenario) {
        assert_eq!(
            fault.when.not.as_ref().map(|not| not.kind.0.clone()),
            Some(vec!["enter".into(), "leave".into()])
        );
    }
    // Nor are they lost when the rounds are over: who lags behind would never hear of it.
    let scenario = runs("twins pass=enter after=drop", 1).next().unwrap();
    let last = scenario.adversary.faults.last().unwrap();
    assert_eq!(last.when.not.as_ref().map(|not| not.kind.0.clone()), Some(vec!["enter".into()]));
}

#[test]
fn after_the_rounds_the_network_heals_or_all_is_lost() {
    let height = Workload { goal: Goal::Height(2), ..Workload::default() };
    let base = Scenario { workload: Arc::new(height), ..base() };
    let heal = run(&mut *strategy("twins rounds=3", &base), 0);
    assert_eq!((heal.workload.goal, heal.limits.views), (Goal::Height(5), None));
    let drop = run(&mut *strategy("twins rounds=3 after=drop gst=700", &base), 0);
    assert_eq!((drop.workload.goal, drop.limits.views, drop.limits.time), (Goal::None, Some(3), Time(700)));
    let last = drop.adversary.faults.last().unwrap();
    assert_eq!((last.when.round.map(Span::first), &last.effect), (Some(4), &Effect::Drop));
    let outcome = execute::<Turns>(&drop).unwrap();
    assert!(outcome.time <= Time(3 * LENGTH.0 + 20), "{outcome:?}");
    assert!(execute::<Turns>(&heal).unwrap().time >= Time(4 * LENGTH.0));
}

#[test]
fn twins_fall_silent_when_the_network_heals() {
    let height = Workload { goal: Goal::Height(2), ..Workload::default() };
    let base = Scenario { workload: Arc::new(height), ..base() };
    let silent = run(&mut *strategy("twins rounds=3 after=silence", &base), 0);
    let last = silent.adversary.faults.last().unwrap();
    let names: Vec<String> = last.when.from.iter().map(ToString::to_string).collect();
    assert_eq!((names, &last.effect), (vec!["p0.a".to_owned(), "p0.b".to_owned()], &Effect::Drop));
    assert_eq!(last.when.not.as_ref().and_then(|not| not.round), Some(Span::Between([1, 3])));
    // It heals: a fault of later rounds would put that off.
    let outcome = execute::<Turns>(&silent).unwrap();
    assert!(outcome.calm && outcome.time < Time(20_000), "{outcome:?}");
}

/// Delays are multiples of 25 ticks in all, the 10 that every message takes included.
#[test]
fn delays_are_halves_of_delta() {
    let ticks = |line: &str, kind: &str| -> BTreeSet<u64> {
        let faults = runs(line, 20).flat_map(|scenario| scenario.adversary.faults);
        let of_kind = faults.filter(|fault| fault.when.kind.0.iter().any(|name| name == kind));
        of_kind.map(|fault| if let Effect::Delay(ticks) = fault.effect { ticks.0 + 10 } else { 0 }).collect()
    };
    let paper = "twins delays=paper partitions=1";
    assert_eq!(ticks(paper, "propose"), BTreeSet::from([25, 50, 75, 100, 125, 150]));
    assert_eq!(ticks(paper, "vote"), BTreeSet::from([25, 50, 75, 100]));
    let model = "twins delays=model delta=40 propose=enter,leave";
    assert_eq!(
        (ticks(model, "leave"), ticks(model, "vote")),
        (BTreeSet::from([20, 40]), BTreeSet::from([20, 40]))
    );
}

#[test]
fn a_one_way_cut_silences_a_node_for_some_others() {
    for scenario in runs("twins cuts=3 partitions=1", 50) {
        for Fault { when, effect } in scenario.adversary.faults.iter().skip(1) {
            assert_eq!((effect, when.from.len()), (&Effect::Drop, 1));
            assert!(!when.to.is_empty() && !when.to.contains(&when.from[0]));
        }
    }
}

/// The toy decides twice in a view exactly where twins lead and each of them has somebody else to vote for it.
#[test]
fn twins_that_lead_two_blocks_make_both_decide() {
    for scenario in all("twins rounds=1 order=rank", &base()) {
        let leads = scenario.cluster.leaders[0] == NodeId::replica(0);
        let blocks = partitions(&scenario).next().unwrap().1;
        let apart = !blocks.contains("p0.a, p0.b");
        let both = !blocks.contains("[p0.a]") && !blocks.contains("[p0.b]");
        let broken =
            execute::<Turns>(&scenario).unwrap().violation(Property::Agreement).map(|found| found.slot);
        let in_round_1 = broken == Some(Some(Slot(1)));
        assert_eq!(in_round_1, leads && apart && both, "{}", scenario.to_toml());
    }
}

/// Nothing that the full space shows is lost: violations, decisions, messages.
#[test]
fn the_reduced_space_shows_all_that_the_full_one_does() {
    let full = signatures("twins");
    assert!(full.len() > 20 && full.iter().any(|text| text.contains("Agreement")), "{full:?}");
    for symmetry in ["twins", "honest", "all"] {
        assert_eq!(signatures(&format!("twins symmetry={symmetry}")), full, "{symmetry}");
    }
}

#[test]
fn what_second_instances_say_can_be_lost() {
    let second = SeatName { node: NodeId::replica(0), instance: Some(1) };
    let lost = |fault: &&Fault| matches!(fault.effect, Effect::Drop) && fault.when.from == [second];
    for (line, faults) in [("", 0), (" seconds=unheard", 1), (" seconds=unheard twins=0", 0)] {
        for scenario in all(&format!("twins rounds=1 order=rank{line}"), &base()) {
            assert_eq!(scenario.adversary.faults.iter().filter(lost).count(), faults, "{line}");
        }
    }
}

#[test]
fn a_strategy_says_how_many_scenarios_it_has() {
    let space = |line: &str| strategy(line, &base()).space().unwrap();
    let (some, many) = (space("twins rounds=4 order=rank"), space("twins rounds=4"));
    assert_eq!((some.scenarios, some.runs()), (Some(12_960_000), Some(12_960_000)));
    assert_eq!((many.scenarios, many.runs()), (Some(12_960_000), None));
    assert_eq!(space("twins rounds=1000").scenarios, None);
}

#[test]
fn what_cannot_be_is_refused_with_what_would_be_right() {
    let refused = |line: &str| {
        let pair = |word: &str| word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        let params: Vec<_> = line.split_whitespace().filter_map(pair).collect();
        turncoat_strategies::make("twins", &Scenario::new("toy"), &params, &MutationTable::default())
            .err()
            .map(|error| error.to_string())
    };
    let expected = [
        ("rounds=0", "`rounds=0`: not a whole number from 1 to 1000"),
        ("twins=5", "`twins=5`: not a whole number from 0 to 4"),
        (
            "twins=2",
            "2 twins exceed cluster.f = 1: take fewer, or say `cluster.over-budget = true` (--over-budget)",
        ),
        (
            "partitions=6",
            "`partitions=6`: not a number of blocks from 1 to 5, which is n and the twins, nor a range",
        ),
        ("partitions=3-2", "`partitions=3-2`: not a number of blocks"),
        ("leaders=twins twins=0", "nobody can lead: 0 of 4 replicas are twinned"),
        ("leaders=rule isolate=2", "`isolate` and `leaderless` are about leaders"),
        ("replacement=without isolate=2", "`replacement=without` goes with no `symmetry`"),
        ("replacement=without rounds=61", "no scenario is like that"),
        (
            "rounds=100 order=rank",
            "more scenarios than can be numbered (2^128): take fewer rounds, or `order=sample`",
        ),
        ("rounds=100 symmetry=honest after=drop", "or neither `symmetry` nor `leaderless`"),
        ("symmetry=twins", "of two instances one hears the first of several clients late"),
        ("symmetry=honest", "honest replicas are not alike when the protocol's rule says who leads"),
        ("order=rank delays=model", "`cuts` and `delays` are drawn and have no number"),
        ("leaderless=few", "`leaderless=few`: not a whole number, nor `any`"),
        ("order=random", "unknown variant `random`, expected `sample` or `rank`"),
    ];
    for (line, words) in expected {
        let error = refused(line).unwrap_or_else(|| panic!("{line} is accepted"));
        assert!(error.starts_with("twins: ") && error.contains(words), "{line}: {error}");
    }
}
