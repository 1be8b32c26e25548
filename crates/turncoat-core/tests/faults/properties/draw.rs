//! Random faults and scenarios.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use turncoat_core::fault::{
    All, Believes, Drawn, Edit, Effect, Fault, Form, Jump, Keeps, Mutate, Names, Originate, Persona, Restart,
    RoundSource, Span, Stance, When, WhenVitals, Whose,
};
use turncoat_core::ids::{NodeId, NodeSet, SeatName, Time};
use turncoat_core::part::Scope;
use turncoat_core::scenario::{
    Adversary, ClusterSpec, Expect, Goal, Gst, Latency, Limits, Loss, Network, Scenario, SchedulerName,
    SchedulerSpec, Seed, Target, TimerRule, Trust, Workload,
};

use crate::play::scenario;
use crate::toys::ballot::Ballot;

/// A scenario that a failing test shows as the text of a file.
#[derive(Clone)]
pub(crate) struct Case(pub(crate) Scenario);

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\n{}", self.0.to_toml())
    }
}

const KINDS: [&str; 3] = ["request", "propose", "vote"];
const LIES: [&str; 6] = [
    "propose.slot+1",
    "propose.request=earlier",
    "propose.request.forge",
    "vote.digest=other",
    "vote.slot-1",
    "vote.omit",
];

pub(super) fn replica() -> impl Strategy<Value = NodeId> {
    (0..4_usize).prop_map(NodeId::replica)
}

fn nodes() -> Vec<NodeId> {
    (0..4).map(NodeId::replica).chain([NodeId::client(0), NodeId::client(1)]).collect()
}

fn names() -> impl Strategy<Value = Vec<SeatName>> {
    let seats: Vec<SeatName> = nodes().into_iter().map(SeatName::from).collect();
    prop_oneof![2 => Just(Vec::new()), 1 => subsequence(seats, 1..=6)]
}

fn some_replicas() -> impl Strategy<Value = Vec<NodeId>> {
    subsequence((0..4).map(NodeId::replica).collect::<Vec<_>>(), 0..=4)
}

fn span(most: u64) -> impl Strategy<Value = Span> {
    let between = (0..most, 0..most).prop_map(|(a, b)| Span::Between([a.min(b), a.max(b)]));
    prop_oneof![(0..most).prop_map(Span::At), between]
}

fn kinds() -> impl Strategy<Value = Names> {
    prop_oneof![
        Just(Names::default()),
        select(KINDS.to_vec()).prop_map(Names::from),
        subsequence(KINDS.map(str::to_owned).to_vec(), 2..=3).prop_map(Names),
    ]
}

fn source() -> impl Strategy<Value = RoundSource> {
    use RoundSource::{Global, Named, SenderMax, SenderView, Slot, View};
    select(vec![SenderMax, SenderMax, Named, Slot, View, SenderView, Global])
}

/// Numbers in messages of some kind.
fn fields() -> impl Strategy<Value = BTreeMap<String, Span>> {
    let names = select(vec!["slot".to_owned(), "request.ts".to_owned(), "ts".to_owned()]);
    prop_oneof![4 => Just(BTreeMap::new()), 1 => btree_map(names, span(4), 1..=2)]
}

fn vitals() -> impl Strategy<Value = WhenVitals> {
    let of = prop_oneof![
        Just(Whose::Sender),
        Just(Whose::Receiver),
        select(nodes()).prop_map(|node| Whose::Node(node.into())),
    ];
    let spans = (option::weighted(0.3, span(3)), option::weighted(0.5, span(4)));
    let is = || option::weighted(0.2, any::<bool>());
    (of, spans, (is(), is(), is()), kinds()).prop_map(
        |(of, (view, decided), (changing_view, prepared, locked), waiting)| WhenVitals {
            of,
            view,
            decided,
            changing_view,
            prepared,
            locked,
            waiting,
        },
    )
}

