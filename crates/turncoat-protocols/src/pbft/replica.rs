//! A replica: its state, the normal case, its timers.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde::Serialize;
use turncoat_core::client::Request;
use turncoat_core::hash::Digest;
use turncoat_core::ids::{NodeId, NodeSet, Slot, Time, View};
use turncoat_core::node::{Cluster, Context, Node, State, Vitals, Waiting};
use turncoat_core::sign::{Cert, Signed};
use turncoat_core::votes::Ballots;

use super::messages::{
    Checkpoint, Commit, Msg, NewView, PrePrepare, Prepare, Prepared, Reply, SlotProof, ViewChange,
};
use super::{Config, Pbft, Timer};

pub(super) type Cx<'a> = Context<'a, Pbft>;

/// Whether a replica takes part in its view, or waits for the view that it voted for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
pub(super) enum Status {
    /// In its view.
    Normal,
    /// It has voted for this view and is frozen.
    Changing(View),
}

/// What a replica knows about one sequence number in its window.
#[derive(Clone, Default, Debug, Hash, Serialize)]
pub(super) struct Entry {
    // Of the present view:
    pub(super) pre_prepare: Option<Signed<PrePrepare>>,
    pub(super) prepares: Ballots<Prepare>,
    pub(super) commits: Ballots<Commit>,
    pub(super) sent_commit: bool,
    // Across views, until the checkpoint passes:
    pub(super) prepared: Option<Prepared>,
    pub(super) committed: Option<Arc<SlotProof>>,
    /// COMMITs that came for other views, or while frozen: hints that there is something to fetch.
    pub(super) hints: BTreeMap<NodeId, (View, Digest)>,
}

/// A replica of PBFT.
#[derive(Clone, Debug, Hash, Serialize)]
pub struct Replica {
    pub(super) config: Config,
    pub(super) view: View,
    pub(super) status: Status,
    /// h: the last stable checkpoint; sequence numbers h < n <= h+L are valid.
    pub(super) h: Slot,
    pub(super) stable_proof: Option<Cert<Checkpoint>>,
    /// Entry i is for sequence number h+1+i.
    pub(super) window: VecDeque<Entry>,
    /// The last sequence number that this primary assigned.
    pub(super) next_seq: Slot,
    /// What this primary assigned in this view, by client: number of the request, and sequence number.
    pub(super) assigned: BTreeMap<NodeId, (u32, Slot)>,
    /// The newest request of each client that is not executed yet.
    pub(super) pending: BTreeMap<NodeId, Signed<Request>>,

    // The service: what was executed. Everything follows from the log.
    pub(super) log: Vec<Option<Request>>,
    /// The digest of the log up to each checkpoint that may be asked for, and up to its end.
    pub(super) chain: Digest,
    pub(super) register: u64,
    /// The last reply to each client.
    pub(super) replies: BTreeMap<NodeId, Reply>,

    pub(super) checkpoints: BTreeMap<Slot, Ballots<Checkpoint>>,
    pub(super) fetching: Option<Slot>,
    pub(super) view_changes: BTreeMap<NodeId, Vec<Arc<Signed<ViewChange>>>>,
    pub(super) last_new_view: Option<Arc<Signed<NewView>>>,
    /// Phase messages of later views.
    pub(super) future: Vec<(NodeId, Msg)>,

    /// The request that the request timer waits for.
    pub(super) awaited: Option<(NodeId, u32)>,
    pub(super) timeout: Time,
    /// Whether nothing new was executed in this view yet.
    pub(super) fresh_view: bool,
    pub(super) view_change_timer: Option<View>,
    pub(super) retransmitting: bool,
}

/// Later-view messages kept per sender.
const FUTURE_MAX: usize = 64;

