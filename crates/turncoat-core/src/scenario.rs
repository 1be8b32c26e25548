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

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::fault::Fault;
use crate::ids::{NodeId, NodeSet, Time};
use crate::part::Scope;
use crate::schedule::Action;

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
    /// What the run showed when it was saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expect>,
}

/// A seed, written as `0x` and 16 hex digits; decimal is understood too.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Seed(pub u64);

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#018x}", self.0)
    }
}

impl std::str::FromStr for Seed {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        let digits = s.replace('_', "");
        let parsed = match digits.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16),
            None => digits.parse(),
        };
        parsed.map(Self).map_err(|_| format!("`{s}` is no seed: give a 64-bit number, decimal or 0x..."))
    }
}

impl Serialize for Seed {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Seed {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Number(u64),
            Text(String),
        }
        match Form::deserialize(d)? {
            Form::Number(n) => Ok(Self(n)),
            Form::Text(s) => s.parse().map_err(serde::de::Error::custom),
        }
    }
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

/// Who takes part.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ClusterSpec {
    /// Replicas.
    pub n: usize,
    /// How many of them may be faulty.
    pub f: usize,
    /// Clients.
    pub clients: usize,
    /// The leader of each view from the first on; the protocol's rule where the table ends.
    pub leaders: Vec<NodeId>,
    /// Whom each replica trusts.
    pub trust: Trust,
    /// Allows more faulty replicas than `f`: a positive control, marked in the outcome.
    pub over_budget: bool,
    /// Clock drift in parts per million, by node.
    pub drift: BTreeMap<NodeId, i32>,
}

impl Default for ClusterSpec {
    fn default() -> Self {
        Self {
            n: 4,
            f: 1,
            clients: 1,
            leaders: Vec::new(),
            trust: Trust::default(),
            over_budget: false,
            drift: BTreeMap::new(),
        }
    }
}

/// Whom each replica trusts, where the protocol has such a notion: a named preset, or one set per replica.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected \"all\", \"bf60\", \"th60\", or one list of nodes per replica")]
pub enum Trust {
    /// `"all"`: everybody trusts everybody. `"bf60"` and `"th60"`: seven replicas with lists of five that overlap by 60 %, as
    /// in ByzzFuzz and in the XRPL thesis.
    Preset(String),
    /// One set per replica.
    Sets(Vec<NodeSet>),
}

impl Trust {
    /// The set of each of `n` replicas.
    ///
    /// # Errors
    /// If there is no such preset, or it is for another number of replicas; if a set names somebody who is none.
    pub fn sets(&self, n: usize) -> Result<Vec<NodeSet>, ScenarioError> {
        let range = |(first, last)| (first..=last).map(NodeId::replica).collect::<NodeSet>();
        let seven = |lists: [(usize, usize); 7], name| match n {
            7 => Ok(lists.map(range).to_vec()),
            _ => {
                Err(invalid(format!("cluster.trust: \"{name}\" is for 7 replicas, not for {n}: add `-n 7`")))
            }
        };
        match self {
            Self::Preset(name) => match name.as_str() {
                "all" => Ok(vec![NodeSet::replicas(n); n]),
                "bf60" => seven([(0, 4), (0, 4), (0, 4), (0, 4), (2, 6), (2, 6), (2, 6)], name),
                "th60" => seven([(0, 4), (0, 4), (0, 4), (1, 5), (2, 6), (2, 6), (2, 6)], name),
                _ => Err(invalid(format!(
                    "cluster.trust: there is no `{name}`: say \"all\", \"bf60\", \"th60\", or give one list of nodes per \
                     replica"
                ))),
            },
            Self::Sets(sets) => {
                let strange = sets.iter().flat_map(|set| set.without(NodeSet::replicas(n)).iter()).next();
                if let Some(node) = strange {
                    return Err(invalid(format!(
                        "cluster.trust: {node} is no replica: there are {n}, from p0 on"
                    )));
                }
                if sets.len() != n {
                    return Err(invalid(format!("cluster.trust: {} sets for {n} replicas", sets.len())));
                }
                Ok(sets.clone())
            }
        }
    }
}

