//! `turncoat beside`: two implementations of one protocol on the same scenarios.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::json;
use turncoat_core::ids::Time;
use turncoat_core::runner::Entry;
use turncoat_core::scenario::{Scenario, Seed};
use turncoat_lab::beside::{Comparison, Parting, Verdict, compare, scenario_for};
use turncoat_lab::campaign::draw_script;
use turncoat_lab::files;

use crate::exit::Exit;
use crate::numbers::{self, counted};
use crate::setup::{Prepared, Setup, Start};
use crate::stop::Stop;
use crate::{again, out, registry};

const NOTES: &str = "\
Each scenario runs twice, with the same cluster, workload, network, faults and seed: once with PROTO and once with OTHER, \
which gets the keys of PROTO's configuration that it has too. turncoat compares what correct replicas decide. Messages take \
10 ticks each unless you set network.latency: with random latencies, one extra message would change all that follow.

Where decisions differ, look at where the two runs diverge: the first message of a shared kind that a correct replica sends \
in only one of them. --save keeps the first run of each kind of difference, for both protocols.

A strategy picks lies by number, so the same number means different lies if messages have different fields: name the fields \
that both have (`only`).

Exits with 1 if decisions or violations differ in some run.

Example: turncoat beside malachite tendermint --set only=prevote.id,omit";

