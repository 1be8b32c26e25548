//! The scheduler `timed`: by virtual time, at a constant cost per message.
//!
//! Messages that arrive within the next [`TICKS`] ticks wait in a wheel with one bucket per tick, in the order of
//! sending; the few that take longer wait in a heap. Ties: messages before timers, then in the order of sending.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::ids::Time;
use crate::net::{Alarms, Header};
use crate::rng::Rng;
use crate::schedule::{Choice, Scheduler};

/// How far ahead the wheel reaches.
const TICKS: u64 = 64;
const NIL: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Bucket {
    head: u32,
    tail: u32,
}

/// See the module's documentation.
pub(crate) struct Timed {
    /// Waiting messages, each with the next one of its bucket; freed places are chained the same way.
    places: Vec<(Header, u32)>,
    free: u32,
    buckets: [Bucket; TICKS as usize],
    /// One bit per bucket that is not empty.
    busy: u64,
    /// The tick of the last message handed out: nothing waits for an earlier one.
    now: u64,
    far: BinaryHeap<Reverse<(Time, u32, Far)>>,
    len: usize,
}

/// A header in the heap: ordered by what stands before it.
#[derive(Clone, Copy)]
struct Far(Header);

impl PartialEq for Far {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl Eq for Far {}
impl PartialOrd for Far {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Far {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

impl Default for Timed {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            free: NIL,
            buckets: [Bucket { head: NIL, tail: NIL }; TICKS as usize],
            busy: 0,
            now: 0,
            far: BinaryHeap::new(),
            len: 0,
        }
    }
}

impl Timed {
    /// The first bucket that is not empty, in the order of time, with its tick.
    fn first(&self) -> Option<(usize, u64)> {
        if self.busy == 0 {
            return None;
        }
        let ahead = self.busy.rotate_right((self.now % TICKS) as u32).trailing_zeros();
        // No overflow: some message waits for this tick.
        let tick = self.now + u64::from(ahead);
        Some(((tick % TICKS) as usize, tick))
    }

    /// Something is far, or a timer comes first, or nothing is left.
    fn pick_carefully(&mut self, near: Option<(usize, u64)>, alarms: &Alarms<'_>) -> Option<Choice> {
        let far = self.far.peek().map(|Reverse((at, id, _))| (at.0, *id));
        let far_first = match (near, far) {
            (Some((bucket, at)), Some(far)) => {
                far < (at, self.places[self.buckets[bucket].head as usize].0.id)
            }
            (None, Some(_)) => true,
            (_, None) => false,
        };
        let at = if far_first { far.map(|(at, _)| at) } else { near.map(|(_, at)| at) };
        match (at, alarms.first) {
            (Some(at), Some((seat, alarm))) if alarm.0 < at => return Some(Choice::Fire(seat)),
            (None, Some((seat, _))) => return Some(Choice::Fire(seat)),
            (None, None) => return None,
            (Some(at), _) => self.now = self.now.max(at),
        }
        self.len -= 1;
        Some(Choice::Deliver(match near {
            Some((bucket, _)) if !far_first => self.pop(bucket),
            _ => self.far.pop().map(|Reverse((_, _, Far(header)))| header)?,
        }))
    }

    /// Takes a message out of the wheel, wherever it is.
    fn unlink(&mut self, id: u32) -> Option<Header> {
        for index in (0..TICKS as usize).filter(|i| self.busy & (1 << i) != 0) {
            let (mut before, mut place) = (NIL, self.buckets[index].head);
            while place != NIL {
                let (header, next) = self.places[place as usize];
                if header.id != id {
                    (before, place) = (place, next);
                    continue;
                }
                if before == NIL {
                    return Some(self.pop(index));
                }
                self.places[before as usize].1 = next;
                if next == NIL {
                    self.buckets[index].tail = before;
                }
                self.places[place as usize].1 = self.free;
                self.free = place;
                return Some(header);
            }
        }
        None
    }

    #[inline]
    fn pop(&mut self, bucket: usize) -> Header {
        let place = self.buckets[bucket].head;
        let (header, next) = self.places[place as usize];
        self.buckets[bucket].head = next;
        if next == NIL {
            self.busy &= !(1 << bucket);
        }
        self.places[place as usize].1 = self.free;
        self.free = place;
        header
    }
}

impl Scheduler for Timed {
    #[inline(always)]
    fn push(&mut self, header: Header) {
        self.len += 1;
        // What is overdue is next.
        let at = header.at.0.max(self.now);
        if at - self.now >= TICKS {
            self.far.push(Reverse((header.at, header.id, Far(header))));
            return;
        }
        let place = if self.free == NIL {
            self.places.push((header, NIL));
            self.places.len() as u32 - 1
        } else {
            let place = self.free;
            self.free = self.places[place as usize].1;
            self.places[place as usize] = (header, NIL);
            place
        };
        let index = (at % TICKS) as usize;
        let bucket = &mut self.buckets[index];
        let bit = 1 << index;
        if self.busy & bit == 0 {
            self.busy |= bit;
            bucket.head = place;
        } else {
            self.places[bucket.tail as usize].1 = place;
        }
        bucket.tail = place;
    }

