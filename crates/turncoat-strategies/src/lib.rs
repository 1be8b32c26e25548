//! Testing algorithms: which scenario shall run next?
//!
//! A strategy is made by name from a base scenario, which fixes what all runs of a campaign share, and from
//! parameters given as text. Its runs are independent: each depends on its own random numbers alone.
//!
//! ```
//! use turncoat_core::message::MutationTable;
//! use turncoat_core::rng::{Purpose, Rng, run_seed};
//! use turncoat_core::scenario::Scenario;
//!
//! let base = Scenario::new("pbft");
//! let params = [("c".to_owned(), "2".to_owned()), ("d".to_owned(), "0".to_owned())];
//! // ByzzFuzz leaves it to the run which lies there are.
//! let lies = MutationTable::default();
//! let mut byzzfuzz = turncoat_strategies::make("byzzfuzz", &base, &params, &lies)?;
//! let scenario = byzzfuzz.next(7, &mut Rng::new(run_seed(0, 7), Purpose::Strategy));
//! assert_eq!(scenario.adversary.byzantine.len(), 1);
//! # Ok::<(), turncoat_strategies::StrategyError>(())
//! ```
#![forbid(unsafe_code)]

mod byzzfuzz;
mod cast;
mod divergence;
mod draw;
mod drift;
mod enumerate;
mod evolve;
mod lasting;
mod liars;
mod naive;
mod none;
mod params;
pub mod partitions;
mod portfolio;
mod random;
mod restarts;
mod stalls;
mod swarm;
mod twins;
mod two_faced;

pub use params::Param;

use params::Params;
use turncoat_core::ids::NodeId;
use turncoat_core::message::MutationTable;
use turncoat_core::scenario::Scenario;
use turncoat_core::strategy::Strategy;

/// A strategy as the command line knows it.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// What can be set, in the order in which help shows it.
    pub params: &'static [Param],
    make: Make,
}

type Make = fn(&Scenario, &Params<'_>) -> Result<Box<dyn Strategy + Send>, StrategyError>;

static ALL: [Info; 15] = [
    none::INFO,
    naive::INFO,
    random::INFO,
    byzzfuzz::INFO,
    restarts::INFO,
    drift::INFO,
    twins::INFO,
    two_faced::INFO,
    lasting::INFO,
    swarm::INFO,
    stalls::INFO,
    divergence::INFO,
    enumerate::INFO,
    portfolio::INFO,
    evolve::INFO,
];

/// All strategies, the simplest first.
pub fn all() -> &'static [Info] {
    &ALL
}

/// The strategy with this name, for a base scenario, and for a protocol whose messages allow these lies
/// ([`Entry::mutations`](turncoat_core::runner::Entry::mutations)).
///
/// Strategies other than `none` bring faults of their own: those of the base scenario are left out. Of a
/// parameter that is given more than once the last value counts.
pub fn make(
    name: &str,
    base: &Scenario,
    params: &[(String, String)],
    lies: &MutationTable,
) -> Result<Box<dyn Strategy + Send>, StrategyError> {
    let info =
        ALL.iter().find(|info| info.name == name).ok_or_else(|| StrategyError::Unknown(name.to_owned()))?;
    let params = Params::new(info, params, lies)?;
    let (n, clients, most) = (base.cluster.n, base.cluster.clients, NodeId::MAX);
    if n == 0 || n > most || clients > most {
        let why =
            format!("a cluster has 1 to {most} replicas and at most {most} clients, not {n} and {clients}");
        return Err(StrategyError::Unfit { strategy: info.name, why });
    }
    // What a saved run showed says nothing about the runs to come.
    let base = Scenario { expect: None, ..base.clone() };
    (info.make)(&base, &params)
}

/// A strategy that cannot be made, and what would be right.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StrategyError {
    /// No strategy has this name.
    #[error("no strategy `{0}`; there are: {names}", names = ALL.map(|info| info.name).join(", "))]
    Unknown(String),
    /// The strategy has no such parameter.
    #[error("{strategy} has no parameter `{param}`; it takes {}", params::list(.known))]
    UnknownParam {
        /// The strategy.
        strategy: &'static str,
        /// The parameter.
        param: String,
        /// Those that there are.
        known: &'static [Param],
    },
    /// The cluster tolerates no faulty replica.
    #[error("{strategy} needs a Byzantine replica, and f = 0: raise f, or allow more than f (--over-budget)")]
    NobodyMayLie {
        /// The strategy.
        strategy: &'static str,
    },
    /// A parameter has a value that means nothing.
    #[error("{strategy}: `{}={value}`: {why} ({}; default {})", .param.name, .param.about, .param.default)]
    BadValue {
        /// The strategy.
        strategy: &'static str,
        /// The parameter.
        param: &'static Param,
        /// Its value.
        value: String,
        /// What would be right.
        why: String,
    },
    /// The strategy cannot work with this base scenario.
    #[error("{strategy}: {why}")]
    Unfit {
        /// The strategy.
        strategy: &'static str,
        /// What would be right.
        why: String,
    },
}
