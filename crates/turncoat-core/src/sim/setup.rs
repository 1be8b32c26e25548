//! Setting up a run: is the scenario sound, and who sits where?

use std::sync::Arc;

use super::{AnyNode, Injected, Numbering, Round, Script, Sim};
use crate::assume::Assumption;
use crate::client::{Op, asks};
use crate::fault::{Effect, Form, When};
use crate::ids::{NodeId, NodeSet, Seat, SeatSet, Time};
use crate::message::Message;
use crate::node::{ClientWork, Protocol};
use crate::persona::Face;
use crate::plan::{LastRounds, Plan, Words};
use crate::record::Recording;
use crate::rng::{Purpose, Rng};
use crate::scenario::{
    Goal, Gst, Latency, Limits, Loss, SCHEMA, Scenario, ScenarioError, SchedulerName, Target, Workload,
    invalid, without_types,
};
use crate::schedule::Action;

impl<P: Protocol> Sim<P> {
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
        (self.watched, self.attended, self.plain) = (true, true, false);
        self.start();
        Ok(())
    }

    /// As [`Sim::reset`], and keeps all messages to the end of the run.
    pub(crate) fn reset_keeping(&mut self, scenario: &Scenario) -> Result<(), ScenarioError> {
        self.prepare(scenario)?;
        self.slab.keep = true;
        self.start();
        Ok(())
    }

    pub(super) fn prepare(&mut self, scenario: &Scenario) -> Result<(), ScenarioError> {
        if scenario.schema == 0 {
            return Err(invalid(format!(
                "there is no schema 0: the first is 1, the current one is {SCHEMA}"
            )));
        }
        if scenario.schema > SCHEMA {
            return Err(ScenarioError::NewerSchema { found: i64::from(scenario.schema) });
        }
        // A campaign shares the protocol's table between its runs: it is read once.
        if !Arc::ptr_eq(&self.spec, &scenario.protocol) || self.spec.name.is_empty() {
            let mut table = self.preset.clone();
            table.extend(scenario.protocol.config.clone());
            self.config = toml::Value::Table(table).try_into().map_err(|error: toml::de::Error| {
                ScenarioError::Malformed(format!(
                    "[protocol] {}: {}",
                    P::NAME,
                    without_types(error.message())
                ))
            })?;
            self.spec = scenario.protocol.clone();
        }
        self.check_budget(scenario)?;
        let cluster = &scenario.cluster;
        self.cluster.n = cluster.n;
        self.cluster.f = cluster.f;
        self.cluster.clients = cluster.clients;
        self.cluster.leaders.clone_from(&cluster.leaders);
        self.cluster.trust = cluster.trust.sets(cluster.n)?;
        self.limits = scenario.limits.clone();
        self.steps = self.limits.steps.unwrap_or_else(|| {
            // A request costs a few messages on each link; where everybody passes on what everybody says, more in large clusters.
            let n = cluster.n as u64;
            let per_link = if n <= 16 { 20 } else { 4 * n };
            20_000 + per_link * n * n * u64::from(scenario.workload.requests)
        });
        self.steps = self.limits.short.map_or(self.steps, |short| short.min(self.steps));
        self.in_flight = self.limits.in_flight.unwrap_or_else(|| {
            // Where everybody passes on what everybody says, that many are in flight for one vote.
            20_000.max(2 * cluster.n.pow(3))
        });
        self.network = scenario.network.clone();
        self.latency = match self.network.latency {
            Latency::Constant(ticks) => (ticks, ticks),
            Latency::Range([least, most]) if least <= most && most.0 - least.0 < u64::from(u32::MAX) => {
                (least, most)
            }
            Latency::Range([least, most]) => {
                return Err(invalid(format!(
                    "network.latency: [{least}, {most}] is not a range: give the smaller number first"
                )));
            }
        };
        self.scheduler_name = scenario.scheduler.name;
        self.scheduler_scope = scenario.scheduler.scope;
        if !self.scheduler_only.as_ref().is_some_and(|(spec, _)| Arc::ptr_eq(spec, &scenario.scheduler)) {
            let names = &scenario.scheduler.only;
            self.scheduler_only = match names.is_empty() {
                true => None,
                false => {
                    let by_kind = self.table.listed(names, self.scheduler_scope)?;
                    Some((scenario.scheduler.clone(), by_kind))
                }
            };
        }
        self.byzantine = scenario.adversary.byzantine;
        self.crash_on_garbage = scenario.adversary.crash_on_garbage;

        let assumed = P::assumes(&self.config);
        self.calm_from_start = self.network.gst == Some(Gst::Time(Time(0)));
        self.bound = self.network.bound.or(assumed.bound().filter(|_| self.calm_from_start));
        self.holds = self.network.loss == Loss::Hold;

        self.io.seats.fill(scenario);
        let seats = self.io.seats.len();
        if seats > 2 * NodeId::MAX {
            return Err(invalid(format!("{seats} nodes are too many: at most {}", 2 * NodeId::MAX)));
        }
        self.io.reset(scenario.seed.0);
        let free = !self.calm_from_start || self.bound > assumed.bound();
        self.world.reset(assumed, free);
        self.note_setting(scenario);
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
        let goal = match scenario.workload.goal {
            Goal::Replies if P::STREAM && scenario.workload.requests == 0 => Goal::None,
            // Whichever slot the one decision has.
            Goal::Replies | Goal::Height(_) | Goal::Again(_) if P::STREAM && P::ONE_SHOT => Goal::Height(0),
            Goal::Replies if P::STREAM => Goal::Height(scenario.workload.requests),
            goal => goal,
        };
        self.io.ledger.reset(self.io.seats.nodes(), correct, self.byzantine, gap_free, goal, P::SLOT);
        self.io.ledger.keep_logs(&scenario.checks);

        self.prepare_plan(scenario)?;
        self.script = Script { actions: scenario.scheduler.clone(), next: 0, diverged: None, online: None };
        self.queue.reset(&scenario.scheduler, seats);
        let further: NodeSet = self.io.seats.further().map(|(node, _)| node).collect();
        self.alone = self.everybody.without(further);
        self.scripted = scenario.scheduler.name == SchedulerName::Script;
        let timed_gst = matches!(self.network.gst, Some(Gst::Time(_)));
        let lies = scenario.scheduler.mutate > 0;
        let deeds = self.plan.as_ref().is_some_and(|plan| !plan.scheduled().is_empty());
        self.moments = timed_gst || self.network.turn.is_some() || deeds;
        self.detours = self.network.turn.is_some() || !self.stances.is_empty();
        self.watched = self.scripted || lies || self.world.timed();
        self.attended = self.watched || self.plan.is_some();
        self.plain = !self.attended && !self.network.fifo && further.is_empty();
        self.slab.clear();
        let online_lies = scenario.scheduler.mutate > 0 || scenario.scheduler.name == SchedulerName::Script;
        self.slab.keep = online_lies && !self.byzantine.is_empty() || self.slab.keep;

        self.nodes.clear();
        self.hashes.clear();
        self.hashes.resize(seats, None);
        self.rounds.clear();
        self.rounds.resize(seats, Round { key: P::origin(), number: 0 });
        self.deal_out(scenario);
        if !self.stances.is_empty() {
            self.take_stances()?;
        }
        for i in 0..seats {
            let node = self.fresh_node(Seat(i as u8));
            self.nodes.push(node);
        }
        self.deeds.clear();
        self.firsts.clear();
        self.own.clear();
        self.held.clear();
        self.mail.clear();
        self.missed.clear();
        self.missed.resize(seats, 0);
        self.split = NodeSet::EMPTY;
        self.highest_round = 0;
        self.client_kinds = 0;
        self.turns.clear();
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
        let never = u64::MAX;
        self.calm_at = match self.network.gst {
            // A script says itself when the network calms down.
            _ if scenario.scheduler.name == SchedulerName::Script => (never, Time(never), never),
            Some(Gst::Time(at)) => (never, at, never),
            Some(Gst::Deliveries(count)) => (never, Time(never), count),
            None => (self.steps / 2, Time(never), never),
        };
        self.look_step = if self.network.gst.is_some() { 0 } else { self.calm_at.0 };
        self.calm = false;
        self.goal_at = None;
        self.views_over_at = None;
        self.last_step = 0;
        self.injected = Injected::default();
        self.lies.clear();
        self.end = None;
        self.running = None;
        Ok(())
    }

    /// Whether the cluster is large enough, and not too many are faulty.
    pub(super) fn check_budget(&mut self, scenario: &Scenario) -> Result<(), ScenarioError> {
        let (cluster, adversary) = (&scenario.cluster, &scenario.adversary);
        let (n, f) = (cluster.n, cluster.f);
        if f > NodeId::MAX || n == 0 || n > NodeId::MAX || cluster.clients > NodeId::MAX {
            let (clients, most) = (cluster.clients, NodeId::MAX);
            return Err(invalid(format!(
                "a cluster has 1 to {most} replicas and at most {most} clients, not {n} and {clients}, with f = {f}"
            )));
        }
        if n == 1 && P::STREAM {
            return Err(invalid(format!(
                "{} needs at least 2 replicas: alone, a replica would decide one value after another in its first step",
                P::NAME
            )));
        }
        let bound = P::bound(&self.config, f);
        if n < bound {
            return Err(invalid(format!(
                "{} needs n >= {bound} replicas to tolerate f = {f} faulty ones, not n = {n}",
                P::NAME
            )));
        }
        self.everybody = NodeSet::replicas(n).or((0..cluster.clients).map(NodeId::client).collect());
        if let Some(node) = adversary.byzantine.or(adversary.twins).without(self.everybody).iter().next() {
            let clients = cluster.clients;
            return Err(invalid(format!(
                "there is no {node}: replicas are p0..p{}, clients are {clients}",
                n - 1
            )));
        }
        if !adversary.twins.is_subset(adversary.byzantine) {
            let honest = adversary.twins.without(adversary.byzantine);
            return Err(invalid(format!("a twin is Byzantine: add {honest} to `adversary.byzantine`")));
        }
        self.check_names(scenario)?;
        let mut faulty = adversary.byzantine;
        for fault in &adversary.faults {
            if let Effect::Crash(seat) = fault.effect {
                faulty.insert(seat.node);
            }
        }
        for action in &scenario.scheduler.script {
            if let Action::Crash(seat) = action {
                faulty.insert(seat.node);
            }
        }
        self.faulty = faulty;
        self.over_budget_allowed = cluster.over_budget;
        let count = faulty.and(NodeSet::replicas(n)).len();
        self.over_budget = count > f;
        if self.over_budget && !cluster.over_budget {
            return Err(invalid(format!(
                "{count} faulty {} {faulty} exceed{} f = {f}: use fewer, or set `cluster.over-budget = true` \
                 (--over-budget)",
                if count == 1 { "replica" } else { "replicas" },
                if count == 1 { "s" } else { "" },
            )));
        }
        Ok(())
    }

    /// What the scenario itself leaves of what the protocol assumes.
    fn note_setting(&mut self, scenario: &Scenario) {
        let assumed = *self.world.assumed();
        if self.over_budget {
            self.note_budget();
        }
        if assumed.honest_clients {
            for node in scenario.adversary.byzantine.iter().filter(|node| node.is_client()) {
                self.world.note(Assumption::Clients, 0, || node.to_string());
            }
        }
        if assumed.bound().is_some() {
            let drifting = scenario
                .cluster
                .drift
                .iter()
                .filter(|&(&node, &ppm)| ppm != 0 && !scenario.adversary.byzantine.contains(node));
            for (node, ppm) in drifting {
                self.world
                    .note(Assumption::Synchrony, 0, || format!("the clock of {node} drifts by {ppm} ppm"));
            }
        }
        self.world.trusts(&self.cluster.trust);
    }

    /// More are faulty than the protocol promises to tolerate.
    pub(super) fn note_budget(&mut self) {
        let (faulty, f) = (self.faulty.and(self.cluster.replicas()), self.cluster.f);
        let are = if faulty.len() == 1 { "replica is" } else { "replicas are" };
        let event = || format!("{} {are} faulty ({faulty}), and f = {f}", faulty.len());
        self.world.note(Assumption::Budget, self.io.step, event);
    }

    /// Whether leaders, targets and trusted nodes exist, and numbers make sense.
    fn check_names(&self, scenario: &Scenario) -> Result<(), ScenarioError> {
        let (cluster, workload) = (&scenario.cluster, &scenario.workload);
        let replicas = NodeSet::replicas(cluster.n);
        let is_replica = |node: NodeId, key: &str| match replicas.contains(node) {
            true => Ok(()),
            false => {
                Err(invalid(format!("{key}: {node} is not a replica: replicas are p0..p{}", cluster.n - 1)))
            }
        };
        cluster.leaders.iter().try_for_each(|&node| is_replica(node, "cluster.leaders"))?;
        if let Target::One(node) = workload.target {
            is_replica(node, "workload.target")?;
        }
        if workload.requests > Workload::MOST {
            return Err(invalid(format!("workload.requests: a run has at most {}", Workload::MOST)));
        }
        if scenario.limits.in_flight > Some(Limits::IN_FLIGHT) {
            return Err(invalid(format!("limits.in-flight: at most {}", Limits::IN_FLIGHT)));
        }
        if workload.timeout == Time(0) {
            return Err(invalid("workload.timeout: at least 1 tick"));
        }
        if let Some(op) = workload.ops.iter().find(|op| op.len() > Op::MAX) {
            return Err(invalid(format!("workload.ops: `{op}` is longer than {} bytes", Op::MAX)));
        }
        if workload.every == Some(Time(0)) {
            return Err(invalid("workload.every: at least 1 tick between two requests"));
        }
        P::validate(&self.config).map_err(|error| invalid(format!("[protocol] {}: {error}", P::NAME)))
    }

    pub(super) fn prepare_plan(&mut self, scenario: &Scenario) -> Result<(), ScenarioError> {
        self.faces.clear();
        self.stances.clear();
        self.plan = None;
        self.last_fault_rounds = LastRounds::default();
        self.slab.keep = false;
        if scenario.adversary.faults.is_empty() {
            return Ok(());
        }
        let words = Words {
            protocol: P::NAME,
            kinds: P::Msg::KINDS,
            flags: P::FLAGS,
            table: &self.table,
            numbers_of: P::Msg::numbers_of,
        };
        let mut plan = Plan::compile(scenario, self.bound, &self.io.seats, words)?;
        self.stances.set(plan.take_stances());
        self.last_fault_rounds = plan.last();
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
                let awake = fault.when == When::default();
                self.faces.push(Face::new(spec, seat, i as u16, awake));
            }
        }
        self.plan = Some(plan);
        Ok(())
    }

    /// Deals the requests out to the clients.
    pub(super) fn deal_out(&mut self, scenario: &Scenario) {
        let workload = &scenario.workload;
        let clients = scenario.cluster.clients;
        self.works.truncate(clients);
        self.works.iter_mut().for_each(|work| {
            work.ops.clear();
            work.workload.clone_from(workload);
        });
        self.works.resize_with(clients, || ClientWork { workload: workload.clone(), ops: Vec::new() });
        if clients == 0 || !(P::STREAM || asks::<P>()) {
            self.expected = 0;
            return;
        }
        let requests = if P::ONE_SHOT { workload.requests.min(1) } else { workload.requests };
        for i in 0..requests as usize {
            let op = match workload.ops.get(i) {
                Some(op) => Op::new(op),
                None => Op::numbered(i + 1),
            };
            let start = workload.start.get(i).copied().unwrap_or_default();
            let read_only = workload.read_only.contains(&(i as u32 + 1));
            let client = i % clients;
            self.works[client].ops.push((op, start, read_only));
        }
        self.recount();
    }

    /// How many requests have to complete: all of the correct clients that have not crashed.
    pub(super) fn recount(&mut self) {
        self.expected = 0;
        for (i, work) in self.works.iter().enumerate() {
            let client = NodeId::client(i);
            let seat = self.io.seats.first(client);
            let correct = self.io.ledger.correct();
            let alive = seat.is_some_and(|seat| self.alive.contains(seat) && correct.contains(seat));
            if !self.byzantine.contains(client) {
                let done = || self.io.ledger.completed_by(client);
                self.expected += if alive { work.ops.len() } else { done() };
            }
        }
        // A client that is back has requests again.
        if self.goal_at.is_some() && self.io.ledger.completed() < self.expected {
            self.goal_at = None;
        }
    }

    pub(super) fn fresh_node(&self, seat: Seat) -> AnyNode<P> {
        let (node, config) = (self.io.seats.node(seat), self.config_of(seat));
        if node.is_client() {
            AnyNode::Client(P::client(node, &self.cluster, config, &self.works[node.index()]))
        } else {
            AnyNode::Replica(P::replica(node, &self.cluster, config))
        }
    }

    fn start(&mut self) {
        if !self.stances.is_empty() {
            self.record_first_flags();
        }
        for i in 0..self.nodes.len() {
            let seat = Seat(i as u8);
            // Whom a first message already stopped never starts.
            if self.sleeps(seat) || !self.alive.contains(seat) {
                continue;
            }
            // What a start triggers happens at once; the network calms down when all have started.
            self.guarded(|sim| {
                sim.call(seat, AnyNode::on_start);
                sim.do_triggered();
            });
        }
    }
}
