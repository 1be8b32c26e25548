//! What happens to this message? The [`Adversary`] trait, and [`Plan`]: a list of faults, compiled.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::fault::{Effect, Fault, Mutate, Originate, RoundSource, Span, When};
use crate::ids::{NodeSet, Seat, SeatName, SeatSet, Slot, Time};
use crate::message::{Lie, MutationTable, RoundKey};
use crate::part::Scope;
use crate::rng::{Purpose, Rng};
use crate::scenario::{Adversary as Spec, Loss, Scenario, ScenarioError, invalid};
use crate::seats::Seats;

/// A copy about to be sent, as adversaries see it.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// The sender.
    pub src: Seat,
    /// The receiver.
    pub dst: Seat,
    /// The kind of message.
    pub kind: u8,
    /// Its round, if it has one.
    pub key: Option<RoundKey>,
    /// The slot it is about.
    pub slot: Option<Slot>,
    /// The number of the sending: the same for all copies of one broadcast.
    pub sending: u32,
    /// The sender's round counter, this message included.
    pub sender_max: u32,
    /// The message's own number, or that of the sender's highest round where it has none.
    pub named: u32,
    /// Its view, counted from 1, or that of the sender's highest round where it has none.
    pub view: u32,
    /// The view of the sender's highest round, counted from 1.
    pub sender_view: u32,
    /// The highest round counter of all nodes.
    pub global: u32,
    /// Events so far.
    pub step: u64,
    /// The time.
    pub now: Time,
    /// Whether the calm phase has started.
    pub calm: bool,
    /// Whether the sender may lie.
    pub byzantine: bool,
}

/// What becomes of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Fate {
    /// It is sent.
    #[default]
    Send,
    /// It is lost.
    Drop,
    /// It is kept until its sender's round, by this source, exceeds this; at the latest until the calm phase.
    Hold(u64, RoundSource),
}

/// A lie to be told: resolved names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LieSpec {
    /// This row of the kind's table, with values drawn by the seed.
    Row(Lie, u64),
    /// One of these rows, drawn by (kind, seed).
    Drawn {
        /// The seed.
        seed: u64,
        /// The scope.
        scope: Scope,
        /// The rows allowed, as an index into [`Plan`]'s lists; all where there is none.
        only: Option<u16>,
    },
    /// A flipped bit, drawn by the seed.
    Flip(u64),
}

/// The judgment of one copy.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// What becomes of it.
    pub fate: Fate,
    /// Ticks longer on the way.
    pub delay: Time,
    /// More copies of it.
    pub extra: u32,
    /// Lies in it, in order.
    pub lies: SmallVec<[LieSpec; 2]>,
    /// Things to do to nodes once the running handler is through: indices for [`Adversary::deed`].
    pub deeds: SmallVec<[u16; 2]>,
    /// Faults that matched.
    pub matched: u32,
}

impl Verdict {
    /// Ready for the next copy; keeps the memory.
    pub(crate) fn clear(&mut self) {
        let Self { fate, delay, extra, lies, deeds, matched } = self;
        (*fate, *delay, *extra, *matched) = (Fate::Send, Time(0), 0, 0);
        lies.clear();
        deeds.clear();
    }
}

/// Something done to a node.
#[derive(Clone, Debug)]
pub enum Deed {
    /// It stops.
    Crash(SeatSet),
    /// It goes on, with its state or without.
    Restart(SeatSet, bool),
    /// Its clock jumps.
    Jump(SeatSet, Time),
    /// Its next timer fires.
    Fire(SeatSet),
    /// The sender of the matching message, or without one the first of these, sends its first message of this kind
    /// again.
    Replay(SeatSet, u8, SeatSet),
    /// The sender of the matching message sends a made-up one of this kind.
    Mint(u8, SeatSet),
    /// The persona with this number wakes up.
    Wake(u16),
}

