//! The command `turncoat` with this protocol in it: `cargo run -- help`.
turncoat::registry![demo::Board];
