//! A replica: its state, the normal case, its timers.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use turncoat_core::client::Request;
use turncoat_core::hash::Digest;
use turncoat_core::ids::{NodeId, NodeSet, Slot, Time, View};
use turncoat_core::node::{Context, Node, Vitals, Waiting};
use turncoat_core::service::{Clients, History};
use turncoat_core::sign::{Cert, Signed};
use turncoat_core::votes::Ballots;
use turncoat_core::window::Window;

use super::messages::{
    Checkpoint, Commit, Msg, NewView, PrePrepare, Prepare, Prepared, Reply, SlotProof, ViewChange,
};
use super::{Config, Pbft, Timer};

pub(super) type Cx<'a> = Context<'a, Pbft>;

/// Whether a replica takes part in its view, or is frozen until the view that it voted for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize)]
pub(super) enum Status {
    #[default]
    Normal,
    Changing(View),
}

/// What a replica knows about one number in its window.
#[derive(Clone, Default, Debug, Hash, Serialize)]
pub(super) struct Entry {
    // Of the present view:
    pub(super) pre_prepare: Option<Signed<PrePrepare>>,
    pub(super) prepares: Ballots<Prepare>,
    pub(super) commits: Ballots<Commit>,
    pub(super) sent_commit: bool,
    // Across views, until a checkpoint passes:
    pub(super) prepared: Option<Prepared>,
    pub(super) committed: Option<Arc<SlotProof>>,
    /// COMMITs of other views, or that came while frozen: hints that there is a proof to fetch.
    pub(super) hints: BTreeMap<NodeId, (View, Digest)>,
}

/// A replica of PBFT.
#[derive(Clone, Default, Debug, Hash, Serialize)]
pub struct Replica {
    pub(super) config: Config,
    pub(super) view: View,
    pub(super) status: Status,
    /// Numbers h < n <= h+L are valid, where h is the last stable checkpoint.
    pub(super) window: Window<Entry>,
    pub(super) stable_proof: Option<Cert<Checkpoint>>,
    /// The primary's: the last number that it assigned, and what each client got in this view.
    pub(super) next_seq: Slot,
    pub(super) assigned: BTreeMap<NodeId, (u32, Slot)>,
    pub(super) clients: Clients<Reply>,
    pub(super) history: History,

    pub(super) checkpoints: BTreeMap<NodeId, Vec<Signed<Checkpoint>>>,
    pub(super) fetching: Option<Slot>,
    /// The votes of each replica for later views, in the order of views.
    pub(super) view_changes: BTreeMap<NodeId, Vec<Arc<Signed<ViewChange>>>>,
    pub(super) last_new_view: Option<Arc<Signed<NewView>>>,
    /// Phase messages of later views.
    pub(super) future: Vec<(NodeId, Msg)>,

    /// The request that the request timer waits for.
    awaited: Option<(NodeId, u32)>,
    pub(super) timeout: Time,
    /// Whether nothing was executed in this view yet.
    pub(super) fresh_view: bool,
    pub(super) view_change_timer: Option<View>,
    retransmitting: bool,
}

/// Later-view messages kept per sender.
const FUTURE_MAX: usize = 64;

impl Replica {
    pub(super) fn new(mut config: Config) -> Self {
        config.window = if config.window == 0 { 2 * config.checkpoint } else { config.window };
        let window = Window::new(config.window);
        Self { config, window, timeout: config.request_timeout, ..Self::default() }
    }

    /// The last number executed.
    pub(super) fn last_exec(&self) -> Slot {
        self.history.last()
    }

    pub(super) fn is_primary(&self, cx: &Cx<'_>) -> bool {
        cx.leader(self.view) == cx.me()
    }

    // --- REQUEST ----------------------------------------------------------------------------------------------

