//! A replica: what it knows of ledgers, how it comes by those that it lacks, and when one is fully validated.

use std::collections::BTreeSet;

use smallvec::{SmallVec, smallvec};
use turncoat_core::prelude::*;

use super::closing::Closing;
use super::ledger::{Ledger, Pool, Tx, is_genuine};
use super::messages::{GetLedger, Msg, Settled, Validation};
use super::round::{Phase, Round};
use super::rules::{ASK_AGAIN, HEARTBEAT};
use super::validations::{Filed, Validations};
use super::{Config, Cx, Timer, Version};

/// The clocks say so many seconds at least when a network starts, and less than twice as many: a multiple of the widths of all
/// bins.
const EPOCH: u32 = 360;

/// A replica.
#[derive(Clone, Debug, Hash, Serialize)]
pub struct Replica {
    pub(super) config: Config,
    /// The unique node list: whom it trusts, itself among them.
    pub(super) unl: NodeSet,
    /// So many of them have to validate a ledger.
    pub(super) quorum: usize,
    /// All ledgers that are here, in the order in which they came.
    ledgers: Vec<Arc<Ledger>>,
    /// The ledgers asked for, and when.
    asked: Vec<(Digest, Time)>,
    /// The last one that was fully validated.
    pub(super) valid: Arc<Ledger>,
    /// The last one that had enough validations, here or not. Its number is the one that they named.
    last_valid: (Digest, Slot),
    /// The last one that it has closed.
    pub(super) lcl: Arc<Ledger>,
    /// The log: hashes by number, from 1 on.
    committed: Vec<Digest>,
    /// The payments that are not settled.
    pub(super) pool: Pool,
    pub(super) validations: Validations,
    /// The highest number that it has validated: none twice, whatever branch it is on.
    pub(super) my_max_seq: Slot,
    pub(super) round: Round,
    /// The validations that it has passed on.
    relayed: BTreeSet<u64>,
    /// What the clocks say when the network starts, in seconds.
    pub(super) epoch: u32,
    /// The bad messages of each peer, and the peers to which it has closed the connection.
    bad: SmallVec<[u32; 8]>,
    pub(super) cut: NodeSet,
}

impl Replica {
    pub(super) fn new(id: NodeId, cluster: &Cluster, config: Config) -> Self {
        let genesis = Arc::new(Ledger::genesis(
            cluster.clients,
            config.balance,
            config.close_time.then_some(Closing::GENESIS),
        ));
        let mut unl = cluster.trust[id.index()];
        unl.insert(id);
        let first = Some(&genesis).filter(|_| !config.flags.nobody_on_genesis);
        Self {
            config,
            unl,
            quorum: (unl.len() * config.quorum_pct as usize).div_ceil(100),
            ledgers: vec![genesis.clone()],
            asked: Vec::new(),
            valid: genesis.clone(),
            last_valid: (Digest::NULL, Slot(0)),
            lcl: genesis.clone(),
            committed: Vec::new(),
            pool: Pool::default(),
            validations: Validations::new(cluster.n, first),
            my_max_seq: Slot(0),
            round: Round::new(genesis, cluster.n),
            relayed: BTreeSet::new(),
            epoch: 0,
            bad: smallvec![0; cluster.n],
            cut: NodeSet::EMPTY,
        }
    }

    /// All the money in the last ledger that it takes for final, and in the first one.
    pub(super) fn money(&self) -> [u64; 2] {
        [self.valid.money(), self.ledgers[0].money()]
    }

    /// Hears of a payment. A replica that gets it from a client tells all; others only pass it on if all messages are
    /// relayed. A client that hands in a payment that is settled is told so again: it may have missed the first answer.
    fn on_tx(&mut self, from: NodeId, tx: &Tx, cx: &mut Cx<'_>) {
        if !is_genuine(tx) {
            return;
        }
        if from.is_client()
            && let Some(seq) = self.settled_in(tx)
        {
            return cx.send(tx.client, Msg::Settled(Settled { ts: tx.ts, seq }));
        }
        if self.pool.insert(tx) && (from.is_client() || self.config.relay) {
            self.tell(Msg::Tx(*tx), cx);
        }
    }

    /// The final ledger that holds a payment, or another with its number.
    fn settled_in(&self, tx: &Tx) -> Option<Slot> {
        let same = |settled: &Tx| (settled.client, settled.ts) == (tx.client, tx.ts);
        let mut log = self.committed.iter().filter_map(|&id| self.held(id));
        log.find(|ledger| ledger.txs.iter().any(same)).map(|ledger| ledger.seq)
    }

