//! A toy about signatures: everybody signs a note, and everybody passes everybody's notes on.
//!
//! It has signatures in all places where a message can have one. Nodes keep what they signed and what they
//! got, and judge nothing: the tests do.

use serde::{Deserialize, Serialize};
use turncoat_core::ids::{NodeId, NodeSet, View};
use turncoat_core::node::{ClientWork, Cluster, Context, Node, Protocol};
use turncoat_core::sign::{Cert, Signed};
use turncoat_core::votes::Ballots;
use turncoat_core::{Message, Part};

use super::Nobody;
use crate::play::Toy;

pub(crate) struct Relay;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, Message)]
pub(crate) enum Msg {
    /// A note of the sender's.
    #[message(view = View(0), phase = 1)]
    Own(Signed<Note>),
    /// A note of another's.
    #[message(view = View(0), phase = 2)]
    Passed(Signed<Note>),
    /// Notes of all, in an envelope of the sender's.
    #[message(view = View(0), phase = 3)]
    Bundle(Signed<Bundle>),
    /// Another's envelope, unopened.
    #[message(view = View(0), phase = 4)]
    PassedBundle(Signed<Bundle>),
    /// Another's envelope in the sender's.
    #[message(view = View(0), phase = 4)]
    Nested(Signed<Nested>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
pub(crate) struct Note {
    pub(crate) no: u32,
}

#[derive(Clone, PartialEq, Debug, Hash, Serialize, Deserialize, Part)]
pub(crate) struct Bundle {
    #[part(follows = 10 * notes.len() as u32)]
    pub(crate) no: u32,
    pub(crate) notes: Vec<Signed<Note>>,
    pub(crate) last: Option<Signed<Note>>,
    pub(crate) cert: Cert<Note>,
}

#[derive(Clone, PartialEq, Debug, Hash, Serialize, Deserialize, Part)]
pub(crate) struct Nested {
    pub(crate) own: Signed<Note>,
    pub(crate) bundle: Signed<Bundle>,
}

/// What everybody signs alike.
pub(crate) const COMMON: Note = Note { no: 7 };

#[derive(Default, Debug)]
pub(crate) struct Courier {
    votes: Ballots<Note>,
    notes: Vec<Signed<Note>>,
    pub(crate) signed: Vec<Signed<Note>>,
    pub(crate) envelope: Option<Signed<Bundle>>,
    pub(crate) got: Vec<(NodeId, Msg)>,
}

#[derive(Default, Debug, Serialize, Deserialize)]
pub(crate) struct Config {}

impl Toy for Relay {
    const BASE: &'static str = r#"
        schema = 1
        protocol = { name = "relay" }
        cluster = { clients = 0 }
        network = { latency = [5, 15] }
        adversary = { byzantine = ["p0"] }
    "#;
}

impl Protocol for Relay {
    const NAME: &'static str = "relay";
    const ABOUT: &'static str = "everybody passes everybody's notes on";
    type Msg = Msg;
    type Timer = ();
    type Replica = Courier;
    type Client = Nobody;
    type Config = Config;

    fn replica(_: NodeId, _: &Cluster, _: &Config) -> Courier {
        Courier::default()
    }
    fn client(_: NodeId, _: &Cluster, _: &Config, _: &ClientWork) -> Nobody {
        Nobody
    }
}

impl Node<Relay> for Courier {
    fn on_start(&mut self, cx: &mut Context<'_, Relay>) {
        let own = Note { no: 100 + cx.me().index() as u32 };
        for note in [COMMON, own] {
            let note = cx.sign(note);
            self.signed.push(note);
            cx.broadcast(Msg::Own(note));
        }
    }

    fn on_message(&mut self, from: NodeId, msg: &Msg, cx: &mut Context<'_, Relay>) {
        self.got.push((from, msg.clone()));
        match msg {
            Msg::Own(note) if note.is_by(from) => {
                if **note == COMMON {
                    self.votes.add(note);
                } else {
                    self.notes.push(*note);
                    cx.broadcast(Msg::Passed(*note));
                }
                self.wrap(cx);
            }
            Msg::Bundle(bundle) if from != cx.me() => {
                let nested = Nested { own: self.signed[1], bundle: bundle.clone() };
                cx.broadcast(Msg::Nested(cx.sign(nested)));
                cx.broadcast(Msg::PassedBundle(bundle.clone()));
            }
            _ => {}
        }
    }
}

impl Courier {
    /// With the notes of three, all go into an envelope.
    fn wrap(&mut self, cx: &mut Context<'_, Relay>) {
        if self.envelope.is_none() && self.notes.len() >= 3 && self.votes.count(&COMMON) >= 3 {
            let cert = self.votes.cert(&COMMON, NodeSet::replicas(4));
            let bundle = Bundle { no: 1, notes: self.notes.clone(), last: self.notes.last().copied(), cert };
            let bundle = cx.sign(bundle);
            self.envelope = Some(bundle.clone());
            cx.broadcast(Msg::Bundle(bundle));
        }
    }
}
