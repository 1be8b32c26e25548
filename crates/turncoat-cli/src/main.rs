//! The command `turncoat`, with the protocols that come with it.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    turncoat_cli::main(Vec::new())
}
