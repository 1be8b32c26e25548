//! FaB Paxos and parameterized FaB (Martin and Alvisi, TDSC 2006), the latter repaired, and as published: consensus in two
//! steps.
//!
//! **Two steps** (`leader`, `acceptor`, `learner`). The leader sends PROPOSE(v,n,x) to the acceptors; one that accepts it says
//! ACCEPTED(v,n,x) to the learners. A learner that hears it from a-t of the a acceptors has learned x. Plain FaB has
//! a = 5f+1 and t = f. With a = 3f+2t+1 (parameterized FaB) acceptors hear each other too: with ACCEPTEDs of a quorum they
//! send a COMMITPROOF, and a quorum of those is as good, one step later.
//!
//! **Proposers.** A proposer that hears LEARNED from a quorum of learners says SATISFIED, and the leader stops
//! sending again. One that waits too long says SUSPECT(v); a quorum of SUSPECTs elects the next leader.
//!
//! **Recovery** (`certificate`). The new leader asks all acceptors (QUERY) and takes the first a-f answers (REP) for its
//! progress certificate. It may propose only what the certificate vouches for, and acceptors check that. As published, a value
//! with f+t+1 reports forbids all others, and so does a value with a commit proof: one liar can bring both about, and
//! then nothing can be proposed (Abraham et al., 2017). Lies in the first view are enough for that. Repaired, what may
//! have been decided in the *highest* view counts, and in one view a proof before reports.
//!
//! What the paper leaves open is ours:
//! - there is an instance for each slot, one after another: PROPOSE for slot n carries a *learned certificate*,
//!   LEARNEDs of a quorum of learners over all values before n, and none of these may be proposed again;
//! - who enters a view proves it to all (ELECTED), and again to who suspects an earlier leader. Otherwise a SUSPECT that
//!   a liar sends to some only could split the views forever;
//! - what is unanswered is sent again: PROPOSE and QUERY by the leader, and ACCEPTED, COMMITPROOF, LEARNED and SATISFIED
//!   in answer to that; SUSPECT while the timer fires; PULL by all who wait, learners or not. A client sends again to
//!   all nodes, since learners answer it.

use turncoat_core::prelude::*;

mod acceptor;
mod certificate;
mod flags;
mod leader;
mod learner;
mod lies;
mod messages;
mod replica;
mod roles;

pub use flags::Flags;
pub use messages::Msg;
pub use replica::Replica;

use messages::{Accepted, Learned, Prefix, values};
use roles::Roles;

/// The protocol.
#[derive(Debug)]
pub struct Fab;

pub(crate) type Cx<'a> = Context<'a, Fab>;

turncoat_core::config! {
    /// Parameters; times are in ticks.
    pub struct Config {
        /// Whether acceptors make commit proofs, so that 3f+2t+1 of them are enough.
        pub parameterized: bool = false,
        /// t: how many acceptors may fail, and two steps are still enough (parameterized FaB).
        pub t: u32 = 0,
        /// How long a proposer waits for a request to be learned; twice that in the next view, and so on.
        pub proposer_timeout: Time = Time(500),
        /// How many times the time may double.
        pub doublings: u32 = 6,
        /// How often the leader asks or proposes again.
        pub retransmit: Time = Time(100),
        /// How often a waiting replica asks the learners.
        pub pull: Time = Time(300),
        /// The bug flags that are on.
        pub flags: Flags = Flags::default(),
    }
}

/// The timers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub enum Timer {
    /// The leader has not heard enough.
    Leader,
    /// A request is late.
    Proposer,
    /// Time to ask the learners.
    Pull,
    /// The client's.
    Client(ClientTimer),
}

impl From<ClientTimer> for Timer {
    fn from(timer: ClientTimer) -> Self {
        Self::Client(timer)
    }
}

