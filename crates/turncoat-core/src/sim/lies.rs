//! Lies: the one place where a message is changed on behalf of its sender.

use super::{Rejected, Sim};
use crate::adversary::{Fate, LieSpec};
use crate::fault::Form;
use crate::hash::stable_hash;
use crate::ids::{NodeSet, Seat};
use crate::message::{Lie, Message};
use crate::net::{Content, Header};
use crate::node::Protocol;
use crate::outcome::Outcome;
use crate::part::{Liar, Mutation, Part, Scope, Seen};
use crate::record::{Loss, What};
use crate::rng::{Purpose, Rng};
use crate::schedule::Action;

/// What became of a lie.
pub(super) enum Told {
    /// It goes out in this payload.
    Changed(u32),
    /// There was nothing to change.
    Same,
    /// The lie is to say nothing.
    Omitted,
    /// What goes out cannot be decoded.
    Garbage,
}

/// What (kind, seed) stands for, before it is cut to the number of choices.
fn draw_of(kind: u8, seed: u64) -> u64 {
    stable_hash(0xD4A, &(kind, seed))
}

/// The row of a list that (kind, seed) stands for.
fn drawn_from(rows: &[Lie], kind: u8, seed: u64) -> Option<Lie> {
    (!rows.is_empty()).then(|| rows[(draw_of(kind, seed) % rows.len() as u64) as usize])
}

impl<P: Protocol> Sim<P> {
    /// Tells the lies of the verdict, and those of an outgoing face: the payload to send and whether it is a
    /// lie, or nothing if it is not sent. The copy's hold moves from the true payload to the false one.
    pub(super) fn tell(&mut self, src: Seat, dst: Seat, payload: u32, kind: u8) -> Option<(u32, Content)> {
        let mut current = payload;
        let mut content = Content::Genuine;
        let receiver = self.io.seats.node(dst);
        for i in 0..self.faces.len() {
            let face = &self.faces[i];
            let view_change = P::Msg::VIEW_CHANGE[usize::from(kind)];
            if face.form != Form::Outgoing || face.seat != src || !face.speaks_to(receiver, view_change) {
                continue;
            }
            let msg = self.slab.get(current);
            match face.output(msg, self.io.ledger.submitted(), NodeSet::one(face.of)) {
                None => return self.untold(payload, current),
                Some(lie) if lie != *msg => {
                    current = self.exchange(current, lie);
                    content = Content::Lie;
                }
                Some(_) => {}
            }
        }
        if self.verdict.fate == Fate::Drop {
            return Some((current, content));
        }
        for i in 0..self.verdict.lies.len() {
            let lie = self.verdict.lies[i].clone();
            match self.lie(src, dst, current, kind, &lie) {
                Ok(Told::Changed(lie)) => {
                    current = lie;
                    content = Content::Lie;
                }
                Ok(Told::Omitted) => return self.untold(payload, current),
                Ok(Told::Garbage) => return Some((current, Content::Garbage)),
                Ok(Told::Same) | Err(_) => self.injected.refused += 1,
            }
        }
        self.injected.mutated += u32::from(content == Content::Lie);
        Some((current, content))
    }

    /// Nothing is said: the copy's hold goes back to the true payload.
    fn untold(&mut self, payload: u32, current: u32) -> Option<(u32, Content)> {
        self.slab.hold(payload);
        self.slab.release(current);
        None
    }

    pub(super) fn exchange(&mut self, old: u32, new: P::Msg) -> u32 {
        let new = self.slab.insert(new);
        self.slab.release(old);
        new
    }