/// What happens to this message?
pub trait Adversary {
    /// Judges a copy when it is sent.
    fn judge(&mut self, copy: &Sent, verdict: &mut Verdict);
    /// Judges a copy when it is about to be delivered: `Send` or `Drop`. Only called if `online`.
    fn at_delivery(&mut self, _copy: &Sent) -> Fate {
        Fate::Send
    }
    /// Whether it wants to judge deliveries too.
    fn online(&self) -> bool {
        false
    }
    /// The deed of an index.
    fn deed(&self, index: u16) -> Deed;
    /// The deeds that no message triggers, each with the step and the time for which it is scheduled.
    fn scheduled(&self) -> &[(u64, Time, u16)] {
        &[]
    }
    /// Takes one of them.
    fn take_scheduled(&mut self, _index: u16) {}
    /// The rows that a restricted draw may take.
    fn only(&self, _list: u16, _kind: u8) -> &[Lie] {
        &[]
    }
    /// Whether from now on it judges every copy by its sender, receiver and kind alone, and by its view up to multiples of
    /// `period`, where `now` is what a copy of whoever is furthest behind would be. It has no memory then.
    fn is_steady(&self, _now: &Sent, _period: u64) -> bool {
        false
    }
}

/// A set of seats, or no restriction.
#[derive(Clone, Copy, Debug)]
struct Among(Option<SeatSet>);

impl Among {
    fn contains(self, seat: Seat) -> bool {
        self.0.is_none_or(|set| set.contains(seat))
    }
}

#[derive(Clone, Debug)]
struct Test {
    round: Option<Span>,
    source: RoundSource,
    from: Among,
    to: Among,
    kinds: u64,
    nth: Option<Span>,
    step: Option<Span>,
    time: Option<Span>,
    permille: Option<u32>,
    left: u32,
    any: Vec<Self>,
    not: Option<Box<Self>>,
}

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
    Deed,
}

