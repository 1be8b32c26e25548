//! ByzzFuzz: a few round-based network and process faults, drawn before the run (Algorithm 1 as published).
//!
//! f replicas are Byzantine, and act together. Each of `d` network faults splits the replicas in one round, uniformly over all set
//! partitions; each of `c` process faults lets them lie to a uniform subset of the replicas in one
//! round. Where replicas have trust lists of their own, the subset is of one of the lists, as in the authors'
//! experiments with the XRP Ledger. Rounds are uniform among `r` of them, and several faults may share one. A message
//! is in the round of its sender, or in its own (`source=named`, as in the hBFT thesis). A lie does not cross a
//! partition, unless `order=fair` (XRPL thesis, Algorithm 2) gives the round to the process fault.
//!
//! A round that is cut may never end, since replicas that are cut off keep sending in it. As in the paper's runs, partitions
//! end after a while (`gst`); lies do not.
//!
//! As published, a partition may have one block and a subset may be empty or hold the liar alone: faults that
//! hit nothing count. The authors' code draws otherwise (`sampler=fork`): distinct rounds, no partition of one block,
//! and a receiver at least, among them the clients.
//!
//! ByzzBench differs in five ways, each an option of its own: a partition sets a subset of the replicas against the rest, and a
//! lie has a receiver at least (`sampler=byzzbench`); each process fault has one sender (`sender=one`, in its first versions
//! `sender=any`); each receiver is told another lie (`lie=each`); the round of a message is its slot (`source=slot`).

use std::sync::Arc;

use serde::Deserialize;
use turncoat_core::fault::{Effect, Fault, RoundSource, Span, When};
use turncoat_core::ids::{NodeId, NodeSet, SeatName, Time};
use turncoat_core::part::Scope;
use turncoat_core::rng::Rng;
use turncoat_core::scenario::{Gst, Scenario, ScenarioError};
use turncoat_core::strategy::Strategy;

use crate::cast::GST;
use crate::liars::{LIAR, LIARS_F, Liars};
use crate::params::{Param, Params};
use crate::partitions::SetPartitions;
use crate::{Info, StrategyError, draw};

pub(crate) const INFO: Info = Info {
    name: "byzzfuzz",
    about: "a few partitions and lies, each in a random round (ByzzFuzz, Algorithm 1)",
    params: &[
        Param { name: "c", default: "1", about: "number of process faults: lies of the Byzantine replicas" },
        Param { name: "d", default: "1", about: "number of network faults: partitions" },
        Param { name: "r", default: "8", about: "number of rounds in which faults happen" },
        Param { name: "first", default: "1", about: "the first of these rounds" },
        Param {
            name: "source",
            default: "sender-max",
            about: "the round of a message: sender-max (the highest that its sender has seen), named (its own) or slot (its slot)",
        },
        LIAR,
        LIARS_F,
        Param {
            name: "sender",
            default: "all",
            about: "who lies in a process fault: all (the liars together), one (one of them, drawn for each fault) or any (a \
                    replica drawn for each fault, which makes it a liar)",
        },
        Param {
            name: "receivers",
            default: "unl",
            about: "who receives a lie: unl (some replicas of one trust list) or all (some of all replicas)",
        },
        Param {
            name: "lie",
            default: "same",
            about: "what the receivers of a process fault are told: same (one lie) or each (a lie of its own for each)",
        },
        Param { name: "scope", default: "small", about: "how far a lie may go: small or any" },
        Param {
            name: "order",
            default: "network-first",
            about: "which fault applies first: network-first or fair (a coin toss per round)",
        },
        Param {
            name: "sampler",
            default: "algorithm-1",
            about: "algorithm-1 (as published), fork (distinct rounds, and no fault that hits nobody) or byzzbench (one subset of \
                    the replicas against the rest, and a receiver at least)",
        },
        Param {
            name: "only",
            default: "",
            about: "the lies to draw from, by name or field, such as prepare.view,commit.seq+1,omit [default: all]",
        },
        GST,
    ],
    make: |base, params| Ok(Box::new(ByzzFuzz::new(base, params)?)),
};

