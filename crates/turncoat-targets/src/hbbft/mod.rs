//! HoneyBadgerBFT (Miller, Xia, Croman, Shi and Song, 2016) as POA Network has written it: `hbbft` 0.1.1, as its authors publish it.
//!
//! **What runs** is `HoneyBadger`: in each epoch every validator contributes a request, by reliable broadcast of its shards; a binary
//! agreement for each proposer says whose contributions count, with a common coin where it takes one; these are then decrypted, and the
//! batch is decided. The engine has no clock and no network: a message goes in, messages, reports and batches come out. What is around
//! it is ours (`replica`): it contributes as soon as a batch is out, and decides the requests in a batch that are signed by who asks for
//! them and were not decided before. The layers above (changes of membership, queues of transactions) do not run.
//!
//! **Time** there is none, so there are no timers: all that happens is that a message arrives. That needs channels that lose nothing,
//! for nobody says anything twice. So messages that a partition cuts off are held here (`loss = "hold"`); strategies that lose messages,
//! or what arrives while a replica is down, show that the assumption is needed, and no more. How long an epoch takes is a
//! matter of luck, of which little is needed: with four validators it takes about 300 deliveries, and seldom a toss of the coin.
//!
//! **Rounds.** A round is a phase of an epoch, whoever is the proposer: `value`, `echo`, `ready`, then `bval` and `aux` of the rounds of
//! agreement, and `conf` and `coin` in each third one (`messages`). Slot e+1 is epoch e, and where turncoat
//! speaks of a view that is an epoch too; but nobody leads.
//!
//! **Keys** are made once, from a constant. With the feature `hbbft` threshold cryptography is that which the engine has for tests: sums and
//! products modulo 2^31-1 in the place of pairings. Nobody computes a key from them here, and what is signed with a wrong one is
//! rejected as ever. `hbbft-pairings` alone has the pairings. Channels are authenticated, so messages are not signed; requests are.
//!
//! **Laggards.** The engine takes messages of `max-future-epochs` beyond its own and loses what is later, with a report of its sender,
//! who has done nothing wrong. In a deployment a queue at the sender waits instead (`sender_queue`); here the number is larger than any run.
//!
//! **Reports.** Whom the engine reports is in the marks `fault-...`. With `block` the host hears no more of them. With `judge-reports` it
//! is a violation to report a correct validator; the engine's documentation does not quite promise that, but says that a report is about a node
//! that does not follow the protocol.
//!
//! **A contribution that nobody can decrypt** stops this version forever, where contributions are encrypted. A proposer whose contribution is
//! accepted, and is no ciphertext, is reported (`send_decryption_share` in `honey_badger/epoch_state.rs`), but it stays among the proposers
//! for whose plain text `try_output_batch` waits. `findings/hbbft-0.1.1-no-ciphertext.toml` shows it. With `encryption = "never"`
//! (`hbbft-plain`) there is nothing to wait for: what is no contribution is left out of the batch.
//!
//! **Who has left a round says no more in it**, and that may be too early. A binary agreement ignores what is of an earlier round, and
//! everything once it has decided (`handle_message` in `binary_agreement/binary_agreement.rs`), so that it passes no BVAL of that round
//! on, which others may need to believe in a value; and a TERM is of the round after the decision, until when it waits in the queue, also
//! where it is one of the f+1 that decide. So those who are still in that round may wait forever.
//! `findings/hbbft-0.1.1-decided-and-silent.toml` shows it: one liar, all messages delivered, encryption or not. It takes an unlucky schedule,
//! in about one of a thousand runs of the strategies that are good at it.
//!
//! Flags break the host, not the engine: they are there to see that what breaks is seen.

use turncoat_core::prelude::*;

mod checks;
mod faults;
mod keys;
mod lies;
mod messages;
mod replica;
mod wire;

pub use messages::Msg;
pub use replica::Replica;

/// The engine with its host.
#[derive(Debug)]
pub struct Hbbft;

pub(crate) type Cx<'a> = Context<'a, Hbbft>;

/// The engine's name for what is one run.
const SESSION: u64 = 0;

turncoat_core::flags! {
    /// What a host can get wrong.
    pub struct Flags {
        accept_any_sender: "the host trusts the sender that a message names, not the channel",
        accept_any_signature: "the host decides requests whoever signed them",
        validator_left_out: "the host leaves the last replica out of the validator set, which may then tolerate fewer faults",
    }
}

/// Whether contributions are encrypted until it is decided which of them count.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Encryption {
    /// In all epochs, as the paper has it.
    Always,
    /// In none.
    Never,
}

turncoat_core::config! {
    /// Parameters.
    pub struct Config {
        /// When contributions are encrypted.
        pub encryption: Encryption = Encryption::Always,
        /// Of how many epochs beyond its own the engine takes messages.
        pub max_future_epochs: u32 = 1000,
        /// Whether the host hears no more of those whom the engine has reported.
        pub block: bool = false,
        /// Whether it is a violation that the engine reports a correct validator.
        pub judge_reports: bool = false,
        /// The bug flags that are on.
        pub flags: Flags = Flags::default(),
    }
}

impl Protocol for Hbbft {
    const NAME: &'static str = "hbbft";
    const ABOUT: &'static str = "the engine of hbbft 0.1.1, HoneyBadgerBFT: no leader, no clock";
    const FLAGS: &'static [Flag] = Flags::ALL;
    const MARKS: &'static [&'static str] = &[
        "fault-epoch",
        "fault-ciphertext",
        "fault-contribution",
        "fault-decryption-share",
        "fault-value",
        "fault-echo",
        "fault-ready",
        "fault-proof",
        "fault-encoding",
        "fault-bval",
        "fault-aux",
        "fault-conf",
        "fault-term",
        "fault-round",
        "fault-coin",
        "wrong-sender",
        "undecodable",
        "blocked",
        "error",
    ];
    const PHASES: u32 = messages::PHASES;
    const STREAM: bool = true;
    type Msg = Msg;
    type Timer = ();
    type Replica = Replica;
    type Client = NoClient;
    type Config = Config;

    fn number(key: RoundKey) -> u32 {
        let before = key.view.0.saturating_mul(Self::PHASES);
        before.saturating_add(u32::from(key.phase).min(Self::PHASES))
    }

    fn advance(old: RoundKey, new: RoundKey) -> u32 {
        Self::number(new).saturating_sub(Self::number(old))
    }

    /// Nobody says anything twice.
    fn assumes(_: &Config) -> Assumptions {
        Assumptions { channels: Channels::Reliable, ..Assumptions::default() }
    }

    fn replica(id: NodeId, cluster: &Cluster, config: &Config) -> Replica {
        Replica::new(id, cluster, *config)
    }

    fn client(_: NodeId, _: &Cluster, _: &Config, _: &ClientWork) -> NoClient {
        NoClient
    }

    fn mint(kind: u8, like: &Msg, _: Signer) -> Option<Msg> {
        lies::mint(kind, like)
    }

    fn checks() -> Vec<Check<Self>> {
        vec![checks::reports()]
    }
}

/// The engine and its named variants.
pub fn entries() -> Vec<Entry> {
    let plain = Config { encryption: Encryption::Never, ..Config::default() };
    vec![
        Entry::of::<Hbbft>(),
        Entry::variant::<Hbbft>("hbbft-plain", "the engine of hbbft 0.1.1 without encryption", &plain),
    ]
}
