//! Fewer faults, and narrower ones.

use turncoat_core::fault::{
    All, Believes, Edit, Effect, Fault, Form, Keeps, Mutate, Names, Originate, Persona, RoundSource, Span,
    Stance, When, WhenVitals,
};
use turncoat_core::ids::{NodeId, SeatName, Time};
use turncoat_core::scenario::{Scenario, Seed};

use super::Shrinker;

/// Numbers of rounds and messages that are tried instead of a range, or of a step.
const NUMBERS: std::ops::RangeInclusive<u64> = 1..=8;

/// Seeds that are tried without a fault.
const LUCKY: u64 = 8;

impl Shrinker<'_> {
    pub(super) fn drop_faults(&mut self) {
        self.cut_list(
            |scenario| scenario.adversary.faults.len(),
            |scenario, range| drop(scenario.adversary.faults.drain(range)),
            "faults",
        );
    }

    /// One fault less, if another seed brings what it brought.
    pub(super) fn lucky_seed(&mut self) {
        for i in (0..self.best.adversary.faults.len()).rev() {
            for seed in (0..LUCKY).map(Seed) {
                let mut candidate = Scenario { seed, ..self.best.clone() };
                candidate.adversary.faults.remove(i);
                if self.attempt(candidate, || format!("without fault {}, with seed {}", i + 1, seed.0)) {
                    break;
                }
            }
        }
    }

    pub(super) fn narrow_faults(&mut self) {
        let mut i = 0;
        while i < self.best.adversary.faults.len() {
            for narrow in [Self::simpler_effects, Self::narrower_links, Self::fewer_words] {
                while self.first_of(i, narrow) {}
            }
            i += 1;
        }
    }

    /// Takes the first of some proposals for fault `i`.
    fn first_of(&mut self, i: usize, propose: fn(&Self, &Fault) -> Vec<Fault>) -> bool {
        let fault = self.best.adversary.faults[i].clone();
        propose(self, &fault).into_iter().any(|narrower| {
            let words = || format!("fault {} is {}", i + 1, words(&narrower));
            let mut candidate = self.best.clone();
            candidate.adversary.faults[i] = narrower.clone();
            self.attempt(candidate, words)
        })
    }

    /// Other effects that do less, or that are easier to understand.
    fn simpler_effects(&self, fault: &Fault) -> Vec<Fault> {
        let with = |effect| Fault { effect, ..fault.clone() };
        let lost = |from: &[SeatName], to: &[SeatName]| {
            let when = When { from: from.to_vec(), to: to.to_vec(), ..fault.when.clone() };
            Fault { when, effect: Effect::Drop }
        };
        match &fault.effect {
            Effect::Hold => vec![with(Effect::Drop)],
            Effect::Flip(_) | Effect::Garble(_) => {
                let table = (self.entry.mutations)();
                let rows = fault.when.kind.0.iter().flat_map(|kind| table.find(kind));
                let names = rows.map(|(kind, lie)| table.name(kind, lie));
                let lies = names.map(|name| with(Effect::Mutate(Mutate::Named(name))));
                [with(Effect::Drop)].into_iter().chain(lies).collect()
            }
            Effect::Delay(ticks) => [1, 10, 100, 1000]
                .into_iter()
                .filter(|&less| less < ticks.0)
                .map(|less| with(Effect::Delay(Time(less))))
                .chain([with(Effect::Drop)])
                .collect(),
            Effect::Mutate(Mutate::Drawn(drawn)) if drawn.only.len() == 1 => {
                vec![with(Effect::Mutate(Mutate::Named(drawn.only[0].clone())))]
            }
            Effect::Duplicate(2..) => vec![with(Effect::Duplicate(1))],
            Effect::Mutate(Mutate::Named(name)) => self
                .simpler_lies(name)
                .into_iter()
                .map(|name| with(Effect::Mutate(Mutate::Named(name))))
                .collect(),
            Effect::Partition(blocks) => {
                let sides = blocks.iter().map(|block| {
                    let others = blocks.iter().filter(|other| *other != block).flatten().copied();
                    (block, others.collect::<Vec<SeatName>>())
                });
                let links = sides.clone().flat_map(|(block, others)| {
                    block
                        .iter()
                        .flat_map(|&a| others.iter().map(move |&b| lost(&[a], &[b])))
                        .collect::<Vec<_>>()
                });
                let whole = sides.flat_map(|(block, others)| [lost(block, &others), lost(&others, block)]);
                let alone = blocks.iter().flatten().map(|&node| with(Effect::Isolate(vec![node])));
                let without =
                    blocks.iter().flatten().map(|&node| with(Effect::Partition(less(blocks, node))));
                links.chain(alone).chain(whole).chain(without).collect()
            }
            Effect::Isolate(nodes) => {
                let others = self.replicas().filter(|node| !nodes.contains(node)).collect::<Vec<_>>();
                let links =
                    nodes.iter().flat_map(|&a| others.iter().flat_map(move |&b| [([a], [b]), ([b], [a])]));
                let links = links.map(|(from, to)| lost(&from, &to));
                let whole = [lost(nodes, &others), lost(&others, nodes)];
                let fewer = one_less(nodes).into_iter().map(|nodes| with(Effect::Isolate(nodes)));
                links.chain(whole).chain(fewer).collect()
            }
            Effect::Deaf(nodes) => {
                one_less(nodes).into_iter().map(|nodes| with(Effect::Deaf(nodes))).collect()
            }
            Effect::Persona(face) => simpler_faces(face).into_iter().map(Effect::Persona).map(with).collect(),
            Effect::Stance(stance) => {
                simpler_stances(stance).into_iter().map(Effect::Stance).map(with).collect()
            }
            Effect::Originate(made_up) => {
                let named = self.entry.kinds.iter().filter(|_| made_up.mint.as_deref() == Some("all"));
                let named = named.map(|&kind| Originate { mint: Some(kind.to_owned()), ..made_up.clone() });
                let fewer = one_less(&made_up.to).into_iter().map(|to| Originate { to, ..made_up.clone() });
                named.chain(fewer).map(Effect::Originate).map(with).collect()
            }
            _ => Vec::new(),
        }
    }

    fn replicas(&self) -> impl Iterator<Item = SeatName> {
        (0..self.best.cluster.n).map(|i| NodeId::replica(i).into())
    }

    /// Rows about the same field, and omission, by shorter names.
    fn simpler_lies(&self, name: &str) -> Vec<String> {
        let table = (self.entry.mutations)();
        let Some(&(kind, lie)) = table.find(name).first() else { return Vec::new() };
        let field = table.field(kind, lie);
        let related = |other: &(u8, turncoat_core::message::Lie)| table.field(other.0, other.1) == field;
        let omit = format!("{}.omit", self.entry.kinds[usize::from(kind)]);
        let mut rows: Vec<String> = table
            .find(&field)
            .into_iter()
            .filter(related)
            .map(|(kind, lie)| table.name(kind, lie))
            .chain([omit])
            .filter(|other| other.len() < name.len())
            .collect();
        rows.sort_by_key(String::len);
        rows
    }

    /// Fewer senders and receivers: one, or one less.
    fn narrower_links(&self, fault: &Fault) -> Vec<Fault> {
        // A stance is about no links.
        if matches!(fault.effect, Effect::Stance(_)) {
            return Vec::new();
        }
        let all: Vec<SeatName> =
            self.replicas().chain((0..self.best.cluster.clients).map(|i| NodeId::client(i).into())).collect();
        let choices = |list: &[SeatName]| -> Vec<Vec<SeatName>> {
            let named = if list.is_empty() { &all[..] } else { list };
            let single = named.iter().map(|&node| vec![node]).filter(|single| single != list);
            single.chain(one_less(named)).collect()
        };
        let mut narrower = Vec::new();
        for to in choices(&fault.when.to) {
            narrower.push(Fault { when: When { to, ..fault.when.clone() }, ..fault.clone() });
        }
        for from in choices(&fault.when.from) {
            narrower.push(Fault { when: When { from, ..fault.when.clone() }, ..fault.clone() });
        }
        narrower
    }

    /// A predicate with fewer keys, or simpler ones.
    fn fewer_words(&self, fault: &Fault) -> Vec<Fault> {
        let mut simpler: Vec<Fault> = Vec::new();
        let mut with = |change: &dyn Fn(&mut When)| {
            let mut fault = fault.clone();
            change(&mut fault.when);
            simpler.push(fault);
        };
        let when = &fault.when;
        with(&|when| *when = When { from: when.from.clone(), to: when.to.clone(), ..When::default() });
        with(&|when| when.from.clear());
        with(&|when| when.to.clear());
        with(&|when| when.kind = Names::default());
        with(&|when| when.round = None);
        with(&|when| when.source = RoundSource::default());
        with(&|when| when.nth = None);
        with(&|when| (when.step, when.time) = (None, None));
        with(&|when| when.permille = None);
        with(&|when| when.times = None);
        with(&|when| when.field.clear());
        with(&|when| when.vitals.clear());
        for name in when.field.keys().filter(|_| when.field.len() > 1) {
            with(&|when| _ = when.field.remove(name));
        }
        for i in (0..when.vitals.len()).filter(|_| when.vitals.len() > 1) {
            with(&|when| _ = when.vitals.remove(i));
        }
        for (i, vitals) in when.vitals.iter().enumerate() {
            for fewer in fewer_vitals(vitals) {
                with(&|when| when.vitals[i] = fewer.clone());
            }
        }
        with(&|when| when.any.clear());
        with(&|when| when.not = None);
        for kind in when.kind.0.iter().filter(|_| when.kind.0.len() > 1) {
            with(&|when| when.kind = kind.as_str().into());
        }
        for number in NUMBERS {
            let at = Some(Span::At(number));
            if when.nth.is_some_and(|span| span != Span::At(number)) {
                with(&|when| when.nth = at);
            }
            if when.round.is_some_and(|span| span != Span::At(number)) {
                with(&|when| when.round = at);
            }
            if when.step.is_some() || when.time.is_some() {
                with(&|when| (when.step, when.time, when.nth) = (None, None, at));
                with(&|when| (when.step, when.time, when.round) = (None, None, at));
            }
        }
        simpler
    }
}

