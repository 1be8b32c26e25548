//! What can happen to a node: a message, a timer; and what follows at once.

use super::{AnyNode, Sim, timer_name};
use crate::assume::Assumption;
use crate::fault::Form;
use crate::ids::{NodeId, NodeSet, Seat, Time};
use crate::message::Message;
use crate::net::{Content, Header};
use crate::node::{Context, Protocol, State};
use crate::part::Described;
use crate::record::{Arrival, Loss, What};

/// So many events of a recorded run are watched for messages that have no effect. States grow, and who looks at later ones
/// does not look at each.
const WATCHED: u64 = 4000;

impl<P: Protocol> Sim<P> {
    /// A message arrives. Unless the run is attended, nothing but its receiver takes notice.
    #[inline(always)]
    pub(super) fn deliver(&mut self, header: Header) {
        self.io.step += 1;
        self.io.time = self.io.time.max(header.at);
        let Header { src, dst, payload, kind, .. } = header;
        if !self.alive.contains(dst) {
            return self.lose(header, Loss::Down);
        }
        self.deliveries += 1;
        let ends = u64::from(src.0) << 16 | u64::from(dst.0) << 8 | u64::from(kind);
        self.io.trail.add(self.io.time.0 << 24 ^ ends);
        if let Some(key) = self.slab.get(payload).round() {
            self.raise(dst, key);
        }
        if self.attended {
            self.hand_over_attended(header);
        } else {
            self.hand_over(dst, src, payload);
        }
        self.slab.release(payload);
        self.look();
    }

    /// Hands a message over while somebody watches or meddles.
    fn hand_over_attended(&mut self, header: Header) {
        if self.world.timed() {
            self.note_delay(&header);
        }
        let Header { src, dst, payload, .. } = header;
        let recorded = self.io.recording.is_some();
        let face = self.faces.iter().any(|face| face.seat == dst && face.form == Form::Instance);
        if !recorded && !face && header.content == Content::Genuine {
            self.hand_over(dst, src, payload);
            self.hashes[dst.index()] = None;
            return self.do_triggered();
        }
        if recorded {
            let step = self.io.step;
            // Also if it crashes its receiver.
            self.record_arrival(header.id, Arrival::Delivered { step, heeded: true });
            let (src, dst) = (self.io.seats.name(src), self.io.seats.name(dst));
            let text = Described(self.slab.get(payload)).to_string();
            self.io.record(What::Deliver { src, dst, text, lie: header.content != Content::Genuine });
        }
        let hash = |sim: &Self| sim.nodes[dst.index()].state().map(State::state_hash);
        // The copies of a liar's faces change on their own.
        let known = self.hashes[dst.index()].take().filter(|_| self.faces.is_empty());
        let watched = recorded && self.io.step <= WATCHED;
        let before = (header.content == Content::Lie || watched).then(|| known.or_else(|| hash(self)));
        let sent_before = self.sendings;
        if header.content == Content::Garbage {
            self.crashed(dst, "received bytes that do not decode");
        } else if face {
            self.deliver_to_face(header);
        } else {
            self.hand_over(dst, src, payload);
        }
        if let Some(before) = before {
            let after = hash(self);
            self.hashes[dst.index()] = after;
            let changed = before.is_some() && before != after;
            let heeded = changed || self.sendings != sent_before;
            self.injected.accepted += u32::from(heeded && header.content == Content::Lie);
            if !heeded && before.is_some() && header.content != Content::Garbage {
                let step = self.io.step;
                self.record_arrival(header.id, Arrival::Delivered { step, heeded });
            }
        }
        self.do_triggered();
    }

