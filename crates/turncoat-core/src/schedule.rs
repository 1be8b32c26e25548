//! Which event is next: the [`Scheduler`] trait, the built-in ones, and scripts of [`Action`]s.
//!
//! A scheduler is a queue with an opinion: the kernel pushes the headers of messages that were sent, and asks
//! for the next event. Whatever it chooses, the clock rises to the time of the event and never falls.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ids::{NodeId, NodeSet, Seat, SeatName, Time};
use crate::net::{Alarms, Due, Header};
use crate::rng::Rng;
use crate::scenario::{SchedulerName, SchedulerSpec, TimerRule};
use crate::wheel::Timed;

/// What a scheduler chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Hand this message over.
    Deliver(Header),
    /// Lose it.
    Drop(Header),
    /// Let its sender lie in it, if it may, and hand it over.
    Mutate(Header),
    /// Fire the earliest timer of a seat.
    Fire(Seat),
}

/// Which enabled event is next?
pub trait Scheduler {
    /// A message was sent.
    fn push(&mut self, header: Header);
    /// Chooses the next event; nothing if none is enabled.
    fn pick(&mut self, alarms: &Alarms<'_>, rng: &mut Rng) -> Option<Choice>;
    /// When the next event happens, where that is known before it is picked.
    fn next_time(&self, _alarms: &Alarms<'_>) -> Option<Time> {
        None
    }
    /// Messages in flight.
    fn len(&self) -> usize;
    /// Whether none is in flight.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Shows every message in flight, in no particular order.
    fn visit(&self, see: &mut dyn FnMut(&Header));
    /// Takes a message out of the queue.
    fn take(&mut self, id: u32) -> Option<Header>;
    /// Forgets all messages, keeps the memory.
    fn clear(&mut self);
}

/// The scheduler of a scenario. Scripts are driven by the kernel, over a plain list.
pub(crate) fn scheduler(spec: &SchedulerSpec, seats: usize) -> Box<dyn Scheduler> {
    match spec.name {
        SchedulerName::Fifo if spec.drop == 0 && spec.mutate == 0 && spec.timers != Some(TimerRule::Free) => {
            Box::new(Fifo::default())
        }
        SchedulerName::Timed => Box::new(Timed::default()),
        SchedulerName::Sync => Box::new(Sync {
            mailboxes: vec![VecDeque::new(); seats],
            busy: Vec::new(),
            len: 0,
            spec: Weights::of(spec),
        }),
        SchedulerName::Fifo | SchedulerName::Async | SchedulerName::Script => Box::new(Async {
            messages: Vec::new(),
            requests: Vec::new(),
            in_order: spec.name == SchedulerName::Fifo,
            spec: Weights::of(spec),
        }),
    }
}

/// Messages in the order in which they were sent; the earliest timer when none is left.
#[derive(Default)]
struct Fifo(VecDeque<Header>);

impl Scheduler for Fifo {
    fn push(&mut self, header: Header) {
        self.0.push_back(header);
    }
    fn pick(&mut self, alarms: &Alarms<'_>, _: &mut Rng) -> Option<Choice> {
        match self.0.pop_front() {
            Some(header) => Some(Choice::Deliver(header)),
            None => alarms.first.map(|(seat, _)| Choice::Fire(seat)),
        }
    }
    fn next_time(&self, alarms: &Alarms<'_>) -> Option<Time> {
        self.0.front().map(|header| header.at).or(alarms.first.map(|(_, at)| at))
    }
    fn len(&self) -> usize {
        self.0.len()
    }
    fn visit(&self, see: &mut dyn FnMut(&Header)) {
        self.0.iter().for_each(see);
    }
    fn take(&mut self, id: u32) -> Option<Header> {
        let index = self.0.iter().position(|header| header.id == id)?;
        self.0.remove(index)
    }
    fn clear(&mut self) {
        self.0.clear();
    }
}

/// The weights of the random schedulers (Algorithm 2 of the hBFT thesis): each member of a class counts.
#[derive(Clone, Copy)]
struct Weights {
    timeout: u64,
    deliver: u64,
    request: u64,
    drop: u64,
    mutate: u64,
    timers: TimerRule,
}

/// The class that a draw fell into, with the index of the member.
enum Class {
    Message(usize),
    Request(usize),
    Drop(usize),
    Mutate(usize),
    Timer(u64),
}

impl Weights {
    fn of(spec: &SchedulerSpec) -> Self {
        let [timeout, deliver, request, drop, mutate] =
            [spec.timeout, spec.deliver, spec.request, spec.drop, spec.mutate].map(u64::from);
        let patient = matches!(spec.name, SchedulerName::Sync | SchedulerName::Fifo);
        let timers = spec.timers.unwrap_or(if patient { TimerRule::Idle } else { TimerRule::Free });
        Self { timeout, deliver, request, drop, mutate, timers }
    }

