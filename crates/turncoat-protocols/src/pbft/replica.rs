//! A replica: its state, the normal case, its timers.

use std::collections::BTreeMap;

use turncoat_core::prelude::*;

use super::messages::{
    Certificate, Commit, Committed, Msg, NewView, PrePrepare, Prepare, Prepared, Vote, Voted,
};
use super::{Config, Pbft};

pub(super) type Cx<'a> = Context<'a, Pbft>;

/// What a replica knows about one number in its window.
#[derive(Clone, Default, Debug, Hash, Serialize)]
pub(super) struct Entry {
    // Of the present view:
    pub(super) pre_prepare: Option<Signed<PrePrepare>>,
    /// What this replica votes for: the digest in the PRE-PREPARE.
    pub(super) digest: Digest,
    pub(super) prepares: Ballots<Prepare>,
    pub(super) commits: Ballots<Commit>,
    /// Votes beyond one per voter, which count for nothing unless `votes_not_distinct`.
    pub(super) repeats: Vec<(char, Digest)>,
    pub(super) sent_commit: bool,
    // Across views, until a checkpoint passes:
    pub(super) prepared: Option<Prepared>,
    pub(super) committed: Option<Arc<Committed>>,
    /// COMMITs of other views, or that came while frozen: hints that there is a proof to fetch.
    pub(super) hints: Latest<(View, Digest)>,
    /// Executed, and nothing of it is left (`forget_completed_slot`).
    pub(super) forgotten: bool,
}

/// A replica of PBFT.
#[derive(Clone, Default, Debug, Hash, Serialize)]
pub struct Replica {
    pub(super) config: Config,
    pub(super) view: View,
    /// The view that it is in or has voted for last.
    pub(super) target: View,
    /// Whether it waits for a new view, and takes part in none.
    pub(super) frozen: bool,
    /// Numbers h < n <= h+L are valid, where h is the last stable checkpoint.
    pub(super) window: Window<Entry>,
    /// The primary's: the last number that it assigned.
    pub(super) next_seq: Slot,
    pub(super) clients: Clients<Reply>,
    pub(super) history: History,
    pub(super) checkpoints: Checkpoints,
    pub(super) view_changes: ViewVotes<Voted>,
    pub(super) last_new_view: Option<Arc<Signed<NewView>>>,
    /// Phase messages of later views.
    pub(super) early: Early<Msg>,
    pub(super) patience: Patience,

    /// CHECKPOINTs by number (`checkpoint_unchecked`).
    pub(super) unchecked: BTreeMap<Slot, usize>,
    /// Late votes for forgotten numbers (`forget_completed_slot`).
    pub(super) ghosts: u32,
    /// When each request that came here is late, and the timer that runs (`timer_from_request`).
    pub(super) deadlines: Vec<(RequestId, Time)>,
    pub(super) alarm: Option<Time>,
    /// All requests executed (`orders_old_requests`).
    pub(super) done: BTreeMap<RequestId, Reply>,
}

/// A client, and its number for the request.
type RequestId = (NodeId, u32);

/// pbft-java's table of open numbers.
const GHOSTS_MAX: u32 = 100;

impl Replica {
    pub(super) fn new(mut config: Config) -> Self {
        config.window = if config.window == 0 { 2 * config.checkpoint } else { config.window };
        // The first number is 1, so that all are above the first low watermark, which is 0.
        let checkpoints = Checkpoints::new(config.checkpoint, Slot(config.flags.seq_zero.into()));
        let (window, patience) = (Window::new(config.window), Patience::new(config.request_timeout));
        Self { config, window, checkpoints, patience, ..Self::default() }
    }

    /// The last number executed.
    pub(super) fn last_exec(&self) -> Slot {
        self.history.last()
    }

    // --- REQUEST ----------------------------------------------------------------------------------------------