impl Replica {
    pub(super) fn new(_: NodeId, _: &Cluster, config: &Config) -> Self {
        let mut config = *config;
        config.checkpoint = config.checkpoint.max(1);
        config.window = if config.window == 0 { 2 * config.checkpoint } else { config.window };
        Self {
            config,
            view: View(0),
            status: Status::Normal,
            h: Slot(0),
            stable_proof: None,
            window: std::iter::repeat_with(Entry::default).take(config.window as usize).collect(),
            next_seq: Slot(0),
            assigned: BTreeMap::new(),
            pending: BTreeMap::new(),
            log: Vec::new(),
            chain: Digest::NULL,
            register: 0,
            replies: BTreeMap::new(),
            checkpoints: BTreeMap::new(),
            fetching: None,
            view_changes: BTreeMap::new(),
            last_new_view: None,
            future: Vec::new(),
            awaited: None,
            timeout: config.request_timeout,
            fresh_view: false,
            view_change_timer: None,
            retransmitting: false,
        }
    }

    /// The last sequence number executed.
    pub(super) fn last_exec(&self) -> Slot {
        Slot(self.log.len() as u32)
    }

    /// The entry of a sequence number, if it is within the window: h < n <= h+L.
    pub(super) fn entry(&mut self, seq: Slot) -> Option<&mut Entry> {
        let index = seq.0.checked_sub(self.h.0 + 1)?;
        self.window.get_mut(index as usize)
    }

    pub(super) fn is_primary(&self, cx: &Cx<'_>) -> bool {
        cx.leader(self.view) == cx.me()
    }

    // --- REQUEST ----------------------------------------------------------------------------------------

    fn on_request(&mut self, from: NodeId, request: &Signed<Request>, cx: &mut Cx<'_>) {
        let client = request.client;
        if !request.is_by(client) {
            return;
        }
        if request.read_only {
            // Answered from the committed state; never ordered.
            if self.config.read_only && request.op.as_str() == "get" {
                let (view, seq, result) = (self.view, self.last_exec(), self.register);
                let reply = Reply { view, seq, ts: request.ts, client, result };
                cx.send(client, Msg::Reply(cx.sign(reply)));
            }
            return;
        }
        match self.replies.get(&client) {
            Some(last) if request.ts < last.ts => return,
            Some(last) if request.ts == last.ts => {
                cx.send(client, Msg::Reply(cx.sign(*last)));
                return;
            }
            _ => {}
        }
        self.note_pending(request);
        if self.status != Status::Normal {
            return;
        }
        if self.is_primary(cx) {
            match self.assigned.get(&client) {
                Some(&(ts, seq)) if ts == request.ts => self.resend(seq, cx),
                _ => self.propose(cx),
            }
        } else {
            if from == client {
                cx.send(cx.leader(self.view), Msg::Request(*request));
            }
            self.resend_votes_for(request.digest(), cx);
        }
    }

    /// pending[c] := the newest request of c that is not executed.
    pub(super) fn note_pending(&mut self, request: &Signed<Request>) {
        let executed = self.replies.get(&request.client).is_some_and(|last| request.ts <= last.ts);
        let newer = self.pending.get(&request.client).is_none_or(|known| known.ts < request.ts);
        if !executed && newer {
            self.pending.insert(request.client, *request);
        }
    }

    /// The primary assigns numbers to pending requests, as far as the window reaches.
    pub(super) fn propose(&mut self, cx: &mut Cx<'_>) {
        if self.status != Status::Normal || !self.is_primary(cx) {
            return;
        }
        let high = Slot(self.h.0 + self.config.window);
        let waiting: Vec<Signed<Request>> = self.pending.values().copied().collect();
        for request in waiting {
            let assigned = self.assigned.get(&request.client).is_some_and(|&(ts, _)| ts >= request.ts);
            if assigned || self.next_seq >= high {
                continue;
            }
            self.next_seq = self.next_seq.next();
            let (view, seq) = (self.view, self.next_seq);
            self.assigned.insert(request.client, (request.ts, seq));
            let pre_prepare = PrePrepare { view, seq, digest: request.digest(), request: Some(request) };
            cx.broadcast(Msg::PrePrepare(cx.sign(pre_prepare)));
        }
    }

    // --- PRE-PREPARE, PREPARE, COMMIT -------------------------------------------------------------------

