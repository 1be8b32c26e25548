//! One run, for people and for programs.

use std::fmt::Display;

use anyhow::Result;
use serde::Serialize;
use turncoat_core::assume::Breach;
use turncoat_core::outcome::{End, Injected, Outcome, Violation};
use turncoat_core::record::Recording;
use turncoat_core::runner::Entry;
use turncoat_core::scenario::{Scenario, Seed};

use crate::out;

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
        }
    }

    /// Prints it for people.
    pub(crate) fn print(&self, scenario: &Scenario) -> Result<()> {
        let cluster = &scenario.cluster;
        let Injected { faults, dropped, held, mutated, accepted, .. } = self.injected;
        out::line(format_args!(
            "{}, n = {}, f = {}, clients = {}, requests = {}, seed of the run {}",
            self.protocol, cluster.n, cluster.f, cluster.clients, scenario.workload.requests, self.seed
        ))?;
        row("end", ended(self.end))?;
        row(
            "events",
            format_args!("{} steps, {} deliveries, {} ticks", self.steps, self.deliveries, self.time),
        )?;
        row("progress", format_args!("{} requests completed, {} decisions", self.completed, self.commits))?;
        row(
            "adversary",
            format_args!(
                "{faults} faults matched, {dropped} lost, {held} held, {mutated} changed, {accepted} accepted"
            ),
        )?;
        for breach in self.breaches {
            row("outside", format_args!("{}: {breach}", breach.assumption))?;
        }
        if !self.marks.is_empty() {
            row("marks", self.marks.join(", "))?;
        }
        row("fingerprint", self.fingerprint)?;
        for violation in self.violations {
            out::line(violation)?;
        }
        if self.violations.is_empty() {
            out::line("no violation")?;
        }
        Ok(())
    }
}

/// A label and what belongs to it, in columns.
pub(crate) fn row(label: &str, text: impl Display) -> Result<()> {
    Ok(out::line(format_args!("  {label:<12} {text}"))?)
}

fn ended(end: End) -> String {
    match end {
        End::Goal => "goal reached".to_owned(),
        End::Quiet => "nothing was left to happen".to_owned(),
        End::Limit(name) => format!("limit on {name} reached"),
        End::Stopped => "stopped".to_owned(),
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