/// A predicate without others inside.
fn plain_when() -> impl Strategy<Value = When> {
    let place = (option::weighted(0.4, span(6)), source(), names(), names(), kinds());
    let count = (
        option::weighted(0.2, span(4)),
        option::weighted(0.1, span(60)),
        option::weighted(0.1, span(80)),
        option::weighted(0.3, 0..=1000_u32),
        option::weighted(0.3, 0..5_u32),
    );
    let inside = (fields(), prop_oneof![4 => Just(Vec::new()), 1 => vec(vitals(), 1..=2)]);
    (place, inside, count).prop_map(
        |((round, source, from, to, kind), (field, vitals), (nth, step, time, permille, times))| When {
            round,
            source,
            from,
            to,
            // Not every kind has every field.
            kind: if field.is_empty() { kind } else { Names::default() },
            field,
            vitals,
            nth,
            step,
            time,
            permille,
            times,
            ..When::default()
        },
    )
}

fn when() -> impl Strategy<Value = When> {
    let nested = (vec(plain_when(), 0..3), option::weighted(0.2, plain_when().prop_map(Box::new)));
    (plain_when(), nested).prop_map(|(when, (any, not))| When { any, not, ..when })
}

fn mutate() -> impl Strategy<Value = Mutate> {
    let only = subsequence(LIES.map(str::to_owned).to_vec(), 0..=3);
    let drawn = (any::<u64>(), select(vec![Scope::Small, Scope::Any]), only);
    prop_oneof![
        select(LIES.to_vec()).prop_map(|name| Mutate::Named(name.to_owned())),
        drawn.prop_map(|(seed, scope, only)| Mutate::Drawn(Drawn { seed: Seed(seed), scope, only })),
    ]
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        Just(Edit::OwnOrder),
        (1..3_u32, 0..3_usize).prop_map(|(slot, with)| Edit::Sub { slot, with }),
        (1..3_u32, 0..3_usize).prop_map(|(slot, with)| Edit::World { slot, with }),
        (1..3_u32).prop_map(Edit::Forget),
        (1..3_u32).prop_map(Edit::Stale),
        Just(Edit::Mute),
    ]
}

fn persona() -> impl Strategy<Value = Persona> {
    let sets = (some_replicas(), option::of(some_replicas()));
    let form = select(vec![Form::Instance, Form::Instance, Form::Outgoing]);
    (sets, vec(edit(), 0..3), any::<bool>(), form).prop_map(|((to, at_view_change), edits, overlap, form)| {
        Persona { of: NodeId::replica(0), to, at_view_change, edits, overlap, form }
    })
}

/// A stance of p0. It says something: where it would not, it believes all.
pub(super) fn stance() -> impl Strategy<Value = Stance> {
    let flags = subsequence(["weak-quorum", "unsigned-requests"].map(str::to_owned).to_vec(), 0..=2);
    let believes = option::of(prop_oneof![
        2 => Just(Believes::All(All::All)),
        1 => subsequence(nodes(), 1..=3).prop_map(Believes::Told),
    ]);
    let keeps = option::weighted(0.3, (kinds(), 1..3_u32).prop_map(|(kind, views)| Keeps { kind, views }));
    (flags, believes, keeps).prop_map(|(flags, believes, keeps)| {
        let silent = flags.is_empty() && keeps.is_none();
        let believes = believes.or(silent.then_some(Believes::All(All::All)));
        Stance { of: NodeId::replica(0).into(), flags, believes, keeps }
    })
}

fn originate() -> impl Strategy<Value = Originate> {
    (select(KINDS.to_vec()), any::<bool>(), some_replicas()).prop_map(|(kind, replay, to)| Originate {
        replay: replay.then(|| kind.to_owned()),
        mint: (!replay).then(|| kind.to_owned()),
        to: to.into_iter().map(SeatName::from).collect(),
    })
}

/// All replicas in at most three blocks; those dealt into none stand in no block.
fn blocks() -> impl Strategy<Value = Vec<Vec<SeatName>>> {
    vec(0..4_usize, 4).prop_map(|blocks| {
        let members = |block: usize| {
            (0..4).filter(|&i| blocks[i] == block).map(NodeId::replica).map(SeatName::from).collect()
        };
        (0..3).map(members).collect()
    })
}