    pub(super) fn on_phase(&mut self, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) {
        let (by_sender, view, seq) = match msg {
            Msg::PrePrepare(m) => (m.is_by(from), m.view, m.seq),
            Msg::Prepare(m) => (m.is_by(from), m.view, m.seq),
            Msg::Commit(m) => (m.is_by(from), m.view, m.seq),
            _ => return,
        };
        if !by_sender {
            return;
        }
        if view < self.view {
            self.relay_new_view(from, view, cx);
        }
        if view != self.view || self.status != Status::Normal {
            if let (Msg::Commit(commit), Some(entry)) = (msg, self.entry(seq)) {
                entry.hints.insert(from, (commit.view, commit.digest));
            }
            let kept = self.future.iter().filter(|(sender, _)| *sender == from).count();
            if view > self.view && kept < FUTURE_MAX {
                self.future.push((from, msg.clone()));
            }
            return;
        }
        match msg {
            Msg::PrePrepare(m) => self.on_pre_prepare(from, m, cx),
            Msg::Prepare(m) if from != cx.leader(view) => {
                self.entry(seq).map(|entry| entry.prepares.add(m));
            }
            Msg::Commit(m) => {
                self.entry(seq).map(|entry| entry.commits.add(m));
            }
            _ => {}
        }
        self.advance(seq, cx);
    }

    fn on_pre_prepare(&mut self, from: NodeId, m: &Signed<PrePrepare>, cx: &mut Cx<'_>) {
        let genuine =
            m.request.as_ref().is_some_and(|r| r.is_by(r.client) && !r.read_only && r.digest() == m.digest);
        if from == cx.leader(self.view) && genuine {
            self.accept(m, cx);
        }
    }

    /// Accepts a proposal, unless another one was accepted for the same view and number.
    pub(super) fn accept(&mut self, m: &Signed<PrePrepare>, cx: &mut Cx<'_>) {
        let primary = self.is_primary(cx);
        let Some(entry) = self.entry(m.seq) else { return };
        if entry.pre_prepare.is_some() {
            return;
        }
        entry.pre_prepare = Some(m.clone());
        if let Some(request) = &m.request {
            self.note_pending(request);
        }
        if !primary {
            let prepare = Prepare { view: m.view, seq: m.seq, digest: m.digest };
            cx.broadcast(Msg::Prepare(cx.sign(prepare)));
        }
    }

    /// Every rule about `seq` whose guard now holds.
    pub(super) fn advance(&mut self, seq: Slot, cx: &mut Cx<'_>) {
        let quorum = cx.cluster().quorum();
        let backups = cx.cluster().replicas().without(NodeSet::one(cx.leader(self.view)));
        let Some(entry) = self.entry(seq) else { return };
        let Some(m) = &entry.pre_prepare else { return };
        let (view, digest) = (m.view, m.digest);

        // prepared(m,v,n): the PRE-PREPARE and 2f PREPAREs of backups that match it.
        let prepare = Prepare { view, seq, digest };
        if !entry.sent_commit && entry.prepares.voters(&prepare).and(backups).len() + 1 >= quorum {
            entry.sent_commit = true;
            let prepares = entry.prepares.cert(&prepare, backups);
            entry.prepared = Some(Prepared { pre_prepare: m.clone(), prepares });
            cx.broadcast(Msg::Commit(cx.sign(Commit { view, seq, digest })));
        }
        // committed-local(m,v,n): prepared, and 2f+1 COMMITs that match.
        let commit = Commit { view, seq, digest };
        if entry.sent_commit && entry.committed.is_none() && entry.commits.count(&commit) >= quorum {
            let commits = entry.commits.cert(&commit, NodeSet::replicas(NodeId::MAX));
            entry.committed = Some(Arc::new(SlotProof { pre_prepare: m.clone(), commits }));
            self.execute(cx);
        }
    }

    /// Executes what is committed, in order and without gaps.
    pub(super) fn execute(&mut self, cx: &mut Cx<'_>) {
        loop {
            let seq = self.last_exec().next();
            let Some(proof) = self.entry(seq).and_then(|entry| entry.committed.clone()) else { break };
            let request = proof.pre_prepare.request.as_deref().copied();
            // A request that was executed before is a no-op: a faulty primary may propose it twice.
            let fresh = |r: &Request| self.replies.get(&r.client).is_none_or(|last| last.ts < r.ts);
            let request = request.filter(fresh);
            self.apply(request, proof.commits.voters(), cx);
            if let Some(reply) = request.and_then(|r| self.replies.get(&r.client)) {
                cx.send(reply.client, Msg::Reply(cx.sign(*reply)));
            }
            self.take_checkpoint(cx);
        }
    }