    /// The one place where a message is changed on behalf of its sender: only a Byzantine one may.
    ///
    /// A flipped bit on an honest sender's copy is corruption by the network: the copy is lost, or crashes a receiver
    /// that does not survive garbage.
    pub(super) fn lie(
        &mut self,
        src: Seat,
        dst: Seat,
        payload: u32,
        kind: u8,
        spec: &LieSpec,
    ) -> Result<Told, Rejected> {
        let byzantine = self.may_lie(src).is_ok();
        if !matches!(spec, LieSpec::Flip(_) | LieSpec::Garble(_)) {
            self.may_lie(src)?;
        }
        let (lie, seed) = match *spec {
            LieSpec::Flip(seed) => return Ok(self.flip(payload, kind, dst, byzantine, seed)),
            LieSpec::Garble(seed) => return Ok(self.garble(payload, kind, dst, byzantine, seed)),
            LieSpec::Row(lie, seed) => (lie, seed),
            LieSpec::Drawn { seed, scope, only } => match self.draw_lie(kind, seed, scope, only) {
                Some(lie) => (lie, seed),
                None => return Ok(Told::Same),
            },
        };
        let told = match lie {
            Lie::Omit => Told::Omitted,
            Lie::Mutate(row) => match self.mutated(src, payload, (kind, row), seed) {
                Some(lie) => Told::Changed(self.exchange(payload, lie)),
                None => Told::Same,
            },
        };
        if matches!(told, Told::Same) {
            return Ok(told);
        }
        if self.lies.len() < Outcome::LIES_MAX && !self.lies.contains(&(kind, lie)) {
            self.lies.push((kind, lie));
        }
        if self.io.recording.is_some() {
            let (src, dst) = (self.io.seats.name(src), self.io.seats.name(dst));
            self.io.record(What::Lie { src, dst, name: self.table.name(kind, lie) });
        }
        Ok(told)
    }

    /// Only a Byzantine node lies.
    fn may_lie(&self, src: Seat) -> Result<(), Rejected> {
        let byzantine = self.byzantine.contains(self.io.seats.node(src));
        if byzantine { Ok(()) } else { Err(Rejected::Honest(self.io.seats.name(src))) }
    }

    /// What a message says after a row of a kind's table, if it changes anything.
    pub(super) fn mutated(
        &self,
        src: Seat,
        payload: u32,
        (row_kind, row): (u8, u16),
        seed: u64,
    ) -> Option<P::Msg> {
        let msg = self.slab.get(payload);
        let kind = msg.kind();
        let mut liar = Liar {
            keys: NodeSet::one(self.io.seats.node(src)),
            rng: Rng::stream(stable_hash(0x11E, &(kind, seed)), Purpose::Lies as u64),
            requests: self.io.ledger.submitted(),
            n: self.cluster.n,
            seen: Seen::of(&self.slab),
        };
        let earlier = self.slab.newest_first().filter(|other| other.kind() == kind).take(64);
        self.table.apply(row_kind, msg, row, earlier, &mut liar)
    }

    /// What a message says after its sender has set a field of it by hand.
    pub(super) fn edited(
        &self,
        src: Seat,
        payload: u32,
        field: &str,
        value: &str,
    ) -> Result<P::Msg, Rejected> {
        self.may_lie(src)?;
        let truth = self.slab.get(payload);
        let mut lie = truth.clone();
        lie.edit(field, value, NodeSet::one(self.io.seats.node(src))).map_err(Rejected::Nothing)?;
        if lie == *truth { Err(Rejected::NoChange(format!("{field}={value}"))) } else { Ok(lie) }
    }

    /// The row that (kind, seed) stands for; omission is one of the choices.
    pub(super) fn draw_lie(&self, kind: u8, seed: u64, scope: Scope, only: Option<u16>) -> Option<Lie> {
        if let (Some(list), Some(plan)) = (only, &self.plan) {
            return drawn_from(plan.only(list, kind), kind, seed);
        }
        let draw = draw_of(kind, seed);
        let allowed = |row: &Mutation| row.scope <= scope;
        let rows = if scope < Scope::Crafted { self.table.plain(kind) } else { self.table.rows(kind) };
        let count = rows.iter().filter(|row| allowed(row)).count() as u64 + 1;
        let k = (draw % count) as usize;
        let row = rows.iter().enumerate().filter(|(_, row)| allowed(row)).nth(k);
        Some(row.map_or(Lie::Omit, |(i, _)| Lie::Mutate(i as u16)))
    }

