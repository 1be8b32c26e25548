//! `turncoat run`: one run, shown.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use serde::Serialize;
use turncoat_core::outcome::Outcome;
use turncoat_core::record::Recording;
use turncoat_core::runner::Entry;
use turncoat_core::scenario::{Scenario, Seed};
use turncoat_lab::campaign::{Campaign, Until};

use crate::campaign::Keys;
use crate::config::{Config, Given, Source};
use crate::exit::Exit;
use crate::out::Tone;
use crate::setup::{Engine, Setup, Start};
use crate::show::{self, Detail, Shown};
use crate::{again, files, numbers, out};

const NOTES: &str = "\
Without a strategy the run has no faults. With the same options, seed and strategy, `run --index I` is run I of \
`turncoat fuzz`. As for `fuzz`, turncoat.toml and environment variables supply what the options leave out.

Example: turncoat run pbft --strategy byzzfuzz --index 3 --trace";

/// Run a protocol once and show what happens
#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub(crate) struct Args {
    /// A name from `turncoat list protocols`
    #[arg(value_name = "PROTO")]
    protocol: Option<String>,

    #[command(flatten)]
    setup: Setup,

    /// How the scenario is generated: a name from `turncoat list strategies` [default: none]
    #[arg(long, value_name = "NAME")]
    strategy: Option<String>,

    /// The random seed of the campaign, decimal or 0x... [default: 0x5eed]
    #[arg(long, value_name = "SEED")]
    seed: Option<Seed>,

    /// Which run of the campaign, from 0
    #[arg(long, value_name = "I", default_value_t = 0, value_parser = numbers::count)]
    index: u64,

    /// Print every event
    #[arg(long)]
    trace: bool,

    /// Write the run to a scenario file, as a script of its events
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    #[command(flatten)]
    detail: Detail,

    /// Print JSON lines; the last one is the outcome
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    source: Source,
}

/// An outcome, and which run of which campaign it is.
#[derive(Serialize)]
struct Indexed<'a> {
    campaign: Seed,
    index: u64,
    #[serde(flatten)]
    shown: &'a Shown<'a>,
}

pub(crate) fn run(args: &Args) -> Result<Exit> {
    let engine = Engine { seed: args.seed, ..Engine::default() };
    let given = Given {
        protocol: args.protocol.as_deref(),
        strategy: args.strategy.as_deref(),
        campaign: &Keys { engine, ..Keys::default() },
        bug: None,
    };
    let config = Config::load(&args.source, &given)?;
    let strategy = config.text("strategy.name").unwrap_or("none");
    let prepared = args.setup.prepare(Start::config(&config)?, Some(strategy))?;
    if args.source.print_config {
        config.print(&given, &args.setup, &prepared)?;
        return Ok(Exit::Clean);
    }
    prepared.warn();
    let seed = config.campaign()?.engine.seed();
    let campaign = Campaign {
        entry: prepared.entry,
        base: &prepared.base,
        make: &|base| prepared.make(base),
        seed,
        runs: None,
        jobs: 1,
        until: Until::Never,
        stop: &AtomicBool::new(false),
        suspects: None,
    };
    let scenario = campaign.scenario_of(args.index)?;
    let (outcome, recording) = prepared.entry.runner().record(&scenario)?;
    if args.trace {
        show::trace(&recording, args.json)?;
    }
    let shown = Shown::new(prepared.entry, &scenario, &outcome);
    if args.json {
        out::json("run", Indexed { campaign: seed, index: args.index, shown: &shown })?;
    } else {
        shown.print(&scenario, args.detail)?;
    }
    if let Some(path) = &args.record {
        record(path, prepared.entry, &scenario, &outcome, recording)?;
    }
    Ok(if outcome.violations.is_empty() { Exit::Clean } else { Exit::Violation })
}

/// Writes the run as a script.
fn record(
    path: &Path,
    entry: &Entry,
    scenario: &Scenario,
    outcome: &Outcome,
    recording: Recording,
) -> Result<()> {
    let script = recording.scripted(scenario);
    // The file promises what the script does, which is what the run did if the recording is complete.
    let again = entry.runner().execute(&script)?;
    if again.diverged.is_some() || again.fingerprint != outcome.fingerprint {
        out::complain(Tone::Warning, "warning", "the script does not lead to the same outcome as the run");
    }
    files::write(path, &[], &script, again.violations.first(), again.fingerprint)?;
    out::log(format_args!("{} replay {}", again::program(), path.display()));
    Ok(())
}
