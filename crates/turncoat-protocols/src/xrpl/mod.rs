//! The XRP Ledger's consensus, as rippled has it: rounds by the clock, and each replica trusts a list of its own.
//!
//! **A round** (`round`, `positions`). A replica collects payments for an open ledger. When the ledger closes it proposes the set of them
//! (PROPOSE), and hears what the others propose. On what differs it votes again with each heartbeat: the longer the round
//! takes, the more of the others have to want a payment (`dispute`). When 80 % of the positions *received* are its own it has
//! consensus: it builds the ledger and sends a VALIDATION.
//!
//! **Full validation** (`replica`, `validations`). A ledger that 80 % of its *list* have validated is final, with all before
//! it. Replicas that have built something else go over to the branch that most of those they trust have validated.
//!
//! **Trust**. Each replica counts only those on its unique node list: `cluster.trust` of a scenario. Only if lists overlap
//! almost entirely is there one ledger (Chase and MacBrough 2018); with 60 %, as in ByzzFuzz (`bf60`) and the XRPL thesis
//! (`th60`), one liar, or none, stops the network or splits it. That is no flag, it is the configuration.
//!
//! **The start**. A branch is left for another if that has more support than there are nodes who may still go anywhere, because
//! they have validated nothing as late. At the start of a network rippled knows of nobody, so one validation is enough to draw a
//! replica away from a ledger that it has validated itself; with one liar and late messages that makes a fork of the very
//! first ledgers, also where all trust all. Here, in all versions, all are taken to be on the first ledger, as in a network
//! that has been running for a while; the flag `nobody-on-genesis` is rippled's way.
//!
//! **Clients and progress**. A client waits until all replicas but those that may be faulty have told it that its payment is settled
//! (SETTLED); then it hands in the next one. Without enough answers it hands the payment in again, and replicas that have
//! settled it answer again. A run reaches its goal when every payment is in a final ledger of every correct replica (`goal =
//! "committed"`), so termination is judged by ledgers: a lost answer costs a minute and nothing else. Counting ledgers alone
//! (`height`, `again`) would be too little, since a network in which payments vote each other out forever goes on making empty
//! ledgers final.
//!
//! **What is known to be wrong**. One liar among six or more, where all trust all, can keep ledgers from ever being final, as long
//! as it goes on lying. Two branches have to exist, which takes a partition, late messages, or a liar that proposes different
//! sets to different replicas. Then there are two ways. The liar goes with both branches, and each half counts it as its own
//! (Amores-Sesar et al. 2020; `xrpl/balanced-branches`). Or it validates nothing as late as the others do, and so counts as
//! undecided: the replicas of the smaller branch stay as long as the larger one is not ahead by more than the number of the
//! undecided (`xrpl/undecided-liar`). A liar that stops or falls silent is forgotten after three minutes, and one branch wins.
//!
//! **Versions**. 1.7.2 is what ByzzFuzz tested, 2.4.0 what the thesis did; from 2.5 on disputes rise level by level and may
//! stall, and rounds end. Times are rippled's, in milliseconds.
//!
//! **Left to the configuration**. How far apart heartbeats are (`heartbeat-spread`), whether messages are passed on (`relay`),
//! whether ledgers have a closing time (`close-time`, in `closing`), and whether peers that send bad messages are cut off
//! (`charge-limit`). rippled passes on, has closing times, and cuts a peer off after some 400 invalid signatures in half a minute.
//!
//! Not modelled: fees, the negative list, sets fetched by their
//! hash (positions carry them). A payment that a replica knows stays in its pool until it is settled in a ledger that is final;
//! rippled may forget it with the branch that it was on.

use turncoat_core::prelude::*;

mod client;
mod closing;
mod dispute;
mod flags;
mod ledger;
mod lies;
mod messages;
mod positions;
mod replica;
mod round;
mod rules;
mod validations;

pub use client::Client;
pub use flags::Flags;
pub use messages::Msg;
pub use replica::Replica;
pub use rules::Version;

/// The protocol.
#[derive(Debug)]
pub struct Xrpl;

pub(crate) type Cx<'a> = Context<'a, Xrpl>;

turncoat_core::config! {
    /// Parameters.
    pub struct Config {
        /// Whose rules: those of rippled 1.7.2, 2.4.0 or 2.6.1.
        pub version: Version = Version::V2_6_1,
        /// The percentage of the positions received that has to agree.
        pub consensus_pct: u32 = 80,
        /// The percentage of the list that has to validate a ledger.
        pub quorum_pct: u32 = 80,
        /// Whether replicas pass on payments, proposals and validations.
        pub relay: bool = false,
        /// Whether replicas also have to agree on when a ledger closed, which is part of its hash.
        pub close_time: bool = false,
        /// The first heartbeats of all replicas come within so many milliseconds, 1 to 1000; 1: together.
        pub heartbeat_spread: u32 = 1000,
        /// After so many bad messages of a peer a replica closes the connection for good; 0: never.
        pub charge_limit: u32 = 0,
        /// What each client has at first.
        pub balance: u64 = 100_000,
        /// The bug flags that are on.
        pub flags: Flags = Flags::default(),
    }
}

/// The timers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub enum Timer {
    /// Time to look.
    Heartbeat,
    /// A round has ended.
    NextRound,
    /// The client's.
    Client(ClientTimer),
}