impl Action {
    /// Whether this is the network's doing whoever sends.
    const fn network(&self) -> bool {
        matches!(self, Self::Partition(_) | Self::Isolate(..))
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

/// Plans beyond this are a slip of the keyboard.
const FAULTS_MAX: usize = 10_000;

/// A list of faults, names resolved.
pub struct Plan {
    rules: Vec<Rule>,
    deeds: Vec<Option<Deed>>,
    scheduled: Vec<(u64, Time, u16)>,
    only: Vec<Vec<Vec<Lie>>>,
    process_first: Vec<u32>,
    compose: bool,
    inherit: bool,
    hold: bool,
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
            RoundSource::Named => {}
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
    /// Compiles the faults of a scenario.
    pub(crate) fn compile(
        scenario: &Scenario,
        seats: &Seats,
        kinds: &'static [&'static str],
        table: &MutationTable,
    ) -> Result<Self, ScenarioError> {
        let spec = &scenario.adversary;
        let mut plan = Self {
            rules: Vec::with_capacity(spec.faults.len()),
            deeds: Vec::with_capacity(spec.faults.len()),
            scheduled: Vec::new(),
            only: Vec::new(),
            process_first: spec.process_first.clone(),
            compose: spec.compose,
            inherit: spec.roundless_inherit,
            hold: scenario.network.loss == Loss::Hold,
            uses_nth: false,
            seen: FxHashMap::default(),
            rng: Rng::new(scenario.seed.0, Purpose::Faults),
            last: LastRounds::default(),
        };
        if spec.faults.len() > FAULTS_MAX {
            return Err(invalid(format!("{} faults are too many: at most {FAULTS_MAX}", spec.faults.len())));
        }
        let compiler = Compiler { spec, bounded: scenario.network.bound.is_some(), seats, kinds, table };
        for (i, fault) in spec.faults.iter().enumerate() {
            compiler.fault(&mut plan, fault).map_err(|error| invalid(format!("fault {}: {error}", i + 1)))?;
        }
        Ok(plan)
    }

    /// The last rounds that faults name.
    pub(crate) const fn last(&self) -> LastRounds {
        self.last
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
}

impl Test {
    /// Whether the message is of the rounds meant.
    #[inline]
    fn in_round(&self, copy: &Sent, inherit: bool) -> bool {
        let Some(span) = self.round else { return true };
        span.contains(self.round_of(copy)) && (copy.key.is_some() || inherit)
    }

    fn holds(&mut self, copy: &Sent, nth: u64, inherit: bool, rng: &mut Rng) -> bool {
        let plain = self.in_round(copy, inherit)
            && self.from.contains(copy.src)
            && self.to.contains(copy.dst)
            && self.kinds & (1 << copy.kind) != 0
            && self.nth.is_none_or(|span| span.contains(nth))
            && self.step.is_none_or(|span| span.contains(copy.step))
            && self.time.is_none_or(|span| span.contains(copy.now.0));
        if !plain || self.left == 0 {
            return false;
        }
        if !self.any.is_empty() && !self.any.iter_mut().any(|test| test.holds(copy, nth, inherit, rng)) {
            return false;
        }
        if self.not.as_mut().is_some_and(|test| test.holds(copy, nth, inherit, rng)) {
            return false;
        }
        // The draw comes last, so that it is spent on matching copies only.
        if self.permille.is_some_and(|permille| !rng.chance(permille)) {
            return false;
        }
        self.left -= u32::from(self.left != u32::MAX);
        true
    }
}

impl Test {
    /// Whether what it says about rounds, steps and times will not change any more but for views that come back every so
    /// often, and it counts and draws nothing.
    fn is_steady(&self, now: &Sent, period: u64) -> bool {
        let settled = |span: Option<Span>, now: u64, period: u64| {
            span.is_none_or(|span| {
                let always = span.first() <= now && span.endless() && period.is_multiple_of(span.step());
                span.last() < now || always
            })
        };
        let by_view = matches!(self.source, RoundSource::View | RoundSource::SenderView);
        self.round.is_none_or(|_| self.source != RoundSource::Named)
            && settled(self.round, self.round_of(now), if by_view { period } else { 1 })
            && settled(self.step, now.step, 1)
            && settled(self.time, now.now.0, 1)
            && self.nth.is_none()
            && self.permille.is_none()
            && self.any.iter().chain(self.not.as_deref()).all(|test| test.is_steady(now, period))
    }

    /// Whether it will never hold again.
    fn is_over(&self, now: &Sent) -> bool {
        let past = |span: Option<Span>, now: u64| span.is_some_and(|span| span.last() < now);
        // The numbers in messages may go back, those of their senders do not.
        let forward = !matches!(self.source, RoundSource::Named | RoundSource::View);
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
            RoundSource::View => copy.view,
            RoundSource::SenderView => copy.sender_view,
            RoundSource::Global => copy.global,
        };
        round.into()
    }
}

impl Adversary for Plan {
    fn is_steady(&self, now: &Sent, period: u64) -> bool {
        let mut rules = self.rules.iter().zip(&self.deeds);
        let steady = |(rule, deed): (&Rule, &Option<Deed>)| {
            // What is made up depends on the message at hand; other lies and deeds on what has happened before.
            let plain = match &rule.action {
                Action::Deed => matches!(deed, Some(Deed::Mint(..))),
                action => !matches!(action, Action::Lie(_) | Action::Hold),
            };
            let unlimited = rule.test.left == u32::MAX;
            rule.test.is_over(now) || (plain && unlimited && rule.test.is_steady(now, period))
        };
        self.scheduled.is_empty() && rules.all(steady)
    }

