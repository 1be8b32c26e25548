//! Two-faced: lasting lies that agree with themselves, each told by a second instance of a liar.
//!
//! Faults that change single messages must be lucky to fit together: a leader that proposes one request here and another
//! there gets nowhere unless its votes, and its report when the view changes, go with each of the two. A second face
//! (a persona) does that by itself. It runs the honest code with the liar's key, and believes something else: that two
//! requests came in the other order, that a slot has another request, or none. Some nodes hear it instead of the first
//! instance; who hears it when the view changes is drawn apart, since the best lie is often to tell the truth then.
//!
//! In half of the runs any event may be next, and timers are impatient: some lies only pay after several view changes.
//!
//! A few extras come with it, each for a class of bugs that faces alone do not reach: replicas that miss a round, timers
//! that fire early, a partition, a single lie, a vote made up beside a proposal. Some runs have no face at all.

use std::sync::Arc;

use serde::Deserialize;
use turncoat_core::fault::{Edit, Effect, Fault, Form, Originate, Persona, Span, When};
use turncoat_core::ids::{NodeId, SeatName, Time};
use turncoat_core::part::Scope;
use turncoat_core::rng::Rng;
use turncoat_core::scenario::{Goal, Gst, Scenario, SchedulerName, SchedulerSpec};
use turncoat_core::strategy::Strategy;

use crate::liars::{LIAR, LIARS_DRAWN, Liars};
use crate::params::{Param, Params};
use crate::partitions::SetPartitions;
use crate::{Info, StrategyError, draw};

pub(crate) const INFO: Info = Info {
    name: "two-faced",
    about: "a second instance of the liar tells some replicas another story, and tells it well",
    params: &[
        LIAR,
        LIARS_DRAWN,
        Param { name: "faces", default: "80", about: "percent of runs in which the liar has a second face" },
        Param { name: "third", default: "20", about: "percent of runs in which it has one more" },
        Param { name: "extras", default: "3", about: "at most so many other faults" },
        Param { name: "r", default: "10", about: "they happen in rounds 1 to r" },
        Param { name: "scope", default: "small", about: "how far a single lie may go: small or any" },
        Param {
            name: "schedule",
            default: "drawn",
            about: "drawn: in half of the runs async with impatient timers, else timed, sync or async, if the scenario \
                    says timed; given: as it says",
        },
        Param {
            name: "clients",
            default: "2",
            about: "at least so many, if there are any: with one request at a time there is little to lie about",
        },
        Param { name: "requests", default: "4", about: "at least so many requests, or slots to decide" },
        Param {
            name: "gst",
            default: "5000",
            about: "ticks after which partitions heal, where the rounds that they cut have not passed before",
        },
    ],
    make: |base, params| Ok(Box::new(TwoFaced::new(base, params)?)),
};

/// The weight of an armed timer, where that of a message is 99 by default.
const IMPATIENT: u32 = 30;

/// Who says which event is next.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Schedule {
    Drawn,
    Given,
}

struct TwoFaced {
    liars: Liars,
    schedules: Vec<Arc<SchedulerSpec>>,
    partitions: SetPartitions,
    n: usize,
    clients: usize,
    faces: u32,
    third: u32,
    extras: u32,
    r: u32,
    scope: Scope,
}

impl TwoFaced {
    fn new(base: &Scenario, params: &Params<'_>) -> Result<Self, StrategyError> {
        let mut base = base.clone();
        if base.cluster.n < 2 {
            let why = "a liar needs somebody to lie to: at least 2 replicas".to_owned();
            return Err(StrategyError::Unfit { strategy: params.strategy, why });
        }
        let cluster = Arc::make_mut(&mut base.cluster);
        if cluster.clients > 0 {
            cluster.clients = cluster.clients.max(params.number("clients", 1..=16)? as usize);
        }
        let requests = params.number("requests", 1..=1000)?;
        let workload = Arc::make_mut(&mut base.workload);
        workload.requests = workload.requests.max(requests);
        if let Goal::Height(height) = &mut workload.goal {
            *height = (*height).max(requests);
        }
        let gst = Gst::Time(Time(params.number("gst", 1..=u32::MAX)?.into()));
        Arc::make_mut(&mut base.network).gst.get_or_insert(gst);
        let named = |name| SchedulerSpec { name, ..(*base.scheduler).clone() };
        let patient = [SchedulerName::Timed, SchedulerName::Sync, SchedulerName::Async].map(named);
        let impatient = || SchedulerSpec { timeout: IMPATIENT, ..named(SchedulerName::Async) };
        let schedules = match params.word("schedule")? {
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
            faces: params.number("faces", 0..=100)?,
            third: params.number("third", 0..=100)?,
            extras: params.number("extras", 0..=100)?,
            r: params.number("r", 1..=1000)?,
            scope: params.word("scope")?,
        })
    }

    fn others(&self, liar: NodeId) -> impl Iterator<Item = NodeId> + Clone {
        (0..self.n).map(NodeId::replica).filter(move |&node| node != liar)
    }

    fn everybody(&self, liar: NodeId) -> impl Iterator<Item = NodeId> + Clone {
        self.others(liar).chain((0..self.clients).map(NodeId::client))
    }

    fn face(&self, liar: NodeId, rng: &mut Rng) -> Persona {
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

    /// One of the extras, where the liar has so many instances.
    fn extra(&self, liar: NodeId, instances: u8, rng: &mut Rng) -> Fault {
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

    fn replica(&self, rng: &mut Rng) -> SeatName {
        NodeId::replica(rng.index(self.n)).into()
    }
}

impl Strategy for TwoFaced {
    fn next(&mut self, _index: u64, rng: &mut Rng) -> Scenario {
        let (mut scenario, liars) = self.liars.next(rng);
        scenario.scheduler = rng.pick(&self.schedules).clone();
        for liar in liars {
            let faults = self.faults(liar, rng);
            scenario.adversary.faults.extend(faults);
        }
        scenario
    }
}

impl TwoFaced {
    /// What one liar is up to, and the network meanwhile.
    fn faults(&self, liar: NodeId, rng: &mut Rng) -> Vec<Fault> {
        let [first, second] = [self.faces, self.third].map(|percent| rng.below(100) < percent);
        let faces: Vec<_> =
            [first, second].into_iter().filter(|&has| has).map(|_| self.face(liar, rng)).collect();
        let instances = 1 + faces.iter().filter(|face| face.form == Form::Instance).count() as u8;
        let extras = (*rng.pick(&[0, 1, 1, 2, 2, 3])).min(self.extras);
        let mut faults: Vec<_> = faces
            .into_iter()
            .map(|face| Fault { when: When::default(), effect: Effect::Persona(face) })
            .collect();
        faults.extend((0..extras).map(|_| self.extra(liar, instances, rng)));
        faults
    }
}
