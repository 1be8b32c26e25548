//! The pacemaker: how replicas go from view to view, and how those that lag find the others.
//!
//! A view ends for a replica when it has seen what the view was for, or when its timer fires. Timeouts double from view to
//! view as long as nothing comes of them. With `tc` a replica whose timer fires says TIMEOUT(v), again and again, and
//! leaves the view when 2f+1 replicas have said that they are through with it or with a later one; it passes their
//! TIMEOUTs on, and again to whom is still in an earlier view. f+1 TIMEOUTs of later views prove that a correct replica
//! is there, and are joined. With `local`, the papers' simplest form, a replica leaves the view when its timer fires, and
//! tells nobody. With `announced` it leaves the view too, and says TIMEOUT: no quorum has to agree, and those that lag find
//! the others all the same. That comes close to the Twins of relab/hotstuff, where the partition of the next round
//! applies to a node as soon as it has timed out.

use smallvec::SmallVec;
use turncoat_core::prelude::*;

use super::Timer;
use super::shelf::Fetching;
use crate::slips::slip;

/// A protocol whose replicas tell each other that they leave a view.
pub(super) trait Paced: Fetching {
    /// The sender is through with a view.
    const TIMEOUT: fn(Signed<Timeout>) -> Self::Msg;
    /// Enough replicas are.
    const TC: fn(Arc<Tc>) -> Self::Msg;
}

/// How a replica leaves a view in which nothing happens.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// With the TIMEOUTs of a quorum.
    Tc,
    /// On its own.
    Local,
    /// On its own, and tells the others.
    Announced,
}

/// TIMEOUT(v): the sender takes no further part in view v and those before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Serialize, Deserialize, Part)]
pub struct Timeout {
    pub(super) view: View,
}

/// A timeout certificate: enough TIMEOUTs to leave a view. They prove themselves.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
pub struct Tc {
    pub(super) view: View,
    pub(super) timeouts: Vec<Signed<Timeout>>,
}

/// The present view, its timer, and the TIMEOUTs of all.
#[derive(Clone, Debug, Hash, Serialize)]
pub(super) struct Pacemaker {
    pace: Pace,
    /// How long the first view may take.
    first: Time,
    /// How many times the time may double.
    doublings: u32,
    /// How many TIMEOUTs end a view.
    quorum: usize,
    view: View,
    /// Views in a row of which nothing came.
    fruitless: u32,
    /// Whether the timer of this view has fired: the replica votes no more in it.
    expired: bool,
    /// The latest of each replica that is through with this view, by replica.
    timeouts: Vec<Signed<Timeout>>,
    /// Those with which it has left a view last.
    last: Option<Arc<Tc>>,
}

impl Pacemaker {
    pub(super) fn new(pace: Pace, first: Time, doublings: u32, quorum: usize) -> Self {
        let (timeouts, last) = (Vec::new(), None);
        Self { pace, first, doublings, quorum, view: View(0), fruitless: 0, expired: false, timeouts, last }
    }

    /// All of it that decides what it will do: more fruitless views than the time may double make no difference.
    pub(super) fn essence(&self) -> Self {
        Self { fruitless: self.fruitless.min(self.doublings), ..self.clone() }
    }

    /// As many TIMEOUTs as for the other one end a view.
    pub(super) fn adopt(&mut self, other: &Self) {
        self.quorum = other.quorum;
    }

    pub(super) const fn view(&self) -> View {
        self.view
    }

    /// How many TIMEOUTs end a view.
    pub(super) const fn quorum(&self) -> usize {
        self.quorum
    }

    pub(super) const fn expired(&self) -> bool {
        self.expired
    }

    /// T = T0 * 2^min(k, cap), where k is the number of fruitless views.
    fn timeout(&self) -> Time {
        self.first.times(1 << self.fruitless.min(self.doublings))
    }

    /// Begins a view; the one before has borne fruit or not.
    pub(super) fn enter<P: Paced>(&mut self, view: View, fruit: bool, cx: &mut Context<'_, P>) {
        self.fruitless = if fruit { 0 } else { self.fruitless + 1 };
        (self.view, self.expired) = (view, false);
        self.timeouts.retain(|timeout| timeout.view >= view);
        let leader = cx.leader(view);
        cx.note(|| format!("enters view {view}, led by {leader}"));
        self.start(cx);
    }

    /// Starts the timer of the view.
    pub(super) fn start<P: Paced>(&self, cx: &mut Context<'_, P>) {
        cx.set_timer(Timer::View, self.timeout());
    }

    /// The timer has fired. Gives the next view, if the replica goes there on its own.
    pub(super) fn expire<P: Paced>(&mut self, cx: &mut Context<'_, P>) -> Option<View> {
        cx.mark("timeout");
        self.expired = true;
        if self.pace != Pace::Local {
            cx.broadcast(P::TIMEOUT(cx.sign(Timeout { view: self.view })));
        }
        if self.pace != Pace::Tc {
            return Some(self.view.next());
        }
        if !slip!("hotstuff/timer-not-restarted") {
            self.start(cx);
        }
        None
    }

    /// A replica is through with a view. If that is an earlier one, it hears how others have left it.
    pub(super) fn on_timeout<P: Paced>(&mut self, timeout: &Signed<Timeout>, cx: &mut Context<'_, P>) {
        self.hear(timeout, cx.cluster());
        let behind = timeout.view < self.view && timeout.signer() != cx.me();
        if let Some(tc) = self.last.as_ref().filter(|tc| behind && tc.view >= timeout.view) {
            cx.send(timeout.signer(), P::TC(tc.clone()));
        }
    }

    /// Records a TIMEOUT, whoever brings it.
    pub(super) fn hear(&mut self, timeout: &Signed<Timeout>, cluster: &Cluster) {
        let signer = timeout.signer();
        if timeout.view < self.view || !timeout.valid() || !cluster.replicas().contains(signer) {
            return;
        }
        match self.timeouts.binary_search_by_key(&signer, Signed::signer) {
            Ok(place) => self.timeouts[place] = self.timeouts[place].max(*timeout),
            Err(place) => self.timeouts.insert(place, *timeout),
        }
    }

    /// Those who are through with this view or with a later one.
    pub(super) fn through(&self) -> NodeSet {
        self.timeouts.iter().map(Signed::signer).collect()
    }

    /// The latest view that so many replicas are through with.
    fn reached(&self, many: usize) -> Option<View> {
        let place = self.timeouts.len().checked_sub(many)?;
        let mut views: SmallVec<[View; 16]> = self.timeouts.iter().map(|timeout| timeout.view).collect();
        views.sort_unstable();
        Some(views[place])
    }

    /// The view to go to, if the TIMEOUTs say so; to be asked until they do not.
    pub(super) fn next<P: Paced>(&mut self, cx: &mut Context<'_, P>) -> Option<View> {
        if let Some(view) = self.reached(self.quorum) {
            let timeouts = self.timeouts.iter().filter(|timeout| timeout.view >= view).copied();
            let tc = Arc::new(Tc { view, timeouts: timeouts.collect() });
            cx.to_others(P::TC(tc.clone()));
            self.last = Some(tc);
            return Some(view.next());
        }
        match self.reached(cx.cluster().weak()) {
            Some(view) if view > self.view => Some(view),
            Some(_) if !self.expired => self.expire(cx),
            _ => None,
        }
    }
}
