//! A campaign: one strategy against one protocol, run after run.
//!
//! Run `i` is a function of the campaign and of `i` alone, so that it can be repeated without the others
//! ([`Campaign::scenario_of`]) and the result is the same for any number of threads. "Until the first
//! violation" means the one of the lowest index, not the one that some thread met first.

use std::panic::resume_unwind;
use std::sync::atomic::AtomicBool;
use std::thread;

use turncoat_core::outcome::Outcome;
use turncoat_core::rng::{Purpose, Rng, run_seed};
use turncoat_core::runner::{Entry, Runner};
use turncoat_core::scenario::{Scenario, ScenarioError, Seed};
use turncoat_core::strategy::Strategy;

use crate::order::{Batch, BatchEnd, InOrder};
use crate::summary::Summary;

/// Any error, for functions that the lab is given.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Makes a strategy for the fixed part of a campaign's scenarios. Every worker gets its own.
pub type Make<'a> = dyn Fn(&Scenario) -> Result<Box<dyn Strategy + Send>, BoxError> + Sync + 'a;

/// The parameters of a strategy in a table of a file, as text. Tables in it are about something else.
pub fn params(table: &toml::Table) -> Vec<(String, String)> {
    let text = |value: &toml::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let params = table.iter().filter(|(_, value)| !value.is_table());
    params.map(|(name, value)| (name.clone(), text(value))).collect()
}

/// One strategy against one protocol.
pub struct Campaign<'a> {
    /// The protocol.
    pub entry: &'a Entry,
    /// The fixed part of all scenarios.
    pub base: &'a Scenario,
    /// The strategy.
    pub make: &'a Make<'a>,
    /// Where all randomness comes from.
    pub seed: Seed,
    /// How many runs; without a number, until something else ends the campaign.
    pub runs: Option<u64>,
    /// How many threads.
    pub jobs: usize,
    /// Whether a violation ends it.
    pub until: Until<'a>,
    /// Ends the campaign soon after somebody sets it.
    pub stop: &'a AtomicBool,
}

/// When a campaign is over early.
#[derive(Clone, Copy)]
pub enum Until<'a> {
    /// With the first run that violates a property.
    First,
    /// With the first run that shows this: its index, its scenario, what came out.
    Shown(&'a (dyn Fn(u64, &Scenario, &Outcome) -> bool + Sync)),
    /// Only when its runs or its time are up.
    Never,
}

/// A campaign that cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// The strategy cannot be made.
    #[error(transparent)]
    Strategy(BoxError),
    /// The strategy drew a scenario that cannot run.
    #[error("run {index}: {error}")]
    Scenario {
        /// The index of the run.
        index: u64,
        /// What is wrong with it.
        error: ScenarioError,
    },
    /// A run that depends on those before it cannot be drawn alone.
    #[error(
        "run {index} depends on the outcome of earlier runs, because the strategy learns: \
         only run 0 can be repeated alone, a saved scenario always"
    )]
    Learns {
        /// The index of the run.
        index: u64,
    },
}

impl Campaign<'_> {
    /// The scenario of run `index`, exactly as the campaign executes it.
    pub fn scenario_of(&self, index: u64) -> Result<Scenario, CampaignError> {
        let mut strategy = self.strategy()?;
        if strategy.learns() && index > 0 {
            return Err(CampaignError::Learns { index });
        }
        Ok(self.draw(index, &mut *strategy))
    }

    /// Runs the campaign. `watch` is called whenever more runs are complete, with all so far; it holds up the
    /// workers, so it should be quick.
    pub fn run(&self, watch: &mut (dyn FnMut(&Summary) + Send)) -> Result<Summary, CampaignError> {
        let first = self.strategy()?;
        // What a strategy has learnt depends on the order of its runs: one worker keeps it.
        let jobs = if first.learns() { 1 } else { self.jobs.max(1) };
        let mut strategies = vec![first];
        for _ in 1..jobs {
            strategies.push(self.strategy()?);
        }
        let order = InOrder::new(self.runs, jobs, self.stop, watch);
        thread::scope(|scope| {
            let spawn = |strategy| scope.spawn(|| self.work(strategy, &order));
            let workers: Vec<_> = strategies.into_iter().map(spawn).collect();
            for worker in workers {
                worker.join().unwrap_or_else(|panic| resume_unwind(panic));
            }
        });
        order.finish()
    }

    fn strategy(&self) -> Result<Box<dyn Strategy + Send>, CampaignError> {
        (self.make)(self.base).map_err(CampaignError::Strategy)
    }

    fn draw(&self, index: u64, strategy: &mut dyn Strategy) -> Scenario {
        let seed = run_seed(self.seed.0, index);
        let mut scenario = strategy.next(index, &mut Rng::new(seed, Purpose::Strategy));
        scenario.seed = Seed(seed);
        scenario
    }

    fn work(&self, mut strategy: Box<dyn Strategy + Send>, order: &InOrder<'_>) {
        let _abandon = AbandonOnPanic(order);
        let mut runner = self.entry.runner();
        while let Some((batch, indices)) = order.claim() {
            let mut done = Batch::default();
            for index in indices {
                if order.in_vain(index) {
                    break;
                }
                done.end = self.one(index, &mut *strategy, &mut *runner, &mut done.summary);
                if !matches!(done.end, BatchEnd::Full) {
                    order.ends_with(index);
                    break;
                }
            }
            order.hand_in(batch, done);
        }
    }

    fn one(
        &self,
        index: u64,
        strategy: &mut dyn Strategy,
        runner: &mut dyn Runner,
        summary: &mut Summary,
    ) -> BatchEnd {
        let scenario = self.draw(index, strategy);
        let outcome = match runner.execute(&scenario) {
            Ok(outcome) => outcome,
            Err(error) => return BatchEnd::Failed(CampaignError::Scenario { index, error }),
        };
        strategy.observe(&scenario, &outcome);
        summary.add(index, &scenario, &outcome);
        match self.until {
            Until::First if !outcome.violations.is_empty() => BatchEnd::Last,
            Until::Shown(shown) if shown(index, &scenario, &outcome) => BatchEnd::Last,
            Until::First | Until::Shown(_) | Until::Never => BatchEnd::Full,
        }
    }
}

/// Lets the other workers go when one panics; they would wait for its batch for ever.
struct AbandonOnPanic<'a, 'b>(&'a InOrder<'b>);

impl Drop for AbandonOnPanic<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.abandon();
        }
    }
}
