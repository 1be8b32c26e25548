//! How long runs of PBFT take: `cargo bench -p turncoat-cli`.
//!
//! Seconds depend on the machine; `checks/instructions.sh` counts what does not.

use std::sync::Arc;

use divan::Bencher;
use divan::counter::ItemsCount;
use turncoat_core::message::MutationTable;
use turncoat_core::rng::{Purpose, Rng, run_seed};
use turncoat_core::runner::{Entry, Runner};
use turncoat_core::scenario::{Scenario, SchedulerName, SchedulerSpec, Seed};
use turncoat_protocols::pbft::Pbft;

fn main() {
    divan::main();
}

fn runner() -> Box<dyn Runner> {
    Entry::of::<Pbft>().runner()
}

/// 100 requests without faults, a checkpoint every 16. Items are deliveries.
#[divan::bench]
fn fault_free(bencher: Bencher<'_, '_>) {
    let scenario = Scenario::new("pbft").with("workload.requests", 100.into()).unwrap();
    let scenario = scenario.with("protocol.checkpoint", 16.into()).unwrap();
    let mut runner = runner();
    let deliveries = runner.execute(&scenario).unwrap().deliveries;
    bencher.counter(ItemsCount::new(deliveries)).bench_local(|| runner.execute(&scenario).unwrap());
}

/// The first runs of a campaign of ByzzFuzz, two requests each, drawn and executed. Items are runs.
#[divan::bench]
fn byzzfuzz(bencher: Bencher<'_, '_>) {
    const RUNS: u64 = 64;
    let mut strategy =
        turncoat_strategies::make("byzzfuzz", &Scenario::new("pbft"), &[], &MutationTable::default())
            .unwrap();
    let mut runner = runner();
    bencher.counter(ItemsCount::new(RUNS)).bench_local(|| {
        for index in 0..RUNS {
            let seed = run_seed(0x5eed, index);
            let mut scenario = strategy.next(index, &mut Rng::new(seed, Purpose::Strategy));
            scenario.seed = Seed(seed);
            divan::black_box(runner.execute(&scenario).unwrap());
        }
    });
}

/// One run, recorded as a script, and the script replayed.
#[divan::bench]
fn record_and_replay(bencher: Bencher<'_, '_>) {
    let scenario = Scenario::new("pbft");
    let mut runner = runner();
    bencher.bench_local(|| {
        let (outcome, recording) = runner.record(&scenario).unwrap();
        let scheduler = SchedulerSpec {
            name: SchedulerName::Script,
            script: recording.script,
            ..SchedulerSpec::clone(&scenario.scheduler)
        };
        let script = Scenario { scheduler: Arc::new(scheduler), ..scenario.clone() };
        assert_eq!(runner.execute(&script).unwrap().fingerprint, outcome.fingerprint);
    });
}
