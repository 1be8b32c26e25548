//! The simulation: one loop that picks an event, runs a handler, and carries out what it did.
//!
//! ```text
//! loop { scheduler.pick -> node handler -> what it did through its context -> adversary.judge, copy by copy }
//! ```
//!
//! A [`Sim`] is reused from run to run, so that its buffers are. It is driven to its end by [`Sim::run`], or
//! step by step, by hand, through [`Sim::apply`]: stories, scripts and the explorer are all made of
//! [`Action`]s. Whatever drives it, the rule that only Byzantine nodes lie is enforced here, in
//! `lies.rs`, and nowhere else.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use crate::adversary::Verdict;
use crate::assume::{Assumption, World};
use crate::check::Check;
use crate::fault::RoundSource;
use crate::ids::{NodeSet, Seat, SeatName, SeatSet, Time};
pub use crate::io::Io;
use crate::message::{Lie, MutationTable, RoundKey};
use crate::net::{Due, Header, Slab};
use crate::node::{ClientWork, Cluster, Protocol};
use crate::outcome::{End, Injected, Outcome, Property, Violation};
use crate::part::Scope;
use crate::persona::Face;
use crate::plan::{LastRounds, Plan};
use crate::queue::Queue;
use crate::record::{Loss, What};
use crate::rng::Rng;
use crate::scenario::{Limits, Network, ProtocolSpec, SchedulerName, SchedulerSpec};
use crate::schedule::{Action, Choice};

mod any;
mod copies;
mod deeds;
mod events;
mod hand;
mod lies;
mod look;
mod nonsense;
mod online;
mod quiet;
mod rounds;
mod sample;
mod send;
mod session;
mod setup;
pub(crate) mod stances;
mod turns;
mod world;

use any::AnyNode;
use online::Online;
pub use rounds::Sample;
use stances::Stances;
use turns::Turns;
pub use world::Moment;

/// An action that cannot be carried out, and why.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Rejected {
    /// No such message is in flight.
    #[error("no `{0}` is in flight")]
    NoMessage(String),
    /// No such node, timer, mutation.
    #[error("{0}")]
    Nothing(String),
    /// An honest node does not lie.
    #[error("{0} is honest: only a Byzantine node lies")]
    Honest(SeatName),
    /// The lie leaves the message as it is.
    #[error("`{0}` changes nothing in this message")]
    NoChange(String),
}

/// The round counter of a seat.
#[derive(Clone, Copy, Default)]
struct Round {
    key: RoundKey,
    number: u32,
}

/// A copy held back until its sender's round exceeds a number, or, if there is none, until the network is calm or whole.
#[derive(Clone, Copy)]
struct Held {
    header: Header,
    until: u64,
    source: RoundSource,
    delay: Time,
    /// When it was sent.
    sent: Time,
    /// Its row in the recording.
    row: u32,
}

/// A deed to be done once the running handler is through, with the message that triggered it and its sender.
struct Triggered {
    index: u16,
    payload: u32,
    src: Seat,
}

/// How far a script has got, and who goes on with it.
#[derive(Default)]
struct Script {
    actions: Arc<SchedulerSpec>,
    next: usize,
    diverged: Option<u32>,
    /// Chooses what comes after its last step, if anybody does.
    online: Option<Box<Online>>,
}

/// Numbers messages by link and kind, and in the recording.
#[derive(Default)]
struct Numbering {
    on: bool,
    counts: FxHashMap<(Seat, Seat, u8), u32>,
    of: Vec<Number>,
}

/// The numbers of a copy.
#[derive(Clone, Copy, Default)]
struct Number {
    /// Among those of its kind on its link.
    nth: u32,
    /// Its row in the recording.
    row: u32,
}