impl Default for Trust {
    fn default() -> Self {
        Self::Preset("all".to_owned())
    }
}

/// What clients ask for, and how.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Workload {
    /// Requests in all, dealt out to the clients in turn.
    pub requests: u32,
    /// What they ask for, in order; `r1`, `r2`, ... where the list ends.
    pub ops: Vec<String>,
    /// When each may be submitted at the earliest; at once where the list ends.
    pub start: Vec<Time>,
    /// Ticks between the requests of one client, finished or not. Without it a client has one request outstanding at a
    /// time, which protocols such as PBFT count on: they may forget an earlier request for a later one.
    pub every: Option<Time>,
    /// To whom a request goes first.
    pub target: Target,
    /// Ticks until a request is sent again, to all.
    pub timeout: Time,
    /// How often at the most it is sent again.
    pub retries: Option<u32>,
    /// Requests to be answered without being ordered, by number from 1.
    pub read_only: Vec<u32>,
    /// What must happen for the run to be complete.
    pub goal: Goal,
}

impl Workload {
    /// The most requests of a run: each replica keeps all of them in memory.
    pub const MOST: u32 = 10_000;
}

impl Default for Workload {
    fn default() -> Self {
        Self {
            requests: 2,
            ops: Vec::new(),
            start: Vec::new(),
            every: None,
            target: Target::Leader,
            timeout: Time(1000),
            retries: None,
            read_only: Vec::new(),
            goal: Goal::Replies,
        }
    }
}

/// To whom a client sends a request first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// The leader, as far as the client knows.
    #[default]
    Leader,
    /// All replicas.
    All,
    /// A random replica.
    Random,
    /// One replica.
    #[serde(untagged)]
    One(NodeId),
}

/// What must happen for a run to be complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// Every correct client has its results.
    #[default]
    Replies,
    /// Every correct replica has committed every request.
    Committed,
    /// Every correct replica has decided this slot.
    Height(u32),
    /// Every correct replica has decided so many slots beyond all that were decided when the network calmed down.
    Again(u32),
    /// Nothing: the run goes on to its limits, and termination is not judged.
    None,
}

/// How messages travel.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Network {
    /// Ticks on the way: a number, or `[least, most]`.
    pub latency: Latency,
    /// What becomes of messages that the network does not deliver: of partitions, drops, deaf receivers, stopped nodes.
    pub loss: Loss,
    /// Whether messages on one link arrive in the order in which they were sent (scheduler `timed`).
    pub fifo: bool,
    /// When the calm phase starts at the latest; by default after half of the limit on steps. It starts earlier when
    /// all correct replicas have left the last round that a fault names.
    pub gst: Option<Gst>,
    /// The most ticks on the way once the calm phase has started. Where a network is calm from the start (`gst = { time = 0 }`)
    /// and the protocol assumes a bound, that one by default.
    pub bound: Option<Time>,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            latency: Latency::Range([Time(5), Time(15)]),
            loss: Loss::Drop,
            fifo: false,
            gst: None,
            bound: None,
        }
    }
}

/// Ticks that a message is on the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number of ticks, or [least, most]")]
pub enum Latency {
    /// Always the same.
    Constant(Time),
    /// Drawn from `[least, most]`.
    Range([Time; 2]),
}

/// What becomes of messages that the network does not deliver. A liar's own omissions are always lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// They are lost.
    #[default]
    Drop,
    /// They arrive later: when the sender leaves the fault's rounds, at the latest in the calm phase; in a calm network with a
    /// bound as late as that allows; at a stopped node when it starts again.
    Hold,
}

/// When the calm phase starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gst {
    /// At this time.
    Time(Time),
    /// After so many deliveries.
    Deliveries(u64),
}

