//! [`Plan`]: the adversary that carries out a list of faults.
//!
//! `compile.rs` makes it of the faults of a scenario, once per run; `test.rs` says whom a fault meets. In a run there are no
//! names left, only rows and sets.

use rustc_hash::FxHashMap;

mod compile;
mod test;

pub(crate) use compile::Words;

use crate::adversary::{Deed, Fate, LieSpec, Sent, Sight, Verdict};
use crate::fault::{RoundSource, Span, When};
use crate::ids::{Seat, SeatSet, Time};
use crate::message::Lie;
use crate::rng::Rng;
use crate::sim::stances::Stance;
use test::Test;

#[derive(Clone, Debug)]
enum Action {
    Drop,
    Hold,
    Delay(Time),
    Duplicate(u32),
    /// Whom each seat can reach.
    Partition(Vec<SeatSet>),
    /// Cut off from other replicas: whoever is inside from whoever is outside.
    Isolate(SeatSet, SeatSet),
    Lie(LieSpec),
    /// A liar shows it so many views later.
    Keep(u32),
    Deed,
    /// A stance, of which nothing is about single messages.
    Stance,
}

impl Action {
    /// Whether this is the network's doing whoever sends.
    const fn network(&self) -> bool {
        matches!(self, Self::Partition(_) | Self::Isolate(..))
    }
    /// Whether it keeps messages from arriving.
    const fn cuts(&self) -> bool {
        matches!(self, Self::Drop | Self::Hold | Self::Keep(_) | Self::Partition(_) | Self::Isolate(..))
    }
    const fn lie(&self) -> bool {
        matches!(self, Self::Lie(_))
    }
}

#[derive(Clone, Debug)]
struct Rule {
    test: Test,
    action: Action,
    /// Set for deaf receivers: the network's doing, whoever sends.
    network: bool,
    /// Whether it goes on in the calm phase, whoever sends: delays up to the bound, and the deafness of liars.
    lasts: bool,
}

impl Rule {
    const fn by_network(&self) -> bool {
        self.network || self.action.network()
    }

    /// Whether it does no more than the network may do in the calm phase: at worst a message is as late as the bound allows.
    /// Liars go on, and hear what they like.
    const fn calms_down(&self, copy: &Sent) -> bool {
        let deed = matches!(self.action, Action::Deed);
        copy.calm && !deed && !self.lasts && (self.by_network() || !copy.byzantine)
    }

    /// Whether it may meet a copy of this sending. `late`: whether what it cuts off in the calm phase comes late.
    #[inline]
    fn concerns(&self, sent: &Sent, inherit: bool, late: bool) -> bool {
        self.test.is_about(sent, inherit) && !matches!(self.action, Action::Stance) && !self.rests(sent, late)
    }

    /// Whether it does nothing any more, as the network is calm.
    const fn rests(&self, copy: &Sent, late: bool) -> bool {
        self.calms_down(copy) && !(late && self.action.cuts())
    }
}

/// A list of faults, names resolved.
pub struct Plan {
    rules: Vec<Rule>,
    deeds: Vec<Option<Deed>>,
    stances: Vec<Stance>,
    scheduled: Vec<(u64, Time, u16)>,
    only: Vec<Vec<Vec<Lie>>>,
    process_first: Vec<u32>,
    compose: bool,
    inherit: bool,
    /// Whether what the network does not deliver arrives later.
    hold: bool,
    /// How long that takes in a calm network, if it has a bound.
    latest: Option<Time>,
    uses_nth: bool,
    seen: FxHashMap<(Seat, u8), Vec<u64>>,
    rng: Rng,
    last: LastRounds,
}

/// The last rounds that faults name. The calm phase waits until they are over.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LastRounds {
    /// By the nodes' round counters.
    pub(crate) counter: Option<u64>,
    /// By views, counted from 1.
    pub(crate) view: Option<u64>,
}

impl LastRounds {
    /// Adds those that a predicate names. The numbers of messages alone may not grow with the run, so nobody waits
    /// for them.
    fn add(&mut self, when: &When) {
        let round = when.round.map(Span::last);
        match when.source {
            RoundSource::SenderMax | RoundSource::Global => self.counter = self.counter.max(round),
            RoundSource::View | RoundSource::SenderView => self.view = self.view.max(round),
            RoundSource::Named | RoundSource::Slot => {}
        }
        when.any.iter().for_each(|when| self.add(when));
    }

    /// Whether a node that has got so far has left them, if there are any.
    pub(crate) fn over(self, counter: u32, view: u32) -> bool {
        let over = |last: Option<u64>, now: u32| last.is_none_or(|last| u64::from(now) > last);
        let any = self.counter.is_some() || self.view.is_some();
        any && over(self.counter, counter) && over(self.view, view)
    }
}

impl Plan {
    /// The last rounds that faults name.
    pub(crate) const fn last(&self) -> LastRounds {
        self.last
    }

    /// The stances of liars, which are no affair of single messages.
    pub(crate) fn take_stances(&mut self) -> Vec<Stance> {
        std::mem::take(&mut self.stances)
    }

    /// Whether any fault lies, so that payloads must be kept for it to draw on.
    pub(crate) fn lies(&self) -> bool {
        self.rules.iter().any(|rule| rule.action.lie())
            || self.deeds.iter().flatten().any(|deed| matches!(deed, Deed::Replay(..) | Deed::Mint(..)))
    }

    /// The sender's how-manieth message of its kind this is.
    fn nth(&mut self, copy: &Sent) -> u64 {
        let ident = match copy.key {
            Some(key) => u64::from(key.view.0) << 32 | u64::from(key.slot.0),
            // Without a round every sending is a message of its own.
            None => 1 << 63 | u64::from(copy.sending),
        };
        let seen = self.seen.entry((copy.src, copy.kind)).or_default();
        let found = seen.iter().position(|&known| known == ident).unwrap_or_else(|| {
            seen.push(ident);
            seen.len() - 1
        });
        found as u64 + 1
    }