    /// Chooses among so many replica messages, client messages and armed timers.
    fn draw(&self, messages: usize, requests: usize, armed: u64, rng: &mut Rng) -> Option<Class> {
        let idle = messages + requests == 0;
        let (m, q) = (messages as u64, requests as u64);
        // An idle system whose timers have no weight would stop forever: then a timer is all there is.
        let timeout = match (idle, self.timers) {
            (true, _) => self.timeout.max(1),
            (false, TimerRule::Free) => self.timeout,
            (false, TimerRule::Idle) => 0,
        };
        let weights = [self.deliver * m, self.request * q, self.drop * m, self.mutate * m, timeout * armed];
        let total: u64 = weights.iter().sum();
        if total == 0 {
            // Weights of zero must not strand what is deliverable.
            let all = messages + requests;
            let k = (all > 0).then(|| rng.index(all))?;
            return Some(if k < messages { Class::Message(k) } else { Class::Request(k - messages) });
        }
        let mut draw = match u32::try_from(total) {
            Ok(total) => u64::from(rng.below(total)),
            Err(_) => rng.below_u128(u128::from(total)) as u64,
        };
        let mut class = 0;
        while draw >= weights[class] {
            draw -= weights[class];
            class += 1;
        }
        Some(match class {
            0 => Class::Message((draw / self.deliver) as usize),
            1 => Class::Request((draw / self.request) as usize),
            2 => Class::Drop((draw / self.drop) as usize),
            3 => Class::Mutate((draw / self.mutate) as usize),
            _ => Class::Timer(draw / timeout),
        })
    }
}

/// The seat of the `k`-th armed timer.
fn seat_of_timer(due: &[Due], mut k: u64) -> Seat {
    for (seat, due) in due.iter().enumerate() {
        if k < u64::from(due.armed) {
            return Seat(seat as u8);
        }
        k -= u64::from(due.armed);
    }
    unreachable!("k is below the number of armed timers")
}

fn armed(due: &[Due]) -> u64 {
    due.iter().map(|due| u64::from(due.armed)).sum()
}

/// Any message may be next. Replicas' and clients' messages are classes of their own.
struct Async {
    messages: Vec<Header>,
    requests: Vec<Header>,
    /// Of the replicas' messages the oldest is delivered, while any of them may be lost or changed: what ByzzBench's random
    /// scheduler did in "synchronous" mode at the time of the hBFT thesis.
    in_order: bool,
    spec: Weights,
}

impl Async {
    /// The message to deliver, if a draw says the `k`-th.
    fn next(&self, k: usize) -> usize {
        let oldest = || (0..self.messages.len()).min_by_key(|&k| self.messages[k].id);
        if self.in_order { oldest().unwrap_or(k) } else { k }
    }
}

impl Scheduler for Async {
    fn push(&mut self, header: Header) {
        if header.from_client { self.requests.push(header) } else { self.messages.push(header) }
    }
    fn pick(&mut self, alarms: &Alarms<'_>, rng: &mut Rng) -> Option<Choice> {
        Some(match self.spec.draw(self.messages.len(), self.requests.len(), armed(alarms.due), rng)? {
            Class::Message(k) => Choice::Deliver(self.messages.swap_remove(self.next(k))),
            Class::Request(k) => Choice::Deliver(self.requests.swap_remove(k)),
            Class::Drop(k) => Choice::Drop(self.messages.swap_remove(k)),
            Class::Mutate(k) => Choice::Mutate(self.messages.swap_remove(k)),
            Class::Timer(k) => Choice::Fire(seat_of_timer(alarms.due, k)),
        })
    }
    fn len(&self) -> usize {
        self.messages.len() + self.requests.len()
    }
    fn visit(&self, see: &mut dyn FnMut(&Header)) {
        self.messages.iter().chain(&self.requests).for_each(see);
    }
    fn take(&mut self, id: u32) -> Option<Header> {
        for list in [&mut self.messages, &mut self.requests] {
            if let Some(index) = list.iter().position(|header| header.id == id) {
                return Some(list.swap_remove(index));
            }
        }
        None
    }
    fn clear(&mut self) {
        self.messages.clear();
        self.requests.clear();
    }
}

/// A random receiver gets its oldest message: ByzzBench's "synchronous" mode.
struct Sync {
    mailboxes: Vec<VecDeque<Header>>,
    /// Seats with mail, in no particular order.
    busy: Vec<u8>,
    len: usize,
    spec: Weights,
}

impl Sync {
    /// Whether the oldest message of the `k`-th busy seat is a client's.
    fn is_request(&self, k: usize) -> bool {
        self.mailboxes[usize::from(self.busy[k])].front().is_some_and(|header| header.from_client)
    }