impl Protocol for Fab {
    const NAME: &'static str = "fab";
    const ABOUT: &'static str = "FaB Paxos: learns in two steps with 5f+1 acceptors";
    const FLAGS: &'static [Flag] = Flags::ALL;
    const MARKS: &'static [&'static str] =
        &["view-change", "recovery", "commit-proof", "learned-from-learners", "stuck-leader"];
    /// PROPOSE, ACCEPTED, COMMITPROOF, LEARNED, SATISFIED.
    const PHASES: u32 = 5;
    type Msg = Msg;
    type Timer = Timer;
    type Replica = Replica;
    type Client = QuorumClient;
    type Config = Config;

    fn bound(config: &Config, f: usize) -> usize {
        if config.parameterized { 3 * f + 2 * config.t as usize + 1 } else { 5 * f + 1 }
    }

    fn validate(config: &Config) -> Result<(), String> {
        let shortest = config.proposer_timeout.min(config.retransmit).min(config.pull);
        let rule = "`proposer-timeout`, `retransmit` and `pull` are at least 1";
        ensure(shortest >= Time(1), rule)?;
        ensure(config.doublings <= 32, "`doublings` is at most 32")?;
        ensure(config.parameterized || config.t == 0, "`t` is for `parameterized = true`")?;
        ensure(config.t <= 16, "`t` is at most f, and at most 16")
    }

    /// The proposers take turns, the first one in view 1.
    fn leader(view: View, cluster: &Cluster) -> NodeId {
        NodeId::replica(view.0.saturating_sub(1) as usize % Roles::of(cluster).thirds())
    }

    fn deciders(cluster: &Cluster) -> NodeSet {
        Roles::of(cluster).learners()
    }

    /// The first view is 1.
    fn origin() -> RoundKey {
        RoundKey { view: View(1), slot: Slot(1), phase: 0 }
    }

    /// Of an instance n: 5(n-1)+1 for PROPOSE, and so on. Of an election, and of a REP: the new view.
    fn number(key: RoundKey) -> u32 {
        match key.phase {
            phase @ 1..=5 => key.slot.0.saturating_sub(1).saturating_mul(5).saturating_add(u32::from(phase)),
            _ => key.view.0,
        }
    }

    /// As in PBFT, a client waits for the result of one request before it sends the next.
    fn assumes(_: &Config) -> Assumptions {
        Assumptions { one_request: true, ..Assumptions::FAIR_LOSSY }
    }

    fn replica(_: NodeId, _: &Cluster, config: &Config) -> Replica {
        Replica::new(*config)
    }

    fn client(_: NodeId, cluster: &Cluster, _: &Config, work: &ClientWork) -> QuorumClient {
        QuorumClient::new(work, ReplyQuorum { ordered: cluster.weak(), read: cluster.weak() })
    }

    /// An ACCEPTED, or a LEARNED, beside an own PROPOSE.
    fn mint(kind: u8, like: &Msg, signer: Signer) -> Option<Msg> {
        let Msg::Propose(m) = like else { return None };
        let (view, seq, value) = (m.view, m.seq, m.value);
        match Msg::KINDS[usize::from(kind)] {
            "accepted" => Some(Msg::Accepted(signer.sign(Accepted { view, seq, value }))),
            "learned" => {
                let all = values(m.learned.as_ref()).iter().copied().chain([value]);
                let learnt = signer.sign(Prefix(Arc::new(all.collect())));
                Some(Msg::Learned(Learned { view, learnt }))
            }
            _ => None,
        }
    }

    /// No correct leader is left without a value that it may propose.
    fn checks() -> Vec<Check<Self>> {
        let judge = |sim: &turncoat_core::sim::Sim<Self>| {
            for seat in
                sim.seats().replicas().iter().filter(|&seat| sim.is_correct(seat) && sim.is_alive(seat))
            {
                if let Some((node, why)) = sim.replica(seat).and_then(|node| Some((node, node.stuck()?))) {
                    let (name, view) = (sim.seats().node(seat), node.view);
                    return Err(format!("{name} leads view {view} and may propose nothing: {why}"));
                }
            }
            Ok(())
        };
        vec![Check { name: "stuck-leader", judge: Box::new(judge) }]
    }
}

impl Service for Fab {
    fn request(request: Signed<Request>) -> Msg {
        Msg::Request(request)
    }

    fn reply(msg: &Msg) -> Option<Reply> {
        let Msg::Reply(r) = msg else { return None };
        r.valid().then_some(**r)
    }

    /// All proposers: each of them may have to lead.
    fn first_to(_: NodeId, cluster: &Cluster) -> NodeSet {
        Roles::of(cluster).proposers()
    }
}

/// The protocol and its named variants.
pub fn entries() -> Vec<Entry> {
    let pfab = Config { parameterized: true, ..Config::default() };
    let flags = Flags { pfab_vouch_conflict: true, ..Flags::default() };
    let paper = Config { flags, ..pfab };
    let variant = Entry::variant::<Fab>;
    vec![
        Entry::of::<Fab>(),
        variant(
            "pfab",
            "parameterized FaB, repaired: 3f+2t+1 acceptors, commit proofs as a slower path",
            &pfab,
        ),
        variant(
            "pfab-paper",
            "parameterized FaB as published: a leader may be left with no value to propose",
            &paper,
        ),
    ]
}