/// Which event is next.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SchedulerSpec {
    /// Which scheduler.
    pub name: SchedulerName,
    /// Weight of each armed timer (`sync`, `async`).
    pub timeout: u32,
    /// Weight of each deliverable message.
    pub deliver: u32,
    /// Weight of each message that a client has sent.
    pub request: u32,
    /// Weight of losing a deliverable message.
    pub drop: u32,
    /// Weight of changing a deliverable message of a Byzantine sender.
    pub mutate: u32,
    /// How far such a change may go.
    pub scope: Scope,
    /// When timers may fire. By default `idle` under `sync`, as in ByzzBench, and `free` under `async`.
    pub timers: Option<TimerRule>,
    /// What happens, step by step (`script`).
    pub script: Vec<Action>,
}

impl Default for SchedulerSpec {
    fn default() -> Self {
        Self {
            name: SchedulerName::Timed,
            timeout: 1,
            deliver: 99,
            request: 99,
            drop: 0,
            mutate: 0,
            scope: Scope::Any,
            timers: None,
            script: Vec::new(),
        }
    }
}

/// The schedulers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SchedulerName {
    /// Messages in the order in which they were sent; timers when none is left.
    Fifo,
    /// By virtual time: messages arrive after their latency, timers fire when due.
    #[default]
    Timed,
    /// A random receiver gets its oldest message.
    Sync,
    /// A random message is next.
    Async,
    /// What the scenario's script says, then as `timed`.
    Script,
}

impl SchedulerName {
    /// All that can run without a script.
    pub const ALL: [Self; 4] = [Self::Fifo, Self::Timed, Self::Sync, Self::Async];

    /// What it does, in one line.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Fifo => "messages in the order in which they were sent; timers when none is left",
            Self::Timed => "by virtual time: messages arrive after their latency, timers fire when due",
            Self::Sync => "a random receiver gets its oldest message",
            Self::Async => "a random message is next; timers may fire early",
            Self::Script => "what the scenario's script says, then as `timed`",
        }
    }
}

/// When the random schedulers may fire a timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimerRule {
    /// At any time, due or not: asynchrony.
    #[default]
    Free,
    /// Only when no message can be delivered.
    Idle,
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

/// Where a run ends. Reaching a limit is an outcome with its name.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Limits {
    /// Events. By default 20000, and 20 more for each request and pair of replicas; 4 n, where there are more than 16.
    #[serde(serialize_with = "capped_if_any", skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
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

/// What a run showed when it was saved; `replay` compares.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Expect {
    /// The property violated, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub property: Option<String>,
    /// The fingerprint of the run.
    pub fingerprint: Seed,
    /// The part of the run that repeats for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasso: Option<Lasso>,
}

/// A part of a run that repeats for ever, in which nothing is decided: a proof that the run does not terminate. It says
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

/// Shorthand for [`ScenarioError::Invalid`].
pub(crate) fn invalid(message: impl Into<String>) -> ScenarioError {
    ScenarioError::Invalid(message.into())
}

