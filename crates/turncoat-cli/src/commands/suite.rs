//! `turncoat suite`: the known bugs, and whether what is said about them holds.

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clap::Subcommand;
use serde_json::json;
use turncoat_lab::suite;

use crate::cases::{Case, Cases, Verdict};
use crate::clock::Stopwatch;
use crate::commands::{detect, hunt};
use crate::exit::Exit;
use crate::numbers::counted;
use crate::out::Tone;
use crate::output::Output;
use crate::rows::Rows;
use crate::{again, out, registry};

const NOTES: &str = "\
Each known bug is a scenario that shows it, the witness, with a table [bug] that describes it. It is as described if the \
witness violates the bug's property and follows its script, and the controls (protocols without the bug) violate nothing. \
Exits with 0 if all bugs are as described, and 1 if one is not.

Example: turncoat suite verify pbft-java/figure-2";

/// Verify the known bugs, and measure how strategies find them
#[derive(clap::Args)]
#[command(after_help = "Example: turncoat suite verify", arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Verify(Verify),
    Run(detect::Args),
    Hunt(hunt::Args),
}

/// Run the witness of each known bug, and its controls
#[derive(clap::Args)]
#[command(after_help = NOTES)]
struct Verify {
    /// Ids from `turncoat list bugs`, or the first part, as in pbft-java, for all that begin with it [default: all]
    #[arg(value_name = "ID")]
    ids: Vec<String>,

    /// Read the bugs from a folder of files PROTOCOL/NAME.toml
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    #[command(flatten)]
    output: Output,
}

pub(crate) fn suite(args: &Args) -> Result<Exit> {
    match &args.command {
        Command::Verify(args) => verify(args),
        Command::Run(args) => detect::detect(args),
        Command::Hunt(args) => hunt::hunt(args),
    }
}

fn verify(args: &Verify) -> Result<Exit> {
    args.output.check()?;
    let clock = Stopwatch::start();
    let own = args.dir.as_deref().map(Rows::of).transpose()?;
    let rows = own.as_ref().unwrap_or_else(|| Rows::embedded());
    let mut judged = Vec::new();
    for bug in rows.bugs(&args.ids)? {
        let wrong = suite::verify(&bug, &registry::find)
            .map_err(|error| anyhow!("{}: {error}", rows.file(&bug.id)))?;
        judged.push((bug.id, wrong.iter().map(ToString::to_string).collect::<Vec<_>>()));
    }
    let width = judged.iter().map(|(id, _)| id.len()).max().unwrap_or(0);
    for (id, wrong) in &judged {
        if args.output.json() {
            out::json("row", json!({ "id": id, "ok": wrong.is_empty(), "wrong": wrong }))?;
        } else {
            let verdict = if wrong.is_empty() { "ok".to_owned() } else { wrong.join("; ") };
            out::hung(format_args!("{id:width$}  "), verdict)?;
        }
    }
    let ok = judged.iter().filter(|(_, wrong)| wrong.is_empty()).count();
    let rows = judged.len();
    if args.output.json() {
        out::json("suite", json!({ "rows": rows, "ok": ok }))?;
    } else {
        out::toned(
            if ok == rows { Tone::Good } else { Tone::Bad },
            format_args!("{ok} of {} verified", counted(rows as u64, "known bug")),
            "",
        )?;
    }
    let cases = Cases {
        suite: "suite".to_owned(),
        cases: judged.iter().map(case).collect(),
        clean: format!("{ok} of {} verified", counted(rows as u64, "known bug")),
        seconds: clock.seconds(),
    };
    args.output.report(&cases)?;
    Ok(if rows == 0 { Exit::NothingRan } else { cases.exit() })
}

/// A row as a case, of the protocol that it is named after.
fn case((id, wrong): &(String, Vec<String>)) -> Case {
    let (class, name) = id.split_once('/').unwrap_or(("", id));
    let verdict = match wrong[..] {
        [] => Verdict::Passed,
        _ => Verdict::Failed(format!("{}\n{} suite verify {id}", wrong.join("; "), again::program())),
    };
    Case { class: class.to_owned(), name: name.to_owned(), verdict }
}
