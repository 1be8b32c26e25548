//! A strategy of your own: in each run, messages from one replica to another are slow, and nobody lies.
//! `cargo run --release -p turncoat --example slow_link`.

use std::sync::atomic::AtomicBool;

use turncoat::core::fault::{Effect, Fault, When};
use turncoat::core::rng::Rng;
use turncoat::core::strategy::Strategy;
use turncoat::lab::campaign::{Campaign, Until};
use turncoat::{Entry, NodeId, Scenario, Seed, Time};

#[path = "decree/protocol.rs"]
#[expect(unreachable_pub, reason = "in a crate of its own this file is the library")]
mod decree;

/// Adds a slow link to the base scenario.
struct SlowLink(Scenario);

impl Strategy for SlowLink {
    fn next(&mut self, _index: u64, rng: &mut Rng) -> Scenario {
        let mut scenario = self.0.clone();
        let n = scenario.cluster.n;
        let from = rng.index(n);
        let to = (from + 1 + rng.index(n - 1)) % n;
        let [from, to] = [from, to].map(|index| vec![NodeId::replica(index).into()]);
        let late = Time(100 + u64::from(rng.below(100)));
        let when = When { from, to, ..When::default() };
        scenario.adversary.faults = vec![Fault { when, effect: Effect::Delay(late) }];
        scenario
    }
}

#[expect(clippy::print_stdout, reason = "a program that reports")]
fn main() {
    let entry = Entry::of::<decree::Decree>();
    for flags in [&[][..], &["forget-prepared"]] {
        let base = entry.scenario().with("protocol.flags", flags.to_vec().into()).expect("flags");
        let campaign = Campaign {
            entry: &entry,
            base: &base,
            make: &|base| Ok(Box::new(SlowLink(base.clone()))),
            seed: Seed(1),
            runs: Some(10_000),
            jobs: 1,
            until: Until::First,
            stop: &AtomicBool::new(false),
            suspects: None,
        };
        let summary = campaign.run(&mut |_| {}).expect("a campaign");
        println!("decree with {flags:?}: violations in {} of {} runs", summary.violating, summary.runs);
        for finding in summary.first.values() {
            println!("run {}: {}\n{}", finding.index, finding.violation, finding.scenario.to_toml());
        }
    }
}
