//! A round of consensus: a ledger is open, then replicas establish what it is to hold, then it is accepted. What they say to each
//! other meanwhile is in `positions`.

use turncoat_core::prelude::*;

use super::dispute::Dispute;
use super::ledger::{Ledger, Tx, TxSet};
use super::messages::{BOW_OUT, Msg, Propose, Validation};
use super::replica::Replica;
use super::rules::{Consensus, FRESH, IDLE, MIN_CONSENSUS, Opened, converge_pct};
use super::{Cx, Timer};

/// Where a round is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize)]
pub(super) enum Phase {
    Open,
    Establish,
    Accepted,
}

/// How a replica takes part in a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize)]
pub(super) enum Mode {
    /// It says what it wants.
    Proposing,
    /// It only listens.
    Observing,
    /// It lacks the ledger that the others build on.
    WrongLedger,
    /// It has just got it.
    SwitchedLedger,
}

/// What a peer wants.
#[derive(Clone, Debug, Hash, Serialize)]
pub(super) struct Position {
    pub(super) node: NodeId,
    pub(super) k: u32,
    pub(super) txs: TxSet,
    pub(super) close: Option<u32>,
    pub(super) seen_at: Time,
}

/// What this replica wants, once its ledger has closed.
#[derive(Clone, Debug, Hash, Serialize)]
pub(super) struct Proposal {
    pub(super) txs: TxSet,
    /// When its ledger closed, in seconds, and whether there is agreement on that.
    pub(super) close: Option<u32>,
    pub(super) time_agreed: bool,
    pub(super) k: u32,
    pub(super) closed_at: Time,
    pub(super) said_at: Time,
    pub(super) disputes: Vec<Dispute>,
    /// The sets that it was compared with.
    pub(super) compared: Vec<TxSet>,
    /// Looks since it closed, and since a peer has changed its vote.
    pub(super) looks: u32,
    pub(super) peers_unchanged: u32,
}

/// The round that a replica is in.
#[derive(Clone, Debug, Hash, Serialize)]
pub(super) struct Round {
    pub(super) phase: Phase,
    pub(super) mode: Mode,
    /// The ledger that the network builds on, and the one that this replica builds on while it lacks that.
    pub(super) prev_id: Digest,
    pub(super) prev: Arc<Ledger>,
    pub(super) opened_at: Time,
    pub(super) closed_at: Time,
    pub(super) last_closed_at: Time,
    pub(super) positions: Vec<Position>,
    /// Those who have left the round.
    pub(super) gone: NodeSet,
    pub(super) proposal: Option<Proposal>,
    /// Of the round before: how long it took, and how many took part.
    pub(super) prev_time: u64,
    pub(super) prev_proposers: usize,
    /// The latest proposals of each node, for whatever round.
    pub(super) recent: Vec<Vec<Signed<Propose>>>,
}

impl Round {
    pub(super) fn new(genesis: Arc<Ledger>, n: usize) -> Self {
        Self {
            phase: Phase::Open,
            mode: Mode::Proposing,
            prev_id: genesis.id,
            prev: genesis,
            opened_at: Time(0),
            closed_at: Time(0),
            last_closed_at: Time(0),
            positions: Vec::new(),
            gone: NodeSet::EMPTY,
            proposal: None,
            prev_time: IDLE,
            prev_proposers: 0,
            recent: vec![Vec::new(); n],
        }
    }

    /// The number of the ledger that it builds on.
    pub(super) fn prev_seq(&self) -> Slot {
        self.prev.seq
    }

    /// Nobody has said anything yet.
    fn forget(&mut self) {
        self.positions.clear();
        self.gone = NodeSet::EMPTY;
    }

    pub(super) fn is_proposing(&self) -> bool {
        self.mode == Mode::Proposing
    }

    /// The positions of peers, by node.
    pub(super) fn votes(&self) -> impl Iterator<Item = (NodeId, &TxSet)> {
        self.positions.iter().map(|position| (position.node, &position.txs))
    }
}

