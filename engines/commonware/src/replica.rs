//! A validator: the engine, and the host around it.

use commonware_consensus::simplex::Plan;
use commonware_consensus::simplex::types::{Activity, Context as Proposing, Finalization};
use commonware_consensus::{Epochable as _, Handoff, Viewable as _};
use commonware_cryptography::ed25519::PublicKey;
use commonware_p2p::Recipients;
use commonware_runtime::deterministic::Runner;
use commonware_utils::channel::oneshot;
use commonware_utils::ordered::Quorum as _;
use turncoat::core::prelude::*;
use turncoat::core::tokens::Token;

use crate::chain::Chain;
use crate::engine::{Engine, blank};
use crate::host::Effect;
use crate::messages::{Block, Msg};
use crate::scheme::Keyed;
use crate::wire::{self, D};
use crate::{Config, Cx, Simplex, Timer};

/// A validator of commonware.
pub struct Replica {
    me: NodeId,
    cluster: Arc<Cluster>,
    config: Config,
    /// None before the start, and after it has failed.
    engine: Option<Engine>,
    chain: Chain,
    /// What the engine waits for.
    questions: Vec<Question>,
    blocked: NodeSet,
    /// When the timer of the engine fires, by the engine's clock.
    armed: Option<u64>,
    shown: Shown,
}

/// Something that the engine waits for, until a body is there.
struct Question {
    block: Digest,
    /// What the block should be on, and in which view: none if that was asked before.
    place: Option<(Digest, View)>,
    answer: oneshot::Sender<bool>,
}

/// What people may see, and what tells whether a message has had an effect.
#[derive(Clone, Copy, PartialEq, Debug, Default, Hash, Serialize)]
struct Shown {
    view: View,
    finalized: View,
    decided: usize,
    blocks: usize,
    /// How many questions of the engine are open.
    questions: usize,
    /// What the engine has reported: votes, certificates, evidence.
    reports: usize,
    blocked: NodeSet,
    last: Option<Digest>,
}

impl Replica {
    pub(crate) fn new(me: NodeId, cluster: &Cluster, config: Config) -> Self {
        Self {
            me,
            cluster: Arc::new(cluster.clone()),
            config,
            engine: None,
            chain: Chain::default(),
            questions: Vec::new(),
            blocked: NodeSet::EMPTY,
            armed: None,
            shown: Shown::default(),
        }
    }

    /// What it has seen finalized: views with digests and voters.
    pub(crate) fn finalized(&self) -> &std::collections::BTreeMap<View, (Digest, NodeSet)> {
        self.chain.finalized()
    }

    /// Whom its engine has blocked.
    pub(crate) const fn blocked(&self) -> NodeSet {
        self.blocked
    }

    fn start(&mut self, runner: Runner, cx: &mut Cx<'_>) {
        self.engine = Some(Engine::start(self.me, &self.cluster, self.config, cx.now().0, runner));
        self.run(cx);
    }

    /// Lets the engine run until it wants nothing more.
    fn run(&mut self, cx: &mut Cx<'_>) {
        // If it fails, it is gone.
        let Some(engine) = self.engine.take() else { return };
        engine.alarms.advance(cx.now().0);
        loop {
            let effects = engine.go(|statement| statement.sign(cx));
            let mut answered = false;
            for effect in effects {
                answered |= self.carry_out(effect, &engine, cx);
            }
            if !answered {
                break;
            }
        }
        self.engine = Some(engine);
        self.arm(cx);
        self.shown.decided = self.chain.decided().len();
        self.shown.last = self.chain.decided().last().copied();
        self.shown.blocks = self.chain.blocks();
        self.shown.questions = self.questions.len();
        self.shown.blocked = self.blocked;
    }

    /// Has the first alarm of the engine as a timer, and asks for what is missing after a while.
    fn arm(&mut self, cx: &mut Cx<'_>) {
        let Some(engine) = &self.engine else { return };
        let first = engine.alarms.first();
        if first != self.armed {
            match first {
                Some(due) => cx.set_timer(Timer::Alarm, Time(due.saturating_sub(engine.alarms.now()))),
                None => cx.cancel_timer(Timer::Alarm),
            }
            self.armed = first;
        }
        self.questions.retain(|question| !question.answer.is_closed());
        if self.missing().next().is_none() {
            cx.cancel_timer(Timer::Sync);
        } else if self.config.sync > Time(0) {
            cx.start_timer(Timer::Sync, self.config.sync);
        }
    }

