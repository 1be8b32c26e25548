//! A replica: its state, requests and agreement (R1, R2, R9), its timers (R5).

use std::collections::BTreeMap;

use turncoat_core::prelude::*;

use super::messages::{
    Accepted, Cer1, Cer2, Checkpoint, Commit, Msg, Prepare, Reply, Value, Voted, digest, is_genuine,
};
use super::{Config, Cx, Hbft, Timer};
use crate::slips::slip;

/// What was said about one slot in one view.
#[derive(Clone, Default, Debug, Hash, Serialize)]
pub(super) struct Facts {
    /// What the primary proposes; a CHECKPOINT-I proposes too.
    pub(super) proposal: Option<Value>,
    /// Its PREPARE (`almost-mac`).
    prepare: Option<Arc<Signed<Prepare>>>,
    pub(super) commits: Votes<Value>,
}

/// A replica of hBFT.
#[derive(Clone, Default, Debug, Hash, Serialize)]
pub struct Replica {
    pub(super) config: Config,
    pub(super) view: View,
    /// The latest view that it has voted for, or is in.
    pub(super) vote: View,
    /// Whether it waits for a new view, and takes part in none.
    pub(super) changing: bool,
    /// Whether it waits for a checkpoint alone (`panic_first`).
    pub(super) panicked: bool,
    /// The last stable checkpoint, with its proof; none at first.
    pub(super) stable: Option<Cer2>,
    /// P: the greatest CER1, by view and number.
    pub(super) certified: Option<Cer1>,
    /// The view in which it was formed.
    pub(super) certified_in: View,
    /// What it has accepted above the stable checkpoint.
    pub(super) spec: BTreeMap<Slot, Accepted>,
    /// The last slot up to which it has accepted all.
    pub(super) seq: Slot,
    /// What it has committed. Only output.
    pub(super) log: BTreeMap<Slot, Value>,
    /// Where it has committed which request, by client and number. Never forgotten.
    done: BTreeMap<NodeId, BTreeMap<u32, Slot>>,
    /// By view, this one and later ones, and by slot.
    pub(super) facts: BTreeMap<View, BTreeMap<Slot, Facts>>,
    pub(super) rounds: BTreeMap<View, BTreeMap<Slot, super::checkpoint::Round>>,
    /// The CHECKPOINT-I accepted last in this view; the NEW-VIEW is one.
    pub(super) checkpoint: Option<Checkpoint<'1'>>,
    /// The last slot of this view's NEW-VIEW.
    pub(super) adopted: Slot,
    pub(super) view_changes: ViewVotes<Voted>,
    pub(super) panics: NodeSet,
    /// The requests and checkpoints that timers run for.
    waiting: Vec<(NodeId, u32)>,
    pub(super) due: Vec<Slot>,
}

impl Replica {
    pub(super) fn new(config: Config) -> Self {
        Self { config, view: View(1), vote: View(1), ..Self::default() }
    }

    /// The last slot of the stable checkpoint.
    pub(super) fn low(&self) -> Slot {
        self.stable.as_ref().map_or(Slot(0), |stable| stable.seq)
    }

    /// Whether it takes part in its view.
    pub(super) const fn takes_part(&self) -> bool {
        !self.changing && !self.panicked
    }

    /// Whether facts about this slot of this view are worth keeping.
    fn concerns(&self, view: View, seq: Slot) -> bool {
        let ahead =
            seq.0.checked_sub(self.low().0).is_some_and(|ahead| (1..=self.config.window).contains(&ahead));
        let now = view == self.view && !self.changing;
        view >= self.view && ahead && (now || !self.config.flags.early_dropped)
    }

    /// Where a request stands: accepted, or committed.
    pub(super) fn place(&self, request: &Request) -> Option<Slot> {
        let same = |accepted: &&Accepted| accepted.request.is_some_and(|other| other.id() == request.id());
        let accepted = self.spec.values().find(same).map(|accepted| accepted.seq);
        accepted.or_else(|| self.committed(request))
    }

    /// Where a request is committed.
    pub(super) fn committed(&self, request: &Request) -> Option<Slot> {
        self.done.get(&request.client)?.get(&request.ts).copied()
    }

    // --- REQUEST (R9) -----------------------------------------------------------------------------------------

