//! The checkers: O(1) per event, online, over correct nodes only.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use crate::client::Request;
use crate::grounds::Grounds;
use crate::hash::Digest;
use crate::ids::{NodeId, NodeSet, Seat, SeatSet, Slot};
use crate::logs::{LogCheck, Logs};
use crate::node::Protocol;
use crate::outcome::{Property, Violation};
use crate::scenario::Goal;
use crate::sign::Signed;
use crate::sim::Sim;

/// An invariant of a protocol's own, judged after each event with a decision, after those for which a node asks for it
/// ([`Context::examine`](crate::node::Context::examine)), and at the end of a run.
pub struct Check<P: Protocol> {
    /// Its name.
    pub name: &'static str,
    /// Says what is wrong, if anything is.
    #[expect(clippy::type_complexity, reason = "a closure over the whole simulation is what it is")]
    pub judge: Box<dyn Fn(&Sim<P>) -> Result<(), String>>,
}

/// A decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Commit {
    /// Whose.
    pub seat: Seat,
    /// The slot.
    pub slot: Slot,
    /// The value.
    pub id: Digest,
    /// What it rests on.
    pub grounds: Grounds,
}

/// All decisions, submissions and completions of a run, and what they break.
#[derive(Default, Debug)]
pub struct Ledger {
    correct: SeatSet,
    byzantine: NodeSet,
    gap_free: bool,
    seat_nodes: Vec<NodeId>,
    goal: Goal,
    /// What a slot is called.
    slot_word: &'static str,
    submitted: Vec<Signed<Request>>,
    is_submitted: FxHashSet<Request>,
    first: FxHashMap<Slot, (Digest, Seat)>,
    decided: FxHashMap<(Seat, Slot), Digest>,
    executed: FxHashMap<(Seat, NodeId, u32), Slot>,
    last: Vec<Option<Slot>>,
    completed: FxHashSet<(NodeId, u32)>,
    /// What clients believe to be decided, and who of them does.
    receipts: FxHashMap<Slot, (Digest, NodeId)>,
    blocks: FxHashMap<Digest, Digest>,
    /// How many results each client waits for, and the requests that were sent while it waited: step, client, number.
    waiting: FxHashMap<NodeId, u32>,
    crowded: Vec<(u64, NodeId, u32)>,
    commits: u32,
    /// Decisions in order, kept only if somebody reads them.
    log: Option<Vec<Commit>>,
    /// The logs of all replicas, kept only if somebody compares them.
    logs: Option<Box<Logs>>,
    violations: SmallVec<[Violation; 1]>,
}

impl Ledger {
    pub(crate) fn reset(
        &mut self,
        seat_nodes: &[NodeId],
        correct: SeatSet,
        byzantine: NodeSet,
        gap_free: bool,
        goal: Goal,
        slot_word: &'static str,
    ) {
        self.correct = correct;
        self.byzantine = byzantine;
        self.gap_free = gap_free;
        self.goal = goal;
        self.slot_word = slot_word;
        self.seat_nodes.clear();
        self.seat_nodes.extend_from_slice(seat_nodes);
        self.submitted.clear();
        self.is_submitted.clear();
        self.first.clear();
        self.decided.clear();
        self.executed.clear();
        self.last.clear();
        self.last.resize(seat_nodes.len(), None);
        self.completed.clear();
        self.receipts.clear();
        self.blocks.clear();
        self.waiting.clear();
        self.crowded.clear();
        self.commits = 0;
        self.log = None;
        self.logs = None;
        self.violations.clear();
    }

    /// Compares logs at the end of the run, if anybody wants that.
    pub(crate) fn keep_logs(&mut self, checks: &[LogCheck]) {
        self.logs = Logs::of(checks, self.seat_nodes.len());
    }

    /// Compares them.
    pub(crate) fn judge_logs(&mut self) {
        let found = self.logs.as_ref().map(|logs| logs.judge(&self.seat_nodes, self.correct));
        found.into_iter().flatten().for_each(|violation| self.violate(violation));
    }

    pub(crate) fn keep_log(&mut self) {
        self.log = Some(Vec::new());
    }

    /// The decisions so far, in order; empty unless the run is recorded.
    pub fn log(&self) -> &[Commit] {
        self.log.as_deref().unwrap_or_default()
    }

    /// The requests submitted so far.
    pub fn submitted(&self) -> &[Signed<Request>] {
        &self.submitted
    }

    /// The value that a seat decided in a slot.
    pub fn decided(&self, seat: Seat, slot: Slot) -> Option<Digest> {
        self.decided.get(&(seat, slot)).copied()
    }

