//! The command `turncoat`.
fn main() {}
