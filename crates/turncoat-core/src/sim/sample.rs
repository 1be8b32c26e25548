//! Looking at the messages and nodes of a run that is over.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{AnyNode, Sim};
use crate::ids::{NodeSet, Seat};
use crate::message::{Lie, Message};
use crate::node::{Protocol, State};
use crate::part::Described;
use crate::part::{Liar, Seen};
use crate::probe::{Kind, Samples};
use crate::rng::{Purpose, Rng};

/// The most messages of a kind that are looked at in one run.
const LAST: usize = 64;

/// Of these, how many crafted lies are told about: they look through the whole run.
const CRAFTED: usize = 4;

impl<P: Protocol> Sim<P> {
    /// Writes and reads messages, and tries the rows of the mutation table that have changed none yet: of each kind the
    /// last ones of the run.
    pub(crate) fn look_at_messages(&self, samples: &mut Samples) {
        samples.kinds.resize_with(P::Msg::KINDS.len(), Kind::default);
        let mut last: Vec<Vec<&P::Msg>> = vec![Vec::new(); P::Msg::KINDS.len()];
        for msg in self.slab.newest_first() {
            let kind = usize::from(msg.kind());
            samples.kinds[kind].seen += 1;
            if last[kind].len() < LAST {
                last[kind].push(msg);
            }
        }
        let mut liar = Liar {
            keys: NodeSet::EMPTY,
            rng: Rng::new(self.io.seed, Purpose::Lies),
            requests: self.io.ledger.submitted(),
            n: self.cluster.n,
            seen: Seen::of(&self.slab),
        };
        let mut audit = Audit { sim: self, said: None, forged: &mut samples.forged };
        for ((number, kind), last) in (0..).zip(&mut samples.kinds).zip(&last) {
            let plain = self.table.plain(number).len();
            for (i, msg) in last.iter().enumerate() {
                kind.changed.resize(self.table.rows(number).len(), false);
                kind.unfaithful = kind.unfaithful.take().or_else(|| unfaithful(*msg));
                for (row, changed) in kind.changed.iter_mut().enumerate().filter(|(_, changed)| !**changed) {
                    *changed = if row < plain {
                        self.table.apply(number, *msg, row as u16, last.iter().copied(), &mut liar).is_some()
                    } else {
                        i < CRAFTED && audit.crafts(msg, row as u16, last)
                    };
                }
            }
        }
    }

    /// Shows, hashes and copies each node.
    pub(crate) fn look_at_nodes(&self, samples: &mut Samples) {
        samples.states.clear();
        for (i, node) in self.nodes.iter().enumerate() {
            let who = if matches!(node, AnyNode::Replica(_)) { "a replica" } else { "a client" };
            let copy = node.fork();
            if copy.is_none() {
                samples.unable.insert(format!("{who} cannot be copied: a second face of it starts afresh"));
            }
            let Some(state) = node.state() else {
                samples.unable.insert(format!("{who} does not show its state: no table of it, no diffs"));
                continue;
            };
            samples.states.push((self.io.seats.name(Seat(i as u8)), state.state_hash()));
            if let Err(error) = state.try_json() {
                samples.wrong.insert(format!("the state of {who} cannot be written as JSON: {error}"));
            }
            let same =
                |copy: &dyn State| copy.state_hash() == state.state_hash() && copy.json() == state.json();
            if copy.as_ref().and_then(AnyNode::state).is_some_and(|copy| !same(copy)) {
                samples.wrong.insert(format!("a copy of {who} has another state than {who} has"));
            }
        }
    }
}

/// Tries crafted lies of each replica, and looks for signatures in them that nobody gave.
struct Audit<'a, P: Protocol> {
    sim: &'a Sim<P>,
    /// What was said in the run under signatures, as far as a liar remembers.
    said: Option<BTreeSet<Statement>>,
    forged: &'a mut BTreeSet<String>,
}

/// Who has signed, and what. Of a certificate there is one for each of its signers.
type Statement = (String, String);

impl<P: Protocol> Audit<'_, P> {
    /// Whether a crafted lie changes a message if one of the replicas tells it.
    fn crafts(&mut self, msg: &P::Msg, row: u16, earlier: &[&P::Msg]) -> bool {
        let sim = self.sim;
        let lie = sim.cluster.replicas().iter().find_map(|node| {
            let mut liar = Liar {
                keys: NodeSet::one(node),
                rng: Rng::new(sim.io.seed, Purpose::Lies),
                requests: sim.io.ledger.submitted(),
                n: sim.cluster.n,
                seen: Seen::of(&sim.slab),
            };
            Some((node, sim.table.apply(msg.kind(), msg, row, earlier.iter().copied(), &mut liar)?))
        });
        let Some((liar, lie)) = lie else { return false };
        let said = self.said.get_or_insert_with(|| {
            let mut said = BTreeSet::new();
            let submitted = sim.io.ledger.submitted().iter().map(json);
            let messages = sim.slab.newest_first().map(json);
            submitted.chain(messages).for_each(|value| statements(&value, &mut said));
            said
        });
        let (mut found, liar_name) = (BTreeSet::new(), json(&liar).to_string());
        statements(&json(&lie), &mut found);
        let name = || sim.table.name(lie.kind(), Lie::Mutate(row));
        for (signer, body) in found.difference(said).filter(|(signer, _)| *signer != liar_name) {
            self.forged.insert(format!("`{}` of {liar} forges a signature of {signer}: {body}", name()));
        }
        // What the message itself does not survive is no fault of the lie.
        if let Some(wrong) = unfaithful(&lie).filter(|_| unfaithful(msg).is_none()) {
            self.forged.insert(format!("`{}`: {wrong}", name()));
        }
        true
    }
}

fn json(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).expect("messages encode")
}

/// Appends all that is validly signed in a message.
fn statements(value: &Value, found: &mut BTreeSet<Statement>) {
    match value {
        Value::Object(fields) => {
            if let (Some(Value::Bool(true)), Some(body)) = (fields.get("valid"), fields.get("body")) {
                let one = fields.get("signer").into_iter();
                let all = one.chain(fields.get("signers").and_then(Value::as_array).into_iter().flatten());
                all.for_each(|signer| _ = found.insert((signer.to_string(), body.to_string())));
            }
            fields.values().for_each(|value| statements(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| statements(value, found)),
        _ => {}
    }
}

/// What is wrong with a message that was written and read, as bits are flipped in what is written.
fn unfaithful<M: Message>(msg: &M) -> Option<String> {
    let text = Described(msg);
    let bytes = match postcard::to_stdvec(msg) {
        Ok(bytes) => bytes,
        Err(error) => return Some(format!("`{text}` cannot be written: {error}")),
    };
    match postcard::from_bytes::<M>(&bytes) {
        Ok(read) if read == *msg => None,
        Ok(read) => Some(format!("`{text}` is read as `{}`", Described(&read))),
        Err(error) => Some(format!("`{text}` cannot be read: {error}")),
    }
}
