//! Replicas and clients under one roof.

use crate::hash::Digest;
use crate::ids::NodeId;
use crate::node::{Cluster, Context, Node, Protocol, State, Vitals};
use crate::tokens::Token;

/// A replica or a client in its seat.
pub(super) enum AnyNode<P: Protocol> {
    Replica(P::Replica),
    Client(P::Client),
}

impl<P: Protocol> AnyNode<P> {
    pub(super) fn on_start(&mut self, cx: &mut Context<'_, P>) {
        match self {
            Self::Replica(node) => node.on_start(cx),
            Self::Client(node) => node.on_start(cx),
        }
    }
    pub(super) fn on_message(&mut self, from: NodeId, msg: &P::Msg, cx: &mut Context<'_, P>) {
        match self {
            Self::Replica(node) => node.on_message(from, msg, cx),
            Self::Client(node) => node.on_message(from, msg, cx),
        }
    }
    pub(super) fn on_timer(&mut self, timer: P::Timer, cx: &mut Context<'_, P>) {
        match self {
            Self::Replica(node) => node.on_timer(timer, cx),
            Self::Client(node) => node.on_timer(timer, cx),
        }
    }
    pub(super) fn on_restart(&mut self, cx: &mut Context<'_, P>) {
        match self {
            Self::Replica(node) => node.on_restart(cx),
            Self::Client(node) => node.on_restart(cx),
        }
    }
    pub(super) fn on_suspect(&mut self, cx: &mut Context<'_, P>) {
        match self {
            Self::Replica(node) => node.on_suspect(cx),
            Self::Client(node) => node.on_suspect(cx),
        }
    }
    pub(super) fn state(&self) -> Option<&dyn State> {
        match self {
            Self::Replica(node) => node.state(),
            Self::Client(node) => node.state(),
        }
    }
    pub(super) fn essence(&self, live: &[Digest], out: &mut Vec<Token>) -> bool {
        match self {
            Self::Replica(node) => node.essence(live, out),
            Self::Client(node) => node.essence(live, out),
        }
    }
    pub(super) fn vitals(&self, cluster: &Cluster) -> Vitals {
        match self {
            Self::Replica(node) => node.vitals(cluster),
            Self::Client(node) => node.vitals(cluster),
        }
    }
    pub(super) fn adopt(&mut self, config: &P::Config, cluster: &Cluster) -> bool {
        match self {
            Self::Replica(node) => node.adopt(config, cluster),
            Self::Client(node) => node.adopt(config, cluster),
        }
    }
    pub(super) fn fork(&self) -> Option<Self> {
        match self {
            Self::Replica(node) => node.fork().map(Self::Replica),
            Self::Client(node) => node.fork().map(Self::Client),
        }
    }
}
