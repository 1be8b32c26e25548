//! What can be set, and what the words mean.

use std::ops::RangeInclusive;

use serde::Deserialize;
use turncoat_core::fault::RoundSource;
use turncoat_core::part::Scope;

use crate::StrategyError;
use crate::params::{Param, Params};

/// Whoever wants more rounds has struck a wrong key.
const MOST: u32 = 1000;

pub(super) const PARAMS: &[Param] = &[
    Param {
        name: "rounds",
        default: "10",
        about: "number of rounds, each with its own leader and partition",
    },
    Param { name: "twins", default: "1", about: "number of replicas that run twice, from p0 on" },
    Param {
        name: "seconds",
        default: "heard",
        about: "the second instances of twins: heard, or unheard (what they say in the rounds is lost, as where only signatures of the first verify)",
    },
    Param {
        name: "partitions",
        default: "2",
        about: "blocks in each partition: a number, or a range such as 1-3",
    },
    Param {
        name: "leaders",
        default: "all",
        about: "who may lead: all, twins, non-twins, or rule (as the protocol says; scenarios then set no leaders)",
    },
    Param {
        name: "order",
        default: "sample",
        about: "sample: each run draws a scenario; rank: run i is scenario i, and each comes once",
    },
    Param {
        name: "start",
        default: "0",
        about: "with order=rank: 0 starts at scenario 0, another number at one drawn with it; scenarios in a row differ in their last rounds only",
    },
    Param {
        name: "replacement",
        default: "with",
        about: "with: rounds of a scenario may be alike; without: no two are",
    },
    Param { name: "repeat", default: "1", about: "number of rounds that each leader and partition lasts" },
    Param {
        name: "symmetry",
        default: "none",
        about: "skip scenarios that differ only in names: none, twins (p0.a and p0.b), honest (the others), or all",
    },
    Param {
        name: "blocks",
        default: "any",
        about: "any; quorum: in each round some block holds a quorum; ordered: honest replicas fill the blocks by name, the largest first",
    },
    Param {
        name: "leaderless",
        default: "any",
        about: "how many times a leader may lack a quorum in its block: a number, or any",
    },
    Param {
        name: "isolate",
        default: "0",
        about: "how often the leader is alone: 2 means every second time, 0 only by chance",
    },
    Param {
        name: "round",
        default: "message",
        about: "which round applies to a message: its own (message) or its sender's (sender)",
    },
    Param { name: "granularity", default: "view", about: "what a round is: a view or a phase of a view" },
    Param {
        name: "roundless",
        default: "inherit",
        about: "messages without a round: inherit their sender's, or pass all partitions",
    },
    Param {
        name: "pass",
        default: "",
        about: "kinds of messages that pass all partitions and are not dropped after the rounds, such as view-change,fetch",
    },
    Param {
        name: "after",
        default: "heal",
        about: "after the rounds: heal (and go on), silence (the same without the twins) or drop (drop all, check only safety)",
    },
    Param {
        name: "gst",
        default: "20000",
        about: "ticks after which the rounds are over even if some replica never leaves them",
    },
    Param { name: "latency", default: "10", about: "ticks that a message takes; 0: as in the scenario" },
    Param { name: "clients", default: "2", about: "minimum number of clients, if there are any" },
    Param {
        name: "inputs",
        default: "own",
        about: "own: one instance of each twin hears the first client late and so proposes something else; same: all hear the same",
    },
    Param {
        name: "requests",
        default: "1",
        about: "extra requests, or slots to decide, for each round, so that the scenario does not end early",
    },
    Param {
        name: "cuts",
        default: "0",
        about: "number of one-way cuts, each in a random round, from one node to some others",
    },
    Param {
        name: "delays",
        default: "none",
        about: "how late proposals and votes are: none, model (up to delta) or paper (up to 3 and 2 delta)",
    },
    Param {
        name: "lies",
        default: "0",
        about: "maximum number of lasting lies that each twin tells besides in half of the runs, by both of its instances or by one",
    },
    Param { name: "scope", default: "any", about: "how far these lies may go: small, any or crafted" },
    Param { name: "delta", default: "50", about: "the bound on delays that the protocol assumes, in ticks" },
    Param {
        name: "propose",
        default: "propose",
        about: "kinds of messages that `delays` treats as proposals",
    },
    Param { name: "vote", default: "vote", about: "kinds of messages that `delays` treats as votes" },
];

/// Who leads.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Leaders {
    All,
    Twins,
    NonTwins,
    Rule,
}

/// Whether the second instances of twins can be heard.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Seconds {
    Heard,
    Unheard,
}

/// Which scenario a run is.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Order {
    Sample,
    Rank,
}

/// Whether a configuration may come twice.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Replacement {
    With,
    Without,
}

/// Whose names do not matter.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Symmetry {
    None,
    Twins,
    Honest,
    All,
}

impl Symmetry {
    pub(super) const fn twins(self) -> bool {
        matches!(self, Self::Twins | Self::All)
    }
    pub(super) const fn honest(self) -> bool {
        matches!(self, Self::Honest | Self::All)
    }
}

