//! Suspicions that a run never terminates, from samples at the ends of its rounds: temperature and lasso.
//!
//! Both are of "Liveness Checking of the HotStuff Protocol Family" (PRDC 2023). A run is suspect if it stays hot for
//! long, or if it meets a state from which hot states lead back to it. Neither is a proof: the next round may cool a
//! state that was hot for long, and a cycle may be made of rounds of different runs.

use std::collections::BTreeSet;

use std::fmt;

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use serde::Deserialize;
use turncoat_core::ids::Time;
use turncoat_core::outcome::End;
use turncoat_core::sim::Sample;

use crate::campaign::Record;

/// A run as these methods look at it.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The ends of its rounds.
    pub samples: Vec<Sample>,
    /// Whether it has reached its goal.
    pub done: bool,
    /// When it ended.
    pub time: Time,
}

impl Trace {
    /// A run of so many rounds, which are views and count from 1. What came after them says only whether it reached its
    /// goal.
    pub fn new(record: Record, rounds: u32, hot: Hot) -> Self {
        let Record { outcome, mut samples, .. } = record;
        samples.retain(|sample| sample.view.0 <= rounds);
        samples.shrink_to_fit();
        if hot == Hot::Rivals {
            samples.iter_mut().for_each(|sample| sample.hot = sample.rivals);
        }
        Self { samples, done: outcome.end == End::Goal, time: outcome.time }
    }

    /// When the last of its rounds that ended was over.
    pub fn duration(&self) -> Time {
        self.samples.last().map_or(self.time, |sample| sample.time)
    }
}

/// Which locks count in a hot state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hot {
    /// All of them: a state is cold if a lock on a common ancestor of the others can still gather a quorum.
    #[default]
    All,
    /// Only those that exclude another lock.
    Rivals,
}

/// How a run comes under suspicion.
#[derive(Clone, Copy, Debug)]
pub enum Method<'a> {
    /// So many rounds in a row have ended hot.
    Temperature(usize),
    /// It meets a state on a cycle, also, if that is true, on one of a single state.
    Lasso(&'a Lassos, bool),
    /// No round that ended by this time has left a decision.
    TimeBound(Time),
    /// No round that ended by this time has left a decision of every correct replica.
    TimeBoundForAll(Time),
}

impl Method<'_> {
    /// The number of rounds after which a run is suspect.
    fn suspects(self, run: &Trace) -> Option<usize> {
        match self {
            Self::Temperature(threshold) => temperature(&run.samples, threshold),
            Self::Lasso(lassos, with_loops) => lassos.entered(&run.samples, with_loops),
            Self::TimeBound(bound) => undecided(run, bound, |sample| sample.decided),
            Self::TimeBoundForAll(bound) => undecided(run, bound, |sample| sample.decided_by_all),
        }
    }
}

/// The number of rounds that ended by a time, if none of them left a decision.
fn undecided(run: &Trace, bound: Time, decided: impl Fn(&Sample) -> bool) -> Option<usize> {
    let rounds = run.samples.partition_point(|sample| sample.time <= bound);
    (!run.samples[..rounds].iter().any(decided)).then_some(rounds)
}

/// The runs that a method suspects.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Suspected {
    /// How many.
    pub runs: u64,
    /// Of those, runs whose rounds ended without locks that exclude each other: the false positives of the paper.
    pub unsplit: u64,
    /// Of those, runs that reached their goal after all, when the network was whole and nobody did any harm.
    pub refuted: u64,
    /// After how many rounds they were suspect, in all.
    rounds: u64,
}

impl Suspected {
    /// What a method says about these runs.
    pub fn by(method: Method<'_>, traces: &[Trace]) -> Self {
        let mut all = Self::default();
        for (run, rounds) in traces.iter().filter_map(|run| Some((run, method.suspects(run)?))) {
            all.runs += 1;
            all.unsplit += u64::from(!run.samples.last().is_some_and(|sample| sample.split));
            all.refuted += u64::from(run.done);
            all.rounds += rounds as u64;
        }
        all
    }

    /// After how many rounds a run was suspect, on average.
    pub fn length(&self) -> Option<f64> {
        (self.runs > 0).then(|| self.rounds as f64 / self.runs as f64)
    }
}

