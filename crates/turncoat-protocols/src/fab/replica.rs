//! A node: its state, requests, views (3.4), timers. What it does in each of its roles is in a file of its own.

use std::collections::BTreeMap;

use turncoat_core::prelude::*;

use super::acceptor::Acceptor;
use super::certificate::{is_election, is_known};
use super::leader::Leader;
use super::learner::Learner;
use super::messages::{Accepted, Election, Known, Msg, Prefix, Pull, Satisfied, Suspect, Value};
use super::messages::{is_genuine, values};
use super::roles::Roles;
use super::{Config, Cx, Fab, Timer};
use crate::slips::slip;

/// What was said about one instance in one view.
#[derive(Clone, Default, Debug, Hash, Serialize)]
pub(super) struct Facts {
    pub(super) accepted: Ballots<Accepted>,
    /// ACCEPTEDs beyond one per acceptor, which count for nothing unless `count_duplicates`.
    pub(super) repeats: Vec<Value>,
    /// Who has sent a COMMITPROOF.
    pub(super) proofs: Votes<Value>,
}

/// A node of FaB.
#[derive(Clone, Default, Debug, Hash, Serialize)]
pub struct Replica {
    pub(super) config: Config,
    pub(super) view: View,
    /// What has brought it to its view; nothing in the first one.
    election: Option<Election>,
    /// By view, this one and later ones.
    suspects: BTreeMap<View, Ballots<Suspect>>,
    /// Views in a row in which nothing was learned, as far as they make timeouts longer.
    fruitless: u32,
    /// The longest learned certificate: the instance after it is the open one.
    pub(super) known: Option<Known>,
    /// LEARNEDs of longer prefixes, by length.
    pub(super) learned: BTreeMap<Slot, Ballots<Prefix>>,
    /// By instance, the open one and later ones, and by view.
    pub(super) facts: BTreeMap<Slot, BTreeMap<View, Facts>>,
    /// Requests that are not in the learned certificate.
    pub(super) clients: Clients<()>,
    pub(super) leader: Leader,
    pub(super) acceptor: Acceptor,
    pub(super) learner: Learner,
    /// PROPOSEs of later views.
    early: Early<Msg>,
    /// The request that the timer PROPOSER runs for.
    awaited: Option<(NodeId, u32)>,
    /// Whether the timer PULL runs.
    pulling: bool,
}

/// How far ahead of the open instance facts are kept.
const AHEAD: u32 = 64;

impl Replica {
    pub(super) fn new(config: Config) -> Self {
        Self { config, view: View(1), ..Self::default() }
    }

    /// The instance that it is at.
    pub(super) fn open(&self) -> Slot {
        Slot(values(self.known.as_ref()).len() as u32 + 1)
    }

    /// What was said about an instance in a view, if that is worth keeping.
    pub(super) fn facts(&mut self, view: View, seq: Slot) -> Option<&mut Facts> {
        let open = self.open();
        let kept = seq >= open && seq.0 - open.0 < AHEAD;
        kept.then(|| self.facts.entry(seq).or_default().entry(view).or_default())
    }

    // --- REQUEST ----------------------------------------------------------------------------------------------

    /// A learner that has learned it answers again; who has not waits for it, and the leader proposes it.
    fn on_request(&mut self, request: &Value, cx: &mut Cx<'_>) {
        if !is_genuine(request) {
            return;
        }
        self.learner.answer(request, cx);
        self.clients.note(request);
        self.lead(cx);
        self.tend(cx);
    }

    // --- learned certificates (3.6) ---------------------------------------------------------------------------

    /// Takes over a learned certificate that is longer than its own, and opens the instance after it.
    pub(super) fn adopt(&mut self, known: &Known, cx: &mut Cx<'_>) {
        let roles = Roles::of(cx.cluster());
        let before = values(self.known.as_ref()).len();
        if known.0.len() <= before || !is_known(known, roles) {
            return;
        }
        self.known = Some(known.clone());
        known.0[before..].iter().for_each(|value| self.clients.executed(value, ()));
        self.acceptor.close();
        self.fruitless = 0;
        let open = self.open();
        self.facts = self.facts.split_off(&open);
        self.learned = self.learned.split_off(&open);
        self.learn_all(&known.0, Grounds::Certificate(Ballot::new("learned", None, known.voters())), cx);
        self.satisfy(roles.proposers(), cx);
        self.rest_if_done(cx);
        self.lead(cx);
        self.tend(cx);
    }