impl Replica {
    /// Looks whether there is something to do.
    pub(super) fn heartbeat(&mut self, cx: &mut Cx<'_>) {
        if self.round.phase == Phase::Accepted {
            return;
        }
        self.check_ledger(cx);
        match self.round.phase {
            Phase::Open => self.close_in_time(cx),
            Phase::Establish => self.establish(cx),
            Phase::Accepted => {}
        }
    }

    /// The ledger that the network builds on now.
    fn preferred(&self, current: &Ledger, cx: &Cx<'_>) -> Digest {
        self.validations.preferred(current, self.valid.seq, self.my_max_seq, cx.now())
    }

    /// A round has ended: the next one builds on the ledger that the network prefers, and never on an older one.
    pub(super) fn next_round(&mut self, cx: &mut Cx<'_>) {
        if self.round.phase != Phase::Accepted {
            return;
        }
        let lcl = self.lcl.clone();
        let preferred = self.preferred(&lcl, cx);
        let prev_id = if preferred == lcl.parent { lcl.id } else { preferred };
        self.round.last_closed_at = self.round.closed_at;
        let (prev, mode) = match self.held(prev_id) {
            Some(prev) => (prev, Mode::Proposing),
            None => {
                self.ask_for(prev_id, cx);
                (lcl, Mode::WrongLedger)
            }
        };
        self.open(prev_id, prev, mode, cx);
    }

    /// Opens a ledger on top of `prev`.
    fn open(&mut self, prev_id: Digest, prev: Arc<Ledger>, mode: Mode, cx: &mut Cx<'_>) {
        let round = &mut self.round;
        round.phase = Phase::Open;
        round.mode = mode;
        (round.prev_id, round.prev) = (prev_id, prev);
        round.proposal = None;
        round.opened_at = cx.now();
        round.forget();
        self.play_back(cx);
        // The others are ahead.
        if self.round.positions.len() > self.round.prev_proposers / 2 {
            self.heartbeat(cx);
        }
    }

    /// Proposals that came before the round did.
    fn play_back(&mut self, cx: &mut Cx<'_>) {
        let prev_id = self.round.prev_id;
        let recent = self.round.recent.iter().flatten().filter(|position| position.prev == prev_id);
        let recent: Vec<Signed<Propose>> = recent.cloned().collect();
        for position in recent {
            self.take_position(&position, cx);
        }
    }

    /// Closes the ledger if it is time to.
    fn close_in_time(&mut self, cx: &mut Cx<'_>) {
        let (round, now) = (&self.round, cx.now());
        let txs = self.pool.open(&round.prev);
        let opened = Opened {
            has_txs: !txs.0.is_empty(),
            prev_proposers: round.prev_proposers,
            closed: round.positions.len(),
            validated: self.validations.trusted_for(round.prev_id, None).len(),
            prev_round: round.prev_time,
            since_close: now.0 - round.last_closed_at.0,
            open: now.0 - round.opened_at.0,
        };
        if !opened.should_close() {
            return;
        }
        let close = self.clock(now);
        let round = &mut self.round;
        round.phase = Phase::Establish;
        round.closed_at = now;
        round.proposal = Some(Proposal {
            txs,
            close,
            time_agreed: close.is_none(),
            k: 0,
            closed_at: now,
            said_at: now,
            disputes: Vec::new(),
            compared: Vec::new(),
            looks: 0,
            peers_unchanged: 0,
        });
        self.propose(cx);
        let sets: Vec<TxSet> = self.round.positions.iter().map(|position| position.txs.clone()).collect();
        sets.iter().for_each(|txs| self.dispute(txs));
    }