/// How hot runs get.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Heat {
    /// Rounds that ended, in all runs.
    pub rounds: u64,
    /// Runs of which some round ended with locks that exclude each other.
    pub split: u64,
    /// Runs of which some round ended hot.
    pub hot: u64,
    /// The most rounds in a row that ended hot in one run.
    pub most: usize,
    /// Runs that did not reach their goal.
    pub undone: u64,
}

impl Heat {
    /// Of these runs.
    pub fn of(traces: &[Trace]) -> Self {
        let mut heat = Self::default();
        for run in traces {
            heat.rounds += run.samples.len() as u64;
            heat.split += u64::from(run.samples.iter().any(|sample| sample.split));
            heat.hot += u64::from(run.samples.iter().any(|sample| sample.hot));
            let in_a_row =
                run.samples.chunk_by(|a, b| a.hot && b.hot).filter(|row| row[0].hot).map(<[_]>::len);
            heat.most = heat.most.max(in_a_row.max().unwrap_or(0));
            heat.undone += u64::from(!run.done);
        }
        heat
    }
}

/// How long runs take: mean and standard deviation, in ticks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spread {
    mean: f64,
    deviation: f64,
}

impl Spread {
    /// Of these times.
    pub fn of(times: impl Iterator<Item = Time> + Clone) -> Self {
        let count = times.clone().count().max(1) as f64;
        let mean = times.clone().map(|time| time.0 as f64).sum::<f64>() / count;
        let variance = times.map(|time| (time.0 as f64 - mean).powi(2)).sum::<f64>() / count;
        Self { mean, deviation: variance.sqrt() }
    }

    /// The mean and so many standard deviations.
    pub fn beyond(self, deviations: u32) -> Time {
        Time((self.mean + f64::from(deviations) * self.deviation).round() as u64)
    }
}

/// In seconds, where a tick is a millisecond.
impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} / {:.3}", self.mean / 1000.0, self.deviation / 1000.0)
    }
}

/// The number of rounds after which the temperature reaches a threshold: so many rounds in a row have ended hot
/// (algorithm 1).
pub fn temperature(samples: &[Sample], threshold: usize) -> Option<usize> {
    let mut hot = 0;
    samples
        .iter()
        .position(|sample| {
            hot = if sample.hot { hot + 1 } else { 0 };
            hot >= threshold.max(1)
        })
        .map(|index| index + 1)
}

/// The hot states of many runs, and which follow each other.
#[derive(Default)]
pub struct Graph {
    hot: DiGraphMap<u64, ()>,
}

impl Graph {
    /// The graph of these runs.
    pub fn of(traces: &[Trace]) -> Self {
        let mut graph = Self::default();
        traces.iter().for_each(|run| graph.add(&run.samples));
        graph
    }

    /// Adds a run.
    pub fn add(&mut self, samples: &[Sample]) {
        for pair in samples.windows(2).filter(|pair| pair[0].hot && pair[1].hot) {
            self.hot.add_edge(pair[0].state, pair[1].state, ());
        }
    }

    /// The states on a cycle of hot states.
    pub fn lassos(&self) -> Lassos {
        let (mut cycles, mut loops) = (BTreeSet::new(), BTreeSet::new());
        for component in tarjan_scc(&self.hot) {
            match component[..] {
                [state] if self.hot.contains_edge(state, state) => drop(loops.insert(state)),
                [_] => {}
                _ => cycles.extend(component),
            }
        }
        Lassos { cycles, loops }
    }
}

/// The states on cycles of hot states.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lassos {
    /// Those that lead to another one and back.
    pub cycles: BTreeSet<u64>,
    /// Those that lead to themselves alone: a round has ended as it began. A network that stays cut for a round is
    /// enough for that.
    pub loops: BTreeSet<u64>,
}

impl Lassos {
    /// The number of rounds after which a run is on a cycle: in one of more than one state, or, `with_loops`, of any.
    pub fn entered(&self, samples: &[Sample], with_loops: bool) -> Option<usize> {
        let on_cycle = |state| self.cycles.contains(state) || (with_loops && self.loops.contains(state));
        // A state that somebody has just reached by a decision is not hot.
        Some(samples.iter().position(|sample| sample.hot && on_cycle(&sample.state))? + 1)
    }
}

