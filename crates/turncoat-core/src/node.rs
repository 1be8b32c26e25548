//! What a protocol author writes against: [`Protocol`], [`Node`], [`Context`].
//!
//! A node is a state machine without IO: it is handed messages and timers, and acts on the world through its
//! [`Context`] alone. Handlers *record facts, then advance over guarded rules*: papers write "upon ... while
//! ...", which is about states, not about the moment in which the last message came in.

use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::FxHasher;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::assume::Assumptions;
use crate::check::Check;
use crate::client::{Op, Request};
use crate::flags::Flag;
use crate::grounds::Grounds;
use crate::hash::Digest;
use crate::ids::{NodeId, NodeSet, Slot, Time, View};
use crate::message::{Message, RoundKey};
use crate::rng::{Purpose, Rng};
use crate::scenario::Workload;
use crate::sign::{Signed, Signer};
use crate::sim::Io;
use crate::tokens::{self, Token};

/// A consensus protocol: its messages, timers, nodes and parameters.
pub trait Protocol: Sized + 'static {
    /// Its name on the command line and in files.
    const NAME: &'static str;
    /// One line for `turncoat list`.
    const ABOUT: &'static str;
    /// Deviations from the correct protocol, which the key `flags` of its [`Protocol::Config`] switches on.
    const FLAGS: &'static [Flag] = &[];
    /// Things that a run may or may not exercise; see [`Context::mark`].
    const MARKS: &'static [&'static str] = &[];
    /// How many phases the decision of one slot takes; each phase is a round. It is the highest `phase` in the attributes
    /// of the messages that decide a slot, and slots start with 1. With 0, the default, each view is one round.
    const PHASES: u32 = 0;
    /// The number of the first view (epoch, term). Say `View(1)` if your paper counts from 1: then round 1 is view 1, and the
    /// first entry of `cluster.leaders` leads it. See [`Protocol::nth_view`].
    const FIRST_VIEW: View = View(0);
    /// Whether replicas propose requests of their own ([`Context::payload`]) and there are no clients. A run is then
    /// complete, and ends, when every correct replica has decided as many slots as the workload has requests.
    ///
    /// A replica must check that a proposed request is new: a Byzantine leader may propose a genuine request of another
    /// replica for a second time, and deciding it in two slots violates integrity.
    const STREAM: bool = false;
    /// Whether replicas decide once and no more, as in a broadcast or an agreement on one value. A workload has one request
    /// then, however many a scenario asks for.
    const ONE_SHOT: bool = false;
    /// How many message delays correct replicas must spend together in a view with a correct leader to decide something in
    /// it. Non-termination counts against the protocol only if that happens from time to time.
    const VIEW_DELAYS: u64 = 8;

    /// What people call a place in the log: `slot`, `height`, `ledger`.
    const SLOT: &'static str = "slot";

    /// Defaults for its scenarios: keys of a scenario, as TOML. Commands write them into the scenarios that they make.
    const SETTING: &'static str = "";

    /// Its messages.
    type Msg: Message;
    /// The keys of its timers.
    type Timer: Copy + Ord + Hash + Debug + Serialize + 'static;
    /// Its replicas.
    type Replica: Node<Self>;
    /// Its clients, usually the stock [`crate::client::QuorumClient`].
    type Client: Node<Self>;
    /// Parameters and flags: the `[protocol]` table of a scenario.
    type Config: Serialize + DeserializeOwned + Default + Debug;

    /// A replica before its first event.
    fn replica(id: NodeId, cluster: &Cluster, config: &Self::Config) -> Self::Replica;
    /// A client before its first event.
    fn client(id: NodeId, cluster: &Cluster, config: &Self::Config, workload: &ClientWork) -> Self::Client;

    /// Fewest replicas that tolerate `f` faulty ones.
    fn bound(_config: &Self::Config, f: usize) -> usize {
        3 * f + 1
    }
    /// What it assumes of its environment. A violation in a run that breaks an assumption is not a bug.
    fn assumes(_config: &Self::Config) -> Assumptions {
        Assumptions::default()
    }
    /// How many votes decide: what liveness checks count.
    fn quorum(cluster: &Cluster) -> usize {
        cluster.quorum()
    }
    /// Checks a configuration; the error says what is wrong with it.
    fn validate(_config: &Self::Config) -> Result<(), String> {
        Ok(())
    }
    /// The leader of a view, unless the scenario prescribes one (`cluster.leaders`). By default replica `view mod n`; ask
    /// [`Context::leader`], which knows the scenario.
    fn leader(view: View, cluster: &Cluster) -> NodeId {
        NodeId::replica(view.0 as usize % cluster.n)
    }
    /// The replicas that decide, where not all do: a goal that asks for decisions asks them.
    fn deciders(cluster: &Cluster) -> NodeSet {
        cluster.replicas()
    }
    /// Whether a correct replica decides its slots one after another, without gaps.
    fn gap_free(_config: &Self::Config) -> bool {
        true
    }
    /// The round in which every node starts, before its first message. By default [`Protocol::FIRST_VIEW`], phase 0, and
    /// slot 1 if slots have [`Protocol::PHASES`], else slot 0.
    fn origin() -> RoundKey {
        RoundKey { view: Self::FIRST_VIEW, slot: Slot(u32::from(Self::PHASES > 0)), phase: 0 }
    }
    /// Which view it is, counted from 1: what `cluster.leaders` and faults with `source = "view"` count. By default the
    /// distance from the view of [`Protocol::origin`], plus 1. It is also asked about made-up views: it must not overflow.
    fn nth_view(view: View) -> u32 {
        view.next().0.saturating_sub(Self::origin().view.0)
    }
    /// What people call a view, as the protocol's papers do. It is also asked about made-up views.
    fn view_name(view: View) -> String {
        format!("view {view}")
    }
    /// The number of a message's round, by its key alone (faults with `source = "named"`). By default the view, counted
    /// from 1, without [`Protocol::PHASES`]; with them `(slot - 1) * PHASES + phase`, plus 1 for each view change. It is also
    /// asked about made-up keys: it must not overflow.
    fn number(key: RoundKey) -> u32 {
        let view = View(key.view.0.saturating_sub(Self::FIRST_VIEW.0));
        match Self::PHASES {
            0 => view.0.saturating_add(1),
            phases => RoundKey { view, ..key }.number(phases),
        }
    }
    /// By how much a node's round counter grows when it meets `new` after `old`, which is smaller. By default the
    /// difference of their numbers without [`Protocol::PHASES`]; with them the phases in between, and 1 for a new view. The
    /// counter always grows by at least 1.
    fn advance(old: RoundKey, new: RoundKey) -> u32 {
        match Self::PHASES {
            0 if old == Self::origin() => Self::number(new),
            0 => Self::number(new).saturating_sub(Self::number(old)),
            phases => new.since(old, phases),
        }
    }
    /// A message of `kind` that a Byzantine node makes up beside `like`, which it sent (`originate`).
    fn mint(_kind: u8, _like: &Self::Msg, _signer: Signer) -> Option<Self::Msg> {
        None
    }
    /// Invariants of this protocol, judged beside the general ones.
    fn checks() -> Vec<Check<Self>> {
        Vec::new()
    }
}