    fn judge(&mut self, copy: &Sent, verdict: &mut Verdict) {
        let nth = if self.uses_nth { self.nth(copy) } else { 0 };
        let Self { rules, rng, hold, inherit, .. } = self;
        let (hold, inherit) = (*hold, *inherit);
        let lie_first = self.process_first.contains(&copy.sender_max)
            && copy.byzantine
            && rules
                .iter_mut()
                .any(|rule| rule.action.lie() && rule.test.clone().holds(copy, nth, inherit, rng));
        let mut cut_by_network = false;
        for (i, rule) in rules.iter_mut().enumerate() {
            // Plans with a fault for each round are common: most are of another one.
            if !rule.test.in_round(copy, inherit) {
                continue;
            }
            let by_network = rule.network || rule.action.network();
            // In the calm phase the network behaves; liars go on, and hear what they like.
            let deed = matches!(rule.action, Action::Deed);
            if copy.calm && !deed && !rule.lasts && (by_network || !copy.byzantine) {
                continue;
            }
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
                _ => true,
            };
            if !cut || !rule.test.holds(copy, nth, inherit, rng) {
                continue;
            }
            verdict.matched += 1;
            cut_by_network |= by_network;
            let hold_until = Fate::Hold(rule.test.round.map_or(u64::MAX, Span::last), rule.test.source);
            match &rule.action {
                Action::Drop => verdict.fate = Fate::Drop,
                Action::Hold if verdict.fate != Fate::Drop => verdict.fate = hold_until,
                Action::Partition(_) | Action::Isolate(..) if hold && verdict.fate != Fate::Drop => {
                    verdict.fate = hold_until;
                }
                Action::Hold => {}
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

    fn deed(&self, index: u16) -> Deed {
        self.deeds[usize::from(index)].clone().expect("only deeds have deeds")
    }

    fn scheduled(&self) -> &[(u64, Time, u16)] {
        &self.scheduled
    }

    fn take_scheduled(&mut self, index: u16) {
        self.scheduled.retain(|&(_, _, other)| other != index);
    }

    fn only(&self, list: u16, kind: u8) -> &[Lie] {
        &self.only[usize::from(list)][usize::from(kind)]
    }
}

struct Compiler<'a> {
    spec: &'a Spec,
    /// Whether there is a bound on delays in the calm phase.
    bounded: bool,
    seats: &'a Seats,
    kinds: &'static [&'static str],
    table: &'a MutationTable,
}

impl Compiler<'_> {
    fn fault(&self, plan: &mut Plan, fault: &Fault) -> Result<(), ScenarioError> {
        let mut test = self.test(&fault.when)?;
        plan.last.add(&fault.when);
        plan.uses_nth |= uses_nth(&fault.when);
        let mut network = false;
        let mut lasts = false;
        let mut deed = None;
        let action = match &fault.effect {
            Effect::Drop => Action::Drop,
            Effect::Hold => Action::Hold,
            Effect::Delay(ticks) => {
                lasts = self.bounded;
                Action::Delay(*ticks)
            }
            Effect::Duplicate(copies @ ..=1000) => Action::Duplicate(*copies),
            Effect::Duplicate(_) => return Err(invalid("`duplicate` makes at most 1000 copies")),
            Effect::Partition(blocks) => Action::Partition(self.reach(blocks)?),
            Effect::Isolate(seats) => Action::Isolate(self.set(seats)?, self.seats.replicas()),
            Effect::Deaf(seats) => {
                network = true;
                // Where receivers are named twice, both must hold.
                let mut deaf = self.set(seats)?;
                deaf.iter().filter(|&seat| !test.to.contains(seat)).for_each(|seat| deaf.remove(seat));
                lasts = deaf.iter().all(|seat| self.spec.byzantine.contains(self.seats.node(seat)));
                test.to = Among(Some(deaf));
                Action::Drop
            }
            Effect::Mutate(mutate) => {
                self.liar(&mut test)?;
                self.mutate(plan, &mut test, mutate)?
            }
            // A flip on an honest sender's copy is corruption by the network: the kernel loses the copy.
            Effect::Flip(seed) => Action::Lie(LieSpec::Flip(seed.0)),
            Effect::Persona(persona) => {
                self.must_be_byzantine(NodeSet::one(persona.of))?;
                for &node in persona.to.iter().chain(persona.at_view_change.iter().flatten()) {
                    self.seats.named(node.into())?;
                }
                deed = Some(Deed::Wake(plan.rules.len() as u16));
                Action::Deed
            }
            Effect::Crash(seat) => {
                deed = Some(Deed::Crash(self.seats.named(*seat)?));
                Action::Deed
            }
            Effect::Restart(restart) => {
                deed = Some(Deed::Restart(self.seats.named(restart.node)?, restart.state));
                Action::Deed
            }
            Effect::Jump(jump) => {
                deed = Some(Deed::Jump(self.seats.named(jump.node)?, jump.by));
                Action::Deed
            }
            Effect::Fire(seat) => {
                deed = Some(Deed::Fire(self.seats.named(*seat)?));
                Action::Deed
            }
            Effect::Originate(originate) => {
                self.liar(&mut test)?;
                deed = Some(self.originate(originate, &test)?);
                Action::Deed
            }
        };
        if matches!(action, Action::Deed) {
            test.left = fault.when.times.unwrap_or(1);
            // With nothing but a moment to wait for, no message is the trigger.
            if only_a_moment(&fault.when) {
                let at_step = fault.when.step.map_or(0, Span::first);
                let at_time = Time(fault.when.time.map_or(0, Span::first));
                // A moment comes once, if it comes.
                let never = fault.when.times == Some(0);
                let missed = fault.when.permille.is_some_and(|permille| !plan.rng.chance(permille));
                if !never && !missed {
                    plan.scheduled.push((at_step, at_time, plan.rules.len() as u16));
                }
                test.left = 0;
            }
        }
        plan.rules.push(Rule { test, action, network, lasts });
        plan.deeds.push(deed);
        Ok(())
    }

