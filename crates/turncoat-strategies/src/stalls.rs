//! Stalls: views that get stuck, each at one kind of message, while liars lie throughout.
//!
//! Safety across views rests on what a view leaves behind that did not end well: a certificate that only its leader knows, a
//! lock that one replica has, a decision that nobody else has heard of. So in some views of a run all messages of one kind are
//! lost, on their way to all replicas, to all but one, or to some. What the view has reached by then is what the next one has
//! to deal with.
//!
//! Liars tell lasting lies, have a second face, send messages twice, or do nothing wrong at all.

use turncoat_core::fault::{Effect, Fault, RoundSource, Span, When};
use turncoat_core::ids::{NodeId, SeatName};
use turncoat_core::rng::Rng;
use turncoat_core::scenario::Scenario;
use turncoat_core::strategy::Strategy;

use crate::cast::{CLIENTS, GST, R, REQUESTS, SCHEDULE, SCOPE, STANCES};
use crate::lasting::Lasting;
use crate::liars::{LIAR, LIARS_DRAWN};
use crate::params::{Param, Params};
use crate::{Info, StrategyError, draw};

pub(crate) const INFO: Info = Info {
    name: "stalls",
    about: "views that get stuck, each at one kind of message, while liars tell lasting lies or have a second face",
    params: &[
        LIAR,
        LIARS_DRAWN,
        STANCES,
        R,
        Param { default: "crafted", about: "how far a lie may go: small, any or crafted", ..SCOPE },
        SCHEDULE,
        CLIENTS,
        REQUESTS,
        GST,
    ],
    make: |base, params| Ok(Box::new(Stalls::new(base, params)?)),
};

struct Stalls {
    lasting: Lasting,
    kinds: &'static [&'static str],
    n: usize,
    stances: u32,
}

impl Stalls {
    fn new(base: &Scenario, params: &Params<'_>) -> Result<Self, StrategyError> {
        Ok(Self {
            lasting: Lasting::beside(base, params)?,
            kinds: params.lies.kinds(),
            n: base.cluster.n,
            stances: params.number(STANCES.name, 0..=100)?,
        })
    }

    fn replicas(&self) -> impl Iterator<Item = NodeId> + Clone + use<> {
        (0..self.n).map(NodeId::replica)
    }

    /// Whom a stuck view's messages do not reach: nobody is named if they reach no one.
    fn deaf(&self, rng: &mut Rng) -> Vec<SeatName> {
        match rng.below(5) {
            0 | 1 => Vec::new(),
            2 | 3 => {
                let one = rng.index(self.n);
                self.replicas().filter(|node| node.index() != one).map(SeatName::from).collect()
            }
            _ => draw::some(&self.replicas(), rng),
        }
    }

    /// Which views get stuck, and where.
    fn stalls(&self, rng: &mut Rng) -> Vec<Fault> {
        let often = *rng.pick(&[30, 60, 90]);
        // Half of the time all at the same kind of message.
        let same = (rng.below(2) == 0).then(|| *rng.pick(self.kinds));
        let mut faults = Vec::new();
        for view in 1..=self.n as u64 + 2 {
            if rng.below(100) < often {
                let kind = same.unwrap_or_else(|| *rng.pick(self.kinds));
                let when = When {
                    round: Some(Span::At(view)),
                    source: RoundSource::View,
                    kind: kind.into(),
                    to: self.deaf(rng),
                    ..When::default()
                };
                faults.push(Fault { when, effect: Effect::Drop });
            }
        }
        faults
    }
}

impl Strategy for Stalls {
    fn next(&mut self, _index: u64, rng: &mut Rng) -> Scenario {
        let cast = &self.lasting.cast;
        let (mut scenario, liars) = cast.liars.next(rng);
        scenario.scheduler = cast.schedule(rng);
        let mut faults = Vec::new();
        let (lies, face) = match rng.below(9) {
            0..3 => (true, false),
            3..5 => (true, true),
            5..8 => (false, true),
            _ => (false, false),
        };
        if lies {
            faults.extend(self.lasting.draw(&liars, rng));
        }
        if face {
            let face = cast.face(liars[0], rng);
            faults.push(Fault { when: When::default(), effect: Effect::Persona(face) });
        }
        if !self.kinds.is_empty() {
            faults.extend(self.stalls(rng));
            if rng.below(4) == 0 {
                let (from, kind) = (vec![liars[0].into()], (*rng.pick(self.kinds)).into());
                let when = When { from, kind, ..When::default() };
                faults.push(Fault { when, effect: Effect::Duplicate(1) });
            }
        }
        if rng.below(4) == 0 {
            faults.push(cast.extra(liars[0], 1, rng));
        }
        if self.stances > 0 && rng.below(100) < self.stances {
            faults.extend(liars.iter().filter_map(|&liar| cast.stance(liar, rng)));
        }
        scenario.adversary.byzantine = liars.into_iter().collect();
        scenario.adversary.faults = faults;
        scenario
    }
}
