//! The view change: IHTP, VIEW-CHANGE, NEW-VIEW, VIEW-CONFIRM.

use turncoat_core::prelude::*;

use super::carry_over::Start;
use super::messages::{Checkpoint, Claim, FillHole, Ihtp, Msg, NewView, Order, ViewChange, Voted};
use super::replica::Replica;
use super::{Cx, DOUBLINGS, Timer};
use crate::slips::slip;

impl Replica {
    /// IHTP for the present view. It stops nothing.
    pub(super) fn hate(&mut self, cx: &mut Cx<'_>) {
        if self.hated < self.view {
            self.hated = self.view;
            cx.note(|| format!("hates the primary of view {}", self.view));
        }
        cx.broadcast(Msg::Ihtp(cx.sign(Ihtp { view: self.view })));
    }

    pub(super) fn on_ihtp(&mut self, m: &Signed<Ihtp>) {
        let hates = if m.view >= self.view { self.hates.entry(m.view).or_default() } else { return };
        if m.valid() && !hates.iter().any(|known| known.signer() == m.signer()) {
            hates.push(*m);
        }
    }

    /// Every rule of the view change whose guard now holds. Says whether a view begins.
    pub(super) fn advance_view_change(&mut self, cx: &mut Cx<'_>) -> bool {
        // f+1 IHTPs for this view or a later one. A VIEW-CHANGE has as many in it, so one of them is enough to join.
        let weak = cx.cluster().weak();
        let hated = self.hates.iter().rev().find(|(_, hates)| hates.len() >= weak);
        if let Some((&view, _)) = hated {
            self.start_view_change(view, cx);
        }
        if self.normal {
            return false;
        }
        if self.new_views.is_empty() && self.view_changes.of(self.view).count() >= cx.cluster().quorum() {
            match cx.leads(self.view) {
                true => self.start_view(cx),
                false => cx.start_timer(Timer::NewView, self.tn()),
            }
        }
        self.try_enter(cx)
    }

    /// TN doubles with each view that was skipped.
    fn tn(&self) -> Time {
        let skipped = self.view.0.saturating_sub(self.entered.0).min(DOUBLINGS);
        Time(self.config.new_view_timeout.0.saturating_mul(1 << skipped))
    }

    /// Leaves `hated`, and votes for the view after it: VIEW-CHANGE(v,s,CC,O) with f+1 IHTPs.
    fn start_view_change(&mut self, hated: View, cx: &mut Cx<'_>) {
        cx.mark("view-change");
        let mut haters = self.hates.remove(&hated).unwrap_or_default();
        haters.truncate(cx.cluster().weak());
        (self.view, self.normal) = (hated.next(), false);
        self.hates.retain(|&view, _| view > hated);
        self.confirms.retain(|&view, _| view > hated);
        self.view_changes.forget(hated);
        self.new_views.clear();
        self.confirmed = None;
        self.forget_view(cx);
        let (s, proof) = (self.s(), self.stable.clone());
        let mut orders: Vec<Order> =
            self.log.above(s).iter().map_while(|entry| entry.order.clone()).collect();
        if slip!("zyzzyva/speculation-unreported") {
            let certified = self.max_cc.as_ref().map_or(s, |cert| cert.seq);
            orders.retain(|order| order.seq <= certified);
        }
        let held = |cert: &&Cert<Claim>| cert.seq > s && self.log.history(cert.seq) == Some(cert.history);
        let cert = self.max_cc.as_ref().filter(held).cloned();
        let vote = ViewChange { view: self.view, s, proof, cert, orders, haters };
        cx.broadcast(Msg::ViewChange(Arc::new(cx.sign(vote))));
    }

    pub(super) fn on_view_change(&mut self, m: &Voted, cx: &mut Cx<'_>) {
        self.help(m.signer(), View(m.view.0.saturating_sub(1)), cx);
        self.count(m, cx);
    }

    fn count(&mut self, m: &Voted, cx: &mut Cx<'_>) {
        if m.view >= self.view {
            m.haters.iter().for_each(|hater| self.on_ihtp(hater));
            if !self.view_changes.has(m.signer(), m.view) && self.valid_view_change(m, cx) {
                self.view_changes.add(m.signer(), m.view, m.clone());
            }
        }
    }