    /// Appends one execution to the log.
    pub(super) fn apply(&mut self, request: Option<Request>, voters: NodeSet, cx: &mut Cx<'_>) {
        let id = request.as_ref().map_or(Digest::NULL, Request::digest);
        self.log.push(request);
        self.chain = Digest::of(&(self.chain, id));
        cx.commit(self.last_exec(), id, request.as_slice(), voters);
        let Some(request) = request else { return };
        self.register = operate(self.register, request.op.as_str());
        let (view, seq, result) = (self.view, self.last_exec(), self.register);
        self.replies
            .insert(request.client, Reply { view, seq, ts: request.ts, client: request.client, result });
        if self.pending.get(&request.client).is_some_and(|known| known.ts <= request.ts) {
            self.pending.remove(&request.client);
        }
        self.fresh_view = false;
        self.timeout = self.config.request_timeout;
    }

    // --- sending again ----------------------------------------------------------------------------------

    /// Sends own messages about an unexecuted slot of this view again.
    fn resend(&mut self, seq: Slot, cx: &mut Cx<'_>) {
        let primary = self.is_primary(cx);
        let Some(entry) = self.entry(seq) else { return };
        let Some(m) = entry.pre_prepare.clone() else { return };
        let sent_commit = entry.sent_commit;
        let (view, digest) = (m.view, m.digest);
        if primary {
            cx.to_others(Msg::PrePrepare(m));
        } else {
            cx.to_others(Msg::Prepare(cx.sign(Prepare { view, seq, digest })));
        }
        if sent_commit {
            cx.to_others(Msg::Commit(cx.sign(Commit { view, seq, digest })));
        }
    }

    fn resend_votes_for(&mut self, digest: Digest, cx: &mut Cx<'_>) {
        for seq in self.unexecuted() {
            let holds = |m: &Signed<PrePrepare>| m.digest == digest;
            if self.entry(seq).and_then(|entry| entry.pre_prepare.as_ref()).is_some_and(holds) {
                self.resend(seq, cx);
            }
        }
    }

    /// The numbers in the window above the last execution.
    fn unexecuted(&self) -> impl Iterator<Item = Slot> + use<> {
        (self.last_exec().max(self.h).0 + 1..=self.h.0 + self.config.window).map(Slot)
    }

    /// Whether something is unanswered.
    fn outstanding(&self) -> bool {
        let open = |entry: &Entry| {
            entry.pre_prepare.is_some() || !entry.hints.is_empty() || !entry.commits.seen().is_empty()
        };
        let executed = self.last_exec().0.saturating_sub(self.h.0) as usize;
        self.status != Status::Normal
            || !self.pending.is_empty()
            || self.last_own_checkpoint() > self.h
            || !self.future.is_empty()
            || self.window.iter().skip(executed).any(open)
    }

    fn retransmit(&mut self, cx: &mut Cx<'_>) {
        if let Status::Changing(_) = self.status {
            self.resend_view_change(cx);
        } else {
            for seq in self.unexecuted() {
                self.resend(seq, cx);
            }
        }
        self.resend_checkpoint(cx);
        self.fetch_missing_slot(cx);
        self.query_view(cx);
    }

    // --- timers -----------------------------------------------------------------------------------------

    /// The timer rules, after every event: what must run runs, what must not does not.
    fn tend_timers(&mut self, cx: &mut Cx<'_>) {
        let done = |(client, ts): (NodeId, u32)| self.pending.get(&client).is_none_or(|known| known.ts != ts);
        let stop = self.status != Status::Normal || self.awaited.is_some_and(done);
        if stop && self.awaited.take().is_some() {
            cx.cancel_timer(Timer::Request);
        }
        // A backup waits for one pending request at a time. The primary does not suspect itself.
        if self.status == Status::Normal && self.awaited.is_none() && !self.is_primary(cx) {
            if let Some(request) = self.pending.values().next() {
                self.awaited = Some((request.client, request.ts));
                cx.set_timer(Timer::Request, self.timeout);
            }
        }
        if !self.retransmitting && self.outstanding() {
            self.retransmitting = true;
            cx.set_timer(Timer::Retransmit, self.config.retransmit);
        }
    }
}