    /// Carries out an effect; says whether the engine has an answer that it waited for.
    fn carry_out(&mut self, effect: Effect, engine: &Engine, cx: &mut Cx<'_>) -> bool {
        match effect {
            Effect::Send { channel, to, bytes } => {
                let to = self.nodes(engine, &to);
                match wire::decode(channel, bytes) {
                    Some(msg) => self.send(to, msg, cx),
                    None => panic!("the engine sends what nobody can read"),
                }
                false
            }
            Effect::Block(peer) => {
                cx.mark("blocked");
                self.blocked = self.blocked.or(self.nodes(engine, &[peer]));
                cx.examine();
                false
            }
            Effect::Propose(context, answer) => answer.send(self.propose(&context, cx)).is_ok(),
            // Whoever leads the next term begins before the last block of this one is certified, and says so.
            Effect::Prepare(context, answer) => {
                let early = self.config.handoff.then(|| Handoff::Vote(self.propose(&context, cx)));
                answer.send(early.unwrap_or(Handoff::Wait)).is_ok()
            }
            Effect::Verify(context, payload, answer) => {
                let place = Some((wire::digest(&context.parent.1), wire::view(context.round.view())));
                self.ask(Question { block: wire::digest(&payload), place, answer }, cx)
            }
            Effect::Certify(payload, answer) => {
                self.ask(Question { block: wire::digest(&payload), place: None, answer }, cx)
            }
            Effect::Broadcast(payload, plan) => {
                self.relay(wire::digest(&payload), plan, engine, cx);
                false
            }
            Effect::Report(activity) => {
                self.note(activity, cx);
                false
            }
            Effect::BadSignature => {
                cx.mark("bad-signature");
                false
            }
            Effect::BadCertificate => {
                cx.mark("bad-certificate");
                false
            }
        }
    }

    /// Makes a block.
    fn propose(&mut self, context: &Proposing<D, PublicKey>, cx: &mut Cx<'_>) -> D {
        let block = Block {
            view: wire::view(context.round.view()),
            parent: wire::digest(&context.parent.1),
            tx: cx.payload(),
            version: 0,
        };
        let block = Arc::new(block);
        self.chain.insert(&block, cx);
        cx.note(|| format!("makes block {} on {}: {}", block.id(), block.parent, block.tx.op));
        wire::payload(block.id())
    }

    fn nodes(&self, engine: &Engine, keys: &[PublicKey]) -> NodeSet {
        let peers = keys.iter().filter_map(|key| engine.peers.index(key));
        peers.map(|peer| NodeId::replica(usize::from(peer))).collect()
    }

    fn is_cut_off(&self, node: NodeId) -> bool {
        self.config.block && self.blocked.contains(node)
    }

    fn send(&self, to: NodeSet, msg: Msg, cx: &mut Cx<'_>) {
        if matches!(msg, Msg::Request(_)) {
            cx.mark("fetch");
        }
        let to: NodeSet = to.iter().filter(|&node| node != self.me && !self.is_cut_off(node)).collect();
        if !to.is_empty() {
            cx.multicast(to, msg);
        }
    }

    /// Sends the body of a block.
    fn relay(&self, id: Digest, plan: Plan<PublicKey>, engine: &Engine, cx: &mut Cx<'_>) {
        let Some(block) = self.chain.get(id) else { return };
        let to = match plan {
            Plan::Prepare { .. } | Plan::Propose { .. } => cx.others(),
            Plan::Forward { recipients, .. } => {
                cx.mark("forward");
                match recipients {
                    Recipients::All => cx.others(),
                    Recipients::Some(peers) => self.nodes(engine, &peers),
                    Recipients::One(peer) => self.nodes(engine, &[peer]),
                }
            }
        };
        self.send(to, Msg::Block(block.clone()), cx);
    }

    /// Takes note of what the engine reports.
    fn note(&mut self, activity: Activity<Keyed, D>, cx: &mut Cx<'_>) {
        debug_assert_eq!(activity.epoch().get(), crate::EPOCH);
        self.shown.reports += 1;
        let view = wire::view(activity.view());
        match activity {
            Activity::Notarize(_)
            | Activity::Nullify(_)
            | Activity::Finalize(_)
            | Activity::Notarization(_) => {}
            Activity::Certification(_) => self.leave(view),
            Activity::Nullification(_) => {
                cx.mark("nullified");
                // What is left of its term is skipped, too.
                let length = self.config.term_length.max(1);
                self.leave(View(view.0.div_ceil(length).saturating_mul(length)));
            }
            Activity::Finalization(it) => {
                self.leave(view);
                self.shown.finalized = self.shown.finalized.max(view);
                self.finalize(view, &it, cx);
            }
            Activity::ConflictingNotarize(_) => cx.mark("conflicting-notarize"),
            Activity::ConflictingFinalize(_) => cx.mark("conflicting-finalize"),
            Activity::NullifyFinalize(_) => cx.mark("nullify-finalize"),
        }
    }