/// Which fault goes first where a network and a process fault meet.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Order {
    NetworkFirst,
    Fair,
}

/// How rounds, partitions and receivers are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Sampler {
    #[serde(rename = "algorithm-1")]
    Algorithm1,
    Fork,
    #[serde(rename = "byzzbench")]
    ByzzBench,
}

/// Who lies in a process fault.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Sender {
    /// The liars of the run, together.
    All,
    /// One of them, drawn for each fault.
    One,
    /// Any replica, drawn for each fault: it is a liar then.
    Any,
}

/// What the receivers of a process fault are told.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Told {
    /// The same lie.
    Same,
    /// A lie of its own for each.
    Each,
}

/// To whom a lie may go.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Receivers {
    Unl,
    All,
}

/// The papers stay below 10; plans beyond this are a slip of the keyboard.
const MOST: u32 = 1000;

struct ByzzFuzz {
    liars: Liars,
    partitions: SetPartitions,
    n: usize,
    c: u32,
    d: u32,
    first: u32,
    r: u32,
    source: RoundSource,
    scope: Scope,
    order: Order,
    sampler: Sampler,
    sender: Sender,
    told: Told,
    only: Vec<String>,
    clients: usize,
    /// Those whom one lie may reach: the trust lists, or one list of all.
    lists: Vec<NodeSet>,
}

impl ByzzFuzz {
    fn new(base: &Scenario, params: &Params<'_>) -> Result<Self, StrategyError> {
        let c = params.number("c", 0..=MOST)?;
        let gst = params.number("gst", 1..=u32::MAX)?;
        let mut base = base.clone();
        if base.network.gst.is_none() {
            Arc::make_mut(&mut base.network).gst = Some(Gst::Time(Time(u64::from(gst))));
        }
        let n = base.cluster.n;
        let mut lists = vec![NodeSet::replicas(n)];
        if params.word::<Receivers>("receivers")? == Receivers::Unl {
            let unfit = |error: ScenarioError| StrategyError::Unfit {
                strategy: params.strategy,
                why: error.to_string(),
            };
            lists = base.cluster.trust.sets(n).map_err(unfit)?;
            lists.sort_unstable();
            lists.dedup();
        }
        let liars = Liars::new(params, &base, c > 0)?;
        let sender = params.word("sender")?;
        if sender == Sender::Any {
            let unfit = |why| StrategyError::Unfit { strategy: params.strategy, why };
            if liars.fixed().is_some() {
                return Err(unfit(
                    "`sender=any` draws the senders, `liar` names one: leave one of them out".to_owned(),
                ));
            }
            let (most, f) = (n.min(c as usize), base.cluster.f);
            if most > f && !base.cluster.over_budget {
                return Err(unfit(format!(
                    "with `sender=any`, {c} process faults may have {most} senders, more than f = {f}: use `sender=one`, or \
                     --over-budget"
                )));
            }
        }
        Ok(Self {
            liars,
            partitions: SetPartitions::of(base.cluster.n),
            n,
            c,
            d: params.number("d", 0..=MOST)?,
            first: params.number("first", 0..=MOST)?,
            r: params.number("r", 1..=MOST)?,
            source: params.word("source")?,
            scope: params.word("scope")?,
            order: params.word("order")?,
            sampler: params.word("sampler")?,
            sender,
            told: params.word("lie")?,
            only: params.list("only")?,
            clients: base.cluster.clients,
            lists,
        })
    }

    /// The rounds in which faults happen.
    fn rounds(&self) -> std::ops::Range<u32> {
        self.first..self.first + self.r
    }

    /// One of them; those in `taken` are out of the question.
    fn round(&self, taken: &mut Vec<u64>, rng: &mut Rng) -> Option<Span> {
        let free = u64::from(self.r).checked_sub(taken.len() as u64).filter(|&free| free > 0)?;
        let drawn = rng.below(free as u32) as usize;
        let round = self.rounds().map(u64::from).filter(|round| !taken.contains(round)).nth(drawn)?;
        if self.sampler == Sampler::Fork {
            taken.push(round);
        }
        Some(Span::At(round))
    }

