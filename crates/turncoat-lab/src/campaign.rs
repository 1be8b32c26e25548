//! A campaign: one strategy against one protocol, run after run.
//!
//! Run `i` is a function of the campaign and of `i` alone, so that it can be repeated without the others
//! ([`Campaign::scenario_of`]) and the result is the same for any number of threads. "Until the first
//! violation" means the one of the lowest index, not the one that some thread met first.

use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use turncoat_core::outcome::Outcome;
use turncoat_core::record::Event;
use turncoat_core::rng::{Purpose, Rng, run_seed};
use turncoat_core::runner::{Entry, Runner};
use turncoat_core::scenario::{Scenario, ScenarioError, Seed};
use turncoat_core::sim::Sample;
use turncoat_core::strategy::{Space, Strategy, Universe};

use crate::order::{Batch, BatchEnd, InOrder};
use crate::summary::Summary;
use crate::suspects::Suspects;
use crate::words::count;

/// Any error, for functions that the lab is given.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Run `index` of the campaign with this seed, as its strategy draws it. An adversary that chooses on the way has not chosen yet.
pub fn draw(strategy: &mut dyn Strategy, seed: Seed, index: u64) -> Scenario {
    let seed = run_seed(seed.0, index);
    let drawn = strategy.next(index, &mut Rng::new(seed, Purpose::Strategy));
    Scenario { seed: Seed(seed), ..drawn }
}

/// Draws and executes run `index` of the campaign with this seed. Where an adversary chose on the way, the scenario is the script
/// of its choices.
///
/// # Errors
/// If the scenario cannot run, or the adversary makes an impossible choice.
pub fn draw_and_execute(
    strategy: &mut dyn Strategy,
    runner: &mut dyn Runner,
    seed: Seed,
    index: u64,
) -> Result<(Scenario, Outcome), ScenarioError> {
    let drawn = draw(strategy, seed, index);
    match strategy.online() {
        Some(adversary) => runner.execute_online(&drawn, adversary),
        None => runner.execute(&drawn).map(|outcome| (drawn, outcome)),
    }
}

/// The scenario of run `index` of the campaign with this seed: as drawn, or the script of what an adversary chooses on the way, which
/// takes a run to know.
///
/// # Errors
/// As those of [`draw_and_execute`].
pub fn draw_script(
    strategy: &mut dyn Strategy,
    entry: &Entry,
    seed: Seed,
    index: u64,
) -> Result<Scenario, ScenarioError> {
    let drawn = draw(strategy, seed, index);
    match strategy.online() {
        Some(adversary) => Ok(entry.runner().execute_online(&drawn, adversary)?.0),
        None => Ok(drawn),
    }
}

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
    /// How many runs; without a number, until something else ends the campaign. There may be fewer
    /// ([`Campaign::space`]).
    pub runs: Option<u64>,
    /// How many threads.
    pub jobs: usize,
    /// Whether a violation ends it.
    pub until: Until<'a>,
    /// Ends the campaign soon after somebody sets it.
    pub stop: &'a AtomicBool,
    /// Who may be behind a violation, if each is to be identified: that takes a dozen runs more.
    pub suspects: Option<&'a Suspects>,
}

/// A run as it is kept.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its index.
    pub index: u64,
    /// What came out.
    pub outcome: Outcome,
    /// The scenario, if it violates a property.
    pub scenario: Option<Scenario>,
    /// Of each violation the bug of the suite that it shows, if somebody asked.
    pub bugs: Vec<Arc<str>>,
    /// The correct replicas at the ends of its rounds, if somebody asked ([`Campaign::run_sampled`]).
    pub samples: Vec<Sample>,
}

/// What is kept of runs beside their sums.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    Nothing,
    Runs,
    RunsAndSamples,
}

/// Keeps runs, which come in their order. Says whether it can keep more.
pub type Keep<'a> = dyn FnMut(Record) -> bool + Send + 'a;

/// One run in so many is executed again, and must come to the same.
const AGAIN: u64 = 100;

