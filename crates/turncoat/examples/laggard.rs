//! A strategy that chooses while the run goes on: whoever has decided most hears nothing, as long as others have something to hear.
//! `cargo run --release -p turncoat --example laggard`.

use std::sync::atomic::AtomicBool;

use turncoat::core::ids::SeatName;
use turncoat::core::online::{OnlineAdversary, Position};
use turncoat::core::rng::Rng;
use turncoat::core::schedule::Action;
use turncoat::core::strategy::Strategy;
use turncoat::lab::campaign::{Campaign, Until};
use turncoat::{Entry, Scenario, Seed};

#[path = "decree/protocol.rs"]
#[expect(unreachable_pub, reason = "in a crate of its own this file is the library")]
mod decree;

/// Brings an adversary to each run of the base scenario.
struct Laggard(Scenario);

impl Strategy for Laggard {
    fn next(&mut self, _index: u64, _rng: &mut Rng) -> Scenario {
        self.0.clone()
    }

    fn online(&mut self) -> Option<Box<dyn OnlineAdversary>> {
        Some(Box::new(Choices(200)))
    }
}

/// So many choices are left.
struct Choices(u32);

impl OnlineAdversary for Choices {
    fn next(&mut self, position: &dyn Position, rng: &mut Rng) -> Option<Action> {
        self.0 = self.0.checked_sub(1)?;
        let (mut messages, timers) = (position.messages(), position.timers());
        let decided = |seat: SeatName| position.vitals(seat).map(|vitals| vitals.decided);
        let least = messages.iter().map(|message| decided(message.dst)).min();
        messages.retain(|message| Some(decided(message.dst)) == least);
        if messages.is_empty() || (!timers.is_empty() && rng.below(20) == 0) {
            return Some(rng.pick(&timers).fire());
        }
        Some(rng.pick(&messages).deliver())
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
            make: &|base| Ok(Box::new(Laggard(base.clone()))),
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
            let choices = finding.scenario.scheduler.script.len();
            println!("run {}, {choices} choices: {}", finding.index, finding.violation);
        }
    }
}
