//! What came out of a campaign, for people and for programs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use serde::Serialize;
use serde_json::{Map, Value, json};
use turncoat_core::outcome::Property;
use turncoat_core::runner::Entry;
use turncoat_core::scenario::Seed;
use turncoat_core::strategy::Space;
use turncoat_lab::certificate::{Certificate, Missing};
use turncoat_lab::corpus::{Filed, How};
use turncoat_lab::covered::Told;
use turncoat_lab::stats::Rate;
use turncoat_lab::summary::{Ends, Finding, Summary};
use turncoat_lab::words::and;

use crate::cases::{Case, Cases, Verdict};
use crate::commands::shrink::Report;
use crate::expect::{self, Wanted};
use crate::numbers::{counted, many};
use crate::out::{self, Tone};
use crate::progress::rate;
use crate::show::{Detail, row, words};
use crate::{again, certificate};

/// A campaign that is over.
pub(crate) struct Tally<'a> {
    pub(crate) entry: &'a Entry,
    pub(crate) strategy: &'static str,
    pub(crate) scheduler: String,
    pub(crate) seed: Seed,
    pub(crate) jobs: usize,
    pub(crate) seconds: f64,
    pub(crate) interrupted: bool,
    pub(crate) summary: Summary,
    /// Whether runs depend on those before them, and so are no sample.
    pub(crate) learns: bool,
    /// The scenarios that there are, where they are counted.
    pub(crate) space: Option<Space>,
    /// Of a strategy that runs everything it has: what it has excluded, or why it can say nothing.
    pub(crate) certificate: Option<Result<Certificate, Missing>>,
    /// When the first violation of each property was known, in seconds from the start.
    pub(crate) found_at: BTreeMap<Property, f64>,
    /// What is known of such a protocol.
    pub(crate) known: Known,
    /// Whether safety alone is judged.
    pub(crate) safety_only: bool,
    /// Where it was saved.
    pub(crate) files: BTreeMap<Property, Filed>,
    /// What shrinking it came to.
    pub(crate) shrunk: BTreeMap<Property, Report>,
    /// The runs among them that were another run when they were run again.
    pub(crate) unrepeatable: Vec<u64>,
}

/// The known bugs of a protocol.
pub(crate) struct Known {
    pub(crate) bugs: Vec<Arc<str>>,
    /// Of the first violations, the one that each shows.
    pub(crate) shown: BTreeMap<Property, Arc<str>>,
    /// Of those that show none, a smallest set of bug flags that each needs.
    pub(crate) needed: BTreeMap<Property, Arc<str>>,
}

/// A violation as JSON has it.
#[derive(Serialize)]
struct First<'a> {
    index: u64,
    step: u64,
    rule: &'static str,
    detail: &'a str,
    file: Option<&'a Path>,
    shrunk: Option<&'a Report>,
    seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<u64>,
}

