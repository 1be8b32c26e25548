//! Lasting lies: one mutation, told again in every message of its kind.
//!
//! A lie that is told once must hit the one message that matters. A lie that is told every time hits it anyway, and agrees
//! with itself: a leader that always names the genesis block as the parent, a voter that always votes one epoch ahead, a
//! replica that never sends a COMMIT to two of the others. Some receivers may hear it and the others the truth.
//!
//! The first runs of a campaign try each lie alone ([`Singles`]): every row of the protocol's mutation table, and saying nothing
//! at all, by each liar, to all receivers first and to some of them later. Later runs combine: up to three lies, half of the time
//! about one kind of message, together with a second face, a cut or an early timer.

use turncoat_core::fault::{Effect, Every, Fault, Mutate, RoundSource, Span, When};
use turncoat_core::ids::{NodeId, SeatName};
use turncoat_core::message::MutationTable;
use turncoat_core::part::Scope;
use turncoat_core::rng::Rng;
use turncoat_core::scenario::Scenario;
use turncoat_core::strategy::Strategy;

use crate::cast::{CLIENTS, Cast, GST, R, REQUESTS, SCHEDULE, SCOPE, STANCES};
use crate::liars::{LIAR, LIARS_DRAWN};
use crate::params::{Param, Params};
use crate::{Info, StrategyError, draw};

pub(crate) const INFO: Info = Info {
    name: "lasting",
    about: "lies that are told in every message of a kind: each alone in the first runs, then several together",
    params: &[
        LIAR,
        LIARS_DRAWN,
        Param {
            name: "singles",
            default: "first",
            about: "each lie alone: first (in the first runs) or never",
        },
        Param { name: "lies", default: "3", about: "maximum number of lasting lies of a liar" },
        Param { name: "extras", default: "2", about: "maximum number of other faults" },
        STANCES,
        R,
        Param { default: "any", about: "how far a lie may go: small, any or crafted", ..SCOPE },
        SCHEDULE,
        CLIENTS,
        REQUESTS,
        GST,
    ],
    make: |base, params| Ok(Box::new(Lasting::new(base, params)?)),
};

/// What is told.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Lie {
    /// A row of the mutation table, of messages of a kind.
    Row { kind: usize, name: String },
    /// Nothing, whatever the kind.
    Silence,
}

/// In which of its messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Told {
    Always,
    /// In one of two, drawn.
    Half,
    /// From this view on, counted from 1.
    From(u64),
}

/// All lies of a protocol up to a scope, and the drawing of lasting ones from them.
pub(crate) struct Lies {
    all: Vec<Lie>,
    kinds: usize,
    /// The most of a liar.
    most: u32,
}

impl Lies {
    pub(crate) fn new(table: &MutationTable, scope: Scope, most: u32) -> Self {
        let kinds = table.kinds().iter().enumerate();
        let rows = kinds.flat_map(|(kind, _)| {
            let rows = table.rows(kind as u8).iter().filter(move |row| row.scope <= scope);
            let omit = format!("{}.omit", table.kinds()[kind]);
            rows.map(|row| row.name.clone()).chain([omit]).map(move |name| Lie::Row { kind, name })
        });
        Self { all: rows.chain([Lie::Silence]).collect(), kinds: table.kinds().len(), most }
    }

    /// Lasting lies of these liars, drawn. Half of the time all are about one kind of message. `everybody` are those to whom a
    /// liar may tell them.
    pub(crate) fn draw<I>(
        &self,
        liars: &[SeatName],
        everybody: impl Fn(NodeId) -> I,
        rng: &mut Rng,
    ) -> Vec<Fault>
    where
        I: Iterator<Item = NodeId> + Clone,
    {
        let kind = (self.kinds > 0 && rng.below(2) == 0).then(|| rng.index(self.kinds));
        let about = |lie: &&Lie| match lie {
            Lie::Row { kind: own, .. } => kind.is_none_or(|kind| kind == *own),
            Lie::Silence => kind.is_none(),
        };
        let lies: Vec<&Lie> = self.all.iter().filter(about).collect();
        let together = liars.len() > 1 && rng.below(2) == 0;
        let groups: Vec<&[SeatName]> = if together { vec![liars] } else { liars.chunks(1).collect() };
        let mut faults = Vec::new();
        for group in groups {
            for _ in 0..(*rng.pick(&[1, 1, 1, 2, 2, 3])).min(self.most) {
                let to = match rng.below(2) {
                    0 => Vec::new(),
                    _ => draw::some(&everybody(group[0].node), rng),
                };
                let told = match rng.below(5) {
                    0 => Told::Half,
                    1 => Told::From(2 + u64::from(rng.below(4))),
                    _ => Told::Always,
                };
                faults.push(fault(lies[rng.index(lies.len())], group, to, told));
            }
        }
        faults
    }
}

pub(crate) struct Lasting {
    pub(crate) cast: Cast,
    lies: Lies,
    singles: Option<Singles>,
    extras: u32,
    stances: u32,
}

impl Lasting {
    pub(crate) fn new(base: &Scenario, params: &Params<'_>) -> Result<Self, StrategyError> {
        let cast = Cast::new(base, params)?;
        let lies = Lies::new(params.lies, cast.scope, params.number("lies", 1..=100)?);
        let singles = match params.word("singles")? {
            First::First => Some(Singles::new(base.cluster.n, cast.liars.fixed(), lies.all.len())),
            First::Never => None,
        };
        Ok(Self {
            cast,
            lies,
            singles,
            extras: params.number("extras", 0..=100)?,
            stances: params.number(STANCES.name, 0..=100)?,
        })
    }

