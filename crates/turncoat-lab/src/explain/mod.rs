//! What happened in a scenario, for people: a story in plain words, and a chart of its messages.
//!
//! | a line that ... | lives in |
//! |---|---|
//! | reads facts out of a recorded run | `read.rs` |
//! | gives values short names, and shortens messages | `values.rs` |
//! | says who lied | `blame.rs`; with two faces `faces.rs`; what a lie says `lies.rs` |
//! | says what the network did | `network.rs`; what came too late `late.rs` |
//! | says what replicas heard | `heard.rs` |
//! | does the arithmetic of quorums | `why.rs`; says how a later view went astray `views.rs` |
//! | says what is wrong with a decision, or with a message that crashes a node | `rules.rs` |
//! | says what everybody waits for | `stuck.rs` |
//! | says which deviations are to blame | `deviations.rs`; where they act `acts.rs` |
//! | is what a sentence claims, as data | `claim.rs` |
//! | puts sections in order | `story.rs` |
//! | is the chart as data | `chart.rs`; what of it matters `focus.rs` |
//! | is for those who look on while a run is made | `board.rs` |
//! | prints it | `text.rs`, `svg.rs` (with `pen.rs`), `mermaid.rs` |

use turncoat_core::outcome::{Outcome, Property, Violation};
use turncoat_core::runner::Entry;
use turncoat_core::scenario::{Lasso, Scenario, ScenarioError};

mod acts;
mod blame;
mod board;
mod chart;
mod claim;
mod deviations;
mod faces;
mod focus;
mod heard;
mod late;
mod lies;
mod mermaid;
mod network;
mod pen;
mod read;
mod rules;
mod stances;
mod story;
mod stuck;
mod svg;
mod text;
mod values;
mod views;
mod why;

pub use board::{Board, Decided};
pub use chart::{Arrow, Chart, Item, Lifeline, Mark, Sign};
pub use claim::Claim;
pub use story::Section;
use story::{Part, WIDTH};

use crate::lasso::{self, Verdict};
use crate::words;
use deviations::Deviations;
use read::{Lap, Run};

/// The narrowest text.
const NARROWEST: usize = 60;

/// A scenario explained.
#[derive(Clone, Debug)]
pub struct Explanation {
    run: Run,
    deviations: Deviations,
    known: Option<(String, String)>,
    whole: bool,
    /// The command that shows what charts leave out.
    whole_by: Option<String>,
    /// The width of text, in letters.
    width: usize,
}

impl Explanation {
    /// Runs a scenario, and looks at what happened.
    ///
    /// # Errors
    /// If the scenario cannot run.
    pub fn of(entry: &Entry, scenario: &Scenario) -> Result<Self, ScenarioError> {
        let mut runner = entry.runner();
        let (outcome, recording) = runner.record(scenario)?;
        let mut run = Run::new(entry, scenario, outcome, recording);
        let stuck =
            run.violation.as_ref().is_some_and(|violation| violation.property == Property::Termination);
        if stuck && let Verdict::Lasso(Lasso { from, to, .. }, proof) = lasso::find(entry, scenario)? {
            run.lap = Some(Lap { from, to, views: proof.views });
        }
        let deviations = Deviations::of(&run, &mut *runner)?;
        Ok(Self { run, deviations, known: None, whole: false, whole_by: None, width: WIDTH })
    }

    /// It looks like a known bug.
    #[must_use]
    pub fn looks_like(self, bug: &str, title: &str) -> Self {
        Self { known: Some((bug.to_owned(), title.to_owned())), ..self }
    }

    /// Text is at most so wide, as far as it can be: a terminal may be narrower than the usual 100 letters.
    #[must_use]
    pub fn within(self, width: usize) -> Self {
        Self { width: width.clamp(NARROWEST, WIDTH), ..self }
    }

    /// Charts show everything, not only what matters.
    #[must_use]
    pub fn whole(self) -> Self {
        Self { whole: true, ..self }
    }

    /// Charts say with which command they show everything.
    #[must_use]
    pub fn whole_by(self, command: String) -> Self {
        Self { whole_by: Some(command), ..self }
    }

    /// What came out of the run.
    pub const fn outcome(&self) -> &Outcome {
        &self.run.outcome
    }

    /// The violation that the story is about: the one that the file is about, or the first.
    pub const fn violation(&self) -> Option<&Violation> {
        self.run.violation.as_ref()
    }

    /// What was violated, in a line or two.
    pub fn violated(&self) -> String {
        words::capitalised(&self.run.violated())
    }

    /// What happened, in a few sentences: why, who lied to whom, and what is wrong with the protocol.
    pub fn summary(&self) -> Vec<String> {
        let lines = self.run.in_brief(&self.deviations, self.known.as_ref());
        lines.into_iter().map(|line| line.text).collect()
    }

    /// The summary, for the terminal.
    pub fn short(&self) -> String {
        let lines = [self.violated()].into_iter().chain(self.summary());
        lines.flat_map(|line| words::wrapped(&line, self.width)).map(|line| line + "\n").collect()
    }

    /// The whole story, section by section.
    pub fn sections(&self) -> Vec<Section> {
        self.parts().into_iter().map(Section::from).collect()
    }

    /// What the story claims has happened, paragraph by paragraph.
    pub fn claims(&self) -> Vec<(String, Vec<Claim>)> {
        let lines = self.parts().into_iter().flat_map(|part| part.lines);
        lines.map(|line| (line.text, line.claims)).collect()
    }

    fn parts(&self) -> Vec<Part> {
        self.run.parts(&self.deviations, self.known.as_ref(), &self.drawing())
    }

    /// The whole story, for the terminal.
    pub fn story(&self) -> String {
        let sections: Vec<String> = self.sections().iter().map(|section| section.print(self.width)).collect();
        format!("{}\n\n{}", words::wrapped(&self.violated(), self.width).join("\n"), sections.join("\n"))
    }

    /// The chart, as plain data.
    pub fn drawing(&self) -> Chart {
        let chart = Chart::of(&self.run, self.violated());
        let chart = if self.whole { chart } else { focus::focus(&self.run, chart) };
        chart.labelled(&self.run.names)
    }

    /// The chart, as text, which goes with the story.
    pub fn chart(&self) -> String {
        let drawing = self.drawing();
        let all = self.whole_by.as_ref().filter(|_| drawing.left_out.is_some());
        let all = all.map_or_else(String::new, |command| format!("To see all: {command}\n"));
        text::print(&drawing, self.width) + &all
    }

    /// The chart, as a picture.
    pub fn svg(&self) -> String {
        svg::print(&self.drawing())
    }

    /// The chart, for Mermaid.
    pub fn mermaid(&self) -> String {
        mermaid::print(&self.drawing())
    }
}