    /// f+1 IHTPs for the view before; a proof of the checkpoint; orders from there on without a gap, each of the primary
    /// of its view; a certificate for one of them.
    fn valid_view_change(&self, m: &ViewChange, cx: &Cx<'_>) -> bool {
        let cluster = cx.cluster();
        let xor = self.config.flags.xor_history;
        let hating = m.haters.iter().filter(|hater| hater.valid() && hater.view.next() == m.view);
        let hating: NodeSet = hating.map(|hater| hater.signer()).collect();
        let stable = |proof: &Cert<Checkpoint>| proof.seq == m.s && self.is_stable(proof, cluster);
        let proved = m.proof.as_ref().map_or(m.s == Slot(0), stable);
        let mut end = (m.s, m.proof.as_ref().map_or(Digest::NULL, |proof| proof.history));
        let follows = |order: &Order| {
            let (last, history) = std::mem::replace(&mut end, (order.seq, order.history));
            let place = order.seq == last.next() && order.parent == history && order.view < m.view;
            place && order.is_by(cx.leader(order.view)) && order.is_sound(xor)
        };
        let contained = |cert: &Cert<Claim>| {
            let order = m.at(cert.seq).filter(|order| order.history == cert.history);
            order.is_some() && cert.view < m.view && cluster.has_quorum(cert.voters())
        };
        hating.and(cluster.replicas()).len() >= cluster.weak()
            && proved
            && m.orders.len() <= 2 * self.config.checkpoint as usize
            && m.orders.iter().all(follows)
            && m.cert.as_ref().is_none_or(contained)
    }

    // --- NEW-VIEW ---------------------------------------------------------------------------------------------

    /// The new primary, with 2f+1 votes, its own among them.
    fn start_view(&mut self, cx: &mut Cx<'_>) {
        let (view, quorum) = (self.view, cx.cluster().quorum());
        let Some(votes) = self.view_changes.elect(view, cx.me(), quorum) else { return };
        let start = self.carry_over(view, &votes, cx.cluster().weak());
        let orders = start.orders.into_iter().map(|order| Arc::new(cx.sign(order))).collect();
        let m = Arc::new(cx.sign(NewView { view, votes, orders }));
        cx.to_others(Msg::NewView(m.clone()));
        self.accept(&m, cx);
    }

    /// Anybody may relay a NEW-VIEW; it must be the new primary's, and follow from its votes.
    pub(super) fn on_new_view(&mut self, m: &Arc<Signed<NewView>>, cx: &mut Cx<'_>) {
        let bodies = |m: &NewView| m.orders.iter().map(|order| ***order).collect::<Vec<_>>();
        let known = |known: &Arc<Signed<NewView>>| known.view == m.view && bodies(known) == bodies(m);
        let news = m.view >= self.view && self.new_views.len() < 2 && !self.new_views.iter().any(known);
        if !news || !m.is_by(cx.leader(m.view)) || !self.valid_new_view(m, cx) {
            return;
        }
        m.votes.iter().for_each(|vote| self.count(vote, cx));
        // Its votes lead there: each has f+1 IHTPs for the view before.
        if m.view > self.view {
            self.start_view_change(View(m.view.0 - 1), cx);
        }
        if !self.config.flags.no_new_view_relay {
            cx.to_others(Msg::NewView(m.clone()));
        }
        self.accept(m, cx);
    }

    /// 2f+1 distinct valid votes, and G as it follows from them.
    fn valid_new_view(&self, m: &NewView, cx: &Cx<'_>) -> bool {
        let genuine = |vote: &Voted| {
            let known = self.view_changes.of(m.view).any(|(_, known)| known == vote);
            known || (vote.valid() && vote.view == m.view && self.valid_view_change(vote, cx))
        };
        let elected = cx.cluster().elected(m.votes.iter().map(|vote| vote.signer()));
        let by_primary = |order: &Order| order.is_by(cx.leader(m.view));
        elected && m.votes.iter().all(genuine) && m.orders.iter().all(by_primary) && {
            let start = self.carry_over(m.view, &m.votes, cx.cluster().weak());
            m.orders.iter().map(|order| &***order).eq(&start.orders)
        }
    }

    /// The first NEW-VIEW of a view is confirmed; the log stays as it is. A second one is a reason to hate the view.
    fn accept(&mut self, m: &Arc<Signed<NewView>>, cx: &mut Cx<'_>) {
        self.new_views.push(m.clone());
        if self.new_views.len() > 1 {
            cx.mark("two-new-views");
            return self.hate(cx);
        }
        let start = self.carry_over(m.view, &m.votes, cx.cluster().weak());
        if start.orders.iter().any(|order| order.request.is_none()) {
            cx.mark("new-view-null");
        }
        let (seq, history) = start.end();
        let confirm = cx.sign(Claim { view: m.view, seq, history });
        self.confirmed = Some(confirm);
        cx.broadcast(Msg::ViewConfirm(confirm));
        let (s, before) = start.base();
        if self.config.flags.reconcile_early && self.log.history(s) == Some(before) {
            self.reconcile(m, seq, cx);
        }
    }

    // --- VIEW-CONFIRM -----------------------------------------------------------------------------------------

    pub(super) fn on_view_confirm(&mut self, m: &Signed<Claim>) {
        if m.view >= self.view {
            self.confirms.entry(m.view).or_default().add(m);
        }
    }

