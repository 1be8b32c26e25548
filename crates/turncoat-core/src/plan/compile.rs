//! From the faults of a scenario to a [`Plan`]: names become rows and sets, and mistakes show.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::test::{Among, Field, Node, Test, Who};
use super::{Action, LastRounds, Plan, Rule};
use crate::adversary::{Deed, LieSpec};
use crate::fault::{
    self, All, Believes, Effect, Fault, Keeps, Mutate, Names, Originate, RoundSource, Span, When, WhenVitals,
    Whose,
};
use crate::flags::Flag;
use crate::ids::{NodeSet, SeatName, SeatSet, Time};
use crate::message::MutationTable;
use crate::part::{Number, Place};
use crate::rng::{Purpose, Rng};
use crate::scenario::{Adversary as Spec, Loss, Scenario, ScenarioError, invalid};
use crate::seats::Seats;
use crate::sim::stances::{Audience, Stance};

/// Plans beyond this are a slip of the keyboard.
const FAULTS_MAX: usize = 10_000;

impl Plan {
    /// Compiles the faults of a scenario.
    pub(crate) fn compile(
        scenario: &Scenario,
        bound: Option<Time>,
        seats: &Seats,
        words: Words<'_>,
    ) -> Result<Self, ScenarioError> {
        let spec = &scenario.adversary;
        let mut plan = Self {
            rules: Vec::with_capacity(spec.faults.len()),
            deeds: Vec::with_capacity(spec.faults.len()),
            stances: Vec::new(),
            scheduled: Vec::new(),
            only: Vec::new(),
            process_first: spec.process_first.clone(),
            compose: spec.compose,
            inherit: spec.roundless_inherit,
            hold: scenario.network.loss == Loss::Hold,
            latest: bound.filter(|_| scenario.network.loss == Loss::Hold),
            uses_nth: false,
            seen: FxHashMap::default(),
            rng: Rng::new(scenario.seed.0, Purpose::Faults),
            last: LastRounds::default(),
        };
        if spec.faults.len() > FAULTS_MAX {
            return Err(invalid(format!("{} faults are too many: at most {FAULTS_MAX}", spec.faults.len())));
        }
        let Words { protocol, kinds, flags, table, numbers_of } = words;
        let (bounded, turns) = (bound.is_some(), scenario.network.turn.is_some());
        let compiler = Compiler { spec, bounded, turns, seats, protocol, kinds, flags, table, numbers_of };
        for (i, fault) in spec.faults.iter().enumerate() {
            compiler.fault(&mut plan, fault).map_err(|error| invalid(format!("fault {}: {error}", i + 1)))?;
        }
        Ok(plan)
    }
}

/// The names that a protocol gives to what faults are about.
#[derive(Clone, Copy)]
pub(crate) struct Words<'a> {
    pub(crate) protocol: &'static str,
    pub(crate) kinds: &'static [&'static str],
    pub(crate) flags: &'static [Flag],
    pub(crate) table: &'a MutationTable,
    pub(crate) numbers_of: NumbersOf,
}

struct Compiler<'a> {
    spec: &'a Spec,
    /// Whether there is a bound on delays in the calm phase.
    bounded: bool,
    /// Whether messages wait for their turn.
    turns: bool,
    seats: &'a Seats,
    protocol: &'static str,
    kinds: &'static [&'static str],
    flags: &'static [Flag],
    table: &'a MutationTable,
    numbers_of: NumbersOf,
}