/// One simulation of protocol `P`.
pub struct Sim<P: Protocol> {
    spec: Arc<ProtocolSpec>,
    config: P::Config,
    preset: toml::Table,
    table: MutationTable,
    checks: Vec<Check<P>>,
    cluster: Cluster,
    limits: Arc<Limits>,
    /// The limit on steps.
    steps: u64,
    /// The limit on messages in flight.
    in_flight: usize,
    network: Arc<Network>,
    /// The most ticks on the way once it is calm.
    bound: Option<Time>,
    /// Whether it is calm from the start.
    calm_from_start: bool,
    /// Whether what it does not deliver arrives later.
    holds: bool,
    /// Least and most ticks on the way; at most the network's bound once it is calm.
    latency: (Time, Time),
    scheduler_name: SchedulerName,
    scheduler_scope: Scope,
    /// The lies that the scheduler draws from, by kind, if not all; and whose list that is, as a campaign shares it.
    scheduler_only: Option<(Arc<SchedulerSpec>, Vec<Vec<Lie>>)>,
    byzantine: NodeSet,
    crash_on_garbage: bool,
    over_budget: bool,
    /// Whether it may be.
    over_budget_allowed: bool,
    /// The replicas that lie, stop or have stopped.
    faulty: NodeSet,
    /// Whether all that the protocol assumes holds so far.
    world: World,

    nodes: Vec<AnyNode<P>>,
    /// The hashes of their states after the last message, while somebody watches and nothing else has touched them.
    hashes: Vec<Option<u64>>,
    works: Vec<ClientWork>,
    alive: SeatSet,
    io: Io<P>,
    slab: Slab<P::Msg>,
    queue: Queue,
    /// The identities that have one seat.
    alone: NodeSet,
    /// Whether nobody has a say in any message: every identity has one seat, nobody attends, links keep no order.
    plain: bool,
    everybody: NodeSet,
    /// Whether somebody watches each message: a recording, a script, a clock for delays.
    watched: bool,
    /// Whether somebody watches or meddles.
    attended: bool,
    /// Whether things happen at moments of their own, without a message or a timer.
    moments: bool,
    /// Whether a script says what happens.
    scripted: bool,
    plan: Option<Plan>,
    last_fault_rounds: LastRounds,
    /// Nothing passes between these and all others; none: the network is whole.
    split: NodeSet,
    faces: Vec<Face>,
    /// Whether a message may take another way into the network: it waits for its turn, or its sender believes its own lies.
    detours: bool,
    /// How liars depart from the protocol throughout.
    stances: Stances<P::Config>,
    deeds: VecDeque<Triggered>,
    /// The first message of each kind that each seat sent, where a liar may send it again.
    firsts: FxHashMap<(Seat, u8), u32>,
    own: VecDeque<u32>,
    held: Vec<Held>,
    /// What is kept for nodes that have stopped.
    mail: Vec<Held>,
    /// How many messages each seat has missed since it stopped.
    missed: Vec<u32>,
    rounds: Vec<Round>,
    highest_round: u32,
    client_kinds: u64,
    links: Vec<Time>,
    turns: Turns,
    verdict: Verdict,

    script: Script,
    numbering: Numbering,
    schedule_rng: Rng,
    network_rng: Rng,
    lie_rng: Rng,

    next_id: u32,
    sendings: u32,
    deliveries: u64,
    expected: usize,
    /// The calm phase starts at this step, time, or number of deliveries.
    calm_at: (u64, Time, u64),
    /// The step before which `calm_at` need not be looked at.
    look_step: u64,
    calm: bool,
    goal_at: Option<(Time, u64)>,
    /// When all correct replicas had left the views that the limits allow.
    views_over_at: Option<(Time, u64)>,
    /// The step up to which the run need not be asked whether it has ended.
    last_step: u64,
    injected: Injected,
    lies: SmallVec<[(u8, Lie); 4]>,
    end: Option<End>,
    /// Set while a handler runs, so that a panic can be blamed.
    running: Option<Seat>,
}

