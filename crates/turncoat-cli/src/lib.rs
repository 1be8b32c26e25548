//! The command `turncoat`: finds Byzantine bugs in consensus protocols.
//!
//! It is a library so that a crate with a protocol of its own is the same command with one line, the whole of its
//! `main.rs`: see [`registry!`].
#![forbid(unsafe_code)]

mod again;
mod campaign;
mod campaign_store;
mod cases;
mod clock;
mod commands;
mod config;
mod config_file;
mod digest;
mod exit;
mod expect;
mod explore;
mod github;
mod junit;
#[cfg(test)]
mod malformed;
mod out;
mod output;
mod progress;
mod registry;
mod rows;
mod searcher;
mod series;
mod setup;
mod show;
mod stop;
mod tally;
mod task;

use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

pub use turncoat_core::runner::Entry;
use turncoat_lab::files;

use crate::commands::{
    beside, check, compare, corpus, experiment, explain, fuzz, lasso, list, merge, new, plan, replay, report,
    run, shard, shrink, speed, suite, tune,
};
use crate::exit::Exit;

/// `main` of a crate with protocols of its own: all of `turncoat`, with these protocols beside the built-in ones.
///
/// ```no_run
/// # mod demo { pub use turncoat_protocols::pbft::Pbft as Demo; }
/// # mod hidden {
/// use crate::demo::Demo;
/// turncoat_cli::registry![Demo];
/// # }
/// # fn main() {}
/// ```
///
/// Variants, which have a name and some keys of the configuration set, come after a semicolon:
/// `registry![Demo; Entry::variant::<Demo>("demo-4", "four at a time", &Config { batch: 4 })]`.
#[macro_export]
macro_rules! registry {
    ($($protocol:ty),+ $(,)? $(; $($variant:expr),+ $(,)?)?) => {
        fn main() -> ::std::process::ExitCode {
            $crate::main(vec![$($crate::Entry::of::<$protocol>(),)+ $($($variant,)+)?])
        }
    };
}

/// Finds Byzantine bugs in consensus protocols
#[derive(Parser)]
#[command(name = "turncoat", version, after_help = exit::TABLE)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    New(new::Args),
    List(list::Args),
    Check(check::Args),
    Run(run::Args),
    Fuzz(fuzz::Args),
    Replay(replay::Args),
    Explain(explain::Args),
    Explore(commands::explore::Args),
    Lasso(lasso::Args),
    Beside(beside::Args),
    Shrink(shrink::Args),
    Corpus(corpus::Args),
    Suite(suite::Args),
    Experiment(experiment::Args),
    Tune(tune::Args),
    Report(report::Args),
    Compare(compare::Args),
    Plan(plan::Args),
    Shard(shard::Args),
    Merge(merge::Args),
    Speed(speed::Args),
}

/// The command, with protocols of one's own beside the built-in ones.
pub fn main(own: Vec<Entry>) -> ExitCode {
    let named = !own.is_empty();
    let exit = registry::register(own).and_then(|()| {
        let command = Cli::command();
        let command = if named { again::renamed(command, &again::program()) } else { command };
        let matches = command.try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
        let cli = match matches {
            Ok(cli) => cli,
            Err(words) => return said(&words),
        };
        catch_unwind(AssertUnwindSafe(|| dispatch(cli.command))).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("panic");
            out::log(format_args!("error: a bug in turncoat itself, please report it: {text}"));
            Ok(Exit::Internal)
        })
    });
    let exit = exit.unwrap_or_else(|error| {
        out::log(format_args!("error: {error:#}"));
        exit::of(&error)
    });
    exit.into()
}

/// Prints help, or what is wrong with the command line.
fn said(words: &clap::Error) -> Result<Exit> {
    match words.print() {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(out::Unwritable::from(error).into()),
        _ if words.use_stderr() => Ok(Exit::BadInput),
        _ => Ok(Exit::Clean),
    }
}

fn dispatch(command: Option<Command>) -> Result<Exit> {
    match command {
        None => {
            out::line(Cli::command().render_help())?;
            Ok(Exit::Clean)
        }
        Some(Command::New(args)) => new::new(&args),
        Some(Command::List(args)) => list::list(&args),
        Some(Command::Check(args)) => check::check(&args),
        Some(Command::Run(args)) => run::run(&args),
        Some(Command::Fuzz(args)) => fuzz::fuzz(&args),
        Some(Command::Replay(args)) => replay::replay(&args),
        Some(Command::Explain(args)) => explain::explain(&args),
        Some(Command::Explore(args)) => commands::explore::explore(&args),
        Some(Command::Lasso(args)) => lasso::lasso(&args),
        Some(Command::Beside(args)) => beside::beside(&args),
        Some(Command::Shrink(args)) => shrink::shrink(&args),
        Some(Command::Corpus(args)) => corpus::corpus(&args),
        Some(Command::Suite(args)) => suite::suite(&args),
        Some(Command::Experiment(args)) => experiment::experiment(&args),
        Some(Command::Tune(args)) => tune::tune(&args),
        Some(Command::Report(args)) => report::report(&args),
        Some(Command::Compare(args)) => compare::compare(&args),
        Some(Command::Plan(args)) => plan::plan(&args),
        Some(Command::Shard(args)) => shard::shard(&args),
        Some(Command::Merge(args)) => merge::merge(&args),
        Some(Command::Speed(args)) => speed::speed(&args),
    }
}