    #[inline(always)]
    fn pick(&mut self, alarms: &Alarms<'_>, _: &mut Rng) -> Option<Choice> {
        let near = self.first();
        // The usual case: everything is near, and no timer is due before it.
        if let (Some((bucket, at)), true) = (near, self.far.is_empty())
            && alarms.first.is_none_or(|(_, alarm)| alarm.0 >= at)
        {
            self.now = at;
            self.len -= 1;
            return Some(Choice::Deliver(self.pop(bucket)));
        }
        self.pick_carefully(near, alarms)
    }

    fn next_time(&self, alarms: &Alarms<'_>) -> Option<Time> {
        let near = self.first().map(|(_, at)| Time(at));
        let far = self.far.peek().map(|Reverse((at, ..))| *at);
        [near, far, alarms.first.map(|(_, at)| at)].into_iter().flatten().min()
    }

    fn len(&self) -> usize {
        self.len
    }

    fn visit(&self, see: &mut dyn FnMut(&Header)) {
        for bucket in (0..TICKS as usize).filter(|i| self.busy & (1 << i) != 0) {
            let mut place = self.buckets[bucket].head;
            while place != NIL {
                let (header, next) = &self.places[place as usize];
                see(header);
                place = *next;
            }
        }
        self.far.iter().for_each(|Reverse((_, _, Far(header)))| see(header));
    }

    fn take(&mut self, id: u32) -> Option<Header> {
        let taken = self.unlink(id).or_else(|| {
            let mut found = None;
            self.far.retain(|Reverse((_, other, Far(header)))| {
                found = found.or((*other == id).then_some(*header));
                *other != id
            });
            found
        })?;
        self.len -= 1;
        Some(taken)
    }

    fn clear(&mut self) {
        self.places.clear();
        self.free = NIL;
        self.busy = 0;
        self.now = 0;
        self.far.clear();
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Seat;
    use crate::net::Content;
    use crate::rng::Purpose;

    /// Against the obvious implementation: the earliest first, in the order of sending among equals.
    #[test]
    fn messages_come_out_by_time_then_by_order_of_sending() {
        let mut rng = Rng::new(3, Purpose::Network);
        let mut timed = Timed::default();
        let mut waiting: Vec<(u64, u32)> = Vec::new();
        let (mut now, mut id) = (0, 0);
        let none = Alarms { due: &[], first: None };
        for _ in 0..20_000 {
            if rng.below(10) == 0 && !waiting.is_empty() {
                // A script names any of them.
                let (at, id) = waiting.swap_remove(rng.index(waiting.len()));
                assert_eq!(timed.take(id).map(|header| (header.at.0, header.id)), Some((at, id)));
                assert!(timed.take(id).is_none());
            } else if rng.below(5) < 3 {
                let at = now + u64::from(if rng.below(10) == 0 { rng.below(2000) } else { rng.below(40) });
                let (src, dst) = (Seat(0), Seat(1));
                let at_time = Time(at);
                timed.push(Header {
                    at: at_time,
                    id,
                    payload: 0,
                    src,
                    dst,
                    kind: 0,
                    from_client: false,
                    content: Content::Genuine,
                });
                waiting.push((at, id));
                id += 1;
            } else if let Some(Choice::Deliver(header)) = timed.pick(&none, &mut rng) {
                let first = *waiting.iter().min().unwrap();
                assert_eq!((header.at.0, header.id), first);
                waiting.retain(|other| *other != first);
                now = first.0;
            } else {
                assert!(waiting.is_empty());
            }
            assert_eq!(timed.len(), waiting.len());
        }
    }

    /// A message at the end of time is handed out, and nothing is computed beyond it.
    #[test]
    fn time_may_come_to_its_end() {
        let mut rng = Rng::new(3, Purpose::Network);
        let mut timed = Timed::default();
        let none = Alarms { due: &[], first: None };
        let (src, dst, content) = (Seat(0), Seat(1), Content::Genuine);
        timed.push(Header {
            at: Time(u64::MAX),
            id: 0,
            payload: 0,
            src,
            dst,
            kind: 0,
            from_client: false,
            content,
        });
        assert!(matches!(timed.pick(&none, &mut rng), Some(Choice::Deliver(header)) if header.id == 0));
        assert!(timed.pick(&none, &mut rng).is_none() && timed.next_time(&none).is_none());
    }
}