    fn on_request(&mut self, from: NodeId, request: &Signed<Request>, cx: &mut Cx<'_>) {
        let (client, ts) = (request.client, request.ts);
        if !request.is_by(client) {
            return;
        }
        if request.read_only {
            // Answered from the committed state, never ordered.
            if self.config.read_only && request.op.as_str() == "get" {
                let (view, seq, result) = (self.view, self.last_exec(), self.history.register());
                cx.send(client, Msg::Reply(cx.sign(Reply { view, seq, ts, client, result })));
            }
            return;
        }
        match self.clients.last_reply(client) {
            Some((last, _)) if ts < *last => return,
            Some((last, reply)) if ts == *last => return cx.send(client, Msg::Reply(cx.sign(*reply))),
            _ => self.clients.note(request),
        }
        if self.status != Status::Normal {
            return;
        }
        if !self.is_primary(cx) {
            if from == client {
                cx.send(cx.leader(self.view), Msg::Request(*request));
                self.resend_slots(cx);
            }
        } else if let Some(&(_, seq)) = self.assigned.get(&client).filter(|&&(assigned, _)| assigned == ts) {
            self.resend(seq, cx);
        } else {
            self.propose(cx);
        }
    }

    /// The primary assigns numbers to pending requests, as far as the window reaches.
    pub(super) fn propose(&mut self, cx: &mut Cx<'_>) {
        if self.status != Status::Normal || !self.is_primary(cx) {
            return;
        }
        for request in self.clients.pending() {
            let assigned = self.assigned.get(&request.client).is_some_and(|&(ts, _)| ts >= request.ts);
            if assigned || self.next_seq >= self.window.high() {
                continue;
            }
            self.next_seq = self.next_seq.next();
            let (view, seq, digest) = (self.view, self.next_seq, request.digest());
            self.assigned.insert(request.client, (request.ts, seq));
            cx.broadcast(Msg::PrePrepare(cx.sign(PrePrepare { view, seq, digest, request: Some(*request) })));
        }
    }

