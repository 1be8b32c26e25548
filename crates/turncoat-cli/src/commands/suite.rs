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
use crate::output::Output;
use crate::rows::Rows;
use crate::{again, out, registry};

const NOTES: &str = "\
A row is a scenario, the witness, with a table [bug] that says what it is. It holds if the witness violates the
property of the row and carries out its script, and the controls, protocols without the bug, violate nothing.
Exits with 0 if all rows hold, and 1 if one does not.

Example: turncoat suite verify pbft-java/figure-2";

/// Look after the suite of known bugs, and search for them
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

/// Run the witness of each bug, on the protocol that has it and on its controls
#[derive(clap::Args)]
#[command(after_help = NOTES)]
struct Verify {
    /// Names from `turncoat list bugs`, or `pbft-java` for all that begin so; all of them where left out
    #[arg(value_name = "ID")]
    ids: Vec<String>,

    /// Take the rows from a folder of files PROTOCOL/NAME.toml
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
    let rows = args.dir.as_deref().map_or_else(|| Ok(Rows::embedded()), Rows::of)?;
    let mut judged = Vec::new();
    for bug in rows.bugs(&args.ids)? {
        let wrong = suite::verify(&bug, &|name| Ok(registry::protocol(name)?))
            .map_err(|error| anyhow!("{}: {error}", rows.file(&bug.id)))?;
        judged.push((bug.id, wrong.iter().map(ToString::to_string).collect::<Vec<_>>()));
    }
    let width = judged.iter().map(|(id, _)| id.len()).max().unwrap_or(0);
    for (id, wrong) in &judged {
        if args.output.json() {
            out::json("row", json!({ "id": id, "ok": wrong.is_empty(), "wrong": wrong }))?;
        } else {
            let verdict = if wrong.is_empty() { "ok".to_owned() } else { wrong.join("; ") };
            out::line(format_args!("{id:width$}  {verdict}"))?;
        }
    }
    let ok = judged.iter().filter(|(_, wrong)| wrong.is_empty()).count();
    let rows = judged.len();
    if args.output.json() {
        out::json("suite", json!({ "rows": rows, "ok": ok }))?;
    } else {
        out::line(format_args!("{ok} of {rows} rows hold"))?;
    }
    let cases = Cases {
        suite: "suite".to_owned(),
        cases: judged.iter().map(case).collect(),
        clean: format!("{ok} of {rows} rows hold"),
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
