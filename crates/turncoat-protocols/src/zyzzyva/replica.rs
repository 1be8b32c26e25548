//! A replica: its state, agreement, its timers.

use std::collections::BTreeMap;

use turncoat_core::prelude::*;

use super::log::Log;
use super::messages::{
    Checkpoint, Claim, ConfirmReq, FillHole, FillHoleReply, Ihtp, LocalCommit, Msg, NewView, Order, OrderReq,
    Pom, SpecResponse, Voted,
};
use super::{Config, Cx, Timer, Zyzzyva};

/// Orders that a replica misses, and whom it has asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
struct Hole {
    from: Slot,
    to: Slot,
    asked: Asked,
}

/// The primary, then all, then nobody any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
enum Asked {
    Primary,
    All,
    InVain,
}

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
    hole: Option<Hole>,
    /// The requests that TC runs for: client and t.
    pub(super) watched: BTreeMap<NodeId, u32>,

    /// The answers of this view at checkpoints.
    pub(super) responses: BTreeMap<Slot, Ballots<Claim>>,
    pub(super) checkpoints: BTreeMap<(Slot, View), Ballots<Checkpoint>>,
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
    fn high(&self) -> Slot {
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

    // --- REQUEST, CONFIRM-REQ ---------------------------------------------------------------------------------

    fn on_request(&mut self, request: &Signed<Request>, cx: &mut Cx<'_>) {
        let client = request.client;
        if !self.normal || !request.is_by(client) || request.read_only {
            return;
        }
        match self.clients.last_reply(client) {
            Some((last, _)) if request.ts < *last => {}
            // The same again: the same answer, with the present view; and LOCAL-COMMIT, or it waits for a certificate.
            Some(&(last, seq)) if request.ts == last => {
                self.respond(seq, false, cx);
                match self.covers(seq) {
                    true => self.local_commit(seq, client, cx),
                    false => self.watch(request, cx),
                }
            }
            _ => {
                self.clients.note(request);
                if !cx.leads(self.view) {
                    cx.send(cx.leader(self.view), self.confirm_req(request));
                    self.watch(request, cx);
                }
            }
        }
    }

    fn confirm_req(&self, request: &Signed<Request>) -> Msg {
        Msg::ConfirmReq(ConfirmReq { view: self.view, request: *request, next: self.log.last().next() })
    }

    /// TC runs until a certificate covers the request. The primary does not suspect itself.
    fn watch(&mut self, request: &Request, cx: &mut Cx<'_>) {
        if !cx.leads(self.view) && !self.is_settled(request.client, request.ts) {
            let news = self.watched.insert(request.client, request.ts) != Some(request.ts);
            if news || !cx.is_armed(Timer::Confirm(request.client)) {
                cx.set_timer(Timer::Confirm(request.client), self.config.confirm_timeout);
            }
        }
    }

    /// Whether nobody has to wait for a request any longer.
    fn is_settled(&self, client: NodeId, ts: u32) -> bool {
        let enough = |seq| self.config.flags.tc_stops_at_order || self.covers(seq);
        self.clients.last_reply(client).is_some_and(|&(last, seq)| last > ts || (last == ts && enough(seq)))
    }

    /// What is ordered is shown to who asks; what is not, the primary orders.
    fn on_confirm_req(&mut self, from: NodeId, m: &ConfirmReq, cx: &mut Cx<'_>) {
        let client = m.request.client;
        if !self.normal || m.view != self.view || !m.request.is_by(client) || m.request.read_only {
            return;
        }
        match self.clients.last_reply(client) {
            Some(&(last, seq)) if last >= m.request.ts => {
                let order = self.log.get(seq).filter(|_| last == m.request.ts);
                if let Some(order) = order.and_then(|entry| entry.order.as_ref()) {
                    cx.send(from, Msg::OrderReq(order.clone()));
                }
            }
            _ => self.clients.note(&m.request),
        }
    }

    // --- ORDER-REQ --------------------------------------------------------------------------------------------

    /// The primary orders the requests that wait, as far as the window reaches.
    fn propose(&mut self, cx: &mut Cx<'_>) {
        if !self.normal || self.clients.pending().is_empty() || !cx.leads(self.view) {
            return;
        }
        for request in self.clients.pending().to_vec() {
            if self.log.last() < self.high() {
                let (seq, parent) = (self.log.last().next(), self.log.head());
                let xor = self.config.flags.xor_history;
                let order = OrderReq::new(self.view, seq, parent, Some(request), xor);
                let order = Arc::new(cx.sign(order));
                cx.to_others(Msg::OrderReq(order.clone()));
                self.execute(&order, cx);
            }
        }
    }

    /// A good order waits for its turn. One that contradicts another one accuses the primary.
    fn on_order(&mut self, order: &Order, cx: &mut Cx<'_>) {
        let xor = self.config.flags.xor_history;
        let sound = order.is_by(cx.leader(order.view)) && order.request.is_some() && order.is_sound(xor);
        if order.view != self.view || !sound {
            return;
        }
        let known = self.log.get(order.seq).and_then(|entry| entry.order.as_ref());
        let known = known.or(self.ahead.get(&order.seq));
        if let Some(known) = known.filter(|known| known.contradicts(order)) {
            let pom = Pom { order: order.clone(), other: Some(known.clone()), cert: None };
            return self.accuse(&Arc::new(pom), cx);
        }
        if order.seq > self.high() {
            // Somebody has a later checkpoint, or will have.
            if let Some(checkpoint) = self.announced {
                cx.to_others(Msg::Checkpoint(cx.sign(checkpoint)));
            }
        } else if order.seq > self.log.last() {
            self.ahead.entry(order.seq).or_insert_with(|| order.clone());
        }
    }

    /// Executes what has its turn: the next number, the right history, a request that is newer than the client's last.
    fn execute_ahead(&mut self, cx: &mut Cx<'_>) {
        while let Some((&seq, order)) = self.ahead.first_key_value() {
            let next = self.log.last().next();
            if seq > next {
                return;
            }
            let order = order.clone();
            self.ahead.remove(&seq);
            let fresh = order.request.as_ref().is_some_and(|request| self.clients.is_fresh(request));
            if seq == next && order.parent == self.log.head() && fresh {
                self.execute(&order, cx);
            }
        }
    }

    fn execute(&mut self, order: &Order, cx: &mut Cx<'_>) {
        let seq = order.seq;
        self.log.push(order.request, Some(order.clone()), self.config.flags.xor_history, cx);
        if let Some(request) = &order.request {
            self.clients.executed(request, seq);
        }
        self.respond(seq, true, cx);
    }

    /// SPEC-RESPONSE for a slot, in the present view; at checkpoints to `everybody`.
    pub(super) fn respond(&self, seq: Slot, everybody: bool, cx: &mut Cx<'_>) {
        let Some(entry) = self.log.get(seq) else { return };
        let client = entry.request.as_ref().map(|request| request.client);
        let mut to: NodeSet = client.into_iter().collect();
        if everybody && seq.0 % self.config.checkpoint == 0 {
            to = to.or(cx.cluster().replicas());
        }
        if !to.is_empty() {
            let claim = cx.sign(Claim { view: self.view, seq, history: entry.history });
            let ts = entry.request.as_ref().map_or(0, |request| request.ts);
            let (result, order) = (entry.result, entry.order.clone());
            cx.multicast(to, Msg::SpecResponse(SpecResponse { claim, result, client, ts, order }));
        }
    }

    // --- FILL-HOLE --------------------------------------------------------------------------------------------

    fn on_fill_hole(&self, from: NodeId, m: &FillHole, cx: &mut Cx<'_>) {
        if !self.normal || m.view != self.view {
            return;
        }
        let wanted = self.log.above(Slot(m.from.0.saturating_sub(1))).iter();
        let orders = wanted.filter_map(|entry| entry.order.clone()).take_while(|order| order.seq <= m.to);
        let orders: Vec<Order> = orders.collect();
        if !orders.is_empty() {
            cx.send(from, Msg::FillHoleReply(FillHoleReply { view: self.view, orders }));
        }
    }

    fn ask(&self, hole: Hole, to: NodeSet, cx: &mut Cx<'_>) {
        cx.multicast(to, Msg::FillHole(FillHole { view: self.view, from: hole.from, to: hole.to }));
        cx.set_timer(Timer::FillHole, self.config.fill_hole_timeout);
    }

    /// An order or a certificate is beyond the next slot: asks the primary for what is missing.
    fn tend_hole(&mut self, cx: &mut Cx<'_>) {
        let ordered = self.ahead.keys().next_back().copied();
        let to = self.commits.iter().map(|(_, cert)| cert.seq).max().max(ordered);
        let Some(to) = to.filter(|_| self.normal) else {
            if self.hole.take().is_some() {
                cx.cancel_timer(Timer::FillHole);
            }
            return;
        };
        let from = self.log.last().next();
        let asked = |hole: Hole| hole.from == from && (hole.to == to || hole.asked != Asked::InVain);
        if !self.hole.is_some_and(asked) {
            cx.mark("fill-hole");
            let hole = Hole { from, to, asked: Asked::Primary };
            self.hole = Some(hole);
            self.ask(hole, NodeSet::one(cx.leader(self.view)).without(NodeSet::one(cx.me())), cx);
        }
    }

    /// TF1: asks all. TF2: hates the primary.
    fn on_fill_hole_timeout(&mut self, cx: &mut Cx<'_>) {
        let Some(hole) = &mut self.hole else { return };
        match hole.asked {
            Asked::Primary => {
                hole.asked = Asked::All;
                let hole = *hole;
                self.ask(hole, cx.others(), cx);
            }
            Asked::All => {
                hole.asked = Asked::InVain;
                self.hate(cx);
            }
            Asked::InVain => {}
        }
    }

    // --- COMMIT -----------------------------------------------------------------------------------------------

    fn on_commit(&mut self, client: NodeId, cert: &Cert<Claim>, cx: &mut Cx<'_>) {
        if !self.normal || !cx.cluster().has_quorum(cert.voters()) {
            return;
        }
        if cert.view == self.view && cert.seq > self.log.last() {
            let kept = (client, cert.clone());
            if !self.commits.contains(&kept) {
                self.commits.push(kept);
            }
        } else {
            self.settle(client, cert, cx);
        }
    }

    /// COMMITs whose slot is here by now.
    fn settle_commits(&mut self, cx: &mut Cx<'_>) {
        let last = self.log.last();
        let mut kept = std::mem::take(&mut self.commits);
        kept.retain(|(client, cert)| {
            let waits = cert.seq > last;
            if !waits {
                self.settle(*client, cert, cx);
            }
            waits
        });
        self.commits = kept;
    }

    /// Keeps a certificate of this view, and answers one that it keeps, or has kept. A certificate of an older view
    /// accuses nobody.
    fn settle(&mut self, client: NodeId, cert: &Cert<Claim>, cx: &mut Cx<'_>) {
        let flags = self.config.flags;
        if self.log.history(cert.seq) == Some(cert.history) {
            if cert.view == self.view {
                self.raise(cert.clone());
            }
            if flags.commit_on_cc {
                self.log.commit(cert.seq, cert.voters(), cx);
            }
            if self.covers(cert.seq) || flags.local_commit_unguarded {
                self.local_commit(cert.seq, client, cx);
            }
        } else if cert.view == self.view && !flags.no_pom_from_cc {
            let order = self.log.get(cert.seq).and_then(|entry| entry.order.clone());
            if let Some(order) = order {
                self.accuse(&Arc::new(Pom { order, other: None, cert: Some(cert.clone()) }), cx);
            }
        }
    }

    /// maxCC := max by (view, n).
    pub(super) fn raise(&mut self, cert: Cert<Claim>) {
        let by_view = !self.config.flags.cc_highest_n;
        let rank = |cert: &Cert<Claim>| (cert.view.0 * u32::from(by_view), cert.seq);
        if self.max_cc.as_ref().is_none_or(|known| rank(known) < rank(&cert)) {
            self.max_cc = Some(cert);
        }
    }

    fn local_commit(&self, seq: Slot, client: NodeId, cx: &mut Cx<'_>) {
        let Some(entry) = self.log.get(seq) else { return };
        let digest = entry.request.as_ref().map_or(Digest::NULL, |request| request.digest());
        let commit = LocalCommit { view: self.view, seq, digest, history: entry.history };
        cx.send(client, Msg::LocalCommit(cx.sign(commit)));
    }

    // --- POM --------------------------------------------------------------------------------------------------

    /// A proof against the primary of this view: hates it, and tells all once.
    fn accuse(&mut self, pom: &Arc<Pom>, cx: &mut Cx<'_>) {
        if self.accused < self.view {
            self.accused = self.view;
            cx.mark("pom");
            cx.to_others(Msg::Pom(pom.clone()));
            self.hate(cx);
        }
    }

    fn on_pom(&mut self, pom: &Arc<Pom>, cx: &mut Cx<'_>) {
        let (order, leader, xor) = (&pom.order, cx.leader(self.view), self.config.flags.xor_history);
        let genuine = |order: &Order| order.view == self.view && order.is_by(leader) && order.is_sound(xor);
        let against = |cert: &Cert<Claim>| {
            let place = (cert.view, cert.seq) == (order.view, order.seq);
            place && cert.history != order.history && cx.cluster().has_quorum(cert.voters())
        };
        let by_order = pom.other.as_ref().is_some_and(|other| genuine(other) && other.contradicts(order));
        let by_cert = pom.cert.as_ref().is_some_and(against) && !self.config.flags.no_pom_from_cc;
        if self.normal && genuine(order) && (by_order || by_cert) {
            self.accuse(pom, cx);
        }
    }

    // --- all rules --------------------------------------------------------------------------------------------

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
            Msg::Fetch(seq) => self.on_fetch(from, *seq, cx),
            Msg::State(m) => self.on_state(m, cx),
            Msg::Ihtp(m) if m.is_by(from) => self.on_ihtp(m),
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
            cx.cancel_timer(Timer::Confirm(client));
        }
    }

    /// TC: hates the primary, and looks for the request elsewhere.
    fn on_confirm_timeout(&mut self, client: NodeId, cx: &mut Cx<'_>) {
        self.watched.remove(&client);
        if self.normal {
            self.hate(cx);
            let waits = self.clients.pending().iter().find(|request| request.client == client);
            if let Some(request) = waits.copied() {
                cx.to_others(self.confirm_req(&request));
            }
        }
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
    fn on_message(&mut self, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) {
        self.handle(from, msg, cx);
        self.advance(cx);
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        match timer {
            Timer::Confirm(client) => self.on_confirm_timeout(client, cx),
            Timer::FillHole => self.on_fill_hole_timeout(cx),
            Timer::NewView => self.hate(cx),
            Timer::Client(_) | Timer::LocalCommit(_) => {}
        }
        self.advance(cx);
    }

    /// The timers are gone, the state is not.
    fn on_restart(&mut self, cx: &mut Cx<'_>) {
        self.hole = None;
        for &client in self.watched.keys() {
            cx.set_timer(Timer::Confirm(client), self.config.confirm_timeout);
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