fn effect() -> impl Strategy<Value = Effect> {
    let seat = || replica().prop_map(SeatName::from);
    let seats =
        || some_replicas().prop_map(|nodes| nodes.into_iter().map(SeatName::from).collect::<Vec<_>>());
    prop_oneof![
        2 => Just(Effect::Drop),
        2 => Just(Effect::Hold),
        1 => (0..50_u64).prop_map(|ticks| Effect::Delay(Time(ticks))),
        1 => (0..3_u32).prop_map(Effect::Duplicate),
        3 => mutate().prop_map(Effect::Mutate),
        2 => any::<u64>().prop_map(|seed| Effect::Flip(Seed(seed))),
        1 => any::<u64>().prop_map(|seed| Effect::Garble(Seed(seed))),
        2 => blocks().prop_map(Effect::Partition),
        1 => seats().prop_map(Effect::Isolate),
        1 => seats().prop_map(Effect::Deaf),
        1 => seat().prop_map(Effect::Crash),
        1 => (seat(), any::<bool>()).prop_map(|(node, state)| Effect::Restart(Restart { node, state })),
        1 => (seat(), 0..50_u64).prop_map(|(node, by)| Effect::Jump(Jump { node, by: Time(by) })),
        1 => seat().prop_map(Effect::Fire),
        1 => originate().prop_map(Effect::Originate),
        1 => persona().prop_map(Effect::Persona),
        2 => stance().prop_map(Effect::Stance),
    ]
}

/// A fault that can strike where p0 is the one who lies. Half of the deeds wait for a moment, not a message.
pub(super) fn fault() -> impl Strategy<Value = Fault> {
    let moment = (option::weighted(0.2, span(60)), option::weighted(0.8, span(80)))
        .prop_map(|(step, time)| When { step, time, ..When::default() });
    (when(), moment, any::<bool>(), effect()).prop_map(|(mut when, moment, at_a_moment, effect)| {
        match effect {
            Effect::Mutate(_) | Effect::Originate(_) => {
                when.from.retain(|name| name.node == NodeId::replica(0));
            }
            Effect::Crash(_) | Effect::Restart(_) | Effect::Jump(_) | Effect::Fire(_) if at_a_moment => {
                when = moment;
            }
            Effect::Stance(_) => {
                let source = if at_a_moment { RoundSource::SenderView } else { RoundSource::SenderMax };
                when = When { round: when.round, source, ..When::default() };
            }
            _ => {}
        }
        Fault { when, effect }
    })
}

fn scheduler() -> impl Strategy<Value = SchedulerSpec> {
    let weights = (0..4_u32, 1..100_u32, 1..100_u32, 0..10_u32, 0..20_u32);
    let timers = option::of(select(vec![TimerRule::Free, TimerRule::Idle]));
    (select(SchedulerName::ALL.to_vec()), weights, select(vec![Scope::Small, Scope::Any]), timers).prop_map(
        |(name, (timeout, deliver, request, drop, mutate), scope, timers)| SchedulerSpec {
            name,
            timeout,
            deliver,
            request,
            drop,
            mutate,
            scope,
            only: Vec::new(),
            timers,
            script: Vec::new(),
        },
    )
}

fn network() -> impl Strategy<Value = Network> {
    let gst = prop_oneof![
        2 => Just(None),
        1 => (0..60_u64).prop_map(|at| Some(Gst::Time(Time(at)))),
        1 => (0..60_u64).prop_map(|count| Some(Gst::Deliveries(count))),
    ];
    let latency = prop_oneof![
        (0..20_u64).prop_map(|ticks| Latency::Constant(Time(ticks))),
        (0..10_u64, 10..20_u64).prop_map(|(a, b)| Latency::Range([Time(a), Time(b)])),
    ];
    let ticks = || option::of((1..20_u64).prop_map(Time));
    (latency, select(vec![Loss::Drop, Loss::Hold]), any::<bool>(), ticks(), gst, ticks())
        .prop_map(|(latency, loss, fifo, turn, gst, bound)| Network { latency, loss, fifo, turn, gst, bound })
}

