//! turncoat finds Byzantine bugs in consensus protocols. You write the protocol as a state machine; turncoat runs it
//! thousands of times in a deterministic simulation in which replicas lie and the network misbehaves, and explains the
//! first run that breaks a promise.
//!
//! Here is a whole protocol with its test. p0 broadcasts a value; replicas echo it and decide on a quorum of echoes:
//!
//! ```
//! use turncoat::prelude::*;
//!
//! #[derive(Clone, PartialEq, Debug, Serialize, Deserialize, Message)]
//! enum Msg {
//!     #[message(view = View(0), phase = 1)] // The round of the message: faults are aimed at rounds.
//!     Init { value: Request },
//!     #[message(view = View(0), phase = 2)]
//!     Echo { value: Request },
//! }
//!
//! flags! {
//!     /// Bugs that tests can switch on.
//!     struct Flags {
//!         small_quorum: "f+1 echoes decide",
//!     }
//! }
//!
//! #[derive(Clone, Debug, Default, Hash, Serialize)]
//! struct Replica {
//!     flags: Flags,
//!     echoed: bool,
//!     echoes: Votes<Request>,
//!     decided: bool,
//! }
//!
//! impl Node<Echo> for Replica {
//!     fn on_start(&mut self, cx: &mut Context<'_, Echo>) {
//!         if cx.me() == NodeId::replica(0) {
//!             let value = *cx.payload();
//!             cx.broadcast(Msg::Init { value });
//!         }
//!     }
//!     // Record the fact, then ask what follows. `from` cannot be forged; everything else may be a lie.
//!     fn on_message(&mut self, from: NodeId, msg: &Msg, cx: &mut Context<'_, Echo>) {
//!         match *msg {
//!             Msg::Init { value } if from == NodeId::replica(0) && !self.echoed => {
//!                 self.echoed = true;
//!                 cx.broadcast(Msg::Echo { value });
//!             }
//!             Msg::Init { .. } => {}
//!             Msg::Echo { value } => drop(self.echoes.add(from, value)),
//!         }
//!         let need = if self.flags.small_quorum { cx.cluster().weak() } else { cx.cluster().quorum() };
//!         if let (Some((value, voters)), false) = (self.echoes.winner(need), self.decided) {
//!             self.decided = true;
//!             cx.commit(Slot(1), value.digest(), &[*value], Grounds::votes("echo", View(0), voters));
//!         }
//!     }
//!     open_state!(); // The state may be copied, shown and compared.
//! }
//!
//! struct Echo;
//!
//! impl Protocol for Echo {
//!     const NAME: &'static str = "echo";
//!     const ABOUT: &'static str = "consistent broadcast";
//!     const FLAGS: &'static [Flag] = Flags::ALL;
//!     const SETTING: &'static str = "[workload]\ngoal = 'none'"; // No promise to terminate: p0 may be silent.
//!     type Msg = Msg;
//!     type Timer = ();
//!     type Replica = Replica;
//!     type Client = NoClient;
//!     type Config = OnlyFlags<Flags>;
//!
//!     fn replica(_: NodeId, _: &Cluster, config: &Self::Config) -> Replica {
//!         Replica { flags: config.flags, ..Replica::default() }
//!     }
//!     fn client(_: NodeId, _: &Cluster, _: &Self::Config, _: &ClientWork) -> NoClient {
//!         NoClient
//!     }
//!     fn number(key: RoundKey) -> u32 {
//!         key.phase.into() // Two rounds: INIT and ECHO.
//!     }
//! }
//!
//! // 1000 runs, in which one replica may be Byzantine and the network may split.
//! #[turncoat::test(Echo, runs = 1000)]
//! fn replicas_agree() {}
//!
//! // The flag plants a bug, and the test shows that it is found.
//! #[turncoat::test(Echo, runs = 1000, flag = "small-quorum", finds = Property::Agreement)]
//! fn a_small_quorum_is_found() {}
//! # fn main() {
//! #     check::<Echo>().runs(200).run();
//! #     check::<Echo>().runs(1000).flag("small-quorum").finds(Property::Agreement).run();
//! # }
//! ```
//!
//! `turncoat new NAME` creates a crate like this one. If a test fails, it prints what was violated, the story of the run,
//! a chart and the command that replays it.
//!
//! | you write | with |
//! |---|---|
//! | messages | [`derive@Message`], [`derive@Part`], [`Signed`], [`Cert`] |
//! | replicas | [`Protocol`], [`Node`], [`Context`], [`Votes`], [`Ballots`]; with leaders [`ViewVotes`], [`Patience`] |
//! | views, slots, rounds and phases | [`rounds`] explains them and their defaults |
//! | a replicated service | [`Clients`], [`History`], [`Checkpoints`], [`Window`] |
//! | clients | [`QuorumClient`] with [`Service`]; or [`NoClient`], often with [`Protocol::STREAM`] |
//! | what a replica tells the tools | [`Vitals`], [`Node::state`], [`Node::essence`] |
//! | tests | [`macro@test`], [`check()`], [`Scenario`], [`Story`], [`execute`] |
//! | the command with your protocol in it | `registry!`, with the feature `cli` |
#![forbid(unsafe_code)]