/// A predicate over a node that leaves something out.
fn fewer_vitals(vitals: &WhenVitals) -> Vec<WhenVitals> {
    let mut fewer = Vec::new();
    let mut with = |change: &dyn Fn(&mut WhenVitals)| {
        let mut changed = vitals.clone();
        change(&mut changed);
        fewer.push(changed);
    };
    with(&|vitals| vitals.view = None);
    with(&|vitals| vitals.decided = None);
    with(&|vitals| vitals.changing_view = None);
    with(&|vitals| vitals.prepared = None);
    with(&|vitals| vitals.locked = None);
    with(&|vitals| vitals.waiting = Names::default());
    fewer
}

/// A face that fewer hear, or that believes something simpler.
fn simpler_faces(face: &Persona) -> Vec<Persona> {
    let mut simpler = Vec::new();
    let mut with = |change: &dyn Fn(&mut Persona)| {
        let mut face = face.clone();
        change(&mut face);
        simpler.push(face);
    };
    with(&|face| face.edits = vec![Edit::OwnOrder]);
    with(&|face| (face.overlap, face.form) = (false, Form::Instance));
    with(&|face| face.at_view_change = None);
    with(&|face| face.at_view_change = Some(Vec::new()));
    for to in one_less(&face.to) {
        with(&|face| face.to.clone_from(&to));
    }
    for to in one_less(face.at_view_change.as_deref().unwrap_or(&[])) {
        with(&|face| face.at_view_change = Some(to.clone()));
    }
    for edit in &face.edits {
        if let Edit::Sub { slot, with: which } | Edit::World { slot, with: which } = *edit {
            for (slot, which) in [(1, 0), (1, which), (slot, 0), (slot, which)] {
                with(&|face| face.edits = vec![Edit::Sub { slot, with: which }]);
            }
        }
    }
    simpler
}

