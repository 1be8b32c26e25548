//! The application that the engine sees: all questions go to the host, which answers when it can.

use std::sync::Arc;

use commonware_actor::Feedback;
use commonware_consensus::simplex::Plan;
use commonware_consensus::simplex::elector::{self, Elector, Scheduled, Terms};
use commonware_consensus::simplex::types::{Activity, Context};
use commonware_consensus::types::{Round, View as EngineView};
use commonware_consensus::{Automaton, CertifiableAutomaton, Handoff, Relay, Reporter};
use commonware_cryptography::ed25519::PublicKey;
use commonware_utils::Participant;
use commonware_utils::channel::oneshot;
use commonware_utils::ordered::Set;
use turncoat::core::prelude::Cluster;

use crate::host::{Effect, Host};
use crate::scheme::Keyed;
use crate::wire::{self, D};

/// Automaton, relay and reporter.
#[derive(Clone, Debug)]
pub(crate) struct App(pub(crate) Host);

impl App {
    fn tell(&self, effect: Effect) -> Feedback {
        self.0.tell(effect);
        Feedback::Ok
    }
}

impl Automaton for App {
    type Context = Context<D, PublicKey>;
    type Digest = D;

    async fn propose(&mut self, context: Self::Context) -> oneshot::Receiver<D> {
        let (answer, receiver) = oneshot::channel();
        self.tell(Effect::Propose(context, answer));
        receiver
    }

    async fn verify(&mut self, context: Self::Context, payload: D) -> oneshot::Receiver<bool> {
        let (answer, receiver) = oneshot::channel();
        self.tell(Effect::Verify(context, payload, answer));
        receiver
    }
}

impl CertifiableAutomaton for App {
    async fn prepare(&mut self, context: Self::Context) -> oneshot::Receiver<Handoff<D>> {
        let (answer, receiver) = oneshot::channel();
        self.tell(Effect::Prepare(context, answer));
        receiver
    }

    async fn certify(&mut self, _: Round, payload: D) -> oneshot::Receiver<bool> {
        let (answer, receiver) = oneshot::channel();
        self.tell(Effect::Certify(payload, answer));
        receiver
    }
}

impl Relay for App {
    type Digest = D;
    type PublicKey = PublicKey;
    type Plan = Plan<PublicKey>;

    fn broadcast(&mut self, payload: D, plan: Plan<PublicKey>) -> Feedback {
        self.tell(Effect::Broadcast(payload, plan))
    }
}

impl Reporter for App {
    type Activity = Activity<Keyed, D>;

    fn report(&mut self, activity: Self::Activity) -> Feedback {
        self.tell(Effect::Report(activity))
    }
}

/// Who leads: all take turns, unless the scenario says who.
#[derive(Clone, Debug)]
pub(crate) struct Leaders {
    pub(crate) cluster: Arc<Cluster>,
    /// For how many views each of them does.
    pub(crate) terms: Terms,
}

impl elector::Config<Keyed> for Leaders {
    type Elector = Self;

    fn build(self, _: &Set<PublicKey>) -> Self {
        self
    }
}

impl Elector<Keyed> for Leaders {
    type Mode = Scheduled;

    fn terms(&self) -> Terms {
        self.terms
    }

    fn elect(&self, round: Round, (): ()) -> Participant {
        let term = EngineView::new(round.view().term_index(self.terms.length()));
        let leader = crate::leader(wire::view(term), &self.cluster);
        Participant::from_usize(leader.index())
    }
}
