//! The library as its users meet it: a protocol of their own, tests of it, counterexamples made small and told, and proofs.

#[path = "../../examples/bracha.rs"]
#[allow(dead_code, reason = "its `main`")]
mod bracha;

mod broadcast;
mod check;
mod claims;
mod explain;
mod lasso;
mod schema;
mod shrink;
mod shrink_model;
mod twins;