    /// Looks at the positions of the others: changes its own, and sees whether there is consensus.
    fn establish(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        let Some(own) = &mut self.round.proposal else { return };
        own.looks += 1;
        own.peers_unchanged += 1;
        let time = now.0 - own.closed_at.0;
        if time < MIN_CONSENSUS {
            return;
        }
        self.drop_positions(|position| position.seen_at.0 + FRESH <= now.0);
        self.reconsider(converge_pct(time, self.round.prev_time), cx);
        if self.waits(time, now) {
            return cx.mark("waited");
        }
        match self.consensus(time) {
            Consensus::No => {}
            _ if self.round.proposal.as_ref().is_some_and(|own| !own.time_agreed) => cx.mark("no-close-time"),
            state => self.accept(state, time, cx),
        }
    }

    /// Builds the ledger, validates it if it may, and opens the next one after a moment.
    fn accept(&mut self, state: Consensus, time: u64, cx: &mut Cx<'_>) {
        match state {
            Consensus::Expired => {
                cx.mark("expired");
                self.bow_out(cx);
            }
            Consensus::MovedOn => cx.mark("moved-on"),
            Consensus::Yes | Consensus::No => {}
        }
        let round = &mut self.round;
        round.prev_proposers = round.positions.len();
        round.prev_time = time;
        round.phase = Phase::Accepted;
        let proposing = round.is_proposing();
        let Some(own) = round.proposal.take() else { return };
        let (ledger, retriable) = round.prev.next(&own.txs, own.close);
        let ledger = Arc::new(ledger);
        self.store(&ledger);
        if !self.is_compatible(&ledger) {
            cx.mark("incompatible");
        } else if state != Consensus::MovedOn && ledger.seq > self.my_max_seq {
            self.my_max_seq = ledger.seq;
            let (id, seq, set) = (ledger.id, ledger.seq, own.txs.id());
            let val = Validation { ledger: id, seq, set, signed_at: cx.now(), full: proposing, label: seq };
            let message = Msg::Validation(cx.sign(val));
            cx.multicast(cx.cluster().replicas().without(self.cut), message);
        }
        self.check_accept_ledger(&ledger, cx);
        self.reorder(&own.disputes, retriable, own.txs.id());
        self.lcl = ledger;
        cx.set_timer(Timer::NextRound, Time(1));
    }

    /// Payments that were voted out, or could not be applied yet, come first in the next ledger, in an order that all replicas
    /// share. In each replica's own order of arrival, conflicting payments would be voted out forever.
    fn reorder(&mut self, disputes: &[Dispute], retriable: Vec<Tx>, set: Digest) {
        if self.config.flags.open_ledger_first_seen_order {
            return;
        }
        let mut first = retriable;
        first.extend(disputes.iter().filter(|dispute| !dispute.our_vote).map(|dispute| dispute.tx));
        self.pool.favour(first, set);
    }

    /// Leaves the round, and says so if it has said anything.
    fn bow_out(&mut self, cx: &mut Cx<'_>) {
        if !self.round.is_proposing() {
            return;
        }
        let k = self.round.proposal.as_mut().map(|own| std::mem::replace(&mut own.k, BOW_OUT));
        if k.is_some_and(|k| k != BOW_OUT) {
            self.propose(cx);
        }
        self.round.mode = Mode::Observing;
    }

    /// Whether the network builds on another ledger: then it leaves its round and goes there.
    fn check_ledger(&mut self, cx: &mut Cx<'_>) {
        let preferred = self.preferred(&self.round.prev, cx);
        let round = &self.round;
        if preferred == round.prev_id && round.prev.id == round.prev_id {
            return;
        }
        cx.mark("wrong-ledger");
        self.bow_out(cx);
        if preferred != self.round.prev_id {
            self.round.prev_id = preferred;
            self.round.forget();
            if let Some(own) = &mut self.round.proposal {
                own.disputes.clear();
                own.compared.clear();
            }
            self.play_back(cx);
        }
        match self.held(preferred) {
            Some(prev) => self.open(preferred, prev, Mode::SwitchedLedger, cx),
            None => {
                self.ask_for(preferred, cx);
                self.round.mode = Mode::WrongLedger;
            }
        }
    }
}
