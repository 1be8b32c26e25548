//! Driving a simulation by hand: scripts, stories, people; and the names of messages.

use super::lies::Told;
use super::{AnyNode, Rejected, Sim, timer_name};
use crate::adversary::LieSpec;
use crate::ids::{NodeId, NodeSet, Seat, SeatName, Time};
use crate::message::Message;
use crate::net::{Content, Header};
use crate::node::Protocol;
use crate::outcome::End;
use crate::record::{Loss, What};
use crate::schedule::{Action, Choice, Coordinates};

impl<P: Protocol> Sim<P> {
    /// Carries out one action of a script, a story or a person.
    pub fn apply(&mut self, action: &Action) -> Result<(), Rejected> {
        let mut result = Ok(());
        // Before its consequences, among which may be the calm phase.
        let recorded = self.io.recording.as_ref().map_or(0, |recording| recording.script.len());
        if *action != Action::Calm {
            self.record_action(action.clone());
        }
        self.guarded(|sim| result = sim.try_apply(action));
        if result.is_err() {
            self.io.recording.iter_mut().for_each(|recording| recording.script.truncate(recorded));
        }
        result
    }

    pub(super) fn try_apply(&mut self, action: &Action) -> Result<(), Rejected> {
        match action {
            Action::Deliver(message) => {
                let header = self.take(message)?;
                self.deliver(header);
            }
            Action::Drop(message) => {
                let header = self.disturbed(message, "lost")?;
                self.queue.take(header.id);
                self.io.step += 1;
                self.lose(header, Loss::Network);
            }
            Action::Duplicate(message) => {
                let header = self.find(message)?;
                self.slab.hold(header.payload);
                let row = self.record_duplicate(header.id);
                self.push(header, row, self.io.time);
            }
            Action::Mutate(message, name, seed) => self.mutate_in_flight(message, name, *seed)?,
            Action::Edit(message, field, value) => self.edit_in_flight(message, field, value)?,
            Action::Delay(message, ticks) => {
                let mut header = self.disturbed(message, "delayed")?;
                self.queue.take(header.id);
                header.at = header.at + Time(*ticks);
                self.queue.push(header);
            }
            Action::Split(_) if self.calm => {
                return Err(Rejected::Nothing("the network is calm and cannot be split any more".to_owned()));
            }
            Action::Split(side) => (self.split, self.plain) = (*side, false),
            Action::Heal => {
                self.split = NodeSet::EMPTY;
                self.release(|_, held| held.until == u64::MAX);
            }
            Action::Fire(seat, timer) => {
                let seat = self.one_seat(*seat)?;
                let (key, at) = self.armed(seat, timer.as_deref())?;
                self.io.timers.cancel(seat, key);
                self.fire(seat, key, at);
            }
            Action::Suspect(seat) => {
                let seat = self.one_seat(*seat)?;
                if !self.byzantine.contains(self.io.seats.node(seat)) {
                    return Err(Rejected::Honest(self.io.seats.name(seat)));
                }
                self.call(seat, AnyNode::on_suspect);
                self.settle();
            }
            Action::Crash(seat) => {
                let seat = self.one_seat(*seat)?;
                self.spend(self.io.seats.node(seat))?;
                self.crash(seat);
                self.settle();
            }
            Action::Restart(seat, state) => {
                let seat = self.one_seat(*seat)?;
                self.restart(seat, *state);
                self.settle();
            }
            Action::Wait if self.wait() => {}
            Action::Wait => return Err(Rejected::Nothing("nothing is scheduled".to_owned())),
            Action::Calm if !self.calm => self.begin_calm(),
            Action::Calm => {}
        }
        Ok(())
    }

    /// A message that is to fare badly on its way. In a calm network only a liar's does.
    fn disturbed(&self, message: &Coordinates, how: &str) -> Result<Header, Rejected> {
        let header = self.find(message)?;
        if self.calm && !self.byzantine.contains(self.io.seats.node(header.src)) {
            return Err(Rejected::Nothing(format!("`{message}` cannot be {how}: the network is calm")));
        }
        Ok(header)
    }

    /// A node that stops counts as faulty; too many need leave.
    fn spend(&mut self, node: NodeId) -> Result<(), Rejected> {
        let faulty = self.faulty.or(NodeSet::one(node));
        let over = faulty.and(self.cluster.replicas()).len() > self.cluster.f;
        if over && !self.over_budget_allowed {
            let f = self.cluster.f;
            let text = format!("{faulty} exceed f = {f}; `cluster.over-budget = true` allows it");
            return Err(Rejected::Nothing(text));
        }
        self.faulty = faulty;
        if over && !self.over_budget {
            self.over_budget = true;
            self.note_budget();
        }
        Ok(())
    }

    /// The next step of the script, or of whoever goes on with it; false when it is over and the network has calmed down.
    pub(super) fn play_script(&mut self) -> bool {
        let script = self.script.actions.clone();
        let Some(action) = script.script.get(self.script.next) else {
            if self.calm {
                return false;
            }
            if self.play_online() {
                return true;
            }
            self.begin_calm();
            return false;
        };
        self.script.next += 1;
        if *action != Action::Calm {
            self.record_action(action.clone());
        }
        if let Err(error) = self.try_apply(action) {
            self.script.diverged.get_or_insert(self.script.next as u32 - 1);
            let text = format!("`{action}` cannot happen: {error}");
            self.io.record(What::Note { seat: None, text });
        }
        true
    }