/// Appends the numbers in messages of a kind.
pub(crate) type NumbersOf = fn(u8, &mut Vec<Number>);

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
                if plan.hold && !lasts { Action::Hold } else { Action::Drop }
            }
            Effect::Mutate(mutate) => {
                self.liar(&mut test)?;
                self.mutate(plan, &mut test, mutate)?
            }
            // Noise on an honest sender's copy is corruption by the network: the kernel loses the copy.
            Effect::Flip(seed) => Action::Lie(LieSpec::Flip(seed.0)),
            Effect::Garble(seed) => Action::Lie(LieSpec::Garble(seed.0)),
            Effect::Persona(persona) => {
                self.must_be_byzantine(NodeSet::one(persona.of))?;
                for &node in persona.to.iter().chain(persona.at_view_change.iter().flatten()) {
                    self.seats.named(node.into())?;
                }
                deed = Some(Deed::Wake(plan.rules.len() as u16));
                Action::Deed
            }
            Effect::Stance(stance) => self.stance(plan, fault, stance, &mut test)?,
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
        let kinds = self.mask(&when.kind)?;
        let of_nodes = when.vitals.iter().flat_map(|vitals| [vitals.view, vitals.decided]).flatten();
        let plain = [when.round, when.nth, when.step, when.time].into_iter().flatten();
        for span in plain.chain(of_nodes).chain(when.field.values().copied()) {
            if span.first() > span.last() {
                return Err(invalid(format!("[{}, {}] ends before it starts", span.first(), span.last())));
            }
        }
        if when.permille.is_some_and(|permille| permille > 1000) {
            return Err(invalid("`permille` is at most 1000"));
        }
        let fields = when.field.iter().map(|(name, &span)| self.field(name, span, kinds));
        Ok(Test {
            round: when.round,
            source: when.source,
            from: self.among(&when.from)?,
            to: self.among(&when.to)?,
            kinds,
            fields: fields.collect::<Result<_, _>>()?,
            nodes: when.vitals.iter().map(|vitals| self.node(vitals)).collect::<Result<_, _>>()?,
            nth: when.nth,
            step: when.step,
            time: when.time,
            permille: when.permille,
            left: when.times.unwrap_or(u32::MAX),
            any: when.any.iter().map(|when| self.test(when)).collect::<Result<_, _>>()?,
            not: when.not.as_deref().map(|when| self.test(when)).transpose()?.map(Box::new),
        })
    }

    /// A number that messages of these kinds have to say.
    fn field(&self, name: &str, span: Span, kinds: u64) -> Result<Field, ScenarioError> {
        let mut known = Vec::new();
        let mut place = |kind: usize| {
            let mut numbers = Vec::new();
            if kinds & (1 << kind) != 0 {
                (self.numbers_of)(kind as u8, &mut numbers);
            }
            let found = numbers.iter().find(|number| number.name == name).map(|number| number.place.clone());
            known.extend(numbers.into_iter().map(|number| number.name));
            found
        };
        let places: Vec<Option<Place>> = (0..self.kinds.len()).map(&mut place).collect();
        if places.iter().all(Option::is_none) {
            known.sort();
            known.dedup();
            let kinds =
                (0..self.kinds.len()).filter(|kind| kinds & (1 << kind) != 0).map(|kind| self.kinds[kind]);
            let kinds = kinds.collect::<Vec<_>>().join(", ");
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(invalid(format!(
                "`field`: there is no number `{name}` in {kinds}; numbers there: {known}"
            )));
        }
        Ok(Field { places, span })
    }

    /// What a node has to know or wait for.
    fn node(&self, vitals: &WhenVitals) -> Result<Node, ScenarioError> {
        let WhenVitals { of, view, decided, changing_view, prepared, locked, ref waiting } = *vitals;
        let who = match of {
            Whose::Sender => Who::Sender,
            Whose::Receiver => Who::Receiver,
            Whose::Node(name) => Who::Seats(self.seats.named(name)?),
        };
        let kind = |name: &String| self.kind(name).map(|kind| self.kinds[usize::from(kind)]);
        let waiting = waiting.0.iter().map(kind).collect::<Result<_, _>>()?;
        Ok(Node { who, view, decided, changing_view, prepared, locked, waiting })
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
                "{node} is honest and cannot lie: add it to `adversary.byzantine`, which is {} now, or take a node from there",
                if self.spec.byzantine.is_empty() {
                    "empty".to_owned()
                } else {
                    self.spec.byzantine.to_string()
                }
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
            return Err(invalid("nobody is Byzantine: name a node in `adversary.byzantine`"));
        }
        Ok(())
    }

    fn mutate(&self, plan: &mut Plan, test: &mut Test, mutate: &Mutate) -> Result<Action, ScenarioError> {
        match mutate {
            Mutate::Named(name) => {
                let rows = self.table.known(name)?;
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
                    plan.only.push(self.table.listed(&drawn.only, drawn.scope)?);
                    only = Some(plan.only.len() as u16 - 1);
                }
                Ok(Action::Lie(LieSpec::Drawn { seed: drawn.seed.0, scope: drawn.scope, only }))
            }
        }
    }

    /// What it is that a liar does throughout, and the rule of what it keeps back.
    fn stance(
        &self,
        plan: &mut Plan,
        fault: &Fault,
        stance: &fault::Stance,
        test: &mut Test,
    ) -> Result<Action, ScenarioError> {
        let fault::Stance { of, flags, believes, keeps } = stance;
        self.must_be_byzantine(NodeSet::one(of.node))?;
        let seats = self.seats.named(*of)?;
        let When { round, source, .. } = fault.when;
        let lasts = fault.when == When { round, source, ..When::default() };
        if !lasts || !matches!(source, RoundSource::SenderMax | RoundSource::SenderView) {
            return Err(invalid(
                "`stance` is how a node behaves, not what happens to messages: of the keys that say when, only `round` \
                 fits, with `source` left out or \"sender-view\"",
            ));
        }
        if flags.is_empty() && believes.is_none() && keeps.is_none() {
            return Err(invalid("`stance` says nothing: give it `flags`, `believes` or `keeps`"));
        }
        for flag in flags {
            self.flag(flag)?;
        }
        let believes = match believes {
            None => Audience::Nobody,
            Some(_) if self.turns => {
                return Err(invalid(
                    "`stance`: `believes` does not work with `network.turn`: there a message is sent, and changed, after \
                     its sender has handled its own copy",
                ));
            }
            Some(Believes::All(All::All)) => Audience::All,
            Some(Believes::Told(nodes)) if nodes.is_empty() => {
                return Err(invalid("`stance`: `believes` is \"all\" or names at least one node"));
            }
            Some(Believes::Told(nodes)) => {
                nodes.iter().try_for_each(|&node| self.seats.named(node.into()).map(drop))?;
                Audience::Among(nodes.iter().copied().collect())
            }
        };
        plan.stances.push(Stance {
            fault: plan.rules.len() + 1,
            seats,
            alone: of.instance.is_some(),
            round,
            source,
            flags: flags.clone(),
            believes,
        });
        let Some(Keeps { kind, views }) = keeps else { return Ok(Action::Stance) };
        if *views == 0 {
            return Err(invalid("`stance`: `keeps` keeps messages for at least 1 view"));
        }
        test.from = Among(Some(seats));
        test.kinds = self.mask(kind)?;
        Ok(Action::Keep(*views))
    }

    /// Whether the protocol has a flag.
    fn flag(&self, name: &str) -> Result<(), ScenarioError> {
        if self.flags.iter().any(|flag| flag.name() == name) {
            return Ok(());
        }
        let known: Vec<String> = self.flags.iter().map(Flag::name).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Err(invalid(format!("`stance`: no flag `{name}`; the bug flags of {} are: {known}", self.protocol)))
    }

    /// These kinds as bits; all if there are none.
    fn mask(&self, names: &Names) -> Result<u64, ScenarioError> {
        let kinds = names.0.iter().map(|name| self.kind(name)).collect::<Result<Vec<_>, _>>()?;
        Ok(match kinds.is_empty() {
            true => u64::MAX,
            false => kinds.iter().fold(0, |mask, kind| mask | 1 << kind),
        })
    }

    fn originate(&self, originate: &Originate, test: &Test) -> Result<Deed, ScenarioError> {
        let who = test.from.0.expect("`liar` names the senders");
        let to = self.set(&originate.to)?;
        match (&originate.replay, &originate.mint) {
            (Some(kind), None) => Ok(Deed::Replay(who, self.kind(kind)?, to)),
            (None, Some(kind)) if kind == "all" => Ok(Deed::Mint(None, to)),
            (None, Some(kind)) => Ok(Deed::Mint(Some(self.kind(kind)?), to)),
            _ => Err(invalid("`originate` takes either `replay = KIND` or `mint = KIND`")),
        }
    }
}

fn only_a_moment(when: &When) -> bool {
    let When { round, from, to, kind, field, vitals, nth, any, not, .. } = when;
    let no_message =
        from.is_empty() && to.is_empty() && kind.is_empty() && field.is_empty() && vitals.is_empty();
    no_message && round.is_none() && nth.is_none() && any.is_empty() && not.is_none()
}

fn uses_nth(when: &When) -> bool {
    when.nth.is_some() || when.any.iter().any(uses_nth) || when.not.as_deref().is_some_and(uses_nth)
}
