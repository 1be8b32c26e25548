//! A scenario: all that can differ between two executions, as data.
//!
//! It reads and writes as TOML. Defaults are left out when written; unknown keys are errors when read.
//!
//! ```
//! use turncoat_core::scenario::Scenario;
//! let scenario = Scenario::parse(r#"
//!     schema = 1
//!     seed = "0x2a"
//!     [protocol]
//!     name = "pbft"
//!     checkpoint = 4
//!     [adversary]
//!     byzantine = ["p0"]
//!     [[adversary.faults]]
//!     round = 1
//!     to = ["p3"]
//!     mutate = "pre-prepare.seq+1"
//! "#)?;
//! assert_eq!(scenario.seed.0, 42);
//! assert_eq!(Scenario::parse(&scenario.to_toml())?, scenario);
//! # Ok::<(), turncoat_core::scenario::ScenarioError>(())
//! ```

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use self::cluster::{ClusterSpec, Trust};
pub use self::expect::{Expect, Lasso, LassoClass};
pub use self::limits::Limits;
pub use self::network::{Gst, Latency, Loss, Network};
pub use self::scheduler::{SchedulerName, SchedulerSpec, TimerRule};
pub use self::seed::Seed;
pub use self::workload::{Goal, Target, Workload};
use crate::fault::Fault;
use crate::ids::NodeSet;
use crate::logs::LogCheck;
use crate::schedule::Action;

mod cluster;
mod expect;
mod limits;
mod network;
mod scheduler;
mod seed;
mod toml_file;
mod workload;

/// The version of the file format. It grows when a default or the meaning of a key changes.
pub const SCHEMA: u32 = 1;

/// Everything that determines a run.
///
/// The parts that a campaign keeps fixed are shared, so that drawing a scenario copies only what differs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scenario {
    /// The version of the file format.
    pub schema: u32,
    /// Where all randomness of the run comes from.
    #[serde(default)]
    pub seed: Seed,
    /// The tests that have found it and run it again; nothing in a run reads it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<String>,
    /// What the suite says about it; nothing in a run reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bug: Option<Arc<toml::Table>>,
    /// What runs.
    pub protocol: Arc<ProtocolSpec>,
    /// Who takes part.
    #[serde(default)]
    pub cluster: Arc<ClusterSpec>,
    /// What clients ask for.
    #[serde(default)]
    pub workload: Arc<Workload>,
    /// How messages travel.
    #[serde(default)]
    pub network: Arc<Network>,
    /// Which event is next.
    #[serde(default)]
    pub scheduler: Arc<SchedulerSpec>,
    /// Who lies, and what goes wrong.
    #[serde(default)]
    pub adversary: Adversary,
    /// Where a run ends.
    #[serde(default)]
    pub limits: Arc<Limits>,
    /// How logs are compared at the end, beside the properties that are always judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<LogCheck>,
    /// What the run showed when it was saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expect>,
}

/// The protocol and its parameters.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ProtocolSpec {
    /// A name from `turncoat list protocols`.
    pub name: String,
    /// The keys of the protocol's configuration.
    #[serde(flatten)]
    pub config: toml::Table,
}

/// Who lies, and what goes wrong.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Adversary {
    /// The nodes that may lie.
    pub byzantine: NodeSet,
    /// Byzantine identities that run twice, as `p0.a` and `p0.b`.
    pub twins: NodeSet,
    /// What happens to which messages and nodes.
    pub faults: Vec<Fault>,
    /// Whether several faults may edit one message; otherwise the first in the list decides.
    pub compose: bool,
    /// The rounds in which a lie crosses a partition; in all others partitions come first.
    pub process_first: Vec<u32>,
    /// Whether messages without a round take their sender's, and so meet its faults.
    pub roundless_inherit: bool,
    /// Whether a node that receives bytes it cannot decode crashes; otherwise they are lost.
    pub crash_on_garbage: bool,
}

impl Default for Adversary {
    fn default() -> Self {
        Self {
            byzantine: NodeSet::EMPTY,
            twins: NodeSet::EMPTY,
            faults: Vec::new(),
            compose: true,
            process_first: Vec::new(),
            roundless_inherit: false,
            crash_on_garbage: false,
        }
    }
}

/// A scenario that cannot run, and what would be right.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The file is not TOML, or has a key or value that means nothing.
    #[error("{0}")]
    Malformed(String),
    /// The file was written by a newer version.
    #[error("schema {found} is newer than this version understands ({SCHEMA}): upgrade turncoat")]
    NewerSchema {
        /// The file's.
        found: i64,
    },
    /// The parts of the scenario do not fit together.
    #[error("{0}")]
    Invalid(String),
}

impl ScenarioError {
    /// What TOML says, in plain words: a user has lists and whole numbers, not sequences and `u32`.
    pub(crate) fn toml(error: &toml::de::Error) -> Self {
        let text = error.to_string();
        // The message is the last line; those before show the file.
        let (file, message) = text.trim_end().rsplit_once('\n').unwrap_or(("", text.trim_end()));
        let message = without_types(message);
        Self::Malformed(if file.is_empty() { message } else { format!("{file}\n{message}") })
    }
}

/// A message of serde without the names of Rust's types.
pub(crate) fn without_types(message: &str) -> String {
    let (found, expected) = message.rsplit_once(", expected ").unwrap_or((message, ""));
    let expected = match expected {
        "" => return message.to_owned(),
        "a sequence" => "a list, as in [\"p1\"]",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number",
        "i32" | "i64" => "a whole number, perhaps negative",
        "a boolean" => "true or false",
        "a map" => "a table",
        other => other,
    };
    format!("{found}, expected {expected}")
}

/// Shorthand for [`ScenarioError::Invalid`].
pub(crate) fn invalid(message: impl Into<String>) -> ScenarioError {
    ScenarioError::Invalid(message.into())
}

impl Scenario {
    /// A scenario with defaults for everything but the protocol.
    pub fn new(protocol: &str) -> Self {
        Self {
            schema: SCHEMA,
            seed: Seed(0),
            tests: Vec::new(),
            bug: None,
            protocol: Arc::new(ProtocolSpec { name: protocol.to_owned(), config: toml::Table::new() }),
            cluster: Arc::default(),
            workload: Arc::default(),
            network: Arc::default(),
            scheduler: Arc::default(),
            adversary: Adversary::default(),
            limits: Arc::default(),
            checks: Vec::new(),
            expect: None,
        }
    }

    /// The scenario with these choices instead of those of its scheduler.
    #[must_use]
    pub fn scripted(&self, script: Vec<Action>) -> Self {
        let scheduler = SchedulerSpec { name: SchedulerName::Script, script, ..SchedulerSpec::default() };
        Self { scheduler: Arc::new(scheduler), ..self.clone() }
    }
}
