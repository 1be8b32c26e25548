//! `turncoat check`: what an author wants to know before fuzzing.

use std::sync::atomic::AtomicBool;

use anyhow::Result;
use serde_json::json;
use turncoat_core::scenario::Seed;
use turncoat_lab::campaign::{Campaign, Until};
use turncoat_lab::preflight::{self, Answer};

use crate::campaign::Keys;
use crate::cases::{Case, Cases, Verdict};
use crate::clock::Stopwatch;
use crate::config::{Config, Given, Source};
use crate::exit::Exit;
use crate::numbers;
use crate::out::{self, Tone};
use crate::output::Output;
use crate::setup::{Engine, Setup, Start};

const NOTES: &str = "\
Checks what fuzzing relies on, in runs with random losses and lies (--strategy) and a dozen requests (--requests):
  determinism  the same scenario gives the same run, whatever ran before it
  messages     messages survive being written and read back
  states       nodes can be shown, hashed and copied
  mutations    a liar can alter every field of every message
  progress     without faults every request completes, under every scheduler
  nonsense     no correct node crashes on random or damaged messages
  flags        each bug flag makes a difference (never a failure)
The exit code is 1 if a check fails, and 3 if the first one does, since the others mean little then.

Example: turncoat check pbft";

/// More requests than usual: checkpoints and the like come after some.
const REQUESTS: &str = "workload.requests";

/// Check that a protocol is fit for fuzzing
#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub(crate) struct Args {
    /// A name from `turncoat list protocols`
    #[arg(value_name = "PROTO")]
    protocol: Option<String>,

    #[command(flatten)]
    setup: Setup,

    /// How faults are generated: a name from `turncoat list strategies` [default: random]
    #[arg(long, value_name = "NAME")]
    strategy: Option<String>,

    /// The random seed, decimal or 0x... [default: 0x5eed]
    #[arg(long, value_name = "SEED")]
    seed: Option<Seed>,

    /// Runs for each check: 1000, 10k
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = numbers::at_least_one)]
    runs: u64,

    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    source: Source,
}

pub(crate) fn check(args: &Args) -> Result<Exit> {
    args.output.check()?;
    let engine = Engine { seed: args.seed, ..Engine::default() };
    let given = Given {
        protocol: args.protocol.as_deref(),
        strategy: args.strategy.as_deref(),
        campaign: &Keys { engine, ..Keys::default() },
        bug: None,
    };
    let config = Config::load(&args.source, &given)?;
    let strategy = config.text("strategy.name").unwrap_or("random");
    let mut prepared = args.setup.prepare(Start::config(&config)?, Some(strategy))?;
    let asked = args.setup.origins().iter().any(|(path, _)| path == REQUESTS) || config.has(REQUESTS);
    if !asked {
        prepared.base = prepared.base.with(REQUESTS, 12.into())?;
    }
    if args.source.print_config {
        config.print(&given, &args.setup, &prepared)?;
        return Ok(Exit::Clean);
    }
    let clock = Stopwatch::start();
    let campaign = Campaign {
        entry: prepared.entry,
        base: &prepared.base,
        make: &|base| prepared.make(base),
        seed: config.campaign()?.engine.seed(),
        runs: Some(args.runs),
        jobs: 1,
        until: Until::Never,
        stop: &AtomicBool::new(false),
        suspects: None,
    };
    let answers = preflight::answers(&campaign)?;
    answers.iter().try_for_each(|answer| show(answer, args.output.json()))?;
    let failed = answers.iter().filter(|answer| !answer.wrong.is_empty()).count();
    let name = prepared.entry.name;
    let clean = format!("{name}: {} checks, {failed} failed", answers.len());
    if args.output.json() {
        out::json("check", json!({ "protocol": name, "checks": answers.len(), "failed": failed }))?;
    } else {
        out::toned(if failed == 0 { Tone::Good } else { Tone::Bad }, &clean, "")?;
    }
    let case = |answer: &Answer| Case {
        class: name.to_owned(),
        name: answer.name.to_owned(),
        verdict: verdict(answer),
    };
    let cases = answers.iter().map(case).collect();
    let cases = Cases { suite: name.to_owned(), cases, clean, seconds: clock.seconds() };
    args.output.report(&cases)?;
    Ok(cases.exit())
}

/// Without determinism nothing else counts.
fn verdict(answer: &Answer) -> Verdict {
    let wrong = answer.wrong.join("\n");
    match answer.name {
        _ if answer.wrong.is_empty() => Verdict::Passed,
        "determinism" => Verdict::Broken(wrong),
        _ => Verdict::Failed(wrong),
    }
}

/// Prints an answer: what was done, what is wrong with what to do about it, what else there is to know.
fn show(answer: &Answer, json: bool) -> Result<()> {
    let Answer { name, done, wrong, advice, notes } = answer;
    let ok = wrong.is_empty();
    if json {
        let advice = Some(*advice).filter(|_| !ok);
        let body =
            json!({ "name": name, "ok": ok, "done": done, "wrong": wrong, "advice": advice, "notes": notes });
        return Ok(out::json("answer", body)?);
    }
    out::hung(format_args!("{name:<12} {:<7} ", if ok { "ok" } else { "FAILED" }), done)?;
    let advice = Some(*advice).filter(|_| !ok).map(|advice| format!("to do: {advice}"));
    let lines = wrong.iter().cloned().chain(advice).chain(notes.iter().map(|note| format!("note: {note}")));
    Ok(lines.into_iter().try_for_each(|line| out::hung(format_args!("{:21}", ""), line))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_protocol_that_does_not_repeat_itself_is_worse_than_one_that_fails() {
        let answer = |name, wrong: &[&str]| Answer {
            name,
            done: String::new(),
            wrong: wrong.iter().map(|&wrong| wrong.to_owned()).collect(),
            advice: "",
            notes: Vec::new(),
        };
        let exit = |answers: &[Answer]| {
            let case = |answer| Case { class: String::new(), name: String::new(), verdict: verdict(answer) };
            let cases = answers.iter().map(case).collect();
            Cases { suite: String::new(), cases, clean: String::new(), seconds: 0.0 }.exit()
        };
        let (repeats, stalls) = (answer("determinism", &[]), answer("progress", &["it stalls"]));
        assert_eq!(exit(&[repeats.clone(), answer("progress", &[])]), Exit::Clean);
        assert_eq!(exit(&[repeats, stalls.clone()]), Exit::Violation);
        assert_eq!(exit(&[answer("determinism", &["it differs"]), stalls]), Exit::Diverged);
    }
}
