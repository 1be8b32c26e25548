//! Where text goes: results to stdout, all else to stderr. What people read is [made harmless](plain) here.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use serde::Serialize;
use turncoat_lab::plain::plain;

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

/// A line of results, for people.
pub(crate) fn line(text: impl Display) -> Result<(), Unwritable> {
    exact(plain(&text.to_string()))
}

/// A line of results as it is, for programs. A reader that has seen enough (`| head`) is no error: the exit code still
/// counts.
pub(crate) fn exact(text: impl Display) -> Result<(), Unwritable> {
    match writeln!(io::stdout().lock(), "{text}") {
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
    let _ = writeln!(io::stderr().lock(), "{}", plain(&text.to_string()));
}