    /// Committed: the final reply. Accepted: the reply of this view. Else the primary proposes it, the others pass it on.
    pub(super) fn on_request(&mut self, from: NodeId, request: &Signed<Request>, cx: &mut Cx<'_>) {
        if !request.is_by(request.client) {
            return;
        }
        if let Some(seq) = self.committed(request) {
            return self.reply(request, seq, cx);
        }
        if !self.takes_part() {
            return;
        }
        if let Some(seq) = self.place(request) {
            self.reply(request, seq, cx);
        } else if cx.leads(self.view) {
            self.assign(request, cx);
        } else if from == request.client {
            cx.send(cx.leader(self.view), Msg::Request(*request));
        }
        if self.committed(request).is_none() && self.takes_part() && !self.waiting.contains(&request.id()) {
            self.waiting.push(request.id());
            cx.set_timer(Timer::Request(request.client, request.ts), self.config.request_timeout);
        }
    }

    fn assign(&mut self, request: &Signed<Request>, cx: &mut Cx<'_>) {
        let (view, seq) = (self.view, self.seq.next());
        if self.concerns(view, seq) {
            let m = Arc::new(cx.sign(Prepare { view, seq, digest: request.digest(), request: *request }));
            cx.to_others(Msg::Prepare(m.clone()));
            self.propose(&m);
            self.advance(cx);
        }
    }

    pub(super) fn reply(&self, request: &Request, seq: Slot, cx: &mut Cx<'_>) {
        let is_final = self.committed(request).is_some() && !self.config.flags.no_final_replies;
        let Request { client, ts, .. } = *request;
        let result = match self.config.reply_history {
            true => self
                .slots()
                .take_while(|placed| placed.seq <= seq)
                .fold(0, |result, placed| Digest::of(&(result, placed.seq, digest(&placed.request))).0),
            false => request.digest().0,
        };
        let reply = Reply { view: self.view, ts, seq, client, result, is_final };
        cx.send(client, Msg::Reply(cx.sign(reply)));
    }

    // --- PREPARE, COMMIT (R1, R2) -----------------------------------------------------------------------------

    fn on_prepare(&mut self, m: &Arc<Signed<Prepare>>, cx: &mut Cx<'_>) {
        let early = m.seq != self.seq.next() || !self.takes_part();
        if self.is_proposal(m, cx) && !(early && self.config.flags.early_dropped) {
            self.propose(m);
            self.advance(cx);
        }
    }

    /// A PREPARE of its view's primary.
    fn is_proposal(&self, m: &Signed<Prepare>, cx: &Cx<'_>) -> bool {
        m.is_by(cx.leader(m.view))
            && m.digest == m.request.digest()
            && m.request.is_by(m.request.client)
            && self.concerns(m.view, m.seq)
    }

    /// The first proposal for a slot counts.
    fn propose(&mut self, m: &Arc<Signed<Prepare>>) {
        let facts = self.facts.entry(m.view).or_default().entry(m.seq).or_default();
        if facts.proposal.is_none() {
            facts.proposal = Some(Some(m.request));
            facts.prepare = self.config.almost_mac.then(|| m.clone());
        }
    }

    fn on_commit(&mut self, from: NodeId, m: &Commit, cx: &mut Cx<'_>) {
        let outside = from != cx.me() && m.seq != self.seq && m.seq != self.seq.next();
        let genuine = m.digest == digest(&m.request) && is_genuine(&m.request);
        if !genuine || !self.concerns(m.view, m.seq) || (outside && self.config.flags.paper_commit_window) {
            return;
        }
        if self.config.almost_mac
            && let Some(prepare) = m.prepare.as_ref().filter(|p| (p.view, p.seq) == (m.view, m.seq))
            && self.is_proposal(prepare, cx)
        {
            self.propose(prepare);
        }
        self.facts.entry(m.view).or_default().entry(m.seq).or_default().commits.add(from, m.request);
        self.advance(cx);
        if m.view == self.view {
            self.judge(m.seq, m.prepare.as_deref(), cx);
        }
    }

    /// R1: a slot is accepted only as the next one, and only by who takes part: the primary's first proposal, or what
    /// f+1 COMMITs say.
    pub(super) fn advance(&mut self, cx: &mut Cx<'_>) {
        while self.takes_part() {
            let next = self.seq.next();
            let Some(facts) = self.facts.get(&self.view).and_then(|facts| facts.get(&next)) else { break };
            let vouched = facts.commits.winner(cx.cluster().weak()).map(|(value, _)| *value);
            let Some(value) = facts.proposal.or(vouched) else { break };
            if facts.proposal.is_none() {
                cx.mark("adopt-commits");
            }
            if !self.accept(next, value, cx) {
                break;
            }
        }
        if self.config.flags.checkpoint_over_hole {
            self.accept_over_hole(cx);
        }
    }