/// When a campaign is over early.
#[derive(Clone, Copy)]
pub enum Until<'a> {
    /// With the first run that violates a property, inside of what the protocol assumes.
    First,
    /// With the first that violates a property of safety.
    Safety,
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
    /// The strategy drew a scenario that cannot run, or made an impossible choice on the way.
    #[error("run {index}: {error}")]
    Scenario {
        /// The index of the run.
        index: u64,
        /// What is wrong with it.
        error: ScenarioError,
    },
    /// A run did not repeat itself.
    #[error(
        "run {index} is not deterministic: executed twice, it {differs}. Look for clocks, random numbers, addresses, \
         hash maps and statics in the protocol's code"
    )]
    Differs {
        /// The index of the run.
        index: u64,
        /// The first difference.
        differs: String,
    },
    /// A run is not what it was when it was stored.
    #[error(
        "run {index} is not the run that was stored: another version of turncoat or of the protocol stored it. \
         Give another file, or continue with that version"
    )]
    Changed {
        /// The index of the run.
        index: u64,
    },
    /// The strategy has no run with such an index.
    #[error("there is no run {index}: the strategy has {}, numbered from 0", count(*.runs as usize, "scenario", "scenarios"))]
    Beyond {
        /// The index of the run.
        index: u64,
        /// How many there are.
        runs: u64,
    },
    /// A run that depends on those before it cannot be drawn alone.
    #[error(
        "run {index} depends on the outcome of earlier runs, because the strategy learns: \
         only run 0 can be repeated alone; a saved scenario always can"
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
        match strategy.space().and_then(Space::runs) {
            Some(runs) if index >= runs => Err(CampaignError::Beyond { index, runs }),
            _ => draw_script(&mut *strategy, self.entry, self.seed, index)
                .map_err(|error| CampaignError::Scenario { index, error }),
        }
    }

    /// All scenarios of the strategy, where they are counted.
    pub fn space(&self) -> Result<Option<Space>, CampaignError> {
        Ok(self.strategy()?.space())
    }

    /// The faults whose plans the strategy runs, if it runs all of them.
    pub fn universe(&self) -> Result<Option<Universe>, CampaignError> {
        Ok(self.strategy()?.universe())
    }

    /// Executes run `index` alone, which came to this fingerprint before.
    pub fn repeat_stored(&self, index: u64, fingerprint: u64) -> Result<(Scenario, Outcome), CampaignError> {
        let scenario = self.scenario_of(index)?;
        let outcome = self.entry.runner().execute(&scenario);
        let outcome = outcome.map_err(|error| CampaignError::Scenario { index, error })?;
        match outcome.fingerprint == fingerprint {
            true => Ok((scenario, outcome)),
            false => Err(CampaignError::Changed { index }),
        }
    }

    /// Runs the campaign. `watch` is called whenever more runs are complete, with all so far; it holds up the
    /// workers, so it should be quick.
    pub fn run(&self, watch: &mut (dyn FnMut(&Summary) + Send)) -> Result<Summary, CampaignError> {
        self.go_on(Summary::default(), None, watch)
    }

    /// Runs what is left of the campaign, after the runs of a summary, and hands each run to whoever keeps them.
    pub fn go_on<'b>(
        &'b self,
        so_far: Summary,
        keep: Option<&'b mut Keep<'b>>,
        watch: &'b mut (dyn FnMut(&Summary) + Send),
    ) -> Result<Summary, CampaignError> {
        let kept = if keep.is_some() { Kept::Runs } else { Kept::Nothing };
        self.run_kept(so_far.runs, self.runs, so_far, keep, kept, watch)
    }

    /// Runs a part of the campaign, and hands each run over. The summary is about this part alone.
    pub fn run_part<'b>(
        &'b self,
        part: Range<u64>,
        keep: &'b mut Keep<'b>,
        watch: &'b mut (dyn FnMut(&Summary) + Send),
    ) -> Result<Summary, CampaignError> {
        self.run_kept(part.start, Some(part.end), Summary::default(), Some(keep), Kept::Runs, watch)
    }

    /// Runs the campaign, and hands each run over with samples of its correct replicas. A summary has none of these.
    pub fn run_sampled<'b>(
        &'b self,
        keep: &'b mut Keep<'b>,
        watch: &'b mut (dyn FnMut(&Summary) + Send),
    ) -> Result<Summary, CampaignError> {
        self.run_kept(0, self.runs, Summary::default(), Some(keep), Kept::RunsAndSamples, watch)
    }

    fn run_kept<'b>(
        &'b self,
        from: u64,
        to: Option<u64>,
        so_far: Summary,
        keep: Option<&'b mut Keep<'b>>,
        kept: Kept,
        watch: &'b mut (dyn FnMut(&Summary) + Send),
    ) -> Result<Summary, CampaignError> {
        let first = self.strategy()?;
        if first.learns() && from > 0 {
            return Err(CampaignError::Learns { index: from });
        }
        // What a strategy has learnt depends on the order of its runs: one worker keeps it.
        let jobs = if first.learns() { 1 } else { self.jobs.max(1) };
        let mut strategies = vec![first];
        for _ in 1..jobs {
            strategies.push(self.strategy()?);
        }
        let runs = to.into_iter().chain(strategies[0].space().and_then(Space::runs)).min();
        let order = InOrder::new(from, so_far, runs, jobs, self.stop, keep, watch);
        thread::scope(|scope| {
            let spawn = |strategy| scope.spawn(|| self.work(strategy, &order, kept));
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

    fn work(&self, mut strategy: Box<dyn Strategy + Send>, order: &InOrder<'_>, kept: Kept) {
        let _abandon = AbandonOnPanic(order);
        let mut runner = self.entry.runner();
        while let Some((batch, indices)) = order.claim() {
            let mut done = Batch::default();
            for index in indices {
                if order.in_vain(index) {
                    break;
                }
                match self.one(index, &mut *strategy, &mut *runner, kept, &mut done.summary) {
                    Ok((record, end)) => {
                        done.end = end;
                        done.records.extend((kept != Kept::Nothing).then_some(record));
                    }
                    Err(error) => done.end = BatchEnd::Failed(error),
                }
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
        kept: Kept,
        summary: &mut Summary,
    ) -> Result<(Record, BatchEnd), CampaignError> {
        let impossible = |error| CampaignError::Scenario { index, error };
        let (scenario, outcome, samples) = match kept {
            Kept::RunsAndSamples => {
                draw_script(strategy, self.entry, self.seed, index).and_then(|scenario| {
                    let (outcome, samples) = runner.execute_sampled(&scenario)?;
                    Ok((scenario, outcome, samples))
                })
            }
            _ => draw_and_execute(strategy, runner, self.seed, index)
                .map(|(scenario, outcome)| (scenario, outcome, Vec::new())),
        }
        .map_err(impossible)?;
        if index.is_multiple_of(AGAIN) {
            self.repeat(index, &scenario, &outcome)?;
        }
        summary.add(index, strategy.parent(), &scenario, &outcome);
        strategy.observe(&scenario, &outcome);
        let name = |suspects: &Suspects| suspects.name(&scenario, &outcome, runner);
        let bugs = self.suspects.map_or_else(|| Ok(Vec::new()), name).map_err(impossible)?;
        summary.blame(&bugs);
        let end = if self.ends_with(index, &scenario, &outcome) { BatchEnd::Last } else { BatchEnd::Full };
        let scenario = (!outcome.violations.is_empty()).then_some(scenario);
        Ok((Record { index, outcome, scenario, bugs, samples }, end))
    }

    /// Whether no run is needed after this one.
    pub fn ends_with(&self, index: u64, scenario: &Scenario, outcome: &Outcome) -> bool {
        match self.until {
            Until::First => outcome.inside().next().is_some(),
            Until::Safety => outcome.inside().any(|violation| violation.property.is_safety()),
            Until::Shown(shown) => shown(index, scenario, outcome),
            Until::Never => false,
        }
    }

    /// Executes a run once more, on a runner that nobody has used, and compares.
    fn repeat(&self, index: u64, scenario: &Scenario, outcome: &Outcome) -> Result<(), CampaignError> {
        let impossible = |error| CampaignError::Scenario { index, error };
        if self.entry.runner().execute(scenario).map_err(impossible)? == *outcome {
            return Ok(());
        }
        let record = || self.entry.runner().record(scenario).map_err(impossible);
        let (one, two) = (record()?.1, record()?.1);
        let differs = first_difference(&one.events, &two.events).unwrap_or_else(|| SELDOM.to_owned());
        Err(CampaignError::Differs { index, differs })
    }
}

/// What to say of a run that differed once, when two recordings of it are equal.
pub(crate) const SELDOM: &str = "has another outcome now and then, though not when it was recorded";

/// Where two executions of a scenario diverge.
pub(crate) fn first_difference(one: &[Event], two: &[Event]) -> Option<String> {
    let same = one.iter().zip(two).take_while(|(a, b)| a == b).count();
    let line = |events: &[Event]| {
        let event = events.get(same).map(|event| event.to_string().trim_start().to_owned());
        event.unwrap_or_else(|| "nothing more".to_owned())
    };
    let step = one.get(same).or(two.get(same))?.step;
    Some(format!("differs from step {step}: `{}`, then `{}`", line(one), line(two)))
}

/// Lets the other workers go when one panics; they would wait for its batch forever.
struct AbandonOnPanic<'a, 'b>(&'a InOrder<'b>);

impl Drop for AbandonOnPanic<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.abandon();
        }
    }
}
