//! What a table depends on, in one number: whether a page that holds the table is still true.
//!
//! A digest is made of what the first runs of each campaign came to: their violations, ends and marks. It is quick to make, and a
//! program that does the same has the same, however it does it: events and their order are not in it.

use anyhow::{Result, anyhow};
use turncoat_core::hash::stable_hash;
use turncoat_core::outcome::{End, Outcome, Property};
use turncoat_core::runner::Entry;
use turncoat_core::scenario::{Scenario, Seed};
use turncoat_lab::campaign::draw_and_execute;

use crate::out;
use crate::searcher::Searcher;
use crate::task::Task;

/// Runs of each campaign.
const RUNS: u64 = 10;

/// The campaigns of a table so far.
#[derive(Default)]
pub(crate) struct Digest(u64);

impl Digest {
    /// Adds a campaign.
    pub(crate) fn add(
        &mut self,
        entry: &Entry,
        base: &Scenario,
        searcher: &Searcher,
        seed: Seed,
    ) -> Result<()> {
        let mut strategy = searcher.make(base).map_err(|error| anyhow!(error))?;
        let mut runner = entry.runner();
        for index in 0..RUNS {
            let (_, outcome) = draw_and_execute(&mut *strategy, &mut *runner, seed, index)?;
            self.0 = stable_hash(self.0, &shown(&outcome));
        }
        Ok(())
    }

    /// Prints it.
    pub(crate) fn print(&self) -> Result<()> {
        Ok(out::line(Seed(self.0))?)
    }
}

/// Prints that of these campaigns.
pub(crate) fn print(tasks: &[Task]) -> Result<()> {
    let mut digest = Digest::default();
    for Task { entry, base, searcher, seed, .. } in tasks {
        digest.add(entry, base, searcher, *seed)?;
    }
    digest.print()
}

/// What a table may show of a run.
fn shown(outcome: &Outcome) -> (Vec<(Property, &'static str, bool)>, End, u64) {
    let violations = outcome.violations.iter();
    let violations = violations.map(|found| (found.property, found.rule, found.inside())).collect();
    (violations, outcome.end, outcome.marks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    fn digest(protocol: &str, path: &str, value: &str) -> u64 {
        let entry = registry::protocol(protocol).unwrap();
        let base = entry.scenario().with(path, value.parse().unwrap()).unwrap();
        let mut digest = Digest::default();
        digest.add(entry, &base, &Searcher::parse("byzzfuzz:c=2:d=2").unwrap(), Seed(1)).unwrap();
        digest.0
    }

    #[test]
    fn it_is_that_of_what_runs_come_to() {
        let plain = digest("pbft-java", "workload.requests", "4");
        assert_eq!(plain, digest("pbft-java", "workload.requests", "4"));
        assert_ne!(plain, digest("pbft-java", "protocol.flags", "[]"));
        // Where a run ends that has ended before makes no difference.
        assert_eq!(digest("pbft", "workload.requests", "2"), digest("pbft", "limits.time", "999999999"));
    }
}