    /// 3.4: a proposer that knows what was learned tells the others, or the leader that asks again.
    pub(super) fn satisfy(&self, whom: NodeSet, cx: &mut Cx<'_>) {
        if let Some(value) = values(self.known.as_ref()).last()
            && Roles::of(cx.cluster()).proposers().contains(cx.me())
        {
            let seq = Slot(self.open().0 - 1);
            let satisfied = Satisfied { view: self.view, seq, digest: value.digest() };
            cx.multicast(whom, Msg::Satisfied(cx.sign(satisfied)));
        }
    }

    // --- SUSPECT, ELECTED, QUERY (3.4) ------------------------------------------------------------------------

    /// A proposer turns against its leader.
    fn suspect(&self, cx: &mut Cx<'_>) {
        if Roles::of(cx.cluster()).proposers().contains(cx.me()) {
            cx.broadcast(Msg::Suspect(cx.sign(Suspect { view: self.view })));
        }
    }

    /// SUSPECTs of enough proposers elect the next leader. Who suspects an earlier one has missed the election.
    fn on_suspect_of(&mut self, from: NodeId, m: &Signed<Suspect>, cx: &mut Cx<'_>) {
        let roles = Roles::of(cx.cluster());
        if !roles.proposers().contains(from) {
            return;
        }
        if m.view < self.view {
            if let Some(election) = self.election.clone() {
                cx.send(from, Msg::Elected(election));
            }
            return;
        }
        let suspects = self.suspects.entry(m.view).or_default();
        suspects.add(m);
        if suspects.count(m) >= roles.most() {
            let proof = Arc::new(suspects.cert(m, roles.proposers()));
            self.enter(Election { view: m.view.next(), proof }, cx);
        }
    }

    /// Says whether this node is in that view now.
    fn on_election(&mut self, m: &Election, cx: &mut Cx<'_>) -> bool {
        if m.view > self.view && is_election(m, Roles::of(cx.cluster())) {
            self.enter(m.clone(), cx);
        }
        m.view == self.view
    }

    /// Enters a view, and brings the others along. Nothing of an earlier view is accepted any more.
    fn enter(&mut self, election: Election, cx: &mut Cx<'_>) {
        cx.mark("view-change");
        let view = election.view;
        cx.note(|| format!("enters view {view}"));
        self.view = view;
        self.suspects = self.suspects.split_off(&view);
        self.fruitless = (self.fruitless + 1).min(self.config.doublings);
        self.leader = Leader::default();
        self.acceptor.forget_report();
        if slip!("fab/accepted-forgotten") {
            self.acceptor.close();
        }
        cx.cancel_timer(Timer::Leader);
        if self.config.flags.seq_reset_on_view_change {
            self.start_again();
        }
        cx.to_others(Msg::Elected(election.clone()));
        self.election = Some(election);
        if cx.leads(view) {
            self.insist(cx);
        }
        // The new leader gets its time.
        cx.cancel_timer(Timer::Proposer);
        cx.cancel_timer(Timer::Pull);
        (self.awaited, self.pulling) = (None, false);
        self.tend(cx);
        for (from, msg) in self.early.take() {
            self.on_message(from, &msg, cx);
        }
    }

    /// The leader of a view asks what happened before it.
    pub(super) fn query(&self, cx: &mut Cx<'_>) {
        if let Some(election) = self.election.clone() {
            cx.broadcast(Msg::Query(election));
        }
    }

    /// `seq_reset_on_view_change`: what was learned is remembered by nobody but the clients' requests.
    fn start_again(&mut self) {
        self.known = None;
        self.acceptor.close();
        self.facts.clear();
        self.learned.clear();
        self.learner.start_again();
    }

    // --- timers -----------------------------------------------------------------------------------------------

    /// The rules of the timers PROPOSER and PULL, after every event that may matter to them.
    pub(super) fn tend(&mut self, cx: &mut Cx<'_>) {
        let pending = self.clients.pending();
        let waits = |awaited| pending.iter().any(|request| request.id() == awaited);
        if self.awaited.take_if(|awaited| !waits(*awaited)).is_some() {
            cx.cancel_timer(Timer::Proposer);
        }
        if let (None, Some(oldest)) = (self.awaited, pending.first())
            && Roles::of(cx.cluster()).proposers().contains(cx.me())
            && !(self.config.flags.no_reelection && self.view > View(1))
        {
            self.awaited = Some(oldest.id());
            cx.set_timer(Timer::Proposer, self.patience());
        }
        let pulling = !pending.is_empty() || self.lags(cx);
        if pulling && !self.pulling {
            cx.set_timer(Timer::Pull, self.config.pull);
        } else if self.pulling && !pulling {
            cx.cancel_timer(Timer::Pull);
        }
        self.pulling = pulling;
    }