    fn on_validation(&mut self, from: NodeId, val: &Signed<Validation>, cx: &mut Cx<'_>) {
        let node = val.signer();
        if !val.valid() {
            return;
        }
        if self.config.relay && node != cx.me() && self.relayed.insert(Digest::of(val).0) {
            self.pass_on(from, Msg::Validation(*val), cx);
        }
        if !self.unl.contains(node) {
            return;
        }
        let strict = self.config.version > Version::V1_7_2;
        match self.validations.add(node, val, cx.now(), strict) {
            Filed::Current => {}
            // A liar hears its own lies from others.
            Filed::Conflicting if node != cx.me() => return cx.mark("liar-detected"),
            Filed::Conflicting | Filed::Stale | Filed::BadSeq => return,
        }
        match self.held(val.ledger) {
            Some(ledger) => self.validations.arrived(&ledger),
            None => self.ask_for(val.ledger, cx),
        }
        self.check_accept(val.ledger, val.seq, cx);
    }

    /// Whether a quorum stands by a ledger. As published in 1.7.2, validations count whatever number they name.
    fn has_quorum(&self, ledger: Digest, seq: Slot) -> bool {
        let named = (!self.config.flags.validation_count_ignores_seq).then_some(seq);
        self.validations.trusted_for(ledger, named).len() >= self.quorum
    }

    /// A validation was counted: perhaps there are enough now.
    fn check_accept(&mut self, ledger: Digest, seq: Slot, cx: &mut Cx<'_>) {
        if seq < self.valid.seq || !self.has_quorum(ledger, seq) {
            return;
        }
        if seq > self.last_valid.1 {
            self.last_valid = (ledger, seq);
        }
        if seq == self.valid.seq {
            return;
        }
        match self.held(ledger) {
            Some(ledger) => self.check_accept_ledger(&ledger, cx),
            None => self.ask_for(ledger, cx),
        }
    }

    /// A ledger is here: perhaps it is fully validated. As in rippled it need not descend from the one before.
    pub(super) fn check_accept_ledger(&mut self, ledger: &Arc<Ledger>, cx: &mut Cx<'_>) {
        if ledger.seq <= self.valid.seq || !self.has_quorum(ledger.id, ledger.seq) {
            return;
        }
        self.valid = ledger.clone();
        self.pool.settle(ledger);
        let differs = |&(i, &id): &(usize, &Digest)| ledger.at(Slot(i as u32 + 1)) != Some(id);
        if let Some((i, _)) = self.committed.iter().enumerate().find(differs) {
            // What it took for final was not: it decides again.
            let seq = Slot(i as u32 + 1);
            if let Some(id) = ledger.at(seq) {
                cx.mark("rewrite");
                cx.commit(seq, id, &[], Grounds::Ancestor(ledger.id));
            }
        }
        self.write_log(cx);
    }

    /// Writes the log up to the last ledger that was fully validated. Where ledgers are missing it asks for them first.
    fn write_log(&mut self, cx: &mut Cx<'_>) {
        while let Some(id) = self.valid.at(Slot(self.committed.len() as u32 + 1)) {
            let Some(ledger) = self.held(id) else { return self.ask_for(id, cx) };
            self.committed.push(id);
            let requests: Vec<Request> = ledger.txs.iter().map(|tx| **tx).collect();
            let grounds = self.grounds(&ledger);
            cx.commit(ledger.seq, id, &requests, grounds);
            for request in requests {
                cx.send(request.client, Msg::Settled(Settled { ts: request.ts, seq: ledger.seq }));
            }
        }
    }

    /// The validations behind a ledger, which decide those before it as well.
    fn grounds(&self, ledger: &Ledger) -> Grounds {
        if ledger.id != self.valid.id {
            return Grounds::Ancestor(self.valid.id);
        }
        let named = (!self.config.flags.validation_count_ignores_seq).then_some(ledger.seq);
        let voters = self.validations.trusted_for(ledger.id, named);
        let ballot = Ballot::new("validation", None, voters);
        Grounds::Trusted { ballot, trusted: self.unl, need: self.quorum as u8 }
    }

    /// Whether a ledger contradicts nothing that has had enough validations.
    pub(super) fn is_compatible(&self, ledger: &Ledger) -> bool {
        let (last, seq) = self.last_valid;
        ledger.is_in_line_with(&self.valid)
            && (seq == Slot(0) || ledger.seq < seq || ledger.at(seq) == Some(last))
    }

    /// A ledger, if it is here.
    pub(super) fn held(&self, id: Digest) -> Option<Arc<Ledger>> {
        self.ledgers.iter().rfind(|ledger| ledger.id == id).cloned()
    }

    /// A ledger is here, built or received.
    pub(super) fn store(&mut self, ledger: &Arc<Ledger>) {
        if self.held(ledger.id).is_none() {
            self.ledgers.push(ledger.clone());
            self.validations.arrived(ledger);
        }
    }

