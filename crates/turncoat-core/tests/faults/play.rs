//! Runs a scenario given as text, and checks what holds for every run whatever it is about.

use turncoat_core::ids::{SeatName, Time};
use turncoat_core::node::Protocol;
use turncoat_core::outcome::{Outcome, Property};
use turncoat_core::record::{Event, What};
use turncoat_core::runner::{Runner, execute};
use turncoat_core::scenario::Scenario;
use turncoat_core::schedule::Action;
use turncoat_core::sim::Sim;

/// A toy, with the part of a scenario that its tests share.
pub(crate) trait Toy: Protocol {
    /// TOML, completed by each test.
    const BASE: &'static str;
}

/// What came out of a run.
pub(crate) struct Played {
    pub(crate) outcome: Outcome,
    pub(crate) events: Vec<Event>,
}

/// The scenario of a test: the toy's base, completed or overruled by `text`.
pub(crate) fn scenario<P: Toy>(text: &str) -> Scenario {
    let mut table: toml::Table = toml::from_str(P::BASE).unwrap();
    merge(&mut table, toml::from_str(text).unwrap_or_else(|error| panic!("{error}")));
    Scenario::parse(&toml::to_string(&table).unwrap()).unwrap_or_else(|error| panic!("{error}"))
}

fn merge(base: &mut toml::Table, over: toml::Table) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(toml::Value::Table(base)), toml::Value::Table(over)) => merge(base, over),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

/// Runs a scenario. It reads back from its own text, runs the same again, shows the same when it is recorded,
/// and what was recorded replays it.
pub(crate) fn play<P: Toy>(text: &str) -> Played {
    play_scenario::<P>(&scenario::<P>(text))
}

pub(crate) fn play_scenario<P: Protocol>(scenario: &Scenario) -> Played {
    assert_eq!(Scenario::parse(&scenario.to_toml()).as_ref(), Ok(scenario));
    let mut sim = Sim::<P>::new();
    let (outcome, recording) = sim.record(scenario).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(sim.execute(scenario).as_ref(), Ok(&outcome), "the second run of a simulation differs");
    assert_eq!(execute::<P>(scenario).as_ref(), Ok(&outcome), "a run of another simulation differs");
    replays::<P>(scenario, &outcome, recording.script, &recording.events);
    Played { outcome, events: recording.events }
}

/// The script of a run, as a scenario of its own, shows the same run.
fn replays<P: Protocol>(scenario: &Scenario, outcome: &Outcome, script: Vec<Action>, events: &[Event]) {
    let replay = scenario.scripted(script);
    assert_eq!(Scenario::parse(&replay.to_toml()).as_ref(), Ok(&replay));
    let (again, recording) = Sim::<P>::new().record(&replay).unwrap();
    let told = || {
        let (first, second): (Vec<String>, Vec<String>) =
            (lines(events).collect(), lines(&recording.events).collect());
        let same = first.iter().zip(&second).take_while(|(a, b)| a == b).count();
        let tail = |lines: &[String]| lines.iter().skip(same).take(4).cloned().collect::<Vec<_>>().join("\n");
        format!("after {same} equal events the run shows\n{}\nthe replay\n{}", tail(&first), tail(&second))
    };
    assert_eq!(again.diverged, None, "the script cannot be followed: {}", told());
    assert_eq!(again.fingerprint, outcome.fingerprint, "the script shows another run: {}", told());
    assert_eq!((again.violations, again.end), (outcome.violations.clone(), outcome.end));
}

fn lines(events: &[Event]) -> impl Iterator<Item = String> {
    events.iter().map(Event::to_string)
}

impl Played {
    /// What a seat was handed, in order: `10 p0: letter view=0 slot=1 no=1`.
    pub(crate) fn heard(&self, who: &str) -> Vec<String> {
        let who: SeatName = who.parse().unwrap();
        let said = |event: &Event| match &event.what {
            What::Deliver { src, dst, text, .. } if *dst == who => {
                Some(format!("{} {src}: {text}", event.time))
            }
            _ => None,
        };
        self.events.iter().filter_map(said).collect()
    }

    /// The numbers (`no=`) of the letters that a seat was handed, in order.
    pub(crate) fn numbers(&self, who: &str) -> Vec<u32> {
        let number = |line: &String| line.split("no=").nth(1).and_then(|rest| rest.parse().ok());
        self.heard(who).iter().filter_map(number).collect()
    }

    /// When each letter with this number was handed to a seat.
    pub(crate) fn times(&self, who: &str, number: u32) -> Vec<u64> {
        let heard = self.heard(who).into_iter().filter(|line| line.ends_with(&format!("no={number}")));
        heard.map(|line| line.split(' ').next().unwrap().parse().unwrap()).collect()
    }

    /// The values that a seat decided: slot and digest.
    pub(crate) fn decided(&self, who: &str) -> Vec<(u32, String)> {
        let who: SeatName = who.parse().unwrap();
        let decided = |event: &Event| match &event.what {
            What::Commit { seat, slot, id, .. } if *seat == who => Some((slot.0, id.to_string())),
            _ => None,
        };
        self.events.iter().filter_map(decided).collect()
    }

    /// When these words were noted.
    pub(crate) fn noted(&self, words: &str) -> Option<Time> {
        let said = |event: &&Event| matches!(&event.what, What::Note { text, .. } if text.contains(words));
        self.events.iter().find(said).map(|event| event.time)
    }

    /// Whether a property did not hold.
    pub(crate) fn violates(&self, property: Property) -> bool {
        self.outcome.violation(property).is_some()
    }

    /// Asserts that nothing is violated.
    pub(crate) fn holds(&self) -> &Self {
        assert!(self.outcome.violations.is_empty(), "{:?}", self.outcome.violations);
        self
    }
}
