//! The command `turncoat`: finds Byzantine bugs in consensus protocols.
//!
//! It is a library so that a crate with a protocol of its own is the same command with one line, the whole of its
//! `main.rs`: see [`registry!`].
#![forbid(unsafe_code)]

mod again;
mod campaign;
mod campaign_store;
mod cases;
mod certificate;
mod clock;
mod commands;
mod config;
mod config_file;
mod digest;
mod exit;
mod expect;
mod explore;
mod github;
mod help;
mod junit;
mod layout;
#[cfg(test)]
mod malformed;
mod named;
mod numbers;
mod out;
mod output;
mod progress;
mod records;
mod registry;
mod rows;
mod searcher;
mod series;
mod setup;
mod show;
mod stop;
mod tally;
mod task;

use std::env;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use anyhow::Result;
use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

pub use turncoat_core::runner::Entry;
use turncoat_lab::files;

use crate::commands::{
    beside, check, compare, completions, corpus, experiment, explain, fuzz, lasso, list, man, merge, new,
    plan, replay, report, run, shard, shrink, speed, suite, tune,
};
use crate::exit::Exit;
use crate::out::Tone;

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

    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: ColorChoice,

    /// Make this mistake in a built-in protocol: a name from `turncoat list slips`
    #[cfg(feature = "mutants")]
    #[arg(long, global = true, value_name = "NAME")]
    slip: Option<String>,
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
    Completions(completions::Args),
    Man(man::Args),
}

/// The command, with your own protocols beside the built-in ones.
pub fn main(own: Vec<Entry>) -> ExitCode {
    let named = !own.is_empty();
    let exit = registry::register(own).and_then(|()| {
        let mut command = command(named);
        let matches = command.try_get_matches_from_mut(env::args_os());
        let cli = match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
            Ok(Cli { command: None, .. }) => return said(command.print_help(), Exit::Clean),
            Ok(cli) => cli,
            Err(words) => {
                return said(words.print(), if words.use_stderr() { Exit::BadInput } else { Exit::Clean });
            }
        };
        #[cfg(feature = "mutants")]
        turncoat_protocols::slips::select(cli.slip.as_deref()).map_err(anyhow::Error::msg)?;
        catch_unwind(AssertUnwindSafe(|| dispatch(cli.command))).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("panic");
            out::complain(
                Tone::Bad,
                "error",
                format_args!("a bug in turncoat itself, please report it: {text}"),
            );
            Ok(Exit::Internal)
        })
    });
    let exit = exit.unwrap_or_else(|error| {
        out::complain(Tone::Bad, "error", format_args!("{error:#}"));
        exit::of(&error)
    });
    exit.into()
}

/// The command line, with colours as asked for: help and errors are printed before options are read.
fn command(named: bool) -> clap::Command {
    let color = color(env::args());
    match color {
        ColorChoice::Auto => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
    }
    .write_global();
    let command = negative(Cli::command()).color(color).max_term_width(100);
    let command = if named { again::renamed(command, &again::program()) } else { command };
    help::grouped(command)
}

/// The command with options that take `-1` for a number: each says then what it wants instead.
fn negative(command: clap::Command) -> clap::Command {
    let takes = |arg: clap::Arg| match arg.get_action().takes_values() {
        true => arg.allow_negative_numbers(true),
        false => arg,
    };
    command.mut_args(takes).mut_subcommands(negative)
}

/// What `--color` says, as far as it can be told without reading all options.
fn color(args: impl Iterator<Item = String>) -> ColorChoice {
    let args: Vec<String> = args.take_while(|arg| arg != "--").collect();
    let apart = args.windows(2).filter(|pair| pair[0] == "--color").map(|pair| pair[1].as_str());
    let together = args.iter().filter_map(|arg| arg.strip_prefix("--color="));
    let value = apart.chain(together).last().unwrap_or_default();
    ColorChoice::from_str(value, false).unwrap_or_default()
}

/// Help, or what is wrong with the command line, was printed.
fn said(printed: std::io::Result<()>, exit: Exit) -> Result<Exit> {
    match printed {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(out::Unwritable::from(error).into()),
        _ => Ok(exit),
    }
}

fn dispatch(command: Option<Command>) -> Result<Exit> {
    match command {
        // Help was printed.
        None => Ok(Exit::Clean),
        Some(Command::Completions(args)) => completions::completions(&args),
        Some(Command::Man(args)) => man::man(&args),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_known_before_options_are_read() {
        let color = |line: &str| color(line.split(' ').map(str::to_owned));
        assert_eq!(color("turncoat --color never fuzz"), ColorChoice::Never);
        assert_eq!(color("turncoat fuzz pbft --color=always"), ColorChoice::Always);
        assert_eq!(color("turncoat fuzz pbft"), ColorChoice::Auto);
        assert_eq!(color("turncoat --color pink"), ColorChoice::Auto);
    }

    #[test]
    fn options_of_one_command_do_not_contradict_each_other() {
        command(false).debug_assert();
    }
}
