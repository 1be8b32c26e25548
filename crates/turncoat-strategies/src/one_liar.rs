//! The setting of the published baselines: the base scenario with exactly one Byzantine replica.
//!
//! The replica is drawn anew for each run, uniformly, and not fixed to the one that a known attack needs, unless somebody says
//! so: some published experiments do.

use turncoat_core::ids::{NodeId, NodeSet};
use turncoat_core::rng::Rng;
use turncoat_core::scenario::{Adversary, Scenario};

use crate::StrategyError;
use crate::params::{Param, Params};

/// What all strategies with one liar can be told.
pub(crate) const LIAR: Param = Param {
    name: "liar",
    default: "any",
    about: "the Byzantine replica, as in p3, or any: drawn anew for each run",
};

pub(crate) struct OneLiar {
    base: Scenario,
    fixed: Option<NodeId>,
    /// Whether the replica drawn may lie. It is drawn in any case, so that arms of one experiment that differ
    /// in this alone agree on all later draws.
    lies: bool,
}

impl OneLiar {
    /// Of the adversary of `base` only the rules stay: what garbage does, and messages without a round.
    pub(crate) fn new(params: &Params<'_>, base: &Scenario, lies: bool) -> Result<Self, StrategyError> {
        let (strategy, n) = (params.strategy, base.cluster.n);
        let is_replica = |node: &NodeId| !node.is_client() && node.index() < n;
        let fixed = params.typed(LIAR.name, |text| match text.parse().ok().filter(is_replica) {
            None if text != LIAR.default => Err(format!("no replica: there are {n}, from p0 on")),
            fixed => Ok(fixed),
        })?;
        if lies && base.cluster.f == 0 && !base.cluster.over_budget {
            let why =
                "one Byzantine replica exceeds cluster.f = 0: raise f, allow over-budget, or have no lies";
            return Err(StrategyError::Unfit { strategy, why: why.to_owned() });
        }
        let Adversary { roundless_inherit, crash_on_garbage, .. } = base.adversary;
        let adversary = Adversary { roundless_inherit, crash_on_garbage, ..Adversary::default() };
        Ok(Self { base: Scenario { adversary, ..base.clone() }, fixed, lies })
    }

    /// A scenario without faults yet, and its Byzantine replica.
    pub(crate) fn next(&self, rng: &mut Rng) -> (Scenario, NodeId) {
        let mut scenario = self.base.clone();
        let drawn = NodeId::replica(Rng::stream(rng.bits(), 0).index(scenario.cluster.n));
        let liar = self.fixed.unwrap_or(drawn);
        if self.lies {
            scenario.adversary.byzantine = NodeSet::one(liar);
        }
        (scenario, liar)
    }
}