/// The service: one register. `+k` adds, `*k` multiplies, `get` reads; anything else is written as it is.
fn operate(register: u64, op: &str) -> u64 {
    let number = |digits: &str| digits.parse::<u64>().ok();
    match (op.get(..1), op.get(1..).and_then(number)) {
        (Some("+"), Some(k)) => register.wrapping_add(k),
        (Some("*"), Some(k)) => register.wrapping_mul(k),
        _ if op == "get" => register,
        _ => Digest::of(op).0,
    }
}

impl Node<Pbft> for Replica {
    fn on_message(&mut self, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) {
        match msg {
            Msg::Request(request) => self.on_request(from, request, cx),
            Msg::PrePrepare(_) | Msg::Prepare(_) | Msg::Commit(_) => self.on_phase(from, msg, cx),
            Msg::Checkpoint(m) if m.is_by(from) => self.on_checkpoint(m, cx),
            Msg::Fetch(m) => self.on_fetch(from, m, cx),
            Msg::State(m) => self.on_state(m, cx),
            Msg::SlotFetch(seq) => self.on_slot_fetch(from, *seq, cx),
            Msg::SlotProof(m) => self.on_slot_proof(m, cx),
            Msg::ViewChange(m) if m.is_by(from) => self.on_view_change(from, m, cx),
            Msg::NewView(m) => self.on_new_view(m, cx),
            Msg::QueryView(view) => self.relay_new_view(from, *view, cx),
            Msg::Checkpoint(_) | Msg::ViewChange(_) | Msg::Reply(_) => {}
        }
        self.tend_timers(cx);
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        match timer {
            Timer::Request => {
                self.awaited = None;
                // A new view in which nothing was executed in time: the next one gets twice the time.
                if self.fresh_view {
                    self.timeout = Time(self.timeout.0 * 2);
                }
                self.start_view_change(self.view.next(), cx);
            }
            Timer::ViewChange => {
                self.timeout = Time(self.timeout.0 * 2);
                if let Status::Changing(target) = self.status {
                    self.start_view_change(target.next(), cx);
                }
            }
            Timer::Retransmit => {
                self.retransmitting = false;
                self.retransmit(cx);
            }
            Timer::Fetch => self.fetch(cx),
            Timer::Client(_) => {}
        }
        self.tend_timers(cx);
    }

    fn on_restart(&mut self, cx: &mut Cx<'_>) {
        self.awaited = None;
        self.retransmitting = false;
        self.view_change_timer = None;
        self.fetch(cx);
        self.tend_timers(cx);
    }

    fn on_suspect(&mut self, cx: &mut Cx<'_>) {
        let next = match self.status {
            Status::Normal => self.view.next(),
            Status::Changing(target) => target.next(),
        };
        self.start_view_change(next, cx);
        self.tend_timers(cx);
    }

    fn vitals(&self) -> Vitals {
        let next = self.last_exec().next();
        let entry = self.window.get((next.0 - self.h.0).saturating_sub(1) as usize);
        let seen = |voters: NodeSet| voters.len();
        let mut waiting = Vec::new();
        if let Some(entry) = entry.filter(|_| next > self.h && !self.pending.is_empty()) {
            let (kind, have) = match (&entry.pre_prepare, entry.sent_commit) {
                (None, _) => ("pre-prepare", 0),
                (Some(_), false) => ("prepare", seen(entry.prepares.seen())),
                (Some(_), true) => ("commit", seen(entry.commits.seen())),
            };
            waiting.push(Waiting { kind, slot: next, have, need: 0 });
        }
        Vitals {
            view: self.view,
            changing_view: self.status != Status::Normal,
            prepared: entry.and_then(|entry| entry.prepared.as_ref()).map(|cert| cert.pre_prepare.digest),
            locked: None,
            executed: self.log.last().copied().flatten().map(|request| request.digest()),
            decided: self.last_exec(),
            waiting,
        }
    }

    fn fork(&self) -> Option<Self> {
        Some(self.clone())
    }

    fn state(&self) -> Option<&dyn State> {
        Some(self)
    }
}
