//! The simulation: one loop that picks an event, runs a handler, and carries out what it did.
//!
//! ```text
//! loop { scheduler.pick -> node handler -> what it did through its context -> adversary.judge, copy by copy }
//! ```
//!
//! A [`Sim`] is reused from run to run, so that its buffers are. It is driven to its end by [`Sim::run`], or
//! step by step, by hand, through [`Sim::apply`]: stories, scripts and the explorer are all made of
//! [`Action`]s. Whatever drives it, the rule that only Byzantine nodes lie is enforced here, in
//! [`Sim::lie`], and nowhere else.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::check::{Check, Ledger};
use crate::client::Op;
use crate::fault::{Effect, Form};
use crate::hash::stable_hash;
use crate::ids::{NodeId, NodeSet, Seat, SeatName, SeatSet, Time};
pub use crate::io::Io;
use crate::message::{Lie, Message, MutationTable, RoundKey, apply};
use crate::net::{Due, Header, Slab};
use crate::node::{ClientWork, Cluster, Context, Node, Protocol, State, Vitals};
use crate::outcome::{End, Injected, Outcome, Property, Violation};
use crate::part::{Liar, Part, Scope};
use crate::persona::{Face, Input};
use crate::plan::{Adversary, Deed, Fate, LieSpec, Plan, Sent, Verdict};
use crate::record::{Recording, What};
use crate::rng::{Purpose, Rng};
use crate::scenario::{
    Gst, Latency, Limits, Network, ProtocolSpec, SCHEMA, Scenario, ScenarioError, SchedulerName, Trust,
    invalid,
};
use crate::schedule::{Action, Choice, Coordinates, Scheduler, scheduler};
use crate::seats::Seats;
use crate::sign::Signer;
use crate::wheel::Timed;

/// A replica or a client in its seat.
enum AnyNode<P: Protocol> {
    Replica(P::Replica),
    Client(P::Client),
}

impl<P: Protocol> AnyNode<P> {
    fn on_start(&mut self, cx: &mut Context<'_, P>) {
        match self {
            Self::Replica(node) => node.on_start(cx),
            Self::Client(node) => node.on_start(cx),
        }
    }
    fn on_message(&mut self, from: NodeId, msg: &P::Msg, cx: &mut Context<'_, P>) {
        match self {
            Self::Replica(node) => node.on_message(from, msg, cx),
            Self::Client(node) => node.on_message(from, msg, cx),
        }
    }
    fn on_timer(&mut self, timer: P::Timer, cx: &mut Context<'_, P>) {
        match self {
            Self::Replica(node) => node.on_timer(timer, cx),
            Self::Client(node) => node.on_timer(timer, cx),
        }
    }
    fn on_restart(&mut self, cx: &mut Context<'_, P>) {
        match self {
            Self::Replica(node) => node.on_restart(cx),
            Self::Client(node) => node.on_restart(cx),
        }
    }
    fn on_suspect(&mut self, cx: &mut Context<'_, P>) {
        match self {
            Self::Replica(node) => node.on_suspect(cx),
            Self::Client(node) => node.on_suspect(cx),
        }
    }
    fn state(&self) -> Option<&dyn State> {
        match self {
            Self::Replica(node) => node.state(),
            Self::Client(node) => node.state(),
        }
    }
    fn vitals(&self) -> Vitals {
        match self {
            Self::Replica(node) => node.vitals(),
            Self::Client(node) => node.vitals(),
        }
    }
    fn fork(&self) -> Option<Self> {
        match self {
            Self::Replica(node) => node.fork().map(Self::Replica),
            Self::Client(node) => node.fork().map(Self::Client),
        }
    }
}

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

/// A copy held back until its sender's round exceeds a number.
struct Held {
    header: Header,
    until: u64,
}

/// How far a script has got, and the names of messages in flight.
#[derive(Default)]
struct Script {
    actions: Arc<crate::scenario::SchedulerSpec>,
    next: usize,
    diverged: Option<u32>,
}

/// Numbers messages by link and kind.
#[derive(Default)]
struct Numbering {
    on: bool,
    counts: FxHashMap<(Seat, Seat, u8), u32>,
    of: Vec<u32>,
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
    network: Arc<Network>,
    scheduler_name: SchedulerName,
    scheduler_scope: Scope,
    byzantine: NodeSet,
    crash_on_garbage: bool,
    over_budget: bool,

