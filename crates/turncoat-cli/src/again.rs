//! How this process was started, for messages that say what to type next.

use std::env;
use std::path::Path;

use clap::Command;
use clap::builder::StyledStr;
use turncoat_lab::words::shell_word;

use crate::registry;

/// The program, as people type it.
///
/// A crate with protocols of its own has a binary of its own, behind the feature `cli` as in the template. If cargo has
/// started it, `cargo run` is named: it builds the protocol again after a fix.
pub(crate) fn program() -> String {
    if registry::own().is_empty() {
        return "turncoat".to_owned();
    }
    let binary = env::args().next().unwrap_or_default();
    let profile = Path::new(&binary).parent().and_then(Path::file_name).unwrap_or_default();
    match (env::var_os("CARGO"), profile.to_str()) {
        (Some(_), Some("debug")) => "cargo run --features cli --".to_owned(),
        (Some(_), Some("release")) => "cargo run --release --features cli --".to_owned(),
        _ => shell_word(&binary),
    }
}

/// The name of the program's file, for shells and manual pages.
pub(crate) fn binary() -> String {
    let own = || env::args().next().and_then(|path| Some(Path::new(&path).file_stem()?.to_str()?.to_owned()));
    match registry::own().is_empty() {
        true => "turncoat".to_owned(),
        false => own().unwrap_or_else(|| "turncoat".to_owned()),
    }
}

/// The command line, as people type it.
pub(crate) fn command() -> String {
    env::args().skip(1).fold(program(), |line, word| line + " " + &shell_word(&word))
}

/// The command line with one more option, if it does not have it yet.
pub(crate) fn with(option: &str) -> String {
    match env::args().skip(1).any(|word| word == option) {
        true => command(),
        false => command() + " " + &shell_word(option),
    }
}

/// A command whose help names the program as people type it, where it shows what to type.
pub(crate) fn renamed(mut command: Command, program: &str) -> Command {
    let named = |text: &StyledStr| {
        ["`", ": ", "  ", "&& "].iter().fold(text.to_string(), |text, before| {
            text.replace(&format!("{before}turncoat "), &format!("{before}{program} "))
        })
    };
    if let Some(text) = command.get_after_help().map(named) {
        command = command.after_help(text);
    }
    let command = command.mut_args(|arg| match arg.get_help().map(named) {
        Some(text) => arg.help(text),
        None => arg,
    });
    command.mut_subcommands(|command| renamed(command, program))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::Cli;

    #[test]
    fn help_says_what_to_type() {
        let mut command = renamed(Cli::command(), "cargo run --");
        let mut help =
            |name| command.find_subcommand_mut(name).expect("a command").render_long_help().to_string();
        let fuzz = help("fuzz");
        for words in
            ["Example: cargo run -- fuzz pbft", "    cargo run -- fuzz --bug", "`cargo run -- list bugs`"]
        {
            assert!(fuzz.contains(words), "no {words} in {fuzz}");
        }
        let new = help("new");
        assert!(!fuzz.contains("turncoat ") && new.contains("sources of turncoat to depend on"), "{new}");
    }
}
