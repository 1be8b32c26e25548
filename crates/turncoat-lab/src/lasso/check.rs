//! Checks that a part of a run repeats forever, and that the protocol is to blame.
//!
//! The run is made again. At the two ends of the part the worlds must be the same but for names and numbers; between
//! them nothing may be decided although something is asked for, every correct replica must act, messages between
//! correct replicas must arrive within the bound of the network, and the protocol must be given what it asks for.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use turncoat_core::fault::{Effect, Fault, RoundSource};
use turncoat_core::ids::{NodeId, Time, View};
use turncoat_core::outcome::Outcome;
use turncoat_core::record::{Arrival, Loss, Recording, SentCopy, What};
use turncoat_core::runner::Entry;
use turncoat_core::scenario::{Lasso, LassoClass, Latency, Scenario, ScenarioError};
use turncoat_core::sim::Moment;
use turncoat_core::tokens::Token;

use super::NEAR;
use crate::words::count;

/// What is proved: the part repeats forever, each time so much later.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Proof {
    /// What it takes.
    pub class: LassoClass,
    /// Views later.
    pub views: u32,
    /// Ticks later.
    pub ticks: u64,
    /// The longest time that a message between correct replicas takes.
    pub delay: u64,
    /// The longest time that all correct replicas are together in a view that a correct one leads.
    pub together: u64,
}

/// Why it is no proof.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Flaw {
    /// There are no such events.
    #[error("the run has no events {} to {}", .0.start(), .0.end())]
    Short(RangeInclusive<u64>),
    /// Something else than the world decides how the run goes on.
    #[error("more decides about the run than its state: {0}")]
    Open(String),
    /// The worlds differ.
    #[error("the state does not come back: {0}")]
    Differs(String),
    /// Something is decided, or nothing is asked for.
    #[error("{0}")]
    Progress(&'static str),
    /// The network, or the adversary, does what it may not.
    #[error("the environment is too weak: {0}")]
    Environment(String),
    /// Something else is needed than it says.
    #[error("it is {}", match .0 { LassoClass::Benign => "benign", LassoClass::Adversarial => "adversarial" })]
    Class(LassoClass),
}

/// A run at one end of the part.
struct End {
    world: Vec<Token>,
    time: Time,
    commits: u32,
    done: bool,
}

/// What is seen of a run between the ends.
#[derive(Default)]
struct Watched {
    ends: Vec<End>,
    open: Option<String>,
    correct: Vec<NodeId>,
    period: u32,
    view_delays: u64,
    /// The view in which all correct replicas are, if a correct one leads it.
    common: Option<View>,
    /// From when until when they were in such views.
    together: BTreeMap<View, (Time, Time)>,
    views: Vec<View>,
}

impl Watched {
    fn look(&mut self, moment: &dyn Moment, from: u64, to: u64) -> bool {
        let step = moment.steps();
        if (step == from && self.ends.is_empty()) || (step == to && self.ends.len() == 1) {
            match moment.world() {
                Err(reasons) => self.open = Some(reasons.join("; ")),
                Ok(world) => {
                    let (time, commits, done) = (moment.time(), moment.commits(), moment.done());
                    self.ends.push(End { world, time, commits, done });
                }
            }
            (self.period, self.view_delays) = (moment.period(), moment.view_delays());
        }
        if step >= from {
            let views = moment.views();
            self.correct = views.iter().map(|&(node, _)| node).collect();
            let now = moment.time();
            if let Some(view) = self.common {
                self.together.entry(view).and_modify(|(_, until)| *until = now);
            }
            let first = views.first().map_or(View(0), |&(_, view)| view);
            let common =
                views.iter().all(|&(_, view)| view == first) && self.correct.contains(&moment.leader(first));
            self.common = common.then_some(first);
            if common {
                self.together.entry(first).or_insert((now, now));
            }
            if step == from || step == to {
                self.views.extend(views.iter().map(|&(_, view)| view).min());
            }
        }
        self.ends.len() == 2 || self.open.is_some()
    }
}

