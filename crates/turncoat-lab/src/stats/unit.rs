//! What counts as one observation, and the comparison that asks first.

use turncoat_core::strategy::Strategy;

use super::interval::Estimate;
use super::rate::Rate;
use super::two_rates::{fisher, odds_ratio, risk_difference};

/// What counts as one observation. Those of a sample must not depend on each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// A single run.
    Run,
    /// A whole campaign with a seed of its own.
    Campaign,
}

/// A strategy as one side of a comparison.
#[derive(Clone, PartialEq, Debug)]
pub struct Arm {
    /// The name of the strategy.
    pub name: String,
    /// The smallest unit that is independent under it: see [`Unit::of`].
    pub independent: Unit,
    /// How often it found the bug.
    pub rate: Rate,
}

/// How two rates compare.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Comparison {
    /// The first rate less the second.
    pub difference: Estimate,
    /// The odds of the first over those of the second.
    pub odds_ratio: Estimate,
    /// The p-value of Fisher's test.
    pub p: f64,
}

/// Runs were counted that depend on each other.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "`{name}` learns from its runs, so they are not independent and must not be compared one by one: \
     compare campaigns, each with a seed of its own"
)]
pub struct UnitError {
    name: String,
}

impl Unit {
    /// The smallest unit that is independent under a strategy: the run, unless it [learns](Strategy::learns).
    pub fn of(strategy: &dyn Strategy) -> Self {
        if strategy.learns() { Self::Campaign } else { Self::Run }
    }

    /// Whether this unit may be counted for an arm.
    pub fn check(self, arm: &Arm) -> Result<(), UnitError> {
        match (self, arm.independent) {
            (Self::Run, Self::Campaign) => Err(UnitError { name: arm.name.clone() }),
            (Self::Run, Self::Run) | (Self::Campaign, _) => Ok(()),
        }
    }
}

/// Compares the rates of two arms, in which the given unit was counted.
///
/// ```
/// use turncoat_lab::stats::{Arm, Rate, Unit, compare};
///
/// let random = Arm { name: "random".into(), independent: Unit::Run, rate: Rate::new(4, 200) };
/// let guided = Arm { name: "guided".into(), independent: Unit::Campaign, rate: Rate::new(12, 200) };
/// assert!(compare(Unit::Campaign, &guided, &random, 0.95).unwrap().p > 0.05);
///
/// let error = compare(Unit::Run, &guided, &random, 0.95).unwrap_err();
/// assert!(error.to_string().starts_with("`guided` learns from its runs, so they are not independent"));
/// ```
pub fn compare(counted: Unit, first: &Arm, second: &Arm, level: f64) -> Result<Comparison, UnitError> {
    counted.check(first)?;
    counted.check(second)?;
    Ok(Comparison {
        difference: risk_difference(first.rate, second.rate, level),
        odds_ratio: odds_ratio(first.rate, second.rate, level),
        p: fisher(first.rate, second.rate),
    })
}