    pub(super) fn fire(&mut self, seat: Seat, timer: P::Timer, at: Time) {
        self.io.step += 1;
        if self.world.timed() {
            self.note_late_timer(seat, timer, at);
        }
        self.io.time = self.io.time.max(at);
        self.io.trail.add(3 << 60 | self.io.time.0 << 8 | u64::from(seat.0));
        if self.io.recording.is_some() {
            self.io.record(What::Fire { seat: self.io.seats.name(seat), timer: timer_name(&timer) });
        }
        self.call(seat, |node, cx| node.on_timer(timer, cx));
        self.settle();
    }

    /// A timer fires: is it as late as a message may not be?
    #[cold]
    fn note_late_timer(&mut self, seat: Seat, timer: P::Timer, at: Time) {
        if self.world.is_late(at, self.io.time) && self.io.ledger.correct().contains(seat) {
            let name = self.io.seats.name(seat);
            let event = || format!("timer {} of {name}, due at {at}", timer_name(&timer));
            self.world.note(Assumption::Synchrony, self.io.step, event);
        }
    }

    /// After an event: deeds that it triggered, then a look around.
    pub(super) fn settle(&mut self) {
        self.do_triggered();
        self.look();
    }

    pub(super) fn do_triggered(&mut self) {
        while let Some(triggered) = self.deeds.pop_front() {
            self.do_deed(triggered.index, Some((triggered.payload, triggered.src)));
            self.slab.release(triggered.payload);
        }
    }

    /// Runs a handler of a node, and carries out what it did.
    pub(super) fn call(&mut self, seat: Seat, handler: impl FnOnce(&mut AnyNode<P>, &mut Context<'_, P>)) {
        self.hashes[seat.index()] = None;
        self.running = Some(seat);
        self.io.seat = seat;
        let (me, now) = (self.io.seats.node(seat), self.io.local_time(seat));
        let mut cx = Context { me, now, cluster: &self.cluster, io: &mut self.io };
        handler(&mut self.nodes[seat.index()], &mut cx);
        self.running = None;
        self.flush(seat);
    }

    /// Hands a payload to a node.
    #[inline(always)]
    pub(super) fn hand_over(&mut self, dst: Seat, src: Seat, payload: u32) {
        self.handle(dst, self.io.seats.node(src), payload);
        self.flush(dst);
    }

    #[inline]
    pub(super) fn handle(&mut self, dst: Seat, from: NodeId, payload: u32) {
        self.running = Some(dst);
        self.io.seat = dst;
        let (me, now) = (self.io.seats.node(dst), self.io.local_time(dst));
        let mut cx = Context { me, now, cluster: &self.cluster, io: &mut self.io };
        self.nodes[dst.index()].on_message(from, self.slab.get(payload), &mut cx);
        self.running = None;
    }

    /// Sends what a handler left in the outbox; own copies are handled at once, before any other event.
    #[inline(always)]
    pub(super) fn flush(&mut self, seat: Seat) {
        if !self.io.outbox.is_empty() {
            self.send_out(seat);
        }
    }

    /// Whether a message takes another way into the network. Out of the way of those that do not: `send_out` is hot.
    #[cold]
    #[inline(never)]
    fn takes_detour(&mut self, seat: Seat, me: NodeId, to: NodeSet, payload: u32) -> bool {
        self.waits_for_turn(seat, me, to, payload)
            || (!self.stances.is_empty() && self.send_believing(seat, me, to, payload))
    }

    #[inline(never)]
    fn send_out(&mut self, seat: Seat) {
        let me = self.io.seats.node(seat);
        loop {
            let mut outbox = std::mem::take(&mut self.io.outbox);
            for (to, msg) in outbox.drain(..) {
                let payload = self.slab.insert(msg);
                if to.contains(me) {
                    self.slab.hold(payload);
                    self.own.push_back(payload);
                }
                if !(self.detours && self.takes_detour(seat, me, to, payload)) {
                    self.send(seat, me, to, payload);
                }
                self.slab.release(payload);
            }
            self.io.outbox = outbox;
            let Some(payload) = self.own.pop_front() else { break };
            self.handle(seat, me, payload);
            self.slab.release(payload);
        }
    }
}
