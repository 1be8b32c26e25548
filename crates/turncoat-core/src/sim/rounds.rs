//! Samples at the ends of rounds: what the correct replicas hold when the last of them leaves a view.
//!
//! Liveness checks read them: a run in which correct replicas stay locked on blocks that exclude each other is suspect.
//! See "Liveness Checking of the HotStuff Protocol Family" (PRDC 2023), definitions 1 to 3.

use super::Sim;
use crate::hash::{Digest, stable_hash};
use crate::ids::{Seat, Time, View};
use crate::node::{Protocol, Vitals};
use crate::outcome::Outcome;

/// The correct replicas at the end of a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// The view that the last of them has left.
    pub view: View,
    /// When.
    pub time: Time,
    /// A hash of what each has prepared, locked and executed (definition 2). Neither views nor the network are in it.
    pub state: u64,
    /// Whether two of them are locked on blocks of which neither extends the other.
    pub split: bool,
    /// Whether the state is hot (definition 3): they are split, no lock can still gather a quorum of them, nobody has
    /// executed what somebody is locked on, and nobody has decided anything since the last sample.
    pub hot: bool,
    /// The same where only locks count that exclude another one. A lock on a block that all of these extend is then neither a
    /// lock that can still gather a quorum, nor one that somebody has executed.
    pub rivals: bool,
    /// Whether somebody has executed a block, at any time.
    pub decided: bool,
    /// Whether all of them have.
    pub decided_by_all: bool,
}

/// Takes samples, event by event.
#[derive(Default)]
struct Sampler {
    /// The view of each seat, as far as it was looked at.
    views: Vec<View>,
    /// The view in which the slowest correct replica is.
    lowest: View,
    commits: u32,
    samples: Vec<Sample>,
}

impl<P: Protocol> Sim<P> {
    /// Runs to the end, and samples the correct replicas whenever the slowest of them enters another view.
    pub fn run_sampled(&mut self) -> (Outcome, Vec<Sample>) {
        let mut sampler = Sampler::default();
        sampler.views = (0..self.io.seats.len()).map(|seat| self.vitals(Seat(seat as u8)).view).collect();
        sampler.lowest = sampler.slowest(self);
        let outcome = self.drive(|sim| {
            sampler.look(sim);
            false
        });
        (outcome, sampler.samples)
    }

    pub(super) fn correct_replicas(&self) -> impl Iterator<Item = Seat> {
        let replicas = (0..self.nodes.len()).map(|seat| Seat(seat as u8));
        replicas.filter(|&seat| self.is_correct(seat) && self.is_alive(seat) && self.replica(seat).is_some())
    }

    fn sample(&self, view: View, progress: bool) -> Sample {
        let vitals: Vec<Vitals> = self.correct_replicas().map(|seat| self.vitals(seat)).collect();
        let held: Vec<_> = vitals.iter().map(|it| (it.prepared, it.locked, it.executed)).collect();
        let Heat { split, hot, rivals } =
            heat(&vitals, P::quorum(&self.cluster), |a, b| self.ledger().extends(a, b));
        Sample {
            view,
            time: self.io.time,
            state: stable_hash(0x5A3B1E, &held),
            split,
            hot: hot && !progress,
            rivals: rivals && !progress,
            decided: vitals.iter().any(|it| it.executed.is_some()),
            decided_by_all: vitals.iter().all(|it| it.executed.is_some()),
        }
    }
}

/// What the locks of replicas say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Heat {
    split: bool,
    hot: bool,
    rivals: bool,
}

/// Whether replicas are split, and whether that is hot, where `extends` says which block is another or extends it.
fn heat(replicas: &[Vitals], quorum: usize, extends: impl Fn(Digest, Digest) -> bool) -> Heat {
    let conflict = |a, b| !extends(a, b) && !extends(b, a);
    let locks = || replicas.iter().filter_map(|it| it.locked);
    let has_rival = |&a: &Digest| locks().any(|b| conflict(a, b));
    let split = locks().any(|lock| has_rival(&lock));
    // Whoever is not locked on something else may still vote for it.
    let may_vote = |it: &Vitals, block| it.locked.is_none_or(|locked| !conflict(locked, block));
    let support = |block| replicas.iter().filter(|it| may_vote(it, block)).count();
    let executed = |block| replicas.iter().filter_map(|it| it.executed).any(|last| extends(last, block));
    let lost = |block| support(block) < quorum && !executed(block);
    Heat { split, hot: split && locks().all(lost), rivals: split && locks().filter(has_rival).all(lost) }
}

