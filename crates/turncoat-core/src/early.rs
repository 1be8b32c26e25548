//! Messages that arrive early.

use serde::Serialize;

use crate::ids::{NodeId, NodeSet};
use crate::node::{Context, Protocol};

/// Messages of later views, kept until then in the order in which they came.
///
/// A sender can fill no more than its own share: a liar takes no room from the others.
#[derive(Clone, Debug, Hash, Serialize)]
#[serde(transparent)]
pub struct Early<M>(Vec<(NodeId, M)>);

impl<M> Default for Early<M> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<M: Clone> Early<M> {
    /// The most messages kept per sender: the first ones.
    pub const MAX: usize = 64;

    /// Keeps a message, if its sender has room left.
    pub fn keep(&mut self, from: NodeId, msg: &M) {
        if self.0.iter().filter(|(sender, _)| *sender == from).count() < Self::MAX {
            self.0.push((from, msg.clone()));
        }
    }

    /// Whether nothing is kept.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whose messages are kept.
    pub fn senders(&self) -> NodeSet {
        self.0.iter().map(|(from, _)| *from).collect()
    }

    /// If f+1 senders are in later views, a correct one is: asks them for what was missed.
    pub fn ask<P: Protocol<Msg = M>>(&self, question: M, cx: &mut Context<'_, P>) {
        let ahead = self.senders();
        if ahead.len() >= cx.cluster().weak() {
            cx.multicast(ahead, question);
        }
    }

    /// Takes out all messages with their senders, because their time has come or may have.
    pub fn take(&mut self) -> Vec<(NodeId, M)> {
        std::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_fills_its_own_share_only() {
        let (liar, other) = (NodeId::replica(0), NodeId::replica(1));
        let mut early = Early::default();
        (0..1000).for_each(|i| early.keep(liar, &i));
        early.keep(other, &7);
        assert_eq!(early.senders().len(), 2);
        let kept = early.take();
        assert_eq!(
            (kept.len(), kept[0], kept[Early::<i32>::MAX]),
            (Early::<i32>::MAX + 1, (liar, 0), (other, 7))
        );
        assert!(early.is_empty());
    }
}
