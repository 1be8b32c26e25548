//! What came out of many runs: sums, and the first violation of each property.
//!
//! A [`Summary`] covers a range of run indices. Summaries of adjoining ranges merge, so that workers can sum
//! up on their own, and its size does not grow with the number of runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use turncoat_core::assume::Assumption;
use turncoat_core::hash::stable_hash;
use turncoat_core::outcome::{End, Injected, Outcome, Property, Violation};
use turncoat_core::scenario::Scenario;

use crate::covered::Covered;

/// What came out of a range of runs.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Summary {
    /// Runs.
    pub runs: u64,
    /// Of those, runs in which some property did not hold that the protocol promises.
    pub violating: u64,
    /// Runs in which each property did not hold, inside of what the protocol assumes; properties that always held are left out.
    pub violations: BTreeMap<Property, u64>,
    /// Runs in which each property did not hold after the run had broken an assumption, and did not fail before.
    pub outside: BTreeMap<(Property, Assumption), u64>,
    /// Runs in which each rule of a property did not hold, inside or outside.
    pub rules: BTreeMap<(Property, &'static str), u64>,
    /// Runs that show each bug of the suite, or `other`, where somebody asked.
    pub bugs: BTreeMap<Arc<str>, u64>,
    /// The first violation of each property inside of the assumptions: the one of the lowest run index.
    pub first: BTreeMap<Property, Finding>,
    /// The first one outside.
    pub first_outside: BTreeMap<Property, Finding>,
    /// Events of all runs.
    pub steps: u64,
    /// Copies of messages handed over.
    pub deliveries: u64,
    /// Decisions by correct replicas.
    pub commits: u64,
    /// Requests of correct clients that completed.
    pub completed: u64,
    /// Runs that reached their calm phase.
    pub calm: u64,
    /// Runs in which no correct replica decided anything, and no client got a result.
    pub undecided: u64,
    /// Of those, runs that ended at a limit.
    pub cut_short: CutShort,
    /// Runs with more faulty replicas than the protocol promises to tolerate.
    pub over_budget: u64,
    /// What the adversary did.
    pub injected: Injections,
    /// Runs in which it did something: a message was lost, held back or changed, or a fault met a node.
    pub disturbed: u64,
    /// Why runs ended.
    pub ends: Ends,
    /// In how many runs each mark was set.
    pub marks: Marks,
    /// What was tried, in runs that were executed rather than read from a store.
    pub covered: Covered,
    /// Equal for equal runs: the sum of a hash of (index, fingerprint) over all runs. A sum, unlike a chain
    /// of hashes, is the same however the runs were cut into batches.
    pub fingerprint: u64,
}

/// A violation, and the run that showed it.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// The index of the run.
    pub index: u64,
    /// What did not hold.
    pub violation: Violation,
    /// The scenario of the run, seed included.
    pub scenario: Scenario,
    /// The fingerprint of the run.
    pub fingerprint: u64,
    /// The earlier run from whose scenario that of the run was made, by a strategy that learns.
    pub parent: Option<u64>,
}

/// What the adversary did in all runs; see [`turncoat_core::outcome::Injected`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Injections {
    /// Copies (and nodes) that a fault matched.
    pub faults: u64,
    /// Copies lost.
    pub dropped: u64,
    /// Copies held back for a while.
    pub held: u64,
    /// Copies changed.
    pub mutated: u64,
    /// Of those, delivered and not ignored.
    pub accepted: u64,
    /// Lies that changed nothing, or that an honest sender does not tell.
    pub refused: u64,
    /// Copies that could not be decoded.
    pub garbage: u64,
}

/// Why runs ended, in numbers of runs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ends {
    /// The goal was reached.
    pub goal: u64,
    /// Nothing was left to happen.
    pub quiet: u64,
    /// Somebody stopped the run.
    pub stopped: u64,
    /// A limit was reached, by its name.
    pub limits: BTreeMap<&'static str, u64>,
}

/// Runs that ended at a limit before anybody had decided anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CutShort {
    /// All of them.
    pub runs: u64,
    /// Of those, runs in which no fault had any effect.
    pub undisturbed: u64,
}

impl CutShort {
    fn count(&mut self, end: End, disturbed: bool) {
        // A short run is one that was meant to end there.
        if matches!(end, End::Limit(name) if name != "short") {
            self.runs += 1;
            self.undisturbed += u64::from(!disturbed);
        }
    }

    const fn append(&mut self, later: Self) {
        self.runs += later.runs;
        self.undisturbed += later.undisturbed;
    }
}

/// In how many runs each mark was set, by the number of its bit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Marks([u64; 64]);

impl Default for Marks {
    fn default() -> Self {
        Self([0; 64])
    }
}

impl Marks {
    /// The marks of a protocol by name, each with the number of runs that set it.
    pub fn named<'a>(&'a self, names: &'a [&'static str]) -> impl Iterator<Item = (&'static str, u64)> + 'a {
        names.iter().copied().zip(self.0)
    }

    fn add(&mut self, mut bits: u64) {
        while bits != 0 {
            self.0[bits.trailing_zeros() as usize] += 1;
            bits &= bits - 1;
        }
    }
}