/// A run of the ballot toy with random faults, under any scheduler. p0 may lie; so many nodes crash as do.
pub(crate) fn runnable() -> impl Strategy<Value = Case> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), vec(1..5_u32, 0..2), any::<bool>());
    (any::<u64>(), scheduler(), network(), vec(fault(), 0..4), flags).prop_map(
        |(seed, scheduler, mut network, faults, (compose, inherit, garbage, process_first, twins))| {
            // Who waits for a turn has handled its own copy by then.
            let believes =
                |fault: &Fault| matches!(&fault.effect, Effect::Stance(it) if it.believes.is_some());
            if faults.iter().any(believes) {
                network.turn = None;
            }
            let mut scenario = scenario::<Ballot>("cluster.over-budget = true\nlimits.steps = 400");
            let p0 = NodeSet::one(NodeId::replica(0));
            scenario.seed = Seed(seed);
            scenario.scheduler = Arc::new(scheduler);
            scenario.network = Arc::new(network);
            scenario.adversary = Adversary {
                byzantine: p0,
                twins: if twins { p0 } else { NodeSet::EMPTY },
                faults,
                compose,
                process_first,
                roundless_inherit: inherit,
                crash_on_garbage: garbage,
            };
            Case(scenario)
        },
    )
}

fn workload() -> impl Strategy<Value = Workload> {
    let ops = vec("[ -~]{0,8}", 0..3);
    let times = || (0..1000_u64).prop_map(Time);
    let target = prop_oneof![
        Just(Target::Leader),
        Just(Target::All),
        Just(Target::Random),
        replica().prop_map(Target::One)
    ];
    let goal = prop_oneof![
        Just(Goal::Replies),
        Just(Goal::Committed),
        any::<u32>().prop_map(Goal::Height),
        any::<u32>().prop_map(Goal::Again),
        Just(Goal::None)
    ];
    let counts = (any::<u32>(), option::of(any::<u32>()), vec(1..9_u32, 0..3));
    (counts, ops, vec(times(), 0..3), option::of(times()), (target, times(), times(), goal)).prop_map(
        |((requests, retries, read_only), ops, start, every, (target, timeout, retry_from, goal))| Workload {
            requests,
            ops,
            start,
            every,
            target,
            timeout,
            retry_from,
            retries,
            read_only,
            goal,
        },
    )
}

fn cluster() -> impl Strategy<Value = ClusterSpec> {
    let trust = prop_oneof![
        Just(Trust::default()),
        "[a-z0-9]{1,4}".prop_map(Trust::Preset),
        vec(some_replicas().prop_map(|nodes| nodes.into_iter().collect()), 1..5).prop_map(Trust::Sets),
    ];
    let drift = btree_map(replica(), -999_999..2_000_000_i32, 0..3);
    (0..9_usize, 0..3_usize, 0..3_usize, (vec(replica(), 0..4), trust, any::<bool>(), drift)).prop_map(
        |(n, f, clients, (leaders, trust, over_budget, drift))| ClusterSpec {
            n,
            f,
            clients,
            leaders,
            trust,
            over_budget,
            drift,
        },
    )
}

/// Any scenario at all, runnable or not.
pub(super) fn anything() -> impl Strategy<Value = Case> {
    let largest = i64::MAX as u64;
    let views = option::of(any::<u32>());
    let steps = (0..=largest, option::of(0..=largest));
    let limits = (steps, any::<u32>(), 0..=largest, views, 0..=largest, 0..=largest).prop_map(
        |((steps, short), in_flight, time, views, linger, tail)| Limits {
            steps: Some(steps),
            short,
            in_flight: Some(in_flight as usize),
            time: Time(time),
            views,
            linger: Time(linger),
            tail,
        },
    );
    let expect = option::of((option::of("[a-z]{3,9}"), any::<u64>()).prop_map(|(property, fingerprint)| {
        Expect { property, fingerprint: Seed(fingerprint), lasso: None }
    }));
    let tests = vec("[a-z:_]{1,9}", 0..3);
    (runnable(), workload(), cluster(), limits, expect, tests).prop_map(
        |(Case(scenario), workload, cluster, limits, expect, tests)| {
            Case(Scenario {
                tests,
                workload: Arc::new(workload),
                cluster: Arc::new(cluster),
                limits: Arc::new(limits),
                expect,
                ..scenario
            })
        },
    )
}
