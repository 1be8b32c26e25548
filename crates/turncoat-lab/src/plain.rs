//! Text of others, made harmless: names, operations and messages of crashes come from files that anybody may have written.

/// The text as people may see it. Characters that move the cursor, change colours or reorder letters are spelled out. So
/// are the beginnings of lines that a CI runner would obey: `::error::` and `##[error]` of GitHub Actions.
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut start = true;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if start && rest.starts_with("::") || rest.starts_with("##[") {
            plain.push('\\');
        }
        match c {
            '\n' | '\t' => plain.push(c),
            c if c.is_control() || reorders(c) => plain.extend(c.escape_unicode()),
            c => plain.push(c),
        }
        start = c == '\n' || start && c.is_whitespace();
        rest = &rest[c.len_utf8()..];
    }
    plain
}

/// Whether a character breaks lines or changes their direction.
const fn reorders(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moves_the_cursor() {
        assert_eq!(plain("\u{1b}]0;x\u{7}"), "\\u{1b}]0;x\\u{7}");
        assert_eq!(plain("a\rb\u{9b}1m\u{202e}c\u{7f}"), "a\\u{d}b\\u{9b}1m\\u{202e}c\\u{7f}");
        assert_eq!(plain("Käse,\n\tZeile 2: a::b # [c]"), "Käse,\n\tZeile 2: a::b # [c]");
    }

    #[test]
    fn no_line_is_a_command_for_a_runner() {
        assert_eq!(plain("set\n::error::pwn"), "set\n\\::error::pwn");
        assert_eq!(plain("  ::warning::"), "  \\::warning::");
        assert_eq!(plain("so ##[error]pwn"), "so \\##[error]pwn");
        assert_eq!(plain("\u{2003}::error::"), "\u{2003}\\::error::");
    }
}
