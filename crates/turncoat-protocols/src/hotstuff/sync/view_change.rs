//! The view change of Sync HotStuff: BLAME, quitting, STATUS, NEW-VIEW.

use turncoat_core::prelude::*;

use super::messages::{Blame, Msg, Report};
use super::replica::{Cx, Replica, Round};
use crate::hotstuff::Timer;
use crate::slips::slip;

impl Replica {
    /// Gives the leader so many deltas, and the tick in which what is just in time arrives.
    pub(super) fn watch(&self, deltas: u64, cx: &mut Cx<'_>) {
        cx.set_timer(Timer::Blame, self.deltas(deltas) + Time(1));
    }

    pub(super) fn blame(&mut self, cx: &mut Cx<'_>) {
        if !std::mem::replace(&mut self.round.blamed, true) {
            cx.mark("blame");
            cx.broadcast(Msg::Blame(cx.sign(Blame { view: self.view })));
        }
    }

    pub(super) fn on_blame(&mut self, from: NodeId, m: &Signed<Blame>, msg: &Msg) {
        if m.is_by(from) && self.is_now(from, m.view, msg) && !self.round.blames.add(m) {
            self.round.repeats.push(*m);
        }
    }

    /// The certificate that ends the view, if there are enough BLAMEs.
    pub(super) fn blame_cert(&self, cx: &Cx<'_>) -> Option<Cert<Blame>> {
        if self.round.blames.seen().is_empty() {
            return None;
        }
        let mut cert = self.round.blames.cert(&Blame { view: self.view }, cx.cluster().replicas());
        if self.config.flags.blame_no_dedup {
            self.round.repeats.iter().for_each(|blame| cert.add(blame));
        }
        self.ends(&cert, cx).then_some(cert)
    }

    pub(super) fn ends(&self, cert: &Cert<Blame>, cx: &Cx<'_>) -> bool {
        let blames = match self.config.flags.blame_no_dedup {
            true if cert.valid() => cert.signers().len(),
            _ => cert.voters().and(cx.cluster().replicas()).len(),
        };
        blames >= cx.cluster().weak()
    }

    /// Ends the view. What was voted for in it is not decided.
    pub(super) fn quit(&mut self, cert: Cert<Blame>, cx: &mut Cx<'_>) {
        cx.mark("quit");
        cx.note(|| format!("quits view {}", cert.view));
        self.quitting = true;
        cx.to_others(Msg::BlameCert(cert));
        cx.cancel_timer(Timer::Blame);
        cx.cancel_timer(Timer::Wait);
        self.abandon(self.view, cx);
        self.start_quit(cx);
    }

    /// A view has ended with BLAMEs: what was voted for in it is not decided.
    pub(super) fn abandon(&mut self, view: View, cx: &mut Cx<'_>) {
        if !self.config.flags.commit_timer_kept {
            self.cancel_commits(view, cx);
        }
    }

    pub(super) fn start_quit(&self, cx: &mut Cx<'_>) {
        cx.set_timer(Timer::Quit, self.deltas(if self.config.early { 2 } else { 1 }));
    }

    /// Begins a view. Its leader waits until all correct replicas have reported; the first one need not.
    pub(super) fn enter(&mut self, view: View, cx: &mut Cx<'_>) {
        (self.view, self.quitting) = (view, false);
        let kept = slip!("sync-hotstuff/lock-not-raised") && !self.config.early;
        if !(self.config.early && self.config.flags.sticky || kept) {
            self.lock = self.high_qc.clone();
        }
        self.round = Round::default();
        self.shelf.stir();
        cx.note(|| format!("enters view {view}, locked on block {}", self.lock.block));
        cx.send(cx.leader(view), Msg::Status(Report { view, qc: self.high_qc.clone() }));
        self.start_watch(cx);
        if cx.leads(view) && view == View(1) {
            self.propose(cx);
        } else if cx.leads(view) && self.goes_on() {
            self.lead(cx);
        }
    }

    /// Whether this view has begun with the certificate of the one before, so that nothing more is to be reported.
    fn goes_on(&self) -> bool {
        self.config.rotate && self.high_qc.view.next() == self.view
    }

    pub(super) fn start_watch(&self, cx: &mut Cx<'_>) {
        self.watch(if self.config.early { 4 } else { 6 }, cx);
        if cx.leads(self.view) && self.view > View(1) && self.round.awaited.is_none() && !self.goes_on() {
            cx.set_timer(Timer::Wait, self.deltas(2));
        }
    }

    /// The leader has waited. It proposes on the highest certificate, or shows it first.
    pub(super) fn lead(&mut self, cx: &mut Cx<'_>) {
        if self.config.early {
            self.propose(cx);
        } else {
            self.round.awaited = Some(self.high_qc.block);
            let report = Report { view: self.view, qc: self.high_qc.clone() };
            cx.broadcast(Msg::NewView(Arc::new(cx.sign(report))));
        }
    }

    /// Votes again for a certified block that is not below the lock, once in a view. A leader that shows two contradicts
    /// itself as with two proposals: else it could have a block certified again beside one that is being decided.
    pub(super) fn on_new_view(&mut self, from: NodeId, m: &Signed<Report>, msg: &Msg, cx: &mut Cx<'_>) {
        if !self.is_leader(m.valid(), m.signer(), m.view, cx)
            || !self.is_now(from, m.view, msg)
            || !self.knows(&m.qc, from, msg, cx)
            || self.quitting
            || self.round.shown.contains(&m.qc.block)
            || self.is_contradicted(m.qc.block, msg, cx)
        {
            return;
        }
        if !self.round.renewed && self.rank(&m.qc) >= self.rank(&self.lock) {
            self.round.renewed = true;
            self.learn(&m.qc, cx);
            cx.to_others(msg.clone());
            self.vote(m.qc.block, cx);
        }
    }
}