    fn set(&self, names: &[SeatName]) -> Result<SeatSet, ScenarioError> {
        let mut set = SeatSet::default();
        for &name in names {
            self.seats.named(name)?.iter().for_each(|seat| set.insert(seat));
        }
        Ok(set)
    }

    fn among(&self, names: &[SeatName]) -> Result<Among, ScenarioError> {
        Ok(Among(if names.is_empty() { None } else { Some(self.set(names)?) }))
    }

    fn kind(&self, name: &str) -> Result<u8, ScenarioError> {
        let found = self.kinds.iter().position(|&kind| kind == name);
        found.map(|kind| kind as u8).ok_or_else(|| {
            invalid(format!("no message kind `{name}`; the protocol's kinds are {}", self.kinds.join(", ")))
        })
    }

    fn test(&self, when: &When) -> Result<Test, ScenarioError> {
        let kinds = when.kind.0.iter().map(|name| self.kind(name)).collect::<Result<Vec<_>, _>>()?;
        for span in [when.round, when.nth, when.step, when.time].into_iter().flatten() {
            if span.first() > span.last() {
                return Err(invalid(format!("[{}, {}] ends before it starts", span.first(), span.last())));
            }
        }
        if when.permille.is_some_and(|permille| permille > 1000) {
            return Err(invalid("`permille` is a number of 1000 cases"));
        }
        Ok(Test {
            round: when.round,
            source: when.source,
            from: self.among(&when.from)?,
            to: self.among(&when.to)?,
            kinds: if kinds.is_empty() {
                u64::MAX
            } else {
                kinds.iter().fold(0, |mask, kind| mask | 1 << kind)
            },
            nth: when.nth,
            step: when.step,
            time: when.time,
            permille: when.permille,
            left: when.times.unwrap_or(u32::MAX),
            any: when.any.iter().map(|when| self.test(when)).collect::<Result<_, _>>()?,
            not: when.not.as_deref().map(|when| self.test(when)).transpose()?.map(Box::new),
        })
    }

    /// Whom each seat can reach: those with whom it shares a block, and those who stand in none.
    fn reach(&self, blocks: &[Vec<SeatName>]) -> Result<Vec<SeatSet>, ScenarioError> {
        let everybody = SeatSet::first(self.seats.len());
        let blocks = blocks.iter().map(|block| self.set(block)).collect::<Result<SmallVec<[_; 4]>, _>>()?;
        let inside = blocks.iter().fold(SeatSet::default(), |all, &block| all.or(block));
        let reach = |seat| match inside.contains(seat) {
            true => blocks
                .iter()
                .filter(|block| block.contains(seat))
                .fold(everybody.without(inside), |all, &block| all.or(block)),
            false => everybody,
        };
        Ok(everybody.iter().map(reach).collect())
    }