    /// Enters the view with 2f+1 VIEW-CONFIRMs equal to the own one, and with the stable checkpoint that G starts from.
    fn try_enter(&mut self, cx: &mut Cx<'_>) -> bool {
        let (Some(m), Some(confirms)) = (self.new_views.first().cloned(), self.confirms.get(&self.view))
        else {
            return false;
        };
        if confirms.seen().len() < cx.cluster().quorum() {
            return false;
        }
        let start = self.carry_over(m.view, &m.votes, cx.cluster().weak());
        let (seq, history) = start.end();
        let cert = confirms.cert(&Claim { view: self.view, seq, history }, cx.cluster().replicas());
        if !cx.cluster().has_quorum(cert.voters()) || !self.starts_from(&start, cx) {
            return false;
        }
        cx.mark("new-view");
        self.reconcile(&m, seq, cx);
        cx.note(|| format!("enters view {}", m.view));
        (self.entered, self.normal) = (self.view, true);
        self.forget_view(cx);
        // maxCC is a prefix of the log, and these VIEW-CONFIRMs are a certificate.
        self.max_cc.take_if(|held| {
            self.log.history(held.seq) != Some(held.history) && !self.config.flags.cc_highest_n
        });
        if !self.config.flags.no_confirm_cert {
            self.raise(cert);
        }
        // Clients are answered anew for all that is in G.
        m.orders.iter().for_each(|order| self.respond(order.seq, true, cx));
        true
    }

    /// Whether the log is final up to where G starts, and G contains what is final.
    fn starts_from(&mut self, start: &Start, cx: &mut Cx<'_>) -> bool {
        let reached = start.proof.as_ref().is_none_or(|proof| self.reach(proof, cx));
        let s = self.s();
        let own = self.log.history(s);
        let contained =
            start.orders.iter().find(|order| order.seq == s).is_none_or(|order| Some(order.history) == own);
        reached && contained
    }

    /// The log becomes G, which ends with `end`: what is equal stays, the rest is taken back and executed anew. Never below
    /// what is stable.
    fn reconcile(&mut self, m: &NewView, end: Slot, cx: &mut Cx<'_>) {
        let s = if self.config.flags.reconcile_early { Slot(0) } else { self.s() };
        let xor = self.config.flags.xor_history;
        let mut changed = false;
        for order in m.orders.iter().filter(|order| order.seq > s) {
            if self.log.history(order.seq) == Some(order.history) {
                self.log.adopt(order);
            } else {
                changed |= self.log.roll_back(Slot(order.seq.0 - 1), cx);
                self.log.push(order.request, Some(order.clone()), xor, cx);
                changed |= order.request.is_some();
            }
        }
        changed |= self.log.roll_back(end.max(s), cx);
        if changed {
            self.rebuild_clients();
        }
    }

    /// Shows how this view begins.
    pub(super) fn show_view(&self, to: NodeSet, cx: &mut Cx<'_>) {
        let relays = !self.config.flags.no_new_view_relay || cx.leads(self.view);
        for m in self.new_views.iter().filter(|_| relays) {
            cx.multicast(to, Msg::NewView(m.clone()));
        }
        if let Some(confirm) = self.confirmed {
            cx.multicast(to, Msg::ViewConfirm(confirm));
        }
    }

    /// A certificate of a later view: others are there. They show it to who asks for anything in an older one.
    pub(super) fn notice_later_view(&self, msg: &Msg, cx: &mut Cx<'_>) {
        let Msg::Commit(cert) = msg else { return };
        if self.normal && cert.view > self.view && cx.cluster().has_quorum(cert.voters()) {
            let (view, next) = (self.view, self.log.last().next());
            cx.to_others(Msg::FillHole(FillHole { view, from: next, to: cert.seq.max(next), s: self.s() }));
        }
    }

    /// Helps a replica that is in an older view.
    pub(super) fn help(&self, who: NodeId, view: View, cx: &mut Cx<'_>) {
        if self.normal && view < self.view && who != cx.me() {
            self.show_view(NodeSet::one(who), cx);
        }
    }

    /// What is missing for the new view.
    pub(super) fn waits_for_view(&self, quorum: usize) -> Waiting {
        let about = About::View(self.view);
        let votes: NodeSet = self.view_changes.of(self.view).map(|(voter, _)| voter).collect();
        match self.new_views.is_empty() {
            true if votes.len() < quorum => Waiting { kind: "view-change", about, have: votes, need: quorum },
            true => Waiting { kind: "new-view", about, have: NodeSet::EMPTY, need: 1 },
            false => {
                let have = self.confirms.get(&self.view).map_or(NodeSet::EMPTY, |ballots| ballots.seen());
                Waiting { kind: "view-confirm", about, have, need: quorum }
            }
        }
    }
}
