//! The command `turncoat` with the protocol `decree` in it:
//! `cargo run --release -p turncoat --features cli --example decree -- fuzz decree --with forget-prepared`.
//!
//! The book's tutorial on views and timers puts the same files into a crate that `turncoat new mine` wrote: `protocol.rs` is its
//! `src/lib.rs`, and `tests.rs` its `tests/mine.rs`.

#[expect(unreachable_pub, reason = "in a crate of its own this file is the library")]
mod protocol;

turncoat::registry![protocol::Decree];