impl Tally<'_> {
    fn first<'a>(&'a self, property: Property, finding: &'a Finding) -> First<'a> {
        First {
            index: finding.index,
            step: finding.violation.step,
            rule: finding.violation.rule,
            detail: &finding.violation.detail,
            file: self.files.get(&property).map(|filed| &*filed.path),
            shrunk: self.shrunk.get(&property),
            seconds: self.found_at.get(&property).copied(),
            parent: finding.parent,
        }
    }

    /// What to say about the first violation of each property: what it is, and how to see it again.
    pub(crate) fn found(&self) -> BTreeMap<Property, String> {
        let words = |(&property, finding): (&Property, &Finding)| {
            let replay = self.commands(property).pop().map(|command| format!("\n{command}"));
            (property, format!("{}{}", violated(finding), replay.unwrap_or_default()))
        };
        self.summary.first.iter().map(words).collect()
    }

    /// The same of the first violations outside of what the protocol assumes.
    fn found_outside(&self) -> BTreeMap<Property, String> {
        self.summary.first_outside.iter().map(|(&property, finding)| (property, violated(finding))).collect()
    }

    /// What was found, as far as it counts: whoever expects a violation is content with one outside of the assumptions.
    pub(crate) fn counted(&self, expect: Option<Wanted>) -> BTreeMap<Property, String> {
        let mut found = if expect.is_some() { self.found_outside() } else { BTreeMap::new() };
        found.extend(self.found());
        found
    }

    /// What was not tested, if that is most of it.
    pub(crate) fn untested(&self) -> Option<String> {
        let Summary { runs, undecided, cut_short, disturbed, ends, .. } = &self.summary;
        let limits = ends.limits.keys().copied().collect::<Vec<_>>().join(", ");
        let (of, cut, kind) = match self.safety_only {
            true => (*runs, cut_short.runs, ""),
            false => (runs - disturbed, cut_short.undisturbed, "fault-free "),
        };
        if *runs > 0 && undecided == runs {
            Some(format!("NOTHING TESTED: no correct replica decided anything in {}", counted(*runs, "run")))
        } else if cut * 20 > of {
            Some(format!(
                "LITTLE TESTED: {cut} of {} ended at a limit ({limits}) before any replica decided: raise it with \
                 `--set limits.NAME=...`",
                counted(of, &format!("{kind}run"))
            ))
        } else {
            None
        }
    }

    /// The commands that show the first violation of a property, the most helpful first; the last one runs it again.
    pub(crate) fn commands(&self, property: Property) -> Vec<String> {
        let Some(Filed { path, .. }) = self.files.get(&property) else { return Vec::new() };
        let command = |name| format!("{} {name} {}", again::program(), path.display());
        ["explain", "explore", "replay"].map(command).into()
    }

    /// All that was asked, for machines.
    pub(crate) fn cases(&self, expect: Option<Wanted>) -> Cases {
        let found = self.counted(expect);
        let broken = |name: String, why: String| Case {
            class: self.strategy.to_owned(),
            name,
            verdict: Verdict::Broken(why),
        };
        let unrepeatable = self.unrepeatable.iter().map(|run| {
            let why = format!("{} depends on more than its scenario", self.entry.name);
            broken(format!("run {run}"), format!("run {run} was different when it was run again: {why}"))
        });
        let nothing =
            (self.summary.runs == 0).then(|| broken("campaign".to_owned(), "nothing ran".to_owned()));
        let runs = self.summary.runs;
        let clean = match found.is_empty() {
            true => format!("no violation in {}", counted(runs, "run")),
            false => found.values().cloned().collect::<Vec<_>>().join("\n"),
        };
        let cases = expect::cases(expect, self.strategy, &found)
            .into_iter()
            .chain(unrepeatable)
            .chain(nothing)
            .collect();
        Cases { suite: self.entry.name.to_owned(), cases, clean, seconds: self.seconds }
    }

    /// JSON lines: each first violation, then the summary.
    pub(crate) fn json(&self) -> Result<()> {
        let Summary { runs, violations, first, deliveries, steps, injected, ends, marks, .. } = &self.summary;
        let mut firsts = Map::new();
        for (&property, finding) in first {
            let first = serde_json::to_value(self.first(property, finding))?;
            firsts.insert(property.name().to_owned(), first.clone());
            let mut line = Map::from_iter([("property".to_owned(), property.name().into())]);
            line.extend(first.as_object().cloned().unwrap_or_default());
            out::json("violation", line)?;
        }
        let earliest = self.found_at.values().copied().min_by(f64::total_cmp);
        firsts.insert("seconds".to_owned(), earliest.into());
        let count = |property: Property| violations.get(&property).copied().unwrap_or(0);
        let violations: Map<String, Value> = Property::ALL
            .into_iter()
            .map(|property| (property.name().to_owned(), count(property).into()))
            .collect();
        let marks: Map<String, Value> =
            marks.named(self.entry.marks).map(|(name, runs)| (name.to_owned(), runs.into())).collect();
        let body = json!({
            "protocol": self.entry.name,
            "strategy": self.strategy,
            "scheduler": self.scheduler,
            "seed": self.seed,
            "jobs": self.jobs,
            "seconds": self.seconds,
            "interrupted": self.interrupted,
            "runs": runs,
            "space": self.space.map(|space| json!({
                // A number of JSON is not always exact.
                "scenarios": space.scenarios.map(|scenarios| scenarios.to_string()),
                "in_order": space.in_order,
            })),
            "certificate": self.certificate.as_ref().and_then(|made| made.as_ref().ok()),
            "no_certificate": self.certificate.as_ref().and_then(|made| made.as_ref().err()).map(ToString::to_string),
            "violating": self.summary.violating,
            "violations": violations,
            "outside": self.outside(),
            "first": firsts,
            "first_outside": self.found_outside().into_iter()
                .map(|(property, words)| (property.name().to_owned(), Value::from(words)))
                .collect::<Map<_, _>>(),
            "untested": self.untested(),
            "known_bugs": self.known.bugs,
            "shown_bugs": self.known.shown,
            "needed_flags": self.known.needed,
            "undecided": self.summary.undecided,
            "steps": steps,
            "deliveries": deliveries,
            "commits": self.summary.commits,
            "completed": self.summary.completed,
            "calm": self.summary.calm,
            "over_budget": self.summary.over_budget,
            "faults": injected.faults,
            "dropped": injected.dropped,
            "held": injected.held,
            "mutations": injected.mutated,
            "accepted": injected.accepted,
            "refused": injected.refused,
            "garbage": injected.garbage,
            "ends": {
                "goal": ends.goal,
                "quiet": ends.quiet,
                "stopped": ends.stopped,
                "limits": ends.limits,
            },
            "marks": marks,
            "covered": self.tried(),
            "fingerprint": Seed(self.summary.fingerprint),
        });
        Ok(out::json("summary", body)?)
    }

    /// What was tried.
    fn tried(&self) -> Value {
        let covered = &self.summary.covered;
        let Told { told, never, .. } = covered.told(&(self.entry.mutations)());
        json!({
            "runs": covered.runs,
            "faults": covered.faults,
            "lies": told,
            "never_told": never,
        })
    }

    /// How often each property was violated outside of each assumption.
    fn outside(&self) -> Map<String, Value> {
        let mut outside = Map::new();
        for (&(property, assumption), &count) in &self.summary.outside {
            let by = outside.entry(property.name()).or_insert_with(|| json!({}));
            by[assumption.name()] = count.into();
        }
        outside
    }

    /// Prints the summary for people: the verdict first, then what ran.
    pub(crate) fn print(&self, Detail { verbose }: Detail) -> Result<()> {
        if let Some(untested) = self.untested() {
            let (head, rest) = untested.split_once(':').unwrap_or((&untested, ""));
            out::toned(Tone::Warning, head, format_args!(":{rest}"))?;
        }
        let Summary { runs, violations, first, deliveries, ends, marks, .. } = &self.summary;
        if self.interrupted {
            out::toned(Tone::Warning, "interrupted", format_args!(" after {}", many(*runs, "run")))?;
        }
        if *runs > 0 {
            self.print_verdict()?;
        }
        let speed = match verbose {
            true => format!(
                ", {}, {}",
                rate(*deliveries as f64 / self.seconds, "deliveries"),
                counted(self.jobs as u64, "thread")
            ),
            false => String::new(),
        };
        out::line(format_args!(
            "{}, {}, {}: {} in {:.2} s ({}{speed}), seed {}",
            self.entry.name,
            self.strategy,
            self.scheduler,
            many(*runs, "run"),
            self.seconds,
            rate(*runs as f64 / self.seconds, "runs"),
            self.seed,
        ))?;
        if *runs == 0 {
            return Ok(());
        }
        if let Some(space) = self.space {
            row("scenarios", covered(*runs, space))?;
        }
        let per_run = |count: u64| count as f64 / *runs as f64;
        let share = |count: u64| format!("{:.1} %", 100.0 * per_run(count));
        // What the verdict does not say already.
        if verbose || violations.values().any(|&count| count > 1) {
            let counts =
                violations.iter().map(|(property, &count)| format!("{property} {count} ({})", share(count)));
            row("violations", none_or(&counts.collect::<Vec<_>>()))?;
        }
        for (&(property, assumption), &count) in &self.summary.outside {
            let text = format!("{property} {count} ({}), after breaking `{assumption}`", share(count));
            row("outside", text)?;
        }
        if verbose || first.is_empty() {
            self.print_tried(verbose)?;
        }
        if verbose {
            row("ends", ended(ends))?;
            let marks = marks.named(self.entry.marks).map(|(name, runs)| format!("{name} {}", share(runs)));
            row("marks", none_or(&marks.collect::<Vec<_>>()))?;
            row("fingerprint", Seed(self.summary.fingerprint))?;
        } else if first.is_empty() {
            let (reached, never): (Vec<_>, Vec<_>) =
                marks.named(self.entry.marks).partition(|(_, runs)| *runs > 0);
            let nothing = reached.is_empty();
            let reached = reached.into_iter().map(|(name, runs)| format!("{name} {}", share(runs)));
            let never = never.into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(" or ");
            let never =
                (!never.is_empty()).then(|| format!("{} {never}", if nothing { "no" } else { "never" }));
            let reached: Vec<_> = reached.chain(never).collect();
            if !reached.is_empty() {
                row("reached", reached.join(", "))?;
            }
        }
        if let Some(made) = &self.certificate {
            certificate::print(made)?;
        }
        self.print_known(verbose)
    }

    /// What the adversary did, and whether lies were accepted: how hard a campaign that found nothing has tried.
    fn print_tried(&self, verbose: bool) -> Result<()> {
        let Summary { runs, injected, covered, .. } = &self.summary;
        let [faults, dropped, held, mutated] =
            [injected.faults, injected.dropped, injected.held, injected.mutated]
                .map(|count| count as f64 / *runs as f64);
        let did = [("dropped", dropped), ("held back", held), ("altered", mutated)];
        let did = did.into_iter().filter(|(_, messages)| *messages > 0.0);
        let did: Vec<_> = did.map(|(what, messages)| format!("{messages:.2} {what}")).collect();
        row("faults", format_args!("{faults:.2} per run; messages per run: {}", none_or(&did)))?;
        let now = match covered.runs == *runs {
            true => String::new(),
            false => format!(" in the {} executed now", many(covered.runs, "run")),
        };
        let lies = covered.told(&(self.entry.mutations)());
        if injected.mutated > 0 {
            let accepted = 100.0 * injected.accepted as f64 / injected.mutated as f64;
            let altered = many(injected.mutated, "altered message");
            let told = match covered.runs {
                0 => String::new(),
                _ => format!("; {} of {} lies told{now}", lies.told, lies.told + lies.never.len()),
            };
            row("lies", format_args!("{altered}, {accepted:.1} % accepted{told}"))?;
        }
        if verbose && covered.runs > 0 {
            let share = |runs: u64| 100.0 * runs as f64 / covered.runs as f64;
            let tried = covered.faults.iter().map(|(fault, &runs)| format!("{fault} {:.1} %", share(runs)));
            row("tried", none_or(&tried.collect::<Vec<_>>()) + &now)?;
            if lies.told > 0 && !lies.honest.is_empty() {
                row("never told", lies.honest.join(", "))?;
            }
        }
        Ok(())
    }

    /// The first violation of each property, the worst first, or that there is none.
    fn print_verdict(&self) -> Result<()> {
        let Summary { runs, first, first_outside, outside, .. } = &self.summary;
        let worst = Property::WORST_FIRST.into_iter();
        for (property, finding) in worst.filter_map(|property| Some((property, first.get(&property)?))) {
            out::toned(Tone::Bad, finding.violation.headline(), place(finding))?;
            row("property", property.about())?;
            if self.learns {
                row(
                    "scenario",
                    match finding.parent {
                        Some(run) => format!("made from that of run {run}"),
                        None => "drawn afresh, not made from an earlier one".to_owned(),
                    },
                )?;
            }
            if let Some(bug) = self.known.shown.get(&property) {
                row("known bug", bug)?;
            } else if let Some(flags) = self.known.needed.get(&property) {
                row("bug flags", flags)?;
            }
            if let Some(Filed { path, how }) = self.files.get(&property) {
                let known = if *how == How::Known { " (in the corpus already)" } else { "" };
                row("saved as", format_args!("{}{known}", path.display()))?;
            }
            if let Some(report) = self.shrunk.get(&property) {
                row("shrunk", report)?;
                // The smaller scenario may show the same with other replicas, or elsewhere.
                let (found, shown) = (words(&finding.violation), words(&report.violation));
                if found != shown {
                    row("it shows", shown)?;
                }
            }
        }
        for finding in first_outside.values() {
            let head = format!("outside the assumptions: {}", finding.violation.headline());
            out::toned(Tone::Warning, head, place(finding))?;
        }
        if !first.is_empty() {
            return Ok(());
        }
        let inside = if outside.is_empty() { "" } else { " inside the assumptions" };
        let most = self
            .at_most()
            .map(|most| format!(": at most {most} of runs, at 95 % confidence"))
            .unwrap_or_default();
        Ok(out::toned(Tone::Good, "no violation", format_args!("{inside} in {}{most}", many(*runs, "run")))?)
    }

    /// The highest rate that violations may still have, where runs are drawn at random and none violates anything.
    fn at_most(&self) -> Option<String> {
        let sampled = !self.learns && !self.space.is_some_and(|space| space.in_order);
        if !sampled || self.summary.violating > 0 || self.untested().is_some() {
            return None;
        }
        let most = 100.0 * Rate::new(0, self.summary.runs).interval().high;
        let digits = (-most.log10()).ceil().max(1.0);
        // A bound is not rounded down.
        let unit = 10_f64.powf(digits);
        Some(format!("{:.1$} %", (most * unit).ceil() / unit, digits as usize))
    }

    /// Which bugs are known of such a protocol, and whether they showed: many have a row of their own.
    fn print_known(&self, verbose: bool) -> Result<()> {
        const FEW: usize = 4;
        let Known { bugs, shown, .. } = &self.known;
        if bugs.is_empty() {
            return Ok(());
        }
        let (name, shown) = (self.entry.name, shown.values().collect::<BTreeSet<_>>());
        let Summary { first, first_outside, .. } = &self.summary;
        let showed = match (shown.len(), first.is_empty()) {
            (0, true) if !first_outside.is_empty() => {
                "violations outside the assumptions are not attributed to known bugs".to_owned()
            }
            (0, true) if bugs.len() == 1 => "it was not found".to_owned(),
            (0, true) => "none of them was found".to_owned(),
            (0, false) => "no violation was attributed to a single known bug".to_owned(),
            (1, _) => format!("{} was found", and(shown)),
            (_, _) => format!("{} were found", and(shown)),
        };
        let (count, names) = (counted(bugs.len() as u64, "known bug"), bugs.join(", "));
        if bugs.len() <= FEW {
            return Ok(out::line(format_args!("{name} has {count} ({names}); {showed}"))?);
        }
        if !verbose {
            let program = again::program();
            return Ok(out::line(format_args!(
                "{name} has {count} (`{program} list bugs {name}`); {showed}"
            ))?);
        }
        out::line(format_args!("{name} has {count}; {showed}"))?;
        row("known bugs", names)
    }
}