impl From<ClientTimer> for Timer {
    fn from(timer: ClientTimer) -> Self {
        Self::Client(timer)
    }
}

impl Protocol for Xrpl {
    const NAME: &'static str = "xrpl";
    const ABOUT: &'static str =
        "the XRP Ledger (rippled 2.6.1): rounds by the clock, and a trust list for each replica";
    const FLAGS: &'static [Flag] = Flags::ALL;
    const MARKS: &'static [&'static str] = &[
        "position-changed",
        "waited",
        "wrong-ledger",
        "ledger-acquired",
        "moved-on",
        "expired",
        "incompatible",
        "liar-detected",
        "rewrite",
        "no-close-time",
        "peer-cut-off",
    ];
    /// PROPOSE and VALIDATION.
    const PHASES: u32 = 2;
    const SLOT: &'static str = "ledger";
    type Msg = Msg;
    type Timer = Timer;
    type Replica = Replica;
    type Client = Client;
    type Config = Config;

    /// Rounds take seconds, and the first ledger closes after a quarter of a minute. Of payments that exclude each other one is
    /// settled, so what counts is that one of each number is in a final ledger of every correct replica.
    const SETTING: &'static str = r#"
        [workload]
        timeout = 60000
        goal = "committed"
        [network]
        latency = [20, 80]
        loss = "hold"
        gst = { time = 60000 }
        [adversary]
        roundless-inherit = true
        [limits]
        time = 600000
        steps = 200000
    "#;

    /// As in the white paper: f of 5f+1 replicas may lie.
    fn bound(_: &Config, f: usize) -> usize {
        5 * f + 1
    }

    /// Chase and MacBrough (2018): any two lists overlap by more than 90 %, or there may be forks; and identical lists alone
    /// are sure to make progress.
    fn assumes(_: &Config) -> Assumptions {
        let overlap = Some(Overlap { safety: 90, progress: 100 });
        Assumptions { channels: Channels::Reliable, overlap, ..Assumptions::default() }
    }

    fn view_name(view: View) -> String {
        format!("the round for ledger {view}")
    }

    fn quorum(cluster: &Cluster) -> usize {
        (4 * cluster.n).div_ceil(5)
    }

    fn validate(config: &Config) -> Result<(), String> {
        let percent = 1..=100;
        ensure(
            percent.contains(&config.consensus_pct) && percent.contains(&config.quorum_pct),
            "`consensus-pct` and `quorum-pct` are percentages, 1 to 100",
        )?;
        ensure(
            (1..=rules::HEARTBEAT).contains(&u64::from(config.heartbeat_spread)),
            "`heartbeat-spread` is 1 to 1000",
        )?;
        ensure(config.balance <= 1 << 40, "`balance` is at most 2^40")
    }

    /// The first ledger is there from the start; a ledger is a view.
    fn origin() -> RoundKey {
        RoundKey { view: View(1), slot: Slot(1), phase: 0 }
    }

    /// Of ledger 2: 1 for PROPOSE, 2 for VALIDATION; and so on.
    fn number(key: RoundKey) -> u32 {
        let before = key.view.0.saturating_sub(2).saturating_mul(Self::PHASES);
        before.saturating_add(u32::from(key.phase))
    }

    fn advance(old: RoundKey, new: RoundKey) -> u32 {
        Self::number(new).saturating_sub(Self::number(old))
    }

    fn replica(id: NodeId, cluster: &Cluster, config: &Config) -> Replica {
        Replica::new(id, cluster, *config)
    }

    fn client(_: NodeId, _: &Cluster, _: &Config, work: &ClientWork) -> Client {
        Client::new(work)
    }

    /// Money neither comes nor goes. (That no number of an account is used twice is integrity.)
    fn checks() -> Vec<Check<Self>> {
        let judge = |sim: &turncoat_core::sim::Sim<Self>| {
            let correct = sim.seats().replicas().iter().filter(|&seat| sim.is_correct(seat));
            for (seat, node) in correct.filter_map(|seat| Some((seat, sim.replica(seat)?))) {
                let [has, had] = node.money();
                if has != had {
                    return Err(format!("{} has a ledger with {has} of {had}", sim.seats().node(seat)));
                }
            }
            Ok(())
        };
        vec![Check { name: "money", judge: Box::new(judge) }]
    }
}

/// The protocol and its named variants.
pub fn entries() -> Vec<Entry> {
    let flags = Flags { validation_count_ignores_seq: true, alone_is_consensus: true, ..Flags::default() };
    let v1_7_2 = Config { version: Version::V1_7_2, flags, ..Config::default() };
    let v2_4_0 = Config { version: Version::V2_4_0, ..Config::default() };
    let seeded_40 = Config { consensus_pct: 40, quorum_pct: 40, ..v2_4_0 };
    let variant = Entry::variant::<Xrpl>;
    vec![
        Entry::of::<Xrpl>(),
        variant("xrpl-1.7.2", "rippled 1.7.2: validations count whatever ledger number they name", &v1_7_2),
        variant("xrpl-2.4.0", "rippled 2.4.0, the version of the XRPL thesis", &v2_4_0),
        variant(
            "xrpl-seeded-40",
            "rippled 2.4.0 with thresholds of 40 % instead of 80 %, as seeded in the thesis",
            &seeded_40,
        ),
    ]
}