/// Compare what two implementations of one protocol decide
#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub(crate) struct Args {
    /// A name from `turncoat list protocols`
    #[arg(value_name = "PROTO")]
    protocol: String,

    /// Another protocol, with message kinds of the same names
    #[arg(value_name = "OTHER")]
    other: String,

    #[command(flatten)]
    setup: Setup,

    /// How scenarios are generated: a name from `turncoat list strategies`
    #[arg(long, value_name = "NAME", default_value = "byzzfuzz")]
    strategy: String,

    /// The random seed, decimal or 0x...
    #[arg(long, value_name = "SEED", default_value = "0x5eed")]
    seed: Seed,

    /// How many runs: 1000, 10k, 1e6
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = numbers::at_least_one)]
    runs: u64,

    /// Save the first run of each kind of difference in this folder
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What came out of all runs.
#[derive(Default)]
struct Counts {
    runs: u64,
    verdicts: BTreeMap<Verdict, u64>,
    first: BTreeMap<Verdict, u64>,
    /// Of the runs that differ, by what they part with: whether the first of the two says it, and the kind.
    partings: BTreeMap<(bool, &'static str), u64>,
    /// The first run that parts so, and where.
    examples: BTreeMap<(bool, &'static str), (u64, Parting)>,
    /// Runs in which all is decided alike, and somebody says something in one of them alone.
    aside: u64,
}

pub(crate) fn beside(args: &Args) -> Result<Exit> {
    let mut start = Start::protocol(&args.protocol)?;
    start.latency(Time(10));
    let prepared = args.setup.prepare(start, Some(&args.strategy))?;
    let other = registry::protocol(&args.other)?;
    let entries = [prepared.entry, other];
    if !other.kinds.iter().any(|kind| prepared.entry.kinds.contains(kind)) {
        let [first, second] = entries.map(|entry| entry.name);
        bail!("{first} and {second} have no message kind in common, so they cannot be compared");
    }
    let stop = Stop::on_interrupt()?;
    let counts = count(args, &prepared, entries, &stop)?;
    if args.json {
        out::json("beside", counts.json(entries))?;
    } else {
        counts.print(entries, &prepared.searcher(&[]).label())?;
    }
    if stop.interrupted() {
        out::log(format_args!("interrupted after {}", counted(counts.runs, "run")));
    }
    Ok(match (stop.interrupted(), counts.differ()) {
        (true, _) => Exit::Interrupted,
        (false, 0) => Exit::Clean,
        (false, _) => Exit::Violation,
    })
}

fn count(args: &Args, prepared: &Prepared, entries: [&Entry; 2], stop: &Stop) -> Result<Counts> {
    let mut strategy = prepared.make(&prepared.base).map_err(|error| anyhow!(error))?;
    let mut counts = Counts::default();
    for index in 0..args.runs {
        if stop.interrupted() {
            break;
        }
        let scenario = draw_script(&mut *strategy, entries[0], args.seed, index)?;
        let second = scenario_for(entries[1], entries[0], &scenario);
        let found = compare(entries, [&scenario, &second])
            .with_context(|| format!("run {index}, {} beside {}", entries[0].name, entries[1].name))?;
        let verdict = found.verdict;
        if counts.add(index, found)
            && let Some(folder) = &args.save
        {
            let name = format!("{}-{}", verdict.name(), entries[0].name);
            save(folder, &name, &scenario)?;
            save(folder, &format!("{name}-beside"), &second)?;
        }
    }
    Ok(counts)
}

/// One of the two runs, for `explain`.
fn save(folder: &Path, name: &str, scenario: &Scenario) -> Result<()> {
    let path = folder.join(format!("{name}.toml"));
    fs::create_dir_all(folder)
        .and_then(|()| files::write_whole(&path, scenario.to_toml()))
        .with_context(|| format!("cannot write {}", path.display()))?;
    out::log(format_args!("saved; to see what happens: {} explain {}", again::program(), path.display()));
    Ok(())
}

impl Counts {
    /// Says whether it is the first run that differs in this way.
    fn add(&mut self, index: u64, found: Comparison) -> bool {
        let Comparison { verdict, parting, .. } = found;
        self.runs += 1;
        *self.verdicts.entry(verdict).or_default() += 1;
        if verdict == Verdict::Same {
            self.aside += u64::from(parting.is_some());
            return false;
        }
        if let Some(parting) = parting {
            let key = (parting.first, parting.kind);
            *self.partings.entry(key).or_default() += 1;
            self.examples.entry(key).or_insert((index, parting));
        }
        let first = self.first.entry(verdict).or_insert(index);
        *first == index
    }

    fn of(&self, verdict: Verdict) -> u64 {
        self.verdicts.get(&verdict).copied().unwrap_or_default()
    }

    fn differ(&self) -> u64 {
        self.runs - self.of(Verdict::Same)
    }

    fn print(&self, [first, second]: [&Entry; 2], strategy: &str) -> Result<()> {
        out::line(format_args!(
            "{} beside {}, {strategy}: {}",
            first.name,
            second.name,
            counted(self.runs, "run")
        ))?;
        for verdict in Verdict::ALL {
            let (count, about) = (self.of(verdict), verdict.about());
            let share = 100.0 * count as f64 / self.runs.max(1) as f64;
            let at = self.first.get(&verdict).map(|index| format!(", first in run {index}"));
            out::line(format_args!("  {count:>7} {share:>5.1} %  {about}{}", at.unwrap_or_default()))?;
        }
        if self.aside > 0 {
            out::line(format_args!(
                "  of those that decide the same, {} send different messages",
                self.aside
            ))?;
        }
        if !self.partings.is_empty() {
            out::line("where they diverge: the first message that only one of the two sends")?;
        }
        for (&(by_first, kind), count) in &self.partings {
            let by = if by_first { first.name } else { second.name };
            let (index, Parting { time, who, round, .. }) = &self.examples[&(by_first, kind)];
            let view = (first.view_name)(round.view);
            let example = format!("in run {index} by {who} at {time}, {view}");
            out::line(format_args!("  {count:>7}  {kind} of {by}: {example}"))?;
        }
        Ok(())
    }

    fn json(&self, [first, second]: [&Entry; 2]) -> serde_json::Value {
        let partings: Vec<_> = self
            .partings
            .iter()
            .map(|(&(by_first, kind), count)| {
                let (index, Parting { time, who, round, .. }) = &self.examples[&(by_first, kind)];
                let by = if by_first { first.name } else { second.name };
                json!({
                    "by": by, "kind": kind, "runs": count, "run": index, "who": who.to_string(), "time": time.0,
                    "view": round.view.0, "slot": round.slot.0,
                })
            })
            .collect();
        json!({
            "protocols": [first.name, second.name], "runs": self.runs, "verdicts": self.verdicts, "first": self.first,
            "said_otherwise": self.aside, "partings": partings,
        })
    }
}
