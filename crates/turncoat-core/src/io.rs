//! The other side of [`Context`](crate::node::Context): what nodes did while a handler ran.

use crate::check::{Commit, Ledger};
use crate::client::{Op, Request};
use crate::grounds::Grounds;
use crate::hash::{Digest, stable_hash};
use crate::ids::{NodeId, NodeSet, Seat, Slot, Time};
use crate::net::Timers;
use crate::node::{Protocol, node_rng};
use crate::record::{Event, Recording, What};
use crate::rng::{Purpose, Rng};
use crate::seats::Seats;

/// What nodes can reach through their context, and what they did.
pub struct Io<P: Protocol> {
    /// The seat whose handler runs.
    pub(crate) seat: Seat,
    pub(crate) time: Time,
    pub(crate) step: u64,
    pub(crate) outbox: Vec<(NodeSet, P::Msg)>,
    pub(crate) timers: Timers<P::Timer>,
    pub(crate) ledger: Ledger,
    pub(crate) marks: u64,
    /// Running hash of all that happened.
    pub(crate) trail: Trail,
    /// Whether the ledger changed since the goal was looked at.
    pub(crate) progressed: bool,
    pub(crate) seed: u64,
    /// Clock drift of each seat in parts per million, and its jumps so far.
    pub(crate) clocks: Vec<(i32, Time)>,
    rngs: Vec<Option<Rng>>,
    /// Whether a node has asked for the common coin.
    tossed: bool,
    payloads: Vec<u32>,
    pub(crate) recording: Option<Recording>,
    pub(crate) seats: Seats,
}

/// A running hash of events.
#[derive(Clone, Default)]
pub(crate) struct Trail(rustc_hash::FxHasher);

impl Trail {
    pub(crate) fn add(&mut self, word: u64) {
        std::hash::Hasher::write_u64(&mut self.0, word);
    }
    pub(crate) fn finish(&self) -> u64 {
        crate::hash::stable_hash(0xF1A6, &std::hash::Hasher::finish(&self.0))
    }
}

impl<P: Protocol> Io<P> {
    pub(crate) fn new() -> Self {
        Self {
            seat: Seat(0),
            time: Time(0),
            step: 0,
            outbox: Vec::new(),
            timers: Timers::new(),
            ledger: Ledger::default(),
            marks: 0,
            trail: Trail::default(),
            progressed: false,
            seed: 0,
            clocks: Vec::new(),
            rngs: Vec::new(),
            tossed: false,
            payloads: Vec::new(),
            recording: None,
            seats: Seats::default(),
        }
    }

    /// Whether a node has drawn a random number, or asked for the common coin.
    pub(crate) fn draws(&self) -> bool {
        self.tossed || self.rngs.iter().any(Option::is_some)
    }

    pub(crate) fn reset(&mut self, seed: u64) {
        let seats = self.seats.len();
        self.time = Time(0);
        self.step = 0;
        self.outbox.clear();
        self.timers.reset(seats);
        self.marks = 0;
        self.trail = Trail::default();
        self.progressed = true;
        self.seed = seed;
        self.clocks.clear();
        self.clocks.resize(seats, (0, Time(0)));
        self.rngs.clear();
        self.rngs.resize(seats, None);
        self.tossed = false;
        self.payloads.clear();
        self.payloads.resize(seats, 0);
        self.recording = None;
    }

    /// The time by the clock of a seat.
    pub(crate) fn local_time(&self, seat: Seat) -> Time {
        match self.clocks[seat.index()] {
            (0, Time(0)) => self.time,
            (ppm, jumped) => Time(self.time.0.saturating_add_signed(drifted(self.time.0, ppm))) + jumped,
        }
    }

    pub(crate) fn send(&mut self, to: NodeSet, msg: P::Msg) {
        self.outbox.push((to, msg));
    }

    pub(crate) fn set_timer(&mut self, timer: P::Timer, after: Time) {
        // A fast clock reaches the same reading earlier.
        let after = match self.clocks[self.seat.index()].0 {
            0 => after,
            ppm => Time((u128::from(after.0) * 1_000_000 / (1_000_000 + i128::from(ppm)) as u128) as u64),
        };
        self.timers.set(self.seat, timer, self.time + after);
    }

    pub(crate) fn cancel_timer(&mut self, timer: P::Timer) {
        self.timers.cancel(self.seat, timer);
    }

    pub(crate) fn commit(&mut self, slot: Slot, id: Digest, requests: &[Request], grounds: Grounds) {
        let seat = self.seat;
        self.trail.add(1 << 60 | u64::from(seat.0) << 32 | u64::from(slot.0));
        self.trail.add(id.0);
        self.progressed = true;
        self.ledger.commit(Commit { seat, slot, id, grounds }, requests, self.step);
        if self.recording.is_some() {
            let requests = requests.to_vec();
            self.record(What::Commit { seat: self.seats.name(seat), slot, id, requests, grounds });
        }
    }

    pub(crate) fn submit(&mut self, request: crate::sign::Signed<Request>) {
        self.ledger.submit(request, self.step);
    }

    pub(crate) fn complete(&mut self, request: &Request, receipt: Option<(Slot, Digest)>) {
        let seat = self.seat;
        self.trail.add(2 << 60 | u64::from(seat.0) << 32 | u64::from(request.ts));
        self.progressed = true;
        self.ledger.complete(seat, request, receipt, self.step);
        if self.recording.is_some() {
            self.record(What::Complete { seat: self.seats.name(seat), ts: request.ts });
        }
    }

    /// The next request of the running seat's own stream. Instances of one identity differ in what they ask.
    pub(crate) fn payload(&mut self, me: NodeId) -> Request {
        self.payloads[self.seat.index()] += 1;
        let (name, ts) = (self.seats.name(self.seat), self.payloads[self.seat.index()]);
        let op = Op::new(&format!("{name}#{ts}"));
        Request { client: me, ts: self.last_payload(self.seat), op, read_only: false }
    }

    /// The number of a seat's last request of its own stream.
    pub(crate) fn last_payload(&self, seat: Seat) -> u32 {
        let instance = self.seats.name(seat).instance.unwrap_or(0);
        u32::from(instance) << 24 | self.payloads[seat.index()]
    }

    pub(crate) fn block(&mut self, id: Digest, parent: Digest) {
        self.ledger.block(id, parent);
    }

    pub(crate) fn rng(&mut self) -> &mut Rng {
        let seat = self.seat.index();
        self.rngs[seat].get_or_insert_with(|| node_rng(self.seed, seat))
    }

    /// The common coin: by what is asked alone, so that nobody's question changes another answer.
    pub(crate) fn coin(&mut self, slot: Slot, round: u32) -> u64 {
        self.tossed = true;
        stable_hash(Rng::new(self.seed, Purpose::Coin).bits(), &(slot, round))
    }

    pub(crate) fn note(&mut self, line: impl FnOnce() -> String) {
        if self.recording.is_some() {
            self.record(What::Note { seat: Some(self.seats.name(self.seat)), text: line() });
        }
    }

    pub(crate) fn record(&mut self, what: What) {
        let (step, time) = (self.step, self.time);
        if let Some(recording) = &mut self.recording {
            recording.events.push(Event { step, time, what });
        }
    }
}

/// By how much a clock that drifts is off after `time`.
const fn drifted(time: u64, ppm: i32) -> i64 {
    (time as i128 * ppm as i128 / 1_000_000) as i64
}
