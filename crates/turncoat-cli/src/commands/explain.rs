//! `turncoat explain`: a scenario in plain words, and its messages as a chart.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::Serialize;
use turncoat_core::runner::Entry;
use turncoat_core::scenario::Scenario;
use turncoat_lab::corpus::differences;
use turncoat_lab::explain::{Chart, Explanation, Section};

use super::replay::Subject;
use crate::exit::Exit;
use crate::rows::Rows;
use crate::{again, files, out, registry};

const NOTES: &str = "\
Says what was violated, who lied to whom, what the network did, and why correct replicas disagree or wait for ever. The
chart shows the messages that led there.

Example: turncoat explain turncoat-corpus/pbft-agreement-7b1c03aa.toml
         turncoat explain --bug pbft-java/figure-2 --svg figure-2.svg";

/// Tell what happens in a saved scenario, in plain words and as a chart
#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub(crate) struct Args {
    #[command(flatten)]
    subject: Subject,

    /// Show all messages in charts, not only those that matter
    #[arg(long)]
    all: bool,

    /// Write the chart as a picture, or print it (-)
    #[arg(long, value_name = "OUT.svg")]
    svg: Option<PathBuf>,

    /// Write the chart for Mermaid, or print it (-)
    #[arg(long, value_name = "OUT.mmd")]
    mermaid: Option<PathBuf>,

    /// Print JSON: the story, and the chart as data
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Explained {
    violated: String,
    story: Vec<Section>,
    chart: Chart,
}

pub(crate) fn explain(args: &Args) -> Result<Exit> {
    let (scenario, file) = args.subject.scenario()?;
    let in_file = || file.clone();
    let entry = registry::protocol(&scenario.protocol.name).with_context(in_file)?;
    let explanation = Explanation::of(&entry, &scenario).with_context(in_file)?;
    let mut explanation = explanation.whole_by(again::with("--all"));
    if let Some((bug, title)) = args.known(&entry, &scenario, &explanation)? {
        explanation = explanation.looks_like(&bug, &title);
    }
    if args.all {
        explanation = explanation.whole();
    }
    let pictures =
        [(&args.svg, Explanation::svg as fn(&Explanation) -> String), (&args.mermaid, Explanation::mermaid)];
    let mut printed = false;
    for (path, picture) in pictures {
        let Some(path) = path else { continue };
        if path.as_os_str() == "-" {
            out::exact(picture(&explanation).trim_end())?;
            printed = true;
        } else {
            let text = picture(&explanation);
            files::write_whole(path, &text).with_context(|| format!("cannot write {}", path.display()))?;
            out::log(format_args!("saved as {}", path.display()));
        }
    }
    if args.json {
        let (violated, story, chart) =
            (explanation.violated(), explanation.sections(), explanation.drawing());
        out::json("explanation", Explained { violated, story, chart })?;
    } else if !printed {
        out::line(explanation.story())?;
        out::line(explanation.chart().trim_end())?;
    }
    let differs = differences(&scenario, explanation.outcome());
    for difference in &differs {
        out::log(format_args!("diverged: {difference}"));
    }
    Ok(if differs.is_empty() { Exit::Clean } else { Exit::Diverged })
}

impl Args {
    /// The known bug that the scenario shows: its own, or the one whose flags alone still show it.
    fn known(
        &self,
        entry: &Entry,
        scenario: &Scenario,
        explanation: &Explanation,
    ) -> Result<Option<(String, String)>> {
        let rows = Rows::embedded();
        let bug = match (&self.subject.bug, explanation.violation()) {
            (Some(id), _) => Some(rows.bug(id)?),
            (None, Some(violation)) => rows.shown_by(entry, scenario, explanation.outcome(), violation)?,
            (None, None) => None,
        };
        Ok(bug.map(|bug| (bug.id, bug.facts.title)))
    }
}
