//! Views, slots, rounds and phases: what they are, their defaults, and what strategies do with them.
//!
//! Faults are aimed at *rounds*: "in round 3, p1 lies to p2". turncoat learns the round of a message from the attributes
//! of its kind, `#[message(view = .., slot = .., phase = ..)]`, which make up a [`RoundKey`]:
//!
//! | word | meaning | starts with |
//! |---|---|---|
//! | view | the period of one leader; papers also say epoch, term or round | 0, or [`Protocol::FIRST_VIEW`] |
//! | slot | a place in the log; papers also say sequence number, height or instance | 1; 0 if there are none |
//! | phase | a step of the protocol within a view or slot: pre-prepare, prepare, commit | 1 |
//! | round | a number from 1 that grows with the run, made of these three | 1 |
//!
//! Keys are ordered by view, then slot, then phase. Each node counts its own rounds: its counter starts at 0, and grows
//! whenever it sends or receives a message with a key that is higher than all before.
//!
//! # The hooks and their defaults
//!
//! | hook of [`Protocol`] | default without `PHASES` | default with `PHASES` |
//! |---|---|---|
//! | [`PHASES`](Protocol::PHASES) | 0: each view is one round | the rounds that a slot takes |
//! | [`FIRST_VIEW`](Protocol::FIRST_VIEW) | view 0 | view 0 |
//! | [`origin`](Protocol::origin), where every node starts | `FIRST_VIEW`, slot 0, phase 0 | `FIRST_VIEW`, slot 1, phase 0 |
//! | [`number`](Protocol::number) of a key | `view - FIRST_VIEW + 1` | `(slot - 1) * PHASES + phase + (view - FIRST_VIEW)` |
//! | [`advance`](Protocol::advance), growth of a node's counter, at least 1 | the difference of the numbers | the phases in between; 1 for a new view |
//! | [`nth_view`](Protocol::nth_view), the view counted from 1 | `view - FIRST_VIEW + 1` | the same |
//! | [`leader`](Protocol::leader) of a view | replica `view mod n` | the same |
//!
//! `number` and `nth_view` are also asked about values that a liar has made up, so they must not overflow.
//!
//! # What strategies do with them
//!
//! | | Twins | ByzzFuzz |
//! |---|---|---|
//! | a round is | a view of the message, by [`nth_view`](Protocol::nth_view) (`granularity = "phase"`: a phase of one) | a number of the sender's counter, by [`advance`](Protocol::advance) (`source = "named"`: of the message, by [`number`](Protocol::number)) |
//! | how many | `rounds`, default 10 | `r`, default 8, starting with `first`, default 1 |
//! | in each round | its own leader (`cluster.leaders`) and its own partition | perhaps a partition, perhaps lies to some replicas |
//! | messages without a round | are in the view of their sender | meet no fault of a round, unless `adversary.roundless-inherit = true`: then they are in the round of their sender |
//! | after the last round | the network heals | partitions heal after `gst` ticks at the latest; there are no more lies |
//! | without views in your protocol | all messages are in round 1, so Twins is of little use | give the phases numbers, as below |
//!
//! # Recipes
//!
//! - *A log with one leader at a time (PBFT)*: `view` and `slot` in the attributes, phases 1 to k, `PHASES = k`. Messages of
//!   a view change have no slot and phases above k.
//! - *Epochs or views without slots in messages (HotStuff, Streamlet)*: `view` and `phase`; leave `PHASES` at 0. Each view
//!   is one round.
//! - *Views from 1*: `const FIRST_VIEW: View = View(1)`. Round 1 is view 1, and `cluster.leaders[0]` leads it.
//! - *Heights with rounds in each (Tendermint)*: fold both into a view that grows, and override `origin`, `nth_view`,
//!   `number` and `advance`; `turncoat_protocols::tendermint` does.
//! - *One shot, no views (broadcast, binary agreement)*: `view = View(0)`, or the round of the agreement as the view, and
//!   `fn number(key: RoundKey) -> u32 { key.phase.into() }`; set [`Protocol::ONE_SHOT`].
//!
//! ```
//! use turncoat::prelude::*;
//!
//! # #[derive(Clone, PartialEq, Debug, Serialize, Deserialize, Message)]
//! # enum Msg {
//! #     #[message(view = *epoch, phase = 1)]
//! #     Vote { epoch: View },
//! # }
//! # struct Replica;
//! # impl Node<Epochs> for Replica {
//! #     fn on_message(&mut self, _: NodeId, _: &Msg, _: &mut Context<'_, Epochs>) {}
//! # }
//! struct Epochs;
//!
//! impl Protocol for Epochs {
//!     const NAME: &'static str = "epochs";
//!     const ABOUT: &'static str = "epochs are counted from 1";
//!     const FIRST_VIEW: View = View(1);
//! #   type Msg = Msg;
//! #   type Timer = ();
//! #   type Replica = Replica;
//! #   type Client = NoClient;
//! #   type Config = OnlyFlags<()>;
//! #   fn replica(_: NodeId, _: &Cluster, _: &Self::Config) -> Replica {
//! #       Replica
//! #   }
//! #   fn client(_: NodeId, _: &Cluster, _: &Self::Config, _: &ClientWork) -> NoClient {
//! #       NoClient
//! #   }
//!     // Messages, nodes and so on.
//! }
//!
//! let key = |epoch| RoundKey { view: View(epoch), slot: Slot(0), phase: 1 };
//! assert_eq!((Epochs::number(key(1)), Epochs::number(key(3))), (1, 3));
//! assert_eq!(Epochs::nth_view(View(1)), 1);
//! assert_eq!(Epochs::advance(Epochs::origin(), key(1)), 1);
//! ```

#[expect(unused_imports, reason = "for links")]
use crate::{Protocol, RoundKey};
