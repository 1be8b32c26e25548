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

use turncoat_core::fault::{Effect, Fault, Form, When};
use turncoat_core::ids::NodeId;
use turncoat_core::rng::Rng;
use turncoat_core::scenario::Scenario;
use turncoat_core::strategy::Strategy;

use crate::cast::{CLIENTS, Cast, GST, R, REQUESTS, SCHEDULE, SCOPE};
use crate::liars::{LIAR, LIARS_DRAWN};
use crate::params::{Param, Params};
use crate::{Info, StrategyError};

pub(crate) const INFO: Info = Info {
    name: "two-faced",
    about: "a second instance of the liar shows some replicas a different, consistent history",
    params: &[
        LIAR,
        LIARS_DRAWN,
        Param {
            name: "faces",
            default: "80",
            about: "percentage of runs in which the liar has a second face",
        },
        Param { name: "third", default: "20", about: "percentage of runs in which it has one more face" },
        Param { name: "extras", default: "3", about: "maximum number of other faults" },
        R,
        SCOPE,
        SCHEDULE,
        CLIENTS,
        REQUESTS,
        GST,
    ],
    make: |base, params| Ok(Box::new(TwoFaced::new(base, params)?)),
};

struct TwoFaced {
    cast: Cast,
    faces: u32,
    third: u32,
    extras: u32,
}

impl TwoFaced {
    fn new(base: &Scenario, params: &Params<'_>) -> Result<Self, StrategyError> {
        Ok(Self {
            cast: Cast::new(base, params)?,
            faces: params.number("faces", 0..=100)?,
            third: params.number("third", 0..=100)?,
            extras: params.number("extras", 0..=100)?,
        })
    }
}

impl Strategy for TwoFaced {
    fn next(&mut self, _index: u64, rng: &mut Rng) -> Scenario {
        let (mut scenario, liars) = self.cast.liars.next(rng);
        scenario.scheduler = self.cast.schedule(rng);
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
            [first, second].into_iter().filter(|&has| has).map(|_| self.cast.face(liar, rng)).collect();
        let instances = 1 + faces.iter().filter(|face| face.form == Form::Instance).count() as u8;
        let extras = (*rng.pick(&[0, 1, 1, 2, 2, 3])).min(self.extras);
        let mut faults: Vec<_> = faces
            .into_iter()
            .map(|face| Fault { when: When::default(), effect: Effect::Persona(face) })
            .collect();
        faults.extend((0..extras).map(|_| self.cast.extra(liar, instances, rng)));
        faults
    }
}
