//! What the adversary did: a strategy that never injects anything looks harmless.

use serde::{Deserialize, Serialize};

/// The bins of the histogram: the least number of faults in each.
pub const BINS: [u64; 8] = [0, 1, 2, 3, 6, 11, 31, 101];

/// What the adversary did in all runs of a row.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Faults {
    /// Runs by their number of faults: see [`BINS`]. A fault is a copy or a node that one met, whether a plan
    /// or a scheduler had it.
    pub histogram: Vec<u64>,
    /// Copies lost.
    pub dropped: u64,
    /// Copies held back.
    pub held: u64,
    /// Lies told: copies changed.
    pub mutated: u64,
    /// Lies that made their receiver do or remember something.
    pub accepted: u64,
}

/// What the adversary did in one run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Applied {
    pub(super) faults: u64,
    pub(super) dropped: u64,
    pub(super) held: u64,
    pub(super) mutated: u64,
    pub(super) accepted: u64,
}

impl Faults {
    pub(super) fn add(&mut self, run: Applied) {
        self.histogram.resize(BINS.len(), 0);
        // Schedulers lose and change copies without a fault of the plan.
        let faults = run.faults.max(run.dropped + run.held + run.mutated);
        self.histogram[BINS.partition_point(|&least| least <= faults) - 1] += 1;
        self.dropped += run.dropped;
        self.held += run.held;
        self.mutated += run.mutated;
        self.accepted += run.accepted;
    }

    /// The bins in words: `0`, `3-5`, `101+`.
    pub fn labels() -> Vec<String> {
        let next = BINS.iter().skip(1).map(Some).chain([None]);
        let label = |(&least, next): (&u64, Option<&u64>)| match next {
            None => format!("{least}+"),
            Some(next) if next - 1 == least => least.to_string(),
            Some(next) => format!("{least}-{}", next - 1),
        };
        BINS.iter().zip(next).map(label).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_fall_into_their_bins() {
        let mut faults = Faults::default();
        for n in [0, 1, 5, 5, 100, 101, 7000] {
            faults.add(Applied { faults: n, dropped: 0, held: 0, mutated: 0, accepted: 0 });
        }
        faults.add(Applied { faults: 0, dropped: 1, held: 0, mutated: 1, accepted: 1 });
        assert_eq!(faults.histogram, [1, 1, 1, 2, 0, 0, 1, 2]);
        assert_eq!(Faults::labels(), ["0", "1", "2", "3-5", "6-10", "11-30", "31-100", "101+"]);
    }
}
