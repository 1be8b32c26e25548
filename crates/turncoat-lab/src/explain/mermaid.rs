//! A chart for Mermaid, which draws it wherever Markdown is shown.

use std::fmt::Write;

use turncoat_core::ids::SeatName;

use super::chart::{Arrow, Chart, Item, Mark, Sign};

/// The chart in Mermaid's language.
pub(super) fn print(chart: &Chart) -> String {
    let mut text = String::from("sequenceDiagram\n");
    for lifeline in &chart.lifelines {
        let kind = if lifeline.name.node.is_client() { "actor" } else { "participant" };
        let liar = if lifeline.byzantine { " (Byzantine)" } else { "" };
        let _ = writeln!(text, "    {kind} {} as {}{liar}", id(lifeline.name), lifeline.name);
    }
    for (_, item) in chart.items() {
        text.push_str(&match item {
            Item::Arrow(arrow) => message(chart, arrow),
            Item::Mark(mark) => note(chart, mark),
        });
    }
    text
}

fn message(chart: &Chart, arrow: &Arrow) -> String {
    let end = |place: usize| id(chart.lifelines[place].name);
    let line = match (arrow.lost(), &arrow.lie) {
        (Some(_), _) => "--x",
        (None, Some(_)) => "-->>",
        (None, None) => "->>",
    };
    let lie = arrow.lie.iter().map(|lie| format!("<br/>LIE: {}", escaped(lie)));
    let label = lie.fold(escaped(&arrow.label), |label, lie| label + &lie);
    format!("    {}{line}{}: {label}\n", end(arrow.from), end(arrow.to))
}

fn note(chart: &Chart, mark: &Mark) -> String {
    let end = |place: usize| id(chart.lifelines[place].name);
    let over = match mark.lifeline {
        Some(place) => end(place),
        None => format!("{},{}", end(0), end(chart.lifelines.len() - 1)),
    };
    let text = match mark.sign {
        Sign::Violation => format!("step {}: {}", mark.step, mark.text.to_uppercase()),
        _ => mark.text.clone(),
    };
    format!("    Note over {over}: {}\n", escaped(&text))
}

/// A name without dots.
fn id(name: SeatName) -> String {
    name.to_string().replace('.', "_")
}

/// Mermaid takes `#` for the start of an entity and `;` for the end of a line.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '#' | ';' | '<' | '>' | '&' | '"' => {
                let _ = write!(escaped, "#{};", c as u32);
            }
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}
