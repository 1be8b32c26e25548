//! Swarm: each run draws which classes of faults it may use, and how strongly.
//!
//! A strategy that always mixes a bit of everything never does much of one thing. Some bugs need just that: leaders that are
//! cut off in view after view, one kind of message that never arrives, votes that are a view late, and nobody lying at all.
//! Swarm testing (Groce et al., ISSTA 2012) draws the classes first, each with probability 1/2, and then their strength:
//!
//! - cuts, one after another: a replica alone, a partition, a single link, deaf receivers, each for 1 to 6 views or rounds;
//! - losses of one kind of message;
//! - delays of one kind of message;
//! - timers that fire early;
//! - a table of leaders;
//! - slow links;
//! - a crash and a restart, which count as a fault;
//! - clocks that are fast or slow, and jump, where clocks need not be on time;
//! - lasting lies, and a second face, unless nobody lies.
//!
//! Rounds of faults are views in half of the runs: a protocol with n replicas has had each as its leader after n of them.

use std::sync::Arc;

use turncoat_core::fault::{Effect, Fault, Jump, Names, Restart, RoundSource, Span, When};
use turncoat_core::ids::{NodeId, NodeSet, SeatName, Time};
use turncoat_core::rng::Rng;
use turncoat_core::scenario::{Gst, Latency, Scenario};
use turncoat_core::strategy::Strategy;

use crate::cast::{CLIENTS, GST, REQUESTS, SCHEDULE, SCOPE, STANCES};
use crate::lasting::Lasting;
use crate::liars::{LIAR, LIARS_DRAWN};
use crate::params::{Param, Params};
use crate::{Info, StrategyError, draw};

pub(crate) const INFO: Info = Info {
    name: "swarm",
    about: "each run draws which classes of faults it may use, and how strongly: cuts in a row, losses, delays, timers, lies, ...",
    params: &[
        LIAR,
        LIARS_DRAWN,
        Param { name: "honest", default: "25", about: "percentage of runs in which nobody lies" },
        Param {
            name: "classes",
            default: "50",
            about: "percentage of runs in which each class of faults is on",
        },
        STANCES,
        Param { default: "any", ..SCOPE },
        SCHEDULE,
        CLIENTS,
        REQUESTS,
        GST,
    ],
    make: |base, params| Ok(Box::new(Swarm::new(base, params)?)),
};

struct Swarm {
    lasting: Lasting,
    kinds: &'static [&'static str],
    n: usize,
    f: usize,
    clients: usize,
    honest: u32,
    classes: u32,
    stances: u32,
    /// Whether leaders are those of the protocol, as nobody has named others.
    leaders: bool,
    /// Whether the network may misbehave before it is calm: then clocks may drift, and links may be slow.
    asynchronous: bool,
}

/// The rounds of a run's faults: how many, and whose.
#[derive(Clone, Copy)]
struct Rounds {
    last: u32,
    source: RoundSource,
}

impl Rounds {
    /// Some of them in a row.
    fn some(self, rng: &mut Rng) -> When {
        let first = u64::from(1 + rng.below(self.last));
        self.from(first, rng)
    }

    /// Some in a row from this one on.
    fn from(self, first: u64, rng: &mut Rng) -> When {
        let last = first + *rng.pick(&[0, 0, 0, 1, 2, 5]);
        let span = if last == first { Span::At(first) } else { Span::Between([first, last]) };
        When { round: Some(span), source: self.source, ..When::default() }
    }
}

impl Swarm {
    fn new(base: &Scenario, params: &Params<'_>) -> Result<Self, StrategyError> {
        Ok(Self {
            lasting: Lasting::beside(base, params)?,
            kinds: params.lies.kinds(),
            n: base.cluster.n,
            f: base.cluster.f,
            clients: base.cluster.clients,
            honest: params.number("honest", 0..=100)?,
            classes: params.number("classes", 0..=100)?,
            stances: params.number(STANCES.name, 0..=100)?,
            leaders: base.cluster.leaders.is_empty(),
            asynchronous: base.network.gst != Some(Gst::Time(Time(0))),
        })
    }

    fn replicas(&self) -> impl Iterator<Item = NodeId> + Clone + use<> {
        (0..self.n).map(NodeId::replica)
    }

    fn replica(&self, rng: &mut Rng) -> SeatName {
        self.lasting.cast.replica(rng)
    }

    fn kind(&self, rng: &mut Rng) -> Names {
        if self.kinds.is_empty() { Names::default() } else { (*rng.pick(self.kinds)).into() }
    }

    /// Some receivers, or all.
    fn receivers(&self, rng: &mut Rng) -> Vec<SeatName> {
        match rng.below(2) {
            0 => Vec::new(),
            _ => draw::some(&self.replicas().chain((0..self.clients).map(NodeId::client)), rng),
        }
    }

    /// One cut after another.
    fn cuts(&self, rounds: Rounds, leaders: &[NodeId], rng: &mut Rng, faults: &mut Vec<Fault>) {
        let often = *rng.pick(&[25, 50, 90]);
        // All of one sort, or each of its own.
        let sort = (rng.below(2) == 0).then(|| rng.below(5));
        for round in 1..=rounds.last {
            if rng.below(100) >= often {
                continue;
            }
            let mut when = rounds.from(round.into(), rng);
            let effect = match sort.unwrap_or_else(|| rng.below(5)) {
                0 => Effect::Isolate(vec![self.replica(rng)]),
                1 => match leaders.get(round as usize - 1) {
                    Some(&leader) => Effect::Isolate(vec![leader.into()]),
                    None => Effect::Isolate(draw::some(&self.replicas(), rng)),
                },
                2 => draw::partition(&self.lasting.cast.partitions, rng),
                3 => {
                    when.from = vec![self.replica(rng)];
                    Effect::Deaf(vec![self.replica(rng)])
                }
                _ => Effect::Deaf(draw::some(&self.replicas(), rng)),
            };
            faults.push(Fault { when, effect });
        }
    }