/// Which partitions are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Blocks {
    Any,
    Quorum,
    Ordered,
}

/// What comes after the last round.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum After {
    Heal,
    Silence,
    Drop,
}

/// What the instances of an identity hear of clients.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Inputs {
    Own,
    Same,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RoundOf {
    Message,
    Sender,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Granularity {
    View,
    Phase,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Roundless {
    Inherit,
    Pass,
}

/// How late proposals and votes may be, in halves of delta.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Delays {
    None,
    Model,
    Paper,
}

/// All that is set, typed.
pub(super) struct Set {
    pub(super) rounds: usize,
    pub(super) twins: usize,
    pub(super) seconds: Seconds,
    pub(super) partitions: RangeInclusive<usize>,
    pub(super) leaders: Leaders,
    pub(super) order: Order,
    pub(super) start: u32,
    pub(super) replacement: Replacement,
    pub(super) repeat: usize,
    pub(super) symmetry: Symmetry,
    pub(super) blocks: Blocks,
    /// At most so many configurations without a leader that has a quorum.
    pub(super) leaderless: Option<u32>,
    pub(super) isolate: usize,
    pub(super) source: RoundSource,
    pub(super) roundless_inherit: bool,
    pub(super) pass: Vec<String>,
    pub(super) after: After,
    pub(super) gst: u64,
    pub(super) latency: u64,
    pub(super) clients: usize,
    pub(super) inputs: Inputs,
    /// More requests for each round.
    pub(super) requests: u32,
    pub(super) cuts: u32,
    /// For proposals and votes: their kinds, and how late they may be, in halves of delta.
    pub(super) delays: Option<[(Vec<String>, u32); 2]>,
    pub(super) delta: u64,
    /// The most lasting lies of a twin.
    pub(super) lies: u32,
    pub(super) scope: Scope,
}

impl Set {
    /// Reads the parameters, for a cluster of `n` replicas.
    pub(super) fn read(params: &Params<'_>, n: usize) -> Result<Self, StrategyError> {
        let twins = params.number("twins", 0..=n as u32)? as usize;
        let nodes = n + twins;
        let source = match (params.word("granularity")?, params.word("round")?) {
            (Granularity::View, RoundOf::Message) => RoundSource::View,
            (Granularity::View, RoundOf::Sender) => RoundSource::SenderView,
            (Granularity::Phase, RoundOf::Message) => RoundSource::Named,
            (Granularity::Phase, RoundOf::Sender) => RoundSource::SenderMax,
        };
        let halves = match params.word("delays")? {
            Delays::None => None,
            Delays::Model => Some([2, 2]),
            Delays::Paper => Some([6, 4]),
        };
        let (propose, vote) = (params.list("propose")?, params.list("vote")?);
        Ok(Self {
            rounds: params.number("rounds", 1..=MOST)? as usize,
            twins,
            seconds: params.word("seconds")?,
            partitions: params.typed("partitions", |text| {
                range(text, nodes).ok_or_else(|| {
                    format!("not a number of blocks from 1 to {nodes}, which is n and the twins, nor a range of them")
                })
            })?,
            leaders: params.word("leaders")?,
            order: params.word("order")?,
            start: params.number("start", 0..=u32::MAX)?,
            replacement: params.word("replacement")?,
            repeat: params.number("repeat", 1..=MOST)? as usize,
            symmetry: params.word("symmetry")?,
            blocks: params.word("blocks")?,
            leaderless: params.typed("leaderless", |text| match text {
                "any" => Ok(None),
                number => number.parse().map(Some).map_err(|_| "not a whole number, nor `any`".to_owned()),
            })?,
            isolate: params.number("isolate", 0..=MOST)? as usize,
            source,
            roundless_inherit: params.word::<Roundless>("roundless")? == Roundless::Inherit,
            pass: params.list("pass")?,
            after: params.word("after")?,
            gst: params.number("gst", 1..=u32::MAX)?.into(),
            latency: params.number("latency", 0..=u32::MAX)?.into(),
            clients: params.number("clients", 1..=64)? as usize,
            inputs: params.word("inputs")?,
            requests: params.number("requests", 0..=MOST)?,
            cuts: params.number("cuts", 0..=MOST)?,
            delays: halves.map(|[late, later]| [(propose, late), (vote, later)]),
            delta: params.number("delta", 2..=u32::MAX)?.into(),
            lies: params.number("lies", 0..=100)?,
            scope: params.word("scope")?,
        })
    }

    /// Whether a round is a view.
    pub(super) const fn by_views(&self) -> bool {
        matches!(self.source, RoundSource::View | RoundSource::SenderView)
    }
}

/// `2`, or `1-3`.
fn range(text: &str, most: usize) -> Option<RangeInclusive<usize>> {
    let (least, last) = text.split_once('-').unwrap_or((text, text));
    let (least, last) = (least.trim().parse().ok()?, last.trim().parse().ok()?);
    (1 <= least && least <= last && last <= most).then_some(least..=last)
}