    /// The `k`-th busy seat among those whose oldest message is, or is not, a client's.
    fn nth(&self, k: usize, request: bool) -> usize {
        let mut seats = (0..self.busy.len()).filter(|&k| self.is_request(k) == request);
        seats.nth(k).expect("k is below their number")
    }

    fn pop(&mut self, k: usize) -> Header {
        let seat = self.busy[k];
        let mailbox = &mut self.mailboxes[usize::from(seat)];
        let header = mailbox.pop_front().expect("a busy seat has mail");
        if mailbox.is_empty() {
            self.busy.swap_remove(k);
        }
        self.len -= 1;
        header
    }
}

impl Scheduler for Sync {
    fn push(&mut self, header: Header) {
        let mailbox = &mut self.mailboxes[header.dst.index()];
        if mailbox.is_empty() {
            self.busy.push(header.dst.0);
        }
        mailbox.push_back(header);
        self.len += 1;
    }
    fn pick(&mut self, alarms: &Alarms<'_>, rng: &mut Rng) -> Option<Choice> {
        let requests = (0..self.busy.len()).filter(|&k| self.is_request(k)).count();
        Some(match self.spec.draw(self.busy.len() - requests, requests, armed(alarms.due), rng)? {
            Class::Message(k) => Choice::Deliver(self.pop(self.nth(k, false))),
            Class::Request(k) => Choice::Deliver(self.pop(self.nth(k, true))),
            Class::Drop(k) => Choice::Drop(self.pop(self.nth(k, false))),
            Class::Mutate(k) => Choice::Mutate(self.pop(self.nth(k, false))),
            Class::Timer(k) => Choice::Fire(seat_of_timer(alarms.due, k)),
        })
    }
    fn len(&self) -> usize {
        self.len
    }
    fn visit(&self, see: &mut dyn FnMut(&Header)) {
        self.mailboxes.iter().flatten().for_each(see);
    }
    fn take(&mut self, id: u32) -> Option<Header> {
        for (seat, mailbox) in self.mailboxes.iter_mut().enumerate() {
            if let Some(index) = mailbox.iter().position(|header| header.id == id) {
                let header = mailbox.remove(index);
                if mailbox.is_empty() {
                    self.busy.retain(|&busy| usize::from(busy) != seat);
                }
                self.len -= 1;
                return header;
            }
        }
        None
    }
    fn clear(&mut self) {
        self.mailboxes.iter_mut().for_each(VecDeque::clear);
        self.busy.clear();
        self.len = 0;
    }
}

/// Which message: the `nth` of its kind on its link, counted from 1 in the order of sending. Such a name
/// survives small changes of a run, and reads well: `p0>p3 prepare #2`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Coordinates {
    /// The sender.
    pub src: SeatName,
    /// The receiver.
    pub dst: SeatName,
    /// The kind.
    pub kind: String,
    /// Which one.
    pub nth: u32,
}

impl fmt::Display for Coordinates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}>{} {} #{}", self.src, self.dst, self.kind, self.nth)
    }
}

/// One step of a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// `deliver p0>p3 prepare #2`
    Deliver(Coordinates),
    /// `drop p0>p3 prepare #2`
    Drop(Coordinates),
    /// `duplicate p0>p3 prepare #2`: one more copy, with the next number.
    Duplicate(Coordinates),
    /// `mutate p0>p3 prepare #2 prepare.view+1 seed`: changed on the way; still to be delivered.
    Mutate(Coordinates, String, u64),
    /// `edit p0>p3 prepare #2 n 7`: a field set by hand, on the way; still to be delivered.
    Edit(Coordinates, String, String),
    /// `delay p0>p3 prepare #2 500`: it arrives so many ticks later.
    Delay(Coordinates, u64),
    /// `split p0,p1`: what is sent from now on between these and all others is lost.
    Split(NodeSet),
    /// `heal`: the network is whole again.
    Heal,
    /// `fire p1 request`: a timer by name, or the earliest.
    Fire(SeatName, Option<String>),
    /// `suspect p1`: a Byzantine node turns against its leader.
    Suspect(SeatName),
    /// `crash p0`
    Crash(SeatName),
    /// `restart p0`, or `restart p0 blank` without its state.
    Restart(SeatName, bool),
    /// `wait`: what is scheduled next for a moment happens.
    Wait,
    /// `calm`: the calm phase starts.
    Calm,
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deliver(message) => write!(f, "deliver {message}"),
            Self::Drop(message) => write!(f, "drop {message}"),
            Self::Duplicate(message) => write!(f, "duplicate {message}"),
            Self::Mutate(message, name, 0) => write!(f, "mutate {message} {name}"),
            Self::Mutate(message, name, seed) => write!(f, "mutate {message} {name} {seed}"),
            Self::Edit(message, field, value) => write!(f, "edit {message} {field} {value}"),
            Self::Delay(message, ticks) => write!(f, "delay {message} {ticks}"),
            Self::Split(side) => {
                let side: Vec<String> = side.iter().map(|node| node.to_string()).collect();
                write!(f, "split {}", side.join(","))
            }
            Self::Heal => f.write_str("heal"),
            Self::Fire(seat, None) => write!(f, "fire {seat}"),
            Self::Fire(seat, Some(timer)) => write!(f, "fire {seat} {timer}"),
            Self::Suspect(seat) => write!(f, "suspect {seat}"),
            Self::Crash(seat) => write!(f, "crash {seat}"),
            Self::Restart(seat, true) => write!(f, "restart {seat}"),
            Self::Restart(seat, false) => write!(f, "restart {seat} blank"),
            Self::Wait => f.write_str("wait"),
            Self::Calm => f.write_str("calm"),
        }
    }
}