    fn on_request(&mut self, from: NodeId, request: &Signed<Request>, cx: &mut Cx<'_>) {
        let (client, ts, flags) = (request.client, request.ts, self.config.flags);
        if !request.is_by(client) && !flags.no_request_auth {
            return;
        }
        if self.frozen && flags.frozen_drops_requests {
            return;
        }
        if request.read_only {
            // Answered from the committed state, never ordered.
            if self.config.read_only && request.op.as_str() == "get" {
                let reply = request.reply(self.view, self.last_exec(), self.history.register());
                cx.send(client, Msg::Reply(cx.sign(reply)));
            }
            return;
        }
        let last = match flags.orders_old_requests {
            true => self.done.get(&request.id()).map(|reply| (ts, *reply)),
            false => self.clients.last_reply(client).copied(),
        };
        match last {
            Some((last, _)) if ts < last => return,
            Some((last, _)) if ts == last && flags.no_reply_resend => return,
            Some((last, reply)) if ts == last => return cx.send(client, Msg::Reply(cx.sign(reply))),
            _ => self.note(request),
        }
        if flags.timer_from_request && !self.deadlines.iter().any(|(id, _)| *id == request.id()) {
            self.deadlines.push((request.id(), cx.now() + self.patience.timeout()));
        }
        let backup = !cx.leads(self.view);
        if self.frozen || (backup && from != client) {
            return;
        }
        if backup {
            cx.send(cx.leader(self.view), Msg::Request(*request));
            self.resend_slots(cx);
        } else if flags.primary_reassigns {
            self.assign(request, cx);
        } else if let Some(entry) = self.proposed(request) {
            self.resend(entry, cx);
        } else {
            self.propose(cx);
        }
    }

    /// Remembers a request that waits.
    pub(super) fn note(&mut self, request: &Signed<Request>) {
        if !self.config.flags.orders_old_requests {
            self.clients.note(request);
        } else if !self.done.contains_key(&request.id()) {
            self.clients.note_beside(request);
        }
    }

    /// Whether a request is still to be executed.
    fn is_fresh(&self, request: &Request) -> bool {
        match self.config.flags.orders_old_requests {
            true => !self.done.contains_key(&request.id()),
            false => self.clients.is_fresh(request),
        }
    }

    /// Where a request is proposed in this view, and not executed yet.
    fn proposed(&self, request: &Request) -> Option<&Entry> {
        let same = |m: &Signed<PrePrepare>| m.request.as_ref().is_some_and(|r| r.id() == request.id());
        self.window.above(self.last_exec()).find(|entry| entry.pre_prepare.as_ref().is_some_and(same))
    }

    /// The primary assigns numbers to pending requests, as far as the window reaches.
    pub(super) fn propose(&mut self, cx: &mut Cx<'_>) {
        if !self.frozen && cx.leads(self.view) {
            let waiting = self.clients.pending().iter().filter(|request| self.proposed(request).is_none());
            let waiting: Vec<_> = waiting.copied().collect();
            waiting.iter().for_each(|request| self.assign(request, cx));
        }
    }

    fn assign(&mut self, request: &Signed<Request>, cx: &mut Cx<'_>) {
        if !self.config.flags.seq_not_synced {
            self.next_seq = self.next_seq.max(self.window.low());
        }
        if self.next_seq < self.window.high() && self.ghosts < GHOSTS_MAX {
            self.next_seq = self.next_seq.next();
            let (view, seq, digest) = (self.view, self.next_seq, self.config.digest(request));
            cx.broadcast(Msg::PrePrepare(cx.sign(PrePrepare { view, seq, digest, request: Some(*request) })));
        }
    }

    // --- PRE-PREPARE, PREPARE, COMMIT -------------------------------------------------------------------------

    pub(super) fn on_phase(&mut self, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) {
        let Some(RoundKey { view, slot: seq, .. }) = msg.round() else { return };
        if view != self.view || self.frozen {
            return self.on_other_view(from, view, msg, cx);
        }
        if let Msg::PrePrepare(m) = msg {
            if m.request.is_some() && self.is_genuine(m, cx) {
                self.accept(m, cx);
            }
        } else if let Some(entry) = self.window.get(seq) {
            // Kept even before the PRE-PREPARE. The primary has no PREPARE.
            let (phase, digest, counts) = match msg {
                Msg::Prepare(m) => ('P', m.digest, from != cx.leader(view) && entry.prepares.add(m)),
                Msg::Commit(m) => ('C', m.digest, entry.commits.add(m)),
                _ => return,
            };
            if !counts && self.config.flags.votes_not_distinct {
                entry.repeats.push((phase, digest));
            }
            self.ghosts += u32::from(std::mem::take(&mut entry.forgotten));
        }
        self.advance(seq, cx);
    }

    /// Later views are kept for later, older ones answered with the NEW-VIEW; who is frozen takes part in none.
    fn on_other_view(&mut self, from: NodeId, view: View, msg: &Msg, cx: &mut Cx<'_>) {
        if !self.config.is_persistent() {
            return;
        }
        if let Msg::Commit(m) = msg
            && let Some(entry) = self.window.get(m.seq)
        {
            entry.hints.set(from, (m.view, m.digest));
        }
        if view > self.view {
            self.early.keep(from, msg);
        }
        self.relay_new_view(from, view, cx);
    }

