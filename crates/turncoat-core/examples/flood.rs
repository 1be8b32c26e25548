//! What the kernel costs: a protocol whose message handlers are empty.
//!
//! Every replica talks to all others twenty times at each tick of its own timer, and nobody listens. Instructions per delivery are the
//! figure to watch; `checks/instructions.sh` takes it with callgrind.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use turncoat_core::ids::{NodeId, Time};
use turncoat_core::node::{ClientWork, Cluster, Context, Node, Protocol};
use turncoat_core::runner::execute;
use turncoat_core::scenario::{Goal, Latency, Limits, Scenario};

struct Flood;

#[derive(Clone, PartialEq, Serialize, Deserialize, turncoat_core::Message)]
enum Msg {
    Ping,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize)]
struct Tick;

struct Replica;

impl Protocol for Flood {
    const NAME: &'static str = "flood";
    const ABOUT: &'static str = "everybody talks, nobody listens";
    type Msg = Msg;
    type Timer = Tick;
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
        self.on_timer(Tick, cx);
    }
    fn on_message(&mut self, _: NodeId, _: &Msg, _: &mut Context<'_, Flood>) {}
    fn on_timer(&mut self, tick: Tick, cx: &mut Context<'_, Flood>) {
        for _ in 0..20 {
            cx.to_others(Msg::Ping);
        }
        cx.set_timer(tick, Time(5));
    }
}

fn main() {
    let steps = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    let mut scenario = Scenario::new("flood");
    Arc::make_mut(&mut scenario.cluster).clients = 0;
    Arc::make_mut(&mut scenario.workload).goal = Goal::Height(1);
    // The cost of drawing latencies is the generator's, not the kernel's.
    Arc::make_mut(&mut scenario.network).latency = Latency::Constant(Time(10));
    scenario.limits = Arc::new(Limits { steps: Some(steps), ..Limits::default() });
    let outcome = execute::<Flood>(&scenario).expect("a scenario that runs");
    #[expect(clippy::print_stdout, reason = "the figure to divide by")]
    {
        println!("{} deliveries", outcome.deliveries);
    }
}
