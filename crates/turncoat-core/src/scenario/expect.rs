//! What a scenario showed when it was saved.

use serde::{Deserialize, Serialize};

use super::Seed;

/// What a run showed when it was saved; `replay` compares.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Expect {
    /// The property violated, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub property: Option<String>,
    /// The fingerprint of the run.
    pub fingerprint: Seed,
    /// The part of the run that repeats forever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasso: Option<Lasso>,
}

/// A part of a run that repeats forever, in which nothing is decided: a proof that the run does not terminate. It says
/// where to look; what has to hold is checked, not believed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Lasso {
    /// The event after which it begins.
    pub from: u64,
    /// The event after which everything is as it was then, but for names and numbers.
    pub to: u64,
    /// What it takes.
    pub class: LassoClass,
}

/// What it takes to keep a run from terminating.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LassoClass {
    /// Nothing: liars do as they should, and all messages take the same time.
    Benign,
    /// A liar that goes on, or messages that take their time, within the network's bound.
    Adversarial,
}