impl<P: Protocol> Default for Sim<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Protocol> Sim<P> {
    /// An empty simulation; [`Sim::reset`] fills it.
    pub fn new() -> Self {
        Self {
            spec: Arc::default(),
            config: P::Config::default(),
            preset: toml::Table::new(),
            table: MutationTable::of::<P::Msg>(),
            checks: P::checks(),
            cluster: Cluster::default(),
            limits: Arc::default(),
            steps: 0,
            in_flight: 0,
            network: Arc::default(),
            bound: None,
            calm_from_start: false,
            holds: false,
            latency: (Time(0), Time(0)),
            scheduler_name: SchedulerName::Timed,
            scheduler_scope: Scope::Any,
            scheduler_only: None,
            byzantine: NodeSet::EMPTY,
            crash_on_garbage: false,
            over_budget: false,
            over_budget_allowed: false,
            faulty: NodeSet::EMPTY,
            world: World::default(),
            nodes: Vec::new(),
            hashes: Vec::new(),
            works: Vec::new(),
            alive: SeatSet::default(),
            io: Io::new(),
            slab: Slab::new(),
            queue: Queue::default(),
            alone: NodeSet::EMPTY,
            plain: false,
            everybody: NodeSet::EMPTY,
            watched: false,
            attended: false,
            moments: false,
            scripted: false,
            plan: None,
            last_fault_rounds: LastRounds::default(),
            split: NodeSet::EMPTY,
            faces: Vec::new(),
            detours: false,
            stances: Stances::default(),
            deeds: VecDeque::new(),
            firsts: FxHashMap::default(),
            own: VecDeque::new(),
            held: Vec::new(),
            mail: Vec::new(),
            missed: Vec::new(),
            rounds: Vec::new(),
            highest_round: 0,
            client_kinds: 0,
            links: Vec::new(),
            turns: Turns::default(),
            verdict: Verdict::default(),
            script: Script::default(),
            numbering: Numbering::default(),
            schedule_rng: Rng::stream(0, 0),
            network_rng: Rng::stream(0, 0),
            lie_rng: Rng::stream(0, 0),
            next_id: 0,
            sendings: 0,
            deliveries: 0,
            expected: 0,
            calm_at: (0, Time(0), 0),
            look_step: 0,
            calm: false,
            goal_at: None,
            views_over_at: None,
            last_step: 0,
            injected: Injected::default(),
            lies: SmallVec::new(),
            end: None,
            running: None,
        }
    }

    /// A simulation of a variant: `preset` holds keys of the configuration, which scenarios may override.
    pub fn with_preset(preset: toml::Table) -> Self {
        Self { preset, ..Self::new() }
    }

    /// Runs to the end.
    pub fn run(&mut self) -> Outcome {
        self.drive(|_| false)
    }

    /// Runs until whoever watches has seen enough, or to the end.
    pub fn run_watched(&mut self, enough: &mut dyn FnMut(&dyn Moment) -> bool) -> Outcome {
        self.drive(|sim| enough(sim))
    }

    /// Runs to the end, or until it is `over`: that is asked after each event.
    fn drive(&mut self, mut over: impl FnMut(&Self) -> bool) -> Outcome {
        let mut stopped = false;
        while !stopped && self.end.is_none() {
            self.guarded(|sim| {
                while !stopped && sim.step() {
                    stopped = over(sim);
                }
            });
            // A crash is a violation that shows when its panic is caught.
            stopped = stopped || over(self);
        }
        self.finish()
    }

    /// One event; false at the end.
    #[inline(always)]
    pub fn step(&mut self) -> bool {
        if self.end.is_some() || self.ended() {
            return false;
        }
        if self.scripted && self.play_script() {
            return true;
        }
        if self.moments && self.something_first() {
            return true;
        }
        match self.queue.pick(&self.io.timers.alarms(), &mut self.schedule_rng) {
            Some(choice) => self.carry_out(choice),
            None => self.idle(),
        }
        true
    }

    /// Does what comes before the next event, if anything does.
    fn something_first(&mut self) -> bool {
        let (alarms, now) = (self.io.timers.alarms(), self.io.time);
        let Some((moment, _)) = self.next_moment() else { return false };
        // Timers are at hand, messages have to be looked for.
        if moment > now && alarms.first.is_some_and(|(_, at)| at < moment) {
            return false;
        }
        let idle = self.queue.len() == 0 && alarms.first.is_none();
        let next = if idle { Some(Time(u64::MAX)) } else { self.queue.next_time(&alarms) };
        let first = moment <= next.unwrap_or(now).max(now);
        if first {
            self.record_action(Action::Wait);
            self.wait();
        }
        first
    }

    #[inline]
    fn carry_out(&mut self, choice: Choice) {
        if self.attended && self.io.recording.is_some() {
            self.record_choice(choice);
        }
        match choice {
            Choice::Deliver(header) => self.deliver(header),
            Choice::Drop(header) => {
                self.io.step += 1;
                self.lose(header, Loss::Network);
            }
            Choice::Mutate(header) => self.mutate_and_deliver(header),
            Choice::Fire(seat) => {
                if let Some((timer, at)) = self.io.timers.take_first(seat) {
                    self.fire(seat, timer, at);
                }
            }
        }
    }