    /// What `checkpoint_over_hole` does besides.
    fn accept_over_hole(&mut self, cx: &mut Cx<'_>) {
        let Some(facts) = self.facts.get(&self.view).filter(|_| self.takes_part()) else { return };
        let vouched = facts.iter().filter_map(|(&seq, facts)| {
            let (value, _) = facts.commits.winner(cx.cluster().weak())?;
            (seq > self.seq && !self.spec.contains_key(&seq)).then_some((seq, *value))
        });
        for (seq, value) in vouched.collect::<Vec<_>>() {
            self.accept(seq, value, cx);
        }
    }

    /// Accepts a value, speculatively: replies, and sends COMMIT. A request that stands elsewhere is a primary's lie.
    /// Says whether it was accepted.
    pub(super) fn accept(&mut self, seq: Slot, request: Value, cx: &mut Cx<'_>) -> bool {
        if !self.takes_part() {
            return false;
        }
        if request.is_some_and(|request| self.place(&request).is_some_and(|other| other != seq)) {
            self.start_view_change(self.view.next(), cx);
            return false;
        }
        self.spec.insert(seq, Accepted { seq, request, view: self.view });
        self.raise_seq();
        self.confirm(seq, request, cx);
        if seq.0.is_multiple_of(self.config.checkpoint) && !self.config.flags.commit_log {
            self.checkpoint_is_due(seq, cx);
        }
        true
    }

    /// Replies, and sends COMMIT.
    pub(super) fn confirm(&mut self, seq: Slot, request: Value, cx: &mut Cx<'_>) {
        if let Some(request) = &request {
            self.reply(request, seq, cx);
        }
        let facts = self.facts.get(&self.view).and_then(|facts| facts.get(&seq));
        let prepare = facts.and_then(|facts| facts.prepare.clone());
        let commit = Commit { view: self.view, seq, digest: digest(&request), request, prepare };
        cx.broadcast(Msg::Commit(cx.sign(commit)));
    }

    /// `seq` is the end of the run without gaps that starts with the stable checkpoint.
    pub(super) fn raise_seq(&mut self) {
        let mut seq = self.low();
        while self.spec.contains_key(&seq.next()) {
            seq = seq.next();
        }
        self.seq = seq;
    }

    /// R2: `fast` COMMITs equal in (v,n,m), of what was accepted, commit. f+1 that contradict it show that the primary
    /// lies; so does one, if it comes with the primary's PREPARE.
    fn judge(&mut self, seq: Slot, prepare: Option<&Signed<Prepare>>, cx: &mut Cx<'_>) {
        let Some(accepted) = self.spec.get(&seq).filter(|own| own.view == self.view && self.takes_part())
        else {
            return;
        };
        let Some(facts) = self.facts.get(&self.view).and_then(|facts| facts.get(&seq)) else { return };
        let (value, voters) = (accepted.request, facts.commits.voters(&accepted.request));
        let against = facts.commits.seen().without(voters);
        let other = prepare.filter(|m| m.seq == seq && self.is_proposal(m, cx) && value != Some(m.request));
        let lie = self.config.almost_mac && other.is_some();
        let counted = if slip!("hbft/commits-of-any-value") { facts.commits.seen() } else { voters };
        if counted.len() >= self.config.fast(cx.cluster()) {
            self.commit(seq, value, Grounds::votes("commit", self.view, voters).by_own_rule(), cx);
        }
        if against.len() >= cx.cluster().weak() || lie {
            self.start_view_change(self.view.next(), cx);
        }
    }

    /// Commits a slot, and tells the client. What is committed already is not touched, unless it is another value.
    pub(super) fn commit(&mut self, seq: Slot, request: Value, grounds: Grounds, cx: &mut Cx<'_>) {
        let known = self.log.get(&seq);
        if known == Some(&request) || (known.is_some() && self.config.flags.commit_log) {
            return;
        }
        self.log.insert(seq, request);
        if request.is_some() || self.config.log_nulls {
            let requests = request.as_deref().copied();
            cx.commit(seq, digest(&request), requests.as_slice(), grounds);
        }
        if let Some(request) = &request {
            self.done.entry(request.client).or_default().insert(request.ts, seq);
            self.waiting.retain(|&id| id != request.id());
            cx.cancel_timer(Timer::Request(request.client, request.ts));
            self.reply(request, seq, cx);
        }
        if self.config.flags.commit_log && seq.0.is_multiple_of(self.config.checkpoint) && self.takes_part() {
            self.checkpoint_is_due(seq, cx);
        }
    }

    // --- timers (R5) ------------------------------------------------------------------------------------------

    /// Who sends a VIEW-CHANGE, or enters a view, waits for nothing else.
    pub(super) fn clear_timers(&mut self, cx: &mut Cx<'_>) {
        for (client, ts) in std::mem::take(&mut self.waiting) {
            cx.cancel_timer(Timer::Request(client, ts));
        }
        self.await_no_checkpoint(cx);
        cx.cancel_timer(Timer::Panic);
        cx.cancel_timer(Timer::ViewChange);
    }

