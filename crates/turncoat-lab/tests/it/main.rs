//! The lab, on toys whose bugs are known.

mod campaigns;
mod preflight;
#[cfg(feature = "store")]
mod report;
mod stats;
mod suite;
mod toy;