/// A replica or a client.
///
/// Only `on_message` is required. Each of the other methods enables something: see [`Node::fork`], for instance.
pub trait Node<P: Protocol>: 'static {
    /// Before the first event.
    fn on_start(&mut self, _cx: &mut Context<'_, P>) {}
    /// A message came in. `from` is authenticated by the channel.
    fn on_message(&mut self, from: NodeId, msg: &P::Msg, cx: &mut Context<'_, P>);
    /// A timer fired.
    fn on_timer(&mut self, _timer: P::Timer, _cx: &mut Context<'_, P>) {}
    /// Restarted after a crash with its state on disk; timers and messages in flight are gone.
    fn on_restart(&mut self, cx: &mut Context<'_, P>) {
        self.on_start(cx);
    }
    /// An adversary makes this (Byzantine) node turn against its leader, with no timer to fire.
    fn on_suspect(&mut self, _cx: &mut Context<'_, P>) {}
    /// What the node knows and waits for. Liveness checks, coverage and explanations use it.
    fn vitals(&self, _cluster: &Cluster) -> Vitals {
        Vitals::default()
    }
    /// A copy, if the node can be copied. Without it a persona starts afresh.
    fn fork(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }
    /// Goes by another configuration from now on, if the node can: some flags are on that were off, or the other way round. Only
    /// a liar is asked to, when a stance with `flags` begins or ends in the middle of a run. Returns false if it cannot.
    fn adopt(&mut self, _config: &P::Config, _cluster: &Cluster) -> bool {
        false
    }
    /// The state, if it can be shown and hashed. Without it there is no state table and no lasso, and
    /// fingerprints cover events only.
    fn state(&self) -> Option<&dyn State> {
        None
    }
    /// The part of the state that decides what the node will do from now on, for proofs of non-termination
    /// (`turncoat lasso`). Returns false if it cannot be shown. By default it is the whole state.
    ///
    /// A proof needs a state that comes back. A log, a counter of timeouts or a set of blocks that have been seen grows
    /// forever, so with one of them no state ever does; `turncoat lasso` names the field. Leave out whatever grows and can
    /// no longer change what the node does. Of a tree of blocks only the `live` ones matter: somebody still names them.
    /// Leaving out something that does matter makes a proof worthless.
    ///
    /// ```
    /// # use std::collections::BTreeMap;
    /// # use turncoat_core::prelude::*;
    /// #[derive(Clone, Debug, Hash, Serialize)]
    /// struct Replica {
    ///     view: View,
    ///     locked: Option<Digest>,
    ///     votes: BTreeMap<View, Votes<Digest>>,
    ///     log: Vec<Digest>,
    /// }
    ///
    /// impl Replica {
    ///     // What `Node::essence` of this replica does.
    ///     fn essence(&self, _live: &[Digest], out: &mut Vec<Token>) -> bool {
    ///         let Self { view, locked, votes, log } = self; // Names every field: a new one is not forgotten.
    ///         let votes: Vec<_> = votes.range(*view..).collect(); // Votes of earlier views are never counted again.
    ///         tokens::write(&(view, locked, votes, log.last()), out); // Of the log, the next block extends the last entry.
    ///         true
    ///     }
    /// }
    /// # let mut out = Vec::new();
    /// # let replica = Replica { view: View(1), locked: None, votes: BTreeMap::new(), log: Vec::new() };
    /// # assert!(replica.essence(&[], &mut out) && out.contains(&Token::View(1)));
    /// ```
    fn essence(&self, _live: &[Digest], out: &mut Vec<Token>) -> bool {
        self.state().map(|state| state.tokens(out)).is_some()
    }
}

/// A state that can be shown, compared and hashed. Implemented by `Hash + Debug + Serialize`; the `Hash`
/// keeps std's maps, whose order is random, out at compile time.
pub trait State {
    /// To see whether it has changed. It means nothing elsewhere: another build may hash otherwise.
    fn state_hash(&self) -> u64;
    /// As JSON, for tables and diffs.
    ///
    /// # Errors
    /// If JSON cannot say it: a map whose keys are neither text nor numbers, for instance.
    fn try_json(&self) -> serde_json::Result<serde_json::Value>;
    /// As JSON, or else the reason why not.
    fn json(&self) -> serde_json::Value {
        self.try_json().unwrap_or_else(|error| serde_json::Value::String(error.to_string()))
    }
    /// As Rust shows it.
    fn debug(&self) -> String;
    /// As tokens.
    fn tokens(&self, out: &mut Vec<Token>);
}

impl<T: Hash + Debug + Serialize> State for T {
    fn state_hash(&self) -> u64 {
        let mut hasher = FxHasher::default();
        self.hash(&mut hasher);
        hasher.finish()
    }
    fn try_json(&self) -> serde_json::Result<serde_json::Value> {
        serde_json::to_value(self)
    }
    fn debug(&self) -> String {
        format!("{self:?}")
    }
    fn tokens(&self, out: &mut Vec<Token>) {
        tokens::write(self, out);
    }
}

/// What a node knows and waits for, as it tells the tools around it. All fields are optional; each one you fill in buys
/// something:
///
/// | field | what you get |
/// |---|---|
/// | `view` | `turncoat lasso`, which looks at the state when a view begins; liveness checks; views in the explorer |
/// | `changing_view` | explanations that say who is between views; liveness checks do not count such a node as stuck in a view |
/// | `prepared`, `locked` | liveness checks that see locks move, and coverage that tells such states apart; explanations name what a replica is locked on |
/// | `executed`, `decided` | liveness checks that see progress, and coverage of it |
/// | `waiting` | explanations of a run that stands still: who waits for which votes, whose it has, how many are missing |
///
/// A protocol without views leaves `view` at its default; then there is no lasso, only deadlocks are proved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Vitals {
    /// The view it is in.
    pub view: View,
    /// Whether it has left its view and not entered the next one yet.
    pub changing_view: bool,
    /// The last value that it has prepared, if the protocol prepares values.
    pub prepared: Option<Digest>,
    /// The value that it is locked on, if the protocol has locks.
    pub locked: Option<Digest>,
    /// The last value that it has executed.
    pub executed: Option<Digest>,
    /// The last slot decided.
    pub decided: Slot,
    /// The messages that it needs to make progress; empty if it waits for nothing.
    pub waiting: Vec<Waiting>,
}

/// Messages of one kind that a node needs to make progress and has too few of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// Their kind.
    pub kind: &'static str,
    /// What they are about.
    pub about: About,
    /// The nodes whose messages it has.
    pub have: NodeSet,
    /// From how many nodes it needs one.
    pub need: usize,
}

/// What a message that somebody waits for is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum About {
    /// A slot.
    Slot(Slot),
    /// A view.
    View(View),
    /// A client's own request, by its number.
    Request(u32),
}