/// Whether a part of a run repeats forever, nothing is decided in it, and it takes what it says.
///
/// # Errors
/// If the scenario cannot run.
pub fn check(
    entry: &Entry,
    scenario: &Scenario,
    lasso: &Lasso,
) -> Result<Result<Proof, Flaw>, ScenarioError> {
    let proved = prove(entry, scenario, lasso.from, lasso.to)?;
    Ok(proved.and_then(|proof| match proof.class {
        class if class == lasso.class => Ok(proof),
        class => Err(Flaw::Class(class)),
    }))
}

/// Whether the part of a run after one event up to another repeats forever, and what it takes.
///
/// # Errors
/// If the scenario cannot run.
pub fn prove(
    entry: &Entry,
    scenario: &Scenario,
    from: u64,
    to: u64,
) -> Result<Result<Proof, Flaw>, ScenarioError> {
    let mut watched = Watched::default();
    let (outcome, recording) =
        entry.runner().record_until(scenario, &mut |moment| watched.look(moment, from, to))?;
    let steps = from + 1..=to;
    Ok(judge(scenario, steps, &watched, &outcome, &recording))
}

fn judge(
    scenario: &Scenario,
    steps: RangeInclusive<u64>,
    watched: &Watched,
    outcome: &Outcome,
    recording: &Recording,
) -> Result<Proof, Flaw> {
    if let Some(reasons) = &watched.open {
        return Err(Flaw::Open(reasons.clone()));
    }
    let [before, after] = &watched.ends[..] else { return Err(Flaw::Short(steps)) };
    same(&before.world, &after.world, watched.period.into())?;
    let progress = [
        (after.commits > before.commits, "something is decided in it"),
        (after.done, "every request is done"),
        (after.time == before.time, "no time passes in it"),
    ];
    if let Some((_, words)) = progress.into_iter().find(|(found, _)| *found) {
        return Err(Flaw::Progress(words));
    }
    let weak = |words: String| Err(Flaw::Environment(words));
    if outcome.over_budget {
        return weak("more replicas are faulty than the protocol tolerates".to_owned());
    }
    let segment = Segment::of(recording, steps, &watched.correct);
    if let Some(idle) = watched.correct.iter().find(|&&node| !segment.acts(node)) {
        return weak(format!("{idle} does nothing"));
    }
    if let Some(copy) = segment.lost {
        return weak(format!("{}>{} {} is lost", copy.src, copy.dst, copy.kind));
    }
    let usual = match scenario.network.latency {
        Latency::Constant(ticks) => ticks,
        Latency::Range([_, most]) => most,
    };
    let bound = scenario.network.bound.unwrap_or(usual).0;
    if segment.slowest > bound {
        return weak(format!(
            "a message takes {}, and the bound is {bound}",
            count(segment.slowest as usize, "tick", "ticks")
        ));
    }
    if let Some(fault) =
        scenario.adversary.faults.iter().find(|fault| !segment.settled(fault, watched.period.into()))
    {
        return weak(format!("a fault is about views that it passes: {:?}", fault.when.round));
    }
    let together = watched.together.values().map(|(first, last)| last.0 - first.0).max().unwrap_or_default();
    let enough = watched.view_delays * bound;
    if together < enough {
        return weak(format!(
            "correct replicas are together for {}, and need {enough}",
            count(together as usize, "tick", "ticks")
        ));
    }
    // What such a liar sends is what its code writes, so no message shows it.
    let deviates = |fault: &Fault| matches!(fault.effect, Effect::Persona(_) | Effect::Stance(_));
    let deviates = scenario.adversary.faults.iter().any(deviates);
    let benign = segment.uniform == Some(usual.0) && !segment.meddled && !deviates;
    let class = if benign { LassoClass::Benign } else { LassoClass::Adversarial };
    let views =
        watched.views.last().map_or(0, |last| last.0) - watched.views.first().map_or(0, |first| first.0);
    Ok(Proof { class, views, ticks: after.time.0 - before.time.0, delay: segment.slowest, together })
}

/// The messages of the part.
struct Segment<'a> {
    recording: &'a Recording,
    steps: RangeInclusive<u64>,
    /// A message between correct replicas that is lost.
    lost: Option<&'a SentCopy>,
    /// The longest time that one takes.
    slowest: u64,
    /// The time that all messages take, if it is the same.
    uniform: Option<u64>,
    /// Whether a liar lies, or keeps something to itself.
    meddled: bool,
    /// The views of messages that are sent in it.
    views: Vec<u64>,
}

