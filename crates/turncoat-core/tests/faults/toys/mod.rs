//! Protocols of a few lines, made for tests.

pub(crate) mod ballot;
pub(crate) mod post;
pub(crate) mod relay;

use turncoat_core::ids::NodeId;
use turncoat_core::node::{Context, Node, Protocol};

/// The client of protocols that have none.
pub(crate) struct Nobody;

impl<P: Protocol> Node<P> for Nobody {
    fn on_message(&mut self, _: NodeId, _: &P::Msg, _: &mut Context<'_, P>) {}
}