impl std::fmt::Display for About {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Slot(slot) => write!(f, "slot {slot}"),
            Self::View(view) => write!(f, "view {view}"),
            Self::Request(ts) => write!(f, "request {ts}"),
        }
    }
}

/// The members and their sizes: what every node knows of the system.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    /// Replicas.
    pub n: usize,
    /// How many of them may be faulty.
    pub f: usize,
    /// Clients.
    pub clients: usize,
    /// The leaders that the scenario prescribes, of the first view and those after it.
    pub leaders: Vec<NodeId>,
    /// Whom each replica trusts (all, where the protocol has no such notion).
    pub trust: Vec<NodeSet>,
}

impl Cluster {
    /// A quorum: more than half of the correct replicas, whatever the faulty ones say (2f+1 of 3f+1). Any two quorums
    /// share a correct replica.
    pub const fn quorum(&self) -> usize {
        (self.n + self.f) / 2 + 1
    }
    /// f+1: at least one of them is correct.
    pub const fn weak(&self) -> usize {
        self.f + 1
    }
    /// The replicas.
    pub const fn replicas(&self) -> NodeSet {
        NodeSet::replicas(self.n)
    }
    /// Whether the replicas among the voters are a quorum.
    pub const fn has_quorum(&self, voters: NodeSet) -> bool {
        voters.and(self.replicas()).len() >= self.quorum()
    }
    /// Whether the voters are a quorum of replicas, nobody else among them and nobody twice.
    pub fn elected(&self, voters: impl ExactSizeIterator<Item = NodeId>) -> bool {
        let votes = voters.len();
        let voters: NodeSet = voters.collect();
        voters.len() == votes && voters.is_subset(self.replicas()) && self.has_quorum(voters)
    }
}