    nodes: Vec<AnyNode<P>>,
    works: Vec<ClientWork>,
    alive: SeatSet,
    io: Io<P>,
    slab: Slab<P::Msg>,
    scheduler: Box<dyn Scheduler>,
    /// Which kind of scheduler that is, to know whether it can be reused.
    built: Option<(Arc<crate::scenario::SchedulerSpec>, usize)>,
    adversary: Option<Box<dyn Adversary>>,
    last_fault_round: Option<u64>,
    faces: Vec<Face>,
    deeds: VecDeque<(u16, Option<u32>)>,
    own: VecDeque<u32>,
    held: Vec<Held>,
    rounds: Vec<Round>,
    highest_round: u32,
    client_kinds: u64,
    links: Vec<Time>,
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
    calm_step: u64,
    calm: bool,
    goal_at: Option<(Time, u64)>,
    injected: Injected,
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
            network: Arc::default(),
            scheduler_name: SchedulerName::Timed,
            scheduler_scope: Scope::Any,
            byzantine: NodeSet::EMPTY,
            crash_on_garbage: false,
            over_budget: false,
            nodes: Vec::new(),
            works: Vec::new(),
            alive: SeatSet::default(),
            io: Io::new(),
            slab: Slab::new(),
            scheduler: Box::new(Timed::default()),
            built: None,
            adversary: None,
            last_fault_round: None,
            faces: Vec::new(),
            deeds: VecDeque::new(),
            own: VecDeque::new(),
            held: Vec::new(),
            rounds: Vec::new(),
            highest_round: 0,
            client_kinds: 0,
            links: Vec::new(),
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
            calm_step: 0,
            calm: false,
            goal_at: None,
            injected: Injected::default(),
            end: None,
            running: None,
        }
    }

    /// A simulation of a variant: `preset` holds keys of the configuration, which scenarios may override.
    pub fn with_preset(preset: toml::Table) -> Self {
        Self { preset, ..Self::new() }
    }

    // --- setting up -------------------------------------------------------------------------------------

    /// Prepares a run. Nothing has happened yet but every node's `on_start`.
    pub fn reset(&mut self, scenario: &Scenario) -> Result<(), ScenarioError> {
        self.prepare(scenario)?;
        self.start();
        Ok(())
    }

    /// As [`Sim::reset`], and keeps what happens from now on.
    pub fn reset_recording(&mut self, scenario: &Scenario) -> Result<(), ScenarioError> {
        self.prepare(scenario)?;
        self.io.recording = Some(Recording::default());
        self.io.ledger.keep_log();
        self.numbering.on = true;
        self.start();
        Ok(())
    }

    fn prepare(&mut self, scenario: &Scenario) -> Result<(), ScenarioError> {
        if scenario.schema > SCHEMA {
            return Err(ScenarioError::NewerSchema { found: i64::from(scenario.schema) });
        }
        // A campaign shares the protocol's table between its runs: it is read once.
        if !Arc::ptr_eq(&self.spec, &scenario.protocol) || self.spec.name.is_empty() {
            let mut table = self.preset.clone();
            table.extend(scenario.protocol.config.clone());
            self.config = toml::Value::Table(table).try_into().map_err(|error: toml::de::Error| {
                ScenarioError::Malformed(format!("[protocol] {}: {}", P::NAME, error.message()))
            })?;
            self.spec = scenario.protocol.clone();
        }
        self.check_budget(scenario)?;
        let cluster = &scenario.cluster;
        self.cluster.n = cluster.n;
        self.cluster.f = cluster.f;
        self.cluster.clients = cluster.clients;
        self.cluster.leaders.clone_from(&cluster.leaders);
        self.cluster.trust = match &cluster.trust {
            Trust::Sets(sets) => sets.clone(),
            Trust::Preset(name) => P::trust(name, cluster.n)?,
        };
        self.limits = scenario.limits.clone();
        self.network = scenario.network.clone();
        self.scheduler_name = scenario.scheduler.name;
        self.scheduler_scope = scenario.scheduler.scope;
        self.byzantine = scenario.adversary.byzantine;
        self.crash_on_garbage = scenario.adversary.crash_on_garbage;

        self.io.seats.fill(scenario);
        let seats = self.io.seats.len();
        if seats > 2 * NodeId::MAX {
            return Err(invalid(format!("{seats} nodes are too many: at most {}", 2 * NodeId::MAX)));
        }
        self.io.reset(scenario.seed.0);
        for (&node, &ppm) in &cluster.drift {
            if ppm <= -1_000_000 {
                return Err(invalid(format!("a drift of {ppm} ppm stops the clock of {node}")));
            }
            for seat in self.io.seats.named(node.into())?.iter() {
                self.io.clocks[seat.index()].0 = ppm;
            }
        }
        let mut correct = SeatSet::default();
        self.alive = SeatSet::default();
        for i in 0..seats {
            let seat = Seat(i as u8);
            self.alive.insert(seat);
            if !self.byzantine.contains(self.io.seats.node(seat)) {
                correct.insert(seat);
            }
        }
        let gap_free = P::gap_free(&self.config);
        let goal = scenario.workload.goal;
        self.io.ledger.reset(self.io.seats.nodes(), correct, self.byzantine, gap_free, goal);

        self.prepare_plan(scenario)?;
        self.prepare_scheduler(scenario, seats);
        self.slab.clear();
        let online_lies = scenario.scheduler.mutate > 0 || scenario.scheduler.name == SchedulerName::Script;
        self.slab.keep = online_lies && !self.byzantine.is_empty() || self.slab.keep;

        self.nodes.clear();
        self.deal_out(scenario);
        for i in 0..seats {
            let node = self.fresh_node(Seat(i as u8));
            self.nodes.push(node);
        }
        self.deeds.clear();
        self.own.clear();
        self.held.clear();
        self.rounds.clear();
        self.rounds.resize(seats, Round { key: P::origin(), number: 0 });
        self.highest_round = 0;
        self.client_kinds = 0;
        self.links.clear();
        self.links.resize(if self.network.fifo { seats * seats } else { 0 }, Time(0));
        let numbered = scenario.scheduler.name == SchedulerName::Script;
        self.numbering = Numbering { on: numbered, ..Numbering::default() };
        self.schedule_rng = Rng::new(scenario.seed.0, Purpose::Scheduler);
        self.network_rng = Rng::new(scenario.seed.0, Purpose::Network);
        self.lie_rng = Rng::new(scenario.seed.0, Purpose::Lies);
        self.next_id = 0;
        self.sendings = 0;
        self.deliveries = 0;
        self.calm_step = self.limits.steps / 2;
        self.calm = false;
        self.goal_at = None;
        self.injected = Injected::default();
        self.end = None;
        self.running = None;
        Ok(())
    }

    /// Whether the cluster is large enough, and not too many are faulty.
    fn check_budget(&mut self, scenario: &Scenario) -> Result<(), ScenarioError> {
        let (cluster, adversary) = (&scenario.cluster, &scenario.adversary);
        let (n, f) = (cluster.n, cluster.f);
        let bound = P::bound(&self.config, f);
        if n == 0 || n > NodeId::MAX || cluster.clients > NodeId::MAX {
            return Err(invalid(format!(
                "a cluster has 1 to {} replicas and at most as many clients",
                NodeId::MAX
            )));
        }
        if n < bound {
            return Err(invalid(format!(
                "{} needs n >= {bound} replicas to bear f = {f} faulty ones, not n = {n}",
                P::NAME
            )));
        }
        let everybody = NodeSet::replicas(n).or((0..cluster.clients).map(NodeId::client).collect());
        if let Some(node) = adversary.byzantine.or(adversary.twins).without(everybody).iter().next() {
            return Err(invalid(format!("there is no {node}: replicas are p0..p{}", n - 1)));
        }
        if !adversary.twins.is_subset(adversary.byzantine) {
            let honest = adversary.twins.without(adversary.byzantine);
            return Err(invalid(format!("a twin is Byzantine: add {honest} to `adversary.byzantine`")));
        }
        let mut faulty = adversary.byzantine;
        for fault in &adversary.faults {
            if let Effect::Crash(seat) = fault.effect {
                faulty.insert(seat.node);
            }
        }
        let count = faulty.and(NodeSet::replicas(n)).len();
        self.over_budget = count > f;
        if self.over_budget && !cluster.over_budget {
            return Err(invalid(format!(
                "{count} faulty replicas {faulty} exceed f = {f}: take fewer, or say `cluster.over-budget = true` \
                 (--over-budget)"
            )));
        }
        Ok(())
    }

    fn prepare_plan(&mut self, scenario: &Scenario) -> Result<(), ScenarioError> {
        self.faces.clear();
        self.adversary = None;
        self.last_fault_round = None;
        self.slab.keep = false;
        if scenario.adversary.faults.is_empty() {
            return Ok(());
        }
        let plan = Plan::compile(scenario, &self.io.seats, P::Msg::KINDS, &self.table)?;
        self.last_fault_round = plan.last_round();
        self.slab.keep = plan.lies();
        let mut further: Vec<(NodeId, Seat)> = self.io.seats.further().collect();
        further.drain(..scenario.adversary.twins.len());
        let mut further = further.into_iter();
        for (i, fault) in scenario.adversary.faults.iter().enumerate() {
            if let Effect::Persona(spec) = &fault.effect {
                let first = self.io.seats.first(spec.of).expect("the plan named it");
                let seat = match spec.form {
                    Form::Instance => further.next().expect("every persona has a seat").1,
                    Form::Outgoing => first,
                };
                // Woken by its trigger; without one it is there from the start.
                let awake = fault.when == crate::fault::When::default();
                self.faces.push(Face::new(spec, seat, i as u16, awake));
            }
        }
        self.adversary = Some(Box::new(plan));
        Ok(())
    }

    fn prepare_scheduler(&mut self, scenario: &Scenario, seats: usize) {
        self.script = Script { actions: scenario.scheduler.clone(), next: 0, diverged: None };
        let reusable = self.built.as_ref().is_some_and(|(spec, size)| {
            *size == seats && (Arc::ptr_eq(spec, &scenario.scheduler) || *spec == scenario.scheduler)
        });
        if reusable {
            self.scheduler.clear();
        } else {
            self.scheduler = scheduler(&scenario.scheduler, seats);
        }
        self.built = Some((scenario.scheduler.clone(), seats));
    }

    /// Deals the requests out to the clients.
    fn deal_out(&mut self, scenario: &Scenario) {
        let workload = &scenario.workload;
        let clients = scenario.cluster.clients;
        self.works.truncate(clients);
        self.works.iter_mut().for_each(|work| {
            work.ops.clear();
            work.workload.clone_from(workload);
        });
        self.works.resize_with(clients, || ClientWork { workload: workload.clone(), ops: Vec::new() });
        self.expected = 0;
        if clients == 0 {
            return;
        }
        for i in 0..workload.requests as usize {
            let op = match workload.ops.get(i) {
                Some(op) => Op::new(op),
                None => Op::numbered(i + 1),
            };
            let start = workload.start.get(i).copied().unwrap_or_default();
            let read_only = workload.read_only.contains(&(i as u32 + 1));
            let client = i % clients;
            self.works[client].ops.push((op, start, read_only));
            self.expected += usize::from(!self.byzantine.contains(NodeId::client(client)));
        }
    }

    fn fresh_node(&self, seat: Seat) -> AnyNode<P> {
        let node = self.io.seats.node(seat);
        if node.is_client() {
            AnyNode::Client(P::client(node, &self.cluster, &self.config, &self.works[node.index()]))
        } else {
            AnyNode::Replica(P::replica(node, &self.cluster, &self.config))
        }
    }

    fn start(&mut self) {
        self.guarded(|sim| {
            for i in 0..sim.nodes.len() {
                let seat = Seat(i as u8);
                if !sim.dormant(seat) {
                    sim.call(seat, AnyNode::on_start);
                }
            }
            sim.look();
        });
    }

    // --- running ----------------------------------------------------------------------------------------

    /// Runs to the end.
    pub fn run(&mut self) -> Outcome {
        while self.end.is_none() {
            self.guarded(|sim| while sim.step() {});
        }
        self.finish()
    }

    /// One event; false at the end.
    pub fn step(&mut self) -> bool {
        if self.end.is_some() || self.ended() {
            return false;
        }
        if self.script.next < self.script.actions.script.len() {
            self.scripted();
            return true;
        }
        if self.scheduler_name == SchedulerName::Script && !self.calm {
            self.begin_calm();
        }
        match self.scheduler.pick(&self.io.timers.alarms(), &mut self.schedule_rng) {
            Some(choice) => self.carry_out(choice),
            None => self.idle(),
        }
        true
    }

    fn carry_out(&mut self, choice: Choice) {
        if self.io.recording.is_some() {
            self.record_choice(choice);
        }
        if self.adversary.is_some() {
            let at = match choice {
                Choice::Deliver(header) | Choice::Drop(header) | Choice::Mutate(header) => header.at,
                Choice::Fire(seat) => self.io.timers.due(seat),
            };
            self.due_deeds(self.io.step, at.max(self.io.time));
        }
        match choice {
            Choice::Deliver(header) => self.deliver(header),
            Choice::Drop(header) => {
                self.io.step += 1;
                self.lose(header);
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
        if self.adversary.as_ref().is_some_and(|adversary| adversary.next_scheduled().is_some()) {
            self.due_deeds(u64::MAX, Time(u64::MAX));
        } else if !self.calm {
            self.begin_calm();
        } else {
            self.end = Some(if self.goal_at.is_some() { End::Goal } else { End::Quiet });
        }
    }

    fn ended(&mut self) -> bool {
        let limits = &self.limits;
        let in_flight = self.scheduler.len();
        let end = if self.io.step >= limits.steps {
            Some(End::Limit("steps"))
        } else if in_flight > limits.in_flight {
            Some(End::Limit("in-flight"))
        } else if self.io.time > limits.time {
            Some(End::Limit("time"))
        } else {
            None
        };
        let end = match (self.goal_at, end) {
            (Some(_), Some(_)) => Some(End::Goal),
            (Some((time, step)), None) => {
                let next = self.io.timers.alarms().first.map_or(Due::NEVER, |(_, at)| at);
                let over = in_flight == 0 && self.held.is_empty() && next > time + limits.linger;
                (over || self.io.step > step + limits.tail).then_some(End::Goal)
            }
            (None, end) => end,
        };
        self.end = end;
        end.is_some()
    }

    /// What happened was looked at: is the goal reached, is it time to calm down?
    fn look(&mut self) {
        if self.io.progressed {
            self.io.progressed = false;
            if self.goal_at.is_none() {
                let live = self.io.seats.replicas().iter().filter(|&seat| self.alive.contains(seat));
                if self.io.ledger.goal_reached(self.expected, live) {
                    self.goal_at = Some((self.io.time, self.io.step));
                }
            }
            if !self.checks.is_empty() {
                self.judge_checks();
            }
        }
        if !self.calm {
            let gst = match self.network.gst {
                Some(Gst::Time(at)) => self.io.time >= at,
                Some(Gst::Deliveries(count)) => self.deliveries >= count,
                None => self.io.step >= self.calm_step,
            };
            if gst && self.scheduler_name != SchedulerName::Script {
                self.begin_calm();
            }
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
                    nodes: smallvec::SmallVec::new(),
                    slot: None,
                    step,
                    detail: format!("{}: {detail}", check.name),
                });
            }
        }
        self.checks = checks;
    }

    /// The calm phase: every scheduler behaves as `timed`, the network as promised.
    fn begin_calm(&mut self) {
        self.calm = true;
        self.record_action(Action::Calm);
        if !matches!(self.scheduler_name, SchedulerName::Timed) {
            let mut timed = Timed::default();
            self.scheduler.visit(&mut |header| timed.push(*header));
            self.scheduler = Box::new(timed);
            self.built = None;
        }
        if let Some(bound) = self.network.bound {
            let latest = self.io.time + bound;
            let mut pending = Vec::new();
            self.scheduler.visit(&mut |header| pending.push(Header { at: header.at.min(latest), ..*header }));
            self.scheduler.clear();
            pending.into_iter().for_each(|header| self.scheduler.push(header));
        }
        self.release(|_, _| true);
        if self.io.recording.is_some() {
            self.io.record(What::Note { seat: None, text: "the network is calm from now on".to_owned() });
        }
    }

    fn finish(&mut self) -> Outcome {
        let end = self.end.unwrap_or(End::Stopped);
        if !self.checks.is_empty() {
            self.judge_checks();
        }
        let unfinished = self.goal_at.is_none() && !matches!(end, End::Stopped | End::Goal);
        if unfinished && (self.calm || end == End::Quiet) {
            let rule = if end == End::Quiet { "deadlock" } else { "bounded" };
            let (done, expected) = (self.io.ledger.completed(), self.expected);
            let why = if end == End::Quiet { "nothing is left to happen" } else { "still busy at the limit" };
            let step = self.io.step;
            self.io.ledger.violate(Violation {
                property: Property::Termination,
                rule,
                nodes: smallvec::SmallVec::new(),
                slot: None,
                step,
                detail: format!("{done} of {expected} requests completed, {why} ({rule})"),
            });
        }
        Outcome {
            violations: self.io.ledger.violations().clone(),
            end,
            steps: self.io.step,
            deliveries: self.deliveries,
            time: self.io.time,
            completed: self.io.ledger.completed() as u32,
            commits: self.io.ledger.commits(),
            calm: self.calm,
            over_budget: self.over_budget,
            injected: self.injected,
            marks: self.io.marks,
            fingerprint: self.io.trail.finish(),
            diverged: self.script.diverged,
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
        let Some(seat) = self.running.take() else { std::panic::resume_unwind(panic) };
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("panic").to_owned();
        self.crashed(seat, text);
    }

    fn crashed(&mut self, seat: Seat, text: String) {
        self.io.outbox.clear();
        self.own.clear();
        self.crash(seat);
        if self.io.ledger.correct().contains(seat) {
            let (node, step) = (self.io.seats.node(seat), self.io.step);
            self.io.ledger.violate(Violation {
                property: Property::Crashed,
                rule: "panic",
                nodes: smallvec::smallvec![node],
                slot: None,
                step,
                detail: format!("{node} crashed: {text}"),
            });
        }
        self.io.record(What::Note { seat: Some(self.io.seats.name(seat)), text: format!("crashed: {text}") });
    }

    // --- events -----------------------------------------------------------------------------------------

    fn deliver(&mut self, header: Header) {
        self.io.step += 1;
        self.io.time = self.io.time.max(header.at);
        let Header { src, dst, payload, kind, .. } = header;
        if !self.alive.contains(dst) || self.dropped_at_delivery(&header) {
            self.lose(header);
            return;
        }
        self.deliveries += 1;
        self.io
            .trail
            .add(self.io.time.0 << 24 ^ u64::from(src.0) << 16 ^ u64::from(dst.0) << 8 ^ u64::from(kind));
        if let Some(key) = self.slab.get(payload).round() {
            self.raise(dst, key);
        }
        if self.io.recording.is_some() {
            let (src, dst) = (self.io.seats.name(src), self.io.seats.name(dst));
            let text = Described(self.slab.get(payload)).to_string();
            self.io.record(What::Deliver { src, dst, text, lie: header.lie });
        }
        let before = header.lie.then(|| self.nodes[dst.index()].state().map(State::state_hash));
        let sent_before = self.sendings;
        if self.faces.iter().any(|face| face.seat == dst && face.form == Form::Instance) {
            self.deliver_to_face(header);
        } else {
            self.hand_over(dst, src, payload);
        }
        if let Some(before) = before {
            let after = self.nodes[dst.index()].state().map(State::state_hash);
            let changed = before.is_some() && before != after;
            self.injected.accepted += u32::from(changed || self.sendings != sent_before);
        }
        self.slab.release(payload);
        self.settle();
    }

    fn dropped_at_delivery(&mut self, header: &Header) -> bool {
        let Some(adversary) = &self.adversary else { return false };
        if !adversary.online() {
            return false;
        }
        let msg = self.slab.get(header.payload);
        let copy = self.copy(header.src, header.dst, header.kind, msg.round(), msg, 0);
        self.adversary.as_mut().is_some_and(|adversary| adversary.at_delivery(&copy) == Fate::Drop)
    }

    fn fire(&mut self, seat: Seat, timer: P::Timer, at: Time) {
        self.io.step += 1;
        self.io.time = self.io.time.max(at);
        self.io.trail.add(3 << 60 | self.io.time.0 << 8 | u64::from(seat.0));
        if self.io.recording.is_some() {
            self.io.record(What::Fire { seat: self.io.seats.name(seat), timer: timer_name(&timer) });
        }
        self.call(seat, |node, cx| node.on_timer(timer, cx));
        self.settle();
    }

    /// After an event: deeds that it triggered, then a look around.
    fn settle(&mut self) {
        while let Some((index, payload)) = self.deeds.pop_front() {
            self.do_deed(index, payload);
        }
        self.look();
    }

    /// Runs a handler of a node, and carries out what it did.
    fn call(&mut self, seat: Seat, handler: impl FnOnce(&mut AnyNode<P>, &mut Context<'_, P>)) {
        self.running = Some(seat);
        self.io.seat = seat;
        let (me, now) = (self.io.seats.node(seat), self.io.local_time(seat));
        let mut cx = Context { me, now, cluster: &self.cluster, io: &mut self.io };
        handler(&mut self.nodes[seat.index()], &mut cx);
        self.running = None;
        self.flush(seat);
    }

    /// Hands a payload to a node.
    fn hand_over(&mut self, dst: Seat, src: Seat, payload: u32) {
        self.handle(dst, self.io.seats.node(src), payload);
        self.flush(dst);
    }

    fn handle(&mut self, dst: Seat, from: NodeId, payload: u32) {
        self.running = Some(dst);
        self.io.seat = dst;
        let (me, now) = (self.io.seats.node(dst), self.io.local_time(dst));
        let mut cx = Context { me, now, cluster: &self.cluster, io: &mut self.io };
        self.nodes[dst.index()].on_message(from, self.slab.get(payload), &mut cx);
        self.running = None;
    }

    /// Sends what a handler left in the outbox; own copies are handled at once, before any other event.
    fn flush(&mut self, seat: Seat) {
        let me = self.io.seats.node(seat);
        loop {
            let mut outbox = std::mem::take(&mut self.io.outbox);
            for (to, msg) in outbox.drain(..) {
                let payload = self.slab.insert(msg);
                if to.contains(me) {
                    self.slab.hold(payload);
                    self.own.push_back(payload);
                }
                self.send(seat, me, to, payload);
                self.slab.sweep(payload);
            }
            self.io.outbox = outbox;
            let Some(payload) = self.own.pop_front() else { break };
            self.handle(seat, me, payload);
            self.slab.release(payload);
        }
    }

    // --- sending ----------------------------------------------------------------------------------------

    fn send(&mut self, src: Seat, me: NodeId, to: NodeSet, payload: u32) {
        self.sendings += 1;
        let msg = self.slab.get(payload);
        let (kind, key) = (msg.kind(), msg.round());
        if let Some(key) = key {
            self.raise(src, key);
        }
        if me.is_client() {
            self.client_kinds |= 1 << kind;
        }
        let single = self.io.seats.further().next().is_none();
        for node in to.iter() {
            if node == me && single {
                continue;
            }
            let Some(first) = self.io.seats.first(node) else { continue };
            if single {
                self.send_copy(src, first, payload, kind, key);
            } else {
                self.send_to_seats(src, me, node, payload, kind, key);
            }
        }
    }

    /// Sends to all instances of an identity: twins are judged one by one, the faces of a liar together.
    fn send_to_seats(
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
                self.scheduler.visit(&mut |header| {
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
    fn heard(&self, src: Seat, me: NodeId, dst: NodeId, view_change: bool) -> bool {
        let mut faces = self.faces.iter().filter(|face| face.of == me && face.form == Form::Instance);
        if let Some(own) = faces.clone().find(|face| face.seat == src) {
            let first = faces.find(|face| face.speaks_to(dst, view_change));
            return !own.mute() && first.is_some_and(|first| first.seat == src);
        }
        faces.find(|face| face.speaks_to(dst, view_change)).is_none_or(|face| face.overlaps(view_change))
    }

    fn copy(
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

    fn send_copy(&mut self, src: Seat, dst: Seat, payload: u32, kind: u8, key: Option<RoundKey>) {
        if self.adversary.is_some() {
            self.send_judged(src, dst, payload, kind, key);
        } else {
            self.slab.hold(payload);
            self.push_copy(src, dst, payload, kind, Time(0), false);
        }
    }

    fn send_judged(&mut self, src: Seat, dst: Seat, payload: u32, kind: u8, key: Option<RoundKey>) {
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

    /// Tells the lies of a verdict, and those of an outgoing face: the payload to send and whether it is a
    /// lie, or nothing if it is not sent. The copy's hold moves from the true payload to the false one.
    fn tell(
        &mut self,
        src: Seat,
        dst: Seat,
        payload: u32,
        kind: u8,
        verdict: &Verdict,
    ) -> Option<(u32, bool)> {
        let mut current = payload;
        let mut lied = false;
        let receiver = self.io.seats.node(dst);
        for i in 0..self.faces.len() {
            let face = &self.faces[i];
            let view_change = P::Msg::VIEW_CHANGE[usize::from(kind)];
            if face.form != Form::Outgoing || face.seat != src || !face.speaks_to(receiver, view_change) {
                continue;
            }
            let msg = self.slab.get(current);
            let lie = face.output(msg, self.io.ledger.submitted(), NodeSet::one(face.of))?;
            if lie != *msg {
                current = self.exchange(current, lie);
                lied = true;
            }
        }
        if verdict.fate == Fate::Drop {
            return Some((current, lied));
        }
        for lie in &verdict.lies {
            match self.lie(src, dst, current, kind, lie) {
                Ok(Told::Changed(lie)) => {
                    current = lie;
                    lied = true;
                }
                Ok(Told::Omitted) => {
                    self.slab.release(current);
                    self.slab.hold(payload);
                    return None;
                }
                Ok(Told::Same) | Err(_) => self.injected.refused += 1,
            }
        }
        self.injected.mutated += u32::from(lied);
        Some((current, lied))
    }

    fn exchange(&mut self, old: u32, new: P::Msg) -> u32 {
        let new = self.slab.insert(new);
        self.slab.hold(new);
        self.slab.release(old);
        new
    }

    /// The one place where a message is changed on behalf of its sender: only a Byzantine one may.
    ///
    /// A flipped bit on an honest sender's copy is corruption by the network, and loses the copy.
    fn lie(
        &mut self,
        src: Seat,
        dst: Seat,
        payload: u32,
        kind: u8,
        spec: &LieSpec,
    ) -> Result<Told, Rejected> {
        let node = self.io.seats.node(src);
        let byzantine = self.byzantine.contains(node);
        if !byzantine && !matches!(spec, LieSpec::Flip(_)) {
            return Err(Rejected::Honest(self.io.seats.name(src)));
        }
        let (lie, seed) = match *spec {
            LieSpec::Flip(seed) => return Ok(self.flip(payload, kind, node, dst, byzantine, seed)),
            LieSpec::Row(lie, seed) => (lie, seed),
            LieSpec::Drawn { seed, scope, only } => match self.draw_lie(kind, seed, scope, only) {
                Some(lie) => (lie, seed),
                None => return Ok(Told::Same),
            },
        };
        let told = match lie {
            Lie::Omit => Told::Omitted,
            Lie::Mutate(row) => {
                let mut liar = Liar {
                    keys: NodeSet::one(node),
                    rng: Rng::stream(stable_hash(0x11E, &(kind, seed)), Purpose::Lies as u64),
                    requests: self.io.ledger.submitted(),
                    n: self.cluster.n,
                };
                let msg = self.slab.get(payload);
                let earlier = self.slab.newest_first().filter(|other| other.kind() == kind).take(64);
                match apply(msg, row, earlier, &mut liar) {
                    Some(lie) => Told::Changed(self.exchange(payload, lie)),
                    None => Told::Same,
                }
            }
        };
        if self.io.recording.is_some() && !matches!(told, Told::Same) {
            let (src, dst) = (self.io.seats.name(src), self.io.seats.name(dst));
            self.io.record(What::Lie { src, dst, name: self.table.name(kind, lie) });
        }
        Ok(told)
    }

    /// The row that (kind, seed) stands for; omission is one of the choices.
    fn draw_lie(&self, kind: u8, seed: u64, scope: Scope, only: Option<u16>) -> Option<Lie> {
        let draw = stable_hash(0xD4A, &(kind, seed));
        if let (Some(list), Some(adversary)) = (only, &self.adversary) {
            let rows = adversary.only(list, kind);
            return (!rows.is_empty()).then(|| rows[(draw % rows.len() as u64) as usize]);
        }
        let allowed = |row: &crate::part::Mutation| row.scope <= scope;
        let rows = self.table.rows(kind);
        let count = rows.iter().filter(|row| allowed(row)).count() as u64 + 1;
        let k = (draw % count) as usize;
        let row = rows.iter().enumerate().filter(|(_, row)| allowed(row)).nth(k);
        Some(row.map_or(Lie::Omit, |(i, _)| Lie::Mutate(i as u16)))
    }

    fn flip(&mut self, payload: u32, kind: u8, node: NodeId, dst: Seat, byzantine: bool, seed: u64) -> Told {
        let msg = self.slab.get(payload);
        let mut bytes = postcard::to_stdvec(msg).expect("messages encode");
        let bit = (stable_hash(0xF11, &(kind, seed)) % (bytes.len() as u64 * 8)) as usize;
        bytes[bit / 8] ^= 1 << (bit % 8);
        match postcard::from_bytes::<P::Msg>(&bytes) {
            Ok(mut lie) if byzantine && lie.kind() == kind => {
                lie.reseal(NodeSet::one(node));
                if lie == *msg { Told::Same } else { Told::Changed(self.exchange(payload, lie)) }
            }
            Ok(_) => Told::Omitted,
            Err(_) => {
                self.injected.garbage += 1;
                if self.crash_on_garbage && self.alive.contains(dst) {
                    self.crashed(dst, "bytes that do not decode".to_owned());
                }
                Told::Omitted
            }
        }
    }

    fn push_copy(&mut self, src: Seat, dst: Seat, payload: u32, kind: u8, delay: Time, lie: bool) {
        let mut at = self.io.time + self.latency() + delay;
        if self.network.fifo {
            let last = &mut self.links[src.index() * self.nodes.len() + dst.index()];
            at = at.max(*last);
            *last = at;
        }
        let from_client = self.io.seats.node(src).is_client();
        self.push(Header { at, id: 0, payload, src, dst, kind, from_client, lie });
    }

    fn push(&mut self, mut header: Header) {
        header.id = self.next_id;
        self.next_id += 1;
        if self.numbering.on {
            let count = self.numbering.counts.entry((header.src, header.dst, header.kind)).or_default();
            *count += 1;
            self.numbering.of.resize(self.next_id as usize, 0);
            self.numbering.of[header.id as usize] = *count;
        }
        self.scheduler.push(header);
    }

    fn latency(&mut self) -> Time {
        let latency = match self.network.latency {
            Latency::Constant(ticks) => ticks,
            Latency::Range([least, most]) => {
                let width = most.0.saturating_sub(least.0) as u32;
                Time(least.0 + u64::from(self.network_rng.below(width + 1)))
            }
        };
        match self.network.bound {
            Some(bound) if self.calm => latency.min(bound),
            _ => latency,
        }
    }

    fn lose(&mut self, header: Header) {
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

    fn hold(&mut self, src: Seat, dst: Seat, payload: u32, kind: u8, lie: bool, until: u64) {
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
    fn release(&mut self, may_go: impl Fn(&Self, &Held) -> bool) {
        let mut i = 0;
        while i < self.held.len() {
            if may_go(self, &self.held[i]) {
                let Held { mut header, .. } = self.held.remove(i);
                header.at = self.io.time + self.latency();
                self.push(header);
            } else {
                i += 1;
            }
        }
    }

    /// A seat meets a round: its counter grows if the round is later than all before.
    fn raise(&mut self, seat: Seat, key: RoundKey) {
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
            && self.network.gst.is_none()
            && u64::from(number) > last
        {
            let left = |seat: Seat| u64::from(self.rounds[seat.index()].number) > last;
            let correct = self.io.ledger.correct();
            let mut replicas = self.io.seats.replicas().iter().filter(|&seat| correct.contains(seat));
            if replicas.all(|seat| left(seat) || !self.alive.contains(seat)) {
                // Now, at the next look: not in the middle of a broadcast.
                self.calm_step = self.io.step;
            }
        }
    }

    // --- faces ------------------------------------------------------------------------------------------

    /// Whether a seat sleeps until its persona wakes.
    fn dormant(&self, seat: Seat) -> bool {
        self.faces.iter().any(|face| face.seat == seat && face.form == Form::Instance && !face.awake)
    }

    fn deliver_to_face(&mut self, header: Header) {
        let Header { src, dst, payload, kind, .. } = header;
        let Some(i) = self.faces.iter().position(|face| face.seat == dst && face.form == Form::Instance)
        else {
            return;
        };
        if !self.faces[i].awake {
            return;
        }
        let bare = self.client_kinds & (1 << kind) != 0;
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
                self.slab.hold(lie);
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
                self.slab.hold(first);
                self.hand_over(dst, client, first);
                self.slab.release(first);
                self.hand_over(dst, src, payload);
            }
        }
    }

    fn wake(&mut self, fault: u16) {
        let Some(i) = self.faces.iter().position(|face| face.fault == fault && !face.awake) else { return };
        self.faces[i].awake = true;
        let (seat, of, form) = (self.faces[i].seat, self.faces[i].of, self.faces[i].form);
        if form == Form::Outgoing {
            return;
        }
        let first = self.io.seats.first(of).expect("a persona has a first instance");
        match self.nodes[first.index()].fork() {
            Some(copy) => {
                self.nodes[seat.index()] = copy;
                let timers: Vec<_> = self.io.timers.of(first).collect();
                timers.into_iter().for_each(|(timer, at)| self.io.timers.set(seat, timer, at));
                self.rounds[seat.index()] = self.rounds[first.index()];
            }
            None => self.call(seat, AnyNode::on_start),
        }
    }

    // --- deeds ------------------------------------------------------------------------------------------

    /// Does what is scheduled up to (`step`, `now`).
    fn due_deeds(&mut self, step: u64, now: Time) {
        while let Some(adversary) = &mut self.adversary {
            let at = adversary.next_scheduled();
            let Some(index) = adversary.scheduled(step, now) else { break };
            self.io.time = self.io.time.max(at.unwrap_or_default());
            self.injected.faults += 1;
            self.do_deed(index, None);
            if now == Time(u64::MAX) {
                // Time has only passed until the first of them.
                break;
            }
        }
        self.look();
    }

    fn do_deed(&mut self, index: u16, payload: Option<u32>) {
        let Some(deed) = self.adversary.as_ref().map(|adversary| adversary.deed(index)) else { return };
        match deed {
            Deed::Crash(seats) => seats.iter().for_each(|seat| self.crash(seat)),
            Deed::Restart(seats, state) => seats.iter().for_each(|seat| self.restart(seat, state)),
            Deed::Jump(seats, by) => seats.iter().for_each(|seat| self.jump(seat, by)),
            Deed::Fire(seats) => seats.iter().for_each(|seat| self.fire_now(seat)),
            Deed::Replay(seats, kind, to) => {
                let own = |msg: &&P::Msg| msg.kind() == kind;
                let mut oldest = self.slab.newest_first().filter(own).cloned().collect::<Vec<_>>();
                oldest.reverse();
                // Only what the liar itself sent or could send again: anything it has seen, under its own name.
                if let (Some(msg), Some(seat)) = (oldest.into_iter().next(), seats.iter().next()) {
                    self.originate(seat, to, msg);
                }
            }
            Deed::Mint(seats, kind, to) => {
                let seat = seats.iter().find(|seat| self.alive.contains(*seat));
                if let (Some(like), Some(seat)) = (payload, seat) {
                    let signer = Signer::of(self.io.seats.node(seat));
                    if let Some(msg) = P::mint(kind, self.slab.get(like), signer) {
                        self.originate(seat, to, msg);
                    }
                }
            }
            Deed::Wake(fault) => self.wake(fault),
        }
        if let Some(payload) = payload {
            self.slab.release(payload);
        }
    }

    /// A Byzantine node sends a message that its own code did not write. No fault judges it again.
    fn originate(&mut self, src: Seat, to: SeatSet, msg: P::Msg) {
        if !self.byzantine.contains(self.io.seats.node(src)) {
            return;
        }
        let kind = msg.kind();
        let payload = self.slab.insert(msg);
        self.injected.mutated += 1;
        for dst in to.iter() {
            self.slab.hold(payload);
            self.push_copy(src, dst, payload, kind, Time(0), true);
        }
        self.slab.sweep(payload);
    }

    fn crash(&mut self, seat: Seat) {
        self.alive.remove(seat);
        self.io.timers.clear(seat);
        self.io.progressed = true;
        if self.io.recording.is_some() {
            self.io.record(What::Note { seat: Some(self.io.seats.name(seat)), text: "stops".to_owned() });
        }
    }

    fn restart(&mut self, seat: Seat, with_state: bool) {
        if self.alive.contains(seat) {
            return;
        }
        self.alive.insert(seat);
        if self.io.recording.is_some() {
            let text = if with_state { "restarts" } else { "restarts without its memory" };
            self.io.record(What::Note { seat: Some(self.io.seats.name(seat)), text: text.to_owned() });
        }
        if with_state {
            self.call(seat, AnyNode::on_restart);
        } else {
            self.io.ledger.distrust(seat);
            self.nodes[seat.index()] = self.fresh_node(seat);
            self.call(seat, AnyNode::on_start);
        }
    }

    fn jump(&mut self, seat: Seat, by: Time) {
        self.io.clocks[seat.index()].1 = self.io.clocks[seat.index()].1 + by;
        self.io.timers.advance(seat, by);
    }

    /// The next timer of a seat fires now. Of correct nodes only while the network is not calm.
    fn fire_now(&mut self, seat: Seat) {
        let byzantine = self.byzantine.contains(self.io.seats.node(seat));
        if !self.alive.contains(seat) || (self.calm && !byzantine) {
            return;
        }
        match self.io.timers.take_first(seat) {
            Some((timer, _)) => self.call(seat, |node, cx| node.on_timer(timer, cx)),
            None if byzantine => self.call(seat, AnyNode::on_suspect),
            None => {}
        }
    }

    fn mutate_and_deliver(&mut self, mut header: Header) {
        let seed = u64::from(self.lie_rng.below(u32::MAX));
        let spec = LieSpec::Drawn { seed, scope: self.scheduler_scope, only: None };
        match self.lie(header.src, header.dst, header.payload, header.kind, &spec) {
            Ok(Told::Changed(payload)) => {
                header.payload = payload;
                header.lie = true;
                self.injected.mutated += 1;
                self.deliver(header);
            }
            Ok(Told::Omitted) => {
                self.io.step += 1;
                self.lose(header);
            }
            Ok(Told::Same) | Err(_) => {
                self.injected.refused += 1;
                self.deliver(header);
            }
        }
    }

    // --- by hand ----------------------------------------------------------------------------------------

    /// Carries out one action of a script, a story or a person.
    pub fn apply(&mut self, action: &Action) -> Result<(), Rejected> {
        let mut result = Ok(());
        // Before its consequences, among which may be the calm phase.
        let recorded = self.io.recording.as_ref().map_or(0, |recording| recording.script.len());
        if *action != Action::Calm {
            self.record_action(action.clone());
        }
        self.guarded(|sim| result = sim.try_apply(action));
        if result.is_err() {
            self.io.recording.iter_mut().for_each(|recording| recording.script.truncate(recorded));
        }
        result
    }

    fn try_apply(&mut self, action: &Action) -> Result<(), Rejected> {
        match action {
            Action::Deliver(message) => {
                let header = self.take(message)?;
                self.due_deeds(self.io.step, header.at.max(self.io.time));
                self.deliver(header);
            }
            Action::Drop(message) => {
                let header = self.take(message)?;
                self.due_deeds(self.io.step, header.at.max(self.io.time));
                self.io.step += 1;
                self.lose(header);
            }
            Action::Duplicate(message) => {
                let header = self.find(message)?;
                self.slab.hold(header.payload);
                self.push(header);
            }
            Action::Mutate(message, name, seed) => self.mutate_in_flight(message, name, *seed)?,
            Action::Fire(seat, timer) => {
                let seat = self.one_seat(*seat)?;
                let (key, at) = self.armed(seat, timer.as_deref())?;
                self.io.timers.cancel(seat, key);
                self.due_deeds(self.io.step, at.max(self.io.time));
                self.fire(seat, key, at);
            }
            Action::Suspect(seat) => {
                let seat = self.one_seat(*seat)?;
                if !self.byzantine.contains(self.io.seats.node(seat)) {
                    return Err(Rejected::Honest(self.io.seats.name(seat)));
                }
                self.call(seat, AnyNode::on_suspect);
                self.settle();
            }
            Action::Crash(seat) => {
                let seat = self.one_seat(*seat)?;
                self.crash(seat);
                self.settle();
            }
            Action::Restart(seat, state) => {
                let seat = self.one_seat(*seat)?;
                self.restart(seat, *state);
                self.settle();
            }
            Action::Calm if !self.calm => self.begin_calm(),
            Action::Calm => {}
        }
        Ok(())
    }

    fn scripted(&mut self) {
        let script = self.script.actions.clone();
        let action = &script.script[self.script.next];
        self.script.next += 1;
        if *action != Action::Calm {
            self.record_action(action.clone());
        }
        if let Err(error) = self.try_apply(action) {
            self.script.diverged.get_or_insert(self.script.next as u32 - 1);
            let text = format!("`{action}` cannot happen: {error}");
            self.io.record(What::Note { seat: None, text });
        }
    }

    fn mutate_in_flight(&mut self, message: &Coordinates, name: &str, seed: u64) -> Result<(), Rejected> {
        let mut header = self.find(message)?;
        let rows = self.table.find(name);
        let row = rows.iter().find(|&&(kind, _)| kind == header.kind && rows.len() == 1);
        let Some(&(kind, lie)) = row else {
            return Err(Rejected::Nothing(format!("no mutation `{name}` for a `{}`", message.kind)));
        };
        match self.lie(header.src, header.dst, header.payload, kind, &LieSpec::Row(lie, seed))? {
            Told::Changed(payload) => {
                self.scheduler.take(header.id);
                self.injected.mutated += 1;
                header.payload = payload;
                header.lie = true;
                // The same copy, so it keeps its number.
                self.scheduler.push(header);
            }
            Told::Omitted => {
                self.scheduler.take(header.id);
                self.lose(header);
            }
            Told::Same => return Err(Rejected::NoChange(name.to_owned())),
        }
        Ok(())
    }

    /// A script's words for what a scheduler chose.
    fn record_choice(&mut self, choice: Choice) {
        let action = match choice {
            Choice::Deliver(header) => Action::Deliver(self.coordinates(&header)),
            Choice::Drop(header) => Action::Drop(self.coordinates(&header)),
            Choice::Mutate(header) => {
                // Looks ahead: which lie will it be, and will there be one?
                let seed = u64::from(self.lie_rng.clone().below(u32::MAX));
                let coordinates = self.coordinates(&header);
                let byzantine = self.byzantine.contains(self.io.seats.node(header.src));
                let lie = self.draw_lie(header.kind, seed, self.scheduler_scope, None);
                if let (true, Some(lie)) = (byzantine, lie) {
                    let name = self.table.name(header.kind, lie);
                    if lie == Lie::Omit {
                        self.record_action(Action::Drop(coordinates));
                        return;
                    }
                    self.record_action(Action::Mutate(coordinates.clone(), name, seed));
                }
                Action::Deliver(coordinates)
            }
            Choice::Fire(seat) => Action::Fire(self.io.seats.name(seat), None),
        };
        self.record_action(action);
    }

    fn record_action(&mut self, action: Action) {
        if let Some(recording) = &mut self.io.recording {
            recording.script.push(action);
        }
    }

    fn coordinates(&self, header: &Header) -> Coordinates {
        Coordinates {
            src: self.io.seats.name(header.src),
            dst: self.io.seats.name(header.dst),
            kind: P::Msg::KINDS[usize::from(header.kind)].to_owned(),
            nth: self.numbering.of.get(header.id as usize).copied().unwrap_or(0),
        }
    }

    fn find(&self, message: &Coordinates) -> Result<Header, Rejected> {
        let mut found = None;
        self.scheduler.visit(&mut |header| {
            if P::Msg::KINDS[usize::from(header.kind)] == message.kind && self.coordinates(header) == *message
            {
                found = Some(*header);
            }
        });
        found.ok_or_else(|| Rejected::NoMessage(message.to_string()))
    }

    fn take(&mut self, message: &Coordinates) -> Result<Header, Rejected> {
        let header = self.find(message)?;
        Ok(self.scheduler.take(header.id).expect("it was just found"))
    }

    fn one_seat(&self, name: SeatName) -> Result<Seat, Rejected> {
        let seats = self.io.seats.named(name).map_err(|error| Rejected::Nothing(error.to_string()))?;
        Ok(seats.iter().next().expect("a name means a seat"))
    }

    fn armed(&self, seat: Seat, name: Option<&str>) -> Result<(P::Timer, Time), Rejected> {
        let found = match name {
            None => self.io.timers.first(seat),
            Some(name) => self.io.timers.of(seat).find(|(timer, _)| timer_name(timer) == name),
        };
        found.ok_or_else(|| {
            let names: Vec<String> = self.timers(seat).into_iter().map(|(name, _)| name).collect();
            let who = self.io.seats.name(seat);
            Rejected::Nothing(format!("{who} has no such timer armed; armed: [{}]", names.join(", ")))
        })
    }

    // --- looking ----------------------------------------------------------------------------------------

    /// The seats.
    pub const fn seats(&self) -> &Seats {
        &self.io.seats
    }

    /// The members.
    pub const fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The mutation table of the protocol's messages.
    pub const fn table(&self) -> &MutationTable {
        &self.table
    }

    /// Decisions, submissions, violations so far.
    pub const fn ledger(&self) -> &Ledger {
        &self.io.ledger
    }

    /// The violations so far.
    pub fn violations(&self) -> &[Violation] {
        self.io.ledger.violations()
    }

    /// The clock.
    pub const fn time(&self) -> Time {
        self.io.time
    }

    /// Whether a seat has not stopped.
    pub const fn is_alive(&self, seat: Seat) -> bool {
        self.alive.contains(seat)
    }

    /// The replica in a seat.
    pub fn replica(&self, seat: Seat) -> Option<&P::Replica> {
        match self.nodes.get(seat.index())? {
            AnyNode::Replica(node) => Some(node),
            AnyNode::Client(_) => None,
        }
    }

    /// The state of the node in a seat, where it can be shown.
    pub fn state(&self, seat: Seat) -> Option<&dyn State> {
        self.nodes.get(seat.index())?.state()
    }

    /// What the node in a seat knows and waits for.
    pub fn vitals(&self, seat: Seat) -> Vitals {
        self.nodes[seat.index()].vitals()
    }

    /// The messages in flight, in the order in which they were sent, with their names and content. Names are
    /// kept in recorded and scripted runs.
    pub fn in_flight(&self) -> Vec<(Coordinates, String)> {
        let mut headers = Vec::new();
        self.scheduler.visit(&mut |header| headers.push(*header));
        headers.sort_by_key(|header| header.id);
        let text = |header: &Header| Described(self.slab.get(header.payload)).to_string();
        headers.iter().map(|header| (self.coordinates(header), text(header))).collect()
    }

    /// The armed timers of a seat, earliest first.
    pub fn timers(&self, seat: Seat) -> Vec<(String, Time)> {
        let mut timers: Vec<(P::Timer, Time)> = self.io.timers.of(seat).collect();
        timers.sort_by_key(|&(timer, at)| (at, timer));
        timers.into_iter().map(|(timer, at)| (timer_name(&timer), at)).collect()
    }

    /// What happened so far, in a recorded run.
    pub fn events(&self) -> &[crate::record::Event] {
        self.io.recording.as_ref().map_or(&[], |recording| &recording.events)
    }

    /// The actions that led here, in a recorded run.
    pub fn script(&self) -> &[Action] {
        self.io.recording.as_ref().map_or(&[], |recording| &recording.script)
    }

    /// What was recorded.
    pub fn recording(&mut self) -> Recording {
        self.io.recording.take().unwrap_or_default()
    }

    /// Adds an invariant to those of the protocol.
    pub fn add_check(&mut self, check: Check<P>) {
        self.checks.push(check);
    }
}

/// What became of a lie.
enum Told {
    /// It goes out in this payload.
    Changed(u32),
    /// There was nothing to change.
    Same,
    /// The lie is to say nothing.
    Omitted,
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

/// A message as [`Part::describe`] writes it.
struct Described<'a, M>(&'a M);

impl<M: Part> fmt::Display for Described<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe(f)
    }
}

/// Keeps the panics of nodes under test from being printed: they are findings, not accidents.
mod quiet {
    use std::cell::Cell;
    use std::sync::Once;

    thread_local! {
        static QUIET: Cell<bool> = const { Cell::new(false) };
    }
    static HOOK: Once = Once::new();

    pub(super) fn panics(on: bool) {
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                if !QUIET.get() {
                    before(info);
                }
            }));
        });
        QUIET.set(on);
    }
}