    /// Whether block `id` is `ancestor` or extends it.
    pub fn extends(&self, mut id: Digest, ancestor: Digest) -> bool {
        loop {
            if id == ancestor {
                return true;
            }
            match self.blocks.get(&id) {
                Some(&parent) => id = parent,
                None => return false,
            }
        }
    }

    /// Whether neither block extends the other.
    pub fn conflicts(&self, a: Digest, b: Digest) -> bool {
        !self.extends(a, b) && !self.extends(b, a)
    }

    pub(crate) fn violations(&self) -> &SmallVec<[Violation; 1]> {
        &self.violations
    }

    pub(crate) const fn commits(&self) -> u32 {
        self.commits
    }

    pub(crate) fn completed(&self) -> usize {
        self.completed.len()
    }

    pub(crate) fn completed_by(&self, client: NodeId) -> usize {
        self.completed.iter().filter(|(who, _)| *who == client).count()
    }

    /// A node that lost its memory is faulty from now on.
    pub(crate) fn distrust(&mut self, seat: Seat) {
        self.correct.remove(seat);
    }

    pub(crate) const fn correct(&self) -> SeatSet {
        self.correct
    }

    pub(crate) fn submit(&mut self, request: Signed<Request>, step: u64) {
        if self.is_submitted.insert(*request) {
            self.submitted.push(request);
            if request.client.is_client() {
                let waiting = self.waiting.entry(request.client).or_default();
                if *waiting > 0 {
                    self.crowded.push((step, request.client, request.ts));
                }
                *waiting += 1;
            }
        }
    }

    /// The requests that were sent while their client waited for another result: step, client, number.
    pub(crate) fn crowded(&self) -> &[(u64, NodeId, u32)] {
        &self.crowded
    }

    pub(crate) fn block(&mut self, id: Digest, parent: Digest) {
        self.blocks.insert(id, parent);
    }

    pub(crate) fn violate(&mut self, violation: Violation) {
        let same = |known: &Violation| (known.property, known.rule) == (violation.property, violation.rule);
        if !self.violations.iter().any(same) {
            self.violations.push(violation);
        }
    }

    pub(crate) fn commit(&mut self, commit: Commit, requests: &[Request], step: u64) {
        let Commit { seat, slot, id, .. } = commit;
        if let Some(log) = &mut self.log {
            log.push(commit);
        }
        if let Some(logs) = &mut self.logs {
            logs.commit(commit, requests, step);
        }
        if !self.correct.contains(seat) {
            return;
        }
        self.commits += 1;
        let (node, word) = (self.seat_nodes[seat.index()], self.slot_word);
        match self.first.get(&slot) {
            None => {
                self.first.insert(slot, (id, seat));
            }
            Some(&(other, first)) if other != id && first != seat => self.violate(Violation {
                property: Property::Agreement,
                rule: "slot",
                nodes: smallvec![self.seat_nodes[first.index()], node],
                slot: Some(slot),
                step,
                outside: None,
                detail: format!(
                    "{} {} decided {other}, {node} decided {id}",
                    slot.within(self.slot_word),
                    self.seat_nodes[first.index()]
                ),
            }),
            Some(_) => {}
        }
        if let Some(&(held, client)) = self.receipts.get(&slot).filter(|(held, _)| *held != id) {
            self.violate(self.contradicted(client, held, node, id, slot, step));
        }
        let integrity = |rule, detail| Violation {
            property: Property::Integrity,
            rule,
            nodes: smallvec![node],
            slot: Some(slot),
            step,
            outside: None,
            detail,
        };
        if let Some(earlier) = self.decided.insert((seat, slot), id) {
            self.violate(integrity(
                "twice",
                format!("{node} decided {word} {slot} twice: {earlier}, then {id}"),
            ));
        }
        // Logs start at slot 0 or 1.
        let last = self.last[seat.index()].replace(slot);
        let next = last.map_or(slot.min(Slot(1)), Slot::next);
        if self.gap_free && slot != next {
            let detail = match slot > next {
                true => format!("{node} decided {word} {slot} before {word} {next}"),
                false => format!("{node} decided {word} {slot} when {word} {next} was next"),
            };
            self.violate(integrity("order", detail));
        }
        for request in requests {
            if let Some(earlier) = self.executed.insert((seat, request.client, request.ts), slot)
                && earlier != slot
            {
                let who = request.name();
                self.violate(integrity(
                    "duplicate",
                    format!("{node} decided {who} in {word}s {earlier} and {slot}"),
                ));
            }
            if !self.is_submitted.contains(request) && !self.byzantine.contains(request.client) {
                self.violate(Violation {
                    property: Property::Validity,
                    rule: "submitted",
                    nodes: smallvec![node],
                    slot: Some(slot),
                    step,
                    outside: None,
                    detail: format!(
                        "{node} decided `{}` for {}, who never asked for it",
                        request.op, request.client
                    ),
                });
            }
        }
    }