    /// Accepts a proposal, unless another one was accepted for the same view and number.
    pub(super) fn accept(&mut self, m: &Signed<PrePrepare>, cx: &mut Cx<'_>) {
        let Some(entry) = self.window.get(m.seq) else { return };
        if entry.pre_prepare.is_some() && !self.config.flags.slot_ignores_digest {
            return;
        }
        entry.pre_prepare.get_or_insert_with(|| m.clone());
        entry.digest = m.digest;
        if let Some(request) = &m.request {
            self.note(request);
        }
        if !cx.leads(self.view) {
            cx.broadcast(Msg::Prepare(cx.sign(self.vote(m))));
        }
    }

    /// The vote for a proposal in the present view, which is the proposal's own unless `old_views_kept`.
    fn vote<const PHASE: char>(&self, m: &PrePrepare) -> Vote<PHASE> {
        Vote { view: self.view, ..m.vote() }
    }

    /// Every rule about `seq` whose guard now holds.
    pub(super) fn advance(&mut self, seq: Slot, cx: &mut Cx<'_>) {
        let (flags, quorum) = (self.config.flags, cx.cluster().quorum());
        let Some(entry) = self.window.get(seq) else { return };
        let Some(m) = &entry.pre_prepare else { return };
        let (view, digest) = (self.view, entry.digest);
        let repeats = |phase| entry.repeats.iter().filter(|&&vote| vote == (phase, digest)).count();

        // prepared(m,v,n): the PRE-PREPARE and 2f PREPAREs of backups that match it.
        let prepare = Prepare { view, seq, digest };
        let any = flags.slot_ignores_digest;
        let voters = if any { entry.prepares.seen() } else { entry.prepares.voters(&prepare) };
        if !entry.sent_commit && voters.len() + repeats('P') + 1 >= quorum {
            entry.sent_commit = true;
            let votes = entry.prepares.cert(&prepare, cx.cluster().replicas());
            // With fewer voters, which takes a flag, it would prove nothing.
            if votes.voters().len() + 1 >= quorum {
                entry.prepared = Some(Certificate { pre_prepare: m.clone(), votes });
            }
            cx.broadcast(Msg::Commit(cx.sign(Commit { view, seq, digest })));
        }
        // committed-local(m,v,n): prepared, and 2f+1 COMMITs that match.
        let commit = Commit { view, seq, digest };
        let any = flags.commit_ignores_digest;
        let voters = if any { entry.commits.seen() } else { entry.commits.voters(&commit) };
        if entry.sent_commit && entry.committed.is_none() && voters.len() + repeats('C') >= quorum {
            let votes = entry.commits.cert(&commit, cx.cluster().replicas());
            entry.committed = Some(Arc::new(Certificate { pre_prepare: m.clone(), votes }));
            self.execute(seq, cx);
        }
    }

    /// `seq` is committed: executes in order and without gaps.
    pub(super) fn execute(&mut self, seq: Slot, cx: &mut Cx<'_>) {
        if self.config.flags.exec_out_of_order {
            self.execute_next(seq, cx);
        } else {
            while self.execute_next(self.last_exec().next(), cx) {}
        }
    }

    fn execute_next(&mut self, seq: Slot, cx: &mut Cx<'_>) -> bool {
        let flags = self.config.flags;
        let committed = self.window.get(seq).and_then(|entry| entry.committed.clone());
        let Some(proof) = committed else { return false };
        let proposed = &proof.pre_prepare.request;
        // A request that was executed before is a no-op: a faulty primary may propose it twice.
        let fresh = |request: &Request| flags.no_exec_dedupe || self.is_fresh(request);
        let request = proposed.as_deref().copied().filter(fresh);
        let grounds = self.grounds(seq, &proof);
        self.apply(seq, request, grounds, cx);
        if let Some((_, reply)) = request.and_then(|r| self.clients.last_reply(r.client)) {
            cx.send(reply.client, Msg::Reply(cx.sign(*reply)));
        }
        if flags.primary_reassigns {
            let copy = |old: &mut Prepared| old.pre_prepare.seq < seq && old.pre_prepare.request == *proposed;
            self.window.iter_mut().for_each(|entry| drop(entry.prepared.take_if(copy)));
        }
        if let Some(entry) = self.window.get(seq).filter(|_| flags.forget_completed_slot) {
            *entry = Entry { prepared: entry.prepared.take(), forgotten: true, ..Entry::default() };
        }
        if seq == self.checkpoints.due(self.last_exec()) {
            self.checkpoints.announce(&self.history, cx.cluster().replicas(), Msg::Checkpoint, cx);
        }
        true
    }

