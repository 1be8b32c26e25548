//! How requests are ordered and executed: REQUEST, CONFIRM-REQ, ORDER-REQ, SPEC-RESPONSE, FILL-HOLE.

use turncoat_core::prelude::*;

use super::messages::{Claim, ConfirmReq, FillHole, FillHoleReply, Msg, Order, OrderReq, Pom, SpecResponse};
use super::replica::Replica;
use super::{Cx, DOUBLINGS, Timer};

/// Orders that a replica misses, and whom it has asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub(super) struct Hole {
    from: Slot,
    to: Slot,
    pub(super) asked: Asked,
}

/// The primary, then all, then nobody any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub(super) enum Asked {
    Primary,
    All,
    InVain,
}

impl Replica {
    pub(super) fn on_request(&mut self, request: &Signed<Request>, cx: &mut Cx<'_>) {
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

    pub(super) fn confirm_req(&self, request: &Signed<Request>) -> Msg {
        let (view, next, s) = (self.view, self.log.last().next(), self.s());
        Msg::ConfirmReq(ConfirmReq { view, request: *request, next, s })
    }

    /// TC runs until a certificate covers the request. The primary does not suspect itself.
    fn watch(&mut self, request: &Request, cx: &mut Cx<'_>) {
        if !cx.leads(self.view) && !self.is_settled(request.client, request.ts) {
            let news = self.watched.insert(request.client, request.ts) != Some(request.ts);
            if news || !cx.is_armed(Timer::Confirm(request.client)) {
                cx.set_timer(Timer::Confirm(request.client), self.tc());
            }
        }
    }

    /// TC, which doubles with each view in which it runs out, until a request is settled: who does not know how slow the
    /// network is would else leave every view too early.
    pub(super) fn tc(&self) -> Time {
        Time(self.config.confirm_timeout.0.saturating_mul(1 << self.late))
    }

    /// Whether nobody has to wait for a request any longer.
    pub(super) fn is_settled(&self, client: NodeId, ts: u32) -> bool {
        let enough = |seq| self.config.flags.tc_stops_at_order || self.covers(seq);
        self.clients.last_reply(client).is_some_and(|&(last, seq)| last > ts || (last == ts && enough(seq)))
    }

    /// What is ordered is shown to who asks; what is not, the primary orders.
    pub(super) fn on_confirm_req(&mut self, from: NodeId, m: &ConfirmReq, cx: &mut Cx<'_>) {
        let client = m.request.client;
        self.help(from, m.view, cx);
        self.show_stable(from, m.s, cx);
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

    /// TC: hates the primary, and asks all for the request, also if it is executed here: others may have it in another
    /// slot, which proves misbehaviour, or below a stable checkpoint, which they show.
    pub(super) fn on_confirm_timeout(&mut self, client: NodeId, cx: &mut Cx<'_>) {
        let Some(ts) = self.watched.remove(&client).filter(|_| self.normal) else { return };
        if self.hated < self.view {
            self.late = DOUBLINGS.min(self.late + 1);
        }
        self.hate(cx);
        let waits = self.clients.pending().iter().find(|request| request.client == client).copied();
        let executed = self.clients.last_reply(client).filter(|(last, _)| *last == ts);
        let executed = executed.and_then(|&(_, seq)| self.log.get(seq)?.request);
        if let Some(request) = waits.or(executed).filter(|_| !self.config.flags.tc_stops_at_order) {
            cx.to_others(self.confirm_req(&request));
        }
    }

    // --- ORDER-REQ --------------------------------------------------------------------------------------------

    /// The primary orders the requests that wait, as far as the window reaches.
    pub(super) fn propose(&mut self, cx: &mut Cx<'_>) {
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
    pub(super) fn on_order(&mut self, order: &Order, cx: &mut Cx<'_>) {
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
    pub(super) fn execute_ahead(&mut self, cx: &mut Cx<'_>) {
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
        if everybody && seq.0.is_multiple_of(self.config.checkpoint) {
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

    pub(super) fn on_fill_hole(&self, from: NodeId, m: &FillHole, cx: &mut Cx<'_>) {
        self.help(from, m.view, cx);
        self.show_stable(from, m.s, cx);
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
        let (view, s) = (self.view, self.s());
        cx.multicast(to, Msg::FillHole(FillHole { view, from: hole.from, to: hole.to, s }));
        cx.set_timer(Timer::FillHole, self.config.fill_hole_timeout);
    }

    /// An order or a certificate is beyond the next slot: asks the primary for what is missing.
    pub(super) fn tend_hole(&mut self, cx: &mut Cx<'_>) {
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
    pub(super) fn on_fill_hole_timeout(&mut self, cx: &mut Cx<'_>) {
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
}