impl FromStr for Action {
    type Err = String;
    fn from_str(line: &str) -> Result<Self, String> {
        let bad = || {
            format!(
                "`{line}` is not a step: expected `deliver|drop|duplicate p0>p3 KIND #N`, `mutate p0>p3 KIND #N NAME`, \
                 `edit p0>p3 KIND #N FIELD VALUE`, `delay p0>p3 KIND #N TICKS`, `fire p0 [TIMER]`, `suspect p0`, \
                 `crash p0`, `restart p0 [blank]`, `split p0,p1`, `heal`, `wait` or `calm`"
            )
        };
        let seat = |word: &str| word.parse::<SeatName>().map_err(|error| error.to_string());
        let message = |link: &str, kind: &str, nth: &str| -> Result<Coordinates, String> {
            let (src, dst) = link.split_once('>').ok_or_else(bad)?;
            let nth = nth.strip_prefix('#').and_then(|n| n.parse().ok()).ok_or_else(bad)?;
            Ok(Coordinates { src: seat(src)?, dst: seat(dst)?, kind: kind.to_owned(), nth })
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        Ok(match words[..] {
            ["deliver", link, kind, nth] => Self::Deliver(message(link, kind, nth)?),
            ["drop", link, kind, nth] => Self::Drop(message(link, kind, nth)?),
            ["duplicate", link, kind, nth] => Self::Duplicate(message(link, kind, nth)?),
            ["mutate", link, kind, nth, name] => Self::Mutate(message(link, kind, nth)?, name.to_owned(), 0),
            ["mutate", link, kind, nth, name, seed] => {
                Self::Mutate(message(link, kind, nth)?, name.to_owned(), seed.parse().map_err(|_| bad())?)
            }
            ["edit", link, kind, nth, field, value] => {
                Self::Edit(message(link, kind, nth)?, field.to_owned(), value.to_owned())
            }
            ["delay", link, kind, nth, ticks] => {
                Self::Delay(message(link, kind, nth)?, ticks.parse().map_err(|_| bad())?)
            }
            ["split", side] => {
                let node = |word: &str| word.parse::<NodeId>().map_err(|error| error.to_string());
                Self::Split(side.split(',').map(node).collect::<Result<_, _>>()?)
            }
            ["heal"] => Self::Heal,
            ["fire", who] => Self::Fire(seat(who)?, None),
            ["fire", who, timer] => Self::Fire(seat(who)?, Some(timer.to_owned())),
            ["suspect", who] => Self::Suspect(seat(who)?),
            ["crash", who] => Self::Crash(seat(who)?),
            ["restart", who] => Self::Restart(seat(who)?, true),
            ["restart", who, "blank"] => Self::Restart(seat(who)?, false),
            ["wait"] => Self::Wait,
            ["calm"] => Self::Calm,
            _ => return Err(bad()),
        })
    }
}

impl Serialize for Action {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Action {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_read_back() {
        for line in [
            "deliver p0>p3 pre-prepare #2",
            "drop c0>p0.b request #1",
            "mutate p0>p1 prepare #1 prepare.view+1",
            "mutate p0>p1 prepare #1 prepare.view=any 17",
            "edit p0>p1 prepare #1 n 7",
            "delay p0>p1 prepare #1 500",
            "split p0,p1",
            "heal",
            "fire p1 request",
            "fire p2",
            "crash p0",
            "restart p0 blank",
            "wait",
            "calm",
        ] {
            assert_eq!(line.parse::<Action>().unwrap().to_string(), line);
        }
        assert!("deliver p0 prepare #1".parse::<Action>().unwrap_err().contains("expected"));
    }
}