// `#[turncoat::test]` names this crate by its own name, also from within.
extern crate self as turncoat;

pub mod check;
mod kept;
pub mod rounds;

pub use turncoat_core as core;
pub use turncoat_lab as lab;
pub use turncoat_strategies as strategies;

#[doc(inline)]
pub use prelude::*;

/// Derives [`trait@Message`] and [`trait@Part`] for the enum of a protocol's messages: each variant is a kind.
///
/// ```
/// use turncoat::prelude::*;
///
/// #[derive(Clone, PartialEq, Debug, Hash, Serialize, Deserialize, Part)]
/// struct Prepare {
///     view: View,
///     seq: Slot,
///     digest: Digest,
/// }
///
/// #[derive(Clone, PartialEq, Debug, Serialize, Deserialize, Message)]
/// #[message(specials = SPECIALS)]
/// enum Msg {
///     Request(Signed<Request>),                          // No round: it belongs to its sender's.
///     #[message(view = m.view, slot = m.seq, phase = 1)] // `m` is the only field of a tuple variant.
///     Prepare(Signed<Prepare>),
///     #[message(view = *view, phase = 2, view_change)]   // Named fields are references.
///     ViewChange { view: View, prepared: Vec<Signed<Prepare>> },
///     #[message(slot = *m0)]                             // `m0`, `m1`, .. are the fields of a longer tuple.
///     Fetch(Slot, NodeId),
/// }
///
/// const SPECIALS: &[Special<Msg>] = &[Special::small("fetch", ".far", |msg, _| match msg {
///     Msg::Fetch(slot, _) => {
///         *slot = Slot(slot.0 + 100);
///         true
///     }
///     _ => false,
/// })];
///
/// assert_eq!(Msg::KINDS, ["request", "prepare", "view-change", "fetch"]);
/// let lies: Vec<String> = MutationTable::of::<Msg>().iter().map(|(name, _)| name).collect();
/// assert!(lies.contains(&"prepare.seq+1".to_owned()) && lies.contains(&"fetch.far".to_owned()));
/// ```
///
/// | attribute | where | meaning |
/// |---|---|---|
/// | `#[message(view = .., phase = ..)]` | a variant | the round of the message ([`rounds`]); both are needed. Without them no fault of a round meets the message, unless the scenario has `adversary.roundless-inherit = true` |
/// | `#[message(slot = ..)]` | a variant | the slot that it is about, as a part of its round or alone; default none |
/// | `#[message(view_change)]` | a variant | it carries state into the next view; personas may show it to other replicas than the rest |
/// | `#[message(specials = PATH)]` | the enum | a `&'static [Special<Self>]` of lies that change several fields at once |
/// | `#[part(skip)]` | a field | no liar changes it; its type must still be a [`trait@Part`] |
/// | `#[part(follows = EXPR)]` | a field | what it has to be for the others to fit, as for a struct: see [`derive@Part`] |
///
/// The values of `view`, `slot` and `phase` are expressions over the fields, of the types [`View`], [`Slot`] and `u8`.
/// Fields are of the types that are [parts](turncoat_core::part): `u8`, `u32`, `u64`, `i64`, `bool`, [`View`], [`Slot`],
/// [`Time`], [`Digest`], [`NodeId`], [`Op`], [`Request`], `Option`, `Vec`, `Arc`, [`Signed`], [`Cert`], and structs that
/// derive [`derive@Part`].
pub use turncoat_derive::Message;