    pub(crate) fn complete(
        &mut self,
        seat: Seat,
        request: &Request,
        receipt: Option<(Slot, Digest)>,
        step: u64,
    ) {
        if !self.correct.contains(seat) {
            return;
        }
        if self.completed.insert((request.client, request.ts)) {
            self.waiting.entry(request.client).and_modify(|waiting| *waiting = waiting.saturating_sub(1));
        }
        let Some((mut slot, mut id)) = receipt else { return };
        let client = request.client;
        // Where values form a chain, a result vouches for all that it was built on.
        loop {
            if let Some(&(decided, seat)) = self.first.get(&slot).filter(|(decided, _)| *decided != id) {
                let node = self.seat_nodes[seat.index()];
                self.violate(self.contradicted(client, id, node, decided, slot, step));
            }
            match self.receipts.get(&slot) {
                None => _ = self.receipts.insert(slot, (id, client)),
                Some(&(other, _)) if other == id => return,
                Some(&(other, first)) => {
                    return self.violate(Violation {
                        property: Property::ClientAgreement,
                        rule: "receipt",
                        nodes: smallvec![first, client],
                        slot: Some(slot),
                        step,
                        outside: None,
                        detail: format!(
                            "{} {slot}: {first} holds a result for {other}, {client} for {id}",
                            self.slot_word
                        ),
                    });
                }
            }
            let (Some(&parent), Some(before)) = (self.blocks.get(&id), slot.0.checked_sub(1)) else { return };
            if before == 0 {
                return;
            }
            (slot, id) = (Slot(before), parent);
        }
    }

    /// A client believes something else to be decided than a correct replica has decided.
    fn contradicted(
        &self,
        client: NodeId,
        held: Digest,
        node: NodeId,
        id: Digest,
        slot: Slot,
        step: u64,
    ) -> Violation {
        let word = self.slot_word;
        Violation {
            property: Property::ClientAgreement,
            rule: "decided",
            nodes: smallvec![client, node],
            slot: Some(slot),
            step,
            outside: None,
            detail: format!("{word} {slot}: {client} holds a result for {held}, {node} decided {id}"),
        }
    }

    /// The network is calm. What has to be decided from now on can be said in slots.
    pub(crate) fn calm(&mut self) {
        if let Goal::Again(more) = self.goal {
            let decided = self.decided.keys().map(|(_, slot)| slot.0).max().unwrap_or(0);
            self.goal = Goal::Height(decided.saturating_add(more));
        }
    }

    /// What is missing for the goal, where `expected` requests have to complete.
    pub(crate) fn missing(&self, expected: usize) -> String {
        match self.goal {
            Goal::Replies => format!("{} of {expected} requests completed", self.completed.len()),
            Goal::Committed => "not all correct replicas have decided all requests".to_owned(),
            Goal::Height(height) => {
                format!("not all correct replicas have reached {} {height}", self.slot_word)
            }
            Goal::Again(_) => "the network has not calmed down".to_owned(),
            Goal::None => String::new(),
        }
    }

    /// Whether nothing has to happen.
    pub(crate) const fn goal_is_none(&self) -> bool {
        matches!(self.goal, Goal::None)
    }

