//! Where text goes: results to stdout, all else to stderr. What people read is [made harmless](plain) here.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use turncoat_lab::plain::plain;

use crate::layout;

/// Results that could not be written, on a full disk for instance.
#[derive(Debug)]
pub(crate) struct Unwritable(io::Error);

impl Display for Unwritable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot write the results: {}", self.0)
    }
}

impl std::error::Error for Unwritable {}

impl From<io::Error> for Unwritable {
    fn from(error: io::Error) -> Self {
        Self(error)
    }
}

/// What the first words of a line mean, and so their colour.
#[derive(Clone, Copy)]
pub(crate) enum Tone {
    Good,
    Bad,
    Warning,
}

impl Tone {
    fn style(self) -> Style {
        let colour = match self {
            Self::Good => AnsiColor::Green,
            Self::Bad => AnsiColor::Red,
            Self::Warning => AnsiColor::Yellow,
        };
        colour.on_default().bold()
    }

    /// Words in the colour, made harmless.
    fn paint(self, words: impl Display) -> String {
        let style = self.style();
        format!("{style}{}{style:#}", plain(&words.to_string()))
    }
}

/// Lines of results, for people; on a terminal, folded to its width.
pub(crate) fn line(text: impl Display) -> Result<(), Unwritable> {
    let text = plain(&text.to_string());
    exact(layout::width().map_or_else(|| text.clone(), |width| layout::folded(&text, width)))
}

/// A line of results as it is, such as a chart.
pub(crate) fn drawn(text: impl Display) -> Result<(), Unwritable> {
    exact(plain(&text.to_string()))
}

/// Results in Markdown; on a terminal, tables within its width.
pub(crate) fn markdown(text: &str) -> Result<(), Unwritable> {
    let text = plain(text);
    exact(layout::width().map_or_else(|| text.clone(), |width| layout::markdown(&text, width)))
}

/// Rows below a header; on a terminal, within its width.
pub(crate) fn table(rows: &[Vec<&str>]) -> Result<(), Unwritable> {
    let table = layout::table(rows, layout::width().unwrap_or(usize::MAX), false);
    exact(plain(&table))
}

/// A line whose words go on below each other where a terminal is too narrow.
pub(crate) fn hung(head: impl Display, text: impl Display) -> Result<(), Unwritable> {
    let (head, text) = (plain(&head.to_string()), plain(&text.to_string()));
    let width = layout::width().unwrap_or(usize::MAX);
    exact(layout::hung(&head, &text, width))
}

/// A line whose first words have a colour, if the terminal has any.
pub(crate) fn toned(tone: Tone, head: impl Display, rest: impl Display) -> Result<(), Unwritable> {
    let (head, rest) = (head.to_string(), plain(&rest.to_string()));
    let width = layout::width().unwrap_or(usize::MAX);
    // Colours take no room.
    let text = layout::folded(&format!("{}{rest}", "x".repeat(head.chars().count())), width);
    let rest: String = text.chars().skip(head.chars().count()).collect();
    written(writeln!(anstream::stdout().lock(), "{}{rest}", tone.paint(head)))
}

/// A line of results as it is, for programs. A reader that has seen enough (`| head`) is no error: the exit code still
/// counts.
pub(crate) fn exact(text: impl Display) -> Result<(), Unwritable> {
    written(writeln!(io::stdout().lock(), "{text}"))
}

fn written(result: io::Result<()>) -> Result<(), Unwritable> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(Unwritable),
    }
}

/// A result as one line of JSON: `body` with the version of the format and the type of the line before it.
pub(crate) fn json(kind: &str, body: impl Serialize) -> Result<(), Unwritable> {
    #[derive(Serialize)]
    struct Event<'a, T> {
        schema: &'static str,
        #[serde(rename = "type")]
        kind: &'a str,
        #[serde(flatten)]
        body: T,
    }
    let event = Event { schema: "turncoat.event/1", kind, body };
    let text = serde_json::to_string(&event).map_err(|error| Unwritable(error.into()))?;
    // The same for those who read JSON; a CI runner would take it for a command.
    exact(text.replace("##[", "#\\u0023["))
}

/// A line for the person at the terminal. If nobody reads it, so be it.
pub(crate) fn log(text: impl Display) {
    // In one piece, also where others write to the same terminal.
    let _ = io::stderr().lock().write_all(format!("{}\n", plain(&text.to_string())).as_bytes());
}

/// Draws the line of the terminal that the cursor is on again.
pub(crate) fn redraw(line: impl Display) {
    let _ = io::stderr().lock().write_all(format!("\r\u{1b}[2K{line}").as_bytes());
}

/// Something that is not as it should be: `error: ...`, `warning: ...`.
pub(crate) fn complain(tone: Tone, head: &str, text: impl Display) {
    // The colour takes no room.
    let text = plain(&format!("{head}: {text}"));
    let text = layout::width_of_messages().map_or(text.clone(), |width| layout::folded(&text, width));
    let line = format!("{}{}\n", tone.paint(head), text.strip_prefix(head).unwrap_or(&text));
    let _ = anstream::stderr().lock().write_all(line.as_bytes());
}
