//! A replica: its state, its rules, its timers.

use std::collections::BTreeMap;

use turncoat_core::prelude::*;

use super::log::Log;
use super::messages::{Checkpoint, Claim, Ihtp, Msg, NewView, Order, Voted};
use super::order::{Asked, Hole};
use super::{Config, Cx, Timer, Zyzzyva};

/// A replica of Zyzzyva.
#[derive(Clone, Default, Debug, Hash, Serialize)]
pub struct Replica {
    pub(super) config: Config,
    /// The view that it is in, or that it waits for.
    pub(super) view: View,
    /// Whether it is in the view: status NORMAL, not VIEW_CHANGE.
    pub(super) normal: bool,
    /// The last view that it was in.
    pub(super) entered: View,
    pub(super) log: Log,
    /// Of each client the last request executed, by its slot, and the newest one that waits.
    pub(super) clients: Clients<Slot>,
    /// The highest certificate by view and number; a prefix of the log.
    pub(super) max_cc: Option<Cert<Claim>>,
    /// Orders of this view beyond the next slot.
    pub(super) ahead: BTreeMap<Slot, Order>,
    /// COMMITs of this view beyond the log, with their clients.
    pub(super) commits: Vec<(NodeId, Cert<Claim>)>,
    pub(super) hole: Option<Hole>,
    /// The requests that TC runs for: client and t.
    pub(super) watched: BTreeMap<NodeId, u32>,
    /// In how many views in a row it ran out.
    pub(super) late: u32,

    /// The answers of this view at checkpoints.
    pub(super) responses: BTreeMap<Slot, Ballots<Claim>>,
    /// CHECKPOINTs above the stable one.
    pub(super) checkpoints: Vec<Ballots<Checkpoint>>,
    /// The last CHECKPOINT sent.
    pub(super) announced: Option<Checkpoint>,
    pub(super) stable: Option<Cert<Checkpoint>>,
    /// A stable checkpoint that the log does not have.
    pub(super) fetching: Option<Cert<Checkpoint>>,

    /// IHTPs for this view and later ones.
    pub(super) hates: BTreeMap<View, Vec<Signed<Ihtp>>>,
    /// The last view that this replica hates.
    pub(super) hated: View,
    /// The last view with a proof of misbehaviour.
    pub(super) accused: View,
    pub(super) view_changes: ViewVotes<Voted>,
    /// The NEW-VIEW of this view, and perhaps another one.
    pub(super) new_views: Vec<Arc<Signed<NewView>>>,
    pub(super) confirms: BTreeMap<View, Ballots<Claim>>,
    /// The own one for this view.
    pub(super) confirmed: Option<Signed<Claim>>,
    /// Messages of views that this replica is not in yet.
    pub(super) early: Early<Msg>,
}

impl Replica {
    pub(super) fn new(config: Config) -> Self {
        Self { config, view: View(1), entered: View(1), normal: true, ..Self::default() }
    }

    /// s: the last stable checkpoint.
    pub(super) fn s(&self) -> Slot {
        self.stable.as_ref().map_or(Slot(0), |proof| proof.seq)
    }

    /// The last number that may be ordered now.
    pub(super) fn high(&self) -> Slot {
        Slot(self.s().0 + 2 * self.config.checkpoint)
    }

    /// Whether a certificate covers a slot, or a stable checkpoint does.
    pub(super) fn covers(&self, seq: Slot) -> bool {
        seq <= self.s() || self.max_cc.as_ref().is_some_and(|cert| seq <= cert.seq)
    }

    /// Whether messages of a view have to wait until this replica is in it.
    const fn is_early(&self, view: View) -> bool {
        view.0 > self.view.0 || (view.0 == self.view.0 && !self.normal)
    }

    /// Messages of a view that this replica is not in yet are kept; all others are facts to be recorded.
    pub(super) fn handle(&mut self, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) {
        let of_view = match msg {
            Msg::OrderReq(m) => m.view,
            Msg::FillHoleReply(m) => m.view,
            Msg::Commit(m) => m.view,
            Msg::SpecResponse(m) => m.claim.view,
            Msg::Pom(m) => m.order.view,
            _ => View(0),
        };
        if self.is_early(of_view) {
            self.notice_later_view(msg, cx);
            return self.early.keep(from, msg);
        }
        match msg {
            Msg::Request(m) => self.on_request(m, cx),
            Msg::OrderReq(m) => self.on_order(m, cx),
            Msg::SpecResponse(m) if m.claim.is_by(from) => self.on_response(&m.claim),
            Msg::Commit(m) => self.on_commit(from, m, cx),
            Msg::ConfirmReq(m) => self.on_confirm_req(from, m, cx),
            Msg::FillHole(m) => self.on_fill_hole(from, m, cx),
            Msg::FillHoleReply(m) => m.orders.iter().for_each(|order| self.on_order(order, cx)),
            Msg::Pom(m) => self.on_pom(m, cx),
            Msg::Checkpoint(m) if m.is_by(from) => self.on_checkpoint(m),
            Msg::Stable(m) => self.on_stable(m, cx),
            Msg::Fetch(seq) => self.on_fetch(from, *seq, cx),
            Msg::State(m) => self.on_state(m, cx),
            Msg::Ihtp(m) if m.is_by(from) => {
                self.help(from, m.view, cx);
                self.on_ihtp(m);
            }
            Msg::ViewChange(m) if m.is_by(from) => self.on_view_change(m, cx),
            Msg::NewView(m) => self.on_new_view(m, cx),
            Msg::ViewConfirm(m) if m.is_by(from) => self.on_view_confirm(m),
            _ => {}
        }
    }