    /// Asks all for a ledger, unless it has done so a moment ago.
    pub(super) fn ask_for(&mut self, ledger: Digest, cx: &mut Cx<'_>) {
        let now = cx.now();
        match self.asked.iter_mut().find(|(asked, _)| *asked == ledger) {
            Some((_, at)) if now.0 < at.0 + ASK_AGAIN => return,
            Some((_, at)) => *at = now,
            None => self.asked.push((ledger, now)),
        }
        self.tell(Msg::GetLedger(GetLedger { ledger }), cx);
    }

    /// A ledger that it has asked for.
    fn on_ledger(&mut self, ledger: &Arc<Ledger>, cx: &mut Cx<'_>) {
        let asked = self.asked.iter().any(|&(asked, _)| asked == ledger.id);
        if !asked || self.held(ledger.id).is_some() || !ledger.is_sound() {
            return;
        }
        cx.mark("ledger-acquired");
        self.asked.retain(|&(asked, _)| asked != ledger.id);
        self.store(ledger);
        self.check_accept_ledger(ledger, cx);
        self.write_log(cx);
    }

    /// Asks again for what is still missing.
    fn ask_again(&mut self, cx: &mut Cx<'_>) {
        let missing: Vec<Digest> = self.validations.missing().map(|(_, id)| id).collect();
        for id in missing {
            if self.held(id).is_none() {
                self.ask_for(id, cx);
            }
        }
        self.write_log(cx);
    }

    /// Passes a message on, if that is what nodes do. As in rippled that is a proposal of somebody on its list that is news in its
    /// round, or the first copy of anybody's validation.
    pub(super) fn pass_on(&self, from: NodeId, msg: Msg, cx: &mut Cx<'_>) {
        if self.config.relay {
            cx.multicast(cx.others().without(NodeSet::one(from)).without(self.cut), msg);
        }
    }

    /// Says something to all others that are still connected.
    pub(super) fn tell(&self, msg: Msg, cx: &mut Cx<'_>) {
        cx.multicast(cx.others().without(self.cut), msg);
    }

    /// Charges a peer for a message that no correct replica sends. Whoever has sent too many of them is cut off.
    fn charges(&mut self, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) -> bool {
        let limit = self.config.charge_limit;
        if limit == 0 || from.is_client() || !msg.is_bad() {
            return false;
        }
        let bad = &mut self.bad[from.index()];
        *bad += 1;
        if *bad == limit {
            cx.mark("peer-cut-off");
            self.cut.insert(from);
        }
        true
    }
}

impl Node<super::Xrpl> for Replica {
    fn adopt(&mut self, config: &Config, _: &Cluster) -> bool {
        self.config = *config;
        true
    }

    /// The heartbeats of different replicas are not aligned.
    fn on_start(&mut self, cx: &mut Cx<'_>) {
        self.write_log(cx);
        if self.config.close_time {
            // Bins begin at any time of a run, at the same for all.
            self.epoch = EPOCH + (cx.coin(Slot(0), 0) % u64::from(EPOCH)) as u32;
        }
        let offset = cx.rng().below(self.config.heartbeat_spread);
        cx.set_timer(Timer::Heartbeat, Time(u64::from(offset)));
    }

    fn on_restart(&mut self, cx: &mut Cx<'_>) {
        cx.set_timer(Timer::Heartbeat, Time(HEARTBEAT));
        if self.round.phase == Phase::Accepted {
            cx.set_timer(Timer::NextRound, Time(1));
        }
    }

    fn on_message(&mut self, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) {
        if self.cut.contains(from) || self.charges(from, msg, cx) {
            return;
        }
        match msg {
            Msg::Tx(tx) => self.on_tx(from, tx, cx),
            Msg::Propose(position) => self.on_propose(from, position, cx),
            Msg::Validation(val) => self.on_validation(from, val, cx),
            Msg::GetLedger(GetLedger { ledger }) => {
                if let Some(ledger) = self.held(*ledger) {
                    cx.send(from, Msg::Ledger(ledger));
                }
            }
            Msg::Ledger(ledger) => self.on_ledger(ledger, cx),
            Msg::Settled(_) => {}
        }
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        match timer {
            Timer::Heartbeat => {
                cx.set_timer(Timer::Heartbeat, Time(HEARTBEAT));
                self.ask_again(cx);
                self.heartbeat(cx);
            }
            Timer::NextRound => self.next_round(cx),
            Timer::Client(_) => {}
        }
    }

    fn vitals(&self, _: &Cluster) -> Vitals {
        let next = self.valid.seq.next();
        let candidate = self.ledgers.iter().rfind(|ledger| ledger.seq == next);
        let have =
            candidate.map_or(NodeSet::EMPTY, |ledger| self.validations.trusted_for(ledger.id, Some(next)));
        let waiting = Waiting { kind: "validation", about: About::Slot(next), have, need: self.quorum };
        Vitals {
            view: View(self.round.prev_seq().next().0),
            executed: Some(self.lcl.id),
            decided: Slot(self.committed.len() as u32),
            waiting: vec![waiting],
            ..Vitals::default()
        }
    }

    open_state!();
}
