//! A table that is printed row by row, while campaigns go on.

use anyhow::Result;

use crate::{layout, out};

/// Its columns: those that name a row, and the others.
pub(crate) struct Records {
    names: Vec<String>,
    columns: Vec<String>,
}

impl Records {
    pub(crate) fn new(names: &[&str], columns: &[impl ToString]) -> Self {
        let columns = columns.iter().map(ToString::to_string).collect();
        Self { names: names.iter().map(ToString::to_string).collect(), columns }
    }

    /// The head of the table in Markdown; a terminal has none, as it names the column of each value.
    pub(crate) fn header(&self) -> Result<()> {
        if layout::width().is_some() {
            return Ok(());
        }
        let columns = [&self.names[..], &self.columns].concat();
        out::exact(format_args!("| {} |", columns.join(" | ")))?;
        Ok(out::exact(format_args!("|{}", "---|".repeat(columns.len())))?)
    }

    /// A row: one line of Markdown; on a terminal, a line for each value.
    pub(crate) fn row(&self, names: &[String], values: &[String]) -> Result<()> {
        if layout::width().is_none() {
            return Ok(out::line(format_args!("| {} |", [names, values].concat().join(" | ")))?);
        }
        out::line(names.join("  ").replace('`', ""))?;
        let width = self.columns.iter().map(String::len).max().unwrap_or_default();
        self.columns
            .iter()
            .zip(values)
            .try_for_each(|(column, value)| Ok(out::hung(format_args!("  {column:width$}  "), value)?))
    }
}
