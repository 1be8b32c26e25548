//! Which scenario shall run next?

use crate::fault::Fault;
use crate::ids::NodeSet;
use crate::online::OnlineAdversary;
use crate::outcome::Outcome;
use crate::rng::Rng;
use crate::scenario::{Scenario, SchedulerSpec};

/// A testing algorithm: draws scenarios, and may learn from what came out.
///
/// It is made once per campaign (or per worker), with the fixed part of the scenario and its parameters. The
/// campaign sets the seed of the run.
pub trait Strategy {
    /// The scenario of run `index`, one of its [`Space`] if it has one that comes in order. Unless the strategy [learns](Strategy::learns), it depends on `index` and
    /// `rng` alone, which is that run's own.
    fn next(&mut self, index: u64, rng: &mut Rng) -> Scenario;

    /// An adversary that chooses while the run of the scenario drawn last goes on. It takes the place of the scenario's scheduler.
    /// What it chose is a script, which is what counts as the scenario of the run from then on.
    fn online(&mut self) -> Option<Box<dyn OnlineAdversary>> {
        None
    }

    /// What came out.
    fn observe(&mut self, _scenario: &Scenario, _outcome: &Outcome) {}

    /// Whether earlier outcomes change later scenarios. Then runs are not independent: the unit of statistics
    /// is the campaign.
    fn learns(&self) -> bool {
        false
    }

    /// The earlier run from whose scenario the last one was made, if it was not drawn afresh.
    fn parent(&self) -> Option<u64> {
        None
    }

    /// All its scenarios, where they are counted.
    fn space(&self) -> Option<Space> {
        None
    }

    /// The faults that it combines, if it runs every combination. Then its [`Space`] comes in order.
    fn universe(&self) -> Option<Universe> {
        None
    }
}

/// The scenarios of a strategy that has finitely many.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Space {
    /// How many; nothing where 128 bits cannot count them.
    pub scenarios: Option<u128>,
    /// Whether run `i` is scenario `i`, and no run comes after the last. Otherwise runs draw theirs.
    pub in_order: bool,
}

impl Space {
    /// The runs that there are, if they end.
    pub fn runs(self) -> Option<u64> {
        self.scenarios.filter(|_| self.in_order).and_then(|scenarios| scenarios.try_into().ok())
    }
}

/// A finite set of faults, and all plans made of a few of them: what an exhaustive campaign is exhaustive about.
#[derive(Clone, PartialEq, Debug)]
pub struct Universe {
    /// The faults, class by class. Faults of a plan stand in this order.
    pub classes: Vec<FaultClass>,
    /// The maximum number of faults in a plan.
    pub most: u32,
    /// The number of plans: sets of at most `most` faults whose liars are no more than may lie.
    pub plans: u128,
    /// The number of plans that run. Fewer than `plans` where some differ in the names of interchangeable replicas alone.
    pub different: u128,
    /// The sets of replicas that were taken as interchangeable.
    pub alike: Vec<NodeSet>,
    /// The schedules, each with its name. Every plan runs under each of them.
    pub schedules: Vec<(&'static str, SchedulerSpec)>,
}

/// Faults of one sort.
#[derive(Clone, PartialEq, Debug)]
pub struct FaultClass {
    /// The name of the class.
    pub name: &'static str,
    /// What such a fault does, in one line.
    pub about: &'static str,
    /// The faults.
    pub faults: Vec<Fault>,
}
