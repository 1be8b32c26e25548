//! The library as its users meet it: a protocol of their own, tests of it, counterexamples made small and told, and proofs.

#[path = "../../examples/bracha.rs"]
#[expect(dead_code, reason = "its `main`")]
mod bracha;

/// The library and the tests of the crate that readers of the book make. Its name is `mine`.
#[path = "../../examples/decree/protocol.rs"]
#[expect(unreachable_pub, reason = "in a crate of its own this file is the library")]
mod decree;
#[path = "../../examples/decree/tests.rs"]
mod decree_tests;
extern crate self as mine;
use decree::Decree;

mod broadcast;
mod check;
mod claims;
mod explain;
mod lasso;
mod schema;
mod searches;
mod shrink;
mod shrink_model;
mod stances;
mod twins;