    /// Nothing is enabled: time passes until a deed is due or the network heals.
    fn idle(&mut self) {
        if self.next_moment().is_some() {
            self.record_action(Action::Wait);
            self.wait();
        } else if !self.calm {
            self.begin_calm();
        } else {
            self.end = Some(if self.goal_at.is_some() { End::Goal } else { End::Quiet });
        }
    }

    /// Most steps need not be looked at: `last_step` is where the limits may end the run, or 0 once the goal is
    /// reached or the views are over. The limits on time and messages in flight are looked at every so many steps.
    #[inline]
    fn ended(&mut self) -> bool {
        self.io.step >= self.last_step && self.really_ended()
    }

    fn really_ended(&mut self) -> bool {
        let limits = &self.limits;
        let in_flight = self.queue.len();
        let limit = if self.io.step >= self.steps {
            Some(if limits.short == Some(self.steps) { "short" } else { "steps" })
        } else if in_flight > self.in_flight {
            Some("in-flight")
        } else if self.io.time > limits.time {
            Some("time")
        } else {
            None
        };
        let end = if self.goal_at.is_some() { End::Goal } else { End::Limit(limit.unwrap_or("views")) };
        self.end = match (self.goal_at.or(self.views_over_at), limit) {
            (None, None) => None,
            (_, Some(_)) => Some(end),
            (Some((time, step)), None) => {
                let next = self.io.timers.alarms().first.map_or(Due::NEVER, |(_, at)| at);
                let still = in_flight == 0 && self.held.is_empty() && self.turns.next().is_none();
                let quiet = still && next > time + limits.linger;
                // A stream goes on forever.
                let over = quiet || P::STREAM;
                // A script is played to its end.
                let more = self.script.next < self.script.actions.script.len();
                (!more && (over || self.io.step > step + limits.tail)).then_some(end)
            }
        };
        if self.goal_at.is_none() && self.views_over_at.is_none() {
            self.last_step = (self.io.step + 64).min(self.steps);
        }
        self.end.is_some()
    }

    /// After an event: is the goal reached, is it time to calm down?
    #[inline]
    fn look(&mut self) {
        if self.io.progressed || self.io.step >= self.look_step {
            self.look_closely();
        }
    }

    fn look_closely(&mut self) {
        if self.io.progressed {
            self.look_at_progress();
        }
        let (step, time, deliveries) = self.calm_at;
        if !self.calm && (self.io.step >= step || self.io.time >= time || self.deliveries >= deliveries) {
            self.begin_calm();
        }
    }

    fn look_at_progress(&mut self) {
        self.io.progressed = false;
        if self.goal_at.is_none() {
            let (seats, deciders) = (&self.io.seats, P::deciders(&self.cluster));
            let decides = |&seat: &Seat| self.alive.contains(seat) && deciders.contains(seats.node(seat));
            let live = seats.replicas().iter().filter(decides);
            if self.io.ledger.goal_reached(self.expected, live) {
                self.goal_at = Some((self.io.time, self.io.step));
                self.last_step = 0;
            }
        }
        if !self.checks.is_empty() {
            self.judge_checks();
        }
    }

    fn judge_checks(&mut self) {
        let checks = std::mem::take(&mut self.checks);
        for check in &checks {
            if let Err(detail) = (check.judge)(self) {
                let step = self.io.step;
                self.io.ledger.violate(Violation {
                    property: Property::Custom,
                    rule: check.name,
                    nodes: SmallVec::new(),
                    slot: None,
                    step,
                    outside: None,
                    detail: format!("{}: {detail}", check.name),
                });
            }
        }
        self.checks = checks;
    }

    /// The calm phase: every scheduler behaves as `timed`, the network as promised.
    #[cold]
    fn begin_calm(&mut self) {
        self.record_action(Action::Calm);
        self.calm_down();
    }

    fn calm_down(&mut self) {
        self.calm = true;
        self.split = NodeSet::EMPTY;
        self.io.ledger.calm();
        self.look_step = u64::MAX;
        if let Some(bound) = self.bound {
            self.latency = (self.latency.0.min(bound), self.latency.1.min(bound));
            let latest = self.io.time + bound;
            self.links.iter_mut().for_each(|last| *last = (*last).min(latest));
        }
        let latest = self.bound.map(|bound| self.io.time + bound);
        let late = |seat| self.byzantine.contains(self.io.seats.node(seat));
        self.queue.calm(latest, late);
        self.release(|_, _| true);
        if self.io.recording.is_some() {
            self.io.record(What::Note { seat: None, text: "the network is calm from now on".to_owned() });
        }
    }

