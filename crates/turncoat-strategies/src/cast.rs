//! The cast of a run: who lies, who says which event is next, a liar's second faces, and single faults beside.
//!
//! Strategies that differ in what their liars say share all of this, with the parameters for it.

use std::sync::Arc;

use serde::Deserialize;
use turncoat_core::fault::{
    All, Believes, Edit, Effect, Every, Fault, Form, Keeps, Names, Originate, Persona, RoundSource, Span,
    Stance, When,
};
use turncoat_core::flags::Flag;
use turncoat_core::ids::{NodeId, SeatName, Time};
use turncoat_core::part::Scope;
use turncoat_core::rng::Rng;
use turncoat_core::scenario::{Goal, Gst, Scenario, SchedulerName, SchedulerSpec};

use crate::liars::Liars;
use crate::params::{Param, Params};
use crate::partitions::SetPartitions;
use crate::{StrategyError, draw};

/// In which rounds single faults happen.
pub(crate) const R: Param =
    Param { name: "r", default: "10", about: "the other faults happen in rounds 1 to r" };

/// How far a single lie may go.
pub(crate) const SCOPE: Param =
    Param { name: "scope", default: "small", about: "how far a single lie may go: small or any" };

/// Who says which event is next.
pub(crate) const SCHEDULE: Param = Param {
    name: "schedule",
    default: "drawn",
    about: "drawn: if the scenario says timed, async with impatient timers in half of the runs, else timed, \
            sync or async; given: as the scenario says",
};

/// Fewest clients.
pub(crate) const CLIENTS: Param = Param {
    name: "clients",
    default: "2",
    about: "minimum number of clients, if there are any: one request at a time leaves little to lie about",
};

/// Fewest requests.
pub(crate) const REQUESTS: Param =
    Param { name: "requests", default: "4", about: "minimum number of requests, or of slots to decide" };

/// How often a liar departs from the protocol throughout.
pub(crate) const STANCES: Param = Param {
    name: "stances",
    default: "0",
    about: "percentage of runs in which each liar has a stance: its code runs with bug flags, or it believes its own lies",
};

/// When the network heals.
pub(crate) const GST: Param = Param {
    name: "gst",
    default: "5000",
    about: "ticks after which partitions heal, even if their rounds are not over",
};

/// The weight of an armed timer, where that of a message is 99 by default.
pub(crate) const IMPATIENT: u32 = 30;

/// Who says which event is next.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Schedule {
    Drawn,
    Given,
}

/// Who takes part in the runs of a strategy, and what they may do whatever the strategy is about.
pub(crate) struct Cast {
    pub(crate) liars: Liars,
    schedules: Vec<Arc<SchedulerSpec>>,
    pub(crate) partitions: SetPartitions,
    n: usize,
    clients: usize,
    kinds: &'static [&'static str],
    flags: &'static [Flag],
    /// Whether messages wait for their turn: then no liar believes its own lies.
    turns: bool,
    r: u32,
    pub(crate) scope: Scope,
}

/// The base scenario with enough to lie about: somebody to lie to, clients, and requests.
pub(crate) fn busy(base: &Scenario, params: &Params<'_>) -> Result<Scenario, StrategyError> {
    let mut base = base.clone();
    if base.cluster.n < 2 {
        let why = "a liar needs somebody to lie to: at least 2 replicas".to_owned();
        return Err(StrategyError::Unfit { strategy: params.strategy, why });
    }
    let cluster = Arc::make_mut(&mut base.cluster);
    if cluster.clients > 0 {
        cluster.clients = cluster.clients.max(params.number(CLIENTS.name, 1..=16)? as usize);
    }
    let requests = params.number(REQUESTS.name, 1..=1000)?;
    let workload = Arc::make_mut(&mut base.workload);
    workload.requests = workload.requests.max(requests);
    if let Goal::Height(height) = &mut workload.goal {
        *height = (*height).max(requests);
    }
    Ok(base)
}

/// The same, with a time at which the network heals.
pub(crate) fn prepared(base: &Scenario, params: &Params<'_>) -> Result<Scenario, StrategyError> {
    let mut base = busy(base, params)?;
    let gst = Gst::Time(Time(params.number(GST.name, 1..=u32::MAX)?.into()));
    Arc::make_mut(&mut base.network).gst.get_or_insert(gst);
    Ok(base)
}

impl Cast {
    /// For a strategy that has the parameters above, and those of liars.
    pub(crate) fn new(base: &Scenario, params: &Params<'_>) -> Result<Self, StrategyError> {
        let base = prepared(base, params)?;
        let named = |name| SchedulerSpec { name, ..(*base.scheduler).clone() };
        let patient = [SchedulerName::Timed, SchedulerName::Sync, SchedulerName::Async].map(named);
        let impatient = || SchedulerSpec { timeout: IMPATIENT, ..named(SchedulerName::Async) };
        let schedules = match params.word(SCHEDULE.name)? {
            Schedule::Drawn if base.scheduler.name == SchedulerName::Timed => {
                patient.into_iter().flat_map(|patient| [patient, impatient()]).map(Arc::new).collect()
            }
            Schedule::Drawn | Schedule::Given => vec![base.scheduler.clone()],
        };
        Ok(Self {
            liars: Liars::new(params, &base, true)?,
            schedules,
            partitions: SetPartitions::of(base.cluster.n),
            n: base.cluster.n,
            clients: base.cluster.clients,
            kinds: params.lies.kinds(),
            flags: params.lies.flags(),
            turns: base.network.turn.is_some(),
            r: params.number(R.name, 1..=1000)?,
            scope: params.word(SCOPE.name)?,
        })
    }

