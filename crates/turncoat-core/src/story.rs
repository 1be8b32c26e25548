//! Scripted attacks: a story says what is delivered, lost and changed, step by step.
//!
//! Nothing happens on its own: messages wait until a verb picks them, timers until [`Story::timeout`]. A verb
//! that matches nothing fails at once and prints what was in flight. [`Story::scenario`] is the story as a
//! scenario, which replays without it.
//!
//! Messages are picked by patterns: `"p0>p3 prepare"`, `"p0>p1,p2 *"`, `"*>p3 prepare,commit"`; `"p0>p3 prepare #2"` is
//! the second of its kind on its link.

use std::fmt::Write;
use std::sync::Arc;

use crate::hash::Digest;
use crate::ids::{Seat, Slot};
use crate::node::Protocol;
use crate::outcome::{Outcome, Property};
use crate::record::What;
use crate::scenario::{Scenario, SchedulerName, SchedulerSpec};
use crate::schedule::{Action, Coordinates};
use crate::session::Flying;
use crate::sim::Sim;

/// A run driven by hand.
pub struct Story<P: Protocol> {
    sim: Sim<P>,
    scenario: Scenario,
    held: Vec<Pattern>,
    lost: Vec<Pattern>,
    /// The length of the script when the story was left to itself.
    told: Option<usize>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Pattern {
    text: String,
    src: Vec<String>,
    dst: Vec<String>,
    kind: Vec<String>,
    nth: Option<u32>,
}

impl Pattern {
    fn new(text: &str) -> Self {
        Self::parse(text).unwrap_or_else(|| {
            panic!("`{text}` is not a pattern: expected `p0>p3 prepare` or `p0>p3 prepare #2`")
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let list = |part: &str| part.split(',').map(str::to_owned).collect();
        let mut words = text.split_whitespace();
        let (src, dst) = words.next()?.split_once('>')?;
        let kind = list(words.next().unwrap_or("*"));
        let nth = match words.next() {
            Some(nth) => Some(nth.strip_prefix('#')?.parse().ok()?),
            None => None,
        };
        Some(Self { text: text.to_owned(), src: list(src), dst: list(dst), kind, nth })
    }

    fn matches(&self, message: &Coordinates) -> bool {
        let among = |list: &[String], name: &str| {
            let identity = name.split('.').next().unwrap_or(name);
            list.iter().any(|item| item == "*" || item == name || item == identity)
        };
        among(&self.src, &message.src.to_string())
            && among(&self.dst, &message.dst.to_string())
            && self.kind.iter().any(|kind| kind == "*" || *kind == message.kind)
            && self.nth.is_none_or(|nth| nth == message.nth)
    }
}

impl<P: Protocol> Story<P> {
    /// Starts a story; the scenario's scheduler gives way to it.
    ///
    /// # Panics
    /// If the scenario cannot run. All verbs panic when they match nothing: stories are tests.
    pub fn new(scenario: Scenario) -> Self {
        Self::with_preset(toml::Table::new(), scenario)
    }

    /// A story of a variant; see [`Sim::with_preset`].
    ///
    /// # Panics
    /// As [`Story::new`] does.
    pub fn with_preset(preset: toml::Table, mut scenario: Scenario) -> Self {
        scenario.scheduler =
            Arc::new(SchedulerSpec { name: SchedulerName::Script, ..SchedulerSpec::default() });
        let mut sim = Sim::with_preset(preset);
        sim.reset_recording(&scenario).unwrap_or_else(|error| panic!("the story cannot start: {error}"));
        Self { sim, scenario, held: Vec::new(), lost: Vec::new(), told: None }
    }

    /// Delivers what matches, in the order of sending.
    pub fn deliver(&mut self, pattern: &str) -> &mut Self {
        for message in self.pick(pattern) {
            self.apply(&Action::Deliver(message));
        }
        self
    }

    /// Delivers all messages in flight, and those sent in response, except what is held.
    pub fn deliver_all(&mut self) -> &mut Self {
        self.deliver_where(|_| true)
    }

    /// Delivers all messages that match, and those sent in response that match too.
    pub fn deliver_only(&mut self, pattern: &str) -> &mut Self {
        let pattern = Pattern::new(pattern);
        self.deliver_where(|message| pattern.matches(message))
    }

    fn deliver_where(&mut self, wanted: impl Fn(&Coordinates) -> bool) -> &mut Self {
        loop {
            let in_flight: Vec<Coordinates> =
                self.sim.in_flight().into_iter().map(|flying| flying.name).collect();
            let free = |message: &&Coordinates| !self.held.iter().any(|pattern| pattern.matches(message));
            let Some(message) = in_flight.iter().filter(free).find(|message| wanted(message)).cloned() else {
                return self;
            };
            let lost = self.lost.iter().any(|pattern| pattern.matches(&message));
            self.apply(&if lost { Action::Drop(message) } else { Action::Deliver(message) });
        }
    }

    /// Loses what matches now.
    pub fn drop(&mut self, pattern: &str) -> &mut Self {
        for message in self.pick(pattern) {
            self.apply(&Action::Drop(message));
        }
        self
    }

    /// From now on `deliver_all` loses what matches.
    pub fn lose(&mut self, pattern: &str) -> &mut Self {
        self.lost.push(Pattern::new(pattern));
        self
    }

    /// From now on `deliver_all` leaves what matches in flight.
    pub fn hold(&mut self, pattern: &str) -> &mut Self {
        self.held.push(Pattern::new(pattern));
        self
    }

    /// Ends `hold`s and `lose`s, all of them.
    pub fn heal(&mut self) -> &mut Self {
        self.held.clear();
        self.lost.clear();
        self
    }

    /// Ends one `hold`.
    pub fn release(&mut self, pattern: &str) -> &mut Self {
        let before = self.held.len();
        self.held.retain(|held| held.text != pattern);
        assert!(self.held.len() < before, "`{pattern}` was never held");
        self
    }

    /// Makes a second copy of what matches.
    pub fn duplicate(&mut self, pattern: &str) -> &mut Self {
        for message in self.pick(pattern) {
            self.apply(&Action::Duplicate(message));
        }
        self
    }

    /// The sender of what matches lies: a name from the mutation table.
    pub fn mutate(&mut self, pattern: &str, mutation: &str) -> &mut Self {
        for message in self.pick(pattern) {
            self.apply(&Action::Mutate(message, mutation.to_owned(), 0));
        }
        self
    }

    /// A timer fires.
    pub fn timeout(&mut self, who: &str, timer: &str) -> &mut Self {
        self.apply(&Action::Fire(name(who), Some(timer.to_owned())));
        self
    }

    /// A node stops.
    pub fn crash(&mut self, who: &str) -> &mut Self {
        self.apply(&Action::Crash(name(who)));
        self
    }

    /// A stopped node goes on with its state.
    pub fn restart(&mut self, who: &str) -> &mut Self {
        self.apply(&Action::Restart(name(who), true));
        self
    }

    /// A stopped node starts anew: it has lost its state.
    pub fn restart_anew(&mut self, who: &str) -> &mut Self {
        self.apply(&Action::Restart(name(who), false));
        self
    }

    /// A Byzantine node turns against its leader.
    pub fn suspect(&mut self, who: &str) -> &mut Self {
        self.apply(&Action::Suspect(name(who)));
        self
    }

    /// The network calms down, timers run, the story goes on by itself to its end.
    pub fn settle(&mut self) -> Outcome {
        self.told.get_or_insert(self.sim.script().len());
        self.apply(&Action::Calm);
        self.sim.run()
    }

    /// The story ends here.
    pub fn end(&mut self) -> Outcome {
        self.sim.stop()
    }

    /// Whether something that matches is in flight.
    pub fn in_flight(&self, pattern: &str) -> bool {
        let pattern = Pattern::new(pattern);
        self.sim.in_flight().iter().any(|flying| pattern.matches(&flying.name))
    }

    /// What a node has decided: the values' operations, by slot; `noop` for none, the digest where nobody asked for it.
    pub fn log(&self, who: &str) -> Vec<(u32, String)> {
        let seat = self.seat(who);
        let requests = self.sim.ledger().submitted();
        let commits = self.sim.ledger().log().iter().filter(|commit| commit.seat == seat);
        commits
            .map(|commit| {
                let request = requests.iter().find(|request| request.digest() == commit.id);
                let op = match request {
                    Some(request) => request.op.to_string(),
                    None if commit.id == Digest::NULL => "noop".to_owned(),
                    None => commit.id.to_string(),
                };
                (commit.slot.0, op)
            })
            .collect()
    }

    /// Asserts what a node has decided, slot by slot from 1.
    pub fn expect_log(&self, who: &str, ops: &[&str]) -> &Self {
        let expected: Vec<(u32, String)> = (1..).zip(ops.iter().map(|&op| op.to_owned())).collect();
        assert_eq!(self.log(who), expected, "the log of {who}\n{}", self.told());
        self
    }

    /// Asserts that a property is violated by now.
    pub fn expect_violation(&self, property: Property) -> &Self {
        let found = self.sim.violations().iter().any(|violation| violation.property == property);
        assert!(found, "{property} holds, but should not\n{}", self.told());
        self
    }

    /// Asserts that nothing is violated so far.
    pub fn expect_no_violation(&self) -> &Self {
        assert!(self.sim.violations().is_empty(), "{:?}\n{}", self.sim.violations(), self.told());
        self
    }

    /// The replica of a name.
    pub fn replica(&self, who: &str) -> &P::Replica {
        self.sim.replica(self.seat(who)).expect("a replica")
    }

    /// A node's state, field by field.
    pub fn json(&self, who: &str) -> serde_json::Value {
        self.sim.state(self.seat(who)).expect("a node that shows its state").json()
    }

    /// A hash of a node's state.
    pub fn state(&self, who: &str) -> u64 {
        self.sim.state(self.seat(who)).expect("a node that shows its state").state_hash()
    }

    /// The value that a node decided in a slot.
    pub fn decided(&self, who: &str, slot: u32) -> Option<Digest> {
        self.sim.ledger().decided(self.seat(who), Slot(slot))
    }

    /// The simulation under the story.
    pub const fn sim(&self) -> &Sim<P> {
        &self.sim
    }

    /// The story so far as a scenario: it replays without the story. What happened by itself after [`Story::settle`]
    /// happens by itself again, and is left out.
    pub fn scenario(&self) -> Scenario {
        let mut scenario = self.scenario.clone();
        let script = self.sim.script();
        let told = self.told.unwrap_or(script.len()).min(script.len());
        Arc::make_mut(&mut scenario.scheduler).script = script[..told].to_vec();
        scenario
    }

    fn seat(&self, who: &str) -> Seat {
        let seats = self.sim.seats().named(name(who)).unwrap_or_else(|error| panic!("{error}"));
        seats.iter().next().expect("a name means a seat")
    }

    fn pick(&self, pattern: &str) -> Vec<Coordinates> {
        let wanted = Pattern::new(pattern);
        let in_flight = self.sim.in_flight();
        let found: Vec<Coordinates> = in_flight
            .into_iter()
            .map(|flying| flying.name)
            .filter(|message| wanted.matches(message))
            .collect();
        assert!(!found.is_empty(), "nothing matches `{pattern}`\n{}", self.told());
        found
    }

    fn apply(&mut self, action: &Action) {
        if let Err(error) = self.sim.apply(action) {
            panic!("`{action}`: {error}\n{}", self.told());
        }
    }

    /// What is in flight, which timers are armed, and what happened last.
    fn told(&self) -> String {
        let mut text = String::from("in flight:\n");
        for Flying { name, text: content, .. } in self.sim.in_flight() {
            let _ = writeln!(text, "  {name}: {content}");
        }
        text.push_str("timers:\n");
        for (index, &node) in self.sim.seats().nodes().iter().enumerate() {
            for (timer, at) in self.sim.timers(Seat(index as u8)) {
                let _ = writeln!(text, "  {node} {timer} at {at}");
            }
        }
        text.push_str("last events:\n");
        let events = self.sim.events();
        for event in events.iter().skip(events.len().saturating_sub(40)) {
            let _ = writeln!(text, "  {event}");
        }
        text
    }

    /// Whether this happened, by its words: `contains("p0 view change")`.
    pub fn noted(&self, words: &str) -> bool {
        let said = |what: &What| matches!(what, What::Note { text, .. } if text.contains(words));
        self.sim.events().iter().any(|event| said(&event.what))
    }
}

fn name(who: &str) -> crate::ids::SeatName {
    who.parse().unwrap_or_else(|error| panic!("{error}"))
}
