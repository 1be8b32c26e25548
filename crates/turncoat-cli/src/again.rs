//! The command line that started this process, to be given once more.

use std::env;

/// The command line with one more option, if it does not have it yet.
pub(crate) fn with(option: &str) -> String {
    let mut words: Vec<String> = env::args().skip(1).collect();
    if !words.iter().any(|word| word == option) {
        words.push(option.to_owned());
    }
    let words = words.iter().map(|word| quoted(word));
    words.fold("turncoat".to_owned(), |line, word| line + " " + &word)
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
