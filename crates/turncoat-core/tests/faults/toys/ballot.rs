//! The smallest consensus: p0 proposes each request in a slot of its own, replicas vote, a quorum commits.
//!
//! Correct as far as it goes: with an honest leader it decides, with a lying one it agrees or stops.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use turncoat_core::client::Request;
use turncoat_core::flags::{Flag, OnlyFlags};
use turncoat_core::hash::Digest;
use turncoat_core::ids::{NodeId, NodeSet, Slot, View};
use turncoat_core::message::RoundKey;
use turncoat_core::node::{About, ClientWork, Cluster, Context, Node, Protocol, State, Vitals, Waiting};
use turncoat_core::sign::Signed;
use turncoat_core::votes::Votes;
use turncoat_core::{Message, Part};

use crate::play::Toy;

pub(crate) struct Ballot;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, Message)]
pub(crate) enum Msg {
    Request(Signed<Request>),
    #[message(view = View(0), slot = m.slot, phase = 1)]
    Propose(Signed<Proposal>),
    #[message(view = View(0), slot = m.slot, phase = 2)]
    Vote(Signed<Vote>),
}

#[derive(Clone, PartialEq, Debug, Hash, Serialize, Deserialize, Part)]
pub(crate) struct Proposal {
    slot: Slot,
    request: Signed<Request>,
}

#[derive(Clone, PartialEq, Debug, Hash, Serialize, Deserialize, Part)]
pub(crate) struct Vote {
    slot: Slot,
    digest: Digest,
}

turncoat_core::flags! {
    pub(crate) struct Flags {
        weak_quorum: "f+1 votes commit",
        unsigned_requests: "requests are proposed and accepted without a look at their signature",
    }
}
type Config = OnlyFlags<Flags>;

#[derive(Clone, Debug, Default, Hash, Serialize)]
struct Round {
    proposal: Option<Signed<Request>>,
    votes: Votes<Digest>,
    committed: bool,
}

#[derive(Clone, Debug, Hash, Serialize)]
pub(crate) struct Replica {
    config: Config,
    assigned: Vec<Request>,
    rounds: BTreeMap<Slot, Round>,
}

impl Toy for Ballot {
    const BASE: &'static str = r#"
        schema = 1
        protocol = { name = "ballot" }
        cluster = { clients = 2 }
        workload = { requests = 2, ops = ["a", "b"], goal = "committed" }
        network = { latency = 10 }
    "#;
}

impl Protocol for Ballot {
    const NAME: &'static str = "ballot";
    const ABOUT: &'static str = "p0 proposes, replicas vote, a quorum commits";
    const FLAGS: &'static [Flag] = Flags::ALL;
    type Msg = Msg;
    type Timer = ();
    type Replica = Replica;
    type Client = Asker;
    type Config = Config;

    fn replica(_: NodeId, _: &Cluster, config: &Config) -> Replica {
        Replica { config: *config, assigned: Vec::new(), rounds: BTreeMap::new() }
    }
    fn client(_: NodeId, _: &Cluster, _: &Config, work: &ClientWork) -> Asker {
        Asker { ops: work.ops.iter().map(|&(op, ..)| op).collect() }
    }
    fn gap_free(_: &Config) -> bool {
        false
    }
    /// Two rounds per slot, the first proposal is round 1. A liar may name any slot: beyond 1000 all are one.
    fn number(key: RoundKey) -> u32 {
        (2 * key.slot.0.min(1000) + u32::from(key.phase)).saturating_sub(2)
    }
}

impl Node<Ballot> for Replica {
    fn adopt(&mut self, config: &Config, _: &Cluster) -> bool {
        self.config = *config;
        true
    }
    fn on_message(&mut self, from: NodeId, msg: &Msg, cx: &mut Context<'_, Ballot>) {
        let leader = cx.leader(View(0));
        match msg {
            Msg::Request(request) if cx.me() == leader => {
                let genuine = request.is_by(request.client) || self.config.flags.unsigned_requests;
                if genuine && !self.assigned.contains(request) {
                    self.assigned.push(**request);
                    let proposal = Proposal { slot: Slot(self.assigned.len() as u32), request: *request };
                    cx.broadcast(Msg::Propose(cx.sign(proposal)));
                }
            }
            Msg::Propose(p) if p.is_by(leader) && from == leader => {
                let genuine = p.request.is_by(p.request.client) || self.config.flags.unsigned_requests;
                let round = self.rounds.entry(p.slot).or_default();
                if genuine && round.proposal.is_none() {
                    round.proposal = Some(p.request);
                    cx.broadcast(Msg::Vote(cx.sign(Vote { slot: p.slot, digest: p.request.digest() })));
                }
                self.advance(p.slot, cx);
            }
            Msg::Vote(v) if v.is_by(from) => {
                self.rounds.entry(v.slot).or_default().votes.add(from, v.digest);
                self.advance(v.slot, cx);
            }
            _ => {}
        }
    }
    fn vitals(&self, cluster: &Cluster) -> Vitals {
        let open = self.rounds.iter().filter(|(_, round)| round.proposal.is_some() && !round.committed);
        let vote = |(&slot, _): (&Slot, &Round)| Waiting {
            kind: "vote",
            about: About::Slot(slot),
            have: NodeSet::EMPTY,
            need: cluster.quorum(),
        };
        let decided = self.rounds.iter().rev().find(|(_, round)| round.committed).map(|(&slot, _)| slot);
        Vitals {
            decided: decided.unwrap_or_default(),
            waiting: open.map(vote).collect(),
            ..Vitals::default()
        }
    }
    fn fork(&self) -> Option<Self> {
        Some(self.clone())
    }
    fn state(&self) -> Option<&dyn State> {
        Some(self)
    }
}

impl Replica {
    fn advance(&mut self, slot: Slot, cx: &mut Context<'_, Ballot>) {
        let quorum = if self.config.flags.weak_quorum { cx.cluster().weak() } else { cx.cluster().quorum() };
        let round = self.rounds.entry(slot).or_default();
        let Some(request) = round.proposal.filter(|_| !round.committed) else { return };
        let voters = round.votes.voters(&request.digest());
        if voters.len() >= quorum {
            round.committed = true;
            cx.commit(slot, request.digest(), &[*request], voters);
        }
    }
}

/// Asks for all it wants at once, of everybody, and wants no answer.
#[derive(Clone, Debug, Hash, Serialize)]
pub(crate) struct Asker {
    ops: Vec<turncoat_core::client::Op>,
}

impl Node<Ballot> for Asker {
    fn on_start(&mut self, cx: &mut Context<'_, Ballot>) {
        for (&op, ts) in self.ops.iter().zip(1..) {
            let request = cx.submit(Request { client: cx.me(), ts, op, read_only: false });
            cx.broadcast(Msg::Request(request));
        }
    }
    fn on_message(&mut self, _: NodeId, _: &Msg, _: &mut Context<'_, Ballot>) {}
    fn fork(&self) -> Option<Self> {
        Some(self.clone())
    }
}
