//! Which scenario shall run next?

use crate::outcome::Outcome;
use crate::rng::Rng;
use crate::scenario::Scenario;

/// A testing algorithm: draws scenarios, and may learn from what came out.
///
/// It is made once per campaign (or per worker), with the fixed part of the scenario and its parameters. The
/// campaign sets the seed of the run.
pub trait Strategy {
    /// The scenario of run `index`. Unless the strategy [learns](Strategy::learns), it depends on `index` and
    /// `rng` alone, which is that run's own.
    fn next(&mut self, index: u64, rng: &mut Rng) -> Scenario;

    /// What came out.
    fn observe(&mut self, _scenario: &Scenario, _outcome: &Outcome) {}

    /// Whether earlier outcomes change later scenarios. Then runs are not independent: the unit of statistics
    /// is the campaign.
    fn learns(&self) -> bool {
        false
    }
}
