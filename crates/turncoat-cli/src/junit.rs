//! JUnit files: what CI systems read to show tests.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::cases::{Case, Cases, Verdict};
use crate::files;

/// Whether there is a folder for the file: who has waited for a campaign should not learn then that there is none.
pub(crate) fn check(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() || path.is_dir() {
        bail!("cannot write {}: give a file in a folder that exists", path.display());
    }
    Ok(())
}

/// Writes the cases as one suite.
pub(crate) fn write(path: &Path, cases: &Cases) -> Result<()> {
    let mut suite = TestSuite::new(cases.suite.as_str());
    suite.set_time(Duration::from_secs_f64(cases.seconds));
    suite.add_test_cases(cases.cases.iter().map(test_case));
    let mut report = Report::new("turncoat");
    report.set_time(Duration::from_secs_f64(cases.seconds)).add_test_suite(suite);
    let written = report.to_string().map_err(anyhow::Error::from);
    let written = written.and_then(|text| Ok(files::write_whole(path, &text)?));
    written.with_context(|| format!("cannot write {}", path.display()))
}

fn test_case(case: &Case) -> TestCase {
    let status = match &case.verdict {
        Verdict::Passed => TestCaseStatus::success(),
        Verdict::Failed(text) => unsuccessful(NonSuccessKind::Failure, text),
        Verdict::Broken(text) => unsuccessful(NonSuccessKind::Error, text),
    };
    let mut test_case = TestCase::new(case.name.as_str(), status);
    test_case.set_classname(case.class.as_str());
    test_case
}

fn unsuccessful(kind: NonSuccessKind, text: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_message(text.lines().next().unwrap_or_default()).set_description(text);
    status
}