    /// The COMMITs that were counted: collected here, or in a proof that somebody else sent.
    fn grounds(&mut self, seq: Slot, proof: &Committed) -> Grounds {
        let (view, voters) = (proof.votes.view, proof.votes.voters());
        let own = self.window.get(seq).map(|entry| &entry.commits);
        match own {
            Some(own) if self.config.flags.commit_ignores_digest => {
                Grounds::votes("commit", view, own.seen())
            }
            Some(own) if voters.is_subset(own.voters(&proof.votes)) => Grounds::votes("commit", view, voters),
            _ => Grounds::certificate("commit", view, voters),
        }
    }

    pub(super) fn apply(&mut self, seq: Slot, request: Option<Request>, grounds: Grounds, cx: &mut Cx<'_>) {
        let result = self.history.execute(seq, request, grounds, cx);
        let (Some(request), Some(result)) = (request, result) else { return };
        let reply = request.reply(self.view, seq, result);
        if self.config.flags.orders_old_requests {
            self.done.insert(request.id(), reply);
            self.clients.executed_beside(&request, reply);
        } else {
            self.clients.executed(&request, reply);
        }
        self.patience.regain();
    }

    // --- sending again, and timers ----------------------------------------------------------------------------

    /// Sends own messages of this view about a number again.
    fn resend(&self, entry: &Entry, cx: &mut Cx<'_>) {
        let Some(m) = entry.pre_prepare.as_ref().filter(|_| self.config.is_persistent()) else { return };
        let primary = cx.leads(self.view);
        cx.to_others(if primary { Msg::PrePrepare(m.clone()) } else { Msg::Prepare(cx.sign(self.vote(m))) });
        if entry.sent_commit {
            cx.to_others(Msg::Commit(cx.sign(self.vote(m))));
        }
    }

    fn resend_slots(&self, cx: &mut Cx<'_>) {
        self.window.above(self.last_exec()).for_each(|entry| self.resend(entry, cx));
    }

    /// Whether something is unanswered.
    fn outstanding(&self) -> bool {
        let open = |e: &Entry| e.pre_prepare.is_some() || !e.hints.is_empty() || !e.commits.seen().is_empty();
        self.frozen
            || !self.clients.pending().is_empty()
            || !self.early.is_empty()
            || self.checkpoints.fetching().is_some()
            || self.checkpoints.due(self.last_exec()) > self.h()
            || self.window.above(self.last_exec()).any(open)
    }

    /// What is missing for the next step: a new view, a history, a vote for the next number, or room for it.
    fn waits(&self, cluster: &Cluster) -> Option<Waiting> {
        let (next, quorum, none) = (self.last_exec().next(), cluster.quorum(), NodeSet::EMPTY);
        if self.frozen {
            let about = About::View(self.target);
            let have: NodeSet = self.view_changes.of(self.target).map(|(voter, _)| voter).collect();
            return Some(match have.len() < quorum {
                true => Waiting { kind: "view-change", about, have, need: quorum },
                false => Waiting { kind: "new-view", about, have: none, need: 1 },
            });
        }
        // Numbers that the window has passed come with the history alone.
        let passed = (next <= self.window.low()).then_some(self.window.low());
        if let Some(seq) = self.checkpoints.fetching().or(passed) {
            return Some(Waiting { kind: "state", about: About::Slot(seq), have: none, need: 1 });
        }
        let idle = self.clients.pending().is_empty();
        let about = About::Slot(next);
        if next > self.window.high() {
            let seq = self.checkpoints.due(self.last_exec());
            let digest = self.history.digest(seq).unwrap_or_default();
            let (about, have) = (About::Slot(seq), self.checkpoints.voters(Checkpoint { seq, digest }));
            return (!idle).then_some(Waiting { kind: "checkpoint", about, have, need: quorum });
        }
        let entry = self.window.above(self.last_exec()).next()?;
        match &entry.pre_prepare {
            None if idle && entry.commits.seen().is_empty() && entry.hints.is_empty() => None,
            None => Some(Waiting { kind: "pre-prepare", about, have: none, need: 1 }),
            // The primary has none to give.
            Some(m) if !entry.sent_commit => {
                let have = entry.prepares.voters(&self.vote(m));
                Some(Waiting { kind: "prepare", about, have, need: quorum - 1 })
            }
            Some(m) => Some(Waiting {
                kind: "commit",
                about,
                have: entry.commits.voters(&self.vote(m)),
                need: quorum,
            }),
        }
    }

