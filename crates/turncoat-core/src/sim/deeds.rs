//! What an adversary does to nodes: second faces, crashes, restarts, clocks, timers, messages of its own.

use super::{AnyNode, Sim, timer_name};
use crate::adversary::Deed;
use crate::assume::Assumption;
use crate::fault::Form;
use crate::ids::{NodeSet, Seat, SeatSet, Time};
use crate::message::Message;
use crate::net::{Content, Header};
use crate::node::Protocol;
use crate::part::Part;
use crate::persona::Input;
use crate::record::What;
use crate::scenario::Gst;
use crate::sign::Signer;

/// What happens at a moment without a message or a timer.
pub(super) enum Upcoming {
    /// An adversary acts on nodes.
    Deed(u16),
    /// The network calms down.
    Calm,
    /// A message that waited has its turn.
    Turn,
}

impl<P: Protocol> Sim<P> {
    /// Whether a seat sleeps until its persona wakes. Where the node cannot be forked then, it runs from the start,
    /// and nobody hears it before.
    pub(super) fn sleeps(&self, seat: Seat) -> bool {
        let mut faces = self.faces.iter().filter(|face| face.seat == seat && face.form == Form::Instance);
        faces.any(|face| !face.awake) && self.nodes[seat.index()].fork().is_some()
    }

    pub(super) fn deliver_to_face(&mut self, header: Header) {
        let Header { src, dst, payload, kind, .. } = header;
        let Some(i) = self.faces.iter().position(|face| face.seat == dst && face.form == Form::Instance)
        else {
            return;
        };
        let bare = self.client_kinds & (1 << kind) != 0;
        if !self.faces[i].awake {
            self.faces[i].overhear(self.slab.get(payload), bare);
            if !self.sleeps(dst) {
                self.hand_over(dst, src, payload);
            }
            return;
        }
        let keys = NodeSet::one(self.faces[i].of);
        let pool = self.io.ledger.submitted();
        match self.faces[i].input(src, payload, self.slab.get(payload), bare, pool, keys) {
            Input::Hear => self.hand_over(dst, src, payload),
            Input::Ignore => {}
            Input::Keep => self.slab.hold(payload),
            Input::ThenKept(from, kept) => {
                self.hand_over(dst, src, payload);
                self.hand_over(dst, from, kept);
                self.slab.release(kept);
            }
            Input::Instead(lie) => {
                let lie = self.slab.insert(lie);
                self.hand_over(dst, src, lie);
                self.slab.release(lie);
            }
            Input::After(request) => {
                // The other request comes in the same kind of message, from its own client.
                let mut first = self.slab.get(payload).clone();
                let mut present = None;
                first.requests(&mut |found| present = present.or(Some(*found)));
                if let Some(old) = present {
                    first.substitute(&old, &request, keys);
                }
                let client = self.io.seats.first(request.client).unwrap_or(src);
                let first = self.slab.insert(first);
                self.hand_over(dst, client, first);
                self.slab.release(first);
                self.hand_over(dst, src, payload);
            }
        }
    }

    pub(super) fn wake(&mut self, fault: u16) {
        let Some(i) = self.faces.iter().position(|face| face.fault == fault && !face.awake) else { return };
        self.faces[i].awake = true;
        let (seat, of, form) = (self.faces[i].seat, self.faces[i].of, self.faces[i].form);
        if form == Form::Outgoing {
            return;
        }
        let first = self.io.seats.first(of).expect("a persona has a first instance");
        if let Some(copy) = self.nodes[first.index()].fork() {
            self.nodes[seat.index()] = copy;
            let timers: Vec<_> = self.io.timers.of(first).collect();
            timers.into_iter().for_each(|(timer, at)| self.io.timers.set(seat, timer, at));
            self.rounds[seat.index()] = self.rounds[first.index()];
            if !self.stances.is_empty() {
                self.review_stances(seat);
                self.adopt_flags(seat);
            }
        }
    }

    /// What comes next without a message, and when. What waits for a step that has not come waits for it, unless nothing
    /// else will happen.
    pub(super) fn next_moment(&self) -> Option<(Time, Upcoming)> {
        let gst = match self.network.gst {
            Some(Gst::Time(at)) if !self.calm => Some((at, Upcoming::Calm)),
            _ => None,
        };
        let turn = self.turns.next().map(|at| (at.max(self.io.time), Upcoming::Turn));
        let deed = self.plan.as_ref().filter(|plan| !plan.scheduled().is_empty()).and_then(|plan| {
            let idle = self.queue.len() == 0 && self.io.timers.alarms().first.is_none();
            let due = plan.scheduled().iter().filter(|&&(step, ..)| step <= self.io.step || idle);
            let next = due.min_by_key(|&&(step, time, index)| (time, step, index));
            next.map(|&(_, time, index)| (time, Upcoming::Deed(index)))
        });
        [deed, gst, turn].into_iter().flatten().min_by_key(|&(time, _)| time)
    }

    /// Time passes until the next moment, and it happens; says whether there is one.
    pub(super) fn wait(&mut self) -> bool {
        let Some((time, upcoming)) = self.next_moment() else { return false };
        self.io.time = self.io.time.max(time);
        match upcoming {
            Upcoming::Deed(index) => {
                if let Some(plan) = &mut self.plan {
                    plan.take_scheduled(index);
                }
                self.injected.faults += 1;
                self.do_deed(index, None);
            }
            Upcoming::Turn => self.take_turn(),
            Upcoming::Calm => self.calm_down(),
        }
        self.settle();
        true
    }

