//! Sending: from a node's outbox, past the adversary, into the queue.

use super::{Described, Held, Sim};
use crate::fault::Form;
use crate::ids::{NodeId, NodeSet, Seat, Time};
use crate::message::{Message, RoundKey};
use crate::net::Header;
use crate::node::Protocol;
use crate::plan::{Fate, Sent};
use crate::record::What;

impl<P: Protocol> Sim<P> {
    pub(super) fn send(&mut self, src: Seat, me: NodeId, to: NodeSet, payload: u32) {
        self.sendings += 1;
        let msg = self.slab.get(payload);
        let (kind, key) = (msg.kind(), msg.round());
        if let Some(key) = key {
            self.raise(src, key);
        }
        if me.is_client() {
            self.client_kinds |= 1 << kind;
        }
        if !self.single {
            to.iter().for_each(|node| self.send_to_seats(src, me, node, payload, kind, key));
            return;
        }
        let to = to.without(NodeSet::one(me)).and(self.everybody);
        if self.attended || self.network.fifo {
            for node in to.iter() {
                let dst = self.io.seats.first(node).expect("everybody has a seat");
                self.send_copy(src, dst, payload, kind, key);
            }
            return;
        }
        // As `send_copy`, without what nobody asked for: these are the kernel's hottest lines.
        self.slab.hold_for(payload, to.len());
        let from_client = me.is_client();
        for node in to.iter() {
            let dst = Seat((node.index() + if node.is_client() { self.cluster.n } else { 0 }) as u8);
            let (at, id) = (self.io.time + self.latency(), self.next_id);
            self.next_id += 1;
            self.queue.push(Header { at, id, payload, src, dst, kind, from_client, lie: false });
        }
    }

    /// Sends to all instances of an identity: twins are judged one by one, the faces of a liar together.
    pub(super) fn send_to_seats(
        &mut self,
        src: Seat,
        me: NodeId,
        node: NodeId,
        payload: u32,
        kind: u8,
        key: Option<RoundKey>,
    ) {
        let view_change = P::Msg::VIEW_CHANGE[usize::from(kind)];
        if !self.heard(src, me, node, view_change) {
            return;
        }
        let seats: Vec<Seat> = self.io.seats.of(node).filter(|&seat| seat != src).collect();
        if node == me && !self.io.seats.twinned(me) {
            return;
        }
        if self.io.seats.twinned(node) {
            seats.into_iter().for_each(|dst| self.send_copy(src, dst, payload, kind, key));
        } else {
            let Some((&first, others)) = seats.split_first() else { return };
            let before = self.next_id;
            self.send_copy(src, first, payload, kind, key);
            if self.next_id > before {
                // The copy that went out, possibly changed on the way, reaches the other faces as it is.
                let mut sent = None;
                let wanted = self.next_id - 1;
                self.queue.visit(&mut |header| {
                    if header.id == wanted {
                        sent = Some(*header);
                    }
                });
                for &dst in others {
                    if let Some(header) = sent {
                        self.slab.hold(header.payload);
                        self.push(Header { dst, ..header });
                    }
                }
            }
        }
    }

    /// Whether `dst` hears the seat `src` of identity `me`: of several faces, each receiver hears one.
    pub(super) fn heard(&self, src: Seat, me: NodeId, dst: NodeId, view_change: bool) -> bool {
        let mut faces = self.faces.iter().filter(|face| face.of == me && face.form == Form::Instance);
        if let Some(own) = faces.clone().find(|face| face.seat == src) {
            let first = faces.find(|face| face.speaks_to(dst, view_change));
            return !own.mute() && first.is_some_and(|first| first.seat == src);
        }
        faces.find(|face| face.speaks_to(dst, view_change)).is_none_or(|face| face.overlaps(view_change))
    }

    pub(super) fn copy(
        &self,
        src: Seat,
        dst: Seat,
        kind: u8,
        key: Option<RoundKey>,
        msg: &P::Msg,
        sending: u32,
    ) -> Sent {
        let round = self.rounds[src.index()];
        Sent {
            src,
            dst,
            kind,
            key,
            slot: msg.slot(),
            sending,
            sender_max: round.number,
            named: key.map_or(0, P::number),
            sender_view: round.key.view,
            global: self.highest_round,
            step: self.io.step,
            now: self.io.time,
            calm: self.calm,
            byzantine: self.byzantine.contains(self.io.seats.node(src)),
        }
    }

    pub(super) fn send_copy(&mut self, src: Seat, dst: Seat, payload: u32, kind: u8, key: Option<RoundKey>) {
        if self.adversary.is_some() {
            self.send_judged(src, dst, payload, kind, key);
        } else {
            self.slab.hold(payload);
            self.push_copy(src, dst, payload, kind, Time(0), false);
        }
    }