    /// No checkpoint is waited for any more.
    pub(super) fn await_no_checkpoint(&mut self, cx: &mut Cx<'_>) {
        for seq in std::mem::take(&mut self.due) {
            cx.cancel_timer(Timer::Checkpoint(seq));
        }
    }

    /// Waits for a checkpoint until it is stable. The primary does too: it may be the only one who knows that it is not.
    pub(super) fn await_checkpoint(&mut self, seq: Slot, cx: &mut Cx<'_>) {
        let waits = !cx.leads(self.view) || !self.config.flags.primary_never_waits;
        if seq > self.low() && waits && !self.due.contains(&seq) {
            self.due.push(seq);
            cx.set_timer(Timer::Checkpoint(seq), self.config.checkpoint_timeout);
        }
    }

    /// What is missing for the next step.
    fn waits(&self, cluster: &Cluster) -> Option<Waiting> {
        let quorum = self.config.quorum(cluster);
        if self.changing {
            let about = About::View(self.vote);
            let have: NodeSet = self.view_changes.of(self.vote).map(|(voter, _)| voter).collect();
            return Some(match have.len() < quorum {
                true => Waiting { kind: "view-change", about, have, need: quorum },
                false => Waiting { kind: "new-view", about, have: NodeSet::EMPTY, need: 1 },
            });
        }
        let open = self.spec.values().find(|own| !self.log.contains_key(&own.seq));
        if let Some(own) = open {
            let facts = self.facts.get(&self.view).and_then(|facts| facts.get(&own.seq));
            let have = facts.map_or(NodeSet::EMPTY, |facts| facts.commits.voters(&own.request));
            let need = self.config.fast(cluster);
            return Some(Waiting { kind: "commit", about: About::Slot(own.seq), have, need });
        }
        let about = About::Slot(self.seq.next());
        (!self.waiting.is_empty()).then_some(Waiting {
            kind: "prepare",
            about,
            have: NodeSet::EMPTY,
            need: 1,
        })
    }
}

impl Node<Hbft> for Replica {
    fn adopt(&mut self, config: &Config, _: &Cluster) -> bool {
        self.config = *config;
        true
    }

    fn on_message(&mut self, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) {
        match msg {
            Msg::Request(m) => self.on_request(from, m, cx),
            Msg::Prepare(m) if m.is_by(from) => self.on_prepare(m, cx),
            Msg::Commit(m) if m.is_by(from) => self.on_commit(from, m, cx),
            Msg::Panic(m) if m.is_by(from) => self.on_panic(from, m, cx),
            Msg::CheckpointI(m) if m.is_by(from) => self.on_checkpoint_i(m, cx),
            Msg::CheckpointIi(m) if m.is_by(from) => self.on_checkpoint_ii(m, cx),
            Msg::CheckpointIii(m) if m.is_by(from) => self.on_checkpoint_iii(m, cx),
            Msg::ViewChange(m) if m.is_by(from) => self.on_view_change(from, m, cx),
            Msg::NewView(m) if m.is_by(from) => self.on_new_view(m, cx),
            _ => {}
        }
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        match timer {
            Timer::Request(client, ts) => self.waiting.retain(|&id| id != (client, ts)),
            Timer::Checkpoint(seq) => self.due.retain(|&other| other != seq),
            Timer::Panic | Timer::ViewChange | Timer::Client(_) => {}
        }
        let after = if timer == Timer::ViewChange { self.vote } else { self.view };
        self.start_view_change(after.next(), cx);
    }

    /// The timers are gone, the state is not.
    fn on_restart(&mut self, cx: &mut Cx<'_>) {
        for &(client, ts) in &self.waiting {
            cx.set_timer(Timer::Request(client, ts), self.config.request_timeout);
        }
        for &seq in &self.due {
            cx.set_timer(Timer::Checkpoint(seq), self.config.checkpoint_timeout);
        }
        self.advance_view_change(cx);
    }

    fn on_suspect(&mut self, cx: &mut Cx<'_>) {
        self.start_view_change(self.vote.next(), cx);
    }

    fn vitals(&self, cluster: &Cluster) -> Vitals {
        let last = self.log.last_key_value();
        Vitals {
            view: self.view,
            changing_view: self.changing,
            prepared: self.spec.values().next_back().map(|own| digest(&own.request)),
            executed: last.map(|(_, value)| digest(value)),
            decided: last.map_or(Slot(0), |(&seq, _)| seq),
            waiting: self.waits(cluster).into_iter().collect(),
            ..Vitals::default()
        }
    }

    open_state!();
}
