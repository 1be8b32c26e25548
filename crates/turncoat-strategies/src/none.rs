//! No strategy at all: every run is the base scenario, and only its seed differs.
//!
//! This is the control beside every table: a violation here is a bug of ours or of the protocol, not the work
//! of an adversary.

use turncoat_core::rng::Rng;
use turncoat_core::scenario::Scenario;
use turncoat_core::strategy::Strategy;

use crate::Info;

pub(crate) const INFO: Info = Info {
    name: "none",
    about: "the base scenario as it is: the fault-free control",
    params: &[],
    make: |base, _| Ok(Box::new(AsItIs(base.clone()))),
};

struct AsItIs(Scenario);

impl Strategy for AsItIs {
    fn next(&mut self, _index: u64, _rng: &mut Rng) -> Scenario {
        self.0.clone()
    }
}
