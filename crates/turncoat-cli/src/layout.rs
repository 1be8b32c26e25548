//! Text within the width of a terminal. Into a pipe or a file it goes as it is, one line for each item.

use std::io::{stderr, stdout};

use turncoat_lab::words::packed;

/// The narrowest column that words are put into.
const NARROWEST: usize = 24;

/// The width of the terminal that results go to, if they go to one.
pub(crate) fn width() -> Option<usize> {
    terminal_size::terminal_size_of(stdout()).map(|(width, _)| usize::from(width.0))
}

/// The width of the terminal that messages go to, if they go to one.
pub(crate) fn width_of_messages() -> Option<usize> {
    terminal_size::terminal_size_of(stderr()).map(|(width, _)| usize::from(width.0))
}

/// A beginning and words that go on below each other, not below the beginning.
pub(crate) fn hung(head: &str, text: &str, width: usize) -> String {
    let column = head.chars().count();
    if column + text.chars().count() <= width {
        return format!("{head}{text}");
    }
    let fits = column + NARROWEST <= width;
    let indent = if fits { column } else { indented(head) + 4 };
    let lines = wrapped(text, width.saturating_sub(indent).max(NARROWEST));
    let mut all = if fits { head.to_owned() } else { format!("{}\n{:indent$}", head.trim_end(), "") };
    all += &lines.join(&format!("\n{:indent$}", ""));
    all
}

/// Lines of words, each line that is too long broken between two of them and indented a little more.
pub(crate) fn folded(text: &str, width: usize) -> String {
    let fold = |line: &str| {
        let indent = indented(line);
        let head = &line[..indent];
        if line.chars().count() <= width {
            return line.to_owned();
        }
        let lines = wrapped(line.trim_start(), width.saturating_sub(indent + 2).max(NARROWEST));
        format!("{head}{}", lines.join(&format!("\n{head}  ")))
    };
    text.split('\n').map(fold).collect::<Vec<_>>().join("\n")
}

/// How many spaces a line begins with.
fn indented(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Words, with the signs of their units: nobody looks for a `%` on the next line.
fn pieces(text: &str) -> Vec<&str> {
    let ends = text.match_indices(' ').map(|(at, _)| at).filter(|&at| !text[at + 1..].starts_with('%'));
    let starts = [0].into_iter().chain(ends.clone().map(|at| at + 1));
    starts.zip(ends.chain([text.len()])).map(|(from, to)| &text[from..to]).collect()
}

/// Words in lines of at most so many letters, unless a word is longer.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    packed(pieces(text), " ", width)
}

/// Markdown in which tables have straight columns, and those that are too wide are cut into parts with the first column each.
pub(crate) fn markdown(text: &str, width: usize) -> String {
    let mut all = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if !line.starts_with('|') {
            all.push(folded(line, width));
            continue;
        }
        let mut rows = vec![cells(line)];
        while let Some(line) = lines.next_if(|line| line.starts_with('|')) {
            rows.push(cells(line));
        }
        rows.retain(|row| !row.iter().all(|cell| !cell.is_empty() && cell.chars().all(|c| "-:".contains(c))));
        all.push(table(&rows, width, true));
    }
    all.join("\n")
}

/// The cells of a row of Markdown.
fn cells(line: &str) -> Vec<&str> {
    line.trim().trim_start_matches('|').trim_end_matches('|').split('|').map(str::trim).collect()
}

/// Rows below a header, in as many parts as it takes, with or without a rule between them.
pub(crate) fn table(rows: &[Vec<&str>], width: usize, ruled: bool) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let cell = |row: &[&str], column: usize| row.get(column).copied().unwrap_or_default().to_owned();
    let room = |column| rows.iter().map(|row| cell(row, column).chars().count()).max().unwrap_or_default();
    // A first column that leaves no room for the widest of the others is cut.
    let widest = (1..columns).map(|column| 2 + room(column)).max().unwrap_or_default();
    let first = room(0).min(width.saturating_sub(widest).max(NARROWEST)).min(width / 2);
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let mut used = 0;
    for column in 1..columns {
        if parts.is_empty() || used + 2 + room(column) > width {
            parts.push(Vec::new());
            used = first;
        }
        used += 2 + room(column);
        parts.last_mut().into_iter().for_each(|part| part.push(column));
    }
    let line = |row: &Vec<&str>, part: &[usize]| {
        let name: String = match cell(row, 0) {
            name if name.chars().count() > first => {
                name.chars().take(first - 2).chain("..".chars()).collect()
            }
            name => name,
        };
        let others = part.iter().map(|&column| format!("  {:1$}", cell(row, column), room(column)));
        format!("{name:first$}{}", others.collect::<String>()).trim_end().to_owned()
    };
    let part = |part: &Vec<usize>| {
        let mut lines: Vec<String> = rows.iter().map(|row| line(row, part)).collect();
        if ruled {
            let wide = first + part.iter().map(|&column| 2 + room(column)).sum::<usize>();
            lines.insert(1.min(lines.len()), "-".repeat(wide));
        }
        lines.join("\n")
    };
    parts.iter().map(part).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_on_below_each_other() {
        let text = "no two correct replicas decide different values in one slot";
        assert_eq!(hung("  property  ", text, 100), format!("  property  {text}"));
        assert_eq!(
            hung("  property  ", text, 50),
            "  property  no two correct replicas decide\n            different values in one slot"
        );
        // There is no room beside so long a name.
        assert_eq!(
            hung("a-name-that-takes-all-the-room  ", text, 40),
            "a-name-that-takes-all-the-room\n    no two correct replicas decide\n    different values in one slot"
        );
    }

    #[test]
    fn a_line_that_is_too_long_is_folded_and_others_stay() {
        assert_eq!(
            folded("short\n  one two three four five six seven", 30),
            "short\n  one two three four five\n    six seven"
        );
        assert_eq!(folded("", 10), "");
        assert_eq!(
            folded("at most some hundred 0.04 % of runs", 26),
            "at most some hundred\n  0.04 % of runs"
        );
        let path = "turncoat-corpus/pbft-java-agreement-6c37d408.toml";
        assert_eq!(folded(path, 20), path);
    }

    #[test]
    fn a_wide_table_is_cut_into_parts() {
        let text = "Title:\n\n| name | first | second |\n|---|---|---|\n| a | 1 | 2 |\n| bcd | 10 | 20 |";
        let whole = "Title:\n\nname  first  second\n-------------------\na     1      2\nbcd   10     20";
        assert_eq!(markdown(text, 40), whole);
        let parts = "Title:\n\nname  first\n-----------\na     1\nbcd   10\n\nname  second\n------------\na     2\nbcd   20";
        assert_eq!(markdown(text, 14), parts);
    }
}
