//! A node that others wrote: it cannot be copied, hashed or shown. It runs, replays, is fuzzed all the same.

use std::cell::RefCell;
use std::fmt::Write;

use serde::{Deserialize, Serialize};
use turncoat_core::Message;
use turncoat_core::hash::Digest;
use turncoat_core::ids::{NodeId, Slot, Time, View};
use turncoat_core::node::{ClientWork, Cluster, Context, Node, Protocol};
use turncoat_core::outcome::Property;
use turncoat_core::votes::Votes;

use crate::play::{Toy, play};
use crate::toys::Nobody;

/// Everybody says hello, again and again; a quorum of hellos in a round decides it.
struct Opaque;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, Message)]
enum Msg {
    #[message(view = *round, phase = 1)]
    Hello { round: View },
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct Config {
    /// Two hellos are enough.
    hasty: bool,
}

/// A closure, a cell, a trait object: nothing that could be derived.
struct Engine {
    step: Box<dyn FnMut(NodeId, View) -> Option<View>>,
    greetings: RefCell<String>,
}

impl Engine {
    fn new(quorum: usize) -> Self {
        let (mut round, mut votes) = (View(0), Votes::default());
        let step = move |from: NodeId, said: View| {
            // Who is a round ahead is believed: good enough for a greeting.
            if said < round || !votes.add(from, said) {
                return None;
            }
            let done = votes.iter().map(|(_, voters)| voters.len()).sum::<usize>() >= quorum;
            done.then(|| {
                (round, votes) = (round.next(), Votes::default());
                View(round.0 - 1)
            })
        };
        Self { step: Box::new(step), greetings: RefCell::default() }
    }
}

impl Toy for Opaque {
    const BASE: &'static str = r#"
        schema = 1
        protocol = { name = "opaque" }
        cluster = { clients = 0 }
        workload = { goal = { height = 3 } }
    "#;
}

impl Protocol for Opaque {
    const NAME: &'static str = "opaque";
    const ABOUT: &'static str = "an engine that cannot be copied";
    type Msg = Msg;
    type Timer = u32;
    type Replica = Engine;
    type Client = Nobody;
    type Config = Config;

    fn replica(_: NodeId, cluster: &Cluster, config: &Config) -> Engine {
        Engine::new(if config.hasty { cluster.weak() } else { cluster.quorum() })
    }
    fn client(_: NodeId, _: &Cluster, _: &Config, _: &ClientWork) -> Nobody {
        Nobody
    }
}

impl Node<Opaque> for Engine {
    fn on_start(&mut self, cx: &mut Context<'_, Opaque>) {
        cx.broadcast(Msg::Hello { round: View(0) });
        cx.set_timer(0, Time(100));
    }
    fn on_message(&mut self, from: NodeId, Msg::Hello { round }: &Msg, cx: &mut Context<'_, Opaque>) {
        write!(self.greetings.borrow_mut(), "{from} ").unwrap();
        if let Some(done) = (self.step)(from, *round) {
            let heard = self.greetings.borrow().len();
            cx.note(|| format!("has heard {heard} bytes of greetings"));
            let voters = cx.cluster().replicas();
            cx.commit(Slot(done.0 + 1), Digest::of(&done), &[], voters);
            cx.broadcast(Msg::Hello { round: done.next() });
        }
    }
    fn on_timer(&mut self, count: u32, cx: &mut Context<'_, Opaque>) {
        if count < 20 {
            cx.broadcast(Msg::Hello { round: View(count + 1) });
            cx.set_timer(count + 1, Time(100));
        }
    }
}

#[test]
fn an_opaque_node_runs_and_replays() {
    let played = play::<Opaque>("");
    played.holds();
    assert!(played.outcome.commits >= 12);
}

/// Under every scheduler, with losses and lies by weight and by fault: each run replays (`play` sees to it).
#[test]
fn an_opaque_node_is_fuzzed() {
    let mut lies = 0;
    for (name, seed) in
        ["fifo", "timed", "sync", "async"].iter().flat_map(|name| (0..25).map(move |seed| (name, seed)))
    {
        let played = play::<Opaque>(&format!(
            r#"
            seed = {seed}
            scheduler = {{ name = "{name}", drop = 5, mutate = 10, scope = "small" }}
            limits.steps = 600
            adversary.byzantine = ["p3"]
            [[adversary.faults]]
            round = [1, 4]
            permille = 200
            drop = true
            [[adversary.faults]]
            round = [1, 4]
            permille = 300
            mutate = {{ seed = {seed} }}
        "#
        ));
        assert!(!played.violates(Property::Crashed));
        lies += played.outcome.injected.mutated;
    }
    assert!(lies > 100, "{lies}");
}

/// Nobody can fork it, so the second face has been there from the start, and knows what the first one knows.
/// p1 hears it from the third hello of p0 on, and hears nothing that a newborn would say.
#[test]
fn a_face_that_cannot_be_forked_runs_from_the_start() {
    let played = play::<Opaque>(
        r#"
        network.latency = 10
        adversary.byzantine = ["p0"]
        [[adversary.faults]]
        nth = 3
        from = ["p0"]
        persona = { of = "p0", to = ["p1"] }
    "#,
    );
    let from_second: Vec<String> =
        played.heard("p1").into_iter().filter(|line| line.contains("p0.b:")).collect();
    assert!(!from_second.is_empty());
    assert!(!from_second.iter().any(|line| line.ends_with("round=0")), "{from_second:?}");
}