    fn leave(&mut self, view: View) {
        self.shown.view = self.shown.view.max(view.next());
    }

    fn finalize(&mut self, view: View, it: &Finalization<Keyed, D>, cx: &mut Cx<'_>) {
        let voters = it.certificate.iter().map(|&(signer, _)| NodeId::replica(signer as usize)).collect();
        self.chain.finalize(view, wire::digest(&it.proposal.payload), voters, cx);
    }

    /// What can be said to a question, if anything.
    fn verdict(&self, question: &Question) -> Option<bool> {
        match question.place {
            Some((parent, view)) => self.chain.is_valid(question.block, parent, view, &self.cluster).ok(),
            None => self.chain.get(question.block).map(|_| true),
        }
    }

    /// Answers a question, or keeps it; says whether it was answered.
    fn ask(&mut self, question: Question, cx: &mut Cx<'_>) -> bool {
        match self.verdict(&question) {
            Some(good) => {
                if !good {
                    cx.mark("invalid-block");
                }
                question.answer.send(good).is_ok()
            }
            None => {
                self.questions.push(question);
                false
            }
        }
    }

    /// The bodies that it waits for.
    fn missing(&self) -> impl Iterator<Item = Digest> {
        let asked = self.questions.iter().filter_map(|question| match question.place {
            Some((parent, view)) => self.chain.is_valid(question.block, parent, view, &self.cluster).err(),
            None => Some(question.block),
        });
        asked.chain(self.chain.lacks())
    }

    fn on_block(&mut self, block: &Arc<Block>, cx: &mut Cx<'_>) {
        // Long chains of versions take long to hash, and no valid block has one.
        if block.version >= Block::VERSIONS || !self.chain.insert(block, cx) {
            return;
        }
        for question in std::mem::take(&mut self.questions) {
            self.ask(question, cx);
        }
        self.run(cx);
    }

    /// Asks for bodies.
    fn sync(&self, cx: &mut Cx<'_>) {
        let mut missing: Vec<_> = self.missing().collect();
        missing.sort_unstable();
        missing.dedup();
        for id in missing {
            cx.mark("sync");
            self.send(cx.others(), Msg::BlockRequest(id), cx);
        }
    }
}

impl Node<Simplex> for Replica {
    fn on_start(&mut self, cx: &mut Cx<'_>) {
        self.shown.view = View(1);
        let seed = cx.rng().bits();
        self.start(blank(seed), cx);
    }

    fn on_message(&mut self, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) {
        if self.is_cut_off(from) {
            return;
        }
        match msg {
            Msg::Block(block) => self.on_block(block, cx),
            Msg::BlockRequest(id) => {
                if let Some(block) = self.chain.get(*id) {
                    self.send(NodeSet::one(from), Msg::Block(block.clone()), cx);
                }
            }
            _ => {
                if let (Some(engine), Some((channel, bytes))) = (&self.engine, wire::encode(msg)) {
                    engine.hand(from, channel, bytes);
                    self.run(cx);
                }
            }
        }
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        match timer {
            Timer::Alarm => {
                // A timer that fires early is a clock that goes ahead.
                if let (Some(engine), Some(due)) = (&self.engine, self.armed.take()) {
                    engine.alarms.ring(due, cx.now().0);
                }
                self.run(cx);
            }
            Timer::Sync => {
                self.sync(cx);
                self.arm(cx);
            }
        }
    }

    /// A new engine reads what the old one has written.
    fn on_restart(&mut self, cx: &mut Cx<'_>) {
        self.questions.clear();
        self.blocked = NodeSet::EMPTY;
        self.armed = None;
        // Who has failed stays down: what it had written is gone with it.
        let Some(kept) = self.engine.take().and_then(Engine::stop) else { return };
        let lost = self.config.flags.no_log;
        self.start(if lost { blank(cx.rng().bits()) } else { kept }, cx);
    }

    fn vitals(&self, cluster: &Cluster) -> Vitals {
        let Shown { view, decided, last, .. } = self.shown;
        let (have, need) = (NodeSet::EMPTY, Simplex::quorum(cluster));
        Vitals {
            view,
            executed: last,
            decided: Slot(decided as u32),
            waiting: vec![Waiting { kind: "notarize", about: About::View(view), have, need }],
            ..Vitals::default()
        }
    }

    fn state(&self) -> Option<&dyn State> {
        Some(&self.shown)
    }

    /// What is shown is not all that there is: nothing can be proved of a state that seems to come back.
    fn essence(&self, _: &[Digest], _: &mut Vec<Token>) -> bool {
        false
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        if let Some(engine) = self.engine.take() {
            engine.stop();
        }
    }
}
