//! The timers of protocols with leaders, and how long a replica waits for its leader.

use serde::Serialize;

use crate::client::{ClientTimer, Request};
use crate::ids::{NodeId, Time, View};
use crate::node::{Context, Protocol};
use crate::sign::Signed;

/// The usual timers of a protocol with leaders and the stock client. A protocol that needs more has an enum of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub enum Timer {
    /// A pending request is late.
    Request,
    /// The new view is late.
    ViewChange,
    /// Time to retransmit what is unanswered.
    Retransmit,
    /// The client's.
    Client(ClientTimer),
}

impl From<ClientTimer> for Timer {
    fn from(timer: ClientTimer) -> Self {
        Self::Client(timer)
    }
}

/// How long a replica waits for its leader, and for which request.
///
/// It waits for one request at a time, the oldest. The time doubles from view to view until a request is executed.
#[derive(Clone, Debug, Default, Hash, Serialize)]
pub struct Patience {
    first: Time,
    timeout: Time,
    /// The request that the timer runs for.
    awaited: Option<(NodeId, u32)>,
    /// Whether this view is new, and nothing was executed in it yet.
    fresh_view: bool,
}

impl Patience {
    /// A replica that waits this long at first.
    pub fn new(first: Time) -> Self {
        Self { first, timeout: first, ..Self::default() }
    }

    /// How long it waits now, for a request or for a new view.
    pub const fn timeout(&self) -> Time {
        self.timeout
    }

    /// Applies the rule of the request timer; call it after every event. The timer runs while a request is `pending` in a
    /// `view` that another replica leads; between views (`None`) there is nothing to wait for.
    pub fn tend<P: Protocol>(
        &mut self,
        timer: P::Timer,
        pending: &[Signed<Request>],
        view: Option<View>,
        cx: &mut Context<'_, P>,
    ) {
        let waits = |awaited| pending.iter().any(|request| request.id() == awaited);
        if self.awaited.take_if(|awaited| view.is_none() || !waits(*awaited)).is_some() {
            cx.cancel_timer(timer);
        }
        if let (None, Some(view), Some(oldest)) = (self.awaited, view, pending.first())
            && !cx.leads(view)
        {
            self.awaited = Some(oldest.id());
            cx.set_timer(timer, self.timeout);
        }
    }

    /// The timer no longer runs: it has fired, or the replica was restarted.
    pub const fn stop(&mut self) {
        self.awaited = None;
    }

    /// The leader of this view was too slow. If it has done nothing at all, the next one gets twice the time.
    pub const fn lose(&mut self) {
        self.stop();
        if self.fresh_view {
            self.double();
        }
    }

    /// The next view gets twice the time: this one did not even begin.
    pub const fn double(&mut self) {
        self.timeout = Time(self.timeout.0.saturating_mul(2));
    }

    /// A view begins.
    pub const fn enter(&mut self) {
        self.fresh_view = true;
    }

    /// A request was executed.
    pub const fn regain(&mut self) {
        self.fresh_view = false;
        self.timeout = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_doubles_until_a_request_is_executed() {
        let mut patience = Patience::new(Time(10));
        patience.lose();
        assert_eq!(patience.timeout(), Time(10), "the first view is not new");
        patience.enter();
        patience.lose();
        patience.double();
        assert_eq!(patience.timeout(), Time(40));
        patience.regain();
        patience.lose();
        assert_eq!(patience.timeout(), Time(10), "this leader has done something");
    }
}