/// Derives [`trait@Part`] for a struct inside a message, so that a liar can change its fields one by one.
///
/// ```
/// use turncoat::prelude::*;
///
/// #[derive(Clone, PartialEq, Debug, Hash, Serialize, Deserialize, Part)]
/// #[part(labels(v, n))]
/// struct Proposal {
///     /// The view.
///     view: View,
///     /// The sequence number.
///     seq: Slot,
///     #[part(skip)]
///     padding: u64,
/// }
/// ```
///
/// | attribute | where | meaning |
/// |---|---|---|
/// | `#[part(labels(a, b))]` | the struct | what traces call the fields, in order; the rest keep their names. Surplus labels are an error |
/// | `#[part(skip)]` | a field | no liar changes it; its type must still be a [`trait@Part`] |
/// | `#[part(follows = EXPR)]` | a field | what it has to be for the others to fit, as a value or an `Option`: a lie of scope `crafted` about a field that the expression names changes this one too. Fields are references; `liar` is the [`Liar`], `before` the struct before the lie |
/// | `/// Text` | a field | explanations say what a label means with the first line of its documentation |
///
/// A struct that is signed ([`Signed`], [`Cert`]) also derives `Hash`.
pub use turncoat_derive::Part;

/// Makes a function a test that fuzzes a protocol: `#[turncoat::test(PROTOCOL, KEY = VALUE, ..)]`.
///
/// ```
/// use turncoat::{Property, Scenario};
/// use turncoat_protocols::pbft::Pbft;
///
/// // All defaults: 1000 runs of the strategy `portfolio` on the default scenario.
/// #[turncoat::test(Pbft)]
/// fn replicas_agree() {}
///
/// // A parameter of the strategy, a key of the scenario by its path, a seed.
/// #[turncoat::test(Pbft, strategy = "byzzfuzz", runs = 200, seed = 7, set(c = 2, "network.loss" = "hold"))]
/// fn lies_in_two_rounds() {}
///
/// // A planted bug that must be found, on your own scenario.
/// #[turncoat::test(Pbft, flag = "exec-out-of-order", finds = Property::Integrity)]
/// fn order_matters() -> Scenario {
///     Scenario::parse("schema = 1\nprotocol.name = 'pbft'\nworkload.requests = 3").expect("a scenario")
/// }
/// ```
///
/// | key | default | meaning |
/// |---|---|---|
/// | `runs = 10_000` | 1000 | the number of runs; the variable `TURNCOAT_RUNS` overrides it |
/// | `strategy = "twins"` | `portfolio` | how scenarios are generated; `turncoat list strategies` has all |
/// | `set(NAME = VALUE, ..)` | | parameters of the strategy (`c = 2`), or keys of the scenario by their path (`"network.loss" = "hold"`) |
/// | `flag = "NAME"` | none | switches a bug of the protocol on; may be repeated |
/// | `finds = Property::Agreement` | | expects a violation of this property: finding one is success, finding none is failure |
/// | `seed = 7` | that of the scenario | the random seed: the same seed gives the same runs |
///
/// The function takes no arguments. If it returns a [`Scenario`], all runs start from that one. A failing test saves its
/// scenario, shrunk, in the folder `turncoat-corpus` and runs it first from then on. Everything here is a method of
/// [`Fuzzer`], too, which also sets the folder.
pub use turncoat_derive::test;

#[cfg(feature = "cli")]
pub use turncoat_cli::registry;

/// All that authors need, in one line: `use turncoat::prelude::*`.
///
/// `use turncoat::*` would bring a second attribute `test` into scope, and then `#[test]` is ambiguous.
pub mod prelude {
    pub use crate::check::{Fuzzer, check};
    pub use turncoat_core::message::MutationTable;
    pub use turncoat_core::outcome::{End, Outcome, Property, Violation};
    pub use turncoat_core::prelude::*;
    pub use turncoat_core::runner::{Runner, execute};
    pub use turncoat_core::scenario::{Scenario, Seed};
    pub use turncoat_core::sim::Sim;
    pub use turncoat_core::story::Story;
}
