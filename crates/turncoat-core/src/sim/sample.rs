//! Looking at the messages and nodes of a run that is over.

use super::{AnyNode, Sim};
use crate::ids::{NodeSet, Seat};
use crate::message::{Message, apply};
use crate::node::{Protocol, State};
use crate::part::Described;
use crate::part::Liar;
use crate::probe::{Kind, Samples};
use crate::rng::{Purpose, Rng};

/// The most messages of a kind that are looked at in one run.
const LAST: usize = 64;

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
        };
        for ((number, kind), last) in (0..).zip(&mut samples.kinds).zip(&last) {
            for msg in last {
                kind.changed.resize(self.table.rows(number).len(), false);
                kind.unfaithful = kind.unfaithful.take().or_else(|| unfaithful(*msg));
                for (row, changed) in kind.changed.iter_mut().enumerate().filter(|(_, changed)| !**changed) {
                    *changed = apply(*msg, row as u16, last.iter().copied(), &mut liar).is_some();
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
