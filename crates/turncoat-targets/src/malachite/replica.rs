//! A validator: the engine, and the host around it.

use bytes::Bytes;
use malachitebft_core_consensus::{
    Error, Input, Params, PeerId, SignedConsensusMsg, State as Engine, WalEntry, process,
};
use malachitebft_core_types::{ValueOrigin, ValuePayload, ValueResponse};
use turncoat_core::prelude::*;
use turncoat_core::tokens::Token;

use super::certificates::epoch;
use super::context::{Address, Ctx, Height};
use super::host::{Host, timeout};
use super::messages::{Decided, Msg};
use super::{Config, Cx, Malachite, Timer, place, proposer};

/// Inputs for later heights that the engine keeps: more than any run has.
const QUEUE: usize = 1000;

/// A validator of malachite.
pub struct Replica {
    me: NodeId,
    ctx: Ctx,
    engine: Engine<Ctx>,
    host: Host,
    shown: Shown,
}

/// What people may see of the engine's state, and what tells whether a message has had an effect.
#[derive(Clone, Copy, PartialEq, Debug, Default, Hash, Serialize)]
struct Shown {
    height: Slot,
    epoch: Option<View>,
    step: u8,
    locked: Option<(View, Digest)>,
    valid: Option<(View, Digest)>,
    decided: usize,
    /// Entries of the log: there is one for each vote, proposal and timeout that counts.
    logged: usize,
    /// Messages for later heights.
    ahead: usize,
}

impl Replica {
    pub(super) fn new(me: NodeId, cluster: &Cluster, config: Config) -> Self {
        let (ctx, host) = (Ctx { cluster: Arc::new(cluster.clone()) }, Host::new(cluster, config));
        let engine = engine(me, &ctx, &host);
        Self { me, ctx, engine, host, shown: Shown::default() }
    }

    /// Hands inputs to the engine, and then those that came of it.
    fn feed(&mut self, inputs: impl IntoIterator<Item = Input<Ctx>>, cx: &mut Cx<'_>) {
        for input in inputs {
            self.one(input, cx);
        }
        while let Some(input) = self.host.next.pop_front() {
            self.one(input, cx);
        }
        self.show(cx);
    }

    fn one(&mut self, input: Input<Ctx>, cx: &mut Cx<'_>) {
        let host = &mut self.host;
        let done: Result<(), Error<Ctx>> = process!(
            input: input, state: &mut self.engine, metrics: &(), with: effect => host.carry_out(effect, cx)
        );
        if let Err(error) = done {
            cx.mark("error");
            cx.note(|| format!("the engine: {error}"));
        }
    }

    /// Says what the state is now.
    fn show(&mut self, cx: &mut Cx<'_>) {
        let (driver, host) = (&self.engine.driver, &self.host);
        if !driver.evidence().is_empty() {
            cx.mark("evidence");
        }
        let state = driver.round_state();
        let locked = state.locked.as_ref().map(|it| (epoch(it.round), it.value.id()));
        let valid = state.valid.as_ref().map(|it| (epoch(it.round), it.value.id()));
        self.shown = Shown {
            height: host.height,
            epoch: state.round.as_u32().map(View),
            step: state.step as u8,
            locked,
            valid,
            decided: host.decided.len(),
            logged: host.log.len(),
            ahead: host.ahead.len(),
        };
    }

    /// Passes on what is new, to all who may not have it.
    fn pass_on(&mut self, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) {
        let (height, signer, valid) = match msg {
            Msg::Proposal(m) => (m.height, m.signer(), m.valid()),
            Msg::Prevote(m) => (m.height, m.signer(), m.valid()),
            Msg::Precommit(m) => (m.height, m.signer(), m.valid()),
            _ => return,
        };
        if self.host.config.relay && valid && signer != self.me && self.host.is_new(height, msg) {
            cx.multicast(cx.others().without(NodeSet::one(from)).without(NodeSet::one(signer)), msg.clone());
        }
    }

    /// Somebody is at a later height. If that is still so after a while, it asks.
    fn fall_behind(&mut self, cx: &mut Cx<'_>) {
        if self.host.config.sync > Time(0) && !self.host.asking {
            self.host.asking = true;
            cx.set_timer(Timer::Sync, self.host.config.sync);
        }
    }

    /// Asks those who were heard of at later heights.
    fn ask(&mut self, cx: &mut Cx<'_>) {
        self.host.asking = false;
        let ahead: NodeSet = self.host.ahead.keys().copied().collect();
        if !ahead.is_empty() {
            cx.multicast(ahead, Msg::SyncRequest(self.host.height));
            self.fall_behind(cx);
        }
    }

