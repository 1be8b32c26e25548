//! Who has which role, and how many of them are enough for what.
//!
//! All n nodes are acceptors, the first 3f+1 are proposers, the last 3f+1 are learners. Thresholds follow from a, the number
//! of acceptors: with a = 3f+2t+1 they are those of the paper, and with a = 5f+1 those of plain FaB.

use turncoat_core::prelude::*;

/// The roles in a cluster.
#[derive(Clone, Copy)]
pub(super) struct Roles {
    n: usize,
    f: usize,
}

impl Roles {
    pub(super) const fn new(n: usize, f: usize) -> Self {
        Self { n, f }
    }

    pub(super) const fn of(cluster: &Cluster) -> Self {
        Self::new(cluster.n, cluster.f)
    }

    pub(super) const fn acceptors(self) -> NodeSet {
        NodeSet::replicas(self.n)
    }

    /// How many proposers there are; so many learners too.
    pub(super) const fn thirds(self) -> usize {
        3 * self.f + 1
    }

    pub(super) const fn proposers(self) -> NodeSet {
        NodeSet::replicas(self.thirds())
    }

    pub(super) const fn learners(self) -> NodeSet {
        self.acceptors().without(NodeSet::replicas(self.n - self.thirds()))
    }

    /// ACCEPTEDs with which a learner learns: ceil((a+3f+1)/2) = a-t.
    pub(super) const fn fast(self) -> usize {
        (self.n + 3 * self.f + 2) / 2
    }

    /// ACCEPTEDs in a commit proof, and COMMITPROOFs with which a learner learns: ceil((a+f+1)/2) = 2f+t+1.
    pub(super) const fn proof(self) -> usize {
        (self.n + self.f + 2) / 2
    }

    /// REPs in a progress certificate: a-f.
    pub(super) const fn reports(self) -> usize {
        self.n - self.f
    }

    /// REPs of one value that forbid all others: ceil((a-f+1)/2) = f+t+1. If a value was learned with ACCEPTEDs, so many of
    /// any a-f acceptors say so.
    pub(super) const fn block(self) -> usize {
        (self.n - self.f + 2) / 2
    }

    /// Proposers that elect or are satisfied, learners whose LEARNEDs are a certificate: ceil((3f+1+f+1)/2) = 2f+1.
    pub(super) const fn most(self) -> usize {
        2 * self.f + 1
    }

    /// Learners whose word is enough for another learner.
    pub(super) const fn weak(self) -> usize {
        self.f + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_those_of_the_paper() {
        for f in 0..5 {
            for t in 0..=f {
                let n = 3 * f + 2 * t + 1;
                let roles = Roles::new(n, f);
                assert_eq!((roles.fast(), roles.proof()), (n - t, 2 * f + t + 1), "f = {f}, t = {t}");
                assert_eq!((roles.block(), roles.reports()), (f + t + 1, n - f), "f = {f}, t = {t}");
                assert_eq!((roles.proposers().len(), roles.learners().len()), (3 * f + 1, 3 * f + 1));
            }
        }
        let fab = Roles::new(6, 1);
        assert_eq!((fab.fast(), fab.reports(), fab.block(), fab.most()), (5, 5, 3, 3));
        assert!(fab.learners().contains(NodeId::replica(2)) && !fab.learners().contains(NodeId::replica(1)));
    }
}
