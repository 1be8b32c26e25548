//! Divergence: an adversary that looks at the run, and keeps the replicas apart.
//!
//! Agreement breaks where replicas have got to different points and learn of each other too late. So before each event this adversary
//! asks how far each replica is: its view, and the last slot that it has decided. In `bias` of 100 choices it delivers what
//! widens the gap; the others are uniform. There are two ways to widen it, one of which is drawn for each run:
//!
//! - *ahead*: the replicas that are furthest get their messages first, and nobody else gets the one that completes a
//!   quorum that it waits for;
//! - *alike*: replicas that are equally far hear each other, and not the others. Liars are heard by all.
//!
//! Where no message in flight widens the gap, a timer may fire. Of messages of a Byzantine replica `lies` of 100 say something else, by
//! the mutation table. Nothing is lost: a message that does not suit waits. After a number of choices, drawn for each run, the
//! network calms down.

use std::collections::BTreeMap;
use std::sync::Arc;

use turncoat_core::ids::{NodeSet, SeatName};
use turncoat_core::message::MutationTable;
use turncoat_core::node::{About, Vitals};
use turncoat_core::online::{Envelope, OnlineAdversary, Position};
use turncoat_core::part::Scope;
use turncoat_core::rng::Rng;
use turncoat_core::scenario::Scenario;
use turncoat_core::schedule::Action;
use turncoat_core::strategy::Strategy;

use crate::cast::{CLIENTS, REQUESTS, SCOPE, busy};
use crate::liars::{LIAR, LIARS_DRAWN, Liars};
use crate::params::{Param, Params};
use crate::{Info, StrategyError};

pub(crate) const INFO: Info = Info {
    name: "divergence",
    about: "an adversary that looks at the run and picks each event, so as to keep replicas apart; liars lie in single messages",
    params: &[
        LIAR,
        LIARS_DRAWN,
        Param {
            name: "bias",
            default: "50",
            about: "how many of 100 choices keep replicas apart; the others are uniform",
        },
        Param { name: "lies", default: "50", about: "how many of 100 messages of a liar say something else" },
        SCOPE,
        Param {
            name: "timeout",
            default: "10",
            about: "weight of each armed timer; that of a message is 99",
        },
        Param {
            name: "choices",
            default: "1000",
            about: "most events that the adversary picks (drawn for each run); then the network calms down",
        },
        CLIENTS,
        REQUESTS,
    ],
    make: |base, params| Ok(Box::new(Divergence::new(base, params)?)),
};

/// The weight of a message.
const MESSAGE: u32 = 99;

struct Divergence {
    liars: Liars,
    bias: u32,
    lies: u32,
    timeout: u32,
    choices: u32,
    /// The lies that there are, by kind.
    table: Arc<[Vec<String>]>,
    drawn: Option<Apart>,
}

impl Divergence {
    fn new(base: &Scenario, params: &Params<'_>) -> Result<Self, StrategyError> {
        let lies = params.number("lies", 0..=100)?;
        Ok(Self {
            // Without its adversary, such a run is calm from its first event.
            liars: Liars::new(params, &busy(base, params)?.scripted(Vec::new()), lies > 0)?,
            bias: params.number("bias", 0..=100)?,
            lies,
            timeout: params.number("timeout", 0..=1000)?,
            choices: params.number("choices", 1..=1_000_000)?,
            table: by_kind(params.lies, params.word(SCOPE.name)?),
            drawn: None,
        })
    }
}

/// The names of lies within a scope.
fn by_kind(table: &MutationTable, scope: Scope) -> Arc<[Vec<String>]> {
    let mut names = vec![Vec::new(); table.kinds().len()];
    for (kind, lie) in table.lies().filter(|&(kind, lie)| table.scope(kind, lie) <= scope) {
        names[usize::from(kind)].push(table.name(kind, lie));
    }
    names.into()
}

impl Strategy for Divergence {
    fn next(&mut self, _index: u64, rng: &mut Rng) -> Scenario {
        let (scenario, _) = self.liars.next(rng);
        self.drawn = Some(Apart {
            way: *rng.pick(&[Way::Ahead, Way::Alike]),
            left: 1 + rng.below(self.choices),
            bias: self.bias,
            lies: self.lies,
            timeout: self.timeout,
            table: self.table.clone(),
            told: None,
        });
        scenario
    }

