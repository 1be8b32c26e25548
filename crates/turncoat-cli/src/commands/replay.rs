//! `turncoat replay`: a saved scenario, once more.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Serialize;
use turncoat_core::outcome::{End, Outcome, Property};
use turncoat_core::scenario::Expect;
use turncoat_lab::corpus::differences;
use turncoat_lab::lasso::{self, Proof};

use super::lasso::told;
use crate::cases::{Case, Cases, Verdict};
use crate::clock::Stopwatch;
use crate::exit::Exit;
use crate::expect::{self, Wanted};
use crate::named::{Named, Subject};
use crate::output::Output;
use crate::show::{self, Detail, Shown};
use crate::{again, clock, out, registry};

const NOTES: &str = "\
Exits with 1 if a property is violated, 0 if none is, and 3 if the run differs from the one that was saved. With --expect, \
0 and 1 are swapped. The code is 124 if --timeout stopped the run.

Example: turncoat replay turncoat-corpus/pbft-agreement-7b1c03aa.toml --trace
         turncoat replay pbft-java/figure-2 --trace";

/// Run a saved scenario or a known bug again
#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub(crate) struct Args {
    #[command(flatten)]
    subject: Subject,

    /// Print every event
    #[arg(long)]
    trace: bool,

    /// Stop the run after this time: 500ms, 10s, 5min
    #[arg(long, value_name = "DURATION", value_parser = clock::duration)]
    timeout: Option<Duration>,

    /// Succeed if there is a violation and fail if there is none: violation, or violation=PROPERTY
    #[arg(long, value_name = "WHAT", value_parser = expect::parse)]
    expect: Option<Wanted>,

    #[command(flatten)]
    detail: Detail,

    #[command(flatten)]
    output: Output,
}

#[derive(Serialize)]
struct Replayed<'a> {
    #[serde(flatten)]
    shown: &'a Shown<'a>,
    expect: &'a Option<Expect>,
    /// What `expect.lasso` proves.
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<&'a Proof>,
    differs: &'a [String],
}

pub(crate) fn replay(args: &Args) -> Result<Exit> {
    let Named { scenario, file, words, .. } = args.subject.read()?;
    args.output.check()?;
    let stopwatch = Stopwatch::start();
    let in_file = || file.clone();
    let entry = registry::protocol(&scenario.protocol.name).with_context(in_file)?;
    let mut runner = entry.runner();
    let mut over = clock::over(args.timeout);
    let outcome = if args.trace {
        let (outcome, recording) = runner.record_until(&scenario, &mut |_| over()).with_context(in_file)?;
        show::trace(&recording, args.output.json())?;
        outcome
    } else {
        runner.watch(&scenario, &mut |_| over()).with_context(in_file)?
    };
    if outcome.end == End::Stopped {
        let why = format!("out of time: the run was stopped at step {} (--timeout)", outcome.steps);
        out::log(format_args!("{file}: {why}"));
        let verdict = Verdict::Broken(why);
        args.output.report(&Cases {
            suite: scenario.protocol.name.clone(),
            cases: vec![Case { class: "replay".to_owned(), name: file, verdict }],
            clean: String::new(),
            seconds: stopwatch.seconds(),
        })?;
        return Ok(Exit::TimedOut);
    }
    if let Some(name) = scenario.expect.as_ref().and_then(|expect| expect.property.as_ref()) {
        registry::property(name).context("expect.property").with_context(in_file)?;
    }
    let mut differs = differences(&scenario, &outcome);
    let lasso = scenario.expect.as_ref().and_then(|expect| expect.lasso);
    let proof = match &lasso {
        Some(lasso) => Some(lasso::check(entry, &scenario, lasso).with_context(in_file)?),
        None => None,
    };
    if let Some(Err(flaw)) = &proof {
        differs.push(format!("expect.lasso: {flaw}"));
    }
    let shown = Shown::new(entry, &scenario, &outcome);
    if args.output.json() {
        let (expect, proof) = (&scenario.expect, proof.as_ref().and_then(|proof| proof.as_ref().ok()));
        out::json("replay", Replayed { shown: &shown, expect, proof, differs: &differs })?;
    } else {
        shown.print(&scenario, args.detail)?;
        if scenario.expect.is_some() && differs.is_empty() {
            show::row("recorded", "the same run as when the file was saved")?;
        }
        if let (Some(lasso), Some(Ok(proof))) = (&lasso, &proof) {
            out::line(told(lasso, proof))?;
        }
    }
    for difference in &differs {
        out::log(format_args!("diverged: {difference}"));
    }
    let found = found(&outcome, &words);
    if let Some(unmet) = args.expect.and_then(|expect| expect::unmet(expect, &found)) {
        out::log(unmet);
    }
    let mut cases = Cases {
        suite: scenario.protocol.name.clone(),
        cases: expect::cases(args.expect, "replay", &found),
        clean: format!("{file}: as it was saved"),
        seconds: stopwatch.seconds(),
    };
    if !differs.is_empty() {
        let verdict = Verdict::Broken(differs.join("\n"));
        cases.cases.push(Case { class: "replay".to_owned(), name: file, verdict });
    }
    args.output.report(&cases)?;
    Ok(cases.exit())
}

/// The first violation of each property, with the command that shows it again.
fn found(outcome: &Outcome, words: &str) -> BTreeMap<Property, String> {
    let replay = format!("{} replay {words}", again::program());
    let words = |property| Some((property, format!("{}\n{replay}", outcome.violation(property)?)));
    Property::ALL.into_iter().filter_map(words).collect()
}
