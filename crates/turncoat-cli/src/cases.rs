//! What a command has found, case by case. The exit code, JUnit files and annotations are all made from this one list.

use anyhow::Error;

use crate::exit::Exit;

/// The cases of one command.
pub(crate) struct Cases {
    /// What they are about: a protocol, the suite.
    pub(crate) suite: String,
    pub(crate) cases: Vec<Case>,
    /// What to say if none of them fails.
    pub(crate) clean: String,
    pub(crate) seconds: f64,
}

/// One question and its answer.
pub(crate) struct Case {
    /// Whose: a strategy, a protocol.
    pub(crate) class: String,
    pub(crate) name: String,
    pub(crate) verdict: Verdict,
}

/// The answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Passed,
    /// A property does not hold. The first line says it all.
    Failed(String),
    /// Nothing that the other answers say counts: a run did not repeat itself, or there was none.
    Broken(String),
}

impl Cases {
    /// Those of a campaign that could not go on, because a run did not repeat itself.
    pub(crate) fn broken(suite: &str, class: &str, error: &Error, seconds: f64) -> Self {
        let verdict = Verdict::Broken(format!("{error:#}"));
        let case = Case { class: class.to_owned(), name: "campaign".to_owned(), verdict };
        Self { suite: suite.to_owned(), cases: vec![case], clean: String::new(), seconds }
    }

    /// How the command ends.
    pub(crate) fn exit(&self) -> Exit {
        let any = |is: fn(&Verdict) -> bool| self.cases.iter().any(|case| is(&case.verdict));
        match () {
            () if any(|verdict| matches!(verdict, Verdict::Broken(_))) => Exit::Diverged,
            () if any(|verdict| matches!(verdict, Verdict::Failed(_))) => Exit::Violation,
            () => Exit::Clean,
        }
    }
}
