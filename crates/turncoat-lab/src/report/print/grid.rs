//! A table of texts, and how Markdown and LaTeX write it down.

use std::fmt::Write;

use serde::Serialize;

/// A head and rows below it. The first column holds names, the others hold numbers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(super) struct Grid {
    pub(super) caption: String,
    pub(super) head: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Grid {
    pub(super) fn new(caption: impl Into<String>, head: &[&str]) -> Self {
        let head = head.iter().map(|&text| text.to_owned()).collect();
        Self { caption: caption.into(), head, rows: Vec::new() }
    }

    pub(super) fn markdown(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| markdown_text(cell)).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let mut text = line(&self.head);
        let _ = writeln!(text, "|---|{}", "---:|".repeat(self.head.len() - 1));
        self.rows.iter().for_each(|row| text.push_str(&line(row)));
        text
    }

    /// With the rules of the package booktabs.
    pub(super) fn latex(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| latex_text(cell)).collect();
            format!("  {} \\\\\n", cells.join(" & "))
        };
        let columns = "r".repeat(self.head.len() - 1);
        let mut text = format!("\\begin{{table}}\n\\caption{{{}}}\n", latex_text(&self.caption));
        let _ =
            write!(text, "\\begin{{tabular}}{{l{columns}}}\n  \\toprule\n{}  \\midrule\n", line(&self.head));
        self.rows.iter().for_each(|row| text.push_str(&line(row)));
        text.push_str("  \\bottomrule\n\\end{tabular}\n\\end{table}\n");
        text
    }
}

/// Text that stays in its cell and is no markup.
pub(super) fn markdown_text(text: &str) -> String {
    let mut escaped = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            // What follows would make a link of it.
            ']' if rest.as_str().starts_with(['(', '[', ':']) => escaped.push_str("\\]"),
            '|' | '\\' | '`' | '*' | '_' | '<' => escaped.extend(['\\', c]),
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Text that LaTeX prints as it is.
pub(super) fn latex_text(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => escaped.extend(['\\', c]),
            '\\' => escaped.push_str("\\textbackslash{}"),
            '~' => escaped.push_str("\\textasciitilde{}"),
            '^' => escaped.push_str("\\textasciicircum{}"),
            '<' => escaped.push_str("$<$"),
            '>' => escaped.push_str("$>$"),
            '\u{2264}' => escaped.push_str("$\\leq$"),
            '\u{201c}' => escaped.push_str("``"),
            '\u{201d}' => escaped.push_str("''"),
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_no_link() {
        assert_eq!(markdown_text("[x](javascript:0)"), "[x\\](javascript:0)");
        assert_eq!(markdown_text("[x]: y [a][b] [0.1, 0.2]"), "[x\\]: y [a\\][b] [0.1, 0.2]");
    }

    #[test]
    fn texts_stay_in_their_cells() {
        let mut grid = Grid::new("100 % of_it", &["row", "k"]);
        grid.rows.push(vec!["a|b & {c}\n\\d ~ ^".to_owned(), "< 0.001".to_owned()]);
        assert_eq!(grid.markdown(), "| row | k |\n|---|---:|\n| a\\|b & {c} \\\\d ~ ^ | \\< 0.001 |\n");
        let latex = grid.latex();
        assert!(latex.contains("\\caption{100 \\% of\\_it}"), "{latex}");
        let row =
            "  a|b \\& \\{c\\} \\textbackslash{}d \\textasciitilde{} \\textasciicircum{} & $<$ 0.001 \\\\\n";
        assert!(latex.contains(row), "{latex}");
    }
}
