//! The laboratory: campaigns of many runs, in parallel, whose results do not depend on the number of threads;
//! and the suite of known bugs, each with the runs that prove it.
//!
//! The lab knows no protocol and no strategy. It is given an [`Entry`](turncoat_core::runner::Entry) and a
//! function that makes a [`Strategy`](turncoat_core::strategy::Strategy); see [`campaign::Campaign`] and
//! [`suite::verify`].
#![forbid(unsafe_code)]

pub mod beside;
pub mod campaign;
#[cfg(feature = "store")]
pub mod certificate;
pub mod corpus;
pub mod covered;
pub mod experiment;
pub mod explain;
pub mod files;
pub mod lasso;
pub mod liveness;
mod number;
mod order;
pub mod plain;
#[cfg(feature = "store")]
pub mod plan;
pub mod preflight;
#[cfg(feature = "store")]
pub mod report;
pub mod shrink;
pub mod signature;
pub mod stats;
#[cfg(feature = "store")]
pub mod store;
pub mod suite;
pub mod summary;
pub mod suspects;
pub mod tune;
pub mod words;
