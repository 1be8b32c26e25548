//! The command `turncoat`: finds Byzantine bugs in consensus protocols.
#![forbid(unsafe_code)]

mod again;
mod campaign;
mod cases;
mod clock;
mod commands;
mod config;
mod config_file;
mod exit;
mod expect;
mod files;
mod github;
mod junit;
mod out;
mod output;
mod progress;
mod registry;
mod rows;
mod searcher;
mod setup;
mod shelf;
mod show;
mod stop;
mod tally;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand};

use crate::commands::{
    compare, experiment, explain, fuzz, list, replay, report, run, shrink, speed, suite, tune,
};
use crate::exit::Exit;

/// Finds Byzantine bugs in consensus protocols
#[derive(Parser)]
#[command(name = "turncoat", version, after_help = exit::TABLE)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    List(list::Args),
    Run(run::Args),
    Fuzz(fuzz::Args),
    Replay(replay::Args),
    Explain(explain::Args),
    Shrink(shrink::Args),
    Suite(suite::Args),
    Experiment(experiment::Args),
    Tune(tune::Args),
    Report(report::Args),
    Compare(compare::Args),
    Speed(speed::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let exit = match catch_unwind(AssertUnwindSafe(|| dispatch(cli.command))) {
        Ok(Ok(exit)) => exit,
        Ok(Err(error)) => {
            out::log(format_args!("error: {error:#}"));
            exit::of(&error)
        }
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("panic");
            out::log(format_args!("error: a bug in turncoat itself, please report it: {text}"));
            Exit::Internal
        }
    };
    exit.into()
}

fn dispatch(command: Option<Command>) -> Result<Exit> {
    match command {
        None => {
            out::line(Cli::command().render_help())?;
            Ok(Exit::Clean)
        }
        Some(Command::List(args)) => list::list(&args),
        Some(Command::Run(args)) => run::run(&args),
        Some(Command::Fuzz(args)) => fuzz::fuzz(&args),
        Some(Command::Replay(args)) => replay::replay(&args),
        Some(Command::Explain(args)) => explain::explain(&args),
        Some(Command::Shrink(args)) => shrink::shrink(&args),
        Some(Command::Suite(args)) => suite::suite(&args),
        Some(Command::Experiment(args)) => experiment::experiment(&args),
        Some(Command::Tune(args)) => tune::tune(&args),
        Some(Command::Report(args)) => report::report(&args),
        Some(Command::Compare(args)) => compare::compare(&args),
        Some(Command::Speed(args)) => speed::speed(&args),
    }
}
