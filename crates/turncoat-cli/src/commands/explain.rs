//! `turncoat explain`: a scenario in plain words, and its messages as a chart.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::Serialize;
use turncoat_lab::corpus::differences;
use turncoat_lab::explain::{Chart, Explanation, Section};

use crate::exit::Exit;
use crate::named::{Named, Subject};
use crate::rows::Rows;
use crate::{again, files, layout, out, registry};

const NOTES: &str = "\
Says in a few lines what was violated, why, and who lied to whom; a chart shows the messages that led there. With --long it \
also says what each replica saw, what the network did, and where the bugs of the protocol take effect.

Example: turncoat explain turncoat-corpus/pbft-agreement-7b1c03aa.toml
         turncoat explain pbft-java/figure-2 --svg figure-2.svg";

/// Explain in plain words who lied to whom and what broke
#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub(crate) struct Args {
    #[command(flatten)]
    subject: Subject,

    /// Tell the whole story: the setting, every lie, what each replica saw and counted
    #[arg(long)]
    long: bool,

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
    summary: Vec<String>,
    story: Vec<Section>,
    chart: Chart,
}

pub(crate) fn explain(args: &Args) -> Result<Exit> {
    let Named { scenario, file, bug, .. } = args.subject.read()?;
    let in_file = || file.clone();
    let entry = registry::protocol(&scenario.protocol.name).with_context(in_file)?;
    let explanation = Explanation::of(entry, &scenario).with_context(in_file)?;
    let mut explanation = explanation.whole_by(again::with("--all"));
    if let Some(width) = layout::width() {
        explanation = explanation.within(width);
    }
    // Its own bug, or the one whose flags alone still show it.
    let known = match (bug, explanation.violation()) {
        (Some(bug), _) => Some(bug),
        (None, Some(violation)) => {
            Rows::embedded().shown_by(entry, &scenario, explanation.outcome(), violation)?
        }
        (None, None) => None,
    };
    if let Some(bug) = known {
        explanation = explanation.looks_like(&bug.id, &bug.facts.title);
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
        let (violated, summary) = (explanation.violated(), explanation.summary());
        let (story, chart) = (explanation.sections(), explanation.drawing());
        out::json("explanation", Explained { violated, summary, story, chart })?;
    } else if !printed {
        out::line(if args.long { explanation.story() } else { explanation.short() })?;
        out::drawn(explanation.chart().trim_end())?;
        if !args.long {
            out::line(format_args!("Full explanation: {}", again::with("--long")))?;
        }
    }
    let differs = differences(&scenario, explanation.outcome());
    for difference in &differs {
        out::log(format_args!("diverged: {difference}"));
    }
    Ok(if differs.is_empty() { Exit::Clean } else { Exit::Diverged })
}