    /// 3.4: the time doubles from view to view until something is learned.
    const fn patience(&self) -> Time {
        Time(self.config.proposer_timeout.0.saturating_mul(1 << self.fruitless))
    }

    /// Whether this learner has not learned what it has accepted itself, or hears of from one at least who does not lie.
    fn lags(&self, cx: &Cx<'_>) -> bool {
        let (roles, next) = (Roles::of(cx.cluster()), self.learner.next());
        let heard = |facts: &Facts| facts.accepted.seen().or(facts.proofs.seen()).len() >= roles.weak();
        let accepted = next == self.open() && self.acceptor.accepted().is_some();
        roles.learners().contains(cx.me())
            && (accepted || self.facts.get(&next).is_some_and(|views| views.values().any(heard)))
    }

    /// What is missing for the next step.
    fn waits(&self, cluster: &Cluster) -> Option<Waiting> {
        let (roles, about) = (Roles::of(cluster), About::Slot(self.open()));
        if self.stuck().is_some() {
            return None;
        }
        if let Some(waiting) = self.leader.waits(self.view, roles) {
            return Some(waiting);
        }
        if let Some((voters, need)) = self.most_accepted(roles) {
            return Some(Waiting { kind: "accepted", about, have: voters, need });
        }
        let proposal = Waiting { kind: "propose", about, have: NodeSet::EMPTY, need: 1 };
        (!self.clients.pending().is_empty()).then_some(proposal)
    }

    /// Those who have accepted the same value in the open instance, the most of them, and how many it takes.
    fn most_accepted(&self, roles: Roles) -> Option<(NodeSet, usize)> {
        let facts = self.facts.get(&self.open())?.get(&self.view)?;
        let (_, voters) = facts.accepted.iter().max_by_key(|(_, voters)| voters.len())?;
        Some((voters, if self.config.parameterized { roles.proof() } else { roles.fast() }))
    }
}

impl Node<Fab> for Replica {
    fn adopt(&mut self, config: &Config, _: &Cluster) -> bool {
        self.config = *config;
        true
    }

    fn on_message(&mut self, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) {
        match msg {
            Msg::Request(m) => self.on_request(m, cx),
            Msg::Propose(m) if m.view > self.view && from == cx.leader(m.view) => self.early.keep(from, msg),
            Msg::Propose(m) if m.is_by(from) => self.on_propose(from, m, cx),
            Msg::Accepted(m) if m.is_by(from) => self.on_accepted(m, cx),
            Msg::CommitProof(m) => self.on_commit_proof(from, m, cx),
            Msg::Learned(m) if m.learnt.is_by(from) => self.on_learned(from, m, cx),
            Msg::Satisfied(m) if m.is_by(from) => self.on_satisfied(from, m, cx),
            Msg::Pull(m) => self.on_pull(from, m, cx),
            Msg::Suspect(m) if m.is_by(from) => self.on_suspect_of(from, m, cx),
            Msg::Elected(m) => _ = self.on_election(m, cx),
            Msg::Query(m) if from == cx.leader(m.view) && self.on_election(m, cx) => self.report(from, cx),
            Msg::Rep(m) if m.is_by(from) => self.on_rep(m, cx),
            _ => {}
        }
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        match timer {
            Timer::Leader => self.insist(cx),
            Timer::Proposer => {
                self.suspect(cx);
                cx.set_timer(Timer::Proposer, self.patience());
            }
            Timer::Pull => {
                let pull = Pull { view: self.view, seq: Slot(self.open().0 - 1) };
                let learners = Roles::of(cx.cluster()).learners();
                cx.multicast(learners.without(NodeSet::one(cx.me())), Msg::Pull(pull));
                cx.set_timer(Timer::Pull, self.config.pull);
            }
            Timer::Client(_) => {}
        }
    }

    /// The timers are gone, the state is not.
    fn on_restart(&mut self, cx: &mut Cx<'_>) {
        (self.awaited, self.pulling) = (None, false);
        self.tend(cx);
        if cx.leads(self.view) {
            self.insist(cx);
        }
    }

    fn on_suspect(&mut self, cx: &mut Cx<'_>) {
        self.suspect(cx);
    }

    fn vitals(&self, cluster: &Cluster) -> Vitals {
        Vitals {
            view: self.view,
            prepared: self.acceptor.accepted().map(|own| own.value.digest()),
            locked: self.acceptor.proof().map(|proof| proof.value.digest()),
            waiting: self.waits(cluster).into_iter().collect(),
            ..self.learner.vitals()
        }
    }

    open_state!();
}