impl<'a> Segment<'a> {
    fn of(recording: &'a Recording, steps: RangeInclusive<u64>, correct: &[NodeId]) -> Self {
        let mut times = BTreeMap::from([(0, 0)]);
        times.extend(recording.events.iter().map(|event| (event.step, event.time.0)));
        let time = |step: u64| times.range(..=step).next_back().map_or(0, |(_, &time)| time);
        let within = |step: u64| steps.contains(&step);
        let mut segment = Self {
            recording,
            steps: steps.clone(),
            lost: None,
            slowest: 0,
            uniform: None,
            meddled: false,
            views: Vec::new(),
        };
        let mut uneven = false;
        for copy in &recording.copies {
            let between_correct = correct.contains(&copy.src.node) && correct.contains(&copy.dst.node);
            if within(copy.sent) {
                segment.views.extend(copy.round.map(|key| u64::from(key.view.0)));
                segment.meddled |= copy.lie.is_some() || copy.held;
            }
            match copy.arrival {
                Arrival::Delivered { step, .. } if within(step) => {
                    let ticks = time(step) - time(copy.sent);
                    uneven |= *segment.uniform.get_or_insert(ticks) != ticks;
                    if between_correct {
                        segment.slowest = segment.slowest.max(ticks);
                    }
                }
                Arrival::Lost { step, by } if within(step) && by != Loss::Down => {
                    segment.meddled = true;
                    segment.lost = segment.lost.or(Some(copy).filter(|_| between_correct));
                }
                _ => {}
            }
        }
        segment.uniform = segment.uniform.filter(|_| !uneven);
        segment
    }

    /// Whether something happens at a node.
    fn acts(&self, node: NodeId) -> bool {
        self.recording.events.iter().filter(|event| self.steps.contains(&event.step)).any(
            |event| match &event.what {
                What::Deliver { dst, .. } => dst.node == node,
                What::Fire { seat, .. } => seat.node == node,
                _ => false,
            },
        )
    }

    /// Whether a fault that is about the views in messages is about all that are sent from now on, or about none.
    fn settled(&self, fault: &Fault, period: u64) -> bool {
        let Some(span) = fault.when.round.filter(|_| fault.when.source == RoundSource::View) else {
            return true;
        };
        let past = self.views.iter().all(|&view| view > span.last());
        let always = span.endless() && self.views.iter().all(|&view| view >= span.first());
        past || (always && period.is_multiple_of(span.step()))
    }
}

/// Whether two worlds are the same but for names and numbers: what stands for a block in one stands for one block in the
/// other, and numbers are in the same order, with the same small distances. Who leads a view does not change.
///
/// # Errors
/// The first difference.
pub fn same(one: &[Token], other: &[Token], period: u64) -> Result<(), Flaw> {
    let differs = |words: String| Err(Flaw::Differs(words));
    if one.len() != other.len() {
        return differs(format!("{} and {} pieces", one.len(), other.len()));
    }
    let (mut views, mut slots, mut counts) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let (mut there, mut back) = (BTreeMap::new(), BTreeMap::new());
    for (a, b) in one.iter().zip(other) {
        let fits = match (a, b) {
            (Token::View(a), Token::View(b)) => views.entry(*a).or_insert(*b) == b,
            (Token::Slot(a), Token::Slot(b)) => slots.entry(*a).or_insert(*b) == b,
            (Token::Count(a), Token::Count(b)) => counts.entry(*a).or_insert(*b) == b,
            (Token::Digest(a), Token::Digest(b)) => {
                (*a == 0) == (*b == 0)
                    && there.entry(a).or_insert(b) == &b
                    && back.entry(b).or_insert(a) == &a
            }
            _ => a == b,
        };
        if !fits {
            return differs(format!("{a:?} and {b:?}"));
        }
    }
    for (map, period) in [(views, period), (slots, 1), (counts, 1)] {
        let mut last = (0, 0);
        for (a, b) in map {
            let (near, far) = (a - last.0, b.checked_sub(last.1).filter(|&b| b > 0 || a == last.0));
            let kept = far.is_some_and(|far| near == far || (near >= NEAR && far >= NEAR));
            if !kept || a % period != b % period {
                return differs(format!("{a} has become {b}"));
            }
            last = (a, b);
        }
    }
    Ok(())
}