impl Summary {
    /// Adds the run that follows the range.
    pub fn add(&mut self, index: u64, parent: Option<u64>, scenario: &Scenario, outcome: &Outcome) {
        self.count(index, outcome);
        self.covered.add(scenario, outcome);
        for violation in &outcome.violations {
            let firsts = if violation.inside() { &mut self.first } else { &mut self.first_outside };
            firsts.entry(violation.property).or_insert_with(|| Finding {
                index,
                violation: violation.clone(),
                scenario: scenario.clone(),
                fingerprint: outcome.fingerprint,
                parent,
            });
        }
    }

    /// Adds the run that follows the range, without what it found.
    pub fn count(&mut self, index: u64, outcome: &Outcome) {
        self.runs += 1;
        self.violating += u64::from(outcome.inside().next().is_some());
        for violation in &outcome.violations {
            *self.rules.entry((violation.property, violation.rule)).or_default() += 1;
            if outcome.violation(violation.property) == Some(violation) {
                match &violation.outside {
                    None => *self.violations.entry(violation.property).or_default() += 1,
                    Some(breach) => {
                        *self.outside.entry((violation.property, breach.assumption)).or_default() += 1;
                    }
                }
            }
        }
        let disturbed = outcome.injected != Injected::default();
        // Speculative replicas execute, clients have results, and nothing may be final yet.
        if outcome.commits == 0 && outcome.completed == 0 {
            self.undecided += 1;
            self.cut_short.count(outcome.end, disturbed);
        }
        self.steps += outcome.steps;
        self.deliveries += outcome.deliveries;
        self.commits += u64::from(outcome.commits);
        self.completed += u64::from(outcome.completed);
        self.calm += u64::from(outcome.calm);
        self.over_budget += u64::from(outcome.over_budget);
        self.injected.add(outcome);
        self.disturbed += u64::from(disturbed);
        match outcome.end {
            End::Goal => self.ends.goal += 1,
            End::Quiet => self.ends.quiet += 1,
            End::Stopped => self.ends.stopped += 1,
            End::Limit(name) => *self.ends.limits.entry(name).or_default() += 1,
        }
        self.marks.add(outcome.marks);
        let hash = stable_hash(0xCA3B_A164, &(index, outcome.fingerprint));
        self.fingerprint = self.fingerprint.wrapping_add(hash);
    }

    /// Counts the bugs of a run that was added, each once.
    pub fn blame(&mut self, bugs: &[Arc<str>]) {
        for (i, bug) in bugs.iter().enumerate() {
            if !bugs[..i].contains(bug) {
                *self.bugs.entry(Arc::clone(bug)).or_default() += 1;
            }
        }
    }

    /// Adds the range that follows this one.
    pub fn append(&mut self, later: Self) {
        self.runs += later.runs;
        self.violating += later.violating;
        for (property, count) in later.violations {
            *self.violations.entry(property).or_default() += count;
        }
        for (key, count) in later.outside {
            *self.outside.entry(key).or_default() += count;
        }
        for (rule, count) in later.rules {
            *self.rules.entry(rule).or_default() += count;
        }
        for (bug, count) in later.bugs {
            *self.bugs.entry(bug).or_default() += count;
        }
        for (property, finding) in later.first {
            self.first.entry(property).or_insert(finding);
        }
        for (property, finding) in later.first_outside {
            self.first_outside.entry(property).or_insert(finding);
        }
        self.undecided += later.undecided;
        self.cut_short.append(later.cut_short);
        self.steps += later.steps;
        self.deliveries += later.deliveries;
        self.commits += later.commits;
        self.completed += later.completed;
        self.calm += later.calm;
        self.over_budget += later.over_budget;
        self.injected.append(later.injected);
        self.disturbed += later.disturbed;
        self.ends.append(later.ends);
        self.covered.append(later.covered);
        for (count, later) in self.marks.0.iter_mut().zip(later.marks.0) {
            *count += later;
        }
        self.fingerprint = self.fingerprint.wrapping_add(later.fingerprint);
    }

    /// Runs in which a property did not hold, whatever the protocol assumes.
    pub fn runs_with(&self, property: Property) -> u64 {
        let outside = self.outside.iter().filter(|((of, _), _)| *of == property).map(|(_, count)| count);
        self.violations.get(&property).copied().unwrap_or(0) + outside.sum::<u64>()
    }

    /// The violation of the lowest run index; in one run, the one that showed first.
    pub fn earliest(&self) -> Option<&Finding> {
        self.first.values().min_by_key(|finding| (finding.index, finding.violation.step))
    }
}

impl Injections {
    fn add(&mut self, outcome: &Outcome) {
        let run = &outcome.injected;
        self.append(Self {
            faults: run.faults.into(),
            dropped: run.dropped.into(),
            held: run.held.into(),
            mutated: run.mutated.into(),
            accepted: run.accepted.into(),
            refused: run.refused.into(),
            garbage: run.garbage.into(),
        });
    }

    const fn append(&mut self, later: Self) {
        self.faults += later.faults;
        self.dropped += later.dropped;
        self.held += later.held;
        self.mutated += later.mutated;
        self.accepted += later.accepted;
        self.refused += later.refused;
        self.garbage += later.garbage;
    }
}

impl Ends {
    fn append(&mut self, later: Self) {
        self.goal += later.goal;
        self.quiet += later.quiet;
        self.stopped += later.stopped;
        for (name, count) in later.limits {
            *self.limits.entry(name).or_default() += count;
        }
    }
}