#[cfg(test)]
mod tests {
    use turncoat_core::ids::View;

    use super::*;

    /// A run of states 1, 2, ...; those above 9 are hot.
    fn run(states: &[u64]) -> Vec<Sample> {
        let sample = |(round, &state)| Sample {
            view: View(round as u32 + 1),
            time: Time(10 * (round as u64 + 1)),
            state,
            split: state > 9,
            hot: state > 9,
            rivals: state > 9,
            decided: state == 3 || state == 4,
            decided_by_all: state == 4,
        };
        states.iter().enumerate().map(sample).collect()
    }

    #[test]
    fn a_cold_round_resets_the_temperature() {
        let run = run(&[1, 11, 12, 2, 13, 14, 15, 16]);
        assert_eq!(temperature(&run, 1), Some(2));
        assert_eq!(temperature(&run, 3), Some(7));
        assert_eq!(temperature(&run, 5), None);
        assert_eq!(temperature(&[], 1), None);
    }

    #[test]
    fn a_suspicion_is_refuted_if_the_run_decides_after_all() {
        let trace = |states: &[u64], done, time| Trace { samples: run(states), done, time: Time(time) };
        let runs = [
            trace(&[11, 12, 13], true, 100),
            trace(&[11, 12, 13], false, 1000),
            trace(&[11, 12, 3], true, 500),
            trace(&[1, 2, 3], true, 50),
        ];
        let temperature = Suspected::by(Method::Temperature(2), &runs);
        assert_eq!((temperature.runs, temperature.unsplit, temperature.refuted), (3, 1, 2));
        assert_eq!(temperature.length(), Some(2.0));
        // A decision comes in the third round, at 30, or not at all in the rounds of a run.
        let late = |bound| Suspected::by(Method::TimeBound(Time(bound)), &runs);
        assert_eq!((late(29).runs, late(29).length()), (4, Some(2.0)));
        assert_eq!((late(30).runs, late(30).unsplit, late(30).refuted), (2, 0, 1));
        let all = |run: Trace| Suspected::by(Method::TimeBoundForAll(Time(30)), &[run]).runs;
        assert_eq!([all(trace(&[1, 3, 2], true, 40)), all(trace(&[1, 3, 4], true, 40))], [1, 0]);
        let heat = Heat::of(&runs);
        assert_eq!((heat.rounds, heat.split, heat.hot, heat.most, heat.undone), (12, 3, 3, 3, 1));
    }

    #[test]
    fn a_bound_is_so_many_deviations_beyond_the_mean() {
        let spread = Spread::of([10, 20, 30, 40].into_iter().map(Time));
        assert_eq!([spread.beyond(0), spread.beyond(1), spread.beyond(2)], [Time(25), Time(36), Time(47)]);
    }

    #[test]
    fn two_runs_make_a_cycle_that_neither_has() {
        let (there, back) = (run(&[1, 11, 12]), run(&[2, 12, 13, 11]));
        let mut graph = Graph::default();
        graph.add(&there);
        assert_eq!(graph.lassos(), Lassos::default());
        graph.add(&back);
        assert_eq!(graph.lassos().cycles, BTreeSet::from([11, 12, 13]));
        assert_eq!(graph.lassos().entered(&there, false), Some(2));
        assert_eq!(graph.lassos().entered(&back, false), Some(2));
    }

    #[test]
    fn a_cycle_through_a_cold_state_is_none() {
        let mut graph = Graph::default();
        graph.add(&run(&[11, 12, 3, 11, 12]));
        assert_eq!(graph.lassos(), Lassos::default());
    }

    #[test]
    fn a_round_that_ends_as_it_began_is_a_loop() {
        let stuck = run(&[1, 11, 11]);
        let mut graph = Graph::default();
        graph.add(&stuck);
        let lassos = graph.lassos();
        assert_eq!((lassos.cycles.len(), lassos.loops.len()), (0, 1));
        assert_eq!((lassos.entered(&stuck, false), lassos.entered(&stuck, true)), (None, Some(2)));
    }
}