    /// Flips a bit of the encoding on its way, another one of each copy: a signature around it is broken. What does not
    /// decode is lost, unless it crashes its receiver.
    fn flip(&mut self, payload: u32, kind: u8, dst: Seat, byzantine: bool, seed: u64) -> Told {
        let msg = self.slab.get(payload);
        let mut bytes = postcard::to_stdvec(msg).expect("messages encode");
        let draw = stable_hash(0xF11, &(seed, self.sendings, dst));
        let bit = (draw % (bytes.len() as u64 * 8)) as usize;
        bytes[bit / 8] ^= 1 << (bit % 8);
        let read = postcard::from_bytes(&bytes).ok();
        self.corrupted(payload, kind, byzantine, read)
    }

    /// Replaces a character of the message as JSON, in the same way.
    fn garble(&mut self, payload: u32, kind: u8, dst: Seat, byzantine: bool, seed: u64) -> Told {
        const GLYPHS: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ=\"";
        let mut text = serde_json::to_vec(self.slab.get(payload)).expect("messages encode");
        let draw = stable_hash(0x6A2, &(seed, self.sendings, dst));
        let place = (draw >> 6) as usize % text.len();
        let glyph = GLYPHS[draw as usize % GLYPHS.len()];
        if std::mem::replace(&mut text[place], glyph) == glyph {
            return Told::Same;
        }
        let read = serde_json::from_slice(&text).ok();
        self.corrupted(payload, kind, byzantine, read)
    }

    /// What becomes of a copy with noise in it: the receiver reads this, or nothing.
    fn corrupted(&mut self, payload: u32, kind: u8, byzantine: bool, read: Option<P::Msg>) -> Told {
        match read {
            Some(lie) if byzantine && lie == *self.slab.get(payload) => Told::Same,
            Some(lie) if byzantine && lie.kind() == kind => Told::Changed(self.exchange(payload, lie)),
            Some(_) => Told::Omitted,
            None => {
                self.injected.garbage += 1;
                if self.crash_on_garbage { Told::Garbage } else { Told::Omitted }
            }
        }
    }

    #[inline(never)]
    pub(super) fn mutate_and_deliver(&mut self, mut header: Header) {
        let seed = u64::from(self.lie_rng.below(u32::MAX));
        let lie = match &self.scheduler_only {
            None => self.draw_lie(header.kind, seed, self.scheduler_scope, None),
            Some((_, by_kind)) => drawn_from(&by_kind[usize::from(header.kind)], header.kind, seed),
        };
        let truth = header.payload;
        self.slab.hold(truth);
        let told = lie.map_or(Ok(Told::Same), |lie| {
            self.lie(header.src, header.dst, truth, header.kind, &LieSpec::Row(lie, seed))
        });
        if let Ok(Told::Changed(lie)) = told {
            self.record_lie(header.id, truth, lie);
        }
        self.slab.release(truth);
        if self.io.recording.is_some() {
            let message = self.coordinates(&header);
            if let (Ok(Told::Changed(_)), Some(lie)) = (&told, lie) {
                let name = self.table.name(header.kind, lie);
                self.record_action(Action::Mutate(message.clone(), name, seed));
            }
            let omitted = matches!(told, Ok(Told::Omitted));
            self.record_action(if omitted { Action::Drop(message) } else { Action::Deliver(message) });
        }
        match told {
            Ok(Told::Changed(payload)) => {
                header.payload = payload;
                header.content = Content::Lie;
                self.injected.mutated += 1;
                self.deliver(header);
            }
            Ok(Told::Omitted) => {
                self.io.step += 1;
                self.lose(header, Loss::Withheld);
            }
            Ok(Told::Same | Told::Garbage) | Err(_) => {
                self.injected.refused += 1;
                self.deliver(header);
            }
        }
    }
}
