//! The panic of clients (R10): a checkpoint commits what speculation could not.

use turncoat_core::prelude::*;

use super::messages::{Msg, Panic, Placed};
use super::replica::Replica;
use super::{Cx, Timer};

impl Replica {
    /// Somebody waits for a request that is accepted and not final: the primary starts a checkpoint, if it hears it from
    /// the client or from 2f+1 replicas; the others give it some time, if f+1 say so. A request that is unknown is a
    /// REQUEST: a view change may have lost its slot.
    pub(super) fn on_panic(&mut self, from: NodeId, m: &Panic, cx: &mut Cx<'_>) {
        let same = |placed: &Placed| placed.request.filter(|request| request.digest() == m.digest);
        let known = self.slots().find_map(|placed| same(&placed));
        let Some(request) = m.request.filter(|m| m.is_by(m.client)).or(known) else { return };
        let place = self.place(&request);
        if from == request.client && self.committed(&request).is_some() {
            self.on_request(from, &request, cx);
        }
        let Some(seq) = place else { return self.on_request(from, &request, cx) };
        let covered = self.checkpoint.as_ref().is_some_and(|last| seq <= last.seq) || seq <= self.low();
        if covered || !self.takes_part() {
            return;
        }
        let first = self.config.flags.panic_first;
        self.panicked = first;
        if from == request.client {
            cx.broadcast(Msg::Panic(cx.sign(self.config.panic(&request))));
        } else {
            self.panics.insert(from);
        }
        let panics = self.panics.and(cx.cluster().replicas()).len();
        if cx.leads(self.view) {
            if first || from == request.client || panics > 2 * cx.cluster().f {
                self.start_checkpoint(self.seq, cx);
            }
        } else if first || panics >= cx.cluster().weak() {
            cx.start_timer(Timer::Panic, self.config.panic_timeout);
        }
    }
}
