//! A toy without a will of its own: the scenario says who writes to whom, and when.
//!
//! ```toml
//! letters = ["0 p0>* letter 0.1", "20 p1>p2,p3 card"]     # at, link, kind, view.slot
//! ```
//!
//! Times are by the sender's own clock, and each letter has a timer of its own. Letters are numbered from 1,
//! in the order of the list, unless they say otherwise: `10 p0>* card #7`.

use serde::{Deserialize, Serialize};
use turncoat_core::Message;
use turncoat_core::assume::{Assumptions, Channels};
use turncoat_core::ids::{NodeId, NodeSet, Slot, Time, View};
use turncoat_core::message::Message as _;
use turncoat_core::node::{About, ClientWork, Cluster, Context, Node, Protocol, State, Vitals, Waiting};
use turncoat_core::sign::Signer;

use super::Nobody;
use crate::play::Toy;

pub(crate) struct Post;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, Message)]
pub(crate) enum Msg {
    #[message(view = *view, slot = *slot, phase = 1)]
    Letter { view: View, slot: Slot, no: u32 },
    /// Has no round.
    Card { no: u32 },
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Config {
    letters: Vec<String>,
    /// Whoever gets the letter with this number panics.
    bomb: Option<u32>,
    /// This node panics when it starts.
    stillborn: Option<NodeId>,
    /// Letters are assumed to arrive within so many ticks.
    delta: Option<Time>,
}

#[derive(Clone, Debug, Hash, Serialize)]
pub(crate) struct Writer {
    me: NodeId,
    letters: Vec<(Time, NodeSet, Msg)>,
    pub(crate) heard: Vec<u32>,
    bomb: Option<u32>,
    stillborn: bool,
}

impl Toy for Post {
    const BASE: &'static str = r#"
        schema = 1
        protocol = { name = "post" }
        cluster = { clients = 0 }
        network = { latency = 10 }
        limits = { linger = 100000 }
    "#;
}

impl Protocol for Post {
    const NAME: &'static str = "post";
    const ABOUT: &'static str = "the scenario says who writes to whom";
    type Msg = Msg;
    type Timer = u32;
    type Replica = Writer;
    type Client = Nobody;
    type Config = Config;

    fn assumes(config: &Config) -> Assumptions {
        let channels = config.delta.map_or(Channels::FairLossy, Channels::Synchronous);
        Assumptions { channels, ..Assumptions::default() }
    }

    fn replica(me: NodeId, cluster: &Cluster, config: &Config) -> Writer {
        let letters = config.letters.iter().enumerate().filter_map(|(i, line)| parse(line, i, me, cluster));
        let stillborn = config.stillborn == Some(me);
        Writer { me, letters: letters.collect(), heard: Vec::new(), bomb: config.bomb, stillborn }
    }
    fn client(_: NodeId, _: &Cluster, _: &Config, _: &ClientWork) -> Nobody {
        Nobody
    }
    /// A card beside a letter, with a number that tells.
    fn mint(kind: u8, like: &Msg, signer: Signer) -> Option<Msg> {
        let Msg::Letter { no, .. } = like else { return None };
        (Msg::KINDS[usize::from(kind)] == "card")
            .then_some(Msg::Card { no: 1000 * (1 + signer.node().index() as u32) + no })
    }
}

fn parse(line: &str, index: usize, me: NodeId, cluster: &Cluster) -> Option<(Time, NodeSet, Msg)> {
    let (line, no) = match line.split_once(" #") {
        Some((line, no)) => (line, no.parse().unwrap()),
        None => (line, index as u32 + 1),
    };
    let words: Vec<&str> = line.split_whitespace().collect();
    let (src, dst) = words[1].split_once('>').expect("p0>p1,p2");
    if src.parse() != Ok(me) {
        return None;
    }
    let to = match dst {
        "*" => cluster.replicas(),
        names => names.split(',').map(|name| name.parse::<NodeId>().unwrap()).collect(),
    };
    let msg = match words[2..] {
        ["letter", round] => {
            let (view, slot) = round.split_once('.').expect("view.slot");
            Msg::Letter { view: View(view.parse().unwrap()), slot: Slot(slot.parse().unwrap()), no }
        }
        ["card"] => Msg::Card { no },
        _ => panic!("`{line}` is no letter"),
    };
    Some((Time(words[0].parse().unwrap()), to, msg))
}

impl Node<Post> for Writer {
    fn on_start(&mut self, cx: &mut Context<'_, Post>) {
        assert!(!self.stillborn, "stillborn");
        cx.note(|| format!("starts knowing {:?}", self.heard));
        for (i, (at, ..)) in self.letters.iter().enumerate() {
            match at {
                // At once: in the handler, not by a timer.
                Time(0) => self.post(i, cx),
                at => cx.set_timer(i as u32, *at),
            }
        }
    }
    fn on_message(&mut self, _: NodeId, msg: &Msg, cx: &mut Context<'_, Post>) {
        let (Msg::Letter { no, .. } | Msg::Card { no }) = msg;
        assert!(Some(*no) != self.bomb, "letter {no} was a bomb");
        self.heard.push(*no);
        if matches!(msg, Msg::Card { .. }) {
            cx.examine();
        }
    }
    fn on_timer(&mut self, timer: u32, cx: &mut Context<'_, Post>) {
        self.post(timer as usize, cx);
    }
    /// It counts what it has heard as decided, and waits for cards until it has heard anything.
    fn vitals(&self, _: &Cluster) -> Vitals {
        let about = About::View(View(0));
        let card = Waiting { kind: "card", about, have: NodeSet::EMPTY, need: 1 };
        let waiting = if self.heard.is_empty() { vec![card] } else { Vec::new() };
        Vitals { decided: Slot(self.heard.len() as u32), waiting, ..Vitals::default() }
    }
    fn on_suspect(&mut self, cx: &mut Context<'_, Post>) {
        cx.to_others(Msg::Card { no: 999 });
    }
    fn fork(&self) -> Option<Self> {
        Some(self.clone())
    }
    fn state(&self) -> Option<&dyn State> {
        Some(self)
    }
}

impl Writer {
    fn post(&self, letter: usize, cx: &mut Context<'_, Post>) {
        let (_, to, msg) = self.letters[letter];
        cx.multicast(to, msg);
    }
}
