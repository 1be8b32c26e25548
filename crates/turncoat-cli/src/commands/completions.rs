//! `turncoat completions`: what shells need to complete its commands and options.

use anyhow::Result;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::exit::Exit;
use crate::{Cli, again, out};

const NOTES: &str = "\
Load the output in your shell's start-up file, or put it where the shell looks for completions.

Example: turncoat completions bash \\
           > ~/.local/share/bash-completion/completions/turncoat
         turncoat completions zsh > ~/.zfunc/_turncoat
         turncoat completions fish > ~/.config/fish/completions/turncoat.fish";

/// Print completions for a shell
#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(crate) fn completions(args: &Args) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), again::binary(), &mut script);
    out::exact(String::from_utf8_lossy(&script).trim_end())?;
    Ok(Exit::Clean)
}
