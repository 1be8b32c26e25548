//! A simulation in the hands of an online adversary: see [`crate::online`].

use super::{Rejected, Sim, timer_name};
use crate::ids::{NodeSet, Seat, SeatName, Time};
use crate::message::{Message, MutationTable};
use crate::net::{Content, Header};
use crate::node::{Cluster, Protocol, Vitals};
use crate::online::{Alarm, Envelope, OnlineAdversary, Position};
use crate::outcome::{End, Outcome};
use crate::rng::{Purpose, Rng};
use crate::scenario::{Gst, Scenario, ScenarioError, SchedulerName, invalid};
use crate::schedule::Action;

/// So often an adversary may choose without an event.
const IN_A_ROW: u32 = 1000;

/// A script in the making.
pub(super) struct Online {
    adversary: Box<dyn OnlineAdversary>,
    rng: Rng,
    /// What it has chosen.
    chosen: Vec<Action>,
    /// Its choices since an event, and the step of that event.
    in_a_row: (u32, u64),
    /// Its choice that cannot be made, and why.
    refused: Option<String>,
}

impl<P: Protocol> Sim<P> {
    /// Runs a scenario, whose own script comes first if it has one, and then goes on as an adversary chooses. Says which
    /// scenario shows the same without it.
    pub(crate) fn run_online(
        &mut self,
        scenario: &Scenario,
        adversary: Box<dyn OnlineAdversary>,
    ) -> Result<(Scenario, Outcome), ScenarioError> {
        let own = scenario.scheduler.name == SchedulerName::Script;
        let mut script = if own { scenario.scheduler.script.clone() } else { Vec::new() };
        self.reset(&scenario.scripted(script.clone()))?;
        let rng = Rng::new(scenario.seed.0, Purpose::Scheduler);
        let online = Online { adversary, rng, chosen: Vec::new(), in_a_row: (0, 0), refused: None };
        self.script.online = Some(Box::new(online));
        let outcome = self.run();
        let Some(online) = self.script.online.take() else { unreachable!("nobody else takes it") };
        if let Some(refused) = online.refused {
            return Err(invalid(refused));
        }
        script.extend(online.chosen);
        Ok((scenario.scripted(script), outcome))
    }

    /// Goes on by a choice of the online adversary; false where there is none, or it has had its say.
    ///
    /// One choice is one step of the script: a replay, which asks [`Sim::ended`] before each, ends at the same place.
    pub(super) fn play_online(&mut self) -> bool {
        while !self.is_time_to_calm() {
            let Some(mut online) = self.script.online.take() else { return false };
            let chosen = self.choose(&mut online);
            let refused = chosen.as_ref().and_then(|action| self.is_beyond(&mut online, action).err());
            // It is written down before it happens: a node may panic.
            online.chosen.extend(chosen.clone());
            self.script.online = Some(online);
            let Some(action) = chosen else { return false };
            let Err(error) = refused.map_or_else(|| self.try_apply(&action), Err) else { return true };
            let Some(online) = &mut self.script.online else { return false };
            online.chosen.pop();
            if !matches!(error, Rejected::NoChange(_)) {
                let step = self.io.step;
                let text = format!("the online adversary chose `{action}` after {step} events: {error}");
                online.refused = Some(text);
                self.end = Some(End::Stopped);
                return true;
            }
        }
        false
    }

    /// The next step of its script; none: it has had its say.
    fn choose(&self, online: &mut Online) -> Option<Action> {
        let idle = self.queue.len() == 0 && self.io.timers.alarms().first.is_none();
        match self.next_moment() {
            Some((moment, _)) if idle || moment <= self.io.time => Some(Action::Wait),
            _ if idle => None,
            _ => online.adversary.next(self, &mut online.rng).filter(|action| *action != Action::Calm),
        }
    }

    /// What a script may do and an adversary may not: go on forever without an event, and stop more than f replicas. A script
    /// may do so where that is allowed, but then it leaves the budget from its start, and not with the crash.
    fn is_beyond(&self, online: &mut Online, action: &Action) -> Result<(), Rejected> {
        let (count, step) = online.in_a_row;
        online.in_a_row = if step == self.io.step { (count + 1, step) } else { (1, self.io.step) };
        if online.in_a_row.0 > IN_A_ROW {
            return Err(Rejected::Nothing(format!("{IN_A_ROW} choices in a row made nothing happen")));
        }
        let Action::Crash(seat) = action else { return Ok(()) };
        let (f, replicas) = (self.cluster.f, self.cluster.replicas());
        let faulty = self.faulty.and(replicas);
        let more = faulty.or(NodeSet::one(seat.node).and(replicas));
        if more.len() > faulty.len().max(f) {
            return Err(Rejected::Nothing(format!("{more} exceed f = {f}")));
        }
        Ok(())
    }

    /// Whether the network is to calm down now. Scripts say so themselves; whoever chooses on the way has no end to say it.
    fn is_time_to_calm(&self) -> bool {
        match self.network.gst {
            Some(Gst::Time(at)) => self.io.time >= at,
            Some(Gst::Deliveries(count)) => self.deliveries >= count,
            None => self.io.step >= self.steps / 2,
        }
    }

    fn envelope(&self, header: &Header) -> Envelope {
        let message = self.slab.get(header.payload);
        let round = message.round();
        Envelope {
            src: self.io.seats.name(header.src),
            dst: self.io.seats.name(header.dst),
            kind: P::Msg::KINDS[usize::from(header.kind)],
            nth: self.numbering.of.get(header.id as usize).map_or(0, |number| number.nth),
            view: round.map(|round| round.view),
            slot: message.slot(),
            arrives: header.at,
            from_client: header.from_client,
            lie: header.content != Content::Genuine,
        }
    }
}

impl<P: Protocol> Position for Sim<P> {
    fn steps(&self) -> u64 {
        self.io.step
    }
    fn time(&self) -> Time {
        self.io.time
    }
    fn cluster(&self) -> &Cluster {
        &self.cluster
    }
    fn byzantine(&self) -> NodeSet {
        self.byzantine
    }
    fn faulty(&self) -> NodeSet {
        self.faulty
    }
    fn lies(&self) -> &MutationTable {
        &self.table
    }
    fn messages(&self) -> Vec<Envelope> {
        let mut headers = Vec::with_capacity(self.queue.len());
        self.queue.visit(&mut |header| headers.push(*header));
        headers.sort_unstable_by_key(|header| header.id);
        headers.iter().map(|header| self.envelope(header)).collect()
    }
    fn timers(&self) -> Vec<Alarm> {
        let alarm = |(seat, timer, at): (Seat, P::Timer, Time)| Alarm {
            seat: self.io.seats.name(seat),
            timer: timer_name(&timer),
            at,
        };
        self.io.timers.in_order().into_iter().map(alarm).collect()
    }
    fn vitals(&self, seat: SeatName) -> Option<Vitals> {
        let seat = self.io.seats.named(seat).ok()?.iter().next()?;
        Some(Self::vitals(self, seat))
    }
}