    /// Whether from now on it judges every copy by its sender, receiver and kind alone, and by its view up to multiples of
    /// `period`, where `now` is what a copy of whoever is furthest behind would be. It has no memory then.
    pub(crate) fn is_steady(&self, now: &Sent, period: u64) -> bool {
        let mut rules = self.rules.iter().zip(&self.deeds);
        let steady = |(rule, deed): (&Rule, &Option<Deed>)| {
            // A persona that is awake cannot be woken again.
            if matches!(deed, Some(Deed::Wake(_))) {
                return true;
            }
            // What is made up depends on the message at hand; other lies and deeds on what has happened before.
            let plain = match &rule.action {
                Action::Deed => matches!(deed, Some(Deed::Mint(..))),
                action => !matches!(action, Action::Lie(_) | Action::Hold | Action::Keep(_)),
            };
            let unlimited = rule.test.left == u32::MAX;
            rule.test.is_over(now) || (plain && unlimited && rule.test.is_steady(now, period))
        };
        self.scheduled.is_empty() && rules.all(steady)
    }

    /// Whether it may do anything about a sending, whoever receives it. Asked once for all copies: few meet a fault.
    pub(crate) fn concerns(&self, sent: &Sent) -> bool {
        self.uses_nth
            || self.rules.iter().any(|rule| rule.concerns(sent, self.inherit, self.latest.is_some()))
    }

    /// Judges a copy when it is sent.
    pub(crate) fn judge(&mut self, copy: &Sent, sight: &dyn Sight, verdict: &mut Verdict) {
        let nth = if self.uses_nth { self.nth(copy) } else { 0 };
        let Self { rules, rng, hold, latest, inherit, .. } = self;
        let (hold, latest, inherit) = (*hold, *latest, *inherit);
        let lie_first = self.process_first.contains(&copy.sender_max)
            && copy.byzantine
            && rules
                .iter_mut()
                .any(|rule| rule.action.lie() && rule.test.clone().holds(copy, sight, nth, inherit, rng));
        let mut cut_by_network = false;
        for (i, rule) in rules.iter_mut().enumerate() {
            // Plans with a fault for each round are common: most are of another one.
            if !rule.test.in_round(copy, inherit) {
                continue;
            }
            if rule.rests(copy, latest.is_some()) {
                continue;
            }
            let (by_network, calm) = (rule.by_network(), rule.calms_down(copy));
            if by_network && lie_first {
                continue;
            }
            let lie = rule.action.lie();
            if lie && (verdict.fate == Fate::Drop || (!self.compose && !verdict.lies.is_empty())) {
                continue;
            }
            let cut = match &rule.action {
                Action::Partition(reach) => !reach[copy.src.index()].contains(copy.dst),
                Action::Isolate(inside, replicas) => {
                    inside.contains(copy.src) != inside.contains(copy.dst)
                        && replicas.contains(copy.src)
                        && replicas.contains(copy.dst)
                }
                Action::Stance => false,
                _ => true,
            };
            if !cut || !rule.test.holds(copy, sight, nth, inherit, rng) {
                continue;
            }
            verdict.matched += 1;
            if let Some(latest) = latest.filter(|_| calm) {
                verdict.delay = verdict.delay.max(latest);
                continue;
            }
            cut_by_network |= by_network;
            let hold_until = Fate::Hold(rule.test.round.map_or(u64::MAX, Span::last), rule.test.source);
            match &rule.action {
                // What an honest node sends is not lost where the network only holds messages back.
                Action::Drop if hold && !copy.byzantine && !rule.lasts && verdict.fate != Fate::Drop => {
                    verdict.fate = hold_until;
                }
                Action::Drop => verdict.fate = Fate::Drop,
                Action::Hold if verdict.fate != Fate::Drop => verdict.fate = hold_until,
                Action::Partition(_) | Action::Isolate(..) if hold && verdict.fate != Fate::Drop => {
                    verdict.fate = hold_until;
                }
                Action::Keep(views) if verdict.fate != Fate::Drop => {
                    let last = u64::from(copy.sender_view) + u64::from(*views) - 1;
                    verdict.fate = Fate::Hold(last, RoundSource::SenderView);
                }
                Action::Hold | Action::Keep(_) | Action::Stance => {}
                Action::Partition(_) | Action::Isolate(..) => verdict.fate = Fate::Drop,
                Action::Delay(ticks) => verdict.delay = verdict.delay + *ticks,
                Action::Duplicate(copies) => verdict.extra += copies,
                Action::Lie(lie) => verdict.lies.push(lie.clone()),
                Action::Deed => verdict.deeds.push(i as u16),
            }
        }
        // Network first: what is cut is not changed.
        if cut_by_network || verdict.fate == Fate::Drop {
            verdict.lies.clear();
        }
    }

    /// The deed of an index.
    pub(crate) fn deed(&self, index: u16) -> Deed {
        self.deeds[usize::from(index)].clone().expect("only deeds have deeds")
    }

    /// The deeds that no message triggers, each with the step and the time for which it is scheduled.
    pub(crate) fn scheduled(&self) -> &[(u64, Time, u16)] {
        &self.scheduled
    }

    /// Takes one of them.
    pub(crate) fn take_scheduled(&mut self, index: u16) {
        self.scheduled.retain(|&(_, _, other)| other != index);
    }

    /// The rows that a restricted draw may take.
    pub(crate) fn only(&self, list: u16, kind: u8) -> &[Lie] {
        &self.only[usize::from(list)][usize::from(kind)]
    }
}
