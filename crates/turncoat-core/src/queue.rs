//! The messages in flight: in the hands of the scenario's scheduler, and of `timed` once the network is calm.

use std::sync::Arc;

use crate::ids::{Seat, Time};
use crate::net::{Alarms, Header};
use crate::rng::Rng;
use crate::scenario::{SchedulerName, SchedulerSpec};
use crate::schedule::{Choice, Scheduler, scheduler};
use crate::wheel::Timed;

/// One scheduler out of two. `timed` is a field of its own, not a trait object: it is the default, and the kernel's
/// hottest code.
#[derive(Default)]
pub(crate) struct Queue {
    timed: Timed,
    other: Option<Box<dyn Scheduler>>,
    other_on: bool,
    /// What `other` was built for, to know whether it can be reused.
    built: Option<(Arc<SchedulerSpec>, usize)>,
}

macro_rules! either {
    ($queue:ident, $it:ident => $e:expr) => {
        match &mut $queue.other {
            Some($it) if $queue.other_on => $e,
            _ => {
                let $it = &mut $queue.timed;
                $e
            }
        }
    };
}

impl Queue {
    pub(crate) fn reset(&mut self, spec: &Arc<SchedulerSpec>, seats: usize) {
        self.timed.clear();
        self.other_on = spec.name != SchedulerName::Timed;
        let reusable = self
            .built
            .as_ref()
            .is_some_and(|(built, size)| *size == seats && (Arc::ptr_eq(built, spec) || *built == *spec));
        match &mut self.other {
            Some(other) if reusable => other.clear(),
            _ if self.other_on => {
                self.other = Some(scheduler(spec, seats));
                self.built = Some((spec.clone(), seats));
            }
            _ => {}
        }
    }

    /// From now on by time; nothing takes longer than until `latest`, unless its sender may be `late`.
    pub(crate) fn calm(&mut self, latest: Option<Time>, late: impl Fn(Seat) -> bool) {
        if !self.other_on && latest.is_none() {
            return;
        }
        let mut all = Vec::with_capacity(self.len());
        self.visit(&mut |header| all.push(*header));
        all.sort_unstable_by_key(|header| header.id);
        either!(self, it => it.clear());
        self.other_on = false;
        for mut header in all {
            if let Some(latest) = latest.filter(|_| !late(header.src)) {
                header.at = header.at.min(latest);
            }
            self.timed.push(header);
        }
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, header: Header) {
        either!(self, it => it.push(header));
    }

    #[inline(always)]
    pub(crate) fn pick(&mut self, alarms: &Alarms<'_>, rng: &mut Rng) -> Option<Choice> {
        either!(self, it => it.pick(alarms, rng))
    }

    pub(crate) fn next_time(&self, alarms: &Alarms<'_>) -> Option<Time> {
        match &self.other {
            Some(other) if self.other_on => other.next_time(alarms),
            _ => self.timed.next_time(alarms),
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        match &self.other {
            Some(other) if self.other_on => other.len(),
            _ => self.timed.len(),
        }
    }

    pub(crate) fn visit(&self, see: &mut dyn FnMut(&Header)) {
        match &self.other {
            Some(other) if self.other_on => other.visit(see),
            _ => self.timed.visit(see),
        }
    }

    pub(crate) fn take(&mut self, id: u32) -> Option<Header> {
        either!(self, it => it.take(id))
    }
}
