//! `turncoat speed`: how fast this machine runs.

use std::fs;
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;
use turncoat_core::runner::Runner;
use turncoat_core::scenario::{Scenario, Seed};
use turncoat_lab::campaign::{Campaign, Until};

use crate::clock::Stopwatch;
use crate::exit::Exit;
use crate::progress::rate;
use crate::show::row;
use crate::stop::Stop;
use crate::{numbers, out, registry};

/// Measure how fast this machine runs simulations
#[derive(clap::Args)]
#[command(after_help = "Example: turncoat speed --seconds 5 --json")]
pub(crate) struct Args {
    /// Seconds for each of the four measurements
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = numbers::within::<u16>(1..=3600))]
    seconds: u16,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What one thread does in a second, and what two do.
struct Measured {
    deliveries: [f64; 2],
    runs: [f64; 2],
}

impl Measured {
    fn speedup(&self) -> f64 {
        self.deliveries[1] / self.deliveries[0]
    }
}

#[derive(Serialize)]
struct Figures {
    deliveries_per_s: f64,
    deliveries_per_s_2_threads: f64,
    runs_per_s: f64,
    runs_per_s_2_threads: f64,
    speedup: f64,
    byzzfuzz_deliveries_per_s: f64,
    byzzfuzz_deliveries_per_s_2_threads: f64,
    byzzfuzz_runs_per_s: f64,
    byzzfuzz_runs_per_s_2_threads: f64,
    byzzfuzz_speedup: f64,
    bytes_per_simulation: Option<u64>,
    seconds: u16,
}

pub(crate) fn speed(args: &Args) -> Result<Exit> {
    // Memory first, while the process has touched little of it.
    let bytes_per_simulation = bytes_per_simulation()?;
    let plain = measure("none", &fault_free()?, args.seconds)?;
    let byzzfuzz = measure("byzzfuzz", &Scenario::new("pbft"), args.seconds)?;
    let figures = Figures {
        deliveries_per_s: plain.deliveries[0],
        deliveries_per_s_2_threads: plain.deliveries[1],
        runs_per_s: plain.runs[0],
        runs_per_s_2_threads: plain.runs[1],
        speedup: plain.speedup(),
        byzzfuzz_deliveries_per_s: byzzfuzz.deliveries[0],
        byzzfuzz_deliveries_per_s_2_threads: byzzfuzz.deliveries[1],
        byzzfuzz_runs_per_s: byzzfuzz.runs[0],
        byzzfuzz_runs_per_s_2_threads: byzzfuzz.runs[1],
        byzzfuzz_speedup: byzzfuzz.speedup(),
        bytes_per_simulation,
        seconds: args.seconds,
    };
    if args.json {
        out::json("speed", figures)?;
        return Ok(Exit::Clean);
    }
    for (title, measured) in [("fault-free, 100 requests", plain), ("byzzfuzz, 2 requests", byzzfuzz)] {
        out::line(format_args!("pbft, 4 replicas, {title}"))?;
        for (threads, (deliveries, runs)) in measured.deliveries.iter().zip(measured.runs).enumerate() {
            let rates = format!("{:>20} {:>16}", rate(*deliveries, "deliveries"), rate(runs, "runs"));
            row(if threads == 0 { "1 thread" } else { "2 threads" }, rates)?;
        }
        row("speedup", format_args!("{:>19.2}x", measured.speedup()))?;
    }
    if let Some(bytes) = bytes_per_simulation {
        out::line(format_args!("{} KiB per simulation", bytes / 1024))?;
    }
    Ok(Exit::Clean)
}

/// The scenario of the reference figure: what a campaign without faults costs.
fn fault_free() -> Result<Scenario> {
    let scenario = Scenario::new("pbft").with("workload.requests", 100.into())?;
    Ok(scenario.with("protocol.checkpoint", 16.into())?)
}

/// The best of a few slices, one thread and two in turn: what else runs on the machine only ever slows a
/// slice down, and would spoil the comparison if it fell on one side.
fn measure(strategy: &str, base: &Scenario, seconds: u16) -> Result<Measured> {
    const SLICES: u32 = 4;
    let slice = Duration::from_secs(seconds.into()) / SLICES;
    let mut best = Measured { deliveries: [0.0; 2], runs: [0.0; 2] };
    for _ in 0..SLICES {
        for threads in 0..2 {
            let (deliveries, runs) = rates(strategy, base, threads + 1, slice)?;
            best.deliveries[threads] = best.deliveries[threads].max(deliveries);
            best.runs[threads] = best.runs[threads].max(runs);
        }
    }
    Ok(best)
}

/// Deliveries and runs per second.
fn rates(strategy: &str, base: &Scenario, jobs: usize, time: Duration) -> Result<(f64, f64)> {
    let stop = Stop::default();
    let entry = registry::protocol("pbft")?;
    let campaign = Campaign {
        entry,
        base,
        make: &|base| Ok(turncoat_strategies::make(strategy, base, &[], &(entry.mutations)())?),
        seed: Seed(0x5eed),
        runs: None,
        jobs,
        until: Until::Never,
        stop: stop.flag(),
        suspects: None,
    };
    let clock = Stopwatch::start();
    stop.after(time);
    let summary = campaign.run(&mut |_| {})?;
    let seconds = clock.seconds();
    Ok((summary.deliveries as f64 / seconds, summary.runs as f64 / seconds))
}

/// By how much the process grows for each simulation that has run, where the system tells.
fn bytes_per_simulation() -> Result<Option<u64>> {
    const SIMULATIONS: u64 = 200;
    let entry = registry::protocol("pbft")?;
    let scenario = fault_free()?;
    let used = || -> Result<Box<dyn Runner>> {
        let mut runner = entry.runner();
        runner.execute(&scenario)?;
        Ok(runner)
    };
    used()?;
    let before = resident();
    let runners = (0..SIMULATIONS).map(|_| used()).collect::<Result<Vec<_>>>()?;
    let after = resident();
    drop(runners);
    Ok(before.zip(after).map(|(before, after)| after.saturating_sub(before) / SIMULATIONS))
}

/// The memory that the process occupies, in bytes.
fn resident() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}
