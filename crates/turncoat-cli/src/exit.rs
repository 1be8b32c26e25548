//! What the process tells its caller: the exit codes, which are part of the interface.

use std::process::ExitCode;

use turncoat_lab::campaign::CampaignError;
use turncoat_lab::plan::MergeError;
use turncoat_lab::store::ResumeError;

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Exit {
    /// All ran, nothing was found; with `--expect`, what was expected.
    Clean = 0,
    /// A property does not hold: something to look at, as with `grep` and `diff`. With `--expect`, all hold that
    /// should not.
    Violation = 1,
    /// The command line or a file is not right, or results cannot be written.
    BadInput = 2,
    /// A run did not repeat itself.
    Diverged = 3,
    /// There was nothing to run, or nothing was decided in any run.
    NothingRan = 4,
    /// `--timeout` is over, and the run is not.
    TimedOut = 124,
    /// A bug of turncoat's own.
    Internal = 70,
    /// Somebody pressed Ctrl-C.
    Interrupted = 130,
}

/// For the help text.
pub(crate) const TABLE: &str = "\
Exit codes:
  0  nothing found        3  a run did not repeat    70   internal error
  1  violation found      4  nothing was tested      124  out of time
  2  bad usage or input                              130  interrupted
With --expect violation, 0 and 1 are swapped.";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// How a command ended that could not do its work.
pub(crate) fn of(error: &anyhow::Error) -> Exit {
    let resumed = || match error.downcast_ref()? {
        ResumeError::Campaign(error) => Some(error),
        ResumeError::Store(_) => None,
    };
    let merged = || match error.downcast_ref()? {
        MergeError::Repeat(error) => Some(error),
        _ => None,
    };
    match error.downcast_ref::<CampaignError>().or_else(resumed).or_else(merged) {
        Some(CampaignError::Differs { .. } | CampaignError::Changed { .. }) => Exit::Diverged,
        _ if matches!(error.downcast_ref(), Some(MergeError::Differ { .. })) => Exit::Diverged,
        _ => Exit::BadInput,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_does_not_repeat_itself_has_a_code_of_its_own() {
        let differs = || CampaignError::Differs { index: 0, differs: String::new() };
        assert_eq!(of(&differs().into()), Exit::Diverged);
        assert_eq!(
            of(&anyhow::Error::from(ResumeError::from(differs())).context("while it ran")),
            Exit::Diverged
        );
        assert_eq!(of(&CampaignError::Learns { index: 1 }.into()), Exit::BadInput);
    }
}
