//! What happened in a scenario, for people: a story in plain words, and a chart of its messages.

use turncoat_core::outcome::Outcome;
use turncoat_core::record::{Recording, What};
use turncoat_core::runner::Entry;
use turncoat_core::scenario::{Scenario, ScenarioError};

/// A scenario explained.
#[derive(Clone, Debug)]
pub struct Explanation {
    outcome: Outcome,
    recording: Recording,
    known: Option<(String, String)>,
}

impl Explanation {
    /// Runs a scenario, and looks at what happened.
    ///
    /// # Errors
    /// If the scenario cannot run.
    pub fn of(entry: &Entry, scenario: &Scenario) -> Result<Self, ScenarioError> {
        let (outcome, recording) = entry.runner().record(scenario)?;
        Ok(Self { outcome, recording, known: None })
    }

    /// It looks like a known bug.
    #[must_use]
    pub fn looks_like(self, bug: &str, title: &str) -> Self {
        Self { known: Some((bug.to_owned(), title.to_owned())), ..self }
    }

    /// What was violated, in a line or two.
    pub fn violated(&self) -> String {
        match self.outcome.violations.first() {
            Some(violation) => violation.to_string(),
            None => "nothing was violated".to_owned(),
        }
    }

    /// The story.
    pub fn story(&self) -> String {
        let known = self.known.iter().map(|(bug, title)| format!("This looks like {bug}: {title}.\n"));
        known.fold(self.violated() + "\n", |story, line| story + &line)
    }

    /// The chart, as text.
    pub fn chart(&self) -> String {
        self.recording.events.iter().map(|event| format!("{event}\n")).collect()
    }

    /// The chart, as a picture.
    pub fn svg(&self) -> String {
        "<svg xmlns=\"http://www.w3.org/2000/svg\"/>\n".to_owned()
    }

    /// The chart, for Mermaid.
    pub fn mermaid(&self) -> String {
        let line = |what: &What| match what {
            What::Deliver { src, dst, .. } => Some(format!("    {src}->>{dst}: message\n")),
            _ => None,
        };
        let lines: String = self.recording.events.iter().filter_map(|event| line(&event.what)).collect();
        format!("sequenceDiagram\n{lines}")
    }
}