    /// Messages of one kind are lost.
    fn losses(&self, rounds: Rounds, rng: &mut Rng) -> Fault {
        let when = When {
            kind: self.kind(rng),
            to: self.receivers(rng),
            permille: *rng.pick(&[Some(300), Some(700), None]),
            ..rounds.some(rng)
        };
        Fault { when, effect: Effect::Drop }
    }

    /// Messages of one kind are late, or wait until their sender has left the round.
    fn delays(&self, rounds: Rounds, rng: &mut Rng) -> Fault {
        let when = When { kind: self.kind(rng), to: self.receivers(rng), ..rounds.some(rng) };
        let effect = match rng.below(2) {
            0 => Effect::Hold,
            _ => Effect::Delay(Time(*rng.pick(&[5, 20, 100, 500]))),
        };
        Fault { when, effect }
    }

    /// A timer fires early.
    fn timer(&self, rounds: Rounds, rng: &mut Rng) -> Fault {
        let when = When { kind: self.kind(rng), times: Some(1), ..rounds.some(rng) };
        Fault { when, effect: Effect::Fire(self.replica(rng)) }
    }

    /// A clock jumps ahead.
    fn jump(&self, rng: &mut Rng) -> Fault {
        let when = When { time: Some(Span::At((1 + rng.below(2000)).into())), ..When::default() };
        let node = self.replica(rng);
        Fault { when, effect: Effect::Jump(Jump { node, by: Time(*rng.pick(&[10, 100, 1000])) }) }
    }

    /// A replica stops, and starts again with what it keeps.
    fn crash(&self, faulty: NodeSet, rng: &mut Rng) -> [Fault; 2] {
        let room = faulty.len() < self.f;
        let candidates: Vec<NodeId> = self.replicas().filter(|&node| room || faulty.contains(node)).collect();
        let node = SeatName::from(*rng.pick(&candidates));
        let stop = u64::from(1 + rng.below(200));
        let start = stop + u64::from(1 + rng.below(200));
        let at = |step| When { step: Some(Span::At(step)), ..When::default() };
        [
            Fault { when: at(stop), effect: Effect::Crash(node) },
            Fault { when: at(start), effect: Effect::Restart(Restart { node, state: true }) },
        ]
    }
}

impl Strategy for Swarm {
    fn next(&mut self, _index: u64, rng: &mut Rng) -> Scenario {
        let cast = &self.lasting.cast;
        let (mut scenario, mut liars) = cast.liars.next(rng);
        scenario.scheduler = cast.schedule(rng);
        if rng.below(100) < self.honest && cast.liars.fixed().is_none() {
            liars.clear();
        }
        scenario.adversary.byzantine = liars.iter().copied().collect();
        let on: Vec<bool> = (0..10).map(|_| rng.below(100) < self.classes).collect();
        let views = rng.below(2) == 0;
        let rounds = Rounds {
            last: if views { self.n as u32 + 2 } else { 10 },
            source: if views { RoundSource::View } else { RoundSource::SenderMax },
        };
        if on[0] && self.leaders {
            let leaders = (0..self.n + 2).map(|_| NodeId::replica(rng.index(self.n))).collect();
            Arc::make_mut(&mut scenario.cluster).leaders = leaders;
        }
        if on[1] && self.asynchronous {
            let most = Time(*rng.pick(&[20, 100, 400]));
            let network = Arc::make_mut(&mut scenario.network);
            // Once it is calm it is what it would have been.
            let (Latency::Constant(usual) | Latency::Range([_, usual])) = network.latency;
            network.bound.get_or_insert(usual);
            network.latency = Latency::Range([Time(1), most.max(usual)]);
        }
        let mut faults = Vec::new();
        if on[2] && self.asynchronous {
            let drift = |_: NodeId| rng.below(200_001) as i32 - 100_000;
            let clocks: Vec<i32> = self.replicas().map(drift).collect();
            Arc::make_mut(&mut scenario.cluster).drift = self.replicas().zip(clocks).collect();
            faults.extend((0..rng.below(3)).map(|_| self.jump(rng)));
        }
        if !liars.is_empty() {
            if on[3] {
                faults.extend(self.lasting.draw(&liars, rng));
            }
            if on[4] {
                let face = cast.face(liars[0], rng);
                faults.push(Fault { when: When::default(), effect: Effect::Persona(face) });
            }
        }
        if on[5] {
            self.cuts(rounds, &scenario.cluster.leaders, rng, &mut faults);
        }
        if on[6] {
            faults.extend((0..1 + rng.below(3)).map(|_| self.losses(rounds, rng)));
        }
        if on[7] {
            faults.extend((0..1 + rng.below(4)).map(|_| self.delays(rounds, rng)));
        }
        if on[8] {
            faults.extend((0..1 + rng.below(4)).map(|_| self.timer(rounds, rng)));
        }
        if on[9] && (self.f > 0 || !liars.is_empty()) {
            faults.extend(self.crash(scenario.adversary.byzantine, rng));
        }
        if self.stances > 0 && rng.below(100) < self.stances {
            faults.extend(liars.iter().filter_map(|&liar| cast.stance(liar, rng)));
        }
        scenario.adversary.faults = faults;
        scenario
    }
}