fn violated(finding: &Finding) -> String {
    format!("{}{}", finding.violation.headline(), place(finding))
}

/// Where a violation was found, and what happened.
fn place(Finding { index, violation, .. }: &Finding) -> String {
    format!(" in run {index} at step {}: {}", violation.step, words(violation))
}

/// Which of all scenarios were run.
fn covered(runs: u64, space: Space) -> String {
    let all = match space.scenarios {
        None => "more than 2^128".to_owned(),
        Some(scenarios @ 0..1_000_000_000_000) => scenarios.to_string(),
        Some(scenarios) => format!("{:.2e}", scenarios as f64),
    };
    match space.in_order {
        true if space.runs() == Some(runs) => format!("all {all}"),
        true => format!("0 to {} of {all}", runs - 1),
        false => format!("{runs} drawn from {all}"),
    }
}

fn none_or(items: &[String]) -> String {
    if items.is_empty() { "none".to_owned() } else { items.join(", ") }
}

fn ended(ends: &Ends) -> String {
    let named = [("goal", ends.goal), ("quiet", ends.quiet), ("stopped", ends.stopped)];
    let named = named.into_iter().map(|(name, runs)| (name.to_owned(), runs));
    let limits = ends.limits.iter().map(|(name, &runs)| (format!("limit on {name}"), runs));
    let reached = named.chain(limits).filter(|&(_, runs)| runs > 0);
    reached.map(|(name, runs)| format!("{name} {runs}")).collect::<Vec<_>>().join(", ")
}