/// The error for a protocol without a name: a key that somebody has misspelled is among those that there are.
fn unnamed(text: &str, protocol: &toml::Table) -> ScenarioError {
    let keys = protocol.keys().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
    let place = || {
        let root = toml::de::DeTable::parse(text).ok()?;
        let (_, table) = root.get_ref().iter().find(|(key, _)| key.get_ref() == "protocol")?;
        let first = table.get_ref().as_table()?.keys().map(|key| key.span().start).min()?;
        Some(format!("line {}: ", 1 + text[..first].matches('\n').count()))
    };
    let place = place().unwrap_or_default();
    match keys.is_empty() {
        true => invalid("[protocol] has no `name`"),
        false => invalid(format!("{place}[protocol] has no `name`, only {keys}: did you misspell it?")),
    }
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
            expect: None,
        }
    }

    /// Reads a file's text.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let malformed =
            |error: toml::de::Error| ScenarioError::Malformed(error.to_string().trim_end().to_owned());
        // The version first: a newer file may have keys that are unknown here.
        let table: toml::Table = toml::from_str(text).map_err(malformed)?;
        match table.get("schema").and_then(toml::Value::as_integer) {
            None => return Err(invalid(format!("no scenario: a scenario starts with `schema = {SCHEMA}`"))),
            Some(found) if found > i64::from(SCHEMA) => return Err(ScenarioError::NewerSchema { found }),
            Some(_) => {}
        }
        if let Some(toml::Value::Table(protocol)) = table.get("protocol")
            && !protocol.contains_key("name")
        {
            return Err(unnamed(text, protocol));
        }
        toml::from_str(text).map_err(malformed)
    }

    /// The text of a file; what equals its default is left out.
    pub fn to_toml(&self) -> String {
        let mut table = self.to_table();
        let mut default = Self::new("").to_table();
        for kept in ["schema", "seed", "protocol"] {
            default.remove(kept);
        }
        strip(&mut table, &default);
        // What tells the story comes last, a step or a fault at a time.
        let faults = take(&mut table, "adversary", "faults");
        let script = take(&mut table, "scheduler", "script");
        let scheduler = script.as_ref().and_then(|_| table.remove("scheduler"));
        let expect = table.remove("expect");
        let mut text = toml::to_string(&table).expect("a scenario is a TOML document");
        for fault in faults.iter().flat_map(|faults| faults.as_array()).flatten() {
            text.push_str("\n[[adversary.faults]]\n");
            write_keys(&mut text, fault);
        }
        if let Some(steps) = script.as_ref().and_then(toml::Value::as_array) {
            text.push_str("\n[scheduler]\n");
            scheduler.iter().for_each(|scheduler| write_keys(&mut text, scheduler));
            let steps: String = steps.iter().map(|step| format!("    {step},\n")).collect();
            text.push_str(&format!("script = [\n{steps}]\n"));
        }
        if let Some(expect) = expect {
            text.push_str("\n[expect]\n");
            write_keys(&mut text, &expect);
        }
        text
    }

    /// All keys, defaults included.
    pub fn to_table(&self) -> toml::Table {
        toml::Table::try_from(self).expect("a scenario is a TOML document")
    }

    /// The scenario with these choices instead of those of its scheduler.
    #[must_use]
    pub fn scripted(&self, script: Vec<Action>) -> Self {
        let scheduler = SchedulerSpec { name: SchedulerName::Script, script, ..SchedulerSpec::default() };
        Self { scheduler: Arc::new(scheduler), ..self.clone() }
    }

    /// The scenario with the value at a dotted path replaced: `set("network.loss", ...)`.
    pub fn with(&self, path: &str, value: toml::Value) -> Result<Self, ScenarioError> {
        let mut table = self.to_table();
        let mut place = &mut table;
        let mut keys = path.split('.').peekable();
        while let Some(key) = keys.next() {
            if keys.peek().is_none() {
                place.insert(key.to_owned(), value);
                break;
            }
            let next = place.entry(key).or_insert_with(|| toml::Value::Table(toml::Table::new()));
            place = next.as_table_mut().ok_or_else(|| invalid(format!("`{path}`: `{key}` is no table")))?;
        }
        let fits = |error: toml::de::Error| ScenarioError::Malformed(format!("{path}: {}", error.message()));
        toml::Value::Table(table).try_into().map_err(fits)
    }
}

/// Takes a key out of a section, and the section too if nothing else is in it.
fn take(table: &mut toml::Table, section: &str, key: &str) -> Option<toml::Value> {
    let within = table.get_mut(section)?.as_table_mut()?;
    let taken = within.remove(key);
    if within.is_empty() {
        table.remove(section);
    }
    taken
}

/// The keys of a section, a line each.
fn write_keys(text: &mut String, section: &toml::Value) {
    for (key, value) in section.as_table().into_iter().flatten() {
        text.push_str(&format!("{key} = {value}\n"));
    }
}

/// Removes from `table` what equals `default`.
fn strip(table: &mut toml::Table, default: &toml::Table) {
    table.retain(|key, value| match (value, default.get(key)) {
        (toml::Value::Table(inner), Some(toml::Value::Table(default))) => {
            strip(inner, default);
            !inner.is_empty()
        }
        (value, Some(default)) => value != default,
        (_, None) => true,
    });
}
