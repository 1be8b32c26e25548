//! Who lies: the base scenario with some Byzantine replicas.
//!
//! They are drawn anew for each run, uniformly, and not fixed to those that a known attack needs, unless somebody says so: some
//! published experiments do.

use turncoat_core::ids::{NodeId, NodeSet};
use turncoat_core::rng::Rng;
use turncoat_core::scenario::{Adversary, Scenario};

use crate::StrategyError;
use crate::params::{Param, Params};

/// The first of them.
pub(crate) const LIAR: Param = Param {
    name: "liar",
    default: "any",
    about: "a Byzantine replica, such as p3, or any (drawn for each run)",
};

/// How many there are, where the strategy is about all that f allows.
pub(crate) const LIARS_F: Param = Param {
    name: "liars",
    default: "f",
    about: "how many replicas lie: a number, f, or drawn (from 1 to f)",
};

/// How many there are, where their number is drawn.
pub(crate) const LIARS_DRAWN: Param = Param { default: "drawn", ..LIARS_F };

/// How many replicas lie.
#[derive(Clone, Copy)]
enum Count {
    Exactly(usize),
    /// Drawn for each run, from 1 on.
    UpTo(usize),
}

pub(crate) struct Liars {
    base: Scenario,
    fixed: Option<NodeId>,
    count: Count,
    /// Whether those who are drawn may lie. They are drawn in any case, so that arms of one experiment that differ
    /// in this alone agree on all later draws.
    lies: bool,
}

impl Liars {
    /// Of the adversary of `base` only the rules stay: what garbage does, and messages without a round.
    pub(crate) fn new(params: &Params<'_>, base: &Scenario, lies: bool) -> Result<Self, StrategyError> {
        let (n, f) = (base.cluster.n, base.cluster.f);
        let is_replica = |node: &NodeId| !node.is_client() && node.index() < n;
        let fixed = params.typed(LIAR.name, |text| match text.parse().ok().filter(is_replica) {
            None if text != LIAR.default => Err(format!("no replica: there are {n}, from p0 on")),
            fixed => Ok(fixed),
        })?;
        if lies && f == 0 && !base.cluster.over_budget {
            return Err(StrategyError::NobodyMayLie { strategy: params.strategy });
        }
        // Nobody lies where f is 0, unless that is allowed.
        let most = f.clamp(1, n);
        let count = params.typed(LIARS_F.name, |text| match (text, text.parse()) {
            ("f", _) => Ok(Count::Exactly(most)),
            ("drawn", _) => Ok(Count::UpTo(most)),
            (_, Ok(count)) if count == 0 || count > n => Err(format!("not a number from 1 to {n}")),
            (_, Ok(count)) if lies && count > f && !base.cluster.over_budget => {
                Err(format!("more than f = {f}: use fewer, or --over-budget"))
            }
            (_, Ok(count)) => Ok(Count::Exactly(count)),
            (_, Err(_)) => Err("not a number, `f` or `drawn`".to_owned()),
        })?;
        let Adversary { roundless_inherit, crash_on_garbage, .. } = base.adversary;
        let adversary = Adversary { roundless_inherit, crash_on_garbage, ..Adversary::default() };
        Ok(Self { base: Scenario { adversary, ..base.clone() }, fixed, count, lies })
    }

    /// Who lies, if somebody has said so.
    pub(crate) const fn fixed(&self) -> Option<NodeId> {
        self.fixed
    }

    /// A scenario without faults yet, and its Byzantine replicas in the order in which they were drawn.
    pub(crate) fn next(&self, rng: &mut Rng) -> (Scenario, Vec<NodeId>) {
        let mut scenario = self.base.clone();
        let n = scenario.cluster.n;
        let mut draws = Rng::stream(rng.bits(), 0);
        let first = NodeId::replica(draws.index(n));
        let mut liars = vec![self.fixed.unwrap_or(first)];
        let count = match self.count {
            Count::Exactly(count) => count,
            Count::UpTo(1) => 1,
            Count::UpTo(most) => 1 + draws.index(most),
        };
        while liars.len() < count {
            let next = NodeId::replica(draws.index(n));
            if !liars.contains(&next) {
                liars.push(next);
            }
        }
        if self.lies {
            scenario.adversary.byzantine = liars.iter().copied().collect::<NodeSet>();
        }
        (scenario, liars)
    }
}
