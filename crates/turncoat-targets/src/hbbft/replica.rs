//! A validator: the engine, and the host around it.

use std::collections::BTreeSet;

use hbbft::Target;
use hbbft::honey_badger::{Batch, EncryptionSchedule, HoneyBadger, Step};
use turncoat_core::prelude::*;
use turncoat_core::tokens::Token;

use super::keys::{self, Dice};
use super::messages::Msg;
use super::{Config, Cx, Encryption, Hbbft, SESSION, faults, wire};

/// What a validator contributes to an epoch.
type Contribution = Signed<Request>;
type Engine = HoneyBadger<Contribution, NodeId>;

/// A validator of hbbft.
pub struct Replica {
    me: NodeId,
    pub(super) config: Config,
    engine: Engine,
    /// The requests that were decided: none is decided again.
    done: BTreeSet<(NodeId, u32)>,
    /// Whom the engine has reported.
    reported: NodeSet,
    shown: Shown,
}

/// What people may see of the state, and what tells whether a message has had an effect. The engine shows little of its own.
#[derive(Clone, Copy, PartialEq, Debug, Default, Hash, Serialize)]
struct Shown {
    /// The epoch whose batch is the next one.
    epoch: u32,
    contributed: bool,
    /// Of how many the contributions to this epoch are there.
    received: usize,
    last: Option<Digest>,
    reported: NodeSet,
    /// Messages about which the engine has not complained.
    heard: u32,
}

impl Replica {
    pub(super) fn new(me: NodeId, cluster: &Cluster, config: Config) -> Self {
        let engine = engine(me, cluster, &config);
        Self { me, config, engine, done: BTreeSet::new(), reported: NodeSet::EMPTY, shown: Shown::default() }
    }

    /// Whom the engine has reported.
    pub(super) const fn reported(&self) -> NodeSet {
        self.reported
    }

    /// Carries out what the engine says, and contributes to the next epoch if there is one.
    fn take(&mut self, step: Step<Contribution, NodeId>, cx: &mut Cx<'_>) {
        self.carry_out(step, cx);
        while !self.engine.has_input() {
            let payload = cx.payload();
            match self.engine.propose(&payload, &mut Dice(cx.rng())) {
                Ok(step) => self.carry_out(step, cx),
                Err(error) => return complain(&error, cx),
            }
        }
        self.show();
    }

    fn carry_out(&mut self, step: Step<Contribution, NodeId>, cx: &mut Cx<'_>) {
        for message in step.messages {
            let Some(msg) = wire::leave(self.me, &message.message) else { continue };
            match message.target {
                Target::All => cx.to_others(msg),
                Target::Node(node) => cx.send(node, msg),
            }
        }
        for fault in step.fault_log.0 {
            self.reported.insert(fault.node_id);
            cx.mark(faults::mark(&fault.kind));
            cx.note(|| format!("the engine reports {}: {:?}", fault.node_id, fault.kind));
        }
        for batch in &step.output {
            self.decide(batch, cx);
        }
    }

    /// A batch. What is not signed by who asks for it, or was decided before, counts for nothing.
    fn decide(&mut self, batch: &Batch<Contribution, NodeId>, cx: &mut Cx<'_>) {
        let any = self.config.flags.accept_any_signature;
        let good = |it: &&Contribution| any || it.is_by(it.client);
        let requests: Vec<Request> = batch
            .contributions
            .values()
            .filter(good)
            .filter(|it| self.done.insert(it.id()))
            .map(|it| **it)
            .collect();
        let id = Digest::of(&(batch.epoch, &batch.contributions));
        self.shown.last = Some(id);
        cx.commit(Slot(batch.epoch as u32).next(), id, &requests, Grounds::Unknown);
    }

    fn show(&mut self) {
        self.shown = Shown {
            epoch: self.engine.next_epoch() as u32,
            contributed: self.engine.has_input(),
            received: self.engine.received_proposals(),
            reported: self.reported,
            ..self.shown
        };
    }
}

impl Node<Hbbft> for Replica {
    fn on_start(&mut self, cx: &mut Cx<'_>) {
        self.take(Step::default(), cx);
    }

    fn on_message(&mut self, from: NodeId, msg: &Msg, cx: &mut Cx<'_>) {
        let mut sender = from;
        if msg.at().sender != from {
            cx.mark("wrong-sender");
            if !self.config.flags.accept_any_sender {
                return;
            }
            sender = msg.at().sender;
        }
        if self.config.block && self.reported.contains(sender) {
            return cx.mark("blocked");
        }
        let Some(message) = wire::enter(msg) else { return cx.mark("undecodable") };
        match self.engine.handle_message(&sender, message) {
            Ok(step) => {
                self.shown.heard += u32::from(step.fault_log.is_empty());
                self.take(step, cx);
            }
            Err(error) => complain(&error, cx),
        }
    }

    /// The engine has no log of its own: what is on disk is all of it, as it was.
    fn on_restart(&mut self, cx: &mut Cx<'_>) {
        self.take(Step::default(), cx);
    }

    fn vitals(&self, cluster: &Cluster) -> Vitals {
        let Shown { epoch, received, last, .. } = self.shown;
        let need = cluster.quorum();
        let about = About::Slot(Slot(epoch).next());
        let waits = (received < need).then_some(Waiting { kind: "echo", about, have: NodeSet::EMPTY, need });
        Vitals {
            view: View(epoch),
            executed: last,
            decided: Slot(epoch),
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

/// The engine could not handle something.
fn complain(error: &hbbft::honey_badger::Error, cx: &mut Cx<'_>) {
    cx.mark("error");
    cx.note(|| format!("the engine: {error}"));
}

fn engine(me: NodeId, cluster: &Cluster, config: &Config) -> Engine {
    let validators = cluster.n - usize::from(config.flags.validator_left_out && cluster.n > 1);
    let schedule = match config.encryption {
        Encryption::Always => EncryptionSchedule::Always,
        Encryption::Never => EncryptionSchedule::Never,
    };
    let known = keys::of(me, cluster.n, validators).expect("each replica has keys");
    HoneyBadger::builder(known)
        .session_id(SESSION)
        .max_future_epochs(u64::from(config.max_future_epochs))
        .encryption_schedule(schedule)
        .build()
}
