//! What is in flight: headers apart from payloads, timers by key.

use std::any::Any;

use smallvec::SmallVec;

use crate::ids::{Seat, Time};
use crate::part::{Part, Past};

/// A message copy in flight: what schedulers see. The payload is shared by the copies of one broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// When it arrives under the scheduler `timed`.
    pub at: Time,
    /// The number of the copy, in the order in which copies were sent.
    pub id: u32,
    /// Where its payload is.
    pub payload: u32,
    /// Who sent it.
    pub src: Seat,
    /// Who gets it.
    pub dst: Seat,
    /// Its kind.
    pub kind: u8,
    /// Whether its sender is a client.
    pub from_client: bool,
    /// What became of its content on the way.
    pub content: Content,
}

/// What became of the content of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// It is what the sender's code wrote.
    Genuine,
    /// The sender lied.
    Lie,
    /// It cannot be decoded.
    Garbage,
}

/// Payloads, each with the number of copies that still need it.
#[derive(Debug)]
pub(crate) struct Slab<M> {
    entries: Vec<(M, u32)>,
    free: Vec<u32>,
    /// Whether payloads are kept for the whole run, so that a liar can draw on what was seen.
    pub(crate) keep: bool,
}

impl<M> Slab<M> {
    pub(crate) const fn new() -> Self {
        Self { entries: Vec::new(), free: Vec::new(), keep: false }
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.free.clear();
    }

    /// Stores a payload, held once: by whoever stores it, until it has been sent to all.
    #[inline]
    pub(crate) fn insert(&mut self, message: M) -> u32 {
        if let Some(index) = self.free.pop() {
            self.entries[index as usize] = (message, 1);
            return index;
        }
        self.entries.push((message, 1));
        (self.entries.len() - 1) as u32
    }

    #[inline]
    pub(crate) fn hold(&mut self, index: u32) {
        self.entries[index as usize].1 += 1;
    }

    /// Holds a payload for so many copies.
    pub(crate) fn hold_for(&mut self, index: u32, copies: usize) {
        self.entries[index as usize].1 += copies as u32;
    }

    #[inline]
    pub(crate) fn release(&mut self, index: u32) {
        let count = &mut self.entries[index as usize].1;
        *count -= 1;
        if *count == 0 && !self.keep {
            self.free.push(index);
        }
    }

    #[inline]
    pub(crate) fn get(&self, index: u32) -> &M {
        &self.entries[index as usize].0
    }

    /// How many payloads there are, or were if they are kept.
    pub(crate) const fn len(&self) -> usize {
        self.entries.len()
    }

    /// All payloads, newest first; meaningful with `keep` only.
    pub(crate) fn newest_first(&self) -> impl Iterator<Item = &M> {
        self.entries.iter().rev().map(|(message, _)| message)
    }
}

/// The most messages that a liar remembers, from the end and from the beginning of a run.
const LATEST: usize = 256;
const FIRST: usize = 64;

impl<M: Part> Past for Slab<M> {
    fn look(&self, oldest_first: bool, enough: &mut dyn FnMut(&dyn Any) -> bool) {
        let _ = match oldest_first {
            true => self.entries.iter().take(FIRST).any(|(message, _)| message.look(enough)),
            false => self.newest_first().take(LATEST).any(|message| message.look(enough)),
        };
    }
}

#[derive(Clone, Copy, Debug)]
struct Armed<T> {
    key: T,
    at: Time,
    order: u32,
}

/// What a scheduler may know of one seat's timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// When the earliest fires; [`Due::NEVER`] if none is armed.
    pub at: Time,
    /// The order in which it was armed, to break ties.
    pub order: u32,
    /// How many are armed.
    pub armed: u32,
}

impl Due {
    /// No timer is armed.
    pub const NEVER: Time = Time(u64::MAX);
    const NONE: Self = Self { at: Self::NEVER, order: 0, armed: 0 };
}

/// What a scheduler may know of all timers.
#[derive(Clone, Copy, Debug)]
pub struct Alarms<'a> {
    /// By seat.
    pub due: &'a [Due],
    /// The seat whose timer fires first, and when.
    pub first: Option<(Seat, Time)>,
}

/// The armed timers of all seats.
#[derive(Debug)]
pub(crate) struct Timers<T> {
    seats: Vec<SmallVec<[Armed<T>; 4]>>,
    due: Vec<Due>,
    /// The seat whose timer fires first, if any.
    first: Option<Seat>,
    order: u32,
}

