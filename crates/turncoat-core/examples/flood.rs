//! What the kernel costs: a protocol whose handlers do nothing but answer.
//!
//! Every replica greets all others once and then answers each message with one message, so that a delivery costs
//! one pick, one handler, one send. Instructions per delivery are the figure to watch:
//! `valgrind --tool=callgrind target/release/examples/flood 200000`, divided by the deliveries that it prints.

use serde::{Deserialize, Serialize};
use turncoat_core::ids::NodeId;
use turncoat_core::message::Message as _;
use turncoat_core::node::{ClientWork, Cluster, Context, Node, Protocol};
use turncoat_core::runner::execute;
use turncoat_core::scenario::{Limits, Scenario};

struct Flood;

#[derive(Clone, PartialEq, Serialize, Deserialize, turncoat_core::Message)]
enum Msg {
    Ping,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Never {}

struct Replica;

impl Protocol for Flood {
    const NAME: &'static str = "flood";
    const ABOUT: &'static str = "handlers that do nothing but answer";
    type Msg = Msg;
    type Timer = Never;
    type Replica = Replica;
    type Client = Replica;
    type Config = toml::Table;
    fn replica(_: NodeId, _: &Cluster, _: &toml::Table) -> Replica {
        Replica
    }
    fn client(_: NodeId, _: &Cluster, _: &toml::Table, _: &ClientWork) -> Replica {
        Replica
    }
}

impl Node<Flood> for Replica {
    fn on_start(&mut self, cx: &mut Context<'_, Flood>) {
        cx.to_others(Msg::Ping);
    }
    fn on_message(&mut self, from: NodeId, msg: &Msg, cx: &mut Context<'_, Flood>) {
        debug_assert_eq!(msg.kind(), 0);
        cx.send(from, Msg::Ping);
    }
}

fn main() {
    let steps = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    let mut scenario = Scenario::new("flood");
    std::sync::Arc::make_mut(&mut scenario.cluster).clients = 0;
    scenario.limits = std::sync::Arc::new(Limits { steps, ..Limits::default() });
    std::sync::Arc::make_mut(&mut scenario.workload).goal = turncoat_core::scenario::Goal::Height(1);
    let outcome = execute::<Flood>(&scenario).expect("a scenario that runs");
    #[expect(clippy::print_stdout, reason = "the figure to divide by")]
    {
        println!("{} deliveries", outcome.deliveries);
    }
}