/// A stance with less in it: without a part, or with fewer flags, listeners or kinds.
fn simpler_stances(stance: &Stance) -> Vec<Stance> {
    let mut simpler = Vec::new();
    let mut with = |change: &dyn Fn(&mut Stance)| {
        let mut stance = stance.clone();
        change(&mut stance);
        simpler.push(stance);
    };
    with(&|stance| stance.believes = None);
    with(&|stance| stance.keeps = None);
    with(&|stance| stance.flags.clear());
    with(&|stance| stance.of.instance = None);
    for i in 0..stance.flags.len() {
        with(&|stance| _ = stance.flags.remove(i));
    }
    if let Some(Believes::Told(nodes)) = &stance.believes {
        with(&|stance| stance.believes = Some(Believes::All(All::All)));
        for nodes in one_less(nodes) {
            with(&|stance| stance.believes = Some(Believes::Told(nodes.clone())));
        }
    }
    if let Some(Keeps { kind, views }) = &stance.keeps {
        for fewer in 1..(*views).min(4) {
            with(&|stance| stance.keeps.as_mut().into_iter().for_each(|keeps| keeps.views = fewer));
        }
        for kind in kind.0.iter().filter(|_| kind.0.len() > 1) {
            with(&|stance| {
                stance.keeps.as_mut().into_iter().for_each(|keeps| keeps.kind = kind.as_str().into());
            });
        }
    }
    simpler.retain(|simpler| {
        let empty = simpler.flags.is_empty() && simpler.believes.is_none() && simpler.keeps.is_none();
        simpler != stance && !empty
    });
    simpler
}

/// The list without each of its members, as long as one is left.
fn one_less<T: Copy>(list: &[T]) -> Vec<Vec<T>> {
    let without = |i| list.iter().enumerate().filter(|&(j, _)| i != j).map(|(_, &node)| node).collect();
    (0..list.len()).filter(|_| list.len() > 1).map(without).collect()
}

/// The blocks of a partition without a node.
fn less(blocks: &[Vec<SeatName>], node: SeatName) -> Vec<Vec<SeatName>> {
    let without = blocks.iter().map(|block| block.iter().copied().filter(|&other| other != node).collect());
    without.filter(|block: &Vec<SeatName>| !block.is_empty()).collect()
}

/// A fault on one line.
fn words(fault: &Fault) -> String {
    toml::Value::try_from(fault).map(|table| table.to_string()).unwrap_or_default()
}
