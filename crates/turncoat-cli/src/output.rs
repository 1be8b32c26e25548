//! How results leave a command: the options that those with findings share.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::cases::Cases;
use crate::{github, junit};

/// For whom, and where else to.
#[derive(Args)]
pub(crate) struct Output {
    /// Text, JSON lines (the last one is the summary), or text with annotations for GitHub
    #[arg(long, value_name = "FORMAT", help_heading = "Output", default_value = "human")]
    message_format: Format,

    /// Short for --message-format json
    #[arg(long, help_heading = "Output", conflicts_with = "message_format")]
    json: bool,

    /// Write a JUnit report
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    junit: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Human,
    Json,
    Github,
}

impl Output {
    /// Whether results are JSON lines.
    pub(crate) fn json(&self) -> bool {
        self.json || self.message_format == Format::Json
    }

    /// All mistakes show here, before anything runs.
    pub(crate) fn check(&self) -> Result<()> {
        self.junit.as_deref().map_or(Ok(()), junit::check)
    }

    /// What machines want to know, after the results.
    pub(crate) fn report(&self, cases: &Cases) -> Result<()> {
        if self.message_format == Format::Github {
            github::annotate(cases)?;
        }
        self.junit.as_deref().map_or(Ok(()), |path| junit::write(path, cases))
    }
}