    // --- PRE-PREPARE, PREPARE, COMMIT -------------------------------------------------------------------------

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
        if view != self.view || self.status != Status::Normal {
            return self.on_other_view(from, view, msg, cx);
        }
        match msg {
            Msg::PrePrepare(m) => {
                let genuine =
                    |r: &Signed<Request>| r.is_by(r.client) && !r.read_only && r.digest() == m.digest;
                if from == cx.leader(view) && m.request.as_ref().is_some_and(genuine) {
                    self.accept(m, cx);
                }
            }
            // Kept even before the PRE-PREPARE. The primary has no PREPARE.
            Msg::Prepare(m) if from != cx.leader(view) => {
                self.window.get(seq).map(|entry| entry.prepares.add(m));
            }
            Msg::Commit(m) => {
                self.window.get(seq).map(|entry| entry.commits.add(m));
            }
            _ => {}
        }
        self.advance(seq, cx);
    }

    /// Later views are kept for later, older ones answered with the NEW-VIEW; who is frozen takes part in none.
    fn on_other_view(&mut self, from: NodeId, view: View, msg: &Msg, cx: &mut Cx<'_>) {
        if let Msg::Commit(m) = msg
            && let Some(entry) = self.window.get(m.seq)
        {
            entry.hints.insert(from, (m.view, m.digest));
        }
        let kept = self.future.iter().filter(|(sender, _)| *sender == from).count();
        if view > self.view && kept < FUTURE_MAX {
            self.future.push((from, msg.clone()));
        }
        self.relay_new_view(from, view, cx);
    }

    /// Accepts a proposal, unless another one was accepted for the same view and number.
    pub(super) fn accept(&mut self, m: &Signed<PrePrepare>, cx: &mut Cx<'_>) {
        let backup = !self.is_primary(cx);
        let Some(entry) = self.window.get(m.seq).filter(|entry| entry.pre_prepare.is_none()) else { return };
        entry.pre_prepare = Some(m.clone());
        if let Some(request) = &m.request {
            self.clients.note(request);
        }
        if backup {
            cx.broadcast(Msg::Prepare(cx.sign(Prepare { view: m.view, seq: m.seq, digest: m.digest })));
        }
    }

    /// Every rule about `seq` whose guard now holds.
    pub(super) fn advance(&mut self, seq: Slot, cx: &mut Cx<'_>) {
        let quorum = cx.cluster().quorum();
        let backups = cx.cluster().replicas().without(NodeSet::one(cx.leader(self.view)));
        let Some(entry) = self.window.get(seq) else { return };
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
            let commits = entry.commits.cert(&commit, cx.cluster().replicas());
            entry.committed = Some(Arc::new(SlotProof { pre_prepare: m.clone(), commits }));
            self.execute(cx);
        }
    }

    /// Executes what is committed, in order and without gaps.
    pub(super) fn execute(&mut self, cx: &mut Cx<'_>) {
        while let Some(proof) =
            self.window.get(self.last_exec().next()).and_then(|entry| entry.committed.clone())
        {
            // A request that was executed before is a no-op: a faulty primary may propose it twice.
            let request = proof.pre_prepare.request.as_deref().copied().filter(|r| self.clients.is_fresh(r));
            self.apply(request, proof.commits.voters(), cx);
            if let Some((_, reply)) = request.and_then(|r| self.clients.last_reply(r.client)) {
                cx.send(reply.client, Msg::Reply(cx.sign(*reply)));
            }
            self.take_checkpoint(cx);
        }
    }

    /// Executes the next number.
    pub(super) fn apply(&mut self, request: Option<Request>, voters: NodeSet, cx: &mut Cx<'_>) {
        let result = self.history.append(request, voters, cx);
        let (Some(request), Some(result)) = (request, result) else { return };
        let (view, seq, ts, client) = (self.view, self.last_exec(), request.ts, request.client);
        self.clients.executed(&request, Reply { view, seq, ts, client, result });
        self.fresh_view = false;
        self.timeout = self.config.request_timeout;
    }

    // --- sending again, and timers ----------------------------------------------------------------------------

    /// Sends own messages of this view about a number again.
    fn resend(&mut self, seq: Slot, cx: &mut Cx<'_>) {
        let primary = self.is_primary(cx);
        let Some(entry) = self.window.get(seq) else { return };
        let Some(m) = &entry.pre_prepare else { return };
        let (view, digest) = (m.view, m.digest);
        cx.to_others(match primary {
            true => Msg::PrePrepare(m.clone()),
            false => Msg::Prepare(cx.sign(Prepare { view, seq, digest })),
        });
        if entry.sent_commit {
            cx.to_others(Msg::Commit(cx.sign(Commit { view, seq, digest })));
        }
    }

    fn resend_slots(&mut self, cx: &mut Cx<'_>) {
        (self.last_exec().0 + 1..=self.window.high().0).for_each(|seq| self.resend(Slot(seq), cx));
    }

    /// Whether something is unanswered.
    fn outstanding(&self) -> bool {
        let open = |entry: &Entry| {
            entry.pre_prepare.is_some() || !entry.hints.is_empty() || !entry.commits.seen().is_empty()
        };
        self.status != Status::Normal
            || !self.clients.pending().is_empty()
            || !self.future.is_empty()
            || self.last_own_checkpoint() > self.window.low()
            || self.window.above(self.last_exec()).any(open)
    }

    /// The timer rules, after every event: what must run runs, what must not does not.
    fn tend_timers(&mut self, cx: &mut Cx<'_>) {
        let waits =
            |awaited| self.clients.pending().iter().any(|pending| (pending.client, pending.ts) == awaited);
        let stop = self.status != Status::Normal || self.awaited.is_some_and(|awaited| !waits(awaited));
        if stop && self.awaited.take().is_some() {
            cx.cancel_timer(Timer::Request);
        }
        // A backup waits for the oldest pending request. The primary does not suspect itself.
        if self.status == Status::Normal
            && self.awaited.is_none()
            && let Some(oldest) = self.clients.pending().first()
            && !self.is_primary(cx)
        {
            self.awaited = Some((oldest.client, oldest.ts));
            cx.set_timer(Timer::Request, self.timeout);
        }
        if !self.retransmitting && self.outstanding() {
            self.retransmitting = true;
            cx.set_timer(Timer::Retransmit, self.config.retransmit);
        }
    }
}

