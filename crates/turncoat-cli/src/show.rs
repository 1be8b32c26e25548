//! One run, for people and for programs.

use std::fmt::Display;

use anyhow::Result;
use serde::Serialize;
use turncoat_core::assume::Breach;
use turncoat_core::outcome::{End, Injected, Outcome, Property, Violation};
use turncoat_core::record::Recording;
use turncoat_core::runner::Entry;
use turncoat_core::scenario::{Scenario, Seed};

use crate::numbers::counted;
use crate::out::{self, Tone};

/// An outcome with the names that belong to it, as JSON has it.
#[derive(Serialize)]
pub(crate) struct Shown<'a> {
    protocol: &'a str,
    seed: Seed,
    violations: &'a [Violation],
    end: End,
    steps: u64,
    deliveries: u64,
    time: u64,
    completed: u32,
    commits: u32,
    calm: bool,
    over_budget: bool,
    breaches: &'a [Breach],
    injected: Injected,
    marks: Vec<&'static str>,
    fingerprint: Seed,
    /// Whether replicas propose values of their own, and what they call a slot: for people.
    #[serde(skip)]
    stream: bool,
    #[serde(skip)]
    slot: &'static str,
}

impl<'a> Shown<'a> {
    pub(crate) fn new(entry: &Entry, scenario: &'a Scenario, outcome: &'a Outcome) -> Self {
        let marks = entry.marks.iter().enumerate().filter(|(bit, _)| outcome.marks >> bit & 1 == 1);
        Self {
            protocol: &scenario.protocol.name,
            seed: scenario.seed,
            violations: &outcome.violations,
            end: outcome.end,
            steps: outcome.steps,
            deliveries: outcome.deliveries,
            time: outcome.time.0,
            completed: outcome.completed,
            commits: outcome.commits,
            calm: outcome.calm,
            over_budget: outcome.over_budget,
            breaches: &outcome.breaches,
            injected: outcome.injected,
            marks: marks.map(|(_, &name)| name).collect(),
            fingerprint: Seed(outcome.fingerprint),
            stream: entry.stream,
            slot: entry.slot,
        }
    }

    /// Prints it for people: what is violated first, then what ran.
    pub(crate) fn print(&self, scenario: &Scenario, Detail { verbose }: Detail) -> Result<()> {
        for violation in self.violations {
            let tone = if violation.inside() { Tone::Bad } else { Tone::Warning };
            let rest = format!(" at step {}: {}", violation.step, words(violation));
            out::toned(tone, violation.headline(), rest)?;
        }
        if self.violations.is_empty() {
            out::toned(Tone::Good, "no violation", "")?;
        }
        let (cluster, requests) = (&scenario.cluster, u64::from(scenario.workload.requests));
        let work = match self.stream {
            true => format!("{} to decide", counted(requests, self.slot)),
            false => {
                format!("{}, {}", counted(cluster.clients as u64, "client"), counted(requests, "request"))
            }
        };
        out::line(format_args!("{}, n = {}, f = {}, {work}", self.protocol, cluster.n, cluster.f))?;
        let completed = format!("{} completed, ", counted(self.completed.into(), "request"));
        let (completed, commits) =
            (if self.stream { "" } else { &completed }, counted(self.commits.into(), "decision"));
        row("progress", format_args!("{completed}{commits}; {}", ended(self.end)))?;
        for breach in self.breaches {
            row("outside", format_args!("{}: {breach}", breach.assumption))?;
        }
        if !verbose {
            return Ok(());
        }
        let Injected { faults, dropped, held, mutated, accepted, .. } = self.injected;
        let (steps, deliveries) = (counted(self.steps, "step"), self.deliveries);
        row(
            "events",
            format_args!("{steps}, {deliveries} of them deliveries; {}", counted(self.time, "tick")),
        )?;
        row(
            "adversary",
            format_args!(
                "{}; {} dropped, {held} held back, {mutated} altered ({accepted} accepted)",
                counted(faults.into(), "fault"),
                counted(dropped.into(), "message")
            ),
        )?;
        if !self.marks.is_empty() {
            row("marks", self.marks.join(", "))?;
        }
        row("seed", self.seed)?;
        row("fingerprint", self.fingerprint)
    }
}

/// What happened. An invariant says its name first, and so does the headline.
pub(crate) fn words(violation: &Violation) -> String {
    let words = violation.words();
    let named = (violation.property == Property::Custom).then(|| format!("{}: ", violation.rule));
    named.and_then(|name| words.strip_prefix(&name).map(str::to_owned)).unwrap_or(words)
}

/// How much to print for people.
#[derive(clap::Args, Clone, Copy)]
pub(crate) struct Detail {
    /// Print all figures
    #[arg(short, long, help_heading = "Output")]
    pub(crate) verbose: bool,
}

/// A label and what belongs to it, in columns.
pub(crate) fn row(label: &str, text: impl Display) -> Result<()> {
    Ok(out::hung(format_args!("  {label:<12} "), text)?)
}

fn ended(end: End) -> String {
    match end {
        End::Goal => "the goal was reached".to_owned(),
        End::Quiet => "nothing was left to happen".to_owned(),
        End::Limit(name) => format!("the limit on {name} was reached"),
        End::Stopped => "the run was stopped".to_owned(),
    }
}

/// Prints every recorded event as a line.
pub(crate) fn trace(recording: &Recording, json: bool) -> Result<()> {
    #[derive(Serialize)]
    struct Line {
        step: u64,
        time: u64,
        line: String,
    }
    for event in &recording.events {
        if json {
            out::json("event", Line { step: event.step, time: event.time.0, line: event.to_string() })?;
        } else {
            out::line(event)?;
        }
    }
    Ok(())
}
