//! Tendermint (Buchman, Kwon and Milosevic, "The latest gossip on BFT consensus", 2018): one block after another, each
//! decided in epochs of three steps.
//!
//! **A height** (`rules`; L = line of Algorithm 1). In each *epoch* (the paper's round) of a height one validator proposes a
//! block. The others prevote for it, or for nil; a quorum of prevotes for one block, a *polka*, makes them precommit
//! it; a quorum of precommits decides it, and the next height begins. If the proposal, or votes, are late, timeouts end
//! the steps, and with them the epoch. They grow from epoch to epoch.
//!
//! **Locks.** A validator that precommits a block is locked on it, and prevotes for no other one in later epochs, unless that one
//! has got a polka no earlier than the lock. Proposers that have seen a polka propose the block of the latest one again, and say in
//! which epoch it was.
//!
//! **Gossip** (`help`). The paper assumes that what one correct validator gets, all get. That takes three things here, each
//! with a switch: `relay`, who hears something new passes it on; `retransmit`, who makes no progress says again all that
//! it holds of its epoch; `sync`, who hears of later heights asks for the decisions that it has missed. Without
//! the last two (`tendermint-0.34`) a message that the network loses is lost for good, and with it, at times, the height: ByzzFuzz
//! found that in Tendermint 0.34.7. The code has more than our model of it: its gossip asks peers what they lack.
//!
//! Where turncoat speaks of a view, that is an epoch of a height, by the number 1000 * height + epoch; in counts of views, and
//! in the table of leaders, (h, e) is the (h+e)-th, which is what proposers go by. A message of height or epoch that no run
//! reaches is of no view at all: a liar's wild numbers leave the rounds of ByzzFuzz alone.
//!
//! Two of the deviations below break nothing in their plain reading, so they are stronger here. Where an epoch has one
//! polka at the most, a re-proposal of the lock's own epoch is the lock (`lock_lt` refuses that too); and where the polka of a re-proposal is
//! asked for, an epoch that is not over has none (`vr_future` does not ask). `quorum_ge` is harmless where n is divisible
//! by three: 2W/3 of W share more than a third.

use turncoat_core::prelude::*;

mod checks;
pub mod epochs;
mod flags;
mod help;
mod lies;
mod log;
mod messages;
mod power;
mod replica;
mod rules;

pub(crate) use epochs::{place, proposer};
pub use flags::Flags;
pub use messages::Msg;
pub use power::Weights;
pub use replica::Replica;

/// The protocol.
#[derive(Debug)]
pub struct Tendermint;

pub(crate) type Cx<'a> = Context<'a, Tendermint>;

turncoat_core::config! {
    /// Parameters; times are in ticks.
    pub struct Config {
        /// How long the proposal of an epoch may take, in epoch 0.
        pub timeout_propose: Time = Time(300),
        /// How long prevotes may take once there is a quorum of them, in epoch 0.
        pub timeout_prevote: Time = Time(100),
        /// How long precommits may take once there is a quorum of them, in epoch 0.
        pub timeout_precommit: Time = Time(100),
        /// By how much all of these grow from epoch to epoch.
        pub timeout_delta: Time = Time(50),
        /// Whether proposals and votes are passed on to all when they are first heard.
        pub relay: bool = true,
        /// After how many ticks without progress a validator sends again what it holds; 0: never.
        pub retransmit: Time = Time(200),
        /// After how many ticks a validator that hears of later heights asks for decisions; 0: never.
        pub sync: Time = Time(200),
        /// The weights of the validators, one each by default.
        pub weights: Weights = Weights::EQUAL,
        /// The bug flags that are on.
        pub flags: Flags = Flags::default(),
    }
}

/// The timers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub enum Timer {
    /// The proposal of an epoch is late.
    Propose(Slot, View),
    /// The prevotes of an epoch are.
    Prevote(Slot, View),
    /// The precommits of an epoch are.
    Precommit(Slot, View),
    /// Time to look whether there was progress.
    Retransmit,
    /// Time to ask for decisions.
    Sync,
}

