//! A calm scheduler, and a script with the few steps that matter.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use turncoat_core::ids::NodeId;
use turncoat_core::outcome::Violation;
use turncoat_core::record::{Recording, What};
use turncoat_core::scenario::{Scenario, SchedulerName, SchedulerSpec, Seed};
use turncoat_core::schedule::Action;

use super::Shrinker;
use super::copies::Copies;
use super::keys::SEEDS;
use crate::words::count;

impl Shrinker<'_> {
    /// Away from random schedulers and scripts, where the order does not matter.
    pub(super) fn plain_scheduler(&mut self) {
        if !self.plain() {
            self.without_chance(&self.best.clone());
        }
    }

    pub(super) fn plain(&self) -> bool {
        matches!(self.best.scheduler.name, SchedulerName::Timed | SchedulerName::Fifo)
    }

    /// What a random scheduler chose becomes a script.
    pub(super) fn script_choices(&mut self) {
        if !self.plain() && self.best.scheduler.name != SchedulerName::Script {
            let recording = self.record();
            let script = up_to(&recording.script, self.violation.step);
            self.attempt(self.best.scripted(script.to_vec()), || {
                format!("a script of {}", count(script.len(), "step", "steps"))
            });
        }
    }

    /// Tries a scenario under schedulers that leave little to chance.
    pub(super) fn without_chance(&mut self, scenario: &Scenario) -> bool {
        let seeds = [scenario.seed].into_iter().chain((0..SEEDS).map(Seed));
        let timed = seeds.map(|seed| (SchedulerName::Timed, seed));
        let fifo = [scenario.seed, Seed(0)].map(|seed| (SchedulerName::Fifo, seed));
        timed.chain(fifo).any(|(name, seed)| {
            let scheduler = Arc::new(SchedulerSpec { name, ..SchedulerSpec::default() });
            let candidate = Scenario { seed, scheduler, ..scenario.clone() };
            self.attempt(candidate, || format!("a scheduler without chance: {name:?}"))
        })
    }

    /// The causes of the violation, the shortest beginning of them that matters, and of that no line too many.
    pub(super) fn shorten_script(&mut self) {
        if self.best.scheduler.script.is_empty() {
            return;
        }
        let causes = causes(&self.record(), &self.violation);
        self.attempt(self.best.scripted(causes.to_vec()), || {
            format!("only {} matter", count(causes.len(), "step", "steps"))
        });
        // What is in flight when a script ends is delivered in its usual order.
        let script = self.best.scheduler.script.clone();
        let mut length = 0;
        while length < script.len()
            && !self.attempt(self.best.scripted(script[..length].to_vec()), || {
                format!("{} enough", count(length, "step is", "steps are"))
            })
        {
            length += 1 + length / 50;
        }
        self.cut_list(
            |scenario| scenario.scheduler.script.len(),
            |scenario, range| drop(Arc::make_mut(&mut scenario.scheduler).script.drain(range)),
            "steps of the script",
        );
        for i in 0..self.best.scheduler.script.len() {
            let mut candidate = self.best.clone();
            let action = &mut Arc::make_mut(&mut candidate.scheduler).script[i];
            if let Action::Mutate(_, name, seed @ 1..) = action {
                *seed = 0;
                let words = format!("the value that {name} draws does not matter");
                self.attempt(candidate, || words);
            }
        }
    }

    /// The scenario without the lines of its script that cannot be carried out.
    pub(super) fn carried_out(&mut self, scenario: &Scenario) -> Option<Scenario> {
        self.executions += 1;
        let (_, recording) = self.runner.record(scenario).ok()?;
        let impossible = recording.events.iter().filter_map(|event| match &event.what {
            What::Note { seat: None, text } => Some(text.strip_prefix('`')?.split_once("` cannot happen")?.0),
            _ => None,
        });
        let mut impossible = impossible.peekable();
        let mut candidate = scenario.clone();
        let script = &mut Arc::make_mut(&mut candidate.scheduler).script;
        let before = script.len();
        script.retain(|action| impossible.next_if(|text| *text == action.to_string()).is_none());
        (script.len() < before).then_some(candidate)
    }
}

/// Whether a choice makes an event.
const fn is_event(action: &Action) -> bool {
    matches!(action, Action::Deliver(_) | Action::Drop(_) | Action::Fire(..))
}