    fn network_fault(&self, taken: &mut Vec<u64>, rng: &mut Rng) -> Option<Fault> {
        let round = Some(self.round(taken, rng)?);
        let when = When { round, source: self.source, ..When::default() };
        if self.sampler == Sampler::ByzzBench {
            return Some(Fault { when, effect: draw::one_side(self.n, rng) });
        }
        loop {
            let effect = draw::partition(&self.partitions, rng);
            let whole = matches!(&effect, Effect::Partition(blocks) if blocks.len() < 2);
            if self.sampler != Sampler::Fork || self.n == 1 || !whole {
                return Some(Fault { when, effect });
            }
        }
    }

    /// Nothing if it has no receivers: a predicate without receivers would mean all of them.
    fn process_fault(&self, liars: &[NodeId], taken: &mut Vec<u64>, rng: &mut Rng) -> Vec<Fault> {
        let Some(round) = self.round(taken, rng) else { return Vec::new() };
        let list = match self.lists[..] {
            [list] => list,
            _ => *rng.pick(&self.lists),
        };
        let to: Vec<SeatName> = match self.sampler {
            Sampler::Algorithm1 => draw::subset(list.iter(), rng),
            Sampler::Fork if self.n + self.clients == 1 => Vec::new(),
            Sampler::Fork => {
                let others: Vec<NodeId> = list.iter().filter(|node| !liars.contains(node)).collect();
                draw::some(&others.into_iter().chain((0..self.clients).map(NodeId::client)), rng)
            }
            Sampler::ByzzBench => draw::byzzbench(list.iter(), rng),
        };
        let from: Vec<SeatName> = match self.sender {
            Sender::All => liars.iter().map(|&liar| liar.into()).collect(),
            Sender::One => vec![(*rng.pick(liars)).into()],
            Sender::Any => vec![NodeId::replica(rng.index(self.n)).into()],
        };
        let receivers = match self.told {
            Told::Same if to.is_empty() => Vec::new(),
            Told::Same => vec![to],
            Told::Each => to.into_iter().map(|receiver| vec![receiver]).collect(),
        };
        let mut fault = |to| {
            let effect = draw::lie(self.scope, &self.only, rng);
            let when =
                When { round: Some(round), source: self.source, from: from.clone(), to, ..When::default() };
            Fault { when, effect }
        };
        receivers.into_iter().map(&mut fault).collect()
    }
}

impl Strategy for ByzzFuzz {
    /// Each fault has a stream of its own, so that one more of them leaves the others as they are.
    fn next(&mut self, _index: u64, rng: &mut Rng) -> Scenario {
        let (mut scenario, liars) = self.liars.next(rng);
        let [network, process, order] = [(); 3].map(|()| rng.bits());
        let (mut cut, mut lied) = (Vec::new(), Vec::new());
        let stream = |seed, i| Rng::stream(seed, u64::from(i));
        let network = (0..self.d).filter_map(|i| self.network_fault(&mut cut, &mut stream(network, i)));
        let process: Vec<Fault> = (0..self.c)
            .flat_map(|i| self.process_fault(&liars, &mut lied, &mut stream(process, i)))
            .collect();
        if self.sender == Sender::Any {
            let senders = process.iter().flat_map(|fault| &fault.when.from);
            scenario.adversary.byzantine = senders.map(|sender| sender.node).collect();
        }
        // As published, the first process fault that matches a message decides.
        scenario.adversary.compose = false;
        scenario.adversary.faults = network.chain(process).collect();
        if self.order == Order::Fair {
            let mut coins = Rng::stream(order, 0);
            scenario.adversary.process_first = self.rounds().filter(|_| coins.below(2) == 1).collect();
        }
        scenario
    }
}