impl<T: Copy + Ord> Timers<T> {
    pub(crate) const fn new() -> Self {
        Self { seats: Vec::new(), due: Vec::new(), first: None, order: 0 }
    }

    pub(crate) fn reset(&mut self, seats: usize) {
        self.seats.iter_mut().for_each(SmallVec::clear);
        self.seats.resize_with(seats, SmallVec::new);
        self.due.clear();
        self.due.resize(seats, Due::NONE);
        self.first = None;
        self.order = 0;
    }

    pub(crate) fn set(&mut self, seat: Seat, key: T, at: Time) {
        self.order += 1;
        let armed = Armed { key, at, order: self.order };
        let list = &mut self.seats[seat.index()];
        match list.iter_mut().find(|timer| timer.key == key) {
            Some(timer) => *timer = armed,
            None => list.push(armed),
        }
        self.refresh(seat);
    }

    pub(crate) fn cancel(&mut self, seat: Seat, key: T) -> bool {
        let list = &mut self.seats[seat.index()];
        let found = list.iter().position(|timer| timer.key == key);
        if let Some(index) = found {
            list.swap_remove(index);
            self.refresh(seat);
        }
        found.is_some()
    }

    pub(crate) fn clear(&mut self, seat: Seat) {
        self.seats[seat.index()].clear();
        self.refresh(seat);
    }

    /// The earliest timer of a seat, with its time.
    pub(crate) fn first(&self, seat: Seat) -> Option<(T, Time)> {
        let first = self.seats[seat.index()].iter().min_by_key(|timer| (timer.at, timer.order))?;
        Some((first.key, first.at))
    }

    /// Disarms and returns the earliest timer of a seat.
    pub(crate) fn take_first(&mut self, seat: Seat) -> Option<(T, Time)> {
        let first = self.first(seat)?;
        self.cancel(seat, first.0);
        Some(first)
    }

    /// The armed timers of a seat.
    pub(crate) fn of(&self, seat: Seat) -> impl Iterator<Item = (T, Time)> {
        self.seats[seat.index()].iter().map(|timer| (timer.key, timer.at))
    }

    /// All armed timers, in the order in which they fire.
    pub(crate) fn in_order(&self) -> Vec<(Seat, T, Time)> {
        let seats = self.seats.iter().enumerate();
        let mut all: Vec<_> =
            seats.flat_map(|(seat, list)| list.iter().map(move |timer| (Seat(seat as u8), timer))).collect();
        all.sort_by_key(|(_, timer)| (timer.at, timer.order));
        all.into_iter().map(|(seat, timer)| (seat, timer.key, timer.at)).collect()
    }

    #[inline]
    pub(crate) fn alarms(&self) -> Alarms<'_> {
        Alarms { due: &self.due, first: self.first.map(|seat| (seat, self.due[seat.index()].at)) }
    }

    /// When the first timer of a seat fires.
    pub(crate) fn due(&self, seat: Seat) -> Time {
        self.due[seat.index()].at
    }

    /// Moves a seat's timers by a jump of its clock.
    pub(crate) fn advance(&mut self, seat: Seat, by: Time) {
        for timer in &mut self.seats[seat.index()] {
            timer.at = Time(timer.at.0.saturating_sub(by.0));
        }
        self.refresh(seat);
    }

    fn refresh(&mut self, seat: Seat) {
        let list = &self.seats[seat.index()];
        let mut due = Due::NONE;
        for timer in list {
            if (timer.at, timer.order) < (due.at, due.order) {
                due = Due { at: timer.at, order: timer.order, armed: 0 };
            }
        }
        due.armed = list.len() as u32;
        self.due[seat.index()] = due;
        let key = |seat: Seat| (self.due[seat.index()].at, self.due[seat.index()].order);
        match self.first {
            // Another seat is still first.
            Some(first) if first != seat && key(first) <= key(seat) => {}
            // This seat was first and may no longer be: look at all of them.
            Some(first) if first == seat => {
                let all = (0..self.due.len()).map(|i| Seat(i as u8));
                self.first = all.filter(|&seat| self.due(seat) != Due::NEVER).min_by_key(|&seat| key(seat));
            }
            _ => self.first = (due.at != Due::NEVER).then_some(seat),
        }
    }
}