/// The part of the workload that one client submits.
#[derive(Clone, Debug)]
pub struct ClientWork {
    /// How to submit: closed or open loop, retransmission, target.
    pub workload: Arc<Workload>,
    /// What to ask for, in order, each with its earliest time and whether it is a read.
    pub ops: Vec<(Op, Time, bool)>,
}

/// See [`Context::leader`].
pub(crate) fn leader<P: Protocol>(view: View, cluster: &Cluster) -> NodeId {
    let nth = P::nth_view(view) as usize;
    match nth.checked_sub(1).and_then(|index| cluster.leaders.get(index)) {
        Some(&leader) => leader,
        None => P::leader(view, cluster),
    }
}

/// All that a node may do to the world.
pub struct Context<'a, P: Protocol> {
    pub(crate) me: NodeId,
    pub(crate) now: Time,
    pub(crate) cluster: &'a Cluster,
    pub(crate) io: &'a mut Io<P>,
}

impl<P: Protocol> Context<'_, P> {
    /// This node's identity.
    pub const fn me(&self) -> NodeId {
        self.me
    }

    /// The time by this node's own clock, which may drift.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// The members.
    pub const fn cluster(&self) -> &Cluster {
        self.cluster
    }

    /// The leader of `view`: the scenario's table, else the protocol's rule.
    pub fn leader(&self, view: View) -> NodeId {
        leader::<P>(view, self.cluster)
    }

    /// Whether this node leads `view`.
    pub fn leads(&self, view: View) -> bool {
        self.leader(view) == self.me
    }

    /// Sends to one node. To oneself: an own copy, as in [`Context::broadcast`].
    pub fn send(&mut self, to: NodeId, msg: P::Msg) {
        self.io.send(NodeSet::one(to), msg);
    }

    /// Sends to some nodes.
    pub fn multicast(&mut self, to: NodeSet, msg: P::Msg) {
        self.io.send(to, msg);
    }

    /// Sends to all replicas, this one included. The own copy is handled right after the running handler, by
    /// the same code; it is never lost, delayed or changed.
    pub fn broadcast(&mut self, msg: P::Msg) {
        self.io.send(self.cluster.replicas(), msg);
    }

    /// Sends to all other replicas.
    pub fn to_others(&mut self, msg: P::Msg) {
        self.io.send(self.others(), msg);
    }

    /// All other replicas.
    pub const fn others(&self) -> NodeSet {
        self.cluster.replicas().without(NodeSet::one(self.me))
    }

    /// Arms a timer, `after` ticks of this node's clock from now. The same key is re-armed.
    pub fn set_timer(&mut self, timer: P::Timer, after: Time) {
        self.io.set_timer(timer, after);
    }

    /// Whether a timer is armed.
    pub fn is_armed(&self, timer: P::Timer) -> bool {
        self.io.timers.of(self.io.seat).any(|(key, _)| key == timer)
    }

    /// Arms a timer, unless it is armed.
    pub fn start_timer(&mut self, timer: P::Timer, after: Time) {
        if !self.is_armed(timer) {
            self.set_timer(timer, after);
        }
    }

    /// Disarms a timer.
    pub fn cancel_timer(&mut self, timer: P::Timer) {
        self.io.cancel_timer(timer);
    }

    /// Signs with this node's key, and no other.
    pub const fn sign<T>(&self, body: T) -> Signed<T> {
        Signer::of(self.me).sign(body)
    }

    /// Decides `slot`: the value `id` with its requests (none: a NOOP), on these grounds, which explanations repeat.
    /// Nothing is filtered: checkers judge every call.
    pub fn commit(&mut self, slot: Slot, id: Digest, requests: &[Request], grounds: impl Into<Grounds>) {
        let grounds = grounds.into();
        let known = |kind| P::Msg::KINDS.contains(&kind);
        debug_assert!(
            grounds.ballot().is_none_or(|votes| known(votes.kind)),
            "{grounds}: no kind of message"
        );
        self.io.commit(slot, id, requests, grounds);
    }

    /// A client submits a request: from now on it may be committed.
    pub fn submit(&mut self, request: Request) -> Signed<Request> {
        let signed = self.sign(request);
        self.io.submit(signed);
        signed
    }

    /// A client holds the result of its request. Where it knows the slot, `receipt` says what it believes to
    /// be decided there: no two clients may contradict each other.
    pub fn complete(&mut self, request: &Request, receipt: Option<(Slot, Digest)>) {
        self.io.complete(request, receipt);
    }

    /// The next request of this node's own stream (protocols without clients). Instances of one identity
    /// have streams of their own.
    pub fn payload(&mut self) -> Signed<Request> {
        let request = self.io.payload(self.me);
        self.submit(request)
    }

    /// Tells the checkers that block `id` extends block `parent`. Call it wherever a replica first sees a block: when it
    /// proposes one and when it accepts one. Repeats do no harm.
    ///
    /// The protocol itself gets nothing back. In a chain, committing a block commits its ancestors; with the parents known,
    /// agreement is judged over whole branches, so that two replicas conflict if neither block extends the other.
    pub fn block(&mut self, id: Digest, parent: Digest) {
        self.io.block(id, parent);
    }

    /// This node's own randomness.
    pub fn rng(&mut self) -> &mut Rng {
        self.io.rng()
    }

    /// The common coin of a slot (or instance) and a round: 64 random bits that are the same for every node that asks,
    /// whenever it asks. `cx.coin(slot, round) % 2 == 1` is a binary coin; `cx.coin(slot, round) % n` elects a leader.
    ///
    /// The bits come from the seed of the run, from a stream that nothing else draws from, so other seeds give other coins
    /// and no strategy can compute the coin from the faults it chooses. It is an *ideal* coin, with these limits:
    ///
    /// - It is revealed to whoever asks first, a Byzantine node included. Nobody has to wait for shares of f+1 nodes; a
    ///   protocol that must not reveal the coin early has to guard the call itself.
    /// - There are no messages, so losing or forging coin shares cannot be tested.
    /// - Running one scenario again gives the same coin. Shrinking and strategies that learn try many schedules under one
    ///   coin, as if the adversary knew it in advance. Only a real adversary that predicts coins could force such a run, so
    ///   check a non-termination found that way under other seeds.
    /// - A run that asks for a coin has no lasso (`turncoat lasso`): its future depends on chance.
    pub fn coin(&mut self, slot: Slot, round: u32) -> u64 {
        self.io.coin(slot, round)
    }

    /// Notes that the run has done something worth counting: one of [`Protocol::MARKS`].
    pub fn mark(&mut self, mark: &'static str) {
        let index = P::MARKS.iter().position(|&known| known == mark);
        debug_assert!(index.is_some(), "`{mark}` is not among the marks of {}", P::NAME);
        self.io.marks |= index.map_or(0, |index| 1 << index);
    }

    /// Evaluates the protocol's own [`Protocol::checks`] after this event, as after a decision.
    pub const fn examine(&mut self) {
        self.io.progressed = true;
    }

    /// A line for the trace, made only if somebody reads it.
    pub fn note(&mut self, line: impl FnOnce() -> String) {
        self.io.note(line);
    }
}

/// The randomness of the node in `seat`.
pub(crate) fn node_rng(seed: u64, seat: usize) -> Rng {
    Rng::stream(seed, Purpose::Node as u64 + seat as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quorum_is_of_replicas_and_an_election_counts_nobody_twice() {
        let cluster = Cluster { n: 4, f: 1, ..Cluster::default() };
        let (p, c) = (NodeId::replica, NodeId::client);
        assert!(cluster.has_quorum([p(0), p(1), p(2), c(0)].into_iter().collect()));
        assert!(!cluster.has_quorum([p(0), p(1), c(0)].into_iter().collect()));
        let elected = |voters: &[NodeId]| cluster.elected(voters.iter().copied());
        assert!(elected(&[p(0), p(1), p(3)]) && !elected(&[p(0), p(1)]));
        assert!(!elected(&[p(0), p(1), p(3), c(0)]) && !elected(&[p(0), p(1), p(3), p(3)]));
    }
}
