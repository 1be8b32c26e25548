//! Sending: from a node's outbox, past the adversary, into the queue.

use smallvec::SmallVec;

use super::{AnyNode, Held, Number, Round, Sim, Triggered};
use crate::adversary::{Fate, Sent, Sight};
use crate::assume::Assumption;
use crate::fault::{Form, RoundSource};
use crate::ids::{NodeId, NodeSet, Seat, Slot, Time};
use crate::message::{Message, RoundKey};
use crate::net::{Content, Header};
use crate::node::{Cluster, Protocol, Vitals};
use crate::part::{Described, Part};
use crate::persona::Face;
use crate::record::{Arrival, Loss, What};

/// One message on its way to several receivers.
#[derive(Clone, Copy)]
struct Sending {
    src: Seat,
    payload: u32,
    kind: u8,
    /// A copy as the adversary sees it, if it may do anything about this message.
    judged: Option<Sent>,
}

/// What the adversary may look at while a message is sent.
struct Seen<'a, P: Protocol> {
    msg: &'a P::Msg,
    nodes: &'a [AnyNode<P>],
    cluster: &'a Cluster,
}

impl<P: Protocol> Sight for Seen<'_, P> {
    fn number(&self, place: &[u8]) -> Option<u64> {
        self.msg.number(place)
    }
    fn vitals(&self, seat: Seat) -> Vitals {
        self.nodes[seat.index()].vitals(self.cluster)
    }
}

impl Held {
    /// Until the network is calm, or whole again.
    const fn until_calm(header: Header, sent: Time, row: u32) -> Self {
        Self { header, until: u64::MAX, source: RoundSource::Global, delay: Time(0), sent, row }
    }
}