impl Node<Pbft> for Replica {
    fn on_message(&mut self, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) {
        match msg {
            Msg::Request(m) => self.on_request(from, m, cx),
            Msg::PrePrepare(_) | Msg::Prepare(_) | Msg::Commit(_) => self.on_phase(from, msg, cx),
            Msg::Checkpoint(m) if m.is_by(from) => self.on_checkpoint(m, cx),
            Msg::ViewChange(m) if m.is_by(from) => self.on_view_change(from, m, cx),
            Msg::NewView(m) => self.on_new_view(m, cx),
            Msg::QueryView(view) => self.relay_new_view(from, *view, cx),
            Msg::Fetch { after, seq } => self.on_fetch(from, *after, *seq, cx),
            Msg::State(m) => self.on_state(m, cx),
            Msg::SlotFetch(seq) => self.on_slot_fetch(from, *seq, cx),
            Msg::SlotProof(m) => self.on_slot_proof(m, cx),
            Msg::Checkpoint(_) | Msg::ViewChange(_) | Msg::Reply(_) => {}
        }
        self.tend_timers(cx);
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        match timer {
            Timer::Request => {
                self.awaited = None;
                // Nothing was executed in this view in time: the next one gets twice the time.
                self.timeout = Time(self.timeout.0.saturating_mul(if self.fresh_view { 2 } else { 1 }));
                self.start_view_change(self.view.next(), cx);
            }
            Timer::ViewChange => {
                self.timeout = Time(self.timeout.0.saturating_mul(2));
                self.start_view_change(self.target().next(), cx);
            }
            Timer::Retransmit => {
                self.retransmitting = false;
                match self.status {
                    Status::Changing(_) => self.resend_view_change(cx),
                    Status::Normal => self.resend_slots(cx),
                }
                self.resend_checkpoint(cx);
                self.fetch_missing_slot(cx);
                self.query_view(cx);
            }
            Timer::Fetch => self.fetch(cx),
            Timer::Client(_) => {}
        }
        self.tend_timers(cx);
    }

    /// The timers are gone, the state is not.
    fn on_restart(&mut self, cx: &mut Cx<'_>) {
        (self.awaited, self.retransmitting, self.view_change_timer) = (None, false, None);
        self.fetch(cx);
        self.advance_view_change(cx);
        self.tend_timers(cx);
    }

    fn on_suspect(&mut self, cx: &mut Cx<'_>) {
        self.start_view_change(self.target().next(), cx);
        self.tend_timers(cx);
    }

    fn vitals(&self) -> Vitals {
        let next = self.window.above(self.last_exec()).next();
        let wait = |kind, have| Waiting { kind, slot: self.last_exec().next(), have, need: have + 1 };
        let waiting =
            next.filter(|_| !self.clients.pending().is_empty()).map(|entry| match &entry.pre_prepare {
                None => wait("pre-prepare", 0),
                Some(_) if entry.sent_commit => wait("commit", entry.commits.seen().len()),
                Some(_) => wait("prepare", entry.prepares.seen().len()),
            });
        Vitals {
            view: self.view,
            changing_view: self.status != Status::Normal,
            prepared: next.and_then(|entry| entry.prepared.as_ref()).map(|cert| cert.pre_prepare.digest),
            executed: self.history.last_entry().map(Request::digest),
            decided: self.last_exec(),
            waiting: waiting.into_iter().collect(),
            ..Vitals::default()
        }
    }

    turncoat_core::open_state!();
}