    fn online(&mut self) -> Option<Box<dyn OnlineAdversary>> {
        self.drawn.take().map(|drawn| Box::new(drawn) as _)
    }
}

/// How replicas are kept apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Ahead,
    Alike,
}

/// The adversary of one run.
struct Apart {
    way: Way,
    /// Choices that are left.
    left: u32,
    bias: u32,
    lies: u32,
    timeout: u32,
    table: Arc<[Vec<String>]>,
    /// The message in which somebody has just lied: it is delivered next.
    told: Option<Name>,
}

/// Its name: sender, receiver, kind and number.
type Name = (SeatName, SeatName, &'static str, u32);

const fn name(message: &Envelope) -> Name {
    (message.src, message.dst, message.kind, message.nth)
}

impl OnlineAdversary for Apart {
    fn next(&mut self, position: &dyn Position, rng: &mut Rng) -> Option<Action> {
        let messages = position.messages();
        if let Some(told) = self.told.take()
            && let Some(message) = messages.iter().find(|message| name(message) == told)
        {
            return Some(message.deliver());
        }
        self.left = self.left.checked_sub(1)?;
        let timers = position.timers();
        if !messages.is_empty() && rng.below(100) < self.bias {
            let suits = self.widening(&messages, position);
            if !suits.is_empty() {
                return Some(self.hand_over(rng.pick(&suits), position, rng));
            }
            if !timers.is_empty() && rng.below(2) == 0 {
                return Some(rng.pick(&timers).fire());
            }
        }
        let (patient, impatient) = (MESSAGE * messages.len() as u32, self.timeout * timers.len() as u32);
        if messages.is_empty() || rng.below(patient + impatient) >= patient {
            return Some(rng.pick(&timers).fire());
        }
        Some(self.hand_over(rng.pick(&messages), position, rng))
    }
}

impl Apart {
    /// A message arrives; a liar may say something else in it first.
    fn hand_over(&mut self, message: &Envelope, position: &dyn Position, rng: &mut Rng) -> Action {
        let liar = position.byzantine().contains(message.src.node);
        if !liar || message.lie || rng.below(100) >= self.lies {
            return message.deliver();
        }
        let kind = position.lies().kinds().iter().position(|kind| *kind == message.kind);
        match kind.and_then(|kind| self.table.get(kind)) {
            Some(names) if !names.is_empty() => {
                self.told = Some(name(message));
                let lie: &String = rng.pick(names);
                message.lie(lie, rng.below(u32::MAX).into())
            }
            _ => message.deliver(),
        }
    }

    /// The messages that keep correct replicas apart. Those to clients and liars always do.
    fn widening(&self, messages: &[Envelope], position: &dyn Position) -> Vec<Envelope> {
        let liars = position.byzantine();
        let correct = |seat: &SeatName| !seat.node.is_client() && !liars.contains(seat.node);
        let replicas = position.cluster().replicas().iter().map(SeatName::from);
        let seats = replicas.chain(messages.iter().flat_map(|it| [it.src, it.dst])).filter(correct);
        let known: BTreeMap<SeatName, Vitals> =
            seats.filter_map(|seat| Some((seat, position.vitals(seat)?))).collect();
        let progress = |seat: SeatName| known.get(&seat).map(|vitals| (vitals.view, vitals.decided));
        let such = |suits: &dyn Fn(&Envelope) -> bool| -> Vec<Envelope> {
            messages.iter().filter(|it| !correct(&it.dst) || suits(it)).copied().collect()
        };
        match self.way {
            Way::Alike => such(&|it| !correct(&it.src) || progress(it.src) == progress(it.dst)),
            Way::Ahead => {
                let furthest = known.keys().filter_map(|&seat| progress(seat)).max();
                let first = such(&|it| progress(it.dst) == furthest);
                if first.is_empty() {
                    return such(&|it| known.get(&it.dst).is_none_or(|vitals| !completes(it, vitals)));
                }
                first
            }
        }
    }
}

/// Whether a message is the one that its receiver still waits for.
fn completes(message: &Envelope, receiver: &Vitals) -> bool {
    receiver.waiting.iter().any(|waiting| {
        let about = match waiting.about {
            About::Slot(slot) => message.slot == Some(slot),
            About::View(view) => message.view == Some(view),
            About::Request(_) => false,
        };
        let has = waiting.have.or(NodeSet::one(message.src.node)).len();
        about && waiting.kind == message.kind && has >= waiting.need
    })
}
