//! Certificates of clients, and proofs of misbehaviour: COMMIT, LOCAL-COMMIT, POM.

use turncoat_core::prelude::*;

use super::Cx;
use super::messages::{Claim, LocalCommit, Msg, Order, Pom};
use super::replica::Replica;

impl Replica {
    pub(super) fn on_commit(&mut self, client: NodeId, cert: &Cert<Claim>, cx: &mut Cx<'_>) {
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
    pub(super) fn settle_commits(&mut self, cx: &mut Cx<'_>) {
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
                let grounds = Grounds::certificate("spec-response", cert.view, cert.voters());
                self.log.commit(cert.seq, grounds, cx);
            }
            if self.covers(cert.seq) {
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

    pub(super) fn local_commit(&self, seq: Slot, client: NodeId, cx: &mut Cx<'_>) {
        let Some(entry) = self.log.get(seq) else { return };
        let digest = entry.request.as_ref().map_or(Digest::NULL, |request| request.digest());
        let commit = LocalCommit { view: self.view, seq, digest, history: entry.history };
        cx.send(client, Msg::LocalCommit(cx.sign(commit)));
    }

    // --- POM --------------------------------------------------------------------------------------------------

    /// A proof against the primary of this view: hates it, and tells all once.
    pub(super) fn accuse(&mut self, pom: &Arc<Pom>, cx: &mut Cx<'_>) {
        if self.accused < self.view {
            self.accused = self.view;
            cx.mark("pom");
            cx.to_others(Msg::Pom(pom.clone()));
            self.hate(cx);
        }
    }

    pub(super) fn on_pom(&mut self, pom: &Arc<Pom>, cx: &mut Cx<'_>) {
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
}
