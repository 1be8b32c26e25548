//! What the replicas of chained HotStuff say.

use turncoat_core::prelude::*;

use crate::hotstuff::certs::{Qc, Vote};
use crate::hotstuff::lies::{on_genesis, report_genesis};
use crate::hotstuff::pacemaker::{Tc, Timeout};
use crate::hotstuff::tree::Block;

/// A message. What is counted in a certificate is signed.
#[derive(Clone, PartialEq, Debug, Hash, Serialize, Deserialize, Message)]
#[message(specials = SPECIALS)]
pub enum Msg {
    /// To the leader of a view, after a timeout: the highest certificate that the sender knows.
    #[message(view = m.view, phase = 1, view_change)]
    NewView(NewView),
    /// The leader proposes a block.
    #[message(view = m.view, phase = 2)]
    Proposal(Arc<Block>),
    /// To the next leader.
    #[message(view = m.view, phase = 3)]
    Vote(Signed<Vote>),
    /// The sender is through with a view.
    #[message(view = m.view.next(), phase = 1, view_change)]
    Timeout(Signed<Timeout>),
    /// Enough replicas are.
    #[message(view = m.view.next(), phase = 1, view_change)]
    TimeoutCert(Arc<Tc>),
    /// Asks for a block.
    Fetch(Digest),
    /// The answer.
    Block(Arc<Block>),
}

/// NEW-VIEW(v, highQC).
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
pub struct NewView {
    pub(super) view: View,
    pub(super) justify: Qc,
}

const SPECIALS: &[Special<Msg>] = &[
    Special::small("new-view", ".justify=genesis", |msg, _| match msg {
        Msg::NewView(m) => report_genesis(&mut m.justify),
        _ => false,
    }),
    Special::small("proposal", ".justify=genesis+parent", |msg, _| match msg {
        Msg::Proposal(m) => on_genesis(Arc::make_mut(m)),
        _ => false,
    }),
];