    fn finish(&mut self) -> Outcome {
        let end = self.end.unwrap_or(End::Stopped);
        // Where nothing ever happened, nobody has looked yet.
        if self.io.progressed {
            self.look_at_progress();
        }
        if !self.checks.is_empty() {
            self.judge_checks();
        }
        let cut_short = matches!(end, End::Stopped | End::Limit("views" | "short"));
        let unfinished = self.goal_at.is_none() && !cut_short && !self.io.ledger.goal_is_none();
        if unfinished && (self.calm || end == End::Quiet) {
            let rule = if end == End::Quiet { "deadlock" } else { "bounded" };
            let missing = self.io.ledger.missing(self.expected);
            let detail = match end {
                End::Limit(limit) => format!("{missing} within the limit on {limit}"),
                _ => format!("{missing}, and nothing is left to happen"),
            };
            let step = self.io.step;
            self.io.ledger.violate(Violation {
                property: Property::Termination,
                rule,
                nodes: SmallVec::new(),
                slot: None,
                step,
                outside: None,
                detail,
            });
        }
        self.io.ledger.judge_logs();
        let mut violations = self.io.ledger.violations().clone();
        self.look_back();
        self.world.judge(&mut violations);
        Outcome {
            violations,
            end,
            steps: self.io.step,
            deliveries: self.deliveries,
            time: self.io.time,
            completed: self.io.ledger.completed() as u32,
            commits: self.io.ledger.commits(),
            calm: self.calm,
            over_budget: self.over_budget,
            breaches: self.world.breaches().clone(),
            injected: self.injected,
            lies: self.lies.clone(),
            marks: self.io.marks,
            fingerprint: self.io.trail.finish(),
            diverged: self.script.diverged,
        }
    }

    /// What shows only at the end: requests that came too early, messages that are overdue.
    fn look_back(&mut self) {
        if self.world.assumed().one_request {
            for &(step, client, ts) in self.io.ledger.crowded() {
                self.world.note(Assumption::Requests, step, || format!("request {ts} of {client}"));
            }
        }
        if self.world.timed() {
            let mut overdue = Vec::new();
            self.queue.visit(&mut |header| {
                if self.world.overdue(header.id, self.io.time).is_some() {
                    overdue.push(*header);
                }
            });
            overdue.iter().for_each(|header| self.note_delay(header));
        }
    }

    /// Ends the run here, and says what came out.
    pub fn stop(&mut self) -> Outcome {
        self.finish()
    }

    /// Catches a panic of a node: it has crashed, the run goes on.
    fn guarded(&mut self, work: impl FnOnce(&mut Self)) {
        quiet::panics(true);
        let result = catch_unwind(AssertUnwindSafe(|| work(self)));
        quiet::panics(false);
        let Err(panic) = result else { return };
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("panic");
        match self.running.take() {
            Some(seat) => self.crashed(seat, text),
            // Nobody's handler ran: the fault is ours, and is not to be hidden.
            None => panic!("the simulation itself failed at {}: {text}", quiet::place()),
        }
    }

    fn crashed(&mut self, seat: Seat, text: &str) {
        self.io.outbox.clear();
        self.own.clear();
        self.crash(seat);
        if self.io.ledger.correct().contains(seat) {
            let (node, step) = (self.io.seats.node(seat), self.io.step);
            self.io.ledger.violate(Violation {
                property: Property::Crashed,
                rule: "panic",
                nodes: smallvec![node],
                slot: None,
                step,
                outside: None,
                detail: format!("{node} crashed: {text}"),
            });
        }
        self.io.record(What::Note { seat: Some(self.io.seats.name(seat)), text: format!("crashed: {text}") });
    }
}

/// A timer's key as people write it: `request`, `slot-fetch-3`.
fn timer_name(timer: &impl fmt::Debug) -> String {
    let mut name = String::new();
    for c in format!("{timer:?}").chars() {
        match c {
            c if c.is_ascii_uppercase() => {
                name.push_str(if name.is_empty() || name.ends_with('-') { "" } else { "-" });
                name.push(c.to_ascii_lowercase());
            }
            c if c.is_ascii_alphanumeric() => name.push(c),
            _ if name.ends_with('-') => {}
            _ => name.push('-'),
        }
    }
    name.trim_end_matches('-').to_owned()
}
