//! `turncoat man`: its manual pages.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::CommandFactory;

use crate::exit::Exit;
use crate::{Cli, out};

const NOTES: &str = "\
Example: turncoat man ~/.local/share/man/man1 && man turncoat-fuzz";

/// Write the manual pages, one for each command
#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub(crate) struct Args {
    /// The folder to write to; created if it does not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(crate) fn man(args: &Args) -> Result<Exit> {
    let folder = args.folder.display();
    fs::create_dir_all(&args.folder)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), &args.folder))
        .with_context(|| format!("cannot write to {folder}"))?;
    out::line(format_args!("manual pages written to {folder}"))?;
    Ok(Exit::Clean)
}