    /// Who says which event is next.
    pub(crate) fn schedule(&self, rng: &mut Rng) -> Arc<SchedulerSpec> {
        rng.pick(&self.schedules).clone()
    }

    fn others(&self, liar: NodeId) -> impl Iterator<Item = NodeId> + Clone {
        (0..self.n).map(NodeId::replica).filter(move |&node| node != liar)
    }

    pub(crate) fn everybody(&self, liar: NodeId) -> impl Iterator<Item = NodeId> + Clone {
        self.others(liar).chain((0..self.clients).map(NodeId::client))
    }

    pub(crate) fn face(&self, liar: NodeId, rng: &mut Rng) -> Persona {
        let form = if rng.below(5) == 0 { Form::Outgoing } else { Form::Instance };
        let slot = *rng.pick(&[1, 1, 2, 2, 2, 3]);
        let with = rng.index(3);
        let sub = match rng.below(4) {
            0 => Edit::World { slot, with },
            _ => Edit::Sub { slot, with },
        };
        let edit = match (form, rng.below(8)) {
            (Form::Instance, 0..4) => Edit::OwnOrder,
            (Form::Instance, 6) | (Form::Outgoing, 0..2) => Edit::Forget(slot),
            (Form::Instance, 7) => Edit::Stale(slot),
            (Form::Instance, _) => sub,
            (Form::Outgoing, _) => Edit::Sub { slot, with },
        };
        let at_view_change = match rng.below(4) {
            0 => Vec::new(),
            1 => draw::some(&self.others(liar), rng),
            _ => self.others(liar).collect(),
        };
        Persona {
            of: liar,
            to: draw::some(&self.everybody(liar), rng),
            at_view_change: Some(at_view_change),
            edits: vec![edit],
            overlap: rng.below(8) == 0,
            form,
        }
    }

    /// How a liar departs from the protocol throughout. Only a stance without flags may begin late or end early: not every
    /// node can change its code during a run. Nothing, if there is nothing to draw from.
    pub(crate) fn stance(&self, liar: NodeId, rng: &mut Rng) -> Option<Fault> {
        let most = self.flags.len().min(3) as u32;
        let count = if most == 0 { 0 } else { (*rng.pick(&[0, 1, 1, 1, 2, 3])).min(most) };
        let mut flags: Vec<String> = Vec::new();
        while flags.len() < count as usize {
            let flag = self.flags[rng.index(self.flags.len())].name();
            if !flags.contains(&flag) {
                flags.push(flag);
            }
        }
        let believes = match rng.below(8) {
            _ if self.turns => None,
            0..5 => Some(Believes::All(All::All)),
            5 => Some(Believes::Told(draw::some(&self.others(liar), rng))),
            _ => None,
        };
        let alone = flags.is_empty() && believes.is_none();
        let keeps = match (alone || rng.below(8) == 0, self.kinds) {
            (true, [_, ..]) => {
                let kind = Names::from(*rng.pick(self.kinds));
                Some(Keeps { kind, views: *rng.pick(&[1, 1, 2, 3]) })
            }
            _ => None,
        };
        let mut when = When::default();
        if flags.is_empty() && rng.below(4) == 0 {
            let first = 1 + u64::from(rng.below(self.n as u32 + 1));
            let span = match rng.below(2) {
                0 => Span::Every(Every { from: first, step: std::num::NonZeroU64::MIN }),
                _ => Span::Between([first, first + u64::from(rng.below(3))]),
            };
            (when.round, when.source) = (Some(span), RoundSource::SenderView);
        }
        let empty = flags.is_empty() && believes.is_none() && keeps.is_none();
        let effect = Effect::Stance(Stance { of: liar.into(), flags, believes, keeps });
        (!empty).then_some(Fault { when, effect })
    }

    /// One of the extras, where the liar has so many instances.
    pub(crate) fn extra(&self, liar: NodeId, instances: u8, rng: &mut Rng) -> Fault {
        let round = Some(Span::At(u64::from(1 + rng.below(self.r))));
        let mut when = When { round, ..When::default() };
        let effect = match rng.below(6) {
            0 => {
                when.from = if rng.below(2) == 0 { Vec::new() } else { vec![self.replica(rng)] };
                Effect::Deaf(draw::some(&(0..self.n).map(NodeId::replica), rng))
            }
            1 => {
                let one = rng.below(2) == 0 && instances > 1;
                let instance = one.then(|| rng.below(instances.into()) as u8);
                Effect::Fire(SeatName { node: liar, instance })
            }
            2 => Effect::Fire(self.replica(rng)),
            3 => draw::partition(&self.partitions, rng),
            4 => {
                when.from = vec![liar.into()];
                when.to = draw::some(&self.everybody(liar), rng);
                draw::lie(self.scope, &[], rng)
            }
            _ => {
                // Beside each message to one of them, whatever its round.
                let to: Vec<SeatName> = draw::some(&self.others(liar), rng);
                (when.round, when.times) = (None, Some(u32::MAX));
                (when.from, when.to) = (vec![liar.into()], vec![*rng.pick(&to)]);
                Effect::Originate(Originate { replay: None, mint: Some("all".to_owned()), to })
            }
        };
        Fault { when, effect }
    }

    pub(crate) fn replica(&self, rng: &mut Rng) -> SeatName {
        NodeId::replica(rng.index(self.n)).into()
    }
}
