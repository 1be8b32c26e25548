//! The command `turncoat` with this protocol in it: `cargo run --features cli -- help`.
turncoat::registry![demo::Board];