    /// Every rule whose guard now holds, after every event.
    fn advance(&mut self, cx: &mut Cx<'_>) {
        self.advance_stable(cx);
        if self.advance_view_change(cx) {
            for (from, msg) in self.early.take() {
                self.handle(from, &msg, cx);
            }
        }
        self.execute_ahead(cx);
        self.settle_commits(cx);
        self.advance_checkpoints(cx);
        self.propose(cx);
        self.tend_hole(cx);
        // TC stops when a certificate covers the request.
        while let Some((&client, _)) = self.watched.iter().find(|&(&client, &ts)| self.is_settled(client, ts))
        {
            self.watched.remove(&client);
            self.late = 0;
            cx.cancel_timer(Timer::Confirm(client));
        }
        if self.outstanding() {
            cx.start_timer(Timer::Retransmit, self.config.retransmit);
        }
    }

    /// The slot of the last checkpoint that was due.
    fn due(&self) -> Slot {
        Slot(self.log.last().0 / self.config.checkpoint * self.config.checkpoint)
    }

    /// Whether something is unanswered.
    fn outstanding(&self) -> bool {
        let in_vain = self.hole.is_some_and(|hole| hole.asked == Asked::InVain);
        !self.normal || self.fetching.is_some() || self.due() > self.s() || in_vain
    }

    fn send_again(&mut self, cx: &mut Cx<'_>) {
        if let Some(proof) = &self.fetching {
            cx.to_others(Msg::Fetch(proof.seq));
        }
        if !self.normal {
            if self.hated == self.view {
                self.hate(cx);
            }
            self.view_changes.resend(Msg::ViewChange, cx);
            return self.show_view(cx.others(), cx);
        }
        if self.due() > self.s() {
            self.respond(self.due(), true, cx);
        }
        if let Some(checkpoint) = self.announced.filter(|checkpoint| checkpoint.seq > self.s()) {
            cx.to_others(Msg::Checkpoint(cx.sign(checkpoint)));
        }
        // Somebody may have the missing orders by now.
        self.hole.take_if(|hole| hole.asked == Asked::InVain);
    }

    /// What was executed is other than before: so is what clients were told.
    pub(super) fn rebuild_clients(&mut self) {
        self.clients.retain_replies(|_| false);
        for (seq, entry) in (1..).map(Slot).zip(self.log.above(Slot(0))) {
            if let Some(request) = &entry.request {
                self.clients.executed(request, seq);
            }
        }
    }

    /// The view ends: nothing of it is waited for any longer.
    pub(super) fn forget_view(&mut self, cx: &mut Cx<'_>) {
        self.ahead.clear();
        self.commits.clear();
        self.responses.clear();
        self.hole = None;
        for client in std::mem::take(&mut self.watched).into_keys() {
            cx.cancel_timer(Timer::Confirm(client));
        }
        cx.cancel_timer(Timer::FillHole);
        cx.cancel_timer(Timer::NewView);
    }

    /// What is missing for the next step: a history, a new view, a certificate for a request that is late, or its order.
    fn waits(&self, cluster: &Cluster) -> Option<Waiting> {
        let (quorum, none) = (cluster.quorum(), NodeSet::EMPTY);
        if let Some(proof) = &self.fetching {
            return Some(Waiting { kind: "state", about: About::Slot(proof.seq), have: none, need: 1 });
        }
        if !self.normal {
            return Some(self.waits_for_view(quorum));
        }
        let (&client, &ts) = self.watched.iter().next()?;
        let executed = self.clients.last_reply(client).filter(|(last, _)| *last >= ts);
        let (kind, seq) = match executed {
            Some(&(_, seq)) => ("commit", seq),
            None => ("order-req", self.log.last().next()),
        };
        Some(Waiting { kind, about: About::Slot(seq), have: none, need: 1 })
    }
}

impl Node<Zyzzyva> for Replica {
    fn adopt(&mut self, config: &Config, _: &Cluster) -> bool {
        self.config = *config;
        true
    }

    fn on_message(&mut self, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) {
        self.handle(from, msg, cx);
        self.advance(cx);
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        match timer {
            Timer::Confirm(client) => self.on_confirm_timeout(client, cx),
            Timer::FillHole => self.on_fill_hole_timeout(cx),
            Timer::NewView => self.hate(cx),
            Timer::Retransmit => self.send_again(cx),
            Timer::Client(_) | Timer::LocalCommit(_) => {}
        }
        self.advance(cx);
    }

    /// The timers are gone, the state is not.
    fn on_restart(&mut self, cx: &mut Cx<'_>) {
        self.hole = None;
        for &client in self.watched.keys() {
            cx.set_timer(Timer::Confirm(client), self.tc());
        }
        self.advance(cx);
    }

    fn on_suspect(&mut self, cx: &mut Cx<'_>) {
        self.hate(cx);
        self.advance(cx);
    }

    /// What is decided is final. Executed is more than that: speculation.
    fn vitals(&self, cluster: &Cluster) -> Vitals {
        let last = self.log.get(self.log.last()).and_then(|entry| entry.request.as_ref());
        Vitals {
            view: self.view,
            changing_view: !self.normal,
            locked: self.max_cc.as_ref().map(|cert| cert.history),
            executed: last.map(|request| request.digest()),
            decided: self.log.committed(),
            waiting: self.waits(cluster).into_iter().collect(),
            ..Vitals::default()
        }
    }

    open_state!();
}