/// The choices that make an event, each with its number.
pub(super) fn choices(script: &[Action]) -> impl Iterator<Item = (u64, &Action)> {
    (1..).zip(script.iter().filter(|action| is_event(action)))
}

/// The choices up to an event, or up to the calm phase, which begins by itself when a script ends.
pub(super) fn up_to(script: &[Action], step: u64) -> &[Action] {
    let mut steps = 0;
    let after = script.iter().position(|action| {
        let over = steps >= step || *action == Action::Calm;
        steps += u64::from(is_event(action));
        over
    });
    &script[..after.unwrap_or(script.len())]
}

/// The choices that a violation depends on: those at the nodes concerned, and those that came before, in the sense that
/// messages tell of them.
fn causes(recording: &Recording, violation: &Violation) -> Vec<Action> {
    let copies = Copies::of(recording);
    let choices: Vec<_> = choices(up_to(&recording.script, violation.step)).collect();
    // The last event of each node that matters.
    let mut until: BTreeMap<NodeId, u64> =
        violation.nodes.iter().map(|&node| (node, violation.step)).collect();
    let mut steps = BTreeSet::new();
    for &(step, action) in choices.iter().rev() {
        let copy = copies.arrived(step).map(|row| row.copy);
        let node = match (action, copy) {
            (Action::Fire(seat, _), _) => seat.node,
            (Action::Deliver(_), Some(copy)) => copy.dst.node,
            _ => continue,
        };
        if until.get(&node).is_some_and(|&last| step <= last) {
            steps.insert(step);
            if let Some(copy) = copy {
                let last = until.entry(copy.src.node).or_default();
                *last = copy.sent.max(*last);
            }
        }
    }
    let mut step = 0;
    let mut script = up_to(&recording.script, violation.step).to_vec();
    script.retain(|action| {
        step += u64::from(is_event(action));
        !is_event(action) || steps.contains(&step)
    });
    let kept = script.clone();
    script.retain(|action| match action {
        Action::Mutate(message, ..) => kept.contains(&Action::Deliver(message.clone())),
        _ => true,
    });
    script
}

#[cfg(test)]
mod tests {
    use turncoat_core::outcome::Property;
    use turncoat_core::record::{Arrival, SentCopy};

    use super::*;

    /// A run of deliveries, each with the event in which its message was sent.
    fn run(deliveries: &[(&str, u64)]) -> Recording {
        let script: Vec<Action> = deliveries.iter().map(|(line, _)| line.parse().expect("a step")).collect();
        let copy = |(step, action): (u64, &Action), sent| {
            let Action::Deliver(message) = action else { panic!("{action}") };
            SentCopy {
                src: message.src,
                dst: message.dst,
                kind: "message",
                nth: 1,
                view_change: false,
                round: None,
                slot: None,
                text: String::new(),
                sent,
                lie: None,
                held: false,
                arrival: Arrival::Delivered { step, heeded: true },
            }
        };
        let sent = deliveries.iter().map(|&(_, sent)| sent);
        let copies = choices(&script).zip(sent).map(|(choice, sent)| copy(choice, sent)).collect();
        Recording { copies, script, ..Recording::default() }
    }

    #[test]
    fn causes_are_what_the_node_has_heard_of() {
        let recording = run(&[
            ("deliver c0>p0 request #1", 0),
            ("deliver c0>p3 request #1", 0),     // p3 tells nobody
            ("deliver p0>p2 pre-prepare #1", 1), // p2 tells p1 later, in vain
            ("deliver p0>p1 pre-prepare #1", 1),
            ("deliver p1>p0 prepare #1", 4), // p0 has told p1 before
            ("deliver p2>p1 prepare #1", 3),
        ]);
        let violation = |step| Violation {
            property: Property::Agreement,
            rule: "slot",
            nodes: ["p1".parse().expect("a node")].into_iter().collect(),
            slot: None,
            step,
            detail: String::new(),
            outside: None,
        };
        let lines = |step| -> Vec<String> {
            causes(&recording, &violation(step)).iter().map(ToString::to_string).collect()
        };
        assert_eq!(lines(4), ["deliver c0>p0 request #1", "deliver p0>p1 pre-prepare #1"]);
        let all_but_two = [
            "deliver c0>p0 request #1",
            "deliver p0>p2 pre-prepare #1",
            "deliver p0>p1 pre-prepare #1",
            "deliver p2>p1 prepare #1",
        ];
        assert_eq!(lines(6), all_but_two);
    }
}
