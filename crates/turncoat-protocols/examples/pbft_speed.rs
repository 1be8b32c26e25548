//! Fault-free PBFT, 100 requests, K = 16: for profilers.
use std::sync::Arc;
use turncoat_core::rng::run_seed;
use turncoat_core::runner::Runner;
use turncoat_core::scenario::*;
use turncoat_core::sim::Sim;
use turncoat_protocols::pbft::Pbft;
fn main() {
    let runs: u64 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1000);
    let mut s = Scenario::new("pbft").with("protocol.checkpoint", toml::Value::Integer(16)).unwrap();
    Arc::make_mut(&mut s.workload).requests = 100;
    let mut sim = Sim::<Pbft>::new();
    let mut d = 0;
    for i in 0..runs {
        s.seed = Seed(run_seed(1, i));
        d += sim.execute(&s).unwrap().deliveries;
    }
    println!("{d} deliveries");
}
