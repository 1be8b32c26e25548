//! What the counts of campaigns say, and how sure one may be.
//!
//! Pure functions on plain data. Every number that is estimated comes with an interval, every comparison with
//! an effect size, and a bug that was never seen with the highest rate that it may still have.
//!
//! | question | answer |
//! |---|---|
//! | how often does a strategy find a bug in one run? | [`Rate`] |
//! | does one find it more often than another? | [`compare`], or [`paired_difference`] and [`mcnemar`] if runs are paired |
//! | how much work until the first bug? | [`Curve`], and [`log_rank`] for two of them |
//! | is one measure larger than another? | [`mann_whitney`], and [`A12`] for how much |
//! | what if there are many such questions? | [`holm`], [`benjamini_hochberg`] |
//! | how many runs does it take? | [`Demand`] |
//!
//! A run is an observation of its own only if the strategy does not learn: see [`Unit`].
//!
//! ```
//! use turncoat_lab::stats::{Rate, fisher};
//!
//! let (byzzfuzz, random) = (Rate::new(60, 1000), Rate::new(0, 1000));
//! assert_eq!(byzzfuzz.to_string(), "6.0 % [4.7, 7.6]");
//! assert_eq!(random.to_string(), "0 of 1000: at most 0.38 %");
//! assert!(fisher(byzzfuzz, random) < 0.001);
//! ```

mod a12;
mod exact;
mod interval;
mod many;
mod normal;
mod power;
mod rank_sum;
mod rate;
mod survival;
mod two_curves;
mod two_rates;
mod unit;

pub use a12::{A12, Magnitude};
pub use interval::{Estimate, Interval, LEVEL};
pub use many::{benjamini_hochberg, holm};
pub use power::Demand;
pub use rank_sum::{RankSum, mann_whitney};
pub use rate::Rate;
#[cfg(feature = "store")]
pub(crate) use rate::digits;
pub use survival::{Curve, Mean, Median, Step, Trial};
pub use two_curves::{LogRank, log_rank, restricted_mean_difference};
pub use two_rates::{fisher, mcnemar, odds_ratio, paired_difference, risk_difference};
pub use unit::{Arm, Comparison, Unit, UnitError, compare};
