//! Whether a fault meets a copy: [`Test`].

use crate::adversary::{Sent, Sight};
use crate::fault::{RoundSource, Span};
use crate::ids::{Seat, SeatSet};
use crate::node::Vitals;
use crate::part::Place;
use crate::rng::Rng;

/// A set of seats, or no restriction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Among(pub(super) Option<SeatSet>);

impl Among {
    pub(super) fn contains(self, seat: Seat) -> bool {
        self.0.is_none_or(|set| set.contains(seat))
    }
}

/// A number that a message has to say.
#[derive(Clone, Debug)]
pub(super) struct Field {
    /// Where it stands, by the kind of message; nowhere in the others.
    pub(super) places: Vec<Option<Place>>,
    pub(super) span: Span,
}

impl Field {
    fn holds(&self, copy: &Sent, sight: &dyn Sight) -> bool {
        let place = self.places[usize::from(copy.kind)].as_ref();
        place.and_then(|place| sight.number(place)).is_some_and(|number| self.span.contains(number))
    }
}

/// Whose vitals, seats resolved.
#[derive(Clone, Copy, Debug)]
pub(super) enum Who {
    Sender,
    Receiver,
    Seats(SeatSet),
}

/// What a node has to know or wait for.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) who: Who,
    pub(super) view: Option<Span>,
    pub(super) decided: Option<Span>,
    pub(super) changing_view: Option<bool>,
    pub(super) prepared: Option<bool>,
    pub(super) locked: Option<bool>,
    /// The kinds of which it has to wait for one; any state will do where there is none.
    pub(super) waiting: Vec<&'static str>,
}

impl Node {
    fn holds(&self, copy: &Sent, sight: &dyn Sight) -> bool {
        match self.who {
            Who::Sender => self.fits(&sight.vitals(copy.src)),
            Who::Receiver => self.fits(&sight.vitals(copy.dst)),
            Who::Seats(seats) => seats.iter().any(|seat| self.fits(&sight.vitals(seat))),
        }
    }

    fn fits(&self, vitals: &Vitals) -> bool {
        let within = |span: Option<Span>, number: u32| span.is_none_or(|span| span.contains(number.into()));
        let is = |wanted: Option<bool>, found: bool| wanted.is_none_or(|wanted| wanted == found);
        let waits = |kind: &&'static str| vitals.waiting.iter().any(|waiting| waiting.kind == *kind);
        within(self.view, vitals.view.0)
            && within(self.decided, vitals.decided.0)
            && is(self.changing_view, vitals.changing_view)
            && is(self.prepared, vitals.prepared.is_some())
            && is(self.locked, vitals.locked.is_some())
            && (self.waiting.is_empty() || self.waiting.iter().any(waits))
    }
}

/// The predicate of a fault, names resolved.
#[derive(Clone, Debug)]
pub(super) struct Test {
    pub(super) round: Option<Span>,
    pub(super) source: RoundSource,
    pub(super) from: Among,
    pub(super) to: Among,
    pub(super) kinds: u64,
    pub(super) fields: Vec<Field>,
    pub(super) nodes: Vec<Node>,
    pub(super) nth: Option<Span>,
    pub(super) step: Option<Span>,
    pub(super) time: Option<Span>,
    pub(super) permille: Option<u32>,
    pub(super) left: u32,
    pub(super) any: Vec<Self>,
    pub(super) not: Option<Box<Self>>,
}

impl Test {
    /// Whether the message is of the rounds meant.
    #[inline]
    pub(super) fn in_round(&self, copy: &Sent, inherit: bool) -> bool {
        let Some(span) = self.round else { return true };
        if self.source == RoundSource::Slot {
            return copy.slot.is_some_and(|slot| span.contains(slot.0.into()));
        }
        span.contains(self.round_of(copy)) && (copy.key.is_some() || inherit)
    }

    /// Whether it may hold for a copy of this sending. It draws and counts nothing for one of another.
    #[inline]
    pub(super) fn is_about(&self, sent: &Sent, inherit: bool) -> bool {
        self.in_round(sent, inherit) && self.from.contains(sent.src) && self.kinds & (1 << sent.kind) != 0
    }

    pub(super) fn holds(
        &mut self,
        copy: &Sent,
        sight: &dyn Sight,
        nth: u64,
        inherit: bool,
        rng: &mut Rng,
    ) -> bool {
        let plain = self.is_about(copy, inherit)
            && self.to.contains(copy.dst)
            && self.nth.is_none_or(|span| span.contains(nth))
            && self.step.is_none_or(|span| span.contains(copy.step))
            && self.time.is_none_or(|span| span.contains(copy.now.0));
        if !plain || self.left == 0 {
            return false;
        }
        if !self.fields.iter().all(|field| field.holds(copy, sight))
            || !self.nodes.iter().all(|node| node.holds(copy, sight))
        {
            return false;
        }
        let mut holds = |test: &mut Self| test.holds(copy, sight, nth, inherit, rng);
        if !self.any.is_empty() && !self.any.iter_mut().any(&mut holds) {
            return false;
        }
        if self.not.as_deref_mut().is_some_and(&mut holds) {
            return false;
        }
        // The draw comes last, so that it is spent on matching copies only.
        if self.permille.is_some_and(|permille| !rng.chance(permille)) {
            return false;
        }
        self.left -= u32::from(self.left != u32::MAX);
        true
    }

    /// Whether what it says about rounds, steps and times will not change any more but for views that come back every so
    /// often, and it counts and draws nothing.
    pub(super) fn is_steady(&self, now: &Sent, period: u64) -> bool {
        let settled = |span: Option<Span>, now: u64, period: u64| {
            span.is_none_or(|span| {
                let always = span.first() <= now && span.endless() && period.is_multiple_of(span.step());
                span.last() < now || always
            })
        };
        let by_view = matches!(self.source, RoundSource::View | RoundSource::SenderView);
        self.round.is_none_or(|_| !matches!(self.source, RoundSource::Named | RoundSource::Slot))
            && settled(self.round, self.round_of(now), if by_view { period } else { 1 })
            && settled(self.step, now.step, 1)
            && settled(self.time, now.now.0, 1)
            && self.nth.is_none()
            && self.fields.is_empty()
            && self.nodes.is_empty()
            && self.permille.is_none()
            && self.any.iter().chain(self.not.as_deref()).all(|test| test.is_steady(now, period))
    }

    /// Whether it will never hold again.
    pub(super) fn is_over(&self, now: &Sent) -> bool {
        let past = |span: Option<Span>, now: u64| span.is_some_and(|span| span.last() < now);
        // The numbers in messages may go back, those of their senders do not.
        let forward = !matches!(self.source, RoundSource::Named | RoundSource::View | RoundSource::Slot);
        self.left == 0
            || past(self.step, now.step)
            || past(self.time, now.now.0)
            || (forward && past(self.round, self.round_of(now)))
    }

    /// The round that it asks for.
    #[inline]
    fn round_of(&self, copy: &Sent) -> u64 {
        let round = match self.source {
            RoundSource::SenderMax => copy.sender_max,
            RoundSource::Named => copy.named,
            RoundSource::Slot => copy.slot.map_or(0, |slot| slot.0),
            RoundSource::View => copy.view,
            RoundSource::SenderView => copy.sender_view,
            RoundSource::Global => copy.global,
        };
        round.into()
    }
}
