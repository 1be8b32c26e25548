//! How this process was started, for those who are to start it once more.

use std::env;
use std::path::Path;

use clap::Command;
use clap::builder::StyledStr;

use crate::registry;

/// The program, as people type it.
///
/// With protocols of one's own it is another binary in each crate. `cargo run` builds it again where cargo has started
/// it: who has mended the protocol does not want the old one.
pub(crate) fn program() -> String {
    if registry::own().is_empty() {
        return "turncoat".to_owned();
    }
    let binary = env::args().next().unwrap_or_default();
    let profile = Path::new(&binary).parent().and_then(Path::file_name).unwrap_or_default();
    match (env::var_os("CARGO"), profile.to_str()) {
        (Some(_), Some("debug")) => "cargo run --".to_owned(),
        (Some(_), Some("release")) => "cargo run --release --".to_owned(),
        _ => quoted(&binary),
    }
}

/// The command line with one more option, if it does not have it yet.
pub(crate) fn with(option: &str) -> String {
    let mut words: Vec<String> = env::args().skip(1).collect();
    if !words.iter().any(|word| word == option) {
        words.push(option.to_owned());
    }
    words.iter().fold(program(), |line, word| line + " " + &quoted(word))
}

/// A command whose help names the program as people type it.
pub(crate) fn renamed(mut command: Command) -> Command {
    let named = |text: &StyledStr| text.to_string().replace("turncoat ", &format!("{} ", program()));
    if let Some(text) = command.get_after_help().map(named) {
        command = command.after_help(text);
    }
    let command = command.mut_args(|arg| match arg.get_help().map(named) {
        Some(text) => arg.help(text),
        None => arg,
    });
    command.mut_subcommands(renamed)
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_a_quoted_word_as_one() {
        assert_eq!(quoted("network.loss=hold"), "network.loss=hold");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("it's two words"), r"'it'\''s two words'");
    }
}
