//! Where a run ends.

use serde::{Deserialize, Serialize, Serializer};

use crate::ids::Time;

/// Where a run ends. Reaching a limit is an outcome with its name.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Limits {
    /// Events. By default 20000, and 20 more for each request and pair of replicas; 4 n, where there are more than 16.
    #[serde(serialize_with = "capped_if_any", skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// Events after which a run ends that is judged for safety alone, since it had no time to terminate.
    #[serde(serialize_with = "capped_if_any", skip_serializing_if = "Option::is_none")]
    pub short: Option<u64>,
    /// Messages in flight at one time. By default 20000, and more for more than 20 replicas: two for each triple of them.
    #[serde(serialize_with = "capped_if_any", skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<usize>,
    /// Ticks.
    pub time: Time,
    /// Views: when all correct replicas have left so many, messages in flight are still delivered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub views: Option<u32>,
    /// Ticks during which timers may still fire once the goal is reached, for replicas that lag behind.
    /// Messages in flight are delivered anyway.
    pub linger: Time,
    /// Events that a run goes on at the most once its goal is reached or its views are over.
    #[serde(serialize_with = "capped")]
    pub tail: u64,
}

impl Limits {
    /// The most messages that may be in flight at one time: a run keeps all of them in memory.
    pub const IN_FLIGHT: usize = 1_000_000;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: None,
            short: None,
            in_flight: None,
            time: Time(1_000_000_000),
            views: None,
            linger: Time(0),
            tail: 2_000,
        }
    }
}

/// TOML has no numbers above `i64::MAX`; nobody will see the difference.
fn capped<S: Serializer, N: TryInto<i64> + Copy>(number: &N, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_i64((*number).try_into().unwrap_or(i64::MAX))
}

fn capped_if_any<S: Serializer, N: TryInto<i64> + Copy + Default>(
    number: &Option<N>,
    s: S,
) -> Result<S::Ok, S::Error> {
    capped(&number.unwrap_or_default(), s)
}
