//! A run for those who look on while it is made: the whole chart, what was decided, and why that differs.

use serde::Serialize;
use turncoat_core::ids::SeatName;
use turncoat_core::outcome::{Outcome, Property, Violation};
use turncoat_core::record::{Recording, What};
use turncoat_core::runner::Entry;
use turncoat_core::scenario::Scenario;

use super::chart::Chart;
use super::read::Run;

/// What can be seen of a run.
#[derive(Clone, Debug)]
pub struct Board {
    /// All of it as a chart; its arrows are the recorded copies, in their order.
    pub chart: Chart,
    /// What was decided, in order.
    pub decisions: Vec<Decided>,
    /// What is violated, each in words, with the names of values.
    pub violations: Vec<(Violation, String)>,
    /// Why two correct replicas decided differently, in sentences; none if they did not.
    pub arithmetic: Vec<String>,
}

/// A decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Decided {
    /// Who decided.
    pub seat: SeatName,
    /// The slot.
    pub slot: u32,
    /// The name of the value.
    pub name: String,
    /// Its number, if clients know it.
    pub value: Option<usize>,
    /// What it consists of.
    pub requests: Vec<String>,
    /// Whose votes were counted.
    pub voters: Vec<SeatName>,
    /// In which event.
    pub step: u64,
}

impl Board {
    /// That of a recorded run.
    pub fn of(entry: &Entry, scenario: &Scenario, outcome: Outcome, recording: Recording) -> Self {
        let mut run = Run::new(entry, scenario, outcome, recording);
        let chart = Chart::of(&run, run.violated()).labelled(&run.names);
        let mut requests = run.recording.events.iter().filter_map(|event| match &event.what {
            What::Commit { requests, .. } => {
                Some(requests.iter().map(|request| run.names.request(request)).collect())
            }
            _ => None,
        });
        let decided = |decision| {
            let voters = run.voters(&decision);
            let super::read::Decision { seat, slot, id, step, value: name, .. } = decision;
            let requests = requests.next().unwrap_or_default();
            Decided { seat, slot: slot.0, name, value: run.names.number(id), requests, voters, step }
        };
        let decisions = run.decisions().into_iter().map(decided).collect();
        // Whatever else went wrong, this is what decisions are compared for.
        if let Some(agreement) = run.outcome.violation(Property::Agreement).cloned() {
            run.violation = Some(agreement);
        }
        let conflict = run.conflicting();
        let arithmetic = conflict.map(|(one, two)| run.disagreement(&one, &two)).unwrap_or_default();
        let arithmetic = arithmetic.into_iter().map(|line| line.text).collect();
        let violations = run.outcome.violations.iter();
        let violations = violations.map(|violation| (violation.clone(), run.detail(violation))).collect();
        Self { chart, decisions, violations, arithmetic }
    }
}