    /// Whether the goal is reached, where `expected` requests have to complete and `live` replicas to follow.
    pub(crate) fn goal_reached(&self, expected: usize, live: impl Iterator<Item = Seat>) -> bool {
        match self.goal {
            Goal::Replies => self.completed.len() >= expected,
            Goal::Committed => {
                // What is only read is never committed, and who lies may ask for what it likes.
                let owed = |r: &&Signed<Request>| !r.read_only && !self.byzantine.contains(r.client);
                let owed: Vec<_> = self.submitted.iter().filter(owed).collect();
                let has_all = |seat| owed.iter().all(|r| self.executed.contains_key(&(seat, r.client, r.ts)));
                self.completed.len().max(owed.len()) >= expected
                    && live.filter(|&seat| self.correct.contains(seat)).all(has_all)
            }
            Goal::None | Goal::Again(_) => false,
            Goal::Height(height) => {
                let mut live = live.filter(|&seat| self.correct.contains(seat));
                live.all(|seat| self.last[seat.index()].is_some_and(|last| last.0 >= height))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Op;

    /// A ledger of one replica and two clients, and the chains 11-12-13 and 21-22.
    fn two_chains() -> Ledger {
        let nodes = [NodeId::replica(0), NodeId::client(0), NodeId::client(1)];
        let mut correct = SeatSet::default();
        (0..3).for_each(|seat| correct.insert(Seat(seat)));
        let mut ledger = Ledger::default();
        ledger.reset(&nodes, correct, NodeSet::EMPTY, true, Goal::Replies, "slot");
        for (id, parent) in [(11, 0), (12, 11), (13, 12), (21, 0), (22, 21)] {
            ledger.block(Digest(id), Digest(parent));
        }
        ledger
    }

    /// Client `client` holds the result `id` of a slot.
    fn complete(ledger: &mut Ledger, client: usize, slot: u32, id: u64) {
        let request =
            Request { client: NodeId::client(client), ts: slot, op: Op::new("r"), read_only: false };
        ledger.complete(Seat(client as u8 + 1), &request, Some((Slot(slot), Digest(id))), 0);
    }

    fn commit(ledger: &mut Ledger, slot: u32, id: u64) {
        let (seat, slot, id) = (Seat(0), Slot(slot), Digest(id));
        ledger.commit(Commit { seat, slot, id, grounds: Grounds::Unknown }, &[], 0);
    }

    fn found(ledger: &Ledger) -> Vec<(Property, &'static str, u32)> {
        let slot = |violation: &Violation| violation.slot.map_or(0, |slot| slot.0);
        ledger.violations().iter().map(|found| (found.property, found.rule, slot(found))).collect()
    }

    #[test]
    fn clients_may_hold_results_of_one_chain_only() {
        // In any order; also if each knows another slot.
        for order in [[(3, 13), (1, 11)], [(1, 11), (3, 13)], [(2, 12), (2, 12)]] {
            let mut ledger = two_chains();
            order.iter().enumerate().for_each(|(i, &(slot, id))| complete(&mut ledger, i, slot, id));
            assert_eq!(found(&ledger), []);
        }
        for (order, slot) in [
            ([(1, 11), (1, 21)], 1),
            ([(3, 13), (1, 21)], 1),
            ([(1, 11), (2, 22)], 1),
            ([(2, 22), (3, 13)], 2),
        ] {
            let mut ledger = two_chains();
            order.iter().enumerate().for_each(|(i, &(slot, id))| complete(&mut ledger, i, slot, id));
            assert_eq!(found(&ledger), [(Property::ClientAgreement, "receipt", slot)], "{order:?}");
        }
    }

    #[test]
    fn no_replica_may_decide_what_contradicts_a_client() {
        for client_first in [true, false] {
            let mut ledger = two_chains();
            if client_first {
                complete(&mut ledger, 0, 3, 13);
            }
            commit(&mut ledger, 1, 11);
            assert_eq!(found(&ledger), []);
            commit(&mut ledger, 2, 22);
            if !client_first {
                complete(&mut ledger, 0, 3, 13);
            }
            assert_eq!(found(&ledger), [(Property::ClientAgreement, "decided", 2)]);
        }
    }

    #[test]
    fn deciding_again_starts_when_the_network_is_calm() {
        let (p0, p1) = (Seat(0), Seat(1));
        let mut correct = SeatSet::default();
        [p0, p1].into_iter().for_each(|seat| correct.insert(seat));
        let nodes = [NodeId::replica(0), NodeId::replica(1)];
        let mut ledger = Ledger::default();
        ledger.reset(&nodes, correct, NodeSet::EMPTY, true, Goal::Again(1), "slot");
        let decide = |ledger: &mut Ledger, seat, slot| {
            let commit = Commit { seat, slot: Slot(slot), id: Digest(1), grounds: Grounds::Unknown };
            ledger.commit(commit, &[], 0);
        };
        let reached = |ledger: &Ledger| ledger.goal_reached(0, [p0, p1].into_iter());
        [1, 2, 3].into_iter().for_each(|slot| decide(&mut ledger, p0, slot));
        [1, 2].into_iter().for_each(|slot| decide(&mut ledger, p1, slot));
        assert!(!reached(&ledger));
        ledger.calm();
        // Who only catches up has decided nothing new.
        decide(&mut ledger, p1, 3);
        assert!(!reached(&ledger));
        decide(&mut ledger, p0, 4);
        assert!(!reached(&ledger));
        decide(&mut ledger, p1, 4);
        assert!(reached(&ledger));
    }
}