    /// Does something to nodes, triggered by a message of a sender or by a moment.
    pub(super) fn do_deed(&mut self, index: u16, trigger: Option<(u32, Seat)>) {
        let Some(deed) = self.plan.as_ref().map(|plan| plan.deed(index)) else { return };
        match deed {
            Deed::Crash(seats) => seats.iter().for_each(|seat| self.crash(seat)),
            Deed::Restart(seats, state) => seats.iter().for_each(|seat| self.restart(seat, state)),
            Deed::Jump(seats, by) => seats.iter().for_each(|seat| self.jump(seat, by)),
            Deed::Fire(seats) => seats.iter().for_each(|seat| self.fire_now(seat)),
            Deed::Replay(seats, kind, to) => {
                let src = trigger.map(|(_, src)| src).or_else(|| seats.iter().next());
                let first = src.and_then(|src| self.firsts.get(&(src, kind)).copied());
                if let (Some(src), Some(first)) = (src, first) {
                    self.originate(src, to, self.slab.get(first).clone());
                }
            }
            Deed::Mint(kind, to) => {
                if let Some((like, src)) = trigger {
                    let signer = Signer::of(self.io.seats.node(src));
                    let kinds = kind.map_or(0..P::Msg::KINDS.len() as u8, |kind| kind..kind + 1);
                    for kind in kinds {
                        if let Some(msg) = P::mint(kind, self.slab.get(like), signer) {
                            self.originate(src, to, msg);
                        }
                    }
                }
            }
            Deed::Wake(fault) => self.wake(fault),
        }
    }

    /// A Byzantine node sends a message that its own code did not write. No fault judges it again.
    pub(super) fn originate(&mut self, src: Seat, to: SeatSet, msg: P::Msg) {
        if !self.byzantine.contains(self.io.seats.node(src)) || !self.alive.contains(src) {
            return;
        }
        let kind = msg.kind();
        let payload = self.slab.insert(msg);
        for dst in to.iter() {
            self.injected.mutated += 1;
            self.slab.hold(payload);
            let header = self.header(src, dst, payload, kind, Content::Lie);
            self.push_copy(header, Time(0), None);
        }
        self.slab.release(payload);
    }

    pub(super) fn crash(&mut self, seat: Seat) {
        self.alive.remove(seat);
        self.recount();
        self.io.timers.clear(seat);
        self.io.progressed = true;
        if self.io.recording.is_some() {
            self.io.record(What::Note { seat: Some(self.io.seats.name(seat)), text: "stops".to_owned() });
        }
    }

    pub(super) fn restart(&mut self, seat: Seat, with_state: bool) {
        if self.alive.contains(seat) {
            return;
        }
        self.alive.insert(seat);
        self.recount();
        if self.io.recording.is_some() {
            let text = if with_state { "restarts" } else { "restarts without its memory" };
            self.io.record(What::Note { seat: Some(self.io.seats.name(seat)), text: text.to_owned() });
        }
        if with_state {
            self.call(seat, AnyNode::on_restart);
        } else {
            self.io.ledger.distrust(seat);
            self.nodes[seat.index()] = self.fresh_node(seat);
            self.recount();
            self.call(seat, AnyNode::on_start);
        }
        self.hand_out_mail(seat);
    }

    /// A clock jumps. Of correct nodes only while the network is not calm.
    pub(super) fn jump(&mut self, seat: Seat, by: Time) {
        if (self.calm || self.calm_from_start) && !self.byzantine.contains(self.io.seats.node(seat)) {
            return;
        }
        if self.io.recording.is_some() {
            let text = format!("its clock jumps by {by}");
            self.io.record(What::Note { seat: Some(self.io.seats.name(seat)), text });
        }
        self.note_clock(seat, "jumps");
        self.io.clocks[seat.index()].1 = self.io.clocks[seat.index()].1 + by;
        self.io.timers.advance(seat, by);
    }

    /// The clock of a node is not on time: may that be?
    fn note_clock(&mut self, seat: Seat, how: &str) {
        if self.world.assumed().bound().is_some() && self.io.ledger.correct().contains(seat) {
            let name = self.io.seats.name(seat);
            self.world.note(Assumption::Synchrony, self.io.step, || format!("the clock of {name} {how}"));
        }
    }

    /// The next timer of a seat fires now. Of correct nodes only while the network is not calm.
    pub(super) fn fire_now(&mut self, seat: Seat) {
        let byzantine = self.byzantine.contains(self.io.seats.node(seat));
        if !self.alive.contains(seat) || ((self.calm || self.calm_from_start) && !byzantine) {
            return;
        }
        match self.io.timers.take_first(seat) {
            Some((timer, _)) => {
                self.note_clock(seat, "runs ahead");
                if self.io.recording.is_some() {
                    let (seat, timer) = (self.io.seats.name(seat), timer_name(&timer));
                    self.io.record(What::Fire { seat, timer });
                }
                self.call(seat, |node, cx| node.on_timer(timer, cx));
            }
            None if byzantine => self.call(seat, AnyNode::on_suspect),
            None => {}
        }
    }
}
