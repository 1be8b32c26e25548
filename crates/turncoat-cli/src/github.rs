//! Annotations of GitHub Actions: lines that its runner picks out of the output and shows beside the change.

use anyhow::Result;
use turncoat_lab::plain::plain;

use crate::cases::{Cases, Verdict};
use crate::out;

/// Prints an error for each case that fails, or a notice that none does.
pub(crate) fn annotate(cases: &Cases) -> Result<()> {
    let mut clean = true;
    for case in &cases.cases {
        if let Verdict::Failed(text) | Verdict::Broken(text) = &case.verdict {
            clean = false;
            out::exact(annotation("error", &format!("{}: {}", cases.suite, case.name), text))?;
        }
    }
    if clean {
        out::exact(annotation("notice", &cases.suite, &cases.clean))?;
    }
    Ok(())
}

/// One line, whatever the text holds: escaped as the runner reads it.
fn annotation(level: &str, title: &str, text: &str) -> String {
    let data = |text: &str| plain(text).replace('%', "%25").replace('\n', "%0A");
    let property = data(title).replace(':', "%3A").replace(',', "%2C");
    format!("::{level} title={property}::{}", data(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_annotation_is_one_line_and_its_title_has_no_separators() {
        let line = annotation("error", "pbft: a, b", "100 % lost: so,\r\nwhat?\u{1b}");
        assert_eq!(line, "::error title=pbft%3A a%2C b::100 %25 lost: so,\\u{d}%0Awhat?\\u{1b}");
    }
}