    pub(super) fn send_judged(
        &mut self,
        src: Seat,
        dst: Seat,
        payload: u32,
        kind: u8,
        key: Option<RoundKey>,
    ) {
        let copy = self.copy(src, dst, kind, key, self.slab.get(payload), self.sendings);
        let mut verdict = std::mem::take(&mut self.verdict);
        verdict.fate = Fate::Send;
        verdict.delay = Time(0);
        verdict.extra = 0;
        verdict.lies.clear();
        verdict.deeds.clear();
        verdict.matched = 0;
        if let Some(adversary) = &mut self.adversary {
            adversary.judge(&copy, &mut verdict);
        }
        self.injected.faults += verdict.matched;
        for &deed in &verdict.deeds {
            self.slab.hold(payload);
            self.deeds.push_back((deed, Some(payload)));
        }
        self.slab.hold(payload);
        let told = self.tell(src, dst, payload, kind, &verdict);
        match (told, verdict.fate) {
            (None, _) | (_, Fate::Drop) => {
                self.injected.dropped += 1;
                let payload = told.map_or(payload, |(payload, _)| payload);
                if self.io.recording.is_some() {
                    let (src, dst) = (self.io.seats.name(src), self.io.seats.name(dst));
                    let text = Described(self.slab.get(payload)).to_string();
                    self.io.record(What::Drop { src, dst, text });
                }
                self.slab.release(payload);
            }
            (Some((payload, lie)), fate) => {
                for _ in 0..verdict.extra {
                    self.slab.hold(payload);
                    self.push_copy(src, dst, payload, kind, verdict.delay, lie);
                }
                match fate {
                    Fate::Hold(until) => self.hold(src, dst, payload, kind, lie, until),
                    _ => self.push_copy(src, dst, payload, kind, verdict.delay, lie),
                }
            }
        }
        self.verdict = verdict;
    }

    pub(super) fn push_copy(&mut self, src: Seat, dst: Seat, payload: u32, kind: u8, delay: Time, lie: bool) {
        let at = self.arrival(src, dst, delay);
        let from_client = self.io.seats.node(src).is_client();
        self.push(Header { at, id: 0, payload, src, dst, kind, from_client, lie });
    }

    pub(super) fn push(&mut self, mut header: Header) {
        header.id = self.next_id;
        self.next_id += 1;
        if self.numbering.on {
            let count = self.numbering.counts.entry((header.src, header.dst, header.kind)).or_default();
            *count += 1;
            self.numbering.of.resize(self.next_id as usize, 0);
            self.numbering.of[header.id as usize] = *count;
        }
        self.queue.push(header);
    }

    /// When a copy that is sent now arrives.
    fn arrival(&mut self, src: Seat, dst: Seat, delay: Time) -> Time {
        let mut at = self.io.time + self.latency() + delay;
        if self.network.fifo {
            let last = &mut self.links[src.index() * self.nodes.len() + dst.index()];
            at = at.max(*last);
            *last = at;
        }
        at
    }

    #[inline]
    fn latency(&mut self) -> Time {
        let (least, most) = self.latency;
        if least == most {
            return least;
        }
        Time(least.0 + u64::from(self.network_rng.below((most.0 - least.0) as u32 + 1)))
    }

    pub(super) fn lose(&mut self, header: Header) {
        self.io.trail.add(4 << 60 | u64::from(header.id));
        self.injected.dropped += 1;
        if self.io.recording.is_some() {
            let (src, dst) = (self.io.seats.name(header.src), self.io.seats.name(header.dst));
            let text = Described(self.slab.get(header.payload)).to_string();
            self.io.record(What::Drop { src, dst, text });
        }
        self.slab.release(header.payload);
        self.look();
    }

    pub(super) fn hold(&mut self, src: Seat, dst: Seat, payload: u32, kind: u8, lie: bool, until: u64) {
        let msg = self.slab.get(payload);
        let same = |held: &Held| {
            let other = &held.header;
            other.src == src && other.dst == dst && other.kind == kind && self.slab.get(other.payload) == msg
        };
        if self.held.iter().any(same) {
            // Equal copies go out once.
            self.slab.release(payload);
            return;
        }
        self.injected.held += 1;
        let from_client = self.io.seats.node(src).is_client();
        if self.io.recording.is_some() {
            let text = Described(msg).to_string();
            self.io.record(What::Hold { src: self.io.seats.name(src), dst: self.io.seats.name(dst), text });
        }
        let header = Header { at: Time(0), id: 0, payload, src, dst, kind, from_client, lie };
        self.held.push(Held { header, until });
    }

    /// Sends the held copies that may go.
    pub(super) fn release(&mut self, may_go: impl Fn(&Self, &Held) -> bool) {
        let mut i = 0;
        while i < self.held.len() {
            if may_go(self, &self.held[i]) {
                let Held { mut header, .. } = self.held.remove(i);
                header.at = self.arrival(header.src, header.dst, Time(0));
                self.push(header);
            } else {
                i += 1;
            }
        }
    }

    /// A seat meets a round: its counter grows if the round is later than all before.
    pub(super) fn raise(&mut self, seat: Seat, key: RoundKey) {
        let round = &mut self.rounds[seat.index()];
        if key <= round.key {
            return;
        }
        round.number += P::advance(round.key, key).max(1);
        round.key = key;
        let number = round.number;
        self.highest_round = self.highest_round.max(number);
        if !self.held.is_empty() {
            self.release(|sim, held| u64::from(sim.rounds[held.header.src.index()].number) > held.until);
        }
        if let Some(last) = self.last_fault_round
            && !self.calm
            && self.calm_at.0 != u64::MAX
            && u64::from(number) > last
        {
            let left = |seat: Seat| u64::from(self.rounds[seat.index()].number) > last;
            let correct = self.io.ledger.correct();
            let mut replicas = self.io.seats.replicas().iter().filter(|&seat| correct.contains(seat));
            if replicas.all(|seat| left(seat) || !self.alive.contains(seat)) {
                // Now, at the next look: not in the middle of a broadcast.
                self.calm_at.0 = self.io.step;
                self.look_step = 0;
            }
        }
    }
}