impl Sampler {
    fn slowest<P: Protocol>(&self, sim: &Sim<P>) -> View {
        sim.correct_replicas().map(|seat| self.views[seat.index()]).min().unwrap_or_default()
    }

    fn look<P: Protocol>(&mut self, sim: &Sim<P>) {
        // Only a node that has just acted can be in another view: asking all of them would cost more than the run.
        let seat = sim.io.seat;
        if !sim.is_correct(seat) {
            return;
        }
        let view = sim.vitals(seat).view;
        if self.views[seat.index()] == view {
            return;
        }
        self.views[seat.index()] = view;
        let slowest = self.slowest(sim);
        if slowest > self.lowest {
            let commits = sim.ledger().commits();
            // Of views that all have skipped there is nothing to see.
            self.samples.push(sim.sample(View(slowest.0 - 1), commits > self.commits));
            (self.lowest, self.commits) = (slowest, commits);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks by number, each with its parent.
    const TREE: [(u64, u64); 5] = [(1, 0), (2, 0), (10, 0), (11, 0), (12, 10)];

    fn extends(mut block: Digest, ancestor: Digest) -> bool {
        while block != ancestor {
            match TREE.iter().find(|(child, _)| *child == block.0) {
                Some(&(_, parent)) => block = Digest(parent),
                None => return false,
            }
        }
        true
    }

    /// Replicas that are locked on these blocks, and the last of which has executed another one; 0 is none.
    fn replicas(locks: &[u64], executed: u64) -> Vec<Vitals> {
        let some = |block| (block > 0).then_some(Digest(block));
        let mut replicas: Vec<Vitals> =
            locks.iter().map(|&block| Vitals { locked: some(block), ..Vitals::default() }).collect();
        replicas.last_mut().unwrap().executed = some(executed);
        replicas
    }

    #[test]
    fn replicas_are_hot_if_no_lock_can_win() {
        let heat = |locks: &[u64], executed, quorum| {
            let super::Heat { split, hot, .. } = super::heat(&replicas(locks, executed), quorum, extends);
            (split, hot)
        };
        // Two siblings, neither with a quorum of three.
        assert_eq!(heat(&[2, 1, 2], 0, 3), (true, true));
        // One replica is behind: 12 extends 10, and 11 excludes both.
        assert_eq!(heat(&[10, 11, 12], 0, 3), (true, true));
        // A lock alone, and a chain, are no conflict.
        assert_eq!(heat(&[1, 0, 0], 0, 3), (false, false));
        assert_eq!(heat(&[10, 12, 10], 0, 3), (false, false));
        // Whoever is not locked may still vote.
        assert_eq!(heat(&[1, 2, 0, 0], 0, 3), (true, false));
        assert_eq!(heat(&[1, 2, 0], 0, 3), (true, true));
        // With a quorum of two one of them can win.
        assert_eq!(heat(&[1, 1, 2], 0, 2), (true, false));
        // Somebody has executed it, or what extends it.
        assert_eq!(heat(&[2, 1, 2], 2, 3), (true, false));
        assert_eq!(heat(&[10, 11, 10], 12, 3), (true, false));
    }

    #[test]
    fn a_lock_that_both_rivals_extend_cools_them_unless_only_rivals_count() {
        // 10 and 11 exclude each other, and both extend 3: all could still vote for that.
        let branches = |block, ancestor| extends(block, ancestor) || (ancestor == Digest(3) && block.0 >= 10);
        let heat = |locks: &[u64], executed| super::heat(&replicas(locks, executed), 3, branches);
        assert_eq!(heat(&[10, 11, 3], 0), Heat { split: true, hot: false, rivals: true });
        // 3 was decided long ago.
        assert_eq!(heat(&[10, 11, 3], 3), Heat { split: true, hot: false, rivals: true });
        // A third replica that may vote for 10 beside the one that is locked on it.
        assert_eq!(heat(&[10, 11, 3, 12], 0), Heat { split: true, hot: false, rivals: false });
        assert_eq!(heat(&[10, 11, 11], 0), Heat { split: true, hot: true, rivals: true });
    }
}