    /// For a strategy that draws lasting lies beside other faults, by the parameters that both have.
    pub(crate) fn beside(base: &Scenario, params: &Params<'_>) -> Result<Self, StrategyError> {
        let mut given = params.shared(&INFO)?;
        given.push(("singles".to_owned(), "never".to_owned()));
        Self::new(base, &params.part(&INFO, &given)?)
    }

    /// Lasting lies of these liars.
    pub(crate) fn draw(&self, liars: &[NodeId], rng: &mut Rng) -> Vec<Fault> {
        let names: Vec<SeatName> = liars.iter().map(|&liar| liar.into()).collect();
        self.lies.draw(&names, |liar| self.cast.everybody(liar), rng)
    }
}

/// Whether each lie is told alone first.
#[derive(Clone, Copy, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum First {
    First,
    Never,
}

/// These liars tell a lie to these receivers, or to all.
fn fault(lie: &Lie, liars: &[SeatName], to: Vec<SeatName>, told: Told) -> Fault {
    let mut when = When { from: liars.to_vec(), to, ..When::default() };
    match told {
        Told::Always => {}
        Told::Half => when.permille = Some(500),
        Told::From(first) => {
            let every = Every { from: first, step: std::num::NonZeroU64::MIN };
            (when.round, when.source) = (Some(Span::Every(every)), RoundSource::SenderView);
        }
    }
    let effect = match lie {
        Lie::Row { name, .. } => Effect::Mutate(Mutate::Named(name.clone())),
        Lie::Silence => Effect::Drop,
    };
    Fault { when, effect }
}

/// Each lie alone: in which order, by whom, to whom.
struct Singles {
    /// Liar and lie, in an order that has nothing to do with names.
    pairs: Vec<(NodeId, usize)>,
    /// To whom: by the distance from the liar; to all where there is none.
    audiences: Vec<Vec<usize>>,
    n: usize,
}

impl Singles {
    fn new(n: usize, fixed: Option<NodeId>, lies: usize) -> Self {
        let liars: Vec<NodeId> =
            fixed.map_or_else(|| (0..n).map(NodeId::replica).collect(), |liar| vec![liar]);
        let mut pairs: Vec<_> =
            (0..lies).flat_map(|lie| liars.iter().map(move |&liar| (liar, lie))).collect();
        Rng::stream(0, 0).shuffle(&mut pairs);
        let others = 1..n;
        let some: Vec<Vec<usize>> = if n <= 5 {
            let subsets = 1..(1_u32 << others.len()) - 1;
            subsets
                .map(|bits| others.clone().filter(|other| bits >> (other - 1) & 1 == 1).collect())
                .collect()
        } else {
            let half = (1..=n / 2).collect();
            let alone = others.clone().map(|other| vec![other]);
            let but = others.clone().map(|left| others.clone().filter(|&other| other != left).collect());
            [half].into_iter().chain(alone).chain(but).collect()
        };
        Self { pairs, audiences: [Vec::new()].into_iter().chain(some).collect(), n }
    }

    /// How many there are: each is told always, and half of the time.
    fn len(&self) -> u64 {
        2 * (self.pairs.len() * self.audiences.len()) as u64
    }

    /// The one of a run, if it has one.
    fn get(&self, index: u64) -> Option<(NodeId, usize, Vec<SeatName>, Told)> {
        let index = usize::try_from(index).ok().filter(|&index| (index as u64) < self.len())?;
        let (liar, lie) = self.pairs[index % self.pairs.len()];
        let how = index / self.pairs.len();
        let name = |&away: &usize| NodeId::replica((liar.index() + away) % self.n).into();
        let to = self.audiences[how / 2].iter().map(name).collect();
        Some((liar, lie, to, if how.is_multiple_of(2) { Told::Always } else { Told::Half }))
    }
}

impl Strategy for Lasting {
    fn next(&mut self, index: u64, rng: &mut Rng) -> Scenario {
        let (mut scenario, mut liars) = self.cast.liars.next(rng);
        scenario.scheduler = self.cast.schedule(rng);
        let faults = &mut scenario.adversary.faults;
        if let Some((liar, lie, to, told)) = self.singles.as_ref().and_then(|singles| singles.get(index)) {
            liars = vec![liar];
            faults.push(fault(&self.lies.all[lie], &[liar.into()], to, told));
        } else {
            faults.extend(self.draw(&liars, rng));
            let face = rng.below(5) == 0;
            if face {
                let persona = self.cast.face(liars[0], rng);
                faults.push(Fault { when: When::default(), effect: Effect::Persona(persona) });
            }
            for _ in 0..(*rng.pick(&[0, 0, 1, 1, 2])).min(self.extras) {
                faults.push(self.cast.extra(liars[0], 1, rng));
            }
        }
        // Without stances nothing is drawn: the runs are those of a campaign that does not know them.
        if self.stances > 0 && rng.below(100) < self.stances {
            faults.extend(liars.iter().filter_map(|&liar| self.cast.stance(liar, rng)));
        }
        scenario.adversary.byzantine = liars.into_iter().collect();
        scenario
    }
}
