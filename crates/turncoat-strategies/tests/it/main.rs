//! What every strategy promises: reproducible, valid, well-distributed scenarios.

mod distributions;
mod enumerate;
mod registry;
mod runs;
mod scenarios;
mod twins;

use turncoat_core::message::MutationTable;
use turncoat_core::rng::{Purpose, Rng, run_seed};
use turncoat_core::scenario::Scenario;
use turncoat_core::strategy::Strategy;

/// A strategy with parameters as a user writes them: `byzzfuzz c=2 order=fair`.
fn strategy(line: &str, base: &Scenario) -> Box<dyn Strategy + Send> {
    let mut words = line.split_whitespace();
    let name = words.next().expect("a line starts with a name");
    let pair = |word: &str| word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    let params: Vec<_> = words.map(|word| pair(word).expect("parameters are name=value")).collect();
    turncoat_strategies::make(name, base, &params, &MutationTable::of::<runs::Msg>()).unwrap()
}

/// Run `index` of the campaign with seed 0.
fn run(strategy: &mut dyn Strategy, index: u64) -> Scenario {
    strategy.next(index, &mut Rng::new(run_seed(0, index), Purpose::Strategy))
}

/// The first runs of the campaign with seed 0, with four replicas.
fn runs(line: &str, count: u64) -> impl Iterator<Item = Scenario> {
    let mut strategy = strategy(line, &Scenario::new("toy"));
    (0..count).map(move |index| run(&mut *strategy, index))
}

/// Every strategy, with its defaults and with more of everything.
const LINES: [&str; 21] = [
    "none",
    "random",
    "random drop=0 mutate=0 timers=idle",
    "byzzfuzz",
    "byzzfuzz c=2 d=2 r=6 scope=any order=fair",
    "byzzfuzz sampler=byzzbench sender=one lie=each source=slot",
    "restarts",
    "drift",
    "twins rounds=3",
    "twins rounds=3 partitions=1-2 after=drop cuts=2 pass=enter",
    "twins rounds=3 lies=2",
    "two-faced",
    "lasting",
    "lasting singles=never",
    "swarm",
    "stalls",
    "divergence",
    "enumerate",
    "enumerate led=2 schedules=timed,async views=1",
    "portfolio",
    "portfolio mix=wide",
];