impl Protocol for Tendermint {
    const NAME: &'static str = "tendermint";
    const ABOUT: &'static str = "Tendermint: a proposal and two votes in each round, locks across rounds";
    const FLAGS: &'static [Flag] = Flags::ALL;
    const MARKS: &'static [&'static str] =
        &["next-epoch", "skip", "re-proposal", "unlock", "late-decision", "recap", "sync", "evidence"];
    const STREAM: bool = true;
    const SLOT: &'static str = "height";
    /// Proposal, prevotes, precommits.
    const VIEW_DELAYS: u64 = 3;
    type Msg = Msg;
    type Timer = Timer;
    type Replica = Replica;
    type Client = NoClient;
    type Config = Config;

    fn validate(config: &Config) -> Result<(), String> {
        let Config { timeout_propose, timeout_prevote, timeout_precommit, .. } = *config;
        let shortest = timeout_propose.min(timeout_prevote).min(timeout_precommit);
        let rule = "`timeout-propose`, `timeout-prevote` and `timeout-precommit` are at least 1";
        ensure(shortest >= Time(1), rule)
    }

    fn leader(view: View, cluster: &Cluster) -> NodeId {
        epochs::leader(view, cluster)
    }

    fn origin() -> RoundKey {
        epochs::origin()
    }

    fn nth_view(view: View) -> u32 {
        epochs::nth_view(view)
    }

    fn view_name(view: View) -> String {
        epochs::name(view)
    }

    fn number(key: RoundKey) -> u32 {
        epochs::number(key)
    }

    fn advance(old: RoundKey, new: RoundKey) -> u32 {
        epochs::advance(old, new)
    }

    fn assumes(_: &Config) -> Assumptions {
        Assumptions::FAIR_LOSSY
    }

    fn replica(_: NodeId, cluster: &Cluster, config: &Config) -> Replica {
        Replica::new(*config, cluster)
    }

    fn client(_: NodeId, _: &Cluster, _: &Config, _: &ClientWork) -> NoClient {
        NoClient
    }

    fn mint(kind: u8, like: &Msg, signer: Signer) -> Option<Msg> {
        lies::mint(kind, like, signer)
    }

    fn checks() -> Vec<Check<Self>> {
        checks::all()
    }
}

/// The protocol and its named variants.
pub fn entries() -> Vec<Entry> {
    let relay_only = Config { retransmit: Time(0), sync: Time(0), ..Config::default() };
    vec![
        Entry::of::<Tendermint>(),
        Entry::variant::<Tendermint>(
            "tendermint-0.34",
            "Tendermint that relays messages but never retransmits or syncs: a lost message stays lost",
            &relay_only,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn key(height: u32, epoch: u32, phase: u8) -> RoundKey {
        RoundKey { view: place(Slot(height), View(epoch)), slot: Slot(height), phase }
    }

    #[test]
    fn rounds_go_on_from_epoch_to_epoch_and_from_height_to_height() {
        let advance = Tendermint::advance;
        assert_eq!(advance(Tendermint::origin(), key(1, 0, 1)), 1);
        assert_eq!(advance(key(1, 0, 1), key(1, 0, 3)), 2);
        assert_eq!(advance(key(1, 0, 3), key(1, 1, 1)), 1);
        assert_eq!(advance(key(1, 4, 2), key(2, 0, 2)), 3);
        assert_eq!(advance(key(1, 0, 3), key(3, 1, 1)), 7);
        assert!(key(1, 999, 3) < key(2, 0, 1));
        let numbers = [key(1, 0, 1), key(1, 0, 3), key(1, 1, 1), key(2, 0, 3)].map(Tendermint::number);
        assert_eq!(numbers, [1, 3, 4, 6]);
    }

    #[test]
    fn wild_numbers_are_of_no_round() {
        for wild in [key(1, 1000, 2), key(1, u32::MAX, 1), key(u32::MAX, 0, 3), key(1_000_000, 0, 1)] {
            assert!(wild < Tendermint::origin());
            assert_eq!((Tendermint::number(wild), Tendermint::nth_view(wild.view)), (0, 0));
        }
    }

    #[test]
    fn proposers_take_turns_unless_the_scenario_says_who() {
        let mut cluster = Cluster { n: 4, ..Cluster::default() };
        let of = |height, epoch, cluster: &Cluster| proposer(Slot(height), View(epoch), cluster).index();
        assert_eq!(
            [(1, 0), (1, 1), (2, 0), (1, 3), (3, 5)].map(|(h, e)| of(h, e, &cluster)),
            [1, 2, 2, 0, 0]
        );
        assert_eq!(of(u32::MAX, u32::MAX, &cluster), 2);
        cluster.leaders = vec![NodeId::replica(3), NodeId::replica(3)];
        assert_eq!([(1, 0), (1, 1), (2, 0), (2, 1)].map(|(h, e)| of(h, e, &cluster)), [3, 3, 3, 3]);
        assert_eq!(Tendermint::leader(place(Slot(2), View(1)), &cluster).index(), 3);
    }
}