    pub(super) fn mutate_in_flight(
        &mut self,
        message: &Coordinates,
        name: &str,
        seed: u64,
    ) -> Result<(), Rejected> {
        let header = self.find(message)?;
        let rows = self.table.find(name);
        let row = rows.iter().find(|&&(kind, _)| kind == header.kind && rows.len() == 1);
        let Some(&(kind, lie)) = row else {
            return Err(Rejected::Nothing(format!("no mutation `{name}` for a `{}`", message.kind)));
        };
        let truth = header.payload;
        self.slab.hold(truth);
        let told = self.lie(header.src, header.dst, truth, kind, &LieSpec::Row(lie, seed));
        if let Ok(Told::Changed(lie)) = told {
            self.record_lie(header.id, truth, lie);
        }
        self.slab.release(truth);
        match told? {
            Told::Changed(payload) => self.put_back(header, payload),
            Told::Omitted => {
                self.queue.take(header.id);
                self.lose(header, Loss::Withheld);
            }
            Told::Same | Told::Garbage => return Err(Rejected::NoChange(name.to_owned())),
        }
        Ok(())
    }

    fn edit_in_flight(&mut self, message: &Coordinates, field: &str, value: &str) -> Result<(), Rejected> {
        let header = self.find(message)?;
        let lie = self.edited(header.src, header.payload, field, value)?;
        let lie = self.slab.insert(lie);
        self.record_lie(header.id, header.payload, lie);
        self.slab.release(header.payload);
        self.put_back(header, lie);
        Ok(())
    }

    /// A copy in flight says something else from now on. It is the same copy, and keeps its number.
    fn put_back(&mut self, mut header: Header, payload: u32) {
        self.queue.take(header.id);
        self.injected.mutated += 1;
        header.payload = payload;
        header.content = Content::Lie;
        self.queue.push(header);
    }

    /// One event, the next by time, though the network may not be calm; false if there is none.
    pub fn go_on(&mut self) -> bool {
        if !self.calm {
            return self.next_choice().is_some_and(|choice| self.apply(&choice).is_ok());
        }
        let mut on = true;
        self.guarded(|sim| on = sim.step());
        on
    }

    /// Whether the network is calm, and the run would end here by itself.
    pub(super) fn has_come_to_its_end(&mut self) -> bool {
        if self.calm && self.end.is_none() && !self.really_ended() && self.next_choice().is_none() {
            self.end = Some(if self.goal_at.is_some() { End::Goal } else { End::Quiet });
        }
        self.calm && self.end.is_some()
    }

    /// The next event by time.
    pub(super) fn next_choice(&self) -> Option<Action> {
        let mut first: Option<Header> = None;
        self.queue.visit(&mut |header| {
            first = Some(*header).into_iter().chain(first).min_by_key(|header| (header.at, header.id));
        });
        let alarm = self.io.timers.alarms().first;
        let next = first.map(|header| header.at).into_iter().chain(alarm.map(|(_, at)| at)).min();
        let planned = self
            .next_moment()
            .is_some_and(|(moment, _)| next.is_none_or(|next| moment <= next.max(self.io.time)));
        match (first, alarm) {
            _ if planned => Some(Action::Wait),
            (Some(header), alarm) if alarm.is_none_or(|(_, at)| header.at <= at) => {
                Some(Action::Deliver(self.coordinates(&header)))
            }
            (_, Some((seat, _))) => Some(Action::Fire(self.io.seats.name(seat), None)),
            _ => None,
        }
    }

    /// A script's words for what a scheduler chose.
    pub(super) fn record_choice(&mut self, choice: Choice) {
        let action = match choice {
            Choice::Deliver(header) => Action::Deliver(self.coordinates(&header)),
            Choice::Drop(header) => Action::Drop(self.coordinates(&header)),
            // Recorded later, when its result is known.
            Choice::Mutate(_) => return,
            Choice::Fire(seat) => Action::Fire(self.io.seats.name(seat), None),
        };
        self.record_action(action);
    }

    pub(super) fn record_action(&mut self, action: Action) {
        if let Some(recording) = &mut self.io.recording {
            recording.script.push(action);
        }
    }

    pub(super) fn coordinates(&self, header: &Header) -> Coordinates {
        Coordinates {
            src: self.io.seats.name(header.src),
            dst: self.io.seats.name(header.dst),
            kind: P::Msg::KINDS[usize::from(header.kind)].to_owned(),
            nth: self.numbering.of.get(header.id as usize).map_or(0, |number| number.nth),
        }
    }

    pub(super) fn find(&self, message: &Coordinates) -> Result<Header, Rejected> {
        let mut found = None;
        self.queue.visit(&mut |header| {
            // Few have this number: the others need no name.
            let nth = self.numbering.of.get(header.id as usize).map(|number| number.nth);
            if nth == Some(message.nth) && self.coordinates(header) == *message {
                found = Some(*header);
            }
        });
        found.ok_or_else(|| Rejected::NoMessage(message.to_string()))
    }

    pub(super) fn take(&mut self, message: &Coordinates) -> Result<Header, Rejected> {
        let header = self.find(message)?;
        Ok(self.queue.take(header.id).expect("it was just found"))
    }

    pub(super) fn one_seat(&self, name: SeatName) -> Result<Seat, Rejected> {
        let seats = self.io.seats.named(name).map_err(|error| Rejected::Nothing(error.to_string()))?;
        Ok(seats.iter().next().expect("a name means a seat"))
    }

    pub(super) fn armed(&self, seat: Seat, name: Option<&str>) -> Result<(P::Timer, Time), Rejected> {
        let found = match name {
            None => self.io.timers.first(seat),
            Some(name) => self.io.timers.of(seat).find(|(timer, _)| timer_name(timer) == name),
        };
        found.ok_or_else(|| {
            let names: Vec<String> = self.timers(seat).into_iter().map(|(name, _)| name).collect();
            let who = self.io.seats.name(seat);
            Rejected::Nothing(format!("{who} has no such timer armed; armed: [{}]", names.join(", ")))
        })
    }
}