    fn answer(&self, from: NodeId, height: Slot, cx: &mut Cx<'_>) {
        let decided = height.0.checked_sub(1).and_then(|index| self.host.decided.get(index as usize));
        if let Some(decided) = decided {
            cx.send(from, Msg::SyncResponse(decided.clone()));
        }
    }

    /// A decision with its certificate, which the engine looks at. Who still lags asks for the next one.
    fn on_decided(&mut self, from: NodeId, m: &Decided, cx: &mut Cx<'_>) {
        let (height, Ok(peer)) = (m.block.height, PeerId::from_bytes(&[0, 1, from.index() as u8])) else {
            return;
        };
        if self.host.config.sync == Time(0) || height != self.host.height {
            return;
        }
        self.host.keep(m.block);
        let proposer = Address(proposer(height, m.epoch, cx.cluster()));
        let response = ValueResponse::new(peer, proposer, Bytes::new(), m.certificate());
        self.feed([Input::SyncValueResponse(response)], cx);
        if self.host.height > height && !self.host.ahead.is_empty() {
            cx.send(from, Msg::SyncRequest(self.host.height));
        }
    }
}

impl Node<Malachite> for Replica {
    fn on_start(&mut self, cx: &mut Cx<'_>) {
        let start = Input::StartHeight(Height(self.host.height.0), self.host.validators.clone());
        self.feed([start], cx);
    }

    fn on_message(&mut self, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) {
        if let Some(slot) = msg.slot().filter(|&slot| slot > self.host.height) {
            let known = self.host.ahead.entry(from).or_insert(slot);
            *known = slot.max(*known);
            self.fall_behind(cx);
        }
        match msg {
            Msg::SyncRequest(height) => self.answer(from, *height, cx),
            Msg::SyncResponse(m) => self.on_decided(from, m, cx),
            _ => {
                self.pass_on(from, msg, cx);
                let inputs = self.host.inputs(msg, cx);
                self.feed(inputs, cx);
            }
        }
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        match timeout(timer) {
            Some(timeout) => self.feed([Input::TimeoutElapsed(timeout)], cx),
            None => self.ask(cx),
        }
    }

    /// A new engine reads the log: it comes to where the old one was, and says again what that one had said.
    fn on_restart(&mut self, cx: &mut Cx<'_>) {
        self.host.forget_timers();
        self.engine = engine(self.me, &self.ctx, &self.host);
        let start = Input::StartHeight(Height(self.host.height.0), self.host.validators.clone());
        let log = self.host.log.iter().map(|entry| match entry.clone() {
            WalEntry::ConsensusMsg(SignedConsensusMsg::Vote(vote)) => Input::Vote(vote),
            WalEntry::ConsensusMsg(SignedConsensusMsg::Proposal(proposal)) => Input::Proposal(proposal),
            WalEntry::Timeout(timeout) => Input::TimeoutElapsed(timeout),
            WalEntry::ProposedValue(value) => Input::ProposedValue(value, ValueOrigin::Consensus),
        });
        let inputs: Vec<_> = std::iter::once(start).chain(log).collect();
        self.host.replays = true;
        for input in inputs {
            self.one(input, cx);
        }
        self.host.replays = false;
        self.feed([], cx);
    }

    fn vitals(&self, cluster: &Cluster) -> Vitals {
        let Shown { height, epoch, step, locked, valid, .. } = self.shown;
        let (epoch, kinds) = (epoch.unwrap_or_default(), ["proposal", "proposal", "prevote", "precommit"]);
        let view = place(height, epoch);
        let need = if step <= 1 { 1 } else { cluster.quorum() };
        let kind = kinds.get(usize::from(step)).copied();
        let waits = kind.map(|kind| Waiting { kind, about: About::View(view), have: NodeSet::EMPTY, need });
        Vitals {
            view,
            prepared: valid.map(|(_, id)| id),
            locked: locked.map(|(_, id)| id),
            executed: self.host.decided.last().map(|it| it.block.id()),
            decided: Slot(height.0.saturating_sub(1)),
            waiting: waits.into_iter().collect(),
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

fn engine(me: NodeId, ctx: &Ctx, host: &Host) -> Engine<Ctx> {
    let params = Params {
        initial_height: Height(host.height.0),
        initial_validator_set: host.validators.clone(),
        address: Address(me),
        threshold_params: host.thresholds(),
        value_payload: ValuePayload::ProposalAndParts,
    };
    Engine::new(ctx.clone(), params, QUEUE)
}