impl<P: Protocol> Sim<P> {
    #[inline(always)]
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
        if self.slab.keep {
            self.firsts.entry((src, kind)).or_insert(payload);
        }
        let sent = Sending { src, payload, kind, judged: None };
        if !self.plain {
            return self.send_with_care(sent, me, to, key);
        }
        // These are the kernel's hottest lines.
        let to = to.without(NodeSet::one(me)).and(self.everybody);
        self.slab.hold_for(payload, to.len());
        for node in to.iter() {
            self.push_plain(sent, me, node);
        }
    }

    /// Sends where somebody may have a say in it.
    #[inline(never)]
    fn send_with_care(&mut self, mut sent: Sending, me: NodeId, to: NodeSet, key: Option<RoundKey>) {
        sent.judged = self.judged(&sent, key);
        let free = sent.judged.is_none() && !self.watched && !self.network.fifo && self.split.is_empty();
        for node in to.iter() {
            // Between two that have one seat each, all is as if everybody had.
            if !(self.alone.contains(me) && self.alone.contains(node)) {
                self.send_to_seats(sent, me, node);
            } else if node != me && free {
                self.slab.hold(sent.payload);
                self.push_plain(sent, me, node);
            } else if node != me {
                self.send_copies(sent, &[self.only_seat(node)]);
            }
        }
    }

    /// As `send_copies`, without what nobody asked for.
    #[inline(always)]
    fn push_plain(&mut self, sent: Sending, me: NodeId, node: NodeId) {
        let Sending { src, payload, kind, .. } = sent;
        let dst = self.only_seat(node);
        let (at, id) = (self.io.time + self.latency(), self.next_id);
        self.next_id += 1;
        let (from_client, content) = (me.is_client(), Content::Genuine);
        self.queue.push(Header { at, id, payload, src, dst, kind, from_client, content });
    }

    /// The seat of an identity that has one.
    #[inline(always)]
    fn only_seat(&self, node: NodeId) -> Seat {
        Seat((node.index() + if node.is_client() { self.cluster.n } else { 0 }) as u8)
    }

    /// What the adversary sees of a message, if it may do something about it.
    fn judged(&mut self, sent: &Sending, key: Option<RoundKey>) -> Option<Sent> {
        self.plan.as_ref()?;
        let Sending { src, payload, kind, .. } = *sent;
        let copy = self.copy(src, src, kind, key, self.slab.get(payload).slot(), self.sendings);
        let Self { plan, verdict, slab, nodes, cluster, .. } = self;
        let plan = plan.as_mut()?;
        let speaks = |face: &Face| face.form == Form::Outgoing && face.seat == src;
        let concerned = plan.concerns(&copy) || self.faces.iter().any(speaks);
        if cfg!(debug_assertions) && !concerned {
            // What is said of all copies must be so of each.
            for dst in self.io.seats.all() {
                verdict.clear();
                let sight = Seen::<P> { msg: slab.get(payload), nodes, cluster };
                plan.judge(&Sent { dst, ..copy }, &sight, verdict);
                assert_eq!(verdict.matched, 0, "a fault meets {copy:?}");
            }
        }
        concerned.then_some(copy)
    }

    /// Sends to all instances of an identity: twins are judged one by one, the faces of a liar together.
    fn send_to_seats(&mut self, sent: Sending, me: NodeId, node: NodeId) {
        let view_change = P::Msg::VIEW_CHANGE[usize::from(sent.kind)];
        if !self.heard(sent.src, me, node, view_change) || (node == me && !self.io.seats.twinned(me)) {
            return;
        }
        let seats: SmallVec<[Seat; 4]> = self.io.seats.of(node).filter(|&seat| seat != sent.src).collect();
        if self.io.seats.twinned(node) {
            seats.iter().for_each(|&dst| self.send_copies(sent, &[dst]));
        } else if !seats.is_empty() {
            self.send_copies(sent, &seats);
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
        slot: Option<Slot>,
        sending: u32,
    ) -> Sent {
        let round = self.rounds[src.index()];
        let own = key.unwrap_or(round.key);
        Sent {
            src,
            dst,
            kind,
            key,
            slot,
            sending,
            sender_max: round.number,
            named: P::number(own),
            view: P::nth_view(own.view),
            sender_view: P::nth_view(round.key.view),
            global: self.highest_round,
            step: self.io.step,
            now: self.io.time,
            calm: self.calm || self.calm_from_start,
            byzantine: self.byzantine.contains(self.io.seats.node(src)),
        }
    }

    /// Sends one copy to each of these seats. An adversary judges the first, the others fare alike.
    fn send_copies(&mut self, sent: Sending, to: &[Seat]) {
        let Sending { src, payload, kind, judged } = sent;
        let Some(copy) = judged.map(|copy| Sent { dst: to[0], ..copy }) else {
            for &dst in to {
                let header = self.header(src, dst, payload, kind, Content::Genuine);
                if self.is_cut(src, dst) {
                    self.keep_or_lose(&header, payload);
                } else {
                    self.slab.hold(payload);
                    self.push_copy(header, Time(0), Some(payload));
                }
            }
            return;
        };
        let Self { plan, verdict, slab, nodes, cluster, .. } = self;
        verdict.clear();
        if let Some(plan) = plan {
            let sight = Seen::<P> { msg: slab.get(payload), nodes, cluster };
            plan.judge(&copy, &sight, verdict);
        }
        self.injected.faults += verdict.matched;
        for &index in &verdict.deeds {
            slab.hold(payload);
            self.deeds.push_back(Triggered { index, payload, src });
        }
        let (fate, delay, extra) = (verdict.fate, verdict.delay, verdict.extra);
        slab.hold(payload);
        let told = self.tell(src, to[0], payload, kind);
        let truth = payload;
        let (payload, content) = told.unwrap_or((payload, Content::Genuine));
        if self.stances.is_listening() && told.is_some() && fate != Fate::Drop {
            self.listen(to[0], payload, content);
        }
        for &dst in to {
            let header = self.header(src, dst, payload, kind, content);
            match fate {
                _ if told.is_some() && self.is_cut(src, dst) => self.keep_or_lose(&header, truth),
                Fate::Hold(until, source) if told.is_some() => {
                    self.slab.hold(payload);
                    let sent = self.io.time;
                    self.hold(Held { header, until, source, delay, sent, row: 0 }, Some(truth));
                }
                Fate::Send if told.is_some() => {
                    for _ in 0..=extra {
                        self.slab.hold(payload);
                        self.push_copy(header, delay, Some(truth));
                    }
                }
                _ if told.is_some() => self.lose_unsent(&header, truth, Loss::Network),
                _ if copy.byzantine => self.lose_unsent(&header, truth, Loss::Withheld),
                // A flipped bit has made it unreadable.
                _ => self.keep_or_lose(&header, truth),
            }
        }
        self.slab.release(payload);
    }

    /// Whether somebody has split the network between the two.
    fn is_cut(&self, src: Seat, dst: Seat) -> bool {
        let inside = |seat: Seat| self.split.contains(self.io.seats.node(seat));
        !self.split.is_empty() && inside(src) != inside(dst)
    }

    /// The network does not let a copy pass: it arrives later, or never.
    fn keep_or_lose(&mut self, header: &Header, truth: u32) {
        if self.arrives_later(header) {
            self.slab.hold(header.payload);
            self.hold(Held::until_calm(*header, self.io.time, 0), Some(truth));
        } else {
            self.lose_unsent(header, truth, Loss::Network);
        }
    }

    /// A copy is lost before it is in flight.
    fn lose_unsent(&mut self, header: &Header, truth: u32, by: Loss) {
        if by == Loss::Network {
            self.note_loss(header);
        }
        self.injected.dropped += 1;
        let row = self.record_copy(header, Some(truth));
        self.record_loss(row, by);
        let Header { payload, src, dst, .. } = *header;
        self.record_message(payload, src, dst, |src, dst, text| What::Drop { src, dst, text });
    }

    /// Whether the network delivers later what it does not deliver now. What a liar does not send is lost.
    fn arrives_later(&self, header: &Header) -> bool {
        self.holds && !self.calm && !self.byzantine.contains(self.io.seats.node(header.src))
    }

    /// Whether a message from one to the other is one between correct nodes.
    fn both_correct(&self, header: &Header) -> bool {
        let correct = self.io.ledger.correct();
        correct.contains(header.src) && correct.contains(header.dst)
    }

    /// The network has lost a copy: may that be?
    fn note_loss(&mut self, header: &Header) {
        if self.both_correct(header) {
            self.injected.lost += 1;
            let Header { src, dst, payload, .. } = *header;
            let (src, dst) = (self.io.seats.name(src), self.io.seats.name(dst));
            let slab = &self.slab;
            self.world.lost(1, self.calm, self.io.step, || {
                format!("{} from {src} to {dst}", Described(slab.get(payload)))
            });
        }
    }

    /// A copy took longer than is assumed, if it is one between correct nodes.
    pub(super) fn note_delay(&mut self, header: &Header) {
        let Some(took) = self.world.overdue(header.id, self.io.time).filter(|_| self.both_correct(header))
        else {
            return;
        };
        let Header { src, dst, payload, .. } = *header;
        let (src, dst) = (self.io.seats.name(src), self.io.seats.name(dst));
        let slab = &self.slab;
        self.world.note(Assumption::Synchrony, self.io.step, || {
            format!("{} from {src} to {dst} took {took} ticks or more", Described(slab.get(payload)))
        });
    }

    /// The header of a copy that is not in flight yet.
    pub(super) fn header(&self, src: Seat, dst: Seat, payload: u32, kind: u8, content: Content) -> Header {
        let from_client = self.io.seats.node(src).is_client();
        Header { at: Time(0), id: 0, payload, src, dst, kind, from_client, content }
    }

    /// Puts a copy on its way. The `truth` is what its sender's code wrote, if it wrote anything.
    pub(super) fn push_copy(&mut self, mut header: Header, delay: Time, truth: Option<u32>) {
        header.at = self.arrival(header.src, header.dst, delay);
        let row = self.record_copy(&header, truth);
        self.push(header, row, self.io.time);
    }

    pub(super) fn push(&mut self, mut header: Header, row: u32, sent: Time) {
        header.id = self.next_id;
        self.next_id += 1;
        if self.world.timed() {
            self.world.sends(header.id, sent);
        }
        if self.numbering.on {
            let count = self.numbering.counts.entry((header.src, header.dst, header.kind)).or_default();
            *count += 1;
            self.numbering.of.resize(self.next_id as usize, Number::default());
            let nth = *count;
            self.numbering.of[header.id as usize] = Number { nth, row };
            self.recorded(row).into_iter().for_each(|copy| copy.nth = nth);
        }
        self.queue.push(header);
    }

    /// When a copy that is sent now arrives.
    fn arrival(&mut self, src: Seat, dst: Seat, delay: Time) -> Time {
        let mut at = self.io.time + self.latency() + delay;
        if let Some(bound) = self.bound
            && self.calm
            && !self.byzantine.contains(self.io.seats.node(src))
        {
            at = at.min(self.io.time + bound);
        }
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

    /// A copy that is in flight does not arrive now.
    #[cold]
    pub(super) fn lose(&mut self, header: Header, by: Loss) {
        self.io.trail.add(4 << 60 | u64::from(header.id));
        let row = self.numbering.of.get(header.id as usize).map_or(0, |number| number.row);
        let held = Held::until_calm(header, self.io.time, row);
        if by == Loss::Network && self.arrives_later(&header) {
            self.hold(held, None);
            return self.look();
        }
        if by == Loss::Down && self.holds {
            self.mail.push(held);
            return self.look();
        }
        match by {
            Loss::Network => self.note_loss(&header),
            Loss::Down => self.missed[header.dst.index()] += 1,
            Loss::Withheld => {}
        }
        self.injected.dropped += 1;
        let Header { payload, src, dst, .. } = header;
        let step = self.io.step;
        self.record_arrival(header.id, Arrival::Lost { step, by });
        self.record_message(payload, src, dst, |src, dst, text| What::Drop { src, dst, text });
        self.slab.release(header.payload);
        self.look();
    }

    /// Keeps a copy back; equal ones go out once. The `truth` is what its sender's code wrote, unless it is in flight already.
    fn hold(&mut self, mut held: Held, truth: Option<u32>) {
        let Header { src, dst, payload, kind, .. } = held.header;
        let same = |other: &Held| {
            let other = &other.header;
            let msg = self.slab.get(payload);
            other.src == src && other.dst == dst && other.kind == kind && self.slab.get(other.payload) == msg
        };
        // Once the network is calm, nothing is released any more: it keeps nothing back then.
        if self.held.iter().any(same) {
            self.slab.release(payload);
            return;
        }
        if truth.is_some() {
            held.row = self.record_copy(&held.header, truth);
        }
        if self.calm {
            self.push_held(held);
        } else {
            self.injected.held += 1;
            if let Some(copy) = self.recorded(held.row) {
                copy.held = true;
            }
            self.record_message(payload, src, dst, |src, dst, text| What::Hold { src, dst, text });
            self.held.push(held);
        }
    }

    fn push_held(&mut self, held: Held) {
        let Held { mut header, delay, sent, row, .. } = held;
        header.at = self.arrival(header.src, header.dst, delay);
        self.push(header, row, sent);
    }

    /// A node is up again: it gets what was kept for it. Who has stopped for good is owed nothing, but it is.
    pub(super) fn hand_out_mail(&mut self, seat: Seat) {
        let missed = std::mem::take(&mut self.missed[seat.index()]);
        if missed > 0 && self.io.ledger.correct().contains(seat) {
            let name = self.io.seats.name(seat);
            self.injected.lost += missed;
            self.world.lost(missed, self.calm, self.io.step, || format!("sent to {name} while it was down"));
        }
        let mail = std::mem::take(&mut self.mail);
        for held in mail {
            if held.header.dst == seat {
                self.push_held(held);
            } else {
                self.mail.push(held);
            }
        }
    }

    /// Sends the held copies that may go.
    pub(super) fn release(&mut self, may_go: impl Fn(&Self, &Held) -> bool) {
        let mut i = 0;
        while i < self.held.len() {
            if may_go(self, &self.held[i]) {
                let held = self.held.remove(i);
                self.push_held(held);
            } else {
                i += 1;
            }
        }
    }

    /// Whether the sender of a held copy has left the rounds for which it is held.
    fn has_left(&self, held: &Held) -> bool {
        let round = self.rounds[held.header.src.index()];
        let position = match held.source {
            RoundSource::SenderMax => round.number,
            RoundSource::Named => P::number(round.key),
            RoundSource::Slot => round.key.slot.0,
            RoundSource::View | RoundSource::SenderView => P::nth_view(round.key.view),
            RoundSource::Global => self.highest_round,
        };
        u64::from(position) > held.until
    }

    /// A seat meets a round: its counter grows if the round is later than all before.
    pub(super) fn raise(&mut self, seat: Seat, key: RoundKey) {
        let round = &mut self.rounds[seat.index()];
        if key <= round.key {
            return;
        }
        round.number = round.number.saturating_add(P::advance(round.key, key).max(1));
        round.key = key;
        self.highest_round = self.highest_round.max(round.number);
        if !self.held.is_empty() {
            self.release(Self::has_left);
        }
        if !self.stances.is_empty() {
            self.review_stances(seat);
        }
        let last = self.last_fault_rounds;
        let faults_over = move |round: &Round| last.over(round.number, P::nth_view(round.key.view));
        if !self.calm && !self.scripted && self.all_have(seat, faults_over) {
            // Now, at the next look: not in the middle of a broadcast.
            self.calm_at.0 = self.io.step;
            self.look_step = 0;
        }
        let views = self.limits.views.unwrap_or(u32::MAX);
        let views_over = move |round: &Round| P::nth_view(round.key.view) > views;
        if self.views_over_at.is_none() && self.all_have(seat, views_over) {
            self.views_over_at = Some((self.io.time, self.io.step));
            self.last_step = 0;
        }
    }

    /// Whether `seat` has got so far, and all correct replicas that have not stopped have too.
    fn all_have(&self, seat: Seat, so_far: impl Fn(&Round) -> bool) -> bool {
        let has = |seat: Seat| so_far(&self.rounds[seat.index()]);
        let correct = self.io.ledger.correct();
        let waited_for = |&other: &Seat| correct.contains(other) && self.alive.contains(other);
        has(seat) && self.io.seats.replicas().iter().filter(waited_for).all(has)
    }
}
