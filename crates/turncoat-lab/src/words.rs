//! Small words: lists, counts, lines.

use std::fmt::Display;

/// `p1`, `p1 and p2`, `p1, p2 and p3`; each once.
pub fn and<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    let mut words: Vec<String> = Vec::new();
    for item in items {
        let word = item.to_string();
        if !words.contains(&word) {
            words.push(word);
        }
    }
    match words.split_last() {
        None => "nobody".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

/// A count with its noun: `1 reply`, `2 replies`.
pub fn count(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// `once`, `twice`, `3 times`.
pub fn often(count: usize) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        many => format!("{many} times"),
    }
}

/// A sentence starts with a capital letter, unless that is the name of a node.
pub fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    if chars.clone().nth(1).is_some_and(|second| second.is_ascii_digit()) {
        return text.to_owned();
    }
    chars.next().map(|first| first.to_uppercase().collect::<String>() + chars.as_str()).unwrap_or_default()
}

/// Lines of at most so many columns.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    packed(text.split_whitespace(), " ", width)
}

/// Lines of at most so many columns, broken between items only.
pub fn packed<'a>(items: impl IntoIterator<Item = &'a str>, separator: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for item in items {
        match lines.last_mut() {
            Some(last) if last.is_empty() => last.push_str(item),
            Some(last) if last.chars().count() + separator.len() + item.chars().count() <= width => {
                last.extend([separator, item]);
            }
            _ => lines.push(item.to_owned()),
        }
    }
    lines
}

/// A word as a shell takes it.
pub fn shell_word(word: &str) -> String {
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
        assert_eq!(shell_word("network.loss=hold"), "network.loss=hold");
        assert_eq!(shell_word(""), "''");
        assert_eq!(shell_word("it's two words"), r"'it'\''s two words'");
    }
}