    fn must_be_byzantine(&self, nodes: NodeSet) -> Result<(), ScenarioError> {
        let honest = nodes.without(self.spec.byzantine);
        match honest.iter().next() {
            None => Ok(()),
            Some(node) => Err(invalid(format!(
                "{node} is honest and cannot lie; name it in `adversary.byzantine` (now {}) or take another node",
                self.spec.byzantine
            ))),
        }
    }

    /// Lies come from Byzantine nodes: those named, or all.
    fn liar(&self, test: &mut Test) -> Result<(), ScenarioError> {
        let mut liars = SeatSet::default();
        for node in self.spec.byzantine.iter() {
            self.seats.named(node.into())?.iter().for_each(|seat| liars.insert(seat));
        }
        match test.from.0 {
            None => test.from = Among(Some(liars)),
            Some(from) => {
                if let Some(seat) = from.iter().find(|&seat| !liars.contains(seat)) {
                    self.must_be_byzantine(NodeSet::one(self.seats.node(seat)))?;
                }
            }
        }
        if liars.is_empty() {
            return Err(invalid("nobody may lie: name a node in `adversary.byzantine`"));
        }
        Ok(())
    }

    fn rows(&self, name: &str) -> Result<Vec<(u8, Lie)>, ScenarioError> {
        let rows = self.table.find(name);
        if !rows.is_empty() {
            return Ok(rows);
        }
        let kind = name.split('.').next().unwrap_or(name);
        let near: Vec<String> = self.table.iter().map(|(n, _)| n).filter(|n| n.starts_with(kind)).collect();
        let hint = if near.is_empty() { self.kinds.join(", ") } else { near.join(", ") };
        Err(invalid(format!("no mutation `{name}`; there are: {hint}")))
    }

    fn mutate(&self, plan: &mut Plan, test: &mut Test, mutate: &Mutate) -> Result<Action, ScenarioError> {
        match mutate {
            Mutate::Named(name) => {
                let rows = self.rows(name)?;
                let [(kind, lie)] = rows[..] else {
                    let names: Vec<String> =
                        rows.iter().map(|&(kind, lie)| self.table.name(kind, lie)).collect();
                    return Err(invalid(format!("`{name}` is not one mutation but {}", names.join(", "))));
                };
                test.kinds &= 1 << kind;
                Ok(Action::Lie(LieSpec::Row(lie, 0)))
            }
            Mutate::Drawn(drawn) => {
                let mut only = None;
                if !drawn.only.is_empty() {
                    let mut by_kind = vec![Vec::new(); self.kinds.len()];
                    for name in &drawn.only {
                        let mut rows = self.rows(name)?;
                        rows.retain(|&(kind, lie)| self.table.scope(kind, lie) <= drawn.scope);
                        if rows.is_empty() {
                            return Err(invalid(format!("`{name}` is no mutation of small scope")));
                        }
                        rows.into_iter().for_each(|(kind, lie)| by_kind[usize::from(kind)].push(lie));
                    }
                    plan.only.push(by_kind);
                    only = Some(plan.only.len() as u16 - 1);
                }
                Ok(Action::Lie(LieSpec::Drawn { seed: drawn.seed.0, scope: drawn.scope, only }))
            }
        }
    }

    fn originate(&self, originate: &Originate, test: &Test) -> Result<Deed, ScenarioError> {
        let who = test.from.0.expect("`liar` names the senders");
        let to = self.set(&originate.to)?;
        match (&originate.replay, &originate.mint) {
            (Some(kind), None) => Ok(Deed::Replay(who, self.kind(kind)?, to)),
            (None, Some(kind)) => Ok(Deed::Mint(self.kind(kind)?, to)),
            _ => Err(invalid("`originate` takes either `replay = KIND` or `mint = KIND`")),
        }
    }
}

fn only_a_moment(when: &When) -> bool {
    let When { round, from, to, kind, nth, any, not, .. } = when;
    let no_message = from.is_empty() && to.is_empty() && kind.is_empty();
    no_message && round.is_none() && nth.is_none() && any.is_empty() && not.is_none()
}

fn uses_nth(when: &When) -> bool {
    when.nth.is_some() || when.any.iter().any(uses_nth) || when.not.as_deref().is_some_and(uses_nth)
}