    /// The timer rules, after every event: what must run runs, what must not does not.
    fn tend_timers(&mut self, cx: &mut Cx<'_>) {
        if self.config.flags.timer_from_request {
            self.tend_deadlines(cx);
        } else {
            // A backup waits for the oldest pending request. The primary does not suspect itself.
            let view = (!self.frozen).then_some(self.view);
            self.patience.tend(Timer::Request, self.clients.pending(), view, cx);
        }
        if self.config.is_persistent() && !cx.is_armed(Timer::Retransmit) && self.outstanding() {
            cx.set_timer(Timer::Retransmit, self.config.retransmit);
        }
    }
}

impl Replica {
    /// What `timer_from_request` does instead: each REQUEST has a time of its own, and whoever has it may be the primary.
    fn tend_deadlines(&mut self, cx: &mut Cx<'_>) {
        let pending = self.clients.pending();
        self.deadlines.retain(|(id, _)| pending.iter().any(|request| request.id() == *id));
        let first = self.deadlines.iter().map(|&(_, at)| at).min().filter(|_| !self.frozen);
        if first != std::mem::replace(&mut self.alarm, first) {
            match first {
                Some(at) => cx.set_timer(Timer::Request, Time(at.0.saturating_sub(cx.now().0))),
                None => cx.cancel_timer(Timer::Request),
            }
        }
    }
}

impl Node<Pbft> for Replica {
    fn adopt(&mut self, config: &Config, _: &Cluster) -> bool {
        self.config = Self::new(*config).config;
        true
    }

    fn on_message(&mut self, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) {
        match msg {
            Msg::Request(m) => self.on_request(from, m, cx),
            Msg::PrePrepare(m) if m.is_by(from) => self.on_phase(from, msg, cx),
            Msg::Prepare(m) if m.is_by(from) => self.on_phase(from, msg, cx),
            Msg::Commit(m) if m.is_by(from) => self.on_phase(from, msg, cx),
            Msg::Checkpoint(m) if m.is_by(from) => self.on_checkpoint(m, cx),
            Msg::ViewChange(m) if m.is_by(from) => self.on_view_change(from, m, cx),
            Msg::NewView(m) => self.on_new_view(m, cx),
            Msg::QueryView(view) => self.relay_new_view(from, *view, cx),
            Msg::Fetch(m) => self.checkpoints.answer(from, m, &self.history, Msg::State, cx),
            Msg::State(m) => self.on_state(m, cx),
            Msg::SlotFetch(seq) => self.on_slot_fetch(from, *seq, cx),
            Msg::SlotProof(m) => self.on_slot_proof(m, cx),
            _ => {}
        }
        self.tend_timers(cx);
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        match timer {
            Timer::Request => {
                self.patience.lose();
                self.start_view_change(self.view.next(), cx);
            }
            Timer::ViewChange => {
                self.patience.double();
                self.start_view_change(self.target.next(), cx);
            }
            Timer::Retransmit => {
                match self.frozen {
                    true => self.view_changes.resend(Msg::ViewChange, cx),
                    false => self.resend_slots(cx),
                }
                if self.checkpoints.due(self.last_exec()) > self.h() {
                    self.checkpoints.announce(&self.history, cx.others(), Msg::Checkpoint, cx);
                }
                self.checkpoints.ask(&self.history, Msg::Fetch, cx);
                self.fetch_missing_slot(cx);
                self.early.ask(Msg::QueryView(self.view), cx);
            }
            Timer::Client(_) => {}
        }
        self.tend_timers(cx);
    }

    /// The timers are gone, the state is not.
    fn on_restart(&mut self, cx: &mut Cx<'_>) {
        self.patience.stop();
        self.alarm = None;
        self.advance_view_change(cx);
        self.tend_timers(cx);
    }

    fn on_suspect(&mut self, cx: &mut Cx<'_>) {
        self.start_view_change(self.target.next(), cx);
        self.tend_timers(cx);
    }

    fn vitals(&self, cluster: &Cluster) -> Vitals {
        let next = self.window.above(self.last_exec()).next();
        Vitals {
            view: self.view,
            changing_view: self.frozen,
            prepared: next.and_then(|entry| entry.prepared.as_ref()).map(|cert| cert.pre_prepare.digest),
            waiting: self.waits(cluster).into_iter().collect(),
            ..self.history.vitals()
        }
    }

    open_state!();
}
